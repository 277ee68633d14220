//! Barrier by hosts.

use super::{FLAT, Hosts, heads};
use crate::schedule::{Peer, Schedule};
use crate::tree::{children, parent};

/// The ranks of a host signal to its head, the heads run a dissemination barrier, and each releases
/// its host.
///
/// Cost: with h hosts ceil(log2 h) empty messages out and in per host, between hosts; within one two
/// per rank, two (above 8 ranks, 2 log2) of them on the longest path.
pub fn barrier(hosts: &Hosts, rank: u32) -> Schedule {
    let mut s = Schedule::new();
    let host = hosts.host(rank);
    let team = hosts.team(host);
    let (number, size) = (hosts.number(rank), team.len() as u32);
    let peer = |number: u32| Peer::Local(team[number as usize]);
    let flat = team.len() <= FLAT;
    let below: Vec<u32> = match (flat, number) {
        (true, 0) => (1..size).collect(),
        (true, _) => Vec::new(),
        (false, _) => children(number, size).collect(),
    };
    below.iter().for_each(|child| s.await_signal(peer(*child)));
    s.end_round();
    if number == 0 {
        s.append(&heads::barrier(hosts, rank), |rank| rank, |block| block);
    } else {
        let above = peer(if flat { 0 } else { parent(number) });
        s.signal(above);
        s.await_signal(above);
        s.end_round();
    }
    below.iter().rev().for_each(|child| s.signal(peer(*child)));
    s.end_round();
    s
}
