//! Ranks on processors: what [`balance`] needs to know of them.

use crate::balance;
use crate::endpoint::Shm;
use core::sync::atomic::Ordering;
use hpvm_transport::{Packets, Rank};

/// Most ranks of a host that look after each other: looking costs a cache line for each.
const MAX_RANKS: u32 = 64;

impl Shm {
    /// True when another rank that is awake was last seen waiting on the processor that runs us:
    /// polling would keep that rank from answering. Tells the others where we are. Costs a cache
    /// line per rank, so jobs of many ranks do not ask.
    pub fn shares_processor(&self) -> bool {
        const FEW: u32 = 16;
        if self.size() > FEW {
            return false;
        }
        let here = self.show_processor();
        (0..self.size()).filter(|r| *r != self.rank()).any(|r| {
            // Relaxed: a hint, which orders nothing.
            let awake = self.mapping().control(r).doorbell.load(Ordering::Relaxed) == 0;
            here != 0 && self.processor(r) == here && awake
        })
    }

    /// Shows the others on which processor we run, as [`balance::here`] counts.
    #[inline]
    pub fn show_processor(&self) -> u32 {
        let here = balance::here();
        balance::show(&self.mapping().control(self.rank()).processor, here);
        here
    }

    /// Where `rank` was when it last said so, as [`Shm::show_processor`] does.
    #[inline]
    pub fn processor(&self, rank: Rank) -> u32 {
        // Relaxed: a hint, which orders nothing.
        self.mapping().control(rank).processor.load(Ordering::Relaxed)
    }

    /// Moves this thread to a processor with fewer ranks, as [`balance::Balance::migrate`] says. To be called now and then while waiting.
    pub fn migrate(&mut self) {
        if self.size() > MAX_RANKS {
            return;
        }
        self.show_processor();
        let shown: Vec<u32> = (0..self.size()).map(|rank| self.processor(rank)).collect();
        if self.balance.migrate(&shown, self.rank() as usize) {
            self.show_processor();
        }
    }
}
