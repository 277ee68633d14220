//! `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block` (MPI 5.0, section 6.10).

pub mod halving;
pub mod pairwise;
pub mod tree;

use std::ops::Range;

use crate::input::{self, Reduction};
use crate::schedule::{Block, Buffer, Schedule, Ty};
use crate::select::{DEFAULT, ReduceScatter, Tables};

/// The schedule that the default tables choose.
pub fn schedule(input: &input::ReduceScatter) -> Schedule {
    schedule_with(&DEFAULT, input)
}

/// The schedule that the given tables choose; they must be the same on all ranks.
pub fn schedule_with(tables: &Tables, input: &input::ReduceScatter) -> Schedule {
    build_with(tables, &Job::uneven(input))
}

/// The schedule of one algorithm; halving gives way to the tree if the operation does not commute.
pub fn build(algorithm: ReduceScatter, input: &input::ReduceScatter) -> Schedule {
    build_job(algorithm, &Job::uneven(input))
}

/// `MPI_Reduce_scatter_block`: `count` is that of one rank's result.
pub mod block {
    use super::{DEFAULT, Job, ReduceScatter, Reduction, Schedule, Tables, build_job, build_with};

    /// The schedule that the default tables choose.
    pub fn schedule(input: &Reduction) -> Schedule {
        schedule_with(&DEFAULT, input)
    }

    /// The schedule that the given tables choose; they must be the same on all ranks.
    pub fn schedule_with(tables: &Tables, input: &Reduction) -> Schedule {
        build_with(tables, &Job::even(input))
    }

    /// The schedule of one algorithm.
    pub fn build(algorithm: ReduceScatter, input: &Reduction) -> Schedule {
        build_job(algorithm, &Job::even(input))
    }
}

fn build_with(tables: &Tables, job: &Job) -> Schedule {
    build_job(tables.reduce_scatter(job.all.size, job.all.bytes()), job)
}

fn build_job(algorithm: ReduceScatter, job: &Job) -> Schedule {
    if job.all.count == 0 {
        return Schedule::new();
    }
    match algorithm {
        ReduceScatter::Halving if job.all.commutative => halving::schedule(job),
        ReduceScatter::Halving | ReduceScatter::Tree => tree::schedule(job),
        ReduceScatter::Pairwise => pairwise::schedule(job),
    }
}

/// The reduction of the whole operand, and how the result is dealt out.
pub struct Job {
    /// `count` is that of the whole operand, `root` is 0.
    all: Reduction,
    parts: Parts,
}

enum Parts {
    Even(i64),
    /// Where each rank's part starts, and the end of the last.
    Uneven(Vec<i64>),
}

impl Job {
    /// Parts of one length.
    pub fn even(input: &Reduction) -> Job {
        let count = input.count * i64::from(input.size);
        Job { all: Reduction { count, root: 0, ..*input }, parts: Parts::Even(input.count) }
    }

    /// A length for every rank of the group.
    pub fn uneven(input: &input::ReduceScatter) -> Job {
        let input::ReduceScatter { rank, size, counts, extent, size_bytes, .. } = *input;
        let mut starts = Vec::with_capacity(size as usize + 1);
        let mut count = 0;
        starts.push(0);
        for part in &counts[..size as usize] {
            count += part;
            starts.push(count);
        }
        let (commutative, in_place) = (input.commutative, input.in_place);
        let all =
            Reduction { rank, size, root: 0, count, extent, size_bytes, commutative, in_place };
        Job { all, parts: Parts::Uneven(starts) }
    }

    /// The whole reduction.
    pub(crate) fn all(&self) -> &Reduction {
        &self.all
    }

    /// Elements of the parts of `ranks` ranks from `first` on.
    pub(crate) fn range(&self, first: u32, ranks: u32) -> Range<i64> {
        let start = |rank: u32| match &self.parts {
            Parts::Even(count) => i64::from(rank) * count,
            Parts::Uneven(starts) => starts[rank as usize],
        };
        start(first)..start(first + ranks)
    }

    /// The part of a rank in a buffer with the whole operand.
    pub(crate) fn part(&self, buffer: Buffer, rank: u32) -> Block {
        let range = self.range(rank, 1);
        Block::new(buffer, range.start * self.all.extent, range.end - range.start, Ty::Recv)
    }

    /// This rank's part at the start of a buffer, where the result belongs.
    pub(crate) fn result(&self, buffer: Buffer) -> Block {
        Block { offset: 0, ..self.part(buffer, self.all.rank) }
    }
}
