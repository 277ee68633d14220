//! How processes lie in the parts of a machine, and what an order costs by that.

use super::Order;
use std::collections::HashMap;

/// The parts in which processes are, level by level: from the largest (switches, hosts) to the smallest (cores). Levels that
/// divide nothing are left out, as are those on which every process is alone: no order changes what these cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The number of each process's part, in the order in which parts appear. A part lies in one of the level above.
    levels: Vec<Vec<u32>>,
    /// The processes, part by part.
    sorted: Vec<u32>,
}

impl Parts {
    /// `levels`: for each process the part that it is in, by any number; of the same part are those that agree in the
    /// levels above, too. Levels are as long as the first.
    pub fn new<L: AsRef<[u64]>>(levels: &[L]) -> Parts {
        let n = levels.first().map_or(0, |level| level.as_ref().len());
        let mut above = vec![0; n];
        let (mut count, mut kept) = (1, Vec::new());
        for level in levels {
            let mut numbers: HashMap<(u32, u64), u32> = HashMap::new();
            let of = |(above, word): (&u32, &u64)| {
                let next = numbers.len() as u32;
                *numbers.entry((*above, *word)).or_insert(next)
            };
            let own: Vec<u32> = above.iter().zip(level.as_ref()).map(of).collect();
            if numbers.len() >= n || own.len() < n {
                break;
            }
            if numbers.len() > count {
                count = numbers.len();
                kept.push(own.clone());
            }
            above = own;
        }
        let mut sorted: Vec<u32> = (0..n as u32).collect();
        sorted.sort_by_cached_key(|rank| -> Vec<u32> {
            kept.iter().map(|level| level[*rank as usize]).collect()
        });
        Parts { levels: kept, sorted }
    }

    /// Whether all orders are alike.
    pub fn is_flat(&self) -> bool {
        self.levels.is_empty()
    }

    /// Levels that divide the processes.
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The processes, part by part.
    pub(super) fn sorted(&self) -> &[u32] {
        &self.sorted
    }

    /// The part of a process; of the level above the first there is one.
    pub(super) fn part(&self, level: Option<usize>, rank: u32) -> u32 {
        level.map_or(0, |level| self.levels[level][rank as usize])
    }

    /// Processes in the largest part of a level.
    pub(super) fn largest(&self, level: usize) -> usize {
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        self.levels[level].iter().for_each(|part| *sizes.entry(*part).or_default() += 1);
        sizes.into_values().max().unwrap_or(1)
    }

    /// The first level on which two processes are apart, `depth` levels being looked at.
    fn apart(&self, a: u32, b: u32, depth: usize) -> Option<usize> {
        let differ = |level: &Vec<u32>| level[a as usize] != level[b as usize];
        let levels = &self.levels[..depth];
        // Most neighbours are together on the last level, and then on all.
        if !levels.last().is_some_and(differ) {
            return None;
        }
        levels.iter().position(differ)
    }

    /// What an order costs: for each of the first `depth` levels, the weight of the pairs of neighbours that it is the first to part.
    /// Of two orders the one that is less, as slices are compared, is better: a way over the network is longer than any inside of
    /// a host, and so on downwards.
    pub(super) fn cost(
        &self,
        order: &[u32],
        depth: usize,
        pairs: impl Iterator<Item = (u32, u32, u64)>,
    ) -> Vec<u64> {
        let mut cost = vec![0_u64; depth];
        for (a, b, weight) in pairs {
            if let Some(level) = self.apart(order[a as usize], order[b as usize], depth) {
                cost[level] = cost[level].saturating_add(weight);
            }
        }
        cost
    }

    /// The order that the processes have.
    pub(super) fn identity(&self) -> Order {
        (0..self.sorted.len() as u32).collect()
    }
}
