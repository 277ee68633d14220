//! Which process gets which rank in a topology, if the program allows reordering (MPI 5.0, section 8.4): so that few
//! neighbours are on different hosts, few of these on different sockets, and so on down to cores. Pure functions of what all
//! members know alike.
//!
//! Grids are cut into equal blocks, these into smaller blocks for the next level, and the processes of a part of the machine fill
//! block after block. Graphs are filled from neighbour to neighbour, level by level. Neither gives the best order there is; the
//! communicator's own order is kept if it is not worse. The time grows nearly as the number of processes and edges, times the
//! levels.

mod graph;
mod grid;
mod parts;

pub use graph::graph;
pub use grid::{Grid, grid};
pub use parts::Parts;

/// For each rank of the new communicator, the rank in the old one.
pub type Order = Vec<u32>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(of: &[u32]) -> Parts {
        Parts::new(&[of.iter().map(|host| u64::from(*host)).collect::<Vec<_>>()])
    }

    /// Processes `0..n` on so many units (the smallest parts) in turn or one after the other; every level has so many parts in each of
    /// the level above.
    fn machine(n: u64, levels: &[u64], unit: impl Fn(u64) -> u64) -> Parts {
        let mut below: u64 = levels.iter().product();
        let mut all = Vec::new();
        for parts in levels {
            below /= parts;
            all.push((0..n).map(|rank| unit(rank) / below).collect::<Vec<_>>());
        }
        Parts::new(&all)
    }

    fn cost_of(order: &Option<Order>, parts: &Parts, of: Grid<'_>) -> Vec<u64> {
        let order = order.clone().unwrap_or_else(|| parts.identity());
        parts.cost(&order, parts.depth(), of.pairs())
    }

    #[test]
    fn squares_instead_of_rows() {
        let in_rows = hosts(&(0..16).map(|rank| rank / 4).collect::<Vec<_>>());
        let of = Grid { dims: &[4, 4], periodic: &[false, false] };
        assert_eq!(cost_of(&None, &in_rows, of), [12]);
        assert_eq!(cost_of(&grid(&in_rows, of), &in_rows, of), [8]);
        // Round robin over the hosts.
        let by_turns = hosts(&(0..16).map(|rank| rank % 4).collect::<Vec<_>>());
        assert_eq!(cost_of(&grid(&by_turns, of), &by_turns, of), [8]);
    }

    #[test]
    fn around_a_ring() {
        let of = |dims| Grid { dims, periodic: &[true] };
        assert_eq!(cost_of(&None, &hosts(&[0, 0, 1, 1]), of(&[4])), [2]);
        assert_eq!(grid(&hosts(&[0, 0, 1, 1]), of(&[4])), None);
        assert_eq!(grid(&hosts(&[0, 1, 0, 1]), of(&[4])), Some(vec![0, 2, 1, 3]));
    }

    #[test]
    fn one_host_and_one_rank_for_each_stay() {
        let of = Grid { dims: &[2, 2], periodic: &[false, false] };
        assert_eq!(grid(&hosts(&[5; 4]), of), None);
        assert_eq!(grid(&hosts(&[3, 2, 1, 0]), of), None);
        assert_eq!(grid(&hosts(&[]), Grid { dims: &[], periodic: &[] }), None);
        assert_eq!(graph(&hosts(&[3, 2, 1, 0]), &[const { Vec::new() }; 4]), None);
    }

    #[test]
    fn two_rings_in_a_graph() {
        // Nodes of equal parity form a ring each; the hosts have halves.
        let ring = |node: u32| vec![((node + 2) % 8, 1)];
        let neighbours: Vec<_> = (0..8).map(ring).collect();
        let host = [0, 0, 0, 0, 1, 1, 1, 1];
        let order = graph(&hosts(&host), &neighbours).expect("a better order");
        assert!((0..8).all(|n| host[order[n] as usize] == host[order[(n + 2) % 8] as usize]));
    }

    #[test]
    fn levels_that_divide_nothing_are_left_out() {
        // One package; two caches; every process has a core.
        let levels = [[7; 4], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 2, 3]];
        assert_eq!(Parts::new(&levels), Parts::new(&levels[1..2]));
        assert!(Parts::new(&levels[..1]).is_flat());
        assert!(Parts::new::<Vec<u64>>(&[]).is_flat());
        // The same number is another part in another package.
        let nested = Parts::new(&[[0, 0, 1, 1, 1], [0, 1, 0, 0, 1]]);
        assert_eq!(nested, Parts::new(&[[0, 0, 1, 1, 1], [0, 1, 2, 2, 3]]));
    }

    /// Two hosts of two sockets of two shared caches of four cores, bound to cores by slot, and to sockets in turn.
    #[test]
    fn sockets_and_caches_inside_of_hosts() {
        let of = Grid { dims: &[8, 4], periodic: &[false, false] };
        let in_turn =
            machine(32, &[2, 2, 2, 4], |rank| rank / 16 * 16 + rank % 2 * 8 + rank % 4 / 2 * 4);
        // Halves, quarters, eighths of the grid instead of columns.
        assert_eq!(cost_of(&None, &in_turn, of), [4, 24, 0]);
        assert_eq!(cost_of(&grid(&in_turn, of), &in_turn, of), [4, 8, 8]);
        let by_core = machine(32, &[2, 2, 2, 4], |rank| rank);
        assert_eq!(cost_of(&None, &by_core, of), [4, 8, 16]);
        assert_eq!(cost_of(&grid(&by_core, of), &by_core, of), [4, 8, 8]);
        // Opposite ends of a ring exchange most.
        let neighbours: Vec<_> =
            (0..32).map(|node| vec![((node + 16) % 32, 9), ((node + 1) % 32, 1)]).collect();
        let order = graph(&by_core, &neighbours).expect("a better order");
        let pairs =
            || (0..).zip(&neighbours).flat_map(|(a, l)| l.iter().map(move |(b, w)| (a, *b, *w)));
        let before = by_core.cost(&by_core.identity(), 3, pairs());
        let after = by_core.cost(&order, 3, pairs());
        assert_eq!((before[0], after[0]), (290, 4));
    }

    #[test]
    fn one_host_is_reordered_by_its_sockets() {
        let sockets = machine(8, &[1, 2, 4], |rank| rank % 2 * 4 + rank / 2);
        let ring = Grid { dims: &[8], periodic: &[true] };
        assert_eq!(cost_of(&None, &sockets, ring), [8]);
        assert_eq!(grid(&sockets, ring), Some(vec![0, 2, 4, 6, 1, 3, 5, 7]));
    }

    /// 64 hosts of two sockets of four caches of eight cores.
    #[test]
    fn thousands_of_processes() {
        let levels = [64, 2, 4, 8];
        let of = Grid { dims: &[16, 16, 16], periodic: &[true, true, true] };
        let bound = machine(4096, &levels, |rank| rank);
        let by_turns = machine(4096, &levels, |rank| rank % 64 * 64 + rank / 64);
        for parts in [&bound, &by_turns] {
            let order = grid(parts, of);
            // Blocks of 4x4x4, 2x4x4 and 2x2x2.
            assert_eq!(cost_of(&order, parts, of), [3072, 1024, 2048]);
        }
        let neighbours: Vec<Vec<(u32, u64)>> = (0..4096_u32)
            .map(|node| [1, 16, 256].map(|step| ((node + step) % 4096, 1)).to_vec())
            .collect();
        let order = graph(&by_turns, &neighbours);
        let pairs =
            || (0..).zip(&neighbours).flat_map(|(a, l)| l.iter().map(move |(b, w)| (a, *b, *w)));
        let cost = |order: &[u32]| by_turns.cost(order, by_turns.depth(), pairs());
        let order = order.expect("a better order");
        assert!(3 * cost(&order)[0] < 2 * cost(&by_turns.identity())[0]);
    }

    proptest! {
        /// Every process has one place, and an order is better than theirs, by what it costs.
        #[test]
        fn orders_are_better_permutations(
            dims in prop::collection::vec(1..5_i32, 1..4),
            periodic in prop::collection::vec(any::<bool>(), 3),
            levels in prop::collection::vec(prop::collection::vec(0..4_u64, 64), 0..5),
            edges in prop::collection::vec((0..64_u32, 0..64_u32, 0..9_u64), 0..80),
        ) {
            let n = dims.iter().product::<i32>() as usize;
            let of = Grid { dims: &dims, periodic: &periodic[..dims.len()] };
            let some = Parts::new(&levels.iter().map(|level| &level[..n]).collect::<Vec<_>>());
            if let Some(order) = grid(&some, of) {
                prop_assert!(cost_of(&Some(order.clone()), &some, of) < cost_of(&None, &some, of));
                let mut order = order;
                order.sort_unstable();
                prop_assert_eq!(order, some.identity());
            }
            let all = Parts::new(&levels);
            let mut neighbours = vec![Vec::new(); 64];
            edges.iter().for_each(|(a, b, w)| neighbours[*a as usize].push((*b, *w)));
            if let Some(mut order) = graph(&all, &neighbours) {
                let cost = |order: &Order| all.cost(order, all.depth(), edges.iter().copied());
                prop_assert!(cost(&order) < cost(&all.identity()));
                order.sort_unstable();
                prop_assert_eq!(order, all.identity());
            }
        }

        /// On one machine an order that is bound to it part by part stays as good as any cut of a line.
        #[test]
        fn lines_stay(levels in prop::collection::vec(1..4_u64, 1..5)) {
            let n = levels.iter().product::<u64>();
            let parts = machine(n, &levels, |rank| rank);
            prop_assert_eq!(grid(&parts, Grid { dims: &[n as i32], periodic: &[false] }), None);
        }
    }
}
