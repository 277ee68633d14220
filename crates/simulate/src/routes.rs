//! Ways between hosts over the links of a fabric, which packets share.

use crate::error::Error;
use crate::machine::kib_of;
use crate::time::Time;
use hpvm_routing::network::Hop;
use hpvm_routing::updown::{Roots, route};
use hpvm_routing::{Fabric, Network, Tables};
use std::collections::HashMap;

/// Static routes of a fabric, and until when each channel is taken. A channel is one direction of a link.
pub struct Routes {
    /// The channels of each pair of hosts that has talked.
    paths: HashMap<(u32, u32), Box<[u32]>>,
    channels: Vec<Channel>,
    hosts: Vec<Host>,
    /// What each port of each switch leads to; that of port 1 first.
    hops: Vec<Vec<Hop>>,
    tables: Tables,
}

/// Where a host hangs on the fabric.
struct Host {
    name: String,
    end_port: u32,
    /// The channel on which it sends, and the switch there.
    injection: u32,
    switch: u32,
}

struct Channel {
    name: String,
    /// Of 1024 bytes.
    kib: Time,
    free: Time,
    busy: Time,
    packets: u64,
}

/// What a link has carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub channel: String,
    pub packets: u64,
    /// Time in which it carried something.
    pub busy: Time,
}

impl Routes {
    /// Up*/down* routes for the first `hosts` hosts of a fabric.
    pub fn new(fabric: &Fabric, hosts: u32) -> Result<Routes, Error> {
        if (fabric.hosts.len() as u64) < u64::from(hosts) {
            return Err(Error::new(format!(
                "the fabric has {} hosts, and the job needs {hosts}",
                fabric.hosts.len()
            )));
        }
        let network = Network::new(fabric);
        let made = route(&network, &Roots::Auto, false);
        let tables = made.map_err(|error| Error::new(error.to_string()))?.tables;
        let channel = |at| Channel {
            name: network.channel_name(at),
            kib: kib_of(network.bandwidth(at) * 1e9 / 8.0),
            free: 0,
            busy: 0,
            packets: 0,
        };
        let hop = |switch: u32| {
            let ports = fabric.switches[switch as usize].ports.len() as u16;
            (1..=ports).map(|port| network.hop(switch, port)).collect()
        };
        Ok(Routes {
            paths: HashMap::new(),
            channels: (0..network.channels() as u32).map(channel).collect(),
            hosts: (0..hosts).map(|host| place(&network, host)).collect::<Result<_, _>>()?,
            hops: (0..network.switches() as u32).map(hop).collect(),
            tables,
        })
    }

    /// A packet of `bytes` leaves host `from` for host `to` at `at`: when its first byte has passed the last link,
    /// and the time that its bytes take on the narrowest one. Each link is taken for as long as its bytes take
    /// there; a packet begins to pass a link as soon as its head is there and the link is free.
    pub fn pass(
        &mut self,
        (from, to): (u32, u32),
        bytes: usize,
        at: Time,
        hop: Time,
    ) -> Result<(Time, Time), Error> {
        if !self.paths.contains_key(&(from, to)) {
            let found = self.find(from, to)?;
            self.paths.insert((from, to), found);
        }
        let (mut head, mut narrowest) = (at, 0);
        for (number, channel) in self.paths[&(from, to)].iter().enumerate() {
            let channel = &mut self.channels[*channel as usize];
            let time = bytes as Time * channel.kib / 1024;
            // Every link but the first is left through a switch.
            head = (head + if number > 0 { hop } else { 0 }).max(channel.free);
            channel.free = head + time;
            channel.busy += time;
            channel.packets += 1;
            narrowest = narrowest.max(time);
        }
        Ok((head, narrowest))
    }

    fn find(&self, from: u32, to: u32) -> Result<Box<[u32]>, Error> {
        let (source, target) = (&self.hosts[from as usize], &self.hosts[to as usize]);
        let row = self.tables.row(target.end_port as usize);
        let (mut at, mut channels) = (source.switch, vec![source.injection]);
        // A route that is longer than there are switches goes in circles.
        for _ in 0..=self.hops.len() {
            let port = usize::from(row[at as usize]).wrapping_sub(1);
            match self.hops[at as usize].get(port) {
                Some(Hop::Switch { channel, to, .. }) => {
                    channels.push(*channel);
                    at = *to;
                }
                Some(Hop::EndPort { channel, end_port }) if *end_port == target.end_port => {
                    channels.push(*channel);
                    return Ok(channels.into());
                }
                _ => break,
            }
        }
        Err(Error::new(format!("no route leads from {} to {}", source.name, target.name)))
    }

    /// The links that were busy longest, the busiest first.
    pub fn busiest(&self, count: usize) -> Vec<Load> {
        let mut order: Vec<usize> = (0..self.channels.len()).collect();
        order.sort_by_key(|at| (core::cmp::Reverse(self.channels[*at].busy), *at));
        let load = |at: &usize| Load {
            channel: self.channels[*at].name.clone(),
            packets: self.channels[*at].packets,
            busy: self.channels[*at].busy,
        };
        order.iter().take(count).map(load).filter(|load| load.packets > 0).collect()
    }
}

/// Where host `host` hangs: its first port counts.
fn place(network: &Network, host: u32) -> Result<Host, Error> {
    let fabric = network.fabric;
    let name = fabric.hosts[host as usize].name.clone();
    let end_port = (0..).zip(&fabric.end_ports).find(|(_, end)| end.host == host);
    let placed = end_port.and_then(|(at, _)| {
        let (switch, _) = network.attached[at as usize]?;
        Some((at, network.injection(at)?, switch))
    });
    match placed {
        Some((end_port, injection, switch)) => Ok(Host { name, end_port, injection, switch }),
        None => Err(Error::new(format!("host {name} of the fabric has no link"))),
    }
}
