//! What packets of others ask, applied as they come. Nothing here sends: answers are put into the queue.
//!
//! A packet may name a region of ours, an operation of ours that it answers, and nothing else; each is looked
//! up, and offsets and lengths are compared with the region's size, before memory is touched.

use crate::apply::Elements;
use crate::atomicity::{self, OwnWord};
use crate::kind::{AtomicOp, Kind};
use crate::messages::answer::Answer;
use crate::messages::packets::*;
use crate::messages::{MAX_FETCHED, MAX_MESSAGES, MAX_SWAPPED, MAX_UNANSWERED};
use crate::region::Region;
use crate::under_way::OpId;
use crate::{OneSided, Rank, mapped};
use hpvm_fm::Head;
use hpvm_wire::accumulate_lock::HolderGone;

/// A small message of a model, about a region of the rank that it comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub src: Rank,
    /// Id of the region, which is exposed.
    pub region: u32,
    pub code: u64,
    pub word: u64,
}

/// Why a packet was not done as it asks.
enum Refusal {
    /// The sender is told, and may have meant well: the region is gone, say.
    Fault(Fault),
    /// No correct sender sends this.
    Violation(String),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

type Applied<T> = Result<T, Refusal>;

/// The packet ends before its content does.
fn short(src: &[u8]) -> Refusal {
    Refusal::Violation(format!(
        "a packet of a one-sided operation that ends after {} bytes",
        src.len()
    ))
}

impl OneSided {
    /// Takes a packet of our handlers. Never sends.
    ///
    /// # Errors
    /// What the packet violates: no correct peer sends it.
    pub fn on_packet(&mut self, src: Rank, head: Head, data: &[u8]) -> Result<(), String> {
        let operation = head.imm;
        if !self.queues.heard(src) {
            // Nobody awaits an answer, and what it answers has failed.
            return Ok(());
        }
        let outcome = match head.handler {
            PUT => return self.on_any_put(src, head, data),
            UPDATE if head.flags & ASKS != 0 => {
                let done = self.on_update(0, data).map(drop);
                return self.done(src, done, Some(operation));
            }
            GET => self.on_get(operation, data).map(Some),
            UPDATE => self.on_update(operation, data),
            SWAP => self.on_swap(operation, data).map(Some),
            FLUSH => Ok(Some(self.on_flush(src, operation))),
            ANSWER => return self.on_answer(src, head, data),
            MESSAGE => return self.on_message(src, RegionName::of_word(head.imm), data),
            other => Err(Refusal::Violation(format!("handler {other} of one-sided operations"))),
        };
        let asks = matches!(head.handler, GET | SWAP) || head.handler == UPDATE && operation != 0;
        match outcome {
            Ok(None) => Ok(()),
            Ok(Some(answer)) => self.owe(src, answer),
            Err(Refusal::Fault(fault)) if asks => {
                self.owe(src, Answer::Failed { operation, fault })
            }
            Err(Refusal::Fault(fault)) => {
                self.queues.peer(src).fault.get_or_insert(fault);
                Ok(())
            }
            Err(Refusal::Violation(text)) => Err(text),
        }
    }

    /// A put, maybe with a flush.
    fn on_any_put(&mut self, src: Rank, head: Head, data: &[u8]) -> Result<(), String> {
        let asks = head.flags & ASKS != 0;
        let (operation, runs) = match data.split_first_chunk::<WORD_BYTES>() {
            Some((word, runs)) if asks => (u64::from_le_bytes(*word), runs),
            None if asks => {
                return Err("a put that asks for an answer and names no operation".into());
            }
            _ => (0, data),
        };
        let done = self.on_put(RegionName::of_word(head.imm), runs);
        self.done(src, done, asks.then_some(operation))
    }

    /// What has no answer of its own has been done, or not, and comes with a flush if that is named.
    fn done(&mut self, src: Rank, outcome: Applied<()>, flush: Option<u64>) -> Result<(), String> {
        match outcome {
            Ok(()) => {}
            Err(Refusal::Fault(fault)) => {
                self.queues.peer(src).fault.get_or_insert(fault);
            }
            Err(Refusal::Violation(text)) => return Err(text),
        }
        let Some(operation) = flush else { return Ok(()) };
        let answer = self.on_flush(src, operation);
        self.owe(src, answer)
    }

    /// Keeps an answer until it can be sent.
    fn owe(&mut self, src: Rank, answer: Answer) -> Result<(), String> {
        let answers = &mut self.queues.peer(src).answers;
        if answers.len() >= MAX_UNANSWERED as usize {
            return Err(format!(
                "a one-sided operation while it waits for {} answers; expected at most {MAX_UNANSWERED}",
                answers.len()
            ));
        }
        answers.push_back(answer);
        self.queues.list(src);
        Ok(())
    }

    fn region(&self, name: RegionName) -> Applied<Region> {
        let found = self.regions.get(name.id, name.generation);
        Ok(*found.ok_or(Fault::NotExposed { region: name.id })?)
    }

    fn on_put(&mut self, name: RegionName, data: &[u8]) -> Applied<()> {
        self.region(name)?;
        let mut reader = Reader(data);
        while !reader.is_empty() {
            let (offset, len) = reader.word().zip(reader.word()).ok_or_else(|| short(data))?;
            let bytes = reader.take(len).ok_or_else(|| short(data))?;
            let at = self.regions.find(name, offset, len)?;
            // SAFETY: inside the region, which its owner lets others write to.
            unsafe { mapped::copy_private(bytes.as_ptr(), at, bytes.len()) };
        }
        Ok(())
    }

    fn on_get(&mut self, operation: u64, data: &[u8]) -> Applied<Answer> {
        let mut reader = Reader(data);
        let name = RegionName::of_word(reader.word().ok_or_else(|| short(data))?);
        self.region(name)?;
        let mut runs = std::collections::VecDeque::new();
        while !reader.is_empty() {
            let (offset, len) = reader.word().zip(reader.word()).ok_or_else(|| short(data))?;
            self.regions.find(name, offset, len)?;
            runs.push_back((offset, len));
        }
        Ok(Answer::Memory { operation, region: name, runs })
    }

    fn on_update(&mut self, operation: u64, data: &[u8]) -> Applied<Option<Answer>> {
        let mut reader = Reader(data);
        let mut word = || reader.word().ok_or_else(|| short(data));
        let (name, what) = (RegionName::of_word(word()?), word()?);
        let region = self.region(name)?;
        let kind = Kind::from_code(what as u32);
        let op = AtomicOp::ALL.get((what >> 32) as usize).copied();
        let known =
            kind.zip(op).and_then(|(kind, op)| Some((kind, op, self.appliers.size(kind, op)?)));
        let (kind, op, size) = known.ok_or(Fault::Unsupported { region: name.id })?;
        let mut fetched = Vec::new();
        while !reader.is_empty() {
            let (offset, len) = reader.word().zip(reader.word()).ok_or_else(|| short(data))?;
            let at = self.regions.find(name, offset, len)?;
            let carried = if op == AtomicOp::NoOp { 0 } else { len };
            let operand = reader.take(carried).ok_or_else(|| short(data))?;
            let fits = fetched.len() as u64 + len <= MAX_FETCHED as u64;
            if len % size as u64 != 0 || (operation != 0 && !fits) {
                return Err(Refusal::Violation(format!(
                    "an update of {len} bytes of elements of {size}"
                )));
            }
            let before = fetched.len();
            let fetch = match operation {
                0 => core::ptr::null_mut(),
                _ => {
                    fetched.resize(before + len as usize, 0);
                    fetched[before..].as_mut_ptr()
                }
            };
            let elements = region.elements(at, len as usize / size, self.me, self.own);
            // SAFETY: inside the region; operands and room for results are as long.
            unsafe { self.appliers.update(&elements, kind, op, operand.as_ptr(), fetch) }
                .map_err(|gone| name.broken(gone))?;
        }
        Ok((operation != 0).then_some(Answer::Elements { operation, bytes: fetched }))
    }

    fn on_swap(&mut self, operation: u64, data: &[u8]) -> Applied<Answer> {
        let mut reader = Reader(data);
        let mut word = || reader.word().ok_or_else(|| short(data));
        let (name, code, offset) = (RegionName::of_word(word()?), word()?, word()?);
        let region = self.region(name)?;
        let kind = u32::try_from(code).ok().and_then(Kind::from_code);
        let size = kind.and_then(|kind| self.appliers.size(kind, AtomicOp::Replace));
        let size = size.filter(|size| *size <= MAX_SWAPPED);
        let (kind, size) = kind.zip(size).ok_or(Fault::Unsupported { region: name.id })?;
        let at = self.regions.find(name, offset, size as u64)?;
        let operands = reader.take(size as u64).zip(reader.take(size as u64));
        let (compare, swap) = operands.ok_or_else(|| short(data))?;
        let mut bytes = vec![0; size];
        let element = region.elements(at, 1, self.me, self.own);
        let (compare, swap, result) = (compare.as_ptr(), swap.as_ptr(), bytes.as_mut_ptr());
        // SAFETY: inside the region; the three others have `size` bytes.
        unsafe { self.appliers.compare_and_swap(&element, kind, compare, swap, result) }
            .map_err(|gone| name.broken(gone))?;
        Ok(Answer::Elements { operation, bytes })
    }

    /// All that came before has been applied: packets of a pair are in order.
    fn on_flush(&mut self, src: Rank, operation: u64) -> Answer {
        match self.queues.peer(src).fault.take() {
            None => Answer::Flushed { operation },
            Some(fault) => Answer::Failed { operation, fault },
        }
    }

    fn on_answer(&mut self, src: Rank, head: Head, data: &[u8]) -> Result<(), String> {
        let last = head.flags & Head::LAST != 0;
        let bytes = match head.flags & FAILED {
            0 => data,
            _ => &[],
        };
        let id = OpId::of_word(head.imm);
        if let Some(id) = id
            && head.flags & FAILED != 0
            && self.under_way.is_asked(id, src)
        {
            self.under_way.fail(id, Box::new(Fault::read(src, data)));
        }
        if !id.is_some_and(|id| self.under_way.answer(id, src, bytes, last)) {
            return Err(format!(
                "an answer of {} bytes to one-sided operation {:#x}, which does not await it",
                data.len(),
                head.imm
            ));
        }
        if last {
            self.queues.answered(src, &mut self.under_way);
        }
        Ok(())
    }

    fn on_message(&mut self, src: Rank, name: RegionName, data: &[u8]) -> Result<(), String> {
        let mut reader = Reader(data);
        let (Some(code), Some(word)) = (reader.word(), reader.word()) else {
            return Err(format!("a model message of {} bytes; expected 16", data.len()));
        };
        // To a region that is gone nobody listens any more.
        if self.regions.get(name.id, name.generation).is_none() {
            return Ok(());
        }
        if self.messages.len() >= MAX_MESSAGES {
            return Err(format!("more than {MAX_MESSAGES} model messages that were not taken"));
        }
        self.messages.push_back(Message { src, region: name.id, code, word });
        Ok(())
    }
}

impl RegionName {
    /// The lock of the region was held by a rank that is gone.
    #[cold]
    fn broken(self, HolderGone(holder): HolderGone) -> Fault {
        Fault::HolderGone { region: self.id, holder }
    }
}

impl Region {
    fn elements(&self, at: *mut u8, count: usize, me: Rank, own: Option<OwnWord>) -> Elements<'_> {
        let atomicity = atomicity::select(self.key.is_locked(), self.key.is_direct(), own);
        Elements { at, count, atomicity, control: &self.control, me }
    }
}
