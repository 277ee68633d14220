//! Which of the allowed ports a table names: the one whose link carries least so far.

use super::{Orientation, Steps, Way};
use crate::network::Network;
use crate::tables::NONE;

/// The load of each channel by the rows filled so far: pairs of end ports, divided by bandwidth.
#[derive(Debug)]
pub struct Balance<'a> {
    network: &'a Network<'a>,
    load: Vec<f64>,
    /// 1 divided by the bandwidth of each channel.
    cost: Vec<f64>,
    /// Sources whose packets pass a switch; of the row in work.
    flow: Vec<f64>,
}

impl<'a> Balance<'a> {
    pub fn new(network: &'a Network<'a>) -> Balance<'a> {
        let channels = 0..network.channels() as u32;
        Balance {
            network,
            load: vec![0.0; network.channels()],
            cost: channels.map(|channel| 1.0 / network.bandwidth(channel)).collect(),
            flow: vec![0.0; network.switches()],
        }
    }

    /// Fills the row of a destination. Packets of all sources are followed from the switches farthest in the order:
    /// up first, then down, so that each switch is met after all that send to it.
    pub fn fill(
        &mut self,
        orientation: &Orientation,
        steps: &Steps,
        destination: usize,
        row: &mut [u16],
    ) {
        let end_ports = self.network.attached.len();
        // Packets to switches are few; they take what way there is and count for nothing.
        let counted = destination < end_ports;
        for (flow, local) in self.flow.iter_mut().zip(&self.network.local) {
            *flow = if counted { local.len() as f64 } else { 0.0 };
        }
        row[steps.target as usize] = match self.network.attached.get(destination) {
            Some(place) => place.map_or(NONE, |(_, port)| port),
            None => 0,
        };
        let turn = if counted { destination } else { destination - end_ports };
        for &from in orientation.order.iter().rev() {
            if steps.way[from as usize] == Way::Up {
                row[from as usize] = self.choose(orientation, steps, from, turn);
            }
        }
        for &from in &orientation.order {
            if steps.way[from as usize] == Way::Down {
                row[from as usize] = self.choose(orientation, steps, from, turn);
            }
        }
    }

    /// The port with the least load; of equal ones another one for each destination.
    fn choose(&mut self, orientation: &Orientation, steps: &Steps, from: u32, turn: usize) -> u16 {
        let flow = self.flow[from as usize];
        let count: usize = steps.next(orientation, from).map(|next| next.ports.len()).sum();
        let first = turn.checked_rem(count).unwrap_or(0);
        let ports = steps.next(orientation, from).flat_map(|next| {
            next.ports.iter().map(move |&(port, channel)| (port, channel, next.to))
        });
        let mut best: Option<(f64, usize, (u16, u32, u32))> = None;
        for (at, port) in ports.enumerate() {
            let channel = port.1 as usize;
            let load = self.load[channel] + flow * self.cost[channel];
            let place = (at + count - first) % count;
            if best.as_ref().is_none_or(|(least, before, _)| (load, place) < (*least, *before)) {
                best = Some((load, place, port));
            }
        }
        let Some((load, _, (port, channel, to))) = best else { return NONE };
        self.load[channel as usize] = load;
        self.flow[to as usize] += flow;
        port
    }
}
