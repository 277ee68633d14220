//! Which switches become roots when the user names none.

use super::{Orientation, Steps};
use crate::network::Network;

/// Above so many roots they are halved instead of taken away one by one until all hosts have legal routes.
const ONE_BY_ONE: usize = 16;

/// Switches with end ports.
pub fn carriers(network: &Network) -> Vec<u32> {
    (0..network.switches() as u32).filter(|&at| !network.local[at as usize].is_empty()).collect()
}

/// Two switches with end ports between which no legal route leads although some way does.
pub fn without_route(network: &Network, orientation: &Orientation) -> Option<(u32, u32)> {
    let carriers = carriers(network);
    for &target in &carriers {
        let steps = Steps::new(network, orientation, target);
        let mut lost = carriers.iter().copied().filter(|&from| !steps.reaches(from)).peekable();
        if lost.peek().is_some() {
            // What lies in another part of the fabric has no way at all.
            let distance = network.distances(&[target]);
            if let Some(lost) = lost.find(|&from| distance[from as usize] != u32::MAX) {
                return Some((lost, target));
            }
        }
    }
    None
}

/// The best roots, `count` of them where that is given, fewer where so many cannot be.
pub fn automatic(network: &Network, count: Option<usize>) -> Orientation {
    let carriers = carriers(network);
    let height = network.distances(&carriers);
    let tops = tops(network, &height);
    let layered = is_layered(network, &height) && !carriers.is_empty();
    let mut candidates = match layered {
        true => tops,
        false => by_middle(network, &carriers),
    };
    candidates.truncate(count.unwrap_or(if layered { usize::MAX } else { 1 }).max(1));
    loop {
        let orientation = Orientation::new(network, &candidates);
        if candidates.len() <= 1 || without_route(network, &orientation).is_none() {
            return orientation;
        }
        let fewer = match candidates.len() {
            many if many > ONE_BY_ONE => many / 2,
            some => some - 1,
        };
        candidates.truncate(fewer);
    }
}

/// Whether every link between switches joins neighbouring heights, as in trees and fat trees.
fn is_layered(network: &Network, height: &[u32]) -> bool {
    let links = network.neighbors.iter().enumerate();
    let mut pairs = links.flat_map(|(from, list)| list.iter().map(move |n| (from, n.to as usize)));
    pairs.all(|(from, to)| height[from].abs_diff(height[to]) == 1)
}

/// The switches farthest from hosts, those with the most neighbours first.
fn tops(network: &Network, height: &[u32]) -> Vec<u32> {
    let most = height.iter().filter(|&&height| height != u32::MAX).max().copied();
    let mut tops: Vec<u32> =
        (0..height.len() as u32).filter(|&at| Some(height[at as usize]) == most).collect();
    tops.sort_by_key(|&at| (std::cmp::Reverse(network.neighbors[at as usize].len()), at));
    tops
}

/// All switches, those from which the farthest host is nearest first.
fn by_middle(network: &Network, carriers: &[u32]) -> Vec<u32> {
    /// Distances are taken from so many switches with hosts, evenly chosen: in large fabrics the middle need not
    /// be exact.
    const SAMPLES: usize = 256;
    let step = carriers.len().div_ceil(SAMPLES).max(1);
    let mut farthest = vec![0u32; network.switches()];
    let mut total = vec![0u64; network.switches()];
    for &from in carriers.iter().step_by(step) {
        for (at, &distance) in network.distances(&[from]).iter().enumerate() {
            farthest[at] = farthest[at].max(distance);
            total[at] += u64::from(distance);
        }
    }
    let mut order: Vec<u32> = (0..network.switches() as u32).collect();
    order.sort_by_key(|&at| (farthest[at as usize], total[at as usize], at));
    order
}
