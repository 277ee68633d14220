//! The word behind a message's first frame that says how many of its bytes have been written by now.

use core::sync::atomic::Ordering;
use hpvm_sync::atomic::AtomicU32;
use hpvm_sync::order;

/// A message begins: nothing of it has been written.
#[inline(always)]
pub(crate) fn begin(word: &AtomicU32) {
    // Relaxed: the slot that names the frame is published with release.
    word.store(0, Ordering::Relaxed);
}

/// The first `bytes` bytes have been written.
#[inline(always)]
pub(crate) fn advance(word: &AtomicU32, bytes: usize) {
    // Release pairs with the acquire in `written`.
    word.store(bytes as u32, order!(Release, "progress.advance"));
}

/// So many bytes may be read.
#[inline(always)]
pub(crate) fn written(word: &AtomicU32) -> usize {
    // Acquire pairs with the release in `advance`: the bytes came before it.
    word.load(order!(Acquire, "progress.written")) as usize
}
