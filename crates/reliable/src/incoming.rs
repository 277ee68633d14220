//! What a link receives: order, what waits for order, and what is owed to the sender.

use crate::assembly::Assembly;
use crate::config::{Config, PART_UNIT};
use crate::hub::Dropped;
use crate::pool::NONE;
use crate::ring::Ring;
use crate::shared::Shared;
use hpvm_wire::Head;
use hpvm_wire::datagram::{self, Datagram, FIRST_SEQ, Header, MAX_SACKS, PART_HEADER, TICK_SHIFT};

/// A datagram that waits for those before it, or for its other parts.
#[derive(Clone, Copy)]
struct Buffered {
    buffer: u32,
    /// Bytes of its records.
    len: u16,
    whole: bool,
    /// Parts that have come, by number.
    parts: u128,
}

const NOTHING: Buffered = Buffered { buffer: NONE, len: 0, whole: false, parts: 0 };

impl Default for Buffered {
    fn default() -> Buffered {
        NOTHING
    }
}

pub(crate) struct Incoming {
    /// Everything below has been delivered.
    next: u32,
    /// What the sender was permitted: datagrams below this.
    limit: u32,
    /// Above every datagram that is buffered; not below `next`.
    high: u32,
    ring: Ring<Buffered>,
    /// Buffers in `ring`, and the window, as `Shared` counts them.
    buffered: u32,
    window: u32,
    assembly: Assembly,
    /// Datagrams of data not acknowledged, whether they must be at once, and otherwise when.
    owed: u16,
    at_once: bool,
    ack_at: u64,
    /// The stamp of the newest transmission, and when it came.
    stamp: Option<(u32, u64)>,
    /// Size of a probe that wants an answer.
    pub probed: Option<u16>,
    /// Datagrams of data since the last look at idleness.
    seen: u32,
}

impl Incoming {
    pub fn new(shared: &mut Shared) -> Incoming {
        let mut window = 0;
        let share = u32::from(shared.config.share);
        shared.windows.take(&mut window, share);
        Incoming {
            next: FIRST_SEQ,
            limit: FIRST_SEQ.wrapping_add(share),
            high: FIRST_SEQ,
            ring: Ring::default(),
            buffered: 0,
            window,
            assembly: Assembly::default(),
            owed: 0,
            at_once: false,
            ack_at: u64::MAX,
            stamp: None,
            probed: None,
            seen: 0,
        }
    }

    /// A transmission above all before has come.
    #[inline]
    pub fn newest(&mut self, now: u64, header: &Header) {
        self.stamp = Some((header.stamp, now));
    }

    /// The next datagram is to acknowledge what has come, whether it carries data or not.
    #[inline]
    pub fn acknowledge_at_once(&mut self) {
        self.at_once = true;
    }

    /// If anything is owed, it is owed at once.
    pub fn flush(&mut self) {
        self.at_once |= self.owed > 0;
    }

    /// Uses data, and delivers what is complete with them.
    #[inline]
    pub fn data(
        &mut self,
        now: u64,
        shared: &mut Shared,
        datagram: &Datagram<'_>,
        deliver: &mut impl FnMut(Head, &[u8]),
    ) -> Result<usize, Dropped> {
        let header = &datagram.header;
        let ahead = header.seq.wrapping_sub(self.next);
        if (ahead as i32) < 0 {
            self.at_once = true;
            return Err(Dropped::Duplicate);
        }
        if header.seq.wrapping_sub(self.limit) as i32 >= 0 {
            self.at_once = true;
            return Err(Dropped::Outside);
        }
        let mut delivered = 0;
        if header.flags & datagram::PART != 0 {
            self.keep_part(shared, header.seq, datagram.payload)?;
        } else if ahead == 0 {
            delivered = self.assembly.deliver(datagram.payload, shared.config.packet, deliver)?;
            self.forget_kept(shared);
            self.next = self.next.wrapping_add(1);
        } else {
            self.keep(shared, header.seq, datagram.payload)?;
        }
        self.owe(now, shared, header);
        if self.high != self.next {
            delivered += self.drain(shared, deliver);
            self.at_once = true;
        }
        shared.counters.packets_delivered += delivered as u64;
        Ok(delivered)
    }

    /// Records that an acknowledgement is owed, and whether the sender wants more window.
    #[inline]
    fn owe(&mut self, now: u64, shared: &mut Shared, header: &Header) {
        self.seen += 1;
        self.owed += 1;
        if header.flags & datagram::WANT_ACK != 0 || self.owed >= shared.config.ack_every {
            self.at_once = true;
        } else if self.ack_at == u64::MAX {
            self.ack_at = now + shared.config.ack_delay;
        }
        if header.flags & datagram::STARVED != 0 {
            self.widen(shared);
        } else if shared.scarce {
            self.share_window(shared);
        }
    }

    /// In order, or what was buffered of it is of no use any more.
    #[inline]
    fn forget_kept(&mut self, shared: &mut Shared) {
        if self.high == self.next {
            self.high = self.next.wrapping_add(1);
            return;
        }
        let buffered = core::mem::take(self.ring.at(self.next));
        self.let_go(shared, buffered);
    }

    fn let_go(&mut self, shared: &mut Shared, buffered: Buffered) {
        if buffered.buffer != NONE {
            shared.pool.give(buffered.buffer);
            shared.reordering.give(&mut self.buffered, 1);
        }
    }

    /// Room for a datagram that can't be delivered yet.
    fn slot(&mut self, shared: &mut Shared, seq: u32) -> Result<&mut Buffered, Dropped> {
        let live = self.high.wrapping_sub(self.next);
        let wanted = seq.wrapping_sub(self.next) + 1;
        self.ring.make_room(self.next, live, wanted);
        while self.high.wrapping_sub(self.next) < wanted {
            *self.ring.at(self.high) = NOTHING;
            self.high = self.high.wrapping_add(1);
        }
        if self.ring.at(seq).buffer == NONE {
            if shared.reordering.room(self.buffered) == 0 {
                return Err(Dropped::NoRoom);
            }
            shared.reordering.take(&mut self.buffered, 1);
            *self.ring.at(seq) = Buffered { buffer: shared.pool.take(), ..NOTHING };
        }
        Ok(self.ring.at(seq))
    }

    #[cold]
    fn keep(&mut self, shared: &mut Shared, seq: u32, payload: &[u8]) -> Result<(), Dropped> {
        self.at_once = true;
        let buffered = self.slot(shared, seq)?;
        if buffered.whole {
            return Err(Dropped::Duplicate);
        }
        buffered.whole = true;
        buffered.len = payload.len() as u16;
        shared.pool.bytes(buffered.buffer)[..payload.len()].copy_from_slice(payload);
        shared.counters.reordered += 1;
        Ok(())
    }

    #[cold]
    fn keep_part(&mut self, shared: &mut Shared, seq: u32, payload: &[u8]) -> Result<(), Dropped> {
        let (head, bytes) = payload.split_first_chunk::<PART_HEADER>().ok_or(Dropped::Garbage)?;
        let (offset, total) = datagram::read_part(head);
        let end = offset + bytes.len();
        let sound = !bytes.is_empty()
            && total + datagram::HEADER <= shared.config.most_datagram
            && offset % PART_UNIT == 0
            && end <= total
            && (end == total || bytes.len() % PART_UNIT == 0);
        if !sound {
            return Err(Dropped::Garbage);
        }
        self.at_once = true;
        let buffered = self.slot(shared, seq)?;
        if buffered.whole {
            return Err(Dropped::Duplicate);
        }
        if buffered.parts != 0 && buffered.len as usize != total {
            return Err(Dropped::Garbage);
        }
        buffered.len = total as u16;
        let units = total.div_ceil(PART_UNIT);
        for unit in offset / PART_UNIT..end.div_ceil(PART_UNIT) {
            buffered.parts |= 1 << unit;
        }
        buffered.whole = buffered.parts.count_ones() as usize == units;
        let buffer = buffered.buffer;
        shared.pool.bytes(buffer)[offset..end].copy_from_slice(bytes);
        Ok(())
    }

    /// Delivers what is in order now.
    #[cold]
    fn drain(&mut self, shared: &mut Shared, deliver: &mut impl FnMut(Head, &[u8])) -> usize {
        let mut delivered = 0;
        while self.high != self.next && self.ring.at(self.next).whole {
            let buffered = core::mem::take(self.ring.at(self.next));
            let payload = &shared.pool.bytes(buffered.buffer)[..buffered.len as usize];
            let outcome = self.assembly.deliver(payload, shared.config.packet, deliver);
            self.let_go(shared, buffered);
            match outcome {
                Ok(n) => delivered += n,
                Err(_) => {
                    // A peer that knows the key sends nonsense: it will not be acknowledged.
                    shared.counters.garbage += 1;
                    break;
                }
            }
            self.next = self.next.wrapping_add(1);
        }
        delivered
    }

    /// Permits more, out of what all senders share.
    #[cold]
    fn widen(&mut self, shared: &mut Shared) {
        let share = u32::from(shared.config.share);
        let narrow = self.window <= share;
        shared.wide += u32::from(narrow);
        let most = u32::from(shared.config.window).min(shared.fair_window()).max(share);
        let wanted = self.window.min(most.saturating_sub(self.window));
        let more = wanted.min(shared.windows.room(self.window));
        shared.scarce |= more < wanted;
        shared.windows.take(&mut self.window, more);
        if narrow && more == 0 {
            shared.wide -= 1;
        }
        self.at_once = true;
    }

    /// Gives back some of what is above the average.
    #[cold]
    fn share_window(&mut self, shared: &mut Shared) {
        let above = self.window.saturating_sub(shared.fair_window());
        if above > 0 {
            self.narrow(shared, above.div_ceil(8));
        }
        if shared.windows.free() >= shared.windows.total() / 4 {
            shared.scarce = false;
        }
    }

    fn narrow(&mut self, shared: &mut Shared, by: u32) {
        let share = u32::from(shared.config.share);
        let by = by.min(self.window.saturating_sub(share));
        shared.windows.give(&mut self.window, by);
        if by > 0 && self.window == share {
            shared.wide -= 1;
        }
    }

    /// Everything before this has come.
    #[inline]
    pub fn ack(&self) -> u32 {
        self.next
    }

    /// The window to put into a datagram: never takes back what was permitted.
    #[inline]
    pub fn advertise(&mut self) -> u16 {
        let limit = self.next.wrapping_add(self.window);
        if limit.wrapping_sub(self.limit) as i32 > 0 {
            self.limit = limit;
        }
        self.limit.wrapping_sub(self.next) as u16
    }

    /// What to answer to the newest stamp.
    #[inline]
    pub fn echo(&self, now: u64) -> Option<u32> {
        let (stamp, came) = self.stamp?;
        Some(stamp.wrapping_add((now.saturating_sub(came) >> TICK_SHIFT) as u32))
    }

    /// Words that say what is buffered, as many as are needed and at most `most`. How many there
    /// are, and whether they say everything.
    #[inline]
    pub fn sacks(&mut self, words: &mut [u64; MAX_SACKS], most: usize) -> (usize, bool) {
        if self.high == self.next || self.buffered == 0 {
            return (0, true);
        }
        self.sack_words(words, most)
    }

    #[cold]
    fn sack_words(&mut self, words: &mut [u64; MAX_SACKS], most: usize) -> (usize, bool) {
        // Bit 0 is for next + 1: `next` itself is what is missing.
        let beyond = (self.high.wrapping_sub(self.next) as usize).saturating_sub(1);
        let needed = beyond.div_ceil(64);
        let n = needed.min(most).min(MAX_SACKS);
        for (w, word) in words.iter_mut().enumerate().take(n) {
            *word = 0;
            for bit in 0..64.min(beyond - 64 * w) {
                let seq = self.next.wrapping_add((64 * w + bit + 1) as u32);
                *word |= u64::from(self.ring.at(seq).whole) << bit;
            }
        }
        (n, n == needed)
    }

    /// A datagram with an acknowledgement was sent; `all`: it told everything.
    #[inline]
    pub fn acknowledged(&mut self, all: bool) {
        self.owed = 0;
        self.ack_at = u64::MAX;
        self.at_once &= !all;
    }

    /// Whether an acknowledgement must go out now without waiting for data.
    #[inline]
    pub fn ack_due(&self, now: u64) -> bool {
        self.at_once || self.ack_at <= now
    }

    /// When one must.
    #[inline]
    pub fn deadline(&self) -> u64 {
        self.ack_at
    }

    /// Takes back the window of a sender that does not use it, and memory that is not in use.
    pub fn look(&mut self, shared: &mut Shared, long_idle: bool) {
        let seen = core::mem::take(&mut self.seen);
        if 2 * seen < self.window {
            self.narrow(shared, self.window / 2);
        }
        if long_idle && self.high == self.next {
            self.ring.shrink();
            self.assembly.shrink();
        }
    }

    pub fn memory(&self) -> usize {
        self.ring.memory() + self.assembly.memory()
    }

    /// What `memory` is at most.
    pub fn bound(config: &Config) -> usize {
        Ring::<Buffered>::bound(config.window as usize) + config.packet
    }
}
