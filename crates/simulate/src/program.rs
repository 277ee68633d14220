//! What the ranks of a job do: calls of MPI, with time to compute in between.

use crate::time::Time;

/// One call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Barrier,
    /// Of so many bytes, a multiple of 8: a sum of 64-bit numbers.
    Allreduce(usize),
    /// Of so many bytes for each other rank.
    Alltoall(usize),
    /// From this rank, of so many bytes.
    Bcast(u32, usize),
    /// The processor works for so long.
    Compute(Time),
    Send {
        to: u32,
        bytes: usize,
        tag: i32,
    },
    Recv {
        from: u32,
        bytes: usize,
        tag: i32,
    },
    /// Ended by [`Call::Waitall`], as is `Irecv`.
    Isend {
        to: u32,
        bytes: usize,
        tag: i32,
    },
    Irecv {
        from: u32,
        bytes: usize,
        tag: i32,
    },
    Waitall,
    /// The time is written down; it costs none.
    Mark,
}

/// What all ranks do.
pub trait Program {
    /// Call number `step` of `rank`; `None` after the last.
    fn call(&self, rank: u32, step: usize) -> Option<Call>;
}

/// The same call again and again on all ranks, with a mark before each and one at the end. What comes before the first
/// mark is for warming up: processes agree on something in their first collectives.
#[derive(Clone, Copy, Debug)]
pub struct Repeated {
    pub call: Call,
    pub times: usize,
}

/// Calls before the first mark: a barrier, the call itself, and a barrier, so that all begin together.
const WARM_UP: usize = 3;

impl Program for Repeated {
    fn call(&self, _: u32, step: usize) -> Option<Call> {
        let Some(step) = step.checked_sub(WARM_UP) else {
            return Some(if step == 1 { self.call } else { Call::Barrier });
        };
        match (step / 2, step % 2) {
            (round, 0) if round <= self.times => Some(Call::Mark),
            (round, 1) if round < self.times => Some(self.call),
            _ => None,
        }
    }
}

/// A message to and fro between the first and the last rank, between marks.
#[derive(Clone, Copy, Debug)]
pub struct PingPong {
    pub bytes: usize,
    pub times: usize,
    pub partner: u32,
}

impl Program for PingPong {
    fn call(&self, rank: u32, step: usize) -> Option<Call> {
        let Some(step) = step.checked_sub(1) else { return Some(Call::Barrier) };
        let (bytes, tag, partner) = (self.bytes, 1, self.partner);
        if rank != 0 && rank != partner {
            return None;
        }
        let send = |to| Call::Send { to, bytes, tag };
        let recv = |from| Call::Recv { from, bytes, tag };
        let both = if rank == 0 { [send(partner), recv(partner)] } else { [recv(0), send(0)] };
        match (step / 3, step % 3) {
            (round, 0) if round <= self.times => Some(Call::Mark),
            (round, part) if round < self.times => Some(both[part - 1]),
            _ => None,
        }
    }
}
