//! One way between two processes: chunks in order, each delivered once, over one connection after
//! another.

use crate::Time;
use crate::action::{ConnId, Settings};
use std::collections::VecDeque;

/// Most lanes of a pair of processes.
pub(crate) const MAX_LANES: u8 = 8;

/// A piece of a stream that is sent as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub number: u64,
    pub offset: u64,
    pub len: u32,
    pub early: bool,
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
pub(crate) struct Lane {
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
    /// Place in `fifo` of the next chunk to be written.
    next: usize,
    /// How many chunks were written as a whole, over whatever connection.
    written: u64,
    /// Chunks of the peer that have come.
    pub received: u64,
}

impl Lane {
    pub fn new(now: Time) -> Lane {
        Lane {
            link: Link::Down,
            epoch: 0,
            failures: 0,
            retry: 0,
            since: now,
            asked: None,
            fifo: VecDeque::new(),
            base: 0,
            next: 0,
            written: 0,
            received: 0,
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

    /// Chunks wait to be sent again, or for the first time.
    pub fn next_chunk(&self) -> Option<Chunk> {
        self.fifo.get(self.next).copied()
    }

    pub fn has_doubtful(&self) -> bool {
        !self.fifo.is_empty()
    }

    pub fn push(&mut self, chunk: Chunk) {
        self.fifo.push_back(chunk);
    }

    /// The chunk `next_chunk` has been written. True: for the second time.
    pub fn wrote(&mut self) -> bool {
        self.next += 1;
        let total = self.base + self.next as u64;
        let again = total <= self.written;
        self.written = self.written.max(total);
        again
    }

    /// The peer alleges that `count` chunks have come. False: impossible.
    pub fn confirm(&mut self, count: u64) -> bool {
        let Some(come) = count.checked_sub(self.base) else { return false };
        if count > self.written {
            return false;
        }
        self.fifo.drain(..come as usize);
        self.base = count;
        self.next = 0;
        true
    }

    /// Stream `number` has come as a whole, and with it every chunk before its last. False: one
    /// of its chunks has not been written yet.
    pub fn finish(&mut self, number: u64) -> bool {
        let Some(last) = self.fifo.iter().rposition(|c| c.number == number) else { return true };
        // Without a connection `next` is 0, and what was written before may have come.
        let sent = if self.up().is_some() { self.next as u64 } else { self.written - self.base };
        if last as u64 >= sent {
            return false;
        }
        self.fifo.drain(..=last);
        self.base += last as u64 + 1;
        self.next = self.next.saturating_sub(last + 1);
        true
    }

    /// All chunks that have not come, for another lane.
    pub fn take_doubtful(&mut self) -> VecDeque<Chunk> {
        self.next = 0;
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
        self.next = 0;
        let pause = settings.pause << self.failures.min(16);
        self.failures += 1;
        self.retry = now.saturating_add(pause.min(settings.longest_pause));
    }

    pub fn rose(&mut self, conn: ConnId, epoch: u32) {
        self.link = Link::Up(conn);
        self.epoch = epoch;
        self.failures = 0;
        self.asked = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u64, offset: u64) -> Chunk {
        Chunk { number, offset, len: 10, early: false }
    }

    #[test]
    fn what_has_not_come_is_sent_again_and_nothing_else() {
        let mut lane = Lane::new(0);
        for i in 0..4 {
            lane.push(chunk(1, i));
        }
        assert!(!lane.wrote() && !lane.wrote() && !lane.wrote());
        lane.fell(true, 5, &Settings::default());
        assert!(!lane.confirm(4), "the fourth was never written as a whole");
        assert!(lane.confirm(2));
        assert_eq!(lane.next_chunk(), Some(chunk(1, 2)));
        assert!(lane.wrote(), "the third for the second time");
        assert!(!lane.wrote());
        assert!(!lane.confirm(1) && lane.confirm(4) && lane.next_chunk().is_none());
    }

    #[test]
    fn the_end_of_a_stream_confirms_everything_before_its_last_chunk() {
        let mut lane = Lane::new(0);
        for number in [1, 2, 1, 3] {
            lane.push(chunk(number, 0));
        }
        assert!(lane.finish(9));
        lane.rose(ConnId { index: 0, generation: 0 }, 1);
        lane.wrote();
        lane.wrote();
        assert!(!lane.finish(1), "its second chunk is not out");
        lane.wrote();
        assert!(lane.finish(1));
        assert_eq!(lane.next_chunk(), Some(chunk(3, 0)));
        assert!(lane.confirm(3) && !lane.confirm(2));
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let settings = Settings { pause: 10, longest_pause: 35, ..Settings::default() };
        let mut lane = Lane::new(0);
        let mut pauses = Vec::new();
        for _ in 0..4 {
            lane.fell(false, 100, &settings);
            pauses.push(lane.retry - 100);
        }
        assert_eq!(pauses, [10, 20, 35, 35]);
    }
}
