//! Events and counts: those of the target's side as a portal table entry tells them, and those of the initiator's.

use super::{Interface, MdOptions};
use crate::counters::Count;
use crate::event::{Body, Effect, Event, List, NiFail};
use crate::handle::Kind;
use crate::message::{Operation, Process};
use crate::queue::{ACK, FullEvent, REPLY, SEND};
use crate::slab::Id;

const NOBODY: Process = Process { nid: 0, pid: 0, rank: 0 };

/// What an event of an initiator says.
pub(super) struct Told {
    pub user_ptr: u64,
    pub mlength: u64,
    pub remote_offset: u64,
    /// The list that the entry was on, as events have it.
    pub list: u8,
    pub fail: NiFail,
}

impl Interface {
    /// Does what a portal table entry wants done. The handle of an entry that has unlinked itself means nothing afterwards.
    pub(super) fn settle(&mut self, pt_index: u32) {
        if self.effects.is_empty() {
            return self.count_headers(pt_index);
        }
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Post(event) => self.post_target(pt_index, &event),
                Effect::Add { ct, count } => self.add(ct, count),
                Effect::Released(entry) => self.forget_entry(pt_index, entry),
            }
        }
        self.effects = effects;
        self.count_headers(pt_index);
    }

    fn post_target(&mut self, pt_index: u32, event: &Event) {
        let Some(queue) = self.index(pt_index).and_then(|index| index.queue) else { return };
        let address = |body: &Body| self.address(pt_index, body.entry, body.offset);
        let start = event.body.as_ref().map_or(0, address);
        self.post(Some(queue), full(event, pt_index, start));
    }

    /// The data of a put or an atomic operation has left, or never will.
    #[inline(never)]
    pub(super) fn of_send(&mut self, descriptor: Id, length: u64, user_ptr: u64, fail: NiFail) {
        let told = Told { user_ptr, mlength: length, remote_offset: 0, list: 0, fail };
        self.of_initiator(descriptor, SEND, MdOptions::COUNT_SEND, true, &told);
    }

    /// An acknowledgment has come. Without `full` it only counts.
    #[inline(always)]
    pub(super) fn of_ack(&mut self, descriptor: Id, full: bool, told: &Told) {
        self.of_initiator(descriptor, ACK, MdOptions::COUNT_ACK, full, told);
    }

    /// What was fetched is there, or will not come.
    #[inline(always)]
    pub(super) fn of_reply(&mut self, descriptor: Id, told: &Told) {
        self.of_initiator(descriptor, REPLY, MdOptions::COUNT_REPLY, true, told);
    }

    #[inline(always)]
    fn of_initiator(&mut self, id: Id, kind: u8, counted: u32, full: bool, told: &Told) {
        let Some(descriptor) = self.descriptors.get(id) else { return };
        let (options, queue, counter) = (descriptor.options, descriptor.queue, descriptor.counter);
        let ok = told.fail == NiFail::Ok;
        let silent = options.has(MdOptions::EVENT_SUCCESS_DISABLE)
            || (kind == SEND && options.has(MdOptions::EVENT_SEND_DISABLE));
        if full && queue.is_some() && !(ok && silent) {
            self.post_to_initiator(queue, kind, told);
        }
        if let Some(counter) = counter.filter(|_| options.has(counted)) {
            let bytes = options.has(MdOptions::COUNT_BYTES);
            let count = match (ok, bytes) {
                (true, true) => Count { success: told.mlength, failure: 0 },
                (true, false) => Count { success: 1, failure: 0 },
                (false, _) => Count { success: 0, failure: 1 },
            };
            self.add(counter, count);
        }
    }

    #[inline(never)]
    fn post_to_initiator(&mut self, queue: Option<Id>, kind: u8, told: &Told) {
        let event = FullEvent {
            start: 0,
            user_ptr: told.user_ptr,
            hdr_data: 0,
            match_bits: 0,
            rlength: 0,
            mlength: told.mlength,
            remote_offset: told.remote_offset,
            initiator: NOBODY,
            uid: 0,
            pt_index: 0,
            kind,
            list: told.list,
            fail: told.fail as u8,
            operation: 0,
            datatype: 0,
        };
        self.post(queue, event);
    }

    /// Takes an operation out that is over.
    pub(super) fn end(&mut self, ticket: Id) {
        let Some(pending) = self.pending.get(ticket) else { return };
        let read = pending.put.filter(|_| !pending.sent);
        let written = pending.get.map(|(id, _)| id);
        self.pending.forget(ticket);
        for id in [read, written].into_iter().flatten() {
            self.unused(id);
        }
    }

    /// An operation needs a descriptor's memory no more.
    pub(super) fn unused(&mut self, descriptor: Id) {
        if let Some(descriptor) = self.descriptors.get_mut(descriptor) {
            descriptor.pending -= 1;
        }
    }

    /// An operation ends without an answer.
    #[cold]
    pub(super) fn fail(&mut self, ticket: Id, fail: NiFail) {
        let Some(pending) = self.pending.get(ticket) else { return };
        let (user_ptr, length) = (pending.user_ptr, pending.length);
        let told = Told { user_ptr, mlength: 0, remote_offset: 0, list: 0, fail };
        let (put, get, sent) = (pending.put, pending.get, pending.sent);
        let full = pending.ack == super::Ack::Full;
        let acknowledged = pending.ack != super::Ack::None;
        match (get, put) {
            (Some((id, _)), _) => self.of_reply(id, &told),
            (None, Some(id)) if !sent => self.of_send(id, length, user_ptr, fail),
            (None, Some(id)) if acknowledged => self.of_ack(id, full, &told),
            _ => {}
        }
        self.end(ticket);
    }

    /// Whether operations of this process or of others are not over.
    pub fn is_busy(&self) -> bool {
        !self.pending.is_empty() || !self.moving.is_empty()
    }

    /// The handle of an entry.
    pub(super) fn entry_handle(&self, entry: Id, matching: bool) -> u32 {
        self.name(if matching { Kind::MatchEntry } else { Kind::ListEntry }, entry)
    }
}

/// An event of a portal table entry, whose message's data begins at `start`.
#[inline(always)]
pub(super) fn full(event: &Event, pt_index: u32, start: u64) -> FullEvent {
    let bare = FullEvent {
        start: 0,
        user_ptr: event.user_ptr,
        hdr_data: 0,
        match_bits: 0,
        rlength: 0,
        mlength: 0,
        remote_offset: 0,
        initiator: NOBODY,
        uid: 0,
        pt_index,
        kind: event.kind.code(),
        list: 0,
        fail: event.fail as u8,
        operation: 0,
        datatype: 0,
    };
    let Some(body) = &event.body else { return bare };
    let message = &body.message;
    let (operation, datatype) = match message.operation {
        Operation::Atomic(op, ty) | Operation::FetchAtomic(op, ty) => (op as u8, ty as u8),
        Operation::Put | Operation::Get => (0, 0),
    };
    FullEvent {
        start,
        hdr_data: message.hdr_data,
        match_bits: message.match_bits,
        rlength: message.rlength,
        mlength: body.mlength,
        // What the initiator asked for: the entry may have another place for it, which `start` says.
        remote_offset: message.remote_offset,
        initiator: message.initiator,
        uid: message.uid,
        list: list_code(body.list),
        operation,
        datatype,
        ..bare
    }
}

pub(super) fn list_code(list: List) -> u8 {
    match list {
        List::Priority => 0,
        List::Overflow => 1,
    }
}
