//! Where datagrams for an address go past the kernel: the interface, and a header with the next hop's MAC
//! address. The kernel is asked, again after every change that it tells of and from time to time, because it
//! learns nothing from traffic that it does not see.

use crate::device::Device;
use crate::frame::Header;
use crate::netlink::{Neighbour, Netlink};
use std::net::{IpAddr, SocketAddr};

/// How long an answer holds, nanoseconds.
const FRESH: u64 = 1_000_000_000;
/// How long no answer is waited for until the next question: the kernel resolves a neighbour in less than that,
/// once a datagram goes to it.
const UNKNOWN: u64 = 10_000_000;

/// A way past the kernel.
#[derive(Clone, Copy)]
pub struct Way {
    /// Index of the device.
    pub device: usize,
    pub header: Header,
    /// Longest frame that the path takes.
    pub longest: usize,
}

struct Destination {
    to: SocketAddr,
    scope: u32,
    way: Option<Way>,
    /// When to ask again.
    until: u64,
}

/// The destinations that were asked for.
pub struct Destinations {
    all: Vec<Destination>,
    /// Index of the one that was asked for last.
    last: usize,
    port: u16,
    /// The address that the UDP socket is bound to, if it is to one alone.
    only: Option<IpAddr>,
}

impl Destinations {
    pub fn new(port: u16, only: Option<IpAddr>) -> Destinations {
        Destinations { all: Vec::new(), last: 0, port, only }
    }

    /// What is known may not be so any more.
    pub fn doubt(&mut self) {
        self.all.iter_mut().for_each(|destination| destination.until = 0);
    }

    /// How many of them have a way past the kernel.
    pub fn reached(&self) -> usize {
        self.all.iter().filter(|destination| destination.way.is_some()).count()
    }

    /// The way to an address; `None`: the kernel shall send this one.
    #[inline]
    pub fn way(
        &mut self,
        now: u64,
        (to, scope): (SocketAddr, u32),
        devices: &[Option<Device>],
        netlink: &mut Netlink,
    ) -> Option<&Way> {
        let same = |d: &Destination| d.to == to && d.scope == scope;
        if !self.all.get(self.last).is_some_and(same) {
            self.last = self.all.iter().position(same).unwrap_or_else(|| {
                self.all.push(Destination { to, scope, way: None, until: 0 });
                self.all.len() - 1
            });
        }
        if now >= self.all[self.last].until {
            return self.look(now, devices, netlink);
        }
        self.all[self.last].way.as_ref()
    }

    /// Asks for the way to the last destination.
    #[cold]
    fn look(
        &mut self,
        now: u64,
        devices: &[Option<Device>],
        netlink: &mut Netlink,
    ) -> Option<&Way> {
        let (to, scope) = (self.all[self.last].to, self.all[self.last].scope);
        let found = self.find(to, scope, devices, netlink);
        let destination = &mut self.all[self.last];
        destination.until = now + if found.is_some() { FRESH } else { UNKNOWN };
        let (way, stale) = found.unzip();
        destination.way = way;
        // The kernel asks a stale neighbour whether it is still there once it has sent something itself.
        destination.way.as_ref().filter(|_| stale == Some(false))
    }

    /// The way, and whether the kernel doubts the neighbour.
    fn find(
        &self,
        to: SocketAddr,
        scope: u32,
        devices: &[Option<Device>],
        netlink: &mut Netlink,
    ) -> Option<(Way, bool)> {
        let only = self.only.filter(|only| only.is_ipv4() == to.is_ipv4());
        let route = netlink.route(to.ip(), only, scope).ok()?;
        let uses = |d: &Option<Device>| d.as_ref().is_some_and(|d| d.index == route.interface);
        let device = devices.iter().position(uses)?;
        let (mac, stale) =
            match netlink.neighbour(route.interface, route.gateway.unwrap_or(to.ip())) {
                Neighbour::Known(mac) => (mac, false),
                Neighbour::Stale(mac) => (mac, true),
                Neighbour::Unknown => return None,
            };
        let link = netlink.link(route.interface).ok().filter(|link| link.up)?;
        let mtu = route.mtu.filter(|mtu| *mtu > 0).unwrap_or(link.mtu).min(link.mtu);
        let longest = (crate::frame::ETHERNET + mtu as usize).min(crate::frame::LARGEST_FRAME);
        let from = SocketAddr::new(route.source?, self.port);
        let header = Header::new(link.mac, mac, from, to)?;
        Some((Way { device, header, longest }, stale))
    }
}
