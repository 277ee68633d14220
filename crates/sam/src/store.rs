//! Memory of contents. What is gone is kept for later contents of about the same length: programs write, read and free objects by
//! phases, and an allocator that gives memory back to the system in between has every page made anew in each phase.

use crate::Fault;
use crate::buffer::{Block, Buffer, Link};
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

/// Contents begin at a cache line, so that every type of a program may lie there.
const ALIGNMENT: usize = 64;
/// What every allocation has. More of an allocator takes it several times as long, so there are some bytes more instead.
const GIVEN: usize = 16;
/// What is known of a block, in front of the content.
const BLOCK: usize = size_of::<Block>();

/// Of lengths of blocks that are kept, in lines: up to 64 MiB.
const OCTAVES: usize = 20;
/// Blocks of four lengths for each doubling, from lines on.
const CLASSES: usize = 4 * (OCTAVES - 1);

/// Where memory of contents comes from and goes to: one for each machine and its carrier.
#[derive(Clone)]
pub struct Store(Rc<Kept>);

pub(crate) struct Kept {
    /// Of each class, what was freed last.
    free: [Cell<Option<NonNull<Block>>>; CLASSES],
    bytes: Cell<usize>,
    limit: Cell<usize>,
}

/// A block of memory: how long, and among which it is kept.
#[derive(Clone, Copy)]
struct Class {
    layout: Layout,
    number: Option<usize>,
}

impl Class {
    /// The class of blocks with room for a content.
    #[inline]
    fn of(len: usize) -> Option<Class> {
        // Lines after the first one.
        let more = len.saturating_sub(1) / ALIGNMENT;
        let (number, lines) = match more {
            0..8 => (more, more + 1),
            _ => {
                let octave = more.ilog2() as usize;
                let quarter = more >> (octave - 2) & 3;
                (4 * (octave - 1) + quarter, (quarter + 5) << (octave - 2))
            }
        };
        let bytes = lines.checked_mul(ALIGNMENT)?.checked_add(ALIGNMENT - GIVEN + BLOCK)?;
        let layout = Layout::from_size_align(bytes, GIVEN).ok()?;
        Some(Class { layout, number: Some(number).filter(|number| *number < CLASSES) })
    }
}

impl Default for Store {
    /// One that keeps nothing before it has a limit.
    fn default() -> Store {
        let free = [const { Cell::new(None) }; CLASSES];
        Store(Rc::new(Kept { free, bytes: Cell::new(0), limit: Cell::new(0) }))
    }
}

impl Store {
    /// Memory for a content, which nobody else has. True: it is zero.
    #[inline(always)]
    fn buffer(
        &self,
        len: usize,
        allocate: unsafe fn(Layout) -> *mut u8,
    ) -> Result<(Buffer, bool), Fault> {
        let class = Class::of(len).ok_or_else(|| Fault::no_memory(len))?;
        if let Some(block) = class.number.and_then(|number| self.0.pop(number, class.layout)) {
            // SAFETY: a block of this class that nobody has, whose start `pop` has left.
            let start = unsafe { block.as_ref().start };
            // SAFETY: as above, with room for `len` bytes behind it.
            return Ok((unsafe { Buffer::new(block, start, len, self.0.clone()) }, false));
        }
        // SAFETY: the layout has a size above 0.
        let start = NonNull::new(unsafe { allocate(class.layout) });
        let start = start.ok_or_else(|| Fault::no_memory(len))?;
        let skip = (start.addr().get() + BLOCK).wrapping_neg() & (ALIGNMENT - 1);
        // SAFETY: what is skipped, `BLOCK` and the lines of the class are no more than the layout has.
        let block = unsafe { start.add(skip).cast::<Block>() };
        // SAFETY: a place for a block at the end of what is skipped, with room for `len` bytes behind it.
        Ok((unsafe { Buffer::new(block, start, len, self.0.clone()) }, true))
    }

    /// A content of zeros.
    ///
    /// # Errors
    /// There is no memory; here and below.
    pub fn zeroed(&self, len: usize) -> Result<Buffer, Fault> {
        let (buffer, is_zero) = self.buffer(len, alloc_zeroed)?;
        if !is_zero {
            // SAFETY: as many bytes, which nobody else has.
            unsafe { buffer.address().write_bytes(0, len) };
        }
        Ok(buffer)
    }

    /// A content of bytes that nobody has written.
    ///
    /// # Safety
    /// All are written before one is read.
    pub unsafe fn unwritten(&self, len: usize) -> Result<Buffer, Fault> {
        Ok(self.buffer(len, alloc)?.0)
    }

    #[inline]
    pub fn copied(&self, bytes: &[u8]) -> Result<Buffer, Fault> {
        // SAFETY: they are written here.
        let buffer = unsafe { self.unwritten(bytes.len())? };
        // SAFETY: memory of as many bytes, which nobody else has.
        unsafe { buffer.address().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(buffer)
    }

    /// Keeps at most so many bytes from now on.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.0.limit.set(bytes);
        if !self.0.has_room(0) {
            self.0.clear();
        }
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        self.0.bytes.get()
    }
}

impl Kept {
    #[inline(always)]
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.get() + bytes <= self.limit.get()
    }

    /// Memory of a content of `len` bytes that is gone.
    ///
    /// # Safety
    /// The block is of a store with these settings, for a content of this length, and nobody uses it any more.
    #[inline]
    pub(crate) unsafe fn take_back(&self, block: NonNull<Block>, len: usize) {
        let Some(class) = Class::of(len) else { return };
        match class.number.filter(|_| self.has_room(class.layout.size())) {
            // SAFETY: the caller's promise; of this class.
            Some(number) => unsafe { self.push(number, block, class.layout) },
            // SAFETY: the caller's promise; it was allocated with this layout.
            None => unsafe { dealloc(block.as_ref().start.as_ptr(), class.layout) },
        }
    }

    /// # Safety
    /// The block is ours, of this layout, which is that of the class; nobody uses it.
    #[inline(always)]
    unsafe fn push(&self, number: usize, mut block: NonNull<Block>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { block.as_mut().link = Link { next: self.free[number].get() } };
        self.free[number].set(Some(block));
        self.bytes.set(self.bytes.get() + layout.size());
    }

    #[inline(always)]
    fn pop(&self, number: usize, layout: Layout) -> Option<NonNull<Block>> {
        let block = self.free[number].get()?;
        // SAFETY: `push` has written it, and nobody has used the block since.
        self.free[number].set(unsafe { block.as_ref().link.next });
        self.bytes.set(self.bytes.get() - layout.size());
        Some(block)
    }

    /// Gives all of it back to the allocator.
    fn clear(&self) {
        for number in 0..CLASSES {
            let Some(class) = Class::of(longest(number)) else { continue };
            while let Some(block) = self.pop(number, class.layout) {
                // SAFETY: a block of this class, which nobody has any more.
                unsafe { dealloc(block.as_ref().start.as_ptr(), class.layout) };
            }
        }
    }
}

/// The longest content that blocks of a class have room for.
fn longest(number: usize) -> usize {
    let lines = match number {
        0..8 => number + 1,
        _ => (number % 4 + 5) << (number / 4 - 1),
    };
    lines * ALIGNMENT
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(limit: usize) -> Store {
        let store = Store::default();
        store.set_limit(limit);
        store
    }

    #[test]
    fn each_class_has_room_for_its_contents_and_little_more() {
        let mut before = 0;
        for len in (0..70_000).chain((17..26).flat_map(|n| [(1 << n) - 1, 1 << n, (1 << n) + 1])) {
            let class = Class::of(len).unwrap();
            let Some(number) = class.number else { panic!("{len} bytes are not kept") };
            let room = class.layout.size() - (ALIGNMENT - GIVEN) - BLOCK;
            assert!(
                number >= before && room >= len && room <= len.max(1).div_ceil(64) * 80,
                "{len}"
            );
            assert_eq!(longest(number), room, "{len}");
            before = number;
        }
        assert_eq!(Class::of(1 << 26).unwrap().number, Some(CLASSES - 1));
        assert!(Class::of((1 << 26) + 1).unwrap().number.is_none());
        assert!(Class::of(usize::MAX).is_none() && Class::of(isize::MAX as usize).is_none());
    }

    #[test]
    fn memory_that_is_gone_serves_again_and_is_zero_where_it_has_to_be() {
        let store = store(1 << 20);
        let first = store.copied(&[7; 6000]).unwrap();
        let at = first.address();
        drop(first);
        assert!(store.kept() >= 6000);
        let again = store.zeroed(6100).unwrap();
        assert_eq!((again.address(), store.kept()), (at, 0));
        assert!(again.bytes().iter().all(|byte| *byte == 0));
        assert_ne!(store.copied(&[1; 6000]).unwrap().address(), at, "it is in use");
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let store = store(10_000);
        let all: Vec<_> = (0..100).map(|_| store.zeroed(1000).unwrap()).collect();
        drop(all);
        assert!((5_000..=10_000).contains(&store.kept()), "{}", store.kept());
        drop(store.zeroed(20_000).unwrap());
        assert!(store.kept() <= 10_000);
        store.set_limit(100);
        assert_eq!(store.kept(), 0);
    }
}
