//! Messages of libfabric (`hpvm-ofi`), beside the UDP socket. They carry runs of the same authenticated datagrams, one run
//! in each message. Libfabric is used for a peer once the peer has answered a probe that came by it, and until there is a
//! doubt. Before that, and for peers that can't be reached by libfabric, datagrams go by the socket.

use crate::card::{FabricCard, is_link_local};
use crate::interfaces::Interface;
use crate::socket::Received;
use crate::turns::Turns;
use hpvm_ofi::{Endpoint, Provider, Rdma, ReadEnd, Sent, Wanted};
use hpvm_transport::Exposed;
use hpvm_wire::lane::LaneInUse;
use std::net::IpAddr;
use std::os::fd::RawFd;

/// First pause between two probes, and the longest; it doubles. Making a connection takes some of the first.
const FIRST_PAUSE: u64 = 200_000;
const LONGEST_PAUSE: u64 = 5_000_000_000;
/// Longest pause after a sign of life.
const AWAKE: u64 = 100_000_000;
/// Time between two looks whether a peer's card has come.
const CARD_POLL: u64 = 500_000;
/// Longest sleep while the provider has work that no descriptor tells of, with and without a descriptor.
const RESTLESS: u64 = 10_000_000;
const BLIND: u64 = 1_000_000;

/// The way to a peer by libfabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// There is none.
    None,
    /// Its card is waited for, and looked for again at this time.
    Wanted(u64),
    /// It has not answered yet.
    Asked(Asked),
    /// It has.
    Proven(u64),
}

/// Probes of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub to: u64,
    /// What the probes carry: nobody can guess it.
    pub nonce: u64,
    next: u64,
    pause: u64,
}

impl Way {
    /// When to ask again.
    #[inline]
    pub fn next(&self) -> u64 {
        match self {
            Way::Wanted(next) => *next,
            Way::Asked(asked) => asked.next,
            Way::None | Way::Proven(_) => u64::MAX,
        }
    }

    pub fn asked(to: u64, nonce: u64, now: u64) -> Way {
        Way::Asked(Asked { to, nonce, next: now, pause: FIRST_PAUSE })
    }

    pub fn wait_for_card(&mut self, now: u64) {
        *self = Way::Wanted(now + CARD_POLL);
    }

    /// A probe has been sent, or could not be.
    pub fn has_asked(&mut self, now: u64) {
        if let Way::Asked(asked) = self {
            asked.next = now + asked.pause;
            asked.pause = (2 * asked.pause).min(LONGEST_PAUSE);
        }
    }

    /// Its peer lives.
    #[inline]
    pub fn is_alive(&mut self, now: u64) {
        if let Way::Asked(asked) = self {
            asked.pause = asked.pause.min(AWAKE);
            asked.next = asked.next.min(now + asked.pause);
        }
    }
}

/// What is known about all ways together.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    /// Peers of whom it is not known yet whether they are reached by libfabric.
    pub asking: u32,
    /// Peers who are.
    pub proven: u32,
    /// When the first of those that are asked, or whose card is waited for, is due: not later than that.
    pub due: u64,
}

impl Default for Ways {
    fn default() -> Ways {
        Ways { asking: 0, proven: 0, due: u64::MAX }
    }
}

/// The process's endpoint of libfabric.
pub struct Fabric {
    endpoint: Endpoint,
    turns: Turns,
}

impl Fabric {
    /// Opens an endpoint of a card that libfabric drives, if this host has one.
    ///
    /// # Errors
    /// There is a card that can't be used: why, for people.
    pub fn of_cards(own: &[Interface], rdma: Rdma) -> Result<Option<Fabric>, String> {
        let cards = hpvm_ofi::cards();
        // Libfabric is loaded only where there is something to use it for.
        if cards.is_empty() {
            return Ok(None);
        }
        Fabric::open(own, Provider::OfCards(cards), rdma).map(Some)
    }

    /// Opens an endpoint at one of these interfaces.
    ///
    /// # Errors
    /// Why that can't be had, for people.
    pub fn open(own: &[Interface], provider: Provider, rdma: Rdma) -> Result<Fabric, String> {
        // A link-local address of IPv6 means nothing without its interface, which libfabric does not take.
        let usable = |ip: &IpAddr| ip.is_ipv4() || !is_link_local(*ip);
        let mut addresses: Vec<_> = own.iter().map(|own| own.subnet.ip).filter(usable).collect();
        // All hosts prefer the same family: the others' endpoints are to have one like ours.
        addresses.sort_by_key(|ip| ip.is_ipv6());
        let endpoint = Endpoint::open(&Wanted { provider, addresses, rdma })?;
        Ok(Fabric { endpoint, turns: Turns::new() })
    }

    /// What others need to know.
    pub fn card(&self) -> FabricCard {
        let (provider, address) = (self.endpoint.provider(), self.endpoint.address());
        FabricCard { provider: provider.to_owned(), address: address.to_vec() }
    }

    /// Longest message, bytes.
    pub fn longest(&self) -> usize {
        self.endpoint.longest()
    }

    /// Provider and device, for people.
    pub fn text(&self) -> String {
        self.endpoint.text()
    }

    /// Makes a peer known. `None`: it has another provider, or none.
    pub fn insert(&mut self, card: Option<&FabricCard>) -> Option<u64> {
        let card = card.filter(|card| card.provider == self.endpoint.provider())?;
        self.endpoint.insert(&card.address).ok()
    }

    pub fn descriptor(&self) -> Option<RawFd> {
        self.endpoint.descriptor()
    }

    /// Sends a run of datagrams, as few messages as it takes. Returns how many bytes have been taken, whole datagrams, and
    /// whether the library refuses this peer.
    #[inline]
    pub fn send(&mut self, to: u64, rank: u32, bytes: &[u8], segment: usize) -> (usize, bool) {
        let together = self.endpoint.longest() / segment.max(1) * segment;
        if together == 0 {
            return (0, false);
        }
        let mut taken = 0;
        for message in bytes.chunks(together) {
            match self.endpoint.send(to, rank, message) {
                Sent::Taken => taken += message.len(),
                Sent::Later => return (taken, false),
                Sent::Refused(_) => return (taken, true),
            }
        }
        (taken, false)
    }

    /// Receives a message. `Err`: nothing has come, and whether it is the socket's turn.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Received, bool> {
        let received = self.endpoint.receive(|message| {
            let len = message.len().min(buffer.len());
            buffer[..len].copy_from_slice(&message[..len]);
            len
        });
        match received {
            Some(len) => Ok(Received { len, from: None, by_fabric: true }),
            None => Err(self.turns.is_socket()),
        }
    }

    /// What a look into the socket has brought.
    #[inline]
    pub fn looked(&mut self, came: bool) {
        self.turns.looked(came);
    }

    pub fn readable(&mut self) -> bool {
        self.endpoint.readable()
    }

    /// Longest sleep now, nanoseconds.
    pub fn rest(&self) -> Option<u64> {
        match (self.endpoint.is_restless(), self.endpoint.descriptor()) {
            (false, _) => None,
            (true, Some(_)) => Some(RESTLESS),
            (true, None) => Some(BLIND),
        }
    }

    /// A rank to whom a message could not be delivered.
    #[inline]
    pub fn failed(&mut self) -> Option<u32> {
        self.endpoint.failed()
    }

    /// Nothing can be received any more, and nothing is being read.
    pub fn is_dead(&self) -> bool {
        self.endpoint.is_dead() && !self.endpoint.is_reading()
    }

    /// See [`Endpoint::has_rdma`].
    #[inline]
    pub fn has_rdma(&self) -> bool {
        self.endpoint.has_rdma()
    }

    /// See [`Endpoint::expose`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn expose(&mut self, number: u64, from: *const u8, len: usize) -> Option<Exposed> {
        // SAFETY: the caller's promise.
        let exposed = unsafe { self.endpoint.expose(number, from, len) }?;
        Some(Exposed { address: exposed.address, key: exposed.key })
    }

    /// See [`Endpoint::conceal`].
    pub fn conceal(&mut self, number: u64) {
        self.endpoint.conceal(number);
    }

    /// See [`Endpoint::read`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn read(
        &mut self,
        cookie: u64,
        from: (u64, u32),
        exposed: Exposed,
        to: (*mut u8, usize),
    ) -> bool {
        let exposed = hpvm_ofi::Exposed { address: exposed.address, key: exposed.key };
        // SAFETY: the caller's promise.
        unsafe { self.endpoint.read(cookie, from, exposed, to) }
    }

    #[inline]
    pub fn has_read_end(&self) -> bool {
        self.endpoint.has_read_end()
    }

    pub fn read_end(&mut self) -> Option<ReadEnd> {
        self.endpoint.read_end()
    }

    /// The lane, and the messages sent and received.
    pub fn tally(&self) -> (LaneInUse, u64, u64) {
        let tally = &self.endpoint.tally;
        let provider = hpvm_ofi::number(self.endpoint.provider());
        (LaneInUse::Ofi(provider), tally.sent, tally.received)
    }
}

/// Tries the card of this host that [`Lane::Auto`](crate::Lane::Auto) uses at these interfaces. Returns whether it reads long
/// messages out of their senders' memory (RDMA); `None`: there is no card.
///
/// # Errors
/// It can't be used: why, for people.
pub fn try_card(own: &[Interface]) -> Result<Option<bool>, String> {
    let opened = Fabric::of_cards(own, Rdma::Auto)?;
    Ok(opened.map(|fabric| fabric.has_rdma()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_become_rare_until_the_peer_lives() {
        let mut way = Way::asked(3, 5, 100);
        assert_eq!(way.next(), 100);
        let mut now = 100;
        for _ in 0..40 {
            now = way.next();
            way.has_asked(now);
        }
        assert_eq!(way.next(), now + LONGEST_PAUSE);
        way.is_alive(now + 1);
        assert_eq!(way.next(), now + 1 + AWAKE);
        way.wait_for_card(7);
        assert_eq!(way, Way::Wanted(7 + CARD_POLL));
        assert_eq!((Way::None.next(), Way::Proven(1).next()), (u64::MAX, u64::MAX));
    }
}
