//! Operations as their initiator starts them (sections 3.15 and 3.16).

use super::reply::Granted;
use super::{Interface, Start, Target};
use crate::atomic::{Datatype, Op};
use crate::carrier::{Carrier, Data, Purpose, Transfer};
use crate::counters::Triggered;
use crate::event::NiFail;
use crate::fault::{Fault, Result};
use crate::handle::Kind;
use crate::limits::{EAGER, PUSHED, PUSHES};
use crate::slab::Id;
use crate::wire::{Head, Kind as Packet, OPERAND};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Put,
    Get,
    Atomic(Op, Datatype),
    /// `PtlFetchAtomic`
    FetchAtomic(Op, Datatype),
    /// `PtlSwap`
    Swap(Op, Datatype),
}

/// `ptl_ack_req_t`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    None,
    Full,
    Count,
    /// Tells that the operation is over, whatever became of it.
    Completed,
}

/// Where an operation's data is at the initiator: a descriptor's handle, and the offset in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    pub descriptor: u32,
    pub offset: u64,
}

/// An operation as the program asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub verb: Verb,
    /// Where the data is read, but for a get.
    pub put: Option<Local>,
    /// Where what is fetched goes.
    pub get: Option<Local>,
    pub length: u64,
    pub ack: Ack,
    pub target: Target,
    pub pt_index: u32,
    pub match_bits: u64,
    pub remote_offset: u64,
    pub user_ptr: u64,
    pub hdr_data: u64,
    pub operand: [u8; OPERAND],
}

/// A put as the program asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    pub from: Local,
    pub length: u64,
    pub ack: Ack,
    pub target: Target,
    pub pt_index: u32,
    pub match_bits: u64,
    pub remote_offset: u64,
    pub user_ptr: u64,
    pub hdr_data: u64,
}

/// A get as the program asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get {
    pub into: Local,
    pub length: u64,
    pub target: Target,
    pub pt_index: u32,
    pub match_bits: u64,
    pub remote_offset: u64,
    pub user_ptr: u64,
}

/// An operation that is not over.
pub(super) struct Pending {
    pub target: u32,
    pub put: Option<Id>,
    pub get: Option<(Id, u64)>,
    pub put_offset: u64,
    pub length: u64,
    pub user_ptr: u64,
    pub ack: Ack,
    /// The data has left this process; before, the descriptor is in use.
    pub sent: bool,
    /// The target has been told to expect the data, or has refused it.
    pub answered: bool,
    /// Bytes are on their way by themselves: how many, and from which offset.
    pub coming: Option<Granted>,
    /// The target has no use for the data that are on their way.
    pub refused: Option<NiFail>,
}

/// What a request names: the carrier's number of its target, and descriptors with the offsets in them.
struct Named {
    target: u32,
    put: Option<(Id, u64)>,
    get: Option<(Id, u64)>,
}

impl Interface {
    /// Starts an operation.
    #[inline]
    pub fn start(&mut self, request: &Request, carrier: &mut impl Carrier) -> Result<()> {
        let result = self.begin(request, carrier);
        self.run_due(carrier);
        result
    }

    /// Starts a put whose data goes with its header. False: it is for [`start`](Interface::start).
    ///
    /// Most operations are such: what a request has beside, and the ways that only others go, would cost as much as the rest.
    #[inline(always)]
    pub fn put(&mut self, put: &Put, carrier: &mut impl Carrier) -> Result<bool> {
        if put.length > EAGER.min(self.limits.max_msg_size) {
            return Ok(false);
        }
        let id = self.object(put.from.descriptor, Kind::Descriptor)?;
        let target = self.resolve(put.target)?;
        let descriptor = self.descriptors.get(id).ok_or(Fault::ArgInvalid)?;
        let (offset, length) = (put.from.offset, put.length);
        if !descriptor.region.holds(offset, length) {
            return Err(Fault::ArgInvalid);
        }
        let ticket = match put.ack {
            Ack::None => None,
            ack => Some(self.pending.insert(Pending {
                target,
                put: Some(id),
                get: None,
                put_offset: offset,
                length,
                user_ptr: put.user_ptr,
                ack,
                sent: true,
                answered: false,
                coming: None,
                refused: None,
            })),
        };
        let head = Head {
            kind: Packet::Put,
            interface: self.nature.number(),
            long: false,
            flag: ticket.is_some(),
            pt_index: put.pt_index,
            ticket: ticket.map_or(0, Id::to_ticket),
            match_bits: if self.nature.matching { put.match_bits } else { 0 },
            hdr_data: put.hdr_data,
            length,
            remote_offset: put.remote_offset,
            operand: [0; OPERAND],
        };
        let data = Data::Memory { region: &descriptor.region, offset, length };
        let tells = descriptor.tells_sends();
        let sent = match carrier.readable(&descriptor.region, offset, length) {
            true => carrier.send(target, &head, data).map_err(|_| NiFail::Undeliverable),
            false => Err(NiFail::Segv),
        };
        if let Err(fail) = sent {
            self.unsent(ticket, id, (length, put.user_ptr), fail);
        } else if tells {
            self.of_send(id, length, put.user_ptr, NiFail::Ok);
        }
        self.run_due(carrier);
        Ok(true)
    }

    /// Starts a get, without what other requests have beside.
    #[inline(always)]
    pub fn get(&mut self, get: &Get, carrier: &mut impl Carrier) -> Result<()> {
        let id = self.object(get.into.descriptor, Kind::Descriptor)?;
        let target = self.resolve(get.target)?;
        let descriptor = self.descriptors.get_mut(id).ok_or(Fault::ArgInvalid)?;
        let (offset, length) = (get.into.offset, get.length);
        if !descriptor.region.holds(offset, length) || length > self.limits.max_msg_size {
            return Err(Fault::ArgInvalid);
        }
        descriptor.pending += 1;
        let ticket = self.pending.insert(Pending {
            target,
            put: None,
            get: Some((id, offset)),
            put_offset: 0,
            length,
            user_ptr: get.user_ptr,
            ack: Ack::None,
            sent: true,
            answered: false,
            coming: None,
            refused: None,
        });
        let head = Head {
            kind: Packet::Get,
            interface: self.nature.number(),
            long: false,
            flag: true,
            pt_index: get.pt_index,
            ticket: ticket.to_ticket(),
            match_bits: if self.nature.matching { get.match_bits } else { 0 },
            hdr_data: 0,
            length,
            remote_offset: get.remote_offset,
            operand: [0; OPERAND],
        };
        if carrier.send(target, &head, Data::None).is_err() {
            self.fail(ticket, NiFail::Undeliverable);
        }
        self.run_due(carrier);
        Ok(())
    }

    /// Starts an operation when the counting event `trigger` reaches `threshold` (`PtlTriggeredPut` and its kin).
    pub fn start_triggered(
        &mut self,
        request: Request,
        (trigger, threshold): (u32, u64),
        carrier: &mut impl Carrier,
    ) -> Result<()> {
        self.check(&request)?;
        let start = Triggered::Start(Start::Request(Box::new(request)));
        self.trigger(trigger, threshold, start, carrier)
    }

    /// The descriptor of a side of an operation, whose memory has the bytes.
    #[inline(always)]
    fn local(&self, local: Option<Local>, length: u64) -> Result<Option<(Id, u64)>> {
        let Some(Local { descriptor, offset }) = local else { return Ok(None) };
        let id = self.object(descriptor, Kind::Descriptor)?;
        let descriptor = self.descriptors.get(id).ok_or(Fault::ArgInvalid)?;
        let inside = descriptor.region.holds(offset, length);
        if inside { Ok(Some((id, offset))) } else { Err(Fault::ArgInvalid) }
    }

    /// Checks what a program asks for, and finds what it names.
    #[inline(always)]
    fn check(&self, request: &Request) -> Result<Named> {
        let put = self.local(request.put, request.length)?;
        let get = self.local(request.get, request.length)?;
        let target = self.resolve(request.target)?;
        let limits = &self.limits;
        let most = match request.verb {
            Verb::Put | Verb::Get => limits.max_msg_size,
            Verb::Atomic(..) => limits.max_atomic_size,
            Verb::FetchAtomic(..) | Verb::Swap(..) => limits.max_fetch_atomic_size,
        };
        let fits = match request.verb {
            Verb::Put | Verb::Get => true,
            Verb::Atomic(op, ty) | Verb::FetchAtomic(op, ty) => {
                !op.takes_operand() && op != Op::Swap && whole(op, ty, request.length)
            }
            Verb::Swap(op, ty) => {
                let single = request.length == ty.size() as u64;
                let swaps = op == Op::Swap || (op.takes_operand() && single);
                swaps && whole(op, ty, request.length)
            }
        };
        if request.length <= most && fits {
            Ok(Named { target, put, get })
        } else {
            Err(Fault::ArgInvalid)
        }
    }

    /// Sends the first packet of an operation.
    #[inline]
    pub(super) fn begin(&mut self, request: &Request, carrier: &mut impl Carrier) -> Result<()> {
        let Named { target, put, get } = self.check(request)?;
        let long = request.verb == Verb::Put && request.length > EAGER;
        let awaits = long || get.is_some() || request.ack != Ack::None;
        let ticket = awaits.then(|| self.await_reply(request, target, put, get, !long));
        let head = self.head(request, long, ticket);
        let length = request.length;
        let memory = put.and_then(|(id, offset)| Some((self.descriptors.get(id)?, offset)));
        let data = match memory {
            Some((d, offset)) if !long => Data::Memory { region: &d.region, offset, length },
            _ => Data::None,
        };
        let sent = match memory.is_none_or(|(d, at)| carrier.readable(&d.region, at, length)) {
            true => carrier.send(target, &head, data).map_err(|_| NiFail::Undeliverable),
            false => Err(NiFail::Segv),
        };
        if let Err(fail) = sent {
            match (ticket, put) {
                (None, None) => {}
                (Some(ticket), None) => self.fail(ticket, fail),
                (_, Some((id, _))) => self.unsent(ticket, id, (length, request.user_ptr), fail),
            }
        } else if head.kind == Packet::Push {
            self.push(ticket, carrier);
        } else if let Some((id, _)) = put.filter(|_| !long) {
            self.of_send(id, request.length, request.user_ptr, NiFail::Ok);
        }
        Ok(())
    }

    /// Sends the data of a put behind its header.
    fn push(&mut self, ticket: Option<Id>, carrier: &mut impl Carrier) {
        let Some((id, pending)) = ticket.and_then(|id| Some((id, self.pending.get_mut(id)?)))
        else {
            return;
        };
        pending.coming = Some(Granted::whole(pending.length));
        let Some(descriptor) = pending.put.and_then(|put| self.descriptors.get(put)) else {
            return;
        };
        let transfer = Transfer { purpose: Purpose::Push, sends: true, id };
        let (offset, length) = (pending.put_offset, pending.length);
        self.pushing += 1;
        carrier.send_bytes(pending.target, transfer, &descriptor.region, offset, length);
    }

    fn await_reply(
        &mut self,
        request: &Request,
        target: u32,
        put: Option<(Id, u64)>,
        get: Option<(Id, u64)>,
        sent: bool,
    ) -> Id {
        // What a short operation sends is copied: its acknowledgment finds the descriptor, or nobody who waits for it.
        let put = put.filter(|_| get.is_none());
        let (read, written) = (put.filter(|_| !sent), get);
        for (id, _) in [read, written].into_iter().flatten() {
            if let Some(descriptor) = self.descriptors.get_mut(id) {
                descriptor.pending += 1;
            }
        }
        self.pending.insert(Pending {
            target,
            put: put.map(|(id, _)| id),
            get,
            put_offset: put.map_or(0, |(_, offset)| offset),
            length: request.length,
            user_ptr: request.user_ptr,
            ack: request.ack,
            sent,
            answered: false,
            coming: None,
            refused: None,
        })
    }

    #[inline(always)]
    fn head(&self, request: &Request, long: bool, ticket: Option<Id>) -> Head {
        let pushed = request.length <= PUSHED && self.pushing < PUSHES;
        let kind = match request.verb {
            Verb::Put if long && pushed => Packet::Push,
            Verb::Put => Packet::Put,
            Verb::Get => Packet::Get,
            Verb::Atomic(op, ty) => Packet::Atomic(op, ty),
            Verb::FetchAtomic(op, ty) | Verb::Swap(op, ty) => Packet::FetchAtomic(op, ty),
        };
        Head {
            kind,
            interface: self.nature.number(),
            long: long && !pushed,
            flag: ticket.is_some() && (kind != Packet::Push || request.ack != Ack::None),
            pt_index: request.pt_index,
            ticket: ticket.map_or(0, Id::to_ticket),
            match_bits: if self.nature.matching { request.match_bits } else { 0 },
            hdr_data: request.hdr_data,
            length: request.length,
            remote_offset: request.remote_offset,
            operand: request.operand,
        }
    }

    /// An operation that reads the memory of descriptor `id` has not left: that cannot be read, or the target is gone.
    #[cold]
    fn unsent(&mut self, ticket: Option<Id>, id: Id, (length, user_ptr): (u64, u64), fail: NiFail) {
        match ticket {
            Some(ticket) => self.fail(ticket, fail),
            None => self.of_send(id, length, user_ptr, fail),
        }
    }
}

/// Whether the operation is defined on the type, and the bytes are whole elements.
fn whole(op: Op, ty: Datatype, length: u64) -> bool {
    op.is_defined_on(ty) && length.is_multiple_of(ty.size() as u64)
}
