//! Events that a target gives ("Events and Event Queues", section 3.13): full events for a queue, and counts.

use crate::counters::Count;
use crate::entry::{Entry, Options};
use crate::message::{Message, Operation};
use crate::slab::Id;

/// Types of events at a target, `PTL_EVENT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Get,
    GetOverflow,
    Put,
    PutOverflow,
    Atomic,
    AtomicOverflow,
    FetchAtomic,
    FetchAtomicOverflow,
    PtDisabled,
    Link,
    AutoUnlink,
    AutoFree,
    Search,
}

impl EventKind {
    /// The number in portals4.h. Between those of searches and of overflow are the ones that only initiators get.
    pub(crate) fn code(self) -> u8 {
        match self {
            EventKind::Get => 0,
            EventKind::GetOverflow => 1,
            EventKind::Put => 2,
            EventKind::PutOverflow => 3,
            EventKind::Atomic => 4,
            EventKind::AtomicOverflow => 5,
            EventKind::FetchAtomic => 6,
            EventKind::FetchAtomicOverflow => 7,
            EventKind::PtDisabled => crate::queue::PT_DISABLED,
            EventKind::Link => 12,
            EventKind::AutoUnlink => 13,
            EventKind::AutoFree => 14,
            EventKind::Search => 15,
        }
    }

    fn arrival(operation: Operation) -> EventKind {
        match operation {
            Operation::Put => EventKind::Put,
            Operation::Get => EventKind::Get,
            Operation::Atomic(..) => EventKind::Atomic,
            Operation::FetchAtomic(..) => EventKind::FetchAtomic,
        }
    }

    fn overflow(operation: Operation) -> EventKind {
        match operation {
            Operation::Put => EventKind::PutOverflow,
            Operation::Get => EventKind::GetOverflow,
            Operation::Atomic(..) => EventKind::AtomicOverflow,
            Operation::FetchAtomic(..) => EventKind::FetchAtomicOverflow,
        }
    }
}

/// Outcome of an operation, `ptl_ni_fail_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiFail {
    Ok,
    Undeliverable,
    Dropped,
    PtDisabled,
    PermViolation,
    OpViolation,
    NoMatch,
    Segv,
}

/// Registers of an interface that count refused messages, `PTL_SR_*` ("Network Interfaces", section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    DropCount,
    PermissionViolations,
    OperationViolations,
}

impl NiFail {
    /// The register that counts a message refused for this reason.
    pub fn register(self) -> Register {
        match self {
            NiFail::PermViolation => Register::PermissionViolations,
            NiFail::OpViolation => Register::OperationViolations,
            _ => Register::DropCount,
        }
    }
}

/// `PTL_PRIORITY_LIST`, `PTL_OVERFLOW_LIST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Priority,
    Overflow,
}

/// What events of communication, of overflow and of a search that found something say beside their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    pub message: Message,
    /// The entry in whose memory the data is; `start` of the event is its start and `offset`.
    pub entry: Id,
    /// The list that the entry was on.
    pub list: List,
    pub offset: u64,
    pub mlength: u64,
}

/// A full event of a portal table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// Of the call that the event belongs to; of an overflow event, the call that found the message.
    pub user_ptr: u64,
    pub fail: NiFail,
    pub body: Option<Body>,
}

/// What has to happen outside, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An event for the queue of the portal table entry.
    Post(Event),
    /// An addition to a counting event.
    Add { ct: Id, count: Count },
    /// An entry that unlinked itself has gone: its memory is not accessed any more, and its number means nothing.
    Released(Id),
}

/// Whether an event is of a message as it arrives, or of one that an append or search found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Arrival,
    Overflow,
    /// Found by a search that leaves it where it is.
    Seen,
}

/// The event that an entry's message gives and its count, as far as the entry's options let them.
pub(crate) fn of_message(
    entry: &Entry,
    moment: Moment,
    body: Body,
    fail: NiFail,
    out: &mut Vec<Effect>,
) {
    out.extend(shown(entry, moment, body, fail).map(Effect::Post));
    let count = counted(entry, moment, body.mlength, fail);
    out.extend(count.map(|(ct, count)| Effect::Add { ct, count }));
}

/// The event, if the entry's options let it be.
#[inline(always)]
pub(crate) fn shown(entry: &Entry, moment: Moment, body: Body, fail: NiFail) -> Option<Event> {
    let operation = body.message.operation;
    let (kind, disabled) = match moment {
        Moment::Arrival => (EventKind::arrival(operation), Options::EVENT_COMM_DISABLE),
        Moment::Overflow => (EventKind::overflow(operation), Options::EVENT_OVER_DISABLE),
        Moment::Seen => (EventKind::Search, Options::EVENT_COMM_DISABLE),
    };
    let silent = fail == NiFail::Ok && entry.has(Options::EVENT_SUCCESS_DISABLE);
    let event = Event { kind, user_ptr: entry.user_ptr, fail, body: Some(body) };
    (!entry.has(disabled) && !silent).then_some(event)
}

/// The addition to a counting event, if there is one.
#[inline(always)]
pub(crate) fn counted(
    entry: &Entry,
    moment: Moment,
    mlength: u64,
    fail: NiFail,
) -> Option<(Id, Count)> {
    let option = match moment {
        Moment::Arrival => Options::EVENT_CT_COMM,
        Moment::Overflow | Moment::Seen => Options::EVENT_CT_OVERFLOW,
    };
    count(entry, option, mlength, fail)
}

/// The end of a search that found nothing, or nothing more.
pub(crate) fn of_search_end(entry: &Entry, out: &mut Vec<Effect>) {
    if !entry.has(Options::EVENT_COMM_DISABLE) {
        let event = Event {
            kind: EventKind::Search,
            user_ptr: entry.user_ptr,
            fail: NiFail::NoMatch,
            body: None,
        };
        out.push(Effect::Post(event));
    }
    let count = count(entry, Options::EVENT_CT_OVERFLOW, 0, NiFail::NoMatch);
    out.extend(count.map(|(ct, count)| Effect::Add { ct, count }));
}

/// An event of the life of an entry, unless `disabled` is among its options.
pub(crate) fn of_entry(entry: &Entry, kind: EventKind, disabled: Options, out: &mut Vec<Effect>) {
    if !entry.has(disabled) {
        let event = Event { kind, user_ptr: entry.user_ptr, fail: NiFail::Ok, body: None };
        out.push(Effect::Post(event));
    }
}

#[inline(always)]
fn count(entry: &Entry, counted: Options, bytes: u64, fail: NiFail) -> Option<(Id, Count)> {
    let ct = entry.ct.filter(|_| entry.has(counted))?;
    let count = match fail {
        NiFail::Ok if entry.has(Options::EVENT_CT_BYTES) => Count { success: bytes, failure: 0 },
        NiFail::Ok => Count { success: 1, failure: 0 },
        _ => Count { success: 0, failure: 1 },
    };
    Some((ct, count))
}
