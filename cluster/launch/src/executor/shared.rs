//! Standard input for several ranks of this machine: read once, written to each of them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::Source;
use super::feed::Feed;
use crate::remote::frame::Frame;
use crate::remote::typed::Typed;
use crate::sys::Epoll;

/// One rank that reads.
#[derive(Debug)]
struct Reader {
    rank: u32,
    pipe: Typed,
    /// Bytes that it has taken, or all that there will be when it reads no more.
    taken: u64,
}

/// Reads our standard input as fast as the slowest of the ranks takes it.
#[derive(Debug)]
pub struct Shared {
    feed: Feed,
    readers: Vec<Reader>,
    /// Bytes that all readers have taken.
    common: u64,
}

impl Shared {
    /// For our standard input.
    pub fn of_stdin() -> Self {
        Self { feed: Feed::of_stdin(), readers: Vec::new(), common: 0 }
    }

    /// One more rank; gives the end that it reads.
    pub fn open(&mut self, rank: u32) -> io::Result<OwnedFd> {
        let mut pipe = Typed::new(Source::SharedPipe.token(rank));
        let end = pipe.open()?;
        self.readers.push(Reader { rank, pipe, taken: 0 });
        Ok(end)
    }

    /// Reads as long as it makes sense, and watches for more.
    pub fn tend(&mut self, now: Duration, epoll: &Epoll) {
        while self.feed.watch(epoll, Source::Feed.token(0)) {
            self.read(now, epoll);
        }
    }

    /// Our standard input has something to read.
    pub fn read(&mut self, now: Duration, epoll: &Epoll) {
        let Some(bytes) = self.feed.read(now) else { return };
        self.readers.iter_mut().for_each(|reader| reader.pipe.push(&bytes));
        let ranks: Vec<u32> = self.readers.iter().map(|reader| reader.rank).collect();
        ranks.into_iter().for_each(|rank| self.room(rank, epoll));
    }

    /// A rank's pipe has room, or something to write.
    pub fn room(&mut self, rank: u32, epoll: &Epoll) {
        let Some(reader) = self.readers.iter_mut().find(|reader| reader.rank == rank) else {
            return;
        };
        match reader.pipe.write(epoll) {
            Some(Frame::StdinTaken(count)) => reader.taken += u64::from(count),
            Some(Frame::StdinClosed) => reader.taken = u64::MAX,
            _ => {}
        }
        match self.readers.iter().map(|reader| reader.taken).min() {
            // Nobody reads any more.
            None | Some(u64::MAX) => self.feed.closed(),
            Some(common) => {
                self.feed.taken((common - self.common) as usize);
                self.common = common;
            }
        }
    }

    /// When [`Shared::tick`] is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.feed.next_timeout()
    }

    /// Looks again whether the terminal is ours.
    pub fn tick(&mut self, now: Duration, epoll: &Epoll) {
        self.feed.tick(now);
        self.tend(now, epoll);
    }
}
