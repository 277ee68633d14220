//! The symmetric heap: which bytes are in use. What is known about them lies beside the heap and not in it, so
//! a PE that writes past the end of an object spoils data and no lists. All PEs call in the same order with
//! the same sizes, so all get the same offsets.

use std::collections::{BTreeMap, BTreeSet};

/// Every allocation begins at a multiple of this: wide enough for all types.
pub const MIN_ALIGNMENT: usize = 16;
/// Allocations of this size and above begin at a cache line, so that PEs that use neighbours do not disturb
/// each other.
const LINE: usize = 64;

/// Bytes `0..len`, and who has which.
#[derive(Debug)]
pub struct Heap {
    len: usize,
    /// Offset and length of what is free; neighbours are joined.
    free: BTreeMap<usize, usize>,
    /// The same by length, for the best fit.
    by_len: BTreeSet<(usize, usize)>,
    /// Offset of what is in use, with its length and the length that was asked for.
    used: BTreeMap<usize, (usize, usize)>,
}

impl Heap {
    pub fn new(len: usize) -> Heap {
        let mut heap =
            Heap { len, free: BTreeMap::new(), by_len: BTreeSet::new(), used: BTreeMap::new() };
        heap.give(0, len);
        heap
    }

    /// The offset of `len` bytes at a multiple of `alignment`, a power of two. `None`: there are not so many in one
    /// run, or `len` is 0.
    pub fn allocate(&mut self, len: usize, alignment: usize) -> Option<usize> {
        let natural = if len >= LINE { LINE } else { MIN_ALIGNMENT };
        let alignment = alignment.max(natural);
        let size = len.checked_next_multiple_of(MIN_ALIGNMENT).filter(|size| *size != 0)?;
        let fits = |&(room, at): &(usize, usize)| {
            let start = at.checked_next_multiple_of(alignment)?;
            (start.checked_add(size)? <= at + room).then_some((at, room, start))
        };
        let (at, room, start) = self.by_len.range((size, 0)..).find_map(fits)?;
        self.take(at, room);
        self.give(at, start - at);
        self.give(start + size, at + room - (start + size));
        self.used.insert(start, (size, len));
        Some(start)
    }

    /// Gives an allocation back. False: none begins there.
    pub fn free(&mut self, offset: usize) -> bool {
        let Some((size, _)) = self.used.remove(&offset) else { return false };
        let (mut start, mut end) = (offset, offset + size);
        if let Some((&at, &room)) = self.free.range(..offset).next_back()
            && at + room == start
        {
            self.take(at, room);
            start = at;
        }
        if let Some(&room) = self.free.get(&end) {
            self.take(end, room);
            end += room;
        }
        self.give(start, end - start);
        true
    }

    /// Makes an allocation longer or shorter where it lies. False: there is no room behind it, or none begins there.
    pub fn resize(&mut self, offset: usize, len: usize) -> bool {
        let Some(&(size, _)) = self.used.get(&offset) else { return false };
        let wanted = len.checked_next_multiple_of(MIN_ALIGNMENT).filter(|wanted| *wanted != 0);
        let Some(wanted) = wanted else { return false };
        let behind = self.free.get(&(offset + size)).copied().unwrap_or(0);
        if wanted > size + behind {
            return false;
        }
        if behind != 0 {
            self.take(offset + size, behind);
        }
        self.give(offset + wanted, size + behind - wanted);
        self.used.insert(offset, (wanted, len));
        true
    }

    /// Bytes that were asked for where an allocation begins.
    pub fn len_at(&self, offset: usize) -> Option<usize> {
        self.used.get(&offset).map(|(_, len)| *len)
    }

    /// Whether all these bytes belong to one allocation.
    pub fn contains(&self, offset: usize, len: usize) -> bool {
        let below = self.used.range(..=offset).next_back();
        below.is_some_and(|(at, (_, has))| {
            offset.checked_add(len).is_some_and(|end| end <= at + has)
        })
    }

    /// Bytes of the whole heap, and the longest run that is free.
    pub fn room(&self) -> (usize, usize) {
        (self.len, self.by_len.last().map_or(0, |(room, _)| *room))
    }

    fn take(&mut self, at: usize, room: usize) {
        self.free.remove(&at);
        self.by_len.remove(&(room, at));
    }

    fn give(&mut self, at: usize, room: usize) {
        if room != 0 {
            self.free.insert(at, room);
            self.by_len.insert((room, at));
        }
    }
}
