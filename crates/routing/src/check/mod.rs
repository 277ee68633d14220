//! Follows every route of any tables: who is reached, over how many links, how much each link carries, and whether
//! packets can wait for one another in a cycle.

mod dependency;
mod walk;

pub use dependency::{Cycle, Dependencies};
pub use walk::{Fault, Walk};

use crate::network::{Hop, Network};
use crate::tables::Tables;

/// Faults are counted all, and so many are described.
const DESCRIBED: usize = 8;

/// What the routes of the tables do. A pair is two end ports of different hosts, in one direction.
#[derive(Debug)]
pub struct Check {
    /// Pairs of end ports.
    pub pairs: u64,
    /// Those of them between which a route leads.
    pub routed: u64,
    /// Pairs that no tables could join, because no way leads.
    pub apart: u64,
    /// Faults in entries that packets meet, each counted once per switch and destination.
    pub faults: u64,
    /// The first of them, in words.
    pub examples: Vec<String>,
    /// Links of all routes together, those of the hosts included.
    pub links: u64,
    /// Links of the longest route.
    pub longest: u32,
    /// The most links between hosts on a shortest way.
    pub diameter: u32,
    /// Links of all shortest ways together, legal or not.
    pub shortest_links: u64,
    /// Pairs whose route is as short as the fabric allows.
    pub shortest: u64,
    /// Pairs that cross each channel.
    pub load: Vec<u64>,
    /// A cycle of channels that packets to hosts can wait in.
    pub cycle: Option<Cycle>,
    /// The same for all packets, those to the switches themselves included.
    pub switch_cycle: Option<Cycle>,
}

impl Check {
    /// Whether all pairs that can be joined are, and nothing can lock up.
    pub fn sound(&self) -> bool {
        self.cycle.is_none() && self.routed + self.apart == self.pairs
    }
}

/// Checks tables.
pub fn check(network: &Network, tables: &Tables) -> Check {
    let mut check = Check {
        pairs: 0,
        routed: 0,
        apart: 0,
        faults: 0,
        examples: Vec::new(),
        links: 0,
        longest: 0,
        diameter: 0,
        shortest_links: 0,
        shortest: 0,
        load: vec![0; network.channels()],
        cycle: None,
        switch_cycle: None,
    };
    let mut walk = Walk::new(network);
    let mut dependencies = Dependencies::new(network);
    for target in 0..network.switches() as u32 {
        let distance = network.distances(&[target]);
        for &end_port in &network.local[target as usize] {
            walk.follow(tables, end_port as usize);
            check.count(network, &mut walk, end_port, &distance);
            dependencies.add(&walk, tables.row(end_port as usize));
        }
    }
    for end_port in 0..network.attached.len() {
        if network.attached[end_port].is_none() {
            let pairs = others(network, end_port as u32, network.attached.len());
            check.pairs += pairs;
            check.apart += pairs;
        }
    }
    check.cycle = dependencies.cycle(tables, 0..network.attached.len());
    if check.cycle.is_none() {
        for destination in network.attached.len()..tables.destinations() {
            walk.follow(tables, destination);
            walk.flow();
            dependencies.add(&walk, tables.row(destination));
        }
        check.switch_cycle = dependencies.cycle(tables, 0..tables.destinations());
    }
    check
}

/// How many end ports belong to other hosts.
fn others(network: &Network, end_port: u32, all: usize) -> u64 {
    let host = network.fabric.end_ports[end_port as usize].host;
    (all - own(network, end_port, host).len()) as u64
}

/// The end ports of the host that one belongs to.
fn own(network: &Network, end_port: u32, host: u32) -> Vec<u32> {
    let ends = &network.fabric.end_ports;
    let same = |at: &u32| ends.get(*at as usize).is_some_and(|end| end.host == host);
    let before = (0..end_port).rev().take_while(same);
    let after = (end_port..ends.len() as u32).take_while(same);
    before.chain(after).collect()
}

impl Check {
    /// Adds the routes to one end port.
    fn count(&mut self, network: &Network, walk: &mut Walk, end_port: u32, distance: &[u32]) {
        let all = network.attached.len();
        let host = network.fabric.end_ports[end_port as usize].host;
        self.pairs += others(network, end_port, all);
        let own = own(network, end_port, host);
        let mut attached = 0;
        for from in 0..network.switches() as u32 {
            let local = &network.local[from as usize];
            let same = own.iter().filter(|own| local.contains(own)).count();
            let sources = (local.len() - same) as u64;
            attached += sources;
            if sources == 0 {
                continue;
            }
            let least = distance[from as usize];
            if least == u32::MAX {
                self.apart += sources;
                continue;
            }
            // The links of both hosts, too.
            self.diameter = self.diameter.max(least + 2);
            self.shortest_links += sources * (u64::from(least) + 2);
            let Some(length) = walk.length(from) else { continue };
            self.routed += sources;
            self.links += sources * (u64::from(length) + 2);
            self.longest = self.longest.max(length + 2);
            self.shortest += if length == least { sources } else { 0 };
            walk.start(from, sources);
            for source in local.iter().filter(|source| !own.contains(source)) {
                if let Some(channel) = network.injection(*source) {
                    self.load[channel as usize] += 1;
                }
            }
        }
        self.apart += others(network, end_port, all).saturating_sub(attached);
        walk.flow_into(&mut self.load);
        for fault in walk.faults() {
            self.faults += 1;
            if self.examples.len() < DESCRIBED {
                self.examples.push(fault.text(network, end_port as usize));
            }
        }
    }
}

/// The channels between switches, with their loads, most loaded first; load is divided by bandwidth.
pub fn by_load(network: &Network, load: &[u64]) -> Vec<(u32, f64)> {
    let mut list = Vec::new();
    for switch in 0..network.switches() as u32 {
        for neighbor in &network.neighbors[switch as usize] {
            for &(_, channel) in &neighbor.ports {
                let share = load[channel as usize] as f64 / network.bandwidth(channel);
                list.push((channel, share));
            }
        }
    }
    list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    list
}

/// The channels of the route between two end ports, or none when it does not arrive.
pub fn path(network: &Network, tables: &Tables, source: u32, destination: u32) -> Option<Vec<u32>> {
    let (mut at, _) = network.attached[source as usize]?;
    let row = tables.row(destination as usize);
    let mut channels = vec![network.injection(source)?];
    // A route that is longer than there are switches goes in circles.
    for _ in 0..=network.switches() {
        match network.hop(at, row[at as usize]) {
            Hop::Switch { channel, to, .. } => {
                channels.push(channel);
                at = to;
            }
            Hop::EndPort { channel, end_port } => {
                channels.push(channel);
                return (end_port == destination).then_some(channels);
            }
            Hop::Nothing => return None,
        }
    }
    None
}
