//! Reduce-scatter between sites. Without sites, and where the ranks of a site are not neighbours, the plain algorithm is
//! used.

use super::Hosts;
use crate::input::{self, Reduction};
use crate::reduce;
use crate::reduce_scatter::{self as plain, Job};
use crate::schedule::{Block, Buffer, Peer, Schedule, TempSpec, Ty};
use crate::select::Tables;

/// A reduction in each site to its first rank, which gives each other site the part for that, combines what comes, and deals
/// it out.
///
/// Cost: one message for each pair of sites in each direction, all at once.
pub fn reduce_scatter(tables: &Tables, hosts: &Hosts, input: &input::ReduceScatter) -> Schedule {
    match hosts.site_starts() {
        Some(starts) => by_sites(tables, &starts, &Job::uneven(input)),
        None => plain::schedule_with(tables, input),
    }
}

/// The same with parts of one length.
pub fn reduce_scatter_block(tables: &Tables, hosts: &Hosts, input: &Reduction) -> Schedule {
    match hosts.site_starts() {
        Some(starts) => by_sites(tables, &starts, &Job::even(input)),
        None => plain::block::schedule_with(tables, input),
    }
}

fn by_sites(tables: &Tables, starts: &[u32], job: &Job) -> Schedule {
    let all = job.all();
    let rank = all.rank;
    let mut s = Schedule::new();
    if all.count == 0 {
        return s;
    }
    let site = starts.partition_point(|start| *start <= rank) - 1;
    let (first, end) = (starts[site], starts[site + 1]);
    if rank != first {
        inside(&mut s, tables, (first, end), all, Buffer::Recv);
        if !job.range(rank, 1).is_empty() {
            s.recv(Peer::Local(first), job.result(Buffer::Recv));
        }
        s.end_round();
        return s;
    }
    let sum = s.temp(TempSpec::Elements(all.count));
    inside(&mut s, tables, (first, end), all, sum);
    // Parts of whole sites, as pieces of the sum.
    let piece = |site: usize| {
        let range = job.range(starts[site], starts[site + 1] - starts[site]);
        Block::new(sum, range.start * all.extent, range.end - range.start, Ty::Recv)
    };
    let mine = piece(site);
    let mut operands = Vec::new();
    let sites = &starts[..starts.len() - 1];
    for (other, leader) in sites.iter().enumerate() {
        let leader = Peer::Local(*leader);
        if other == site {
            operands.push(mine);
            continue;
        }
        if piece(other).count > 0 {
            s.send(leader, piece(other));
        }
        if mine.count > 0 {
            let place = s.temp(TempSpec::Elements(mine.count));
            let operand = Block { buffer: place, offset: 0, ..mine };
            s.recv(leader, operand);
            operands.push(operand);
        }
    }
    let Some((result, before)) = operands.split_last() else { return s };
    if mine.count > 0 {
        // The last one takes up all before it.
        before.iter().rev().for_each(|operand| s.reduce(*operand, *result));
    }
    s.end_round();
    let start = job.range(first, 1).start;
    for member in first..end {
        let range = job.range(member, 1);
        let offset = result.offset + (range.start - start) * all.extent;
        let part = Block { offset, count: range.end - range.start, ..*result };
        match member == rank {
            _ if part.count == 0 => {}
            true => s.copy(part, job.result(Buffer::Recv)),
            false => s.send(Peer::Local(member), part),
        }
    }
    s.end_round();
    s
}

/// Appends the reduction inside a site to its first rank, which has it in `sum`.
fn inside(
    s: &mut Schedule,
    tables: &Tables,
    (first, end): (u32, u32),
    all: &Reduction,
    sum: Buffer,
) {
    let source = all.source();
    if end - first == 1 {
        s.copy(all.whole(source), all.whole(sum));
        s.end_round();
        return;
    }
    let (rank, size) = (all.rank - first, end - first);
    let part =
        reduce::schedule_with(tables, &Reduction { rank, size, root: 0, in_place: false, ..*all });
    let place = |block: Block| match block.buffer {
        Buffer::Send => Block { buffer: source, ..block },
        Buffer::Recv if rank == 0 => Block { buffer: sum, ..block },
        _ => block,
    };
    s.append(&part, |number| first + number, place);
}
