//! The stream of a view to and from a file: piece by piece, or, for reading, with the holes between pieces
//! read along (data sieving).
//!
//! Nothing is written along. Writing a hole back would undo what another rank writes there at the same
//! time, unless every writer took a lock for every write; so `romio_ds_write` has no effect.

use crate::file::{Extent, File};
use crate::hints::{Hints, When};
use crate::view::View;
use hpvm_mpi::error::Result;
use std::os::fd::AsRawFd;

/// Holes up to this many bytes on average are asked of servers along with the pieces.
const CHEAP_HOLE: u64 = 2048;
/// The same for files in this host's memory: to copy a hole takes less time than a system call for each piece (0.6 to 1 µs).
const CHEAP_HOLE_IN_MEMORY: u64 = 8192;

/// Where pieces with their holes have at least this many bytes on average, the system puts the pieces where they belong, and the
/// holes into one place that stays in the processor's nearest cache. Each part costs it some 50 ns; shorter ones are read as one
/// run and copied.
const LONG_STEP: u64 = 2048;
/// Bytes of that place.
const HOLE_BYTES: usize = 4096;

/// Bytes of a file in this host's memory that are read along with holes at a time, at most: they stay in a processor's own cache until
/// they are copied. Servers are asked for as much as the hint says.
const READ_AT_ONCE: u64 = 512 << 10;

/// Where a piece is not in the host's memory the system is told of so many that follow, and so many bytes of them at most,
/// before anybody waits for the first: the device then reads them side by side.
const PIECES_AHEAD: u64 = 256;
const BYTES_AHEAD: u64 = 16 << 20;

impl File {
    /// Writes all of `data` as the stream of `view` from byte `position` on.
    pub fn write_stream(&self, view: &View, position: u64, data: &[u8]) -> Result<()> {
        let mut done = 0;
        for extent in view.extents(position, data.len() as u64) {
            let end = done + extent.len as usize;
            self.write_at(extent.at, &data[done..end])?;
            done = end;
        }
        Ok(())
    }

    /// Reads the stream of `view` from byte `position` on, until `out` is full or the file ends; says how
    /// much that was.
    pub fn read_stream(
        &self,
        view: &View,
        position: u64,
        out: &mut [u8],
        hints: &Hints,
    ) -> Result<usize> {
        let most = if self.is_remote() { u64::MAX } else { READ_AT_ONCE };
        let most = most.min(hints.sieve_read_bytes);
        let hole = if self.is_remote() { CHEAP_HOLE } else { CHEAP_HOLE_IN_MEMORY };
        let mut extents = view.extents(position, out.len() as u64).peekable();
        let mut done = 0;
        let mut group = Vec::new();
        let mut staging = Vec::new();
        // Up to here in the stream the system has been told.
        let mut told = 0;
        while let Some(first) = extents.next() {
            group.clear();
            group.push(first);
            let span = |last: &Extent| last.at + last.len - first.at;
            let mut useful = first.len;
            while let Some(next) = extents.peek()
                && joins(
                    hints.sieve_reads,
                    (most, hole),
                    (useful + next.len, span(next), group.len() as u64),
                )
            {
                useful += next.len;
                group.push(*next);
                extents.next();
            }
            let part = &mut out[done..done + useful as usize];
            let last = extents.peek().is_none();
            let read = match group.len() {
                1 if last || told > done || self.is_direct() => self.read_at(first.at, part)?,
                1 if self.read_if_there(first.at, part).is_some() => part.len(),
                1 => {
                    told =
                        done + self.tell(view, position + done as u64, (out.len() - done) as u64);
                    self.read_at(first.at, &mut out[done..done + useful as usize])?
                }
                _ => self.read_group(&group, part, &mut staging)?,
            };
            done += read;
            if read as u64 != useful {
                break;
            }
        }
        Ok(done)
    }

    /// Tells the system which pieces are about to be read, from byte `position` of the stream on. Returns how many bytes of
    /// the stream those are.
    fn tell(&self, view: &View, position: u64, len: u64) -> usize {
        let (mut told, mut pieces) = (0, 0);
        for extent in view.extents(position, len) {
            let (Ok(at), Ok(bytes)) = (i64::try_from(extent.at), i64::try_from(extent.len)) else {
                break;
            };
            // SAFETY: plain arguments about a descriptor that is open. Advice cannot fail in a way that matters.
            unsafe {
                libc::posix_fadvise(self.inner.as_raw_fd(), at, bytes, libc::POSIX_FADV_WILLNEED)
            };
            (told, pieces) = (told + extent.len, pieces + 1);
            if pieces == PIECES_AHEAD || told >= BYTES_AHEAD {
                break;
            }
        }
        told as usize
    }

    /// Reads several extents with what lies between them.
    fn read_group(&self, group: &[Extent], out: &mut [u8], staging: &mut Vec<u8>) -> Result<usize> {
        let (first, last) = (group[0], group[group.len() - 1]);
        let span = last.at + last.len - first.at;
        if !self.is_remote() && span >= group.len() as u64 * LONG_STEP {
            return self.scatter_group(group, out);
        }
        staging.resize(span as usize, 0);
        let there = self.read_at(first.at, staging)?;
        let mut done = 0;
        for extent in group {
            let from = (extent.at - first.at) as usize;
            let len = (extent.len as usize).min(there.saturating_sub(from));
            out[done..done + len].copy_from_slice(&staging[from..from + len]);
            done += len;
            if len as u64 != extent.len {
                break;
            }
        }
        Ok(done)
    }

    /// The same, where the system puts each piece into its place; `out` has room for all.
    fn scatter_group(&self, group: &[Extent], out: &mut [u8]) -> Result<usize> {
        let mut hole = [0; HOLE_BYTES];
        let mut parts = Vec::with_capacity(2 * group.len());
        let (mut rest, mut end) = (out, group[0].at);
        for extent in group {
            let mut gap = (extent.at - end) as usize;
            while gap > 0 {
                let len = gap.min(HOLE_BYTES);
                parts.push(libc::iovec { iov_base: hole.as_mut_ptr().cast(), iov_len: len });
                gap -= len;
            }
            let (piece, after) = rest.split_at_mut(extent.len as usize);
            parts.push(libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() });
            (rest, end) = (after, extent.at + extent.len);
        }
        // SAFETY: the parts are the pieces of `out` and, as often as there are holes, memory of our own of which nothing is read.
        let there = unsafe { self.read_parts_at(group[0].at, &mut parts) }?;
        Ok(there_of(group, there as u64) as usize)
    }
}

/// How many bytes of the extents lie in the first `there` bytes from the first one on.
fn there_of(group: &[Extent], there: u64) -> u64 {
    let end = group[0].at + there;
    group.iter().map(|extent| end.saturating_sub(extent.at).min(extent.len)).sum()
}

/// Whether one read of `span` bytes, of at most `most`, serves `pieces` extents and one more, with `useful` bytes together and
/// holes of at most `hole` bytes between them.
fn joins(when: When, (most, hole): (u64, u64), (useful, span, pieces): (u64, u64, u64)) -> bool {
    let room = span <= most;
    match when {
        When::Never => false,
        When::Always => room,
        When::Automatic => room && span - useful <= pieces * hole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amode::{Amode, CREATE, RDWR};
    use crate::view::Representation;
    use hpvm_mpi::datatype::Datatype;
    use proptest::prelude::*;

    proptest! {
        /// What was written through a view is read back through it, by every way of sieving, and nothing
        /// beside it has changed.
        #[test]
        fn streams_come_back(
            pieces in prop::collection::vec((0i64..20, 1i64..9), 1..6),
            tail in 0i64..10,
            position in 0u64..50,
            len in 0usize..200,
        ) {
            let (mut at, mut disps, mut lens) = (0, Vec::new(), Vec::new());
            for (hole, n) in pieces {
                at += hole;
                disps.push(at);
                lens.push(n);
                at += n;
            }
            let listed = Datatype::hindexed(&lens, &disps, Datatype::byte()).unwrap();
            let filetype = Datatype::resized(0, at + tail, &listed).unwrap();
            let view = View::new(3, Datatype::byte(), &filetype, Representation::Native, 1).unwrap();
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("f");
            let file = File::open(&path, Amode::new(RDWR | CREATE).unwrap(), true).unwrap();
            let data: Vec<u8> = (0..len).map(|i| i as u8 | 1).collect();
            file.write_stream(&view, position, &data).unwrap();
            let whole = std::fs::read(&path).unwrap();
            prop_assert_eq!(whole.iter().filter(|b| **b != 0).count(), len);
            for sieve_reads in [When::Automatic, When::Always, When::Never] {
                let hints = Hints { sieve_reads, ..Hints::default() };
                let mut out = vec![0; len + 30];
                let read = file.read_stream(&view, position, &mut out, &hints).unwrap();
                prop_assert_eq!(read, len);
                prop_assert_eq!(&out[..len], &data[..]);
            }
        }
    }

    /// Pieces and holes that the system is given as parts, more of them than one call takes; the file ends in any of them.
    #[test]
    fn pieces_are_put_into_their_places() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("f");
        let file = File::open(&file, Amode::new(RDWR | CREATE).unwrap(), true).unwrap();
        let data: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        file.write_at(0, &data).unwrap();
        let extents = (0..600).map(|i| Extent { at: 3 + i * 5000, len: 100 + i });
        let group: Vec<Extent> = extents.collect();
        let wanted: Vec<u8> = group
            .iter()
            .flat_map(|e| &data[e.at as usize..((e.at + e.len) as usize).min(data.len())])
            .copied()
            .collect();
        let all = group.iter().map(|e| e.len).sum::<u64>() as usize;
        for size in [data.len() as u64, 2_999_000, 1_000_100, 1_000_003, 3, 0] {
            file.set_size(size).unwrap();
            let mut out = vec![255; all];
            let read = file.scatter_group(&group, &mut out).unwrap();
            assert_eq!(read as u64, there_of(&group, size.saturating_sub(3)), "{size}");
            assert_eq!(out[..read], wanted[..read], "{size}");
        }
    }

    /// Pieces too far apart to read what lies between: from the device, to the file's end and no further.
    #[test]
    fn scattered_pieces_come_from_the_device() {
        let home = tempfile::tempdir_in(".").unwrap();
        let path = home.path().join("f");
        let file = File::open(&path, Amode::new(RDWR | CREATE).unwrap(), true).unwrap();
        let piece = Datatype::contiguous(10, Datatype::byte()).unwrap();
        let filetype = Datatype::resized(0, 20_000, &piece).unwrap();
        let view = View::new(7, Datatype::byte(), &filetype, Representation::Native, 1).unwrap();
        let data: Vec<u8> = (0..3000u32).map(|i| (i % 251) as u8).collect();
        file.write_stream(&view, 0, &data).unwrap();
        file.sync().unwrap();
        for (position, wanted) in [(0, 3000), (0, 2000), (25, 2975), (25, 3000), (2990, 20)] {
            // SAFETY: plain arguments about a descriptor that is open.
            unsafe {
                libc::posix_fadvise(file.inner.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED);
            }
            let mut out = vec![255; wanted];
            let read = file.read_stream(&view, position, &mut out, &Hints::default()).unwrap();
            let rest = &data[position as usize..];
            assert_eq!(read, wanted.min(rest.len()));
            assert_eq!(out[..read], rest[..read]);
        }
        assert_eq!(file.tell(&view, 5, 1 << 30), 5 + 255 * 10, "so many pieces");
        assert_eq!(
            file.tell(&View::bytes(), 0, 1 << 40),
            1 << 40,
            "one piece, whatever its length"
        );
        assert_eq!(file.tell(&view, 0, 100), 100, "no more than is asked for");
    }
}
