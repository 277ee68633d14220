//! The segment: that of our host.

use crate::mux::Mux;
use hpvm_transport::{Rank, Segment};
use hpvm_wire::board::{Board, Sheet};
use hpvm_wire::counters::Counters;
use hpvm_wire::duet::Duet;

impl Segment for Mux {
    fn duet(&self, owner: Rank, index: usize) -> Option<&Duet> {
        self.shm.duet(self.local(owner)?, index)
    }

    fn counters(&self) -> Option<&Counters> {
        self.shm.counters()
    }

    #[inline(always)]
    fn board(&self, rank: Rank, index: usize) -> Option<&Board> {
        self.shm.board(self.local(rank)?, index)
    }

    #[inline(always)]
    fn sheet(&self, rank: Rank, index: usize, number: u64) -> Option<&Sheet> {
        self.shm.sheet(self.local(rank)?, index, number)
    }

    #[inline(always)]
    fn knock(&self, dst: Rank) {
        if let Some(local) = self.local(dst) {
            self.shm.knock(local);
        }
    }
}
