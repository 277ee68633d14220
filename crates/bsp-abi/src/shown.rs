//! Memory by which processes of one host hand packed messages to each other.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};
use hpvm_abi::onesided::Key;
use hpvm_bsp::Memory;
use hpvm_model::onesided;

/// What lies before the bytes of a block.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Head {
    pub key: Key,
    /// No other block of this process has had it; from 1.
    pub serial: u64,
    /// Bytes behind the head.
    pub bytes: u64,
}

pub const HEAD: usize = size_of::<Head>();

/// Blocks that others can map, each with a [`Head`].
pub static MAPPABLE: Memory = Memory { take, give };

static SERIAL: AtomicU64 = AtomicU64::new(0);

fn take(bytes: usize) -> *mut u8 {
    let Some(all) = bytes.checked_add(HEAD) else { return null_mut() };
    let mut key: Key = [0; size_of::<Key>()];
    // SAFETY: a size; memory that was just allocated with it.
    let block = unsafe {
        let block = (onesided().allocate)(all);
        if block.is_null() {
            return null_mut();
        }
        if (onesided().expose)(block, all, &mut key) != 0 {
            (onesided().release)(block, all);
            return null_mut();
        }
        block.cast::<u8>()
    };
    // Relaxed: a number of its own is all that is asked for.
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed) + 1;
    // SAFETY: whole pages, which begin with room for a head.
    unsafe {
        block.cast::<Head>().write(Head { key, serial, bytes: bytes as u64 });
        block.add(HEAD)
    }
}

unsafe fn give(start: *mut u8, bytes: usize) {
    // SAFETY: `take` returned it: the head lies before it, and the block has this size.
    unsafe {
        let block = start.sub(HEAD);
        let head = block.cast::<Head>().read();
        (onesided().withdraw)(&head.key);
        (onesided().release)(block.cast::<c_void>(), bytes + HEAD);
    }
}

/// The head of a block.
///
/// # Safety
/// `start` is what `MAPPABLE.take` returned.
pub unsafe fn head(start: *const u8) -> Head {
    // SAFETY: the caller's promise.
    unsafe { start.sub(HEAD).cast::<Head>().read() }
}
