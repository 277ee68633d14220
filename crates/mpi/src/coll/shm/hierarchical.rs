//! One collective of a communicator that spans hosts, as a state machine: slots inside each host, messages between hosts.
//!
//! The members of a host show their data to their head. Only the head exchanges messages with other hosts, and it shows
//! the result to the members. An alltoall has a carrier for each other host instead of one head, so that the work is
//! spread over the members.

use super::coll_args::{failed, long, short, unpack};
use super::packed::Packed;
use super::staging::{MAX_STAGED, STAGED, StagingBuffers, WORD_BYTES, word};
use super::{CollArgs, MAX_SLOT, ShmCollective, per_member};
use crate::coll::Plan;
use crate::comm::{Channel, Comm, Form};
use crate::engine::process::Process;
use crate::engine::requests::ReqId;
use crate::error::{Class, Error, Result};
use crate::op::Op;
use crate::pt2pt::{Incoming, packed_size};
use hpvm_coll::hosts::Hosts;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::{CollSlots, DEPTH, FAILED, INLINE, SLOT_BYTES};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A collective under way. To be polled until it is done.
#[derive(Debug)]
pub struct Hierarchical<'a> {
    pub(super) comm: &'a Arc<Comm>,
    pub(super) hosts: &'a Hosts,
    index: usize,
    /// Of the slots with which members begin.
    pub(super) number: u64,
    /// Of the slots that tell what came from other hosts.
    pub(super) last: u64,
    tag: i32,
    pub(super) args: CollArgs,
    /// The head of the own host; of no meaning in an alltoall.
    head: u32,
    stage: Stage,
    /// Members of the team whose slots have been seen, in the order of their numbers.
    seen: usize,
    /// Where long slots lie.
    pub(super) long: Option<&'a StagingBuffers>,
    /// Of an alltoall: each member carries its own blocks.
    pub(super) each: bool,
    /// What heads exchange, unless it is on a staging buffer or in the program's buffers.
    pub(super) out: Packed,
    came: Packed,
    /// What a head tells its host: where it is, and its bytes.
    pub(super) result: (*mut u8, usize),
    /// The host has been told.
    told: bool,
    /// What this member has found wrong. It goes on, because others wait for it.
    error: Option<Box<Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits for room for the own slot, if it has to post one.
    Post,
    /// Waits for the slots of its host.
    Collect,
    /// Waits for messages.
    Cross(ReqId),
    /// Waits for room for the slot that tells what came.
    Release,
    /// Waits for such slots of others.
    Await,
}

impl<T: Transport> Process<T> {
    /// Begins `args` on `comm`, for which [`Process::may_stage`] has said yes; its longest
    /// slot has `longest` bytes. `None` can't happen then.
    ///
    /// # Safety
    /// As for [`super::slots::Exchange::begin`].
    pub unsafe fn begin_hierarchical<'a>(
        &self,
        comm: &'a Arc<Comm>,
        args: CollArgs,
        longest: u64,
    ) -> Option<Hierarchical<'a>> {
        let long = match longest > MAX_SLOT {
            true => Some(comm.coll_slots().staging.get()?.as_ref()?),
            false => None,
        };
        let each = long.is_some()
            && matches!(&args, CollArgs::Alltoall(s) if per_member::is_long(packed_size(&s.recv_ty, s.recv_count)));
        let hosts = comm.hosts(&self.nodes)?;
        let number = comm.coll_slots().begin();
        let last = match args {
            CollArgs::Alltoall(_) => comm.coll_slots().begin(),
            _ => number,
        };
        let host = hosts.host(comm.rank());
        let head = match args {
            CollArgs::Bcast { root, .. } | CollArgs::Reduce { root: Some(root), .. } => {
                hosts.head(host, root)
            }
            _ => hosts.team(host)[0],
        };
        Some(Hierarchical {
            comm,
            hosts,
            index: comm.coll_slots().index()?,
            number,
            last,
            tag: comm.collective_tag(Form::Blocking),
            args,
            head,
            stage: Stage::Post,
            seen: 0,
            long,
            each,
            out: Packed::default(),
            came: Packed::default(),
            result: (core::ptr::null_mut(), 0),
            told: false,
            error: None,
        })
    }
}

impl ShmCollective for Hierarchical<'_> {
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        loop {
            let goes_on = match self.stage {
                Stage::Post => self.post(p)?,
                Stage::Collect => self.collect(p)?,
                Stage::Cross(id) => self.cross(p, id),
                Stage::Release => self.release(p)?,
                Stage::Await => return self.end(p),
            };
            if !goes_on {
                return Ok(false);
            }
        }
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        let lacks = |member: u32, number: u64| {
            self.coll_slots(p, member).is_ok_and(|slots| !slots.has(number))
                && self.comm.group().process(member).is_some_and(&which)
        };
        match self.stage {
            Stage::Collect => self.team()[self.seen..].iter().any(|m| lacks(*m, self.number)),
            Stage::Await => self.tellers().any(|m| lacks(m, self.last)),
            Stage::Cross(_) | Stage::Post | Stage::Release => false,
        }
    }

    fn lacks_room(&self) -> bool {
        matches!(self.stage, Stage::Post | Stage::Release)
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        let there =
            |m: u32, number: u64| self.coll_slots(p, m).is_ok_and(|slots| slots.has(number));
        match self.stage {
            Stage::Post => self.would_have_room(p, self.number),
            Stage::Release => self.would_have_room(p, self.last),
            Stage::Collect => self.team().get(self.seen).is_none_or(|m| there(*m, self.number)),
            Stage::Await => self.tellers().all(|m| there(m, self.last)),
            Stage::Cross(id) => p.requests().get(id).is_none_or(|r| r.done),
        }
    }

    fn is_crossing(&self) -> bool {
        matches!(self.stage, Stage::Cross(_))
    }
}

impl Drop for Hierarchical<'_> {
    /// Who gives up in the middle leaves the memory to the messages that are under way.
    fn drop(&mut self) {
        if self.is_crossing() {
            core::mem::forget(core::mem::take(&mut self.out));
            core::mem::forget(core::mem::take(&mut self.came));
        }
    }
}

impl Hierarchical<'_> {
    pub(super) fn rank(&self) -> u32 {
        self.comm.rank()
    }

    /// The members on this host in the order of their numbers.
    pub(super) fn team(&self) -> &[u32] {
        self.hosts.team(self.hosts.host(self.rank()))
    }

    fn is_head(&self) -> bool {
        matches!(self.args, CollArgs::Alltoall(_)) || self.rank() == self.head
    }

    /// Whether this member shows something to its host before anything has crossed.
    fn shows(&self) -> bool {
        match self.args {
            CollArgs::Bcast { .. } => false,
            CollArgs::Alltoall(_) => true,
            _ => self.rank() != self.head,
        }
    }

    /// The other members of this host that tell this one what came from elsewhere.
    fn tellers(&self) -> impl Iterator<Item = u32> {
        let me = self.rank();
        let tells = move |member: u32| match self.args {
            CollArgs::Reduce { root: Some(_), .. } => false,
            CollArgs::Alltoall(_) => self.carries(member),
            _ => member == self.head,
        };
        self.team().iter().copied().filter(move |member| *member != me && tells(*member))
    }

    /// Whether a member of this host gets, in an alltoall, what is for all of it.
    fn carries(&self, member: u32) -> bool {
        match self.each {
            true => (0..self.hosts.count()).any(|h| self.hosts.landing_at(h, member)),
            false => self.hosts.loads(member).next().is_some(),
        }
    }

    pub(super) fn coll_slots<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p CollSlots> {
        let slots = self.comm.group().process(member).and_then(|m| p.slots_of(m, self.index));
        // `set_up_slots` has found all of this host.
        slots.ok_or_else(|| Class::Intern.into())
    }

    /// Operations that a member may be ahead of the slowest.
    fn ahead(&self) -> u64 {
        if self.long.is_some() { STAGED as u64 } else { DEPTH as u64 }
    }

    /// Whether all of this host have finished with the slot that `number` is about to overwrite.
    fn has_room<T: Transport>(&self, p: &mut Process<T>, number: u64) -> bool {
        let (state, wanted) = (self.comm.coll_slots(), number - self.ahead());
        state.safe.load(Ordering::Relaxed) >= wanted // relaxed: see `SlotState`
            || p.look_for_room(state, self.index, wanted, |p| self.slowest(p, number))
    }

    /// What that would find, changing nothing.
    fn would_have_room<T: Transport>(&self, p: &Process<T>, number: u64) -> bool {
        let (state, wanted) = (self.comm.coll_slots(), number - self.ahead());
        p.would_have_room(state, self.index, wanted, |p| self.slowest(p, number))
    }

    /// The last operation before `number` that all others of this host have finished.
    fn slowest<T: Transport>(&self, p: &Process<T>, number: u64) -> u64 {
        let others = self.team().iter().filter(|m| **m != self.rank());
        let finished = others.map(|m| self.coll_slots(p, *m).map_or(u64::MAX, |b| b.finished()));
        finished.min().unwrap_or(u64::MAX).min(number - 1)
    }

    /// Room in the data ring for `len` bytes of `number`.
    fn data_room<T: Transport>(
        &self,
        p: &mut Process<T>,
        number: u64,
        len: usize,
    ) -> Option<usize> {
        if len <= INLINE {
            return Some(0);
        }
        let state = self.comm.coll_slots();
        p.take_data_room(state, self.index, (number, len), |p| self.slowest(p, number))
    }

    /// All of this host have posted what they begin with, so they are through with the operation
    /// before.
    fn all_have_begun(&self) {
        self.comm.coll_slots().note_all_posted(self.number);
    }

    fn wake_readers<T: Transport>(&self, p: &Process<T>, member: u32) {
        if let Some(process) = self.comm.group().process(member).filter(|_| member != self.rank()) {
            p.fm().transport().wake(process);
        }
    }

    pub(super) fn knock_all<T: Transport>(&self, p: &Process<T>) {
        self.team().iter().for_each(|member| self.wake_readers(p, *member));
    }

    fn post<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if self.shows() {
            if !self.has_room(p, self.number) || !self.show(p)? {
                return Ok(false);
            }
        } else if self.long.is_some() && self.is_head() && !self.has_room(p, self.number) {
            // It puts what comes onto its staging buffer.
            return Ok(false);
        }
        self.stage = if self.is_head() { Stage::Collect } else { Stage::Await };
        Ok(true)
    }

    /// Keeps the first error for the end.
    pub(super) fn note_error(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.error.get_or_insert(Box::new(error));
        }
    }

    /// Posts what the own host needs of this member; false if there is no room for it.
    fn show<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if self.each {
            let slots = self.coll_slots(p, self.rank())?;
            let shown = self.show_own(slots);
            if shown.is_err() {
                // SAFETY: it is ours, and there is room.
                unsafe { slots.post_failure(self.number) };
            }
            self.note_error(shown);
            self.knock_all(p);
            return Ok(true);
        }
        let (rank, size) = (self.rank(), self.comm.size());
        let shown = self.args.shown_whole(rank, size);
        let Some(at) =
            self.data_room(p, self.number, if self.long.is_some() { 0 } else { shown.len() })
        else {
            return Ok(false);
        };
        let slots = self.coll_slots(p, rank)?;
        match self.long {
            // SAFETY: it is ours, there is room; the buffers are valid as `begin_hierarchical` was
            // promised.
            None => unsafe { shown.post(slots, self.number, at, shown.len()) },
            // SAFETY: as above.
            Some(staging) => unsafe {
                let len = self.args.pack(rank, size, staging.own(self.number, MAX_STAGED as usize));
                slots.post(self.number, 0, WORD_BYTES, |out| out.copy_from_slice(&word(len)));
            },
        }
        if matches!(self.args, CollArgs::Alltoall(_)) {
            self.knock_all(p);
            return Ok(true);
        }
        self.wake_readers(p, self.head);
        Ok(true)
    }

    fn collect<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !matches!(self.args, CollArgs::Bcast { .. }) {
            while let Some(member) = self.team().get(self.seen).copied() {
                if member != self.rank() && !self.coll_slots(p, member)?.has(self.number) {
                    return Ok(false);
                }
                self.seen += 1;
            }
            self.all_have_begun();
        }
        let (schedule, data, op) = self.join(p)?;
        if schedule.is_empty() {
            self.stage = Stage::Release;
            return Ok(true);
        }
        let plan = Plan::new(schedule, data, op.map(|op| Arc::new(Op::Predefined(op))));
        // SAFETY: the buffers are the program's, which stay as `begin_hierarchical` was promised, or
        // `out` and `came`, whose memory stays where it is until the request has ended.
        let id = unsafe {
            p.start_spoilt(self.comm, Channel::Collective, self.tag, plan, self.error.take())
        };
        self.stage = Stage::Cross(id);
        if matches!(self.args, CollArgs::Bcast { root, .. } if root == self.rank()) {
            // There is nothing to wait for.
            self.tell(p)?;
        }
        Ok(true)
    }

    /// Room for what comes from other hosts and is for all of this one.
    pub(super) fn room(&mut self, bytes: usize) -> *mut u8 {
        let start = match self.long {
            // SAFETY: there is room, see `post`, and this is the only use of it.
            Some(staging) => unsafe { staging.own(self.last, bytes) }.as_mut_ptr(),
            None => {
                self.came = Packed::new(bytes);
                self.came.start()
            }
        };
        self.result = (start, bytes);
        start
    }

    /// What this head tells its host.
    fn result(&self) -> &[u8] {
        match self.result {
            (_, 0) => &[],
            // SAFETY: `room` or `join_reduce` has seen to it, and it has come.
            (start, bytes) => unsafe { core::slice::from_raw_parts(start.cast_const(), bytes) },
        }
    }

    pub(super) fn all(&self) -> usize {
        self.comm.size() as usize
    }

    /// The slot of a member, of at least so many bytes.
    pub(super) fn slot<'p, T: Transport>(
        &'p self,
        p: &'p Process<T>,
        member: u32,
        number: u64,
        bytes: usize,
    ) -> Result<&'p [u8]> {
        // SAFETY: it was seen, and we have not finished.
        let slot = unsafe { self.coll_slots(p, member)?.read(number) };
        let mut slot = slot.map_err(|found| match found == FAILED {
            true => failed(),
            false => long(found, SLOT_BYTES),
        })?;
        if let Some(staging) = self.long {
            // SAFETY: as above.
            slot = unsafe { staging.read(self.hosts.number(member), number, slot)? };
        }
        if slot.len() < bytes { Err(short(slot.len(), bytes)) } else { Ok(slot) }
    }

    fn cross<T: Transport>(&mut self, p: &mut Process<T>, id: ReqId) -> bool {
        if p.requests().get(id).is_some_and(|r| !r.done) {
            return false;
        }
        // The others wait for this one, whatever has happened.
        self.error = p.take_outcome(id).and_then(|outcome| outcome.error);
        self.stage = Stage::Release;
        true
    }

    fn release<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !self.tell(p)? {
            return Ok(false);
        }
        self.stage = Stage::Await;
        Ok(true)
    }

    /// Posts what came, if there is room and it has not been done; true when that is over.
    fn tell<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        let tells = match self.args {
            CollArgs::Reduce { root: Some(_), .. } => false,
            CollArgs::Alltoall(_) => self.carries(self.rank()),
            _ => self.team().len() > 1,
        };
        if self.told || !tells {
            return Ok(true);
        }
        if !self.has_room(p, self.last) {
            return Ok(false);
        }
        let len = if self.long.is_some() { WORD_BYTES } else { self.result.1 };
        let Some(at) = self.data_room(p, self.last, len) else { return Ok(false) };
        let result = self.result();
        let word = word(result.len());
        // What is long lies on the staging buffer already.
        let slot = if self.long.is_some() { &word } else { result };
        let slots = self.coll_slots(p, self.rank())?;
        // SAFETY: it is ours and there is room.
        unsafe {
            match self.error {
                None => slots.post(self.last, at, slot.len(), |out| out.copy_from_slice(slot)),
                Some(_) => slots.post_failure(self.last),
            }
        }
        self.knock_all(p);
        self.told = true;
        Ok(true)
    }

    /// Reads what others tell, if all of it is there; true at the end.
    fn end<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !self.is_ready(p) {
            return Ok(false);
        }
        if self.error.is_none() {
            let read = self.read(p);
            self.note_error(read);
        }
        self.coll_slots(p, self.rank())?.finish(self.last);
        if self.shows() && self.tellers().next().is_some() {
            self.all_have_begun();
        }
        self.error.take().map_or(Ok(true), |error| Err(*error))
    }

    fn read<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let told = |bytes| match self.rank() == self.head {
            true => Ok(self.result()),
            false => self.slot(p, self.head, self.last, bytes),
        };
        match &self.args {
            CollArgs::Barrier | CollArgs::Reduce { root: Some(_), .. } => Ok(()),
            CollArgs::Bcast { root, buf, count, ty } => match *root == self.rank() {
                true => Ok(()),
                // SAFETY: the program's buffer.
                false => unsafe { unpack(told(0)?, Incoming { buf: *buf, count: *count, ty }) },
            },
            CollArgs::Reduce { recv, bytes, .. } => {
                // The head has it where it is told from.
                if self.rank() != self.head || self.long.is_some() {
                    let slot = told(*bytes)?;
                    // SAFETY: the program's buffer, of so many bytes.
                    unsafe { core::ptr::copy_nonoverlapping(slot.as_ptr(), *recv, *bytes) };
                }
                Ok(())
            }
            CollArgs::Allgather(buffers) => {
                let bytes = packed_size(&buffers.recv_ty, buffers.recv_count) as usize;
                let slot = told(bytes * self.all())?;
                for (place, part) in (0..self.comm.size()).zip(slot.chunks(bytes.max(1))) {
                    // SAFETY: the buffer has a block for every member.
                    unsafe { unpack(part, buffers.block(self.hosts.at(place)))? };
                }
                Ok(())
            }
            // `longest_slot` has said no.
            CollArgs::Gather { .. } | CollArgs::Scatter { .. } => Err(Class::Intern.into()),
            CollArgs::Alltoall(_) if self.each => self.read_own(p),
            CollArgs::Alltoall(buffers) => {
                let bytes = packed_size(&buffers.recv_ty, buffers.recv_count) as usize;
                self.hand_out(p, bytes, |from, part| {
                    // SAFETY: the buffer has a block for every member.
                    unsafe { unpack(part, buffers.block(from)) }
                })
            }
        }
    }

    /// Gives the blocks of `bytes` that came for this member to `take`, with their senders.
    fn hand_out<T: Transport>(
        &self,
        p: &Process<T>,
        bytes: usize,
        mut take: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let (hosts, here) = (self.hosts, self.hosts.host(self.rank()));
        let (own, n) = (hosts.number(self.rank()) as usize, self.team().len());
        let mut carriers: Vec<u32> =
            (0..hosts.count()).filter(|h| *h != here).map(|h| hosts.carrier(here, h)).collect();
        carriers.sort_unstable();
        carriers.dedup();
        for carrier in carriers {
            let blocks: i64 = hosts.loads(carrier).map(|load| load.blocks).sum();
            let slot = self.slot(p, carrier, self.last, blocks as usize * bytes)?;
            let mut first = 0;
            for load in hosts.loads(carrier) {
                for (i, from) in hosts.team(load.host).iter().enumerate() {
                    let at = (first + i * n + own) * bytes;
                    take(*from, &slot[at..at + bytes])?;
                }
                first += load.blocks as usize;
            }
        }
        Ok(())
    }
}
