//! Scans between sites. Without sites, and where the ranks of a site are not neighbours, the plain algorithm is used.

use super::{Hosts, moved};
use crate::input::{Broadcast, Reduction};
use crate::schedule::{Buffer, Peer, Schedule, TempSpec};
use crate::select::Tables;
use crate::{bcast, scan as plain};

/// A scan inside each site. The last rank of a site has its sum, which goes to the first rank of each site behind it; that one
/// combines what comes, and gives it to its site.
///
/// Cost: one message from each site to each one behind it, all at once; inside a site a scan and a broadcast.
pub fn scan(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    match hosts.site_starts() {
        Some(starts) if input.count > 0 => by_sites(tables, &starts, input, true),
        _ => plain::scan(input),
    }
}

/// The same, with one message more inside a site. Rank 0's receive buffer is not written.
pub fn exscan(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    match hosts.site_starts() {
        Some(starts) if input.count > 0 => by_sites(tables, &starts, input, false),
        _ => plain::exscan(input),
    }
}

fn by_sites(tables: &Tables, starts: &[u32], input: &Reduction, inclusive: bool) -> Schedule {
    let (rank, whole) = (input.rank, |buffer| input.whole(buffer));
    let site = starts.partition_point(|start| *start <= rank) - 1;
    let (first, end) = (starts[site], starts[site + 1]);
    let inside = Reduction { rank: rank - first, size: end - first, ..*input };
    let mut s = Schedule::new();
    let elements = TempSpec::Elements(input.count);
    // The sum of the ranks of this site up to this one.
    let own = if inclusive { Buffer::Recv } else { s.temp(elements) };
    let inside = match inclusive {
        true => inside,
        false => {
            s.copy(whole(input.source()), whole(own));
            s.end_round();
            Reduction { in_place: true, ..inside }
        }
    };
    let part = plain::scan(&inside);
    s.append(&part, |number| first + number, |block| moved(block, Buffer::Recv, own));
    if !inclusive && rank + 1 < end {
        s.send(Peer::Local(rank + 1), whole(own));
    }
    if !inclusive && rank > first {
        s.recv(Peer::Local(rank - 1), whole(Buffer::Recv));
    }
    if rank + 1 == end {
        let behind = &starts[site + 1..starts.len() - 1];
        behind.iter().for_each(|leader| s.send(Peer::Local(*leader), whole(own)));
    }
    let mut before = None;
    if rank == first {
        let sums: Vec<_> = starts[1..=site]
            .iter()
            .map(|end| {
                let sum = whole(s.temp(elements));
                s.recv(Peer::Local(end - 1), sum);
                sum
            })
            .collect();
        if let Some((last, others)) = sums.split_last() {
            others.iter().rev().for_each(|sum| s.reduce(*sum, *last));
            before = Some(last.buffer);
        }
    }
    s.end_round();
    if site == 0 {
        return s;
    }
    // What is before this site.
    let before = before.unwrap_or_else(|| s.temp(elements));
    let given = Broadcast {
        rank: inside.rank,
        size: inside.size,
        root: 0,
        count: input.count,
        size_bytes: input.size_bytes,
        contiguous: input.extent == input.size_bytes,
    };
    let part = bcast::schedule_with(tables, &given);
    s.append(&part, |number| first + number, |block| moved(block, Buffer::Recv, before));
    match !inclusive && rank == first {
        true => s.copy(whole(before), whole(Buffer::Recv)),
        false => s.reduce(whole(before), whole(Buffer::Recv)),
    }
    s.end_round();
    s
}
