//! How often who may try what: buckets that fill with time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Attempts to sign in, per address and per account: so many at once, then one in so long.
const ATTEMPTS: u32 = 10;
const REFILL: Duration = Duration::from_secs(6);
/// Accounts and addresses that are remembered; with more, full buckets are forgotten.
const REMEMBERED: usize = 10_000;

/// Attempts so far. A bucket's number is the time at which it would be full again.
#[derive(Debug, Default)]
pub struct Limits(Mutex<BTreeMap<String, Instant>>);

impl Limits {
    /// Takes one attempt of this name; or the seconds after which there is one.
    pub fn take(&self, name: &str, now: Instant) -> Result<(), u64> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, full| *full > now);
        }
        let full = buckets.get(name).copied().unwrap_or(now).max(now) + REFILL;
        let most = now + REFILL * ATTEMPTS;
        if full > most {
            return Err((full - most).as_secs() + 1);
        }
        // With too many names that all try often, new ones wait.
        if buckets.len() >= REMEMBERED && !buckets.contains_key(name) {
            return Err(REFILL.as_secs());
        }
        buckets.insert(name.to_string(), full);
        Ok(())
    }

    /// Gives attempts back: this one was good.
    pub fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_run_out_and_come_back() {
        let limits = Limits::default();
        let now = Instant::now();
        for _ in 0..ATTEMPTS {
            assert_eq!(limits.take("a", now), Ok(()));
        }
        assert_eq!(limits.take("a", now), Err(REFILL.as_secs() + 1));
        assert_eq!(limits.take("b", now), Ok(()));
        assert_eq!(limits.take("a", now + REFILL), Ok(()));
        assert!(limits.take("a", now + REFILL).is_err());
        limits.forget("a");
        assert_eq!(limits.take("a", now), Ok(()));
    }
}
