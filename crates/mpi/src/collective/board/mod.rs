//! Small collectives over notice boards (`hpvm_wire::board`), without messages.
//!
//! Where all members of a communicator share memory, a small blocking collective is one exchange
//! of notes: each member posts what others need, waits for the notes it needs, and reads them
//! itself. Everybody reads in the order of ranks, so a reduction has the same bits everywhere.
//!
//! Members have to agree that a communicator uses boards, and from which number on. They do so in
//! one reduction by messages ([`Process::introduction`]) when it has seen a few collectives; until
//! then, and where one of them says no, collectives go by messages.

mod call;

pub use call::{Call, Sides, What};

use crate::comm::Comm;
use crate::group::Group;
use crate::process::Process;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::board::{BOARDS, Board, NOTE_BYTES};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

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
    calls: AtomicU32,
    /// The last operation that was begun.
    number: AtomicU64,
    /// An operation that all members are known to have finished.
    safe: AtomicU64,
}

const TRYING: u8 = 0;
const READY: u8 = 1;
const NEVER: u8 = 2;

/// How a small collective is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Messages,
    /// Members introduce themselves first, then ask again.
    Introduce,
    Boards,
}

/// What a process remembers of one of its boards beyond the life of a communicator.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// The last number used on it.
    last: u64,
    /// Who may still read its notes.
    readers: Option<Arc<Group>>,
}

/// Which board a communicator uses, if it may use one at all.
fn index(comm: &Comm) -> Option<usize> {
    let index = (comm.base_context() / crate::comm::CONTEXTS) as usize;
    let fits = !comm.is_inter() && (2..=MEMBERS).contains(&comm.size()) && index < BOARDS;
    fits.then_some(index)
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
            _ => Way::Messages,
        }
    }

    #[cold]
    fn on_trial(&self, comm: &Comm) -> Way {
        let used = comm.boards();
        if index(comm).is_none() {
            used.stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
            return Way::Messages;
        }
        let calls = used.calls.fetch_add(1, Ordering::Relaxed); // relaxed: see `Use`
        if calls < TRIAL { Way::Messages } else { Way::Introduce }
    }

    /// What this process tells the others about its board: the last number used on it, and 1 if
    /// it can't take part. The members build the maximum of both words and hand it to
    /// [`Process::introduced`].
    pub fn introduction(&self, comm: &Comm) -> [u64; 2] {
        let Some(index) = index(comm) else { return [0, 1] };
        let last = self.boards.get(index).map_or(0, |past| past.last);
        let willing = members(comm).all(|m| self.board_of(m, index).is_some()) && self.quit(index);
        [last, u64::from(!willing)]
    }

    /// Nobody reads what an earlier communicator left on board `index`.
    fn quit(&self, index: usize) -> bool {
        let Some(Past { last, readers: Some(readers) }) = self.boards.get(index) else {
            return true;
        };
        (0..readers.size()).filter_map(|m| readers.process(m)).all(|m| {
            let board = self.board_of(m, index);
            board.is_none_or(|board| board.finished() >= *last)
        })
    }

    /// The members of `comm` have introduced themselves.
    pub fn introduced(&mut self, comm: &Comm, [last, unwilling]: [u64; 2]) {
        let used = comm.boards();
        let Some(index) = index(comm).filter(|_| unwilling == 0) else {
            used.stage.store(NEVER, Ordering::Relaxed); // relaxed: see `Use`
            return;
        };
        // The upper half counts communicators, the lower half operations.
        let base = ((last >> 32) + 1) << 32;
        if self.boards.len() <= index {
            self.boards.resize_with(index + 1, Past::default);
        }
        self.boards[index] = Past { last: base, readers: Some(comm.group().clone()) };
        // Relaxed: see `Use`.
        used.number.store(base, Ordering::Relaxed);
        used.safe.store(base, Ordering::Relaxed); // relaxed: see `Use`
        used.stage.store(READY, Ordering::Relaxed); // relaxed: see `Use`
    }

    #[inline(always)]
    fn board_of(&self, member: Rank, index: usize) -> Option<&Board> {
        self.fm().transport().board(member, index)
    }
}

/// The processes of an intracommunicator in the order of their ranks.
fn members(comm: &Comm) -> impl Iterator<Item = Rank> {
    (0..comm.size()).filter_map(|m| comm.group().process(m))
}
