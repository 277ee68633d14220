//! To which hardware threads the ranks of one host are bound: a pure function of the machine, what
//! the user said, and the number of ranks.

use super::affinity::{self, Cpus};
use super::policy::{Bind, MapBy, Policy, RankBy};
use super::rankfile;
use super::topology::{Level, Topology};
use crate::error::LaunchError;

/// For each rank of a host, in ascending order, what it is bound to; none: nothing.
pub fn bindings(
    machine: &Topology,
    policy: &Policy,
    ranks: u32,
    slots: &[String],
) -> Result<Vec<Option<Cpus>>, LaunchError> {
    if !slots.is_empty() {
        return slots.iter().map(|slot| rankfile::cpus_of(slot, machine)).collect();
    }
    let listed = policy.only.as_deref().map(|only| pick(machine, policy, only)).transpose()?;
    let machine = match &listed {
        Some(units) => machine.within(&units.iter().flatten().copied().collect()),
        None => machine.clone(),
    };
    let in_turn = |sets: &[Cpus]| {
        let turn = |rank: u32| sets.get(rank as usize % sets.len().max(1)).cloned();
        (0..ranks).map(turn).collect()
    };
    Ok(match (&policy.bind, &listed) {
        (Bind::None, _) => vec![None; ranks as usize],
        (Bind::Sets(sets), _) => in_turn(&checked(sets, &machine)?),
        (Bind::RoundRobin, _) => {
            in_turn(&machine.all().into_iter().map(|cpu| Cpus::from([cpu])).collect::<Vec<_>>())
        }
        (Bind::Listed, Some(units)) => in_turn(units),
        (Bind::Listed, None) => in_turn(&machine.parts(policy.unit())),
        (Bind::Parts { level, count }, _) => parts(&machine, policy, ranks, *level, *count),
        (Bind::Default, _) => match (policy.width, mapped_by(policy)) {
            (0, Level::Machine) if listed.is_some() => in_turn(&[machine.all()]),
            (0, Level::Machine) => vec![None; ranks as usize],
            (0, level) => parts(&machine, policy, ranks, level, 1),
            (width, _) => parts(&machine, policy, ranks, policy.unit(), width),
        },
    })
}

/// The kind of part by which ranks are mapped inside of a host.
fn mapped_by(policy: &Policy) -> Level {
    match policy.map {
        MapBy::Part(level) | MapBy::PerPart { level, .. } => level,
        MapBy::Slot | MapBy::Node | MapBy::Sequence => Level::Machine,
    }
}

/// Binds each rank to `count` parts within the part that it is mapped to.
fn parts(
    machine: &Topology,
    policy: &Policy,
    ranks: u32,
    level: Level,
    count: u32,
) -> Vec<Option<Cpus>> {
    let homes = machine.parts(mapped_by(policy));
    let mut seen = vec![0; homes.len()];
    let bind = |home: usize| {
        let inner = machine.parts_in(level, &homes[home]);
        let start = seen[home] * count as usize;
        seen[home] += 1;
        // A rank is not bound to a part twice, however many it asks for.
        let count = (count as usize).min(inner.len());
        let own = (0..count).flat_map(|at| inner[(start + at) % inner.len()].iter().copied());
        Some(own.collect::<Cpus>())
    };
    homes_of(policy, ranks, homes.len()).into_iter().map(bind).collect()
}

/// For each rank of the host the index of the part it is mapped to.
fn homes_of(policy: &Policy, ranks: u32, parts: usize) -> Vec<usize> {
    let parts = parts.max(1);
    let in_turn = |rank: u32| rank as usize % parts;
    let ranks = 0..ranks;
    match (&policy.map, policy.rank) {
        (MapBy::PerPart { .. }, RankBy::Parts) => ranks.map(in_turn).collect(),
        (MapBy::PerPart { count, .. }, _) => {
            ranks.map(|rank| (rank / count) as usize % parts).collect()
        }
        (_, RankBy::Fill) => {
            let mut homes: Vec<usize> = ranks.map(in_turn).collect();
            homes.sort_unstable();
            homes
        }
        _ => ranks.map(in_turn).collect(),
    }
}

/// The processors with these logical numbers.
fn pick(machine: &Topology, policy: &Policy, only: &[usize]) -> Result<Vec<Cpus>, LaunchError> {
    let units = machine.parts(policy.unit());
    let name = policy.unit().name();
    only.iter()
        .map(|number| {
            units.get(*number).cloned().ok_or_else(|| {
                let count = units.len();
                LaunchError::usage(format!(
                    "--cpu-set: there is no {name} {number}; of this host {count} may be used, \
                     numbered from 0"
                ))
            })
        })
        .collect()
}

fn checked(sets: &[Cpus], machine: &Topology) -> Result<Vec<Cpus>, LaunchError> {
    let all = machine.all();
    match sets.iter().flatten().find(|cpu| !all.contains(cpu)) {
        None => Ok(sets.to_vec()),
        Some(cpu) => Err(LaunchError::usage(format!(
            "hardware thread {cpu} cannot be bound to; of this host may be used: {}",
            affinity::show(&all)
        ))),
    }
}

/// For messages: what a rank is bound to.
pub fn describe(machine: &Topology, rank: u32, cpus: Option<&Cpus>) -> String {
    let Some(cpus) = cpus else { return format!("rank {rank} is not bound") };
    let parts = [Level::Socket, Level::Numa, Level::Core].map(|level| {
        let touched = machine.parts(level).into_iter().enumerate();
        let touched = touched.filter(|(_, part)| !part.is_disjoint(cpus));
        let numbers: Cpus = touched.map(|(number, _)| number).collect();
        format!("{} {}", level.name(), affinity::show(&numbers))
    });
    format!("rank {rank} is bound to cpu {} ({})", affinity::show(cpus), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::topology::made_up::two_sockets;

    /// The first hardware thread of what each rank is bound to, and how many those are.
    fn bound(map: &str, rank: &str, bind: &str, ranks: u32) -> Vec<(usize, usize)> {
        let mut policy = Policy::default();
        for (text, take) in [
            (map, Policy::map_by as fn(&mut Policy, &str, &str) -> _),
            (rank, |policy, shown, text| policy.rank_by(shown, text).map(|()| None)),
            (bind, |policy, shown, text| policy.bind_to(shown, text).map(|()| None)),
        ] {
            if !text.is_empty() {
                take(&mut policy, "flag", text).expect(text);
            }
        }
        let bindings = bindings(&two_sockets(), &policy, ranks, &[]).expect("bindings");
        let shown = |cpus: Option<Cpus>| {
            cpus.map_or((99, 0), |cpus| (*cpus.first().expect("a cpu"), cpus.len()))
        };
        bindings.into_iter().map(shown).collect()
    }

    #[test]
    fn a_machine_of_two_sockets() {
        let none = (99, 0);
        for (map, rank, bind, expected) in [
            ("", "", "", vec![none; 4]),
            ("node", "", "", vec![none; 4]),
            ("", "", "core", vec![(0, 2), (1, 2), (2, 2), (3, 2)]),
            ("", "", "hwthread", vec![(0, 1), (16, 1), (1, 1), (17, 1)]),
            ("", "", "rr", vec![(0, 1), (1, 1), (2, 1), (3, 1)]),
            ("", "", "socket", vec![(0, 16), (8, 16), (0, 16), (8, 16)]),
            ("", "", "core:2", vec![(0, 4), (2, 4), (4, 4), (6, 4)]),
            ("", "", "user:0+2,1", vec![(0, 2), (1, 1), (0, 2), (1, 1)]),
            ("", "", "l3cache", vec![(0, 16), (8, 16), (0, 16), (8, 16)]),
            ("socket", "", "", vec![(0, 16), (8, 16), (0, 16), (8, 16)]),
            ("socket", "", "core", vec![(0, 2), (8, 2), (1, 2), (9, 2)]),
            ("socket", "fill", "core", vec![(0, 2), (1, 2), (8, 2), (9, 2)]),
            ("socket", "", "none", vec![none; 4]),
            ("socket:pe=2", "", "", vec![(0, 4), (8, 4), (2, 4), (10, 4)]),
            ("slot:pe=2", "", "", vec![(0, 4), (2, 4), (4, 4), (6, 4)]),
            ("ppr:2:socket", "", "core", vec![(0, 2), (1, 2), (8, 2), (9, 2)]),
            ("ppr:2:socket", "socket", "core", vec![(0, 2), (8, 2), (1, 2), (9, 2)]),
            ("ppr:2:socket:pe=4", "", "", vec![(0, 8), (4, 8), (8, 8), (12, 8)]),
            ("core", "", "numa", vec![(0, 8); 4]),
            ("numa", "", "", vec![(0, 8), (4, 8), (8, 8), (12, 8)]),
            ("core:hwtcpus", "", "hwthread", vec![(0, 1), (1, 1), (2, 1), (3, 1)]),
            ("slot:pe=2:hwtcpus", "", "", vec![(0, 2), (1, 2), (2, 2), (3, 2)]),
            ("pe-list=3,9:ordered", "", "", vec![(3, 2), (9, 2), (3, 2), (9, 2)]),
            ("pe-list=3,9", "", "", vec![(3, 4); 4]),
            ("pe-list=3,9", "", "socket", vec![(3, 2), (9, 2), (3, 2), (9, 2)]),
        ] {
            assert_eq!(bound(map, rank, bind, 4), expected, "{map} {rank} {bind}");
        }
    }

    #[test]
    fn more_ranks_than_parts_start_again() {
        let ranks = bound("", "", "core", 18);
        assert_eq!((ranks[16], ranks[17]), ((0, 2), (1, 2)));
        // More cores than a socket has: all of them.
        assert_eq!(bound("socket:pe=20", "", "", 2), [(0, 16), (8, 16)]);
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let machine = two_sockets();
        let policy = Policy { only: Some(vec![16]), ..Policy::default() };
        let error = bindings(&machine, &policy, 1, &[]).unwrap_err();
        assert!(error.message.contains("no core 16"), "{error}");
        let bind = Bind::Sets(vec![Cpus::from([32])]);
        let policy = Policy { bind, ..Policy::default() };
        let error = bindings(&machine, &policy, 1, &[]).unwrap_err();
        assert!(error.message.contains("hardware thread 32"), "{error}");
    }

    #[test]
    fn descriptions() {
        let cpus = Cpus::from([9, 25]);
        let text = describe(&two_sockets(), 3, Some(&cpus));
        assert_eq!(text, "rank 3 is bound to cpu 9,25 (socket 1, numa 2, core 9)");
    }
}
