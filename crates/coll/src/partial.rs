//! The running result of a reduction that combines ranges in place, without copying the input.

use std::ops::Range;

use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec, Ty};

/// Where the partial result of a rank lies while a reduction goes on.
///
/// At first it is the untouched input (`source`); a range that has been combined once lies in
/// `acc`. When both are the same buffer the input is overwritten.
pub(crate) struct Partial {
    pub(crate) source: Buffer,
    pub(crate) acc: Buffer,
    pub(crate) extent: i64,
    pub(crate) commutative: bool,
    /// Whether ranges still lie in `source` and `source` may not be written.
    pub(crate) fresh: bool,
    landing: Option<Buffer>,
}

impl Partial {
    pub(crate) fn new(source: Buffer, acc: Buffer, extent: i64, commutative: bool) -> Partial {
        Partial { source, acc, extent, commutative, fresh: source != acc, landing: None }
    }

    pub(crate) fn block(&self, buffer: Buffer, range: &Range<i64>) -> Block {
        let count = range.end - range.start;
        Block::new(buffer, range.start * self.extent, count, Ty::Recv)
    }

    /// The current value of a range.
    pub(crate) fn current(&self, range: &Range<i64>) -> Block {
        self.block(if self.fresh { self.source } else { self.acc }, range)
    }

    /// Receives a peer's value of the range in this round and combines it with ours into `acc`.
    pub(crate) fn combine(
        &mut self,
        s: &mut Schedule,
        from: Peer,
        range: &Range<i64>,
        theirs_lower: bool,
    ) {
        let count = range.end - range.start;
        if count <= 0 {
            return;
        }
        let ours = self.block(self.acc, range);
        if self.fresh && (self.commutative || !theirs_lower) {
            s.recv(from, ours);
            s.reduce(self.block(self.source, range), ours);
            return;
        }
        let theirs = Block::new(self.landing(s, count), 0, count, Ty::Recv);
        s.recv(from, theirs);
        if self.fresh {
            s.copy(self.block(self.source, range), ours);
        }
        if theirs_lower || self.commutative {
            s.reduce(theirs, ours);
        } else {
            s.reduce(ours, theirs);
            s.copy(theirs, ours);
        }
    }

    /// Makes sure that the range lies in `acc`.
    pub(crate) fn settle(&self, s: &mut Schedule, range: &Range<i64>) {
        if self.fresh {
            s.copy(self.block(self.source, range), self.block(self.acc, range));
        }
    }

    fn landing(&mut self, s: &mut Schedule, count: i64) -> Buffer {
        match self.landing {
            Some(buffer) => {
                s.grow_temp(buffer, count);
                buffer
            }
            None => *self.landing.insert(s.temp(TempSpec::Elements(count))),
        }
    }
}
