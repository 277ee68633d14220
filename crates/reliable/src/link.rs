//! The two directions between this process and one peer.

use crate::Peer;
use crate::config::{MS, PART_UNIT};
use crate::hub::{Dropped, Full, Pending, Sent};
use crate::incoming::Incoming;
use crate::outgoing::{Next, Outgoing};
use crate::replay::{Newness, Seen};
use crate::shared::Shared;
use crate::size::PathSize;
use hpvm_wire::Head;
use hpvm_wire::datagram::{self, Datagram, HEADER, Header, MAX_SACKS, PART_HEADER, TICK_SHIFT};

/// Datagrams handed out in one go before it is another peer's turn.
const BURST: usize = 64;
/// Words about what was buffered that a datagram of data carries.
const DATA_SACKS: usize = 4;
/// An idle link keeps its memory for so long.
const IDLE_LINK_KEPT_NS: u64 = 1000 * MS;

/// How a call of `transmit` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing more may be sent now.
    Empty,
    /// There is more, but others have a turn.
    More,
    /// The socket is full.
    Blocked,
}

pub(crate) struct Link {
    pub peer: Peer,
    /// It is in the hub's queue of links that have something to send.
    pub queued: bool,
    /// Its earliest entry among the hub's timers; MAX for none.
    pub timer: u64,
    outgoing: Outgoing,
    incoming: Incoming,
    size: PathSize,
    seen: Seen,
    /// Transmissions so far.
    number: u64,
    /// When the peer last gave a sign of life; 0 for never.
    heard: u64,
    /// Packets taken and delivered so far; both wrap.
    pub pushed: u32,
    pub delivered: u32,
}

impl Link {
    pub fn new(peer: Peer, shared: &mut Shared) -> Link {
        Link {
            peer,
            queued: false,
            timer: u64::MAX,
            outgoing: Outgoing::new(&shared.config),
            incoming: Incoming::new(shared),
            size: PathSize::new(&shared.config),
            seen: Seen::default(),
            number: 0,
            heard: 0,
            pushed: 0,
            delivered: 0,
        }
    }

    pub fn grant(&mut self, shared: &mut Shared) -> u16 {
        self.outgoing.grant(shared)
    }

    #[inline]
    pub fn push(
        &mut self,
        now: u64,
        shared: &mut Shared,
        packet: (Head, usize),
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        self.outgoing.push(now, shared, self.size.current(), packet, fill)?;
        self.pushed = self.pushed.wrapping_add(1);
        Ok(())
    }

    /// Uses a datagram; see [`crate::Hub::on_datagram`].
    #[inline]
    pub fn on_datagram(
        &mut self,
        now: u64,
        shared: &mut Shared,
        bytes: &[u8],
        deliver: &mut impl FnMut(Head, &[u8]),
    ) -> Result<usize, Dropped> {
        if bytes.len() > shared.config.most_datagram {
            return Err(Dropped::Garbage);
        }
        let datagram = Datagram::read(bytes).ok_or(Dropped::Garbage)?;
        let header = &datagram.header;
        match self.seen.is_new(header.number) {
            Newness::Old => return Err(Dropped::Replayed),
            Newness::Newest => self.incoming.newest(now, header),
            Newness::Late => {}
        }
        self.heard = now;
        if !self.outgoing.acknowledged(now, shared, &mut self.size, &datagram) {
            return Err(Dropped::Garbage);
        }
        if header.flags & datagram::DATA != 0 {
            let delivered = self.incoming.data(now, shared, &datagram, deliver)?;
            self.delivered = self.delivered.wrapping_add(delivered as u32);
            return Ok(delivered);
        }
        self.on_bare(now, shared, &datagram, bytes.len());
        Ok(0)
    }

    /// A datagram without data.
    fn on_bare(&mut self, now: u64, shared: &Shared, datagram: &Datagram<'_>, len: usize) {
        let flags = datagram.header.flags;
        if flags & datagram::PROBE != 0 {
            self.incoming.probed = Some(len as u16);
        }
        if flags & datagram::PROBED != 0
            && let Some(size) = datagram.payload.first_chunk::<2>()
        {
            self.size.answered(&shared.config, now, u16::from_le_bytes(*size) as usize);
        }
        if flags & datagram::WANT_ACK != 0 {
            self.incoming.acknowledge_at_once();
        }
    }

    /// Hands out what may be sent now.
    #[inline]
    pub fn transmit(
        &mut self,
        now: u64,
        shared: &mut Shared,
        taken: &mut usize,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) -> End {
        let mut burst = 0;
        while let Some(next) = self.outgoing.next(self.size.current(), shared.config.least_datagram)
        {
            if burst == BURST {
                return End::More;
            }
            if !self.send_data(now, shared, &next, taken, out) {
                return End::Blocked;
            }
            burst += 1;
        }
        if self.size.deadline() <= now || self.incoming.probed.is_some() {
            self.send_probes(now, shared, taken, out);
        }
        if self.incoming.ack_due(now) {
            return self.send_ack(now, shared, taken, out);
        }
        End::Empty
    }

    #[inline]
    fn header(&mut self, now: u64, flags: u8, seq: u32, sacks: usize) -> Header {
        self.number += 1;
        let echo = self.incoming.echo(now);
        Header {
            number: self.number,
            seq,
            ack: self.incoming.ack(),
            stamp: (now >> TICK_SHIFT) as u32,
            echo: echo.unwrap_or(0),
            window: self.incoming.advertise(),
            flags: if echo.is_some() { flags | datagram::ECHO } else { flags },
            sacks: sacks as u8,
        }
    }

    /// Sends a datagram of data. False: the socket is full.
    #[inline]
    fn send_data(
        &mut self,
        now: u64,
        shared: &mut Shared,
        next: &Next,
        taken: &mut usize,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) -> bool {
        let size = self.size.current();
        if next.end > size || next.part > 0 || next.small {
            return self.send_parts(now, shared, next, taken, out);
        }
        let room = shared.config.most_datagram.min(size) - next.end;
        let mut words = [0; MAX_SACKS];
        let (n, all) = self.incoming.sacks(&mut words, DATA_SACKS.min(room / 8));
        let header = self.header(now, next.flags, next.seq, n);
        let end = next.end + 8 * n;
        let bytes = &mut shared.pool.bytes(next.buffer)[..end];
        write(bytes, &header, next.end, &words[..n]);
        match out(self.peer, bytes) {
            Sent::Later => return false,
            Sent::TooLarge(limit) if end > shared.config.least_datagram => {
                self.too_large(now, shared, end, limit);
                return true;
            }
            Sent::Taken | Sent::TooLarge(_) => {}
        }
        *taken += 1;
        shared.counters.datagrams_sent += 1;
        self.incoming.acknowledged(all);
        self.outgoing.send_done(now, shared, next);
        true
    }

    /// Sends a datagram that the path does not carry whole. False: the socket is full.
    #[cold]
    fn send_parts(
        &mut self,
        now: u64,
        shared: &mut Shared,
        next: &Next,
        taken: &mut usize,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) -> bool {
        let least = shared.config.least_datagram;
        let size = if next.small { least } else { self.size.current() };
        let step = (size - HEADER - PART_HEADER) / PART_UNIT * PART_UNIT;
        let total = next.end - HEADER;
        let mut bytes = vec![0; HEADER + PART_HEADER + step];
        let mut offset = next.part;
        while offset < total {
            let len = step.min(total - offset);
            let end = HEADER + PART_HEADER + len;
            let header = self.header(now, next.flags | datagram::PART, next.seq, 0);
            write(&mut bytes[..end], &header, end, &[]);
            if let Some(part) = bytes[HEADER..].first_chunk_mut::<PART_HEADER>() {
                datagram::write_part(part, offset as u16, total as u16);
            }
            let from = HEADER + offset;
            bytes[HEADER + PART_HEADER..end]
                .copy_from_slice(&shared.pool.bytes(next.buffer)[from..from + len]);
            match out(self.peer, &bytes[..end]) {
                Sent::Later => {
                    self.outgoing.parts_done(next.seq, offset);
                    return false;
                }
                Sent::TooLarge(limit) if end > least => {
                    self.outgoing.parts_done(next.seq, 0);
                    self.too_large(now, shared, end, limit);
                    return true;
                }
                Sent::Taken | Sent::TooLarge(_) => {}
            }
            *taken += 1;
            shared.counters.datagrams_sent += 1;
            offset += len;
        }
        self.outgoing.send_done(now, shared, next);
        true
    }

    /// The system says that a datagram of `tried` bytes is too large for the path.
    fn too_large(&mut self, now: u64, shared: &mut Shared, tried: usize, limit: usize) {
        let least = shared.config.least_datagram;
        let to = if limit == 0 { (least + tried) / 2 } else { limit };
        // Below what was tried, or the same would be tried again.
        let to = if tried - least < 64 { least } else { to.min(tried - 1) };
        shared.counters.size_lowered += u64::from(self.size.lower(&shared.config, now, to));
    }

    /// Sends a probe of the path's size, or the answer to one. What the socket does not take is
    /// lost, as any datagram may be.
    #[cold]
    fn send_probes(
        &mut self,
        now: u64,
        shared: &mut Shared,
        taken: &mut usize,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) {
        let mut send = |link: &mut Link, shared: &mut Shared, flags, payload: &[u8]| {
            let end = HEADER + payload.len();
            let mut bytes = vec![0; end];
            let header = link.header(now, flags, link.outgoing.next_seq(), 0);
            write(&mut bytes, &header, end, &[]);
            bytes[HEADER..].copy_from_slice(payload);
            if out(link.peer, &bytes) == Sent::Taken {
                *taken += 1;
                shared.counters.datagrams_sent += 1;
            }
        };
        if let Some(size) = self.incoming.probed.take() {
            send(self, shared, datagram::PROBED, &size.to_le_bytes());
        }
        if !self.outgoing.is_done()
            && let Some(size) = self.size.due(now)
        {
            shared.counters.probes += 1;
            send(self, shared, datagram::PROBE, &vec![0; size - HEADER]);
        }
    }

    /// Sends a datagram that only acknowledges.
    fn send_ack(
        &mut self,
        now: u64,
        shared: &mut Shared,
        taken: &mut usize,
        out: &mut impl FnMut(Peer, &[u8]) -> Sent,
    ) -> End {
        let mut words = [0; MAX_SACKS];
        let (n, _) = self.incoming.sacks(&mut words, MAX_SACKS);
        let header = self.header(now, 0, self.outgoing.next_seq(), n);
        let mut bytes = [0; HEADER + 8 * MAX_SACKS];
        let bytes = &mut bytes[..HEADER + 8 * n];
        write(bytes, &header, HEADER, &words[..n]);
        if out(self.peer, bytes) == Sent::Later {
            return End::Blocked;
        }
        *taken += 1;
        shared.counters.datagrams_sent += 1;
        shared.counters.acks_sent += 1;
        self.incoming.acknowledged(true);
        End::Empty
    }

    /// Looks at the timers; what they cause is sent by `transmit`.
    pub fn on_time(&mut self, now: u64, shared: &mut Shared) {
        self.outgoing.on_time(now, shared);
    }

    /// True when `transmit` has something to send.
    #[inline]
    pub fn has_work(&self, now: u64) -> bool {
        self.outgoing.has_work()
            || self.incoming.ack_due(now)
            || self.incoming.probed.is_some()
            || self.probe_at() <= now
    }

    /// True when data may be sent.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.outgoing.has_work()
    }

    #[inline]
    fn probe_at(&self) -> u64 {
        if self.outgoing.is_done() { u64::MAX } else { self.size.deadline() }
    }

    /// When a timer is due; MAX for never.
    #[inline]
    pub fn deadline(&self, shared: &Shared) -> u64 {
        self.outgoing.deadline(&shared.config).min(self.incoming.deadline()).min(self.probe_at())
    }

    pub fn flush_acks(&mut self) {
        self.incoming.flush();
    }

    pub fn heard(&self) -> u64 {
        self.heard
    }

    pub fn pending(&self) -> Pending {
        Pending { heard: self.heard, ..self.outgoing.pending() }
    }

    pub fn is_done(&self) -> bool {
        self.outgoing.is_done()
    }

    pub fn datagram(&self) -> usize {
        self.size.current()
    }

    pub fn set_datagram(&mut self, shared: &Shared, size: usize) {
        let before = self.size.current();
        self.size.set(&shared.config, size);
        if self.size.current() < before {
            self.outgoing.too_large(self.size.current());
        }
    }

    /// Gives back what an idle link does not need.
    pub fn look(&mut self, now: u64, shared: &mut Shared) {
        let idle = now.saturating_sub(self.heard) > IDLE_LINK_KEPT_NS;
        self.incoming.look(shared, idle);
        if idle {
            self.outgoing.shrink();
        }
    }

    /// Bytes held besides the link itself and the buffers.
    pub fn memory(&self) -> usize {
        self.outgoing.memory() + self.incoming.memory()
    }
}

/// Writes the header, and the words from `end` on.
#[inline(always)]
fn write(bytes: &mut [u8], header: &Header, end: usize, words: &[u64]) {
    if let Some(to) = bytes.first_chunk_mut::<HEADER>() {
        header.write(to);
    }
    for (to, word) in bytes[end..].as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
}
