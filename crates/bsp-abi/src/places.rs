//! Where packed messages between two processes of one host lie.
//!
//! A message is packed in memory of its sender alone, and then copied to a block that both have mapped, where the receiver
//! reads it. To write lines of the cache that another processor has read last costs several times what reading them does; to
//! write lines that one has read oneself costs nothing more. So two processes that have had messages for each other exchange
//! their blocks: each writes its next message over the one that it has read. Both know the lengths of both messages, so
//! nothing has to be said about it. Who has a message and gets none keeps its block.
//!
//! A sender writes while the receiver may still read the message before, so there are two blocks in each direction, by turns,
//! and one for the answers of gets, which are read before the next ones are written.

use crate::mapped::Descriptor;
use crate::shown::{HEAD, MAPPABLE, head};
use core::ptr::null_mut;
use core::sync::atomic::Ordering;
use hpvm_abi::onesided::{Attached, Key};
use hpvm_bsp::Buffer;
use hpvm_copy::non_temporal;
use hpvm_copy::slow_stores::{MIN_TIMED, SlowStores, ticks};
use hpvm_model::onesided;

/// Which of the messages between two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    First = 0,
    Second = 1,
    Answer = 2,
}

/// How many turns there are.
pub const PLACES: usize = 3;

/// A block of the other process.
struct Theirs {
    bytes: u64,
    there: Attached,
}

impl Drop for Theirs {
    fn drop(&mut self) {
        if !self.there.target.is_null() {
            // SAFETY: attached by `attach`, and not looked at any more.
            unsafe { (onesided().detach)(self.there.target) };
        }
    }
}

enum Place {
    /// A block of this process; at first without memory.
    Own(Buffer),
    Theirs(Theirs),
}

/// The blocks of one turn, and what is known of them.
struct Pair {
    write: Place,
    read: Place,
    /// Serial of the block that the other process was last seen to have made.
    seen: u64,
    /// The all-to-all for which a message was last written.
    written: u64,
}

impl Default for Pair {
    fn default() -> Pair {
        let place = || Place::Own(Buffer::new(&MAPPABLE));
        Pair { write: place(), read: place(), seen: 0, written: 0 }
    }
}

/// The messages from and to one other process.
#[derive(Default)]
pub struct Lane {
    pairs: [Pair; PLACES],
    /// Whether the packed messages that travel are those of the second turn, and whether the next ones will be.
    present: bool,
    next: bool,
    stores: SlowStores,
}

impl Lane {
    /// The turn of the next packed messages.
    pub fn next(&self) -> Turn {
        if self.next { Turn::Second } else { Turn::First }
    }

    /// The turn of the packed messages that travel.
    pub fn present(&self) -> Turn {
        if self.present { Turn::Second } else { Turn::First }
    }

    /// Messages travel between some processes; whether between these two.
    pub fn turn(&mut self, travels: bool) {
        self.present = self.next;
        self.next ^= travels;
    }

    /// Writes the message of all-to-all `round`, and tells of a block that had to be made for it.
    pub fn write(
        &mut self,
        turn: Turn,
        round: u64,
        message: &Buffer,
        descriptor: &Descriptor,
    ) -> Result<(), String> {
        let pair = &mut self.pairs[turn as usize];
        pair.written = round;
        let into = match &pair.write {
            Place::Theirs(theirs) if theirs.holds(message.len()) => theirs.start(),
            _ => pair.own(message.len(), descriptor)?,
        };
        // SAFETY: room for as many bytes, which the other process has read and does not look at before it is told.
        unsafe { copy(&mut self.stores, message, into) };
        Ok(())
    }

    /// Makes `into` the message of `len` bytes of all-to-all `round`.
    pub fn read(
        &mut self,
        turn: Turn,
        round: u64,
        len: usize,
        descriptor: &Descriptor,
        into: &mut Buffer,
    ) -> Result<(), String> {
        let pair = &mut self.pairs[turn as usize];
        // Relaxed: the caller has acquired what was written before the message was announced.
        let serial = descriptor.serial.load(Ordering::Relaxed);
        if pair.seen != serial {
            // The block before is of no use to either process any more.
            pair.read = Place::Theirs(Theirs::described(descriptor));
            pair.seen = serial;
        }
        pair.view(len, into)?;
        if pair.written == round {
            core::mem::swap(&mut pair.write, &mut pair.read);
        }
        Ok(())
    }
}

impl Pair {
    /// Room for `len` bytes in a block of our own, of which the other process is told if it is new.
    fn own(&mut self, len: usize, descriptor: &Descriptor) -> Result<*mut u8, String> {
        if let Place::Theirs(_) = self.write {
            self.write = Place::Own(Buffer::new(&MAPPABLE));
        }
        let Place::Own(block) = &mut self.write else { return Err("no block".to_owned()) };
        let is_new = block.capacity() < len;
        let start = block.prepare(len).map_err(|fault| fault.text.clone())?;
        if is_new {
            // SAFETY: the memory is of `MAPPABLE`.
            let head = unsafe { head(start) };
            for (word, part) in descriptor.key.iter().zip(head.key.as_chunks::<8>().0) {
                // Relaxed: what tells the other process to look comes behind: counts, or the line of the answer.
                word.store(u64::from_ne_bytes(*part), Ordering::Relaxed);
            }
            // Relaxed: as above.
            descriptor.bytes.store(head.bytes, Ordering::Relaxed);
            descriptor.serial.store(head.serial, Ordering::Relaxed);
        }
        Ok(start)
    }

    fn view(&self, len: usize, into: &mut Buffer) -> Result<(), String> {
        let (start, room) = match &self.read {
            Place::Own(block) => (block.as_ptr().cast_mut(), block.capacity()),
            Place::Theirs(theirs) => (theirs.start(), theirs.bytes as usize),
        };
        if len > room {
            return Err(format!("it says that {len} bytes lie in a block of {room} bytes"));
        }
        match &self.read {
            Place::Theirs(theirs) if !theirs.is_mapped() => theirs.fetch(len, into),
            _ => {
                // SAFETY: the block has these bytes, and stays as it is for as long as the interface says.
                *into = unsafe { Buffer::view(start, len) };
                Ok(())
            }
        }
    }
}

impl Theirs {
    /// Attaches the block that a descriptor names.
    #[cold]
    fn described(descriptor: &Descriptor) -> Theirs {
        let mut key: Key = [0; size_of::<Key>()];
        for (part, word) in key.as_chunks_mut::<8>().0.iter_mut().zip(&descriptor.key) {
            // Relaxed: as in `read`.
            *part = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        // Relaxed: as in `read`.
        Theirs { bytes: descriptor.bytes.load(Ordering::Relaxed), there: attach(&key) }
    }

    fn is_mapped(&self) -> bool {
        !self.there.base.is_null()
    }

    fn start(&self) -> *mut u8 {
        self.there.base.cast::<u8>().wrapping_add(HEAD)
    }

    /// Whether a message of so many bytes can be written here.
    fn holds(&self, len: usize) -> bool {
        self.is_mapped() && len as u64 <= self.bytes
    }

    /// Copies a message out of a block that could not be mapped.
    #[cold]
    fn fetch(&self, len: usize, into: &mut Buffer) -> Result<(), String> {
        *into = Buffer::default();
        let local = into.prepare(len).map_err(|fault| fault.text.clone())?;
        if self.there.target.is_null() {
            return Err("its memory can't be reached".to_owned());
        }
        // SAFETY: room for `len` bytes; the target is attached.
        let code =
            unsafe { (onesided().get)(self.there.target, HEAD as u64, local.cast(), len, 1) };
        crate::mpi::checked(code.max(0))
    }
}

/// Copies a message to where another process reads it.
///
/// # Safety
/// There is room, which nobody reads.
unsafe fn copy(stores: &mut SlowStores, message: &Buffer, into: *mut u8) {
    let (from, len) = (message.as_ptr(), message.len());
    let started = if len >= MIN_TIMED { ticks() } else { 0 };
    // SAFETY: the caller's promise; two blocks that do not overlap.
    unsafe {
        match len >= MIN_TIMED && stores.are_slow() {
            true => non_temporal::copy(from, into, len),
            false => core::ptr::copy_nonoverlapping(from, into, len),
        }
    }
    if len >= MIN_TIMED {
        stores.wrote(len, ticks() - started);
    }
}

const NOTHING: Attached = Attached { target: null_mut(), base: null_mut(), locked: 0 };

/// How memory is reached; nothing if it is not.
pub fn attach(key: &Key) -> Attached {
    let mut there = NOTHING;
    // SAFETY: a key, which is checked, and room for what is found.
    match unsafe { (onesided().attach)(key, &mut there) } {
        0 => there,
        _ => NOTHING,
    }
}
