//! A long message that receiver and sender copy at the same time, from both ends.
//!
//! The receiver opens one of its control blocks ([`hpvm_wire::split_copy`]) and asks the sender to write
//! (SPLIT_REQUEST). Then both claim parts of the message and copy them until none is left. A sender that
//! computes outside MPI claims nothing, and the receiver copies everything. If the part that is finished last
//! is one of the sender's, the sender says so (SPLIT_DONE). The receiver ends the transfer by a FIN, as it
//! ends a direct read.
//!
//! - start: [`start`], at the receiver, opens a block, asks the sender, and begins to read.
//! - on packet: after a SPLIT_REQUEST the sender begins to [`write_parts`]. A SPLIT_DONE is checked against the
//!   control block ([`check_done`]) before the receiver acts on it ([`apply_done`]).
//! - advance: [`read_parts`] and [`write_parts`] copy as much as one progress step may, and put themselves on
//!   the list of deferred work for the next step.
//! - finish: when the last part has been copied, the receiver closes the block and says FIN
//!   ([`super::rendezvous`]).

use crate::engine::dispatch::Deferred;
use crate::engine::inbox::Inbox;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::pt2pt::protocol::{self, SPLIT_DONE, SPLIT_REQUEST, SplitRequest};
use crate::pt2pt::rendezvous;
use core::ops::Range;
use hpvm_fm::{Head, PeerMemoryError, Rank, Transport};
use hpvm_wire::split_copy::{self, End, SPLIT_COPIES};

/// The split copies of messages that this process receives.
#[derive(Debug, Default)]
pub(crate) struct SplitCopies {
    open: [Option<Open>; SPLIT_COPIES],
    /// A sender was not permitted to write to our memory: no sender is asked again.
    refused: bool,
    /// SPLIT_DONE packets that have come and have not been checked yet, with their senders.
    unchecked: Vec<(Rank, Done)>,
}

/// A SPLIT_DONE: of the message of block `index` the sender could not copy the parts `undone`. If `undone` is
/// empty, the whole message is there.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    index: usize,
    undone: Range<u32>,
}

impl SplitCopies {
    /// Whether all control blocks are in use. Their senders will finish soon, so the next transfer waits for
    /// a block rather than being copied by this process alone.
    #[inline]
    pub fn are_all_open(&self) -> bool {
        self.open.iter().all(Option::is_some)
    }

    fn free(&self) -> Option<usize> {
        self.open.iter().position(Option::is_none).filter(|_| !self.refused)
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    /// The receive, and the name of the block for this message, which the sender claims parts by.
    id: ReqId,
    name: u32,
    want: u64,
    /// Where in the receive buffer the message goes.
    to: *mut u8,
    failed: Option<PeerMemoryError>,
    /// The sender's SPLIT_DONE has come.
    done_received: bool,
}

/// A SPLIT_REQUEST as the sender keeps it: who asks, for which send, and what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    src: Rank,
    send: ReqId,
    request: SplitRequest,
}

/// The sender of receive `id`'s message has died with parts that it had claimed: the receive ends without
/// them. Its block may serve other messages.
pub(super) fn forget(inbox: &mut Inbox, id: ReqId) {
    let open = inbox.arrivals.split.open.iter_mut();
    open.filter(|open| open.is_some_and(|open| open.id == id)).for_each(|open| *open = None);
}

/// Whether the sender of receive `id`'s message, which can be read, may also write to the receive buffer.
pub(crate) fn is_possible<T: Transport>(p: &mut Process<T>, id: ReqId) -> bool {
    // In an exchange each side has a long message of its own to read, and no time to help.
    let Some(index) = p.inbox.arrivals.split.free().filter(|_| p.inbox.offered == 0) else {
        return false;
    };
    let one_run = p.inbox.recv_op(id).is_some_and(|op| op.ty.as_run(op.count).is_some());
    one_run && p.fm.transport().split_copy(p.fm.rank(), index).is_some()
}

/// Begins to copy the first `want` bytes of receive `id`'s message together with the sender. False: nothing
/// has happened.
pub(crate) fn start<T: Transport>(
    p: &mut Process<T>,
    id: ReqId,
    transfer: &Transfer,
    want: u64,
) -> bool {
    let Some(index) = p.inbox.arrivals.split.free() else { return false };
    let Some(op) = p.inbox.recv_op(id) else { return false };
    let Some((first, _)) = op.ty.as_run(op.count) else { return false };
    let to = op.buf.wrapping_offset(first as isize);
    let block = p.fm.transport().split_copy(p.fm.rank(), index);
    let Some(name) = block.and_then(|block| block.open(split_copy::units(want))) else {
        return false;
    };
    p.inbox.arrivals.split.open[index] =
        Some(Open { id, name, want, to, failed: None, done_received: false });
    let request = SplitRequest {
        name,
        index: index as u32,
        want,
        to: to.addr() as u64,
        receive: id.number(),
    };
    let head = Head::single(SPLIT_REQUEST, transfer.request);
    let write = |out: &mut [u8]| request.write(out);
    // If there is no credit, the sender is not asked, and we read the whole message.
    let _ = p.fm.send(transfer.src, head, SplitRequest::BYTES, write);
    read_parts(p, index, None);
    true
}

/// Reads parts of the message of block `index`: first `undone`, which the sender could not write, then parts
/// that nobody has claimed. Copies as much as one progress step may, at least one part, and ends the transfer
/// if no part is missing then.
pub(crate) fn read_parts<T: Transport>(
    p: &mut Process<T>,
    index: usize,
    undone: Option<Range<u32>>,
) {
    let Some(mut open) = p.inbox.arrivals.split.open[index] else { return };
    let Some((transfer, _)) = p.inbox.transfer(open.id) else { return };
    let (me, mut copied) = (p.fm.rank(), 0);
    let mut next = undone;
    loop {
        if p.step_left == 0 && copied != 0 {
            p.inbox.deferred.push_back(Deferred::ReadSplit(index));
            break;
        }
        let Some(part) = next.take().or_else(|| {
            p.fm.transport().split_copy(me, index)?.claim(open.name, End::Front, open.want)
        }) else {
            break;
        };
        copied += part.end - part.start;
        let bytes = split_copy::bytes(open.want, &part);
        // After a failure we go on claiming, so that the sender copies no more.
        if open.failed.is_none() {
            let from = transfer.address.wrapping_add(bytes.start);
            let to = open.to.wrapping_add(bytes.start as usize);
            let n = bytes.end - bytes.start;
            p.step_left = p.step_left.saturating_sub(n);
            // SAFETY: the program gave a buffer for at least `want` bytes from `to` on, of which
            // this part has been claimed by us alone.
            let outcome = unsafe { p.fm.transport_mut().read(transfer.src, from, to, n as usize) };
            open.failed = outcome.err();
        }
    }
    p.inbox.arrivals.split.open[index] = Some(open);
    let block = p.fm.transport().split_copy(me, index);
    if block.is_some_and(|block| block.finish(copied, split_copy::units(open.want))) {
        close(p, index);
    }
}

/// Ends the transfer of block `index`: all parts have been copied or given up.
fn close<T: Transport>(p: &mut Process<T>, index: usize) {
    let Some(open) = p.inbox.arrivals.split.open[index].take() else { return };
    let Some((transfer, _)) = p.inbox.transfer(open.id) else { return };
    let outcome = open.failed.map_or(Ok(()), Err);
    rendezvous::after_read(p, open.id, &transfer, open.want, outcome);
}

/// Writes parts of a message of ours into the receive buffer, as many as one progress step may copy.
pub(crate) fn write_parts<T: Transport>(p: &mut Process<T>, called: Request) {
    let Request { src, send, request } = called;
    // The send may be complete: the receiver may have copied everything meanwhile.
    let Some(Operation::Send(op)) = p.inbox.requests.get(send).map(|r| &r.op) else { return };
    let Some((first, _)) = op.ty.as_run(op.count) else { return };
    let from = op.buf.wrapping_offset(first as isize);
    let (index, mut copied) = (request.index as usize, 0);
    let mut undone = 0..0;
    loop {
        if p.step_left == 0 {
            p.inbox.deferred.push_back(Deferred::WriteSplit(called));
            break;
        }
        let Some(part) = (p.fm.transport().split_copy(src, index))
            .and_then(|block| block.claim(request.name, End::Back, request.want))
        else {
            break;
        };
        let bytes = split_copy::bytes(request.want, &part);
        let (to, from) =
            (request.to.wrapping_add(bytes.start), from.wrapping_add(bytes.start as usize));
        let n = bytes.end - bytes.start;
        p.step_left = p.step_left.saturating_sub(n);
        // SAFETY: the program keeps its buffer, which holds at least `want` bytes (`on_request`), until the
        // receiver has all parts, and this one it cannot have without us.
        if unsafe { p.fm.transport_mut().write(src, to, from, n as usize) }.is_err() {
            undone = part;
            break;
        }
        copied += part.end - part.start;
    }
    let block = p.fm.transport().split_copy(src, index);
    let last = block.is_some_and(|block| block.finish(copied, split_copy::units(request.want)));
    if last || !undone.is_empty() {
        let word = u64::from(undone.end) << 32 | u64::from(undone.start);
        p.send_control(src, Head::single(SPLIT_DONE, request.receive), word);
    }
}

/// Compares what senders have said of split copies (SPLIT_DONE) with the control blocks: a false statement is
/// a violation of the protocol, a true one is acted on in this progress step.
pub(crate) fn check_done<T: Transport>(p: &mut Process<T>) {
    for (src, done) in core::mem::take(&mut p.inbox.arrivals.split.unchecked) {
        let Done { index, undone } = done.clone();
        let block = p.fm.transport().split_copy(p.fm.rank(), index);
        let open = p.inbox.arrivals.split.open[index].as_mut().filter(|open| !open.done_received);
        let is_so = block.zip(open).is_some_and(|(block, open)| {
            open.done_received = true;
            let all = split_copy::units(open.want);
            match undone {
                Range { start: 0, end: 0 } => block.is_finished(all),
                _ => block.is_given_back(&undone, all),
            }
        });
        match is_so {
            true => p.inbox.deferred.push_back(Deferred::SplitDone(done)),
            false => {
                p.inbox.violate(src, format!("a SPLIT_DONE with {undone:?}, which is not so"));
            }
        }
    }
}

/// A SPLIT_DONE has been found true: ends the transfer, or reads what the sender could not write.
pub(crate) fn apply_done<T: Transport>(p: &mut Process<T>, Done { index, undone }: Done) {
    if undone.is_empty() {
        return close(p, index);
    }
    p.inbox.arrivals.split.refused = true;
    read_parts(p, index, Some(undone));
}

pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    match head.handler {
        SPLIT_REQUEST => on_request(inbox, src, head.imm, data),
        _ => on_split_done(inbox, src, head.imm, data),
    }
}

/// SPLIT_REQUEST: the receiver of a message of ours asks us to copy from the message's end.
fn on_request(inbox: &mut Inbox, src: Rank, ours: u64, data: &[u8]) {
    let send = ReqId::from_number(ours);
    match (inbox.requests.get(send).map(|r| &r.op), SplitRequest::read(data)) {
        (Some(Operation::Send(op)), Some(request))
            if op.dst == src
                && !(op.streaming || op.asked)
                && (1..=op.packed_size()).contains(&request.want)
                && (request.index as usize) < SPLIT_COPIES =>
        {
            inbox.deferred.push_back(Deferred::WriteSplit(Request { src, send, request }));
        }
        _ => {
            let text = format!("a SPLIT_REQUEST for request {ours:#x}, which is not its own");
            inbox.violate(src, text);
        }
    }
}

/// SPLIT_DONE: the sender of a message has written the last part of it, or could not write some parts. It is
/// checked later, because only the transport knows the control block.
fn on_split_done(inbox: &mut Inbox, src: Rank, ours: u64, data: &[u8]) {
    let id = ReqId::from_number(ours);
    let open = &inbox.arrivals.split.open;
    let index = open.iter().position(|o| o.as_ref().is_some_and(|o| o.id == id));
    let theirs = inbox.transfer(id).is_some_and(|(transfer, _)| transfer.src == src);
    match (index.filter(|_| theirs), protocol::read_word(data)) {
        (Some(index), Some(word)) => {
            let undone = word as u32..(word >> 32) as u32;
            inbox.arrivals.split.unchecked.push((src, Done { index, undone }));
            inbox.suspects = true;
        }
        _ => {
            let text = format!("a SPLIT_DONE for receive {ours:#x}, which it has not helped with");
            inbox.violate(src, text);
        }
    }
}
