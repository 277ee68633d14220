//! Requests of others, at their target: what the portal table entry decides, and how the data moves.

use super::Interface;
use super::outcome::{full, list_code};
use crate::atomic::{self, Datatype, Op};
use crate::carrier::{Carrier, Data, Inaccessible, Purpose, Transfer};
use crate::entry::Options;
use crate::event::{self, Body, List, Moment, NiFail};
use crate::limits::{EAGER, PUSHED};
use crate::memory::Region;
use crate::message::{Message, Operation};
use crate::portal::{Delivery, Plain, Verdict};
use crate::slab::Id;
use crate::wire::{Head, Kind as Packet, Malformed, OPERAND, Reply};

/// A message whose data goes by itself.
pub(super) struct Moving {
    peer: u32,
    /// Of the request: what the reply answers.
    head: Head,
    delivery: Delivery,
}

impl Interface {
    #[inline]
    pub(super) fn request(
        &mut self,
        peer: u32,
        head: &Head,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) -> Result<(), Malformed> {
        let operation = match head.kind {
            Packet::Put | Packet::Push => Operation::Put,
            Packet::Get => Operation::Get,
            Packet::Atomic(op, ty) => Operation::Atomic(op, ty),
            Packet::FetchAtomic(op, ty) => Operation::FetchAtomic(op, ty),
            Packet::Ready | Packet::Reply(_) => return Err(Malformed),
        };
        let pushed = head.kind == Packet::Push;
        let brings = !head.long && !pushed && operation != Operation::Get;
        let expected = if brings { head.length } else { 0 };
        let long = head.long && (head.kind != Packet::Put || !head.flag);
        if data.len() as u64 != expected || long || (pushed && head.length > PUSHED) {
            return Err(Malformed);
        }
        let message = self.message(peer, head, operation);
        if !(pushed || (head.long && operation == Operation::Put))
            && self.at_once(peer, head, &message, data, carrier)
        {
            return Ok(());
        }
        match self.decide(head.pt_index, message) {
            Verdict::Deliver(delivery) => self.deliver(peer, head, delivery, data, carrier),
            Verdict::Refuse(fail) => {
                self.count_refused(fail.register());
                self.settle(head.pt_index);
                answer(peer, head, fail, None, Data::None, carrier);
                discard(peer, head, carrier);
            }
        }
        Ok(())
    }

    /// What matching looks at.
    #[inline(always)]
    fn message(&self, peer: u32, head: &Head, operation: Operation) -> Message {
        Message {
            operation,
            initiator: self.process(peer),
            uid: self.peers[peer as usize].uid,
            match_bits: head.match_bits,
            hdr_data: head.hdr_data,
            rlength: head.length,
            remote_offset: head.remote_offset,
        }
    }

    /// Does all that a put asks for whose data is behind its header, if the entry that takes it stays as it is: nothing but a
    /// reply leaves meanwhile. What it triggers waits for [`Interface::run_due`]. False: nothing has been done.
    #[inline(always)]
    pub fn put_here(
        &mut self,
        peer: u32,
        head: &Head,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) -> bool {
        if !matches!(head.kind, Packet::Put) || head.long || data.len() as u64 != head.length {
            return false;
        }
        let message = self.message(peer, head, Operation::Put);
        self.at_once(peer, head, &message, data, carrier)
    }

    /// The same for a get that fetches at most [`EAGER`] bytes.
    #[inline]
    pub fn get_here(&mut self, peer: u32, head: &Head, carrier: &mut impl Carrier) -> bool {
        let message = self.message(peer, head, Operation::Get);
        matches!(head.kind, Packet::Get) && self.at_once(peer, head, &message, &[], carrier)
    }

    /// Does all that a message asks for where it leaves nothing to remember: its data is here, or short, and the entry that takes it
    /// stays as it is. False: it is a message as others are.
    #[inline(always)]
    fn at_once(
        &mut self,
        peer: u32,
        head: &Head,
        message: &Message,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) -> bool {
        let Interface { portals, entries, queues, scratch, .. } = self;
        let Some(Some(index)) = portals.get(head.pt_index as usize) else { return false };
        let Some(plain) = index.portal.plain(message) else { return false };
        let Some(region) = index.region_of(plain.id, entries) else { return false };
        let Plain { id: entry, offset, mlength, .. } = plain;
        if matches!(head.kind, Packet::Get) && mlength > EAGER {
            return false;
        }
        let (done, back) = access(head, region, (offset, mlength), data, scratch, carrier);
        let fail = if done.is_ok() { NiFail::Ok } else { NiFail::Segv };
        if let Some(queue) = index.queue.and_then(|id| queues.get_mut(id)) {
            let body = Body { message: *message, entry, list: List::Priority, offset, mlength };
            if let Some(event) = event::shown(plain.entry, Moment::Arrival, body, fail) {
                queue.push(full(&event, head.pt_index, region.address(offset)));
                self.news = true;
            }
        }
        let count = event::counted(plain.entry, Moment::Arrival, mlength, fail);
        let acknowledge = !plain.entry.has(Options::ACK_DISABLE);
        let granted = Granted { acknowledge, list: List::Priority, offset, mlength };
        answer(peer, head, fail, Some(&granted), back, carrier);
        if let Some((ct, count)) = count {
            self.add(ct, count);
        }
        if fail != NiFail::Ok {
            self.count_refused(fail.register());
        }
        true
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
        let Some(region) = self.region(head.pt_index, delivery.entry) else {
            return discard(peer, head, carrier);
        };
        match head.kind {
            Packet::Push => return self.receive_pushed(peer, head, delivery, &region, carrier),
            Packet::Put if head.long && mlength > 0 => {
                return self.receive(peer, head, delivery, carrier);
            }
            Packet::Get if mlength > EAGER && carrier.readable(&region, offset, mlength) => {
                return self.send(peer, head, delivery, carrier);
            }
            _ => {}
        }
        let mut old = std::mem::take(&mut self.scratch);
        let (done, back) = access(head, &region, (offset, mlength), data, &mut old, carrier);
        let fail = if done.is_ok() { NiFail::Ok } else { NiFail::Segv };
        self.complete(head.pt_index, delivery.id, fail);
        answer(peer, head, fail, Some(&delivery.granted()), back, carrier);
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

    /// Asks for the data of a long put.
    fn receive(&mut self, peer: u32, head: &Head, delivery: Delivery, carrier: &mut impl Carrier) {
        let Some(region) = self.region(head.pt_index, delivery.entry) else { return };
        let Delivery { offset, mlength, .. } = delivery;
        let id = self.moving.insert(Moving { peer, head: *head, delivery });
        // First: the data may come as soon as the initiator knows.
        let transfer = Transfer { purpose: Purpose::Put, sends: false, id };
        carrier.receive_bytes(peer, transfer, &region, offset, (mlength, mlength));
        let ready = Head { kind: Packet::Ready, long: false, length: mlength, ..*head };
        let _ = carrier.send(peer, &ready, Data::None);
    }

    /// Receives the data that follow a put's header.
    fn receive_pushed(
        &mut self,
        peer: u32,
        head: &Head,
        delivery: Delivery,
        region: &Region,
        carrier: &mut impl Carrier,
    ) {
        let (offset, length) = (delivery.offset, (delivery.mlength, head.length));
        let id = self.moving.insert(Moving { peer, head: *head, delivery });
        let transfer = Transfer { purpose: Purpose::Push, sends: false, id };
        carrier.receive_bytes(peer, transfer, region, offset, length);
    }

    /// Sends the data of a long get, behind a reply that announces it.
    fn send(&mut self, peer: u32, head: &Head, delivery: Delivery, carrier: &mut impl Carrier) {
        let Some(region) = self.region(head.pt_index, delivery.entry) else { return };
        let Delivery { list, offset, mlength, .. } = delivery;
        let id = self.moving.insert(Moving { peer, head: *head, delivery });
        let reply = Head {
            kind: Packet::Reply(NiFail::Ok),
            long: true,
            length: mlength,
            remote_offset: offset,
            match_bits: list_code(list).into(),
            ..*head
        };
        let _ = carrier.send(peer, &reply, Data::None);
        let transfer = Transfer { purpose: Purpose::Get, sends: true, id };
        carrier.send_bytes(peer, transfer, &region, offset, mlength);
    }

    /// The data of a long message has moved.
    pub(super) fn moved(&mut self, id: Id, fail: NiFail, carrier: &mut impl Carrier) {
        let Some(Moving { peer, head, delivery }) = self.moving.remove(id) else { return };
        self.complete(head.pt_index, delivery.id, fail);
        if matches!(head.kind, Packet::Put | Packet::Push) {
            answer(peer, &head, fail, Some(&delivery.granted()), Data::None, carrier);
        }
    }
}

/// Lets the data go that follow a put's header, if they do, where nobody has a use for them.
pub fn discard(peer: u32, head: &Head, carrier: &mut impl Carrier) {
    if head.kind == Packet::Push && !head.long && head.length <= PUSHED {
        let transfer = Transfer { purpose: Purpose::Push, sends: false, id: Id::NONE };
        carrier.receive_bytes(peer, transfer, &Region::empty(), 0, (0, head.length));
    }
}

/// What an answer says of an entry.
struct Granted {
    acknowledge: bool,
    list: List,
    offset: u64,
    mlength: u64,
}

impl Delivery {
    fn granted(&self) -> Granted {
        let Delivery { acknowledge, list, offset, mlength, .. } = *self;
        Granted { acknowledge, list, offset, mlength }
    }
}

/// Moves the data of a message between what came and the part of an entry's memory, and says what goes back. Without data that
/// goes by itself.
#[inline(always)]
fn access<'a>(
    head: &Head,
    region: &'a Region,
    (offset, mlength): (u64, u64),
    data: &[u8],
    old: &'a mut Vec<u8>,
    carrier: &mut impl Carrier,
) -> (std::result::Result<(), Inaccessible>, Data<'a>) {
    match head.kind {
        Packet::Put if !head.long => {
            (carrier.write(region, offset, &data[..mlength as usize]), Data::None)
        }
        Packet::Get if carrier.readable(region, offset, mlength) => {
            (Ok(()), Data::Memory { region, offset, length: mlength })
        }
        Packet::Get => (Err(Inaccessible), Data::None),
        Packet::Atomic(op, ty) | Packet::FetchAtomic(op, ty) => {
            let data = &data[..mlength as usize];
            old.clear();
            old.resize(mlength as usize, 0);
            let done = carrier.read(region, offset, old).and_then(|()| {
                let mut new = old.clone();
                update((op, ty), &head.operand, data, &mut new);
                carrier.write(region, offset, &new)
            });
            let fetches = matches!(head.kind, Packet::FetchAtomic(..));
            (done, if fetches { Data::Bytes(old) } else { Data::None })
        }
        Packet::Put | Packet::Push | Packet::Ready | Packet::Reply(_) => (Ok(()), Data::None),
    }
}

/// Tells the initiator of the end, if it waits for that.
#[inline(always)]
fn answer(
    peer: u32,
    head: &Head,
    fail: NiFail,
    granted: Option<&Granted>,
    data: Data,
    carrier: &mut impl Carrier,
) {
    if !head.flag && !matches!(head.kind, Packet::Get | Packet::FetchAtomic(..)) {
        return;
    }
    let reply = Reply {
        fail,
        silent: granted.is_some_and(|g| !g.acknowledge),
        list: granted.map_or(0, |g| list_code(g.list)),
        interface: head.interface,
        ticket: head.ticket,
        length: granted.map_or(0, |g| g.mlength),
        remote_offset: granted.map_or(0, |g| g.offset),
    };
    match data {
        Data::Memory { .. } | Data::Bytes(_) if fail == NiFail::Ok => {
            carrier.answer_with(peer, &reply, data);
        }
        _ => carrier.answer(peer, &reply),
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
