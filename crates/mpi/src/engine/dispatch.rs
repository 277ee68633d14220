//! The one file of the engine that names the methods by which messages travel: which of them handles a
//! packet, does the deferred work that the packet asks for, and moves an announced message on.

use crate::engine::inbox::Inbox;
use crate::engine::matching::{Content, Table, Unexpected};
use crate::engine::process::Process;
use crate::engine::requests::{Operation, ReqId, Transfer};
use crate::pt2pt::protocol::*;
use crate::pt2pt::select::{ReceiveFacts, ReceiveMethod, select_receive};
use crate::pt2pt::{
    cancel, direct_read, eager, fragments, mapped, packets, rdma_read, rendezvous, split_copy,
    stream,
};
use hpvm_fm::{Head, Rank, Streamed, Transport, handler_id};

/// Work that a packet asks for beyond storing its payload. A packet handler must not send, so this work is
/// done after `extract`, in the same progress step.
#[derive(Clone, Debug)]
pub(crate) enum Deferred {
    /// A CTS has come: send the message of this send in packets to the receiver's request.
    SendPackets(ReqId, u64),
    /// A CTS has come: send the message of this send as a stream.
    SendStream(ReqId),
    /// Tell a sender XOFF or XON.
    TellQuota(Rank, u64),
    /// A receiver has told us XOFF or XON.
    Quota(Rank, u64),
    /// Tell a sender XOFF or XON for the packets of another programming model.
    TellModel(Rank, u64),
    /// A receiver has told us XOFF or XON for such packets.
    ModelQuota(Rank, u64),
    /// Split copy: write parts of a message into the receive buffer.
    WriteSplit(split_copy::Request),
    /// Split copy: go on reading parts of the message of this control block.
    ReadSplit(usize),
    /// No card is to read the message of the send with this number any more.
    Conceal(u64),
    /// A sender asks to forget a message that it announced.
    Cancel(cancel::Request),
    /// Split copy: the sender has written the last part of a message, or could not write some.
    SplitDone(split_copy::Done),
}

/// Texts of faults of Fast Messages that are kept until somebody reads them. More texts would say nothing
/// new.
const MAX_FAULT_TEXTS: usize = 16;

impl Inbox {
    /// Handles one packet, by its handler id. Never sends. Not inlined, so that the loops that take packets
    /// stay small.
    #[inline(never)]
    pub(crate) fn on_packet(&mut self, src: Rank, head: Head, data: &[u8]) {
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
    /// Does the work that a packet has asked for.
    pub(super) fn perform(&mut self, deferred: Deferred) {
        match deferred {
            Deferred::SendPackets(id, receiver) => packets::start(self, id, receiver),
            Deferred::SendStream(id) => stream::start_asked(self, id),
            Deferred::TellQuota(src, word) => self.tell_quota(src, word),
            Deferred::Quota(dst, word) => self.backlog.set_quota_word(dst, word),
            Deferred::TellModel(src, word) => self.tell_model(src, word),
            Deferred::ModelQuota(dst, word) => self.backlog.models.tell(dst, word),
            Deferred::WriteSplit(request) => split_copy::write_parts(self, request),
            Deferred::ReadSplit(index) => split_copy::read_parts(self, index, None),
            Deferred::Conceal(number) => self.fm.transport_mut().conceal(number),
            Deferred::Cancel(request) => cancel::answer(self, request),
            Deferred::SplitDone(done) => split_copy::apply_done(self, done),
        }
    }

    /// Moves on the announced messages whose receives have matched, in order, by as many bytes as one
    /// progress step may copy. True when something happened.
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

    /// Moves on the announced message of receive `id`. The first time it chooses the method.
    pub(crate) fn advance_transfer(&mut self, id: ReqId) {
        let Some((mut transfer, room)) = self.inbox.transfer(id) else { return };
        let want = transfer.len.min(room);
        let method = match transfer.method {
            Some(method) => method,
            None => {
                let facts = self.receive_facts(id, &transfer, want);
                let method = select_receive(want, &facts, &self.thresholds);
                if facts.read && method == ReceiveMethod::Packets {
                    self.inbox.arrivals.fresh.theirs_came(transfer.src);
                }
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
            ReceiveMethod::RdmaRead => rdma_read::start(self, id, &transfer, want),
            ReceiveMethod::Packets => rendezvous::send_cts(self, id, &transfer, 0),
            ReceiveMethod::Stream => {
                if stream::post_landing(self, id, &transfer) && !transfer.stream_opened {
                    rendezvous::send_cts(self, id, &transfer, AS_STREAM);
                }
            }
        }
    }

    fn set_method(&mut self, id: ReqId, method: ReceiveMethod) {
        if let Some(transfer) = self.inbox.transfer_mut(id) {
            transfer.method = Some(method);
        }
    }

    /// The facts that the receiver's choice depends on, for the first `want` bytes of receive `id`'s message.
    fn receive_facts(&mut self, id: ReqId, transfer: &Transfer, want: u64) -> ReceiveFacts {
        let (src, address) = (transfer.src, transfer.address);
        let one_run_there = address != 0;
        let mapped = one_run_there
            && !transfer.stream_opened
            && want != 0
            && want >= self.fm.transport().min_mapped()
            && self.fm.transport_mut().mapped(src, address, want).is_some();
        let read = one_run_there && !mapped && !transfer.unreadable && self.prefers_read(src, want);
        ReceiveFacts {
            stream_opened: transfer.stream_opened,
            one_run_there,
            mapped,
            read,
            split: read && split_copy::is_possible(self, id),
            fresh: self.inbox.arrivals.fresh.is_theirs(src)
                && self.fm.transport().max_fragmented(src) != 0,
            rdma: transfer.exposed.is_some()
                && !transfer.unreadable
                && rdma_read::is_possible(self, id, src),
            stream: self.fm.transport().can_stream(src, transfer.len),
        }
    }

    /// Starts a send that has waited in the backlog.
    pub(super) fn start_queued_send(&mut self, id: ReqId) -> Result<(), hpvm_fm::Stall> {
        crate::pt2pt::start_queued_send(self, id)
    }

    /// Checks the SPLIT_DONE packets that have come.
    #[inline(always)]
    pub(super) fn check_split_copies(&mut self) {
        split_copy::check_done(self);
    }

    /// A stream, or a read by a card, has ended.
    #[inline(always)]
    pub(super) fn finish_stream(&mut self, ended: Streamed) {
        let id = ReqId::from_number;
        match ended {
            Streamed::Came(cookie) => stream::finish_receive(&mut self.inbox, id(cookie)),
            Streamed::Gone(number) => stream::finish_send(&mut self.inbox, id(number)),
            Streamed::Read(cookie) => rdma_read::finish(self, id(cookie), true),
            Streamed::NotRead(cookie) => rdma_read::finish(self, id(cookie), false),
        }
    }

    /// Sends more of the messages that go in packets. True when something went out.
    pub(super) fn drain_packets(&mut self) -> bool {
        packets::advance(self)
    }
}

/// Gives receive `id` a message that has come already: an unexpected one, or one that has just arrived.
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
                // At once, and not in the next step: the bytes that come next then go straight to the
                // receive buffer.
                p.inbox.transfers.pop_back();
                p.advance_transfer(id);
            }
        }
    }
}

/// The communicator of `table` is freed: forgets the messages that nobody can receive any more.
pub(super) fn forget(inbox: &mut Inbox, table: &Table) {
    for message in table.unexpected() {
        if let Content::Fragments { number, .. } = message.content {
            fragments::forget(inbox, message.src, number);
        }
    }
}

/// Makes a request of the blocking receive that a thread polls for, because its message does not come in one
/// packet.
pub(crate) fn promote_blocking_receive(inbox: &mut Inbox) -> ReqId {
    // SAFETY: the call that set it is still polling, and what it points to lives meanwhile.
    let op = unsafe { inbox.arrivals.blocking.as_op() };
    let id = inbox.requests.insert(Operation::Recv(op), None);
    inbox.arrivals.blocking.promote(id);
    id
}
