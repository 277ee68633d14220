//! Pairwise reduce-scatter.

use super::Job;
use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec};
use crate::tree::{down, up};

/// Pairwise reduce-scatter: every part of an operand goes straight to its owner, who combines.
///
/// Cost: n - 1 rounds, m (n - 1) / n bytes out and in, no forwarding.
/// Wins: long operands. The order of operands is kept: parts come in falling order of ranks, first
/// those below, then those above, which are combined apart.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
/// MPICH", 2005; the two sums are ours.
pub fn schedule(job: &Job) -> Schedule {
    let all = job.all();
    let (rank, size) = (all.rank, all.size);
    let rounds = size as usize;
    let mut s = Schedule::with_capacity(rounds, 2 * rounds, rounds + 2);
    let mut sums = Sums::new(&mut s, job);
    for step in 1..size {
        let (to, from) = (up(rank, step, size), down(rank, step, size));
        s.send(Peer::Local(to), job.part(all.source(), to));
        sums.add(&mut s, from);
        s.end_round();
    }
    sums.finish(&mut s);
    s
}

/// The sums over the ranks up to this one and over those above.
struct Sums<'a> {
    job: &'a Job,
    /// Where the lower sum lies; the untouched own part at first.
    low: Block,
    /// Where the lower sum is to lie once it is written.
    low_home: Block,
    high: Option<Block>,
    high_home: Block,
    landing: Block,
}

impl<'a> Sums<'a> {
    fn new(s: &mut Schedule, job: &'a Job) -> Sums<'a> {
        let all = job.all();
        let mut temp = || {
            let held = job.result(Buffer::Recv).count;
            job.result(s.temp(TempSpec::Elements(held)))
        };
        let result = job.result(Buffer::Recv);
        let last = all.rank + 1 == all.size;
        // The last sum to be written may lie in the result, unless the input is there.
        let (low_home, high_home) = match (all.in_place, last || all.commutative) {
            (true, true) => (temp(), result),
            (true, false) => (temp(), temp()),
            (false, true) => (result, result),
            (false, false) => (temp(), result),
        };
        let landing = temp();
        let low = job.part(all.source(), all.rank);
        Sums { job, low, low_home, high: None, high_home, landing }
    }

    /// Receives a rank's operand and combines it. Ranks come in falling order, wrapping once.
    fn add(&mut self, s: &mut Schedule, from: u32) {
        let all = self.job.all();
        let peer = Peer::Local(from);
        if from > all.rank && !all.commutative {
            match self.high {
                None => {
                    s.recv(peer, self.high_home);
                    self.high = Some(self.high_home);
                }
                Some(high) => {
                    s.recv(peer, self.landing);
                    s.reduce(self.landing, high);
                }
            }
            return;
        }
        if self.low == self.low_home {
            s.recv(peer, self.landing);
            s.reduce(self.landing, self.low_home);
        } else if all.commutative {
            s.recv(peer, self.low_home);
            s.reduce(self.low, self.low_home);
        } else {
            s.recv(peer, self.landing);
            s.copy(self.low, self.low_home);
            s.reduce(self.landing, self.low_home);
        }
        self.low = self.low_home;
    }

    /// Joins the sums and brings the result where it belongs.
    fn finish(self, s: &mut Schedule) {
        let value = match self.high {
            Some(high) => {
                s.reduce(self.low, high);
                high
            }
            None => self.low,
        };
        let result = self.job.result(Buffer::Recv);
        if value != result {
            s.copy(value, result);
        }
        s.end_round();
    }
}
