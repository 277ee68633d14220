//! Collective slots: where ranks of one host show each other their part of a small collective.
//!
//! A rank owns [`COLL_SLOTS`] sets of slots, one for each of as many communicators. A collective
//! operation has a number, the same on all members. A member writes what the others need into the
//! slot of that number in its own set and reads the slots of the others. Nothing is addressed to anybody,
//! and nothing is written to memory of another rank. When a member has read everything, it marks the number
//! as finished in its set: from then on it reads no slot of that number or an earlier one.
//!
//! A set has [`DEPTH`] slots, so a member may be that many operations ahead of the slowest one: the
//! root of broadcasts, or a leaf of reductions, goes on long before the others come. Up to [`INLINE`]
//! bytes lie in the slot; more lie in the data ring of the set, whose owner keeps account of it.
//!
//! Numbers only grow, also when a set passes from one communicator to the next, so a reader that
//! is late never mistakes a newer slot for an older one, or the other way round.

use core::cell::UnsafeCell;
use hpvm_sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use hpvm_sync::{Padded, cell, order};

/// Sets of slots of a rank, one for each communicator that has slots.
pub const COLL_SLOTS: usize = 256;
/// Slots of a set, a power of two: how many operations a member may be ahead of the slowest one. 32 slots are a page of
/// memory, and a root that runs ahead of ranks on the same processor gives it away once in 32 operations. The model checker
/// has 2, so that slots are used again soon.
pub const DEPTH: usize = if cfg!(hpvm_loom) { 2 } else { 32 };
/// Bytes that lie in a slot.
pub const INLINE: usize = 112;
/// Bytes of the data ring of a set: 32 slots of 4 KiB. The stacks of the model checker hold less.
pub const DATA_BYTES: usize = if cfg!(hpvm_loom) { 512 } else { 128 * 1024 };
/// Bytes of the longest data of a slot: an eighth of the data ring, so that several operations can be outstanding.
pub const SLOT_BYTES: usize = if cfg!(hpvm_loom) { 128 } else { 16 * 1024 };
/// Stands in place of a slot's length if its owner has found an error, so that there are no data.
pub const FAILED: usize = u32::MAX as usize;
/// Sets that have large slots: those of the communicators that were made first.
pub const LARGE_SETS: usize = 16;
/// Large slots of a set, which longer data use in turn.
pub const LARGE_SLOTS: usize = 2;
/// Bytes of a large slot.
pub const LARGE_SLOT_BYTES: usize = 256 * 1024;

/// The slots of one rank for one communicator.
///
/// Access rules: the owner alone writes. It writes the slot of a number after every member has
/// finished the number [`DEPTH`] before it, and bytes of the data ring after every member has
/// finished the number whose data they were, so nobody reads while it does.
#[repr(C)]
pub struct CollSlots {
    /// The last operation that the owner is through with.
    finished: Padded<AtomicU64>,
    slots: [CollSlot; DEPTH],
    data: UnsafeCell<[u8; DATA_BYTES]>,
}

/// One slot: up to 48 bytes share a cache line with the number that publishes them.
#[repr(C, align(128))]
pub struct CollSlot {
    /// Number of the operation whose slot this is, once it is complete.
    number: AtomicU64,
    len: AtomicU32,
    /// Where in the data ring more than `INLINE` bytes lie.
    at: AtomicU32,
    body: cell::UnsafeCell<[u8; INLINE]>,
}

// SAFETY: the access rules of `CollSlots`: bodies and data are written by the owner only, before the
// release store of a slot's `number`, and read by others only after an acquire load has seen it.
unsafe impl Sync for CollSlots {}

/// Whether `all` have posted operation `number`. To be asked after one's own post: of members that post at the same time, at
/// least one finds that all have posted.
pub fn all_have_posted<'a>(mut all: impl Iterator<Item = &'a CollSlots>, number: u64) -> bool {
    // SeqCst pairs with itself in the other members: whose fence comes last sees what was posted before all of them.
    fence(order!(SeqCst, "slots.all_have_posted"));
    all.all(|slots| slots.has(number))
}

/// Memory for data that do not fit in the data ring.
///
/// Access rules: as for a slot, but the owner writes the large slot of a number after every member has finished
/// the number [`LARGE_SLOTS`] before it. The owner may pass the large slot on to another member by posting a slot that says so,
/// and that member to the next one. A reader has seen the slot of the last of them.
#[repr(C, align(4096))]
pub struct LargeSlot(UnsafeCell<[u8; LARGE_SLOT_BYTES]>);

// SAFETY: the access rules: written by one member at a time, before the release store of its slot's
// `number`, and read or written by others only after an acquire load has seen it.
unsafe impl Sync for LargeSlot {}

impl LargeSlot {
    /// Its first byte, to be read and written by these rules.
    pub fn start(&self) -> *mut u8 {
        self.0.get().cast()
    }

    /// An empty large slot, for models and tests; in a segment it is zeroed memory.
    pub fn new() -> Box<LargeSlot> {
        Box::new(LargeSlot(UnsafeCell::new([0; LARGE_SLOT_BYTES])))
    }
}

impl CollSlot {
    /// Shows a slot whose data are complete.
    #[inline(always)]
    fn publish(&self, number: u64, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        // Relaxed: published by the next store.
        self.len.store(len, Ordering::Relaxed);
        // Release pairs with the acquire in `has`.
        self.number.store(number, order!(Release, "slot.publish"));
    }
}

impl CollSlots {
    /// Empty slots, for models and tests; in a segment they are zeroed memory.
    pub fn new() -> Box<CollSlots> {
        let slot = || CollSlot {
            number: AtomicU64::new(0),
            len: AtomicU32::new(0),
            at: AtomicU32::new(0),
            body: cell::UnsafeCell::new([0; INLINE]),
        };
        Box::new(CollSlots {
            finished: Padded(AtomicU64::new(0)),
            slots: core::array::from_fn(|_| slot()),
            data: UnsafeCell::new([0; DATA_BYTES]),
        })
    }

    #[inline(always)]
    fn slot(&self, number: u64) -> &CollSlot {
        &self.slots[number as usize % DEPTH]
    }

    /// Posts the slot of operation `number`: `len` bytes that `fill` writes, all of them. More than
    /// [`INLINE`] go to the data ring from `at` on. Of data longer than [`SLOT_BYTES`] there is only the length.
    ///
    /// # Safety
    /// The caller is the owner, every member has finished `number - DEPTH`, and nobody reads the
    /// data ring's `len` bytes from `at` on, which lie in it.
    #[inline(always)]
    pub unsafe fn post(&self, number: u64, at: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        let slot = self.slot(number);
        if len <= INLINE {
            slot.body.with_mut(|body| {
                // SAFETY: by the access rules nobody else touches the body now, and there is room.
                fill(unsafe { core::slice::from_raw_parts_mut(body.cast(), len) })
            });
        } else if len <= SLOT_BYTES {
            debug_assert!(at + len <= DATA_BYTES);
            // Relaxed: published with the number.
            slot.at.store(at as u32, Ordering::Relaxed);
            // SAFETY: as above, of the data ring; the caller's promise.
            fill(unsafe {
                core::slice::from_raw_parts_mut(self.data.get().cast::<u8>().add(at), len)
            });
        }
        slot.publish(number, len);
    }

    /// Posts in place of the slot of operation `number` that the owner has found an error: readers get
    /// [`FAILED`] for its length.
    ///
    /// # Safety
    /// As for `post`.
    pub unsafe fn post_failure(&self, number: u64) {
        self.slot(number).publish(number, FAILED);
    }

    /// The same for data that are written to `large_slot`, if they are no longer than [`LARGE_SLOT_BYTES`].
    ///
    /// # Safety
    /// As for `post`, and every member has finished `number - LARGE_SLOTS`. The large slot is the one of this set
    /// and number.
    pub unsafe fn post_on(
        &self,
        large_slot: &LargeSlot,
        number: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        if len <= LARGE_SLOT_BYTES {
            // SAFETY: by the access rules nobody else touches the large slot now, and there is room.
            fill(unsafe { core::slice::from_raw_parts_mut(large_slot.0.get().cast(), len) });
        }
        self.slot(number).publish(number, len);
    }

    /// Whether the slot of operation `number` has been posted.
    #[inline(always)]
    pub fn has(&self, number: u64) -> bool {
        // Acquire pairs with the release in `post`. A later number says that this one has been
        // and gone, which only a barrier's reader may find.
        self.slot(number).number.load(order!(Acquire, "slot.has")) >= number
    }

    /// The data of operation `number`.
    ///
    /// # Errors
    /// Their length, as their owner says, if that is more than there is room for.
    ///
    /// # Safety
    /// `has` has said yes, and the caller has not finished `number` yet.
    #[inline(always)]
    pub unsafe fn read(&self, number: u64) -> Result<&[u8], usize> {
        let slot = self.slot(number);
        // Relaxed: ordered by the load in `has`.
        let len = slot.len.load(Ordering::Relaxed) as usize;
        let from = if len <= INLINE {
            slot.body.with(|body| body.cast())
        } else {
            // Relaxed: as above.
            let at = slot.at.load(Ordering::Relaxed) as usize;
            // What the owner says is checked.
            if len > SLOT_BYTES || at + len > DATA_BYTES {
                return Err(len.max(SLOT_BYTES + 1));
            }
            // SAFETY: within the ring, as was just checked.
            unsafe { self.data.get().cast::<u8>().add(at) }
        };
        // SAFETY: the owner leaves the data alone until we have finished (the access rules).
        Ok(unsafe { core::slice::from_raw_parts(from, len) })
    }

    /// The data of operation `number`, which were written to `large_slot`.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Safety
    /// As for `read`; the large slot is the one of this set and number.
    pub unsafe fn read_on<'a>(
        &self,
        large_slot: &'a LargeSlot,
        number: u64,
    ) -> Result<&'a [u8], usize> {
        // Relaxed: ordered by the load in `has`.
        let len = self.slot(number).len.load(Ordering::Relaxed) as usize;
        if len > LARGE_SLOT_BYTES {
            return Err(len);
        }
        // SAFETY: the owner leaves the large slot alone until we have finished (the access rules).
        Ok(unsafe { core::slice::from_raw_parts(large_slot.0.get().cast(), len) })
    }

    /// The owner is through with operation `number`.
    #[inline(always)]
    pub fn finish(&self, number: u64) {
        // Release pairs with the acquire in `finished`: our reads come before others' writes.
        self.finished.store(number, order!(Release, "slot.finish"));
    }

    /// The last operation that the owner is through with.
    #[inline(always)]
    pub fn finished(&self) -> u64 {
        // Acquire pairs with the release in `finish`.
        self.finished.load(order!(Acquire, "slot.finished"))
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<CollSlot>(), 128);
        assert_eq!(size_of::<CollSlots>(), 128 + DEPTH * 128 + DATA_BYTES);
        assert_eq!(align_of::<CollSlots>(), 128);
        assert_eq!(core::mem::offset_of!(CollSlot, body), 16);
    }

    #[test]
    fn slots_follow_each_other() {
        let slots = CollSlots::new();
        for number in 1..=3 * DEPTH as u64 {
            assert!(!slots.has(number));
            // SAFETY: we are the only member.
            unsafe { slots.post(number, 0, 8, |out| out.copy_from_slice(&number.to_le_bytes())) };
            assert!(slots.has(number) && !slots.has(number + 1));
            // SAFETY: posted, and not finished.
            assert_eq!(unsafe { slots.read(number) }, Ok(&number.to_le_bytes()[..]));
            slots.finish(number);
        }
        assert!(slots.has(1), "long gone is posted, too");
    }

    #[test]
    fn what_does_not_fit_in_a_slot_lies_in_the_ring() {
        let slots = CollSlots::new();
        let last = DATA_BYTES - SLOT_BYTES;
        // SAFETY: we are the only member.
        unsafe {
            slots.post(1, 0, INLINE + 1, |out| out.fill(1));
            slots.post(2, last, SLOT_BYTES, |out| out.fill(2));
            assert_eq!(slots.read(1), Ok(&[1; INLINE + 1][..]));
            assert_eq!(slots.read(2), Ok(&[2; SLOT_BYTES][..]));
        }
        // Relaxed: one thread. An owner that lies is not followed out of the ring.
        slots.slot(2).at.store(last as u32 + 1, Ordering::Relaxed);
        // SAFETY: as above.
        assert_eq!(unsafe { slots.read(2) }, Err(SLOT_BYTES + 1));
    }

    #[test]
    fn of_data_that_are_too_long_there_is_only_the_length() {
        let (slots, large_slot) = (CollSlots::new(), LargeSlot::new());
        let none = |_: &mut [u8]| panic!("there is no room for it");
        // SAFETY: we are the only member.
        unsafe {
            slots.post(1, 0, SLOT_BYTES, |out| out.fill(1));
            slots.post(2, 0, SLOT_BYTES + 1, none);
            slots.post(3, 0, usize::MAX, none);
            slots.post_on(&large_slot, 4, LARGE_SLOT_BYTES + 1, none);
        }
        assert!((1..=4).all(|number| slots.has(number)));
        // SAFETY: posted, and not finished.
        unsafe {
            assert_eq!(slots.read(1), Ok(&[1; SLOT_BYTES][..]));
            assert_eq!(slots.read(2), Err(SLOT_BYTES + 1));
            assert_eq!(slots.read(3), Err(FAILED));
            assert_eq!(slots.read_on(&large_slot, 4), Err(LARGE_SLOT_BYTES + 1));
        }
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use std::sync::Arc;

    /// A member that posts as fast as the rule allows, and one that reads: all data arrive
    /// whole, in every interleaving, also in slots that are used again.
    fn a_reader() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let slots = Arc::new([CollSlots::new(), CollSlots::new()]);
            let (first, last) = (1, DEPTH as u64 + 1);
            let writer = {
                let slots = slots.clone();
                loom::thread::spawn(move || {
                    for number in first..=last {
                        while slots[1].finished() + (DEPTH as u64) < number {
                            loom::thread::yield_now();
                        }
                        // SAFETY: the owner, and the reader has finished what it must.
                        unsafe { slots[0].post(number, 0, 1, |out| out[0] = number as u8) };
                    }
                })
            };
            for number in first..=last {
                while !slots[0].has(number) {
                    loom::thread::yield_now();
                }
                // SAFETY: posted, and not finished.
                assert_eq!(unsafe { slots[0].read(number) }, Ok(&[number as u8][..]));
                slots[1].finish(number);
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn loom_a_reader_sees_every_slot() {
        a_reader();
    }

    /// Two members post at the same time: one at least finds that both have.
    fn two_that_post() {
        loom::model(|| {
            let slots = Arc::new([CollSlots::new(), CollSlots::new()]);
            let posts = |slots: &[Box<CollSlots>; 2], own: usize| {
                // SAFETY: the owner; nobody reads.
                unsafe { slots[own].post(1, 0, 0, |_| ()) };
                all_have_posted(slots.iter().map(|slots| &**slots), 1)
            };
            let other = {
                let slots = slots.clone();
                loom::thread::spawn(move || posts(&slots, 0))
            };
            let here = posts(&slots, 1);
            let there = other.join().unwrap();
            assert!(here || there, "nobody wakes those who sleep");
        });
    }

    #[test]
    fn loom_one_of_those_that_post_last_knows_it() {
        two_that_post();
    }

    #[test]
    fn loom_every_weakened_ordering_is_noticed() {
        for name in ["slot.publish", "slot.has", "slot.finish", "slot.finished"] {
            assert!(hpvm_sync::weaken::is_noticed(name, a_reader), "{name}");
        }
        let name = "slots.all_have_posted";
        assert!(hpvm_sync::weaken::is_noticed(name, two_that_post), "{name}");
    }
}
