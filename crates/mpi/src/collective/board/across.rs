//! One collective over boards of a communicator that spans hosts, as a state machine.
//!
//! The members of a host show what they have to their head, which alone talks to other hosts, with
//! messages, and shows them what comes of it. An alltoall has a carrier for each other host instead
//! of a head, so that the work is spread over the members.

use super::call::{short, unpack, whole};
use super::packed::Packed;
use super::{MOST, Meeting, Sides, What, index};
use crate::collective::{Data, Plan};
use crate::comm::{Channel, Comm, Form};
use crate::datatype::Datatype;
use crate::error::{Class, Error, Result};
use crate::op::{Op, Predef};
use crate::process::Process;
use crate::pt2pt::{Incoming, Outgoing, pack_all, packed_size};
use crate::request::ReqId;
use hpvm_coll::hosts::{Hosts, heads};
use hpvm_coll::{Broadcast, Reduction, Schedule};
use hpvm_fm::{Rank, Transport};
use hpvm_wire::board::{Board, NOTES};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A collective under way. To be polled until it is done.
#[derive(Debug)]
pub struct Across<'a> {
    comm: &'a Arc<Comm>,
    hosts: &'a Hosts,
    index: usize,
    /// Of the notes with which members begin.
    number: u64,
    /// Of the notes that tell what came from other hosts.
    last: u64,
    tag: i32,
    what: What,
    /// The head of the own host; of no meaning in an alltoall.
    head: u32,
    stage: Stage,
    /// Members of the team whose notes have been seen, in the order of their numbers.
    seen: usize,
    /// What heads exchange, unless it is in the program's buffers.
    out: Packed,
    came: Packed,
    error: Option<Box<Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits for room for the own note, if it has to post one.
    Post,
    /// Waits for the notes of its host.
    Collect,
    /// Waits for messages.
    Cross(ReqId),
    /// Waits for room for the note that tells what came.
    Release,
    /// Waits for such notes of others.
    Await,
}

impl<T: Transport> Process<T> {
    /// Whether `what` fits onto boards on `comm`, for which [`Process::way`] has said `Across`;
    /// `bytes` is as long as the notes with which members begin. The same on all members.
    pub fn fits_across(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        let Some(hosts) = comm.hosts(|process| self.node(process)) else { return false };
        let longest = match what {
            What::Allgather(_) => bytes.saturating_mul(comm.size().into()),
            What::Alltoall(_) => {
                let block = bytes / u64::from(comm.size());
                bytes.max(block.saturating_mul(hosts.heaviest() as u64))
            }
            // Messages need its datatype.
            What::Reduce { ty, .. } if ty.abi == 0 => u64::MAX,
            _ => bytes,
        };
        longest <= MOST
    }

    /// Begins `what` on `comm`, for which [`Process::fits_across`] has said yes. `None` can't
    /// happen then.
    ///
    /// # Safety
    /// As for [`super::Call::begin`].
    pub unsafe fn begin_across<'a>(&self, comm: &'a Arc<Comm>, what: What) -> Option<Across<'a>> {
        let hosts = comm.hosts(|process| self.node(process))?;
        let number = comm.boards().begin();
        let last = match what {
            What::Alltoall(_) => comm.boards().begin(),
            _ => number,
        };
        let host = hosts.host(comm.rank());
        let head = match what {
            What::Bcast { root, .. } | What::Reduce { root: Some(root), .. } => {
                hosts.head(host, root)
            }
            _ => hosts.team(host)[0],
        };
        Some(Across {
            comm,
            hosts,
            index: index(comm)?,
            number,
            last,
            tag: comm.collective_tag(Form::Blocking),
            what,
            head,
            stage: Stage::Post,
            seen: 0,
            out: Packed::default(),
            came: Packed::default(),
            error: None,
        })
    }
}

impl Meeting for Across<'_> {
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
            self.board(p, member).is_ok_and(|board| !board.has(number))
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
        let there = |m: u32, number: u64| self.board(p, m).is_ok_and(|board| board.has(number));
        match self.stage {
            Stage::Post => self.has_room(p, self.number),
            Stage::Release => self.has_room(p, self.last),
            Stage::Collect => self.team().get(self.seen).is_none_or(|m| there(*m, self.number)),
            Stage::Await => self.tellers().all(|m| there(m, self.last)),
            Stage::Cross(id) => p.requests().get(id).is_none_or(|r| r.done),
        }
    }

    fn is_crossing(&self) -> bool {
        matches!(self.stage, Stage::Cross(_))
    }
}

impl Drop for Across<'_> {
    /// Who gives up in the middle leaves the memory to the messages that are under way.
    fn drop(&mut self) {
        if self.is_crossing() {
            core::mem::forget(core::mem::take(&mut self.out));
            core::mem::forget(core::mem::take(&mut self.came));
        }
    }
}

impl Across<'_> {
    fn rank(&self) -> u32 {
        self.comm.rank()
    }

    /// The members on this host in the order of their numbers.
    fn team(&self) -> &[u32] {
        self.hosts.team(self.hosts.host(self.rank()))
    }

    fn is_head(&self) -> bool {
        matches!(self.what, What::Alltoall(_)) || self.rank() == self.head
    }

    /// Whether this member shows something to its host before anything has crossed.
    fn shows(&self) -> bool {
        match self.what {
            What::Bcast { .. } => false,
            What::Alltoall(_) => true,
            _ => self.rank() != self.head,
        }
    }

    /// The other members of this host that tell this one what came from elsewhere.
    fn tellers(&self) -> impl Iterator<Item = u32> {
        let (hosts, me) = (self.hosts, self.rank());
        let here = hosts.host(me);
        let heads = match self.what {
            What::Reduce { root: Some(_), .. } | What::Alltoall(_) => None,
            _ => Some(self.head),
        };
        let carriers = match self.what {
            What::Alltoall(_) => 0..hosts.count(),
            _ => 0..0,
        };
        let carriers = carriers.filter(move |h| *h != here).map(move |h| hosts.carrier(here, h));
        heads.into_iter().chain(carriers).filter(move |teller| *teller != me)
    }

    fn board<'p, T: Transport>(&self, p: &'p Process<T>, member: u32) -> Result<&'p Board> {
        let board = self.comm.group().process(member).and_then(|m| p.board_of(m, self.index));
        // The introduction found all of this host.
        board.ok_or_else(|| Class::Intern.into())
    }

    /// Whether all of this host have finished with the note that `number` is about to overwrite.
    fn has_room<T: Transport>(&self, p: &Process<T>, number: u64) -> bool {
        let used = self.comm.boards();
        // Relaxed, here and below: see `Use`.
        if used.safe.load(Ordering::Relaxed) + NOTES as u64 >= number {
            return true;
        }
        let others = self.team().iter().filter(|m| **m != self.rank());
        let finished = others.map(|m| self.board(p, *m).map_or(u64::MAX, |b| b.finished()));
        let safe = finished.min().unwrap_or(u64::MAX).min(number - 1);
        used.safe.fetch_max(safe, Ordering::Relaxed); // relaxed: see `Use`
        used.safe.load(Ordering::Relaxed) + NOTES as u64 >= number // relaxed: see `Use`
    }

    /// All of this host have posted what they begin with, so they are through with the operation
    /// before.
    fn all_have_begun(&self) {
        // Relaxed: see `Use`.
        self.comm.boards().safe.fetch_max(self.number - 1, Ordering::Relaxed);
    }

    fn knock<T: Transport>(&self, p: &Process<T>, member: u32) {
        if let Some(process) = self.comm.group().process(member).filter(|_| member != self.rank()) {
            p.fm().transport().knock(process);
        }
    }

    fn knock_all<T: Transport>(&self, p: &Process<T>) {
        self.team().iter().for_each(|member| self.knock(p, *member));
    }

    fn post<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if self.shows() {
            if !self.has_room(p, self.number) {
                return Ok(false);
            }
            self.show(p)?;
        }
        self.stage = if self.is_head() { Stage::Collect } else { Stage::Await };
        Ok(true)
    }

    /// Posts what the own host needs of this member.
    fn show<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let board = self.board(p, self.rank())?;
        // A broadcast begins at its root alone; the others only say that they are there.
        let what =
            if matches!(self.what, What::Bcast { .. }) { &What::Barrier } else { &self.what };
        // SAFETY: it is ours, there is room; the buffers are valid as `begin_across` was promised.
        unsafe { what.post(board, self.number, self.rank(), self.comm.size()) };
        if matches!(self.what, What::Alltoall(_)) {
            self.knock_all(p);
            return Ok(());
        }
        self.knock(p, self.head);
        Ok(())
    }

    fn collect<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !matches!(self.what, What::Bcast { .. }) {
            while let Some(member) = self.team().get(self.seen).copied() {
                if member != self.rank() && !self.board(p, member)?.has(self.number) {
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
        // SAFETY: the buffers are the program's, which stay as `begin_across` was promised, or
        // `out` and `came`, whose memory stays where it is until the request has ended.
        let id = unsafe { p.start_tagged(self.comm, Channel::Collective, self.tag, plan) };
        self.stage = Stage::Cross(id);
        Ok(true)
    }

    /// Makes one message of what the host has shown: what is to be done among heads, with which
    /// buffers.
    fn join<T: Transport>(&mut self, p: &Process<T>) -> Result<(Schedule, Data, Option<Predef>)> {
        let (tables, hosts, rank) = (&p.select, self.hosts, self.rank());
        let schedule = match self.what.clone() {
            What::Barrier => return Ok((heads::barrier(hosts, rank), Data::none(), None)),
            What::Reduce { .. } => return self.join_reduce(p),
            What::Bcast { root, buf, count, ty } => {
                self.came = Packed::new(packed_size(&ty, count) as usize);
                if root == rank {
                    let m = Outgoing { buf: buf.cast_const(), count, ty: &ty };
                    // SAFETY: the program's buffer.
                    unsafe { pack_all(m, self.came.bytes_mut()) };
                }
                let (size, count) = (self.comm.size(), self.came.len() as i64);
                let input = Broadcast { rank, size, root, count, size_bytes: 1, contiguous: true };
                heads::bcast(tables, hosts, &input)
            }
            What::Allgather(sides) => {
                let bytes = self.join_blocks(p, &sides)?;
                heads::allgather(tables, hosts, rank, bytes as i64)
            }
            What::Alltoall(sides) => {
                let bytes = packed_size(&sides.recv_ty, sides.recv_count) as usize;
                for member in self.team() {
                    let note = self.note(p, *member, self.number, bytes * self.all())?;
                    let own = rank as usize * bytes;
                    // SAFETY: the buffer has a block for every member.
                    unsafe { unpack(&note[own..own + bytes], sides.block(*member))? };
                }
                self.load(p, bytes)?;
                heads::alltoall(hosts, rank, bytes as i64)
            }
        };
        let byte = Datatype::byte();
        Ok((schedule, Data::new(self.out.start(), byte, self.came.start(), byte), None))
    }

    fn join_reduce<T: Transport>(
        &mut self,
        p: &Process<T>,
    ) -> Result<(Schedule, Data, Option<Predef>)> {
        let What::Reduce { root, count, ty, op, .. } = self.what else {
            return Err(Class::Intern.into());
        };
        let result = self.combine(p)?;
        let input = Reduction {
            rank: self.rank(),
            size: self.comm.size(),
            root: root.unwrap_or(0),
            count: count as i64,
            extent: ty.extent as i64,
            size_bytes: ty.size as i64,
            commutative: true,
            in_place: true,
        };
        let schedule = match root {
            None => heads::allreduce(&p.select, self.hosts, &input),
            Some(_) => heads::reduce(&p.select, self.hosts, &input),
        };
        let ty = Datatype::predefined(ty.abi).ok_or_else(|| Error::from(Class::Intern))?;
        Ok((schedule, Data::new(result.cast_const(), ty, result, ty), Some(op)))
    }

    /// Puts the host's blocks where they belong in `came`; returns the bytes of a block.
    fn join_blocks<T: Transport>(&mut self, p: &Process<T>, sides: &Sides) -> Result<usize> {
        let (hosts, rank) = (self.hosts, self.rank());
        let bytes = packed_size(&sides.recv_ty, sides.recv_count) as usize;
        let mut came = Packed::new(bytes * self.all());
        let mut at = hosts.start(hosts.host(rank)) as usize * bytes;
        for member in self.team() {
            let out = &mut came.bytes_mut()[at..at + bytes];
            at += bytes;
            if *member == rank {
                let m = sides.own_part(rank);
                let found = m.packed_size() as usize;
                let out = out.get_mut(..found).ok_or_else(|| short(found, bytes))?;
                // SAFETY: the program's buffer.
                unsafe { pack_all(m, out) };
            } else {
                out.copy_from_slice(&self.note(p, *member, self.number, bytes)?[..bytes]);
            }
        }
        self.came = came;
        Ok(bytes)
    }

    fn all(&self) -> usize {
        self.comm.size() as usize
    }

    /// The note of a member, of at least so many bytes.
    fn note<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
        number: u64,
        bytes: usize,
    ) -> Result<&'p [u8]> {
        // SAFETY: it was seen, and we have not finished.
        let note = unsafe { self.board(p, member)?.read(number) };
        if note.len() < bytes { Err(short(note.len(), bytes)) } else { Ok(note) }
    }

    /// Combines the operands of the host; returns where the result is: the program's buffer where
    /// the whole result goes there, or `came`.
    fn combine<T: Transport>(&mut self, p: &Process<T>) -> Result<*mut u8> {
        let What::Reduce { root, send, recv, count, bytes, ty, op } = self.what else {
            return Err(Class::Intern.into());
        };
        let own = if send.is_null() { recv.cast_const() } else { send };
        self.came = Packed::new(bytes);
        let ends_here = root.is_none_or(|root| root == self.rank());
        // In place, the own operand would be overwritten before its turn.
        let apart = !ends_here || (send.is_null() && self.team()[0] != self.rank());
        let into = if apart { self.came.start() } else { recv };
        for (i, member) in self.team().iter().enumerate() {
            let input = match *member == self.rank() {
                true => own,
                false => whole(self.note(p, *member, self.number, bytes)?, bytes)?,
            };
            // SAFETY: operands hold `bytes`, which are `count` elements of `ty` next to each other.
            unsafe {
                match i {
                    0 => core::ptr::copy(input, into, bytes),
                    _ => op.apply(ty, input, into, count)?,
                }
            }
        }
        if ends_here && apart {
            // SAFETY: both hold `bytes`.
            unsafe { core::ptr::copy_nonoverlapping(into.cast_const(), recv, bytes) };
        }
        Ok(if ends_here { recv } else { into })
    }

    /// Puts together what this member carries to other hosts.
    fn load<T: Transport>(&mut self, p: &Process<T>, bytes: usize) -> Result<()> {
        let hosts = self.hosts;
        let blocks: i64 = hosts.loads(self.rank()).map(|load| load.blocks).sum();
        let mut at = 0;
        let mut out = Packed::new(blocks as usize * bytes);
        for load in hosts.loads(self.rank()) {
            for member in hosts.team(hosts.host(self.rank())) {
                let note = self.note(p, *member, self.number, bytes * self.all())?;
                for to in hosts.team(load.host) {
                    let from = *to as usize * bytes;
                    out.bytes_mut()[at..at + bytes].copy_from_slice(&note[from..from + bytes]);
                    at += bytes;
                }
            }
        }
        (self.came, self.out) = (Packed::new(out.len()), out);
        Ok(())
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
        let tells = match self.what {
            What::Reduce { root: Some(_), .. } => false,
            What::Alltoall(_) => self.hosts.loads(self.rank()).next().is_some(),
            _ => self.team().len() > 1,
        };
        if tells {
            if !self.has_room(p, self.last) {
                return Ok(false);
            }
            let result = match self.what {
                // SAFETY: the result is there, `bytes` long.
                What::Reduce { recv, bytes, .. } => unsafe {
                    core::slice::from_raw_parts(recv.cast_const(), bytes)
                },
                _ => self.came.bytes(),
            };
            let board = self.board(p, self.rank())?;
            // SAFETY: it is ours and there is room.
            unsafe { board.post(self.last, result.len(), |out| out.copy_from_slice(result)) };
            self.knock_all(p);
        }
        self.stage = Stage::Await;
        Ok(true)
    }

    /// Reads what others tell, if all of it is there; true at the end.
    fn end<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if !self.is_ready(p) {
            return Ok(false);
        }
        let result = self.read(p);
        self.board(p, self.rank())?.finish(self.last);
        if let Some(past) = p.boards.get_mut(self.index) {
            past.last = self.last;
        }
        if self.shows() && self.tellers().next().is_some() {
            self.all_have_begun();
        }
        match self.error.take() {
            Some(error) => Err(*error),
            None => result.map(|()| true),
        }
    }

    fn read<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let told = |bytes| match self.rank() == self.head {
            true => Ok(self.came.bytes()),
            false => self.note(p, self.head, self.last, bytes),
        };
        match &self.what {
            What::Barrier | What::Reduce { root: Some(_), .. } => Ok(()),
            What::Bcast { root, buf, count, ty } => match *root == self.rank() {
                true => Ok(()),
                // SAFETY: the program's buffer.
                false => unsafe { unpack(told(0)?, Incoming { buf: *buf, count: *count, ty }) },
            },
            What::Reduce { recv, bytes, .. } => {
                if self.rank() != self.head {
                    let note = told(*bytes)?;
                    // SAFETY: the program's buffer, of so many bytes.
                    unsafe { core::ptr::copy_nonoverlapping(note.as_ptr(), *recv, *bytes) };
                }
                Ok(())
            }
            What::Allgather(sides) => {
                let bytes = packed_size(&sides.recv_ty, sides.recv_count) as usize;
                let note = told(bytes * self.all())?;
                for (place, part) in (0..self.comm.size()).zip(note.chunks(bytes.max(1))) {
                    // SAFETY: the buffer has a block for every member.
                    unsafe { unpack(part, sides.block(self.hosts.at(place)))? };
                }
                Ok(())
            }
            What::Alltoall(sides) => {
                let bytes = packed_size(&sides.recv_ty, sides.recv_count) as usize;
                self.hand_out(p, bytes, |from, part| {
                    // SAFETY: the buffer has a block for every member.
                    unsafe { unpack(part, sides.block(from)) }
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
            let note = self.note(p, carrier, self.last, blocks as usize * bytes)?;
            let mut first = 0;
            for load in hosts.loads(carrier) {
                for (i, from) in hosts.team(load.host).iter().enumerate() {
                    let at = (first + i * n + own) * bytes;
                    take(*from, &note[at..at + bytes])?;
                }
                first += load.blocks as usize;
            }
        }
        Ok(())
    }
}
