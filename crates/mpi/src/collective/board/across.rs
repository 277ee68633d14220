//! One collective over boards of a communicator that spans hosts, as a state machine.
//!
//! The members of a host show what they have to their head, which alone talks to other hosts, with
//! messages, and shows them what comes of it. An alltoall has a carrier for each other host instead
//! of a head, so that the work is spread over the members.

use super::call::{failed, long, short, unpack};
use super::packed::Packed;
use super::slate::{LONG, Slates, word};
use super::{MOST, Meeting, What, each, index};
use crate::collective::Plan;
use crate::comm::{Channel, Comm, Form};
use crate::engine::process::Process;
use crate::engine::requests::ReqId;
use crate::error::{Class, Error, Result};
use crate::op::Op;
use crate::pt2pt::{Incoming, packed_size};
use hpvm_coll::hosts::Hosts;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::board::{Board, FAILED, NOTE_BYTES, NOTES};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A collective under way. To be polled until it is done.
#[derive(Debug)]
pub struct Across<'a> {
    pub(super) comm: &'a Arc<Comm>,
    pub(super) hosts: &'a Hosts,
    index: usize,
    /// Of the notes with which members begin.
    pub(super) number: u64,
    /// Of the notes that tell what came from other hosts.
    pub(super) last: u64,
    tag: i32,
    pub(super) what: What,
    /// The head of the own host; of no meaning in an alltoall.
    head: u32,
    stage: Stage,
    /// Members of the team whose notes have been seen, in the order of their numbers.
    seen: usize,
    /// Where long notes lie.
    pub(super) long: Option<&'a Slates>,
    /// Of an alltoall: each member carries its own blocks.
    pub(super) each: bool,
    /// What heads exchange, unless it is on a slate or in the program's buffers.
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
    /// Begins `what` on `comm`, for which [`Process::has_notes_of`] has said yes; its longest
    /// note has `longest` bytes. `None` can't happen then.
    ///
    /// # Safety
    /// As for [`super::Call::begin`].
    pub unsafe fn begin_across<'a>(
        &self,
        comm: &'a Arc<Comm>,
        what: What,
        longest: u64,
    ) -> Option<Across<'a>> {
        let long = match longest > MOST {
            true => Some(comm.boards().slates.get()?.as_ref()?),
            false => None,
        };
        let each = long.is_some()
            && matches!(&what, What::Alltoall(s) if each::is_long(packed_size(&s.recv_ty, s.recv_count)));
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
    pub(super) fn rank(&self) -> u32 {
        self.comm.rank()
    }

    /// The members on this host in the order of their numbers.
    pub(super) fn team(&self) -> &[u32] {
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
        let me = self.rank();
        let tells = move |member: u32| match self.what {
            What::Reduce { root: Some(_), .. } => false,
            What::Alltoall(_) => self.carries(member),
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

    pub(super) fn board<'p, T: Transport>(
        &self,
        p: &'p Process<T>,
        member: u32,
    ) -> Result<&'p Board> {
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

    pub(super) fn knock_all<T: Transport>(&self, p: &Process<T>) {
        self.team().iter().for_each(|member| self.knock(p, *member));
    }

    fn post<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        if self.shows() {
            if !self.has_room(p, self.number) {
                return Ok(false);
            }
            self.show(p)?;
        } else if self.long.is_some() && self.is_head() && !self.has_room(p, self.number) {
            // It puts what comes onto its slate.
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

    /// Posts what the own host needs of this member.
    fn show<T: Transport>(&mut self, p: &Process<T>) -> Result<()> {
        let board = self.board(p, self.rank())?;
        if self.each {
            let shown = self.show_own(board);
            if shown.is_err() {
                // SAFETY: it is ours, and there is room.
                unsafe { board.post_failure(self.number) };
            }
            self.note_error(shown);
            self.knock_all(p);
            return Ok(());
        }
        // A broadcast begins at its root alone; the others only say that they are there.
        let what =
            if matches!(self.what, What::Bcast { .. }) { &What::Barrier } else { &self.what };
        let (rank, size) = (self.rank(), self.comm.size());
        match self.long {
            // SAFETY: it is ours, there is room; the buffers are valid as `begin_across` was
            // promised.
            None => unsafe { what.post(board, self.number, rank, size) },
            // SAFETY: as above.
            Some(slates) => unsafe {
                let len = what.pack(rank, size, slates.own(self.number, LONG as usize));
                board.post(self.number, size_of::<u64>(), |out| out.copy_from_slice(&word(len)));
            },
        }
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
        let id = unsafe {
            p.start_spoilt(self.comm, Channel::Collective, self.tag, plan, self.error.take())
        };
        self.stage = Stage::Cross(id);
        if matches!(self.what, What::Bcast { root, .. } if root == self.rank()) {
            // There is nothing to wait for.
            self.tell(p)?;
        }
        Ok(true)
    }

    /// Room for what comes from other hosts and is for all of this one.
    pub(super) fn room(&mut self, bytes: usize) -> *mut u8 {
        let start = match self.long {
            // SAFETY: there is room, see `post`, and this is the only use of it.
            Some(slates) => unsafe { slates.own(self.last, bytes) }.as_mut_ptr(),
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

    /// The note of a member, of at least so many bytes.
    pub(super) fn note<'p, T: Transport>(
        &'p self,
        p: &'p Process<T>,
        member: u32,
        number: u64,
        bytes: usize,
    ) -> Result<&'p [u8]> {
        // SAFETY: it was seen, and we have not finished.
        let note = unsafe { self.board(p, member)?.read(number) };
        let mut note = note.map_err(|found| match found == FAILED {
            true => failed(),
            false => long(found, NOTE_BYTES),
        })?;
        if let Some(slates) = self.long {
            // SAFETY: as above.
            note = unsafe { slates.read(self.hosts.number(member), number, note)? };
        }
        if note.len() < bytes { Err(short(note.len(), bytes)) } else { Ok(note) }
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
    fn tell<T: Transport>(&mut self, p: &Process<T>) -> Result<bool> {
        let tells = match self.what {
            What::Reduce { root: Some(_), .. } => false,
            What::Alltoall(_) => self.carries(self.rank()),
            _ => self.team().len() > 1,
        };
        if self.told || !tells {
            return Ok(true);
        }
        if !self.has_room(p, self.last) {
            return Ok(false);
        }
        let result = self.result();
        let word = word(result.len());
        // What is long lies on the slate already.
        let note = if self.long.is_some() { &word } else { result };
        let board = self.board(p, self.rank())?;
        // SAFETY: it is ours and there is room.
        unsafe {
            match self.error {
                None => board.post(self.last, note.len(), |out| out.copy_from_slice(note)),
                Some(_) => board.post_failure(self.last),
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
        self.board(p, self.rank())?.finish(self.last);
        if let Some(past) = p.boards.get_mut(self.index) {
            past.last = self.last;
        }
        if self.shows() && self.tellers().next().is_some() {
            self.all_have_begun();
        }
        self.error.take().map_or(Ok(true), |error| Err(*error))
    }

    fn read<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let told = |bytes| match self.rank() == self.head {
            true => Ok(self.result()),
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
                // The head has it where it is told from.
                if self.rank() != self.head || self.long.is_some() {
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
            What::Alltoall(_) if self.each => self.read_own(p),
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
