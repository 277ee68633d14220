//! Copies where both sides are mapped.

/// Copies `len` bytes. They may be the same memory.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match len {
            ..=64 => hpvm_copy::once(from, to, len),
            _ if from.addr().abs_diff(to.addr()) < len => core::ptr::copy(from, to, len),
            _ => hpvm_copy::wide(from, to, len),
        }
    }
}
