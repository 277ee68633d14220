//! The receiver's side of a link.

use super::record;
use super::segment::Segment;
use hpvm_pvm::Tid;
use hpvm_pvm::buffers::Head;
use hpvm_sync::atomic::{Ordering, fence};
use std::collections::BTreeMap;

/// A message that is not whole yet.
struct Partial {
    head: Head,
    total: u64,
    bytes: Vec<u8>,
}

/// A link from a task.
pub struct Incoming {
    pub from: Tid,
    segment: Segment,
    tail: u64,
    generation: u32,
    /// Segments that come later, by generation.
    later: BTreeMap<u32, Segment>,
    partial: Option<Partial>,
}

/// What a sender wrote makes no sense.
pub struct Garbled(pub String);

impl Incoming {
    pub fn new(from: Tid, segment: Segment) -> Incoming {
        Incoming { from, segment, tail: 0, generation: 0, later: BTreeMap::new(), partial: None }
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
        memory: &mut impl FnMut(usize) -> Vec<u8>,
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
                self.fragment(head - self.tail, memory, sink)?;
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

    fn fragment(
        &mut self,
        there: u64,
        memory: &mut impl FnMut(usize) -> Vec<u8>,
        sink: &mut impl FnMut(Head, Vec<u8>),
    ) -> Result<(), Garbled> {
        let from = self.segment.at(self.tail);
        // SAFETY: at least a fragment's front is there: all fragments are multiples of it, checked below.
        let [len, kind] = unsafe { from.cast::<[u32; 2]>().read() };
        let first = kind == record::FIRST;
        let room = record::room(first, u64::from(len));
        if room > there || (!first && kind != record::MORE) {
            return Err(Garbled(format!(
                "a fragment of {len} bytes and kind {kind:#x}; {there} are there"
            )));
        }
        // SAFETY: `room` bytes are there.
        let mut data = unsafe { from.add(record::FRONT as usize) };
        if first {
            // SAFETY: as above.
            let bytes = unsafe { data.cast::<[u8; record::HEAD as usize]>().read() };
            let (head, total) = record::decode(&bytes, self.from);
            let bytes = memory(usize::try_from(total).unwrap_or(usize::MAX));
            self.partial = Some(Partial { head, total, bytes });
            // SAFETY: as above.
            data = unsafe { data.add(record::HEAD as usize) };
        }
        let Some(partial) = &mut self.partial else {
            return Err(Garbled("a fragment of no message".to_owned()));
        };
        if partial.bytes.len() as u64 + u64::from(len) > partial.total {
            return Err(Garbled(format!("more than the {} bytes of the message", partial.total)));
        }
        // SAFETY: `len` bytes are there, and nobody writes them before `tail` has moved.
        partial.bytes.extend_from_slice(unsafe { core::slice::from_raw_parts(data, len as usize) });
        self.tail += room;
        if partial.bytes.len() as u64 == partial.total
            && let Some(whole) = self.partial.take()
        {
            sink(whole.head, whole.bytes);
        }
        Ok(())
    }
}
