//! The datagrams of one UDP port past the kernel, over all interfaces where that can be had.

use crate::destinations::Destinations;
use crate::device::{Device, Mode};
use crate::frame::{finish, read};
use crate::netlink::Netlink;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

/// Time between two looks for news of the kernel, nanoseconds.
const NEWS: u64 = 10_000_000;

/// Longest run of datagrams that goes past the kernel where frames are copied: the kernel sends and receives a longer
/// one as a whole, which is faster than one by one.
const LONGEST_RUN: usize = 1500;

/// What a receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub len: usize,
    pub from: SocketAddr,
    /// The interface that it came by.
    pub interface: u32,
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Datagrams that were sent past the kernel.
    pub sent: u64,
    /// Datagrams that came past the kernel.
    pub received: u64,
    /// Frames with wrong lengths or checksums.
    pub wrong: u64,
}

/// The XDP sockets of a process.
pub struct Xdp {
    /// `None`: the interface has gone away.
    devices: Vec<Option<Device>>,
    /// The first to be looked at for something that has come.
    turn: usize,
    destinations: Destinations,
    questions: Netlink,
    news: Netlink,
    next_news: u64,
    buffer: Box<[u8]>,
    port: u16,
    pub tally: Tally,
}

impl Xdp {
    /// Uses these interfaces for what a UDP socket of this port would send, and takes what comes by them. `only`: the
    /// address to which that socket is bound, if it is to one alone.
    ///
    /// # Errors
    /// The kernel does not tell of routes and neighbours.
    pub fn new(devices: Vec<Device>, port: u16, only: Option<IpAddr>) -> io::Result<Xdp> {
        Ok(Xdp {
            devices: devices.into_iter().map(Some).collect(),
            turn: 0,
            destinations: Destinations::new(port, only),
            questions: Netlink::new()?,
            news: Netlink::watch()?,
            next_news: 0,
            buffer: vec![0; 16 << 10].into(),
            port,
            tally: Tally::default(),
        })
    }

    /// Descriptors that are readable when something has come.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let sockets = self.devices.iter().flatten().map(|device| device.xsk.fd());
        sockets.chain([self.news.fd()])
    }

    /// Sends datagrams of `segment` bytes, the last one perhaps shorter, that lie behind each other in `bytes`.
    /// Returns how many of the bytes have been taken: the rest is for the UDP socket.
    #[inline]
    pub fn send(&mut self, now: u64, to: (SocketAddr, u32), bytes: &[u8], segment: usize) -> usize {
        let Xdp { destinations, devices, questions, .. } = self;
        let Some(way) = destinations.way(now, to, devices, questions) else { return 0 };
        let (header, index) = (&way.header, way.device);
        if header.len() + segment.min(bytes.len()) > way.longest {
            return 0;
        }
        let Some(device) = &mut devices[index] else { return 0 };
        if bytes.len() > LONGEST_RUN && device.mode != Mode::ZeroCopy {
            return 0;
        }
        let mut taken = 0;
        for datagram in bytes.chunks(segment) {
            let len = header.len() + datagram.len();
            let pushed = device.xsk.push(len, |frame| {
                frame[header.len()..].copy_from_slice(datagram);
                finish(frame, header);
            });
            if !pushed {
                break;
            }
            taken += datagram.len();
            self.tally.sent += 1;
        }
        if let Err(error) = device.xsk.kick() {
            self.broken(index, &error);
        }
        taken
    }

    /// The interface is down, or gone. What it held is lost as on any network.
    #[cold]
    fn broken(&mut self, index: usize, error: &io::Error) {
        self.destinations.doubt();
        if error.raw_os_error() != Some(libc::ENETDOWN) {
            self.devices[index] = None;
        }
    }

    /// Receives a datagram into `buffer`. `None`: nothing has come.
    #[inline]
    pub fn receive(&mut self, now: u64, buffer: &mut [u8]) -> Option<Received> {
        if now >= self.next_news {
            self.look(now);
        }
        let count = self.devices.len();
        for _ in 0..count {
            let index = self.turn;
            let Some(device) = &mut self.devices[index] else {
                self.turn = (index + 1) % count;
                continue;
            };
            let interface = device.index;
            // What is wrong is counted and followed by the next; a few at most, so that others have their turn.
            for _ in 0..16 {
                let port = self.port;
                let next = device.xsk.next(|frame| {
                    let datagram = read(frame).filter(|datagram| datagram.to.port() == port)?;
                    let len = datagram.body.len();
                    buffer.get_mut(..len)?.copy_from_slice(datagram.body);
                    Some(Received { len, from: datagram.from, interface })
                });
                match next {
                    None => break,
                    Some(None) => self.tally.wrong += 1,
                    Some(Some(received)) => {
                        self.tally.received += 1;
                        return Some(received);
                    }
                }
            }
            self.turn = (index + 1) % count;
        }
        None
    }

    /// Whether something waits to be received.
    pub fn readable(&self) -> bool {
        self.devices.iter().flatten().any(|device| !device.xsk.is_empty())
    }

    /// Frames wait for the kernel to take them.
    pub fn is_pending(&self) -> bool {
        self.devices.iter().flatten().any(|device| device.xsk.is_pending())
    }

    /// Sends what the kernel has not taken yet.
    #[cold]
    pub fn kick(&mut self) {
        for index in 0..self.devices.len() {
            let Some(device) = &mut self.devices[index] else { continue };
            if device.xsk.is_pending()
                && let Err(error) = device.xsk.kick()
            {
                self.broken(index, &error);
            }
        }
    }

    /// Hears what has changed: neighbours, routes, interfaces.
    #[cold]
    pub fn look(&mut self, now: u64) {
        self.next_news = now + NEWS;
        loop {
            let news = self.news.news(&mut self.buffer);
            if news.any {
                self.destinations.doubt();
            }
            let Some(gone) = news.gone else { return };
            for device in &mut self.devices {
                if device.as_ref().is_some_and(|device| device.index == gone) {
                    *device = None;
                }
            }
        }
    }

    /// The mode of the first interface that is there.
    pub fn mode(&self) -> Option<Mode> {
        self.devices.iter().flatten().next().map(|device| device.mode)
    }

    /// How many destinations have a way past the kernel.
    pub fn reached(&self) -> usize {
        self.destinations.reached()
    }

    /// No interface is left.
    pub fn is_dead(&self) -> bool {
        self.devices.iter().all(Option::is_none)
    }

    /// Frames that came and were lost for want of room.
    pub fn lost(&self) -> u64 {
        self.devices.iter().flatten().map(|device| device.xsk.lost()).sum()
    }
}
