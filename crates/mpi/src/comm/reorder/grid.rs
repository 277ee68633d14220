//! Orders for grids.

use super::{Order, Parts, graph};

/// Most orders of a grid that are compared on one level: comparing one looks at all places.
const CANDIDATES: usize = 64;
/// The same for large grids: so many places are looked at, or [`CANDIDATES_MIN`] orders.
const PLACES: usize = 1 << 20;
const CANDIDATES_MIN: usize = 8;

/// A grid of processes.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    pub dims: &'a [i32],
    pub periodic: &'a [bool],
}

impl Grid<'_> {
    fn sides(&self) -> Vec<usize> {
        self.dims.iter().map(|dim| *dim as usize).collect()
    }

    fn places(&self) -> usize {
        self.sides().iter().product()
    }

    /// Pairs of neighbours, each of weight 1.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        let all = self.places();
        let mut stride = all;
        self.dims.iter().zip(self.periodic).flat_map(move |(dim, wraps)| {
            let n = *dim as usize;
            let span = stride;
            stride /= n.max(1);
            let step = stride;
            (0..all).filter_map(move |place| {
                let next = match place / step % n + 1 < n {
                    true => place + step,
                    // Around to the first place of the row; a row of two has that pair already.
                    false if *wraps && n > 2 => place + step - span,
                    false => return None,
                };
                Some((place as u32, next as u32, 1))
            })
        })
    }
}

/// All places of a grid of these sides, block by block: blocks of the first shape, in each those of the second, and so on. A shape
/// divides the one before; blocks and the places of the last ones are in row-major order.
fn in_blocks(sides: &[usize], shapes: &[Vec<usize>]) -> Vec<u32> {
    let mut strides = vec![1; sides.len()];
    for d in (1..sides.len()).rev() {
        strides[d - 1] = strides[d] * sides[d];
    }
    let ones = vec![1; sides.len()];
    let mut places = vec![0_u32];
    let mut outer = sides;
    for shape in shapes.iter().chain([&ones]) {
        let counts: Vec<usize> = outer.iter().zip(shape).map(|(o, i)| o / i).collect();
        let corner = |block| -> usize {
            let at = unrank(block, &counts);
            (0..sides.len()).map(|d| at[d] * shape[d] * strides[d]).sum()
        };
        let corners: Vec<u32> =
            (0..counts.iter().product()).map(|block| corner(block) as u32).collect();
        places = places.iter().flat_map(|p| corners.iter().map(move |corner| p + corner)).collect();
        outer = shape;
    }
    places
}

/// The coordinates of a place in row-major order.
fn unrank(mut place: usize, dims: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; dims.len()];
    for (c, dim) in coordinates.iter_mut().zip(dims).rev() {
        (*c, place) = (place % dim, place / dim);
    }
    coordinates
}

/// Shapes of blocks that divide a block of these sides and have at most `most` places, those of the most places first, and of those
/// the ones with the least surface.
fn shapes(sides: &[usize], most: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for n in sides {
        let divisors: Vec<usize> = (1..=*n.min(&most)).filter(|d| n.is_multiple_of(*d)).collect();
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
    let places: usize = sides.iter().product();
    all.truncate((PLACES / places.max(1)).clamp(CANDIDATES_MIN, CANDIDATES));
    all
}

/// An order for a grid of as many places as there are processes; `None`: none is found that is better than theirs.
pub fn grid(parts: &Parts, grid: Grid<'_>) -> Option<Order> {
    if parts.is_flat() {
        return None;
    }
    let sides = grid.sides();
    let mut chosen: Vec<Vec<usize>> = Vec::new();
    let mut order = parts.identity();
    for level in 0..parts.depth() {
        let filled = |shape: Vec<usize>| {
            let mut order = vec![0; order.len()];
            let all = [&chosen[..], std::slice::from_ref(&shape)].concat();
            for (place, rank) in in_blocks(&sides, &all).into_iter().zip(parts.sorted()) {
                order[place as usize] = *rank;
            }
            (parts.cost(&order, level + 1, grid.pairs()), shape, order)
        };
        let candidates = shapes(chosen.last().unwrap_or(&sides), parts.largest(level));
        let best = candidates.into_iter().map(filled).min_by(|a, b| a.0.cmp(&b.0));
        let Some((_, shape, filled)) = best else { break };
        order = filled;
        chosen.push(shape);
    }
    let cost = |order: &Order| parts.cost(order, parts.depth(), grid.pairs());
    let (identity, in_blocks) = (parts.identity(), order);
    let start = if cost(&in_blocks) < cost(&identity) { in_blocks } else { identity };
    // Parts of unlike sizes are no blocks.
    graph::improved(parts, &graph::lists(grid.places(), grid.pairs()), start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_blocks() {
        assert_eq!(in_blocks(&[2, 2], &[]), [0, 1, 2, 3]);
        assert_eq!(in_blocks(&[2, 4], &[vec![2, 2]]), [0, 1, 4, 5, 2, 3, 6, 7]);
        let nested = in_blocks(&[4, 4], &[vec![2, 4], vec![2, 2], vec![2, 1]]);
        assert_eq!(nested[..8], [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(nested[8..], [8, 12, 9, 13, 10, 14, 11, 15]);
        assert_eq!(in_blocks(&[], &[]), [0]);
    }

    #[test]
    fn pairs_around_a_ring() {
        let pairs = |n: i32| Grid { dims: &[n], periodic: &[true] }.pairs().count();
        assert_eq!([1, 2, 3, 4].map(pairs), [0, 1, 3, 4]);
        assert_eq!(Grid { dims: &[2, 3], periodic: &[false, true] }.pairs().count(), 3 + 6);
        assert_eq!(Grid { dims: &[], periodic: &[] }.pairs().count(), 0);
    }
}
