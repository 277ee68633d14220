//! One end of the connection between two processes of the launcher's tree: bytes in and out, and
//! the `ssh` (or whatever it is) between them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Source;
use crate::remote::codec::Fault;
use crate::remote::frame::{FILLER, Frame, FrameBuffer};
use crate::sys::{self, Epoll};
use crate::{error, text};

/// So much of what `ssh` says is kept for messages.
const SAID_MAX: usize = 4096;
/// So many lines of that are repeated, and the last one.
const SAID_LINES_MAX: usize = 4;
/// How long a process whose streams have ended may take to end itself.
const EXIT_WAIT: Duration = Duration::from_millis(500);
/// With so many bytes unsent, the outputs of ranks are no longer read until some are gone.
const HIGH_WATER: usize = 1 << 20;

/// What one read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    Nothing,
    Bytes,
    End,
}

/// Lines in one. Of many, which mostly say the same, the first ones and the last.
fn some_lines(lines: &[&str]) -> String {
    match lines {
        [first @ .., last] if first.len() > SAID_LINES_MAX => {
            let more = first.len() - SAID_LINES_MAX;
            format!("{}; ({more} lines more); {last}", first[..SAID_LINES_MAX].join("; "))
        }
        all => all.join("; "),
    }
}

/// A connection.
#[derive(Debug)]
pub struct LinkIo {
    child: Option<Child>,
    /// What was started, for messages.
    tool: String,
    host: String,
    to: Option<OwnedFd>,
    from: Option<OwnedFd>,
    errors: Option<OwnedFd>,
    frames: FrameBuffer,
    /// Goes out before everything else, from this byte on.
    first: Option<(Rc<Vec<u8>>, usize)>,
    unsent: Vec<u8>,
    sent: usize,
    watches_room: bool,
    resting: bool,
    spoke: bool,
    said: Vec<u8>,
}

impl LinkIo {
    /// Starts `words host command...` and connects to its streams. `index` tells its events.
    pub fn start(
        words: &[OsString],
        host: &str,
        command: &[OsString],
        epoll: &Epoll,
        index: u32,
    ) -> io::Result<Self> {
        let (program, first) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut start = Command::new(program);
        start.args(first).arg(host).args(command);
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is for the launcher, which passes it on by itself.
        start.process_group(0);
        // SAFETY: between fork and exec one async-signal-safe call is made.
        unsafe {
            start.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let mut child = start.spawn()?;
        let mut link = Self {
            tool: program.to_string_lossy().into_owned(),
            host: host.to_string(),
            to: child.stdin.take().map(OwnedFd::from),
            from: child.stdout.take().map(OwnedFd::from),
            errors: child.stderr.take().map(OwnedFd::from),
            child: Some(child),
            ..Self::nowhere()
        };
        link.watch(epoll, index)?;
        Ok(link)
    }

    /// The agent's connection to the process that started it.
    /// `frames` has what was read already.
    pub fn upward(
        from: OwnedFd,
        to: OwnedFd,
        frames: FrameBuffer,
        epoll: &Epoll,
        index: u32,
    ) -> io::Result<Self> {
        let mut link = Self { from: Some(from), to: Some(to), frames, ..Self::nowhere() };
        link.watch(epoll, index)?;
        Ok(link)
    }

    /// A connection that never came to be.
    pub fn nowhere() -> Self {
        Self {
            child: None,
            tool: String::new(),
            host: String::new(),
            to: None,
            from: None,
            errors: None,
            frames: FrameBuffer::default(),
            first: None,
            unsent: Vec::new(),
            sent: 0,
            watches_room: false,
            resting: false,
            spoke: false,
            said: Vec::new(),
        }
    }

    fn watch(&mut self, epoll: &Epoll, index: u32) -> io::Result<()> {
        for fd in [&self.to, &self.from, &self.errors].into_iter().flatten() {
            sys::set_nonblocking(fd.as_raw_fd())?;
        }
        for (fd, source) in [(&self.from, Source::LinkIn), (&self.errors, Source::LinkError)] {
            if let Some(fd) = fd {
                epoll.add(fd.as_raw_fd(), libc::EPOLLIN, source.token(index))?;
            }
        }
        Ok(())
    }

    /// The process between the ends.
    pub fn pid(&self) -> Option<i32> {
        self.child.as_ref().map(|child| child.id() as i32)
    }

    /// Whether it can still be read.
    pub fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Whether so much waits to be sent that nothing should be added that can wait.
    pub fn is_full(&self) -> bool {
        self.unsent.len() - self.sent > HIGH_WATER
    }

    /// Whether everything has been sent, or never can be.
    pub fn is_flushed(&self) -> bool {
        self.sent == self.unsent.len() || self.to.is_none()
    }

    /// Appends a frame, to be sent by [`LinkIo::flush`].
    pub fn queue(&mut self, frame: &Frame) {
        if self.to.is_some() {
            frame.encode(&mut self.unsent);
        }
    }

    /// Sends these bytes, which are no frame, before all frames.
    pub fn send_first(&mut self, bytes: Option<Rc<Vec<u8>>>) {
        self.first = bytes.map(|bytes| (bytes, 0));
    }

    /// Sends what waits, as far as there is room. If the other end is gone, reading tells.
    pub fn flush(&mut self, epoll: &Epoll, index: u32) {
        let Some(fd) = self.to.as_ref().map(AsRawFd::as_raw_fd) else { return };
        if self.sent < self.unsent.len() && self.unsent.last() != Some(&FILLER) {
            self.unsent.push(FILLER);
        }
        while self.first.is_some() || self.sent < self.unsent.len() {
            let result = match &self.first {
                Some((bytes, sent)) => sys::write(fd, &bytes[*sent..]),
                None => sys::write(fd, &self.unsent[self.sent..]),
            };
            match (result, &mut self.first) {
                (Ok(count), Some((bytes, sent))) if *sent + count < bytes.len() => *sent += count,
                (Ok(_), first @ Some(_)) => *first = None,
                (Ok(count), None) => self.sent += count,
                (Err(error), _) if error.kind() == io::ErrorKind::Interrupted => {}
                (Err(error), _) if error.kind() == io::ErrorKind::WouldBlock => break,
                (Err(_), first) => (*first, self.sent) = (None, self.unsent.len()),
            }
        }
        let left = self.first.is_some() || self.sent < self.unsent.len();
        if !left {
            self.unsent.clear();
            self.sent = 0;
        } else if self.sent >= HIGH_WATER {
            self.unsent.drain(..self.sent);
            self.sent = 0;
        }
        if left && !self.watches_room {
            let token = Source::LinkRoom.token(index);
            self.watches_room = epoll.add(fd, libc::EPOLLOUT, token).is_ok();
        } else if !left && self.watches_room {
            epoll.remove(fd);
            self.watches_room = false;
        }
    }

    /// One read of what the other end sent.
    pub fn read(&mut self, buffer: &mut [u8]) -> Got {
        let Some(fd) = self.from.as_ref().map(AsRawFd::as_raw_fd) else { return Got::End };
        match sys::read(fd, buffer) {
            Ok(0) => Got::End,
            Ok(count) => {
                self.frames.push(&buffer[..count]);
                Got::Bytes
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Got::Nothing
            }
            Err(_) => Got::End,
        }
    }

    /// Stops reading for a while (`true`), or goes on.
    pub fn rest(&mut self, rest: bool, epoll: &Epoll, index: u32) {
        let Some(fd) = self.from.as_ref().map(AsRawFd::as_raw_fd) else { return };
        if rest && !self.resting {
            epoll.remove(fd);
            self.resting = true;
        } else if !rest && self.resting {
            let token = Source::LinkIn.token(index);
            self.resting = epoll.add(fd, libc::EPOLLIN, token).is_err();
        }
    }

    /// The next whole frame that has come.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Fault> {
        let frame = self.frames.next_frame();
        self.spoke |= matches!(frame, Ok(Some(_)));
        frame
    }

    /// Reads what `ssh` has to say.
    pub fn read_errors(&mut self, epoll: &Epoll) {
        let Some(fd) = self.errors.as_ref().map(AsRawFd::as_raw_fd) else { return };
        let mut buffer = [0; 4096];
        loop {
            match sys::read(fd, &mut buffer) {
                Ok(count) if count > 0 => {
                    self.said.extend_from_slice(&buffer[..count]);
                    let excess = self.said.len().saturating_sub(SAID_MAX);
                    self.said.drain(..excess);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => {
                    epoll.remove(fd);
                    self.errors = None;
                    return;
                }
            }
        }
    }

    /// Closes our ends; what runs at the other one then ends.
    pub fn close(&mut self, epoll: &Epoll) {
        if self.watches_room {
            self.to.iter().for_each(|fd| epoll.remove(fd.as_raw_fd()));
        }
        if !self.resting {
            self.from.iter().for_each(|fd| epoll.remove(fd.as_raw_fd()));
        }
        (self.to, self.from, self.watches_room) = (None, None, false);
        (self.unsent, self.sent) = (Vec::new(), 0);
    }

    /// After the end of a connection that was not meant to end: why, as far as can be told. Closes
    /// it. `place` is where hpvm should be there. May wait half a second for the process in between.
    pub fn epitaph(&mut self, fault: Option<Fault>, place: &OsStr, epoll: &Epoll) -> String {
        self.close(epoll);
        let status = self.wait(EXIT_WAIT);
        self.read_errors(epoll);
        let host = &self.host;
        let mut said = String::from_utf8_lossy(&self.said).into_owned();
        said.extend(self.frames.noise());
        let said = said.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
        let said = some_lines(&said.collect::<Vec<_>>());
        let colon = if said.is_empty() { "" } else { ": " };
        if let Some(fault) = fault {
            return format!("host '{host}': {fault}");
        }
        let how = match status {
            Some(Ok(code)) => format!("{} exited with code {code}", self.tool),
            Some(Err(signal)) => format!("{} was killed by {}", self.tool, text::signal(signal)),
            None => format!("{} closed its streams", self.tool),
        };
        match status {
            _ if self.spoke => {
                format!("the connection to host '{host}' was lost ({how}{colon}{said})")
            }
            Some(Ok(126 | 127)) if !place.is_empty() => format!(
                "host '{host}' has no hpvm at '{}', where it is here{colon}{said}; install it at \
                 the same place there, or use --preload",
                place.display()
            ),
            _ => format!("cannot start anything on host '{host}': {how}{colon}{said}"),
        }
    }

    /// Waits for the process to end; gives its exit code or its signal.
    fn wait(&mut self, limit: Duration) -> Option<Result<i32, i32>> {
        let child = self.child.as_mut()?;
        let end = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                self.child = None;
                return Some(status.code().ok_or_else(|| status.signal().unwrap_or(0)));
            }
            if Instant::now() >= end {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// At the end of the job: the process gets so long to end by itself, then it is killed.
    pub fn dispose(&mut self, epoll: &Epoll, limit: Duration) {
        self.close(epoll);
        if self.wait(limit).is_none()
            && let Some(mut child) = self.child.take()
        {
            // It leads a group of its own, of which it may have left others behind.
            sys::kill(-(child.id() as i32), libc::SIGKILL);
            let _ = child.wait();
        }
    }
}

/// The text of a failed start.
pub fn cannot_start(words: &[OsString], host: &str, cause: &io::Error) -> String {
    let tool = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    format!("cannot run '{tool}' to reach host '{host}': {}", error::plain(cause))
}
