//! Maximum flow (Dinic, 1970) between two sets of hosts; hosts of one switch and parallel links are taken together.

use crate::network::Network;

struct Edge {
    to: u32,
    room: f64,
}

/// The network of switches, with a source and a sink behind them.
pub struct Flow {
    edges: Vec<Edge>,
    /// Edges from each node; the one after or before an edge in its pair is its reverse.
    from: Vec<Vec<u32>>,
    /// Bandwidths between switches, and then nothing: what edges get before each run.
    between: Vec<f64>,
    switches: usize,
}

/// Less than this share of a Gbit/s is a rounding error.
const NOTHING: f64 = 1e-9;

impl Flow {
    pub fn new(network: &Network) -> Flow {
        let switches = network.switches();
        let mut flow = Flow {
            edges: Vec::new(),
            from: vec![Vec::new(); switches + 2],
            between: Vec::new(),
            switches,
        };
        for (at, neighbors) in network.neighbors.iter().enumerate() {
            for neighbor in neighbors.iter().filter(|neighbor| neighbor.to as usize > at) {
                let channels = neighbor.ports.iter().map(|port| network.bandwidth(port.1));
                let sum: f64 = channels.sum();
                // Both directions: each edge is the other's reverse.
                flow.pair(at as u32, neighbor.to);
                flow.between.extend([sum, sum]);
            }
        }
        for at in 0..switches as u32 {
            flow.pair(switches as u32, at);
            flow.pair(at, switches as u32 + 1);
        }
        flow
    }

    fn pair(&mut self, a: u32, b: u32) {
        for (from, to) in [(a, b), (b, a)] {
            self.from[from as usize].push(self.edges.len() as u32);
            self.edges.push(Edge { to, room: 0.0 });
        }
    }

    /// The most that gets through when hosts of each switch can send and receive so much.
    pub fn most(&mut self, sends: &[f64], receives: &[f64]) -> f64 {
        for (edge, room) in self.edges.iter_mut().zip(&self.between) {
            edge.room = *room;
        }
        let first = self.between.len();
        for at in 0..self.switches {
            let rooms = [sends[at], 0.0, receives[at], 0.0];
            for (edge, room) in self.edges[first + at * 4..].iter_mut().zip(rooms) {
                edge.room = room;
            }
        }
        let mut sum = 0.0;
        while let Some(level) = self.levels() {
            let mut next = vec![0; self.from.len()];
            loop {
                let found = self.push(&level, &mut next);
                if found <= NOTHING {
                    break;
                }
                sum += found;
            }
        }
        sum
    }

    /// Distances from the source over edges with room, if they reach the sink.
    fn levels(&self) -> Option<Vec<u32>> {
        let (source, sink) = (self.switches, self.switches + 1);
        let mut level = vec![u32::MAX; self.from.len()];
        level[source] = 0;
        let mut queue = std::collections::VecDeque::from([source as u32]);
        while let Some(at) = queue.pop_front() {
            for &edge in &self.from[at as usize] {
                let Edge { to, room } = self.edges[edge as usize];
                if room > NOTHING && level[to as usize] == u32::MAX {
                    level[to as usize] = level[at as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
        (level[sink] != u32::MAX).then_some(level)
    }

    /// Sends along one path of growing levels; gives how much, 0 when none is left.
    fn push(&mut self, level: &[u32], next: &mut [usize]) -> f64 {
        let (source, sink) = (self.switches, self.switches + 1);
        let mut path: Vec<u32> = Vec::new();
        let mut at = source;
        while at != sink {
            let rest = &self.from[at][next[at].min(self.from[at].len())..];
            let open = rest.iter().position(|&edge| {
                let Edge { to, room } = self.edges[edge as usize];
                room > NOTHING && level[to as usize] == level[at] + 1
            });
            match open {
                Some(skipped) => {
                    next[at] += skipped;
                    let edge = self.from[at][next[at]];
                    path.push(edge);
                    at = self.edges[edge as usize].to as usize;
                }
                None => {
                    // A dead end: back, and never here again.
                    next[at] = self.from[at].len();
                    let Some(edge) = path.pop() else { return 0.0 };
                    at = self.edges[edge as usize ^ 1].to as usize;
                    next[at] += 1;
                }
            }
        }
        let rooms = path.iter().map(|&edge| self.edges[edge as usize].room);
        let amount = rooms.fold(f64::INFINITY, f64::min);
        for edge in path {
            self.edges[edge as usize].room -= amount;
            self.edges[edge as usize ^ 1].room += amount;
        }
        amount
    }
}
