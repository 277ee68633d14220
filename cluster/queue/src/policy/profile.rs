//! Free resources of each host over time, from the time limits of what runs.

use std::collections::{BTreeMap, BTreeSet};

use super::fit::{Part, Request, fit};
use super::{Host, Resources};
use crate::time::Stamp;

/// From each moment to the next, the last for ever; of each host.
pub struct Profile(Vec<BTreeMap<Stamp, Resources>>);

/// What somebody holds of a host, until when; without an end, for ever.
pub struct Held {
    pub host: usize,
    pub holds: Resources,
    pub until: Option<Stamp>,
}

impl Profile {
    pub fn new(now: Stamp, hosts: &[Host], held: &[Held]) -> Profile {
        let mut profile =
            Profile(hosts.iter().map(|host| BTreeMap::from([(now, host.capacity)])).collect());
        for Held { host, holds, until } in held {
            // Who is over the limit is about to end.
            let until = until.map(|at| at.max(Stamp(now.0 + 1)));
            profile.take(*host, now, until, *holds);
        }
        profile
    }

    /// The first moment from which on the job fits for so long (`None`: for ever), and where.
    pub fn earliest(
        &self,
        ask: &Request,
        hosts: &[Host],
        seconds: Option<u64>,
    ) -> Option<(Stamp, Vec<Part>)> {
        let moments: BTreeSet<Stamp> =
            self.0.iter().flat_map(|host| host.keys().copied()).collect();
        moments.into_iter().find_map(|start| {
            let free = self.free(hosts, start, end(start, seconds));
            fit(ask, hosts, &free).map(|parts| (start, parts))
        })
    }

    /// What is free all the time in between; nothing of hosts that are closed.
    fn free(&self, hosts: &[Host], start: Stamp, end: Stamp) -> Vec<Resources> {
        let of = |(host, times): (&Host, &BTreeMap<Stamp, Resources>)| {
            if host.closed.is_some() {
                return Resources::default();
            }
            let first = times.range(..=start).next_back();
            let rest = times.range(start..end);
            let all = first.into_iter().chain(rest).map(|(_, free)| *free);
            all.reduce(Resources::least).unwrap_or_default()
        };
        hosts.iter().zip(&self.0).map(of).collect()
    }

    /// What is free at the first moment.
    pub fn now(&self, hosts: &[Host]) -> Vec<Resources> {
        let first = self.0.iter().map(|times| times.values().next().copied().unwrap_or_default());
        let open = |(free, host): (Resources, &Host)| match host.closed {
            Some(_) => Resources::default(),
            None => free,
        };
        first.zip(hosts).map(open).collect()
    }

    pub fn reserve(&mut self, start: Stamp, parts: &[Part], seconds: Option<u64>) {
        let until = seconds.map(|seconds| start.after(seconds));
        parts.iter().for_each(|part| self.take(part.host, start, until, part.holds));
    }

    fn take(&mut self, host: usize, start: Stamp, until: Option<Stamp>, holds: Resources) {
        let times = &mut self.0[host];
        let end = until.unwrap_or(Stamp(i64::MAX));
        for edge in [start, end] {
            let before = times.range(..=edge).next_back().map(|(_, free)| *free);
            if let Some(before) = before.filter(|_| edge.0 < i64::MAX) {
                times.entry(edge).or_insert(before);
            }
        }
        times.range_mut(start..end).for_each(|(_, free)| *free = free.minus(holds));
    }
}

fn end(start: Stamp, seconds: Option<u64>) -> Stamp {
    seconds.map_or(Stamp(i64::MAX), |seconds| start.after(seconds))
}
