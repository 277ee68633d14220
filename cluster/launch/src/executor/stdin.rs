//! Standard input of rank 0.
//!
//! A file or pipe is simply inherited. A terminal cannot be: rank 0 is in a process group of its
//! own, and reading would stop it. So the launcher reads the terminal, while it is in the
//! foreground, and passes on what was typed.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::sys;

/// How often a launcher in the background looks whether it has come to the foreground.
pub const FOREGROUND_POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Passes the terminal's lines to a pipe.
#[derive(Debug)]
pub struct Typing {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    ended: bool,
    look_at: Option<Duration>,
}

impl Typing {
    /// If standard input is a terminal: the forwarder and the end that rank 0 reads.
    pub fn new() -> io::Result<Option<(Self, OwnedFd)>> {
        // SAFETY: asks about a descriptor number.
        if unsafe { libc::isatty(0) } != 1 {
            return Ok(None);
        }
        let (read, write) = sys::pipe()?;
        sys::set_nonblocking(write.as_raw_fd())?;
        let typing = Self { pipe: Some(write), bytes: Vec::new(), ended: false, look_at: None };
        Ok(Some((typing, read)))
    }

    /// Whether the terminal should be watched now.
    pub fn wants_terminal(&self) -> bool {
        self.pipe.is_some() && self.bytes.is_empty() && !self.ended && self.look_at.is_none()
    }

    /// The pipe, when it is to be watched for room.
    pub fn wants_pipe(&self) -> Option<RawFd> {
        self.pipe.as_ref().filter(|_| !self.bytes.is_empty()).map(|pipe| pipe.as_raw_fd())
    }

    /// The pipe, while it is open.
    pub fn pipe_fd(&self) -> Option<RawFd> {
        self.pipe.as_ref().map(|pipe| pipe.as_raw_fd())
    }

    /// When [`Typing::tick`] is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.look_at
    }

    /// Looks again whether we are in the foreground.
    pub fn tick(&mut self, now: Duration) {
        if self.look_at.is_some_and(|at| now >= at) {
            self.look_at = (!foreground()).then_some(now + FOREGROUND_POLL_INTERVAL);
        }
    }

    /// The terminal has something to read.
    pub fn terminal_ready(&mut self, now: Duration) {
        if !foreground() {
            self.look_at = Some(now + FOREGROUND_POLL_INTERVAL);
            return;
        }
        let mut bytes = [0_u8; 4096];
        match sys::read(0, &mut bytes) {
            Ok(0) => self.end(),
            Ok(count) => {
                self.bytes.extend_from_slice(&bytes[..count]);
                self.pipe_ready();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.end(),
        }
    }

    /// The pipe has room, or its reader is gone.
    pub fn pipe_ready(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        match sys::write(pipe.as_raw_fd(), &self.bytes) {
            Ok(count) => {
                self.bytes.drain(..count);
                if self.ended && self.bytes.is_empty() {
                    self.pipe = None;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => {
                self.pipe = None;
                self.bytes.clear();
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        if self.bytes.is_empty() {
            self.pipe = None;
        }
    }
}

/// Whether the terminal is ours to read.
pub fn foreground() -> bool {
    // SAFETY: both calls only ask.
    unsafe { libc::tcgetpgrp(0) == libc::getpgrp() }
}
