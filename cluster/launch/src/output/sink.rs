//! Writes to the launcher's own standard output or error without ever blocking in it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::sys;

/// With so many bytes unwritten, ranks are no longer read until some are gone.
pub const HIGH_WATER: usize = 256 << 10;

/// How a descriptor can be written without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// A file: a write never waits for a reader.
    Direct,
    /// Our own non-blocking description of the pipe or terminal.
    NonBlocking,
    /// A socket: `MSG_DONTWAIT`.
    Socket,
    /// A pipe or terminal we cannot reopen: small writes when `poll` says there is room.
    Careful,
}

/// A descriptor with the bytes that wait to be written to it.
#[derive(Debug)]
pub struct Sink {
    fd: OwnedFd,
    manner: Manner,
    bytes: Vec<u8>,
    start: usize,
    broken: Option<i32>,
}

impl Sink {
    /// A sink on a copy of this descriptor. The flags of the original are left alone, since the
    /// shell and others share it.
    pub fn new(fd: RawFd) -> io::Result<Self> {
        let (fd, manner) = match sys::file_type(fd)? {
            libc::S_IFIFO | libc::S_IFCHR => match sys::reopen_for_writing(fd) {
                Ok(own) => (own, Manner::NonBlocking),
                Err(_) => (sys::duplicate(fd)?, Manner::Careful),
            },
            libc::S_IFSOCK => (sys::duplicate(fd)?, Manner::Socket),
            _ => (sys::duplicate(fd)?, Manner::Direct),
        };
        Ok(Self { fd, manner, bytes: Vec::new(), start: 0, broken: None })
    }

    /// Where output is appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Bytes that wait.
    pub fn pending(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// The error after which nothing is written any more.
    pub fn broken(&self) -> Option<i32> {
        self.broken
    }

    /// Whether so much waits that no more should be appended.
    pub fn full(&self) -> bool {
        self.pending() >= HIGH_WATER
    }

    /// The descriptor to wait for, when waiting makes sense.
    pub fn pollable(&self) -> Option<RawFd> {
        (self.manner != Manner::Direct).then(|| self.fd.as_raw_fd())
    }

    /// Writes what can be written now. After an error everything is discarded.
    pub fn write(&mut self) {
        while self.pending() > 0 && self.broken.is_none() {
            match self.write_once() {
                Ok(count) => self.start += count,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => {}
                    errno => self.broken = Some(errno.unwrap_or(libc::EIO)),
                },
            }
        }
        if self.pending() == 0 || self.broken.is_some() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start >= HIGH_WATER {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }

    fn write_once(&self) -> io::Result<usize> {
        let fd = self.fd.as_raw_fd();
        let bytes = &self.bytes[self.start..];
        match self.manner {
            Manner::Direct | Manner::NonBlocking => sys::write(fd, bytes),
            Manner::Socket => sys::send(fd, bytes),
            Manner::Careful => {
                if !hpvm_os::wait(&fd, libc::POLLOUT, Some(std::time::Duration::ZERO))? {
                    return Err(io::Error::from_raw_os_error(libc::EAGAIN));
                }
                sys::write(fd, &bytes[..bytes.len().min(libc::PIPE_BUF)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pipe_does_not_block_and_a_closed_one_is_noticed() {
        let (reader, writer) = sys::pipe().unwrap();
        let mut sink = Sink::new(writer.as_raw_fd()).unwrap();
        assert_eq!(sink.manner, Manner::NonBlocking);
        drop(writer);
        sink.buffer().resize(1 << 20, b'x');
        sink.write();
        assert!(sink.pending() > 0 && sink.full());
        drop(reader);
        sink.write();
        assert_eq!(sink.broken(), Some(libc::EPIPE));
        assert_eq!(sink.pending(), 0);
    }

    #[test]
    fn pipes_that_cannot_be_reopened_are_written_with_care() {
        let (_reader, writer) = sys::pipe().unwrap();
        let mut sink = Sink::new(writer.as_raw_fd()).unwrap();
        (sink.fd, sink.manner) = (writer, Manner::Careful);
        sink.buffer().resize(1 << 20, b'x');
        sink.write();
        assert!(sink.pending() > 0);
    }
}
