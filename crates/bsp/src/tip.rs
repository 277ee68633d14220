//! The tip of an outbox: what the next access is compared with, and where it goes if it is like the last one.
//!
//! Accesses of one kind and length to one block share a record. As long as each begins where the one before ends, they
//! are *in a row* and become one access of the record; else each has its offset. In a row, nothing that one access
//! writes here is computed with by the next: where it goes follows from its own offset.
//!
//! A processor takes two branches in a cycle, so a row has one number for process and offset, at a place that only accesses
//! of its kind and length look at.

use crate::record::{Kind, OFFSET, RECORD_ALIGN};

/// What accesses that share a record have in common, beside the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    pub kind: Kind,
    /// Bytes of each.
    pub len: u32,
    /// Unbuffered; told only where races are looked for.
    pub hp: bool,
    /// Of puts: in a row their bytes stay where they are until the record is closed.
    pub later: bool,
}

/// How accesses are done; each has rows of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Way {
    Put = 0,
    Hpput = 1,
    Get = 2,
    /// Where races are looked for, unbuffered ones, which the calls that make sure of nothing else do not add to.
    Told = 3,
    Message = 4,
}

impl Way {
    fn of(alike: Alike) -> Way {
        match alike.kind {
            _ if alike.hp => Way::Told,
            Kind::Puts if alike.later => Way::Hpput,
            Kind::Puts => Way::Put,
            Kind::Gets => Way::Get,
            _ => Way::Message,
        }
    }

    /// Which row is that of accesses of so many bytes.
    #[inline(always)]
    const fn row(self, len: u32) -> usize {
        let size = match len {
            4 => 0,
            8 => 1,
            16 => 2,
            _ => 3,
        };
        self as usize * SIZES + size
    }

    /// This way, a length and a process as one number, which is 0 for lengths that have no room in it only.
    #[inline(always)]
    const fn with(self, len: u32, process: u32) -> u64 {
        let is_short = len < 1 << LENGTH_BITS;
        let alike = (self as u64 + 1) << LENGTH_BITS | len as u64;
        if is_short { alike << 32 | process as u64 } else { 0 }
    }
}

/// Lengths that are told apart, and all rows.
const SIZES: usize = 4;
const ROWS: usize = 4 * SIZES;

/// Bytes of an address for each byte of the offsets of gets.
const ADDRESS: usize = size_of::<*mut u8>() / OFFSET;

/// Bits of a length in what the program compares (`Tip::alike`).
const LENGTH_BITS: u32 = 29;

/// What goes on in a row that is not open: at no offset, in no process.
const NOWHERE: u64 = u64::MAX;
/// The row of a tip that has none.
const NO_ROW: u32 = ROWS as u32;

/// Programs know it, too (`struct hpvm_bsp_tip` of hpvm_bsp_inline.h).
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Tip {
    /// In a row: process and offset that go on.
    rows: [u64; ROWS],
    /// Our address of the block.
    base: *const u8,
    /// In a row: where the bytes of offset 0 would be: in the message; of gets, where they are wanted; of puts whose bytes stay,
    /// where they are. Of gets that are not in a row: what `wanted` begins with.
    origin: *mut u8,
    /// Not in a row: where the next access goes, and the last place that has room for it.
    place: *mut u8,
    limit: *const u8,
    /// In a row: the first offset that is too far. Accesses that move nothing may have gone on behind it (`gone_too_far`).
    end: u32,
    /// Not in a row: the last offset at which the block has the bytes of an access; its bytes in the message.
    reach: u32,
    entry: u32,
    /// Which row is open.
    row: u32,
    /// `Way::with` of what may be added; 0: nothing that the calls that make sure of nothing else add.
    alike: u64,
    /// Whose outbox it is.
    process: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Tip>() == 192);

impl Default for Tip {
    fn default() -> Tip {
        Tip::closed(0)
    }
}

impl Tip {
    /// A tip that takes nothing, of this process's outbox.
    pub const fn closed(process: u32) -> Tip {
        Tip {
            rows: [NOWHERE; ROWS],
            base: std::ptr::null(),
            origin: std::ptr::null_mut(),
            place: std::ptr::dangling_mut(),
            limit: std::ptr::null(),
            end: 0,
            reach: 0,
            entry: 1,
            row: NO_ROW,
            alike: 0,
            process,
        }
    }

    /// Takes nothing from now on.
    pub fn close(&mut self) {
        self.begin(0, std::ptr::null());
    }

    /// Accesses of another kind or to another block, of which none can be added yet.
    fn begin(&mut self, alike: u64, base: *const u8) {
        // Of the rows one at most is open.
        self.advance(self.row as usize, NOWHERE);
        (self.row, self.end, self.alike, self.base) = (NO_ROW, 0, alike, base);
        (self.place, self.limit) = (std::ptr::dangling_mut(), std::ptr::null());
    }

    /// Accesses that come in a row: the next one at `next`, none at `end` or behind it.
    pub fn row(&mut self, alike: Alike, base: *const u8, next: u32, end: u32, origin: *mut u8) {
        self.begin(Way::of(alike).with(alike.len, self.process), base);
        (self.end, self.origin) = (end, origin);
        let row = Way::of(alike).row(alike.len);
        self.row = row as u32;
        self.advance(row, self.at(next));
    }

    /// Accesses with an offset each, up to `reach`, or messages: `entry` bytes, for which there is room at `place`, and at
    /// `limit`. Gets write as many addresses at `wanted`.
    pub fn spread(
        &mut self,
        alike: Alike,
        base: *const u8,
        reach: u32,
        entry: u32,
        room: (*mut u8, *const u8),
        wanted: *mut *mut u8,
    ) {
        self.begin(Way::of(alike).with(alike.len, self.process), base);
        (self.reach, self.entry) = (reach, entry);
        (self.place, self.limit) = room;
        self.origin = wanted.cast::<u8>().wrapping_sub(self.place.addr().wrapping_mul(ADDRESS));
    }

    pub fn in_a_row(&self) -> bool {
        self.row != NO_ROW
    }

    /// This process and an offset.
    #[inline(always)]
    fn at(&self, offset: u32) -> u64 {
        u64::from(self.process) << 32 | u64::from(offset)
    }

    /// What goes on in the open row.
    fn going_on(&self) -> u64 {
        self.rows.get(self.row as usize).copied().unwrap_or(NOWHERE)
    }

    /// In a row: the offset behind the last access.
    pub fn next(&self) -> u32 {
        self.going_on() as u32
    }

    /// In a row of accesses of `len` bytes from `first` on that move nothing yet: the offset of the first one that the block
    /// does not have, if there is one. The calls inside of the program do not look at the block's end.
    pub fn gone_too_far(&self, first: u32, len: u32) -> Option<u32> {
        if !self.in_a_row() {
            return None;
        }
        // `end` is behind `first`, which the block has.
        let bad = first + self.end.saturating_sub(first).div_ceil(len) * len;
        (self.going_on() > self.at(bad)).then_some(bad)
    }

    /// In a row: where the next access goes.
    pub fn next_place(&self) -> *mut u8 {
        self.origin.wrapping_add(self.next() as usize)
    }

    /// Not in a row: where the next access goes.
    pub fn place(&self) -> *mut u8 {
        self.place
    }

    /// Not in a row: bytes of an access in the message.
    pub fn entry(&self) -> usize {
        self.entry as usize
    }

    /// Whether an access at this offset is the next one of that row.
    #[inline(always)]
    fn continues(&self, row: usize, offset: u32) -> bool {
        self.rows.get(row) == Some(&self.at(offset)) && offset < self.end
    }

    #[inline(always)]
    fn advance(&mut self, row: usize, to: u64) {
        if let Some(next) = self.rows.get_mut(row) {
            *next = to;
        }
    }

    /// Whether there is room for an access with an offset, and the block has its bytes.
    #[inline(always)]
    fn takes(&self, offset: u32) -> bool {
        self.limit >= self.place.cast_const() && offset <= self.reach
    }

    /// A put of a word like the last one; false: it is not.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`.
    #[inline(always)]
    pub unsafe fn put(&mut self, base: *const u8, offset: u32, from: *const u8, len: u32) -> bool {
        if self.alike != Way::Put.with(len, self.process) || self.base != base || from.is_null() {
            return false;
        }
        // SAFETY: the caller vouches for the source.
        unsafe {
            match len {
                8 => self.put_into(Way::Put.row(8), offset, from, 8),
                4 => self.put_into(Way::Put.row(4), offset, from, 4),
                16 => self.put_into(Way::Put.row(16), offset, from, 16),
                _ => false,
            }
        }
    }

    /// A put into the tip's block; false: it is not in a row, or there is no room for it.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`, and are what the tip's accesses have.
    #[inline(always)]
    pub unsafe fn add_put(&mut self, offset: u32, from: *const u8, len: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.put_into(self.row as usize, offset, from, len) }
    }

    /// # Safety
    /// As `add_put`; the row is that of the tip's accesses.
    #[inline(always)]
    unsafe fn put_into(&mut self, row: usize, offset: u32, from: *const u8, len: usize) -> bool {
        if self.continues(row, offset) {
            let into = self.origin.wrapping_add(offset as usize);
            // SAFETY: `end` says that there is room; the caller vouches for the source.
            unsafe { copy_small(from, into, len) };
            self.advance(row, self.at(offset) + len as u64);
            return true;
        }
        // SAFETY: the caller's promise.
        unsafe { self.add_apart(offset, from, len) }
    }

    /// An unbuffered put of a word like the last one; false: it is not.
    ///
    /// # Safety
    /// As `put`; in a row the bytes stay readable until the record is closed.
    #[inline(always)]
    pub unsafe fn hpput(
        &mut self,
        base: *const u8,
        offset: u32,
        from: *const u8,
        len: u32,
    ) -> bool {
        let way = Way::Hpput;
        let alike =
            self.alike == way.with(len, self.process) && self.base == base && !from.is_null();
        // SAFETY: the caller's promise.
        unsafe {
            match len {
                8 => alike && self.hpput_into(way.row(8), offset, from, 8),
                4 => alike && self.hpput_into(way.row(4), offset, from, 4),
                16 => alike && self.hpput_into(way.row(16), offset, from, 16),
                _ => false,
            }
        }
    }

    /// As `add_put`, but in a row, in both memories, nothing is copied.
    ///
    /// # Safety
    /// As `hpput`; `len` is what the tip's accesses have.
    #[inline(always)]
    pub unsafe fn add_hpput(&mut self, offset: u32, from: *const u8, len: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.hpput_into(self.row as usize, offset, from, len) }
    }

    /// # Safety
    /// As `add_hpput`; the row is that of the tip's accesses.
    #[inline(always)]
    unsafe fn hpput_into(&mut self, row: usize, offset: u32, from: *const u8, len: usize) -> bool {
        if self.row_goes_on(row, offset, from.cast_mut(), len as u32) {
            return true;
        }
        // SAFETY: the caller's promise.
        unsafe { self.add_apart(offset, from, len) }
    }

    /// Makes a row longer by an access that goes on in both memories, of which nothing is written.
    #[inline(always)]
    fn row_goes_on(&mut self, row: usize, offset: u32, local: *mut u8, len: u32) -> bool {
        let goes_on =
            self.continues(row, offset) && local == self.origin.wrapping_add(offset as usize);
        if goes_on {
            self.advance(row, self.at(offset) + u64::from(len));
        }
        goes_on
    }

    /// A put with an offset of its own; false: there is no room for it.
    ///
    /// # Safety
    /// As `add_put`.
    #[inline(always)]
    unsafe fn add_apart(&mut self, offset: u32, from: *const u8, len: usize) -> bool {
        if !self.takes(offset) {
            return false;
        }
        let into = self.place;
        // SAFETY: there is room for an offset and the bytes; the caller vouches for the source.
        unsafe {
            into.cast::<u32>().write_unaligned(offset);
            copy_small(from, into.add(OFFSET), len);
            self.place = into.add(OFFSET + len);
        }
        true
    }

    /// A get like the last one; false: it is not.
    #[inline(always)]
    pub fn get(&mut self, base: *const u8, offset: u32, into: *mut u8, len: u32) -> bool {
        // A get of nothing is like no other, whatever is open, and neither is one that has no room in `alike`.
        let alike = (1..1 << LENGTH_BITS).contains(&len)
            && self.alike == Way::Get.with(len, self.process)
            && self.base == base;
        alike && !into.is_null() && self.add_get(offset, into, len)
    }

    /// A get from the tip's block, as `add_put`.
    #[inline(always)]
    pub fn add_get(&mut self, offset: u32, into: *mut u8, len: u32) -> bool {
        if self.row_goes_on(self.row as usize, offset, into, len) {
            return true;
        }
        if !self.takes(offset) {
            return false;
        }
        // SAFETY: there is room for an offset, and (`spread`) for an address.
        unsafe {
            self.wanted().write(into);
            self.place.cast::<u32>().write_unaligned(offset);
            self.place = self.place.add(OFFSET);
        }
        true
    }

    /// Gets that are not in a row: where the next one says where it wants its bytes. As it follows from `place`, one number
    /// moves from one call to the next, not two.
    #[inline(always)]
    fn wanted(&self) -> *mut *mut u8 {
        self.origin.wrapping_add(self.place.addr().wrapping_mul(ADDRESS)).cast()
    }

    /// A message like the last one, with a word or nothing as tag and a word as payload; false: it is not.
    ///
    /// # Safety
    /// `tag_len` and `len` bytes are readable at `tag` and `from`, and the tags of a superstep have one length.
    #[inline(always)]
    pub unsafe fn message(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: u32,
    ) -> bool {
        if self.alike != Way::Message.with(len, self.process)
            || from.is_null()
            || (tag.is_null() && tag_len != 0)
        {
            return false;
        }
        // SAFETY: the caller vouches for the sources.
        unsafe {
            match len {
                8 => self.add_word(tag, tag_len, from, 8),
                4 => self.add_word(tag, tag_len, from, 4),
                _ => false,
            }
        }
    }

    /// # Safety
    /// As `message`; `len` is that of a word.
    #[inline(always)]
    unsafe fn add_word(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: usize,
    ) -> bool {
        // SAFETY: the caller vouches for the sources; a tag of a word takes as much as a record is aligned to.
        unsafe {
            match tag_len {
                4 => self.add_message(tag, 4, from, len, RECORD_ALIGN),
                0 => self.add_message(tag, 0, from, len, 0),
                8 => self.add_message(tag, 8, from, len, RECORD_ALIGN),
                _ => false,
            }
        }
    }

    /// A message to the tip's queue, its payload so many bytes behind its tag; false: there is no room for it.
    ///
    /// # Safety
    /// `tag_len` and `len` bytes are readable at `tag` and `from`, and the tip's messages have this shape.
    #[inline(always)]
    pub unsafe fn add_message(
        &mut self,
        tag: *const u8,
        tag_len: usize,
        from: *const u8,
        len: usize,
        payload: usize,
    ) -> bool {
        if !self.takes(0) {
            return false;
        }
        let place = self.place;
        // SAFETY: there is room for an entry; the caller vouches for the sources.
        unsafe {
            copy_small(tag, place, tag_len);
            copy_small(from, place.add(payload), len);
            self.place = place.add(self.entry as usize);
        }
        true
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
            16 => into.cast::<u128>().write_unaligned(from.cast::<u128>().read_unaligned()),
            0 => {}
            _ => std::ptr::copy_nonoverlapping(from, into, len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: *const u8 = std::ptr::without_provenance(4096);

    /// A tip with room for one access that is not in a row.
    fn spread(kind: Kind, later: bool, place: &mut [u8; 32]) -> Tip {
        let start = place.as_mut_ptr();
        let mut tip = Tip::closed(3);
        let alike = Alike { kind, len: 8, hp: false, later };
        // An address is wanted behind the bytes of an access.
        tip.spread(alike, BASE, 100, 12, (start, start), start.wrapping_add(16).cast());
        tip
    }

    #[test]
    fn only_what_is_like_the_last_one_is_added() {
        let (mut bytes, data) = ([0; 32], 7_u64);
        let from = (&raw const data).cast();
        for (kind, later) in [(Kind::Puts, true), (Kind::Gets, false), (Kind::Messages, false)] {
            let mut tip = spread(kind, later, &mut bytes);
            for len in [0, 4, 8, 16, u32::MAX] {
                // SAFETY: nothing is read: the tip takes no puts.
                assert!(!unsafe { tip.put(BASE, 0, from, len) }, "{kind:?} {len}");
            }
        }
        for (kind, later) in [(Kind::Puts, true), (Kind::Puts, false), (Kind::Messages, false)] {
            let mut tip = spread(kind, later, &mut bytes);
            for len in [0, 4, 8, 16, u32::MAX] {
                assert!(!tip.get(BASE, 0, from.cast_mut(), len), "{kind:?} {len}");
            }
        }
        for kind in [Kind::Puts, Kind::Gets] {
            let mut tip = spread(kind, false, &mut bytes);
            for len in [0, 4, 8, u32::MAX] {
                // SAFETY: nothing is read: the tip takes no messages.
                assert!(!unsafe { tip.message(from, 0, from, len) }, "{kind:?} {len}");
            }
        }
    }

    #[test]
    fn lengths_without_room_are_like_nothing() {
        let data = 7_u64;
        let from: *mut u8 = (&raw const data).cast_mut().cast();
        for len in [1 << 29, (1 << 29) + 8, (1 << 30) + 8, 1 << 31] {
            let mut tip = Tip::closed(3);
            assert!(!tip.get(std::ptr::null(), 0, from, len), "closed, {len}");
            let mut bytes = [0; 32];
            assert!(!spread(Kind::Gets, false, &mut bytes).get(BASE, 0, from, len + 8), "{len}");
            tip.row(Alike { kind: Kind::Gets, len, hp: false, later: false }, BASE, 0, 1, from);
            assert!(!tip.get(BASE, 0, from, len), "in a row, {len}");
        }
    }

    #[test]
    fn nothing_is_like_what_is_looked_at_for_races() {
        let data = 7_u64;
        let from: *const u8 = (&raw const data).cast();
        for kind in [Kind::Puts, Kind::Gets] {
            let mut tip = Tip::closed(3);
            let alike = Alike { kind, len: 8, hp: true, later: false };
            tip.row(alike, BASE, 0, 80, from.cast_mut());
            // SAFETY: nothing is read: the tip takes none of these.
            unsafe {
                assert!(!tip.put(BASE, 0, from, 8) && !tip.hpput(BASE, 0, from, 8), "{kind:?}");
            }
            assert!(!tip.get(BASE, 0, from.cast_mut(), 8), "{kind:?}");
        }
    }

    #[test]
    fn the_tip_ends_with_its_room_and_with_the_block() {
        let (mut bytes, data) = ([0; 32], 7_u64);
        let from = (&raw const data).cast();
        let mut tip = spread(Kind::Puts, false, &mut bytes);
        // SAFETY: there is room for one put.
        unsafe {
            assert!(!tip.put(BASE, 101, from, 8), "the block ends");
            assert!(!tip.put(BASE, u32::MAX, from, 8), "a negative offset");
            assert!(!tip.put(BASE.wrapping_add(8), 0, from, 8), "another block");
            assert!(!tip.put(BASE, 0, std::ptr::null(), 8), "no source");
            assert!(tip.put(BASE, 100, from, 8));
            assert!(!tip.put(BASE, 0, from, 8), "no room");
        }
        let alike = Alike { kind: Kind::Puts, len: 8, hp: false, later: false };
        tip.row(alike, BASE, 40, 56, bytes.as_mut_ptr().wrapping_sub(40));
        // SAFETY: there is room for two puts.
        unsafe {
            assert!(!tip.put(BASE, 48, from, 8), "not in a row");
            assert!(tip.put(BASE, 40, from, 8) && tip.put(BASE, 48, from, 8));
            assert!(!tip.put(BASE, 56, from, 8), "no room");
        }
        tip.close();
        // SAFETY: nothing is read: the tip is closed.
        assert!(!unsafe { tip.put(BASE, 56, from, 8) }, "closed");
    }

    /// What the calls inside of the program do.
    fn go_on_unseen(tip: &mut Tip, count: u64) {
        let row = tip.row as usize;
        tip.advance(row, tip.rows[row] + 8 * count);
    }

    #[test]
    fn a_row_that_has_gone_too_far_is_found() {
        let mut bytes = [0; 32];
        // A block of 44 bytes, whose accesses begin at 3: the last one that fits is at 35, and the next one has a byte too many.
        let (first, end) = (3, 44 + 1 - 8);
        for count in 0..7 {
            let mut tip = Tip::closed(3);
            let alike = Alike { kind: Kind::Gets, len: 8, hp: false, later: false };
            tip.row(alike, BASE, first, end, bytes.as_mut_ptr());
            go_on_unseen(&mut tip, count);
            assert_eq!(tip.gone_too_far(first, 8), (count > 5).then_some(43), "{count}");
        }
        let mut tip = spread(Kind::Gets, false, &mut bytes);
        assert!(tip.get(BASE, 8, bytes.as_mut_ptr(), 8));
        assert_eq!(tip.gone_too_far(0, 8), None, "not in a row");
        // So far that the offset has passed all numbers.
        let alike = Alike { kind: Kind::Gets, len: 8, hp: false, later: false };
        tip.row(alike, BASE, first, end, bytes.as_mut_ptr());
        go_on_unseen(&mut tip, 1 << 30);
        assert_eq!(tip.gone_too_far(first, 8), Some(43));
    }
}
