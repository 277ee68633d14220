//! Graphs that every process knows as a whole (sections 8.5.3 and 8.5.5).

use super::{array, create, mapped, member, natural, no_topology, parent, parts, store};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::comm::{CommObject, Topology};
use crate::raise::on_comm;
use core::ffi::c_int;
use hpvm_mpi::comm::reorder::{self, Order, Parts};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm};

pub unsafe fn graph_create(
    comm_old: MPI_Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    reorder: c_int,
    comm_graph: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Graph_create", comm_old, |w| {
        let old = parent(w, comm_old)?;
        out("comm_graph", comm_graph)?;
        // SAFETY: the caller's promise.
        let (index, edges) = unsafe { graph_arguments(&old.comm, nnodes, indx, edges)? };
        let members = index.len() as u32;
        let order = match reorder != 0 {
            true => order(&parts::told(w, &old.comm, members)?, index, edges),
            false => None,
        };
        let topology = Topology::Graph { index: index.into(), edges: edges.into() };
        // SAFETY: checked above; the caller vouches for the place.
        unsafe { create(w, &old, members, order, topology, comm_graph) }
    })
}

/// An order for a graph of as many processes as it has nodes that is better than theirs.
fn order(parts: &Parts, index: &[c_int], edges: &[c_int]) -> Option<Order> {
    let starts = core::iter::once(0).chain(index.iter().copied());
    let of = |(from, to): (c_int, &c_int)| {
        edges[from as usize..*to as usize].iter().map(|node| (*node as u32, 1)).collect()
    };
    let neighbours: Vec<_> = starts.zip(index).map(of).collect();
    reorder::graph(parts, &neighbours)
}

pub unsafe fn graph_map(
    comm: MPI_Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    newrank: *mut c_int,
) -> c_int {
    on_comm("MPI_Graph_map", comm, |w| {
        let old = parent(w, comm)?;
        out("newrank", newrank)?;
        // SAFETY: the caller's promise.
        let (index, edges) = unsafe { graph_arguments(&old.comm, nnodes, indx, edges)? };
        let members = index.len() as u32;
        let order = order(&parts::known(w, &old.comm, members), index, edges);
        // SAFETY: checked above.
        unsafe { *newrank = mapped(old.comm.rank(), members, order.as_ref()) };
        Ok(())
    })
}

/// The two arrays of a graph, checked.
///
/// # Safety
/// `indx` is null or has `nnodes` elements, `edges` is null or has as many as the last of them
/// says; they stay unchanged during the call.
unsafe fn graph_arguments<'a>(
    comm: &Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
) -> Result<(&'a [c_int], &'a [c_int])> {
    let nodes = natural("nnodes", nnodes, Class::Arg)?;
    if nodes > comm.size() as usize {
        let text = format!("nnodes is {nodes}; the communicator has {} processes", comm.size());
        return Err(wrong(Class::Arg, text));
    }
    // SAFETY: the caller's promise.
    let index = unsafe { array("index", indx, nodes)? };
    let mut before = 0;
    for (node, end) in index.iter().enumerate() {
        if *end < before {
            let text = format!("index[{node}] is {end}; expected {before} or more");
            return Err(wrong(Class::Arg, text));
        }
        before = *end;
    }
    // SAFETY: the caller's promise.
    let edges = unsafe { array("edges", edges, before as usize)? };
    if let Some(edge) = edges.iter().find(|edge| !(0..nnodes).contains(*edge)) {
        let text = format!("an edge leads to node {edge}; the graph has {nnodes} nodes");
        return Err(wrong(Class::Arg, text));
    }
    Ok((index, edges))
}

/// Uses the graph of a communicator.
fn with_graph<R>(
    object: &CommObject,
    f: impl FnOnce(&Topology, &[c_int], &[c_int]) -> R,
) -> Result<R> {
    let extras = object.extras();
    match &extras.topology {
        Some(graph @ Topology::Graph { index, edges }) => Ok(f(graph, index, edges)),
        _ => Err(no_topology("graph")),
    }
}

pub unsafe fn graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) -> c_int {
    on_comm("MPI_Graphdims_get", comm, |w| {
        let object = w.objects.comm(comm)?;
        let lengths = with_graph(object, |_, index, edges| (index.len(), edges.len()))?;
        out("nnodes", nnodes)?;
        out("nedges", nedges)?;
        // SAFETY: checked above.
        unsafe {
            *nnodes = lengths.0 as c_int;
            *nedges = lengths.1 as c_int;
        }
        Ok(())
    })
}

pub unsafe fn graph_get(
    comm: MPI_Comm,
    maxindex: c_int,
    maxedges: c_int,
    indx: *mut c_int,
    edges: *mut c_int,
) -> c_int {
    on_comm("MPI_Graph_get", comm, |w| {
        let object = w.objects.comm(comm)?;
        with_graph(object, |_, index, list| {
            for (what, max, values) in [("maxindex", maxindex, index), ("maxedges", maxedges, list)]
            {
                if i64::from(max) < values.len() as i64 {
                    let text = format!("{what} is {max}; the graph has {}", values.len());
                    return Err(wrong(Class::Arg, text));
                }
            }
            // SAFETY: the caller's promise: the arrays have the lengths given.
            unsafe {
                store("index", indx, index)?;
                store("edges", edges, list)
            }
        })?
    })
}

pub unsafe fn graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int) -> c_int {
    on_comm("MPI_Graph_neighbors_count", comm, |w| {
        let object = w.objects.comm(comm)?;
        with_graph(object, |graph, _, _| {
            let rank = member("rank", &object.comm, rank)?;
            out("nneighbors", nneighbors)?;
            let list = graph.graph_neighbours(rank).unwrap_or(&[]);
            // SAFETY: checked above.
            unsafe { *nneighbors = list.len() as c_int };
            Ok(())
        })?
    })
}

pub unsafe fn graph_neighbors(
    comm: MPI_Comm,
    rank: c_int,
    maxneighbors: c_int,
    neighbors: *mut c_int,
) -> c_int {
    on_comm("MPI_Graph_neighbors", comm, |w| {
        let object = w.objects.comm(comm)?;
        with_graph(object, |graph, _, _| {
            let rank = member("rank", &object.comm, rank)?;
            let most = natural("maxneighbors", maxneighbors, Class::Arg)?;
            let list = graph.graph_neighbours(rank).unwrap_or(&[]);
            // SAFETY: the caller's promise: the array has `maxneighbors` elements.
            unsafe { store("neighbors", neighbors, &list[..list.len().min(most)]) }
        })?
    })
}
