//! How many processes the user expects in all: `MPI_UNIVERSE_SIZE`, by which programs decide how many they spawn.

use super::Room;

/// What the user said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Universe {
    /// Nothing: the slots of the hosts.
    #[default]
    Slots,
    Processes(u32),
    /// There is no limit, so ranks are told none.
    Infinite,
}

impl Universe {
    /// The number that the ranks are told: never below that of the ranks. `rooms` are those of the programs; without
    /// any, this machine is all there is, with `cores`.
    pub fn size<'a>(
        self,
        ranks: u32,
        rooms: impl Iterator<Item = &'a Room>,
        cores: impl FnOnce() -> u32,
    ) -> Option<u32> {
        match self {
            Universe::Infinite => None,
            Universe::Processes(count) => Some(count.max(ranks)),
            Universe::Slots => Some(slots(rooms).unwrap_or_else(cores).max(ranks)),
        }
    }
}

/// The slots of all hosts, each host once; none where no hosts are named.
fn slots<'a>(rooms: impl Iterator<Item = &'a Room>) -> Option<u32> {
    let mut hosts: Vec<(&str, u32)> = Vec::new();
    for (name, slots) in rooms.flat_map(|room| &room.hosts) {
        match hosts.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            Some((_, most)) => *most = (*most).max(*slots),
            None => hosts.push((name, *slots)),
        }
    }
    let total = hosts.iter().fold(0_u32, |sum, (_, slots)| sum.saturating_add(*slots));
    Some(total).filter(|_| !hosts.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Host;

    fn room(hosts: &[(&str, u32)]) -> Room {
        let host = |(name, slots): &(&str, u32)| Host { name: (*name).into(), slots: Some(*slots) };
        Room::new(&hosts.iter().map(host).collect::<Vec<_>>(), None)
    }

    #[test]
    fn slots_of_each_host_once_and_never_below_the_ranks() {
        let rooms = [room(&[("a", 4), ("b", 2)]), room(&[("B", 3)])];
        let size =
            |universe: Universe, ranks, rooms: &[Room]| universe.size(ranks, rooms.iter(), || 16);
        assert_eq!(size(Universe::Slots, 2, &rooms), Some(7));
        assert_eq!(size(Universe::Slots, 9, &rooms), Some(9));
        assert_eq!(size(Universe::Slots, 2, &[]), Some(16));
        assert_eq!(size(Universe::Processes(5), 2, &rooms), Some(5));
        assert_eq!(size(Universe::Processes(5), 8, &[]), Some(8));
        assert_eq!(size(Universe::Infinite, 8, &rooms), None);
    }
}
