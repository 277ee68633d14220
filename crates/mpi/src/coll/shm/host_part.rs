//! The data that a head collects from the slots of its host, to exchange them with other heads.
//!
//! In a wrong program data may not have the length that they should have. The head then exchanges the right length with
//! some content, and the error is kept for the end ([`Hierarchical::note_error`]).

use super::coll_args::{long, short, unpack, whole};
use super::hierarchical::Hierarchical;
use super::packed::Packed;
use super::{BlockBuffers, CollArgs};
use crate::coll::Data;
use crate::datatype::Datatype;
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::op::Predef;
use crate::pt2pt::{Outgoing, pack_all, packed_size};
use hpvm_coll::hosts::heads;
use hpvm_coll::{Broadcast, Reduction, Schedule};
use hpvm_fm::Transport;

/// A slot that has to have so many bytes.
fn exactly(slot: &[u8], bytes: usize) -> Result<&[u8]> {
    if slot.len() > bytes { Err(long(slot.len(), bytes)) } else { Ok(slot) }
}

impl Hierarchical<'_> {
    /// Makes one message of what the host has shown: what is to be done among heads, with which
    /// buffers.
    pub(super) fn join<T: Transport>(
        &mut self,
        p: &Process<T>,
    ) -> Result<(Schedule, Data, Option<Predef>)> {
        let (tables, hosts, rank) = (&p.select, self.hosts, self.rank());
        let mut out: *const u8 = core::ptr::null();
        let schedule = match self.args.clone() {
            CollArgs::Barrier => return Ok((heads::barrier(hosts, rank), Data::none(), None)),
            CollArgs::Reduce { .. } => return self.join_reduce(p),
            CollArgs::Bcast { root, buf, count, ty } => {
                let bytes = packed_size(&ty, count) as usize;
                let room = self.room(bytes);
                if root == rank {
                    let m = Outgoing { buf: buf.cast_const(), count, ty: &ty };
                    // SAFETY: the program's buffer; the room was just made.
                    unsafe { pack_all(m, core::slice::from_raw_parts_mut(room, bytes)) };
                }
                let (size, count) = (self.comm.size(), bytes as i64);
                let input = Broadcast { rank, size, root, count, size_bytes: 1, contiguous: true };
                heads::bcast(tables, hosts, &input)
            }
            CollArgs::Allgather(buffers) => {
                let bytes = packed_size(&buffers.recv_ty, buffers.recv_count) as usize;
                let room = self.room(bytes * self.all());
                let joined = self.join_blocks(p, &buffers, (room, bytes));
                self.note_error(joined);
                heads::allgather(tables, hosts, rank, bytes as i64)
            }
            CollArgs::Alltoall(_) if self.each => {
                return self.join_own(p).map(|(schedule, data)| (schedule, data, None));
            }
            // `longest_slot` has said no.
            CollArgs::Gather { .. } | CollArgs::Scatter { .. } => return Err(Class::Intern.into()),
            CollArgs::Alltoall(buffers) => {
                let bytes = packed_size(&buffers.recv_ty, buffers.recv_count) as usize;
                let taken = self.take_own(p, &buffers, bytes);
                self.note_error(taken);
                out = self.load(p, bytes);
                heads::alltoall(hosts, rank, bytes as i64)
            }
        };
        let byte = Datatype::byte();
        Ok((schedule, Data::new(out, byte, self.result.0, byte), None))
    }

    fn join_reduce<T: Transport>(
        &mut self,
        p: &Process<T>,
    ) -> Result<(Schedule, Data, Option<Predef>)> {
        let CollArgs::Reduce { root, count, bytes, ty, op, .. } = self.args else {
            return Err(Class::Intern.into());
        };
        let result = self.combine(p)?;
        self.result = (result, bytes);
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

    /// Puts the host's blocks of `bytes` where they belong in `room`, which has one for everybody.
    fn join_blocks<T: Transport>(
        &self,
        p: &Process<T>,
        buffers: &BlockBuffers,
        (room, bytes): (*mut u8, usize),
    ) -> Result<()> {
        let (hosts, rank) = (self.hosts, self.rank());
        let start = hosts.start(hosts.host(rank)) as usize;
        for (place, member) in (start..).zip(self.team()) {
            // SAFETY: the room has a block for everybody.
            let out = unsafe { core::slice::from_raw_parts_mut(room.add(place * bytes), bytes) };
            if *member == rank {
                let m = buffers.own_part(rank);
                let found = m.packed_size() as usize;
                let out = out.get_mut(..found).ok_or_else(|| long(found, bytes))?;
                // SAFETY: the program's buffer.
                unsafe { pack_all(m, out) };
                if found < bytes {
                    return Err(short(found, bytes));
                }
            } else {
                out.copy_from_slice(exactly(self.slot(p, *member, self.number, bytes)?, bytes)?);
            }
        }
        Ok(())
    }

    /// Takes the blocks of `bytes` that this host has for this member.
    fn take_own<T: Transport>(
        &self,
        p: &Process<T>,
        buffers: &BlockBuffers,
        bytes: usize,
    ) -> Result<()> {
        let (all, own) = (bytes * self.all(), self.rank() as usize * bytes);
        for member in self.team() {
            let slot = exactly(self.slot(p, *member, self.number, all)?, all)?;
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(&slot[own..own + bytes], buffers.block(*member))? };
        }
        Ok(())
    }

    /// Combines the operands of the host; returns where the result is: the program's buffer where
    /// the whole result goes there, or `came`.
    fn combine<T: Transport>(&mut self, p: &Process<T>) -> Result<*mut u8> {
        let CollArgs::Reduce { root, send, recv, bytes, .. } = self.args else {
            return Err(Class::Intern.into());
        };
        // A long result for all is told from the staging buffer that it is on.
        let shown = self.long.is_some() && root.is_none();
        let ends_here = !shown && root.is_none_or(|root| root == self.rank());
        // In place, the own operand would be overwritten before its turn.
        let apart = !ends_here || (send.is_null() && self.team()[0] != self.rank());
        let into = if apart { self.room(bytes) } else { recv };
        let combined = self.combine_into(p, into);
        self.note_error(combined);
        if ends_here && apart {
            // SAFETY: both hold `bytes`.
            unsafe { core::ptr::copy_nonoverlapping(into.cast_const(), recv, bytes) };
        }
        Ok(if ends_here { recv } else { into })
    }

    fn combine_into<T: Transport>(&self, p: &Process<T>, into: *mut u8) -> Result<()> {
        let CollArgs::Reduce { send, recv, count, bytes, ty, op, .. } = self.args else {
            return Err(Class::Intern.into());
        };
        let own = if send.is_null() { recv.cast_const() } else { send };
        for (i, member) in self.team().iter().enumerate() {
            let input = match *member == self.rank() {
                true => own,
                false => whole(self.slot(p, *member, self.number, bytes)?, bytes)?,
            };
            // SAFETY: operands hold `bytes`, which are `count` elements of `ty` next to each other.
            unsafe {
                match i {
                    0 => core::ptr::copy(input, into, bytes),
                    _ => op.apply(ty, input, into, count)?,
                }
            }
        }
        Ok(())
    }

    /// Puts together what this member carries to other hosts, and makes room for what comes from them.
    fn load<T: Transport>(&mut self, p: &Process<T>, bytes: usize) -> *const u8 {
        let blocks: i64 = self.hosts.loads(self.rank()).map(|load| load.blocks).sum();
        let total = blocks as usize * bytes;
        let out = match self.long {
            Some(staging) => staging.scratch(total),
            None => {
                self.out = Packed::new(total);
                self.out.start()
            }
        };
        let filled = self.fill(p, out, bytes);
        self.note_error(filled);
        self.room(total);
        out.cast_const()
    }

    /// Copies the blocks of `bytes` that this member carries to `at`, which has room for them.
    fn fill<T: Transport>(&self, p: &Process<T>, mut at: *mut u8, bytes: usize) -> Result<()> {
        let hosts = self.hosts;
        for load in hosts.loads(self.rank()) {
            for member in hosts.team(hosts.host(self.rank())) {
                let slot = self.slot(p, *member, self.number, bytes * self.all())?;
                for to in hosts.team(load.host) {
                    let block = &slot[*to as usize * bytes..][..bytes];
                    // SAFETY: the room has as many blocks as these loops have turns.
                    unsafe {
                        core::ptr::copy_nonoverlapping(block.as_ptr(), at, bytes);
                        at = at.add(bytes);
                    }
                }
            }
        }
        Ok(())
    }
}
