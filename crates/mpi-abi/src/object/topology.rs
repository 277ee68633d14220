//! Process topologies (MPI 5.0, chapter 8): what a communicator knows about who is next to whom.

use crate::generated::constants::MPI_PROC_NULL;

/// A process topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    Cartesian {
        dims: Vec<i32>,
        periodic: Vec<bool>,
    },
    /// As given to `MPI_Graph_create`: the whole graph on every process.
    Graph {
        index: Vec<i32>,
        edges: Vec<i32>,
    },
    /// The neighbours of the calling process.
    Distributed {
        sources: Vec<i32>,
        source_weights: Option<Vec<i32>>,
        destinations: Vec<i32>,
        destination_weights: Option<Vec<i32>>,
    },
}

impl Topology {
    /// The neighbours of `rank` in the order of the neighbourhood collectives (section 8.6): those
    /// it receives from, and those it sends to. `MPI_PROC_NULL` stands beyond the edge of a grid.
    /// Of a distributed graph a process knows its own neighbours only, so `rank` must be its own.
    pub fn neighbours(&self, rank: u32) -> (Vec<i32>, Vec<i32>) {
        match self {
            Topology::Cartesian { dims, periodic } => {
                let around = around(rank, dims, periodic);
                (around.clone(), around)
            }
            Topology::Graph { .. } => {
                let list = self.graph_neighbours(rank).unwrap_or(&[]).to_vec();
                (list.clone(), list)
            }
            Topology::Distributed { sources, destinations, .. } => {
                (sources.clone(), destinations.clone())
            }
        }
    }

    /// Whether neighbours come in pairs, one pair per dimension of a grid.
    pub fn is_cartesian(&self) -> bool {
        matches!(self, Topology::Cartesian { .. })
    }

    /// The edges that leave node `rank` of a graph; `None` for other topologies and for ranks that
    /// are no node.
    pub fn graph_neighbours(&self, rank: u32) -> Option<&[i32]> {
        let Topology::Graph { index, edges } = self else { return None };
        let node = rank as usize;
        let end = *index.get(node)?;
        let start = if node == 0 { 0 } else { index[node - 1] };
        edges.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

/// For each dimension the neighbour below, then the one above.
fn around(rank: u32, dims: &[i32], periodic: &[bool]) -> Vec<i32> {
    let mut list = Vec::with_capacity(2 * dims.len());
    for dim in 0..dims.len() {
        list.push(shifted(rank, dim, -1, dims, periodic));
        list.push(shifted(rank, dim, 1, dims, periodic));
    }
    list
}

/// The rank `by` steps away along `dim`; `MPI_PROC_NULL` beyond the edge.
pub fn shifted(rank: u32, dim: usize, by: i64, dims: &[i32], periodic: &[bool]) -> i32 {
    let (size, below) = (i64::from(dims[dim]), stride(dims, dim));
    let place = i64::from(rank) / below % size;
    let target = place + by;
    match (0..size).contains(&target) || periodic[dim] {
        true => (i64::from(rank) + (target.rem_euclid(size) - place) * below) as i32,
        false => MPI_PROC_NULL,
    }
}

/// Ranks from one place of dimension `dim` to the next: the last dimension varies fastest.
fn stride(dims: &[i32], dim: usize) -> i64 {
    dims[dim + 1..].iter().map(|d| i64::from(*d)).product()
}

/// Where `rank` is in a grid.
pub fn coordinates(rank: u32, dims: &[i32]) -> Vec<i32> {
    let place = |dim| i64::from(rank) / stride(dims, dim) % i64::from(dims[dim]);
    (0..dims.len()).map(|dim| place(dim) as i32).collect()
}

/// The rank at `coords`. `Err(dim)`: the coordinate lies outside a dimension that does not wrap.
pub fn rank_at(coords: &[i32], dims: &[i32], periodic: &[bool]) -> Result<i32, usize> {
    let mut rank = 0;
    for (dim, (coord, size)) in coords.iter().zip(dims).enumerate() {
        if !periodic[dim] && !(0..*size).contains(coord) {
            return Err(dim);
        }
        rank += i64::from(coord.rem_euclid(*size)) * stride(dims, dim);
    }
    Ok(rank as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMS: [i32; 3] = [2, 3, 4];
    const PERIODIC: [bool; 3] = [false, true, false];

    #[test]
    fn ranks_and_coordinates_are_inverse() {
        for rank in 0..24 {
            let coords = coordinates(rank, &DIMS);
            assert_eq!(rank_at(&coords, &DIMS, &PERIODIC), Ok(rank as i32));
        }
        assert_eq!(coordinates(23, &DIMS), [1, 2, 3]);
        assert_eq!(rank_at(&[0, -1, 0], &DIMS, &PERIODIC), Ok(8));
        assert_eq!(rank_at(&[0, 0, 4], &DIMS, &PERIODIC), Err(2));
        assert_eq!(rank_at(&[], &[], &[]), Ok(0));
    }

    #[test]
    fn neighbours_come_below_first_dimension_by_dimension() {
        let grid = Topology::Cartesian { dims: DIMS.into(), periodic: PERIODIC.into() };
        let (sources, destinations) = grid.neighbours(0);
        assert_eq!(sources, destinations);
        assert_eq!(sources, [MPI_PROC_NULL, 12, 8, 4, MPI_PROC_NULL, 1]);
        assert_eq!(shifted(0, 1, -4, &DIMS, &PERIODIC), 8);
        assert_eq!(shifted(5, 0, 2, &DIMS, &PERIODIC), MPI_PROC_NULL);
        let ring = Topology::Cartesian { dims: vec![1], periodic: vec![true] };
        assert_eq!(ring.neighbours(0).0, [0, 0]);
    }

    #[test]
    fn graph_neighbours_are_the_edges_of_the_node() {
        let graph = Topology::Graph { index: vec![2, 2, 3], edges: vec![1, 2, 0] };
        assert_eq!(graph.neighbours(0).1, [1, 2]);
        assert_eq!(graph.neighbours(1).0, [0; 0]);
        assert_eq!(graph.graph_neighbours(2), Some(&[0][..]));
        assert_eq!(graph.graph_neighbours(3), None);
    }
}
