//! `HPVM_CHECK` for ARMCI: accesses of several processes to the same bytes that nothing orders.
//!
//! What processes do is compared when all meet (`ARMCI_Barrier`, `ARMCI_Malloc` and `ARMCI_Free` of all, `ARMCI_Finalize`), at
//! the process whose memory it is. Of each process those operations are compared that come before it may have heard of
//! others in that span (a wait, a mutex, a read-modify-write, a message), and behind which no fence comes: programs order
//! by a fence and messages of MPI, which are not seen here. The operations of one process keep their order by themselves; the parts of
//! one operation don't, so those are compared at its call.

use crate::state::State;
use crate::types::Name;
use hpvm_armci::{Part, overlap};
use hpvm_conflicts::Use;
use hpvm_model::{Coded, SinceMeeting, fail};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What an operation does with bytes of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Put,
    Get,
    /// Accumulates and read-modify-writes, which are atomic among themselves.
    Update,
}

impl hpvm_conflicts::Access for Access {
    fn clashes(self, other: Access, same_origin: bool) -> bool {
        let alike = self == other && self != Access::Put;
        !same_origin && !alike
    }

    fn is_put(self) -> bool {
        self == Access::Put
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
            _ => Access::Update,
        }
    }
}

impl Access {
    fn shown(self) -> &'static str {
        match self {
            Access::Put => "a put",
            Access::Get => "a get",
            Access::Update => "an accumulate or read-modify-write",
        }
    }
}

pub struct Races(Mutex<SinceMeeting<Access>>);

impl Races {
    /// `None`: `HPVM_CHECK` does not ask for it.
    pub fn new(processes: usize) -> Option<Races> {
        hpvm_model::checks().then(|| Races(Mutex::new(SinceMeeting::new(processes))))
    }

    fn known(&self) -> MutexGuard<'_, SinceMeeting<Access>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `len` bytes at `address` of a process are accessed.
    #[cold]
    pub fn note(&self, me: usize, process: usize, address: usize, len: usize, access: Access) {
        let first = address as u64;
        let new = Use { first, end: first + len as u64, origin: me as u32, access };
        self.known().note(process, new);
    }

    /// What was done at a process is complete: what follows may be ordered behind it.
    pub fn completed(&self, process: usize) {
        self.known().completed(process);
    }

    /// This process may know now what others have done.
    pub fn heard(&self) {
        self.known().heard();
    }
}

/// This process may know now what others have done.
#[inline]
pub fn heard(s: &State) {
    if let Some(races) = &s.races {
        races.heard();
    }
}

/// A fence: what was done at a process is complete.
#[inline]
pub fn completed(s: &State, process: usize) {
    if let Some(races) = &s.races {
        races.completed(process);
    }
}

/// Ends the job where parts of a put or a get write to the same bytes: rows, say. `collect` tells where each is written to.
pub fn one_transfer(s: &State, name: Name, part: &str, collect: impl FnOnce(&mut Vec<Part>)) {
    if s.races.is_none() {
        return;
    }
    let mut parts = Vec::new();
    collect(&mut parts);
    if let Some((a, b)) = overlap(&mut parts) {
        fail(
            name,
            &format!(
                "{part}s {} and {} are written to the same bytes: {part} {} begins {} bytes behind {part} {}, which has {}; \
                 expected bytes of its own for each",
                a.number,
                b.number,
                b.number,
                b.at - a.at,
                a.number,
                a.len
            ),
        );
    }
}

/// All processes call this, and nobody goes on before all have come: compares what they did to the memory of this one.
pub fn all_meet(s: &State, name: Name) {
    let Some(races) = &s.races else { return };
    let logs = races.known().take();
    if let Some(pair) = hpvm_model::conflict(name, s.world.comm, &logs) {
        conflict(s, name, pair);
    }
}

#[cold]
fn conflict(s: &State, name: Name, (a, b): (Use<Access>, Use<Access>)) -> ! {
    let (first, last) = (a.first.max(b.first), a.end.min(b.end) - 1);
    let spaces = s.spaces.read().unwrap_or_else(PoisonError::into_inner);
    let within = spaces.of(s.me).find(|(memory, _)| memory.contains(&(first as usize)));
    let bytes = match within {
        Some((memory, _)) => {
            let base = memory.start as u64;
            let (first, last) = (first - base, last - base);
            format!("bytes {first} to {last} of the {} bytes at {base:#x}", memory.len())
        }
        None => format!("{} bytes at {first:#x}", last + 1 - first),
    };
    fail(
        name,
        &format!(
            "{} of process {} and {} of process {} both access {bytes} of process {}, and neither a fence nor a barrier \
             comes between them",
            a.access.shown(),
            a.origin,
            b.access.shown(),
            b.origin,
            s.me
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_conflicts::Access as _;

    #[test]
    fn accesses_meet_as_armci_says() {
        let all = [Access::Put, Access::Get, Access::Update];
        for (a, b) in all.iter().flat_map(|a| all.map(|b| (*a, b))) {
            assert_eq!(a.clashes(b, false), b.clashes(a, false));
            assert!(!a.clashes(b, true), "one process keeps its order");
            assert_eq!(Access::from_code(a.code()), a);
        }
        assert!(Access::Put.clashes(Access::Put, false) && Access::Put.clashes(Access::Get, false));
        assert!(Access::Update.clashes(Access::Get, false));
        assert!(!Access::Update.clashes(Access::Update, false));
        assert!(!Access::Get.clashes(Access::Get, false));
    }
}
