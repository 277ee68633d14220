//! Sleeping on a word of a link. Both sides poll first, where they have processors of their own; who shares one with the other,
//! or with other programs, gets on faster when each sleeps as soon as it has nothing to do: a processor that is only offered
//! (`sched_yield`) may come back milliseconds later.

use hpvm_sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// Sleeps while `word` is `value`, until somebody wakes us there, or for so long; unless `is_needless` by then. Who wakes us
/// publishes first, and calls [`wake`] after that.
pub fn sleep(word: &AtomicU32, value: u32, longest: Duration, is_needless: impl FnOnce() -> bool) {
    // Relaxed: the fence orders it before the look.
    word.store(value, Ordering::Relaxed);
    // Either we see what was published, or the other side sees that we sleep: pairs with the fence of `state`.
    fence(Ordering::SeqCst);
    if !is_needless() {
        let limit = libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(longest.subsec_nanos() as i32),
        };
        // SAFETY: the kernel compares the word, which is borrowed, and reads `limit`. Not private: another process wakes us.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &limit) };
    }
    // Relaxed: who still reads the value wakes us in vain.
    word.store(0, Ordering::Relaxed);
}

/// What the word is, after something was published.
pub fn state(word: &AtomicU32) -> u32 {
    // Pairs with the fences of `sleep` and of `Incoming::arm`.
    fence(Ordering::SeqCst);
    word.load(Ordering::Relaxed) // relaxed: see above
}

/// Wakes who sleeps there; returns what the word was.
pub fn wake(word: &AtomicU32) -> u32 {
    // Relaxed: the word carries no data. Of several one pays for the call.
    let state = word.swap(0, Ordering::Relaxed);
    if state != 0 {
        // SAFETY: the kernel uses the address as a key.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
    }
    state
}
