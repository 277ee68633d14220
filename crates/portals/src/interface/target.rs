//! Requests of others, at their target: what the portal table entry decides, and how the data moves.

use super::Interface;
use crate::atomic::{self, Datatype, Op};
use crate::carrier::{Carrier, Data, Inaccessible, Purpose, Transfer};
use crate::event::NiFail;
use crate::limits::EAGER;
use crate::message::{Message, Operation};
use crate::portal::{Delivery, Verdict};
use crate::slab::Id;
use crate::wire::{Head, Kind as Packet, Malformed, OPERAND};

/// A message whose data goes by itself.
pub(super) struct Moving {
    peer: u32,
    /// Of the request: what the reply answers.
    head: Head,
    delivery: Delivery,
}

impl Interface {
    pub(super) fn request(
        &mut self,
        peer: u32,
        head: &Head,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) -> Result<(), Malformed> {
        let operation = match head.kind {
            Packet::Put => Operation::Put,
            Packet::Get => Operation::Get,
            Packet::Atomic(op, ty) => Operation::Atomic(op, ty),
            Packet::FetchAtomic(op, ty) => Operation::FetchAtomic(op, ty),
            Packet::Ready | Packet::Reply(_) => return Err(Malformed),
        };
        let brings = !head.long && operation != Operation::Get;
        let expected = if brings { head.length } else { 0 };
        let long = head.long && (operation != Operation::Put || !head.flag);
        if data.len() as u64 != expected || long {
            return Err(Malformed);
        }
        let message = Message {
            operation,
            initiator: self.process(peer),
            uid: self.peers[peer as usize].uid,
            match_bits: head.match_bits,
            hdr_data: head.hdr_data,
            rlength: head.length,
            remote_offset: head.remote_offset,
        };
        match self.decide(head.pt_index, message) {
            Verdict::Deliver(delivery) => self.deliver(peer, head, delivery, data, carrier),
            Verdict::Refuse(fail) => {
                self.count_refused(fail.register());
                self.settle(head.pt_index);
                self.answer(peer, head, fail, None, Data::None, carrier);
            }
        }
        Ok(())
    }

    fn decide(&mut self, pt_index: u32, message: Message) -> Verdict {
        let room = self.unexpected_headers < self.limits.max_unexpected_headers as usize;
        let effects = &mut self.effects;
        let found = self.portals.get_mut(pt_index as usize).and_then(Option::as_mut);
        let Some(index) = found else { return Verdict::Refuse(NiFail::Dropped) };
        if index.flow_control && index.portal.is_enabled() {
            let queue = index.queue.and_then(|id| self.queues.get(id));
            if queue.is_some_and(|queue| !queue.has_room(index.portal.moving())) {
                index.portal.exhausted(effects);
            }
        }
        index.portal.arrive(message, room, effects)
    }

    /// Moves the data of a message that an entry takes.
    fn deliver(
        &mut self,
        peer: u32,
        head: &Head,
        delivery: Delivery,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) {
        self.settle(head.pt_index);
        let Delivery { offset, mlength, .. } = delivery;
        let Some(region) = self.region(head.pt_index, delivery.entry) else { return };
        let mut old = std::mem::take(&mut self.scratch);
        old.clear();
        let mut done = Ok(());
        let mut back = Data::None;
        match head.kind {
            Packet::Put if head.long && mlength > 0 => {
                self.scratch = old;
                return self.receive(peer, head, delivery, carrier);
            }
            Packet::Put if head.long => {}
            Packet::Put => done = carrier.write(&region, offset, &data[..mlength as usize]),
            Packet::Get if mlength > EAGER => {
                self.scratch = old;
                return self.send(peer, head, delivery, carrier);
            }
            Packet::Get => back = Data::Memory { region: &region, offset, length: mlength },
            Packet::Atomic(op, ty) | Packet::FetchAtomic(op, ty) => {
                let data = &data[..mlength as usize];
                old.resize(mlength as usize, 0);
                done = carrier.read(&region, offset, &mut old).and_then(|()| {
                    let mut new = old.clone();
                    update((op, ty), &head.operand, data, &mut new);
                    carrier.write(&region, offset, &new)
                });
                if matches!(head.kind, Packet::FetchAtomic(..)) {
                    back = Data::Bytes(&old);
                }
            }
            Packet::Ready | Packet::Reply(_) => {}
        }
        let fail = if done.is_ok() { NiFail::Ok } else { NiFail::Segv };
        self.complete(head.pt_index, delivery.id, fail);
        self.answer(peer, head, fail, Some(&delivery), back, carrier);
        self.scratch = old;
    }

    fn complete(&mut self, pt_index: u32, message: Id, fail: NiFail) {
        if fail != NiFail::Ok {
            self.count_refused(fail.register());
        }
        let effects = &mut self.effects;
        if let Some(Some(index)) = self.portals.get_mut(pt_index as usize) {
            index.portal.complete(message, fail, effects);
        }
        self.settle(pt_index);
    }

    /// Tells the initiator of the end, if it waits for that.
    fn answer(
        &mut self,
        peer: u32,
        head: &Head,
        fail: NiFail,
        delivery: Option<&Delivery>,
        data: Data,
        carrier: &mut impl Carrier,
    ) {
        if !head.flag && !matches!(head.kind, Packet::Get | Packet::FetchAtomic(..)) {
            return;
        }
        let data = if fail == NiFail::Ok { data } else { Data::None };
        let reply = Head {
            kind: Packet::Reply(fail),
            long: false,
            flag: delivery.is_some_and(|d| !d.acknowledge),
            length: delivery.map_or(0, |d| d.mlength),
            remote_offset: delivery.map_or(0, |d| d.offset),
            match_bits: 0,
            hdr_data: 0,
            operand: [0; OPERAND],
            ..*head
        };
        // An initiator that is gone waits for nothing.
        let _ = carrier.send(peer, &reply, data);
    }

    /// Asks for the data of a long put.
    fn receive(&mut self, peer: u32, head: &Head, delivery: Delivery, carrier: &mut impl Carrier) {
        let Some(region) = self.region(head.pt_index, delivery.entry) else { return };
        let Delivery { offset, mlength, .. } = delivery;
        let id = self.moving.insert(Moving { peer, head: *head, delivery });
        // First: the data may come as soon as the initiator knows.
        let transfer = Transfer { purpose: Purpose::Put, sends: false, id };
        carrier.receive_bytes(peer, transfer, &region, offset, mlength);
        let ready = Head { kind: Packet::Ready, long: false, length: mlength, ..*head };
        let _ = carrier.send(peer, &ready, Data::None);
    }

    /// Sends the data of a long get, behind a reply that announces it.
    fn send(&mut self, peer: u32, head: &Head, delivery: Delivery, carrier: &mut impl Carrier) {
        let Some(region) = self.region(head.pt_index, delivery.entry) else { return };
        let Delivery { offset, mlength, .. } = delivery;
        let id = self.moving.insert(Moving { peer, head: *head, delivery });
        let kind = Packet::Reply(NiFail::Ok);
        let reply = Head { kind, long: true, length: mlength, remote_offset: offset, ..*head };
        let _ = carrier.send(peer, &reply, Data::None);
        let transfer = Transfer { purpose: Purpose::Get, sends: true, id };
        carrier.send_bytes(peer, transfer, &region, offset, mlength);
    }

    /// The data of a long message has moved.
    pub(super) fn moved(&mut self, id: Id, ok: bool, carrier: &mut impl Carrier) {
        let Some(Moving { peer, head, delivery }) = self.moving.remove(id) else { return };
        let fail = if ok { NiFail::Ok } else { NiFail::Undeliverable };
        self.complete(head.pt_index, delivery.id, fail);
        if head.kind == Packet::Put {
            self.answer(peer, &head, fail, Some(&delivery), Data::None, carrier);
        }
    }
}

/// Does an atomic operation on the elements that are there: none, if the entry had no room for one.
fn update((op, ty): (Op, Datatype), operand: &[u8; OPERAND], data: &[u8], target: &mut [u8]) {
    if target.is_empty() {
        return;
    }
    // The header was checked; an operation with an operand that is not on one element does nothing.
    let _ = if op.takes_operand() {
        atomic::swap(op, ty, &operand[..ty.size()], data, target)
    } else {
        atomic::apply(op, ty, data, target)
    };
}

/// So that `?` reads as what it means.
impl From<Inaccessible> for NiFail {
    fn from(_: Inaccessible) -> NiFail {
        NiFail::Segv
    }
}
