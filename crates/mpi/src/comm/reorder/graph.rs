//! Orders for graphs.

use super::{Order, Parts};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// For each node its neighbours, with weights; an edge is in the lists of both.
pub(super) type Lists = Vec<Vec<(u32, u64)>>;

/// The lists of `n` nodes that have these edges.
pub(super) fn lists(n: usize, edges: impl Iterator<Item = (u32, u32, u64)>) -> Lists {
    let mut all = vec![Vec::new(); n];
    for (a, b, weight) in edges {
        all[a as usize].push((b, weight));
        all[b as usize].push((a, weight));
    }
    all
}

/// All pairs of neighbours, both ways.
fn pairs(lists: &Lists) -> impl Iterator<Item = (u32, u32, u64)> {
    let of = |(node, list): (u32, &'_ Vec<(u32, u64)>)| {
        list.iter().map(move |(to, weight)| (node, *to, *weight)).collect::<Vec<_>>()
    };
    (0..).zip(lists).flat_map(of)
}

/// An order for a graph: `neighbours` holds those of each node, with weights. Of the processes there are as many as
/// nodes. `None`: none is found that is better than theirs.
pub fn graph(parts: &Parts, neighbours: &[Vec<(u32, u64)>]) -> Option<Order> {
    if parts.is_flat() {
        return None;
    }
    let edges = (0..).zip(neighbours);
    let edges = edges.flat_map(|(node, list)| list.iter().map(move |(to, w)| (node, *to, *w)));
    improved(parts, &lists(neighbours.len(), edges), parts.identity())
}

/// The order, or a better one, unless that is the processes' own. Level by level the nodes of each part are given to its parts anew,
/// from neighbour to neighbour, and it stays so where fewer neighbours are apart then. What is decided on one level the next
/// ones leave alone.
pub(super) fn improved(parts: &Parts, neighbours: &Lists, mut order: Order) -> Option<Order> {
    let mut grower = Grower {
        neighbours,
        within: vec![0; order.len()],
        group: vec![NONE; order.len()],
        old: vec![NONE; order.len()],
    };
    for level in 0..parts.depth() {
        let above = level.checked_sub(1);
        let mut nodes: BTreeMap<u32, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for (node, rank) in (0..).zip(&order) {
            let outer = parts.part(above, *rank);
            nodes.entry(outer).or_default().0.push(node);
            grower.within[node as usize] = outer;
            grower.old[node as usize] = parts.part(Some(level), *rank);
        }
        for rank in parts.sorted() {
            if let Some((_, ranks)) = nodes.get_mut(&parts.part(above, *rank)) {
                ranks.push(*rank);
            }
        }
        grower.group.fill(NONE);
        for (nodes, ranks) in nodes.into_values() {
            let part = |rank: &u32| parts.part(Some(level), *rank);
            let inner: Vec<&[u32]> = ranks.chunk_by(|a, b| part(a) == part(b)).collect();
            if inner.len() < 2 || inner.len() == nodes.len() {
                continue;
            }
            let sizes: Vec<usize> = inner.iter().map(|ranks| ranks.len()).collect();
            let grown = grower.grow(&nodes, &sizes);
            if grower.cut(&nodes, &grower.group) < grower.cut(&nodes, &grower.old) {
                for (node, rank) in grown.into_iter().zip(inner.concat()) {
                    order[node as usize] = rank;
                }
            }
        }
    }
    let cost = |order: &[u32]| parts.cost(order, parts.depth(), pairs(neighbours));
    (cost(&order) < cost(&parts.identity())).then_some(order)
}

/// Stands for no group.
const NONE: u32 = u32::MAX;

struct Grower<'a> {
    neighbours: &'a Lists,
    /// The part of each node on the level above.
    within: Vec<u32>,
    /// The group that a node has been given to.
    group: Vec<u32>,
    /// The one that it was in.
    old: Vec<u32>,
}

impl Grower<'_> {
    /// Gives the nodes of a part to groups of these sizes: to each the first that is free, and then always the one with
    /// the heaviest edges to the group's nodes. Returns the nodes, group by group.
    fn grow(&mut self, nodes: &[u32], sizes: &[usize]) -> Vec<u32> {
        let mut free = nodes.iter().copied();
        let mut grown = Vec::with_capacity(nodes.len());
        for (group, size) in (0..).zip(sizes) {
            let mut pull: BTreeMap<u32, u64> = BTreeMap::new();
            // Heaviest first, of equal ones the lowest node; what has grown since is there again.
            let mut heap: BinaryHeap<(u64, Reverse<u32>)> = BinaryHeap::new();
            for _ in 0..*size {
                let heaviest = core::iter::from_fn(|| heap.pop()).map(|(_, node)| node.0);
                let Some(next) =
                    heaviest.chain(&mut free).find(|node| self.group[*node as usize] == NONE)
                else {
                    return grown;
                };
                self.group[next as usize] = group;
                grown.push(next);
                for (to, weight) in &self.neighbours[next as usize] {
                    let (here, there) = (next as usize, *to as usize);
                    if self.group[there] == NONE && self.within[there] == self.within[here] {
                        let all = pull.entry(*to).or_default();
                        *all = all.saturating_add(*weight);
                        heap.push((*all, Reverse(*to)));
                    }
                }
            }
        }
        grown
    }

    /// The weight between different groups of one part, whose nodes these are.
    fn cut(&self, nodes: &[u32], group: &[u32]) -> u64 {
        let mut cut = 0_u64;
        for node in nodes.iter().map(|node| *node as usize) {
            for (to, weight) in &self.neighbours[node] {
                let to = *to as usize;
                if self.within[to] == self.within[node] && group[to] != group[node] {
                    cut = cut.saturating_add(*weight);
                }
            }
        }
        cut
    }
}
