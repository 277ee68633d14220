//! What a process wants of one other process, or of itself, in this superstep.

use crate::buffer::{Buffer, Memory};
use crate::fault::Fault;
use crate::prefetch;
use crate::record::{HEADER, Header, Kind, OFFSET, RECORD_ALIGN, Shape};

/// The record that accesses are added to. How many it has follows from its length.
struct Open {
    /// `key` of its header; `CLOSED`: there is none.
    key: u64,
    len: u32,
    /// Bytes of an access in it.
    entry: usize,
    /// Where its header and its body begin.
    header: usize,
    body: usize,
}

/// No record has this key.
const CLOSED: u64 = 0;

#[inline(always)]
fn key(kind: Kind, slot: u32) -> u64 {
    (kind as u64) << 32 | u64::from(slot)
}

/// Accesses in a record, at which a new one is begun when the buffer grows: far below what fits into its header.
const MANY: usize = 1 << 30;

/// A block that travels by itself.
#[derive(Clone, Copy, Debug)]
pub struct Large {
    pub start: *mut u8,
    pub len: usize,
}

pub struct Outbox {
    pub buffer: Buffer,
    open: Open,
    /// Data of large puts and messages, in the order of their records.
    pub large: Vec<Large>,
    /// Where the gets want their bytes, small and large ones, in the order of their records.
    pub wanted: Vec<*mut u8>,
    /// The large ones of them.
    pub large_wanted: Vec<Large>,
    /// Bytes that the answer to the small gets will have.
    pub answer: usize,
}

impl Outbox {
    pub fn new(memory: &'static Memory) -> Outbox {
        Outbox {
            buffer: Buffer::new(memory),
            open: Open { key: CLOSED, len: 0, entry: 1, header: 0, body: 0 },
            large: Vec::new(),
            wanted: Vec::new(),
            large_wanted: Vec::new(),
            answer: 0,
        }
    }
}

impl Outbox {
    /// Whether the open record takes one more access of this kind.
    #[inline(always)]
    fn continues(&self, kind: Kind, slot: u32, len: u32, entry: usize) -> bool {
        let open = &self.open;
        open.key == key(kind, slot) && open.len == len && self.buffer.room() >= entry
    }

    /// Makes sure that there is an open record of this kind, and room for an `entry` in it.
    #[cold]
    #[inline(never)]
    fn open(
        &mut self,
        kind: Kind,
        slot: u32,
        len: u32,
        align: usize,
        entry: usize,
    ) -> Result<(), Fault> {
        let same = self.open.key == key(kind, slot) && self.open.len == len;
        if !same || self.count() >= MANY {
            self.close();
            let at = self.header(kind, slot, len as usize, 0)?;
            self.buffer.align(align)?;
            self.open =
                Open { key: key(kind, slot), len, entry, header: at, body: self.buffer.len() };
        }
        self.buffer.reserve(entry)
    }

    /// Appends a header; returns where it lies.
    fn header(&mut self, kind: Kind, slot: u32, len: usize, count: u32) -> Result<usize, Fault> {
        self.buffer.align(RECORD_ALIGN)?;
        let at = self.buffer.len();
        // Lengths are `int`s of C.
        let bytes = Header { kind, slot, hp: false, len: len as u32, count }.encode();
        // SAFETY: `bytes` is an array of ours.
        unsafe { self.buffer.append(bytes.as_ptr(), HEADER)? };
        Ok(at)
    }

    /// Accesses in the open record.
    fn count(&self) -> usize {
        (self.buffer.len() - self.open.body) / self.open.entry
    }

    /// Ends the open record: writes how many accesses it has.
    pub fn close(&mut self) {
        if self.open.key != CLOSED {
            let count = self.count();
            if self.open.key >> 32 == Kind::Gets as u64 {
                self.answer += count * self.open.len as usize;
            }
            self.open.key = CLOSED;
            // SAFETY: `open` appended a header there, whose last word this is.
            unsafe {
                let place = self.buffer.as_mut_ptr().add(self.open.header + HEADER - 4);
                place.cast::<u32>().write_unaligned(count as u32);
            }
        }
    }

    /// A small put.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`.
    #[inline(always)]
    pub unsafe fn put(
        &mut self,
        slot: u32,
        offset: u32,
        from: *const u8,
        len: u32,
    ) -> Result<(), Fault> {
        let entry = OFFSET + len as usize;
        if !self.continues(Kind::Puts, slot, len, entry) {
            self.open(Kind::Puts, slot, len, 1, entry)?;
        }
        // SAFETY: there is room for an entry; the caller vouches for the source.
        unsafe {
            let end = self.buffer.end();
            prefetch::writing(end);
            end.cast::<u32>().write_unaligned(offset);
            copy_small(from, end.add(OFFSET), len as usize);
            self.buffer.advance(entry);
        }
        Ok(())
    }

    /// A put of a word of 4 or 8 bytes behind others of its kind; false: `put` has to do it.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`.
    #[inline(always)]
    pub unsafe fn put_word(&mut self, slot: u32, offset: u32, from: *const u8, len: u32) -> bool {
        let entry = OFFSET + len as usize;
        if !self.continues(Kind::Puts, slot, len, entry) || (len != 8 && len != 4) {
            return false;
        }
        // SAFETY: there is room for an entry; the caller vouches for the source.
        unsafe {
            let end = self.buffer.end();
            prefetch::writing(end);
            end.cast::<u32>().write_unaligned(offset);
            copy_word(from, end.add(OFFSET), len);
            self.buffer.advance(entry);
        }
        true
    }

    /// A get behind others of its kind; false: `get` has to do it.
    #[inline(always)]
    pub fn get_more(&mut self, slot: u32, offset: u32, into: *mut u8, len: u32) -> bool {
        if !self.continues(Kind::Gets, slot, len, OFFSET)
            || self.wanted.len() == self.wanted.capacity()
        {
            return false;
        }
        // SAFETY: there is room for an entry, and for an address.
        unsafe {
            let end = self.buffer.end();
            prefetch::writing(end);
            end.cast::<u32>().write_unaligned(offset);
            self.buffer.advance(OFFSET);
            let wanted = self.wanted.len();
            self.wanted.as_mut_ptr().add(wanted).write(into);
            self.wanted.set_len(wanted + 1);
        }
        true
    }

    /// A message of a word, with no tag or a word as tag, behind others of its kind; false: `message` has to do it.
    ///
    /// # Safety
    /// As `message`.
    #[inline(always)]
    pub unsafe fn message_word(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: u32,
    ) -> bool {
        let stride = self.open.entry;
        let words = matches!(tag_len, 0 | 4 | 8) && matches!(len, 4 | 8);
        if !words || !self.continues(Kind::Messages, 0, len, stride) {
            return false;
        }
        // SAFETY: there is room for an entry; the caller vouches for the sources.
        unsafe {
            let end = self.buffer.end();
            prefetch::writing(end);
            if tag_len > 0 {
                copy_word(tag, end, tag_len as u32);
            }
            copy_word(from, end.add(stride - RECORD_ALIGN), len);
            self.buffer.advance(stride);
        }
        true
    }

    /// A small get into `len` bytes at `into`.
    #[inline(always)]
    pub fn get(&mut self, slot: u32, offset: u32, into: *mut u8, len: u32) -> Result<(), Fault> {
        if !self.continues(Kind::Gets, slot, len, OFFSET) {
            self.open(Kind::Gets, slot, len, 1, OFFSET)?;
        }
        // SAFETY: there is room for an entry.
        unsafe {
            self.buffer.end().cast::<u32>().write_unaligned(offset);
            self.buffer.advance(OFFSET);
        }
        self.wanted.push(into);
        Ok(())
    }

    /// A small message.
    ///
    /// # Safety
    /// `tag_len` and `len` bytes are readable at `tag` and `from`, where they are not 0.
    #[inline(always)]
    pub unsafe fn message(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: u32,
    ) -> Result<(), Fault> {
        let shape = Shape::of(tag_len, len as usize);
        if !self.continues(Kind::Messages, 0, len, shape.stride) {
            self.open(Kind::Messages, 0, len, shape.align, shape.stride)?;
        }
        // SAFETY: there is room for an entry; the caller vouches for the sources.
        unsafe {
            let end = self.buffer.end();
            prefetch::writing(end);
            copy_small(tag, end, tag_len);
            copy_small(from, end.add(shape.tag), len as usize);
            self.buffer.advance(shape.stride);
        }
        Ok(())
    }

    /// A large put of a block that stays until the end of the superstep.
    pub fn large_put(&mut self, slot: u32, offset: u32, block: Large) -> Result<(), Fault> {
        self.alone(Kind::LargePut, slot, block.len, offset)?;
        self.large.push(block);
        Ok(())
    }

    pub fn large_get(&mut self, slot: u32, offset: u32, into: Large) -> Result<(), Fault> {
        self.alone(Kind::LargeGet, slot, into.len, offset)?;
        self.wanted.push(into.start);
        self.large_wanted.push(into);
        Ok(())
    }

    /// A message whose payload stays until the end of the superstep.
    ///
    /// # Safety
    /// `tag_len` bytes are readable at `tag`.
    pub unsafe fn large_message(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        block: Large,
    ) -> Result<(), Fault> {
        self.alone(Kind::LargeMessage, 0, block.len, 0)?;
        let shape = Shape::of(tag_len, 0);
        self.buffer.align(shape.align)?;
        self.buffer.reserve(shape.stride)?;
        // SAFETY: there is room; the caller vouches for the tag.
        unsafe {
            copy_small(tag, self.buffer.end(), tag_len);
            self.buffer.advance(shape.stride);
        }
        self.large.push(block);
        Ok(())
    }

    /// A record of its own.
    fn alone(&mut self, kind: Kind, slot: u32, len: usize, count: u32) -> Result<(), Fault> {
        self.close();
        self.header(kind, slot, len, count).map(|_| ())
    }

    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.open.key = CLOSED;
        self.large.clear();
        self.wanted.clear();
        self.large_wanted.clear();
        self.answer = 0;
    }
}

/// Copies 4 or 8 bytes.
///
/// # Safety
/// As `copy_nonoverlapping`.
#[inline(always)]
unsafe fn copy_word(from: *const u8, into: *mut u8, len: u32) {
    // SAFETY: the caller vouches for `len` bytes at both.
    unsafe {
        if len == 8 {
            into.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned());
        } else {
            into.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned());
        }
    }
}

/// Copies; words and doubles, which most programs have, without a call.
///
/// # Safety
/// As `copy_nonoverlapping`; `from` may be null when `len` is 0.
#[inline(always)]
pub unsafe fn copy_small(from: *const u8, into: *mut u8, len: usize) {
    // SAFETY: the caller vouches for `len` bytes at both.
    unsafe {
        match len {
            8 => into.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => into.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            0 => {}
            _ => std::ptr::copy_nonoverlapping(from, into, len),
        }
    }
}
