//! One process's end of a virtual network.

use crate::coll_slots::AllCollSlots;
use crate::config::Reads;
use crate::state::State;
use core::cell::RefCell;
use core::ptr::NonNull;
use core::time::Duration;
use hpvm_copy::own_memory;
use hpvm_transport::{
    Broken, Doorbell, Head, Limits, PREFIX, Packets, PeerMemory, PeerMemoryError, Rank, Refused,
    Segment, Streams,
};
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use hpvm_wire::counters::{self, Counters};
use hpvm_wire::split_copy::SplitCopy;
use std::rc::Rc;
use std::sync::Arc;

/// What a payload holds before `fill` writes it: a `fill` that leaves bytes out is noticed.
const UNWRITTEN: u8 = 0xa5;

/// The end of one process. Belongs to the thread of its network.
pub struct SimTransport {
    state: Rc<RefCell<State>>,
    rank: Rank,
    size: u32,
    limits: Limits,
    counters: Counters,
    coll_slots: Rc<AllCollSlots>,
    /// What others may read.
    lent: Vec<Vec<u128>>,
    read_was_slow: bool,
}

impl SimTransport {
    pub(crate) fn new(
        state: Rc<RefCell<State>>,
        rank: Rank,
        size: u32,
        limits: Limits,
        coll_slots: Rc<AllCollSlots>,
    ) -> SimTransport {
        let (counters, lent) = (Counters::default(), Vec::new());
        let read_was_slow = false;
        SimTransport { state, rank, size, limits, counters, coll_slots, lent, read_was_slow }
    }
}

impl SimTransport {
    /// Sends a packet in datagrams. Again `fill` runs while the state is free.
    fn send_lossy<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let lent = self.state.borrow_mut().lend(self.rank);
        let Some((mut hub, now)) = lent else { return Err(Refused::NoBuffer) };
        let outcome = hub.push(now, dst, head, len, |room| {
            room.fill(UNWRITTEN);
            fill(room);
        });
        self.state.borrow_mut().take_back((self.rank, dst), hub, outcome, len);
        if outcome.is_err() {
            return Err(Refused::NoBuffer);
        }
        counters::add(&self.counters.packets_sent, 1);
        counters::add(&self.counters.bytes_sent, len as u64);
        Ok(())
    }
}

/// A bell for a network without a clock: the time to wait is never here.
struct NoSleep;

impl Doorbell for NoSleep {
    fn wait(&self, _: Duration) {}
    fn ring(&self) {}
}

impl Packets for SimTransport {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn take_credits(&mut self, dst: Rank) -> u16 {
        self.state.borrow_mut().grant(self.rank, dst)
    }

    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        self.state.borrow_mut().may_send(self.rank, dst, len)?;
        if self.state.borrow().lossy.is_some() {
            return self.send_lossy(dst, head, len, fill);
        }
        // `fill` runs while the state is free: a test may let other processes act in the middle
        // of this send.
        let mut payload = vec![UNWRITTEN; len];
        fill(&mut payload);
        self.state.borrow_mut().depart(self.rank, dst, head, payload);
        counters::add(&self.counters.packets_sent, 1);
        counters::add(&self.counters.bytes_sent, len as u64);
        Ok(())
    }

    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        {
            let mut state = self.state.borrow_mut();
            let to = state.now.saturating_add(state.config.poll_ticks);
            state.advance_to(to);
            if let Some(why) = &state.process(self.rank).broken {
                return Err(why.clone());
            }
            state.progress(self.rank);
        }
        // Fragments follow what has paid for them, whatever the budget.
        let (mut delivered, mut fragments, mut bytes) = (0, 0, 0);
        while bytes < budget || self.state.borrow_mut().fragment_waits(self.rank) {
            let Some(packet) = self.state.borrow_mut().take(self.rank) else { break };
            sink(packet.src, packet.head, &packet.payload);
            self.state.borrow_mut().done_with(self.rank, &packet);
            match packet.follows {
                true => fragments += 1,
                false => {
                    delivered += 1;
                    bytes += 64 + packet.payload.len();
                }
            }
            // A budget is a rough limit: now and then less comes than there is.
            if self.state.borrow_mut().stops_short() {
                break;
            }
        }
        counters::add(&self.counters.packets_received, delivered as u64);
        Ok(delivered + fragments)
    }

    /// False while a packet for this process waits or is on its way: nobody but the caller moves
    /// time on, so to sleep then would be to sleep forever.
    fn arm(&mut self) -> bool {
        let mut state = self.state.borrow_mut();
        let process = state.process(self.rank);
        let quiet = process.inbox.is_empty() && process.incoming == 0 && process.broken.is_none();
        quiet && state.lossy.as_ref().is_none_or(|lossy| lossy.is_quiet(self.rank))
    }

    fn disarm(&mut self) {}

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(NoSleep)
    }

    fn max_fragmented(&self, _: Rank) -> u64 {
        let state = self.state.borrow();
        if state.lossy.is_some() {
            0
        } else {
            state.config.fragment.map_or(0, |fragment| 40 * fragment as u64)
        }
    }

    fn send_fragments<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        mut fill: F,
    ) -> Result<(), Refused> {
        let fragment = self.state.borrow().config.fragment.unwrap_or(len).max(1);
        self.state.borrow_mut().may_send_fragments(self.rank, dst)?;
        let mut paid = first.is_some();
        if let Some((head, prefix)) = first {
            self.state.borrow_mut().depart(self.rank, dst, head, prefix.to_vec());
        }
        for at in (0..len).step_by(fragment) {
            let mut payload = vec![UNWRITTEN; fragment.min(len - at)];
            fill(at, &mut payload, false);
            self.state.borrow_mut().send_fragment(self.rank, dst, rest, payload, paid);
            paid = true;
        }
        counters::add(&self.counters.packets_sent, 1);
        counters::add(&self.counters.bytes_sent, len as u64);
        Ok(())
    }
}

impl PeerMemory for SimTransport {
    fn can_read(&self, src: Rank) -> bool {
        let state = self.state.borrow();
        state.config.reads != Reads::Never && src < self.size && state.alive(src)
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let mut state = self.state.borrow_mut();
        state.may_copy(src, self.size)?;
        // SAFETY: `local` is valid for writes of `len` bytes (the caller's promise).
        unsafe { own_memory::read(remote, local, len)? };
        state.hold_back(self.rank);
        let percent = state.config.slow_reads_percent;
        self.read_was_slow = state.chance(percent);
        state.statistics.reads += 1;
        state.statistics.read_bytes += len as u64;
        counters::add(&self.counters.peer_bytes_read, len as u64);
        Ok(())
    }

    fn read_was_slow(&self) -> bool {
        self.read_was_slow
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let mut state = self.state.borrow_mut();
        state.may_copy(dst, self.size)?;
        // SAFETY: `local` is valid for reads of `len` bytes (the caller's promise).
        unsafe { own_memory::write(remote, local, len)? };
        state.statistics.writes += 1;
        counters::add(&self.counters.peer_bytes_written, len as u64);
        Ok(())
    }

    fn mapped(&mut self, _: Rank, remote: u64, _: u64) -> Option<*const u8> {
        // All processes are this one.
        (remote != 0).then(|| core::ptr::with_exposed_provenance(remote as usize))
    }

    fn lend(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let mut words = vec![0; bytes.div_ceil(size_of::<u128>())];
        let memory = NonNull::new(words.as_mut_ptr().cast::<u8>())?;
        // Others reach it by its address.
        memory.as_ptr().expose_provenance();
        self.lent.push(words);
        Some(memory)
    }

    fn mapped_mut(&mut self, owner: Rank, remote: u64, _: u64) -> Option<NonNull<u8>> {
        // All processes are this one.
        let there = owner < self.size;
        there.then(|| NonNull::new(core::ptr::with_exposed_provenance_mut(remote as usize)))?
    }
}

impl Streams for SimTransport {}

impl Segment for SimTransport {
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        self.coll_slots.split_copy(owner, index)
    }

    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        self.coll_slots.get(rank, index)
    }

    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        self.coll_slots.large_slot(rank, index, number)
    }

    fn announce(&self, reader: Rank) -> bool {
        self.wake(reader);
        false
    }

    fn wake(&self, _: Rank) {
        self.state.borrow_mut().activity += 1;
    }

    fn counters(&self) -> Option<&Counters> {
        Some(&self.counters)
    }
}
