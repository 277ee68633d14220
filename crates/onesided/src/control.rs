//! Control words: beside each exposed region, where all ranks of the host can access them, whatever the memory of
//! the region is.
//!
//! They are an accumulate lock, alone on its lines, and then the words of the model. Those of a region lie in memory
//! that the transport lends, which is cut into blocks. Where nothing can be lent others have none.

use core::ptr::NonNull;
use hpvm_fm::{Fm, Transport};
use hpvm_sync::Padded;
use hpvm_sync::atomic::AtomicU64;
use hpvm_wire::accumulate_lock::AccumulateLock;

/// Bytes before the words of the model: the lock's lines.
const HEAD: usize = size_of::<Padded<AccumulateLock>>();
/// Blocks are multiples of this: no two share a pair of lines.
pub(crate) const UNIT: usize = 128;
/// Lent at a time: a few pages, because few programs expose more than some regions.
const CHUNK: usize = 16 * 1024;
/// Most words that a model may ask for: more than any rank of a host needs of every other.
pub const MAX_WORDS: u32 = 1 << 16;

/// Control words of a region, ours or another rank's, as this process has them.
///
/// Valid as long as the transport that the target was attached with.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    block: NonNull<u8>,
    words: u32,
}

// SAFETY: the block is accessed by atomics only, and stays mapped.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// # Safety
    /// At `block`, a multiple of `UNIT`, lie as many control words, for as long as the value is used.
    pub(crate) unsafe fn new(block: NonNull<u8>, words: u32) -> Words {
        Words { block, words }
    }

    /// Where the block lies.
    pub(crate) fn address(&self) -> usize {
        self.block.as_ptr().addr()
    }

    /// The lock of the region's accumulates.
    pub(crate) fn lock(&self) -> &AccumulateLock {
        // SAFETY: the block begins with it (`new`); all zeros is an open lock.
        unsafe { self.block.cast::<Padded<AccumulateLock>>().as_ref() }
    }

    /// The model's words. They begin on lines of their own, as zeros.
    #[inline(always)]
    pub fn all(&self) -> &[AtomicU64] {
        // SAFETY: the block is this long (`new`), and all access to it is atomic.
        unsafe {
            let first = self.block.add(HEAD).cast::<AtomicU64>();
            core::slice::from_raw_parts(first.as_ptr(), self.words as usize)
        }
    }
}

/// Bytes of a block with `words` words.
pub(crate) fn bytes(words: u32) -> usize {
    (HEAD + words as usize * size_of::<AtomicU64>()).next_multiple_of(UNIT)
}

/// The control words of this rank.
#[derive(Default)]
pub(crate) struct Blocks {
    /// Blocks that others can't access, because nothing can be lent.
    private: Vec<Box<[Padded<[u64; 16]>]>>,
    /// What is left of the last chunk.
    rest: Option<(NonNull<u8>, usize)>,
    /// Blocks that are free again, with their bytes.
    free: Vec<(NonNull<u8>, usize)>,
}

// SAFETY: the pointers are to memory that is lent, which any thread may access.
unsafe impl Send for Blocks {}
// SAFETY: the lists change through `&mut` only.
unsafe impl Sync for Blocks {}

impl Blocks {
    /// A block of zeros, and whether others can access it.
    pub fn take<T: Transport>(&mut self, fm: &mut Fm<T>, words: u32) -> (Words, bool) {
        let words = words.min(MAX_WORDS);
        let shared = self.take_shared(fm, words);
        let block = shared.unwrap_or_else(|| self.take_private(words));
        // SAFETY: a block of this size, lent for as long as the transport lives, or ours for as long as `self`.
        (unsafe { Words::new(block, words) }, shared.is_some())
    }

    fn take_private(&mut self, words: u32) -> NonNull<u8> {
        let units = bytes(words) / UNIT;
        let mut block: Box<[_]> = (0..units).map(|_| Padded([0u64; 16])).collect();
        let memory = block.as_mut_ptr().cast();
        self.private.push(block);
        // SAFETY: the memory of a box that is not empty.
        unsafe { NonNull::new_unchecked(memory) }
    }

    fn take_shared<T: Transport>(&mut self, fm: &mut Fm<T>, words: u32) -> Option<NonNull<u8>> {
        let need = bytes(words);
        if let Some(i) = self.free.iter().position(|(_, bytes)| *bytes == need) {
            let (block, bytes) = self.free.swap_remove(i);
            // SAFETY: a block of ours of as many bytes that nobody uses any more.
            unsafe { block.as_ptr().write_bytes(0, bytes) };
            return Some(block);
        }
        if self.rest.is_none_or(|(_, left)| left < need) {
            let chunk = need.max(CHUNK);
            // What is left of the chunk before is less than a block, and lost.
            self.rest = Some((aligned(fm.transport_mut().lend(chunk + UNIT)?), chunk));
        }
        let (block, left) = self.rest?;
        // SAFETY: `need` is at most what is left of the chunk.
        self.rest = Some((unsafe { block.add(need) }, left - need));
        Some(block)
    }

    /// Nobody uses the block of a withdrawn region any more.
    pub fn give_back(&mut self, words: Words) {
        let address = words.address();
        match self.private.iter().position(|block| block.as_ptr().addr() == address) {
            Some(i) => drop(self.private.swap_remove(i)),
            None => self.free.push((words.block, bytes(words.words))),
        }
    }
}

/// The first multiple of `UNIT` in memory that is longer by as much. Lent memory begins with a page, as a rule.
fn aligned(memory: NonNull<u8>) -> NonNull<u8> {
    let skip = memory.align_offset(UNIT);
    // SAFETY: less than `UNIT` bytes further, which the memory has.
    unsafe { memory.add(skip) }
}
