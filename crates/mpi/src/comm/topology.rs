//! Distributed graphs: from edges that anybody may name to the neighbours of each process
//! (MPI 5.0, section 8.5.4).
//!
//! `MPI_Dist_graph_create` blocks in the standard, so this is a straight script over a [`Host`],
//! as in `build`. Two exchanges: how many words go to whom, and the words. A process sends and
//! receives what concerns its own edges, and nobody sees the whole graph.

use crate::coll::{Plan, Varied};
use crate::comm::Comm;
use crate::comm::build::Host;
use crate::datatype::Datatype;
use crate::error::{Class, Error, Result};
use crate::pt2pt::{Incoming, Outgoing};
use std::sync::Arc;

/// A directed edge between two ranks of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub source: u32,
    pub destination: u32,
    pub weight: i32,
}

/// One end of an edge, seen from the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub rank: u32,
    pub weight: i32,
}

/// The neighbours of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Ends of the edges that come in.
    pub sources: Vec<Neighbour>,
    /// Ends of the edges that go out.
    pub destinations: Vec<Neighbour>,
}

/// Tells both ends of each edge about it, and returns the calling process's neighbours. Collective
/// on the intracommunicator `comm`; blocks. The ranks of `edges` are ranks of `comm`. Neighbours
/// come in the order of the processes that named them, and of each one's edges.
pub fn distribute(host: &mut impl Host, comm: &Arc<Comm>, edges: &[Edge]) -> Result<Neighbours> {
    let size = comm.size() as usize;
    let rows = rows(edges, size);
    let lengths: Vec<u64> = rows.iter().map(|row| size_of_val(&row[..]) as u64).collect();
    let mut incoming = vec![0u64; size];
    let byte = Datatype::byte();
    let send = Outgoing { buf: lengths.as_ptr().cast(), count: 8, ty: byte };
    let recv = Incoming { buf: incoming.as_mut_ptr().cast(), count: 8, ty: byte };
    let plan = host.with(|p| p.plan(comm).alltoall(Some(send), recv));
    // SAFETY: both lists hold a word per member, and outlive the wait.
    unsafe { run(host, comm, plan)? };

    let (out_counts, out_displs, _) = layout(&lengths)?;
    let (in_counts, in_displs, bytes) = layout(&incoming)?;
    let sent: Vec<u64> = rows.concat();
    let mut got = vec![0u64; bytes.div_ceil(8)];
    let buf = sent.as_ptr().cast();
    let send = Varied { buf, counts: &out_counts, displs: &out_displs, ty: byte };
    let buf = got.as_mut_ptr().cast();
    let recv = Varied { buf, counts: &in_counts, displs: &in_displs, ty: byte };
    let plan = host.with(|p| p.plan(comm).alltoallv(Some(send), recv));
    // SAFETY: the lengths are those of the lists, which outlive the wait.
    unsafe { run(host, comm, plan)? };
    neighbours(&got)
}

/// Starts a collective and waits for it.
///
/// # Safety
/// The plan's buffers are valid until this returns.
unsafe fn run(host: &mut impl Host, comm: &Arc<Comm>, plan: Plan) -> Result<()> {
    // SAFETY: the caller's promise.
    let id = host.with(|p| unsafe { p.start_collective(comm, plan) });
    match host.wait(id)?.error {
        Some(error) => Err(*error),
        None => Ok(()),
    }
}

/// Lengths and offsets in bytes, and their sum.
fn layout(lengths: &[u64]) -> Result<(Vec<i64>, Vec<i64>, usize)> {
    let mut end = 0i64;
    let mut displs = Vec::with_capacity(lengths.len());
    for length in lengths {
        displs.push(end);
        let length = i64::try_from(*length).ok();
        end = length.and_then(|n| end.checked_add(n)).ok_or_else(|| {
            Error::new(Class::Intern, "another process announced edges without end")
        })?;
    }
    let counts = lengths.iter().map(|length| *length as i64).collect();
    Ok((counts, displs, end as usize))
}

/// Bits of a rank in a word; the bit above tells which end the reader is.
const RANK_BITS: u32 = 32;

/// Two words per end of an edge for the process at that end.
fn rows(edges: &[Edge], size: usize) -> Vec<Vec<u64>> {
    let mut rows = vec![Vec::new(); size];
    for edge in edges {
        let weight = u64::from(edge.weight as u32);
        rows[edge.source as usize].extend([u64::from(edge.destination), weight]);
        let from = u64::from(edge.source) | 1 << RANK_BITS;
        rows[edge.destination as usize].extend([from, weight]);
    }
    rows
}

/// The reverse of `rows` at one process.
fn neighbours(words: &[u64]) -> Result<Neighbours> {
    let mut all = Neighbours::default();
    for pair in words.chunks(2) {
        let &[word, weight] = pair else {
            return Err(Error::new(Class::Intern, "another process sent half an edge"));
        };
        let end = Neighbour { rank: word as u32, weight: weight as u32 as i32 };
        match word >> RANK_BITS {
            0 => all.destinations.push(end),
            _ => all.sources.push(end),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_hear_of_an_edge() {
        let edge = |source, destination, weight| Edge { source, destination, weight };
        let edges = [edge(0, 2, 7), edge(2, 2, 1), edge(0, 1, i32::MAX)];
        let all: Vec<_> = rows(&edges, 3).iter().map(|row| neighbours(row).unwrap()).collect();
        let end = |rank, weight| Neighbour { rank, weight };
        assert_eq!(all[0].destinations, [end(2, 7), end(1, i32::MAX)]);
        assert_eq!(all[0].sources, []);
        assert_eq!(all[1].sources, [end(0, i32::MAX)]);
        assert_eq!(all[2].sources, [end(0, 7), end(2, 1)]);
        assert_eq!(all[2].destinations, [end(2, 1)]);
    }

    #[test]
    fn offsets_add_up_and_nonsense_is_refused() {
        assert_eq!(layout(&[16, 0, 32]).unwrap(), (vec![16, 0, 32], vec![0, 16, 16], 48));
        assert!(layout(&[u64::MAX]).is_err());
        assert!(neighbours(&[1, 2, 3]).is_err());
    }
}
