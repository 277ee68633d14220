//! Large messages that the receiver and the sender copy at the same time, from both ends.
//!
//! The receiver opens one of its duets ([`hpvm_wire::duet`]) and asks the sender to HELP. Then both
//! copy parts until none is left: a sender that is busy elsewhere comes too late, and the receiver
//! has copied everything. When a part of the sender's is the last, it says HELPED; the receiver ends
//! every transfer by the FIN that it would send anyway.

use crate::engine::control::Step;
use crate::engine::process::{Inbox, Process};
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::pt2pt::protocol::{self, HELP, HELPED, Help};
use core::ops::Range;
use hpvm_fm::{Head, PeerMemoryError, Rank, Transport};
use hpvm_wire::duet::{self, DUETS, End};

/// Messages of ours that are copied together with their senders.
#[derive(Debug, Default)]
pub(crate) struct Duets {
    open: [Option<Open>; DUETS],
    /// Somebody was not permitted to write to our memory: nobody is asked again.
    refused: bool,
    /// What senders have said and nobody has checked yet.
    words: Vec<Word>,
}

/// A HELPED: of the message of duet `place`, `undone` could not be copied; nothing: all is there.
#[derive(Debug)]
struct Word {
    src: Rank,
    place: usize,
    undone: Range<u32>,
}

impl Duets {
    /// Senders are about to finish all that may be open: better to wait than to copy alone.
    #[inline]
    pub fn are_all_open(&self) -> bool {
        self.open.iter().all(Option::is_some)
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    /// The receive, and how the sender knows the duet.
    id: ReqId,
    name: u32,
    want: u64,
    /// Where the message belongs.
    to: *mut u8,
    failed: Option<PeerMemoryError>,
    /// The sender has said what it had to say.
    heard: bool,
}

/// What a receiver asks its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    src: Rank,
    send: ReqId,
    help: Help,
}

impl<T: Transport> Process<T> {
    /// Copies the first `want` bytes of receive `id` together with their sender. False: nothing has
    /// happened. The transfer is over when this returns, or when the sender says so.
    pub(crate) fn open_duet(&mut self, id: ReqId, transfer: &Transfer, want: u64) -> bool {
        // In an exchange both have a copy of their own to do.
        if self.inbox.offered != 0 {
            return false;
        }
        let duets = &self.inbox.duets;
        let free = duets.open.iter().position(Option::is_none).filter(|_| !duets.refused);
        let least = self.fm.transport().least_duet();
        let Some(place) = free.filter(|_| want >= least) else { return false };
        let Some(op) = self.inbox.recv_op(id) else { return false };
        let Some((first, _)) = op.ty.as_run(op.count) else { return false };
        let to = op.buf.wrapping_offset(first as isize);
        let duet = self.fm.transport().duet(self.fm.rank(), place);
        let Some(name) = duet.and_then(|duet| duet.open(duet::units(want))) else { return false };
        self.inbox.duets.open[place] =
            Some(Open { id, name, want, to, failed: None, heard: false });
        let help =
            Help { name, place: place as u32, want, to: to.addr() as u64, receive: id.number() };
        let head = Head::single(HELP, transfer.request);
        let asked = self.fm.send(transfer.src, head, Help::BYTES, |out| help.write(out)).is_ok();
        // Without a credit nobody comes to help.
        let parts = if asked { self.fm.transport_mut().duet_parts() } else { u32::MAX };
        self.play(place, parts, None);
        true
    }

    /// Copies parts of an open duet, at most `parts` and first of all `undone`, and ends the transfer if
    /// none is missing then.
    fn play(&mut self, place: usize, parts: u32, undone: Option<Range<u32>>) {
        let Some(mut open) = self.inbox.duets.open[place] else { return };
        let Some((transfer, _)) = self.inbox.transfer(open.id) else { return };
        let (me, mut copied, mut taken) = (self.fm.rank(), 0, 0);
        let mut next = undone;
        while let Some(part) = next.take().or_else(|| {
            let duet = self.fm.transport().duet(me, place).filter(|_| taken < parts)?;
            duet.claim(open.name, End::Front, open.want)
        }) {
            taken += 1;
            copied += part.end - part.start;
            let bytes = duet::bytes(open.want, &part);
            // After a failure the rest is claimed all the same, so that nobody copies it.
            if open.failed.is_none() {
                let from = transfer.address.wrapping_add(bytes.start);
                let to = open.to.wrapping_add(bytes.start as usize);
                let n = (bytes.end - bytes.start) as usize;
                // SAFETY: the program gave a buffer for at least `want` bytes from `to` on, of which
                // this part has been claimed by us alone.
                let outcome = unsafe { self.fm.transport_mut().pull(transfer.src, from, to, n) };
                open.failed = outcome.err();
            }
        }
        self.inbox.duets.open[place] = Some(open);
        let duet = self.fm.transport().duet(me, place);
        if duet.is_some_and(|duet| duet.finish(copied, duet::units(open.want))) {
            self.close_duet(place);
        }
    }

    /// All parts have been copied or given up.
    fn close_duet(&mut self, place: usize) {
        let Some(open) = self.inbox.duets.open[place].take() else { return };
        let Some((transfer, _)) = self.inbox.transfer(open.id) else { return };
        self.pulled(open.id, transfer, open.want, open.failed.map_or(Ok(()), Err));
    }

    /// Helps the receiver of a message of ours.
    pub(crate) fn help(&mut self, call: Call) {
        let Call { src, send, help } = call;
        // It may have copied everything meanwhile.
        let Some(Operation::Send(op)) = self.inbox.requests.get(send).map(|r| &r.op) else {
            return;
        };
        let Some((first, _)) = op.ty.as_run(op.count) else { return };
        let from = op.buf.wrapping_offset(first as isize);
        let (place, mut copied) = (help.place as usize, 0);
        let mut undone = 0..0;
        while let Some(part) = (self.fm.transport().duet(src, place))
            .and_then(|duet| duet.claim(help.name, End::Back, help.want))
        {
            let bytes = duet::bytes(help.want, &part);
            let (to, from) =
                (help.to.wrapping_add(bytes.start), from.wrapping_add(bytes.start as usize));
            let n = (bytes.end - bytes.start) as usize;
            // SAFETY: the program keeps its buffer, which holds at least `want` bytes (`on_help`), until the
            // receiver has all parts, and this one it cannot have without us.
            if unsafe { self.fm.transport_mut().push(src, to, from, n) }.is_err() {
                undone = part;
                break;
            }
            copied += part.end - part.start;
        }
        let duet = self.fm.transport().duet(src, place);
        let last = duet.is_some_and(|duet| duet.finish(copied, duet::units(help.want)));
        if last || !undone.is_empty() {
            let word = u64::from(undone.end) << 32 | u64::from(undone.start);
            self.send_control(src, Head::single(HELPED, help.receive), word);
        }
    }

    /// Looks whether what senders say of duets is so.
    pub(crate) fn check_helped(&mut self) {
        for Word { src, place, undone } in core::mem::take(&mut self.inbox.duets.words) {
            let duet = self.fm.transport().duet(self.fm.rank(), place);
            let open = self.inbox.duets.open[place].as_mut().filter(|open| !open.heard);
            let is_so = duet.zip(open).is_some_and(|(duet, open)| {
                open.heard = true;
                let all = duet::units(open.want);
                match undone {
                    Range { start: 0, end: 0 } => duet.is_finished(all),
                    _ => duet.is_given_back(&undone, all),
                }
            });
            match is_so {
                true => {
                    self.inbox.steps.push_back(Step::Helped(place, undone.start, undone.end));
                }
                false => {
                    self.inbox.violate(src, format!("a HELPED with {undone:?}, which is not so"))
                }
            }
        }
    }

    /// The sender of the message of duet `place` has finished the last part, or could not write `undone`.
    pub(crate) fn helped(&mut self, place: usize, undone: Range<u32>) {
        if undone.is_empty() {
            return self.close_duet(place);
        }
        self.inbox.duets.refused = true;
        self.play(place, u32::MAX, Some(undone));
    }
}

impl Inbox {
    /// The receiver of a message of ours asks us to copy from its end.
    pub fn on_help(&mut self, src: Rank, ours: u64, data: &[u8]) {
        let send = ReqId::from_number(ours);
        match (self.requests.get(send).map(|r| &r.op), Help::read(data)) {
            (Some(Operation::Send(op)), Some(help))
                if op.dst == src
                    && !(op.streaming || op.asked)
                    && (1..=op.packed_size()).contains(&help.want)
                    && (help.place as usize) < DUETS =>
            {
                self.steps.push_back(Step::Help(Call { src, send, help }));
            }
            _ => {
                self.violate(src, format!("a HELP for request {ours:#x}, which is not its own"));
            }
        }
    }

    /// The sender of a message has copied the last part of it, or could not.
    pub fn on_helped(&mut self, src: Rank, ours: u64, data: &[u8]) {
        let id = ReqId::from_number(ours);
        let place = self.duets.open.iter().position(|o| o.as_ref().is_some_and(|o| o.id == id));
        let theirs = self.transfer(id).is_some_and(|(transfer, _)| transfer.src == src);
        match (place.filter(|_| theirs), protocol::read_word(data)) {
            (Some(place), Some(word)) => {
                let undone = word as u32..(word >> 32) as u32;
                self.duets.words.push(Word { src, place, undone });
                self.suspects = true;
            }
            _ => self
                .violate(src, format!("a HELPED for receive {ours:#x}, which it has not helped")),
        }
    }
}
