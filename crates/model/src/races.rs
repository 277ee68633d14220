//! What processes did to each other's memory, brought to whom the memory belongs: for `HPVM_CHECK`.

use crate::engine::{Name, done, mpi};
use core::ffi::c_void;
use hpvm_abi::constants::{MPI_Aint, MPI_BYTE, MPI_Comm, MPI_Count, MPI_UINT64_T};
use hpvm_conflicts::{Access, Log, Use};

/// An access as a word in messages.
pub trait Coded: Access {
    fn code(self) -> u64;
    fn from_code(code: u64) -> Self;
}

/// Words of a use in messages: first byte, end, access.
const WORDS: usize = 3;

/// Whether `HPVM_CHECK` asks for mistakes that cost time to find.
pub fn checks() -> bool {
    let value = std::env::var_os("HPVM_CHECK");
    value.is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "no" | "off")))
}

/// What this process did to each process's memory since all met the last time, up to when it may have heard of others.
pub struct SinceMeeting<A> {
    /// By process.
    logs: Vec<Log<A>>,
    heard: bool,
}

impl<A: Coded> SinceMeeting<A> {
    pub fn new(processes: usize) -> SinceMeeting<A> {
        SinceMeeting { logs: (0..processes).map(|_| Log::default()).collect(), heard: false }
    }

    /// An access to memory of `process`.
    pub fn note(&mut self, process: usize, new: Use<A>) {
        if !self.heard {
            self.logs[process].note(new);
        }
    }

    /// What was done at `process` is complete: what follows may be ordered behind it.
    pub fn completed(&mut self, process: usize) {
        self.logs[process].clear();
    }

    /// This process may know now what others have done: what follows may be ordered by that.
    pub fn heard(&mut self) {
        self.heard = true;
    }

    /// What was noted, by process; nothing is noted any more.
    pub fn take(&mut self) -> Vec<Log<A>> {
        self.heard = false;
        self.logs.iter_mut().map(std::mem::take).collect()
    }
}

/// Two accesses of different processes to the same bytes of this process's memory, out of what each process noted since the
/// last meeting (`logs`, by process). Collective.
pub fn conflict<A: Coded>(name: Name, comm: MPI_Comm, logs: &[Log<A>]) -> Option<(Use<A>, Use<A>)> {
    gather(name, comm, logs).conflict()
}

/// Sends each process of the communicator what this one did there (`logs`, by process); what all did here. Collective.
fn gather<A: Coded>(name: Name, comm: MPI_Comm, logs: &[Log<A>]) -> Log<A> {
    let words = |one: &Use<A>| [one.first, one.end, one.access.code()];
    let send: Vec<u64> = logs.iter().flat_map(Log::uses).flat_map(words).collect();
    let counts: Vec<u64> = logs.iter().map(|log| (log.uses().len() * WORDS * 8) as u64).collect();
    let mut due = vec![0_u64; counts.len()];
    // SAFETY: a word for each process.
    done(name, unsafe {
        let (from, to) = (counts.as_ptr().cast(), due.as_mut_ptr().cast());
        (mpi().MPI_Alltoall)(from, 1, MPI_UINT64_T, to, 1, MPI_UINT64_T, comm)
    });
    let (sent, sent_at) = parts(&counts);
    let (got, got_at) = parts(&due);
    let mut recv = vec![0_u64; (due.iter().sum::<u64>() / 8) as usize];
    // SAFETY: as many bytes as the counts say, which the processes have told each other.
    done(name, unsafe {
        let (from, to) = (send.as_ptr().cast::<c_void>(), recv.as_mut_ptr().cast::<c_void>());
        let (sent, sent_at) = (sent.as_ptr(), sent_at.as_ptr());
        let (got, got_at) = (got.as_ptr(), got_at.as_ptr());
        (mpi().MPI_Alltoallv_c)(from, sent, sent_at, MPI_BYTE, to, got, got_at, MPI_BYTE, comm)
    });
    let mut log = Log::default();
    for (origin, (at, len)) in got_at.iter().zip(&got).enumerate() {
        let from = *at as usize / 8;
        for [first, end, code] in recv[from..from + *len as usize / 8].as_chunks::<WORDS>().0 {
            let access = A::from_code(*code);
            log.note(Use { first: *first, end: *end, origin: origin as u32, access });
        }
    }
    log
}

/// Lengths in bytes as MPI counts them, and where each part begins.
fn parts(counts: &[u64]) -> (Vec<MPI_Count>, Vec<MPI_Aint>) {
    let mut end = 0;
    let begins = counts.iter().map(|len| {
        end += *len;
        (end - len) as MPI_Aint
    });
    let begins = begins.collect();
    (counts.iter().map(|len| *len as MPI_Count).collect(), begins)
}
