//! The transport of one simulated rank.

use crate::net::Net;
use crate::packet::Packet;
use crate::slots::AllSlots;
use core::cell::RefCell;
use core::ptr::NonNull;
use core::time::Duration;
use hpvm_copy::own_memory;
use hpvm_transport::{
    Broken, Doorbell, Head, Limits, Packets, PeerMemory, PeerMemoryError, Rank, Refused, Segment,
    Streams,
};
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use std::rc::Rc;
use std::sync::Arc;

/// As in shared memory: what a slot of a ring and a frame hold.
pub const LIMITS: Limits = Limits { inline: 104, packet: 16 * 1024 };

/// One end. Belongs to the thread of its job.
pub struct End {
    net: Rc<RefCell<Net>>,
    slots: Rc<AllSlots>,
    rank: Rank,
    size: u32,
}

impl End {
    pub(crate) fn new(net: Rc<RefCell<Net>>, slots: Rc<AllSlots>, rank: Rank) -> End {
        let size = net.borrow().places.len() as u32;
        End { net, slots, rank, size }
    }

    fn shares(&self, peer: Rank) -> bool {
        peer < self.size && self.net.borrow().together(self.rank, peer)
    }

    /// A copy of `len` bytes from or to another rank's memory takes its time.
    fn copied(&self, len: usize) {
        let mut net = self.net.borrow_mut();
        let time = net.machine.host.send + net.machine.host.bytes(len);
        net.work(self.rank, time);
    }

    fn may_copy(&self, peer: Rank) -> Result<(), PeerMemoryError> {
        let allowed = self.can_read(peer);
        if allowed { Ok(()) } else { Err(PeerMemoryError::NotPermitted) }
    }
}

/// Nobody sleeps in virtual time.
struct NoSleep;

impl Doorbell for NoSleep {
    fn wait(&self, _: Duration) {}
    fn ring(&self) {}
}

impl Packets for End {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn take_credits(&mut self, dst: Rank) -> u16 {
        self.net.borrow_mut().grant(self.rank, dst)
    }

    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let mut payload = vec![0; len].into_boxed_slice();
        fill(&mut payload);
        let packet = Packet { src: self.rank, dst, head, len, payload };
        self.net.borrow_mut().send(Box::new(packet));
        Ok(())
    }

    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        let (mut delivered, mut bytes) = (0, 0);
        while bytes < budget {
            let Some(packet) = self.net.borrow_mut().take(self.rank) else { break };
            bytes += 64 + packet.payload.len();
            delivered += 1;
            sink(packet.src, packet.head, &packet.payload);
        }
        Ok(delivered)
    }

    /// Sleeping takes no time here; whoever moves time on has the rank looked at.
    fn arm(&mut self) -> bool {
        let mut net = self.net.borrow_mut();
        let quiet = net.is_quiet();
        quiet && net.place(self.rank).inbox.is_empty()
    }

    fn disarm(&mut self) {}

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(NoSleep)
    }
}

impl PeerMemory for End {
    fn can_read(&self, peer: Rank) -> bool {
        self.shares(peer) && self.net.borrow().machine.single_copy
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        self.may_copy(src)?;
        // All ranks are this process. The kernel copies, so that a wrong address is refused and not followed.
        // SAFETY: `local` is valid for writes of `len` bytes (the caller's promise).
        unsafe { own_memory::read(remote, local, len)? };
        self.copied(len);
        Ok(())
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        self.may_copy(dst)?;
        // SAFETY: `local` is valid for reads of `len` bytes (the caller's promise).
        unsafe { own_memory::write(remote, local, len)? };
        self.copied(len);
        Ok(())
    }

    fn lend(&mut self, _: usize) -> Option<NonNull<u8>> {
        None
    }
}

/// Long messages between hosts go in packets here: the connections of `hpvm-bulk` are not modelled.
impl Streams for End {}

impl Segment for End {
    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        if rank == self.rank {
            return self.slots.get(rank, index);
        }
        let slots = self.slots.get(rank, index).filter(|_| self.shares(rank))?;
        let seen = self.net.borrow().sees(self.rank, rank);
        Some(if seen { slots } else { self.slots.blank() })
    }

    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        if rank < self.size && self.shares(rank) {
            self.slots.large(rank, index, number)
        } else {
            None
        }
    }

    /// Nobody sleeps here: ranks take turns.
    fn announce(&self, reader: Rank) -> bool {
        self.wake(reader);
        false
    }

    /// Called once a slot is posted.
    fn wake(&self, reader: Rank) {
        self.net.borrow_mut().post(self.rank, reader);
    }
}

#[cfg(test)]
#[path = "end_tests.rs"]
mod tests;
