//! A fabric as the algorithms want it: neighbours of switches, what hangs on each port, channels.

use crate::fabric::{End, EndPort, Fabric, Node};

/// What a packet meets that leaves a switch by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// No link.
    Nothing,
    /// The channel, the next switch, and the port there.
    Switch { channel: u32, to: u32, port: u16 },
    /// The channel and the end port.
    EndPort { channel: u32, end_port: u32 },
}

/// Another switch, with the ports that lead to it.
#[derive(Clone, Debug)]
pub struct Neighbor {
    pub to: u32,
    /// Port here, and channel.
    pub ports: Vec<(u16, u32)>,
}

/// The indices. A channel is one direction of a link: twice the link's index, and 1 more from the second end to the
/// first.
#[derive(Debug)]
pub struct Network<'a> {
    pub fabric: &'a Fabric,
    hops: Vec<Vec<Hop>>,
    pub neighbors: Vec<Vec<Neighbor>>,
    /// Switch and port of each end port; none when its link has failed.
    pub attached: Vec<Option<(u32, u16)>>,
    /// End ports on each switch.
    pub local: Vec<Vec<u32>>,
}

impl<'a> Network<'a> {
    pub fn new(fabric: &'a Fabric) -> Network<'a> {
        let mut index = vec![Vec::new(); fabric.hosts.len()];
        for (at, end_port) in fabric.end_ports.iter().enumerate() {
            index[end_port.host as usize].push((end_port.port, at as u32));
        }
        let attached: Vec<_> = fabric.end_ports.iter().map(|&end| fabric.attached(end)).collect();
        let mut local = vec![Vec::new(); fabric.switches.len()];
        for (at, place) in attached.iter().enumerate() {
            if let Some((switch, _)) = place {
                local[*switch as usize].push(at as u32);
            }
        }
        let hops: Vec<Vec<Hop>> = (0..fabric.switches.len() as u32)
            .map(|switch| hops_of(fabric, switch, &index))
            .collect();
        let neighbors = hops.iter().map(|hops| neighbors_of(hops)).collect();
        Network { fabric, hops, neighbors, attached, local }
    }

    pub fn switches(&self) -> usize {
        self.hops.len()
    }

    /// Directed links, those that failed included.
    pub fn channels(&self) -> usize {
        self.fabric.links.len() * 2
    }

    /// Where a port leads; port numbers of any size may be asked for.
    pub fn hop(&self, switch: u32, port: u16) -> Hop {
        let at = usize::from(port).wrapping_sub(1);
        self.hops[switch as usize].get(at).copied().unwrap_or(Hop::Nothing)
    }

    pub fn bandwidth(&self, channel: u32) -> f64 {
        self.fabric.links[channel as usize / 2].bandwidth
    }

    /// Where a channel starts and where it ends.
    pub fn ends(&self, channel: u32) -> (End, End) {
        let [a, b] = self.fabric.links[channel as usize / 2].ends;
        if channel.is_multiple_of(2) { (a, b) } else { (b, a) }
    }

    /// A channel for people.
    pub fn channel_name(&self, channel: u32) -> String {
        let (from, to) = self.ends(channel);
        let name = |end: End| format!("{}:{}", self.fabric.name(end.node), end.port);
        format!("{} -> {}", name(from), name(to))
    }

    /// The channel on which an end port sends.
    pub fn injection(&self, end_port: u32) -> Option<u32> {
        let EndPort { host, port } = self.fabric.end_ports[end_port as usize];
        let end = End { node: Node::Host(host), port };
        self.fabric.link_at(end).map(|link| channel_from(self.fabric, link, end))
    }

    /// The destination of a row of the tables: an end port, or a switch.
    pub fn target(&self, destination: usize) -> Option<u32> {
        match self.attached.get(destination) {
            Some(place) => place.map(|(switch, _)| switch),
            None => Some((destination - self.attached.len()) as u32),
        }
    }

    /// The name of a row's destination.
    pub fn destination_name(&self, destination: usize) -> String {
        match self.fabric.end_ports.get(destination) {
            Some(&end_port) => self.fabric.end_port_name(end_port),
            None => self.fabric.switches[destination - self.attached.len()].name.clone(),
        }
    }

    /// Links from a switch to each other one; `u32::MAX` where no way leads.
    pub fn distances(&self, from: &[u32]) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.switches()];
        let mut queue: std::collections::VecDeque<u32> = from.iter().copied().collect();
        for &start in from {
            distance[start as usize] = 0;
        }
        while let Some(at) = queue.pop_front() {
            for neighbor in &self.neighbors[at as usize] {
                if distance[neighbor.to as usize] == u32::MAX {
                    distance[neighbor.to as usize] = distance[at as usize] + 1;
                    queue.push_back(neighbor.to);
                }
            }
        }
        distance
    }
}

fn channel_from(fabric: &Fabric, link: u32, end: End) -> u32 {
    link * 2 + u32::from(fabric.links[link as usize].ends[0] != end)
}

fn hops_of(fabric: &Fabric, switch: u32, index: &[Vec<(u16, u32)>]) -> Vec<Hop> {
    let node = Node::Switch(switch);
    let hop = |(port, link): (u16, &Option<u32>)| {
        let Some(link) = *link else { return Hop::Nothing };
        let channel = channel_from(fabric, link, End { node, port });
        match fabric.across(link, node, port) {
            End { node: Node::Switch(to), port } => Hop::Switch { channel, to, port },
            End { node: Node::Host(host), port } => {
                let known = index[host as usize].iter().find(|(other, _)| *other == port);
                known.map_or(Hop::Nothing, |&(_, end_port)| Hop::EndPort { channel, end_port })
            }
        }
    };
    (1..).zip(&fabric.switches[switch as usize].ports).map(hop).collect()
}

fn neighbors_of(hops: &[Hop]) -> Vec<Neighbor> {
    let mut neighbors: Vec<Neighbor> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (port, hop) in (1..).zip(hops) {
        let &Hop::Switch { channel, to, .. } = hop else { continue };
        let at = *known.entry(to).or_insert_with(|| {
            neighbors.push(Neighbor { to, ports: Vec::new() });
            neighbors.len() - 1
        });
        neighbors[at].ports.push((port, channel));
    }
    neighbors
}
