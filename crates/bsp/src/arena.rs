//! Memory for large blocks that live until the end of a superstep, used again in the next.

use crate::buffer::{ALIGN, Buffer};
use crate::fault::Fault;

/// The smallest chunk: large blocks have some 10 KiB, and there are often several.
const CHUNK: usize = 1 << 20;

/// Supersteps in a row that needed less than a quarter of the memory, after which it is given back.
const SMALL_SUPERSTEPS: u32 = 64;

/// Chunks whose blocks stay where they are until `reset`.
#[derive(Default)]
pub struct Arena {
    chunks: Vec<Buffer>,
    used: usize,
    small: u32,
}

impl Arena {
    /// A block of `len` bytes, aligned for any type.
    pub fn take(&mut self, len: usize) -> Result<*mut u8, Fault> {
        let len = len.checked_next_multiple_of(ALIGN).ok_or_else(|| Fault::no_memory(len))?;
        if self.chunks.last().is_none_or(|chunk| chunk.room() < len) {
            let mut chunk = Buffer::default();
            chunk.reserve(len.max(CHUNK).max(self.used))?;
            self.chunks.push(chunk);
        }
        self.used += len;
        let chunk = self.chunks.last_mut().expect("pushed above when there was none");
        let block = chunk.end();
        // SAFETY: there is room, and who takes a block writes it before it reads it.
        unsafe { chunk.advance(len) };
        Ok(block)
    }

    /// A copy of `len` bytes at `from`.
    ///
    /// # Safety
    /// They are readable.
    pub unsafe fn copy(&mut self, from: *const u8, len: usize) -> Result<*mut u8, Fault> {
        let block = self.take(len)?;
        // SAFETY: a new block overlaps nothing; the caller vouches for the source.
        unsafe { std::ptr::copy_nonoverlapping(from, block, len) };
        Ok(block)
    }

    /// Forgets all blocks. The memory stays, as one chunk, for the next superstep.
    pub fn reset(&mut self) -> Result<(), Fault> {
        if self.chunks.is_empty() {
            return Ok(());
        }
        let held: usize = self.chunks.iter().map(|chunk| chunk.len() + chunk.room()).sum();
        self.small = if self.used < held / 4 { self.small + 1 } else { 0 };
        let wanted = std::mem::take(&mut self.used);
        if self.small >= SMALL_SUPERSTEPS {
            (self.chunks, self.small) = (Vec::new(), 0);
        } else if self.chunks.len() > 1 {
            self.chunks.clear();
            let mut chunk = Buffer::default();
            chunk.reserve(wanted)?;
            self.chunks.push(chunk);
        } else if let Some(chunk) = self.chunks.first_mut() {
            chunk.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_where_they_are_and_memory_is_used_again() {
        let mut arena = Arena::default();
        let blocks: Vec<*mut u8> = (0..50).map(|_| arena.take(100_000).expect("memory")).collect();
        for (i, block) in blocks.iter().enumerate() {
            // SAFETY: the block has 100000 bytes.
            unsafe { block.write_bytes(i as u8, 100_000) };
        }
        for (i, block) in blocks.iter().enumerate() {
            assert_eq!(block.align_offset(ALIGN), 0);
            // SAFETY: written above.
            let bytes = unsafe { std::slice::from_raw_parts(*block, 100_000) };
            assert!(bytes.iter().all(|b| *b == i as u8));
        }
        assert!(arena.chunks.len() > 1);
        arena.reset().expect("memory");
        assert_eq!(arena.chunks.len(), 1);
        let first = arena.take(100_000).expect("memory");
        for _ in 1..50 {
            arena.take(100_000).expect("memory");
        }
        assert_eq!(arena.chunks.len(), 1, "one chunk has room for all that the last superstep had");
        arena.reset().expect("memory");
        assert_eq!(arena.take(1).expect("memory"), first);
    }

    #[test]
    fn memory_that_is_not_needed_for_long_is_given_back() {
        let mut arena = Arena::default();
        arena.take(64 << 20).expect("memory");
        for _ in 0..=SMALL_SUPERSTEPS {
            assert_eq!(arena.chunks.len(), 1);
            arena.reset().expect("memory");
        }
        assert_eq!(arena.chunks.len(), 0);
    }
}
