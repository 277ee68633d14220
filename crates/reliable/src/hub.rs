//! The links of one process.

use crate::Peer;
use crate::config::Config;
use crate::counters::Counters;
use crate::incoming::Incoming;
use crate::link::{End, Link};
use crate::outgoing::Outgoing;
use crate::pool::Pool;
use crate::shared::Shared;
use core::cmp::Reverse;
use hpvm_wire::Head;
use hpvm_wire::datagram::{HEADER, RECORD};
use std::collections::{BinaryHeap, VecDeque};

/// How many links are looked at in a search for idle ones.
const LOOK_AT: usize = 16;
/// Entries among the timers above four per link after which outdated ones are thrown out.
const SLACK: usize = 64;
/// A peer without a link.
const NO_LINK: u32 = u32::MAX;

/// No room for a packet now: its credit is not used up. Hand in datagrams, then try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a datagram was not used. Each kind is counted; none is a reason to do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// No correct peer sends these bytes.
    Garbage,
    /// This transmission has come before, or is too far behind to tell.
    Replayed,
    /// Its data have come before. Its acknowledgements were used.
    Duplicate,
    /// Its data lie outside of the window. Its acknowledgements were used.
    Outside,
    /// There is no buffer to keep it until what is missing before it has come.
    NoRoom,
}

/// What became of a datagram that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way, or lost like any other.
    Taken,
    /// The socket is full. The datagram is handed out again by a later call.
    Later,
    /// It is too large for the path (EMSGSIZE), which carries datagrams of at most so many bytes,
    /// counted as [`Config::datagram`] is; 0 when that is not known.
    TooLarge(usize),
}

/// What a peer has not acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Datagrams, sent or waiting for the window.
    pub datagrams: u32,
    /// Packets that begin in them.
    pub packets: u64,
    /// When the oldest of them was first waited for, and when the peer last gave a sign of life
    /// (0: never), in the caller's time.
    pub since: u64,
    pub heard: u64,
}

/// The links of one process to its peers. A peer costs four bytes until it is first talked to.
///
/// Peers are numbered below the `peers` of [`Hub::new`]; another number is a bug of the caller,
/// and panics.
pub struct Hub {
    shared: Shared,
    /// The index in `links` of each peer's link.
    index: Box<[u32]>,
    links: Vec<Link>,
    /// Links that have something to send.
    queue: VecDeque<u32>,
    /// When to look at which link: of its entries the one that equals `Link::timer` counts, and
    /// it is never later than the link's deadline.
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    look_at: u64,
    look_from: usize,
}

impl Hub {
    /// Err: the settings contradict each other; the text says which.
    /// `peers` is the size of the job.
    pub fn new(config: Config, peers: u32) -> Result<Hub, String> {
        config.check()?;
        Ok(Hub {
            shared: Shared::new(config),
            index: vec![NO_LINK; peers as usize].into(),
            links: Vec::new(),
            queue: VecDeque::new(),
            timers: BinaryHeap::new(),
            look_at: 0,
            look_from: 0,
        })
    }

    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Credits toward `peer`: so many packets of at most [`Hub::small`] bytes are sure to be
    /// taken by [`Hub::push`]. 0 when there is no room now. A credit holds a queue entry; ask when the
    /// last one is used up.
    pub fn grant(&mut self, peer: Peer) -> u16 {
        let i = self.link(peer);
        self.links[i as usize].grant(&mut self.shared)
    }

    /// Payload bytes up to which a packet with a credit is never refused.
    pub fn small(&self) -> usize {
        self.shared.config.least_datagram - HEADER - RECORD
    }

    /// Takes a packet of `len` payload bytes, which `fill` writes in place, all of them. A packet
    /// that is taken is delivered in the end. Uses up a credit when it returns `Ok`, and may
    /// refuse a packet of more than [`Hub::small`] bytes in spite of one (then `fill` does not
    /// run); without a credit, or above [`Config::packet`], it refuses any. Sends nothing yet:
    /// [`Hub::transmit_to`] does.
    #[inline]
    pub fn push(
        &mut self,
        now: u64,
        peer: Peer,
        head: Head,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        let i = self.link(peer);
        let link = &mut self.links[i as usize];
        link.push(now, &mut self.shared, (head, len), fill)?;
        // No timer runs for what has not been sent.
        self.queue_data(i);
        Ok(())
    }

    /// Uses a datagram that `peer` has sent (authentication is the caller's) and delivers the
    /// packets that are complete with it, in order. Returns how many: seldom more than fit into
    /// one datagram, but all that waited behind a missing datagram when that one comes.
    #[inline]
    pub fn on_datagram(
        &mut self,
        now: u64,
        peer: Peer,
        bytes: &[u8],
        deliver: &mut impl FnMut(Head, &[u8]),
    ) -> Result<usize, Dropped> {
        let i = self.link(peer);
        self.shared.counters.datagrams_received += 1;
        let outcome = self.links[i as usize].on_datagram(now, &mut self.shared, bytes, deliver);
        if let Err(dropped) = outcome {
            self.count(dropped);
        }
        self.schedule(now, i);
        outcome
    }

    #[cold]
    fn count(&mut self, dropped: Dropped) {
        let counters = &mut self.shared.counters;
        *match dropped {
            Dropped::Garbage => &mut counters.garbage,
            Dropped::Replayed => &mut counters.replayed,
            Dropped::Duplicate => &mut counters.duplicates,
            Dropped::Outside => &mut counters.outside,
            Dropped::NoRoom => &mut counters.no_room,
        } += 1;
    }

    /// True when [`Hub::transmit`] has something to do: something may be sent, or a timer is due.
    #[inline]
    pub fn has_work(&self, now: u64) -> bool {
        !self.queue.is_empty() || self.timers.peek().is_some_and(|Reverse((at, _))| *at <= now)
    }

    /// Hands out every datagram that may be sent now, several to one peer in a row, until `out`
    /// says [`Sent::Later`]. Returns how many were taken. The bytes are valid during the call only.
    pub fn transmit(&mut self, now: u64, out: &mut impl FnMut(Peer, &[u8]) -> Sent) -> usize {
        self.fire(now);
        let mut taken = 0;
        while let Some(i) = self.queue.pop_front() {
            let link = &mut self.links[i as usize];
            link.queued = false;
            let end = link.transmit(now, &mut self.shared, &mut taken, out);
            if end == End::Blocked {
                link.queued = true;
                self.queue.push_front(i);
                break;
            }
            // After a burst the others have a turn.
            self.schedule(now, i);
        }
        if now >= self.look_at {
            self.look_around(now);
        }
        taken
    }

    /// The same for one peer, without looking at timers: to follow a `push`.
    #[inline]
    pub fn transmit_to(
        &mut self,
        now: u64,
        peer: Peer,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) -> usize {
        let i = self.link(peer);
        let mut taken = 0;
        let link = &mut self.links[i as usize];
        link.transmit(now, &mut self.shared, &mut taken, out);
        // The usual case: it is the only link in the queue.
        if link.queued && self.queue.len() == 1 {
            link.queued = false;
            self.queue.clear();
        }
        self.schedule(now, i);
        taken
    }

    /// When `transmit` has something to do although nothing comes: until then the caller may
    /// sleep. None: until a datagram comes. Ask after `transmit` has emptied its queue; what a
    /// full socket holds up is not a matter of time.
    pub fn deadline(&mut self) -> Option<u64> {
        while let Some(Reverse((at, i))) = self.timers.peek().copied() {
            let link = &mut self.links[i as usize];
            if at == link.timer {
                let due = link.deadline(&self.shared);
                if due <= at {
                    return Some(at);
                }
                link.timer = u64::MAX;
                self.timers.pop();
                self.set_timer(i, due);
            } else {
                self.timers.pop();
            }
        }
        None
    }

    /// Makes acknowledgements that wait for data to travel with go out with the next `transmit`:
    /// before the process stops calling for long, or ends.
    pub fn flush_acks(&mut self, now: u64) {
        for i in 0..self.links.len() as u32 {
            self.links[i as usize].flush_acks();
            self.schedule(now, i);
        }
    }

    /// Packets to `peer` that were taken so far. Wraps.
    pub fn pushed(&self, peer: Peer) -> u32 {
        self.links.get(self.index[peer as usize] as usize).map_or(0, |link| link.pushed)
    }

    /// Packets of `peer` that were delivered so far, by the calls that have returned. Wraps.
    pub fn delivered(&self, peer: Peer) -> u32 {
        self.links.get(self.index[peer as usize] as usize).map_or(0, |link| link.delivered)
    }

    /// Calls `each` with every peer that has ever been heard, and when last.
    pub fn each_heard(&self, mut each: impl FnMut(Peer, u64)) {
        for link in &self.links {
            if let heard @ 1.. = link.heard() {
                each(link.peer, heard);
            }
        }
    }

    /// Calls `each` with every peer that has had something to acknowledge for `timeout` and has
    /// given no sign of life for that long. Decides nothing: what a silent peer means (its host
    /// may be well and its process computing) the caller knows.
    pub fn silent(&self, now: u64, timeout: u64, mut each: impl FnMut(Peer, Pending)) {
        for link in self.links.iter().filter(|link| !link.is_done()) {
            let pending = link.pending();
            if now.saturating_sub(pending.since.max(pending.heard)) >= timeout {
                each(link.peer, pending);
            }
        }
    }

    /// What `peer` has not acknowledged.
    pub fn pending(&self, peer: Peer) -> Pending {
        match self.index[peer as usize] {
            NO_LINK => Pending::default(),
            i => self.links[i as usize].pending(),
        }
    }

    /// True when every peer has acknowledged everything: the process may end, after
    /// `flush_acks`, `transmit`, and some time in which it answers peers whose last
    /// acknowledgement was lost.
    pub fn all_acknowledged(&self) -> bool {
        self.all_acknowledged_but_by(|_| false)
    }

    /// The same, whatever those who are `gone` have not acknowledged.
    pub fn all_acknowledged_but_by(&self, gone: impl Fn(Peer) -> bool) -> bool {
        self.links.iter().all(|link| link.is_done() || gone(link.peer))
    }

    /// The path to `peer` carries datagrams of at most `size` bytes, counted as
    /// [`Config::datagram`] is. What is on its way and larger counts as lost, and is sent again in
    /// parts; no larger size is tried until another call permits it.
    pub fn set_datagram(&mut self, peer: Peer, size: usize) {
        let i = self.link(peer);
        self.links[i as usize].set_datagram(&self.shared, size);
        self.queue_data(i);
    }

    /// Bytes of the longest packet to `peer` that is one datagram, by what is known of the path.
    pub fn one_datagram(&self, peer: Peer) -> usize {
        let link = self.links.get(self.index[peer as usize] as usize);
        let size = link.map_or(self.shared.config.datagram, Link::datagram);
        size.saturating_sub(HEADER + RECORD)
    }

    /// Links made so far.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Bytes of memory that the hub holds now.
    pub fn memory(&self) -> usize {
        let lists = self.links.capacity() * size_of::<Link>()
            + self.queue.capacity() * size_of::<u32>()
            + self.timers.capacity() * size_of::<(u64, u32)>();
        let links: usize = self.links.iter().map(Link::memory).sum();
        4 * self.index.len() + lists + links + self.shared.memory()
    }

    /// Bytes of memory that a hub with `links` links in a job of `peers` ever holds: buffers for
    /// `Config::most_buffers` datagrams, and per link its state, its windows and a packet.
    pub fn bound(config: &Config, peers: u32, links: usize) -> usize {
        let link = Outgoing::bound(config) + Incoming::bound(config);
        // Vectors double, and begin with a few entries.
        let lists = 2 * (links + 4) * (size_of::<Link>() + size_of::<u32>());
        let timers = 2 * (4 * links + SLACK + 4) * size_of::<(u64, u32)>();
        let buffers = Pool::bound(config.most_buffers(links), config.most_datagram);
        4 * peers as usize + links * link + lists + timers + buffers + config.packet
    }

    /// The link to a peer, made when it is first asked for.
    #[inline(always)]
    fn link(&mut self, peer: Peer) -> u32 {
        match self.index[peer as usize] {
            NO_LINK => self.make_link(peer),
            i => i,
        }
    }

    #[cold]
    fn make_link(&mut self, peer: Peer) -> u32 {
        let i = self.links.len() as u32;
        self.links.push(Link::new(peer, &mut self.shared));
        self.index[peer as usize] = i;
        i
    }

    /// After anything that happened to a link: it is queued if it has something to send, and
    /// there is a timer that is not too late.
    #[inline]
    fn schedule(&mut self, now: u64, i: u32) {
        let link = &mut self.links[i as usize];
        if !link.queued && link.has_work(now) {
            link.queued = true;
            self.queue.push_back(i);
        }
        // What is due already has put the link into the queue; the timer is set again when it has
        // been sent.
        let due = link.deadline(&self.shared);
        if due < link.timer && due > now {
            self.set_timer(i, due);
        }
    }

    /// Queues a link that has data to send.
    #[inline(always)]
    fn queue_data(&mut self, i: u32) {
        let link = &mut self.links[i as usize];
        if !link.queued && link.has_data() {
            link.queued = true;
            self.queue.push_back(i);
        }
    }

    fn set_timer(&mut self, i: u32, due: u64) {
        if due == u64::MAX {
            return;
        }
        if self.timers.len() >= 4 * self.links.len() + SLACK {
            let links = &self.links;
            self.timers.retain(|Reverse((at, i))| *at == links[*i as usize].timer);
        }
        self.links[i as usize].timer = due;
        self.timers.push(Reverse((due, i)));
    }

    /// Lets the links look whose time has come.
    #[inline]
    fn fire(&mut self, now: u64) {
        while let Some(Reverse((at, i))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let link = &mut self.links[i as usize];
            if at == link.timer {
                link.timer = u64::MAX;
                link.on_time(now, &mut self.shared);
                self.schedule(now, i);
            }
        }
    }

    /// Looks at a few links that may be idle.
    #[cold]
    fn look_around(&mut self, now: u64) {
        self.look_at = now + self.shared.config.look_every;
        for _ in 0..LOOK_AT.min(self.links.len()) {
            self.look_from = (self.look_from + 1) % self.links.len();
            self.links[self.look_from].look(now, &mut self.shared);
        }
        self.shared.pool.trim();
    }
}
