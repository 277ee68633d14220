//! What a process wants of one other process, or of itself, in this superstep.

use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::record::{HEADER, Header, Kind, OFFSET, RECORD_ALIGN, Shape};

/// The record that accesses are added to.
struct Open {
    header: Header,
    /// Where the header lies in the buffer; `None`: there is no such record.
    at: Option<usize>,
}

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

impl Default for Outbox {
    fn default() -> Outbox {
        let header = Header { kind: Kind::Puts, slot: 0, len: 0, count: 0 };
        Outbox {
            buffer: Buffer::default(),
            open: Open { header, at: None },
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
        let open = &self.open.header;
        open.kind == kind
            && open.slot == slot
            && open.len == len
            && self.open.at.is_some()
            && open.count < u32::MAX
            && self.buffer.room() >= entry
    }

    /// Makes sure that there is an open record of this kind, and room for an `entry` in it.
    #[cold]
    fn open(
        &mut self,
        kind: Kind,
        slot: u32,
        len: u32,
        align: usize,
        entry: usize,
    ) -> Result<(), Fault> {
        let open = self.open.header;
        let same =
            open.kind == kind && open.slot == slot && open.len == len && open.count < u32::MAX;
        if !(same && self.open.at.is_some()) {
            self.close();
            self.buffer.align(RECORD_ALIGN)?;
            let header = Header { kind, slot, len, count: 0 };
            self.open = Open { header, at: Some(self.buffer.len()) };
            let bytes = header.encode();
            // SAFETY: `bytes` is an array of ours.
            unsafe { self.buffer.append(bytes.as_ptr(), HEADER)? };
            self.buffer.align(align)?;
        }
        self.buffer.reserve(entry)
    }

    /// Ends the open record: writes how many accesses it has.
    pub fn close(&mut self) {
        if let Some(at) = self.open.at.take() {
            let bytes = self.open.header.encode();
            // SAFETY: `open` appended a header there.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    bytes.as_ptr(),
                    self.buffer.as_mut_ptr().add(at),
                    HEADER,
                );
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
            end.cast::<u32>().write_unaligned(offset);
            copy_small(from, end.add(OFFSET), len as usize);
            self.buffer.advance(entry);
        }
        self.open.header.count += 1;
        Ok(())
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
        self.open.header.count += 1;
        self.wanted.push(into);
        self.answer += len as usize;
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
            copy_small(tag, end, tag_len);
            copy_small(from, end.add(shape.tag), len as usize);
            self.buffer.advance(shape.stride);
        }
        self.open.header.count += 1;
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
        self.buffer.align(RECORD_ALIGN)?;
        // Lengths are `int`s of C.
        let bytes = Header { kind, slot, len: len as u32, count }.encode();
        // SAFETY: `bytes` is an array of ours.
        unsafe { self.buffer.append(bytes.as_ptr(), HEADER) }
    }

    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.open.at = None;
        self.large.clear();
        self.wanted.clear();
        self.large_wanted.clear();
        self.answer = 0;
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
