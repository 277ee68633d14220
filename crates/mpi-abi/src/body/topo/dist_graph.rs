//! Graphs of which every process knows its own neighbours (sections 8.5.4 and 8.5.5).

use super::dist_order::reordered;
use super::{array, create, member, natural, no_topology, parent, store};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Topology};
use crate::object::info;
use crate::raise::on_comm;
use core::ffi::c_int;
use hpvm_mpi::comm::topology::{Edge, Neighbour, distribute};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm};

/// Weights: `None` for `MPI_UNWEIGHTED`.
///
/// # Safety
/// `first` is one of the constants, null, or has `n` elements.
unsafe fn weights<'a>(what: &str, first: *const c_int, n: usize) -> Result<Option<&'a [c_int]>> {
    if first == MPI_UNWEIGHTED.cast_const() {
        return Ok(None);
    }
    if first == MPI_WEIGHTS_EMPTY.cast_const() {
        return match n {
            0 => Ok(Some(&[])),
            _ => Err(wrong(Class::Arg, format!("{what} is MPI_WEIGHTS_EMPTY for {n} edges"))),
        };
    }
    // SAFETY: the caller's promise.
    let list = unsafe { array(what, first, n)? };
    match list.iter().find(|weight| **weight < 0) {
        Some(weight) => {
            Err(wrong(Class::Arg, format!("{what} holds {weight}; expected 0 or more")))
        }
        None => Ok(Some(list)),
    }
}

/// Ranks of the communicator.
///
/// # Safety
/// `first` is null or has `n` elements.
unsafe fn ranks<'a>(what: &str, comm: &Comm, first: *const c_int, n: usize) -> Result<&'a [c_int]> {
    // SAFETY: the caller's promise.
    let list = unsafe { array(what, first, n)? };
    list.iter().try_for_each(|rank| member(what, comm, *rank).map(drop))?;
    Ok(list)
}

pub unsafe fn dist_graph_create_adjacent(
    comm_old: MPI_Comm,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    info: MPI_Info,
    reorder: c_int,
    comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Dist_graph_create_adjacent", comm_old, |w| {
        let old = parent(w, comm_old)?;
        out("comm_dist_graph", comm_dist_graph)?;
        info::copy_or_empty(info)?;
        let incoming = natural("indegree", indegree, Class::Arg)?;
        let outgoing = natural("outdegree", outdegree, Class::Arg)?;
        // SAFETY: the caller's promise about the four arrays.
        let topology = unsafe {
            Topology::Distributed {
                sources: ranks("sources", &old.comm, sources, incoming)?.into(),
                source_weights: weights("sourceweights", sourceweights, incoming)?.map(Into::into),
                destinations: ranks("destinations", &old.comm, destinations, outgoing)?.into(),
                destination_weights: weights("destweights", destweights, outgoing)?.map(Into::into),
            }
        };
        let (topology, order) = match reorder {
            0 => (topology, None),
            _ => reordered(w, &old.comm, topology)?,
        };
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { create(w, &old, old.comm.size(), order, topology, comm_dist_graph) }
    })
}

pub unsafe fn dist_graph_create(
    comm_old: MPI_Comm,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: MPI_Info,
    reorder: c_int,
    comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Dist_graph_create", comm_old, |w| {
        let old = parent(w, comm_old)?;
        out("comm_dist_graph", comm_dist_graph)?;
        info::copy_or_empty(info)?;
        // SAFETY: the caller's promise about the four arrays.
        let (edges, weighted) =
            unsafe { named_edges(&old.comm, n, sources, degrees, destinations, weights)? };
        let mine = distribute(w, &old.comm, &edges)?;
        let list = |ends: &[Neighbour]| ends.iter().map(|end| end.rank as c_int).collect();
        let weights =
            |ends: &[Neighbour]| weighted.then(|| ends.iter().map(|end| end.weight).collect());
        let topology = Topology::Distributed {
            sources: list(&mine.sources),
            source_weights: weights(&mine.sources),
            destinations: list(&mine.destinations),
            destination_weights: weights(&mine.destinations),
        };
        let (topology, order) = match reorder {
            0 => (topology, None),
            _ => reordered(w, &old.comm, topology)?,
        };
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { create(w, &old, old.comm.size(), order, topology, comm_dist_graph) }
    })
}

/// The edges that one process names, and whether they have weights.
///
/// # Safety
/// `sources` and `degrees` have `n` elements, the others as many as the sum of the degrees.
unsafe fn named_edges(
    comm: &Comm,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights_: *const c_int,
) -> Result<(Vec<Edge>, bool)> {
    let n = natural("n", n, Class::Arg)?;
    // SAFETY: the caller's promise.
    let (sources, degrees) =
        unsafe { (ranks("sources", comm, sources, n)?, array("degrees", degrees, n)?) };
    let mut all = 0usize;
    for degree in degrees {
        all += natural("a degree", *degree, Class::Arg)?;
    }
    // SAFETY: the caller's promise.
    let (destinations, weights) = unsafe {
        (ranks("destinations", comm, destinations, all)?, weights("weights", weights_, all)?)
    };
    let mut edges = Vec::with_capacity(all);
    for (source, degree) in sources.iter().zip(degrees) {
        for _ in 0..*degree {
            let place = edges.len();
            edges.push(Edge {
                source: *source as u32,
                destination: destinations[place] as u32,
                weight: weights.map_or(1, |list| list[place]),
            });
        }
    }
    Ok((edges, weights.is_some()))
}

/// The topology of a distributed graph.
fn distributed(object: &CommObject) -> Result<Topology> {
    match &object.extras().topology {
        Some(graph @ Topology::Distributed { .. }) => Ok(graph.clone()),
        _ => Err(no_topology("distributed graph")),
    }
}

pub unsafe fn dist_graph_neighbors_count(
    comm: MPI_Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> c_int {
    on_comm("MPI_Dist_graph_neighbors_count", comm, |w| {
        let graph = distributed(w.objects.comm(comm)?)?;
        out("indegree", indegree)?;
        out("outdegree", outdegree)?;
        out("weighted", weighted)?;
        let Topology::Distributed { sources, source_weights, destinations, .. } = &graph else {
            return Err(no_topology("distributed graph"));
        };
        // SAFETY: checked above.
        unsafe {
            *indegree = sources.len() as c_int;
            *outdegree = destinations.len() as c_int;
            *weighted = c_int::from(source_weights.is_some());
        }
        Ok(())
    })
}

pub unsafe fn dist_graph_neighbors(
    comm: MPI_Comm,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> c_int {
    on_comm("MPI_Dist_graph_neighbors", comm, |w| {
        let graph = distributed(w.objects.comm(comm)?)?;
        let Topology::Distributed {
            sources: from,
            source_weights,
            destinations: to,
            destination_weights,
        } = &graph
        else {
            return Err(no_topology("distributed graph"));
        };
        // Where there is less room, the first neighbours are stored.
        let incoming = natural("maxindegree", maxindegree, Class::Arg)?.min(from.len());
        let outgoing = natural("maxoutdegree", maxoutdegree, Class::Arg)?.min(to.len());
        // SAFETY: the caller's promise: the arrays have the lengths given.
        unsafe {
            store("sources", sources, &from[..incoming])?;
            store("destinations", destinations, &to[..outgoing])?;
            store_weights("sourceweights", sourceweights, source_weights, incoming)?;
            store_weights("destweights", destweights, destination_weights, outgoing)
        }
    })
}

/// Stores weights, if the graph has any and the program wants them.
///
/// # Safety
/// `place` is one of the constants, null, or has room for `n` elements.
unsafe fn store_weights(
    what: &str,
    place: *mut c_int,
    weights: &Option<Vec<c_int>>,
    n: usize,
) -> Result<()> {
    match weights {
        Some(weights) if place != MPI_UNWEIGHTED && place != MPI_WEIGHTS_EMPTY => {
            // SAFETY: the caller's promise.
            unsafe { store(what, place, &weights[..n]) }
        }
        _ => Ok(()),
    }
}
