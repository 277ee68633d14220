//! Notice boards: where ranks of one host show each other their part of a small collective.
//!
//! A rank owns [`BOARDS`] boards, one for each of as many communicators. A collective operation has
//! a number, the same on all members. A member posts what the others need as the note of that
//! number on its own board and reads theirs; nothing is addressed, and nothing is written to memory
//! of another rank. When it is through it marks the number as finished on its board: from then on
//! it reads no note of that number or an earlier one.
//!
//! Numbers only grow, also when a board passes from one communicator to the next, so a reader that
//! is late never mistakes a newer note for an older one, or the other way round.

use core::cell::UnsafeCell;
use hpvm_sync::Padded;
use hpvm_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Boards of a rank.
pub const BOARDS: usize = 16;
/// Notes of a board: so many operations a member may be ahead of the slowest one.
pub const NOTES: usize = 4;
/// Bytes that one note holds.
pub const NOTE_BYTES: usize = 8192;
/// In place of a note's length: its owner has found an error, and there is no note.
pub const FAILED: usize = u32::MAX as usize;
/// Sheets of a board: longer notes take turns on so many.
pub const SHEETS: usize = 2;
/// Bytes of a sheet.
pub const SHEET_BYTES: usize = 256 * 1024;

/// The board of one rank for one communicator.
///
/// Access rules: the owner alone writes. It writes the note of a number after every member has
/// finished the number [`NOTES`] before it, so nobody reads while it does.
#[repr(C)]
pub struct Board {
    /// The last operation that the owner is through with.
    finished: Padded<AtomicU64>,
    notes: [Note; NOTES],
}

/// One note: up to 48 bytes share a cache line with the number that publishes them.
#[repr(C, align(128))]
pub struct Note {
    /// Number of the operation whose note this is, once it is complete.
    number: AtomicU64,
    len: AtomicU32,
    reserved: u32,
    body: UnsafeCell<[u8; NOTE_BYTES]>,
}

// SAFETY: the access rules of `Board`: `body` is written by the owner only, before the release
// store of `number`, and read by others only after an acquire load has seen it.
unsafe impl Sync for Board {}

/// Room for a note that does not fit on its board.
///
/// Access rules: as for a note, but the owner writes the sheet of a number after every member has finished
/// the number [`SHEETS`] before it. It may leave the sheet to another member by a note that says so, as that
/// may to the next; who reads it has seen the note of the last of them.
#[repr(C, align(4096))]
pub struct Sheet(UnsafeCell<[u8; SHEET_BYTES]>);

// SAFETY: the access rules: written by one member at a time, before the release store of its note's
// `number`, and read or written by others only after an acquire load has seen it.
unsafe impl Sync for Sheet {}

impl Sheet {
    /// Its first byte, to be read and written by these rules.
    pub fn start(&self) -> *mut u8 {
        self.0.get().cast()
    }

    /// An empty sheet, for models and tests; in a segment a sheet is zeroed memory.
    pub fn new() -> Box<Sheet> {
        Box::new(Sheet(UnsafeCell::new([0; SHEET_BYTES])))
    }
}

impl Note {
    /// Shows a note whose body is complete.
    #[inline(always)]
    fn publish(&self, number: u64, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        // Relaxed: published by the next store.
        self.len.store(len, Ordering::Relaxed);
        // Release pairs with the acquire in `has`.
        self.number.store(number, Ordering::Release);
    }
}

impl Board {
    /// An empty board, for models and tests; in a segment a board is zeroed memory.
    pub fn new() -> Box<Board> {
        let note = || Note {
            number: AtomicU64::new(0),
            len: AtomicU32::new(0),
            reserved: 0,
            body: UnsafeCell::new([0; NOTE_BYTES]),
        };
        Box::new(Board {
            finished: Padded(AtomicU64::new(0)),
            notes: core::array::from_fn(|_| note()),
        })
    }

    #[inline(always)]
    fn note(&self, number: u64) -> &Note {
        &self.notes[number as usize % NOTES]
    }

    /// Posts the note of operation `number`: `len` bytes that `fill` writes, all of them. Of one that
    /// is longer than [`NOTE_BYTES`] there is only the length.
    ///
    /// # Safety
    /// The caller is the board's owner, and every member has finished `number - NOTES`.
    #[inline(always)]
    pub unsafe fn post(&self, number: u64, len: usize, fill: impl FnOnce(&mut [u8])) {
        let note = self.note(number);
        if len <= NOTE_BYTES {
            // SAFETY: by the access rules nobody else touches the body now, and there is room.
            fill(unsafe { core::slice::from_raw_parts_mut(note.body.get().cast(), len) });
        }
        note.publish(number, len);
    }

    /// Posts in place of the note of operation `number` that the owner has found an error: readers get
    /// [`FAILED`] for its length.
    ///
    /// # Safety
    /// As for `post`.
    pub unsafe fn post_failure(&self, number: u64) {
        self.note(number).publish(number, FAILED);
    }

    /// The same for a note that is written to `sheet`, if it is no longer than [`SHEET_BYTES`].
    ///
    /// # Safety
    /// As for `post`, and every member has finished `number - SHEETS`. The sheet is the one of this board
    /// and number.
    pub unsafe fn post_on(
        &self,
        sheet: &Sheet,
        number: u64,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        if len <= SHEET_BYTES {
            // SAFETY: by the access rules nobody else touches the sheet now, and there is room.
            fill(unsafe { core::slice::from_raw_parts_mut(sheet.0.get().cast(), len) });
        }
        self.note(number).publish(number, len);
    }

    /// Whether the note of operation `number` has been posted.
    #[inline(always)]
    pub fn has(&self, number: u64) -> bool {
        // Acquire pairs with the release in `post`. A later number says that this one has been
        // and gone, which only a barrier's reader may find.
        self.note(number).number.load(Ordering::Acquire) >= number
    }

    /// The note of operation `number`.
    ///
    /// # Errors
    /// Its length, as its owner says, if that is more than there is room for.
    ///
    /// # Safety
    /// `has` has said yes, and the caller has not finished `number` yet.
    #[inline(always)]
    pub unsafe fn read(&self, number: u64) -> Result<&[u8], usize> {
        let note = self.note(number);
        // Relaxed: ordered by the load in `has`.
        let len = note.len.load(Ordering::Relaxed) as usize;
        if len > NOTE_BYTES {
            return Err(len);
        }
        // SAFETY: the owner leaves the note alone until we have finished (the access rules).
        Ok(unsafe { core::slice::from_raw_parts(note.body.get().cast(), len) })
    }

    /// The note of operation `number`, which was written to `sheet`.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Safety
    /// As for `read`; the sheet is the one of this board and number.
    pub unsafe fn read_on<'a>(&self, sheet: &'a Sheet, number: u64) -> Result<&'a [u8], usize> {
        // Relaxed: ordered by the load in `has`.
        let len = self.note(number).len.load(Ordering::Relaxed) as usize;
        if len > SHEET_BYTES {
            return Err(len);
        }
        // SAFETY: the owner leaves the sheet alone until we have finished (the access rules).
        Ok(unsafe { core::slice::from_raw_parts(sheet.0.get().cast(), len) })
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
        assert_eq!(size_of::<Note>(), 65 * 128);
        assert_eq!(size_of::<Board>(), 128 + NOTES * 65 * 128);
        assert_eq!(align_of::<Board>(), 128);
        assert_eq!(core::mem::offset_of!(Note, body), 16);
    }

    #[test]
    fn notes_follow_each_other() {
        let board = Board::new();
        for number in 1..=3 * NOTES as u64 {
            assert!(!board.has(number));
            // SAFETY: we are the only member.
            unsafe { board.post(number, 8, |out| out.copy_from_slice(&number.to_le_bytes())) };
            assert!(board.has(number) && !board.has(number + 1));
            // SAFETY: posted, and not finished.
            assert_eq!(unsafe { board.read(number) }, Ok(&number.to_le_bytes()[..]));
            board.finish(number);
        }
        assert!(board.has(1), "long gone is posted, too");
    }

    #[test]
    fn of_a_note_that_is_too_long_there_is_only_the_length() {
        let (board, sheet) = (Board::new(), Sheet::new());
        let none = |_: &mut [u8]| panic!("there is no room for it");
        // SAFETY: we are the only member.
        unsafe {
            board.post(1, NOTE_BYTES, |out| out.fill(1));
            board.post(2, NOTE_BYTES + 1, none);
            board.post(3, usize::MAX, none);
            board.post_on(&sheet, 4, SHEET_BYTES + 1, none);
        }
        assert!((1..=4).all(|number| board.has(number)));
        // SAFETY: posted, and not finished.
        unsafe {
            assert_eq!(board.read(1), Ok(&[1; NOTE_BYTES][..]));
            assert_eq!(board.read(2), Err(NOTE_BYTES + 1));
            assert_eq!(board.read(3), Err(FAILED));
            assert_eq!(board.read_on(&sheet, 4), Err(SHEET_BYTES + 1));
        }
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use std::sync::Arc;

    /// A member that posts as fast as the rule allows, and one that reads: every note arrives
    /// whole, in every interleaving.
    #[test]
    fn a_reader_sees_every_note() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let boards = Arc::new([Board::new(), Board::new()]);
            let last = NOTES as u64 + 1;
            let writer = {
                let boards = boards.clone();
                loom::thread::spawn(move || {
                    for number in 1..=last {
                        while boards[1].finished() + (NOTES as u64) < number {
                            loom::thread::yield_now();
                        }
                        // SAFETY: the owner, and the reader has finished what it must.
                        unsafe { boards[0].post(number, 1, |out| out[0] = number as u8) };
                    }
                })
            };
            for number in 1..=last {
                while !boards[0].has(number) {
                    loom::thread::yield_now();
                }
                // SAFETY: posted, and not finished.
                assert_eq!(unsafe { boards[0].read(number) }, Ok(&[number as u8][..]));
                boards[1].finish(number);
            }
            writer.join().unwrap();
        });
    }
}
