//! Up*/down* routes with several roots.
//!
//! Every link between switches gets a direction: *up* leads to the end nearer to a root, and between ends at the same
//! distance to the one that is earlier in the fabric. So all switches stand in one order, up links descend in it, and
//! no cycle of up links exists, nor one of down links. A legal route is up links, then down links; a packet that has
//! gone down never goes up again, so no cycle of channels can wait for one another. That holds for any number of roots
//! in any fabric. What several roots may break outside of trees is reach: two switches may have no legal route, and
//! then [`route`] uses fewer roots.
//!
//! Tables know only the destination, not where a packet came from. So a switch to which packets of a destination come
//! down has to send them on down, also where a shorter route would go up from it.

mod balance;
mod roots;
mod steps;

pub use steps::{Steps, Way, down_only, legal};

use crate::error::{Error, quoted};
use crate::network::Network;
use crate::tables::Tables;
use balance::Balance;

/// The order of the switches that makes each link up or down.
#[derive(Clone, Debug)]
pub struct Orientation {
    pub roots: Vec<u32>,
    /// Distance from the nearest root.
    pub level: Vec<u32>,
    /// Switches, those nearest to roots first.
    pub order: Vec<u32>,
    /// Place of each switch in the order.
    pub rank: Vec<u32>,
}

impl Orientation {
    /// Levels from the given roots; parts of the fabric that no root reaches get one root each.
    pub fn new(network: &Network, roots: &[u32]) -> Orientation {
        let mut roots = roots.to_vec();
        let mut level = network.distances(&roots);
        while let Some(lost) = level.iter().position(|&level| level == u32::MAX) {
            roots.push(lost as u32);
            level = network.distances(&roots);
        }
        let mut order: Vec<u32> = (0..network.switches() as u32).collect();
        order.sort_by_key(|&switch| (level[switch as usize], switch));
        let mut rank = vec![0; order.len()];
        for (place, &switch) in order.iter().enumerate() {
            rank[switch as usize] = place as u32;
        }
        Orientation { roots, level, order, rank }
    }

    /// Whether going from one switch to its neighbour is up.
    pub fn is_up(&self, from: u32, to: u32) -> bool {
        self.rank[to as usize] < self.rank[from as usize]
    }
}

/// Which switches are roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roots {
    /// All tops of a layered fabric (a fat tree), else one in the middle.
    Auto,
    /// So many, fewer where more would leave hosts without a legal route.
    Count(usize),
    /// These.
    Named(Vec<String>),
}

/// Tables and what they were made by.
#[derive(Debug)]
pub struct Routing {
    pub tables: Tables,
    pub orientation: Orientation,
}

/// Makes tables. Hosts that no way joins, and named roots that leave hosts without a legal route, are errors; with
/// `partial`, which is for fabrics after a failure, hosts in different parts just have no route.
pub fn route(network: &Network, roots: &Roots, partial: bool) -> Result<Routing, Error> {
    if !partial {
        connected(network)?;
    }
    let orientation = orient(network, roots)?;
    let mut tables = Tables::empty(network.fabric)?;
    let mut balance = Balance::new(network);
    for (target, destinations) in by_target(network) {
        let steps = Steps::new(network, &orientation, target);
        for destination in destinations {
            balance.fill(&orientation, &steps, destination, tables.row_mut(destination));
        }
    }
    tables.roots.clone_from(&orientation.roots);
    Ok(Routing { tables, orientation })
}

/// The orientation that [`route`] uses.
pub fn orient(network: &Network, roots: &Roots) -> Result<Orientation, Error> {
    let named = match roots {
        Roots::Auto => return Ok(roots::automatic(network, None)),
        Roots::Count(count) => return Ok(roots::automatic(network, Some(*count))),
        Roots::Named(names) => names,
    };
    let mut chosen = Vec::new();
    for name in named {
        let at = network.fabric.switches.iter().position(|switch| switch.name == *name);
        let Some(at) = at else {
            return Err(Error::new(format!("root {} is no switch of the fabric", quoted(name))));
        };
        if !chosen.contains(&(at as u32)) {
            chosen.push(at as u32);
        }
    }
    let orientation = Orientation::new(network, &chosen);
    match roots::without_route(network, &orientation) {
        None => Ok(orientation),
        Some((a, b)) => {
            let name = |switch: u32| quoted(&network.fabric.switches[switch as usize].name);
            Err(Error::new(format!(
                "with the roots {} no legal route leads from {} to {}; name other roots or fewer, or give \
                 their number",
                named.join(", "),
                name(a),
                name(b)
            )))
        }
    }
}

/// An error when hosts lie in parts that nothing joins.
fn connected(network: &Network) -> Result<(), Error> {
    let carriers: Vec<u32> = roots::carriers(network);
    let Some(&first) = carriers.first() else { return Ok(()) };
    let distance = network.distances(&[first]);
    let lost = carriers.iter().find(|&&switch| distance[switch as usize] == u32::MAX);
    let Some(&lost) = lost else { return Ok(()) };
    let host = |switch: u32| {
        let end_port = network.local[switch as usize][0] as usize;
        quoted(&network.destination_name(end_port))
    };
    let count = carriers.iter().filter(|&&switch| distance[switch as usize] == u32::MAX);
    let hosts: usize = count.map(|&switch| network.local[switch as usize].len()).sum();
    Err(Error::new(format!(
        "{hosts} of the fabric's {} host ports cannot be reached from host {}: no way leads to host {}, for one",
        network.attached.len(),
        host(first),
        host(lost)
    )))
}

/// The rows of the tables, together for each switch that packets leave the fabric from, end ports first.
pub fn by_target(network: &Network) -> Vec<(u32, Vec<usize>)> {
    let mut targets = Vec::new();
    for (switch, local) in network.local.iter().enumerate() {
        let destinations: Vec<usize> = local.iter().map(|&end_port| end_port as usize).collect();
        if !destinations.is_empty() {
            targets.push((switch as u32, destinations));
        }
    }
    let end_ports = network.attached.len();
    targets.extend((0..network.switches()).map(|at| (at as u32, vec![end_ports + at])));
    targets
}
