//! collective slots: where ranks of one host show each other their part of a small collective.
//!
//! A rank owns [`COLL_SLOTS`] slots, one for each of as many communicators. A collective operation has
//! a number, the same on all members. A member posts what the others need as the slot of that
//! number on its own slots and reads theirs; nothing is addressed, and nothing is written to memory
//! of another rank. When it is through it marks the number as finished on its slots: from then on
//! it reads no slot of that number or an earlier one.
//!
//! Numbers only grow, also when a slots passes from one communicator to the next, so a reader that
//! is late never mistakes a newer slot for an older one, or the other way round.

use core::cell::UnsafeCell;
use hpvm_sync::Padded;
use hpvm_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Boards of a rank.
pub const COLL_SLOTS: usize = 16;
/// Notes of a slots: so many operations a member may be ahead of the slowest one.
pub const DEPTH: usize = 4;
/// Bytes that one slot holds.
pub const SLOT_BYTES: usize = 8192;
/// In place of a slot's length: its owner has found an error, and there is no slot.
pub const FAILED: usize = u32::MAX as usize;
/// LargeSlots of a slots: longer slots take turns on so many.
pub const LARGE_SLOTS: usize = 2;
/// Bytes of a large slot.
pub const LARGE_SLOT_BYTES: usize = 256 * 1024;

/// The slots of one rank for one communicator.
///
/// Access rules: the owner alone writes. It writes the slot of a number after every member has
/// finished the number [`DEPTH`] before it, so nobody reads while it does.
#[repr(C)]
pub struct CollSlots {
    /// The last operation that the owner is through with.
    finished: Padded<AtomicU64>,
    slots: [CollSlot; DEPTH],
}

/// One slot: up to 48 bytes share a cache line with the number that publishes them.
#[repr(C, align(128))]
pub struct CollSlot {
    /// Number of the operation whose slot this is, once it is complete.
    number: AtomicU64,
    len: AtomicU32,
    reserved: u32,
    body: UnsafeCell<[u8; SLOT_BYTES]>,
}

// SAFETY: the access rules of `CollSlots`: `body` is written by the owner only, before the release
// store of `number`, and read by others only after an acquire load has seen it.
unsafe impl Sync for CollSlots {}

/// Room for a slot that does not fit on its slots.
///
/// Access rules: as for a slot, but the owner writes the large slot of a number after every member has finished
/// the number [`LARGE_SLOTS`] before it. It may leave the large slot to another member by a slot that says so, as that
/// may to the next; who reads it has seen the slot of the last of them.
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

    /// An empty large slot, for models and tests; in a segment a large slot is zeroed memory.
    pub fn new() -> Box<LargeSlot> {
        Box::new(LargeSlot(UnsafeCell::new([0; LARGE_SLOT_BYTES])))
    }
}

impl CollSlot {
    /// Shows a slot whose body is complete.
    #[inline(always)]
    fn publish(&self, number: u64, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        // Relaxed: published by the next store.
        self.len.store(len, Ordering::Relaxed);
        // Release pairs with the acquire in `has`.
        self.number.store(number, Ordering::Release);
    }
}

impl CollSlots {
    /// An empty slots, for models and tests; in a segment a slots is zeroed memory.
    pub fn new() -> Box<CollSlots> {
        let slot = || CollSlot {
            number: AtomicU64::new(0),
            len: AtomicU32::new(0),
            reserved: 0,
            body: UnsafeCell::new([0; SLOT_BYTES]),
        };
        Box::new(CollSlots {
            finished: Padded(AtomicU64::new(0)),
            slots: core::array::from_fn(|_| slot()),
        })
    }

    #[inline(always)]
    fn slot(&self, number: u64) -> &CollSlot {
        &self.slots[number as usize % DEPTH]
    }

    /// Posts the slot of operation `number`: `len` bytes that `fill` writes, all of them. Of one that
    /// is longer than [`SLOT_BYTES`] there is only the length.
    ///
    /// # Safety
    /// The caller is the slots's owner, and every member has finished `number - DEPTH`.
    #[inline(always)]
    pub unsafe fn post(&self, number: u64, len: usize, fill: impl FnOnce(&mut [u8])) {
        let slot = self.slot(number);
        if len <= SLOT_BYTES {
            // SAFETY: by the access rules nobody else touches the body now, and there is room.
            fill(unsafe { core::slice::from_raw_parts_mut(slot.body.get().cast(), len) });
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

    /// The same for a slot that is written to `large slot`, if it is no longer than [`LARGE_SLOT_BYTES`].
    ///
    /// # Safety
    /// As for `post`, and every member has finished `number - LARGE_SLOTS`. The large slot is the one of this slots
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
        self.slot(number).number.load(Ordering::Acquire) >= number
    }

    /// The slot of operation `number`.
    ///
    /// # Errors
    /// Its length, as its owner says, if that is more than there is room for.
    ///
    /// # Safety
    /// `has` has said yes, and the caller has not finished `number` yet.
    #[inline(always)]
    pub unsafe fn read(&self, number: u64) -> Result<&[u8], usize> {
        let slot = self.slot(number);
        // Relaxed: ordered by the load in `has`.
        let len = slot.len.load(Ordering::Relaxed) as usize;
        if len > SLOT_BYTES {
            return Err(len);
        }
        // SAFETY: the owner leaves the slot alone until we have finished (the access rules).
        Ok(unsafe { core::slice::from_raw_parts(slot.body.get().cast(), len) })
    }

    /// The slot of operation `number`, which was written to `large slot`.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Safety
    /// As for `read`; the large slot is the one of this slots and number.
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
        self.finished.store(number, Ordering::Release);
    }

    /// The last operation that the owner is through with.
    #[inline(always)]
    pub fn finished(&self) -> u64 {
        // Acquire pairs with the release in `finish`.
        self.finished.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<CollSlot>(), 65 * 128);
        assert_eq!(size_of::<CollSlots>(), 128 + DEPTH * 65 * 128);
        assert_eq!(align_of::<CollSlots>(), 128);
        assert_eq!(core::mem::offset_of!(CollSlot, body), 16);
    }

    #[test]
    fn notes_follow_each_other() {
        let slots = CollSlots::new();
        for number in 1..=3 * DEPTH as u64 {
            assert!(!slots.has(number));
            // SAFETY: we are the only member.
            unsafe { slots.post(number, 8, |out| out.copy_from_slice(&number.to_le_bytes())) };
            assert!(slots.has(number) && !slots.has(number + 1));
            // SAFETY: posted, and not finished.
            assert_eq!(unsafe { slots.read(number) }, Ok(&number.to_le_bytes()[..]));
            slots.finish(number);
        }
        assert!(slots.has(1), "long gone is posted, too");
    }

    #[test]
    fn of_a_note_that_is_too_long_there_is_only_the_length() {
        let (slots, large_slot) = (CollSlots::new(), LargeSlot::new());
        let none = |_: &mut [u8]| panic!("there is no room for it");
        // SAFETY: we are the only member.
        unsafe {
            slots.post(1, SLOT_BYTES, |out| out.fill(1));
            slots.post(2, SLOT_BYTES + 1, none);
            slots.post(3, usize::MAX, none);
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

    /// A member that posts as fast as the rule allows, and one that reads: every slot arrives
    /// whole, in every interleaving.
    #[test]
    fn a_reader_sees_every_note() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let slots = Arc::new([CollSlots::new(), CollSlots::new()]);
            let last = DEPTH as u64 + 1;
            let writer = {
                let slots = slots.clone();
                loom::thread::spawn(move || {
                    for number in 1..=last {
                        while slots[1].finished() + (DEPTH as u64) < number {
                            loom::thread::yield_now();
                        }
                        // SAFETY: the owner, and the reader has finished what it must.
                        unsafe { slots[0].post(number, 1, |out| out[0] = number as u8) };
                    }
                })
            };
            for number in 1..=last {
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
}
