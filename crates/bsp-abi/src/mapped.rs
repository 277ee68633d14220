//! Processes of one host: counts and packed messages in memory that all of them have mapped.
//!
//! Each process lends the others a *mailbox*. There others leave the counts of a superstep for it, a line of the cache each.
//! Lines are used by turns: a process that is a superstep ahead leaves the next counts beside those that may not have been
//! read. Packed messages lie in blocks of memory ([`crate::places`]), of which the mailbox's *descriptors* tell.

use crate::mpi::Mpi;
use crate::places::{Lane, PLACES, Turn, attach};
use core::ffi::{CStr, c_int};
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

/// The block that the mailbox's owner has last made for messages to another process.
#[repr(C, align(64))]
pub struct Descriptor {
    /// The head's `serial`; 0: none was made.
    pub serial: AtomicU64,
    pub bytes: AtomicU64,
    pub key: [AtomicU64; size_of::<Key>() / 8],
}

const UNIT: usize = 64;
const _: () = assert!(size_of::<Line>() == UNIT && size_of::<Descriptor>() == UNIT);

/// Lines of counts that a process has for each other, by turns; behind them one that says that an answer is there.
const TURNS: usize = 2;
const ANSWER: usize = TURNS;
/// Units of a mailbox for each other process: lines, and a descriptor for each turn of messages.
const UNITS: usize = TURNS + 1 + PLACES;

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

    /// Where the messages to process `to` lie, of this turn.
    fn descriptor(self, to: usize, turn: Turn) -> &'static Descriptor {
        // SAFETY: as in `line`.
        unsafe { &*self.start.add((to * UNITS + TURNS + 1 + turn as usize) * UNIT).cast() }
    }
}

pub struct Mapped {
    own: usize,
    /// Every process has a processor for itself.
    lines: bool,
    key: Key,
    mailboxes: Box<[Mailbox]>,
    there: Box<[Attached]>,
    /// All-to-alls so far.
    round: u64,
    /// The messages from and to each process.
    lanes: Box<[Lane]>,
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
        // The engine's answer: a process that is bound sees only its own processors.
        // SAFETY: nothing is asked.
        let shares = unsafe { (onesided().shares_processors)() } != 0;
        let [usable, lines] = mpi.least([c_int::from(usable), c_int::from(!shares)])?;
        let mailboxes = there.iter().map(|there| Mailbox { start: there.base.cast() }).collect();
        let mapped = Mapped {
            own,
            lines: lines != 0,
            key,
            mailboxes,
            there,
            round: 0,
            lanes: (0..processes).map(|_| Lane::default()).collect(),
        };
        if usable != 0 {
            return Ok(Some(mapped));
        }
        mapped.close();
        Ok(None)
    }

    /// Gives all memory back. The others have left their last counts here.
    pub fn close(self) {
        // Blocks of our own go with their lanes, and what is attached there.
        drop(self.lanes);
        for there in self.there.iter().filter(|there| !there.target.is_null()) {
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

    /// See `Carrier::turn`: what was shown belongs to this turn, what comes next to another one, if anything travels between the
    /// two. The other process of each pair finds the same, also if it has nothing to do with third ones.
    pub fn turn(&mut self, out: &[Counts], into: &[Counts]) {
        for ((lane, out), into) in self.lanes.iter_mut().zip(out).zip(into) {
            lane.turn(out.bytes() > 0 || into.bytes() > 0);
        }
    }

    /// See `Carrier::show`.
    pub fn show(&mut self, to: usize, what: Shown, message: &Buffer) -> Result<(), String> {
        let lane = &mut self.lanes[to];
        // The all-to-all of a packed message begins behind it.
        let (turn, round) = match what {
            Shown::Packed => (lane.next(), self.round + 1),
            Shown::Answer => (Turn::Answer, self.round),
        };
        lane.write(turn, round, message, self.mailboxes[self.own].descriptor(to, turn))?;
        if what == Shown::Answer {
            // Release pairs with the fence in `wait`.
            self.mailboxes[to].line(ANSWER, self.own).round.store(self.round, Ordering::Release);
        }
        Ok(())
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
        let lane = &mut self.lanes[from];
        let turn = if what == Shown::Answer { Turn::Answer } else { lane.present() };
        // Counts, or the line of the answer, were acquired.
        let descriptor = self.mailboxes[from].descriptor(self.own, turn);
        lane.read(turn, self.round, len, descriptor, into)
            .map_err(|text| format!("process {from}: {text}"))
    }
}
