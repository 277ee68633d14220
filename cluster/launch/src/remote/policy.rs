//! What agents have to know of the user's wishes about binding, as bytes.

use super::codec::{Fault, Reader, Writer};
use crate::place::affinity::Cpus;
use crate::place::policy::{Bind, MapBy, Policy, RankBy};
use crate::place::topology::Level;

/// Appends a policy.
pub fn write(w: &mut Writer, policy: &Policy) {
    let (kind, count, level) = match policy.map {
        MapBy::Slot => (0, 0, Level::Machine),
        MapBy::Node => (1, 0, Level::Machine),
        MapBy::Sequence => (2, 0, Level::Machine),
        MapBy::Part(level) => (3, 0, level),
        MapBy::PerPart { count, level } => (4, count, level),
    };
    w.u8(kind).u32(count).u8(level as u8);
    w.u8(policy.rank as u8).u32(policy.width).u8(u8::from(policy.threads));
    let (kind, level, count) = match policy.bind {
        Bind::Default => (0, Level::Machine, 0),
        Bind::None => (1, Level::Machine, 0),
        Bind::RoundRobin => (2, Level::Machine, 0),
        Bind::Listed => (3, Level::Machine, 0),
        Bind::Sets(_) => (4, Level::Machine, 0),
        Bind::Parts { level, count } => (5, level, count),
    };
    w.u8(kind).u8(level as u8).u32(count);
    let sets = if let Bind::Sets(sets) = &policy.bind { &sets[..] } else { &[] };
    w.list(sets, |w, set| {
        let numbers: Vec<usize> = set.iter().copied().collect();
        list(w, &numbers);
    });
    w.u8(u8::from(policy.only.is_some()));
    list(w, policy.only.as_deref().unwrap_or_default());
}

fn list(w: &mut Writer, numbers: &[usize]) {
    w.list(numbers, |w, number| {
        w.u32(*number as u32);
    });
}

/// Reads a policy back.
pub fn read(r: &mut Reader) -> Result<Policy, Fault> {
    let (kind, count, level) = (r.u8()?, r.u32()?, read_level(r)?);
    let map = match kind {
        0 => MapBy::Slot,
        1 => MapBy::Node,
        2 => MapBy::Sequence,
        3 => MapBy::Part(level),
        4 if count > 0 => MapBy::PerPart { count, level },
        other => return Err(format!("{other} is no way of mapping")),
    };
    let rank = r.u8()?;
    let rank = [RankBy::Mapped, RankBy::Fill, RankBy::Node, RankBy::Parts]
        .into_iter()
        .find(|way| *way as u8 == rank)
        .ok_or_else(|| format!("{rank} is no way of ranking"))?;
    let (width, threads) = (r.u32()?, r.flag()?);
    let (kind, level, count) = (r.u8()?, read_level(r)?, r.u32()?);
    let sets: Vec<Cpus> = r.list(|r| Ok(read_list(r)?.into_iter().collect()))?;
    let bind = match kind {
        0 => Bind::Default,
        1 => Bind::None,
        2 => Bind::RoundRobin,
        3 => Bind::Listed,
        4 => Bind::Sets(sets),
        5 if count > 0 => Bind::Parts { level, count },
        other => return Err(format!("{other} is no way of binding")),
    };
    let (some, only) = (r.flag()?, read_list(r)?);
    let only = some.then_some(only);
    Ok(Policy { map, rank, bind, width, threads, only, ..Policy::default() })
}

fn read_level(r: &mut Reader) -> Result<Level, Fault> {
    let byte = r.u8()?;
    let found = Level::ALL.into_iter().find(|level| *level as u8 == byte);
    found.ok_or_else(|| format!("{byte} is no part of a machine"))
}

fn read_list(r: &mut Reader) -> Result<Vec<usize>, Fault> {
    r.list(|r| Ok(r.u32()? as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut policy = Policy::default();
        for (map, rank, bind) in [
            ("slot", "slot", "none"),
            ("node:pe=2:hwtcpus", "node", "rr"),
            ("ppr:2:socket", "fill", "core:3"),
            ("seq", "span", "user:0+2,1"),
            ("pe-list=0,3:ordered", "slot", "cpu-list"),
            ("l3cache", "slot", "numa"),
        ] {
            policy.map_by("", map).unwrap();
            policy.rank_by("", rank).unwrap();
            policy.bind_to("", bind).unwrap();
            let mut w = Writer::default();
            write(&mut w, &policy);
            let mut r = Reader::new(&w.0);
            assert_eq!(read(&mut r).as_ref(), Ok(&policy), "{map} {bind}");
            assert_eq!(r.end(), Ok(()));
        }
    }
}
