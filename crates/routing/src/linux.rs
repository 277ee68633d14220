//! Routes for Linux: a script of `ip route` lines for each switch that is a Linux router.
//!
//! Port N of a router is the interface `swpN`. Every host has an `address`, and every switch one of its own,
//! which the neighbour answers for on each of its links, so links need no addresses.

use std::fmt::Write;

use crate::error::{Error, quoted};
use crate::fabric::Switch;
use crate::network::{Hop, Network};
use crate::tables::{NONE, Tables};
use crate::updown::{Orientation, Steps, Way, by_target};

/// The scripts, by the names of the switches. With `steps`, all shortest legal ways of a switch share its traffic
/// (ECMP); without, every host has the one that is in the tables.
pub fn scripts(
    network: &Network,
    tables: &Tables,
    ecmp: Option<&Orientation>,
) -> Result<Vec<(String, String)>, Error> {
    let addresses = addresses(network)?;
    let mut scripts: Vec<String> = network.fabric.switches.iter().map(head).collect();
    for (target, destinations) in by_target(network) {
        let steps = ecmp.map(|orientation| Steps::new(network, orientation, target));
        for destination in destinations.into_iter().filter(|&at| at < network.attached.len()) {
            let row = tables.row(destination);
            for (at, script) in scripts.iter_mut().enumerate() {
                let way = steps.as_ref().map(|steps| steps.way[at]);
                let ports = match (&steps, ecmp) {
                    (Some(steps), Some(orientation)) if way != Some(Way::Here) => {
                        let next = steps.next(orientation, at as u32);
                        next.flat_map(|next| next.ports.iter().map(|port| port.0)).collect()
                    }
                    _ => vec![row[at]],
                };
                line(network, script, at as u32, &addresses[destination], &ports);
            }
        }
    }
    let names = network.fabric.switches.iter().map(|switch| switch.name.clone());
    Ok(names.zip(scripts).collect())
}

/// The addresses of all end ports; every switch needs one, too.
fn addresses(network: &Network) -> Result<Vec<String>, Error> {
    let hosts = &network.fabric.hosts;
    let missing = |kind: &str, name: &str| {
        Error::new(format!("{kind} {} has no address; routes of Linux need address=", quoted(name)))
    };
    for switch in &network.fabric.switches {
        if switch.address.is_none() {
            return Err(missing("switch", &switch.name));
        }
    }
    let mut known = std::collections::HashMap::new();
    for host in hosts {
        let address = host.address.as_ref().ok_or_else(|| missing("host", &host.name))?;
        if host.ports.len() > 1 {
            let name = quoted(&host.name);
            return Err(Error::new(format!(
                "host {name} has several ports; an address is routed to one only"
            )));
        }
        if let Some(other) = known.insert(address, &host.name) {
            let (other, name) = (quoted(other), quoted(&host.name));
            return Err(Error::new(format!("hosts {other} and {name} have the address {address}")));
        }
    }
    let of = |host: u32| hosts[host as usize].address.clone().unwrap_or_default();
    Ok(network.fabric.end_ports.iter().map(|end| of(end.host)).collect())
}

fn head(switch: &Switch) -> String {
    let address = switch.address.as_deref().unwrap_or_default();
    format!(
        "#!/bin/sh\n# Routes of {}, made by hpvm route.\nset -e\nip address replace {address}/{} dev lo\n",
        switch.name.escape_debug(),
        bits(address)
    )
}

/// The length of a prefix that is one address.
fn bits(address: &str) -> u32 {
    if address.contains(':') { 128 } else { 32 }
}

fn line(network: &Network, script: &mut String, at: u32, address: &str, ports: &[u16]) {
    let hop = |&port: &u16| match network.hop(at, port) {
        Hop::Switch { to, .. } => {
            let next = network.fabric.switches[to as usize].address.as_deref().unwrap_or_default();
            Some(format!("via {next} dev swp{port} onlink"))
        }
        Hop::EndPort { .. } => Some(format!("dev swp{port}")),
        Hop::Nothing => None,
    };
    let hops: Vec<String> = ports.iter().filter(|port| **port != NONE).filter_map(hop).collect();
    let prefix = format!("{address}/{}", bits(address));
    let _ = match hops.as_slice() {
        [] => writeln!(script, "# no way leads to {prefix}"),
        [one] => writeln!(script, "ip route replace {prefix} {one}"),
        several => {
            let hops: Vec<String> = several.iter().map(|hop| format!("nexthop {hop}")).collect();
            writeln!(script, "ip route replace {prefix} {}", hops.join(" "))
        }
    };
}
