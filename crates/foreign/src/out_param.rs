//! Places of the program for one result, of another type than the engine's.

use core::ffi::c_int;
use core::ptr::null_mut;
use hpvm_abi::constants::*;

/// A result of the engine that knows whether it was written.
pub trait Unset: Copy + PartialEq {
    /// A value that the engine never stores.
    const UNSET: Self;
}

impl Unset for c_int {
    const UNSET: c_int = c_int::MIN;
}

macro_rules! handles {
    ($($handle:ident)*) => {$(
        impl Unset for $handle {
            const UNSET: $handle = $handle(usize::MAX);
        }
    )*};
}

handles! {
    MPI_Comm MPI_Group MPI_Datatype MPI_Op MPI_Request MPI_Message MPI_Errhandler MPI_Info MPI_Win
    MPI_File MPI_Session
}

/// A variable of the program (`F` its type), and ours for the engine to write to (`S`).
pub struct OutParam<F, S> {
    user: *mut F,
    before: S,
    own: S,
}

impl<F: Copy, S: Unset> OutParam<F, S> {
    /// For a result; null is allowed and handed on.
    #[inline(always)]
    pub fn new(user: *mut F) -> OutParam<F, S> {
        OutParam { user, before: S::UNSET, own: S::UNSET }
    }

    /// For a value that is read and written.
    ///
    /// # Safety
    /// `user` is null or holds a value.
    #[inline(always)]
    pub unsafe fn take(user: *mut F, translate: impl Fn(F) -> S) -> OutParam<F, S> {
        if user.is_null() {
            return OutParam::new(user);
        }
        // SAFETY: not null, and the caller vouches for it.
        let own = translate(unsafe { *user });
        OutParam { user, before: own, own }
    }

    /// Where the engine is to write.
    #[inline(always)]
    pub fn pointer(&mut self) -> *mut S {
        if self.user.is_null() { null_mut() } else { &mut self.own }
    }

    /// Hands the result over, if the engine wrote one.
    ///
    /// # Safety
    /// `user` is null or may be written.
    #[inline(always)]
    pub unsafe fn give(self, translate: impl Fn(S) -> F) {
        if !self.user.is_null() && self.own != self.before {
            // SAFETY: not null, and the caller vouches for it.
            unsafe { *self.user = translate(self.own) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_handed_over_only_when_there_are_any() {
        let mut user = 7i32;
        let mut param = OutParam::<i32, MPI_Comm>::new(&mut user);
        assert!(!param.pointer().is_null());
        // SAFETY: a local variable.
        unsafe { param.give(|h| h.0 as i32) };
        assert_eq!(user, 7);
        // SAFETY: as above; the pointer is that of the value.
        unsafe {
            let mut param =
                OutParam::<i32, MPI_Comm>::take(&mut user, |h| MPI_Comm(h as usize + 1));
            assert_eq!(*param.pointer(), MPI_Comm(8));
            *param.pointer() = MPI_Comm(20);
            param.give(|h| h.0 as i32 * 2);
        }
        assert_eq!(user, 40);
        assert!(OutParam::<i32, MPI_Comm>::new(null_mut()).pointer().is_null());
    }
}
