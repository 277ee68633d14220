//! What the ranks of a job do: calls of MPI, with time to compute in between.

use crate::time::Time;

/// One call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Collective(Collective),
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
    /// Ended by [`Call::Wait`] or [`Call::Waitall`], as is `Irecv`.
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
    /// For what was started last but so many: 1 is the last one.
    Wait(u32),
    Waitall,
    /// The time is written down; it costs none.
    Mark,
}

/// A collective operation. Its bytes are those of a block: what one rank gives to all or gets from all, or in an
/// exchange what a rank has for each other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Barrier,
    Bcast,
    /// This and the other reductions are sums of 64-bit numbers: a multiple of 8 bytes.
    Reduce,
    Allreduce,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatter,
    Scan,
}

/// A call of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    pub kind: Kind,
    pub bytes: usize,
    /// Where it has one, in the group.
    pub root: u32,
    /// Who takes part: a number of [`Program::groups`], or 0 for all ranks.
    pub group: u32,
    /// It does not block: ended by [`Call::Wait`] or [`Call::Waitall`].
    pub pending: bool,
}

impl Kind {
    /// All of them, with their names in traces.
    pub const ALL: [(Kind, &str); 10] = [
        (Kind::Barrier, "barrier"),
        (Kind::Bcast, "bcast"),
        (Kind::Reduce, "reduce"),
        (Kind::Allreduce, "allreduce"),
        (Kind::Gather, "gather"),
        (Kind::Scatter, "scatter"),
        (Kind::Allgather, "allgather"),
        (Kind::Alltoall, "alltoall"),
        (Kind::ReduceScatter, "reduce_scatter"),
        (Kind::Scan, "scan"),
    ];

    /// Whether one of the ranks has a part of its own.
    pub fn has_root(self) -> bool {
        matches!(self, Kind::Bcast | Kind::Reduce | Kind::Gather | Kind::Scatter)
    }

    /// Whether it combines numbers.
    pub fn reduces(self) -> bool {
        matches!(self, Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter | Kind::Scan)
    }
}

impl Call {
    /// A blocking collective of all ranks, with rank 0 as its root.
    pub const fn of_all(kind: Kind, bytes: usize) -> Call {
        Call::Collective(Collective { kind, bytes, root: 0, group: 0, pending: false })
    }

    /// A barrier of all ranks.
    pub const BARRIER: Call = Call::of_all(Kind::Barrier, 0);
}

/// What all ranks do.
pub trait Program {
    /// Call number `step` of `rank`; `None` after the last.
    fn call(&self, rank: u32, step: usize) -> Option<Call>;

    /// The groups that a rank belongs to beside that of all: their numbers, from 1 on, and their ranks in order. Groups that
    /// share no rank may have the same number.
    fn groups(&self, rank: u32) -> Vec<(u32, Vec<u32>)> {
        let _ = rank;
        Vec::new()
    }
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
            return Some(if step == 1 { self.call } else { Call::BARRIER });
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
        let Some(step) = step.checked_sub(1) else { return Some(Call::BARRIER) };
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
