//! Processes of one host: counts and packed messages in memory that all of them have mapped.
//!
//! Each process lends the others a *mailbox*. There others leave the counts of a superstep for it, a line of the cache each,
//! and its *descriptors* say where the messages lie that it shows to each of them. Lines are used by turns: a process that is a
//! superstep ahead leaves the next counts beside those that may not have been read.

use crate::mpi::{Mpi, checked};
use crate::shown::{HEAD, Head, head};
use core::ffi::{CStr, c_int};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};
use hpvm_abi::onesided::{Attached, Key};
use hpvm_bsp::{Buffer, Counts, Shown};
use hpvm_model::{block, onesided};

/// For texts about waits that fail.
const NAME: &CStr = c"bsp_sync";

/// What another process leaves for the mailbox's owner.
#[repr(C, align(64))]
struct Line {
    /// The all-to-all that it belongs to, from 1; written last.
    round: AtomicU64,
    word: AtomicU64,
    digest: AtomicU64,
}

/// Where the mailbox's owner has a message for another process.
#[repr(C, align(64))]
struct Descriptor {
    /// The head's `serial`; written last.
    serial: AtomicU64,
    bytes: AtomicU64,
    key: [AtomicU64; size_of::<Key>() / 8],
}

const UNIT: usize = 64;
const _: () = assert!(size_of::<Line>() == UNIT && size_of::<Descriptor>() == UNIT);

/// Lines of counts that a process has for each other, by turns; behind them one that says that an answer is there.
const TURNS: usize = 2;
const ANSWER: usize = TURNS;
/// Descriptors for each other process: one of each [`Shown`].
const DESCRIPTORS: usize = 3;
const UNITS: usize = TURNS + 1 + DESCRIPTORS;

/// The mailbox of a process, as it is mapped here.
#[derive(Clone, Copy)]
struct Mailbox {
    start: *mut u8,
}

impl Mailbox {
    /// What process `from` leaves in turn `turn`.
    fn line(self, turn: usize, from: usize) -> &'static Line {
        // SAFETY: a mailbox has `UNITS` units for each process, zero at first, and stays mapped as long as `Mapped`.
        unsafe { &*self.start.add((from * UNITS + turn) * UNIT).cast() }
    }

    /// What is shown to process `to`.
    fn descriptor(self, to: usize, what: Shown) -> &'static Descriptor {
        // SAFETY: as in `line`.
        unsafe { &*self.start.add((to * UNITS + TURNS + 1 + what as usize) * UNIT).cast() }
    }
}

/// A block of another process that is attached.
struct Seen {
    serial: u64,
    bytes: u64,
    there: Attached,
}

const NOTHING: Attached = Attached { target: null_mut(), base: null_mut(), locked: 0 };

pub struct Mapped {
    own: usize,
    /// Every process has a processor for itself.
    lines: bool,
    key: Key,
    mailboxes: Box<[Mailbox]>,
    there: Box<[Attached]>,
    /// All-to-alls so far.
    round: u64,
    /// Serial of the block that each process was last told of.
    told: Box<[[u64; DESCRIPTORS]]>,
    seen: Box<[[Seen; DESCRIPTORS]]>,
}

impl Mapped {
    /// `None`: the processes are not all of one host, or can't map each other's memory. All of them call this.
    pub fn open(mpi: &Mpi, own: usize, processes: usize) -> Result<Option<Mapped>, String> {
        if !hpvm_model::fits() || processes == 1 || mpi.on_this_host()? != processes {
            return Ok(None);
        }
        let bytes = processes * UNITS * UNIT;
        // SAFETY: a size.
        let start = unsafe { (onesided().allocate)(bytes) };
        let mut key: Key = [0; size_of::<Key>()];
        let mut usable = !start.is_null();
        if usable {
            // SAFETY: memory of this size, ours alone so far.
            unsafe {
                start.cast::<u8>().write_bytes(0, bytes);
                usable = (onesided().expose)(start, bytes, &mut key) == 0;
            }
        }
        let keys = mpi.all_gather_keys(&key, processes)?;
        let there: Box<[Attached]> = keys.iter().map(attach).collect();
        usable &= there.iter().all(|there| !there.base.is_null());
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        let [usable, lines] =
            mpi.least([c_int::from(usable), c_int::from(processors >= processes)])?;
        let mailboxes = there.iter().map(|there| Mailbox { start: there.base.cast() }).collect();
        let seen = |_| [(); DESCRIPTORS].map(|()| Seen { serial: 0, bytes: 0, there: NOTHING });
        let mapped = Mapped {
            own,
            lines: lines != 0,
            key,
            mailboxes,
            there,
            round: 0,
            told: vec![[0; DESCRIPTORS]; processes].into(),
            seen: (0..processes).map(seen).collect(),
        };
        if usable != 0 {
            return Ok(Some(mapped));
        }
        mapped.close();
        Ok(None)
    }

    /// Gives all memory back. The others have left their last counts here.
    pub fn close(self) {
        let seen = self.seen.iter().flatten().map(|seen| &seen.there);
        for there in self.there.iter().chain(seen).filter(|there| !there.target.is_null()) {
            // SAFETY: attached by `attach`, and not used any more.
            unsafe { (onesided().detach)(there.target) };
        }
        let (mailbox, bytes) =
            (self.mailboxes[self.own].start, self.mailboxes.len() * UNITS * UNIT);
        if !mailbox.is_null() {
            // SAFETY: exposed and allocated by `open`, with this size.
            unsafe {
                (onesided().withdraw)(&self.key);
                (onesided().release)(mailbox.cast(), bytes);
            }
        }
    }

    pub fn in_place(&self, what: Shown) -> bool {
        // Who shares a processor would wait for an answer without being woken.
        what != Shown::Answer || self.lines
    }

    /// An all-to-all begins. True: by [`Mapped::exchange`], else the counts go by other ways.
    pub fn begin(&mut self) -> bool {
        self.round += 1;
        self.lines
    }

    pub fn exchange(&self, out: &[Counts], into: &mut [Counts]) {
        let turn = self.round as usize % TURNS;
        let others = || (1..out.len()).map(|i| (self.own + i) % out.len());
        for peer in others() {
            let line = self.mailboxes[peer].line(turn, self.own);
            // Relaxed: `round` comes behind them.
            line.word.store(out[peer].word, Ordering::Relaxed);
            line.digest.store(out[peer].digest, Ordering::Relaxed);
            // Release pairs with the fence behind `block`: counts, and what was shown before, are seen with it.
            line.round.store(self.round, Ordering::Release);
        }
        into[self.own] = out[self.own];
        for peer in others() {
            let line = self.mailboxes[self.own].line(turn, peer);
            self.wait(line);
            // Relaxed: `wait` has acquired.
            let (word, digest) =
                (line.word.load(Ordering::Relaxed), line.digest.load(Ordering::Relaxed));
            into[peer] = Counts { word, digest };
        }
    }

    #[inline]
    fn wait(&self, line: &Line) {
        // Relaxed: `block` ends with a fence.
        block(NAME.as_ptr(), || line.round.load(Ordering::Relaxed) == self.round);
    }

    /// See `Carrier::show`.
    pub fn show(&mut self, to: usize, what: Shown, message: &Buffer) {
        // SAFETY: buffers for other processes have their memory from `MAPPABLE`.
        let Head { key, serial, bytes } = unsafe { head(message.as_ptr()) };
        let told = &mut self.told[to][what as usize];
        if *told != serial {
            *told = serial;
            let descriptor = self.mailboxes[self.own].descriptor(to, what);
            for (word, part) in descriptor.key.iter().zip(key.as_chunks::<8>().0) {
                // Relaxed: what tells `to` to look comes behind: counts, or the line of the answer.
                word.store(u64::from_ne_bytes(*part), Ordering::Relaxed);
            }
            // Relaxed: as above.
            descriptor.bytes.store(bytes, Ordering::Relaxed);
            descriptor.serial.store(serial, Ordering::Relaxed);
        }
        if what == Shown::Answer {
            // Release pairs with the fence in `wait`.
            self.mailboxes[to].line(ANSWER, self.own).round.store(self.round, Ordering::Release);
        }
    }

    /// See `Carrier::view`.
    pub fn view(
        &mut self,
        from: usize,
        what: Shown,
        len: usize,
        into: &mut Buffer,
    ) -> Result<(), String> {
        if what == Shown::Answer {
            self.wait(self.mailboxes[self.own].line(ANSWER, from));
        }
        let descriptor = self.mailboxes[from].descriptor(self.own, what);
        // Relaxed: counts or the line of the answer were acquired.
        let serial = descriptor.serial.load(Ordering::Relaxed);
        let seen = &mut self.seen[from][what as usize];
        if seen.serial != serial {
            seen.replace(descriptor, serial);
        }
        if len as u64 > seen.bytes {
            return Err(format!(
                "process {from} says that {len} bytes lie in a block of {} bytes",
                seen.bytes
            ));
        }
        if !seen.there.base.is_null() {
            let start = seen.there.base.cast::<u8>().wrapping_add(HEAD);
            // SAFETY: the block has these bytes, and stays as it is for as long as the interface says.
            *into = unsafe { Buffer::view(start, len) };
            return Ok(());
        }
        // Its memory was not to be had in a form that can be mapped.
        *into = Buffer::default();
        let local = into.prepare(len).map_err(|fault| fault.text.clone())?;
        // SAFETY: room for `len` bytes; attached above, if it was to be had.
        let code = unsafe {
            match seen.there.target.is_null() {
                true => return Err(format!("the memory of process {from} can't be reached")),
                false => (onesided().get)(seen.there.target, HEAD as u64, local.cast(), len, 1),
            }
        };
        checked(code.max(0))
    }
}

impl Seen {
    /// Attaches the block that a descriptor names, instead of the one before.
    #[cold]
    fn replace(&mut self, descriptor: &Descriptor, serial: u64) {
        if !self.there.target.is_null() {
            // SAFETY: attached here, and not looked at any more.
            unsafe { (onesided().detach)(self.there.target) };
        }
        let mut key: Key = [0; size_of::<Key>()];
        for (part, word) in key.as_chunks_mut::<8>().0.iter_mut().zip(&descriptor.key) {
            // Relaxed: as in `view`.
            *part = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        let bytes = descriptor.bytes.load(Ordering::Relaxed);
        *self = Seen { serial, bytes, there: attach(&key) };
    }
}

/// How memory is reached; nothing if it is not.
fn attach(key: &Key) -> Attached {
    let mut there = NOTHING;
    // SAFETY: a key, which is checked, and room for what is found.
    match unsafe { (onesided().attach)(key, &mut there) } {
        0 => there,
        _ => NOTHING,
    }
}
