//! Standard input for a rank on another host, or for several: read here, handed on with a window.

use std::io;
use std::time::Duration;

use super::stdin::{FOREGROUND_POLL_INTERVAL, foreground};
use crate::sys::{self, Epoll};

/// So many bytes may be on their way.
const WINDOW: usize = 64 << 10;

/// Reads our standard input as fast as rank 0 takes it.
#[derive(Debug)]
pub struct Feed {
    terminal: bool,
    ended: bool,
    on_the_way: usize,
    watched: bool,
    /// A file, which is always ready and cannot be watched.
    always_ready: bool,
    look_at: Option<Duration>,
}

impl Feed {
    /// For our standard input, whatever it is.
    pub fn of_stdin() -> Self {
        Self {
            // SAFETY: asks about a descriptor number.
            terminal: unsafe { libc::isatty(0) } == 1,
            ended: false,
            on_the_way: 0,
            watched: false,
            always_ready: false,
            look_at: None,
        }
    }

    fn wants(&self) -> bool {
        !self.ended && self.look_at.is_none() && self.on_the_way < WINDOW
    }

    /// Watches, or stops watching, as is right now. True when it should be read at once.
    pub fn watch(&mut self, epoll: &Epoll, token: u64) -> bool {
        if self.always_ready {
            return self.wants();
        }
        match (self.wants(), self.watched) {
            (true, false) => match epoll.add(0, libc::EPOLLIN, token) {
                Ok(()) => self.watched = true,
                Err(_) => self.always_ready = true,
            },
            (false, true) => {
                epoll.remove(0);
                self.watched = false;
            }
            _ => {}
        }
        self.always_ready && self.wants()
    }

    /// Reads once. Gives the bytes to send; none of them is the end.
    pub fn read(&mut self, now: Duration) -> Option<Vec<u8>> {
        if !self.wants() {
            return None;
        }
        if self.terminal && !foreground() {
            self.look_at = Some(now + FOREGROUND_POLL_INTERVAL);
            return None;
        }
        let mut bytes = vec![0; 16 << 10];
        match sys::read(0, &mut bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                self.on_the_way += count;
                Some(bytes)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                None
            }
            _ => {
                self.ended = true;
                Some(Vec::new())
            }
        }
    }

    /// Rank 0 has taken so many bytes.
    pub fn taken(&mut self, count: usize) {
        self.on_the_way = self.on_the_way.saturating_sub(count);
    }

    /// Rank 0 reads no more.
    pub fn closed(&mut self) {
        self.ended = true;
    }

    /// When [`Feed::tick`] is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.look_at
    }

    /// Looks again whether we are in the foreground.
    pub fn tick(&mut self, now: Duration) {
        if self.look_at.is_some_and(|at| now >= at) {
            self.look_at = (!foreground()).then_some(now + FOREGROUND_POLL_INTERVAL);
        }
    }
}
