//! Reordering distributed graphs: every process learns the whole graph, and its own part of it is that of the node
//! whose rank it gets.

use super::parts;
use crate::object::comm::Topology;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::Comm;
use hpvm_mpi::comm::dynamic::collect;
use hpvm_mpi::comm::reorder::{self, Order};
use hpvm_mpi::error::Result;
use std::sync::Arc;

/// Words that all processes together may tell: 8 MiB for each process. Larger graphs keep their order.
const MAX_WORDS: usize = 1 << 20;

/// One end of each edge and its weight, if it has one.
type Ends = (Vec<c_int>, Option<Vec<c_int>>);

/// Neighbours and weights as words: how many come in and go out, and both.
fn words((sources, destinations): (&Ends, &Ends)) -> Vec<u64> {
    let lengths = [sources.0.len() as u64, destinations.0.len() as u64];
    let of = |(ranks, weights): &Ends| -> Vec<u64> {
        let weight = |i: usize| weights.as_ref().map_or(1, |weights| weights[i]) as u64;
        ranks.iter().enumerate().map(|(i, rank)| weight(i) << 32 | *rank as u64).collect()
    };
    [&lengths[..], &of(sources), &of(destinations)].concat()
}

/// The reverse, as far as the words reach; the weights are there if this process has some.
fn ends(words: &[u64], (sources, destinations): (&Ends, &Ends)) -> (Ends, Ends) {
    let [incoming, outgoing, rest @ ..] = words else { return Default::default() };
    let of = |(words, like): (&[u64], &Ends)| -> Ends {
        let ranks = words.iter().map(|word| *word as u32 as c_int).collect();
        let weights = || words.iter().map(|word| (word >> 32) as c_int).collect();
        (ranks, like.1.as_ref().map(|_| weights()))
    };
    let first = (*incoming as usize).min(rest.len());
    let (a, b) = rest.split_at(first);
    (of((a, sources)), of((&b[..(*outgoing as usize).min(b.len())], destinations)))
}

/// What the processes of `comm` tell, by rank; `None` if that is too much. Collective.
fn all_words(w: &mut Entered, comm: &Arc<Comm>, mine: &[u64]) -> Result<Option<Vec<Vec<u64>>>> {
    let lengths = collect(w, comm, &[mine.len() as u64])?;
    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    if longest.saturating_mul(lengths.len()) > MAX_WORDS {
        return Ok(None);
    }
    let mut padded = mine.to_vec();
    padded.resize(longest, 0);
    let all = collect(w, comm, &padded)?;
    Ok(Some(all.chunks(longest.max(1)).map(<[u64]>::to_vec).collect()))
}

/// The order that a distributed graph gets, and the part of it that this process has then. `topology` is that of the
/// node with this process's rank. Collective.
pub(super) fn reordered(
    w: &mut Entered,
    comm: &Arc<Comm>,
    topology: Topology,
) -> Result<(Topology, Option<Order>)> {
    let parts = parts::told(w, comm, comm.size())?;
    let own = match topology {
        Topology::Distributed { sources, source_weights, destinations, destination_weights }
            if !parts.is_flat() =>
        {
            ((sources, source_weights), (destinations, destination_weights))
        }
        topology => return Ok((topology, None)),
    };
    let of = |(incoming, outgoing): (Ends, Ends)| Topology::Distributed {
        sources: incoming.0,
        source_weights: incoming.1,
        destinations: outgoing.0,
        destination_weights: outgoing.1,
    };
    let Some(all) = all_words(w, comm, &words((&own.0, &own.1)))? else {
        return Ok((of(own), None));
    };
    let edges = |words: &Vec<u64>| {
        let (_, (ranks, weights)) = ends(words, (&own.0, &(Vec::new(), Some(Vec::new()))));
        let weights = weights.unwrap_or_default();
        let known = |(rank, weight): (&c_int, &c_int)| {
            (u32::try_from(*rank).ok().filter(|rank| *rank < comm.size()), *weight as u64)
        };
        let all = ranks.iter().zip(&weights).map(known);
        all.filter_map(|(rank, weight)| Some((rank?, weight))).collect()
    };
    let neighbours: Vec<_> = all.iter().map(edges).collect();
    let Some(order) = reorder::graph(&parts, &neighbours) else { return Ok((of(own), None)) };
    let place = order.iter().position(|rank| *rank == comm.rank());
    let mine = place
        .and_then(|place| all.get(place))
        .map_or(own.clone(), |words| ends(words, (&own.0, &own.1)));
    Ok((of(mine), Some(order)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_travel() {
        let weighted = (vec![3, 0], Some(vec![c_int::MAX, 0]));
        let plain = (vec![7], None);
        let told = words((&weighted, &plain));
        assert_eq!(ends(&told, (&weighted, &plain)), (weighted.clone(), plain.clone()));
        assert_eq!(ends(&told[..4], (&weighted, &plain)).1, (Vec::new(), None));
        assert_eq!(ends(&[], (&weighted, &plain)), Default::default());
    }
}
