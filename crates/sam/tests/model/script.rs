//! What each rank does. All is drawn as one list, in which an object is written before it is used; each rank does its
//! own part of the list in order, so that no rank waits for something that never comes.

use super::LONGEST;
use fastrand::Rng;
use hpvm_sam::Name;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub enum Op {
    Write {
        name: Name,
        uses: u64,
    },
    Read {
        name: Name,
    },
    Prefetch {
        name: Name,
    },
    Push {
        name: Name,
        to: u32,
    },
    Rename {
        old: Name,
        new: Name,
        uses: u64,
    },
    /// When so many reads are over.
    Free {
        name: Name,
        reads: u32,
    },
    Make {
        which: u64,
    },
    /// `last`: uses as a value, when there were so many updates.
    Update {
        which: u64,
        last: Option<(u64, u64)>,
    },
    Glance {
        which: u64,
    },
    Refresh {
        which: u64,
    },
    ReadTotal {
        which: u64,
    },
}

pub fn value_name(which: u64) -> Name {
    Name::new(1, which)
}

pub fn accumulator_name(which: u64) -> Name {
    Name::new(2, which)
}

/// The bytes of a value; those of one that another is renamed to have its length.
pub fn content_of(name: Name) -> Vec<u8> {
    let mut rng = Rng::with_seed(name.key ^ 0xc0de);
    let len = rng.usize(..=LONGEST);
    (0..LONGEST)
        .map(|_| rng.u8(..))
        .take(if name.key & RENAMED == 0 { len } else { LONGEST })
        .collect()
}

/// In the key of a value that has the memory of another.
const RENAMED: u64 = 1 << 60;

type Parts = Vec<VecDeque<Op>>;

/// The parts of all ranks, and how many values are left at the end.
pub fn scripts(seed: u64, ranks: u32, operations: usize) -> (Parts, usize) {
    let mut rng = Rng::with_seed(seed ^ 0x0b1ec7);
    let mut list: Vec<(u32, Op)> = Vec::new();
    let mut left = 0;
    let mut which = 0;
    while list.len() < operations {
        which += 1;
        let mut part = match rng.u8(..4) {
            0 | 1 => value(&mut rng, ranks, which, &mut left),
            2 => renamed(&mut rng, ranks, which, &mut left),
            _ => accumulator(&mut rng, ranks, which, &mut left),
        };
        merge(&mut rng, &mut list, &mut part);
    }
    let mut scripts = vec![VecDeque::new(); ranks as usize];
    for (rank, op) in list {
        scripts[rank as usize].push_back(op);
    }
    (scripts, left)
}

/// Puts `part` into `list` at random places, in its order: after the first of a place, so that lists overlap.
fn merge(rng: &mut Rng, list: &mut Vec<(u32, Op)>, part: &mut [(u32, Op)]) {
    let mut at = rng.usize(list.len().saturating_sub(40)..=list.len());
    for entry in part {
        list.insert(at, *entry);
        at = rng.usize(at + 1..=(at + 8).min(list.len()));
    }
}

fn readers(rng: &mut Rng, ranks: u32, name: Name, reads: u32) -> Vec<(u32, Op)> {
    let mut part = Vec::new();
    for _ in 0..reads {
        let rank = rng.u32(..ranks);
        if rng.bool() {
            part.push((rank, Op::Prefetch { name }));
        }
        part.push((rank, Op::Read { name }));
    }
    part
}

fn value(rng: &mut Rng, ranks: u32, which: u64, left: &mut usize) -> Vec<(u32, Op)> {
    let name = value_name(which);
    let owner = rng.u32(..ranks);
    let reads = rng.u32(..6);
    let counted = rng.bool() && reads > 0;
    let uses = if counted { reads.into() } else { 0 };
    let mut part = vec![(owner, Op::Write { name, uses })];
    let pushed = rng.bool() && !counted;
    if pushed {
        part.push((owner, Op::Push { name, to: rng.u32(..ranks) }));
    }
    part.extend(readers(rng, ranks, name, reads));
    if !counted && rng.bool() {
        // The owner must not push what is gone.
        let rank = if pushed { owner } else { rng.u32(..ranks) };
        part.push((rank, Op::Free { name, reads }));
    } else if !counted {
        *left += 1;
    }
    // Asked for before it is written, by one who reads it: it may be gone by then otherwise.
    if let Some((rank, _)) = part.iter().find(|(_, op)| matches!(op, Op::Read { .. }))
        && rng.bool()
        && *rank != owner
    {
        part.insert(0, (*rank, Op::Prefetch { name }));
    }
    part
}

/// A value, and another in its memory.
fn renamed(rng: &mut Rng, ranks: u32, which: u64, left: &mut usize) -> Vec<(u32, Op)> {
    let old = value_name(which | RENAMED);
    let new = value_name(which | RENAMED | 1 << 61);
    let owner = rng.u32(..ranks);
    let reads = rng.u32(..4);
    let mut part = vec![(owner, Op::Write { name: old, uses: u64::from(reads) + 1 })];
    part.extend(readers(rng, ranks, old, reads));
    let again = rng.u32(..4);
    part.push((owner, Op::Rename { old, new, uses: again.into() }));
    part.extend(readers(rng, ranks, new, again));
    *left += usize::from(again == 0);
    part
}

fn accumulator(rng: &mut Rng, ranks: u32, which: u64, left: &mut usize) -> Vec<(u32, Op)> {
    let mut part = vec![(rng.u32(..ranks), Op::Make { which })];
    let updates = rng.u64(..12);
    // Nobody may look at what is gone, and who looks does not wait for what others do.
    let glanced = rng.bool();
    for _ in 0..updates {
        if glanced && rng.bool() {
            part.push((rng.u32(..ranks), Op::Glance { which }));
        }
        if rng.u8(..4) == 0 {
            part.push((rng.u32(..ranks), Op::Refresh { which }));
        }
        part.push((rng.u32(..ranks), Op::Update { which, last: None }));
    }
    if rng.bool() {
        return part;
    }
    let reads = rng.u64(..5);
    let uses = if glanced { 0 } else { reads };
    part.push((rng.u32(..ranks), Op::Update { which, last: Some((uses, updates + 1)) }));
    for _ in 0..reads {
        part.push((rng.u32(..ranks), Op::ReadTotal { which }));
    }
    *left += usize::from(uses == 0);
    part
}
