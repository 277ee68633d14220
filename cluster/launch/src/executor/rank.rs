//! The launcher's ends of one rank: its process, its PMI connection, its two outputs.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::Source;
use super::spawn::{ChildFds, Image, Nursery};
use crate::dispatcher::{Ended, Event};
use crate::environment::ranks::Numbers;
use crate::place::affinity::KernelSet;
use crate::pmi::line::LineBuffer;
use crate::sys::{self, Epoll};

/// What one read brought.
pub enum Read {
    Nothing,
    Bytes(usize),
    End,
}

/// A rank as the executor sees it.
#[derive(Debug)]
pub struct RankIo {
    /// Process and process group; 0 if it was never started.
    pub pid: libc::pid_t,
    /// Its process has been reaped, so that its number may belong to another one.
    pub reaped: bool,
    pidfd: Option<OwnedFd>,
    exited: bool,
    pmi: Option<OwnedFd>,
    lines: LineBuffer,
    unsent: Vec<u8>,
    outputs: [Option<OwnedFd>; 2],
    watched: [bool; 2],
}

impl RankIo {
    /// A rank that was never started.
    pub fn absent() -> Self {
        Self {
            pid: 0,
            reaped: true,
            pidfd: None,
            exited: true,
            pmi: None,
            lines: LineBuffer::default(),
            unsent: Vec::new(),
            outputs: [None, None],
            watched: [false; 2],
        }
    }

    /// Starts a rank's process and watches it.
    pub fn start(
        numbers: Numbers,
        image: &Image,
        nursery: &Nursery,
        epoll: &Epoll,
        stdin: RawFd,
        cpus: Option<KernelSet>,
    ) -> io::Result<Self> {
        let rank = numbers.rank;
        let (pmi, pmi_child) = sys::socket_pair()?;
        let (out, out_child) = sys::pipe()?;
        let (err, err_child) = sys::pipe()?;
        for fd in [&pmi, &out, &err] {
            sys::set_nonblocking(fd.as_raw_fd())?;
        }
        epoll.add(pmi.as_raw_fd(), libc::EPOLLIN, Source::Pmi.token(rank))?;
        let fds = ChildFds {
            numbers,
            stdin,
            stdout: out_child.as_raw_fd(),
            stderr: err_child.as_raw_fd(),
            pmi: pmi_child.as_raw_fd(),
            cpus,
        };
        let pid = nursery.spawn(image, &fds)?;
        // The process may be gone already; it stays a zombie, so its descriptor can be had.
        let pidfd = sys::pidfd(pid).ok().filter(|fd| {
            epoll.add(fd.as_raw_fd(), libc::EPOLLIN, Source::Exit.token(rank)).is_ok()
        });
        Ok(Self {
            pid,
            reaped: false,
            pidfd,
            exited: false,
            pmi: Some(pmi),
            outputs: [Some(out), Some(err)],
            ..Self::absent()
        })
    }

    /// Whether it may still write something.
    pub fn has_output(&self) -> bool {
        self.outputs.iter().any(Option::is_some)
    }

    /// Whether its process lives, as far as we have heard.
    pub fn is_running(&self) -> bool {
        self.pid > 0 && !self.exited
    }

    /// Whether its end is learned from `SIGCHLD` only.
    pub fn waits_for_sigchld(&self) -> bool {
        !self.exited && self.pidfd.is_none()
    }

    /// How the process ended, once, if it has. It stays a zombie, which keeps the number of its
    /// process group from being given to others.
    pub fn take_exit(&mut self, epoll: &Epoll) -> Option<Ended> {
        if self.exited {
            return None;
        }
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the pointer is to a writable siginfo, for which all zeroes are valid; after the
        // call the fields of a child's end are set, or the pid is zero.
        let (pid, code, status) = unsafe {
            libc::waitid(libc::P_PID, self.pid as libc::id_t, info.as_mut_ptr(), options);
            let info = info.assume_init();
            (info.si_pid(), info.si_code, info.si_status())
        };
        if pid == 0 {
            return None;
        }
        self.exited = true;
        if let Some(fd) = self.pidfd.take() {
            epoll.remove(fd.as_raw_fd());
        }
        Some(match code {
            libc::CLD_EXITED => Ended::Code(status),
            _ => Ended::Signal { number: status, core: code == libc::CLD_DUMPED },
        })
    }

    /// Reads and hands on the rank's commands.
    pub fn read_pmi(
        &mut self,
        rank: u32,
        epoll: &Epoll,
        buffer: &mut [u8],
        mut take: impl FnMut(Event),
    ) {
        loop {
            // A client that does not read its answers is not served further.
            let Some(fd) = self.pmi.as_ref().map(AsRawFd::as_raw_fd) else { return };
            if !self.flush(fd, rank, epoll) {
                return;
            }
            match sys::read(fd, buffer) {
                Ok(0) => return self.close_pmi(epoll),
                Ok(count) => self.lines.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.close_pmi(epoll),
            }
            loop {
                match self.lines.next_line() {
                    Ok(Some(line)) => take(Event::Pmi { rank, line }),
                    Ok(None) => break,
                    Err(_) => {
                        take(Event::PmiOverflow { rank });
                        return self.close_pmi(epoll);
                    }
                }
            }
        }
    }

    fn close_pmi(&mut self, epoll: &Epoll) {
        if let Some(fd) = self.pmi.take() {
            epoll.remove(fd.as_raw_fd());
        }
    }

    /// Sends an answer. If the rank is gone, its exit tells.
    pub fn send(&mut self, text: &str, rank: u32, epoll: &Epoll) {
        let Some(fd) = self.pmi.as_ref().map(AsRawFd::as_raw_fd) else { return };
        let waited = !self.unsent.is_empty();
        self.unsent.extend_from_slice(text.as_bytes());
        if !waited && !self.flush(fd, rank, epoll) {
            // Wait for room instead of for commands.
            epoll.remove(fd);
            let _ = epoll.add(fd, libc::EPOLLOUT, Source::Pmi.token(rank));
        }
    }

    /// Sends what waits; false if some is left.
    fn flush(&mut self, fd: RawFd, rank: u32, epoll: &Epoll) -> bool {
        if self.unsent.is_empty() {
            return true;
        }
        match sys::send(fd, &self.unsent) {
            Ok(count) => {
                self.unsent.drain(..count);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The rank has closed its end.
            Err(_) => self.unsent.clear(),
        }
        if self.unsent.is_empty() {
            epoll.remove(fd);
            let _ = epoll.add(fd, libc::EPOLLIN, Source::Pmi.token(rank));
        }
        self.unsent.is_empty()
    }

    /// Starts or stops watching an output.
    pub fn watch_output(&mut self, side: usize, wanted: bool, rank: u32, epoll: &Epoll) {
        let Some(fd) = &self.outputs[side] else { return };
        if wanted == self.watched[side] {
            return;
        }
        if wanted {
            let source = if side == 0 { Source::Output } else { Source::Error };
            self.watched[side] =
                epoll.add(fd.as_raw_fd(), libc::EPOLLIN, source.token(rank)).is_ok();
        } else {
            epoll.remove(fd.as_raw_fd());
            self.watched[side] = false;
        }
    }

    /// One read of an output.
    pub fn read_output(&mut self, side: usize, epoll: &Epoll, buffer: &mut [u8]) -> Read {
        let Some(fd) = &self.outputs[side] else { return Read::Nothing };
        match sys::read(fd.as_raw_fd(), buffer) {
            Ok(count) if count > 0 => Read::Bytes(count),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Read::Nothing
            }
            _ => {
                epoll.remove(fd.as_raw_fd());
                self.outputs[side] = None;
                Read::End
            }
        }
    }
}
