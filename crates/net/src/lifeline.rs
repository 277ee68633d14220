//! Whether a silent peer lives.
//!
//! A process that computes for minutes without a call of MPI acknowledges nothing, and nothing is
//! wrong with it. Its kernel answers all the same: a connection to the port on which it listens is
//! accepted, and keep-alive segments on it are acknowledged, whatever the process does. So a peer
//! that has been silent for a while gets such a connection, on which not a byte is ever sent. It
//! tells a peer that computes from one whose host or network is down.

use crate::address::Address;
use crate::socket::errno;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A connection that only shows that the peer's kernel, with the peer in it, lives.
pub struct Lifeline {
    pub rank: u32,
    addresses: Vec<Address>,
    /// Which of them is being tried.
    turn: usize,
    fd: Option<OwnedFd>,
    /// When the present attempt began, or the last one failed.
    since: u64,
    /// Pause between attempts, and between keep-alive segments.
    pace: u64,
}

impl Lifeline {
    /// `addresses` are tried one after the other, each for about `pace` nanoseconds.
    pub fn new(rank: u32, addresses: Vec<Address>, pace: u64, now: u64) -> Lifeline {
        let mut line = Lifeline { rank, addresses, turn: 0, fd: None, since: now, pace };
        line.connect();
        line
    }

    fn connect(&mut self) {
        self.fd = None;
        let Some(to) = self.addresses.get(self.turn % self.addresses.len().max(1)) else { return };
        self.turn += 1;
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: integers only; the result is checked.
        let fd = unsafe { libc::socket(to.family(), kind, 0) };
        if fd < 0 {
            return;
        }
        // SAFETY: `fd` was just made and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let seconds = (self.pace / 1_000_000_000).clamp(1, 60) as libc::c_int;
        for (level, name, value) in [
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, seconds),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 100),
        ] {
            let size = size_of_val(&value) as libc::socklen_t;
            // SAFETY: an integer option. Failure only makes the line less attentive.
            unsafe {
                libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), size)
            };
        }
        // SAFETY: a valid address with its length.
        let result = unsafe { libc::connect(fd.as_raw_fd(), to.as_ptr(), to.len()) };
        if result == 0 || errno() == libc::EINPROGRESS {
            self.fd = Some(fd);
        }
    }

    /// When the peer's kernel last answered, as far as this line knows. To be asked now and then:
    /// it also makes the line again when it has failed.
    pub fn heard(&mut self, now: u64) -> Option<u64> {
        // SAFETY: zeros are a value of the structure.
        let mut info: libc::tcp_info = unsafe { core::mem::zeroed() };
        let mut len = size_of_val(&info) as libc::socklen_t;
        let known = self.fd.as_ref().is_some_and(|fd| {
            let place = (&raw mut info).cast();
            // SAFETY: a place for `len` bytes.
            let result = unsafe {
                libc::getsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, place, &mut len)
            };
            result == 0
        });
        const ESTABLISHED: u8 = 1;
        const CLOSE_WAIT: u8 = 8;
        match info.tcpi_state {
            // The peer may have closed it, which a process that is back at work does.
            ESTABLISHED | CLOSE_WAIT if known => {
                let ago = u64::from(info.tcpi_last_ack_recv) * 1_000_000;
                let heard = now.saturating_sub(ago);
                if info.tcpi_state == CLOSE_WAIT {
                    (self.fd, self.since) = (None, now);
                }
                Some(heard)
            }
            _ => {
                if now.saturating_sub(self.since) >= self.pace {
                    self.since = now;
                    self.connect();
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    #[test]
    fn a_listener_that_does_nothing_is_alive_and_none_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let to = Address::new("127.0.0.1".parse().unwrap(), port, false, 0).unwrap();
        let nobody = Address::new("127.0.0.1".parse().unwrap(), 1, false, 0).unwrap();
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64 + 1_000_000_000;
        // The first address is nobody's: the second is tried after the pace.
        let mut line = Lifeline::new(1, vec![nobody, to], 10_000_000, now());
        let mut heard = None;
        while heard.is_none() && start.elapsed() < Duration::from_secs(20) {
            heard = line.heard(now());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(now() - heard.unwrap() < 5_000_000_000);
        let mut line = Lifeline::new(1, vec![nobody], 10_000_000, now());
        for _ in 0..20 {
            assert_eq!(line.heard(now()), None);
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut line = Lifeline::new(1, vec![], 10_000_000, now());
        assert_eq!(line.heard(now()), None);
    }
}
