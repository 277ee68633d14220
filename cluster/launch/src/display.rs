//! What `--display` shows before a job starts.

use std::fmt::Write;

use crate::args::Request;
use crate::error::LaunchError;
use crate::place::affinity;
use crate::place::binding;
use crate::place::topology::Topology;
use crate::spread::Spread;

/// This machine.
pub fn machine() -> Result<Topology, LaunchError> {
    Topology::here().map_err(|error| LaunchError::system("cannot find out the usable cpus", &error))
}

/// Everything that was asked for; empty if nothing was.
pub fn text(request: &Request, spread: &Spread) -> Result<String, LaunchError> {
    let display = request.options.display;
    let mut out = String::new();
    if display.allocation {
        allocation(&mut out, request, spread);
    }
    if display.topology {
        let _ = writeln!(out, "this machine: {}", machine()?.describe());
    }
    if display.map {
        map(&mut out, request, spread)?;
    }
    Ok(out)
}

fn allocation(out: &mut String, request: &Request, spread: &Spread) {
    out.push_str("hosts:\n");
    let rooms: Vec<_> =
        request.programs.iter().filter_map(|program| program.room.as_ref()).collect();
    if rooms.is_empty() {
        let host = spread.nodes.first().map_or("localhost", |node| &node.host);
        let _ = writeln!(out, "    {host}: no number of slots was given");
    }
    let mut shown = Vec::new();
    for (host, slots) in rooms.iter().flat_map(|room| &room.hosts) {
        if !shown.contains(&(host, slots)) {
            let _ = writeln!(out, "    {host}: slots {slots}");
            shown.push((host, slots));
        }
    }
}

fn map(out: &mut String, request: &Request, spread: &Spread) -> Result<(), LaunchError> {
    out.push_str("map:\n");
    let machine = machine()?;
    for (number, node) in (0..).zip(&spread.nodes) {
        let ranks: Vec<(usize, &crate::spread::Rank)> =
            spread.ranks.iter().enumerate().filter(|(_, rank)| rank.node == number).collect();
        let _ = writeln!(out, "    {}: {} ranks", node.host, ranks.len());
        let slots = spread.slots_of(number);
        let count = ranks.len() as u32;
        // What other hosts are made of is known there.
        let bound = match node.local {
            true => binding::bindings(&machine, &request.options.policy, count, &slots)?,
            false => vec![None; ranks.len()],
        };
        for ((rank, place), cpus) in ranks.into_iter().zip(bound) {
            let program = request.programs[place.program].argv[0].to_string_lossy();
            let cpus =
                cpus.map_or(String::new(), |cpus| format!(", cpu {}", affinity::show(&cpus)));
            let _ = writeln!(out, "        rank {rank}: {program}{cpus}");
        }
    }
    Ok(())
}
