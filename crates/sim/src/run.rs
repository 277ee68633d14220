//! Drives the state machines of all processes until they are done.

use crate::network::Network;

/// What one call of a state machine came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It got somewhere.
    Worked,
    /// It waits for others.
    Idle,
    /// It has finished and is not called again.
    Done,
}

/// A network on which nothing moves is dead when every waiting machine has been called this often
/// in vain. More than once, because a machine may look at something only now and then.
const CALLS_IN_VAIN: u32 = 100;

/// Rounds in a hundred in which a machine is not called, and in a thousand in which it starts a
/// long nap, as a process does that loses its core.
const SKIP_PERCENT: u8 = 20;
const NAP_PERMILLE: u16 = 5;
const NAP_ROUNDS: u32 = 200;

impl Network {
    /// Calls `turn` for each machine, in an order that changes each round and with naps, until
    /// all are done; moves time on meanwhile. `machines[r]` belongs to rank `r`; a rank that is
    /// killed is not called again.
    ///
    /// # Panics
    /// With the seed and the state of the network, when `rounds` were not enough or when nothing
    /// is under way and every machine waits.
    pub fn run<M>(
        &self,
        rounds: u64,
        machines: &mut [M],
        mut turn: impl FnMut(u32, &mut M) -> Turn,
    ) {
        assert_eq!(machines.len(), self.size() as usize, "one machine for each rank");
        let mut drive = Drive::new(machines.len());
        let mut order: Vec<usize> = (0..machines.len()).collect();
        for _ in 0..rounds {
            self.state.borrow_mut().random.shuffle(&mut order);
            let before = self.activity();
            for &i in &order {
                self.visit(&mut drive, i, &mut machines[i], &mut turn);
            }
            if drive.finished(self) {
                return;
            }
            let still = self.activity() == before;
            // Time also passes while machines work, or what they do would never overlap.
            let moved = (still || self.state.borrow_mut().random.bool()) && self.step();
            if moved {
                drive.stir();
            } else if still && drive.stuck(self) {
                panic!("no progress: ranks {:?} wait; {}", drive.waiting(self), self.describe());
            }
        }
        panic!(
            "{rounds} rounds were not enough: ranks {:?} are not done; {}",
            drive.waiting(self),
            self.describe()
        );
    }

    fn visit<M>(
        &self,
        drive: &mut Drive,
        i: usize,
        machine: &mut M,
        turn: &mut impl FnMut(u32, &mut M) -> Turn,
    ) {
        if drive.done[i] || !self.alive(i as u32) {
            return;
        }
        if self.is_held_back(i as u32) || self.naps(&mut drive.naps[i]) {
            return;
        }
        let before = self.activity();
        let outcome = turn(i as u32, machine);
        drive.done[i] = outcome == Turn::Done;
        if drive.done[i] {
            self.retire(i as u32);
        }
        if outcome == Turn::Idle && self.activity() == before {
            drive.idle[i] = drive.idle[i].saturating_add(1);
        } else {
            drive.stir();
        }
    }

    /// Whether a machine still reads a peer's memory in this round.
    fn is_held_back(&self, rank: u32) -> bool {
        let held_back = &mut self.state.borrow_mut().processes[rank as usize].held_back;
        let left = *held_back;
        *held_back = left.saturating_sub(1);
        left > 0
    }

    /// Whether a machine sleeps through this round.
    fn naps(&self, left: &mut u32) -> bool {
        let random = &mut self.state.borrow_mut().random;
        if *left > 0 {
            *left -= 1;
            return true;
        }
        if random.u16(0..1000) < NAP_PERMILLE {
            *left = random.u32(1..=NAP_ROUNDS);
        }
        random.u8(0..100) < SKIP_PERCENT
    }

    fn activity(&self) -> u64 {
        self.state.borrow().activity
    }
}

/// How far each machine is.
struct Drive {
    done: Vec<bool>,
    /// Calls in vain since anything last happened.
    idle: Vec<u32>,
    naps: Vec<u32>,
}

impl Drive {
    fn new(n: usize) -> Drive {
        Drive { done: vec![false; n], idle: vec![0; n], naps: vec![0; n] }
    }

    fn stir(&mut self) {
        self.idle.fill(0);
    }

    fn finished(&self, network: &Network) -> bool {
        self.done.iter().enumerate().all(|(i, d)| *d || !network.alive(i as u32))
    }

    fn stuck(&self, network: &Network) -> bool {
        network.state.borrow_mut().next_event().is_none()
            && self.done.iter().zip(&self.idle).enumerate().all(|(i, (done, idle))| {
                *done || *idle >= CALLS_IN_VAIN || !network.alive(i as u32)
            })
    }

    fn waiting(&self, network: &Network) -> Vec<usize> {
        (0..self.done.len()).filter(|i| !self.done[*i] && network.alive(*i as u32)).collect()
    }
}
