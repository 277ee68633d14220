//! Atomics facade, padding, backoff; the only user of loom.
//!
//! Lock-free code in this workspace takes its atomics from here. A normal build gets the
//! hardware's; a build with `--cfg hpvm_loom` gets loom's, which explore every interleaving of a
//! small model. The switch is a cfg of our own because `cfg(test)` never reaches a dependency.

#[cfg(not(hpvm_loom))]
pub mod atomic {
    //! The hardware's atomics.
    pub use core::sync::atomic::{
        AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        compiler_fence,
    };

    /// As the language's. On x86 a full fence is a locked operation that changes nothing instead of `mfence`, as compilers of
    /// C make it: it orders the same loads and stores, in a tenth of the time on some processors.
    #[inline(always)]
    pub fn fence(order: Ordering) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if order == Ordering::SeqCst {
            // SAFETY: a word of this thread's stack below all that the compiler uses, whose value stays as it is.
            unsafe { core::arch::asm!("lock or dword ptr [rsp - 64], 0") };
            return;
        }
        core::sync::atomic::fence(order);
    }
}

#[cfg(hpvm_loom)]
pub mod atomic {
    //! loom's atomics: every access is a scheduling point of the model.
    pub use loom::sync::atomic::{
        AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        fence,
    };
    /// loom models no compiler reordering beyond that of its atomics.
    pub fn compiler_fence(_: Ordering) {}
}

#[cfg(hpvm_loom)]
pub use loom;

pub mod barrier;
pub mod biased;
pub mod cell;
#[cfg(hpvm_loom)]
pub mod weaken;

/// A memory ordering with a name: `order!(Release, "ring.publish")`.
///
/// In a model-checker build a model can be run with any named ordering weakened ([`weaken`]), so that a test
/// shows that the model notices; else it is the ordering and nothing more.
#[cfg(not(hpvm_loom))]
#[macro_export]
macro_rules! order {
    ($ordering:ident, $name:literal) => {
        core::sync::atomic::Ordering::$ordering
    };
}

/// See the other build's.
#[cfg(hpvm_loom)]
#[macro_export]
macro_rules! order {
    ($ordering:ident, $name:literal) => {
        $crate::weaken::ordering(core::sync::atomic::Ordering::$ordering, $name)
    };
}

/// A value alone on its pair of cache lines.
///
/// 128 bytes, not 64: the adjacent-line prefetcher of x86 moves lines in pairs, so two hot words
/// 64 bytes apart still disturb each other. aarch64 server cores have 128-byte lines outright.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Padded<T>(pub T);

impl<T> core::ops::Deref for Padded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Tells the core that this is a spin-wait turn.
#[inline(always)]
pub fn spin_hint() {
    #[cfg(not(hpvm_loom))]
    core::hint::spin_loop();
    #[cfg(hpvm_loom)]
    loom::thread::yield_now();
}

/// Asks the cache to fetch the line at `address` for reading. A hint: any address is allowed.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: PREFETCHT0 never faults, whatever the address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// The same for writing: the line leaves the caches of other processors.
#[inline(always)]
pub fn prefetch_to_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: PREFETCHW never faults, whatever the address, and does nothing where it is unknown.
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
