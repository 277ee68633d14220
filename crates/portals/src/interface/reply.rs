//! What targets answer, at the initiator. A peer may only speak of operations that are for it, and grants no more than was asked for.

use super::Interface;
use super::initiate::{Ack, Pending};
use super::outcome::Told;
use crate::carrier::{Carrier, Purpose, Transfer};
use crate::event::NiFail;
use crate::slab::Id;
use crate::wire::{Head, Malformed, Reply};

/// What a target has granted.
#[derive(Clone, Copy)]
pub(super) struct Granted {
    length: u64,
    remote_offset: u64,
    /// As events have it.
    list: u8,
}

impl Granted {
    /// All of `length` bytes.
    pub fn whole(length: u64) -> Granted {
        Granted { length, remote_offset: 0, list: 0 }
    }

    fn of(reply: &Reply) -> Granted {
        Granted { length: reply.length, remote_offset: reply.remote_offset, list: reply.list }
    }

    fn told(self, user_ptr: u64, fail: NiFail) -> Told {
        let Granted { length: mlength, remote_offset, list } = self;
        Told { user_ptr, mlength, remote_offset, list, fail }
    }
}

impl Pending {
    /// Whether `peer` may speak of it, and grants no more than was asked for.
    #[inline(always)]
    fn may_end(&self, peer: u32, length: u64) -> bool {
        self.target == peer && !self.answered && length <= self.length
    }
}

impl Interface {
    /// The target has memory for `head.length` bytes of a put.
    pub(super) fn ready(
        &mut self,
        peer: u32,
        head: &Head,
        carrier: &mut impl Carrier,
    ) -> Result<(), Malformed> {
        let ticket = self.pending.of_ticket(head.ticket).ok_or(Malformed)?;
        let pending = self.pending.get_mut(ticket).filter(|p| p.may_end(peer, head.length));
        let pending = pending.ok_or(Malformed)?;
        let Some(put) = pending.put.filter(|_| !pending.sent && pending.coming.is_none()) else {
            return Err(Malformed);
        };
        // Not twice.
        pending.coming = Some(Granted::of(&Reply::of(head, NiFail::Ok)));
        let offset = pending.put_offset;
        let region = self.descriptors.get(put).ok_or(Malformed)?.region.clone();
        let transfer = Transfer { purpose: Purpose::Put, sends: true, id: ticket };
        carrier.send_bytes(peer, transfer, &region, offset, head.length);
        Ok(())
    }

    /// The data of a long put has left.
    pub(super) fn put_sent(&mut self, ticket: Id, fail: NiFail) {
        let Some(pending) = self.pending.get_mut(ticket) else { return };
        if fail != NiFail::Ok {
            self.fail(ticket, fail);
            return;
        }
        pending.sent = true;
        let (put, length, user_ptr) = (pending.put, pending.length, pending.user_ptr);
        let over = pending.ack == Ack::None || pending.answered;
        let (ack, refused) = (pending.ack, pending.refused);
        if let Some(put) = put {
            self.unused(put);
            self.of_send(put, length, user_ptr, NiFail::Ok);
            if let Some(fail) = refused {
                self.acknowledged(put, ack, user_ptr, (Granted::whole(0), false), fail);
            }
        }
        if over {
            self.end(ticket);
        }
    }

    /// The end of an operation at its target. With `long`, what was fetched follows by itself.
    #[inline]
    pub(super) fn reply(
        &mut self,
        peer: u32,
        reply: &Reply,
        (long, data): (bool, &[u8]),
        carrier: &mut impl Carrier,
    ) -> Result<(), Malformed> {
        let ticket = self.pending.of_ticket(reply.ticket).ok_or(Malformed)?;
        let pending = self.pending.get_mut(ticket).filter(|p| p.may_end(peer, reply.length));
        let pending = pending.ok_or(Malformed)?;
        let fail = reply.fail;
        if let Some((get, offset)) = pending.get {
            if long && fail == NiFail::Ok {
                (pending.answered, pending.coming) = (true, Some(Granted::of(reply)));
                let region = self.descriptors.get(get).ok_or(Malformed)?.region.clone();
                let transfer = Transfer { purpose: Purpose::Get, sends: false, id: ticket };
                let length = (reply.length, reply.length);
                carrier.receive_bytes(peer, transfer, &region, offset, length);
                return Ok(());
            }
            let get = (get, offset, pending.user_ptr);
            return self.fetched(ticket, get, reply, data, carrier);
        }
        if fail != NiFail::Ok && !pending.sent && pending.coming.is_some() {
            // What has been refused may still be read: the descriptor is in use until it has left.
            (pending.answered, pending.refused) = (true, Some(fail));
            return Ok(());
        }
        let (put, ack, user_ptr) = (pending.put, pending.ack, pending.user_ptr);
        let (sent, length) = (pending.sent, pending.length);
        self.pending.forget(ticket);
        if let Some(put) = put {
            if !sent {
                // A long put that was refused or has no room, or whose data is there before we know that it has left.
                self.unused(put);
                self.of_send(put, length, user_ptr, NiFail::Ok);
            }
            self.acknowledged(put, ack, user_ptr, (Granted::of(reply), reply.silent), fail);
        }
        Ok(())
    }

    /// `disabled`: the entry gives no acknowledgment.
    #[inline(always)]
    fn acknowledged(
        &mut self,
        put: Id,
        ack: Ack,
        user_ptr: u64,
        (granted, disabled): (Granted, bool),
        fail: NiFail,
    ) {
        let fail = if ack == Ack::Completed { NiFail::Ok } else { fail };
        // Without an acknowledgment from the entry, failures are told all the same.
        let silent = disabled && fail == NiFail::Ok;
        if ack != Ack::None && !silent {
            self.of_ack(put, ack == Ack::Full, &granted.told(user_ptr, fail));
        }
    }

    /// A get or a fetching atomic operation is over, with its data in the reply.
    #[inline(always)]
    fn fetched(
        &mut self,
        ticket: Id,
        (get, offset, user_ptr): (Id, u64, u64),
        reply: &Reply,
        data: &[u8],
        carrier: &mut impl Carrier,
    ) -> Result<(), Malformed> {
        let mut fail = reply.fail;
        if fail == NiFail::Ok && data.len() as u64 != reply.length {
            self.fail(ticket, NiFail::Undeliverable);
            return Err(Malformed);
        }
        let descriptor = self.descriptors.get_mut(get).ok_or(Malformed)?;
        if fail == NiFail::Ok && carrier.write(&descriptor.region, offset, data).is_err() {
            fail = NiFail::Segv;
        }
        descriptor.pending -= 1;
        self.pending.forget(ticket);
        self.of_reply(get, &Granted::of(reply).told(user_ptr, fail));
        Ok(())
    }

    /// The data of a long get has come.
    pub(super) fn got(&mut self, ticket: Id, fail: NiFail) {
        let Some(pending) = self.pending.get(ticket) else { return };
        let (Some((get, _)), Some(granted)) = (pending.get, pending.coming) else { return };
        let user_ptr = pending.user_ptr;
        self.of_reply(get, &granted.told(user_ptr, fail));
        self.end(ticket);
    }
}
