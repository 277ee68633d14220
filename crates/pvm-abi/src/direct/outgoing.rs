//! The sender's side of a direct link: a message is its head and its parts, written by one system call where the connection takes all.

use hpvm_pvm::buffers::Head;
use hpvm_pvm::record;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// Parts that one system call gets.
const PARTS: usize = 64;
/// How long a task that ends waits for a receiver that takes nothing.
const LAST_WORDS: Duration = Duration::from_secs(10);

pub struct Outgoing {
    stream: TcpStream,
    /// The rest of a message that could not be waited for: before all others.
    owed: Vec<u8>,
}

impl Outgoing {
    /// The connection does not block.
    pub fn new(stream: TcpStream) -> Outgoing {
        Outgoing { stream, owed: Vec::new() }
    }

    /// Sends a message whose bytes are those of `parts`, one after the other. Where the connection is full `wait` waits for it.
    ///
    /// # Errors
    /// What `wait` says, and nothing was sent; or the receiver is gone.
    pub fn send(
        &mut self,
        head: &Head,
        parts: &[&[u8]],
        wait: &mut impl FnMut(RawFd) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.owed.is_empty() {
            let owed = std::mem::take(&mut self.owed);
            if let Err((written, cause)) = self.write(&[&owed], wait) {
                self.owed = owed[written..].to_vec();
                return Err(cause);
            }
        }
        let total: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let front = record::encode(head, total);
        let mut all: Vec<&[u8]> = Vec::with_capacity(parts.len() + 1);
        all.push(&front);
        all.extend(parts);
        match self.write(&all, wait) {
            // What has begun goes on: the receiver could not tell where the next message begins.
            Err((written, cause)) if written > 0 && cause.kind() == ErrorKind::OutOfMemory => {
                self.owed = all.concat().split_off(written);
                Ok(())
            }
            other => other.map_err(|(_, cause)| cause),
        }
    }

    /// Writes all; an error with as many bytes as were written.
    fn write(
        &self,
        parts: &[&[u8]],
        wait: &mut impl FnMut(RawFd) -> io::Result<()>,
    ) -> Result<(), (usize, io::Error)> {
        let (mut part, mut at, mut written) = (0, 0, 0);
        loop {
            while parts.get(part).is_some_and(|bytes| bytes.len() == at) {
                (part, at) = (part + 1, 0);
            }
            if part == parts.len() {
                return Ok(());
            }
            let nothing = libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 };
            let mut vector = [nothing; PARTS];
            let count = (parts.len() - part).min(PARTS);
            for (to, bytes) in vector.iter_mut().zip(&parts[part..]) {
                *to = libc::iovec {
                    iov_base: bytes.as_ptr().cast_mut().cast(),
                    iov_len: bytes.len(),
                };
            }
            vector[0] = libc::iovec {
                iov_base: parts[part][at..].as_ptr().cast_mut().cast(),
                iov_len: parts[part].len() - at,
            };
            // SAFETY: the message header points to `count` parts that are alive and only read.
            let sent = unsafe {
                let mut message: libc::msghdr = std::mem::zeroed();
                message.msg_iov = vector.as_mut_ptr();
                message.msg_iovlen = count as _;
                let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
                libc::sendmsg(self.stream.as_raw_fd(), &raw const message, flags)
            };
            if sent < 0 {
                let cause = io::Error::last_os_error();
                match cause.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => {
                        wait(self.stream.as_raw_fd()).map_err(|cause| (written, cause))?;
                    }
                    _ => return Err((written, cause)),
                }
                continue;
            }
            let mut left = sent as usize;
            written += left;
            while left > 0 {
                let now = left.min(parts[part].len() - at);
                (left, at) = (left - now, at + now);
                if at == parts[part].len() {
                    (part, at) = (part + 1, 0);
                }
            }
        }
    }

    /// Whether the receiver is gone.
    pub fn has_ended(&mut self) -> bool {
        let mut byte = [0];
        !matches!(self.stream.read(&mut byte), Err(cause)
            if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted))
    }

    /// Writes what is owed, before the task ends.
    pub fn flush(&mut self) {
        let owed = std::mem::take(&mut self.owed);
        if !owed.is_empty()
            && self.stream.set_nonblocking(false).is_ok()
            && self.stream.set_write_timeout(Some(LAST_WORDS)).is_ok()
        {
            // A receiver that is gone or takes nothing gets nothing.
            let _ = self.stream.write_all(&owed);
        }
    }
}

impl AsRawFd for Outgoing {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}
