//! The tip of an outbox: what the next access is compared with, and where it goes if it is like the last one.
//!
//! Accesses of one kind and length to one block share a record. As long as each begins where the one before ends, they
//! are *in a row* and become one access of the record; else each has its offset. In a row, nothing that one access
//! writes here is computed with by the next: where it goes follows from its own offset.

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

/// The offset of no access.
const NOWHERE: u32 = u32::MAX;

/// One line of the cache. Programs know it, too (`struct hpvm_bsp_tip` of hpvm_bsp_inline.h).
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Tip {
    /// Our address of the block.
    base: *const u8,
    /// In a row: where the bytes of offset 0 would be: in the message; of gets, where they are wanted; of puts whose bytes stay,
    /// where they are.
    origin: *mut u8,
    /// Not in a row: where the next access goes, and the last place that has room for it.
    place: *mut u8,
    limit: *const u8,
    /// In a row: the offset that goes on, and the first one that is too far.
    next: u32,
    end: u32,
    /// Not in a row: the last offset at which the block has the bytes of an access; its bytes in the message.
    reach: u32,
    entry: u32,
    /// Lengths of what may be added by the calls that make sure of nothing else; 0: nothing.
    put: u32,
    hpput: u32,
    get: u32,
    message: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Tip>() == 64);

impl Default for Tip {
    fn default() -> Tip {
        Tip::CLOSED
    }
}

impl Tip {
    pub const CLOSED: Tip = Tip {
        base: std::ptr::null(),
        origin: std::ptr::null_mut(),
        place: std::ptr::dangling_mut(),
        limit: std::ptr::null(),
        next: NOWHERE,
        end: 0,
        reach: 0,
        entry: 1,
        put: 0,
        hpput: 0,
        get: 0,
        message: 0,
    };

    /// A tip for accesses of this kind to our block at `base`.
    fn of(alike: Alike, base: *const u8) -> Tip {
        let len = |kind: Kind, later: bool| {
            let is_meant = alike.kind == kind && alike.later == later && !alike.hp;
            if is_meant { alike.len } else { 0 }
        };
        let (put, hpput) = (len(Kind::Puts, false), len(Kind::Puts, true));
        let (get, message) = (len(Kind::Gets, false), len(Kind::Messages, false));
        Tip { base, put, hpput, get, message, ..Tip::CLOSED }
    }

    /// A tip whose accesses come in a row: the next one at `next`, none at `end` or behind it.
    pub fn row(alike: Alike, base: *const u8, next: u32, end: u32, origin: *mut u8) -> Tip {
        Tip { next, end, origin, ..Tip::of(alike, base) }
    }

    /// A tip of accesses with an offset each, up to `reach`, or of messages: `entry` bytes, for which there is room at
    /// `place`, and at `limit`.
    pub fn spread(
        alike: Alike,
        base: *const u8,
        reach: u32,
        entry: u32,
        place: *mut u8,
        limit: *const u8,
    ) -> Tip {
        Tip { reach, entry, place, limit, ..Tip::of(alike, base) }
    }

    pub fn in_a_row(&self) -> bool {
        self.next != NOWHERE
    }

    /// In a row: the offset behind the last access.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// In a row: where the next access goes.
    pub fn next_place(&self) -> *mut u8 {
        self.origin.wrapping_add(self.next as usize)
    }

    /// Not in a row: where the next access goes.
    pub fn place(&self) -> *mut u8 {
        self.place
    }

    /// Not in a row: bytes of an access in the message.
    pub fn entry(&self) -> usize {
        self.entry as usize
    }

    /// Whether an access at this offset is the next one in a row.
    #[inline(always)]
    fn continues(&self, offset: u32) -> bool {
        offset == self.next && offset < self.end
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
        if self.put != len || self.base != base || from.is_null() {
            return false;
        }
        // SAFETY: the caller vouches for the source.
        unsafe {
            if len == 8 {
                self.add_put(offset, from, 8)
            } else if len == 4 {
                self.add_put(offset, from, 4)
            } else {
                len == 16 && self.add_put(offset, from, 16)
            }
        }
    }

    /// A put into the tip's block; false: it is not in a row, or there is no room for it.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`, and are what the tip's accesses have.
    #[inline(always)]
    pub unsafe fn add_put(&mut self, offset: u32, from: *const u8, len: usize) -> bool {
        if self.continues(offset) {
            let into = self.origin.wrapping_add(offset as usize);
            // SAFETY: `end` says that there is room; the caller vouches for the source.
            unsafe { copy_small(from, into, len) };
            self.next = offset + len as u32;
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
        let alike = self.hpput == len && self.base == base && !from.is_null();
        // SAFETY: the caller's promise.
        unsafe {
            match len {
                8 => alike && self.add_hpput(offset, from, 8),
                4 => alike && self.add_hpput(offset, from, 4),
                16 => alike && self.add_hpput(offset, from, 16),
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
        if self.continues(offset) && from == self.origin.wrapping_add(offset as usize) {
            self.next = offset + len as u32;
            return true;
        }
        // SAFETY: the caller's promise.
        unsafe { self.add_apart(offset, from, len) }
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
    pub fn get(
        &mut self,
        base: *const u8,
        offset: u32,
        into: *mut u8,
        len: u32,
        wanted: &mut Vec<*mut u8>,
    ) -> bool {
        // A get of nothing is like no other, whatever is open.
        let alike = self.get == len && len != 0 && self.base == base && !into.is_null();
        alike && self.add_get(offset, into, len, wanted)
    }

    /// A get from the tip's block, as `add_put`.
    #[inline(always)]
    pub fn add_get(
        &mut self,
        offset: u32,
        into: *mut u8,
        len: u32,
        wanted: &mut Vec<*mut u8>,
    ) -> bool {
        if self.continues(offset) && into == self.origin.wrapping_add(offset as usize) {
            self.next = offset + len;
            return true;
        }
        if !self.takes(offset) || wanted.len() == wanted.capacity() {
            return false;
        }
        // SAFETY: there is room for an offset, and for an address.
        unsafe {
            self.place.cast::<u32>().write_unaligned(offset);
            self.place = self.place.add(OFFSET);
            let n = wanted.len();
            wanted.as_mut_ptr().add(n).write(into);
            wanted.set_len(n + 1);
        }
        true
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
        if self.message != len || from.is_null() || (tag.is_null() && tag_len != 0) {
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
    fn spread(kind: Kind, hp: bool, place: &mut [u8; 32]) -> Tip {
        let start = place.as_mut_ptr();
        Tip::spread(Alike { kind, len: 8, hp, later: false }, BASE, 100, 12, start, start)
    }

    #[test]
    fn only_what_is_like_the_last_one_is_added() {
        let (mut bytes, data) = ([0; 32], 7_u64);
        let from = (&raw const data).cast();
        for (kind, hp) in [(Kind::Puts, true), (Kind::Gets, false), (Kind::Messages, false)] {
            let mut tip = spread(kind, hp, &mut bytes);
            for len in [0, 4, 8, 16, u32::MAX] {
                // SAFETY: nothing is read: the tip takes no puts.
                assert!(!unsafe { tip.put(BASE, 0, from, len) }, "{kind:?} {len}");
            }
        }
        for (kind, hp) in [(Kind::Gets, true), (Kind::Puts, false), (Kind::Messages, false)] {
            let mut tip = spread(kind, hp, &mut bytes);
            let mut wanted = Vec::with_capacity(8);
            for len in [0, 4, 8, 16, u32::MAX] {
                assert!(!tip.get(BASE, 0, from.cast_mut(), len, &mut wanted), "{kind:?} {len}");
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
        let origin = bytes.as_mut_ptr().wrapping_sub(40);
        let mut tip = Tip::row(alike, BASE, 40, 56, origin);
        // SAFETY: there is room for two puts.
        unsafe {
            assert!(!tip.put(BASE, 48, from, 8), "not in a row");
            assert!(tip.put(BASE, 40, from, 8) && tip.put(BASE, 48, from, 8));
            assert!(!tip.put(BASE, 56, from, 8), "no room");
        }
    }
}
