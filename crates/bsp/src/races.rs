//! `HPVM_CHECK`: accesses of one superstep to the same bytes whose outcome the standard leaves open.
//!
//! A process has all accesses to its memory before it answers or writes any. Buffered gets are read before anything is
//! written, and the puts of one process are written in their order; so what races is puts of two processes, and whatever
//! meets an unbuffered put, or a put that meets an unbuffered get.

use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::record::{Kind, OFFSET, Record, Records, offset};
use crate::registry::Registry;
use hpvm_conflicts::{Log, Use};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Put,
    HpPut,
    Get,
    HpGet,
}

impl hpvm_conflicts::Access for Access {
    fn clashes(self, other: Access, same_origin: bool) -> bool {
        match (self, other) {
            (Access::Get | Access::HpGet, Access::Get | Access::HpGet) => false,
            (Access::Put, Access::Put) => !same_origin,
            (Access::Put, Access::Get) | (Access::Get, Access::Put) => false,
            _ => true,
        }
    }

    fn is_put(self) -> bool {
        matches!(self, Access::Put | Access::HpPut)
    }
}

impl Access {
    fn of(record: &Record) -> Option<Access> {
        match (record.header.kind, record.header.hp) {
            (Kind::Puts | Kind::LargePut, false) => Some(Access::Put),
            (Kind::Puts | Kind::LargePut, true) => Some(Access::HpPut),
            (Kind::Gets | Kind::LargeGet, false) => Some(Access::Get),
            (Kind::Gets | Kind::LargeGet, true) => Some(Access::HpGet),
            (Kind::Messages | Kind::LargeMessage, _) => None,
        }
    }

    fn shown(self) -> &'static str {
        match self {
            Access::Put => "a bsp_put",
            Access::HpPut => "a bsp_hpput",
            Access::Get => "a bsp_get",
            Access::HpGet => "a bsp_hpget",
        }
    }
}

/// Looks at what all processes access of this one's memory; `inbox` has their packed messages, with tags of `tag` bytes.
pub fn look(registry: &Registry, tag: usize, inbox: &[Buffer]) -> Result<(), Fault> {
    let mut log = Log::default();
    for (peer, buffer) in inbox.iter().enumerate() {
        for record in Records::new(buffer.as_slice(), tag).flatten() {
            add(&mut log, registry, peer, buffer, &record);
        }
    }
    match log.conflict() {
        Some(pair) => Err(fault(registry, inbox, tag, &pair)),
        None => Ok(()),
    }
}

/// Adds the accesses of a record; what lies outside of our memory is found by who moves it.
fn add(log: &mut Log<Access>, registry: &Registry, peer: usize, buffer: &Buffer, record: &Record) {
    let Some(access) = Access::of(record) else { return };
    let Some((base, _)) = registry.whole(record.header.slot) else { return };
    let mut note = |at: usize| {
        let first = base.addr() as u64 + at as u64;
        let end = first + record.len() as u64;
        log.note(Use { first, end, origin: peer as u32, access });
    };
    let entry = match record.header.kind {
        Kind::Puts => OFFSET + record.len(),
        Kind::Gets => OFFSET,
        _ => return note(record.count()),
    };
    let body = &buffer.as_slice()[record.body..record.body + record.body_len];
    body.chunks_exact(entry).for_each(|entry| note(offset(entry)));
}

#[cold]
fn fault(
    registry: &Registry,
    inbox: &[Buffer],
    tag: usize,
    (a, b): &(Use<Access>, Use<Access>),
) -> Fault {
    let (first, last) = (a.first.max(b.first), a.end.min(b.end) - 1);
    let slots = inbox.iter().flat_map(|buffer| {
        Records::new(buffer.as_slice(), tag).flatten().map(|record| record.header.slot)
    });
    let blocks = slots.filter_map(|slot| registry.whole(slot));
    let mut blocks = blocks.map(|(base, size)| (base.addr() as u64, size as u64));
    let block = blocks.find(|(base, size)| *base <= first && last < base + size);
    let (base, size) = block.unwrap_or((first, last + 1 - first));
    Fault::new(format!(
        "{} of process {} and {} of process {} both access bytes {} to {} of the block of {size} bytes that is registered at \
         {base:#x} here, in one superstep; the standard leaves open what comes of that",
        a.access.shown(),
        a.origin,
        b.access.shown(),
        b.origin,
        first - base,
        last - base,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_conflicts::Access as _;

    #[test]
    fn accesses_meet_as_the_standard_says() {
        let all = [Access::Put, Access::HpPut, Access::Get, Access::HpGet];
        for (a, b) in all.iter().flat_map(|a| all.map(|b| (*a, b))) {
            assert_eq!(a.clashes(b, false), b.clashes(a, false));
            assert_eq!(a.clashes(b, true), b.clashes(a, true));
            assert!(a.is_put() || b.is_put() || !a.clashes(b, false), "{a:?} and {b:?} only read");
        }
        assert!(Access::Put.clashes(Access::Put, false) && !Access::Put.clashes(Access::Put, true));
        assert!(!Access::Put.clashes(Access::Get, false));
        assert!(Access::HpPut.clashes(Access::HpPut, true));
        assert!(
            Access::HpPut.clashes(Access::Get, false) && Access::Put.clashes(Access::HpGet, true)
        );
    }
}
