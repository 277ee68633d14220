//! The network as a test sees it: time, faults, statistics.

use crate::config::Config;
use crate::endpoint::SimTransport;
use crate::lossy::Lossy;
use crate::state::State;
use core::cell::RefCell;
use hpvm_transport::{Broken, Head, Rank};
use std::rc::Rc;

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets sent, and their payload bytes.
    pub packets: u64,
    pub bytes: u64,
    /// Packets that receivers polled.
    pub polled: u64,
    /// Packets lost with a dead process.
    pub lost: u64,
    /// Credits granted.
    pub granted: u64,
    /// Grants of 0 because the pool was empty or the sender held its batch.
    pub empty_grants: u64,
    /// Sends refused because every buffer was on its way.
    pub no_buffer: u64,
    /// Grants and buffers refused by chance.
    pub refused: u64,
    /// Single-copy transfers that succeeded, and their bytes.
    pub reads: u64,
    pub read_bytes: u64,
    /// Parts of messages that senders wrote to their receivers' memory.
    pub writes: u64,
    /// Most packets that one receiver had to hold at once.
    pub max_outstanding: usize,
    /// A digest of every packet polled, with its time: equal in two runs of one seed.
    pub digest: u64,
}

impl Statistics {
    /// Folds one polled packet into the digest (FNV-1a).
    pub(crate) fn record(&mut self, now: u64, src: Rank, dst: Rank, head: &Head, payload: &[u8]) {
        let mut digest = self.digest ^ 0xcbf2_9ce4_8422_2325;
        let mut fold = |bytes: &[u8]| {
            for b in bytes {
                digest = (digest ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        fold(&now.to_le_bytes());
        fold(&src.to_le_bytes());
        fold(&dst.to_le_bytes());
        fold(&head.imm.to_le_bytes());
        fold(&[head.handler, head.flags, head.aux as u8, (head.aux >> 8) as u8]);
        fold(payload);
        self.digest = digest;
    }
}

/// A virtual network. Clones are the same network.
#[derive(Clone)]
pub struct Network {
    pub(crate) state: Rc<RefCell<State>>,
}

impl Network {
    /// A network in which nothing has happened.
    ///
    /// # Panics
    /// When the numbers of `config` contradict each other.
    pub fn new(config: Config) -> Network {
        Network { state: Rc::new(RefCell::new(State::new(config))) }
    }

    /// The end of process `rank`.
    ///
    /// # Panics
    /// When there is no such process or its end was handed out before.
    pub fn endpoint(&self, rank: Rank) -> SimTransport {
        let mut state = self.state.borrow_mut();
        let size = state.config.size;
        assert!(rank < size, "no rank {rank} among {size}");
        let process = state.process(rank);
        assert!(!process.taken, "rank {rank} has its endpoint already");
        process.taken = true;
        let limits = state.config.limits;
        SimTransport::new(Rc::clone(&self.state), rank, size, limits, Rc::clone(&state.coll_slots))
    }

    /// The ends of all processes, in the order of their ranks.
    pub fn endpoints(&self) -> Vec<SimTransport> {
        (0..self.size()).map(|r| self.endpoint(r)).collect()
    }

    pub fn size(&self) -> u32 {
        self.state.borrow().config.size
    }

    pub fn seed(&self) -> u64 {
        self.state.borrow().config.seed
    }

    /// Virtual time, in ticks.
    pub fn now(&self) -> u64 {
        self.state.borrow().now
    }

    /// Moves time to the next event and lets everything of that tick happen. False when nothing
    /// is under way.
    pub fn step(&self) -> bool {
        let mut state = self.state.borrow_mut();
        let Some(at) = state.next_event() else { return false };
        state.advance_to(at);
        state.answer(false);
        true
    }

    /// Lets every process do what the reliability protocol asks of it, as if each were in a call
    /// just now; delivers nothing. For tests that poll one end and leave the other alone.
    pub fn attend(&self) {
        self.state.borrow_mut().answer(true);
    }

    /// Process `rank` has finished: from now on the network answers for it what others must hear
    /// to finish, too. [`Network::run`] does it for every machine that is done.
    pub fn retire(&self, rank: Rank) {
        if let Some(lossy) = &mut self.state.borrow_mut().lossy {
            lossy.retire(rank);
        }
    }

    /// What the reliability protocols of all processes have counted; empty without datagrams.
    pub fn protocol_counters(&self) -> Vec<(&'static str, u64)> {
        self.state.borrow().lossy.as_ref().map(|lossy| lossy.counters()).unwrap_or_default()
    }

    /// Most packets that one receiver ever has to hold: the formula that bounds its memory.
    pub fn bound(config: &Config) -> usize {
        match &config.weather {
            None => config.credits,
            Some(weather) => Lossy::bound(weather, config.size),
        }
    }

    /// Moves time on by `ticks`.
    pub fn advance(&self, ticks: u64) {
        let mut state = self.state.borrow_mut();
        let to = state.now.saturating_add(ticks);
        state.advance_to(to);
    }

    /// Moves time on until nothing is under way: packets sent so far wait to be polled.
    pub fn settle(&self) {
        while self.step() {}
    }

    /// True when nothing is under way and no live process has a packet to poll.
    pub fn idle(&self) -> bool {
        let mut state = self.state.borrow_mut();
        state.next_event().is_none()
            && state.processes.iter().all(|p| p.inbox.is_empty())
            && !state.lossy.as_ref().is_some_and(|lossy| lossy.is_busy())
    }

    /// Ends process `rank` as `kill -9` does. Of its packets on the way, the latest of each pair
    /// (none, some or all, by chance) are lost; packets on the way to it are lost; the credits
    /// and buffers of those never come home. Every other process's poll reports
    /// [`Broken::PeerLost`] from some moment within `Config::death_delay` on. Its own endpoint
    /// does nothing from now on: grants are 0, sends are refused, polls find nothing.
    pub fn kill(&self, rank: Rank) {
        self.state.borrow_mut().kill(rank);
    }

    /// From `delay` ticks on, every poll of `rank` reports `why`.
    pub fn break_later(&self, rank: Rank, delay: u64, why: Broken) {
        self.state.borrow_mut().break_later(rank, delay, why);
    }

    /// Something beside the packets of this network is under way: a job that waits for it is not
    /// stuck.
    pub fn stir(&self) {
        self.state.borrow_mut().activity += 1;
    }

    pub fn alive(&self, rank: Rank) -> bool {
        self.state.borrow().alive(rank)
    }

    pub fn statistics(&self) -> Statistics {
        self.state.borrow().statistics
    }

    /// Where every packet and credit is, for the text of a failure.
    pub fn describe(&self) -> String {
        let state = self.state.borrow();
        format!("seed {}, {}", state.config.seed, state.describe())
    }
}
