//! One TCP connection, never blocking.

use crate::address::Address;
use crate::socket::errno;
use hpvm_transport::Memory;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Segments that were sent again in vain, or probes without an answer, after which the connection
/// is given up: some 1.5 s at ordinary round trips. A new one finds the way sooner than the
/// kernel's timers, which double each time.
const RETRANSMITS_MAX: u8 = 3;
/// Lengths of segments that are tried in turn where longer ones get lost and nobody says so, as behind a switch with a shorter MTU
/// than the hosts': they fit an MTU of 1500, of 1280 (the least of IPv6) and of 576, with IPv6's headers but for the last.
const SEGMENTS: [u16; 3] = [1440, 1220, 536];
/// What TCP may take away from a segment for its options. A connection whose segments are less than this longer than
/// one of `SEGMENTS` has tried that length.
const OPTIONS: u32 = 40;
/// A connection over which so many bytes were acknowledged has shown that segments of its length arrive.
const PROVING_BYTES_MIN: u64 = 16 << 20;

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    Moved(usize),
    Blocked,
    Broken,
}

/// A connection on which the kernel has tried in vain for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalled {
    /// The next connections had better have segments of this length: perhaps those of this one are too long for the way.
    pub shorter: Option<u16>,
}

/// What the kernel tells of a connection, up to the last field that is read here (Linux 4.1; zero before).
#[repr(C)]
struct Info {
    first: libc::tcp_info,
    _pacing: [u64; 2],
    bytes_acked: u64,
}

/// A connection.
pub struct Stream {
    fd: OwnedFd,
}

impl Stream {
    /// Begins to connect. `segment`: how long segments may be in either direction, where a limit is known.
    ///
    /// # Errors
    /// There is no way to the address, or no descriptor left.
    pub fn connect(to: &Address, segment: Option<u16>) -> io::Result<Stream> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: integers only; the result is checked.
        let fd = unsafe { libc::socket(to.family(), kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just made and belongs to nobody else.
        let stream = Stream { fd: unsafe { OwnedFd::from_raw_fd(fd) } };
        stream.prepare();
        if let Some(segment) = segment {
            limit_segments(&stream.fd, segment);
        }
        // SAFETY: a valid address with its length.
        let result = unsafe { libc::connect(fd, to.as_ptr(), to.len()) };
        match result {
            0 => Ok(stream),
            _ if errno() == libc::EINPROGRESS => Ok(stream),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Takes a connection that waits at `listener`.
    pub fn accept(listener: &TcpListener) -> Option<Stream> {
        let (stream, _) = listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let stream = Stream { fd: TcpStream::into(stream) };
        stream.prepare();
        Some(stream)
    }

    /// Settings whose failure is no harm: no waiting for more bytes, and a kernel that notices
    /// within some seconds that the other host is gone although nothing is to be sent.
    fn prepare(&self) {
        for (level, name, value) in [
            (libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 1),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4),
        ] {
            let size = size_of_val(&value) as libc::socklen_t;
            // SAFETY: an integer option that lives during the call.
            unsafe { libc::setsockopt(self.fd(), level, name, (&raw const value).cast(), size) };
        }
        if self.congestion().starts_with(b"bbr") {
            // It paces by what it has measured, and messages with pauses between them are measured wrong:
            // a sixth of the bandwidth. Everybody may use the last one.
            let _ = self.set_congestion(b"cubic") || self.set_congestion(b"reno");
        }
    }

    /// The name of TCP's congestion control, zeros behind it.
    fn congestion(&self) -> [u8; 16] {
        let mut name = [0; 16];
        let mut len = name.len() as libc::socklen_t;
        let value = name.as_mut_ptr().cast();
        // SAFETY: valid memory for as many bytes as `len` says. A failure leaves zeros.
        unsafe {
            libc::getsockopt(self.fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, value, &mut len);
        }
        name
    }

    /// False: the system does not have it, or does not permit it.
    fn set_congestion(&self, name: &[u8]) -> bool {
        let (value, len) = (name.as_ptr().cast(), name.len() as libc::socklen_t);
        // SAFETY: a name of that length, which the kernel only reads.
        unsafe {
            libc::setsockopt(self.fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, value, len) == 0
        }
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Whether a connection that was begun is there. `None`: it failed.
    pub fn connected(&self) -> Option<bool> {
        if !hpvm_os::is_ready(&self.fd, libc::POLLOUT) {
            return Some(false);
        }
        let mut error: libc::c_int = 0;
        let mut len = size_of_val(&error) as libc::socklen_t;
        let value = (&raw mut error).cast();
        // SAFETY: valid memory for an integer.
        let result = unsafe {
            libc::getsockopt(self.fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &mut len)
        };
        (result == 0 && error == 0).then_some(true)
    }

    /// Writes `head` and then `body`, as far as the kernel takes them.
    pub fn write(&self, head: &[u8], body: &[u8]) -> Io {
        // SAFETY: both are slices.
        unsafe { self.write_raw(head, body.as_ptr(), body.len()) }
    }

    /// The same with a body in memory of the program, which may change it meanwhile.
    ///
    /// # Safety
    /// `body` is valid for reads of `len` bytes.
    pub unsafe fn write_raw(&self, head: &[u8], body: *const u8, len: usize) -> Io {
        let mut parts = [
            libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
            libc::iovec { iov_base: body.cast_mut().cast(), iov_len: len },
        ];
        // SAFETY: zeros are a value of the structure.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: every pointer in `message` is to live memory of the length beside it; the kernel
        // only reads.
        outcome(unsafe { libc::sendmsg(self.fd(), &message, flags) }, head.len() + len)
    }

    /// Reads into `to`.
    pub fn read(&self, to: &mut [u8]) -> Io {
        // SAFETY: a slice.
        unsafe { self.read_raw(to.as_mut_ptr(), to.len()) }
    }

    /// Reads up to `len` bytes to `to`, in memory of the program.
    ///
    /// # Safety
    /// `to` is valid for writes of `len` bytes.
    pub unsafe fn read_raw(&self, to: *mut u8, len: usize) -> Io {
        // SAFETY: the caller's promise.
        outcome(unsafe { libc::recv(self.fd(), to.cast(), len, libc::MSG_DONTWAIT) }, len)
    }

    /// Reads up to `len` bytes to `to`, in memory of the program, and what lies behind them to `then`.
    ///
    /// # Safety
    /// `to` is valid for writes of `len` bytes.
    pub unsafe fn read_both(&self, to: *mut u8, len: usize, then: &mut [u8]) -> Io {
        if then.is_empty() {
            // SAFETY: the caller's promise.
            return unsafe { self.read_raw(to, len) };
        }
        let mut parts = [
            libc::iovec { iov_base: to.cast(), iov_len: len },
            libc::iovec { iov_base: then.as_mut_ptr().cast(), iov_len: then.len() },
        ];
        // SAFETY: zeros are a value of the structure.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        message.msg_iov = parts.as_mut_ptr();
        message.msg_iovlen = parts.len() as _;
        // SAFETY: the caller's promise for the first part; the second is a slice.
        let result = unsafe { libc::recvmsg(self.fd(), &mut message, libc::MSG_DONTWAIT) };
        outcome(result, len + then.len())
    }

    /// Whether the kernel has tried in vain for too long. A segment that this host's own interface drops counts as a probe.
    pub fn stalled(&self) -> Option<Stalled> {
        let Info { first, bytes_acked, .. } = self.info()?;
        let in_vain = first.tcpi_retransmits.max(first.tcpi_probes) >= RETRANSMITS_MAX;
        in_vain.then(|| Stalled { shorter: shorter(first.tcpi_snd_mss, bytes_acked) })
    }

    /// When the connection is closed, what has not been sent goes, and the other end is told so at once. Otherwise the kernel would go on trying to
    /// send that, and only then say that there is no more.
    pub fn reset_on_close(&self) {
        let value = libc::linger { l_onoff: 1, l_linger: 0 };
        let (size, name) = (size_of_val(&value) as libc::socklen_t, libc::SO_LINGER);
        let fd = self.fd();
        // SAFETY: the option's structure, which lives during the call. Where it fails the kernel goes on trying.
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, name, (&raw const value).cast(), size) };
    }

    fn info(&self) -> Option<Info> {
        // SAFETY: zeros are a value of the structure.
        let mut info: Info = unsafe { core::mem::zeroed() };
        let mut len = size_of_val(&info) as libc::socklen_t;
        let value = (&raw mut info).cast();
        // SAFETY: valid memory for `len` bytes.
        let result = unsafe {
            libc::getsockopt(self.fd(), libc::IPPROTO_TCP, libc::TCP_INFO, value, &mut len)
        };
        (result == 0).then_some(info)
    }
}

/// How long segments had better be after a connection has stalled whose segments had `segment` bytes.
fn shorter(segment: u32, acknowledged: u64) -> Option<u16> {
    let fits = |shorter: &u16| u32::from(*shorter) + OPTIONS < segment;
    if acknowledged < PROVING_BYTES_MIN { SEGMENTS.into_iter().find(fits) } else { None }
}

/// Limits the segments of a socket that is not connected yet, or of those that a listening one will accept, in both directions:
/// the other end is told when the connection is made. A failure leaves them as long as they were.
pub fn limit_segments(socket: &impl AsRawFd, segment: u16) {
    let value = libc::c_int::from(segment);
    let (size, name) = (size_of_val(&value) as libc::socklen_t, libc::TCP_MAXSEG);
    let fd = socket.as_raw_fd();
    // SAFETY: an integer option that lives during the call.
    unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, name, (&raw const value).cast(), size) };
}

fn outcome(result: isize, asked: usize) -> Io {
    match usize::try_from(result) {
        Ok(0) if asked > 0 => Io::Broken,
        Ok(n) => Io::Moved(n),
        Err(_) => match errno() {
            libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENOMEM => Io::Blocked,
            _ => Io::Broken,
        },
    }
}

/// Reads up to `len` bytes of a stream that belong at `offset` of `to`, and what comes behind them to
/// `then`; `scratch` is used where they can't go there straight, and nothing read behind them.
///
/// # Safety
/// `to` is valid for writes of `offset + len` bytes.
pub unsafe fn read_memory(
    stream: &Stream,
    (to, offset, len): (&Memory, u64, usize),
    then: &mut [u8],
    scratch: &mut [u8],
) -> Io {
    if let Some(address) = to.run(offset) {
        // SAFETY: the caller's promise.
        return unsafe { stream.read_both(address, len, then) };
    }
    let most = len.min(scratch.len());
    let io = stream.read(&mut scratch[..most]);
    if let Io::Moved(n) = io {
        // SAFETY: the caller's promise; `n` is at most `len`.
        unsafe { to.scatter(offset, &scratch[..n]) };
    }
    io
}

/// Writes `head`, then up to `len` bytes that lie at `offset` of `from`.
///
/// # Safety
/// `from` is valid for reads of `offset + len` bytes.
pub unsafe fn write_memory(
    stream: &Stream,
    head: &[u8],
    from: &Memory,
    offset: u64,
    len: usize,
    scratch: &mut [u8],
) -> Io {
    if let Some(address) = from.run(offset) {
        // SAFETY: the caller's promise.
        return unsafe { stream.write_raw(head, address, len) };
    }
    let most = len.min(scratch.len());
    // SAFETY: the caller's promise; `most` is at most `len`.
    unsafe { from.gather(offset, &mut scratch[..most]) };
    stream.write(head, &scratch[..most])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_that_suits_no_messages_is_not_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let to = Address::new(to.ip(), to.port(), false, 0).unwrap();
        let stream = Stream::connect(&to, None).unwrap();
        assert!(stream.set_congestion(b"reno"), "{:?}", io::Error::last_os_error());
        stream.prepare();
        assert!(stream.congestion().starts_with(b"reno"), "what suits stays");
        if !stream.set_congestion(b"bbr") {
            return eprintln!("skipped: this system does not permit bbr");
        }
        stream.prepare();
        let name = stream.congestion();
        assert!(name.starts_with(b"cubic") || name.starts_with(b"reno"), "{name:?}");
    }

    #[test]
    fn segments_become_shorter_until_they_have_shown_that_they_arrive() {
        let mut lengths = Vec::new();
        let mut segment = 8948;
        while let Some(next) = shorter(segment, 0) {
            lengths.push(next);
            // What timestamps leave of it.
            segment = u32::from(next) - 12;
        }
        assert_eq!(lengths, SEGMENTS);
        assert_eq!(
            shorter(1448, PROVING_BYTES_MIN - 1),
            Some(1220),
            "Ethernet's own have been tried"
        );
        assert_eq!(shorter(8948, PROVING_BYTES_MIN), None);
    }

    #[test]
    fn either_side_limits_the_segments_of_both() {
        for (by_caller, segment) in [(true, SEGMENTS[0]), (false, SEGMENTS[1])] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            if !by_caller {
                limit_segments(&listener, segment);
            }
            let to = listener.local_addr().unwrap();
            let to = Address::new(to.ip(), to.port(), false, 0).unwrap();
            let caller = Stream::connect(&to, by_caller.then_some(segment)).unwrap();
            let (called, _) = listener.accept().unwrap();
            for stream in [caller, Stream { fd: TcpStream::into(called) }] {
                let length = stream.info().unwrap().first.tcpi_snd_mss;
                assert!(length <= segment.into(), "{length} of {segment}, {by_caller}");
                assert_eq!(stream.stalled(), None);
            }
        }
    }
}
