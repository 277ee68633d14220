//! `MPI_Status` of MPICH's ABI.

use core::ffi::c_int;
use hpvm_foreign::Outcome;

/// The fields after the count have the standard's names in C.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    count_lo: c_int,
    /// Bit 0: cancelled; the others: bits 32 to 62 of the count.
    count_hi_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    pub error: c_int,
}

impl Status {
    #[inline(always)]
    pub fn load(&self) -> Outcome {
        let high = self.count_hi_and_cancelled as u32;
        Outcome {
            source: self.source,
            tag: self.tag,
            error: self.error,
            bytes: u64::from(self.count_lo as u32) | u64::from(high >> 1) << 32,
            cancelled: high & 1 != 0,
        }
    }

    /// Writes all but the error.
    ///
    /// # Safety
    /// `place` may be written.
    #[inline(always)]
    pub unsafe fn store(place: *mut Status, outcome: &Outcome) {
        let high = (outcome.bytes >> 32) as u32;
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*place).count_lo).write(outcome.bytes as c_int);
            (&raw mut (*place).count_hi_and_cancelled)
                .write((high << 1 | u32::from(outcome.cancelled)) as c_int);
            (&raw mut (*place).source).write(outcome.source);
            (&raw mut (*place).tag).write(outcome.tag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_come_back() {
        for (bytes, cancelled) in [(0, false), ((1 << 63) - 1, true), (1 << 32, false), (5, true)] {
            let outcome = Outcome { source: 3, tag: -1, error: 9, bytes, cancelled };
            let mut status =
                Status { count_lo: 0, count_hi_and_cancelled: 0, source: 0, tag: 0, error: 9 };
            // SAFETY: a local variable.
            unsafe { Status::store(&mut status, &outcome) };
            assert_eq!(status.load(), outcome);
        }
        assert_eq!(size_of::<Status>(), 20);
    }
}
