//! The one file of the engine that names the ways in which messages travel: what handles which packet,
//! what is done afterwards, and who moves an announced message on.

use crate::engine::inbox::Inbox;
use crate::engine::matching::{Content, Table, Unexpected};
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::pt2pt::protocol::*;
use crate::pt2pt::select::{ReceiveFacts, ReceiveMethod, select_receive};
use crate::pt2pt::{
    cancel, direct_read, eager, fragments, mapped, packets, rendezvous, split_copy, stream,
};
use hpvm_fm::{Head, Rank, Streamed, Transport, handler_id};

/// What a packet asks this process to do beyond storing what it brings. A handler must not send, so it is
/// done when `extract` is over.
#[derive(Clone, Debug)]
pub(crate) enum Deferred {
    /// Send the message of a send in packets to the receiver's request.
    SendPackets(ReqId, u64),
    /// Send the message of a send as a stream.
    SendStream(ReqId),
    /// Tell a sender XOFF or XON.
    TellQuota(Rank, u64),
    /// A receiver has told us XOFF or XON.
    Quota(Rank, u64),
    /// The same of packets of a model.
    TellModel(Rank, u64),
    ModelQuota(Rank, u64),
    /// Write parts of a message to the memory of its receiver.
    WriteSplit(split_copy::Request),
    /// Go on to read parts of a message.
    ReadSplit(usize),
    /// A sender asks to forget a message that it announced.
    Cancel(cancel::Request),
    /// A sender has written the last part of a message, or could not write some.
    SplitDone(split_copy::Done),
}

/// Texts of faults of Fast Messages kept until somebody reads them. More say nothing new.
const MAX_FAULT_TEXTS: usize = 16;

impl Inbox {
    /// Handles one packet. Never sends. A function of its own, so that the loops that take packets
    /// stay small.
    #[inline(never)]
    pub(crate) fn packet(&mut self, src: Rank, head: Head, data: &[u8]) {
        match head.handler {
            EAGER => eager::on_packet(self, src, head, data),
            RTS | CTS | FIN => rendezvous::on_packet(self, src, head, data),
            DATA => packets::on_packet(self, src, head, data),
            FRAGMENT_HEAD | FRAGMENT => fragments::on_packet(self, src, head, data),
            STREAM_HEAD => stream::on_packet(self, src, head, data),
            SPLIT_REQUEST | SPLIT_DONE => split_copy::on_packet(self, src, head, data),
            CANCEL | CANCEL_ANSWER => cancel::on_packet(self, src, head, data),
            XOFF | XON => self.on_quota(src, head),
            WINDOW => crate::rma::notice::on_packet(self, src, head),
            other if handler_id::MODELS.contains(&other) => self.model_packet(src, head, data),
            other if self.fast.wants(head) => {
                debug_assert!(!handler_id::MPI.contains(&other));
                if let Err(fault) = self.fast.on_packet(src, head, data)
                    && self.faults.len() < MAX_FAULT_TEXTS
                {
                    self.faults.push(fault.to_string());
                }
            }
            other if handler_id::ONESIDED.contains(&other) => {
                if let Err(text) = self.onesided.on_packet(src, head, data) {
                    self.violate(src, text);
                }
            }
            other => self.violate(src, format!("handler {other}, which nobody has")),
        }
    }
}

impl<T: Transport> Process<T> {
    /// Does what a packet has asked for.
    pub(super) fn act(&mut self, deferred: Deferred) {
        match deferred {
            Deferred::SendPackets(id, receiver) => packets::start(self, id, receiver),
            Deferred::SendStream(id) => stream::start_asked(self, id),
            Deferred::TellQuota(src, word) => self.tell_quota(src, word),
            Deferred::Quota(dst, word) => self.backlog.told(dst, word),
            Deferred::TellModel(src, word) => self.tell_model(src, word),
            Deferred::ModelQuota(dst, word) => self.backlog.models.tell(dst, word),
            Deferred::WriteSplit(request) => split_copy::write(self, request),
            Deferred::ReadSplit(index) => split_copy::read(self, index, None),
            Deferred::Cancel(request) => cancel::answer(self, request),
            Deferred::SplitDone(done) => split_copy::on_done(self, done),
        }
    }

    /// Moves announced messages on whose receives have matched, the first one first, by as many bytes as
    /// one progress step may copy. True when something happened.
    pub(super) fn advance_transfers(&mut self) -> bool {
        let mut moved = false;
        while self.step_left != 0
            && !self.inbox.arrivals.split.are_all_open()
            && let Some(id) = self.inbox.transfers.pop_front()
        {
            self.advance_transfer(id);
            moved = true;
        }
        moved
    }

    /// Moves one on, and chooses how if that has not been done.
    pub(crate) fn advance_transfer(&mut self, id: ReqId) {
        let Some((mut transfer, room)) = self.inbox.transfer(id) else { return };
        let want = transfer.len.min(room);
        let method = match transfer.method {
            Some(method) => method,
            None => {
                let facts = self.receive_facts(id, &transfer, want);
                let method = select_receive(want, &facts, &self.thresholds);
                self.set_method(id, method);
                transfer.method = Some(method);
                method
            }
        };
        match method {
            ReceiveMethod::Nothing => rendezvous::finish(self, id, &transfer),
            ReceiveMethod::Mapped => mapped::advance(self, id, &transfer, want),
            ReceiveMethod::DirectRead => direct_read::advance(self, id, &transfer, want),
            ReceiveMethod::SplitCopy => {
                if !split_copy::start(self, id, &transfer, want) {
                    self.set_method(id, ReceiveMethod::DirectRead);
                    direct_read::advance(self, id, &transfer, want);
                }
            }
            ReceiveMethod::Packets => rendezvous::ask(self, id, &transfer, 0),
            ReceiveMethod::Stream => {
                if stream::receive(self, id, &transfer) && !transfer.stream_opened {
                    rendezvous::ask(self, id, &transfer, AS_STREAM);
                }
            }
        }
    }

    fn set_method(&mut self, id: ReqId, method: ReceiveMethod) {
        if let Some(transfer) = self.inbox.transfer_mut(id) {
            transfer.method = Some(method);
        }
    }

    /// What the choice of a way depends on for `want` bytes of the message of receive `id`.
    fn receive_facts(&mut self, id: ReqId, transfer: &Transfer, want: u64) -> ReceiveFacts {
        let (src, address) = (transfer.src, transfer.address);
        let one_run_there = address != 0;
        let mapped = one_run_there
            && !transfer.stream_opened
            && want != 0
            && want >= self.fm.transport().min_mapped()
            && self.fm.transport_mut().mapped(src, address, want).is_some();
        let read = one_run_there && !mapped && !transfer.unreadable && self.reads(src, want);
        ReceiveFacts {
            stream_opened: transfer.stream_opened,
            one_run_there,
            mapped,
            read,
            split: read && split_copy::is_possible(self, id),
            stream: self.fm.transport().can_stream(src, transfer.len),
        }
    }

    /// Sends the first packet of send `id`, or opens its stream; completes it if that is all.
    pub(super) fn launch(&mut self, id: ReqId) -> Result<(), hpvm_fm::Stall> {
        crate::pt2pt::launch(self, id)
    }

    /// Looks whether what senders say of split copies is so.
    #[inline(always)]
    pub(super) fn check_split_copies(&mut self) {
        split_copy::check(self);
    }

    /// A stream has ended.
    #[inline(always)]
    pub(super) fn finish_stream(&mut self, ended: Streamed) {
        stream::finish(&mut self.inbox, ended);
    }

    /// Sends more of the messages that go in packets. True when something went out.
    pub(super) fn drain_packets(&mut self) -> bool {
        packets::advance(self)
    }
}

/// A message that was kept, or has just come and was not, is for receive `id`.
pub(crate) fn receive_arrived<T: Transport>(p: &mut Process<T>, id: ReqId, message: Unexpected) {
    let Unexpected { src, tag, content } = message;
    match content {
        Content::Eager(data) => eager::finish(&mut p.inbox, id, src, tag, &data),
        Content::Fragments { len, number } => {
            fragments::finish(&mut p.inbox, id, (src, tag), len, number);
        }
        Content::Announced(a) => {
            let opened = a.stream_opened;
            rendezvous::matched(&mut p.inbox, id, src, tag, a);
            if opened {
                // Its bytes may come in the next step, and go straight to their place then.
                p.inbox.transfers.pop_back();
                p.advance_transfer(id);
            }
        }
    }
}

/// The messages left in `table` will never be received.
pub(super) fn forget(inbox: &mut Inbox, table: &Table) {
    for message in table.unexpected() {
        if let Content::Fragments { number, .. } = message.content {
            fragments::forget(inbox, message.src, number);
        }
    }
}

/// The request that a blocking receive has become, because its message does not come whole.
pub(crate) fn blocking_receive(inbox: &mut Inbox) -> ReqId {
    // SAFETY: whoever set it waits for it, and all that it names lives meanwhile.
    let op = unsafe { inbox.arrivals.blocking.as_op() };
    let id = inbox.requests.insert(Operation::Recv(op), None);
    inbox.arrivals.blocking.became(id);
    id
}
