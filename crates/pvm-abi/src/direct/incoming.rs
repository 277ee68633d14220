//! The receiver's side of a direct link. Heads and short messages are read into a buffer, many by one system call; the rest of a
//! long message is read to where it is unpacked from.

use hpvm_pvm::Tid;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::record;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

/// Bytes that are read at once beside a long message.
const BUFFER: usize = 16 << 10;

/// Why nothing more comes.
pub enum Ended {
    /// The sender has ended.
    Gone,
    /// What it has sent may be lost: the connection broke, what came makes no sense, or there is no memory.
    Broken(String),
}

struct Partial {
    head: Head,
    total: usize,
    bytes: Vec<u8>,
}

pub struct Incoming {
    pub from: Tid,
    /// The sender has said that its messages come here from now on.
    pub is_open: bool,
    /// When something came last.
    pub heard: Instant,
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer is filled and not taken yet.
    at: usize,
    end: usize,
    partial: Option<Partial>,
}

impl Incoming {
    /// The connection does not block.
    pub fn new(from: Tid, stream: TcpStream) -> Incoming {
        let (heard, buffer) = (Instant::now(), vec![0; BUFFER]);
        Incoming { from, is_open: false, heard, stream, buffer, at: 0, end: 0, partial: None }
    }

    /// Takes what is there, as far as the message that ends then; whole messages go to `sink`, and memory for them comes from `memory`.
    ///
    /// # Errors
    /// Nothing more comes.
    pub fn poll(
        &mut self,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
    ) -> Result<(), Ended> {
        loop {
            let (got, room) = match self.read() {
                Ok((0, _)) => return Err(Ended::Gone),
                Ok(read) => read,
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                // A task that is killed leaves what it has not read.
                Err(cause) if cause.kind() == ErrorKind::ConnectionReset => {
                    return Err(Ended::Gone);
                }
                Err(cause) => return Err(Ended::Broken(cause.to_string())),
            };
            self.heard = Instant::now();
            if self.take(memory, sink)? || got < room {
                return Ok(());
            }
        }
    }

    /// Reads: how much, and how much there was room for.
    fn read(&mut self) -> io::Result<(usize, usize)> {
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        let rest = self.partial.as_mut().map(|partial| {
            let rest = partial.total - partial.bytes.len();
            let to = partial.bytes.spare_capacity_mut().as_mut_ptr();
            libc::iovec { iov_base: to.cast(), iov_len: rest }
        });
        let first = rest.map_or(0, |rest| rest.iov_len);
        let free = &mut self.buffer[self.end..];
        let behind = libc::iovec { iov_base: free.as_mut_ptr().cast(), iov_len: free.len() };
        let room = first + free.len();
        let parts = [rest.unwrap_or(behind), behind];
        let count = if rest.is_some() { 2 } else { 1 };
        // SAFETY: both parts are memory of ours with so much room: `take` has reserved that of the message.
        let got = unsafe { libc::readv(self.stream.as_raw_fd(), parts.as_ptr(), count) };
        let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        if let Some(partial) = &mut self.partial {
            let now = got.min(first);
            // SAFETY: so many bytes were just written behind its length.
            unsafe { partial.bytes.set_len(partial.bytes.len() + now) };
        }
        self.end += got - got.min(first);
        Ok((got, room))
    }

    /// Takes messages out of the buffer; says whether any has become whole.
    fn take(
        &mut self,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
    ) -> Result<bool, Ended> {
        let mut some = false;
        loop {
            if let Some(partial) = &mut self.partial {
                let there = &self.buffer[self.at..self.end];
                let now = there.len().min(partial.total - partial.bytes.len());
                partial.bytes.extend_from_slice(&there[..now]);
                self.at += now;
                if partial.bytes.len() < partial.total {
                    return Ok(some);
                }
            }
            if let Some(whole) = self.partial.take() {
                sink(whole.head, whole.bytes);
                some = true;
            }
            let Some(front) = self.buffer[self.at..self.end].first_chunk() else { return Ok(some) };
            let (head, total) = record::decode(front, self.from);
            self.at += front.len();
            let bytes =
                (total <= record::MESSAGE_BYTES_MAX).then(|| memory(total as usize)).flatten();
            let bytes =
                bytes.filter(|bytes| bytes.capacity() >= total as usize && bytes.is_empty());
            let Some(bytes) = bytes else {
                return Err(Ended::Broken(format!("no memory for a message of {total} bytes")));
            };
            self.partial = Some(Partial { head, total: total as usize, bytes });
        }
    }
}

impl AsRawFd for Incoming {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}
