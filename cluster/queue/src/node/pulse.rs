//! Reports without news. A host reports each second, and nearly always what it has said before: such
//! a report is taken where it comes in, without the manager, and is answered with the orders that
//! the manager gave last.
//!
//! The manager opens this way for a host when it has taken a report in full, and closes it before it
//! changes anything of the host: an order, a suspicion, its removal. So what comes in this way is
//! what the manager would take without doing anything, and the answer is the one that it would give.
//! It hears when the last of these reports came, and its number, before it judges a host's silence
//! or takes a report itself.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::fleet::{Capacity, SEEN_EVERY_MS, SILENT_SECONDS};
use super::protocol::{Orders, Report};
use crate::time::Stamp;

/// See the module. Clones are the same.
#[derive(Clone, Debug)]
pub struct Pulses(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    hosts: BTreeMap<String, Pulse>,
}

/// By which silence is measured: nobody sets it.
#[derive(Debug)]
enum Clock {
    Since(Instant),
    #[cfg(test)]
    Stands(Stamp),
}

#[derive(Debug)]
struct Pulse {
    /// The last report that the manager has taken.
    said: Report,
    capacity: Capacity,
    /// What the host was given then.
    orders: Arc<Orders>,
    /// What is written down of the time of the last report, which the manager keeps up to date.
    recorded: Stamp,
    beat: Beat,
}

/// The last report of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Session and number.
    pub last: (u64, u64),
    /// By the clock of [`Pulses::now`].
    pub at: Stamp,
    /// By the system's clock.
    pub seen: Stamp,
}

impl Default for Pulses {
    fn default() -> Pulses {
        Pulses(Arc::new(Mutex::new(Inner {
            clock: Clock::Since(Instant::now()),
            hosts: BTreeMap::new(),
        })))
    }
}

impl Inner {
    fn now(&self) -> Stamp {
        match self.clock {
            Clock::Since(began) => {
                Stamp(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX))
            }
            #[cfg(test)]
            Clock::Stands(now) => now,
        }
    }
}

impl Pulse {
    /// Whether the manager would do nothing about this report.
    fn is_no_news(&self, report: &Report, capacity: Capacity, now: Stamp, seen: Stamp) -> bool {
        let Report { identity, session, number, seen: carried_out, jobs, newest, processors } =
            report;
        let said = &self.said;
        let same = (identity, *carried_out, jobs, *newest, processors)
            == (&said.identity, said.seen, &said.jobs, said.newest, &said.processors);
        let follows = *session == self.beat.last.0 && *number > self.beat.last.1;
        // Who was silent is back: that is news.
        let lives = now.since(self.beat.at) < SILENT_SECONDS;
        same && follows
            && capacity == self.capacity
            && lives
            && (0..SEEN_EVERY_MS).contains(&(seen.0 - self.recorded.0))
    }
}

impl Pulses {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Stamp {
        self.inner().now()
    }

    /// Takes a report that brings no news, and gives the host's orders; `None` when the manager has
    /// to take it. Does not block.
    pub fn take(&self, name: &str, report: &Report, capacity: Capacity) -> Option<Arc<Orders>> {
        let (mut inner, seen) = (self.inner(), Stamp::now());
        let now = inner.now();
        let pulse = inner.hosts.get_mut(name)?;
        if !pulse.is_no_news(report, capacity, now, seen) {
            return None;
        }
        pulse.beat = Beat { last: (report.session, report.number), at: now, seen };
        Some(Arc::clone(&pulse.orders))
    }

    /// The orders of a host, unless they change now.
    pub fn orders(&self, name: &str) -> Option<Arc<Orders>> {
        self.inner().hosts.get(name).map(|pulse| Arc::clone(&pulse.orders))
    }

    /// Lets a host that has said this report without the manager.
    pub(super) fn open(
        &self,
        name: &str,
        (said, capacity): (&Report, Capacity),
        orders: Orders,
        recorded: Stamp,
        beat: Beat,
    ) {
        let (said, orders) = (said.clone(), Arc::new(orders));
        let pulse = Pulse { said, capacity, orders, recorded, beat };
        self.inner().hosts.insert(name.to_string(), pulse);
    }

    /// From now on the manager takes the host's reports. Gives the last that came without it.
    pub(super) fn close(&self, name: &str) -> Option<Beat> {
        self.inner().hosts.remove(name).map(|pulse| pulse.beat)
    }

    /// The last report of a host that came without the manager.
    pub(super) fn beat(&self, name: &str) -> Option<Beat> {
        self.inner().hosts.get(name).map(|pulse| pulse.beat)
    }

    /// The same of all hosts.
    pub(super) fn for_each(&self, mut each: impl FnMut(&str, Beat)) {
        self.inner().hosts.iter().for_each(|(name, pulse)| each(name, pulse.beat));
    }

    /// Sets the clock, which stands then.
    #[cfg(test)]
    fn set_clock(&self, now: Stamp) {
        self.inner().clock = Clock::Stands(now);
    }
}
