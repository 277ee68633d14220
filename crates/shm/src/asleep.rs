//! Falling asleep while a sender publishes: at least one of the two sees the other.
//!
//! The sender publishes the slot, then reads the receiver's doorbell. The sleeper sets its doorbell, then looks for
//! claimed slots. Each side needs a full barrier between its two steps. Where `membarrier` is available, the sleeper's
//! call also stands for the sender's barrier (`doorbell`). The loom model has the fences of both.

use core::sync::atomic::Ordering;
use hpvm_sync::atomic::{AtomicU32, compiler_fence, fence};
use hpvm_sync::order;

/// The sleeper's first half; it looks for slots afterwards. `barrier` runs a barrier on all processors, and says
/// whether it could.
#[inline(always)]
pub(crate) fn announce(doorbell: &AtomicU32, state: u32, barrier: impl FnOnce() -> bool) {
    // Relaxed: the barrier below orders it before the look at the ring.
    doorbell.store(state, Ordering::Relaxed);
    if !barrier() {
        // SeqCst pairs with the one in `is_announced`.
        fence(order!(SeqCst, "asleep.announce"));
    }
}

/// The sender's second half, after a publication: whether the receiver sleeps, or is about to. `fences`: some
/// rank can't run a barrier on all processors.
#[inline(always)]
pub(crate) fn is_announced(doorbell: &AtomicU32, fences: bool) -> bool {
    if fences {
        // SeqCst pairs with the one in `announce`: of our publication and the sleeper's flag, one side sees
        // the other's.
        fence(order!(SeqCst, "asleep.is_announced"));
    } else {
        // The sleeper's membarrier stands for the fence; the compiler must not reorder.
        compiler_fence(Ordering::SeqCst);
    }
    // Relaxed: see above.
    doorbell.load(Ordering::Relaxed) != 0
}
