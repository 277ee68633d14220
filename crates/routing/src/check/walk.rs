//! The routes to one destination, from all switches at once.

use crate::error::quoted;
use crate::network::{Hop, Network};
use crate::tables::{NONE, Tables};

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A switch that packets come to has no entry.
    NoEntry { switch: u32 },
    /// The entry names a port without a link.
    NoLink { switch: u32, port: u16 },
    /// The packet leaves the fabric at another host.
    WrongHost { switch: u32, port: u16 },
    /// Packets go in a circle, of so many switches, through this one.
    Loop { switch: u32, length: usize },
}

impl Fault {
    pub fn text(&self, network: &Network, destination: usize) -> String {
        let to = quoted(&network.destination_name(destination));
        let name = |switch: u32| quoted(&network.fabric.switches[switch as usize].name);
        match *self {
            Fault::NoEntry { switch } => {
                format!("switch {} has no entry for {to}", name(switch))
            }
            Fault::NoLink { switch, port } => {
                let name = name(switch);
                format!("switch {name} sends packets for {to} to port {port}, where no link is")
            }
            Fault::WrongHost { switch, port } => {
                let name = name(switch);
                format!("switch {name} sends packets for {to} to port {port}, to another host")
            }
            Fault::Loop { switch, length } => {
                let name = name(switch);
                format!("packets for {to} go round {length} switches, {name} among them")
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    /// On the path that is followed now.
    Open,
    Arrives,
    Fails,
}

/// Scratch space for one destination after another.
pub struct Walk<'a, 'n> {
    pub network: &'a Network<'n>,
    state: Vec<State>,
    /// Links between switches that are left.
    length: Vec<u32>,
    /// Packets that start at, and then pass, each switch.
    pub flow: Vec<u64>,
    /// The channel and the switch behind the entry of each switch that arrives.
    next: Vec<(u32, Option<u32>)>,
    found: Vec<Fault>,
}

impl<'a, 'n> Walk<'a, 'n> {
    pub fn new(network: &'a Network<'n>) -> Walk<'a, 'n> {
        let switches = network.switches();
        Walk {
            network,
            state: vec![State::Unknown; switches],
            length: vec![0; switches],
            flow: vec![0; switches],
            next: vec![(u32::MAX, None); switches],
            found: Vec::new(),
        }
    }

    /// Follows the entries for a destination from every switch with end ports.
    pub fn follow(&mut self, tables: &Tables, destination: usize) {
        self.state.fill(State::Unknown);
        self.flow.fill(0);
        self.found.clear();
        let row = tables.row(destination);
        let mut path = Vec::new();
        for start in 0..self.network.switches() as u32 {
            if !self.network.local[start as usize].is_empty() {
                self.from(start, row, destination, &mut path);
            }
        }
    }

    fn from(&mut self, start: u32, row: &[u16], destination: usize, path: &mut Vec<u32>) {
        path.clear();
        let mut at = start;
        let arrives = loop {
            match self.state[at as usize] {
                State::Arrives => break true,
                State::Fails => break false,
                State::Open => {
                    let first = path.iter().position(|&switch| switch == at).unwrap_or(0);
                    self.found.push(Fault::Loop { switch: at, length: path.len() - first });
                    break false;
                }
                State::Unknown => {}
            }
            self.state[at as usize] = State::Open;
            path.push(at);
            match self.step(at, row[at as usize], destination) {
                Step::On(to) => at = to,
                Step::Arrived => {
                    path.pop();
                    self.length[at as usize] = 0;
                    self.state[at as usize] = State::Arrives;
                    break true;
                }
                Step::Failed(fault) => {
                    self.found.push(fault);
                    break false;
                }
            }
        };
        let mut length = if arrives { self.length[at as usize] } else { 0 };
        while let Some(passed) = path.pop() {
            length += 1;
            self.length[passed as usize] = length;
            self.state[passed as usize] = if arrives { State::Arrives } else { State::Fails };
        }
    }

    fn step(&mut self, switch: u32, port: u16, destination: usize) -> Step {
        let end_ports = self.network.attached.len();
        if destination >= end_ports && (destination - end_ports) as u32 == switch {
            self.next[switch as usize] = (u32::MAX, None);
            return Step::Arrived;
        }
        if port == NONE {
            return Step::Failed(Fault::NoEntry { switch });
        }
        match self.network.hop(switch, port) {
            Hop::Nothing => Step::Failed(Fault::NoLink { switch, port }),
            Hop::Switch { channel, to, .. } => {
                self.next[switch as usize] = (channel, Some(to));
                Step::On(to)
            }
            Hop::EndPort { channel, end_port } if end_port as usize == destination => {
                self.next[switch as usize] = (channel, None);
                Step::Arrived
            }
            Hop::EndPort { .. } => Step::Failed(Fault::WrongHost { switch, port }),
        }
    }

    /// What went wrong on the ways from switches with end ports.
    pub fn faults(&self) -> &[Fault] {
        &self.found
    }

    /// Links between switches from one that arrives.
    pub fn length(&self, from: u32) -> Option<u32> {
        (self.state[from as usize] == State::Arrives).then(|| self.length[from as usize])
    }

    /// Packets start at a switch.
    pub fn start(&mut self, from: u32, packets: u64) {
        self.flow[from as usize] += packets;
    }

    /// One packet from every end port whose switch arrives; the flows are then those of [`Walk::flow_into`].
    pub fn flow(&mut self) {
        for at in 0..self.flow.len() {
            if self.state[at] == State::Arrives {
                self.flow[at] = self.network.local[at].len() as u64;
            }
        }
        self.pass(|_, _| ());
    }

    /// Sends what has started on its way, and adds it to the loads of channels.
    pub fn flow_into(&mut self, load: &mut [u64]) {
        self.pass(|channel, flow| load[channel as usize] += flow);
    }

    fn pass(&mut self, mut crossed: impl FnMut(u32, u64)) {
        let mut far_first: Vec<u32> = (0..self.state.len() as u32)
            .filter(|&at| self.state[at as usize] == State::Arrives)
            .collect();
        far_first.sort_unstable_by_key(|&at| std::cmp::Reverse(self.length[at as usize]));
        for at in far_first {
            let (channel, to) = self.next[at as usize];
            let flow = self.flow[at as usize];
            if flow == 0 || channel == u32::MAX {
                continue;
            }
            crossed(channel, flow);
            if let Some(to) = to {
                self.flow[to as usize] += flow;
            }
        }
    }
}

enum Step {
    On(u32),
    Arrived,
    Failed(Fault),
}
