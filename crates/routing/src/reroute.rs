//! New tables after a failure, with as few changed entries as can be.
//!
//! An entry stays when its link is still there and leads on. Up links of old tables stay up links, because the
//! directions of links come from the fabric before the failure; what is added obeys the same directions, so the
//! channel dependency graph stays free of cycles. It is checked nevertheless, because the old tables may be anybody's;
//! where keeping entries makes a cycle or leaves pairs without a route that others would have, all tables are made anew.

use crate::check::{Check, check};
use crate::error::Error;
use crate::network::{Hop, Network};
use crate::tables::{NONE, Tables};
use crate::updown::{self, Orientation, Roots, by_target};

/// What was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All entries but those that led over what failed.
    Entries,
    /// Nothing: the tables are new.
    Nothing,
}

/// What new tables cost.
#[derive(Debug)]
pub struct Rerouted {
    pub kept: Kept,
    /// Entries that differ, those that are gone for good not counted.
    pub changed: usize,
    /// Entries of destinations that no way leads to any more.
    pub removed: usize,
    /// Switches with changed entries, and how many each has.
    pub switches: Vec<(u32, usize)>,
    /// Destinations for which some entry changed.
    pub destinations: usize,
    pub check: Check,
}

/// Makes tables for the fabric after a failure out of those for the fabric before.
pub fn reroute(
    before: &Network,
    after: &Network,
    previous: &Tables,
    roots: &Roots,
) -> Result<(Tables, Rerouted), Error> {
    let orientation = match (roots, previous.roots.as_slice()) {
        (Roots::Auto, []) => updown::orient(before, roots)?,
        (Roots::Auto, known) => Orientation::new(before, known),
        (named, _) => updown::orient(before, named)?,
    };
    let mut tables = previous.clone();
    tables.roots.clone_from(&orientation.roots);
    let mut load = check(after, previous).load;
    for (target, destinations) in by_target(after) {
        for destination in destinations {
            let old = previous.row(destination);
            let new = repaired(after, &orientation, old, destination, target, &mut load);
            tables.row_mut(destination).copy_from_slice(&new);
        }
    }
    for (destination, place) in after.attached.iter().enumerate() {
        if place.is_none() {
            tables.row_mut(destination).fill(NONE);
        }
    }
    let found = check(after, &tables);
    if found.sound() {
        let rerouted = summary(previous, &tables, Kept::Entries, found);
        return Ok((tables, rerouted));
    }
    let anew = updown::route(after, &Roots::Auto, true)?.tables;
    let found = check(after, &anew);
    let rerouted = summary(previous, &anew, Kept::Nothing, found);
    Ok((anew, rerouted))
}

fn summary(previous: &Tables, tables: &Tables, kept: Kept, check: Check) -> Rerouted {
    let (mut changed, mut removed, mut destinations) = (0, 0, 0);
    let mut switches: Vec<(u32, usize)> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    for destination in 0..tables.destinations() {
        let (old, new) = (previous.row(destination), tables.row(destination));
        counts.resize(new.len(), 0);
        let before = changed;
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            if old != new && *new == NONE {
                removed += 1;
            } else if old != new {
                changed += 1;
                counts[at] += 1;
            }
        }
        destinations += usize::from(changed > before);
    }
    switches.extend((0..).zip(counts).filter(|(_, count)| *count > 0));
    Rerouted { kept, changed, removed, switches, destinations, check }
}

/// How a switch sends on, while a row is repaired.
#[derive(Clone, Copy, PartialEq)]
enum Plan {
    /// Its entry is gone.
    Open,
    /// Its entry goes up, and its link is there.
    Up,
    /// Its entry goes down, and its link is there.
    Down,
    Here,
}

/// The row of one destination after the failure.
fn repaired(
    network: &Network,
    orientation: &Orientation,
    old: &[u16],
    destination: usize,
    target: u32,
    load: &mut [u64],
) -> Vec<u16> {
    let mut row = old.to_vec();
    let own = network.attached.get(destination).copied().flatten();
    row[target as usize] = own.map_or(0, |(_, port)| port);
    let plans: Vec<Plan> = (0..network.switches() as u32)
        .map(|at| plan(network, orientation, &row, at, target))
        .collect();
    // First without those whose entries go up and stay; if then somebody has no route, with all.
    let mut down =
        updown::down_only(network, orientation, target, |at| plans[at as usize] != Plan::Up);
    let mut routes = updown::legal(network, orientation, &down);
    let all = updown::down_only(network, orientation, target, |_| true);
    let best = updown::legal(network, orientation, &all);
    let lost = |at: usize| routes[at] == u32::MAX && best[at] != u32::MAX;
    if (0..routes.len()).any(|at| lost(at) && !network.local[at].is_empty()) {
        (down, routes) = (all, best);
    }
    for at in 0..network.switches() as u32 {
        let here = at as usize;
        let stays = match (plans[here], network.hop(at, row[here])) {
            (Plan::Here, _) => true,
            // Who has to send down for others cannot go on going up; that is only so in the second attempt.
            (Plan::Up, Hop::Switch { to, .. }) => {
                routes[to as usize] != u32::MAX
                    && !must_go_down(network, orientation, &plans, &down, at)
            }
            (Plan::Down, Hop::Switch { to, .. }) => down[to as usize] != u32::MAX,
            _ => false,
        };
        if !stays {
            row[here] = choose(network, orientation, (&down, &routes), at, load);
        }
    }
    row
}

/// Whether others come down to a switch whose own entry goes up.
fn must_go_down(
    network: &Network,
    orientation: &Orientation,
    plans: &[Plan],
    down: &[u32],
    at: u32,
) -> bool {
    let here = down[at as usize];
    here != u32::MAX
        && network.neighbors[at as usize].iter().any(|neighbor| {
            let above = neighbor.to as usize;
            orientation.is_up(at, neighbor.to)
                && down[above] != u32::MAX
                && plans[above] != Plan::Up
        })
}

fn plan(network: &Network, orientation: &Orientation, row: &[u16], at: u32, target: u32) -> Plan {
    match network.hop(at, row[at as usize]) {
        _ if at == target => Plan::Here,
        Hop::Switch { to, .. } if orientation.is_up(at, to) => Plan::Up,
        Hop::Switch { .. } => Plan::Down,
        _ => Plan::Open,
    }
}

/// A new entry: down where that leads to the target, else up; of the shortest the link with the least load.
fn choose(
    network: &Network,
    orientation: &Orientation,
    (down, routes): (&[u32], &[u32]),
    at: u32,
    load: &mut [u64],
) -> u16 {
    let goes_down = down[at as usize] != u32::MAX;
    let length = |to: u32| if goes_down { down[to as usize] } else { routes[to as usize] };
    let neighbors = network.neighbors[at as usize].iter();
    let allowed = neighbors.filter(|neighbor| {
        orientation.is_up(at, neighbor.to) != goes_down && length(neighbor.to) != u32::MAX
    });
    let ports = allowed.flat_map(|neighbor| neighbor.ports.iter().map(|port| (neighbor.to, *port)));
    let best =
        ports.min_by_key(|&(to, (port, channel))| (length(to), load[channel as usize], port));
    let Some((_, (port, channel))) = best else { return NONE };
    // How many packets will come here is known only when all entries are; the end ports of this switch do.
    load[channel as usize] += network.local[at as usize].len().max(1) as u64;
    port
}
