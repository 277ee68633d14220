//! Entries as a program appends them, and searches: both look through the unexpected headers (sections 3.11 and 3.12).

use super::{Claim, Portal, Record, Refused, Revision, Search};
use crate::entry::{Entry, Options};
use crate::event::{self, Effect, EventKind, List, Moment};
use crate::slab::Id;

impl Portal {
    /// `PtlMEAppend`, `PtlLEAppend`. An entry for the priority list first takes what matches among the unexpected headers. One that
    /// is used up by that is in no list, and its number means nothing as soon as [`Effect::Released`] tells so.
    pub fn append(
        &mut self,
        entry: Entry,
        list: List,
        out: &mut Vec<Effect>,
    ) -> Result<Id, Refused> {
        if self.list(list).len() >= self.settings.max_list_size {
            return Err(Refused::ListTooLong);
        }
        let from = out.len();
        let id = self.records.insert(Record {
            entry,
            list,
            linked: false,
            local_offset: 0,
            pending: 0,
            headers: 0,
        });
        let used_up = list == List::Priority && self.take_unexpected(id, entry, out);
        if used_up {
            self.release(id, out);
        } else {
            self.list(list).push(id);
            if let Some(record) = self.records.get_mut(id) {
                record.linked = true;
            }
            event::of_entry(&entry, EventKind::Link, Options::EVENT_LINK_DISABLE, out);
        }
        self.drop_events(from, out);
        Ok(id)
    }

    /// `PtlMESearch`, `PtlLESearch`. The entry is in no list, before or after.
    pub fn search(&mut self, entry: Entry, search: Search, out: &mut Vec<Effect>) {
        let from = out.len();
        let counts = self.settings.revision == Revision::V4_3;
        let entry = Entry { ct: entry.ct.filter(|_| counts), ..entry };
        let once = entry.has(Options::USE_ONCE);
        let mut found = false;
        let mut at = 0;
        while let Some(next) = self.next_unexpected(&entry, 0, at) {
            found = true;
            match search {
                Search::Only => {
                    self.show(next, &entry, out);
                    at = next + 1;
                }
                Search::Delete => {
                    self.claim(next, Claim { entry, by: None, last: false }, out);
                    at = next;
                }
            }
            if once {
                break;
            }
        }
        if !found || (counts && !once) {
            event::of_search_end(&entry, out);
        }
        self.drop_events(from, out);
    }

    /// Gives the entry the unexpected messages that match. True: it is used up.
    fn take_unexpected(&mut self, id: Id, entry: Entry, out: &mut Vec<Effect>) -> bool {
        let (mut at, mut local_offset) = (0, 0);
        while let Some(next) = self.next_unexpected(&entry, local_offset, at) {
            local_offset += self.step(next, &entry).min(entry.length - local_offset);
            let stop = Options::MANAGE_LOCAL | Options::MANAGE_LOCAL_STOP_IF_UH;
            let moves = entry.has(Options::LOCAL_INC_UH_RLENGTH)
                || entry.has(Options::UH_LOCAL_OFFSET_INC_MANIPULATED);
            let last = entry.has(Options::USE_ONCE)
                || entry.has(stop)
                || (moves && entry.is_full(local_offset));
            if let Some(record) = self.records.get_mut(id) {
                record.pending += 1;
                record.local_offset = local_offset;
            }
            self.claim(next, Claim { entry, by: Some(id), last }, out);
            if last {
                return true;
            }
            at = next;
        }
        false
    }

    /// The first header from `at` that matches, as a place in the unexpected list.
    fn next_unexpected(&self, entry: &Entry, local_offset: u64, at: usize) -> Option<usize> {
        let fits = |id: &Id| {
            let arrived = self.arrived.get(*id);
            arrived.is_some_and(|arrived| entry.matches(&arrived.message, local_offset))
        };
        Some(at + self.unexpected.get(at..)?.iter().position(fits)?)
    }

    /// By how much an unexpected message moves the local offset of the entry that takes it.
    fn step(&self, at: usize, entry: &Entry) -> u64 {
        let Some(arrived) = self.arrived.get(self.unexpected[at]) else { return 0 };
        if !entry.has(Options::MANAGE_LOCAL) {
            0
        } else if entry.has(Options::LOCAL_INC_UH_RLENGTH) {
            arrived.message.rlength
        } else if entry.has(Options::UH_LOCAL_OFFSET_INC_MANIPULATED) {
            arrived.mlength
        } else {
            0
        }
    }

    /// Takes a header out of the unexpected list. The event comes now, or when the message's data is there.
    fn claim(&mut self, at: usize, claim: Claim, out: &mut Vec<Effect>) {
        let id = self.unexpected.remove(at);
        let Some(arrived) = self.arrived.get_mut(id) else { return };
        arrived.listed = false;
        if arrived.done.is_some() {
            self.hand_over(id, claim, out);
        } else {
            arrived.claim = Some(claim);
        }
    }

    /// The event of a search that leaves the header where it is.
    fn show(&self, at: usize, entry: &Entry, out: &mut Vec<Effect>) {
        if let Some(arrived) = self.arrived.get(self.unexpected[at]) {
            let body = arrived.body(List::Overflow);
            // What was found is the header; how its data fares is the business of the event of who takes it.
            event::of_message(entry, Moment::Seen, body, event::NiFail::Ok, out);
        }
    }
}
