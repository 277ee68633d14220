//! The receiver's side of a link.

use super::segment::Segment;
use hpvm_pvm::Tid;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::record::Assembler;
use hpvm_shm::balance;
use hpvm_sync::atomic::{Ordering, fence};
use std::collections::BTreeMap;

/// A link from a task.
pub struct Incoming {
    pub from: Tid,
    segment: Segment,
    tail: u64,
    generation: u32,
    /// Segments that come later, by generation.
    later: BTreeMap<u32, Segment>,
    assembler: Assembler,
}

/// What a sender wrote makes no sense.
pub struct Garbled(pub String);

impl Incoming {
    pub fn new(from: Tid, segment: Segment) -> Incoming {
        let (later, assembler) = (BTreeMap::new(), Assembler::default());
        Incoming { from, segment, tail: 0, generation: 0, later, assembler }
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

    /// Whether the sender has gone on in a segment that has not come yet.
    pub fn awaits_segment(&self) -> bool {
        // Relaxed: a hint; `poll` reads it again.
        self.segment.moved().load(Ordering::Relaxed) != 0
            && !self.later.contains_key(&(self.generation + 1))
    }

    /// Asks to be rung; says whether nothing is there yet.
    pub fn arm(&self) -> bool {
        self.segment.asleep().store(1, Ordering::Relaxed);
        // Pairs with the fence of `Outgoing::wake`.
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

    /// Takes what is there now; whole messages go to `sink`, and memory for them comes from `memory`.
    ///
    /// # Errors
    /// What the sender wrote makes no sense.
    pub fn poll(
        &mut self,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
    ) -> Result<(), Garbled> {
        loop {
            // Before `head`: when it is set, that one is final. Pairs with the store of `grow`.
            let moved = self.segment.moved().load(Ordering::Acquire) != 0;
            // Pairs with the store of `write`.
            let head = self.segment.head().load(Ordering::Acquire);
            let there = head.wrapping_sub(self.tail);
            if there > self.segment.capacity() {
                return Err(Garbled(format!(
                    "{there} bytes in a link of {}",
                    self.segment.capacity()
                )));
            }
            while self.tail != head {
                // SAFETY: from `tail` to `head` the bytes are ours, in one run, and were published before `head`.
                let there = unsafe {
                    let from = self.segment.at(self.tail);
                    core::slice::from_raw_parts(from, (head - self.tail) as usize)
                };
                let taken = self.assembler.take(self.from, there, memory, sink);
                self.tail += taken.map_err(Garbled)? as u64;
                // What was read may be overwritten: pairs with the load of `free`.
                self.segment.tail().store(self.tail, Ordering::Release);
            }
            if !moved {
                return Ok(());
            }
            let Some(next) = self.later.remove(&(self.generation + 1)) else { return Ok(()) };
            self.segment = next;
            // Relaxed: a hint, by which the sender knows how much waits here.
            self.segment.entered().store(1, Ordering::Relaxed);
            self.generation += 1;
            self.tail = 0;
        }
    }
}
