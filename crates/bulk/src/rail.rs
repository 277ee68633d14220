//! One way between two processes: chunks in order, each delivered once, over one connection after
//! another.

use crate::Time;
use crate::action::{ConnId, Settings};
use std::collections::VecDeque;

/// Most rails of a pair of processes.
pub(crate) const MAX_RAILS: u8 = 8;

/// A part of a stream that is sent as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub number: u64,
    pub offset: u64,
    pub len: u32,
    /// The first of its stream, which may be empty.
    pub opens: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Nobody tries.
    Down,
    /// A connection is being made or proves itself.
    Opening(ConnId),
    Up(ConnId),
}

#[derive(Debug)]
pub(crate) struct Rail {
    pub link: Link,
    /// Number of the latest attempt, counted by the connecting side.
    pub epoch: u32,
    /// Failures since it was last up.
    failures: u32,
    /// When to try again.
    pub retry: Time,
    /// Since when it is down; meaningful while it is.
    pub since: Time,
    /// The question how many chunks have come by the end of an epoch is on its way, over which
    /// connection. An answer to an older question is none.
    pub asked: Option<(ConnId, u32)>,
    /// Chunks that are not known to have come, oldest first.
    fifo: VecDeque<Chunk>,
    /// How many chunks went before those.
    base: u64,
    /// Index in `fifo` of the next chunk for the connection at work, and of the first that it has
    /// not written as a whole.
    next: usize,
    out: usize,
    /// How many chunks were written as a whole, over whatever connection.
    written: u64,
    /// Chunks of the peer that have come, and how many of them it has been told of.
    pub received: u64,
    told: u64,
    /// It may wait to be told, and the bytes of such chunks that it has not been told of.
    awaited: bool,
    untold: u64,
    /// It is to be told at once.
    pub tell_now: bool,
    /// It sends more without waiting for words.
    flows: bool,
}

impl Rail {
    pub fn new(now: Time) -> Rail {
        Rail {
            link: Link::Down,
            epoch: 0,
            failures: 0,
            retry: 0,
            since: now,
            asked: None,
            fifo: VecDeque::new(),
            base: 0,
            next: 0,
            out: 0,
            written: 0,
            received: 0,
            told: 0,
            awaited: false,
            untold: 0,
            tell_now: false,
            flows: false,
        }
    }

    pub fn up(&self) -> Option<ConnId> {
        match self.link {
            Link::Up(conn) => Some(conn),
            _ => None,
        }
    }

    /// The connection at work, whatever its state.
    pub fn conn(&self) -> Option<ConnId> {
        match self.link {
            Link::Up(conn) | Link::Opening(conn) => Some(conn),
            Link::Down => None,
        }
    }

    /// A chunk that is to be sent again. The connection takes it.
    pub fn next_again(&mut self) -> Option<Chunk> {
        let chunk = self.fifo.get(self.next).copied()?;
        self.next += 1;
        Some(chunk)
    }

    pub fn has_doubtful(&self) -> bool {
        !self.fifo.is_empty()
    }

    /// A new chunk, which the connection takes.
    pub fn push(&mut self, chunk: Chunk) {
        debug_assert_eq!(self.next, self.fifo.len(), "older ones go first");
        self.fifo.push_back(chunk);
        self.next += 1;
    }

    /// The oldest chunk that the connection has taken has been written. True: for the second time.
    pub fn wrote(&mut self) -> bool {
        self.out += 1;
        let total = self.base + self.out as u64;
        let again = total <= self.written;
        self.written = self.written.max(total);
        again
    }

    /// A part of a stream has come that goes on: the peer could do nothing with word of that. But it
    /// counts if there is to be a word about what came before it.
    pub fn landed_part(&mut self, len: u32, most_untold: u64) {
        match self.awaited {
            true => self.landed(len, most_untold),
            false => self.received += 1,
        }
    }

    /// A stream has come as a whole, of which parts may have come here. `now`: the peer waits.
    pub fn ended(&mut self, now: bool) {
        self.awaited |= self.owes();
        self.tell_now |= now && self.awaited;
    }

    /// A chunk of the peer with `len` bytes has come, about which it may wait for a word.
    pub fn landed(&mut self, len: u32, most_untold: u64) {
        self.received += 1;
        self.awaited = true;
        self.untold += u64::from(len);
        self.tell_now |= self.untold >= most_untold;
    }

    /// A chunk of the peer begins, which knew of `known` that they had come when it sent this one.
    pub fn begins(&mut self, known: u32) {
        self.flows = known != self.received as u32;
    }

    /// How long nothing has to come until the peer is told what has.
    pub fn silence(&self, settings: &Settings) -> Time {
        if self.flows { settings.flowing_silence } else { settings.silence }
    }

    /// The peer is about to be answered, and may wait for a word as well.
    pub fn answered(&mut self) {
        self.tell_now |= self.awaited;
    }

    /// How many of our chunks are known to have come. Counts wrap.
    pub fn known(&self) -> u32 {
        self.base as u32
    }

    /// The peer is owed a word about what has come.
    pub fn owes(&self) -> bool {
        self.received != self.told
    }

    /// The same, and it may wait for it.
    pub fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// What to tell it, which it is being told now.
    pub fn tell(&mut self) -> u64 {
        self.told = self.received;
        (self.awaited, self.untold) = (false, 0);
        self.tell_now = false;
        self.received
    }

    /// Whether `count` chunks can have come over the connection at work.
    pub fn may_have(&self, count: u64) -> bool {
        count >= self.base && count <= self.base + self.out as u64
    }

    /// A new connection: `count` chunks have come over those before it. False: impossible. Those
    /// are to be taken with `take_come`; the others are written again.
    pub fn resume(&mut self, count: u64) -> bool {
        (self.next, self.out) = (0, 0);
        count >= self.base && count <= self.written
    }

    /// The oldest of `count` chunks that have come, which is forgotten.
    pub fn take_come(&mut self, count: u64) -> Option<Chunk> {
        if self.base >= count {
            return None;
        }
        let chunk = self.fifo.pop_front()?;
        self.base += 1;
        self.next = self.next.saturating_sub(1);
        self.out = self.out.saturating_sub(1);
        Some(chunk)
    }

    /// All chunks that have not come, for another rail.
    pub fn take_doubtful(&mut self) -> VecDeque<Chunk> {
        (self.next, self.out) = (0, 0);
        self.written = self.base;
        core::mem::take(&mut self.fifo)
    }

    /// It has no connection any more.
    pub fn fell(&mut self, was_up: bool, now: Time, settings: &Settings) {
        if was_up {
            self.since = now;
            self.failures = 0;
        }
        self.link = Link::Down;
        (self.next, self.out) = (0, 0);
        let pause = settings.pause << self.failures.min(16);
        self.failures += 1;
        self.retry = now.saturating_add(pause.min(settings.longest_pause));
    }

    pub fn rose(&mut self, conn: ConnId, epoch: u32) {
        self.link = Link::Up(conn);
        self.epoch = epoch;
        self.failures = 0;
        self.asked = None;
        // The greeting has told it.
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONN: ConnId = ConnId { index: 0, generation: 0 };

    fn chunk(number: u64, offset: u64) -> Chunk {
        Chunk { number, offset, len: 10, opens: false }
    }

    fn take(rail: &mut Rail, count: u64) -> Vec<u64> {
        core::iter::from_fn(|| rail.take_come(count)).map(|c| c.number).collect()
    }

    #[test]
    fn what_has_not_come_is_sent_again_and_nothing_else() {
        let mut rail = Rail::new(0);
        for i in 0..4 {
            rail.push(chunk(i, 0));
        }
        rail.rose(CONN, 1);
        assert!(!rail.wrote() && !rail.wrote() && !rail.wrote());
        assert!(!rail.may_have(4), "the fourth is not out");
        assert!(rail.may_have(1));
        assert_eq!(take(&mut rail, 1), [0]);
        assert!(!rail.may_have(0), "it has said so already");
        rail.fell(true, 5, &Settings::default());
        assert!(!rail.resume(4) && !rail.resume(0) && rail.resume(2));
        assert_eq!(take(&mut rail, 2), [1]);
        rail.rose(CONN, 2);
        assert_eq!(rail.next_again(), Some(chunk(2, 0)));
        assert!(rail.wrote(), "the third goes again");
        assert_eq!(rail.next_again(), Some(chunk(3, 0)));
        assert!(!rail.wrote(), "the fourth does not");
        assert_eq!(rail.next_again(), None);
        assert_eq!(take(&mut rail, 4), [2, 3]);
        assert!(!rail.has_doubtful());
    }

    #[test]
    fn every_word_tells_all_that_has_come() {
        let mut rail = Rail::new(0);
        rail.landed(10, 25);
        assert!(rail.owes() && !rail.tell_now);
        rail.landed(20, 25);
        assert!(rail.tell_now);
        assert_eq!(rail.tell(), 2);
        assert!(!rail.owes() && !rail.tell_now);
        rail.landed(20, 25);
        assert!(!rail.tell_now);
        rail.rose(CONN, 1);
        assert!(!rail.owes(), "the greeting said it");
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let settings = Settings { pause: 10, longest_pause: 35, ..Settings::default() };
        let mut rail = Rail::new(0);
        let mut pauses = Vec::new();
        for _ in 0..4 {
            rail.fell(false, 100, &settings);
            pauses.push(rail.retry - 100);
        }
        assert_eq!(pauses, [10, 20, 35, 35]);
    }

    #[test]
    fn who_waits_is_told_soon_and_who_does_not_later() {
        let settings = Settings::default();
        let mut rail = Rail::new(0);
        rail.answered();
        assert!(!rail.tell_now, "there is nothing to tell");
        rail.begins(0);
        rail.landed(10, 100);
        assert_eq!(rail.silence(&settings), settings.silence, "it may wait for this");
        rail.begins(0);
        rail.landed(10, 100);
        assert_eq!(rail.silence(&settings), settings.flowing_silence, "it has not waited");
        rail.answered();
        assert!(rail.tell_now);
        rail.tell();
        rail.begins(2);
        assert_eq!(rail.silence(&settings), settings.silence, "it has waited");
    }

    #[test]
    fn of_parts_there_is_no_word_until_their_stream_has_ended() {
        let mut rail = Rail::new(0);
        rail.landed_part(1000, 100);
        rail.answered();
        assert!(rail.owes() && !rail.is_awaited() && !rail.tell_now);
        rail.ended(false);
        assert!(rail.is_awaited() && !rail.tell_now, "another rail had its end");
        rail.ended(true);
        assert!(rail.tell_now);
        rail.tell();
        rail.ended(true);
        assert!(!rail.tell_now, "there is nothing to tell");
        rail.landed(10, 100);
        rail.landed_part(80, 100);
        assert!(!rail.tell_now);
        rail.landed_part(10, 100);
        assert!(rail.tell_now, "somebody may wait for what came before them");
    }
}
