//! Halves of the hosts with little bandwidth between them: cuts through the host order at many places, growth from
//! single switches, cuts through coordinates; then exchanges between the halves as long as they help.

use super::flow::Flow;
use crate::network::Network;

pub struct Halves {
    /// End ports, one for each host; the smaller half first.
    pub first: Vec<u32>,
    pub second: Vec<u32>,
    pub cut: f64,
    pub tried: usize,
}

/// Edges that all maximum flows together may look at, more or less: a second's work.
const WORK: usize = 20_000_000;

struct Search<'a, 'n> {
    network: &'a Network<'n>,
    flow: Flow,
    tried: usize,
    limit: usize,
    best: Halves,
}

pub fn tightest(network: &Network, hosts: &[u32]) -> Halves {
    // A flow looks at every edge some dozens of times.
    let edges: usize = network.neighbors.iter().map(Vec::len).sum::<usize>() + network.switches();
    let limit = (WORK / (edges.max(1) * 24)).clamp(6, 3000);
    let half = hosts.len() / 2;
    let empty = Halves { first: Vec::new(), second: Vec::new(), cut: f64::INFINITY, tried: 0 };
    let flow = Flow::new(network);
    let mut search = Search { network, flow, tried: 0, limit, best: empty };
    search.try_order(hosts);
    for axis in [0, 1] {
        search.try_axis(hosts, axis);
    }
    let starts = (limit / 2).clamp(2, 24);
    for start in 1..=starts {
        let mut turned = hosts.to_vec();
        turned.rotate_left(half * start / (starts + 1));
        search.try_order(&turned);
    }
    let step = hosts.len().div_ceil(starts).max(1);
    for &from in hosts.iter().step_by(step) {
        search.try_growth(hosts, from);
    }
    search.exchange();
    search.best.tried = search.tried;
    search.best
}

impl Search<'_, '_> {
    /// The first half of a list against the rest.
    fn try_order(&mut self, order: &[u32]) -> bool {
        // The first attempt always counts.
        if self.tried >= self.limit && self.tried > 0 {
            return false;
        }
        self.tried += 1;
        let (first, second) = order.split_at(order.len() / 2);
        let sums = |part: &[u32]| {
            let mut sums = vec![0.0; self.network.switches()];
            for (switch, bandwidth) in
                part.iter().flat_map(|&host| super::ports_of(self.network, host))
            {
                sums[switch as usize] += bandwidth;
            }
            sums
        };
        let (sends, receives) = (sums(first), sums(second));
        let cut = self.flow.most(&sends, &receives);
        // Rounding must not make an endless search.
        let better = cut < self.best.cut * (1.0 - 1e-9);
        if better || self.best.first.is_empty() && self.best.second.is_empty() {
            let (first, second) = (first.to_vec(), second.to_vec());
            self.best = Halves { first, second, cut, tried: 0 };
        }
        better
    }

    /// By where the switches are drawn, along one axis.
    fn try_axis(&mut self, hosts: &[u32], axis: usize) {
        let place = |end_port: u32| {
            let (switch, _) = self.network.attached[end_port as usize]?;
            let (x, y) = self.network.fabric.switches[switch as usize].position?;
            Some(if axis == 0 { x } else { y })
        };
        let places: Option<Vec<(f64, u32)>> =
            hosts.iter().map(|&host| Some((place(host)?, host))).collect();
        if let Some(mut places) = places {
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            let order: Vec<u32> = places.into_iter().map(|(_, host)| host).collect();
            self.try_order(&order);
        }
    }

    /// The hosts nearest to one.
    fn try_growth(&mut self, hosts: &[u32], from: u32) {
        let Some((switch, _)) = self.network.attached[from as usize] else { return };
        let distance = self.network.distances(&[switch]);
        let of = |host: u32| {
            self.network.attached[host as usize].map(|(at, _)| (distance[at as usize], at))
        };
        let mut order = hosts.to_vec();
        order.sort_by_key(|&host| of(host));
        self.try_order(&order);
    }

    /// Exchanges the hosts of a switch in one half with as many of a switch in the other, while cuts get smaller.
    fn exchange(&mut self) {
        let mut improved = true;
        while improved && self.tried < self.limit {
            improved = false;
            let groups = [self.groups(&self.best.first), self.groups(&self.best.second)];
            'pairs: for a in &groups[0] {
                for b in &groups[1] {
                    if self.tried >= self.limit {
                        return;
                    }
                    let order = self.exchanged(a, b);
                    if self.try_order(&order) {
                        improved = true;
                        break 'pairs;
                    }
                }
            }
        }
    }

    /// The hosts of a half, by switch.
    fn groups(&self, half: &[u32]) -> Vec<Vec<u32>> {
        let mut groups = std::collections::BTreeMap::<u32, Vec<u32>>::new();
        for &host in half {
            if let Some((switch, _)) = self.network.attached[host as usize] {
                groups.entry(switch).or_default().push(host);
            }
        }
        groups.into_values().collect()
    }

    fn exchanged(&self, a: &[u32], b: &[u32]) -> Vec<u32> {
        let count = a.len().min(b.len());
        let (a, b) = (&a[..count], &b[..count]);
        let first = self.best.first.iter().filter(|host| !a.contains(host)).chain(b);
        let second = self.best.second.iter().filter(|host| !b.contains(host)).chain(a);
        first.chain(second).copied().collect()
    }
}
