//! Small collectives over notice boards (`hpvm_wire::board`), without messages.
//!
//! Where all members of a communicator share memory, a small blocking collective is one exchange
//! of notes: each member posts what others need, waits for the notes it needs, and reads them
//! itself. Everybody reads in the order of ranks, so a reduction has the same bits everywhere.
//!
//! Where members are on several hosts, those of each host use boards among themselves, and one of
//! them talks to other hosts ([`Across`]).
//!
//! Members have to agree that a communicator uses boards, and from which number on. They do so in
//! one reduction by messages ([`Process::introduction`]) when it has seen a few collectives; until
//! then, and where one of them says no, collectives go by messages.

mod across;
mod call;
mod each;
mod join;
mod large;
mod members;
mod packed;
mod reads;
mod rotation;
mod slate;

pub use across::Across;
pub use call::{Call, Sides, What};
pub use large::{LongWay, Part, Step, Steps};
pub use reads::Reads;
pub use rotation::Rotation;
pub use slate::{LONG, Slates};

use crate::comm::Comm;
use crate::comm::group::Group;
use crate::engine::process::Process;
use crate::error::Result;
use crate::pt2pt::protocol::MOST_EAGER;
use hpvm_coll::hosts::Hosts;
use hpvm_coll::select::Carrier;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::board::{BOARDS, Board, NOTE_BYTES};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Most bytes of a note.
pub const MOST: u64 = NOTE_BYTES as u64;
/// Most members: each of them looks at the notes of all others.
const MEMBERS: u32 = 64;
/// Collectives that a communicator goes through before its members agree on boards. One that
/// lives for a few calls is not worth it.
const TRIAL: u32 = 4;

/// What a communicator knows of its boards. One thread at a time is in a collective on it (MPI 5.0,
/// section 12.6.1), so the fields order nothing.
#[derive(Debug, Default)]
pub(crate) struct Use {
    stage: AtomicU8,
    /// One of the members shares its processors with others, as far as it knows.
    crowded: AtomicBool,
    /// All members read long messages out of each other's memory.
    reads: AtomicBool,
    calls: AtomicU32,
    /// The last operation that was begun.
    number: AtomicU64,
    /// An operation that all members are known to have finished.
    safe: AtomicU64,
    /// For long notes, once the members have agreed on it.
    slates: OnceLock<Option<Slates>>,
}

const TRYING: u8 = 0;
const READY: u8 = 1;
const NEVER: u8 = 2;
/// Ready, in each host.
const ACROSS: u8 = 3;

/// How a small collective is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Messages,
    /// Members introduce themselves first, then ask again.
    Introduce,
    Boards,
    /// Boards within hosts and messages between them, if it fits ([`Process::longest_note`]).
    Across,
}

/// What a member says of itself before boards are used, or what all of them say.
pub type Introduction = [u64; 4];

/// A collective over boards: what its waiting needs to know.
pub trait Meeting {
    /// Goes on as far as possible; true when the collective is done.
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool>;
    /// Whether a note is missing of a process of which `which` is true.
    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool;
    /// Whether it waits for others to finish an earlier operation, of which no bell tells.
    fn lacks_room(&self) -> bool;
    /// Whether `poll` would go on.
    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool;
    /// Whether it waits for messages, not for notes.
    fn is_crossing(&self) -> bool {
        false
    }
    /// Whether notes are so long that others work on them for a while.
    fn is_long(&self) -> bool {
        false
    }
}

impl Meeting for Call<'_> {
    #[inline]
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        Call::poll(self, p)
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        Call::awaits(self, p, which)
    }

    fn lacks_room(&self) -> bool {
        Call::lacks_room(self)
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        Call::is_ready(self, p)
    }

    fn is_long(&self) -> bool {
        Call::is_long(self)
    }
}

/// What a process remembers of one of its boards beyond the life of a communicator.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The last number used on it.
    last: u64,
    /// Who may still read its notes.
    readers: Option<Arc<Group>>,
    /// For its long notes.
    slate: Option<slate::Own>,
}

/// Which board a communicator uses, if there are so many.
#[inline(always)]
fn index(comm: &Comm) -> Option<usize> {
    let index = (comm.base_context() / crate::comm::CONTEXTS) as usize;
    (index < BOARDS).then_some(index)
}

/// The same for a communicator that may use one at all; where its members are must be known.
fn suitable(comm: &Comm) -> Option<usize> {
    let members = comm.known_hosts().map_or(comm.size(), Hosts::largest);
    let suits = !comm.is_inter() && comm.size() > 1 && members <= MEMBERS;
    index(comm).filter(|_| suits)
}

impl<T: Transport> Process<T> {
    /// Whether small collectives on `comm` may go over boards, now or when its members have agreed.
    #[inline(always)]
    pub fn may_use_boards(&self, comm: &Comm) -> bool {
        comm.boards().stage.load(Ordering::Relaxed) != NEVER // relaxed: see `Use`
    }

    /// How the next blocking collective on `comm` is done whose notes are up to `bytes` long. To
    /// be asked once per collective, with the same answer on all members.
    #[inline]
    pub fn way(&self, comm: &Comm, bytes: u64) -> Way {
        let used = comm.boards();
        // Relaxed, here and below: see `Use`.
        match used.stage.load(Ordering::Relaxed) {
            READY if bytes <= MOST => Way::Boards,
            TRYING => self.on_trial(comm),
            ACROSS if bytes <= LONG => Way::Across,
            _ => Way::Messages,
        }
    }

    /// Whether boards are the faster way for `what`, as far as anybody has measured it.
    #[inline(always)]
    pub fn boards_pay(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        !self.carriers_tuned || self.tuned_to_boards(comm, what, bytes)
    }

    #[cold]
    fn tuned_to_boards(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        let Some(small) = what.small() else { return true };
        let bytes = bytes.try_into().unwrap_or(i64::MAX);
        self.select.carrier(small, comm.size(), bytes) == Carrier::Boards
    }

    #[cold]
    fn on_trial(&self, comm: &Comm) -> Way {
        let used = comm.boards();
        comm.hosts(|process| self.node(process));
        if suitable(comm).is_none() {
            used.stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
            return Way::Messages;
        }
        let calls = used.calls.fetch_add(1, Ordering::Relaxed); // relaxed: see `Use`
        if calls < TRIAL { Way::Messages } else { Way::Introduce }
    }

    /// What this process tells the others about its board: the last number used on it, 1 if it
    /// can't take part, 1 if it is `crowded`, of which each rank has its own opinion, because a
    /// launcher or the program may have bound it, and 1 if it does not read long messages out of the
    /// memory of others. The members build the maximum of each word and hand
    /// it to [`Process::introduced`].
    pub fn introduction(&self, comm: &Comm, crowded: bool) -> Introduction {
        comm.hosts(|process| self.node(process));
        let Some(index) = suitable(comm) else { return [0, 1, 0, 0] };
        let last = self.boards.get(index).map_or(0, |past| past.last);
        let mut here = neighbours(comm);
        let willing = here.all(|m| self.board_of(m, index).is_some()) && self.quit(index);
        let reads = self.pulls(self.fm().rank(), MOST_EAGER);
        [last, u64::from(!willing), u64::from(crowded), u64::from(!reads)]
    }

    /// Nobody reads what an earlier communicator left on board `index`.
    fn quit(&self, index: usize) -> bool {
        let Some(Past { last, readers: Some(readers), .. }) = self.boards.get(index) else {
            return true;
        };
        (0..readers.size()).filter_map(|m| readers.process(m)).all(|m| {
            let board = self.board_of(m, index);
            board.is_none_or(|board| board.finished() >= *last)
        })
    }

    /// The members of `comm` have introduced themselves.
    pub fn introduced(&mut self, comm: &Comm, words: Introduction) {
        let [last, unwilling, crowded, copies] = words;
        let used = comm.boards();
        let Some(index) = suitable(comm).filter(|_| unwilling == 0) else {
            used.stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
            return;
        };
        // The upper half counts communicators, the lower half operations.
        let base = ((last >> 32) + 1) << 32;
        if self.boards.len() <= index {
            self.boards.resize_with(index + 1, Past::default);
        }
        let past = &mut self.boards[index];
        (past.last, past.readers) = (base, Some(comm.group().clone()));
        let own = comm.group().process(comm.rank());
        if let Some(board) = own.and_then(|own| self.board_of(own, index)) {
            // We read nothing of before. A next communicator may come before the first operation.
            board.finish(base);
        }
        // Relaxed: see `Use`.
        used.number.store(base, Ordering::Relaxed);
        used.safe.store(base, Ordering::Relaxed); // relaxed: see `Use`
        used.crowded.store(crowded != 0, Ordering::Relaxed); // relaxed: see `Use`
        used.reads.store(copies == 0, Ordering::Relaxed); // relaxed: see `Use`
        let stage = if comm.known_hosts().is_some() { ACROSS } else { READY };
        used.stage.store(stage, Ordering::Relaxed); // relaxed: see `Use`
    }

    #[inline(always)]
    fn board_of(&self, member: Rank, index: usize) -> Option<&Board> {
        self.fm().transport().board(member, index)
    }
}

/// The members that share our host, as processes: all, where hosts do not matter.
fn neighbours(comm: &Comm) -> impl Iterator<Item = Rank> {
    let hosts = comm.known_hosts();
    let here = hosts.map(|hosts| hosts.host(comm.rank()));
    let shares = move |m: &u32| hosts.is_none_or(|hosts| Some(hosts.host(*m)) == here);
    (0..comm.size()).filter(shares).filter_map(|m| comm.group().process(m))
}
