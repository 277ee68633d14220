//! One entry of a portal table ("Portal Table Entries", section 3.6): its lists, its unexpected headers, flow control.

mod append;
mod arrive;

use crate::entry::{Entry, Options};
use crate::event::{self, Body, Effect, Event, EventKind, List, Moment, NiFail};
use crate::message::Message;
use crate::slab::{Id, Slab};

/// The text of the specification that searches follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// A search without `USE_ONCE` that found something ends without a sign, and searches do not count.
    V4_0,
    /// A search without `USE_ONCE` always ends with `PTL_EVENT_SEARCH` and `PTL_NI_NO_MATCH`, and searches count as
    /// overflow events do.
    V4_3,
}

/// What `PtlPTAlloc` and the limits of the interface say about a portal table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `PTL_PT_FLOWCTRL`
    pub flow_control: bool,
    /// Whether there is a queue; without one no event comes out, and counts do.
    pub event_queue: bool,
    /// Entries in one list (`max_list_size`).
    pub max_list_size: usize,
    pub revision: Revision,
}

/// What a search does with the headers that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    Only,
    Delete,
}

/// Why a call on an entry did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `PTL_LIST_TOO_LONG`
    ListTooLong,
    /// `PTL_ARG_INVALID`: no such entry is linked.
    NotLinked,
    /// `PTL_IN_USE`: messages are on their way into its memory, or unexpected headers refer to it.
    InUse,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Refused::ListTooLong => "the list holds as many entries as max_list_size allows",
            Refused::NotLinked => {
                "the entry is not in a list: it was unlinked, by a call or by itself"
            }
            Refused::InUse => {
                "messages still refer to the entry: take their events, then try again"
            }
        })
    }
}

impl std::error::Error for Refused {}

/// A message that has matched, whose data has to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// For [`Portal::complete`].
    pub id: Id,
    pub entry: Id,
    pub list: List,
    /// Bytes from the start of the entry's memory.
    pub offset: u64,
    pub mlength: u64,
    /// Whether an acknowledgment is sent if the initiator asked for one.
    pub acknowledge: bool,
}

/// A message's part of an entry that stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    pub id: Id,
    pub entry: &'a Entry,
    /// Bytes from the start of the entry's memory.
    pub offset: u64,
    pub mlength: u64,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Deliver(Delivery),
    /// The initiator is told the reason, and [`NiFail::register`] counts it.
    Refuse(NiFail),
}

/// An entry that somebody still refers to.
struct Record {
    entry: Entry,
    list: List,
    linked: bool,
    local_offset: u64,
    /// Messages whose events, with this entry's `user_ptr`, are still to come.
    pending: u32,
    /// Unexpected messages in its memory whose overflow events are still to come.
    headers: u32,
}

/// Who gets the overflow event of an unexpected message.
#[derive(Clone, Copy)]
struct Claim {
    entry: Entry,
    /// The entry's number. `None`: a search.
    by: Option<Id>,
    /// Whether the entry goes with this message.
    last: bool,
}

/// A message that has matched and is not over.
struct Arrived {
    message: Message,
    entry: Id,
    offset: u64,
    mlength: u64,
    /// Whether the entry went with this message.
    last: bool,
    /// How moving the data ended.
    done: Option<NiFail>,
    /// Whether it is in the unexpected list.
    listed: bool,
    claim: Option<Claim>,
}

impl Arrived {
    fn body(&self, list: List) -> Body {
        let Arrived { message, entry, offset, mlength, .. } = *self;
        Body { message, entry, list, offset, mlength }
    }
}

/// One entry of a portal table.
///
/// Calls add to `out` what has to happen outside. The order of a message's events is: of its arrival, of the entry that went
/// with it, of the append or search that found it, of an overflow entry that is free now, of the appended entry that went with it.
pub struct Portal {
    settings: Settings,
    enabled: bool,
    /// A failure of flow control is to be reported when nothing moves any more.
    report: bool,
    /// Messages whose data moves.
    moving: usize,
    records: Slab<Record>,
    arrived: Slab<Arrived>,
    priority: Vec<Id>,
    overflow: Vec<Id>,
    /// Headers without an owner, oldest first.
    unexpected: Vec<Id>,
}

impl Portal {
    /// `PtlPTAlloc`; it is enabled.
    pub fn new(settings: Settings) -> Portal {
        Portal {
            settings,
            enabled: true,
            report: false,
            moving: 0,
            records: Slab::new(),
            arrived: Slab::new(),
            priority: Vec::new(),
            overflow: Vec::new(),
            unexpected: Vec::new(),
        }
    }

    /// Unexpected headers, for the limit of the interface (`max_unexpected_headers`).
    pub fn unexpected_headers(&self) -> usize {
        self.unexpected.len()
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// `PtlPTEnable`
    pub fn enable(&mut self) {
        self.enabled = true;
    }

    /// `PtlPTDisable`: no message is taken from now on. The call waits until [`Portal::is_idle`].
    pub fn disable(&mut self) {
        self.enabled = false;
    }

    /// Whether no data of messages moves.
    pub fn is_idle(&self) -> bool {
        self.moving == 0
    }

    /// Messages whose data moves.
    pub fn moving(&self) -> usize {
        self.moving
    }

    /// Whether `PtlPTFree` may be done: no entries, no headers.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.arrived.is_empty()
    }

    /// A resource that only the caller knows of is used up, such as space in the queue: with flow control, the entry is
    /// disabled.
    pub fn exhausted(&mut self, out: &mut Vec<Effect>) {
        let from = out.len();
        self.disable_by_flow_control(true, out);
        self.drop_events(from, out);
    }

    /// Removes an entry (`PtlMEUnlink`, `PtlLEUnlink`). Its number means nothing afterwards.
    pub fn unlink(&mut self, id: Id) -> Result<(), Refused> {
        let record = self.records.get(id).filter(|r| r.linked).ok_or(Refused::NotLinked)?;
        if record.pending > 0 || record.headers > 0 {
            return Err(Refused::InUse);
        }
        self.take_out(id);
        self.records.remove(id);
        Ok(())
    }

    fn list(&mut self, list: List) -> &mut Vec<Id> {
        match list {
            List::Priority => &mut self.priority,
            List::Overflow => &mut self.overflow,
        }
    }

    /// Takes an entry out of its list.
    fn take_out(&mut self, id: Id) {
        let Some(record) = self.records.get_mut(id) else { return };
        record.linked = false;
        let list = record.list;
        self.list(list).retain(|&other| other != id);
    }

    /// Lets an entry go that is in no list and that nothing refers to.
    fn release(&mut self, id: Id, out: &mut Vec<Effect>) {
        let Some(record) = self.records.get(id) else { return };
        if record.linked || record.pending > 0 || record.headers > 0 {
            return;
        }
        // Only memory of the overflow list is the program's to know of: a message that lies there has an event later.
        if record.list == List::Overflow {
            let disabled = Options::EVENT_UNLINK_DISABLE;
            event::of_entry(&record.entry, EventKind::AutoFree, disabled, out);
        }
        out.push(Effect::Released(id));
        self.records.remove(id);
    }

    /// The event of an unexpected message that `claim` has found and whose data is there, and the end of the message.
    fn hand_over(&mut self, id: Id, claim: Claim, out: &mut Vec<Effect>) {
        let Some(arrived) = self.arrived.remove(id) else { return };
        let fail = arrived.done.unwrap_or(NiFail::Ok);
        event::of_message(&claim.entry, Moment::Overflow, arrived.body(List::Overflow), fail, out);
        if let Some(record) = self.records.get_mut(arrived.entry) {
            record.headers -= 1;
        }
        self.release(arrived.entry, out);
        if claim.last {
            let disabled = Options::EVENT_UNLINK_DISABLE;
            event::of_entry(&claim.entry, EventKind::AutoUnlink, disabled, out);
        }
        if let Some(record) = claim.by.and_then(|by| self.records.get_mut(by)) {
            record.pending -= 1;
        }
    }

    fn disable_by_flow_control(&mut self, report: bool, out: &mut Vec<Effect>) {
        if self.settings.flow_control && self.enabled {
            self.enabled = false;
            self.report = report;
            self.report_when_idle(out);
        }
    }

    fn report_when_idle(&mut self, out: &mut Vec<Effect>) {
        if self.report && self.moving == 0 {
            self.report = false;
            out.push(Effect::Post(Event {
                kind: EventKind::PtDisabled,
                user_ptr: 0,
                fail: NiFail::PtDisabled,
                body: None,
            }));
        }
    }

    /// Without a queue, takes out the events behind `from`.
    fn drop_events(&self, from: usize, out: &mut Vec<Effect>) {
        if self.settings.event_queue {
            return;
        }
        let mut left = from;
        for at in from..out.len() {
            if !matches!(out[at], Effect::Post(_)) {
                out[left] = out[at];
                left += 1;
            }
        }
        out.truncate(left);
    }
}
