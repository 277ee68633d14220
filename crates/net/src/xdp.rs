//! Datagrams past the kernel (`hpvm-xdp`), beside the UDP socket: both have the same port, so peers notice nothing. The
//! socket finds the way to a peer, holds what is too long or has no known way past the kernel, and gets what
//! the program on the interface leaves to the kernel.

use crate::address::Address;
use crate::interfaces::Interface;
use crate::socket::{Received, Socket};
use crate::turns::Turns;
use hpvm_wire::lane::LaneInUse;
use hpvm_xdp::{Mode, Xdp};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

/// Whether this process may use XDP at all, on whatever interface.
///
/// # Errors
/// Why not, for people.
pub fn xdp_usable() -> Result<(), String> {
    hpvm_xdp::probe()
}

/// The sockets past the kernel.
pub struct PastKernel {
    xdp: Xdp,
    turns: Turns,
    six: bool,
}

impl PastKernel {
    /// Takes what comes for `socket` by these interfaces. `only`: the address that it is bound to, if it is to one alone.
    ///
    /// # Errors
    /// Why that can't be had, for people.
    pub fn open(
        own: &[Interface],
        socket: &Socket,
        only: Option<IpAddr>,
    ) -> Result<(PastKernel, String), String> {
        let mut interfaces: Vec<hpvm_xdp::Interface> = Vec::new();
        for Interface { name, index, subnet, .. } in own.iter().filter(|own| !own.loopback) {
            match interfaces.iter_mut().find(|known| known.index == *index) {
                Some(known) => known.addresses.push(subnet.ip),
                None => interfaces.push(hpvm_xdp::Interface {
                    name: name.clone(),
                    index: *index,
                    addresses: vec![subnet.ip],
                }),
            }
        }
        let (xdp, words) = Xdp::open(interfaces, socket.port(), only, Mode::ZeroCopy)?;
        let past = PastKernel { xdp, turns: Turns::new(), six: socket.six() };
        Ok((past, words.join("; ")))
    }

    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.xdp.descriptors()
    }

    /// Sends a run of datagrams; returns how many bytes of it have been taken.
    #[inline]
    pub fn send(&mut self, now: u64, to: &Address, bytes: &[u8], segment: usize) -> usize {
        let Some(socket_address) = to.socket_address() else { return 0 };
        // Only the address and the port count.
        let plain = SocketAddr::new(socket_address.ip(), socket_address.port());
        self.xdp.send(now, (plain, to.scope()), bytes, segment)
    }

    /// Receives what has come past the kernel. `Err`: nothing has, and whether it is the socket's turn.
    #[inline]
    pub fn receive(&mut self, now: u64, buffer: &mut [u8], named: bool) -> Result<Received, bool> {
        let Some(received) = self.xdp.receive(now, buffer) else {
            return Err(self.turns.is_socket());
        };
        let from = if named { self.name(&received) } else { None };
        Ok(Received { len: received.len, from, by_fabric: false })
    }

    /// What a look into the socket has brought.
    #[inline]
    pub fn looked(&mut self, came: bool) {
        self.turns.looked(came);
    }

    #[cold]
    fn name(&self, received: &hpvm_xdp::Received) -> Option<Address> {
        let from = received.from;
        Address::new(from.ip(), from.port(), self.six, received.interface)
    }

    /// Sends what the kernel has not taken.
    #[inline]
    pub fn kick(&mut self) {
        if self.xdp.is_pending() {
            self.xdp.kick();
        }
    }

    pub fn is_pending(&self) -> bool {
        self.xdp.is_pending()
    }

    /// Before a sleep: hears the kernel's news, whose descriptor would wake us at once. True: something waits to be
    /// received.
    pub fn readable(&mut self, now: u64) -> bool {
        self.xdp.look(now);
        self.xdp.readable()
    }

    /// All interfaces have gone away.
    pub fn is_dead(&self) -> bool {
        self.xdp.is_dead()
    }

    /// The lane, and the datagrams sent and received past the kernel.
    pub fn tally(&self) -> (LaneInUse, u64, u64) {
        let lane = match self.xdp.mode() {
            None => LaneInUse::Udp,
            Some(Mode::Generic) => LaneInUse::XdpGeneric,
            Some(Mode::Native) => LaneInUse::XdpNative,
            Some(Mode::ZeroCopy) => LaneInUse::XdpZeroCopy,
        };
        (lane, self.xdp.tally.sent, self.xdp.tally.received)
    }
}
