//! Packets: to ranks of our host through shared memory, to others over the network.

use crate::mux::{Hosts, Mux};
use hpvm_transport::{Broken, Doorbell, Head, Limits, PREFIX, Packets, Rank, Refused, Segment};
use std::sync::Arc;

// Kept out of the callers: what stays on a host must not pay for code that it does not run.
impl Mux {
    #[inline(never)]
    fn send_remote<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let Some(hosts) = &mut self.hosts else { return Err(Refused::NoBuffer) };
        hosts.poll_interval.expect();
        hosts.net.send(dst, head, len, fill)
    }

    #[cold]
    #[inline(never)]
    fn grant_remote(&mut self, dst: Rank) -> u16 {
        self.hosts.as_mut().map_or(0, |hosts| hosts.net.grant(dst))
    }
}

impl Hosts {
    #[inline(never)]
    fn poll_net<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let packets = self.net.poll(budget, sink)?;
        self.poll_interval.polled(packets);
        if self.net.streams_busy() {
            self.poll_interval.expect();
        }
        Ok(packets)
    }
}

impl Packets for Mux {
    #[inline(always)]
    fn rank(&self) -> Rank {
        self.rank
    }

    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }

    #[inline(always)]
    fn limits(&self) -> Limits {
        self.shm.limits()
    }

    #[inline]
    fn grant(&mut self, dst: Rank) -> u16 {
        match self.local(dst) {
            Some(local) => self.shm.grant(local),
            None => self.grant_remote(dst),
        }
    }

    #[inline(always)]
    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        match self.local(dst) {
            Some(local) => self.shm.send(local, head, len, fill),
            None => self.send_remote(dst, head, len, fill),
        }
    }

    #[inline(always)]
    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        let Some(hosts) = &mut self.hosts else { return self.shm.poll(budget, sink) };
        let ranks = &hosts.ranks;
        let packets = self.shm.poll(budget, |local, head, data| {
            // The segment has checked that it is below the number of ranks there.
            sink(ranks[local as usize], head, data);
        })?;
        if hosts.poll_interval.skips(packets) {
            return Ok(packets);
        }
        Ok(packets + hosts.poll_net(budget, &mut sink)?)
    }

    fn arm(&mut self) -> bool {
        let Some(hosts) = &mut self.hosts else { return self.shm.arm() };
        hosts.poll_interval.poll_next();
        if !self.shm.arm() {
            return false;
        }
        if let Some(counters) = self.shm.counters() {
            hosts.net.count(counters);
        }
        if !hosts.net.arm() {
            self.disarm();
            return false;
        }
        hosts.bell.set_deadline(hosts.net.deadline());
        true
    }

    fn disarm(&mut self) {
        self.shm.disarm();
        if let Some(hosts) = &self.hosts {
            hosts.bell.quieten();
        }
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        match &self.hosts {
            None => self.shm.doorbell(),
            Some(hosts) => hosts.bell.clone(),
        }
    }

    #[inline(always)]
    fn pieces(&self, dst: Rank) -> u64 {
        self.local(dst).map_or(0, |local| self.shm.pieces(local))
    }

    #[inline(always)]
    fn send_pieces<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let Some(local) = self.local(dst) else { return Err(Refused::NoBuffer) };
        self.shm.send_pieces(local, first, rest, len, fill)
    }

    #[inline(always)]
    fn writes_slowly(&self, dst: Rank) -> bool {
        self.local(dst).is_some_and(|local| self.shm.writes_slowly(local))
    }
}
