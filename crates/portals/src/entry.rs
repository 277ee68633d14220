//! Match entries and list entries ("List Entries", section 3.11, and "Match List Entries", section 3.12): which messages they
//! take, and where the data goes.

use crate::event::NiFail;
use crate::message::{Message, Operation, Process};
use crate::slab::Id;

/// Options of an entry, `PTL_ME_*` and `PTL_LE_*`. The bits are ours; a header for C names the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Options(pub u32);

impl Options {
    pub const OP_PUT: Options = Options(1 << 0);
    pub const OP_GET: Options = Options(1 << 1);
    /// The entry goes after one message.
    pub const USE_ONCE: Options = Options(1 << 2);
    pub const ACK_DISABLE: Options = Options(1 << 3);
    /// On the overflow list: messages leave no header behind.
    pub const UNEXPECTED_HDR_DISABLE: Options = Options(1 << 4);
    pub const EVENT_LINK_DISABLE: Options = Options(1 << 5);
    /// No events of communication, and none of searches.
    pub const EVENT_COMM_DISABLE: Options = Options(1 << 6);
    pub const EVENT_FLOWCTRL_DISABLE: Options = Options(1 << 7);
    /// No events that tell of success: of communication, overflow and searches.
    pub const EVENT_SUCCESS_DISABLE: Options = Options(1 << 8);
    pub const EVENT_OVER_DISABLE: Options = Options(1 << 9);
    /// Neither `PTL_EVENT_AUTO_UNLINK` nor `PTL_EVENT_AUTO_FREE`.
    pub const EVENT_UNLINK_DISABLE: Options = Options(1 << 10);
    pub const EVENT_CT_COMM: Options = Options(1 << 11);
    pub const EVENT_CT_OVERFLOW: Options = Options(1 << 12);
    /// Counts are of bytes; a failure counts as one.
    pub const EVENT_CT_BYTES: Options = Options(1 << 13);
    /// The target keeps the offset.
    pub const MANAGE_LOCAL: Options = Options(1 << 14);
    /// A message that is too long does not match.
    pub const NO_TRUNCATE: Options = Options(1 << 15);
    /// Unexpected messages that an append finds move the local offset by their requested lengths.
    pub const LOCAL_INC_UH_RLENGTH: Options = Options(1 << 16);
    /// The same by their manipulated lengths.
    pub const UH_LOCAL_OFFSET_INC_MANIPULATED: Options = Options(1 << 17);
    /// An append with a local offset that finds an unexpected message ends there and links nothing.
    pub const MANAGE_LOCAL_STOP_IF_UH: Options = Options(1 << 18);

    /// Whether all of `wanted` are set.
    #[inline(always)]
    pub fn has(self, wanted: Options) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

impl std::ops::BitOr for Options {
    type Output = Options;

    fn bitor(self, other: Options) -> Options {
        Options(self.0 | other.0)
    }
}

/// Whose messages an entry takes (`match_id`). `None` is `PTL_NID_ANY`, `PTL_PID_ANY`, `PTL_RANK_ANY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Physical { nid: Option<u32>, pid: Option<u32> },
    Logical(Option<u32>),
}

impl Source {
    #[inline(always)]
    fn is(self, initiator: Process) -> bool {
        let fits = |wanted: Option<u32>, found: u32| wanted.is_none_or(|wanted| wanted == found);
        match self {
            Source::Physical { nid, pid } => fits(nid, initiator.nid) && fits(pid, initiator.pid),
            Source::Logical(rank) => fits(rank, initiator.rank),
        }
    }
}

/// What a program gave for an entry (`ptl_me_t`, `ptl_le_t`), without its memory's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes of its memory.
    pub length: u64,
    /// Its counting event, a number of [`crate::Counters`].
    pub ct: Option<Id>,
    /// The user whose messages are permitted; `None` is `PTL_UID_ANY`.
    pub uid: Option<u32>,
    pub options: Options,
    pub source: Source,
    pub match_bits: u64,
    pub ignore_bits: u64,
    /// Fewer unused bytes than this, with a local offset, and the entry goes. 0: never.
    pub min_free: u64,
    /// In the entry's events.
    pub user_ptr: u64,
}

impl Entry {
    /// An entry of an interface without matching: it takes every message.
    pub fn list_entry(
        length: u64,
        ct: Option<Id>,
        uid: Option<u32>,
        options: Options,
        user_ptr: u64,
    ) -> Entry {
        let matching = Options::MANAGE_LOCAL | Options::NO_TRUNCATE;
        Entry {
            length,
            ct,
            uid,
            options: Options(options.0 & !matching.0),
            source: Source::Logical(None),
            match_bits: 0,
            ignore_bits: u64::MAX,
            min_free: 0,
            user_ptr,
        }
    }

    #[inline(always)]
    pub(crate) fn has(&self, option: Options) -> bool {
        self.options.has(option)
    }

    /// Whether the message matches ("Matching"): source, bits, and with `NO_TRUNCATE` its length.
    #[inline(always)]
    pub fn matches(&self, message: &Message, local_offset: u64) -> bool {
        self.source.is(message.initiator)
            && (message.match_bits ^ self.match_bits) & !self.ignore_bits == 0
            && (!self.has(Options::NO_TRUNCATE) || self.fits(message, local_offset))
    }

    fn fits(&self, message: &Message, local_offset: u64) -> bool {
        let end = self.offset(message, local_offset).checked_add(message.rlength);
        end.is_some_and(|end| end <= self.length)
    }

    /// Whether the message's user and operation are permitted. This is looked at after the match: a message that is not
    /// permitted goes to no other entry.
    #[inline(always)]
    pub fn permits(&self, message: &Message) -> Result<(), NiFail> {
        if self.uid.is_some_and(|uid| uid != message.uid) {
            return Err(NiFail::PermViolation);
        }
        let needed = match message.operation {
            Operation::Put | Operation::Atomic(..) => Options::OP_PUT,
            Operation::Get => Options::OP_GET,
            Operation::FetchAtomic(..) => Options::OP_PUT | Options::OP_GET,
        };
        if self.has(needed) { Ok(()) } else { Err(NiFail::OpViolation) }
    }

    #[inline(always)]
    fn offset(&self, message: &Message, local_offset: u64) -> u64 {
        if self.has(Options::MANAGE_LOCAL) { local_offset } else { message.remote_offset }
    }

    /// Offset and length of the part of the entry's memory that the message is about. What lies outside is cut off; an
    /// atomic operation is cut to whole elements.
    #[inline(always)]
    pub fn extent(&self, message: &Message, local_offset: u64) -> (u64, u64) {
        let offset = self.offset(message, local_offset);
        let length = message.rlength.min(self.length.saturating_sub(offset));
        (offset, length - length % message.operation.grain())
    }

    /// Whether so little is left behind the local offset that the entry goes.
    pub(crate) fn is_full(&self, local_offset: u64) -> bool {
        self.has(Options::MANAGE_LOCAL) && self.length.saturating_sub(local_offset) < self.min_free
    }
}
