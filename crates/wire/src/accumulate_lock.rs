//! The accumulate lock of an exposed region: one word that the ranks of a host spin on, for atomic operations that the
//! processor does not know, or that are done through the kernel.
//!
//! Held for a few microseconds, never across a call, and by nobody who waits for anything else: so spinning and
//! yielding is enough. The word names its holder, for whoever looks at a process that hangs.

use hpvm_sync::atomic::AtomicU32;
use hpvm_sync::{order, spin_hint};

/// Spins before the processor is offered to others: the holder may need it.
const SPINS: u32 = 128;

/// See the module's text. All zeros is an open lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AccumulateLock {
    /// One more than the rank that holds it; 0 when nobody does.
    holder: AtomicU32,
}

/// The lock is held while this lives.
pub struct Held<'a>(&'a AccumulateLock);

impl AccumulateLock {
    /// Waits until nobody else holds the lock. `me` is the caller's rank.
    pub fn hold(&self, me: u32) -> Held<'_> {
        let mut turns = 0u32;
        while !self.take(me) {
            turns = turns.wrapping_add(1);
            match turns < SPINS {
                true => spin_hint(),
                false => rest(),
            }
        }
        Held(self)
    }

    fn take(&self, me: u32) -> bool {
        let holder = me.wrapping_add(1).max(1);
        // Acquire pairs with the release in `drop`: what was done under the lock comes first.
        // Relaxed on failure: nothing is read then.
        let taken = order!(Acquire, "accumulate_lock.hold");
        self.holder.compare_exchange(0, holder, taken, order!(Relaxed, "")).is_ok()
    }
}

/// Lets the holder have our processor.
fn rest() {
    #[cfg(not(hpvm_loom))]
    std::thread::yield_now();
    #[cfg(hpvm_loom)]
    spin_hint();
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `take`.
        self.0.holder.store(0, order!(Release, "accumulate_lock.release"));
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<AccumulateLock>(), 4);
        let lock = AccumulateLock::default();
        drop(lock.hold(7));
        let _held = lock.hold(u32::MAX);
        assert!(!lock.take(1));
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use hpvm_sync::loom::cell::UnsafeCell;
    use hpvm_sync::weaken::is_noticed;
    use std::sync::Arc;

    /// Two ranks update an element that no processor knows.
    fn nothing_is_lost() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let shared = Arc::new((AccumulateLock::default(), UnsafeCell::new(0u32)));
            let add = |shared: &(AccumulateLock, UnsafeCell<u32>), me| {
                let _held = shared.0.hold(me);
                // SAFETY: the lock is held; loom looks whether that is enough.
                shared.1.with_mut(|element| unsafe { *element += 1 });
            };
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || add(&shared, 1))
            };
            add(&shared, 0);
            other.join().unwrap();
            let _held = shared.0.hold(0);
            // SAFETY: as above.
            assert_eq!(shared.1.with(|element| unsafe { *element }), 2);
        });
    }

    #[test]
    fn updates_under_the_lock_lose_nothing() {
        nothing_is_lost();
    }

    #[test]
    fn every_ordering_of_the_lock_is_needed() {
        for name in ["accumulate_lock.hold", "accumulate_lock.release"] {
            assert!(is_noticed(name, nothing_is_lost), "{name} may be weakened and nobody notices");
        }
    }
}
