//! Broadcast by hosts.

use super::{Hosts, heads, plain, spread};
use crate::input::Broadcast;
use crate::schedule::Schedule;
use crate::select::Tables;

/// A broadcast among the heads, where the root is one, then one in each host.
///
/// Cost: between hosts that of a broadcast with one rank per host.
pub fn bcast(tables: &Tables, hosts: &Hosts, input: &Broadcast) -> Schedule {
    if input.bytes() > hosts.limits(tables).bcast {
        return plain::schedule_with(tables, input);
    }
    let mut s = Schedule::new();
    if input.bytes() == 0 {
        return s;
    }
    let Broadcast { rank, root, .. } = *input;
    let host = hosts.host(rank);
    let head = hosts.head(host, root);
    if rank == head {
        s.append(&heads::bcast(tables, hosts, input), |rank| rank, |block| block);
    }
    spread(&mut s, tables, hosts, (rank, head), input.whole(), input.bytes());
    s
}
