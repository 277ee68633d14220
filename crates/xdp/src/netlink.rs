//! What the kernel knows about interfaces, routes and neighbours, asked by netlink.

use crate::frame::Mac;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Longest answer that is read; the kernel's are shorter for what we ask.
const ANSWER: usize = 16 << 10;
/// Sent with each question: a header of 16 bytes.
const HEADER: usize = 16;

/// Changes that make answers of before doubtful.
const GROUPS: u32 = (libc::RTMGRP_LINK
    | libc::RTMGRP_NEIGH
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_ROUTE
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV6_IFADDR) as u32;

/// A next hop of another family, with two bytes that name it before the address.
const RTA_VIA: u16 = 18;
const RTAX_MTU: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const IFLA_ADDRESS: u16 = 1;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_PROG_ID: u16 = 4;
/// Interfaces of Ethernet frames.
const ETHERNET_KIND: u16 = 1;

/// A socket for questions, or for news.
pub struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

/// Where a datagram would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub interface: u32,
    /// `None`: the destination is a neighbour itself.
    pub gateway: Option<IpAddr>,
    /// The source address that the kernel would give it.
    pub source: Option<IpAddr>,
    /// Of the path, where the route tells one; else the interface's holds.
    pub mtu: Option<u32>,
}

/// What the kernel says about a neighbour's MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    Known(Mac),
    /// Not used for a while; the kernel asks once it is used.
    Stale(Mac),
    Unknown,
}

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub mac: Mac,
    pub mtu: u32,
    /// It carries Ethernet frames to other hosts.
    pub ethernet: bool,
    pub up: bool,
    /// One end of a virtual cable.
    pub veth: bool,
    /// The number of the XDP program on it; 0: none.
    pub program: u32,
}

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Routes, neighbours or addresses.
    pub any: bool,
    /// An interface that is gone.
    pub gone: Option<u32>,
}

/// Attributes: pairs of a kind and bytes.
pub(crate) struct Attributes<'a>(pub &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let head = self.0.get(..4)?;
        let len = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        // The upper two bits are flags.
        let kind = u16::from_ne_bytes([head[2], head[3]]) & 0x3fff;
        let value = self.0.get(4..len)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    }
}

/// Messages: pairs of a kind and a body.
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = (u16, u32, &'a [u8]);

    fn next(&mut self) -> Option<(u16, u32, &'a [u8])> {
        let head = self.0.get(..HEADER)?;
        let len = word(head) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let body = self.0.get(HEADER..len)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, word(&head[8..]), body))
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |word| u32::from_ne_bytes(*word))
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(IpAddr::from(*bytes.first_chunk::<4>()?)),
        16 => Some(IpAddr::from(*bytes.first_chunk::<16>()?)),
        _ => None,
    }
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn family(ip: IpAddr) -> u8 {
    (if ip.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

pub(crate) fn add(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend((4 + value.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

impl Netlink {
    /// For questions.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Netlink> {
        Netlink::open(libc::NETLINK_ROUTE, 0, 0)
    }

    /// For questions to what has no protocol of its own.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn generic() -> io::Result<Netlink> {
        Netlink::open(libc::NETLINK_GENERIC, 0, 0)
    }

    /// For news about changes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch() -> io::Result<Netlink> {
        Netlink::open(libc::NETLINK_ROUTE, GROUPS, libc::SOCK_NONBLOCK)
    }

    fn open(protocol: libc::c_int, groups: u32, flags: libc::c_int) -> io::Result<Netlink> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | flags;
        // SAFETY: integers only; the result is checked.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and nobody else's.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: zeros are a value of the structure.
        let mut address: libc::sockaddr_nl = unsafe { core::mem::zeroed() };
        (address.nl_family, address.nl_groups) = (libc::AF_NETLINK as u16, groups);
        let (at, len) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
        // SAFETY: a live address of the given length.
        match unsafe { libc::bind(fd.as_raw_fd(), at, len) } {
            0 => Ok(Netlink { fd, sequence: 0 }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (at, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: live memory of the given length.
        let got = unsafe { libc::recv(self.fd(), at, len, 0) };
        if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as usize) }
    }

    /// Asks, and gives the answer of kind `expected` to `read`.
    pub(crate) fn ask<R>(
        &mut self,
        (kind, expected): (u16, u16),
        body: &[u8],
        read: impl FnOnce(&[u8]) -> Option<R>,
    ) -> io::Result<R> {
        self.sequence += 1;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        let (at, len) = (message.as_ptr().cast(), message.len());
        // SAFETY: live memory of the given length.
        if unsafe { libc::send(self.fd(), at, len, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut buffer = vec![0; ANSWER];
        loop {
            let len = self.receive(&mut buffer)?;
            for (kind, sequence, body) in Messages(&buffer[..len]) {
                if sequence != self.sequence {
                    continue;
                }
                if kind == libc::NLMSG_ERROR as u16 {
                    return Err(io::Error::from_raw_os_error(-(word(body) as i32)));
                }
                if kind == expected {
                    return read(body).ok_or_else(|| io::ErrorKind::InvalidData.into());
                }
            }
        }
    }

    /// The way to `to`, from `from` if that is said; through `interface` if the address is of one link only.
    ///
    /// # Errors
    /// There is none; or it leads nowhere outside of this host.
    pub fn route(&mut self, to: IpAddr, from: Option<IpAddr>, interface: u32) -> io::Result<Route> {
        let bits = if to.is_ipv4() { 32 } else { 128 };
        let from = from.filter(|from| from.is_ipv4() == to.is_ipv4());
        let source_bits = if from.is_some() { bits } else { 0 };
        let mut body = vec![family(to), bits, source_bits, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        add(&mut body, libc::RTA_DST, &octets(to));
        if let Some(from) = from {
            add(&mut body, libc::RTA_SRC, &octets(from));
        }
        if interface != 0 {
            add(&mut body, libc::RTA_OIF, &interface.to_ne_bytes());
        }
        self.ask((libc::RTM_GETROUTE, libc::RTM_NEWROUTE), &body, |answer| {
            let (head, rest) = answer.split_at_checked(12)?;
            if head[7] != libc::RTN_UNICAST {
                return None;
            }
            let mut route = Route { interface: 0, gateway: None, source: from, mtu: None };
            for (kind, value) in Attributes(rest) {
                match kind {
                    libc::RTA_OIF => route.interface = word(value),
                    libc::RTA_GATEWAY => route.gateway = Some(ip(value)?),
                    // A next hop of the other family.
                    RTA_VIA => route.gateway = Some(ip(value.get(2..)?)?),
                    libc::RTA_PREFSRC if from.is_none() => route.source = Some(ip(value)?),
                    libc::RTA_METRICS => {
                        let metric = |(k, v): (u16, &[u8])| (k == RTAX_MTU).then(|| word(v));
                        route.mtu = Attributes(value).find_map(metric);
                    }
                    // Paths of several, tunnels, encapsulation: the kernel's.
                    libc::RTA_MULTIPATH => return None,
                    _ => {}
                }
            }
            (route.interface != 0).then_some(route)
        })
    }

    /// What the kernel knows about a neighbour.
    pub fn neighbour(&mut self, interface: u32, address: IpAddr) -> Neighbour {
        let mut body = vec![family(address), 0, 0, 0];
        body.extend(interface.to_ne_bytes());
        body.extend([0; 4]);
        add(&mut body, NDA_DST, &octets(address));
        let known = self.ask((libc::RTM_GETNEIGH, libc::RTM_NEWNEIGH), &body, |answer| {
            let (head, rest) = answer.split_at_checked(12)?;
            let state = u16::from_ne_bytes([head[8], head[9]]);
            let (_, mac) = Attributes(rest).find(|(kind, _)| *kind == NDA_LLADDR)?;
            let mac: Mac = mac.try_into().ok()?;
            let usable =
                libc::NUD_REACHABLE | libc::NUD_DELAY | libc::NUD_PROBE | libc::NUD_PERMANENT;
            match state {
                state if state & usable != 0 => Some(Neighbour::Known(mac)),
                libc::NUD_STALE => Some(Neighbour::Stale(mac)),
                _ => None,
            }
        });
        known.unwrap_or(Neighbour::Unknown)
    }

    /// An interface, by its number.
    ///
    /// # Errors
    /// There is none.
    pub fn link(&mut self, interface: u32) -> io::Result<Link> {
        let mut body = vec![0; 4];
        body.extend(interface.to_ne_bytes());
        body.extend([0; 8]);
        self.ask((libc::RTM_GETLINK, libc::RTM_NEWLINK), &body, |answer| {
            let (head, rest) = answer.split_at_checked(16)?;
            let flags = word(&head[8..]) as libc::c_int;
            let ethernet = u16::from_ne_bytes([head[2], head[3]]) == ETHERNET_KIND
                && flags & (libc::IFF_LOOPBACK | libc::IFF_NOARP) == 0;
            let up = flags & libc::IFF_UP != 0;
            let mut link = Link { mac: [0; 6], mtu: 0, ethernet, up, veth: false, program: 0 };
            for (kind, value) in Attributes(rest) {
                match kind {
                    IFLA_ADDRESS => link.mac = value.try_into().unwrap_or_default(),
                    IFLA_MTU => link.mtu = word(value),
                    IFLA_LINKINFO => {
                        let kind = |(kind, _): &(u16, &[u8])| *kind == IFLA_INFO_KIND;
                        let kind = Attributes(value).find(kind);
                        link.veth = kind.is_some_and(|(_, name)| name.starts_with(b"veth"));
                    }
                    IFLA_XDP => {
                        let id = Attributes(value).find(|(kind, _)| *kind == IFLA_XDP_PROG_ID);
                        link.program = id.map_or(0, |(_, id)| word(id));
                    }
                    _ => {}
                }
            }
            Some(link)
        })
    }

    /// What has changed since the last call.
    pub fn news(&self, buffer: &mut [u8]) -> News {
        let mut news = News::default();
        loop {
            match self.receive(buffer) {
                Ok(len) => {
                    news.any = true;
                    for (kind, _, body) in Messages(&buffer[..len]) {
                        if kind == libc::RTM_DELLINK && body.first() == Some(&0) {
                            news.gone = body.get(4..8).map(word);
                        }
                    }
                }
                // There was more than the socket holds.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => news.any = true,
                Err(_) => return news,
            }
            if news.gone.is_some() {
                return news;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_never_lead_outside() {
        let mut bytes = Vec::new();
        add(&mut bytes, 1, &[10, 0, 0, 1]);
        add(&mut bytes, 0x8002, &[7]);
        let all: Vec<_> = Attributes(&bytes).collect();
        assert_eq!(all, [(1, &[10, 0, 0, 1][..]), (2, &[7])]);
        for len in 0..bytes.len() {
            Attributes(&bytes[..len]).for_each(drop);
        }
        for bad in [[0, 0, 1, 0], [3, 0, 1, 0], [255, 255, 1, 0]] {
            assert_eq!(Attributes(&bad).count(), 0);
        }
        assert_eq!(Messages(&[255; 64]).count(), 0);
    }

    #[test]
    fn the_loopback_is_no_ethernet_and_has_no_way_out() {
        let mut netlink = Netlink::new().unwrap();
        let link = netlink.link(1).unwrap();
        assert!(!link.ethernet && link.mtu > 1000, "{link:?}");
        assert!(netlink.route("127.0.0.1".parse().unwrap(), None, 0).is_err());
        assert!(netlink.link(0x7fff_ffff).is_err());
        assert_eq!(netlink.neighbour(1, "192.0.2.1".parse().unwrap()), Neighbour::Unknown);
        assert_eq!(Netlink::watch().unwrap().news(&mut [0; 4096]).gone, None);
    }
}
