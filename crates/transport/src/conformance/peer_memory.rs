//! Reads and writes of peers' memory copy exactly, or refuse.

use super::{Cluster, Fixture};
use crate::{PeerMemory, PeerMemoryError, Segment, Transport};

/// Bytes around the destination that no copy may touch.
pub(super) const MARGIN: usize = 64;
pub(super) const UNTOUCHED: u8 = 0xee;

/// A read brings the peer's bytes and nothing else, at every size and alignment; where the path
/// is not permitted, it says so.
pub fn read_copies_exactly<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    let source = c.dice.bytes((1 << 20) + 64);
    for (src, reader) in [(1, 0), (0, 1), (0, 0)] {
        for (skip, len) in [(0, 0), (0, 1), (3, 8), (1, 4095), (0, 4096), (5, 65537), (7, 1 << 20)]
        {
            let wanted = &source[skip..skip + len];
            let mut room = vec![UNTOUCHED; len + 2 * MARGIN];
            let possible = c.ends[reader].read_pays(src);
            let done = read_patiently(&mut c.ends[reader], src, wanted, &mut room[MARGIN..]);
            assert!(done || !possible, "read_pays, but {len} bytes never came");
            if done {
                assert!(&room[MARGIN..MARGIN + len] == wanted, "{len} bytes came changed");
            }
            let mut around = room[..MARGIN].iter().chain(&room[MARGIN + len..]);
            assert!(around.all(|b| *b == UNTOUCHED), "a read of {len} bytes wrote beside them");
        }
    }
}

/// Reads `wanted` into the start of `room`; false when each try was refused as not permitted.
fn read_patiently<T: Transport>(end: &mut T, src: u32, wanted: &[u8], room: &mut [u8]) -> bool {
    let remote = wanted.as_ptr().expose_provenance() as u64;
    for _ in 0..1000 {
        // SAFETY: `room` is at least as long as `wanted`.
        match unsafe { end.read(src, remote, room.as_mut_ptr(), wanted.len()) } {
            Ok(()) => return true,
            Err(PeerMemoryError::NotPermitted) => {}
            Err(PeerMemoryError::Gone) => panic!("read from a process that lives: it is no more"),
            Err(PeerMemoryError::Failed(errno)) => panic!("read of readable memory: errno {errno}"),
        }
    }
    false
}

/// An address that is not mapped in the peer gives an error and no crash.
pub fn read_refuses_wild_addresses<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    let mut room = vec![0; 4096];
    for remote in [0, 16, 1 << 63, u64::MAX - 4095, u64::MAX] {
        for _ in 0..20 {
            // SAFETY: `room` is 4096 bytes long.
            let outcome = unsafe { c.ends[0].read(1, remote, room.as_mut_ptr(), room.len()) };
            assert!(outcome.is_err(), "a read of 4096 bytes from {remote:#x} succeeded");
        }
    }
}

/// A write writes our bytes to the peer and nothing else, at every size and alignment. Where a split copy is to
/// be had and reads are permitted, writes are.
pub fn write_copies_exactly<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    let source = c.dice.bytes((1 << 20) + 64);
    for (dst, writer) in [(1, 0), (0, 1), (0, 0)] {
        for (skip, len) in [(0, 0), (0, 1), (3, 8), (1, 4095), (0, 4096), (5, 65537), (7, 1 << 20)]
        {
            let sent = &source[skip..skip + len];
            let mut room = vec![UNTOUCHED; len + 2 * MARGIN];
            let end = &mut c.ends[writer];
            let possible = end.read_pays(dst) && end.split_copy(dst, 0).is_some();
            let done = write_patiently(end, dst, sent, &mut room[MARGIN..]);
            assert!(done || !possible, "a split copy is there, but {len} bytes never went");
            if done {
                assert!(&room[MARGIN..MARGIN + len] == sent, "{len} bytes went changed");
            }
            let mut around = room[..MARGIN].iter().chain(&room[MARGIN + len..]);
            assert!(around.all(|b| *b == UNTOUCHED), "a write of {len} bytes wrote beside them");
        }
    }
}

/// Writes `sent` to the start of `room`; false when each try was refused as not permitted.
fn write_patiently<T: Transport>(end: &mut T, dst: u32, sent: &[u8], room: &mut [u8]) -> bool {
    let remote = room.as_mut_ptr().expose_provenance() as u64;
    for _ in 0..1000 {
        // SAFETY: `sent` is that long, and so is `room`.
        match unsafe { end.write(dst, remote, sent.as_ptr(), sent.len()) } {
            Ok(()) => return true,
            Err(PeerMemoryError::NotPermitted) => {}
            Err(PeerMemoryError::Gone) => panic!("write to a process that lives: it is no more"),
            Err(PeerMemoryError::Failed(errno)) => {
                panic!("write to writable memory: errno {errno}")
            }
        }
    }
    false
}

/// An address that is not mapped in the peer gives an error and no crash.
pub fn write_refuses_wild_addresses<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    let sent = vec![0; 4096];
    for remote in [0, 16, 1 << 63, u64::MAX - 4095, u64::MAX] {
        for _ in 0..20 {
            // SAFETY: `sent` is 4096 bytes long, and nothing is mapped there.
            let outcome = unsafe { c.ends[0].write(1, remote, sent.as_ptr(), sent.len()) };
            assert!(outcome.is_err(), "a write of 4096 bytes to {remote:#x} succeeded");
        }
    }
}
