//! What a link sends: datagrams that wait for the window, are on their way, or are lost.

use crate::config::Config;
use crate::hub::{Full, Pending};
use crate::pool::NONE;
use crate::ring::Ring;
use crate::rtt::Rtt;
use crate::shared::Shared;
use crate::size::PathSize;
use hpvm_wire::Head;
use hpvm_wire::datagram::{self, Datagram, FIRST_SEQ, HEADER, RECORD};

/// Datagrams on their way at first, after losses at least, and after a long silence.
const FIRST_WINDOW: u32 = 32;
const LEAST_WINDOW: u32 = 2;
const RESTART_WINDOW: u32 = 4;
/// Later datagrams that must have come before one counts as lost; doubles when that was wrong.
const OVERTAKEN: u64 = 3;
const MOST_OVERTAKEN: u64 = 96;
/// A packet that is cut begins in a datagram that has at least so much room.
const WORTH_SHARING: usize = RECORD + 128;
/// Timeouts in a row after which a datagram is also tried in small parts.
const SUSPICIOUS: u32 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Unsent,
    Flying,
    Lost,
    Acknowledged,
}

/// One datagram of the stream.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Which transmission of data its latest was, and when.
    order: u64,
    sent_at: u64,
    buffer: u32,
    /// Bytes used of the buffer, from where the header begins.
    end: u16,
    /// Where its parts go on, when the socket was full between two of them; 0 otherwise.
    part: u16,
    /// Packets that begin in it.
    packets: u16,
    sends: u8,
    state: State,
}

/// A datagram to send.
pub(crate) struct Next {
    pub seq: u32,
    pub buffer: u32,
    pub end: usize,
    pub part: usize,
    /// Flags of the header.
    pub flags: u8,
    /// It is to be sent in parts of the smallest datagram.
    pub small: bool,
}

pub(crate) struct Outgoing {
    ring: Ring<Slot>,
    /// The stream: acknowledged below `first`, sent below `next`, filled below `end`.
    first: u32,
    next: u32,
    end: u32,
    /// What the receiver permits: datagrams below this.
    limit: u32,
    /// Data waited for the window since the receiver was last told.
    starved: bool,
    /// Credits that the caller holds.
    granted: u16,
    /// Buffers and credits, as `Shared::sending` counts them.
    held: u32,
    /// Packets not acknowledged.
    packets: u64,
    /// When the oldest datagram was last seen to wait.
    since: u64,
    /// The congestion window: datagrams on their way at most, where slow growth begins, and what
    /// has been acknowledged since it last grew.
    window: u32,
    threshold: u32,
    grown: u32,
    flying: u32,
    lost: u32,
    /// No datagram before this one is lost.
    lost_from: u32,
    /// Transmissions of data so far, the latest that is known to have come, and the latest when
    /// the window was last lowered.
    order: u64,
    reached: u64,
    recovery: u64,
    overtaken: u64,
    /// When `find_losses` has something to find without an acknowledgement; MAX for never.
    loss_at: u64,
    rtt: Rtt,
    /// Timeouts in a row, and when the present wait began.
    timeouts: u32,
    timer_from: u64,
    /// The oldest datagram is to be sent whatever the window says.
    probe: bool,
    /// The last datagram that asked for an acknowledgement.
    asked: u32,
    /// A datagram that was sent in small parts on suspicion.
    suspect: Option<u32>,
}

/// What an acknowledgement brought.
#[derive(Default)]
struct News {
    count: u32,
    order: u64,
    /// What was sent in small parts on suspicion came through.
    small: bool,
}

impl Outgoing {
    pub fn new(config: &Config) -> Outgoing {
        Outgoing {
            ring: Ring::default(),
            first: FIRST_SEQ,
            next: FIRST_SEQ,
            end: FIRST_SEQ,
            limit: FIRST_SEQ.wrapping_add(u32::from(config.share)),
            starved: false,
            granted: 0,
            held: 0,
            packets: 0,
            since: 0,
            window: FIRST_WINDOW,
            threshold: u32::MAX,
            grown: 0,
            flying: 0,
            lost: 0,
            lost_from: FIRST_SEQ,
            order: 0,
            reached: 0,
            recovery: 0,
            overtaken: OVERTAKEN,
            loss_at: u64::MAX,
            rtt: Rtt::default(),
            timeouts: 0,
            timer_from: 0,
            probe: false,
            asked: FIRST_SEQ,
            suspect: None,
        }
    }

    /// Credits for small packets, one datagram each at worst.
    pub fn grant(&mut self, shared: &mut Shared) -> u16 {
        let waiting = self.end.wrapping_sub(self.next) + u32::from(self.granted);
        let queue = u32::from(shared.config.queue).saturating_sub(waiting);
        let n = queue.min(shared.sending.room(self.held)).min(u32::from(u16::MAX)) as u16;
        shared.sending.take(&mut self.held, u32::from(n));
        self.granted += n;
        n
    }

    /// Takes a packet; see [`crate::Hub::push`].
    #[inline]
    pub fn push(
        &mut self,
        now: u64,
        shared: &mut Shared,
        size: usize,
        (head, len): (Head, usize),
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        if self.granted == 0 || len > shared.config.packet {
            return Err(Full);
        }
        let need = RECORD + len;
        if HEADER + need > size {
            return self.push_large(now, shared, size, (head, len), fill);
        }
        match self.open(need, size) {
            Some(_) => shared.sending.give(&mut self.held, 1),
            None => self.append(now, shared),
        }
        self.granted -= 1;
        let slot = self.ring.at(self.end.wrapping_sub(1));
        let from = slot.end as usize;
        slot.end += need as u16;
        slot.packets += 1;
        self.packets += 1;
        shared.counters.packets_sent += 1;
        let room = &mut shared.pool.bytes(slot.buffer)[from..from + need];
        if let Some((record, payload)) = room.split_first_chunk_mut::<RECORD>() {
            datagram::write_record(record, head, len as u16);
            fill(payload);
        }
        Ok(())
    }

    /// A packet that no single datagram holds: written once as a whole, then cut.
    #[cold]
    fn push_large(
        &mut self,
        now: u64,
        shared: &mut Shared,
        size: usize,
        (head, len): (Head, usize),
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        let config = &shared.config;
        let need = config.datagrams(len, size) as u32;
        let most = u32::from(config.queue) + config.datagrams(config.packet, size) as u32;
        let waiting = self.end.wrapping_sub(self.next) + u32::from(self.granted) - 1;
        if waiting + need > most || shared.sending.room(self.held) < need - 1 {
            return Err(Full);
        }
        let mut whole = core::mem::take(&mut shared.scratch);
        whole.resize(shared.config.packet, 0);
        fill(&mut whole[..len]);
        // The credit's entry is one of those that are taken.
        shared.sending.give(&mut self.held, 1);
        self.granted -= 1;
        if self.open(WORTH_SHARING, size).is_none() {
            shared.sending.take(&mut self.held, 1);
            self.append(now, shared);
        }
        let mut record = [0; RECORD];
        datagram::write_record(&mut record, head, len as u16);
        self.write(shared, &record);
        self.ring.at(self.end.wrapping_sub(1)).packets += 1;
        self.packets += 1;
        shared.counters.packets_sent += 1;
        let mut rest = &whole[..len];
        while !rest.is_empty() {
            let room = size - self.ring.at(self.end.wrapping_sub(1)).end as usize;
            let (part, later) = rest.split_at(room.min(rest.len()));
            self.write(shared, part);
            rest = later;
            if !rest.is_empty() {
                shared.sending.take(&mut self.held, 1);
                self.append(now, shared);
            }
        }
        shared.scratch = whole;
        Ok(())
    }

    /// The datagram that packets are written to, when `need` bytes more fit.
    #[inline]
    fn open(&mut self, need: usize, size: usize) -> Option<u32> {
        if self.end == self.next {
            return None;
        }
        let seq = self.end.wrapping_sub(1);
        let slot = self.ring.at(seq);
        let fits = slot.end as usize + need <= size && slot.part == 0;
        fits.then_some(seq)
    }

    /// Begins a datagram. Its entry has been accounted for.
    #[inline]
    fn append(&mut self, now: u64, shared: &mut Shared) {
        let live = self.end.wrapping_sub(self.first);
        if live == 0 {
            self.since = now;
        }
        self.starved |= self.limit.wrapping_sub(self.next) as i32 <= 0;
        self.ring.make_room(self.first, live, live + 1);
        let buffer = shared.pool.take();
        *self.ring.at(self.end) = Slot { buffer, end: HEADER as u16, ..Slot::default() };
        self.end = self.end.wrapping_add(1);
    }

    fn write(&mut self, shared: &mut Shared, bytes: &[u8]) {
        let slot = self.ring.at(self.end.wrapping_sub(1));
        let from = slot.end as usize;
        shared.pool.bytes(slot.buffer)[from..from + bytes.len()].copy_from_slice(bytes);
        slot.end += bytes.len() as u16;
    }

    /// The next datagram to send, on a path that carries `size` bytes, as it seems, and `least` in any case. `send_done` tells that
    /// it was sent.
    #[inline]
    pub fn next(&mut self, size: usize, least: usize) -> Option<Next> {
        let fresh = self.next != self.end && self.limit.wrapping_sub(self.next) as i32 > 0;
        let seq = if self.probe && self.first != self.next {
            self.first
        } else if self.flying >= self.window {
            return None;
        } else if self.lost > 0 {
            self.first_lost()?
        } else if fresh {
            self.next
        } else {
            return None;
        };
        let slot = *self.ring.at(seq);
        Some(Next {
            seq,
            buffer: slot.buffer,
            end: slot.end as usize,
            part: slot.part as usize,
            flags: self.flags(seq),
            small: self.suspicious() && slot.end as usize > least.min(size / 2),
        })
    }

    /// Whether this probe goes out in small parts: every other of a row of timeouts, so that
    /// neither a path that has become narrow nor one that is cut is taken for the other.
    fn suspicious(&self) -> bool {
        self.probe && self.timeouts >= SUSPICIOUS && self.timeouts % 2 == 1
    }

    fn first_lost(&mut self) -> Option<u32> {
        let mut seq = self.lost_from;
        if self.first.wrapping_sub(seq) as i32 > 0 {
            seq = self.first;
        }
        while seq != self.next {
            if self.ring.at(seq).state == State::Lost {
                self.lost_from = seq;
                return Some(seq);
            }
            seq = seq.wrapping_add(1);
        }
        None
    }

    #[inline]
    fn flags(&mut self, seq: u32) -> u8 {
        let mut flags = datagram::DATA;
        let sent = if seq == self.next { seq.wrapping_add(1) } else { self.next };
        if self.starved || (sent == self.limit && sent != self.end) {
            flags |= datagram::STARVED;
        }
        // An acknowledgement is wanted about twice per window, in time for the next half.
        let window = self.window.min(self.limit.wrapping_sub(self.first));
        let half = (window / 2).max(1);
        if self.probe
            || (self.flying + 1 >= half && seq.wrapping_sub(self.asked) as i32 >= half as i32)
        {
            flags |= datagram::WANT_ACK;
        }
        flags
    }

    /// The datagram of `next` was taken by the socket.
    #[inline]
    pub fn send_done(&mut self, now: u64, shared: &mut Shared, next: &Next) {
        self.order += 1;
        if self.first == self.next {
            self.timer_from = now;
        }
        let slot = self.ring.at(next.seq);
        match slot.state {
            State::Unsent => {
                self.next = self.next.wrapping_add(1);
                self.flying += 1;
            }
            State::Lost => {
                self.lost -= 1;
                self.flying += 1;
            }
            State::Flying | State::Acknowledged => {}
        }
        if slot.sends > 0 {
            shared.counters.retransmitted += 1;
        }
        slot.state = State::Flying;
        slot.order = self.order;
        slot.sent_at = now;
        slot.part = 0;
        slot.sends = slot.sends.saturating_add(1);
        if next.flags & datagram::WANT_ACK != 0 {
            self.asked = next.seq;
        }
        self.starved &= next.flags & datagram::STARVED == 0;
        if next.seq == self.first {
            self.probe = false;
            if next.small {
                self.suspect = Some(next.seq);
            }
        }
    }

    /// The socket was full after the part before `part`.
    pub fn parts_done(&mut self, seq: u32, part: usize) {
        self.ring.at(seq).part = part as u16;
    }

    /// Uses the acknowledgement in a datagram. False: it acknowledges what was never sent.
    #[inline]
    pub fn acknowledged(
        &mut self,
        now: u64,
        shared: &mut Shared,
        size: &mut PathSize,
        datagram: &Datagram<'_>,
    ) -> bool {
        let header = &datagram.header;
        let ahead = header.ack.wrapping_sub(self.first);
        if ahead > self.next.wrapping_sub(self.first) {
            // Overtaken by a later one, or nonsense.
            return (ahead as i32) < 0;
        }
        let window = header.window.min(shared.config.window);
        let limit = header.ack.wrapping_add(u32::from(window));
        if limit.wrapping_sub(self.limit) as i32 > 0 {
            self.limit = limit;
        }
        if ahead == 0 && header.sacks == 0 {
            return true;
        }
        let mut news = News::default();
        for _ in 0..ahead {
            self.take_off(now, shared, self.first, &mut news);
            self.first = self.first.wrapping_add(1);
        }
        for (word, bits) in datagram.sacks().enumerate() {
            let from = header.ack.wrapping_add(1 + 64 * word as u32);
            self.take_off_some(now, shared, from, bits, &mut news);
        }
        // A peer that has said otherwise before would make us send what we no longer have.
        while self.first != self.next && self.ring.at(self.first).state == State::Acknowledged {
            self.first = self.first.wrapping_add(1);
        }
        let silent = self.timeouts > 1;
        if news.count > 0 {
            self.progress(now, shared, size, &news, header);
        }
        let behind = self.first != self.next && self.ring.at(self.first).order < self.reached;
        if behind || header.sacks > 0 || self.loss_at != u64::MAX {
            self.find_losses(now, shared, silent);
        }
        true
    }

    /// Takes the datagrams off that a word of an acknowledgement names.
    fn take_off_some(
        &mut self,
        now: u64,
        shared: &mut Shared,
        from: u32,
        mut bits: u64,
        news: &mut News,
    ) {
        while bits != 0 {
            let seq = from.wrapping_add(bits.trailing_zeros());
            bits &= bits - 1;
            if seq.wrapping_sub(self.first) < self.next.wrapping_sub(self.first) {
                self.take_off(now, shared, seq, news);
            }
        }
    }

    #[inline]
    fn take_off(&mut self, now: u64, shared: &mut Shared, seq: u32, news: &mut News) {
        let slot = self.ring.at(seq);
        match slot.state {
            State::Acknowledged | State::Unsent => return,
            State::Flying => self.flying -= 1,
            State::Lost => {
                // It was only late: be slower to call others lost.
                self.lost -= 1;
                self.overtaken = (2 * self.overtaken).min(MOST_OVERTAKEN);
            }
        }
        slot.state = State::Acknowledged;
        shared.pool.give(core::mem::replace(&mut slot.buffer, NONE));
        self.packets -= u64::from(slot.packets);
        news.count += 1;
        // Of a datagram that was sent twice the first may have come: only a copy that can have
        // been acknowledged by now proves that what was sent before it had time enough.
        if slot.sends == 1 || self.rtt.plausible(now.saturating_sub(slot.sent_at)) {
            news.order = news.order.max(slot.order);
        }
        shared.sending.give(&mut self.held, 1);
        if self.suspect == Some(seq) {
            self.suspect = None;
            news.small = true;
        }
    }

    /// Something new was acknowledged.
    #[inline]
    fn progress(
        &mut self,
        now: u64,
        shared: &mut Shared,
        size: &mut PathSize,
        news: &News,
        header: &datagram::Header,
    ) {
        if header.flags & datagram::ECHO != 0 {
            let ticks = ((now >> datagram::TICK_SHIFT) as u32).wrapping_sub(header.echo);
            // A clock that runs ahead of ours by a hair makes it negative.
            let ticks = if (ticks as i32) < 0 { 0 } else { ticks };
            self.rtt.sample(u64::from(ticks) << datagram::TICK_SHIFT);
        }
        if news.small && self.timeouts >= SUSPICIOUS {
            let least = shared.config.least_datagram;
            shared.counters.size_lowered += u64::from(size.lower(&shared.config, now, least));
        }
        let limited = self.flying + news.count + 1 >= self.window;
        if limited && news.order > self.recovery {
            self.widen(news.count, &shared.config);
        }
        self.timeouts = 0;
        self.probe = false;
        self.timer_from = now;
        self.since = now;
        self.reached = self.reached.max(news.order);
        // Never so far behind that it seems to lie ahead.
        if self.first.wrapping_sub(self.asked) as i32 > 0 {
            self.asked = self.first;
        }
    }

    /// Grows the congestion window: by what was acknowledged, later by one per window or faster, as the configuration says.
    #[inline]
    fn widen(&mut self, count: u32, config: &Config) {
        if self.window < self.threshold {
            self.window += count;
        } else {
            self.grown += count;
            let step = self.window.min(config.slowest_growth);
            if self.grown >= step {
                self.window += self.grown / step;
                self.grown %= step;
            }
        }
        self.window = self.window.min(u32::from(config.window).max(LEAST_WINDOW));
    }

    /// Marks what is lost: later data came, by enough transmissions or enough time. After a long
    /// silence nothing is known of the network, and the window begins anew; but only if something
    /// was lost, because a peer that computes is silent, too.
    #[cold]
    fn find_losses(&mut self, now: u64, shared: &mut Shared, silent: bool) {
        self.loss_at = u64::MAX;
        let patience = self.rtt.overtaken();
        let mut newest = 0;
        let mut seq = self.first;
        while seq != self.next {
            let slot = self.ring.at(seq);
            if slot.state == State::Flying && slot.order < self.reached {
                let at = slot.sent_at.saturating_add(patience);
                if self.reached - slot.order >= self.overtaken || at <= now {
                    slot.state = State::Lost;
                    newest = newest.max(slot.order);
                    self.flying -= 1;
                    self.mark_lost(seq);
                    shared.counters.lost += 1;
                } else {
                    self.loss_at = self.loss_at.min(at);
                }
            }
            seq = seq.wrapping_add(1);
        }
        if newest > self.recovery {
            self.recovery = self.order;
            self.threshold = (self.window * 7 / 10).max(LEAST_WINDOW);
            self.window = if silent { RESTART_WINDOW } else { self.threshold };
            self.grown = 0;
            shared.counters.slowdowns += 1;
        }
    }

    /// The path carries at most `size`: what was sent larger has not come.
    #[cold]
    pub fn too_large(&mut self, size: usize) {
        let mut seq = self.first;
        while seq != self.next {
            let slot = self.ring.at(seq);
            if slot.state == State::Flying && slot.end as usize > size {
                slot.state = State::Lost;
                self.flying -= 1;
                self.mark_lost(seq);
            }
            seq = seq.wrapping_add(1);
        }
    }

    fn mark_lost(&mut self, seq: u32) {
        if self.lost == 0 || seq.wrapping_sub(self.lost_from) as i32 <= 0 {
            self.lost_from = seq;
        }
        self.lost += 1;
    }

    /// Looks at the timers.
    pub fn on_time(&mut self, now: u64, shared: &mut Shared) {
        if self.loss_at <= now {
            self.find_losses(now, shared, false);
        }
        if self.timeout_at(&shared.config) <= now {
            self.timeouts += 1;
            self.timer_from = now;
            self.probe = true;
            shared.counters.timeouts += 1;
        }
    }

    #[inline]
    fn timeout_at(&self, config: &Config) -> u64 {
        if self.first == self.next {
            return u64::MAX;
        }
        self.timer_from.saturating_add(self.rtt.timeout(config, self.timeouts))
    }

    /// When `on_time` has something to do.
    #[inline]
    pub fn deadline(&self, config: &Config) -> u64 {
        self.timeout_at(config).min(self.loss_at)
    }

    /// True when `next` has something.
    #[inline]
    pub fn has_work(&self) -> bool {
        let fresh = self.next != self.end && self.limit.wrapping_sub(self.next) as i32 > 0;
        (self.probe && self.first != self.next)
            || (self.flying < self.window && (self.lost > 0 || fresh))
    }

    /// True when everything has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.first == self.end
    }

    /// The datagram that comes next.
    pub fn next_seq(&self) -> u32 {
        self.next
    }

    pub fn pending(&self) -> Pending {
        Pending {
            datagrams: self.end.wrapping_sub(self.first),
            packets: self.packets,
            since: self.since,
            heard: 0,
        }
    }

    /// Lets go of what an idle link does not need.
    pub fn shrink(&mut self) {
        if self.is_done() {
            self.ring.shrink();
        }
    }

    pub fn memory(&self) -> usize {
        self.ring.memory()
    }

    /// What `memory` is at most.
    pub fn bound(config: &Config) -> usize {
        // The window, and what may wait for it.
        Ring::<Slot>::bound(config.window as usize + config.guaranteed() + 1)
    }
}
