//! The one state of a model's library, which calls of any thread look up.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Where the state is while the model is initialized.
#[derive(Debug)]
pub struct Holder<S>(AtomicPtr<S>);

impl<S> Holder<S> {
    /// Nothing is there yet.
    #[expect(clippy::new_without_default, reason = "made for statics only")]
    pub const fn new() -> Holder<S> {
        Holder(AtomicPtr::new(null_mut()))
    }

    #[inline(always)]
    pub fn get(&self) -> Option<&S> {
        // Acquire pairs with the release in `install`.
        let state = self.0.load(Ordering::Acquire);
        // SAFETY: null, or installed and not removed (`remove`).
        unsafe { state.as_ref() }
    }

    pub fn install(&self, state: S) {
        // Release pairs with the acquire in `get`.
        self.0.store(Box::into_raw(Box::new(state)), Ordering::Release);
    }

    /// Takes the state away from all calls.
    ///
    /// # Safety
    /// Nobody uses what `get` has returned any more: no other call may run during the last finalization.
    pub unsafe fn remove(&self) -> Option<Box<S>> {
        // AcqRel: as in `install` and `get`.
        let state = self.0.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: `install` made it; the caller's promise.
        (!state.is_null()).then(|| unsafe { Box::from_raw(state) })
    }
}
