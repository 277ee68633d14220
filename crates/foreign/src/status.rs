//! Statuses: from the program's form to the engine's and back.

use crate::numbers::{error_in, error_out, rank_in, rank_out, tag_in, tag_out};
use crate::out_param::Unset;
use crate::{Abi, Outcome};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use hpvm_abi::constants::MPI_Status;

const UNWRITTEN: MPI_Status = MPI_Status {
    MPI_SOURCE: c_int::UNSET,
    MPI_TAG: 0,
    MPI_ERROR: c_int::UNSET,
    MPI_internal: [0; 5],
};

/// The engine's form of a status of the program.
#[inline(always)]
pub fn status_in<A: Abi>(status: &A::Status) -> MPI_Status {
    let outcome = A::load(status);
    let mut own = MPI_Status {
        MPI_SOURCE: rank_in::<A>(outcome.source),
        MPI_TAG: tag_in::<A>(outcome.tag),
        MPI_ERROR: error_in::<A>(outcome.error),
        MPI_internal: [0; 5],
    };
    own.set_outcome(outcome.bytes, outcome.cancelled);
    own
}

/// Writes a status of the program. Its error stays unless the engine gave one.
///
/// # Safety
/// `user` may be written.
#[inline(always)]
pub unsafe fn status_out<A: Abi>(own: &MPI_Status, user: *mut A::Status) {
    let outcome = Outcome {
        source: rank_out::<A>(own.MPI_SOURCE),
        tag: tag_out::<A>(own.MPI_TAG),
        error: 0,
        bytes: own.bytes(),
        cancelled: own.cancelled(),
    };
    // SAFETY: the caller's promise.
    unsafe { A::store(user, &outcome) };
    if own.MPI_ERROR != c_int::UNSET {
        // SAFETY: as above.
        unsafe { A::store_error(user, error_out::<A>(own.MPI_ERROR)) };
    }
}

/// A place of the program for one status.
pub struct OneStatus<A: Abi> {
    user: *mut A::Status,
    own: MPI_Status,
}

impl<A: Abi> OneStatus<A> {
    /// For a result; `MPI_STATUS_IGNORE` and null mean that none is wanted.
    #[inline(always)]
    pub fn new(user: *mut A::Status) -> OneStatus<A> {
        let ignore = user.addr() == A::MPI_STATUS_IGNORE;
        OneStatus { user: if ignore { null_mut() } else { user }, own: UNWRITTEN }
    }

    /// For a status that is read, and perhaps written.
    ///
    /// # Safety
    /// `user` is null, `MPI_STATUS_IGNORE` or a status.
    #[inline(always)]
    pub unsafe fn take(user: *const A::Status) -> OneStatus<A> {
        let mut one = OneStatus::<A>::new(user.cast_mut());
        if !one.user.is_null() {
            // SAFETY: the caller's promise.
            one.own = status_in::<A>(unsafe { &*one.user });
        }
        one
    }

    #[inline(always)]
    pub fn pointer(&mut self) -> *mut MPI_Status {
        if self.user.is_null() { null_mut() } else { &mut self.own }
    }

    /// Hands the status over, if the engine wrote one.
    ///
    /// # Safety
    /// The program's place may be written.
    #[inline(always)]
    pub unsafe fn give(self) {
        if !self.user.is_null() && self.own.MPI_SOURCE != c_int::UNSET {
            // SAFETY: not null, and the caller vouches for it.
            unsafe { status_out::<A>(&self.own, self.user) };
        }
    }
}

/// Statuses that need no memory from the heap.
const INLINE_STATUSES: usize = 16;

/// A place of the program for many statuses.
pub struct Statuses<A: Abi> {
    user: *mut A::Status,
    len: usize,
    few: [MaybeUninit<MPI_Status>; INLINE_STATUSES],
    many: Vec<MPI_Status>,
}

impl<A: Abi> Statuses<A> {
    /// For `len` results; `MPI_STATUSES_IGNORE` and null mean that none are wanted. What it holds is
    /// never moved, because that would copy all of it.
    #[inline(always)]
    pub fn new(user: *mut A::Status, len: usize) -> Statuses<A> {
        let ignore = user.is_null() || user.addr() == A::MPI_STATUSES_IGNORE;
        let (user, len) = if ignore { (null_mut(), 0) } else { (user, len) };
        let few = [const { MaybeUninit::uninit() }; INLINE_STATUSES];
        Statuses { user, len, few, many: Vec::new() }
    }

    /// Marks all of them as unwritten.
    #[inline(always)]
    pub fn clear(&mut self) {
        if self.len > INLINE_STATUSES {
            self.many = vec![UNWRITTEN; self.len];
        } else {
            self.few[..self.len].fill(MaybeUninit::new(UNWRITTEN));
        }
    }

    #[inline(always)]
    pub fn pointer(&mut self) -> *mut MPI_Status {
        match () {
            _ if self.user.is_null() => null_mut(),
            _ if self.len > INLINE_STATUSES => self.many.as_mut_ptr(),
            _ => self.few.as_mut_ptr().cast(),
        }
    }

    /// Hands over what the engine wrote. Where it only told an error, only that is handed over.
    ///
    /// # Safety
    /// After `clear`; the program's array has the length given and may be written.
    #[inline(always)]
    pub unsafe fn give(&mut self) {
        let place = self.pointer();
        for i in 0..self.len {
            // SAFETY: both arrays have `len` elements, all of ours initialised.
            let (own, user) = unsafe { (&*place.add(i), self.user.add(i)) };
            // SAFETY: the caller vouches for the place.
            unsafe {
                if own.MPI_SOURCE != c_int::UNSET {
                    status_out::<A>(own, user);
                } else if own.MPI_ERROR != c_int::UNSET {
                    A::store_error(user, error_out::<A>(own.MPI_ERROR));
                }
            }
        }
    }
}
