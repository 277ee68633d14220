//! Messages that nobody receives for a long time, from senders that are bounded by nothing else.

use crate::data::{Shape, UNIT, content};
use crate::harness::{P, Part, Shared, ended, hash};
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Comm, Group, ReqId};
use hpvm_sim::Turn;
use std::sync::Arc;

/// Units of the largest message.
const LARGEST: usize = 40;
/// Turns for which rank 0 receives nothing.
const HELD: u32 = 6000;
const BASE: u32 = 200 * CONTEXTS;

/// What is flooded with what.
#[derive(Clone, Copy)]
pub struct Flood {
    /// Messages from each rank but 0, all to rank 0.
    pub each: u32,
    /// Bytes that rank 0 lets each leave unasked.
    pub share: u64,
    /// Bytes kept of one sender that are too many; what is on its way counts.
    pub most: u64,
}

/// The part of one process: rank 0 receives, the others send one message after the other, as a
/// program does that calls `MPI_Send` (or `MPI_Ssend` or `MPI_Bsend`, now and then).
pub struct Flooding {
    shared: Shared,
    flood: Flood,
    comm: Arc<Comm>,
    shape: Shape,
    turns: u32,
    /// Messages sent, or received from each rank.
    done: Vec<u32>,
    /// What is under way, and its buffer.
    pending: Vec<(ReqId, u32, Vec<u8>)>,
}

impl Flooding {
    pub fn new(shared: &Shared, flood: Flood) -> Flooding {
        let group = Group::list((0..shared.size).collect());
        Flooding {
            shared: shared.clone(),
            flood,
            comm: Comm::intra(BASE, group, shared.rank).unwrap(),
            shape: Shape::new(shared.seed.is_multiple_of(3)),
            turns: 0,
            done: vec![0; shared.size as usize],
            pending: Vec::new(),
        }
    }

    fn units(&self, src: u32, number: u32) -> usize {
        hash(&[self.shared.seed, src.into(), number.into()]) as usize % (LARGEST + 1)
    }

    /// The bytes of message `number` of `src` as they lie in memory.
    fn message(&self, src: u32, number: u32, room: usize) -> Vec<u8> {
        let mut bytes = self.shape.blank(room);
        self.shape.put(&mut bytes, 0, &content(number.into(), src, 0, self.units(src, number)));
        bytes
    }

    fn send(&mut self, p: &mut P) -> Turn {
        let rank = self.shared.rank;
        if let Some((id, number, _)) = self.pending.first() {
            if ended(p, *id, number).is_none() {
                return Turn::Idle;
            }
            self.pending.clear();
        }
        let number = self.done[rank as usize];
        if number == self.flood.each {
            return Turn::Done;
        }
        let units = self.units(rank, number);
        let buffer = self.message(rank, number, units);
        let count = units as i64 * self.shape.per_unit;
        let out = Outgoing { buf: buffer.as_ptr(), count, ty: &self.shape.ty };
        let mode = match hash(&[number.into(), 3]) % 50 {
            // A synchronous one ends the flood until it is received.
            0 if number > self.flood.each / 2 => Mode::Synchronous,
            1 => Mode::Buffered,
            _ => Mode::Standard,
        };
        // SAFETY: `pending` keeps the buffer until the request has ended.
        let sent = unsafe { p.send(out, 0, self.comm.context(Channel::User), 5, mode, None) };
        if let Started::Pending(id) = sent {
            self.pending.push((id, number, buffer));
        }
        self.done[rank as usize] += 1;
        Turn::Worked
    }

    fn receive(&mut self, p: &mut P) -> Turn {
        p.set_quota(self.flood.share);
        self.turns += 1;
        for src in 1..self.shared.size {
            let kept = p.kept_of(src);
            let most = self.flood.most;
            assert!(kept <= most, "seed {}: {kept} bytes kept of {src}", self.shared.seed);
        }
        if self.turns < HELD {
            return Turn::Worked;
        }
        let mut moved = false;
        if let Some((id, src, buffer)) = self.pending.pop() {
            let Some(outcome) = ended(p, id, &src) else {
                self.pending.push((id, src, buffer));
                return Turn::Idle;
            };
            let number = self.done[src as usize];
            let bytes = (self.units(src, number) * UNIT) as u64;
            assert_eq!(outcome.status.bytes, bytes, "message {number} of {src}: overtaken?");
            assert!(buffer == self.message(src, number, LARGEST), "message {number} of {src}");
            self.done[src as usize] += 1;
            moved = true;
        }
        let left = |src: &u32| self.done[*src as usize] < self.flood.each;
        let start = u64::from(self.turns);
        let turned =
            (0..self.shared.size).map(|i| (i + hash(&[start]) as u32 % 64) % self.shared.size);
        let Some(src) = turned.filter(|src| *src > 0).find(left) else { return Turn::Done };
        let mut buffer = self.shape.blank(LARGEST);
        let count = LARGEST as i64 * self.shape.per_unit;
        let into = Incoming { buf: buffer.as_mut_ptr(), count, ty: &self.shape.ty };
        let pattern = Pattern { src, tag: 5 };
        // SAFETY: `pending` keeps the buffer until the request has ended.
        let id = unsafe { p.recv(into, &self.comm, Channel::User, pattern, None) };
        self.pending.push((id, src, buffer));
        if moved { Turn::Worked } else { Turn::Idle }
    }
}

impl Part for Flooding {
    fn turn(&mut self, p: &mut P) -> Turn {
        match self.shared.rank {
            0 => self.receive(p),
            _ => self.send(p),
        }
    }
}
