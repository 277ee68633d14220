//! Requests: what an operation of ours asks of the owner of the memory, packet by packet.

use crate::Rank;
use crate::error::Result;
use crate::kind::{AtomicOp, Kind};
use crate::mapped;
use crate::messages::batch::{Batch, Completion, GATHERED_BYTES_MAX, Of};
use crate::messages::packets::*;
use crate::messages::queue::{Leaves, Peer};
use crate::messages::{MAX_FETCHED, MAX_SWAPPED, MAX_UNANSWERED};
use crate::region::Target;
use crate::runs::{Cursor, Part, Room, Run, Update};
use crate::under_way::{OpId, UnderWay};
use hpvm_fm::{Fm, Head, Stall, Transport};

/// An operation, as far as it has not been sent.
pub(crate) struct Request {
    /// `None`: nobody waits for it so far (puts and updates without a fetch that leave at once).
    pub id: Option<OpId>,
    pub body: Body,
}

pub(crate) enum Body {
    Put {
        target: Target,
        runs: Cursor<Run>,
        completion: Completion,
    },
    Get {
        target: Target,
        runs: Cursor<Run>,
    },
    Update {
        target: Target,
        element: Elements,
        updates: Cursor<Update>,
    },
    Swap {
        target: Target,
        swap: Swap,
    },
    /// Puts or updates that gathered, and found no credit.
    Batch(Batch),
    Flush,
    Message {
        region: RegionName,
        code: u64,
        word: u64,
    },
}

/// What is done to elements.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    pub kind: Kind,
    pub op: AtomicOp,
    pub size: usize,
    pub fetches: bool,
}

/// A compare-and-swap.
#[derive(Clone, Copy)]
pub(crate) struct Swap {
    pub offset: u64,
    pub kind: Kind,
    pub size: usize,
    pub compare: [u8; MAX_SWAPPED],
    pub swap: [u8; MAX_SWAPPED],
    pub result: *mut u8,
}

// SAFETY: the pointer is to memory of an operation, which any thread of this process may move on.
unsafe impl Send for Swap {}
// SAFETY: as above; nothing is written but through `&mut` of the operations.
unsafe impl Sync for Swap {}

/// What the sending of a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    All,
    /// Some of it has to wait.
    Stalled,
}

impl Request {
    /// Sends as many packets as can be sent now.
    pub fn send<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        peer: &mut Peer,
        under_way: &mut UnderWay,
    ) -> Result<Sent> {
        let id = self.id;
        let mut sender = Sender { fm, dst, peer, under_way };
        match &mut self.body {
            Body::Put { target, runs, completion } => {
                // What has waited in the queue is asked for: the notice does not follow at once.
                let alone = id.is_none().then_some(*completion);
                sender.put(target, runs, alone)
            }
            Body::Get { target, runs } => sender.get(id, target, runs),
            Body::Update { target, element, updates } => {
                sender.update(id, target, element, updates)
            }
            Body::Swap { target, swap } => Ok(sender.swap(id, target, swap)),
            Body::Batch(batch) => Ok(sender.batch(batch, Leaves::Alone)),
            Body::Flush => Ok(sender.flush(id)),
            Body::Message { region, code, word } => Ok(sender.message(*region, *code, *word)),
        }
    }
}

/// Bytes of runs with which a put or an update asks for an answer, which spares the FLUSH that may follow. Of a longer one a later packet
/// would need it all the same.
const ANSWERED_BYTES_MAX: usize = 4096 + RUN_BYTES + 2 * WORD_BYTES;

/// What it takes to send packets to one rank.
pub(super) struct Sender<'a, T> {
    pub fm: &'a mut Fm<T>,
    pub dst: Rank,
    pub peer: &'a mut Peer,
    pub under_way: &'a mut UnderWay,
}

/// What an update does to which elements, in a packet.
fn update_word(kind: Kind, op: AtomicOp) -> u64 {
    u64::from(kind.code()) | (op as u64) << 32
}

/// Packs runs: offset, length, and bytes if the packet carries them.
fn write_runs(mut out: Writer<'_>, runs: &[Run], carries: bool) {
    for run in runs {
        out.word(run.offset);
        out.word(run.len as u64);
        if carries {
            let to = out.take(run.len);
            // SAFETY: who started the operation has promised that its memory is readable until it is done.
            unsafe { mapped::copy(run.local, to.as_mut_ptr(), run.len) };
        }
    }
}

impl<T: Transport> Sender<'_, T> {
    /// One packet. True when it has left.
    fn packet(&mut self, head: Head, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let sent: core::result::Result<(), Stall> = self.fm.send(self.dst, head, len, fill);
        self.peer.in_a_row |= sent.is_ok();
        self.peer.holds &= sent.is_err();
        sent.is_ok()
    }

    /// As `packet`, of one that may leave with the next, unless that is true of the one before it: a row of them does not pile up.
    fn packet_with_next(&mut self, head: Head, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        if self.peer.holds {
            return self.packet(head, len, fill);
        }
        let sent = self.fm.send_with_next(self.dst, head, len, fill).is_ok();
        self.peer.in_a_row |= sent;
        self.peer.holds = sent;
        sent
    }

    /// Whether one packet more may be sent that has to be answered.
    fn may_ask(&self) -> bool {
        self.peer.unanswered < MAX_UNANSWERED
    }

    /// A packet has left whose answer goes to `places`.
    fn asked(&mut self, id: Option<OpId>, places: impl Iterator<Item = (*mut u8, usize)>) {
        self.peer.unanswered += 1;
        if let Some(id) = id {
            self.under_way.packet_sent(id, places);
        }
    }

    /// `alone`: nobody waits for the put, so it may be the last one before a flush, or a notice.
    fn put(
        &mut self,
        target: &Target,
        runs: &mut Cursor<Run>,
        alone: Option<Completion>,
    ) -> Result<Sent> {
        // One word is for the operation that asks.
        let bytes = self.fm.limits().packet - WORD_BYTES;
        let room = Room { bytes, head: RUN_BYTES, element: 1, carries: true };
        let head = head(PUT, RegionName::from(&target.key).word());
        while runs.stage(room, |run| target.check(run.offset, run.len))? {
            let len = runs.staged.iter().map(|run| RUN_BYTES + run.len).sum();
            let staged = &runs.staged;
            let fill = |out: &mut [u8]| write_runs(Writer(out), staged, true);
            let sent = match alone {
                Some(Completion::Notice) if len <= ANSWERED_BYTES_MAX => {
                    self.packet_with_next(head, len, fill)
                }
                Some(Completion::Notice) => self.packet(head, len, fill),
                Some(Completion::Flush) if self.may_flush(len) => {
                    self.put_and_flush(head, len, |out| write_runs(out, staged, true))
                }
                _ => {
                    let sent = self.packet(head, len, fill);
                    self.peer.unflushed |= sent;
                    sent
                }
            };
            if !sent {
                return Ok(Sent::Stalled);
            }
            runs.staged.clear();
        }
        Ok(Sent::All)
    }

    /// Whether the next packet, with runs of `len` bytes, is to come with a flush: where none has since the last one, because a second
    /// answer would be in vain as a rule; and where a second small one goes there in a row, so that those behind it can gather.
    fn may_flush(&self, len: usize) -> bool {
        let first = !self.peer.unflushed && !self.peer.has_asked && len <= ANSWERED_BYTES_MAX;
        let in_a_row = self.peer.in_a_row && self.peer.unanswered == 0;
        (first || in_a_row && len <= RUN_BYTES + GATHERED_BYTES_MAX) && self.may_ask()
    }

    /// Sends a put of `len` bytes of runs with a flush. True when it has left.
    fn put_and_flush(&mut self, head: Head, len: usize, runs: impl FnOnce(Writer<'_>)) -> bool {
        self.ask(|sender, id| {
            let head = Head { flags: head.flags | ASKS, ..head };
            sender.packet(head, WORD_BYTES + len, |out| {
                let mut out = Writer(out);
                out.word(id.word());
                runs(out);
            })
        })
    }

    /// Sends what has gathered; with a flush where that is wanted, or where no answer is awaited behind which others can gather.
    pub fn batch(&mut self, batch: &mut Batch, leaves: Leaves) -> Sent {
        let Some((of, runs)) = batch.content() else { return Sent::All };
        let needs_answer = batch.completion() == Completion::Flush;
        let wants = leaves == Leaves::WithFlush || needs_answer && self.peer.unanswered == 0;
        let asks = wants && self.may_ask();
        let sent = match of {
            Of::Put(region) => {
                let head = head(PUT, region.word());
                let copy = |out: Writer<'_>| out.0.copy_from_slice(runs);
                match asks {
                    true => self.put_and_flush(head, runs.len(), copy),
                    false if leaves == Leaves::WithNext => {
                        self.packet_with_next(head, runs.len(), |out| copy(Writer(out)))
                    }
                    false => self.packet(head, runs.len(), |out| copy(Writer(out))),
                }
            }
            Of::Update(region, kind, op) => {
                let fill = |out: &mut [u8]| {
                    let mut out = Writer(out);
                    out.word(region.word());
                    out.word(update_word(kind, op));
                    out.0.copy_from_slice(runs);
                };
                self.update_packet(2 * WORD_BYTES + runs.len(), asks, fill)
            }
        };
        if !sent {
            return Sent::Stalled;
        }
        self.peer.unflushed |= needs_answer && !asks;
        batch.clear();
        Sent::All
    }

    /// Sends an update that does not fetch, in a packet of `len` bytes; with a flush if it `asks`. True when it has left.
    fn update_packet(&mut self, len: usize, asks: bool, fill: impl FnOnce(&mut [u8])) -> bool {
        let head = head(UPDATE, 0);
        if !asks {
            return self.packet(head, len, fill);
        }
        self.ask(|sender, id| {
            let head = Head { flags: head.flags | ASKS, imm: id.word(), ..head };
            sender.packet(head, len, fill)
        })
    }

    /// Sends a packet that asks for an answer which nobody waits for but a flush. True when it has left.
    fn ask(&mut self, send: impl FnOnce(&mut Self, OpId) -> bool) -> bool {
        let id = self.under_way.insert(self.dst);
        let sent = send(self, id);
        match sent {
            true => {
                self.asked(Some(id), core::iter::empty());
                // The answer tells of all that has been sent before, too.
                (self.peer.has_asked, self.peer.unflushed) = (true, false);
                self.under_way.sent(id);
                self.under_way.leave(id);
            }
            false => self.under_way.drop_unsent(id),
        }
        sent
    }

    fn get(&mut self, id: Option<OpId>, target: &Target, runs: &mut Cursor<Run>) -> Result<Sent> {
        let bytes = self.fm.limits().packet - WORD_BYTES;
        let room = Room { bytes, head: RUN_BYTES, element: 1, carries: false };
        let head = head(GET, id.map_or(0, OpId::word));
        let region = RegionName::from(&target.key).word();
        while runs.stage(room, |run| target.check(run.offset, run.len))? {
            let len = WORD_BYTES + RUN_BYTES * runs.staged.len();
            let staged = &runs.staged;
            let fill = |out: &mut [u8]| {
                let mut out = Writer(out);
                out.word(region);
                write_runs(out, staged, false);
            };
            if !self.may_ask() || !self.packet(head, len, fill) {
                return Ok(Sent::Stalled);
            }
            self.asked(id, runs.staged.drain(..).map(|run| (run.local, run.len)));
            self.peer.note_get();
        }
        Ok(Sent::All)
    }

    fn update(
        &mut self,
        id: Option<OpId>,
        target: &Target,
        element: &Elements,
        updates: &mut Cursor<Update>,
    ) -> Result<Sent> {
        let Elements { kind, op, size, fetches } = *element;
        let limit = self.fm.limits().packet - 2 * WORD_BYTES;
        let bytes = if fetches { limit.min(MAX_FETCHED) } else { limit };
        // A NoOp has no operands, but its answer must fit as well.
        let room = Room {
            bytes: bytes.max(RUN_BYTES + size),
            head: RUN_BYTES,
            element: size,
            carries: true,
        };
        let alone = id.is_none();
        let id = id.filter(|_| fetches);
        let head = head(UPDATE, id.map_or(0, OpId::word));
        let region = RegionName::from(&target.key).word();
        let what = update_word(kind, op);
        let carried = if op == AtomicOp::NoOp { 0 } else { size };
        let check =
            |update: &Update| target.check(update.offset, update.count.saturating_mul(size));
        while updates.stage(room, check)? {
            let parts = &updates.staged;
            let len = parts.iter().map(|part| RUN_BYTES + part.count * carried).sum::<usize>()
                + 2 * WORD_BYTES;
            let fill = |out: &mut [u8]| {
                let mut out = Writer(out);
                out.word(region);
                out.word(what);
                for part in parts {
                    out.word(part.offset);
                    out.word((part.count * size) as u64);
                    let to = out.take(part.count * carried);
                    // SAFETY: who started the operation has promised that its operands are readable.
                    unsafe { mapped::copy(part.operand, to.as_mut_ptr(), to.len()) };
                }
            };
            let sent = if alone && self.may_flush(len - 2 * WORD_BYTES) {
                self.update_packet(len, true, fill)
            } else {
                let sent = (!fetches || self.may_ask()) && self.packet(head, len, fill);
                // The answer to one that fetches tells that it has been done.
                self.peer.unflushed |= sent && !fetches;
                sent
            };
            if !sent {
                return Ok(Sent::Stalled);
            }
            match fetches {
                true => self
                    .asked(id, updates.staged.drain(..).map(|part| (part.fetch, part.bytes(size)))),
                false => updates.staged.clear(),
            }
        }
        Ok(Sent::All)
    }

    fn swap(&mut self, id: Option<OpId>, target: &Target, swap: &Swap) -> Sent {
        let head = head(SWAP, id.map_or(0, OpId::word));
        let region = RegionName::from(&target.key).word();
        let Swap { offset, kind, size, .. } = *swap;
        let fill = |out: &mut [u8]| {
            let mut out = Writer(out);
            out.word(region);
            out.word(u64::from(kind.code()));
            out.word(offset);
            out.take(size).copy_from_slice(&swap.compare[..size]);
            out.take(size).copy_from_slice(&swap.swap[..size]);
        };
        if !self.may_ask() || !self.packet(head, 3 * WORD_BYTES + 2 * size, fill) {
            return Sent::Stalled;
        }
        self.asked(id, core::iter::once((swap.result, size)));
        Sent::All
    }

    fn flush(&mut self, id: Option<OpId>) -> Sent {
        if !self.may_ask() || !self.packet(head(FLUSH, id.map_or(0, OpId::word)), 0, |_| ()) {
            return Sent::Stalled;
        }
        self.peer.unflushed = false;
        self.asked(id, core::iter::empty());
        Sent::All
    }

    fn message(&mut self, region: RegionName, code: u64, word: u64) -> Sent {
        let fill = |out: &mut [u8]| {
            let mut out = Writer(out);
            out.word(code);
            out.word(word);
        };
        match self.packet(head(MESSAGE, region.word()), 2 * WORD_BYTES, fill) {
            true => Sent::All,
            false => Sent::Stalled,
        }
    }
}
