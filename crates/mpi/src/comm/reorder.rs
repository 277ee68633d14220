//! Which process gets which place of a topology, where the program allows an order of ours (MPI 5.0, section 8.4): so
//! that few neighbours are on different hosts. Pure functions of what all members know alike; none is told.
//!
//! Grids are cut into equal blocks, and the processes of a host fill block after block. Graphs are filled from
//! neighbour to neighbour. Neither is the best order there is; the order that the communicator has is taken where it
//! is not worse.

use std::collections::{BTreeMap, BinaryHeap};

/// For each rank of the new communicator, the rank in the old one.
pub type Order = Vec<u32>;

/// Most orders of a grid that are compared: comparing one looks at all places.
const CANDIDATES: usize = 64;

/// The processes of each host, the host of the first process first.
fn by_host(hosts: &[u32]) -> Vec<Vec<u32>> {
    let mut first: BTreeMap<u32, usize> = BTreeMap::new();
    let mut all: Vec<Vec<u32>> = Vec::new();
    for (rank, host) in hosts.iter().enumerate() {
        let place = *first.entry(*host).or_insert_with(|| {
            all.push(Vec::new());
            all.len() - 1
        });
        all[place].push(rank as u32);
    }
    all
}

/// A grid of processes.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    pub dims: &'a [i32],
    pub periodic: &'a [bool],
}

impl Grid<'_> {
    /// Pairs of neighbours on different hosts; `host` tells that of each place.
    fn cut(&self, host: &[u32]) -> u64 {
        let mut cut = 0;
        let mut stride = host.len();
        for (dim, wraps) in self.dims.iter().zip(self.periodic) {
            let n = *dim as usize;
            let span = stride;
            stride /= n;
            for (place, own) in host.iter().enumerate() {
                let next = match place / stride % n + 1 < n {
                    true => place + stride,
                    // Around to the first place of the row; a row of two has that pair already.
                    false if *wraps && n > 2 => place + stride - span,
                    false => continue,
                };
                cut += u64::from(host[next] != *own);
            }
        }
        cut
    }

    /// All places, block by block: blocks and the places inside of each in row-major order.
    fn in_blocks(&self, block: &[usize]) -> Vec<u32> {
        let dims: Vec<usize> = self.dims.iter().map(|d| *d as usize).collect();
        let counts: Vec<usize> = dims.iter().zip(block).map(|(d, b)| d / b).collect();
        let (blocks, inside) = (counts.iter().product::<usize>(), block.iter().product::<usize>());
        let mut order = Vec::with_capacity(blocks * inside);
        for b in 0..blocks {
            let corner = unrank(b, &counts);
            for i in 0..inside {
                let within = unrank(i, block);
                let place = (0..dims.len())
                    .fold(0, |place, d| place * dims[d] + corner[d] * block[d] + within[d]);
                order.push(place as u32);
            }
        }
        order
    }
}

/// The coordinates of a place in row-major order.
fn unrank(mut place: usize, dims: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; dims.len()];
    for (c, dim) in coordinates.iter_mut().zip(dims).rev() {
        (*c, place) = (place % dim, place / dim);
    }
    coordinates
}

/// Shapes of blocks that divide the grid and have at most `most` places, those of the most places first, and of those
/// the ones with the least surface.
fn shapes(dims: &[i32], most: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for dim in dims {
        let n = *dim as usize;
        let divisors: Vec<usize> = (1..=n.min(most)).filter(|d| n.is_multiple_of(*d)).collect();
        all = all
            .iter()
            .flat_map(|shape| divisors.iter().map(|d| [&shape[..], &[*d]].concat()))
            .filter(|shape| shape.iter().product::<usize>() <= most)
            .collect();
    }
    let surface = |shape: &Vec<usize>| -> usize {
        let volume: usize = shape.iter().product();
        shape.iter().map(|side| volume / side).sum()
    };
    all.sort_by_key(|shape| (usize::MAX - shape.iter().product::<usize>(), surface(shape)));
    all.truncate(CANDIDATES);
    all
}

/// An order for a grid of the processes whose hosts are given, of which there are as many as places; `None`: none is
/// found that is better than theirs.
pub fn grid(hosts: &[u32], grid: Grid<'_>) -> Option<Order> {
    let groups = by_host(hosts);
    if groups.len() < 2 || groups.len() == hosts.len() {
        return None;
    }
    let most = groups.iter().map(Vec::len).max().unwrap_or(1);
    let ranks: Vec<u32> = groups.concat();
    let mut best = (grid.cut(hosts), None);
    for shape in shapes(grid.dims, most) {
        let mut order = vec![0; hosts.len()];
        for (place, rank) in grid.in_blocks(&shape).into_iter().zip(&ranks) {
            order[place as usize] = *rank;
        }
        let cut = grid.cut(&hosts_of(&order, hosts));
        if cut < best.0 {
            best = (cut, Some(order));
        }
    }
    best.1
}

fn hosts_of(order: &[u32], hosts: &[u32]) -> Vec<u32> {
    order.iter().map(|rank| hosts[*rank as usize]).collect()
}

/// An order for a graph: `neighbours` holds those of each node, with weights. Of the processes there are as many as
/// nodes. `None`: none is found that is better than theirs.
pub fn graph(hosts: &[u32], neighbours: &[Vec<(u32, u64)>]) -> Option<Order> {
    let groups = by_host(hosts);
    if groups.len() < 2 || groups.len() == hosts.len() {
        return None;
    }
    let cut = |host: &[u32]| -> u64 {
        let of = |(node, list): (usize, &Vec<(u32, u64)>)| -> u64 {
            list.iter().filter(|(to, _)| host[*to as usize] != host[node]).map(|(_, w)| *w).sum()
        };
        neighbours.iter().enumerate().map(of).sum()
    };
    let both_ways = symmetric(neighbours);
    let mut order = vec![u32::MAX; hosts.len()];
    let mut free = 0;
    for group in &groups {
        fill(&both_ways, group, &mut order, &mut free);
    }
    (cut(&hosts_of(&order, hosts)) < cut(hosts)).then_some(order)
}

/// Weights in both directions of each edge.
fn symmetric(neighbours: &[Vec<(u32, u64)>]) -> Vec<Vec<(u32, u64)>> {
    let mut all = neighbours.to_vec();
    for (node, list) in neighbours.iter().enumerate() {
        for (to, weight) in list {
            all[*to as usize].push((node as u32, *weight));
        }
    }
    all
}

/// Gives nodes that have no process yet to those of one host: the first that is free, and then always the one with
/// the heaviest edges to the host's nodes.
fn fill(neighbours: &[Vec<(u32, u64)>], group: &[u32], order: &mut [u32], free: &mut usize) {
    let mut pull: BTreeMap<u32, u64> = BTreeMap::new();
    // Heaviest first, of equal ones the lowest node; what has grown since is there again.
    let mut heap: BinaryHeap<(u64, core::cmp::Reverse<u32>)> = BinaryHeap::new();
    for rank in group {
        let next = loop {
            match heap.pop() {
                Some((_, node)) if order[node.0 as usize] != u32::MAX => {}
                Some((_, node)) => break node.0 as usize,
                None => {
                    while order[*free] != u32::MAX {
                        *free += 1;
                    }
                    break *free;
                }
            }
        };
        order[next] = *rank;
        for (to, weight) in &neighbours[next] {
            if order[*to as usize] == u32::MAX {
                let all = pull.entry(*to).or_default();
                *all = all.saturating_add(*weight);
                heap.push((*all, core::cmp::Reverse(*to)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut_of(order: &Option<Order>, hosts: &[u32], of: Grid<'_>) -> u64 {
        order.as_ref().map_or_else(|| of.cut(hosts), |order| of.cut(&hosts_of(order, hosts)))
    }

    #[test]
    fn squares_instead_of_rows() {
        let hosts: Vec<u32> = (0..16).map(|rank| rank / 4).collect();
        let of = Grid { dims: &[4, 4], periodic: &[false, false] };
        assert_eq!(of.cut(&hosts), 12);
        let order = grid(&hosts, of);
        assert_eq!(cut_of(&order, &hosts, of), 8);
        // Round robin over the hosts.
        let hosts: Vec<u32> = (0..16).map(|rank| rank % 4).collect();
        assert_eq!(cut_of(&grid(&hosts, of), &hosts, of), 8);
    }

    #[test]
    fn around_a_ring() {
        let of = |dims| Grid { dims, periodic: &[true] };
        assert_eq!(of(&[4]).cut(&[0, 0, 1, 1]), 2);
        assert_eq!(of(&[2]).cut(&[0, 1]), 1);
        assert_eq!(of(&[1]).cut(&[0]), 0);
        assert_eq!(grid(&[0, 0, 1, 1], of(&[4])), None);
        assert_eq!(grid(&[0, 1, 0, 1], of(&[4])), Some(vec![0, 2, 1, 3]));
    }

    #[test]
    fn one_host_and_one_rank_for_each_stay() {
        let of = Grid { dims: &[2, 2], periodic: &[false, false] };
        assert_eq!(grid(&[5; 4], of), None);
        assert_eq!(grid(&[3, 2, 1, 0], of), None);
        assert_eq!(grid(&[], Grid { dims: &[], periodic: &[] }), None);
    }

    #[test]
    fn two_rings_in_a_graph() {
        // Nodes of equal parity form a ring each; the hosts have halves.
        let ring = |node: u32| vec![((node + 2) % 8, 1)];
        let neighbours: Vec<_> = (0..8).map(ring).collect();
        let hosts = [0, 0, 0, 0, 1, 1, 1, 1];
        let order = graph(&hosts, &neighbours).expect("a better order");
        assert!((0..8).all(|n| hosts[order[n] as usize] == hosts[order[(n + 2) % 8] as usize]));
    }

    proptest! {
        /// Every process has one place, and no order is worse than theirs.
        #[test]
        fn orders_are_permutations(
            dims in prop::collection::vec(1..5_i32, 1..4),
            periodic in prop::collection::vec(any::<bool>(), 3),
            hosts in prop::collection::vec(0..4_u32, 64),
            edges in prop::collection::vec((0..64_u32, 0..64_u32, 0..9_u64), 0..80),
        ) {
            let n = dims.iter().product::<i32>() as usize;
            let of = Grid { dims: &dims, periodic: &periodic[..dims.len()] };
            let order = grid(&hosts[..n], of);
            prop_assert!(cut_of(&order, &hosts[..n], of) <= of.cut(&hosts[..n]));
            let mut neighbours = vec![Vec::new(); 64];
            edges.iter().for_each(|(a, b, w)| neighbours[*a as usize].push((*b, *w)));
            for (order, n) in [(order, n), (graph(&hosts, &neighbours), 64)] {
                let Some(mut order) = order else { continue };
                order.sort_unstable();
                prop_assert!(order.iter().copied().eq(0..n as u32));
            }
        }
    }
}
