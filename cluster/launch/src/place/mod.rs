//! Which rank runs on which host, and on which part of it: pure functions of the hosts, their
//! [`topology`] and what the user said ([`policy`]).

pub mod affinity;
pub mod binding;
pub mod fabric;
pub mod policy;
pub mod rankfile;
pub mod topology;
pub mod universe;

use crate::hosts::Host;
use policy::{MapBy, RankBy};

/// Hosts of one program, each once, with room for so many ranks each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub hosts: Vec<(String, u32)>,
    /// The hosts as they were listed, by their index.
    pub sequence: Vec<usize>,
    /// Whether the user said how many ranks a host is to have.
    given: bool,
}

impl Room {
    /// Hosts as the user listed them: one named several times has the sum of its slots, one
    /// without a number counts as one. To name a host again is to say how many slots it has, as it is
    /// for Open MPI and MPICH. `per_host` overrides the numbers.
    pub fn new(hosts: &[Host], per_host: Option<u32>) -> Self {
        let mut given = per_host.is_some();
        let mut room: Vec<(String, u32)> = Vec::new();
        let mut sequence = Vec::new();
        for host in hosts {
            given |= host.slots.is_some();
            let slots = host.slots.unwrap_or(1);
            match room.iter().position(|(name, _)| name.eq_ignore_ascii_case(&host.name)) {
                Some(index) => {
                    given = true;
                    room[index].1 = room[index].1.saturating_add(slots);
                    sequence.push(index);
                }
                None => {
                    sequence.push(room.len());
                    room.push((host.name.clone(), slots));
                }
            }
        }
        if let Some(per_host) = per_host {
            room.iter_mut().for_each(|(_, slots)| *slots = per_host);
        }
        Self { hosts: room, sequence, given }
    }

    /// The same with so many slots on each host.
    pub fn even(mut self, slots: u32) -> Self {
        self.hosts.iter_mut().for_each(|(_, count)| *count = slots.max(1));
        self.given = true;
        self
    }

    /// The same without some hosts.
    pub fn without(&self, left_out: impl Fn(&str) -> bool) -> Self {
        let kept: Vec<usize> =
            (0..self.hosts.len()).filter(|host| !left_out(&self.hosts[*host].0)).collect();
        let hosts = kept.iter().map(|host| self.hosts[*host].clone()).collect();
        let place = |host: &usize| kept.iter().position(|other| other == host);
        let sequence = self.sequence.iter().filter_map(place).collect();
        Self { hosts, sequence, given: self.given }
    }

    /// The same with the hosts in another order, each of which is there once.
    pub fn ordered(&self, order: &[usize]) -> Self {
        let hosts = order.iter().filter_map(|host| self.hosts.get(*host).cloned()).collect();
        let place = |host: &usize| order.iter().position(|other| other == host);
        let sequence = self.sequence.iter().filter_map(place).collect();
        Self { hosts, sequence, given: self.given }
    }

    /// All slots.
    pub fn total(&self) -> u32 {
        self.hosts.iter().fold(0, |sum, (_, slots)| sum.saturating_add(*slots))
    }

    /// The number of ranks when nobody says it.
    pub fn default_ranks(&self) -> u32 {
        if self.given || self.hosts.len() > 1 { self.total().max(1) } else { 1 }
    }

    /// Whether the user said how many ranks a host is to have.
    pub fn is_given(&self) -> bool {
        self.given
    }

    /// For each rank the index of its host.
    pub fn place(&self, ranks: u32, map: &MapBy, rank: RankBy) -> Vec<usize> {
        let mapped = self.map(ranks, map);
        match rank {
            RankBy::Node => self.in_turn(&mapped),
            RankBy::Fill => {
                let mut sorted = mapped;
                sorted.sort_unstable();
                sorted
            }
            RankBy::Mapped | RankBy::Parts => mapped,
        }
    }

    /// With more ranks than slots, hosts are filled again and again; without any numbers, each gets
    /// an equal share of neighbouring ranks.
    fn map(&self, ranks: u32, map: &MapBy) -> Vec<usize> {
        if !self.given && !matches!(map, MapBy::Node | MapBy::Sequence) {
            let (ranks, count) = (u64::from(ranks), self.hosts.len() as u64);
            return (0..ranks).map(|rank| (rank * count / ranks) as usize).collect();
        }
        let mut turns: Vec<usize> = Vec::new();
        match map {
            MapBy::Slot | MapBy::Part(_) | MapBy::PerPart { .. } => {
                for (host, (_, slots)) in self.hosts.iter().enumerate() {
                    turns.extend(std::iter::repeat_n(host, *slots as usize));
                }
            }
            MapBy::Sequence => turns.clone_from(&self.sequence),
            MapBy::Node => {
                let most = self.hosts.iter().map(|(_, slots)| *slots).max().unwrap_or(0);
                for round in 0..most {
                    let fits = |index: &usize| self.hosts[*index].1 > round;
                    turns.extend((0..self.hosts.len()).filter(fits));
                }
            }
        }
        (0..ranks as usize).map(|rank| turns[rank % turns.len()]).collect()
    }

    /// The same number of ranks on each host, numbered over the hosts in turn.
    fn in_turn(&self, mapped: &[usize]) -> Vec<usize> {
        let mut left = vec![0_u32; self.hosts.len()];
        mapped.iter().for_each(|host| left[*host] += 1);
        let mut placed = Vec::with_capacity(mapped.len());
        while placed.len() < mapped.len() {
            for (host, left) in left.iter_mut().enumerate().filter(|(_, left)| **left > 0) {
                *left -= 1;
                placed.push(host);
            }
        }
        placed
    }
}

/// The hosts of all ranks in the form of `PMI_process_mapping`: blocks of neighbouring hosts with
/// the same number of neighbouring ranks. The list of blocks is repeated until all ranks have one.
pub fn mapping(nodes: &[u32]) -> String {
    let mut blocks: Vec<(u32, u32, u32)> = Vec::new();
    for run in nodes.chunk_by(|a, b| a == b) {
        let (node, ranks) = (run[0], run.len() as u32);
        match blocks.last_mut() {
            Some((first, count, each)) if *first + *count == node && *each == ranks => *count += 1,
            _ => blocks.push((node, 1, ranks)),
        }
    }
    // The shortest beginning that gives the whole by repetition.
    let period = (1..=blocks.len())
        .find(|period| blocks.iter().zip(&blocks[*period..]).all(|(a, b)| a == b))
        .unwrap_or(blocks.len());
    let text: Vec<String> = blocks[..period]
        .iter()
        .map(|(first, count, each)| format!("({first},{count},{each})"))
        .collect();
    format!("(vector,{})", text.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::parse_list;
    use proptest::prelude::*;

    fn room(list: &str, per_host: Option<u32>) -> Room {
        Room::new(&parse_list(list).unwrap(), per_host)
    }

    #[test]
    fn by_slot_and_by_node() {
        let two = room("a:2,b:3", None);
        assert_eq!(two.default_ranks(), 5);
        assert_eq!(two.place(5, &MapBy::Slot, RankBy::Mapped), [0, 0, 1, 1, 1]);
        assert_eq!(two.place(5, &MapBy::Node, RankBy::Mapped), [0, 1, 0, 1, 1]);
        assert_eq!(two.place(7, &MapBy::Slot, RankBy::Mapped), [0, 0, 1, 1, 1, 0, 0]);
        assert_eq!(two.place(3, &MapBy::Slot, RankBy::Mapped), [0, 0, 1]);
    }

    #[test]
    fn without_numbers_shares_are_equal() {
        let three = room("a,b,c", None);
        assert_eq!(three.default_ranks(), 3);
        assert_eq!(three.place(6, &MapBy::Slot, RankBy::Mapped), [0, 0, 1, 1, 2, 2]);
        assert_eq!(three.place(4, &MapBy::Slot, RankBy::Mapped), [0, 0, 1, 2]);
        assert_eq!(three.place(4, &MapBy::Node, RankBy::Mapped), [0, 1, 2, 0]);
        assert_eq!(room("a", None).default_ranks(), 1);
    }

    #[test]
    fn numbered_and_listed_otherwise() {
        let two = room("a:2,b:3", None);
        let place = |map: &MapBy, rank| two.place(5, map, rank);
        assert_eq!(place(&MapBy::Slot, RankBy::Node), [0, 1, 0, 1, 1]);
        assert_eq!(place(&MapBy::Node, RankBy::Fill), [0, 0, 1, 1, 1]);
        assert_eq!(place(&MapBy::Node, RankBy::Mapped), [0, 1, 0, 1, 1]);
        let listed = room("a,b,a,c", None);
        assert_eq!(listed.place(6, &MapBy::Sequence, RankBy::Mapped), [0, 1, 0, 2, 0, 1]);
    }

    #[test]
    fn repeated_hosts_and_ranks_per_host() {
        let twice = room("a,A,b", None);
        assert_eq!(twice.hosts, [("a".to_string(), 2), ("b".to_string(), 1)]);
        assert_eq!(twice.default_ranks(), 3);
        assert_eq!(twice.place(4, &MapBy::Slot, RankBy::Mapped), [0, 0, 1, 0]);
        assert_eq!(room("a,a,a", None).default_ranks(), 3);
        let four = room("a:9,b", Some(2));
        assert_eq!(four.default_ranks(), 4);
        assert_eq!(four.place(4, &MapBy::Slot, RankBy::Mapped), [0, 0, 1, 1]);
    }

    #[test]
    fn mappings() {
        assert_eq!(mapping(&[0, 0, 0]), "(vector,(0,1,3))");
        assert_eq!(mapping(&[0, 0, 1, 1, 2, 2]), "(vector,(0,3,2))");
        assert_eq!(mapping(&[0, 1, 0, 1]), "(vector,(0,2,1))");
        assert_eq!(mapping(&[0, 0, 1]), "(vector,(0,1,2),(1,1,1))");
    }

    /// Reads a mapping as ranks do.
    fn read(text: &str, size: usize) -> Vec<u32> {
        let inner = text.strip_prefix("(vector,").unwrap().strip_suffix(')').unwrap();
        let blocks: Vec<Vec<u32>> = inner
            .trim_matches(['(', ')'])
            .split("),(")
            .map(|block| block.split(',').map(|number| number.parse().unwrap()).collect())
            .collect();
        let mut nodes = Vec::new();
        while nodes.len() < size {
            for block in &blocks {
                for node in 0..block[1] {
                    nodes.extend(std::iter::repeat_n(block[0] + node, block[2] as usize));
                }
            }
        }
        nodes.truncate(size);
        nodes
    }

    proptest! {
        #[test]
        fn a_mapping_says_what_went_in(nodes in prop::collection::vec(0u32..4, 1..40)) {
            prop_assert_eq!(read(&mapping(&nodes), nodes.len()), nodes);
        }
    }
}
