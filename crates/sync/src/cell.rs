//! Memory that several threads or processes share by rules of their own.

/// `UnsafeCell`, whose accesses the model checker sees: it fails when two that are not ordered conflict.
#[cfg(hpvm_loom)]
pub use loom::cell::UnsafeCell;

/// `core::cell::UnsafeCell` with loom's interface.
#[cfg(not(hpvm_loom))]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(hpvm_loom))]
impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        UnsafeCell(core::cell::UnsafeCell::new(value))
    }

    /// Hands out the address for reading. Whether that is sound is the caller's affair.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Hands out the address for writing. Whether that is sound is the caller's affair.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
