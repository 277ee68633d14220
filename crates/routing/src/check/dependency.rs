//! The channel dependency graph of tables (Dally and Seitz, 1987): an edge from one channel to another where packets
//! that hold the first can wait for the second. Tables without a cycle in it cannot lock up.
//!
//! Only dependencies that packets of some host make are edges: an entry that no packet meets makes none. Channels
//! between hosts and switches are left out, for no packet waits for the first kind, and none holds the second kind
//! while it waits.

use std::collections::{HashMap, VecDeque};

use super::walk::Walk;
use crate::network::{Hop, Network};
use crate::tables::Tables;

/// The graph. Its edges are bits: for each switch one per pair of port of arrival and port of departure.
#[derive(Debug)]
pub struct Dependencies<'a, 'n> {
    network: &'a Network<'n>,
    ports: Vec<usize>,
    edges: Vec<Vec<u64>>,
}

/// Channels that wait for one another, each with a destination whose packets hold it and wait for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    pub channels: Vec<(u32, usize)>,
}

impl Cycle {
    pub fn text(&self, network: &Network) -> Vec<String> {
        let row = |&(channel, destination): &(u32, usize)| {
            let name = network.channel_name(channel);
            format!("{name} (packets for {})", network.destination_name(destination))
        };
        self.channels.iter().map(row).collect()
    }
}

impl<'a, 'n> Dependencies<'a, 'n> {
    pub fn new(network: &'a Network<'n>) -> Dependencies<'a, 'n> {
        let ports: Vec<usize> =
            network.fabric.switches.iter().map(|switch| switch.ports.len() + 1).collect();
        let edges = ports.iter().map(|ports| vec![0; (ports * ports).div_ceil(64)]).collect();
        Dependencies { network, ports, edges }
    }

    /// Adds the dependencies of the packets to one destination, with the flows of a walk.
    pub fn add(&mut self, walk: &Walk, row: &[u16]) {
        for (switch, &flow) in walk.flow.iter().enumerate() {
            let hop = self.network.hop(switch as u32, row[switch]);
            let Hop::Switch { to, port, .. } = hop else { continue };
            if flow == 0 || walk.length(switch as u32).is_none_or(|length| length == 0) {
                continue;
            }
            let leaves = row[to as usize];
            if let Hop::Switch { .. } = self.network.hop(to, leaves) {
                let bit = usize::from(port) * self.ports[to as usize] + usize::from(leaves);
                self.edges[to as usize][bit / 64] |= 1 << (bit % 64);
            }
        }
    }

    /// The channels that packets on a channel can wait for.
    fn after(&self, channel: u32) -> Vec<u32> {
        let (_, end) = self.network.ends(channel);
        let crate::fabric::Node::Switch(switch) = end.node else { return Vec::new() };
        let ports = self.ports[switch as usize];
        let first = usize::from(end.port) * ports;
        let edge = |port: &usize| {
            let bit = first + port;
            self.edges[switch as usize][bit / 64] >> (bit % 64) & 1 == 1
        };
        let channel = |port: usize| match self.network.hop(switch, port as u16) {
            Hop::Switch { channel, .. } => Some(channel),
            _ => None,
        };
        (0..ports).filter(edge).filter_map(channel).collect()
    }

    /// A cycle, if there is one: the shortest through the channel at which one was found. The destinations that
    /// make its edges are looked for among the given ones.
    pub fn cycle(&self, tables: &Tables, destinations: std::ops::Range<usize>) -> Option<Cycle> {
        let through = self.on_a_cycle()?;
        let channels = self.shortest(through)?;
        let next = channels.iter().cycle().skip(1);
        let makes = |from: u32, to: u32, destination: usize| {
            let row = tables.row(destination);
            let leads = |channel: u32| {
                let (start, _) = self.network.ends(channel);
                let crate::fabric::Node::Switch(switch) = start.node else { return false };
                row[switch as usize] == start.port
            };
            leads(from) && leads(to)
        };
        let pairs = channels.iter().zip(next).map(|(&from, &to)| {
            let maker = destinations.clone().find(|&destination| makes(from, to, destination));
            (from, maker.unwrap_or(destinations.start))
        });
        Some(Cycle { channels: pairs.collect() })
    }

    /// Some channel of some cycle, by a depth-first search.
    fn on_a_cycle(&self) -> Option<u32> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.network.channels()];
        let mut stack: Vec<(u32, Vec<u32>)> = Vec::new();
        for start in 0..self.network.channels() as u32 {
            if marks[start as usize] != Mark::New {
                continue;
            }
            marks[start as usize] = Mark::Open;
            stack.push((start, self.after(start)));
            while let Some((channel, rest)) = stack.last_mut() {
                let Some(next) = rest.pop() else {
                    marks[*channel as usize] = Mark::Done;
                    stack.pop();
                    continue;
                };
                match marks[next as usize] {
                    Mark::Open => return Some(next),
                    Mark::Done => {}
                    Mark::New => {
                        marks[next as usize] = Mark::Open;
                        let after = self.after(next);
                        stack.push((next, after));
                    }
                }
            }
        }
        None
    }

    /// The shortest cycle through a channel.
    fn shortest(&self, through: u32) -> Option<Vec<u32>> {
        let mut before: HashMap<u32, u32> = HashMap::new();
        let mut queue = VecDeque::from([through]);
        while let Some(channel) = queue.pop_front() {
            for next in self.after(channel) {
                if next == through {
                    let mut cycle = vec![channel];
                    while let Some(&previous) =
                        cycle.last().filter(|&&at| at != through).and_then(|at| before.get(at))
                    {
                        cycle.push(previous);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if let std::collections::hash_map::Entry::Vacant(entry) = before.entry(next) {
                    entry.insert(channel);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}
