//! Operations that are not done when they have been started.

use crate::Rank;
use crate::error::{Error, Result};
use crate::mapped;
use core::num::NonZeroU64;
use std::collections::VecDeque;

/// An operation under way: index plus one below, generation above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpId(NonZeroU64);

impl OpId {
    fn new(index: usize, generation: u32) -> OpId {
        let word = (index as u64 + 1) | u64::from(generation) << 32;
        OpId(NonZeroU64::new(word).unwrap_or(NonZeroU64::MIN))
    }

    pub(crate) fn word(self) -> u64 {
        self.0.get()
    }

    /// What a peer says that it answers.
    pub(crate) fn of_word(word: u64) -> Option<OpId> {
        NonZeroU64::new(word).map(OpId)
    }

    fn index(self) -> usize {
        ((self.word() as u32) as usize).wrapping_sub(1)
    }

    fn generation(self) -> u32 {
        (self.word() >> 32) as u32
    }
}

/// See [`OpId`].
pub(crate) struct Operation {
    /// Whose memory it is about.
    pub dst: Rank,
    /// Where the bytes of answers go, in order.
    expected: VecDeque<(*mut u8, usize)>,
    /// Packets that were sent and whose last answer has not come.
    unanswered: u32,
    /// All of its packets have been sent.
    sent: bool,
    forgotten: bool,
    error: Option<Box<Error>>,
}

impl Operation {
    fn is_done(&self) -> bool {
        self.sent && self.unanswered == 0
    }
}

#[derive(Default)]
struct Slot {
    generation: u32,
    operation: Option<Operation>,
}

/// All of a process.
#[derive(Default)]
pub(crate) struct UnderWay {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The first error of forgotten operations, by the rank whose memory it was about.
    lost: Vec<(Rank, Box<Error>)>,
}

// SAFETY: the pointers are to memory of the program, which it lends until the operation is done.
unsafe impl Send for UnderWay {}
// SAFETY: as above; nothing changes but through `&mut`.
unsafe impl Sync for UnderWay {}

impl UnderWay {
    pub fn insert(&mut self, dst: Rank) -> OpId {
        let index = self.free.pop().map_or(self.slots.len(), |index| index as usize);
        if index == self.slots.len() {
            self.slots.push(Slot::default());
        }
        let slot = &mut self.slots[index];
        slot.operation = Some(Operation {
            dst,
            expected: VecDeque::new(),
            unanswered: 0,
            sent: false,
            forgotten: false,
            error: None,
        });
        OpId::new(index, slot.generation)
    }

    fn get(&self, id: OpId) -> Option<&Operation> {
        let slot = self.slots.get(id.index())?;
        slot.operation.as_ref().filter(|_| slot.generation == id.generation())
    }

    fn get_mut(&mut self, id: OpId) -> Option<&mut Operation> {
        let slot = self.slots.get_mut(id.index())?;
        slot.operation.as_mut().filter(|_| slot.generation == id.generation())
    }

    fn remove(&mut self, id: OpId) -> Option<Operation> {
        self.get(id)?;
        let slot = &mut self.slots[id.index()];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.index() as u32);
        slot.operation.take()
    }

    /// Takes an operation out that has sent nothing.
    pub fn drop_unsent(&mut self, id: OpId) {
        self.remove(id);
    }

    /// A packet of the operation has left that is answered by what goes to `places`.
    pub fn packet_sent(&mut self, id: OpId, places: impl Iterator<Item = (*mut u8, usize)>) {
        if let Some(operation) = self.get_mut(id) {
            operation.unanswered += 1;
            operation.expected.extend(places);
        }
    }

    /// All packets of the operation have left.
    pub fn sent(&mut self, id: OpId) {
        if let Some(operation) = self.get_mut(id) {
            operation.sent = true;
        }
        self.clean(id);
    }

    /// Something went wrong with the operation. The first error counts.
    pub fn fail(&mut self, id: OpId, error: Box<Error>) {
        if let Some(operation) = self.get_mut(id) {
            operation.error.get_or_insert(error);
        }
    }

    /// Fails all operations on memory of `rank`, which has died. True: there were some.
    pub fn lose(&mut self, rank: Rank, error: impl Fn() -> Box<Error>) -> bool {
        let mut some = false;
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            let id = OpId::new(index, slot.generation);
            let Some(operation) = slot.operation.as_mut().filter(|op| op.dst == rank) else {
                continue;
            };
            if !operation.is_done() {
                operation.error.get_or_insert_with(&error);
                (operation.sent, operation.unanswered, some) = (true, 0, true);
                self.clean(id);
            }
        }
        some
    }

    /// Whether answers of `src` to the operation are awaited.
    pub fn is_asked(&self, id: OpId, src: Rank) -> bool {
        self.get(id).is_some_and(|operation| operation.dst == src && operation.unanswered != 0)
    }

    /// Takes an answer of `src`. False: nothing of the kind was asked of it.
    pub fn answer(&mut self, id: OpId, src: Rank, mut bytes: &[u8], last: bool) -> bool {
        if !self.is_asked(id, src) {
            return false;
        }
        let Some(operation) = self.get_mut(id) else { return false };
        // After an error nobody knows which part of the memory the rest is for.
        while operation.error.is_none() && !bytes.is_empty() {
            let Some((to, room)) = operation.expected.front_mut() else { return false };
            let n = bytes.len().min(*room);
            // SAFETY: the caller of the operation has promised that its memory is writable until it is done.
            unsafe { mapped::copy(bytes.as_ptr(), *to, n) };
            (*to, *room) = (to.wrapping_add(n), *room - n);
            bytes = &bytes[n..];
            if *room == 0 {
                operation.expected.pop_front();
            }
        }
        operation.unanswered -= u32::from(last);
        self.clean(id);
        true
    }

    /// Drops a forgotten operation that is done.
    fn clean(&mut self, id: OpId) {
        if !self.get(id).is_some_and(|operation| operation.forgotten && operation.is_done()) {
            return;
        }
        let Some(Operation { dst, error: Some(error), .. }) = self.remove(id) else { return };
        if !self.lost.iter().any(|(rank, _)| *rank == dst) {
            self.lost.push((dst, error));
        }
    }

    /// The error of a forgotten operation on memory of `rank`, once.
    pub fn take_lost(&mut self, rank: Rank) -> Result<()> {
        match self.lost.iter().position(|(dst, _)| *dst == rank) {
            None => Ok(()),
            Some(place) => Err(self.lost.swap_remove(place).1),
        }
    }

    /// Nobody asks for the operation, which is not done. What goes wrong with it is told by the next flush.
    pub fn leave(&mut self, id: OpId) {
        if let Some(operation) = self.get_mut(id) {
            operation.forgotten = true;
        }
        self.clean(id);
    }

    pub fn is_done(&self, id: OpId) -> bool {
        self.get(id).is_none_or(Operation::is_done)
    }

    pub fn forget(&mut self, id: OpId) -> Result<()> {
        let Some(operation) = self.get_mut(id) else { return Ok(()) };
        if !operation.is_done() {
            operation.forgotten = true;
            return Ok(());
        }
        let dst = operation.dst;
        match self.remove(id).and_then(|operation| operation.error) {
            Some(error) => Err(error),
            // Answers come in order, so this one tells what went wrong before it.
            None => self.take_lost(dst),
        }
    }
}
