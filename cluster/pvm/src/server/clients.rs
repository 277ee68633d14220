//! Connections of tasks.

use super::channel::Queue;
use hpvm_pvm::protocol::{Answer, Request};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

pub struct Client {
    stream: UnixStream,
    pid: i32,
    process: Option<OwnedFd>,
    input: Queue,
    output: Queue,
    /// It has said that it is a task, not a console, and has not left.
    pub is_task: bool,
}

impl Client {
    /// `None`: the other side is another user's, or gone.
    pub fn new(stream: UnixStream, user: u32) -> Option<Client> {
        let (pid, uid) = hpvm_os::peer(&stream).ok()?;
        if uid != user {
            return None;
        }
        stream.set_nonblocking(true).ok()?;
        let process = hpvm_launch::sys::pidfd(pid).ok();
        let (input, output) = (Queue::default(), Queue::default());
        Some(Client { stream, pid, process, input, output, is_task: false })
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

    /// Reads what is there, or a part of it; says whether more may come.
    pub fn read(&mut self) -> bool {
        self.input.fill(&mut self.stream)
    }

    /// # Errors
    /// What came is no request.
    pub fn next(&mut self) -> Result<Option<Request>, String> {
        let next = self.input.next()?;
        match &next {
            Some(Request::Enroll { hello }) => self.is_task = !hello.console,
            // From now on it is a process like others, which the end of the virtual machine does not concern.
            Some(Request::Exit {}) => self.is_task = false,
            _ => {}
        }
        Ok(next)
    }

    pub fn queue(&mut self, answer: &Answer) {
        self.output.put(answer);
    }

    /// Writes what the socket takes. That the other side is gone is seen where its words are read.
    pub fn write(&mut self) {
        if self.output.drain(&mut self.stream).is_err() {
            self.output = Queue::default();
        }
    }
}
