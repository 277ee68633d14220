//! Bytes of contents, in memory of a store, with a count of who has them.

use crate::store::Kept;
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

/// What is known of a block of memory: in front of the content that it is for.
#[repr(C)]
pub(crate) struct Block {
    /// Where the memory begins that the allocator gave.
    pub start: NonNull<u8>,
    pub link: Link,
    /// How many have the content, and how long it is.
    owners: Cell<usize>,
    len: usize,
}

/// What a block belongs to.
#[derive(Clone, Copy)]
pub(crate) union Link {
    /// While it has a content: where it goes when that is gone; what `Rc::into_raw` gave, for one owner of the store.
    store: NonNull<Kept>,
    /// While it is kept: the one kept before it.
    pub next: Option<NonNull<Block>>,
}

/// Bytes that never change while several have them. A clone is the same bytes.
pub struct Buffer(NonNull<Block>);

impl Buffer {
    /// # Safety
    /// At `block` is memory for a block and `len` bytes behind it, which nobody else has; it is of the store, for a content of this
    /// length, in what was allocated at `start`.
    #[inline(always)]
    pub(crate) unsafe fn new(
        block: NonNull<Block>,
        start: NonNull<u8>,
        len: usize,
        store: Rc<Kept>,
    ) -> Buffer {
        // SAFETY: it comes from an `Rc`, which is never null.
        let store = unsafe { NonNull::new_unchecked(Rc::into_raw(store).cast_mut()) };
        let known = Block { start, link: Link { store }, owners: Cell::new(1), len };
        // SAFETY: the caller's promise.
        unsafe { block.write(known) };
        Buffer(block)
    }

    #[inline(always)]
    fn block(&self) -> &Block {
        // SAFETY: `new` has written it, and it stays as long as it has an owner.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.block().len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether nobody else has these bytes.
    pub fn is_unique(&self) -> bool {
        self.block().owners.get() == 1
    }

    #[inline(always)]
    pub fn address(&self) -> *mut u8 {
        // SAFETY: the content is behind the block, in the same memory.
        unsafe { self.0.add(1).cast().as_ptr() }
    }

    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: our memory of `len` initialized bytes.
        unsafe { core::slice::from_raw_parts(self.address(), self.len()) }
    }

    /// The bytes, to be written. Others have them: `None`.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: as above, and nobody else has a reference.
        self.is_unique()
            .then(|| unsafe { core::slice::from_raw_parts_mut(self.address(), self.len()) })
    }
}

impl Clone for Buffer {
    #[inline(always)]
    fn clone(&self) -> Buffer {
        let owners = &self.block().owners;
        // There is no memory for as many handles as would make this overflow.
        owners.set(owners.get() + 1);
        Buffer(self.0)
    }
}

impl Drop for Buffer {
    #[inline(always)]
    fn drop(&mut self) {
        let Block { link, owners, len, .. } = self.block();
        let (left, len) = (owners.get() - 1, *len);
        owners.set(left);
        if left == 0 {
            // SAFETY: the block has a content, and so a store; `new` got it from `Rc::into_raw`, and gives it back here alone.
            let store = unsafe { Rc::from_raw(link.store.as_ptr().cast_const()) };
            // SAFETY: a block of the store for this length, which is used no more.
            unsafe { store.take_back(self.0, len) };
        }
    }
}
