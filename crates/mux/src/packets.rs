//! Packets: to ranks of our host through shared memory, to ranks of other hosts over the network.

use crate::mux::{Hosts, Mux};
use hpvm_transport::{Broken, Doorbell, Head, Limits, PREFIX, Packets, Rank, Refused, Segment};
use std::sync::Arc;

// Not inlined: messages that stay on a host must not pay for code that they do not run.
impl Mux {
    #[inline(never)]
    fn send_remote<const WITH_NEXT: bool, F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let Some(hosts) = &mut self.hosts else { return Err(Refused::NoBuffer) };
        if let Some((shm, slot)) = hosts.links.reach_mut(dst) {
            return shm.send(slot, head, len, fill);
        }
        let (net, dst) = match hosts.links.net_mut(dst) {
            Some(linked) => linked,
            None => (hosts.net.as_mut().ok_or(Refused::NoBuffer)?, dst),
        };
        hosts.poll_interval.expect();
        match WITH_NEXT {
            false => net.send(dst, head, len, fill),
            true => net.send_with_next(dst, head, len, fill),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_remote_credits(&mut self, dst: Rank) -> u16 {
        let Some(hosts) = &mut self.hosts else { return 0 };
        if let Some((shm, slot)) = hosts.links.reach_mut(dst) {
            return shm.take_credits(slot);
        }
        match hosts.links.net_mut(dst) {
            Some((net, member)) => net.grant(member),
            None => hosts.net.as_mut().map_or(0, |net| net.grant(dst)),
        }
    }
}

impl Hosts {
    #[inline(never)]
    fn poll_net<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let mut packets = 0;
        let mut busy = false;
        if let Some(net) = &mut self.net {
            packets += net.poll(budget, sink)?;
            busy = net.streams_busy();
        }
        if self.links.has_sockets() {
            packets += self.links.poll_sockets(budget, sink)?;
            busy |= self.links.streams_busy();
        }
        self.poll_interval.polled(packets);
        if busy {
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
    fn take_credits(&mut self, dst: Rank) -> u16 {
        match self.local(dst) {
            Some(local) => self.shm.take_credits(local),
            None => self.take_remote_credits(dst),
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
            None => self.send_remote::<false, F>(dst, head, len, fill),
        }
    }

    fn send_with_next<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        match self.local(dst) {
            Some(local) => self.shm.send(local, head, len, fill),
            None => self.send_remote::<true, F>(dst, head, len, fill),
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
        let mut packets = self.shm.poll(budget, |local, head, data| {
            // `Shm::poll` has checked that `local` is below the number of ranks in the segment.
            sink(ranks[local as usize], head, data);
        })?;
        if !hosts.links.is_empty() {
            packets += hosts.links.poll(budget, &mut sink)?;
        }
        let no_sockets = hosts.net.is_none() && !hosts.links.has_sockets();
        if no_sockets || hosts.poll_interval.skips(packets) {
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
        if !hosts.links.arm() {
            self.disarm();
            return false;
        }
        let mut deadline = hosts.links.deadline();
        if let Some(net) = &mut hosts.net {
            if let Some(counters) = self.shm.counters() {
                net.count(counters);
            }
            if !net.arm() {
                self.disarm();
                return false;
            }
            deadline = deadline.min(net.deadline());
        }
        hosts.bell.set_deadline(deadline);
        true
    }

    fn disarm(&mut self) {
        self.shm.disarm();
        if let Some(hosts) = &mut self.hosts {
            hosts.links.disarm();
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
    fn max_fragmented(&self, dst: Rank) -> u64 {
        self.local(dst).map_or(0, |local| self.shm.max_fragmented(local))
    }

    #[inline(always)]
    fn send_fragments<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let Some(local) = self.local(dst) else { return Err(Refused::NoBuffer) };
        self.shm.send_fragments(local, first, rest, len, fill)
    }

    #[inline(always)]
    fn stores_are_slow(&self, dst: Rank) -> bool {
        self.local(dst).is_some_and(|local| self.shm.stores_are_slow(local))
    }
}
