//! How fast frames can be written.
//!
//! A frame whose last reader shares a cache with us is written at some 20 GB/s. Between processors
//! that share none every line has to be fetched, at a tenth of that, and stores that bypass the cache
//! win although the receiver then reads from memory. Where a rank and its peers run may change at
//! any time, so each long packet is timed, by the processor's own counter.

/// Packets of this many bytes and more are timed.
pub const TIMED: usize = 4096;
/// Ticks for a KiB above which a write counts as slow: some 120 ns. Stores that bypass the cache take
/// 100 to 130 ns always, others 30 to 120 where a cache is shared, and 300 to 500 where none is.
const SLOW: u64 = 340;
/// Slow writes in a row that are believed: one may have been interrupted.
const PROOF: u32 = 2;
/// Packets that bypass the cache before the next ordinary one is timed.
const DETOUR: u32 = 32;

/// What is known about the last writes.
#[derive(Debug, Default)]
pub struct Pace {
    slow: u32,
    detour: u32,
}

/// The processor's counter; 0 always where it has none that is cheap to read.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}

impl Pace {
    /// The next packets should bypass the cache.
    #[inline(always)]
    pub fn is_slow(&self) -> bool {
        self.detour > 0
    }

    /// A packet of `len` bytes, at least [`TIMED`], took `ticks` to write.
    #[inline(always)]
    pub fn wrote(&mut self, len: usize, ticks: u64) {
        if self.detour > 0 {
            self.detour -= 1;
        } else if ticks > (len as u64 >> 10) * SLOW {
            self.slow += 1;
            if self.slow >= PROOF {
                // One more slow write will do next time.
                (self.slow, self.detour) = (PROOF - 1, DETOUR);
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
        let mut pace = Pace::default();
        pace.wrote(16384, 1_000_000);
        assert!(!pace.is_slow(), "it may have been an interruption");
        pace.wrote(16384, 16 * SLOW);
        pace.wrote(16384, 1_000_000);
        assert!(!pace.is_slow());
        pace.wrote(16384, 1_000_000);
        assert!(pace.is_slow());
        (0..DETOUR).for_each(|_| pace.wrote(16384, 0));
        assert!(!pace.is_slow(), "tried again");
        pace.wrote(16384, 1_000_000);
        assert!(pace.is_slow(), "still slow");
        (0..DETOUR).for_each(|_| pace.wrote(16384, 0));
        pace.wrote(16384, 100);
        pace.wrote(16384, 1_000_000);
        assert!(!pace.is_slow());
    }
}
