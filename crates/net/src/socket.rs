//! The datagram socket of a process: one for all peers, never blocking.

use crate::address::Address;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Socket buffer that is asked for in each direction; the system's limit may give less.
const BUFFER: libc::c_int = 8 << 20;
/// Most bytes that one receive may bring: datagrams of one sender that the kernel has joined.
pub const RECEIVE_BYTES_MAX: usize = 64 << 10;
/// Connections that wait while the process computes. The system's limit is 4096 unless it was
/// changed, and takes less where it is less.
const BACKLOG: libc::c_int = 4096;
/// Seconds for which a connection without data is left in the kernel: as long as a stranger has to
/// prove that it is none.
static SILENT_CALLER: libc::c_int = 10;

/// What one receive brought: bytes of one datagram, or of several of one sender.
pub struct Received {
    pub len: usize,
    /// Its sender, if that was asked for.
    pub from: Option<Address>,
    /// It came by libfabric, not by the socket.
    pub by_fabric: bool,
}

/// The socket.
pub struct Socket {
    fd: OwnedFd,
    six: bool,
    port: u16,
}

fn failed<T>(result: libc::c_int, value: T) -> io::Result<T> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// The errno of the last system call.
pub fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

impl Socket {
    /// Opens the socket at a port of the system's choice. `six`: of family IPv6, which reaches
    /// both families. `only`: at this address, and its interface if it is link-local, instead of at
    /// all.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(six: bool, only: Option<(IpAddr, u32)>) -> io::Result<Socket> {
        let mut socket = Self::unbound(six)?;
        let any = if six { IpAddr::from([0u16; 8]) } else { IpAddr::from([0u8; 4]) };
        let (ip, scope) = only.unwrap_or((any, 0));
        let address = Address::new(ip, 0, six, scope).ok_or(io::ErrorKind::AddrNotAvailable)?;
        socket.bind(&address)?;
        Ok(socket)
    }

    fn unbound(six: bool) -> io::Result<Socket> {
        let family = if six { libc::AF_INET6 } else { libc::AF_INET };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: integers only; the result is checked.
        let fd = unsafe { libc::socket(family, kind, 0) };
        failed(fd, ())?;
        // SAFETY: `fd` was just made and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let socket = Socket { fd, six, port: 0 };
        if six {
            socket.option(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0)?;
        }
        socket.prepare();
        Ok(socket)
    }

    /// Settings that make it better and whose failure is no harm.
    fn prepare(&self) {
        for (force, ask) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            if self.option(libc::SOL_SOCKET, force, BUFFER).is_err() {
                let _ = self.option(libc::SOL_SOCKET, ask, BUFFER);
            }
        }
        let _ = self.option(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO);
        if self.six {
            let _ =
                self.option(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO);
        }
        // Datagrams that the sender's kernel or ours has joined come as one.
        let _ = self.option(libc::SOL_UDP, libc::UDP_GRO, 1);
    }

    fn bind(&mut self, address: &Address) -> io::Result<()> {
        // SAFETY: a valid address of the given length.
        failed(unsafe { libc::bind(self.fd(), address.as_ptr(), address.len()) }, ())?;
        let port = self.name()?.socket_address().map(|a| a.port());
        self.port = port.ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(())
    }

    /// Where it is bound.
    fn name(&self) -> io::Result<Address> {
        Address::of_socket(self.fd())
    }

    /// A listening socket for connections at the same port and address. Those that say nothing
    /// stay in the kernel, for some seconds at least.
    ///
    /// # Errors
    /// The port is taken there.
    pub fn listen(&self, only: Option<(IpAddr, u32)>) -> io::Result<TcpListener> {
        let any = if self.six { IpAddr::from([0u16; 8]) } else { IpAddr::from([0u8; 4]) };
        let at = match only {
            Some((IpAddr::V6(ip), scope)) => SocketAddrV6::new(ip, self.port, 0, scope).into(),
            _ => SocketAddr::new(only.map_or(any, |(ip, _)| ip), self.port),
        };
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let (fd, level, name) = (listener.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT);
        let size = size_of_val(&SILENT_CALLER) as libc::socklen_t;
        // SAFETY: a listening socket, and an integer option. What fails leaves a shorter queue, or
        // silent callers in it.
        unsafe {
            libc::setsockopt(fd, level, name, (&raw const SILENT_CALLER).cast(), size);
            libc::listen(fd, BACKLOG);
        }
        Ok(listener)
    }

    fn option(&self, level: i32, name: i32, value: libc::c_int) -> io::Result<()> {
        let size = size_of_val(&value) as libc::socklen_t;
        // SAFETY: the option's value is an integer that lives during the call.
        let result =
            unsafe { libc::setsockopt(self.fd(), level, name, (&raw const value).cast(), size) };
        failed(result, ())
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Of family IPv6: addresses for it have to be made so.
    pub fn six(&self) -> bool {
        self.six
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Receives what is there into `buffer`. `None`: nothing. `named`: with the sender's address,
    /// which costs some 0.1 µs.
    ///
    /// # Errors
    /// The socket does not work any more.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8], named: bool) -> io::Result<Option<Received>> {
        // `recvmsg` would tell how the kernel has joined datagrams, but costs another 0.1 µs;
        // their envelopes tell as well.
        // SAFETY: zeros are a value of the structure.
        let mut raw: libc::sockaddr_in6 = unsafe { core::mem::zeroed() };
        let mut size = size_of_val(&raw) as libc::socklen_t;
        let (name, name_size) = match named {
            true => ((&raw mut raw).cast(), &raw mut size),
            false => (core::ptr::null_mut(), core::ptr::null_mut()),
        };
        let bytes = buffer.as_mut_ptr().cast();
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: live memory of the lengths beside them, or null where the kernel takes that.
        let got = unsafe { libc::recvfrom(self.fd(), bytes, buffer.len(), flags, name, name_size) };
        if got < 0 {
            return match errno() {
                libc::EAGAIN | libc::EINTR => Ok(None),
                // What an earlier datagram met: nothing that concerns the next.
                libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::ENETDOWN
                | libc::EMSGSIZE => Ok(None),
                _ => Err(io::Error::last_os_error()),
            };
        }
        let from = named.then(|| Address::from_raw(raw, size));
        Ok(Some(Received { len: got as usize, from, by_fabric: false }))
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// The errno.
    #[inline]
    pub fn send(&self, to: &Address, datagram: &[u8]) -> Result<(), i32> {
        // SAFETY: a live buffer and a valid address, with their lengths.
        let sent = unsafe {
            libc::sendto(
                self.fd(),
                datagram.as_ptr().cast(),
                datagram.len(),
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
                to.as_ptr(),
                to.len(),
            )
        };
        if sent < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Sends several datagrams of `segment` bytes, the last one perhaps shorter, that lie behind
    /// each other, in one system call.
    ///
    /// # Errors
    /// The errno; none of them was sent.
    pub fn send_joined(&self, to: &Address, bytes: &[u8], segment: u16) -> Result<(), i32> {
        #[repr(C, align(8))]
        struct Control([u8; 24]);
        let mut control = Control([0; 24]);
        let mut part =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: zeros are a value of the structure.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        message.msg_name = to.as_ptr().cast_mut().cast();
        message.msg_namelen = to.len();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: the control bytes hold one header and two bytes (checked by the macro's size),
        // and every pointer in `message` is to live memory of the length beside it.
        let sent = unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_UDP;
            (*header).cmsg_type = libc::UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
            libc::CMSG_DATA(header).cast::<u16>().write_unaligned(segment);
            libc::sendmsg(self.fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
        };
        if sent < 0 { Err(errno()) } else { Ok(()) }
    }

    /// Whether something waits to be received.
    pub fn readable(&self) -> bool {
        hpvm_os::is_ready(&self.fd(), libc::POLLIN)
    }
}

/// Bytes of the largest datagram's payload that the way to `to` carries, as far as the kernel
/// knows. `None`: it knows no way.
pub fn largest_payload(to: &Address, six: bool) -> Option<usize> {
    let probe = Socket::open(six, None).ok()?;
    // SAFETY: a valid address with its length.
    if unsafe { libc::connect(probe.fd(), to.as_ptr(), to.len()) } != 0 {
        return None;
    }
    let mapped = to.socket_address()?.is_ipv4();
    let (level, name, headers) = match (six, mapped) {
        (false, _) => (libc::IPPROTO_IP, libc::IP_MTU, 28),
        (true, true) => (libc::IPPROTO_IP, libc::IP_MTU, 28),
        (true, false) => (libc::IPPROTO_IPV6, libc::IPV6_MTU, 48),
    };
    let mut mtu: libc::c_int = 0;
    let mut len = size_of_val(&mtu) as libc::socklen_t;
    // SAFETY: valid memory for an integer.
    let result =
        unsafe { libc::getsockopt(probe.fd(), level, name, (&raw mut mtu).cast(), &mut len) };
    let mtu = if result == 0 { usize::try_from(mtu).ok()? } else { return None };
    Some(mtu.min(65535).saturating_sub(headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(six: bool, host: &str) -> (Socket, Socket, Address) {
        let (a, b) = (Socket::open(six, None).unwrap(), Socket::open(six, None).unwrap());
        let to = Address::new(host.parse().unwrap(), b.port(), six, 0).unwrap();
        (a, b, to)
    }

    fn next(socket: &Socket, buffer: &mut [u8]) -> Received {
        for _ in 0..1_000_000 {
            if let Some(received) = socket.receive(buffer, true).unwrap() {
                return received;
            }
        }
        panic!("nothing came");
    }

    #[test]
    fn both_families_carry() {
        for (six, host) in [(false, "127.0.0.1"), (true, "127.0.0.1"), (true, "::1")] {
            let (a, b, to) = pair(six, host);
            let mut buffer = vec![0; RECEIVE_BYTES_MAX];
            assert!(b.receive(&mut buffer, false).unwrap().is_none() && !b.readable());
            a.send(&to, b"hello").unwrap();
            let received = next(&b, &mut buffer);
            assert_eq!(&buffer[..received.len], b"hello");
            let from = received.from.unwrap();
            let (back, from) = (from, from.socket_address().unwrap());
            assert_eq!((from.ip(), from.port()), (host.parse().unwrap(), a.port()));
            b.send(&back, b"back").unwrap();
            assert_eq!(next(&a, &mut buffer).len, 4);
            assert!(largest_payload(&to, six).unwrap() > 1000);
        }
    }

    #[test]
    fn joined_datagrams_come_apart_again() {
        let (a, b, to) = pair(false, "127.0.0.1");
        let bytes: Vec<u8> = (0..10_500u32).map(|i| (i / 1000) as u8).collect();
        if a.send_joined(&to, &bytes, 1000).is_err() {
            return; // an old kernel: the caller sends them one by one
        }
        let mut buffer = vec![0; RECEIVE_BYTES_MAX];
        let mut came: Vec<u8> = Vec::new();
        while came.len() < bytes.len() {
            let received = next(&b, &mut buffer);
            came.extend(&buffer[..received.len]);
        }
        assert!(came == bytes);
    }
}
