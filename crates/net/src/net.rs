//! Small messages to other hosts: the reliability protocol over one datagram socket.

use crate::auth::JobKey;
use crate::bulk::{self, MIN_STREAMED, Streams};
use crate::card::Card;
use crate::datagrams::{Admitted, Datagrams, Directory};
use crate::interfaces::{self, Interface};
use crate::ofi::Fabric;
use crate::ping::LivenessPort;
use crate::socket::{RECEIVE_BYTES_MAX, Received, Socket};
use crate::watch::Watch;
use crate::xdp::{PastKernel, PastKernelSettings};
use hpvm_bulk::FENCE;
use hpvm_ofi::{Provider, Rdma};
use hpvm_reliable::{Config, Dropped, Full, Hub};
use hpvm_transport::{Broken, Head, Rank, Refused};
use hpvm_wire::counters::Counters;
use hpvm_wire::envelope::{ENVELOPE, Envelope};
use hpvm_wire::lane::WhyUdp;
use hpvm_xdp::{Refusal, Why};
use std::io;
use std::net::TcpListener;
use std::os::fd::RawFd;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
/// Bytes of IP and UDP headers in the smallest and the largest case.
const BELOW_V4: usize = 28;
const BELOW_V6: usize = 48;
/// MTU of ordinary Ethernet, and of the largest frames of any.
const ETHERNET: usize = 1500;
const JUMBO: usize = 9000;
/// Most bytes that MPI and others put in front of a message.
const MESSAGE_HEAD_MAX: usize = 64;
/// Ports that are tried until one is free for datagrams and connections.
const TRIES: u32 = 64;
/// Longest time for which an address is waited for that cannot be used yet, and between two tries.
const SETTLING: Duration = Duration::from_secs(4);
const SETTLING_STEP: Duration = Duration::from_millis(50);

/// What a process decides before it talks to other hosts.
pub struct Settings {
    pub rank: Rank,
    /// Ranks of the job.
    pub size: u32,
    /// The number of the host of each rank.
    pub nodes: Vec<u32>,
    /// The addresses to tell and to use, from [`crate::interfaces::choose`].
    pub interfaces: Vec<Interface>,
    /// This host's name, for messages.
    pub host: String,
    /// Time without any sign of life after which a peer is given up, nanoseconds.
    pub timeout: u64,
    /// How datagrams go, or nothing is opened.
    pub lane: Lane,
    /// Whether libfabric reads long messages out of their senders' memory.
    pub rdma: Rdma,
    /// Whether each rank is at another site, so that only a gateway reaches it: its card is the gateway's. Empty: none is.
    pub far: Vec<bool>,
}

/// How datagrams travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lane {
    /// In messages of libfabric where the host has a card that it drives; else like `Udp`.
    Auto,
    /// Through the kernel, or past it: [`Opened::pass_kernel`].
    Udp,
    /// In messages of libfabric, by the provider of this name, or by the one that it prefers.
    Ofi(Option<String>),
}

/// Sockets that are open but talk to nobody yet: their port can be told to others.
pub struct Opened {
    settings: Settings,
    socket: Socket,
    past_kernel: Option<(PastKernel, String)>,
    /// Why not.
    why_udp: Option<WhyUdp>,
    fabric: Option<Fabric>,
    listener: TcpListener,
    liveness_port: LivenessPort,
}

/// One process's network to all other hosts: datagrams and streams.
pub struct Net {
    pub(crate) hub: Hub,
    pub(crate) datagrams: Datagrams,
    pub(crate) streams: Streams,
    buffer: Box<[u8]>,
    /// What the last receive brought, and how many bytes of it have been dealt with, if a budget ended before it did.
    unread: Option<(Received, usize)>,
    pub(crate) host: String,
    /// When to look for silent peers again.
    pub(crate) next_round: u64,
    pub(crate) watch: Watch,
    /// See [`Net::mark_dead`].
    dead: Vec<Rank>,
    /// See [`Settings::far`].
    pub(crate) far: Box<[bool]>,
    _liveness_port: LivenessPort,
    turns: u32,
}

/// CLOCK_MONOTONIC in nanoseconds: the time of everything in this crate.
#[inline]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: valid memory for the result; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

impl Opened {
    /// Opens the sockets.
    ///
    /// # Errors
    /// The system refuses: what was tried, for people.
    pub fn new(settings: Settings) -> Result<Opened, String> {
        let own = &settings.interfaces;
        // A socket for both families costs a little more per datagram.
        let six = own.iter().any(|i| i.subnet.ip.is_ipv6());
        let only = match own.as_slice() {
            [one] => Some((one.subnet.ip, one.index)),
            _ => None,
        };
        let open = || -> io::Result<(Socket, TcpListener)> {
            let mut result = Err(io::ErrorKind::AddrInUse.into());
            for _ in 0..TRIES {
                let socket = Socket::open(six, only)?;
                match socket.listen(only) {
                    Ok(listener) => return Ok((socket, listener)),
                    Err(e) => result = Err(e),
                }
            }
            result
        };
        let failed = |e| format!("opening a socket for other hosts: {e}");
        let (socket, listener) = settled(open).map_err(failed)?;
        let liveness_port = LivenessPort::reserve(six, only).map_err(failed)?;
        let fabric = match &settings.lane {
            Lane::Udp => None,
            // There is UDP where a card can't be used; hpvm doctor says why.
            Lane::Auto => Fabric::of_cards(own, settings.rdma).unwrap_or(None),
            Lane::Ofi(name) => {
                let provider = name.clone().map_or(Provider::Preferred, Provider::Named);
                Some(Fabric::open(own, provider, settings.rdma)?)
            }
        };
        let (past_kernel, why_udp) = (None, None);
        Ok(Opened { settings, socket, past_kernel, why_udp, fabric, listener, liveness_port })
    }

    /// From now on datagrams pass the kernel where they can (AF_XDP).
    ///
    /// # Errors
    /// Why they can't. They go through the kernel then.
    pub fn pass_kernel(&mut self, how: PastKernelSettings) -> Result<(), Refusal> {
        let own = &self.settings.interfaces;
        let only = if let [one] = own.as_slice() { Some(one.subnet.ip) } else { None };
        let opened = PastKernel::open(own, &self.socket, only, how);
        opened.map(|opened| self.past_kernel = Some(opened))
    }

    /// Why datagrams do not pass the kernel, as others see it.
    pub fn set_why_udp(&mut self, why: Why) {
        self.why_udp = Some(crate::xdp::why_udp(why));
    }

    /// How datagrams pass the kernel, and why not better, for people; `None`: they don't.
    pub fn xdp(&self) -> Option<&str> {
        self.past_kernel.as_ref().map(|(_, words)| words.as_str())
    }

    /// Which provider of libfabric is used, and where, for people; `None`: none.
    pub fn ofi(&self) -> Option<String> {
        self.fabric.as_ref().map(Fabric::text)
    }

    /// What the others need to know to find this process.
    pub fn card(&self) -> Card {
        let addresses = self.settings.interfaces.iter().map(|i| i.subnet).collect();
        Card {
            port: self.socket.port(),
            liveness_port: self.liveness_port.port(),
            host: self.settings.host.clone(),
            fabric: self.fabric.as_ref().map(Fabric::card),
            addresses,
        }
    }

    /// Begins to talk to those who know the job's `key`. `directory` tells the cards of others when
    /// they are needed.
    ///
    /// # Errors
    /// Settings that make no sense.
    pub fn join(self, key: JobKey, directory: Directory) -> Result<Net, String> {
        let Opened { settings, socket, past_kernel, why_udp, fabric, listener, liveness_port } =
            self;
        // Frames past the kernel are ordinary ones, and gateways know nothing of larger ones.
        let plain = past_kernel.is_none() && fabric.is_none() && settings.far.is_empty();
        let socket = (socket, past_kernel.map(|(past, _)| Box::new(past)), fabric.map(Box::new));
        let below = if socket.0.six() { BELOW_V6 } else { BELOW_V4 };
        let mtu = if plain { largest_mtu(&settings.interfaces) } else { ETHERNET };
        let config = Config {
            // All take this much, whatever their families: IPv4's smaller headers leave room.
            most_datagram: mtu - BELOW_V4 - ENVELOPE,
            most_probed: if mtu > ETHERNET { mtu - below - ENVELOPE } else { 0 },
            datagram: ETHERNET - below - ENVELOPE,
            packet: Config::default().packet + FENCE,
            ..if settings.far.is_empty() { Config::default() } else { between_sites() }
        };
        let hub = Hub::new(config, settings.size)?;
        let own = settings.interfaces;
        let bulk = bulk::Settings::default();
        let who = (settings.rank, settings.size);
        let streams = Streams::new(who, &key.derive(b"hpvm bulk streams"), listener, bulk);
        let mut datagrams =
            Datagrams::new((settings.rank, settings.size), key, socket, own, directory);
        datagrams.why_udp = why_udp;
        Ok(Net {
            hub,
            datagrams,
            streams,
            buffer: vec![0; RECEIVE_BYTES_MAX].into(),
            unread: None,
            host: settings.host,
            next_round: 0,
            watch: Watch::new(settings.timeout, settings.nodes),
            dead: Vec::new(),
            far: settings.far.into(),
            _liveness_port: liveness_port,
            turns: 0,
        })
    }
}

/// The largest MTU of any of these, as far as it is worth while; at least that of ordinary Ethernet. The path may carry less.
fn largest_mtu(interfaces: &[Interface]) -> usize {
    let cards = interfaces.iter().filter(|interface| !interface.loopback);
    let largest = cards.filter_map(|interface| interfaces::mtu(&interface.name)).max();
    largest.unwrap_or(ETHERNET).clamp(ETHERNET, JUMBO)
}

/// The settings for a job over several sites: 1024 datagrams fill a link of 100 Mbit/s with a delay of 100 ms, or one of
/// 1 Gbit/s with 10 ms, and datagrams that wait in a gateway are not sent again too early.
fn between_sites() -> Config {
    Config {
        window: 1024,
        receive_pool: 2048,
        send_pool: 2048,
        most_timeout: SECOND,
        slowest_growth: 8,
        look_every: SECOND,
        ..Config::default()
    }
}

pub(crate) fn is_far(far: &[bool], rank: Rank) -> bool {
    far.get(rank as usize).copied().unwrap_or(false)
}

/// Calls `open` until the address that it binds to can be used. The kernel first makes sure that nobody else has a new
/// IPv6 address, which takes a second or two.
fn settled<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..SETTLING.as_millis() / SETTLING_STEP.as_millis() {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                std::thread::sleep(SETTLING_STEP);
            }
            other => return other,
        }
    }
    open()
}

impl Net {
    /// Whether only a gateway reaches that rank.
    #[inline(always)]
    pub(crate) fn is_far(&self, rank: Rank) -> bool {
        is_far(&self.far, rank)
    }

    /// Descriptors whose readability means that something has come.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let past = self.datagrams.past_kernel.iter().flat_map(|past| past.descriptors());
        let fabric = self.datagrams.fabric.iter().filter_map(|fabric| fabric.descriptor());
        past.chain(fabric).chain([self.datagrams.socket.fd(), self.streams.descriptor()]).collect()
    }

    /// What comes later to be watched also wakes who waits at `epoll`, which outlives this.
    pub fn wake_at(&mut self, epoll: RawFd) {
        self.streams.wake_at(epoll);
    }

    /// See [`hpvm_transport::Packets::take_credits`].
    #[inline]
    pub fn grant(&mut self, dst: Rank) -> u16 {
        self.hub.grant(dst)
    }

    /// See [`hpvm_transport::Packets::send`].
    #[inline]
    pub fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        let now = now();
        self.push(now, dst, (head, len), fill)?;
        let datagrams = &mut self.datagrams;
        self.hub.transmit_to(now, dst, &mut |rank, body| datagrams.post(now, rank, body));
        self.datagrams.flush(now);
        self.streams.answered(dst);
        Ok(())
    }

    /// See [`hpvm_transport::Packets::send_with_next`].
    pub fn send_with_next<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        self.push(now(), dst, (head, len), fill)
    }

    /// Bytes of the longest message that goes to `peer` in one frame, with what MPI puts in front of it. Where frames are large it takes
    /// less time than a stream.
    pub(crate) fn one_frame(&self, peer: Rank) -> u64 {
        self.hub.one_datagram(peer).saturating_sub(MESSAGE_HEAD_MAX) as u64
    }

    /// Takes a packet that leaves with the next transmission to `dst`, or in the next turn.
    #[inline(always)]
    fn push<F: FnOnce(&mut [u8])>(
        &mut self,
        now: u64,
        dst: Rank,
        (head, len): (Head, usize),
        fill: F,
    ) -> Result<(), Refused> {
        let hub = &self.hub;
        if self.streams.is_ahead(dst, || hub.pushed(dst)) {
            return Err(Refused::NoBuffer);
        }
        let pushed = match self.streams.fence(dst) {
            None => self.hub.push(now, dst, head, len, fill),
            Some(fence) => self.push_fenced(now, dst, (head, len), fill, fence),
        };
        if pushed.is_err() {
            return Err(Refused::NoBuffer);
        }
        if len as u64 >= MIN_STREAMED && !self.is_far(dst) {
            self.streams.meet(now, dst);
        }
        Ok(())
    }

    /// Sends a packet with a fence: streams have been opened since the last packet to `dst`, and the packet says how many.
    #[cold]
    fn push_fenced<F: FnOnce(&mut [u8])>(
        &mut self,
        now: u64,
        dst: Rank,
        (head, len): (Head, usize),
        fill: F,
        fence: u32,
    ) -> Result<(), Full> {
        let head = Head { flags: head.flags | Head::TRANSPORT, ..head };
        self.hub.push(now, dst, head, len + FENCE, |out| {
            let (payload, last) = out.split_at_mut(len);
            fill(payload);
            last.copy_from_slice(&fence.to_le_bytes());
        })?;
        self.streams.fenced(dst);
        Ok(())
    }

    /// Receives what has come and sends what is due. Returns how many packets were delivered.
    ///
    /// # Errors
    /// The socket does not work any more, or a peer is lost.
    #[inline]
    pub fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let now = now();
        // When bytes of streams have just moved, datagrams are less likely to come, and the socket is polled less often.
        self.turns = self.turns.wrapping_add(1);
        let skips = !self.turns.is_multiple_of(self.streams.leaves_turns());
        let mut packets = if skips { 0 } else { self.receive_datagrams(now, budget, sink)? };
        self.send_due(now)?;
        if self.streams.is_due() {
            packets += self.stream(now)?;
        }
        packets += usize::from(self.has_read_end());
        if self.streams.holds() {
            let hub = &self.hub;
            packets += self.streams.release(|rank| hub.delivered(rank), sink);
        }
        Ok(packets)
    }

    /// Reads datagrams, checks them, and delivers the packets in them. Returns how many packets were delivered.
    #[inline(always)]
    fn receive_datagrams<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        now: u64,
        budget: usize,
        sink: &mut F,
    ) -> Result<usize, Broken> {
        let mut packets = 0;
        let mut bytes = 0;
        while bytes < budget {
            let (received, begin) = match self.unread.take() {
                Some(unread) => unread,
                None => match self.datagrams.receive(now, &mut self.buffer) {
                    Ok(Some(received)) => (received, 0),
                    Ok(None) => break,
                    Err(e) => return Err(socket_failed(&e)),
                },
            };
            let mut rest = &self.buffer[begin..received.len];
            while !rest.is_empty() {
                if bytes >= budget {
                    // It brought several datagrams.
                    let done = received.len - rest.len();
                    self.unread = Some((received, done));
                    return Ok(packets);
                }
                let Some((datagram, later)) = Envelope::open(rest) else {
                    self.datagrams.stranger();
                    break;
                };
                rest = later;
                let admitted = self.datagrams.admit(now, &datagram, &received);
                let Admitted::Data(src, body) = admitted else {
                    continue;
                };
                let mut deliver = |head: Head, data: &[u8]| {
                    bytes += 64 + data.len();
                    if data.len() as u64 >= MIN_STREAMED && !is_far(&self.far, src) {
                        self.streams.meet(now, src);
                    }
                    if self.streams.holds() || head.flags & Head::TRANSPORT != 0 {
                        self.streams.packet((now, src), head, data, sink);
                    } else {
                        sink(src, head, data);
                    }
                };
                // What was dropped is counted by the hub.
                match self.hub.on_datagram(now, src, body, &mut deliver) {
                    Ok(delivered) => packets += delivered,
                    Err(Dropped::Duplicate) => self.datagrams.repeated(now, src),
                    Err(_) => {}
                }
            }
            // Few packets have come: deliver them now, without another system call to see whether there are more.
            if packets > 0 && bytes < RECEIVE_BYTES_MAX / 2 {
                break;
            }
        }
        Ok(packets)
    }

    /// Moves bytes of streams. Returns 1 when some moved, so that the progress step counts as one that did something.
    #[inline(never)]
    fn stream(&mut self, now: u64) -> Result<usize, Broken> {
        let datagrams = &mut self.datagrams;
        match self.streams.turn(now, &mut |rank| datagrams.ways(rank)) {
            Ok(moved) => Ok(usize::from(moved || self.streams.has_done())),
            Err(nonsense) => Err(self.nonsense(&nonsense)),
        }
    }

    #[cold]
    pub(crate) fn nonsense(&self, nonsense: &hpvm_bulk::Nonsense) -> Broken {
        Broken::Corrupt(format!("{}: {}", self.datagrams.describe(nonsense.peer), nonsense.what))
    }

    /// Sends what is due: retransmissions, acknowledgements, questions to silent peers.
    #[inline]
    fn send_due(&mut self, now: u64) -> Result<(), Broken> {
        let waits = !self.datagrams.is_flushed() || self.datagrams.is_pending();
        if waits || self.hub.has_work(now) {
            self.transmit(now);
        }
        self.datagrams.turn(now);
        if now >= self.next_round { self.look_around(now) } else { Ok(()) }
    }

    #[inline(never)]
    fn transmit(&mut self, now: u64) {
        let datagrams = &mut self.datagrams;
        datagrams.flush(now);
        if datagrams.is_flushed() {
            self.hub.transmit(now, &mut |rank, body| datagrams.post(now, rank, body));
            datagrams.flush(now);
        }
        while let Some((rank, size)) = self.datagrams.take_too_large() {
            let size = if size == 0 { self.hub.config().least_datagram } else { size };
            self.hub.set_datagram(rank, size);
        }
    }

    /// Prepares to sleep: sends everything that can be sent, acknowledgements included. False:
    /// something has come.
    pub fn arm(&mut self) -> bool {
        let now = now();
        self.hub.flush_acks(now);
        // A peer that is lost comes out of the next poll.
        if self.send_due(now).is_err() {
            self.next_round = 0;
            return false;
        }
        let waits = self.unread.is_some() || self.datagrams.readable(now);
        !waits && self.streams_rest(now) && self.deadline() > now
    }

    /// Whether no bytes of streams can be moved now, so that this process may sleep until the kernel wakes it. An error
    /// is reported by the next poll.
    fn streams_rest(&mut self, now: u64) -> bool {
        self.streams.look(now);
        let datagrams = &mut self.datagrams;
        let moved = self.streams.last_turn(now, &mut |rank| datagrams.ways(rank));
        match moved {
            Ok(moved) => !moved && !self.streams.has_done(),
            Err(nonsense) => {
                self.streams.fail(nonsense);
                false
            }
        }
    }

    /// Until when the process may sleep.
    pub fn deadline(&mut self) -> u64 {
        let hub = self.hub.deadline().unwrap_or(u64::MAX);
        let datagrams = self.datagrams.deadline().unwrap_or(u64::MAX);
        let waits = !self.datagrams.is_flushed() || self.datagrams.is_pending();
        let stuck = if waits { now() + 1_000_000 } else { u64::MAX };
        let rests = self.owes_nothing();
        let round = if rests { u64::MAX } else { self.next_round };
        let streams = self.streams.deadline().unwrap_or(u64::MAX);
        hub.min(datagrams).min(stuck).min(round).min(streams)
    }

    /// Streams have something to do: bytes move, or a connection is made.
    #[inline(always)]
    pub fn streams_busy(&self) -> bool {
        self.streams.busy()
    }

    /// Everything that was sent has been acknowledged, except by ranks that have died.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet_with(|_| true)
    }

    /// The same for what was sent to the ranks whom it `concerns` only.
    pub fn is_quiet_with(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        self.owes_nothing_to(concerns) && self.datagrams.is_flushed()
    }

    fn owes_nothing(&self) -> bool {
        self.owes_nothing_to(|_| true)
    }

    fn owes_nothing_to(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        let others = |peer| !concerns(peer) || self.is_dead(peer);
        self.hub.all_acknowledged_but_by(others) && self.streams.is_quiet_but_for(others)
    }

    /// That rank has died, and the job goes on: nobody waits for its acknowledgements any more.
    pub fn mark_dead(&mut self, rank: Rank) {
        if !self.is_dead(rank) {
            self.dead.push(rank);
        }
    }

    pub(crate) fn is_dead(&self, rank: Rank) -> bool {
        self.dead.contains(&rank)
    }

    /// Shows what the datagrams and the streams have counted.
    pub fn count(&self, counters: &Counters) {
        let hub = self.hub.counters();
        let tally = &self.datagrams.tally;
        let bulk = self.streams.counters();
        let (lane, lane_sent, lane_received) = self.datagrams.lane_tally();
        let dropped = hub.duplicates
            + hub.replayed
            + hub.outside
            + hub.garbage
            + hub.no_room
            + self.datagrams.refused();
        for (counter, value) in [
            (&counters.datagrams_sent, tally.sent),
            (&counters.datagrams_received, tally.received),
            (&counters.lane, lane.to_word()),
            (&counters.lane_sent, lane_sent),
            (&counters.lane_received, lane_received),
            (&counters.net_peers, self.datagrams.known() as u64),
            (&counters.lane_peers, self.datagrams.lane_peers()),
            (&counters.datagrams_resent, hub.retransmitted),
            (&counters.datagrams_dropped, dropped),
            (&counters.strangers, tally.strangers + bulk.strangers + bulk.forged),
            (&counters.chunks_sent, bulk.chunks_sent),
            (&counters.chunks_received, bulk.chunks_received),
            (&counters.chunks_resent, bulk.resent + bulk.moved),
            (&counters.connections_broken, bulk.broken),
        ] {
            hpvm_wire::counters::set(counter, value);
        }
    }
}

fn socket_failed(cause: &io::Error) -> Broken {
    Broken::Failed(format!("receiving from other hosts: {cause}"))
}
