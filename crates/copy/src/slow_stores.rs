//! Whether ordinary stores to shared memory are slow.
//!
//! Memory whose last reader shares a cache with the writer is written at some 20 GB/s. Where the two share
//! none, every line has to be fetched, at a tenth of that rate, and stores past the cache are faster although
//! the reader then reads from memory. Where a rank and its peers run may change at any time, so long
//! packets are timed as they are written, by the processor's own counter.

/// Shortest packet that is timed, bytes: below it the counter's own 10 ns would count.
pub const MIN_TIMED: usize = 4096;
/// Ticks for a KiB above which a write counts as slow: some 120 ns. Stores past the cache always take 100 to
/// 130 ns, ordinary ones 30 to 120 where a cache is shared, and 300 to 500 where none is.
const SLOW_TICKS: u64 = 340;
/// Slow writes in a row that are believed: a single one may have been interrupted.
const SLOW_IN_A_ROW: u32 = 2;
/// Packets written past the cache before an ordinary write is timed again.
const DETOUR_PACKETS: u32 = 32;

/// What is known about the last writes.
#[derive(Debug, Default)]
pub struct SlowStores {
    /// Slow writes in a row.
    slow: u32,
    /// Packets left that are to go past the cache.
    detour: u32,
}

/// The processor's counter; always 0 where it has none that is cheap to read.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

impl SlowStores {
    /// The next packets should be written past the cache.
    #[inline(always)]
    pub fn are_slow(&self) -> bool {
        self.detour > 0
    }

    /// A packet of `len` bytes, at least [`MIN_TIMED`], took `ticks` to write.
    #[inline(always)]
    pub fn wrote(&mut self, len: usize, ticks: u64) {
        if self.detour > 0 {
            self.detour -= 1;
        } else if ticks > (len as u64 >> 10) * SLOW_TICKS {
            self.slow += 1;
            if self.slow >= SLOW_IN_A_ROW {
                // The next time a single slow write will do.
                (self.slow, self.detour) = (SLOW_IN_A_ROW - 1, DETOUR_PACKETS);
            }
        } else {
            self.slow = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_writes_are_believed_when_they_repeat() {
        let mut stores = SlowStores::default();
        stores.wrote(16384, 1_000_000);
        assert!(!stores.are_slow(), "it may have been an interruption");
        stores.wrote(16384, 16 * SLOW_TICKS);
        stores.wrote(16384, 1_000_000);
        assert!(!stores.are_slow());
        stores.wrote(16384, 1_000_000);
        assert!(stores.are_slow());
        (0..DETOUR_PACKETS).for_each(|_| stores.wrote(16384, 0));
        assert!(!stores.are_slow(), "tried again");
        stores.wrote(16384, 1_000_000);
        assert!(stores.are_slow(), "still slow");
        (0..DETOUR_PACKETS).for_each(|_| stores.wrote(16384, 0));
        stores.wrote(16384, 100);
        stores.wrote(16384, 1_000_000);
        assert!(!stores.are_slow());
    }
}
