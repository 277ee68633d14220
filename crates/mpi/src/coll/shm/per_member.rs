//! An alltoall of long blocks between hosts, over staging buffers: each member carries its own blocks.
//!
//! If blocks are short, all data from one host to another go in one message, because a message costs more than its
//! bytes. Here a member sends its blocks for all members of another host in one message, straight from where they lie, to
//! one member of that host. They arrive in a staging buffer, from which the members of that host take theirs.

use super::coll_args::{long, short, unpack};
use super::hierarchical::Hierarchical;
use super::staging::word;
use super::{BlockBuffers, CollArgs};
use crate::coll::Data;
use crate::datatype::Datatype;
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::pt2pt::{Outgoing, pack_all, packed_size};
use hpvm_coll::Schedule;
use hpvm_coll::hosts::{Hosts, heads};
use hpvm_fm::Transport;
use hpvm_wire::coll_slots::CollSlots;

/// Blocks of so many bytes are long: each of them goes by itself.
const MIN_LONG_BLOCK: u64 = 48 * 1024;

/// Whether blocks of so many bytes are long.
pub fn is_long(block: u64) -> bool {
    block >= MIN_LONG_BLOCK
}

/// The longest slot of such an alltoall: all blocks of a member, or all that land on a staging buffer.
pub fn longest(hosts: &Hosts, block: u64, members: u32) -> u64 {
    block.saturating_mul(u64::from(members).max(hosts.most_arrivals() as u64))
}

impl Hierarchical<'_> {
    fn exchange(&self) -> Result<(&BlockBuffers, usize)> {
        let CollArgs::Alltoall(buffers) = &self.args else { return Err(Class::Intern.into()) };
        Ok((buffers, packed_size(&buffers.recv_ty, buffers.recv_count) as usize))
    }

    /// The program's blocks of `bytes`, if they lie there as they are to be sent.
    fn in_order(&self, buffers: &BlockBuffers, bytes: usize) -> Option<*const u8> {
        let size = self.comm.size();
        let (all, expected) = (buffers.all_parts(size), bytes as u64 * u64::from(size));
        let run = all.ty.as_run(all.count).filter(|_| self.hosts.in_order());
        // A send side that is shorter, in a wrong program, must not be read beyond its end.
        let (first, _) = run.filter(|(_, found)| *found == expected)?;
        Some(all.buf.wrapping_offset(first as isize))
    }

    /// Posts the blocks for the own host, and those for others that have to be put in order.
    pub(super) fn show_own(&self, slots: &CollSlots) -> Result<()> {
        let (buffers, bytes) = self.exchange()?;
        let staging = self.long.ok_or_else(|| Error::from(Class::Intern))?;
        let here = self.hosts.host(self.rank());
        let all = bytes * self.comm.size() as usize;
        // SAFETY: there is room, as the caller knows, and this is the only use of it.
        let staging = unsafe { staging.own(self.number, all) };
        let remote = self.in_order(buffers, bytes).is_none();
        for member in (0..self.comm.size()).filter(|m| remote || self.hosts.host(*m) == here) {
            let part = buffers.part(member);
            let at = self.hosts.position(member) as usize * bytes;
            let found = part.packed_size() as usize;
            if found > bytes {
                return Err(long(found, bytes));
            }
            let out = staging.get_mut(at..at + found).filter(|_| found == bytes);
            let out = out.ok_or_else(|| short(found, bytes))?;
            // SAFETY: the program's buffer.
            unsafe { pack_all(part, out) };
        }
        // SAFETY: it is ours, and there is room.
        unsafe {
            slots.post(self.number, 0, word(all).len(), |out| out.copy_from_slice(&word(all)))
        };
        Ok(())
    }

    /// Takes the blocks of the own host; what is to be sent to others and to come from them.
    pub(super) fn join_own<T: Transport>(&mut self, p: &Process<T>) -> Result<(Schedule, Data)> {
        let taken = self.take_from_host(p);
        self.note_error(taken);
        let (buffers, bytes) = self.exchange()?;
        let out = match (self.in_order(buffers, bytes), self.long) {
            (Some(out), _) => out,
            // SAFETY: it was written by `show_own`, and is only read from now on.
            (None, Some(staging)) => unsafe { staging.own(self.number, 0) }.as_ptr(),
            (None, None) => return Err(Class::Intern.into()),
        };
        let landing = self.hosts.arrivals(self.rank()).count() * self.team().len();
        let into = self.room(landing * bytes);
        let schedule = heads::alltoall_of_all(self.hosts, self.rank(), bytes as i64);
        let byte = Datatype::byte();
        Ok((schedule, Data::new(out, byte, into, byte)))
    }

    fn take_from_host<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let (buffers, bytes) = self.exchange()?;
        let own = self.hosts.position(self.rank()) as usize * bytes;
        for member in self.team() {
            if *member == self.rank() && buffers.send.is_none() {
                continue;
            }
            let slot = self.slot(p, *member, self.number, own + bytes)?;
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(&slot[own..own + bytes], buffers.block(*member))? };
        }
        Ok(())
    }

    /// Takes the blocks that came from other hosts.
    pub(super) fn read_own<T: Transport>(&self, p: &Process<T>) -> Result<()> {
        let (buffers, bytes) = self.exchange()?;
        let (team, own) = (self.team(), self.hosts.number(self.rank()) as usize);
        let here = self.hosts.host(self.rank());
        // How many have landed on each staging buffer, and so where the next one lies.
        let mut landed = vec![0; team.len()];
        for from in (0..self.hosts.count()).filter(|h| *h != here).flat_map(|h| self.hosts.team(h))
        {
            let teller = self.hosts.landing(*from, here);
            let before = &mut landed[self.hosts.number(teller) as usize];
            let at = (*before * team.len() + own) * bytes;
            *before += 1;
            let slot = self.slot(p, teller, self.last, at + bytes)?;
            // SAFETY: the buffer has a block for every member.
            unsafe { unpack(&slot[at..at + bytes], buffers.block(*from))? };
        }
        Ok(())
    }
}

impl BlockBuffers {
    /// The block for `member`.
    #[inline(always)]
    pub(super) fn part(&self, member: u32) -> Outgoing<'_> {
        let Some(send) = self.send else {
            let block = self.block(member);
            return Outgoing { buf: block.buf.cast_const(), count: block.count, ty: block.ty };
        };
        let away = self.send_ty.extent().wrapping_mul(self.send_count) * i64::from(member);
        let buf = send.wrapping_offset(away as isize);
        Outgoing { buf, count: self.send_count, ty: &self.send_ty }
    }
}
