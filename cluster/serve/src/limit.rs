//! How often who may try what: buckets that fill with time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many at once, then one in so long.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub burst: u32,
    pub refill: Duration,
}

/// Attempts to sign in, per address and per account: what a person mistypes, not what a list tries.
pub const SIGN_IN: Rate = Rate { burst: 10, refill: Duration::from_secs(6) };
/// Requests of an account: a page in several tabs, or a script, not a loop without a pause.
pub const REQUESTS: Rate = Rate { burst: 2000, refill: Duration::from_millis(10) };
/// Requests of an address with no session, or with a token that is none: a page whose session has
/// ended asks for a few things before it shows the sign-in.
pub const STRANGERS: Rate = Rate { burst: 100, refill: Duration::from_secs(1) };
/// Accounts and addresses that are remembered; with more, full buckets are forgotten.
const REMEMBERED: usize = 10_000;

/// Attempts so far. A bucket's number is the time at which it would be full again.
#[derive(Debug, Default)]
pub struct Limits(Mutex<BTreeMap<String, Instant>>);

impl Limits {
    /// Takes one attempt of this name; or the seconds after which there is one.
    pub fn take(&self, name: &str, rate: Rate, now: Instant) -> Result<(), u64> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, full| *full > now);
        }
        let full = buckets.get(name).copied().unwrap_or(now).max(now) + rate.refill;
        let most = now + rate.refill * rate.burst;
        if full > most {
            return Err((full - most).as_secs() + 1);
        }
        // With too many names that all try often, new ones wait.
        if buckets.len() >= REMEMBERED && !buckets.contains_key(name) {
            return Err(rate.refill.as_secs() + 1);
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
        let (rate, refill) = (SIGN_IN, SIGN_IN.refill);
        for _ in 0..rate.burst {
            assert_eq!(limits.take("a", rate, now), Ok(()));
        }
        assert_eq!(limits.take("a", rate, now), Err(refill.as_secs() + 1));
        assert_eq!(limits.take("b", rate, now), Ok(()));
        assert_eq!(limits.take("a", rate, now + refill), Ok(()));
        assert!(limits.take("a", rate, now + refill).is_err());
        limits.forget("a");
        assert_eq!(limits.take("a", rate, now), Ok(()));
    }
}
