//! Bytes that grow at their end, aligned to 16, never initialised for nothing.

use crate::fault::Fault;
use std::alloc::{Layout, alloc, dealloc};

/// What any type of C may need.
pub const ALIGN: usize = 16;

/// What a buffer begins with: most supersteps have less for one process.
const INITIAL_BYTES: usize = 4096;

/// Where buffers get their memory.
#[derive(Debug)]
pub struct Memory {
    /// So many bytes, aligned to [`ALIGN`]; null: they are not to be had.
    pub take: fn(bytes: usize) -> *mut u8,
    /// Gives back what `take` returned, with the same size.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub give: unsafe fn(start: *mut u8, bytes: usize),
}

/// Memory of the process alone.
pub static PRIVATE: Memory = Memory { take, give };

fn take(bytes: usize) -> *mut u8 {
    match Layout::from_size_align(bytes, ALIGN) {
        // SAFETY: the layout has a size.
        Ok(layout) if bytes > 0 => unsafe { alloc(layout) },
        _ => std::ptr::null_mut(),
    }
}

unsafe fn give(start: *mut u8, bytes: usize) {
    // SAFETY: `take` returned it, with this layout.
    unsafe { dealloc(start, Layout::from_size_align_unchecked(bytes, ALIGN)) };
}

pub struct Buffer {
    start: *mut u8,
    len: usize,
    /// 0: the memory, if there is any, is somebody else's.
    capacity: usize,
    memory: &'static Memory,
}

// SAFETY: the memory belongs to the buffer alone.
unsafe impl Send for Buffer {}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer::new(&PRIVATE)
    }
}

impl Buffer {
    pub fn new(memory: &'static Memory) -> Buffer {
        Buffer { start: std::ptr::dangling_mut::<u128>().cast(), len: 0, capacity: 0, memory }
    }

    /// Bytes that lie elsewhere, to be read.
    ///
    /// # Safety
    /// They are readable as long as the buffer is used, and nobody changes them meanwhile.
    pub unsafe fn view(start: *mut u8, len: usize) -> Buffer {
        Buffer { start, len, capacity: 0, memory: &PRIVATE }
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that fit before it has to grow.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.capacity - self.len
    }

    /// Bytes that it may have without growing.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    pub fn as_ptr(&self) -> *const u8 {
        self.start
    }

    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start
    }

    /// Where the next byte goes; as many as `room()` may be written there.
    #[inline(always)]
    pub fn end(&mut self) -> *mut u8 {
        // SAFETY: `len` never passes `capacity`.
        unsafe { self.start.add(self.len) }
    }

    /// Takes `more` written bytes into the buffer.
    ///
    /// # Safety
    /// They were written at `end()`, and there was room for them.
    #[inline(always)]
    pub unsafe fn advance(&mut self, more: usize) {
        self.len += more;
    }

    /// Forgets what lies from byte `len` on.
    pub fn shorten(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes were written (`advance`'s contract).
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// Makes room for `more` bytes.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) -> Result<(), Fault> {
        if self.room() >= more { Ok(()) } else { self.grow(more) }
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), Fault> {
        let wanted = self.len.checked_add(more).ok_or_else(|| Fault::no_memory(more))?;
        if wanted <= self.capacity {
            return Ok(());
        }
        let capacity = wanted.max(self.capacity * 2).max(INITIAL_BYTES).next_multiple_of(ALIGN);
        let start = (self.memory.take)(capacity);
        if start.is_null() {
            return Err(Fault::no_memory(capacity));
        }
        // SAFETY: `len` bytes were written, and fit into the new memory, which overlaps nothing.
        unsafe { std::ptr::copy_nonoverlapping(self.start, start, self.len) };
        self.release();
        (self.start, self.capacity) = (start, capacity);
        Ok(())
    }

    fn release(&mut self) {
        if self.capacity > 0 {
            // SAFETY: `reserve` took it, with this size; nobody else has it.
            unsafe { (self.memory.give)(self.start, self.capacity) };
        }
    }

    /// Makes it `len` bytes, of which nothing is known until somebody writes them.
    pub fn prepare(&mut self, len: usize) -> Result<*mut u8, Fault> {
        self.clear();
        self.reserve(len)?;
        self.len = len;
        Ok(self.start)
    }

    /// Bytes of zero up to the next multiple of `align`.
    pub fn align(&mut self, align: usize) -> Result<(), Fault> {
        let gap = self.len.next_multiple_of(align) - self.len;
        self.reserve(gap)?;
        // SAFETY: there is room for the gap.
        unsafe {
            self.end().write_bytes(0, gap);
            self.advance(gap);
        }
        Ok(())
    }

    /// # Safety
    /// `from` has `len` readable bytes outside of this buffer.
    pub unsafe fn append(&mut self, from: *const u8, len: usize) -> Result<(), Fault> {
        self.reserve(len)?;
        // SAFETY: there is room; the caller vouches for the source.
        unsafe {
            std::ptr::copy_nonoverlapping(from, self.end(), len);
            self.advance(len);
        }
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
    }
}
