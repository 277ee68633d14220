//! What hpvm keeps in the internal words of `MPI_Status`: the first two hold the number of bytes,
//! the third whether the operation was cancelled.

use crate::constants::MPI_Status;
use core::ffi::c_int;

impl MPI_Status {
    /// Sets bytes and cancellation.
    #[inline(always)]
    pub fn set_outcome(&mut self, bytes: u64, cancelled: bool) {
        self.MPI_internal = [bytes as c_int, (bytes >> 32) as c_int, c_int::from(cancelled), 0, 0];
    }

    /// The number of bytes of the message.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        let [low, high, ..] = self.MPI_internal;
        u64::from(low as u32) | u64::from(high as u32) << 32
    }

    /// Whether the operation was cancelled.
    #[inline(always)]
    pub fn cancelled(&self) -> bool {
        self.MPI_internal[2] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_back() {
        let mut status = MPI_Status::default();
        for (bytes, cancelled) in [(0, true), (u64::MAX >> 1, false), (1 << 31, true)] {
            status.set_outcome(bytes, cancelled);
            assert_eq!((status.bytes(), status.cancelled()), (bytes, cancelled));
        }
    }
}
