//! Messages as they arrive: which entry takes them, and what follows when their data is there.

use super::{Arrived, Delivery, Plain, Portal, Record, Verdict};
use crate::entry::Options;
use crate::event::{self, Effect, EventKind, List, Moment, NiFail};
use crate::message::Message;
use crate::slab::Id;

impl Portal {
    /// A header has arrived. `room` says whether the interface has space for one more unexpected header. A message that is to be
    /// delivered has matched for good: its part of the entry's memory is its own, and [`Portal::complete`] follows.
    pub fn arrive(&mut self, message: Message, room: bool, out: &mut Vec<Effect>) -> Verdict {
        let from = out.len();
        let verdict = match self.choose(&message, room, out) {
            Ok(id) => Verdict::Deliver(self.take(id, message)),
            Err(fail) => Verdict::Refuse(fail),
        };
        self.drop_events(from, out);
        verdict
    }

    /// The entry that takes a message where that changes nothing of the portal table entry: no entry goes, none moves its offset, no
    /// header is kept. To be asked for a message whose data is here, which is then over at once. `None`: it has to
    /// [arrive](Portal::arrive).
    #[inline(always)]
    pub fn plain(&self, message: &Message) -> Option<Plain<'_>> {
        if !self.enabled || self.settings.flow_control {
            return None;
        }
        let mut found = None;
        for id in &self.priority {
            if let Some(record) = self.records.get(*id)
                && record.entry.matches(message, record.local_offset)
            {
                found = Some((*id, &record.entry));
                break;
            }
        }
        let (id, entry) = found?;
        let changes = Options(Options::USE_ONCE.0 | Options::MANAGE_LOCAL.0);
        if entry.options.0 & changes.0 != 0 || entry.permits(message).is_err() {
            return None;
        }
        let (offset, mlength) = entry.extent(message, 0);
        Some(Plain { id, entry, offset, mlength })
    }

    /// The entry for a message, or why there is none.
    fn choose(
        &mut self,
        message: &Message,
        room: bool,
        out: &mut Vec<Effect>,
    ) -> Result<Id, NiFail> {
        if !self.enabled {
            return Err(NiFail::PtDisabled);
        }
        let Some(id) = self.find(message) else { return Err(self.overrun(true, out)) };
        let Some(record) = self.records.get(id) else { return Err(NiFail::Dropped) };
        record.entry.permits(message)?;
        if leaves_header(record) && !room {
            let report = !record.entry.has(Options::EVENT_FLOWCTRL_DISABLE);
            return Err(self.overrun(report, out));
        }
        Ok(id)
    }

    /// The first entry that matches, of the priority list before the overflow list.
    fn find(&self, message: &Message) -> Option<Id> {
        let fits = |id: &Id| {
            let record = self.records.get(*id);
            record.is_some_and(|r| r.entry.matches(message, r.local_offset))
        };
        self.priority.iter().chain(&self.overflow).copied().find(fits)
    }

    /// A message for which something is missing: with flow control it disables the portal table entry.
    fn overrun(&mut self, report: bool, out: &mut Vec<Effect>) -> NiFail {
        self.disable_by_flow_control(report, out);
        if self.settings.flow_control { NiFail::PtDisabled } else { NiFail::Dropped }
    }

    /// Gives the message its part of the entry.
    fn take(&mut self, id: Id, message: Message) -> Delivery {
        let record = self.records.get_mut(id).expect("`choose` has found it");
        let (offset, mlength) = record.entry.extent(&message, record.local_offset);
        if record.entry.has(Options::MANAGE_LOCAL) {
            record.local_offset += mlength;
        }
        let last = record.entry.has(Options::USE_ONCE) || record.entry.is_full(record.local_offset);
        let listed = leaves_header(record);
        record.pending += 1;
        record.headers += u32::from(listed);
        let (list, acknowledge) = (record.list, !record.entry.has(Options::ACK_DISABLE));
        let arrived =
            Arrived { message, entry: id, offset, mlength, last, done: None, listed, claim: None };
        let arrived = self.arrived.insert(arrived);
        self.moving += 1;
        if listed {
            self.unexpected.push(arrived);
        }
        if last {
            self.take_out(id);
        }
        Delivery { id: arrived, entry: id, list, offset, mlength, acknowledge }
    }

    /// The data of a message has been moved, or `fail` says why not. False: no such message is being delivered.
    pub fn complete(&mut self, id: Id, fail: NiFail, out: &mut Vec<Effect>) -> bool {
        let Some(arrived) = self.arrived.get_mut(id).filter(|a| a.done.is_none()) else {
            return false;
        };
        let from = out.len();
        arrived.done = Some(fail);
        let (entry, last, listed, claim) =
            (arrived.entry, arrived.last, arrived.listed, arrived.claim);
        self.moving -= 1;
        if let Some(record) = self.records.get_mut(entry) {
            record.pending -= 1;
            let body = arrived.body(record.list);
            event::of_message(&record.entry, Moment::Arrival, body, fail, out);
            if last {
                let disabled = Options::EVENT_UNLINK_DISABLE;
                event::of_entry(&record.entry, EventKind::AutoUnlink, disabled, out);
            }
        }
        match claim {
            Some(claim) => {
                self.hand_over(id, claim, out);
                claim.by.into_iter().for_each(|by| self.release(by, out));
            }
            None if !listed => drop(self.arrived.remove(id)),
            None => (),
        }
        self.release(entry, out);
        self.report_when_idle(out);
        self.drop_events(from, out);
        true
    }
}

/// Whether a message in this entry is put into the unexpected list.
fn leaves_header(record: &Record) -> bool {
    record.list == List::Overflow && !record.entry.has(Options::UNEXPECTED_HDR_DISABLE)
}
