//! Cancelling a send (MPI 5.0, section 3.8.4). The wait that follows does not depend on a receive.
//!
//! - start: a send that has not gone out ends at once. Of one that was announced the receiver is asked to
//!   forget it ([`start`]).
//! - on packet: the receiver looks whether a receive has the message already, and answers ([`answer`]).
//! - finish: the sender's request ends as cancelled, or goes on to its ordinary end ([`on_answer`]).
//!
//! A message that needed no announcement is complete, and cannot be cancelled. In a stream bytes may be
//! under way, so that one ends when the transport has done with it, and not before the receiver has answered
//! ([`ended`]): a send that says that it was not cancelled must have been received.

use crate::engine::dispatch::Deferred;
use crate::engine::inbox::Inbox;
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId};
use crate::pt2pt::protocol::{self, CANCEL, CANCEL_ANSWER, FORGOTTEN};
use crate::status::Status;
use hpvm_fm::{Head, Landing, Memory, Rank, Transport};

/// How far the cancelling of a send has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cancelling {
    /// Nobody has asked for it, or the receiver has the message.
    #[default]
    Not,
    /// The receiver has been asked to forget the message.
    Asked,
    /// The same, and the stream of the message has ended meanwhile.
    AskedAndGone,
}

/// A sender asks us to forget a message that it announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    src: Rank,
    envelope: u64,
    /// The sender's request.
    number: u64,
}

/// Cancels send `id`, or asks its receiver to. True: it has ended.
pub(super) fn start<T: Transport>(p: &mut Process<T>, id: ReqId) -> bool {
    let Some(Operation::Send(op)) = p.inbox.requests.get_mut(id).map(|r| &mut r.op) else {
        return false;
    };
    let dst = op.dst;
    if p.backlog.withdraw_send(dst, id) {
        end(&mut p.inbox, id);
        return true;
    }
    if op.cancelling == Cancelling::Not && !op.asked {
        op.cancelling = Cancelling::Asked;
        let head = Head::single(CANCEL, op.envelope);
        p.send_control(dst, head, id.number());
    }
    false
}

/// Whether it is this process that has been asked to forget the message of send `id`, and has not answered yet.
pub(super) fn asks_itself<T: Transport>(p: &Process<T>, id: ReqId) -> bool {
    match p.inbox.requests.get(id).map(|r| &r.op) {
        Some(Operation::Send(op)) => op.dst == p.fm.rank() && op.cancelling != Cancelling::Not,
        _ => false,
    }
}

/// Send `id` ends as one that was cancelled.
fn end(inbox: &mut Inbox, id: ReqId) {
    inbox.withdraw_offer(id);
    if let Some(r) = inbox.requests.get_mut(id) {
        r.status = Status { cancelled: true, ..Status::EMPTY };
    }
    inbox.complete(id);
}

pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head, data: &[u8]) {
    if head.handler == CANCEL_ANSWER {
        return on_answer(inbox, src, head);
    }
    if inbox.checked_context(src, head.imm).is_none() {
        return;
    }
    match protocol::read_word(data) {
        Some(number) => {
            let request = Request { src, envelope: head.imm, number };
            inbox.deferred.push_back(Deferred::Cancel(request));
        }
        None => inbox.violate(src, format!("a CANCEL of {} bytes", data.len())),
    }
}

/// Forgets a message that waits for its receive, and tells its sender whether it was there.
pub(crate) fn answer<T: Transport>(p: &mut Process<T>, asked: Request) {
    let (context, _) = protocol::open_envelope(asked.envelope);
    let found = p.inbox.table(context).take_announced(asked.src, asked.number);
    if let Some(message) = &found {
        p.release(message);
        if message.is_streamed() {
            let (memory, len) = (Memory::Run(core::ptr::dangling_mut()), message.bytes());
            // No request has number 0: nobody hears that it came.
            let landing = Landing { memory, room: 0, len, cookie: 0 };
            // SAFETY: there is room for no byte, so none is written.
            unsafe { p.fm.transport_mut().stream_in(asked.src, asked.number, landing) };
            p.complete_streams();
        }
    }
    let mut head = Head::single(CANCEL_ANSWER, asked.number);
    head.aux = if found.is_some() { FORGOTTEN } else { 0 };
    p.send_control(asked.src, head, 0);
}

/// The receiver has forgotten our message, or a receive has it.
fn on_answer(inbox: &mut Inbox, src: Rank, head: Head) {
    let id = ReqId::from_number(head.imm);
    let forgotten = head.aux == FORGOTTEN;
    let Some(r) = inbox.requests.get_mut(id) else {
        // The message was received, and that word came first.
        return if forgotten {
            inbox.violate(src, unasked(head))
        };
    };
    match &mut r.op {
        Operation::Send(s) if s.dst == src && s.cancelling != Cancelling::Not => {
            let gone = core::mem::take(&mut s.cancelling) == Cancelling::AskedAndGone;
            let streams_on = s.streaming && !gone;
            match (forgotten, streams_on) {
                (true, true) => r.status = Status { cancelled: true, ..Status::EMPTY },
                (true, false) => end(inbox, id),
                (false, _) if gone => inbox.complete(id),
                (false, _) => {}
            }
        }
        // Done already, and not freed yet.
        Operation::Complete if !forgotten => {}
        _ => inbox.violate(src, unasked(head)),
    }
}

#[cold]
fn unasked(head: Head) -> String {
    format!("an answer for request {:#x}, which did not ask it to forget a message", head.imm)
}

/// The stream of send `id` is gone. True: the send has to wait for an answer, too.
pub(super) fn ended(inbox: &mut Inbox, id: ReqId) -> bool {
    match inbox.requests.get_mut(id).map(|r| &mut r.op) {
        Some(Operation::Send(s)) if s.cancelling == Cancelling::Asked => {
            s.cancelling = Cancelling::AskedAndGone;
            true
        }
        _ => false,
    }
}
