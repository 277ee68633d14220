//! Waiting for something that no doorbell announces, such as a credit.

use core::time::Duration;

/// Turns for which the core is kept.
const SPINS: u32 = 64;
/// Turns, after those, for which the core is only offered to others.
const YIELDS: u32 = 256;
/// A nap, after those.
const NAP: Duration = Duration::from_micros(50);

/// Spins, then yields, then naps. One value per wait; `reset` when something happened.
#[derive(Debug, Default)]
pub struct Backoff {
    turns: u32,
}

impl Backoff {
    /// Passes a little time: nanoseconds at first, 50 µs at last.
    pub fn pause(&mut self) {
        self.turns = self.turns.saturating_add(1);
        if self.turns <= SPINS {
            core::hint::spin_loop();
        } else if self.turns <= SPINS + YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.turns = 0;
    }
}
