//! Long waits, of which a model's library is told (`hpvm_abi::onesided::OneSided::on_long_wait`): it knows what a wait is
//! for, and may find that it is in vain.
//!
//! Times are those of `pending::now`, in nanoseconds.

use crate::runtime::Entered;
use hpvm_abi::onesided::LongWait;
use std::time::Duration;

/// Waits that are told of, and the time from the first telling to the next; each takes twice as long to come as the one before.
const FIRST_AFTER_NS: u64 = 500_000_000;
/// Longest time from one telling to the next.
const PAUSE_NS_MAX: u64 = 8_000_000_000;
/// The time to the next one where the library asks for it.
const AGAIN_AFTER_NS: u64 = 20_000_000;

/// Whom to tell, and when.
#[derive(Debug, Default)]
pub struct LongWaits {
    call: Option<LongWait>,
    /// When the next telling is due, and after how long the one after it.
    next: u64,
    pause: u64,
    due: bool,
    /// A thread tells just now: what it calls may wait itself.
    telling: bool,
}

impl LongWaits {
    pub fn name(&mut self, call: Option<LongWait>) {
        self.call = call;
        self.begin(crate::pending::now());
    }

    /// Something has happened: if nothing more does, a wait begins.
    pub fn begin(&mut self, now: u64) {
        (self.next, self.pause) = (now + FIRST_AFTER_NS, FIRST_AFTER_NS);
    }

    /// How long a sleep of at most `limit` may be that begins now.
    pub fn shorten(&mut self, now: u64, limit: Duration) -> Duration {
        self.due = false;
        if self.call.is_none() || self.telling {
            return limit;
        }
        if now < self.next {
            return limit.min(Duration::from_nanos(self.next - now));
        }
        self.due = true;
        self.pause = (2 * self.pause).clamp(FIRST_AFTER_NS, PAUSE_NS_MAX);
        self.next = now + self.pause;
        limit
    }

    /// Whether the wait that `shorten` was asked about is to be told of, instead of the sleep.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }
}

impl Entered {
    /// Tells the library.
    #[cold]
    pub(crate) fn tell_of_long_wait(&mut self) {
        let Some(call) = self.long_waits.call else { return };
        (self.long_waits.telling, self.long_waits.due) = (true, false);
        // What the library calls polls for itself.
        self.leader = false;
        // SAFETY: a function of the library that has named it, which stays loaded; nothing is held.
        let again = self.outside(|| unsafe { call() }) != 0;
        self.long_waits.telling = false;
        if again {
            self.long_waits.next = self.long_waits.next.min(crate::pending::now() + AGAIN_AFTER_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn call() -> core::ffi::c_int {
        0
    }

    #[test]
    fn tells_after_half_a_second_and_then_ever_more_rarely() {
        let mut waits = LongWaits::default();
        waits.name(Some(call));
        let (start, ms) = (7_000_000_000, 1_000_000);
        waits.begin(start);
        let (mut now, mut told) = (start, Vec::new());
        while told.len() < 7 {
            let limit = waits.shorten(now, Duration::from_millis(500));
            assert!(limit <= Duration::from_millis(500));
            if waits.is_due() {
                told.push((now - start) / ms);
            } else {
                now += limit.as_nanos() as u64;
            }
        }
        assert_eq!(told, [500, 1500, 3500, 7500, 15500, 23500, 31500]);
    }

    #[test]
    fn tells_nobody_where_nobody_asks_and_not_while_it_tells() {
        let mut waits = LongWaits::default();
        let limit = Duration::from_millis(500);
        waits.begin(0);
        assert_eq!(waits.shorten(10 * FIRST_AFTER_NS, limit), limit);
        assert!(!waits.is_due());
        waits.name(Some(call));
        waits.telling = true;
        assert_eq!(waits.shorten(10 * FIRST_AFTER_NS, limit), limit);
        assert!(!waits.is_due());
    }
}
