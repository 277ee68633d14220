//! Where a job fits: from what it asks for and what is free on each host, its share of each.
//!
//! A job stays on one host unless it asks for more (`-N`) or no host is large enough. Among hosts
//! that suffice it takes the one with the fewest free processors, so that larger holes stay whole.

use super::{Host, Resources};
use crate::job::Job;

/// What a job asks for, as far as it decides where the job runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    pub ranks: u32,
    pub per_rank: u32,
    /// Of each host.
    pub memory: u64,
    /// In all.
    pub gpus: u32,
    pub nodes: Option<u32>,
    pub only: Vec<String>,
}

impl Request {
    pub fn of(job: &Job) -> Request {
        let spec = &job.spec;
        Request {
            ranks: job.ranks(),
            per_rank: spec.cpus_per_rank.unwrap_or(1).max(1),
            memory: spec.memory_bytes.unwrap_or(0),
            gpus: spec.gpus.unwrap_or(0),
            nodes: spec.nodes,
            only: spec.hosts.clone(),
        }
    }

    /// Processors in all.
    pub fn cpus(&self) -> u32 {
        self.ranks.saturating_mul(self.per_rank)
    }

    pub fn allows(&self, host: &Host) -> bool {
        self.only.is_empty() || self.only.contains(&host.name)
    }

    /// What so many ranks hold of a host, whole cores, which has no more than its capacity to give.
    fn part(&self, ranks: u32, gpus: u32, host: &Host) -> Resources {
        let (asked, unit) = (ranks.saturating_mul(self.per_rank), host.processors.unit());
        let cpus = asked.checked_next_multiple_of(unit).unwrap_or(asked).min(host.capacity.cpus);
        Resources { cpus, memory: self.memory, gpus }
    }
}

/// What a job gets of a host, which is named by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub host: usize,
    pub ranks: u32,
    pub holds: Resources,
}

/// Where the job fits into what is free.
pub fn fit(ask: &Request, hosts: &[Host], free: &[Resources]) -> Option<Vec<Part>> {
    let eligible: Vec<usize> = (0..hosts.len())
        .filter(|i| ask.allows(&hosts[*i]) && ask.memory <= hosts[*i].capacity.memory)
        .collect();
    let room = |i: usize| hosts[i].capacity.cpus / ask.per_rank;
    match ask.nodes {
        Some(1) => one(ask, hosts, free, &eligible),
        Some(count) => several(ask, hosts, free, &eligible, count),
        None => {
            let all: u64 = eligible.iter().map(|i| u64::from(room(*i))).sum();
            let on_one = |i: &usize| room(*i) >= ask.ranks && hosts[*i].capacity.gpus >= ask.gpus;
            if eligible.iter().any(on_one) || eligible.len() == 1 {
                one(ask, hosts, free, &eligible)
            } else if all >= u64::from(ask.ranks) {
                spread(ask, hosts, free, &eligible)
            } else {
                everything(ask, hosts, free, &eligible)
            }
        }
    }
}

/// Of those who have room the host with the fewest free processors.
fn best(
    hosts: &[Host],
    free: &[Resources],
    among: &[usize],
    part: impl Fn(&Host) -> Resources,
) -> Option<usize> {
    let suffices = |i: &&usize| part(&hosts[**i]).fits(free[**i]);
    among.iter().filter(suffices).min_by_key(|i| (free[**i].cpus, **i)).copied()
}

fn one(ask: &Request, hosts: &[Host], free: &[Resources], eligible: &[usize]) -> Option<Vec<Part>> {
    let largest = eligible.iter().map(|i| hosts[*i].capacity.cpus).max()?;
    // More ranks than the largest host has processors get all of them, not all of a smaller one.
    let needed = ask.cpus().min(largest);
    let among: Vec<usize> =
        eligible.iter().copied().filter(|i| hosts[*i].capacity.cpus >= needed).collect();
    let part = |host: &Host| ask.part(ask.ranks, ask.gpus, host);
    let host = best(hosts, free, &among, part)?;
    Some(vec![Part { host, ranks: ask.ranks, holds: part(&hosts[host]) }])
}

/// As many hosts as are asked for, ranks and graphics processors shared out evenly.
fn several(
    ask: &Request,
    hosts: &[Host],
    free: &[Resources],
    eligible: &[usize],
    count: u32,
) -> Option<Vec<Part>> {
    let mut sizes: Vec<u32> = eligible.iter().map(|i| hosts[*i].capacity.cpus).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    // A host smaller than its share gives all it has, but only where there are no larger ones.
    let needed = ask.ranks.div_ceil(count).saturating_mul(ask.per_rank);
    let least = needed.min(*sizes.get(count as usize - 1)?);
    let mut left: Vec<usize> =
        eligible.iter().copied().filter(|i| hosts[*i].capacity.cpus >= least).collect();
    let mut parts = Vec::new();
    let share = |all: u32, number: u32| all / count + u32::from(number < all % count);
    for number in 0..count {
        let (ranks, gpus) = (share(ask.ranks, number), share(ask.gpus, number));
        let part = |host: &Host| ask.part(ranks, gpus, host);
        let host = best(hosts, free, &left, part)?;
        left.retain(|other| *other != host);
        parts.push(Part { host, ranks, holds: part(&hosts[host]) });
    }
    Some(parts)
}

/// More than any host has: the emptiest hosts first, so that they are few.
fn spread(
    ask: &Request,
    hosts: &[Host],
    free: &[Resources],
    eligible: &[usize],
) -> Option<Vec<Part>> {
    let mut order: Vec<usize> =
        eligible.iter().copied().filter(|i| free[*i].memory >= ask.memory).collect();
    order.sort_by_key(|i| (std::cmp::Reverse((free[*i].cpus, free[*i].gpus)), *i));
    let (mut ranks, mut gpus) = (ask.ranks, ask.gpus);
    let mut parts = Vec::new();
    for host in order {
        let unit = hosts[host].processors.unit();
        let take = (free[host].cpus / unit * unit / ask.per_rank).min(ranks);
        if take == 0 {
            continue;
        }
        let some = free[host].gpus.min(gpus);
        (ranks, gpus) = (ranks - take, gpus - some);
        parts.push(Part { host, ranks: take, holds: ask.part(take, some, &hosts[host]) });
        if ranks == 0 {
            break;
        }
    }
    (ranks == 0 && gpus == 0).then_some(parts)
}

/// More ranks than there are processors: all of them, ranks in proportion.
fn everything(
    ask: &Request,
    hosts: &[Host],
    free: &[Resources],
    eligible: &[usize],
) -> Option<Vec<Part>> {
    let mut order = eligible.to_vec();
    order.sort_by_key(|i| (std::cmp::Reverse(hosts[*i].capacity.cpus), *i));
    order.truncate(ask.ranks as usize);
    let all: u64 = order.iter().map(|i| u64::from(hosts[*i].capacity.cpus)).sum();
    let (mut before, mut given, mut gpus) = (0_u64, 0_u32, ask.gpus);
    let mut parts = Vec::new();
    for (number, host) in order.iter().copied().enumerate() {
        let capacity = hosts[host].capacity;
        before += u64::from(capacity.cpus);
        // At least one each, and for those behind one each as well.
        let behind = u32::try_from(order.len() - number - 1).unwrap_or(u32::MAX);
        let upto = u32::try_from(u64::from(ask.ranks) * before / all.max(1)).unwrap_or(u32::MAX);
        let upto = upto.clamp(given + 1, ask.ranks - behind);
        let some = free[host].gpus.min(gpus);
        gpus -= some;
        let holds = Resources { cpus: capacity.cpus, memory: ask.memory, gpus: some };
        if !holds.fits(free[host]) {
            return None;
        }
        parts.push(Part { host, ranks: upto - given, holds });
        given = upto;
    }
    (given == ask.ranks && gpus == 0).then_some(parts)
}
