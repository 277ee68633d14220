//! Datagrams past the kernel (`hpvm-xdp`), beside the UDP socket. Both have the same port, so peers notice nothing. The
//! socket finds the path to a peer, sends what is too long or has no known path past the kernel, and receives what the
//! program on the interface leaves to the kernel.

use crate::address::Address;
use crate::interfaces::Interface;
use crate::socket::{Received, Socket};
use crate::turns::Turns;
use hpvm_wire::lane::{LaneInUse, WhyUdp};
use hpvm_xdp::{Granted, Helper, Mode, Refusal, Why, Wish, Xdp};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

pub use hpvm_xdp::HELPER as XDP_HELPER;

/// How long the program of a job that has ended may stay when the lane is not asked for by name.
const AUTO_PATIENCE: Duration = Duration::from_millis(250);

/// Whether a helper of this file may have what XDP takes.
///
/// # Errors
/// Why not.
pub fn xdp_usable(helper: &Path) -> Result<(), Refusal> {
    hpvm_xdp::usable(helper)
}

/// Whether one of these interfaces may be better than UDP for everything: then it is worth a helper.
///
/// # Errors
/// Why none is.
pub fn xdp_is_worth(own: &[Interface]) -> Result<(), Refusal> {
    hpvm_xdp::worth(&indices(own))
}

/// How datagrams are to pass the kernel.
pub struct PastKernelSettings {
    pub helper: Helper,
    /// The local rank of this process, and how many its host has.
    pub local: (u32, u32),
    /// Also in a mode that costs others something.
    pub in_any_mode: bool,
}

/// The sockets past the kernel.
pub struct PastKernel {
    xdp: Xdp,
    turns: Turns,
    six: bool,
    /// To the helper, who takes the program away when all of these are closed.
    _connection: OwnedFd,
}

/// Each interface once.
fn indices(own: &[Interface]) -> Vec<hpvm_xdp::Interface> {
    let mut all: Vec<hpvm_xdp::Interface> = Vec::new();
    for Interface { name, index, subnet, .. } in own.iter().filter(|own| !own.loopback) {
        match all.iter_mut().find(|known| known.index == *index) {
            Some(known) => known.addresses.push(subnet.ip),
            None => all.push(hpvm_xdp::Interface {
                name: name.clone(),
                index: *index,
                addresses: vec![subnet.ip],
            }),
        }
    }
    all
}

impl PastKernel {
    /// Takes what comes for `socket` by these interfaces. `only`: the address that it is bound to, if it is to one alone.
    /// Also says how, for people.
    ///
    /// # Errors
    /// Why that can't be had.
    pub fn open(
        own: &[Interface],
        socket: &Socket,
        only: Option<IpAddr>,
        settings: PastKernelSettings,
    ) -> Result<(PastKernel, String), Refusal> {
        let auto = Wish { worst: Mode::Native, patience: AUTO_PATIENCE, ..Wish::ANY };
        let wish = if settings.in_any_mode { Wish::ANY } else { auto };
        // SAFETY: the socket lives longer than this.
        let udp = unsafe { BorrowedFd::borrow_raw(socket.fd()) };
        let asked = settings.helper.ask(settings.local, wish, &indices(own), udp);
        let Granted { devices, words, connection } = asked?;
        let xdp = Xdp::new(devices, socket.port(), only)
            .map_err(|error| Refusal { why: Why::Impossible, text: format!("netlink: {error}") })?;
        let six = socket.six();
        let past = PastKernel { xdp, turns: Turns::new(), six, _connection: connection };
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

    /// Addresses that datagrams go to past the kernel now.
    pub fn reached(&self) -> u64 {
        self.xdp.reached() as u64
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

/// The reason as `hpvm jobs` shows it.
pub fn why_udp(why: Why) -> WhyUdp {
    match why {
        Why::Forbidden => WhyUdp::Forbidden,
        Why::Taken => WhyUdp::Taken,
        Why::Copies => WhyUdp::Copies,
        Why::Impossible => WhyUdp::Impossible,
    }
}
