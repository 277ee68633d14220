//! Socket addresses in the form that the kernel reads.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::RawFd;

/// An address as the kernel takes it. Thirty-two bytes, so a peer can keep some.
#[derive(Clone, Copy)]
pub struct Address {
    /// Holds a `sockaddr_in` or a `sockaddr_in6`.
    raw: libc::sockaddr_in6,
    len: u8,
}

impl Address {
    /// For a socket of family IPv6 (`six`), which reaches IPv4 by mapped addresses, or IPv4.
    /// `None`: that socket can't reach it. `scope` is the interface of a link-local address.
    pub fn new(address: IpAddr, port: u16, six: bool, scope: u32) -> Option<Address> {
        // SAFETY: all fields are integers, for which zero is a value.
        let mut raw: libc::sockaddr_in6 = unsafe { core::mem::zeroed() };
        match (address, six) {
            (IpAddr::V4(v4), false) => {
                // SAFETY: a `sockaddr_in` is shorter and no stricter aligned.
                let short = unsafe { &mut *(&raw mut raw).cast::<libc::sockaddr_in>() };
                short.sin_family = libc::AF_INET as libc::sa_family_t;
                short.sin_port = port.to_be();
                short.sin_addr.s_addr = v4.to_bits().to_be();
                Some(Address { raw, len: size_of::<libc::sockaddr_in>() as u8 })
            }
            (IpAddr::V6(_), false) => None,
            (address, true) => {
                let v6 = match address {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                };
                raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                raw.sin6_port = port.to_be();
                raw.sin6_addr.s6_addr = v6.octets();
                raw.sin6_scope_id = if v6.is_unicast_link_local() { scope } else { 0 };
                Some(Address { raw, len: size_of::<libc::sockaddr_in6>() as u8 })
            }
        }
    }

    /// Where a socket is bound.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn of_socket(fd: RawFd) -> io::Result<Address> {
        // SAFETY: zeros are a value of the structure.
        let mut raw: libc::sockaddr_in6 = unsafe { core::mem::zeroed() };
        let mut len = size_of_val(&raw) as libc::socklen_t;
        // SAFETY: valid memory for `len` bytes.
        match unsafe { libc::getsockname(fd, (&raw mut raw).cast(), &mut len) } {
            0 => Ok(Address::from_raw(raw, len)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The same host at another port.
    pub(crate) fn with_port(mut self, port: u16) -> Address {
        // Both structures have the port at the same offset.
        self.raw.sin6_port = port.to_be();
        self
    }

    /// The interface of a link-local address; 0: it needs none.
    pub(crate) fn scope(&self) -> u32 {
        match libc::c_int::from(self.raw.sin6_family) {
            libc::AF_INET6 => self.raw.sin6_scope_id,
            _ => 0,
        }
    }

    /// What the kernel stored: `len` bytes of it.
    pub(crate) fn from_raw(raw: libc::sockaddr_in6, len: u32) -> Address {
        Address { raw, len: len.min(size_of::<libc::sockaddr_in6>() as u32) as u8 }
    }

    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.raw).cast()
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> libc::socklen_t {
        libc::socklen_t::from(self.len)
    }

    /// Family of the sockets that reach it.
    pub fn family(&self) -> libc::c_int {
        libc::c_int::from(self.raw.sin6_family)
    }

    /// For people. `None`: the kernel stored something else.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        let (ip, port): (IpAddr, u16) = match libc::c_int::from(self.raw.sin6_family) {
            libc::AF_INET6 => {
                let v6 = Ipv6Addr::from(self.raw.sin6_addr.s6_addr);
                (v6.to_canonical(), self.raw.sin6_port)
            }
            libc::AF_INET => {
                // SAFETY: the family says that it is one; it is shorter and no stricter aligned.
                let short = unsafe { &*(&raw const self.raw).cast::<libc::sockaddr_in>() };
                (IpAddr::from(u32::from_be(short.sin_addr.s_addr).to_be_bytes()), short.sin_port)
            }
            _ => return None,
        };
        Some(SocketAddr::new(ip, u16::from_be(port)))
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Address) -> bool {
        self.socket_address() == other.socket_address() && self.scope() == other.scope()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.socket_address() {
            Some(address) => address.fmt(f),
            None => f.write_str("an address of unknown family"),
        }
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        let of = |ip: &str, six| Address::new(ip.parse().unwrap(), 77, six, 3);
        assert_eq!(of("10.0.0.1", false).unwrap().to_string(), "10.0.0.1:77");
        assert_eq!(of("10.0.0.1", true).unwrap().to_string(), "10.0.0.1:77");
        assert_eq!(of("fd00::1", true).unwrap().to_string(), "[fd00::1]:77");
        assert!(of("fd00::1", false).is_none());
        assert_eq!(of("fe80::1", true).unwrap().raw.sin6_scope_id, 3);
        assert_eq!(of("fd00::1", true).unwrap().raw.sin6_scope_id, 0);
        assert_eq!(size_of::<Address>(), 32);
        assert_eq!(of("fe80::1", true).unwrap().scope(), 3);
        for (ip, six) in [("10.0.0.1", false), ("10.0.0.1", true), ("fd00::1", true)] {
            let moved = of(ip, six).unwrap().with_port(78).socket_address().unwrap();
            assert_eq!((moved.ip(), moved.port()), (ip.parse().unwrap(), 78));
        }
    }
}
