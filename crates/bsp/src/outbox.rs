//! What a process wants of one other process, or of itself, in this superstep.

use crate::buffer::Buffer;
use crate::fault::Fault;
use crate::record::{HEADER, Header, Kind, OFFSET, RECORD_ALIGN, Shape};
use crate::registry::Block;
use crate::tip::{Alike, Tip, copy_small};

/// The record that the tip's accesses are added to.
#[derive(Clone, Copy)]
struct Open {
    alike: Alike,
    /// Our address of the block.
    base: *const u8,
    slot: u32,
    /// Where its header and its body begin.
    header: usize,
    body: usize,
    /// The offset of its first access.
    first: u32,
}

/// Accesses in a record, at which a new one is begun when the buffer grows: far below what fits into its header.
const RECORD_ACCESSES_MAX: usize = 1 << 30;

/// A row of fewer accesses that breaks off costs more as a record of its own than with an offset for each access.
const RECORD_ACCESSES_MIN: usize = 16;

/// What messages are written to.
const QUEUE: Block = Block { slot: 0, size: 0, base: std::ptr::null() };

/// A block that travels by itself.
#[derive(Clone, Copy, Debug)]
pub struct Large {
    pub start: *mut u8,
    pub len: usize,
}

/// Programs find the tip of each process at the beginning of its outbox, and know from where to where it is.
#[derive(Default)]
#[repr(C, align(256))]
pub struct Outbox {
    tip: Tip,
    /// Rows of so many bytes and more travel as large blocks do.
    large_bytes: usize,
    pub buffer: Buffer,
    /// `None`: the tip takes nothing.
    open: Option<Open>,
    /// Where the gets want their bytes, small and large ones, in the order of their records.
    pub wanted: Vec<*mut u8>,
    /// Data of large puts and messages, in the order of their records.
    pub large: Vec<Large>,
    /// The large ones of the gets.
    pub large_wanted: Vec<Large>,
    /// Bytes that the answer to the small gets will have.
    pub answer: usize,
}

/// Bytes from one outbox to the next.
pub const OUTBOX_BYTES: usize = 512;
const _: () = assert!(size_of::<Outbox>() == OUTBOX_BYTES);

impl Outbox {
    /// For this process; rows of `large` bytes and more will travel by themselves.
    pub fn new(process: usize, large: usize) -> Outbox {
        // Processes are `int`s of C.
        Outbox { tip: Tip::closed(process as u32), large_bytes: large, ..Outbox::default() }
    }

    /// A put of a word like the last one; false: `put` has to do it.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`.
    #[inline(always)]
    pub unsafe fn put_again(
        &mut self,
        base: *const u8,
        offset: i32,
        from: *const u8,
        len: i32,
    ) -> bool {
        // SAFETY: the caller vouches for the source.
        unsafe { self.tip.put(base, offset as u32, from, len as u32) }
    }

    /// An unbuffered put of a word like the last one; false: `hpput` has to do it.
    ///
    /// # Safety
    /// As `hpput`.
    #[inline(always)]
    pub unsafe fn hpput_again(
        &mut self,
        base: *const u8,
        offset: i32,
        from: *const u8,
        len: i32,
    ) -> bool {
        // SAFETY: the caller vouches for the source.
        unsafe { self.tip.hpput(base, offset as u32, from, len as u32) }
    }

    /// A get like the last one; false: `get` has to do it.
    #[inline(always)]
    pub fn get_again(&mut self, base: *const u8, offset: i32, into: *mut u8, len: i32) -> bool {
        self.tip.get(base, offset as u32, into, len as u32)
    }

    /// A message of a word like the last one; false: `message` has to do it.
    ///
    /// # Safety
    /// As `message`.
    #[inline(always)]
    pub unsafe fn message_again(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: i32,
    ) -> bool {
        // SAFETY: the caller vouches for the sources.
        unsafe { self.tip.message(tag, tag_len, from, len as u32) }
    }

    /// A small put: `len` bytes, at least one, at an offset at which the block has them.
    ///
    /// # Safety
    /// They are readable at `from`.
    pub unsafe fn put(
        &mut self,
        block: Block,
        offset: u32,
        from: *const u8,
        len: u32,
        hp: bool,
    ) -> Result<(), Fault> {
        let alike = Alike { kind: Kind::Puts, len, hp, later: false };
        loop {
            let goes_on = self.is_open(alike, block.base);
            // SAFETY: the caller vouches for the source, and the tip's accesses are as long.
            if goes_on && unsafe { self.tip.add_put(offset, from, len as usize) } {
                return Ok(());
            }
            self.make_room(goes_on, alike, block, offset, std::ptr::null_mut())?;
        }
    }

    /// A small unbuffered put, as `put`.
    ///
    /// # Safety
    /// The bytes are readable at `from` until the message is complete.
    pub unsafe fn hpput(
        &mut self,
        block: Block,
        offset: u32,
        from: *const u8,
        len: u32,
    ) -> Result<(), Fault> {
        let alike = Alike { kind: Kind::Puts, len, hp: false, later: true };
        loop {
            let goes_on = self.is_open(alike, block.base);
            // SAFETY: the caller vouches for the source, and the tip's accesses are as long.
            if goes_on && unsafe { self.tip.add_hpput(offset, from, len as usize) } {
                return Ok(());
            }
            self.make_room(goes_on, alike, block, offset, from.cast_mut())?;
        }
    }

    /// A small get into `len` bytes, at least one, at `into`, as `put`.
    pub fn get(
        &mut self,
        block: Block,
        offset: u32,
        into: *mut u8,
        len: u32,
        hp: bool,
    ) -> Result<(), Fault> {
        let alike = Alike { kind: Kind::Gets, len, hp, later: false };
        loop {
            let goes_on = self.is_open(alike, block.base);
            if goes_on && self.tip.add_get(offset, into, len) {
                return Ok(());
            }
            self.make_room(goes_on, alike, block, offset, into)?;
        }
    }

    /// A small message.
    ///
    /// # Safety
    /// `tag_len` and `len` bytes are readable at `tag` and `from`, where they are not 0.
    pub unsafe fn message(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: u32,
    ) -> Result<(), Fault> {
        let (shape, bytes) = (Shape::of(tag_len, len as usize), len as usize);
        let alike = Alike { kind: Kind::Messages, len, hp: false, later: false };
        loop {
            let goes_on = self.is_open(alike, QUEUE.base);
            // SAFETY: the caller vouches for the sources; the shape follows from the lengths, and the tags of a superstep
            // have one length.
            let added =
                goes_on && unsafe { self.tip.add_message(tag, tag_len, from, bytes, shape.tag) };
            if added {
                return Ok(());
            }
            match self.open {
                Some(open) if goes_on && self.count(&open) < RECORD_ACCESSES_MAX => {
                    self.settle(&open)
                }
                _ => self.begin(alike, QUEUE, shape.align, 0)?,
            }
            self.spread(alike, QUEUE, shape.stride)?;
        }
    }

    /// The first of a row of accesses that the block does not have: the block, the access, and the function. Of a row that moves
    /// nothing until its record is closed this is found when another call is made, or at the synchronisation.
    pub fn gone_too_far(&self) -> Option<(*const u8, u32, u32, &'static str)> {
        let open = self.open?;
        let bad = self.tip.gone_too_far(open.first, open.alike.len)?;
        let function = if open.alike.later { "bsp_hpput" } else { "bsp_get or bsp_hpget" };
        Some((open.base, bad, open.alike.len, function))
    }

    /// Whether the open record is of accesses like this.
    fn is_open(&self, alike: Alike, base: *const u8) -> bool {
        self.open.as_ref().is_some_and(|open| open.base == base && open.alike == alike)
    }

    /// Makes sure that the tip takes an access, which the open record may be of. `local` is where a get wants its bytes, or
    /// where those of a put are that stay there.
    fn make_room(
        &mut self,
        goes_on: bool,
        alike: Alike,
        block: Block,
        offset: u32,
        local: *mut u8,
    ) -> Result<(), Fault> {
        let puts = alike.kind == Kind::Puts && !alike.later;
        match self.open.filter(|_| goes_on) {
            Some(open) if self.tip.in_a_row() => {
                if offset == self.tip.next() && puts {
                    self.settle(&open);
                    return self.lengthen(alike, block, offset);
                }
                if self.row(&open) / (alike.len as usize) < RECORD_ACCESSES_MIN {
                    return self.break_off(&open, block);
                }
            }
            Some(open) if self.count(&open) < RECORD_ACCESSES_MAX => {
                let entry = self.tip.entry();
                self.settle(&open);
                return self.spread(alike, block, entry);
            }
            _ => {}
        }
        self.begin(alike, block, 1, offset)?;
        // SAFETY: an array of ours.
        unsafe { self.buffer.append(offset.to_ne_bytes().as_ptr(), OFFSET)? };
        if puts {
            return self.lengthen(alike, block, offset);
        }
        if !alike.later {
            self.wanted.push(local);
        }
        let (end, origin) = (block.size + 1 - alike.len, local.wrapping_sub(offset as usize));
        self.tip.row(alike, block.base, offset, end, origin);
        Ok(())
    }

    /// Bytes that are in a row.
    fn row(&self, open: &Open) -> usize {
        (self.tip.next() - open.first) as usize
    }

    /// Accesses that are not in a row.
    fn count(&self, open: &Open) -> usize {
        let body = self.buffer.as_ptr().addr() + open.body;
        (self.tip.place().addr() - body) / self.tip.entry()
    }

    /// Makes room behind a row of puts, of which `next` is the offset that goes on.
    fn lengthen(&mut self, alike: Alike, block: Block, next: u32) -> Result<(), Fault> {
        self.buffer.reserve(alike.len as usize)?;
        let origin = self.buffer.end().wrapping_sub(next as usize);
        // Of the block, and of the buffer.
        let room = u32::try_from(self.buffer.room()).unwrap_or(u32::MAX);
        let bytes = block.size.min(next.saturating_add(room));
        self.tip.row(alike, block.base, next, bytes + 1 - alike.len, origin);
        Ok(())
    }

    /// Gives each access of a row an offset of its own.
    fn break_off(&mut self, open: &Open, block: Block) -> Result<(), Fault> {
        let (alike, len) = (open.alike, open.alike.len as usize);
        let count = self.row(open) / len;
        self.settle(open);
        self.bring(open)?;
        let (data, entry) = match alike.kind {
            Kind::Puts => (len, OFFSET + len),
            _ => (0, OFFSET),
        };
        if data == 0 {
            let start = self.wanted.pop().unwrap_or_default();
            self.wanted.extend((0..count).map(|i| start.wrapping_add(i * len)));
        }
        // The first access has its offset.
        let more = count.saturating_sub(1) * OFFSET;
        self.buffer.reserve(more)?;
        for i in (1..count).rev() {
            let offset = open.first + (i * len) as u32;
            // SAFETY: the buffer has `count * data` bytes behind the first offset, and room for an offset for each of the
            // others; from behind, none is overwritten before it has moved.
            unsafe {
                let body = self.buffer.as_mut_ptr().add(open.body);
                std::ptr::copy(body.add(OFFSET + i * data), body.add(i * entry + OFFSET), data);
                body.add(i * entry).cast::<u32>().write_unaligned(offset);
            }
        }
        // SAFETY: written above.
        unsafe { self.buffer.advance(more) };
        self.spread(alike, block, entry)
    }

    /// Makes room for accesses with offsets, or messages, of `entry` bytes.
    fn spread(&mut self, alike: Alike, block: Block, entry: usize) -> Result<(), Fault> {
        self.buffer.reserve(entry)?;
        let (place, mut room) = (self.buffer.end(), self.buffer.room());
        if alike.kind == Kind::Gets {
            self.wanted.reserve(1);
            room = room.min((self.wanted.capacity() - self.wanted.len()) * entry);
        }
        let limit = place.wrapping_add(room - entry);
        let reach = block.size.saturating_sub(alike.len);
        let wanted = self.wanted.spare_capacity_mut().as_mut_ptr().cast();
        self.tip.spread(alike, block.base, reach, entry as u32, (place, limit), wanted);
        Ok(())
    }

    /// Takes what was written by the tip into the buffer.
    fn settle(&mut self, open: &Open) {
        let end = match self.tip.in_a_row() {
            true if open.alike.kind == Kind::Puts && !open.alike.later => self.tip.next_place(),
            true => return,
            false => self.tip.place(),
        };
        let more = end.addr() - self.buffer.end().addr();
        // SAFETY: the tip has written up to there.
        unsafe { self.buffer.advance(more) };
        if open.alike.kind == Kind::Gets {
            let len = self.wanted.len() + more / self.tip.entry();
            // SAFETY: for each offset the tip has written an address, for which `spread` has made room.
            unsafe { self.wanted.set_len(len) };
        }
    }

    /// Copies the bytes of a row of puts that have stayed where they were.
    fn bring(&mut self, open: &Open) -> Result<(), Fault> {
        if !open.alike.later || !self.tip.in_a_row() {
            return Ok(());
        }
        // SAFETY: who called `hpput` has promised that they stay.
        unsafe { self.buffer.append(self.first_place(open), self.row(open)) }
    }

    /// Where the bytes of the first access of a row are that has nothing in the message.
    fn first_place(&self, open: &Open) -> *mut u8 {
        self.tip.next_place().wrapping_sub(self.row(open))
    }

    /// Begins a record, without a tip.
    fn begin(&mut self, alike: Alike, block: Block, align: usize, first: u32) -> Result<(), Fault> {
        self.close()?;
        let header = self.header(alike.kind, block.slot, alike.len as usize, 0)?;
        if align > 1 {
            self.buffer.align(align)?;
        }
        let (base, slot, body) = (block.base, block.slot, self.buffer.len());
        self.open = Some(Open { alike, base, slot, header, body, first });
        Ok(())
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

    /// Ends the open record: writes how many accesses of which length it has. A long row of which the message has nothing
    /// becomes a large block.
    pub fn close(&mut self) -> Result<(), Fault> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let (len, count) = match self.tip.in_a_row() {
            true => (self.row(&open), 1),
            false => (open.alike.len as usize, self.count(&open)),
        };
        let stays = open.alike.later || open.alike.kind == Kind::Gets;
        if self.tip.in_a_row() && stays && len >= self.large_bytes {
            self.row_alone(&open, Large { start: self.first_place(&open), len });
        } else {
            self.settle(&open);
            self.bring(&open)?;
            if open.alike.kind == Kind::Gets {
                self.answer += count * len;
            }
            self.rewrite(&open, open.alike.kind, len, count);
        }
        self.tip.close();
        Ok(())
    }

    /// Makes a row's record that of a large block.
    fn row_alone(&mut self, open: &Open, block: Large) {
        // Of the row the message has the first offset only, which goes into the header.
        self.buffer.shorten(open.body);
        let kind = if open.alike.later { Kind::LargePut } else { Kind::LargeGet };
        self.rewrite(open, kind, block.len, open.first as usize);
        if open.alike.later {
            self.large.push(block);
        } else {
            self.large_wanted.push(block);
        }
    }

    /// Writes the header of a record again.
    fn rewrite(&mut self, open: &Open, kind: Kind, len: usize, count: usize) {
        // The slot of an unbuffered access says so.
        let (slot, len, count) = (open.slot, len as u32, count as u32);
        let bytes = Header { kind, slot, hp: false, len, count }.encode();
        // SAFETY: `begin` appended a header there.
        unsafe {
            let place = self.buffer.as_mut_ptr().add(open.header);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, HEADER);
        }
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
        self.close()?;
        self.header(kind, slot, len, count).map(|_| ())
    }

    /// Forgets all, and gives back the memory.
    pub fn leave(&mut self) {
        self.clear();
        (self.buffer, self.wanted) = (Buffer::default(), Vec::new());
        (self.large, self.large_wanted) = (Vec::new(), Vec::new());
    }

    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.tip.close();
        self.open = None;
        self.large.clear();
        self.wanted.clear();
        self.large_wanted.clear();
        self.answer = 0;
    }
}
