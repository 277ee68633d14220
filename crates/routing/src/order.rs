//! The order in which a launcher best fills hosts: neighbours in the list are near in the fabric.

use std::collections::BTreeSet;

use crate::network::Network;

/// Hosts, each once. From switch to nearest switch with hosts not yet in the list, those of one switch together, so that
/// subtrees of a fat tree are filled one after another and a mesh row by row.
pub fn hosts(network: &Network) -> Vec<u32> {
    let mut left: BTreeSet<u32> = (0..network.switches() as u32)
        .filter(|&switch| !network.local[switch as usize].is_empty())
        .collect();
    let mut listed = vec![false; network.fabric.hosts.len()];
    let mut order = Vec::new();
    let mut at = left.first().copied();
    while let Some(switch) = at {
        left.remove(&switch);
        for &end_port in &network.local[switch as usize] {
            let host = network.fabric.end_ports[end_port as usize].host;
            if !std::mem::replace(&mut listed[host as usize], true) {
                order.push(host);
            }
        }
        // In parts of a fabric that nothing joins, the distances are equal.
        let distance = network.distances(&[switch]);
        at = left.iter().copied().min_by_key(|&next| (distance[next as usize], next));
    }
    order
}

/// A host file for `mpirun --hostfile`.
pub fn hostfile(network: &Network) -> String {
    let line = |host: u32| {
        let host = &network.fabric.hosts[host as usize];
        match host.slots {
            Some(slots) => format!("{} slots={slots}\n", host.name),
            None => format!("{}\n", host.name),
        }
    };
    hosts(network).into_iter().map(line).collect()
}
