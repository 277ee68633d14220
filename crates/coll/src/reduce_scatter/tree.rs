//! Reduce, then scatter.

use super::Job;
use crate::exchange::{self, Blocks, Same};
use crate::reduce::tree_reduce;
use crate::scatter::linear::scatter;
use crate::schedule::{Block, Buffer, Schedule, TempSpec};

/// Binomial reduce to rank 0 in rank order, then a linear scatter.
///
/// Cost: log2 n + 1 messages on the longest path; log2 n times the operand through rank 0.
/// Wins: short operands on many ranks when the operation does not commute.
/// Source: the definition of the operation in MPI.
pub fn schedule(job: &Job) -> Schedule {
    let mut s = Schedule::new();
    let all = job.all();
    let target = if all.rank == 0 && all.size > 1 {
        s.temp(TempSpec::Elements(all.count))
    } else {
        Buffer::Recv
    };
    let value = tree_reduce(&mut s, all, 0, all.source(), target);
    deal(&mut s, job, value);
    s
}

/// Appends the scatter of the whole result, which lies in `value` at rank 0.
pub(crate) fn deal(s: &mut Schedule, job: &Job, value: Option<Block>) {
    let own = job.result(Buffer::Recv);
    let buffer = value.map_or(Buffer::Recv, |value| value.buffer);
    let whole = Whole { job, buffer };
    let recv = Same { block: own, bytes: own.count };
    let all = job.all();
    if all.rank == 0 && whole.block(0) != own {
        s.copy(whole.block(0), own);
    }
    scatter(s, (all.rank, all.size, 0), exchange::WINDOW, &whole, &recv);
}

/// The whole result as blocks for the ranks.
struct Whole<'a> {
    job: &'a Job,
    buffer: Buffer,
}

impl Blocks for Whole<'_> {
    fn block(&self, peer: u32) -> Block {
        self.job.part(self.buffer, peer)
    }
    fn bytes(&self, peer: u32) -> i64 {
        self.block(peer).count
    }
}
