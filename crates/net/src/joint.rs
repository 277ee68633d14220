//! One transport out of two: shared memory between the ranks of a host, the network between hosts.
//!
//! A job on one host pays one branch per call for it. In a job on several hosts, looking at a
//! socket costs a system call, so it is not looked at in every turn: see [`Pace`].

use crate::bell::Bell;
use crate::bulk::LEAST;
use crate::net::{Net, now};
use crate::pace::Pace;
use hpvm_shm::{Mapping, Shm};
use hpvm_transport::{
    Broken, Doorbell, Head, Landing, Limits, Memory, PREFIX, Packets, PeerMemory, PullRefused,
    Rank, Refused, Segment, Streamed, Streams,
};
use hpvm_wire::board::{Board, Sheet};
use hpvm_wire::counters::Counters;
use hpvm_wire::duet::Duet;
use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::Arc;

/// Place of a rank that runs on another host.
const ELSEWHERE: u32 = u32::MAX;

/// A rank's end of the job's network.
pub struct Joint {
    shm: Shm,
    rank: Rank,
    size: u32,
    hosts: Option<Box<Hosts>>,
}

/// What there is only in a job on several hosts.
struct Hosts {
    /// Place of each rank in our host's segment, or `ELSEWHERE`.
    places: Box<[u32]>,
    /// The rank at each place.
    ranks: Box<[Rank]>,
    net: Net,
    pace: Pace,
    bell: Arc<Bell>,
}

impl Joint {
    /// The ranks of one host are the whole job.
    pub fn alone(shm: Shm) -> Joint {
        Joint { rank: shm.rank(), size: shm.size(), shm, hosts: None }
    }

    /// `shm` joins the ranks of this host, of which `ranks` tells the numbers in the job, in the
    /// order of their places; `net` reaches the others of the `size` ranks.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub fn across(mut shm: Shm, ranks: Vec<Rank>, size: u32, mut net: Net) -> io::Result<Joint> {
        let local = shm.rank();
        let rank = ranks[local as usize];
        let mut places = vec![ELSEWHERE; size as usize];
        for (place, rank) in (0..).zip(&ranks) {
            places[*rank as usize] = place;
        }
        let bell = Bell::new(shm.mapping().clone(), local, &net.descriptors())?;
        net.wake_at(bell.epoll());
        shm.sleep_on(bell.pipe());
        shm.show_rank(rank);
        let hosts = Hosts {
            places: places.into(),
            ranks: ranks.into(),
            net,
            pace: Pace::default(),
            bell: Arc::new(bell),
        };
        Ok(Joint { shm, rank, size, hosts: Some(Box::new(hosts)) })
    }

    /// The memory of this host's ranks.
    pub fn mapping(&self) -> &Arc<Mapping> {
        self.shm.mapping()
    }

    /// Our place in `mapping`.
    pub fn place(&self) -> u32 {
        self.shm.rank()
    }

    /// See [`Shm::shares_processor`].
    pub fn shares_processor(&self) -> bool {
        self.shm.shares_processor()
    }

    /// See [`Shm::lend`].
    pub fn lend(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.shm.lend(bytes)
    }

    /// See [`Shm::take_back`].
    pub fn take_back(&mut self, memory: *mut u8) -> bool {
        self.shm.take_back(memory)
    }

    /// See [`Shm::spread`].
    pub fn spread(&mut self) {
        self.shm.spread();
    }

    /// See [`Shm::show_processor`].
    #[inline]
    pub fn show_processor(&self) -> u32 {
        self.shm.show_processor()
    }

    /// See [`Shm::processor`]; 0 for a rank of another host.
    #[inline]
    pub fn processor(&self, rank: Rank) -> u32 {
        self.local(rank).map_or(0, |place| self.shm.processor(place))
    }

    /// The place of a rank on this host.
    #[inline(always)]
    fn local(&self, rank: Rank) -> Option<u32> {
        let Some(hosts) = &self.hosts else { return Some(rank) };
        hosts.places.get(rank as usize).copied().filter(|place| *place != ELSEWHERE)
    }

    /// Every packet that was sent to other hosts has been acknowledged.
    pub fn is_quiet(&self) -> bool {
        self.hosts.as_ref().is_none_or(|h| h.net.is_quiet())
    }

    /// From now on `fd` wakes this rank as well, when it becomes readable.
    ///
    /// # Errors
    /// It can't be watched.
    pub fn watch(&self, fd: RawFd) -> io::Result<()> {
        self.hosts.as_ref().map_or(Ok(()), |h| h.bell.watch(fd))
    }

    /// The job spans several hosts.
    pub fn spans_hosts(&self) -> bool {
        self.hosts.is_some()
    }
}

// Kept out of the callers: what stays on a host must not pay for code that it does not run.
impl Joint {
    #[inline(never)]
    fn send_elsewhere<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let Some(hosts) = &mut self.hosts else { return Err(Refused::NoBuffer) };
        hosts.pace.expect();
        hosts.net.send(dst, head, len, fill)
    }

    #[cold]
    #[inline(never)]
    fn grant_elsewhere(&mut self, dst: Rank) -> u16 {
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
        self.pace.looked(packets);
        if self.net.streams.busy() {
            self.pace.expect();
        }
        Ok(packets)
    }
}

impl Packets for Joint {
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
            Some(place) => self.shm.grant(place),
            None => self.grant_elsewhere(dst),
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
            Some(place) => self.shm.send(place, head, len, fill),
            None => self.send_elsewhere(dst, head, len, fill),
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
        let packets = self.shm.poll(budget, |place, head, data| {
            // A place that the segment's owner has checked is below the number of ranks there.
            sink(ranks[place as usize], head, data);
        })?;
        if hosts.pace.passes(packets) {
            return Ok(packets);
        }
        Ok(packets + hosts.poll_net(budget, &mut sink)?)
    }

    fn arm(&mut self) -> bool {
        let Some(hosts) = &mut self.hosts else { return self.shm.arm() };
        hosts.pace.look_next();
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
        self.local(dst).map_or(0, |place| self.shm.pieces(place))
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
        let Some(place) = self.local(dst) else { return Err(Refused::NoBuffer) };
        self.shm.send_pieces(place, first, rest, len, fill)
    }

    #[inline(always)]
    fn writes_slowly(&self, dst: Rank) -> bool {
        self.local(dst).is_some_and(|place| self.shm.writes_slowly(place))
    }
}

impl PeerMemory for Joint {
    fn can_pull(&self, src: Rank) -> bool {
        let Some(hosts) = &self.hosts else { return self.shm.can_pull(src) };
        hosts.places.get(src as usize).is_some_and(|p| self.shm.can_pull(*p))
    }

    fn may_pull(&self, src: Rank) -> bool {
        let Some(hosts) = &self.hosts else { return self.shm.may_pull(src) };
        hosts.places.get(src as usize).is_some_and(|p| self.shm.may_pull(*p))
    }

    unsafe fn pull(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PullRefused> {
        let place = self.hosts.as_ref().map_or(src, |h| h.places[src as usize]);
        if place == ELSEWHERE {
            return Err(PullRefused::NotPermitted);
        }
        // SAFETY: the caller's promise.
        unsafe { self.shm.pull(place, remote, local, len) }
    }

    unsafe fn push(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PullRefused> {
        let place = self.local(dst).ok_or(PullRefused::NotPermitted)?;
        // SAFETY: the caller's promise.
        unsafe { self.shm.push(place, remote, local, len) }
    }

    fn lent(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.shm.lent(self.local(src)?, remote, len)
    }

    fn window(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.shm.window(self.local(src)?, remote, len)
    }

    fn lend_memory(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.shm.lend(bytes)
    }
}

impl Streams for Joint {
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        len >= LEAST && hosts.places.get(peer as usize) == Some(&ELSEWHERE)
    }

    fn can_open(&self, dst: Rank, len: u64) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        self.can_stream(dst, len) && hosts.net.streams.may_open(dst)
    }

    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        stream: (u64, Head),
        source: (Memory, u64),
        unasked: bool,
    ) {
        let Some(hosts) = &mut self.hosts else { return };
        hosts.pace.expect();
        // SAFETY: the caller's promise.
        unsafe { hosts.net.open_stream(dst, stream, source, unasked) };
    }

    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        let Some(hosts) = &mut self.hosts else { return };
        hosts.pace.expect();
        // SAFETY: the caller's promise.
        unsafe { hosts.net.streams.send(now(), (dst, number), from, len) };
    }

    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let Some(hosts) = &mut self.hosts else { return };
        hosts.pace.expect();
        // SAFETY: the caller's promise.
        unsafe { hosts.net.streams.receive(now(), src, number, to) };
    }

    #[inline(always)]
    fn streamed(&mut self) -> Option<Streamed> {
        match &mut self.hosts {
            None => None,
            Some(hosts) => hosts.net.streams.done(),
        }
    }
}

impl Segment for Joint {
    fn duet(&self, owner: Rank, place: usize) -> Option<&Duet> {
        self.shm.duet(self.local(owner)?, place)
    }

    fn counters(&self) -> Option<&Counters> {
        self.shm.counters()
    }

    #[inline(always)]
    fn board(&self, rank: Rank, index: usize) -> Option<&Board> {
        self.shm.board(self.local(rank)?, index)
    }

    #[inline(always)]
    fn sheet(&self, rank: Rank, index: usize, number: u64) -> Option<&Sheet> {
        self.shm.sheet(self.local(rank)?, index, number)
    }

    #[inline(always)]
    fn knock(&self, dst: Rank) {
        if let Some(place) = self.local(dst) {
            self.shm.knock(place);
        }
    }
}
