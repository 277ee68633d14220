//! Parts of a machine by which communicators are split (MPI 5.0, section 7.4.2): what they are called, and which of them
//! divides the members of a communicator next. Who reads the machine is above this crate.

use crate::comm::Comm;
use crate::comm::build::{self, Host, TaggedComm, gather_words};
use crate::error::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// A kind of part inside of a host, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    Package,
    Numa,
    L3,
    L2,
    L1,
    Core,
    Thread,
}

/// How many there are.
pub const LEVELS: usize = 7;

/// The scheme of the names.
const SCHEME: &str = "hwloc://";

impl Level {
    pub const ALL: [Level; LEVELS] =
        [Level::Package, Level::Numa, Level::L3, Level::L2, Level::L1, Level::Core, Level::Thread];

    /// The name in the form that the standard recommends (section 9.1.2).
    pub fn uri(self) -> &'static str {
        match self {
            Level::Package => "hwloc://Package",
            Level::Numa => "hwloc://NUMANode",
            Level::L3 => "hwloc://L3Cache",
            Level::L2 => "hwloc://L2Cache",
            Level::L1 => "hwloc://L1Cache",
            Level::Core => "hwloc://Core",
            Level::Thread => "hwloc://PU",
        }
    }
}

/// What a value of `mpi_hw_resource_type` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// What shares memory.
    Host,
    Part(Level),
}

impl Resource {
    /// By its URI, or by the plain names that MPICH and Open MPI take; upper and lower case are the same.
    pub fn of(name: &str) -> Option<Resource> {
        let lower = name.to_ascii_lowercase();
        Some(match lower.strip_prefix(SCHEME).unwrap_or(&lower) {
            "mpi_shared_memory" | "machine" | "node" | "host" => Resource::Host,
            "package" | "socket" => Resource::Part(Level::Package),
            "numanode" | "numa" => Resource::Part(Level::Numa),
            "l3cache" | "l3dcache" | "l3ucache" => Resource::Part(Level::L3),
            "l2cache" | "l2dcache" | "l2ucache" => Resource::Part(Level::L2),
            "l1cache" | "l1dcache" | "l1ucache" => Resource::Part(Level::L1),
            "core" => Resource::Part(Level::Core),
            "pu" | "hwthread" => Resource::Part(Level::Thread),
            _ => return None,
        })
    }
}

/// Where the processors of a process are, with regard to the parts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Locality {
    /// The machine has no such parts, or does not tell.
    #[default]
    Absent,
    /// In more than one.
    Several,
    /// In the one of this number, which no other of the host has.
    In(u32),
}

/// The localities of a process, by [`Level`].
pub type Localities = [Locality; LEVELS];

/// How a member of a communicator takes part in a split.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// It gets no communicator.
    Nothing,
    /// Those of the same colour stay together; the largest two numbers are none.
    Colour(u64),
    /// By the largest parts that divide the members, all of which are on one host.
    Parts(Localities),
}

/// Stands for [`By::Parts`] where colours are told; `u64::MAX` for [`By::Nothing`].
const PARTS: u64 = u64::MAX - 1;

/// Splits a communicator; tells also by which parts, where that was left open. An intercommunicator is not divided by
/// parts. Collective.
pub fn split(
    host: &mut impl Host,
    comm: &Arc<Comm>,
    by: By,
    key: i32,
) -> Result<(Option<Arc<Comm>>, Option<Level>)> {
    let (colour, localities) = match by {
        By::Parts(localities) if !comm.is_inter() => (PARTS, localities),
        By::Colour(colour) => (colour, Localities::default()),
        By::Nothing | By::Parts(_) => (u64::MAX, Localities::default()),
    };
    let mut level = None;
    let made = build::split_rows(host, comm, colour, key, |host, via, rows| {
        // All see the same rows, so all tell their localities or none does.
        if !rows.chunks_exact(2).any(|row| row[0] == PARTS) {
            return Ok(());
        }
        let all = gather_words(host, via, &words_of(&localities))?;
        // Who gets nothing does not count.
        let takes_part = |rank: &usize| rows.get(2 * rank) == Some(&PARTS);
        let ranks: Vec<usize> = (0..comm.size() as usize).filter(takes_part).collect();
        let told: Vec<u64> = ranks
            .iter()
            .flat_map(|rank| all.iter().skip(rank * LEVELS).take(LEVELS))
            .copied()
            .collect();
        for (rank, chosen) in ranks.into_iter().zip(divide(&told)) {
            rows[2 * rank] = chosen.map_or(u64::MAX, |(level, part)| (level as u64) << 32 | part);
            if rank == comm.rank() as usize {
                level = chosen.map(|(level, _)| level);
            }
        }
        Ok(())
    })?;
    Ok((made, level))
}

/// The localities of all members of an intracommunicator, by rank, as words: a row of [`LEVELS`] for each. Collective.
pub fn gather(host: &mut impl Host, comm: &Arc<Comm>, own: &Localities) -> Result<Vec<u64>> {
    gather_words(host, &TaggedComm::collective(comm), &words_of(own))
}

/// Keeps with a communicator what all its members have gathered; nothing, if they know that no part of their hosts divides them.
pub fn keep(comm: &Comm, words: &[u64]) {
    comm.localities().get_or_init(|| words.into());
}

/// What is [kept](keep).
pub fn kept(comm: &Comm) -> Option<&[u64]> {
    comm.localities().get().map(|words| &**words)
}

/// Localities as they are told to others; 0 for one that is in no part or several.
pub fn words_of(localities: &Localities) -> [u64; LEVELS] {
    localities.map(word)
}

/// A locality as it is told to others.
fn word(locality: Locality) -> u64 {
    match locality {
        Locality::Absent | Locality::Several => 0,
        Locality::In(part) => u64::from(part) + 1,
    }
}

/// For each member the largest part that it is in with some of the others, but not all. `told`: for each member the
/// [words](word) of its localities.
fn divide(told: &[u64]) -> Vec<Option<(Level, u64)>> {
    let members = told.len() / LEVELS;
    let mut chosen = vec![None; members];
    for level in Level::ALL {
        let words = || told.iter().skip(level as usize).step_by(LEVELS).copied();
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        words().for_each(|word| *sizes.entry(word).or_default() += 1);
        for (chosen, word) in chosen.iter_mut().zip(words()) {
            if chosen.is_none() && word != 0 && sizes[&word] < members {
                *chosen = Some((level, word));
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The localities of a process on a machine of two packages of two NUMA nodes with two cores of two threads each, without
    /// a third cache; `bound` to a thread, or one of the larger parts.
    fn bound(to: Level, part: u32) -> Localities {
        let threads_of = |level| match level {
            Level::Package => 8,
            Level::Numa => 4,
            Level::L3 => 0,
            Level::L2 | Level::L1 | Level::Core => 2,
            Level::Thread => 1,
        };
        let (first, most) = (part * threads_of(to), threads_of(to));
        Level::ALL.map(|level| match threads_of(level) {
            0 => Locality::Absent,
            threads if threads < most => Locality::Several,
            threads => Locality::In(first / threads),
        })
    }

    fn divided(members: &[Localities]) -> Vec<Option<(Level, u64)>> {
        divide(&members.iter().flat_map(|localities| localities.map(word)).collect::<Vec<_>>())
    }

    #[test]
    fn each_step_goes_one_level_down() {
        let threads: Vec<Localities> = (0..16).map(|n| bound(Level::Thread, n)).collect();
        let steps = [(16, Level::Package), (8, Level::Numa), (4, Level::L2), (2, Level::Thread)];
        for (members, level) in steps {
            let half = members as u64 / 2;
            let chosen = divided(&threads[..members]);
            for (rank, part) in (0u64..).zip(&chosen) {
                assert_eq!(*part, Some((level, rank / half + 1)), "{members} members");
            }
        }
        assert_eq!(divided(&threads[..1]), [None]);
        assert_eq!(divided(&[]), []);
    }

    #[test]
    fn members_of_more_than_one_part_get_none() {
        let all = [
            bound(Level::Core, 0),
            bound(Level::Package, 1),
            [Locality::Several; LEVELS],
            bound(Level::Numa, 0),
        ];
        let package = |number| Some((Level::Package, number));
        assert_eq!(divided(&all), [package(1), package(2), None, package(1)]);
        // In one package the first is alone in what is smaller, and the last in no smaller part.
        assert_eq!(divided(&[all[0], all[3]]), [Some((Level::L2, 1)), None]);
        assert_eq!(divided(&[all[1]; 3]), [None; 3]);
        assert_eq!(divided(&[[Locality::Several; LEVELS]; 3]), [None; 3]);
    }

    #[test]
    fn names_are_known_in_their_forms() {
        for level in Level::ALL {
            assert_eq!(Resource::of(level.uri()), Some(Resource::Part(level)));
            let plain = level.uri().strip_prefix(SCHEME).unwrap();
            assert_eq!(Resource::of(&plain.to_uppercase()), Some(Resource::Part(level)));
        }
        assert_eq!(Resource::of("socket"), Some(Resource::Part(Level::Package)));
        assert_eq!(Resource::of("hwloc://Machine"), Some(Resource::Host));
        assert_eq!(Resource::of("mpi_shared_memory"), Some(Resource::Host));
        for other in ["", "hwloc://", "hwloc://Rack", "pci://core", "core "] {
            assert_eq!(Resource::of(other), None, "{other:?}");
        }
    }
}
