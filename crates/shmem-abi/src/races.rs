//! `HPVM_CHECK` for OpenSHMEM: accesses to the same symmetric bytes that nothing orders.
//!
//! A PE's own operations are compared when they are called, until a quiet, fence or barrier, or until it hears of others. What several PEs do is
//! compared when all meet (`shmem_barrier_all`, allocations, `shmem_finalize`): of each PE what it did before it first
//! heard of others in that span, by a wait, test, atomic operation, lock or collective. What comes behind that may be
//! ordered by it, in ways that are not followed.

use crate::state::{Region, State};
use crate::types::Name;
use hpvm_conflicts::Use;
use hpvm_model::{Coded, SinceMeeting, fail};
use std::sync::{Mutex, PoisonError};

/// What an operation does with symmetric bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Put,
    Get,
    /// A non-blocking get, to this PE itself until it is complete.
    GetNbi,
    Atomic,
    /// An atomic operation that changes nothing.
    AtomicFetch,
}

impl hpvm_conflicts::Access for Access {
    /// Those of one PE are compared when they are called: it may have completed the one before the other.
    fn clashes(self, other: Access, same_origin: bool) -> bool {
        !same_origin && self.needs_order(other)
    }

    fn is_put(self) -> bool {
        self == Access::Put
    }
}

impl Access {
    fn needs_order(self, other: Access) -> bool {
        let reads = |access| matches!(access, Access::Get | Access::GetNbi | Access::AtomicFetch);
        let is_atomic = |access| matches!(access, Access::Atomic | Access::AtomicFetch);
        !(reads(self) && reads(other) || is_atomic(self) && is_atomic(other))
    }

    fn shown(self) -> &'static str {
        match self {
            Access::Put => "a put",
            Access::Get | Access::GetNbi => "a get",
            Access::Atomic => "an atomic operation",
            Access::AtomicFetch => "an atomic fetch",
        }
    }
}

impl Coded for Access {
    fn code(self) -> u64 {
        self as u64
    }

    fn from_code(code: u64) -> Access {
        match code {
            0 => Access::Put,
            1 => Access::Get,
            2 => Access::GetNbi,
            3 => Access::Atomic,
            _ => Access::AtomicFetch,
        }
    }
}

/// Operations of this PE at one other that are compared with the next ones: enough for what programs do between two
/// quiets, few enough to look through at each call.
const MAX_PENDING: usize = 4096;

/// Bits of an offset; the number of the region is above them.
const OFFSET_BITS: u32 = 56;

/// What is known of the operations of this PE, by the PE whose memory they access.
struct Known {
    pending: Vec<Vec<Use<Access>>>,
    since_barrier: SinceMeeting<Access>,
}

pub struct Races(Mutex<Known>);

impl Races {
    pub fn new(pes: usize) -> Races {
        Races(Mutex::new(Known {
            pending: vec![Vec::new(); pes],
            since_barrier: SinceMeeting::new(pes),
        }))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes an operation, and compares it with those of this PE that are under way.
pub fn note(
    s: &State,
    name: Name,
    (region, offset): (&Region, usize),
    len: usize,
    pe: usize,
    access: Access,
) {
    let Some(races) = &s.races else { return };
    let number = s.regions.iter().position(|known| known.base == region.base).unwrap_or(0);
    let first = (number as u64) << OFFSET_BITS | offset as u64;
    let new = Use { first, end: first + len as u64, origin: s.me as u32, access };
    let mut known = races.known();
    let clashes = |old: &&Use<Access>| old.meets(&new) && old.access.needs_order(access);
    let clash = known.pending[pe].iter().find(clashes).copied();
    if let Some(old) = clash {
        drop(known);
        let text = "no shmem_quiet, shmem_fence or barrier comes between them";
        conflict(s, name, pe, (old, new), text);
    }
    // A get that has returned is complete.
    if access != Access::Get && known.pending[pe].len() < MAX_PENDING {
        known.pending[pe].push(new);
    }
    known.since_barrier.note(pe, new);
}

/// The operations of this PE are complete.
pub fn completed(s: &State) {
    if let Some(races) = &s.races {
        races.known().pending.iter_mut().for_each(Vec::clear);
    }
}

/// This PE may know now what others have done, and what they have seen of it: its puts may be complete.
#[inline(always)]
pub fn heard(s: &State) {
    if s.checks {
        note_heard(s);
    }
}

#[cold]
fn note_heard(s: &State) {
    let Some(races) = &s.races else { return };
    let mut known = races.known();
    known.since_barrier.heard();
    for pending in &mut known.pending {
        pending.retain(|one| one.access == Access::GetNbi);
    }
}

/// All PEs call this, with their operations complete: compares what they did to the memory of this one.
#[cold]
pub fn all_meet(s: &State, name: Name) {
    let Some(races) = &s.races else { return };
    let logs = races.known().since_barrier.take();
    if let Some(pair) = hpvm_model::conflict(name, s.world.comm, &logs) {
        conflict(s, name, s.me, pair, "no barrier comes between them");
    }
}

#[cold]
fn conflict(s: &State, name: Name, pe: usize, (a, b): (Use<Access>, Use<Access>), why: &str) -> ! {
    let (first, last) = (a.first.max(b.first), a.end.min(b.end) - 1);
    let region = &s.regions[(first >> OFFSET_BITS) as usize];
    let offset = |at: u64| at & ((1 << OFFSET_BITS) - 1);
    let base = region.base as u64;
    let text = format!(
        "{} of PE {} and {} of PE {} both access bytes {} to {} of the {} of PE {pe} (here at {:#x}), and {why}",
        a.access.shown(),
        a.origin,
        b.access.shown(),
        b.origin,
        offset(first),
        offset(last),
        region.what,
        base + offset(first)
    );
    fail(name, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_conflicts::Access as _;

    #[test]
    fn accesses_meet_as_the_standard_says() {
        use Access::{Atomic, AtomicFetch, Get, GetNbi, Put};
        for (a, b, clash) in [
            (Put, Put, true),
            (Put, Get, true),
            (Put, Atomic, true),
            (Get, Atomic, true),
            (GetNbi, Put, true),
            (Get, Get, false),
            (Get, GetNbi, false),
            (Atomic, Atomic, false),
            (AtomicFetch, Put, true),
            (AtomicFetch, Get, false),
            (AtomicFetch, GetNbi, false),
            (AtomicFetch, Atomic, false),
            (AtomicFetch, AtomicFetch, false),
        ] {
            assert_eq!((a.clashes(b, false), b.clashes(a, false)), (clash, clash), "{a:?} {b:?}");
            assert_eq!((a.needs_order(b), a.clashes(b, true)), (clash, false), "{a:?} {b:?}");
        }
        for access in [Put, Get, GetNbi, Atomic, AtomicFetch] {
            assert_eq!(Access::from_code(access as u64), access);
        }
    }
}
