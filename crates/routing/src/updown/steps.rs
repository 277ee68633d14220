//! Where each switch may send packets for one target, so that all routes are legal and as short as tables allow.

use super::Orientation;
use crate::network::{Neighbor, Network};

/// How a switch sends packets toward the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// No legal route.
    None,
    /// It is the target.
    Here,
    Up,
    Down,
}

/// For each switch the direction of its next link, and how many links between switches are left.
#[derive(Debug)]
pub struct Steps<'a> {
    network: &'a Network<'a>,
    pub target: u32,
    pub way: Vec<Way>,
    pub length: Vec<u32>,
}

const FAR: u32 = u32::MAX;

impl<'a> Steps<'a> {
    pub fn new(network: &'a Network<'a>, orientation: &Orientation, target: u32) -> Steps<'a> {
        let down = down_only(network, orientation, target, |_| true);
        let legal = legal(network, orientation, &down);
        let mut steps = Steps { network, target, way: vec![Way::None; down.len()], length: down };
        for (at, way) in steps.way.iter_mut().enumerate() {
            if steps.length[at] != FAR && steps.length[at] == legal[at] {
                *way = Way::Down;
            }
        }
        steps.chain_down(orientation);
        steps.finish(orientation);
        steps.way[target as usize] = Way::Here;
        steps
    }

    /// Whether a switch has a route.
    pub fn reaches(&self, from: u32) -> bool {
        self.way[from as usize] != Way::None
    }

    /// The neighbours to which a switch may send.
    pub fn next(&self, orientation: &Orientation, from: u32) -> impl Iterator<Item = &Neighbor> {
        let way = self.way[from as usize];
        let length = self.length[from as usize];
        self.network.neighbors[from as usize].iter().filter(move |neighbor| {
            let to = neighbor.to as usize;
            let nearer = self.length[to] != FAR && self.length[to] + 1 == length;
            let up = orientation.is_up(from, neighbor.to);
            nearer
                && match way {
                    Way::Up => up && self.way[to] != Way::None,
                    Way::Down => !up && matches!(self.way[to], Way::Down | Way::Here),
                    Way::None | Way::Here => false,
                }
        })
    }

    /// A switch that sends down needs a next one that sends down, too: where all that are near enough would rather
    /// go up, one of them has to go down.
    fn chain_down(&mut self, orientation: &Orientation) {
        let mut far_first: Vec<u32> =
            (0..self.way.len() as u32).filter(|&at| self.length[at as usize] != FAR).collect();
        far_first.sort_by_key(|&at| std::cmp::Reverse(self.length[at as usize]));
        for from in far_first {
            if self.way[from as usize] != Way::Down || from == self.target {
                continue;
            }
            let length = self.length[from as usize];
            let neighbors = self.network.neighbors[from as usize].iter().map(|n| n.to);
            let nearer = neighbors.filter(|&to| {
                let left = self.length[to as usize];
                !orientation.is_up(from, to) && left != FAR && left + 1 == length
            });
            let nearer: Vec<u32> = nearer.collect();
            if !nearer.iter().any(|&to| self.way[to as usize] == Way::Down) {
                // Another one for other targets.
                if let Some(&to) = nearer.get(self.target as usize % nearer.len().max(1)) {
                    self.way[to as usize] = Way::Down;
                }
            }
        }
    }

    /// The lengths of those that go up; down remains for whom up turned out to be longer.
    fn finish(&mut self, orientation: &Orientation) {
        for &from in &orientation.order {
            if self.way[from as usize] == Way::Down {
                continue;
            }
            let (mut up, mut down) = (FAR, FAR);
            for neighbor in &self.network.neighbors[from as usize] {
                let to = neighbor.to as usize;
                if orientation.is_up(from, neighbor.to) {
                    if self.way[to] != Way::None {
                        up = up.min(self.length[to].saturating_add(1));
                    }
                } else if self.way[to] == Way::Down {
                    down = down.min(self.length[to].saturating_add(1));
                }
            }
            self.length[from as usize] = up.min(down);
            self.way[from as usize] = match (up, down) {
                (FAR, FAR) => Way::None,
                _ if up < down => Way::Up,
                _ => Way::Down,
            };
        }
    }
}

/// Links to the target for those who reach it by down links alone, over switches that `may` be used.
pub fn down_only(
    network: &Network,
    orientation: &Orientation,
    target: u32,
    may: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut length = vec![FAR; network.switches()];
    length[target as usize] = 0;
    let mut queue = std::collections::VecDeque::from([target]);
    while let Some(at) = queue.pop_front() {
        for neighbor in &network.neighbors[at as usize] {
            let from = neighbor.to;
            let comes_down = orientation.is_up(at, from);
            if comes_down && length[from as usize] == FAR && may(from) {
                length[from as usize] = length[at as usize] + 1;
                queue.push_back(from);
            }
        }
    }
    length
}

/// Links of the shortest legal route, whatever the tables can hold.
pub fn legal(network: &Network, orientation: &Orientation, down: &[u32]) -> Vec<u32> {
    let mut length = down.to_vec();
    for &from in &orientation.order {
        for neighbor in &network.neighbors[from as usize] {
            if orientation.is_up(from, neighbor.to) {
                let over = length[neighbor.to as usize].saturating_add(1);
                length[from as usize] = length[from as usize].min(over);
            }
        }
    }
    length
}
