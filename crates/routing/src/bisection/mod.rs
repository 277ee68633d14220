//! Bisection bandwidth, of a fabric and of routes.
//!
//! The bisection bandwidth of a fabric is the least bandwidth, in one direction, of a set of links whose loss parts the
//! hosts into two halves (sizes differ by one when their number is odd). Finding it is NP-hard, so two bounds are
//! given. The *upper bound* is the least cut among the halves that were tried; for each pair of halves the cut is
//! exact (a maximum flow). The *lower bound* needs routes for all pairs: whatever the halves, so many pairs as the
//! product of their sizes cross from one to the other, each over a link of the cut; with at most L pairs per unit of
//! bandwidth on any link, the cut has at least that product divided by L. On the link of a host only the pairs with the
//! other half count.
//!
//! The bandwidth of routes is what transfers between the halves get when each host of one half sends to its own
//! partner in the other, and every link is shared equally by the routes that cross it: a transfer gets the share of
//! the link on its route that gives it least. It is the sum over all transfers, for the tightest halves found, host by
//! host in order and as the mean and the least of random partners; and for random halves, which is the effective
//! bisection bandwidth (Hoefler, Schneider, Lumsdaine, 2008).

mod flow;
mod halves;

use crate::check::{Check, path};
use crate::network::{Hop, Network};
use crate::order;
use crate::random::Random;
use crate::tables::Tables;

/// All in Gbit/s, one direction.
#[derive(Clone, Debug)]
pub struct Bisection {
    /// Hosts of the smaller half.
    pub half: usize,
    pub upper: f64,
    /// None where the routes leave pairs without a route.
    pub lower: Option<f64>,
    /// Halves that were tried.
    pub tried: usize,
    /// What the hosts' own links would let through.
    pub injection: f64,
    pub routes: Option<Routed>,
}

/// What routes give transfers from one half to the other.
#[derive(Clone, Debug)]
pub struct Routed {
    /// Between the tightest halves, the first with the first and so on.
    pub in_order: f64,
    pub mean: f64,
    pub least: f64,
    /// Between random halves.
    pub effective: f64,
    /// Random partners, and random halves, that were tried.
    pub samples: usize,
}

/// Random pairings that are tried, and so many random halves.
const SAMPLES: usize = 20;

/// Finds the bounds. `check` is that of the tables.
pub fn bisection(network: &Network, tables: &Tables, check: &Check) -> Bisection {
    // One port stands for each host: halves are halves of hosts.
    let first = first_end_ports(network);
    let hosts: Vec<u32> =
        order::hosts(network).into_iter().filter_map(|host| first[host as usize]).collect();
    let found = halves::tightest(network, &hosts);
    let complete = check.routed == linked_pairs(network) && hosts.len() > 1;
    let half = hosts.len() / 2;
    let injection: f64 = found.first[..half]
        .iter()
        .flat_map(|&host| ports_of(network, host))
        .map(|(_, bandwidth)| bandwidth)
        .sum();
    Bisection {
        half,
        upper: found.cut,
        lower: complete.then(|| lower_bound(network, check, hosts.len())).flatten(),
        tried: found.tried,
        injection,
        routes: complete.then(|| routed(network, tables, &found, &hosts)),
    }
}

fn first_end_ports(network: &Network) -> Vec<Option<u32>> {
    let mut first = vec![None; network.fabric.hosts.len()];
    for (at, end) in network.fabric.end_ports.iter().enumerate() {
        if network.attached[at].is_some() && first[end.host as usize].is_none() {
            first[end.host as usize] = Some(at as u32);
        }
    }
    first
}

/// Pairs of end ports of different hosts, those not counted that lost their link.
fn linked_pairs(network: &Network) -> u64 {
    let mut linked = vec![0u64; network.fabric.hosts.len()];
    for (end, place) in network.fabric.end_ports.iter().zip(&network.attached) {
        linked[end.host as usize] += u64::from(place.is_some());
    }
    let all: u64 = linked.iter().sum();
    linked.iter().map(|own| own * (all - own)).sum()
}

/// The ports of a host that one of its end ports names: switch, and bandwidth.
fn ports_of<'a>(network: &'a Network, end_port: u32) -> impl Iterator<Item = (u32, f64)> + 'a {
    let ends = &network.fabric.end_ports;
    let host = ends[end_port as usize].host;
    // The first one is given, and those of a host follow one another.
    let same = (end_port..ends.len() as u32).take_while(move |&at| ends[at as usize].host == host);
    same.filter_map(|at| {
        let (switch, _) = network.attached[at as usize]?;
        Some((switch, network.bandwidth(network.injection(at)?)))
    })
}

/// The lower bound; none for hosts with several ports, of which the loads are those of ports.
fn lower_bound(network: &Network, check: &Check, hosts: usize) -> Option<f64> {
    if network.attached.len() != hosts {
        return None;
    }
    let (small, large) = (hosts / 2, hosts - hosts / 2);
    let mut most: f64 = 0.0;
    for switch in 0..network.switches() as u32 {
        for port in 1..=network.fabric.switches[switch as usize].ports.len() as u16 {
            let (channel, pairs) = match network.hop(switch, port) {
                Hop::Nothing => continue,
                Hop::Switch { channel, .. } => (channel, check.load[channel as usize] as f64),
                Hop::EndPort { channel, .. } => (channel, large as f64),
            };
            most = most.max(pairs / network.bandwidth(channel));
        }
    }
    (most > 0.0).then(|| small as f64 * large as f64 / most)
}

fn routed(network: &Network, tables: &Tables, found: &halves::Halves, hosts: &[u32]) -> Routed {
    let half = hosts.len() / 2;
    let mut share = Shares::new(network, tables);
    let (a, b) = (&found.first[..half], &found.second[..half]);
    let in_order = share.sum(a, b);
    // The same numbers at every call.
    let mut random = Random::new(1);
    let (mut mean, mut least, mut effective) = (0.0, f64::INFINITY, 0.0f64);
    let mut partners = found.second.clone();
    let mut mixed = hosts.to_vec();
    for _ in 0..SAMPLES {
        random.shuffle(&mut partners);
        let sum = share.sum(a, &partners[..half]);
        mean += sum / SAMPLES as f64;
        least = sum.min(least);
        random.shuffle(&mut mixed);
        effective += share.sum(&mixed[..half], &mixed[half..half * 2]) / SAMPLES as f64;
    }
    Routed { in_order, mean, least, effective, samples: SAMPLES }
}

/// Shares links among transfers.
struct Shares<'a, 'n> {
    network: &'a Network<'n>,
    tables: &'a Tables,
    users: Vec<u32>,
}

impl<'a, 'n> Shares<'a, 'n> {
    fn new(network: &'a Network<'n>, tables: &'a Tables) -> Shares<'a, 'n> {
        Shares { network, tables, users: vec![0; network.channels()] }
    }

    /// What all transfers from sources to their destinations get together.
    fn sum(&mut self, sources: &[u32], destinations: &[u32]) -> f64 {
        self.users.fill(0);
        let pairs = sources.iter().zip(destinations);
        let paths = pairs.filter_map(|(&from, &to)| path(self.network, self.tables, from, to));
        let paths: Vec<Vec<u32>> = paths.collect();
        for &channel in paths.iter().flatten() {
            self.users[channel as usize] += 1;
        }
        let share = |&channel: &u32| {
            self.network.bandwidth(channel) / f64::from(self.users[channel as usize].max(1))
        };
        paths.iter().map(|path| path.iter().map(share).fold(f64::INFINITY, f64::min)).sum()
    }
}
