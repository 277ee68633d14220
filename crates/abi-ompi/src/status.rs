//! `MPI_Status` of this ABI.

use core::ffi::c_int;
use hpvm_foreign::Outcome;

/// The fields that programs read come first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case)]
pub struct Status {
    pub MPI_SOURCE: c_int,
    pub MPI_TAG: c_int,
    pub MPI_ERROR: c_int,
    cancelled: c_int,
    bytes: usize,
}

impl Status {
    #[inline(always)]
    pub fn outcome(&self) -> Outcome {
        Outcome {
            source: self.MPI_SOURCE,
            tag: self.MPI_TAG,
            error: self.MPI_ERROR,
            bytes: self.bytes as u64,
            cancelled: self.cancelled != 0,
        }
    }

    /// Writes all but the error.
    ///
    /// # Safety
    /// `place` may be written.
    #[inline(always)]
    pub unsafe fn store(place: *mut Status, outcome: &Outcome) {
        // SAFETY: the caller's promise.
        unsafe {
            (*place).MPI_SOURCE = outcome.source;
            (*place).MPI_TAG = outcome.tag;
            (*place).cancelled = c_int::from(outcome.cancelled);
            (*place).bytes = outcome.bytes as usize;
        }
    }
}
