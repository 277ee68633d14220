//! The receiver's side of a link.

use super::nap;
use super::segment::{ON_BELL, ON_WORD, Segment};
use hpvm_pvm::Tid;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::posted::Posted;
use hpvm_pvm::record::{self, Assembler};
use hpvm_shm::balance;
use hpvm_sync::atomic::{Ordering, fence};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A message of so many bytes is worth being received before the next one is taken: its memory is used again for that one.
const LARGE: u64 = 16 << 10;

/// So often something is taken from a link before its receiver no longer looks for new links each time.
const YOUTH: u32 = 32;

/// How much is taken at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One message, if one is there as a whole: a program that asks for one tag and for another in turn, without waiting, finds the messages
    /// of a task as they were sent, as with PVM, of which each call reads one. Some programs rely on it.
    Next,
    /// As far as a large message, or the one that a receive waits for.
    OneMessage,
    Everything,
}

/// Where that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// More may be there, and what came is to be received before.
    Early,
    AtEnd,
}

/// A link from a task.
pub struct Incoming {
    pub from: Tid,
    segment: Segment,
    tail: u64,
    generation: u32,
    /// Segments that come later, by generation.
    later: BTreeMap<u32, Segment>,
    assembler: Assembler,
    /// Times that something was taken, up to [`YOUTH`].
    uses: u32,
}

/// What a sender wrote makes no sense.
pub struct Garbled(pub String);

impl Incoming {
    pub fn new(from: Tid, segment: Segment) -> Incoming {
        let (later, assembler) = (BTreeMap::new(), Assembler::default());
        Incoming { from, segment, tail: 0, generation: 0, later, assembler, uses: 0 }
    }

    /// Another segment of the sender.
    pub fn add(&mut self, generation: u32, segment: Segment) {
        if generation > self.generation {
            self.later.insert(generation, segment);
        }
    }

    /// Whether something is there. One load.
    #[inline]
    pub fn is_ready(&self) -> bool {
        // The bytes are read in `poll`, after its own load.
        self.segment.head().load(Ordering::Relaxed) != self.tail
            || self.segment.moved().load(Ordering::Relaxed) != 0
    }

    /// Whether something was taken a few times only: others may have begun to send at the same time, by links that have not come yet.
    pub fn is_young(&self) -> bool {
        self.uses < YOUTH
    }

    /// When the next message was sent, if a part of it is there.
    pub fn next_stamp(&self) -> Option<u64> {
        if let Some(stamp) = self.assembler.stamp() {
            return self.is_ready().then_some(stamp);
        }
        // Before `head`, as in `poll`: pairs with the store of `grow`.
        let moved = self.segment.moved().load(Ordering::Acquire) != 0;
        let next = moved.then(|| self.later.get(&(self.generation + 1))).flatten();
        stamp_at(&self.segment, self.tail).or_else(|| stamp_at(next?, 0))
    }

    /// Whether the sender has gone on in a segment that has not come yet.
    pub fn awaits_segment(&self) -> bool {
        // Relaxed: a hint; `poll` reads it again.
        self.segment.moved().load(Ordering::Relaxed) != 0
            && !self.later.contains_key(&(self.generation + 1))
    }

    /// Asks to be rung; says whether nothing is there yet.
    pub fn arm(&self) -> bool {
        self.segment.asleep().store(ON_BELL, Ordering::Relaxed);
        // Pairs with the fence of `nap::state`.
        fence(Ordering::SeqCst);
        !self.is_ready() || self.awaits_segment()
    }

    /// Shows the sender where we wait, and how many tasks we know.
    pub fn show(&self, here: u32, knows: u32) {
        balance::show(self.segment.processor(), here);
        balance::show(self.segment.knows(), knows);
    }

    pub fn disarm(&self) {
        // Relaxed: who still reads 1 rings in vain.
        self.segment.asleep().store(0, Ordering::Relaxed);
    }

    /// Takes what is there now, as far as `extent` says; whole messages go to `sink`, and memory for them comes from `memory`. The one
    /// that `posted` accepts goes there: its fragments are waited for as long as they come one after the other.
    ///
    /// # Errors
    /// What the sender wrote makes no sense, or there is no memory.
    pub fn poll(
        &mut self,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
        extent: Extent,
        mut posted: Option<&mut Posted>,
    ) -> Result<Stopped, Garbled> {
        let mut idle = Idle::default();
        self.uses = (self.uses + 1).min(YOUTH);
        loop {
            // Before `head`: when it is set, that one is final. Pairs with the store of `grow`.
            let moved = self.segment.moved().load(Ordering::Acquire) != 0;
            // Pairs with the store of `write`.
            let head = self.segment.head().load(Ordering::Acquire);
            let there = head.wrapping_sub(self.tail);
            if there > self.segment.capacity() {
                let capacity = self.segment.capacity();
                return Err(Garbled(format!("{there} bytes in a link of {capacity}")));
            }
            if there > 0 {
                idle = Idle::default();
            }
            let mut told = self.tail;
            while self.tail != head {
                let whole = self.take(head, memory, sink, posted.as_deref_mut())?;
                // What was read may be overwritten: pairs with the load of `ask`.
                self.segment.tail().store(self.tail, Ordering::Release);
                let has_got = posted.as_ref().is_some_and(|posted| posted.got().is_some());
                let enough = has_got || whole.is_some_and(|len| len >= LARGE);
                if extent == Extent::OneMessage && enough {
                    self.tell_sender();
                    return Ok(Stopped::Early);
                }
                if extent == Extent::Next && whole.is_some() {
                    self.tell_sender();
                    return Ok(Stopped::AtEnd);
                }
                // On another processor it goes on while we do; on this one it would only be in our way.
                if 2 * (self.tail - told) >= self.segment.capacity() && !self.shares_processor() {
                    self.tell_sender();
                    told = self.tail;
                }
            }
            if there > 0 {
                self.tell_sender();
            }
            if !moved {
                if !self.assembler.goes_to_receive() || idle.is_over(self) {
                    break;
                }
                continue;
            }
            let Some(next) = self.later.remove(&(self.generation + 1)) else { break };
            self.segment = next;
            // Relaxed: a hint, by which the sender knows how much waits here.
            self.segment.entered().store(1, Ordering::Relaxed);
            self.generation += 1;
            self.tail = 0;
        }
        if let Some(posted) = posted {
            self.assembler.withdraw(posted, memory).map_err(Garbled)?;
        }
        Ok(Stopped::AtEnd)
    }

    /// Wakes the sender if it waits for room.
    fn tell_sender(&self) {
        if nap::state(self.segment.lacks()) != 0 {
            nap::wake(self.segment.lacks());
        }
    }

    fn shares_processor(&self) -> bool {
        let here = balance::here();
        balance::show(self.segment.processor(), here);
        // Relaxed: a hint.
        here != 0 && self.segment.sender().load(Ordering::Relaxed) == here
    }

    /// Sleeps until the sender goes on.
    fn sleep(&self, longest: Duration) {
        nap::sleep(self.segment.asleep(), ON_WORD, longest, || self.is_ready());
    }

    /// Takes one fragment of those up to `head`; the length of the message that is whole by it.
    fn take(
        &mut self,
        head: u64,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
        posted: Option<&mut Posted>,
    ) -> Result<Option<u64>, Garbled> {
        // SAFETY: from `tail` to `head` the bytes are ours, in one run, and were published before `head`.
        let there = unsafe {
            let from = self.segment.at(self.tail);
            core::slice::from_raw_parts(from, (head - self.tail) as usize)
        };
        if there.get(4..8) == Some(&record::SKIP.to_le_bytes()) {
            let start = (self.tail + 1).next_multiple_of(self.segment.capacity());
            if start > head {
                return Err(Garbled(format!("{} bytes of nothing", head - self.tail)));
            }
            self.tail = start;
            return Ok(None);
        }
        let taken = self.assembler.take(self.from, there, memory, sink, posted).map_err(Garbled)?;
        self.tail += taken.room;
        Ok(taken.whole)
    }
}

/// When the message was sent that begins in a segment behind `at`, if it is there.
fn stamp_at(segment: &Segment, at: u64) -> Option<u64> {
    // Pairs with the store of `write`.
    let head = segment.head().load(Ordering::Acquire);
    let there = |at: u64| {
        let len = head.checked_sub(at).filter(|len| *len <= segment.capacity())?;
        // SAFETY: from `at`, where the receiver is or goes on, to `head` the bytes are ours, in one run, and were published before `head`.
        Some(unsafe { core::slice::from_raw_parts(segment.at(at), len as usize) })
    };
    let first = there(at)?;
    if first.get(4..8) == Some(&record::SKIP.to_le_bytes()) {
        return record::stamp(there((at + 1).next_multiple_of(segment.capacity()))?);
    }
    record::stamp(first)
}

/// How long the fragments of a message that goes to a receive are waited for by polling, and how long in all: as long as its sender may
/// have to wait for a processor.
const SPIN: Duration = Duration::from_micros(20);
const MAX_WAIT: Duration = Duration::from_millis(3);
/// So many looks lie between two at the clock.
const LOOKS: u32 = 32;

/// How long nothing has come.
#[derive(Default)]
struct Idle {
    looks: u32,
    since: Option<Instant>,
}

impl Idle {
    /// Waits a moment, unless that was long enough.
    fn is_over(&mut self, link: &Incoming) -> bool {
        core::hint::spin_loop();
        self.looks += 1;
        if self.looks > 1 && !self.looks.is_multiple_of(LOOKS) {
            return false;
        }
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if waited > SPIN || link.shares_processor() {
            link.sleep(MAX_WAIT.saturating_sub(waited));
        }
        waited > MAX_WAIT
    }
}
