//! Questions to other hosts' kernels over TCP, which need no process there to do anything.
//!
//! A question is an attempt to connect, closed as soon as it has an answer, so that nothing is
//! left at either end.
//! - To the *liveness port* of a process, which it has bound and never listens at: a kernel that
//!   lives refuses. No queue is behind that port, so no stranger can fill one, and it tells
//!   nothing about the process.
//! - To the port at which the process listens: taken, it is there; refused, nobody is. No answer
//!   tells nothing: strangers may have filled the queue while the process computes. The process
//!   never sees the connection, because its listening socket waits for data (`TCP_DEFER_ACCEPT`).

use crate::address::Address;
use crate::socket::errno;
use hpvm_reliable::liveness::Answer;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Questions that may be open at a time, one descriptor each.
const MAX_OPEN: usize = 256;

/// What a question is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Host,
    Process(u32),
}

/// An attempt to connect.
struct Ping {
    fd: OwnedFd,
    host: u32,
    about: About,
}

/// The questions that wait for answers, and answers that came at once.
#[derive(Default)]
pub struct Pings {
    open: Vec<Ping>,
    answered: Vec<(u32, Answer)>,
}

impl Pings {
    /// Asks a host, at its liveness port, at all addresses `to`. False: too many questions wait
    /// for answers.
    pub fn ask_host(&mut self, host: u32, to: &[Address]) -> bool {
        self.ask(host, About::Host, to)
    }

    /// Asks whether somebody is at the port of a process, at all addresses `to`.
    pub fn ask_process(&mut self, host: u32, rank: u32, to: &[Address]) -> bool {
        self.ask(host, About::Process(rank), to)
    }

    fn ask(&mut self, host: u32, about: About, to: &[Address]) -> bool {
        // An older question had its time.
        self.open.retain(|ping| (ping.host, ping.about) != (host, about));
        if self.open.len() + to.len() > MAX_OPEN {
            return false;
        }
        for to in to {
            // No way there is no answer.
            let Ok(fd) = socket(to) else { continue };
            // SAFETY: a valid address with its length.
            let result = unsafe { libc::connect(fd.as_raw_fd(), to.as_ptr(), to.len()) };
            let ping = Ping { fd, host, about };
            match if result == 0 { 0 } else { errno() } {
                libc::EINPROGRESS => self.open.push(ping),
                error => self.answered.extend(ping.means(error).map(|answer| (host, answer))),
            }
        }
        true
    }

    /// Calls `each` with the hosts that have answered since the last call, and what they said.
    pub fn answers(&mut self, mut each: impl FnMut(u32, Answer)) {
        self.answered.drain(..).for_each(|(host, answer)| each(host, answer));
        self.open.retain(|ping| match ping.outcome() {
            None => true,
            Some(error) => {
                ping.means(error).into_iter().for_each(|answer| each(ping.host, answer));
                false
            }
        });
    }

    /// Drops the questions about hosts for which `is_wanted` is false.
    pub fn keep(&mut self, is_wanted: impl Fn(u32) -> bool) {
        self.open.retain(|ping| is_wanted(ping.host));
    }
}

impl Ping {
    /// The error with which the attempt ended; 0 when it is connected.
    fn outcome(&self) -> Option<i32> {
        if !hpvm_os::is_ready(&self.fd, libc::POLLOUT) {
            return None;
        }
        let mut error: libc::c_int = 0;
        let mut len = size_of_val(&error) as libc::socklen_t;
        let (fd, value) = (self.fd.as_raw_fd(), (&raw mut error).cast());
        // SAFETY: valid memory for an integer.
        let result =
            unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, value, &mut len) };
        Some(if result == 0 { error } else { errno() })
    }

    /// What that error says; `None`: nothing.
    fn means(&self, error: i32) -> Option<Answer> {
        match (self.about, error) {
            (About::Host, 0 | libc::ECONNREFUSED | libc::ECONNRESET) => {
                Some(Answer::Host(self.host))
            }
            (About::Process(rank), 0 | libc::ECONNRESET) => Some(Answer::Process(rank)),
            (About::Process(rank), libc::ECONNREFUSED) => Some(Answer::Refused(rank)),
            _ => None,
        }
    }
}

/// A socket that is closed by a reset.
fn socket(to: &Address) -> io::Result<OwnedFd> {
    let fd = unbound(to.family())?;
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of_val(&linger) as libc::socklen_t;
    let value = (&raw const linger).cast();
    // SAFETY: the option's value lives during the call. Failure leaves an ordinary close.
    unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, size) };
    Ok(fd)
}

fn unbound(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: integers only; the result is checked.
    let fd = unsafe { libc::socket(family, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A port that belongs to this process and at which nobody ever listens: our kernel refuses
/// connections there, which shows that it lives.
pub struct LivenessPort {
    _fd: OwnedFd,
    port: u16,
}

impl LivenessPort {
    /// At any port, at all addresses or at `only`, with its interface where it needs one. `six`:
    /// reached by both families.
    ///
    /// # Errors
    /// The system refuses.
    pub fn reserve(six: bool, only: Option<(IpAddr, u32)>) -> io::Result<LivenessPort> {
        let any = if six { IpAddr::from([0u16; 8]) } else { IpAddr::from([0u8; 4]) };
        let (ip, scope) = only.unwrap_or((any, 0));
        let at = Address::new(ip, 0, six, scope).ok_or(io::ErrorKind::AddrNotAvailable)?;
        let fd = unbound(at.family())?;
        if six {
            let off: libc::c_int = 0;
            let (size, value) = (size_of_val(&off) as libc::socklen_t, (&raw const off).cast());
            let (level, name) = (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
            // SAFETY: an integer option. Where it fails, IPv4 is not reached, and says nothing.
            unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, size) };
        }
        // SAFETY: a valid address with its length.
        if unsafe { libc::bind(fd.as_raw_fd(), at.as_ptr(), at.len()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let port = Address::of_socket(fd.as_raw_fd())?.socket_address().map(|a| a.port());
        Ok(LivenessPort { _fd: fd, port: port.ok_or(io::ErrorKind::AddrNotAvailable)? })
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Socket;
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    const LIMIT: Duration = Duration::from_secs(60);

    fn here(port: u16) -> Address {
        Address::new("127.0.0.1".parse().unwrap(), port, false, 0).unwrap()
    }

    /// What is answered to a question about process 5 of host 9, at its listening port.
    fn answer(port: u16) -> Option<Answer> {
        answer_within(port, LIMIT)
    }

    fn answer_within(port: u16, limit: Duration) -> Option<Answer> {
        let mut pings = Pings::default();
        assert!(pings.ask_process(9, 5, &[here(port)]));
        wait(&mut pings, limit)
    }

    fn wait(pings: &mut Pings, limit: Duration) -> Option<Answer> {
        let start = Instant::now();
        let mut found = None;
        while found.is_none() && start.elapsed() < limit {
            pings.answers(|host, answer| {
                assert_eq!(host, 9);
                found = Some(answer);
            });
        }
        found
    }

    #[test]
    fn a_port_that_is_reserved_refuses_and_one_that_listens_takes() {
        let port = LivenessPort::reserve(false, None).unwrap();
        let mut pings = Pings::default();
        assert!(pings.ask_host(9, &[here(port.port())]));
        assert_eq!(wait(&mut pings, LIMIT), Some(Answer::Host(9)));
        assert_eq!(answer(port.port()), Some(Answer::Refused(5)));
        let socket = Socket::open(false, None).unwrap();
        let listener = socket.listen(None).unwrap();
        assert_eq!(answer(socket.port()), Some(Answer::Process(5)));
        // The listener has seen nothing of that.
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn any_number_of_questions_fills_no_queue() {
        let socket = Socket::open(false, None).unwrap();
        let listener = socket.listen(None).unwrap();
        for _ in 0..3000 {
            assert_eq!(answer(socket.port()), Some(Answer::Process(5)));
        }
        // Who has something to say still gets in.
        use std::io::Write;
        let mut caller = TcpStream::connect(("127.0.0.1", socket.port())).unwrap();
        caller.write_all(b"hello").unwrap();
        let start = Instant::now();
        while listener.accept().is_err() {
            assert!(start.elapsed() < LIMIT);
        }
    }

    #[test]
    fn strangers_in_the_queue_change_nothing_about_the_host() {
        let socket = Socket::open(false, None).unwrap();
        let listener = socket.listen(None).unwrap();
        // SAFETY: a listening socket; a short queue, so that the test needs few strangers.
        unsafe { libc::listen(listener.as_raw_fd(), 4) };
        let port = LivenessPort::reserve(false, None).unwrap();
        let mut strangers = Vec::new();
        let start = Instant::now();
        while strangers.len() < 8 {
            use std::io::Write;
            let to = ([127, 0, 0, 1], socket.port()).into();
            match TcpStream::connect_timeout(&to, Duration::from_millis(200)) {
                Ok(mut one) => {
                    one.write_all(b"x").unwrap();
                    strangers.push(one);
                }
                // The queue is full, unless it was us who took so long.
                Err(_) if strangers.len() > 4 => break,
                Err(error) => assert!(start.elapsed() < LIMIT, "{error} after {strangers:?}"),
            }
        }
        let half_a_second = Duration::from_millis(500);
        let said = answer_within(socket.port(), half_a_second);
        assert_ne!(said, Some(Answer::Refused(5)), "a full queue is no refusal");
        let mut pings = Pings::default();
        assert!(pings.ask_host(9, &[here(port.port())]));
        assert_eq!(wait(&mut pings, LIMIT), Some(Answer::Host(9)));
    }

    #[test]
    fn there_is_an_end_to_open_questions() {
        // Reserved for documentation: nobody answers, or there is no way.
        let far = Address::new("192.0.2.250".parse().unwrap(), 9, false, 0).unwrap();
        let mut pings = Pings::default();
        for host in 0..2 * MAX_OPEN as u32 {
            pings.ask_host(host, &[far]);
        }
        assert!(pings.open.len() <= MAX_OPEN);
        pings.keep(|_| false);
        assert!(pings.open.is_empty());
    }
}
