//! The accumulate lock: one word that the ranks of a host spin on.
//!
//! Held for a few microseconds, never across a call, and by nobody who waits for anything else: so spinning
//! and yielding is enough. The word names its holder, for whoever looks at a process that hangs.

use crate::Rank;
use hpvm_sync::atomic::AtomicU32;
use hpvm_sync::{order, spin_hint};

/// Spins before the processor is offered to others: the holder may need it.
const SPINS: u32 = 128;

/// See the module's text. All zeros is an open lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct AccumulateLock {
    /// One more than the rank that holds it; 0 when nobody does.
    holder: AtomicU32,
}

/// The lock is held while this lives.
pub(crate) struct Held<'a>(&'a AccumulateLock);

impl AccumulateLock {
    /// Waits until nobody else holds the lock.
    pub fn hold(&self, me: Rank) -> Held<'_> {
        let mut turns = 0u32;
        // Acquire pairs with the release in `drop`: what was done under the lock comes first.
        // Relaxed on failure: nothing is read then.
        while self
            .holder
            .compare_exchange_weak(
                0,
                me.wrapping_add(1).max(1),
                order!(Acquire, "accumulate_lock.hold"),
                order!(Relaxed, "accumulate_lock.fail"),
            )
            .is_err()
        {
            turns = turns.wrapping_add(1);
            if turns < SPINS {
                spin_hint();
            } else {
                rest();
            }
        }
        Held(self)
    }
}

/// Lets the holder have our processor.
fn rest() {
    #[cfg(not(hpvm_loom))]
    std::thread::yield_now();
    #[cfg(hpvm_loom)]
    hpvm_sync::loom::thread::yield_now();
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `hold`.
        self.0.holder.store(0, order!(Release, "accumulate_lock.release"));
    }
}
