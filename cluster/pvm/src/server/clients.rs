//! Connections of tasks.

use crate::sys;
use hpvm_pvm::protocol::Answer;
use hpvm_pvm::wire::{Wire, frame, unframe};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

pub struct Client {
    stream: UnixStream,
    pid: i32,
    process: Option<OwnedFd>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Client {
    /// `None`: the other side is another user's, or gone.
    pub fn new(stream: UnixStream, user: u32) -> Option<Client> {
        let (pid, uid) = sys::peer(&stream).ok()?;
        if uid != user {
            return None;
        }
        stream.set_nonblocking(true).ok()?;
        let process = sys::process(pid);
        Some(Client { stream, pid, process, input: Vec::new(), output: Vec::new() })
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Readable when the process has ended.
    pub fn process(&self) -> Option<RawFd> {
        self.process.as_ref().map(AsRawFd::as_raw_fd)
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Reads what is there; says whether more may come.
    pub fn read(&mut self) -> bool {
        let mut part = [0; 64 << 10];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return false,
                Ok(len) => self.input.extend_from_slice(&part[..len]),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return true,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// # Errors
    /// What came is no request.
    pub fn next<T: Wire>(&mut self) -> Result<Option<T>, String> {
        unframe(&mut self.input)
    }

    pub fn queue(&mut self, answer: &Answer) {
        self.output.extend_from_slice(&frame(answer));
    }

    /// Writes what the socket takes. That the other side is gone is seen where its words are read.
    pub fn write(&mut self) {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(len) => drop(self.output.drain(..len)),
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.output.clear(),
            }
        }
    }
}
