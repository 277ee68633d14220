//! The boards of a communicator's members on one host, for operations of several rounds of notes.

use super::{Use, index};
use crate::comm::Comm;
use crate::engine::process::Process;
use crate::error::{Class, Result};
use core::ops::Range;
use hpvm_fm::{Rank, Transport};
use hpvm_wire::board::{Board, Sheet};
use std::sync::atomic::Ordering;

/// A communicator, and which board of each member belongs to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members<'a> {
    comm: &'a Comm,
    index: usize,
}

impl<'a> Members<'a> {
    pub fn new(comm: &'a Comm) -> Option<Members<'a>> {
        index(comm).map(|index| Members { comm, index })
    }

    pub fn used(&self) -> &'a Use {
        self.comm.boards()
    }

    pub fn rank(&self) -> u32 {
        self.comm.rank()
    }

    pub fn size(&self) -> u32 {
        self.comm.size()
    }

    pub fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank();
        (0..self.size()).filter(move |member| *member != rank)
    }

    pub fn process(&self, member: u32) -> Result<Rank> {
        self.comm.group().process(member).ok_or_else(|| Class::Intern.into())
    }

    pub fn board<'p, T: Transport>(&self, p: &'p Process<T>, member: u32) -> Result<&'p Board> {
        // The introduction found all of them.
        p.board_of(self.process(member)?, self.index).ok_or_else(|| Class::Intern.into())
    }

    /// The first byte of the sheet for note `number` of `member`.
    pub fn sheet<T: Transport>(&self, p: &Process<T>, member: u32, number: u64) -> Result<*mut u8> {
        let sheet = p.fm().transport().sheet(self.process(member)?, self.index, number);
        // Where there are boards there are sheets.
        sheet.map(Sheet::start).ok_or_else(|| Class::Intern.into())
    }

    /// Whether `member` has posted note `number`.
    pub fn has<T: Transport>(&self, p: &Process<T>, member: u32, number: u64) -> bool {
        self.board(p, member).is_ok_and(|board| board.has(number))
    }

    /// Whether all members have finished the number `ahead` before this one.
    pub fn has_room<T: Transport>(&self, p: &Process<T>, number: u64, ahead: usize) -> bool {
        let (used, ahead) = (self.used(), ahead as u64);
        // Relaxed, here and below: see `Use`.
        if used.safe.load(Ordering::Relaxed) + ahead >= number {
            return true;
        }
        let finished = self.others().map(|m| self.board(p, m).map_or(u64::MAX, Board::finished));
        let safe = finished.min().unwrap_or(u64::MAX).min(number - 1);
        used.safe.fetch_max(safe, Ordering::Relaxed); // relaxed: see `Use`
        used.safe.load(Ordering::Relaxed) + ahead >= number // relaxed: see `Use`
    }

    /// Posts our note `number`, a few words, and wakes those who may sleep for want of it.
    ///
    /// # Safety
    /// There is room.
    pub unsafe fn post<T: Transport>(
        &self,
        p: &Process<T>,
        number: u64,
        words: &[u64],
        readers: impl Iterator<Item = u32>,
    ) -> Result<()> {
        let fill = |out: &mut [u8]| {
            for (to, word) in out.chunks_exact_mut(size_of::<u64>()).zip(words) {
                to.copy_from_slice(&word.to_ne_bytes());
            }
        };
        let board = self.board(p, self.rank())?;
        // SAFETY: it is ours; the caller's promise.
        unsafe { board.post(number, size_of_val(words), fill) };
        for process in readers.filter_map(|m| self.comm.group().process(m)) {
            p.fm().transport().knock(process);
        }
        Ok(())
    }

    /// The first one in `range`, other than this one, whose note `number` is not there yet.
    pub fn missing<T: Transport>(
        &self,
        p: &Process<T>,
        mut range: Range<u32>,
        number: u64,
    ) -> Option<u32> {
        range.find(|member| *member != self.rank() && !self.has(p, *member, number))
    }

    /// Whether a note `number` is missing in `range` of a process of which `which` is true.
    pub fn awaits<T: Transport>(
        &self,
        p: &Process<T>,
        mut range: Range<u32>,
        number: u64,
        which: impl Fn(Rank) -> bool,
    ) -> bool {
        let group = self.comm.group();
        range.any(|m| !self.has(p, m, number) && group.process(m).is_some_and(&which))
    }

    /// The words of note `number` of `member`; `Err` with the bytes that are there instead.
    ///
    /// # Safety
    /// The note is there, and we have not finished.
    pub unsafe fn words<const N: usize, T: Transport>(
        &self,
        p: &Process<T>,
        member: u32,
        number: u64,
    ) -> Result<core::result::Result<[u64; N], usize>> {
        // SAFETY: the caller's promise.
        let note = match unsafe { self.board(p, member)?.read(number) } {
            Ok(note) if note.len() == size_of::<[u64; N]>() => note,
            Ok(note) => return Ok(Err(note.len())),
            Err(found) => return Ok(Err(found)),
        };
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(note.chunks_exact(size_of::<u64>())) {
            *word = bytes.try_into().map(u64::from_ne_bytes).unwrap_or_default();
        }
        Ok(Ok(words))
    }

    /// We are through with note `number` of all members.
    pub fn finish<T: Transport>(&self, p: &mut Process<T>, number: u64) -> Result<()> {
        self.board(p, self.rank())?.finish(number);
        if let Some(past) = p.boards.get_mut(self.index) {
            past.last = number;
        }
        Ok(())
    }

    /// All have posted note `number`, so they are through with the one before.
    pub fn all_have(&self, number: u64) {
        self.used().safe.fetch_max(number - 1, Ordering::Relaxed); // relaxed: see `Use`
    }
}
