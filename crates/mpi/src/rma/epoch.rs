//! Epochs of one window at one rank: which calls are allowed when (section 12.5).

use crate::error::{Class, Error, Result};
use std::rc::Rc;

/// A lock that this rank holds at a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Held {
    #[default]
    No,
    Shared,
    Exclusive,
    /// `MPI_MODE_NOCHECK`: the program promises that nobody else wants it.
    Unchecked,
}

/// What opened the access epoch.
#[derive(Debug, Default, PartialEq, Eq)]
enum Access {
    #[default]
    Closed,
    /// `MPI_Win_fence`; whether something was accessed since.
    Fence { used: bool },
    /// `MPI_Win_start` with these ranks, in ascending order.
    Group(Rc<[u32]>),
    /// `MPI_Win_lock` at so many targets.
    Locks(u32),
    /// `MPI_Win_lock_all`.
    All,
}

/// The epochs of a window at one rank.
#[derive(Debug)]
pub struct Epochs {
    access: Access,
    /// `MPI_Win_post` has been called, and `MPI_Win_wait` has not returned.
    exposed: bool,
    held: Vec<Held>,
}

#[cold]
fn refused(text: impl Into<String>) -> Error {
    Error::new(Class::RmaSync, text.into())
}

impl Epochs {
    /// Of a window of `size` ranks.
    pub fn new(size: usize) -> Epochs {
        Epochs { access: Access::Closed, exposed: false, held: vec![Held::No; size] }
    }

    /// Names the open access epoch.
    fn open(&self) -> &'static str {
        match self.access {
            Access::Closed => "no epoch is open",
            Access::Fence { .. } => "the epoch of MPI_Win_fence is open",
            Access::Group(_) => "the epoch of MPI_Win_start is open",
            Access::Locks(_) => "the epoch of MPI_Win_lock is open",
            Access::All => "the epoch of MPI_Win_lock_all is open",
        }
    }

    /// Lets an operation access `rank`.
    #[inline(always)]
    pub fn access(&mut self, rank: usize) -> Result<()> {
        if self.allows(rank) { Ok(()) } else { Err(self.no_access(rank)) }
    }

    /// Whether an operation may access `rank`, which it does then.
    #[inline(always)]
    pub fn allows(&mut self, rank: usize) -> bool {
        match &mut self.access {
            Access::All => true,
            Access::Fence { used } => {
                *used = true;
                true
            }
            Access::Locks(_) => self.held[rank] != Held::No,
            Access::Group(ranks) => ranks.binary_search(&(rank as u32)).is_ok(),
            Access::Closed => false,
        }
    }

    #[cold]
    fn no_access(&self, rank: usize) -> Error {
        let lacks = match self.access {
            Access::Closed => "",
            Access::Group(_) => ", and its group has not this rank",
            _ => ", and this rank is not locked",
        };
        refused(format!("no access to rank {rank}: {}{lacks}", self.open()))
    }

    /// Lets a request-based operation, a flush or `MPI_Win_sync`'s like happen at `rank`: only between a lock and
    /// its unlock.
    #[inline(always)]
    pub fn passive(&self, rank: usize, call: &str) -> Result<()> {
        if self.is_passive(rank) { Ok(()) } else { Err(self.not_passive(rank, call)) }
    }

    /// Whether a call that needs a lock at `rank` may happen.
    #[inline(always)]
    pub fn is_passive(&self, rank: usize) -> bool {
        match self.access {
            Access::All => true,
            Access::Locks(_) => self.held[rank] != Held::No,
            _ => false,
        }
    }

    #[cold]
    fn not_passive(&self, rank: usize, call: &str) -> Error {
        refused(format!("{call} needs a lock at rank {rank}, and {}", self.open()))
    }

    /// As `passive`, for all ranks at a time.
    pub fn any_passive(&self, call: &str) -> Result<()> {
        match self.access {
            Access::All | Access::Locks(_) => Ok(()),
            _ => Err(refused(format!("{call} needs a lock, and {}", self.open()))),
        }
    }

    /// An access epoch may begin: none is open, or a fence's in which nothing was accessed.
    fn may_begin(&self, call: &str) -> Result<()> {
        match self.access {
            Access::Closed | Access::Fence { used: false } => Ok(()),
            _ => Err(refused(format!("{call}: {}", self.open()))),
        }
    }

    /// `MPI_Win_fence` may be called.
    pub fn check_fence(&self) -> Result<()> {
        match self.access {
            Access::Closed | Access::Fence { .. } if !self.exposed => Ok(()),
            Access::Closed | Access::Fence { .. } => {
                Err(refused("MPI_Win_fence: the epoch of MPI_Win_post is open"))
            }
            _ => Err(refused(format!("MPI_Win_fence: {}", self.open()))),
        }
    }

    /// A fence is over; another epoch follows unless `MPI_MODE_NOSUCCEED` was given.
    pub fn fenced(&mut self, succeeds: bool) {
        self.access = if succeeds { Access::Fence { used: false } } else { Access::Closed };
    }

    pub fn start(&mut self, ranks: Rc<[u32]>) -> Result<()> {
        self.may_begin("MPI_Win_start")?;
        self.access = Access::Group(ranks);
        Ok(())
    }

    /// The ranks of the epoch that `MPI_Win_complete` is to end.
    pub fn started(&self) -> Result<&Rc<[u32]>> {
        match &self.access {
            Access::Group(ranks) => Ok(ranks),
            _ => Err(refused(format!("MPI_Win_complete without MPI_Win_start: {}", self.open()))),
        }
    }

    /// Whether the open access epoch is one of `MPI_Win_start`: its targets look at what was put when they have been told that it has ended.
    pub fn ends_by_notice(&self) -> bool {
        matches!(self.access, Access::Group(_))
    }

    pub fn complete(&mut self) {
        self.access = Access::Closed;
    }

    pub fn post(&mut self) -> Result<()> {
        if self.exposed {
            return Err(refused("MPI_Win_post: the epoch of an earlier MPI_Win_post is open"));
        }
        if let Access::Fence { used: true } = self.access {
            return Err(refused(format!("MPI_Win_post: {}", self.open())));
        }
        self.exposed = true;
        Ok(())
    }

    /// `MPI_Win_wait` and `MPI_Win_test` need an open exposure epoch.
    pub fn check_exposed(&self, call: &str) -> Result<()> {
        match self.exposed {
            true => Ok(()),
            false => Err(refused(format!("{call} without MPI_Win_post"))),
        }
    }

    pub fn waited(&mut self) {
        self.exposed = false;
    }

    /// `MPI_Win_lock` at `rank` may be called.
    pub fn check_lock(&self, rank: usize) -> Result<()> {
        match self.access {
            Access::Locks(_) if self.held[rank] == Held::No => Ok(()),
            Access::Locks(_) => {
                Err(refused(format!("MPI_Win_lock: this rank holds a lock at rank {rank} already")))
            }
            _ => self.may_begin("MPI_Win_lock"),
        }
    }

    /// Whether `check_lock` has nothing to say.
    #[inline(always)]
    pub fn may_lock(&self, rank: usize) -> bool {
        match self.access {
            Access::Locks(_) => self.held[rank] == Held::No,
            Access::Closed => true,
            _ => self.check_lock(rank).is_ok(),
        }
    }

    /// The lock at `rank` has been had.
    #[inline(always)]
    pub fn locked(&mut self, rank: usize, held: Held) {
        self.held[rank] = held;
        self.access = match self.access {
            Access::Locks(n) => Access::Locks(n + 1),
            _ => Access::Locks(1),
        };
    }

    /// `Some` if `MPI_Win_unlock` may give a lock at `rank` back, and which.
    #[inline(always)]
    pub fn given_back_by_unlock(&self, rank: usize) -> Option<Held> {
        let held = self.held[rank];
        (matches!(self.access, Access::Locks(_)) && held != Held::No).then_some(held)
    }

    /// The lock that `MPI_Win_unlock` is to give back.
    pub fn held_by_lock(&self, rank: usize) -> Result<Held> {
        match self.given_back_by_unlock(rank) {
            Some(held) => Ok(held),
            None => {
                let text = format!("MPI_Win_unlock of rank {rank}, at which no lock is held");
                Err(refused(format!("{text}: {}", self.open())))
            }
        }
    }

    #[inline(always)]
    pub fn unlocked(&mut self, rank: usize) {
        self.held[rank] = Held::No;
        self.access = match self.access {
            Access::Locks(n) if n > 1 => Access::Locks(n - 1),
            _ => Access::Closed,
        };
    }

    pub fn check_lock_all(&self) -> Result<()> {
        self.may_begin("MPI_Win_lock_all")
    }

    pub fn lock_all(&mut self) {
        self.access = Access::All;
    }

    /// Notes a lock that belongs to the epoch of `MPI_Win_lock_all`.
    pub fn note_held(&mut self, rank: usize, held: Held) {
        self.held[rank] = held;
    }

    /// The lock that is held at `rank`.
    #[inline(always)]
    pub fn held(&self, rank: usize) -> Held {
        self.held[rank]
    }

    pub fn is_lock_all(&self) -> bool {
        self.access == Access::All
    }

    pub fn check_unlock_all(&self) -> Result<()> {
        match self.access {
            Access::All => Ok(()),
            _ => Err(refused(format!(
                "MPI_Win_unlock_all without MPI_Win_lock_all: {}",
                self.open()
            ))),
        }
    }

    pub fn unlock_all(&mut self) {
        self.access = Access::Closed;
        self.held.fill(Held::No);
    }

    /// `MPI_Win_free` needs that no epoch is open; that of a fence may be, when nothing was accessed in it.
    pub fn check_free(&self) -> Result<()> {
        if self.exposed {
            return Err(refused("MPI_Win_free: the epoch of MPI_Win_post is open"));
        }
        self.may_begin("MPI_Win_free")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Step = fn(&mut Epochs) -> Result<()>;

    const LOCK: Step = |e| {
        e.check_lock(1)?;
        e.locked(1, Held::Shared);
        Ok(())
    };
    const UNLOCK: Step = |e| {
        e.held_by_lock(1)?;
        e.unlocked(1);
        Ok(())
    };
    const LOCK_ALL: Step = |e| {
        e.check_lock_all()?;
        e.lock_all();
        Ok(())
    };
    const UNLOCK_ALL: Step = |e| {
        e.check_unlock_all()?;
        e.unlock_all();
        Ok(())
    };
    const START: Step = |e| e.start([1].into());
    const COMPLETE: Step = |e| {
        e.started()?;
        e.complete();
        Ok(())
    };
    const POST: Step = |e| e.post();
    const WAIT: Step = |e| {
        e.check_exposed("MPI_Win_wait")?;
        e.waited();
        Ok(())
    };
    const FENCE: Step = |e| {
        e.check_fence()?;
        e.fenced(true);
        Ok(())
    };
    const LAST: Step = |e| {
        e.check_fence()?;
        e.fenced(false);
        Ok(())
    };
    const PUT: Step = |e| e.access(1);
    const OTHER: Step = |e| e.access(0);
    const RPUT: Step = |e| e.passive(1, "MPI_Rput");
    const FREE: Step = |e| e.check_free();

    /// Calls in order; all but the last succeed, and the last does as the flag says.
    #[test]
    fn calls_are_allowed_as_the_standard_says() {
        let table: &[(&[Step], bool)] = &[
            (&[PUT], false),
            (&[FENCE, PUT, FENCE, OTHER, LAST, FREE], true),
            (&[FENCE, PUT, FREE], false),
            (&[FENCE, FREE], true),
            (&[FENCE, LAST, PUT], false),
            (&[LOCK, PUT, UNLOCK, FREE], true),
            (&[LOCK, OTHER], false),
            (&[LOCK, LOCK], false),
            (&[LOCK, FENCE], false),
            (&[LOCK, FREE], false),
            (&[LOCK, RPUT, UNLOCK, RPUT], false),
            (&[LOCK, LOCK_ALL], false),
            (&[LOCK, UNLOCK_ALL], false),
            (&[LOCK_ALL, PUT, OTHER, RPUT, UNLOCK_ALL, FREE], true),
            (&[LOCK_ALL, UNLOCK], false),
            (&[LOCK_ALL, LOCK], false),
            (&[UNLOCK], false),
            (&[UNLOCK_ALL], false),
            (&[FENCE, LOCK, UNLOCK], true),
            (&[FENCE, PUT, LOCK], false),
            (&[FENCE, RPUT], false),
            (&[START, PUT, COMPLETE, FREE], true),
            (&[START, OTHER], false),
            (&[START, START], false),
            (&[COMPLETE], false),
            (&[POST, START, PUT, COMPLETE, WAIT], true),
            (&[POST, POST], false),
            (&[POST, FENCE], false),
            (&[POST, FREE], false),
            (&[WAIT], false),
        ];
        for (at, (steps, allowed)) in table.iter().enumerate() {
            let mut epochs = Epochs::new(2);
            let (last, before) = steps.split_last().unwrap();
            for step in before {
                step(&mut epochs).unwrap_or_else(|e| panic!("line {at}: {e}"));
            }
            let result = last(&mut epochs);
            assert_eq!(result.is_ok(), *allowed, "line {at}: {result:?}");
            if let Err(error) = result {
                assert_eq!(error.class, Class::RmaSync, "line {at}");
            }
        }
    }

    #[test]
    fn several_locks_are_one_epoch() {
        let mut epochs = Epochs::new(3);
        for rank in 0..3 {
            epochs.check_lock(rank).unwrap();
            epochs.locked(rank, Held::Exclusive);
        }
        for rank in 0..3 {
            epochs.access(rank).unwrap();
            epochs.held_by_lock(rank).unwrap();
            epochs.unlocked(rank);
        }
        epochs.check_free().unwrap();
    }
}
