//! Authenticated datagrams between the reliability protocol and the socket: adds the MAC to what goes out,
//! checks what comes in, and knows the path to each peer.

use crate::address::Address;
use crate::auth::{DirectionKey, JobKey};
use crate::body_hash::BodyHash;
use crate::card::{Card, is_link_local};
use crate::interfaces::Interface;
use crate::ofi::{Fabric, Way, Ways};
use crate::outbox::{Left, Outbox};
use crate::search::Search;
use crate::socket::{Received, Socket, largest_payload};
use crate::xdp::PastKernel;
use hpvm_reliable::Sent;
use hpvm_wire::envelope::{ENVELOPE, Envelope, Kind, PROBE, Unverified};
use hpvm_wire::lane::{LaneInUse, WhyUdp};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

mod fabric;

/// Datagrams to a peer that are kept while the path to that peer is searched. More are lost, as on any network.
const PARKED: usize = 16;
/// Longest time for which the sender of the first packet to a peer waits for the peer's card. It waits because it may
/// compute for long afterwards, and the packet would have to wait for that.
const CARD_WAIT: Duration = Duration::from_millis(50);
/// Time after a probe during which senders' addresses are asked for.
const NAMED: u64 = 2_000_000_000;

/// Asks the process manager for another process's card. Waits for the answer for the given time at most; `None`: it has
/// not come yet, ask again.
pub type Directory = Box<dyn FnMut(u32, Duration) -> Result<Option<Card>, String> + Send>;

/// What is known about a peer that we have talked to.
struct Peer {
    rank: u32,
    outward: DirectionKey,
    inward: DirectionKey,
    /// Where its datagrams go: a guess while the search goes on.
    path: Option<Address>,
    /// How it is reached by libfabric.
    way: Way,
    /// It has answered at `path`.
    proven: bool,
    /// The highest number of a datagram that has come from it.
    highest: u64,
    search: Option<Box<Search>>,
    /// When there was last a doubt that our datagrams reach the peer.
    doubted: u64,
    card: Option<Box<Card>>,
    /// Bodies that were sent to an unproven address, or that wait for an address.
    parked: Vec<Box<[u8]>>,
}

/// What a datagram that came in is.
pub enum Admitted<'a> {
    /// Bytes of the reliability protocol from a process of the job.
    Data(u32, &'a [u8]),
    /// Something that has been dealt with here.
    Handled,
    /// Nothing of this job.
    Stranger,
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub sent: u64,
    pub received: u64,
    /// Datagrams dropped because they prove no knowledge of the job's key.
    pub strangers: u64,
}

/// The datagrams of one process, and what is known about its peers.
pub struct Datagrams {
    rank: u32,
    key: JobKey,
    hash: Box<BodyHash>,
    job: u32,
    pub socket: Socket,
    /// Most datagrams take this way, where there is one.
    pub past_kernel: Option<Box<PastKernel>>,
    /// Why there is none, where one was thought of.
    pub why_udp: Option<WhyUdp>,
    /// Or this one.
    pub fabric: Option<Box<Fabric>>,
    ways: Ways,
    outbox: Outbox,
    /// One more than the index of each rank in `peers`; 0: none yet. This is all that a peer costs to which nothing is
    /// sent.
    index: Box<[u32]>,
    peers: Vec<Peer>,
    /// Peers whose way is being searched.
    searching: u32,
    directory: Directory,
    own: Vec<Interface>,
    /// Until when senders' addresses are asked for.
    named_until: u64,
    /// Number of the last datagram sent.
    number: u64,
    /// Seed of the numbers in probes.
    nonce: u64,
    pub tally: Tally,
    /// Peers whose path takes only so many bytes of body; 0: not known how many.
    too_large: Vec<(u32, usize)>,
    /// Why a card could not be had.
    pub trouble: Option<(u32, String)>,
}

impl Datagrams {
    pub fn new(
        (rank, size): (u32, u32),
        key: JobKey,
        (socket, past_kernel, fabric): (Socket, Option<Box<PastKernel>>, Option<Box<Fabric>>),
        own: Vec<Interface>,
        directory: Directory,
    ) -> Datagrams {
        // Unguessable, because the key is.
        let nonce = key.derive(&[&b"hpvm probes"[..], &rank.to_le_bytes()].concat());
        Datagrams {
            rank,
            job: key.job(),
            hash: key.body_hash(),
            key,
            socket,
            past_kernel,
            why_udp: None,
            fabric,
            ways: Ways::default(),
            outbox: Outbox::new(),
            index: vec![0; size as usize].into(),
            peers: Vec::new(),
            searching: 0,
            directory,
            own,
            named_until: 0,
            number: 0,
            nonce: u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| nonce[i])),
            tally: Tally::default(),
            too_large: Vec::new(),
            trouble: None,
        }
    }

    fn peer_index(&mut self, rank: u32) -> usize {
        match self.index[rank as usize] {
            0 => self.meet(rank),
            index => index as usize - 1,
        }
    }

    #[cold]
    fn meet(&mut self, rank: u32) -> usize {
        let way = self.first_way();
        self.peers.push(Peer {
            rank,
            outward: self.key.direction(self.rank, rank),
            inward: self.key.direction(rank, self.rank),
            path: None,
            way,
            proven: false,
            highest: 0,
            search: None,
            doubted: 0,
            card: None,
            parked: Vec::new(),
        });
        self.index[rank as usize] = self.peers.len() as u32;
        self.peers.len() - 1
    }

    /// Sends a body of the reliability protocol to `rank`. Several in a row to one peer leave
    /// together, by `flush` at the latest.
    #[inline]
    pub fn post(&mut self, now: u64, rank: u32, body: &[u8]) -> Sent {
        let index = self.peer_index(rank);
        if !self.peers[index].proven {
            self.park(now, index, body);
        }
        let Some(path) = self.peers[index].path else { return Sent::Taken };
        if !self.outbox.takes(rank, body.len()) && self.flush(now) == Left::Stuck {
            return Sent::Later;
        }
        self.number += 1;
        let (job, src, number) = (self.job, self.rank, self.number);
        let (kind, len) = (Kind::Data, body.len() as u16);
        let signed = Envelope { job, kind, src, dst: rank, number, len }.bytes();
        let mac = self.peers[index].outward.mac(&self.hash, &signed, body);
        self.outbox.add(rank, &path, &signed, &mac, body);
        self.tally.sent += 1;
        Sent::Taken
    }

    /// Keeps a copy of a datagram that goes to an unproven address, in case that the address is wrong.
    #[cold]
    fn park(&mut self, now: u64, index: usize, body: &[u8]) {
        if self.peers[index].search.is_none() {
            self.fetch_card(index, CARD_WAIT);
            self.search(now, index);
        }
        if self.peers[index].parked.len() < PARKED {
            self.peers[index].parked.push(body.into());
        }
    }

    /// Sends what waits in the outbox.
    #[inline]
    pub fn flush(&mut self, now: u64) -> Left {
        if let Some(past) = &mut self.past_kernel {
            past.kick();
            self.outbox.offer(|to, bytes, segment| past.send(now, to, bytes, segment));
        }
        if self.outbox.is_empty() {
            return Left::Gone;
        }
        self.flush_by_fabric(now);
        let left = self.outbox.flush(&self.socket);
        if left == Left::TooLarge {
            self.measure(self.outbox.rank());
        }
        left
    }

    /// Everything that was posted has left.
    pub fn is_flushed(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Frames wait that the kernel had no room for. Nothing else waits for them: there is the socket.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.past_kernel.as_ref().is_some_and(|past| past.is_pending())
    }

    #[cold]
    fn measure(&mut self, rank: u32) {
        let index = self.peer_index(rank);
        let path = self.peers[index].path;
        let most = path.and_then(|p| largest_payload(&p, self.socket.six()));
        self.too_large.push((rank, most.map_or(0, |m| m.saturating_sub(ENVELOPE))));
    }

    /// A peer whose path carries only bodies of so many bytes, once for each time that was found.
    #[inline]
    pub fn take_too_large(&mut self) -> Option<(u32, usize)> {
        if self.too_large.is_empty() { None } else { self.too_large.pop() }
    }

    /// Receives what is there into `buffer`; with the sender's address while those are wanted.
    /// `None`: nothing, or something that the next call finds.
    ///
    /// # Errors
    /// A socket does not work any more.
    #[inline]
    pub fn receive(&mut self, now: u64, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let named = self.wants_names(now);
        if let Some(past) = &mut self.past_kernel {
            match past.receive(now, buffer, named) {
                Ok(received) => return Ok(Some(received)),
                Err(false) => return Ok(None),
                Err(true) => {}
            }
        }
        if let Some(fabric) = &mut self.fabric {
            match fabric.receive(buffer) {
                Ok(received) => return Ok(Some(received)),
                Err(false) => return Ok(None),
                Err(true) => {}
            }
        }
        let received = self.socket.receive(buffer, named);
        if let Some(past) = &mut self.past_kernel {
            past.looked(matches!(received, Ok(Some(_))));
        }
        if let Some(fabric) = &mut self.fabric {
            fabric.looked(matches!(received, Ok(Some(_))));
        }
        received
    }

    /// Whether something waits to be received.
    pub fn readable(&mut self, now: u64) -> bool {
        let past = self.past_kernel.as_mut().is_some_and(|past| past.readable(now));
        let fabric = self.fabric.as_mut().is_some_and(|fabric| fabric.readable());
        past || fabric || self.socket.readable()
    }

    /// Gives up what does not work any more.
    #[cold]
    pub fn tidy(&mut self) {
        if self.past_kernel.as_ref().is_some_and(|past| past.is_dead()) {
            self.past_kernel = None;
            self.why_udp = Some(WhyUdp::Gone);
        }
        self.tidy_fabric();
    }

    /// Checks a datagram that has come in what was received.
    #[inline]
    pub fn admit<'a>(
        &mut self,
        now: u64,
        datagram: &Unverified<'a>,
        received: &Received,
    ) -> Admitted<'a> {
        let Unverified { envelope, signed, mac, body } = *datagram;
        let (from, by_fabric) = (received.from.as_ref(), received.by_fabric);
        let Envelope { job, kind, src, dst, number, .. } = envelope;
        if job != self.job || dst != self.rank || src as usize >= self.index.len() || src == dst {
            return self.stranger();
        }
        // A stranger can't make us remember anything: nothing is recorded before the MAC is checked.
        let known = self.index[src as usize];
        let right = match known {
            0 => self.key.direction(src, dst).verify(&self.hash, signed, body, mac),
            index => self.peers[index as usize - 1].inward.verify(&self.hash, signed, body, mac),
        };
        if !right {
            return self.stranger();
        }
        self.tally.received += 1;
        let index = self.peer_index(src);
        let peer = &mut self.peers[index];
        let fresh = number > peer.highest;
        if fresh {
            peer.highest = number;
            if !peer.proven {
                self.heard_from(now, index, from);
            }
        }
        if self.ways.asking > 0 {
            self.lives_by_fabric(now, index);
        }
        match kind {
            Kind::Data => return Admitted::Data(src, body),
            // What has come by the socket meanwhile may have a higher number. The answer goes where everything goes, so
            // a probe that is replayed leads nowhere.
            Kind::Probe if fresh || by_fabric => self.answer(now, index, body, from),
            Kind::Probe => {}
            Kind::Answer => self.answered(index, body),
        }
        Admitted::Handled
    }

    #[cold]
    pub fn stranger<'a>(&mut self) -> Admitted<'a> {
        self.tally.strangers += 1;
        Admitted::Stranger
    }

    /// A peer that has not answered yet has written: where from is the best guess, until it has
    /// answered there.
    #[cold]
    fn heard_from(&mut self, now: u64, index: usize, from: Option<&Address>) {
        let Some(from) = from else {
            if self.peers[index].search.is_none() {
                self.search(now, index);
            }
            return;
        };
        let peer = &mut self.peers[index];
        let changed = peer.path.replace(*from) != Some(*from);
        if peer.search.is_none() {
            self.nonce = self.nonce.wrapping_add(1 << 16);
            let search = Search::new(vec![*from], false, self.nonce, now);
            self.peers[index].search = Some(Box::new(search));
            self.searching += 1;
            self.probe(now, index);
        }
        if changed {
            self.repeat(index);
        }
    }

    #[cold]
    fn answer(&mut self, now: u64, index: usize, body: &[u8], from: Option<&Address>) {
        // Whoever probes has a reason: the next probe is received with its sender's address.
        self.named_until = now + NAMED;
        let to = from.copied().or(self.peers[index].path);
        if let (Some(to), Some(asked)) = (to, body.first_chunk::<PROBE>()) {
            self.send_plain(index, Kind::Answer, asked, &to);
        }
    }

    /// Whether the senders' addresses are wanted: while somebody searches a way.
    #[inline(always)]
    fn wants_names(&self, now: u64) -> bool {
        self.searching > 0 || now < self.named_until
    }

    #[cold]
    fn answered(&mut self, index: usize, body: &[u8]) {
        if self.answered_by_fabric(index, body) {
            return;
        }
        let peer = &mut self.peers[index];
        let Some(search) = &peer.search else { return };
        let Some(path) = search.answered(body) else { return };
        let changed = peer.path.replace(path) != Some(path);
        peer.search = None;
        self.searching -= 1;
        if changed {
            self.repeat(index);
        }
        let peer = &mut self.peers[index];
        peer.proven = true;
        peer.parked = Vec::new();
    }

    /// Sends again what went to a guess that was wrong.
    fn repeat(&mut self, index: usize) {
        let Some(path) = self.peers[index].path else { return };
        for body in std::mem::take(&mut self.peers[index].parked) {
            self.send_plain(index, Kind::Data, &body, &path);
        }
    }

    /// Sends a probe or an answer: at once, and never mind if it is lost.
    fn send_plain(&mut self, index: usize, kind: Kind, body: &[u8], to: &Address) {
        let datagram = self.plain(index, kind, body);
        let _ = self.socket.send(to, &datagram);
        self.tally.sent += 1;
    }

    /// A datagram that leaves at once, alone.
    fn plain(&mut self, index: usize, kind: Kind, body: &[u8]) -> Vec<u8> {
        self.number += 1;
        let peer = &self.peers[index];
        let (job, src, dst, number) = (self.job, self.rank, peer.rank, self.number);
        let len = body.len() as u16;
        let signed = Envelope { job, kind, src, dst, number, len }.bytes();
        let mac = peer.outward.mac(&self.hash, &signed, body);
        [&signed[..], &mac, body].concat()
    }

    /// Begins to search the way to a peer among all that its card names.
    fn search(&mut self, now: u64, index: usize) {
        let candidates = self.candidates(index);
        let complete = self.peers[index].card.is_some();
        let guess = self.guess(&candidates);
        let peer = &mut self.peers[index];
        peer.path = peer.path.or(guess);
        self.nonce = self.nonce.wrapping_add(1 << 16);
        let search = Search::new(candidates, complete, self.nonce, now);
        if self.peers[index].search.replace(Box::new(search)).is_none() {
            self.searching += 1;
        }
        self.probe(now, index);
    }

    /// The candidate to which packets go before any has answered: the first one that is not an
    /// address of this very host.
    fn guess(&self, candidates: &[Address]) -> Option<Address> {
        let ours = |a: &&Address| {
            let ip = a.socket_address().map(|s| s.ip());
            self.own.iter().any(|i| Some(i.subnet.ip) == ip)
        };
        candidates.iter().find(|a| !ours(a)).or(candidates.first()).copied()
    }

    /// Asks for a peer's card unless it is known, and waits for it for so long.
    fn fetch_card(&mut self, index: usize, wait: Duration) {
        let rank = self.peers[index].rank;
        if self.peers[index].card.is_none() {
            match (self.directory)(rank, wait) {
                Ok(card) => self.peers[index].card = card.map(Box::new),
                Err(why) => self.trouble = Some((rank, why)),
            }
        }
    }

    /// The addresses of a peer's card, once it is known; none, and trouble, when it can't be had.
    fn candidates(&mut self, index: usize) -> Vec<Address> {
        self.fetch_card(index, Duration::ZERO);
        let rank = self.peers[index].rank;
        let Some(card) = &self.peers[index].card else { return Vec::new() };
        let own: Vec<_> = self.own.iter().map(|i| i.subnet).collect();
        let six = self.socket.six();
        let mut candidates = Vec::new();
        for ip in card.ordered(&own) {
            if is_link_local(ip) && ip.is_ipv6() {
                let linked = self.own.iter().filter(|i| is_link_local(i.subnet.ip));
                let on = |i: &Interface| Address::new(ip, card.port, six, i.index);
                candidates.extend(linked.filter_map(on));
            } else {
                candidates.extend(Address::new(ip, card.port, six, 0));
            }
        }
        if candidates.is_empty() {
            self.trouble = Some((rank, self.no_common_family(card)));
        }
        candidates
    }

    /// Why none of the addresses of a card can be used here.
    #[cold]
    fn no_common_family(&self, card: &Card) -> String {
        let list = |ips: &mut dyn Iterator<Item = IpAddr>| {
            ips.map(|ip| ip.to_string()).collect::<Vec<_>>().join(", ")
        };
        format!(
            "host {} has only the addresses {}, and this host only {}: no address family is common \
             to both",
            card.host,
            list(&mut card.addresses.iter().map(|subnet| subnet.ip)),
            list(&mut self.own.iter().map(|own| own.subnet.ip)),
        )
    }

    #[cold]
    fn probe(&mut self, now: u64, index: usize) {
        if self.peers[index].search.as_ref().is_some_and(|s| s.wants_card()) {
            let candidates = self.candidates(index);
            let known = self.peers[index].card.is_some();
            if known && self.peers[index].path.is_none() {
                // What has been parked meanwhile goes to the likeliest address.
                self.peers[index].path = self.guess(&candidates);
                let parked = self.peers[index].parked.clone();
                self.repeat(index);
                self.peers[index].parked = parked;
            }
            match &mut self.peers[index].search {
                Some(search) if known => search.add(candidates),
                Some(search) => search.wait_for_card(now),
                None => {}
            }
        }
        let Some(search) = &mut self.peers[index].search else { return };
        for (to, body) in search.due(now) {
            self.send_plain(index, Kind::Probe, &body, &to);
        }
    }

    /// Sends the probes that are due. Costs a comparison when no way is being searched.
    #[inline(always)]
    pub fn turn(&mut self, now: u64) {
        if self.searching > 0 {
            self.probe_all(now);
        }
        self.turn_fabric(now);
    }

    #[cold]
    fn probe_all(&mut self, now: u64) {
        for index in 0..self.peers.len() {
            if self.peers[index].search.as_ref().is_some_and(|s| s.next() <= now) {
                self.probe(now, index);
            }
        }
    }

    /// When `turn` has something to do.
    pub fn deadline(&self) -> Option<u64> {
        let fabric = Some(self.fabric_deadline()).filter(|time| *time != u64::MAX);
        if self.searching == 0 {
            return fabric;
        }
        let searches = self.peers.iter().filter_map(|p| p.search.as_ref().map(|s| s.next()));
        searches.chain(fabric).min()
    }

    /// A peer does not answer: looks for another way to it, while the present one stays in use.
    pub fn doubt(&mut self, now: u64, rank: u32) {
        let index = self.peer_index(rank);
        self.doubt_fabric(now, index);
        if self.peers[index].search.is_none() {
            self.search(now, index);
        }
    }

    /// A peer has sent again what has come: our acknowledgements may not reach it, and nobody else
    /// tells us, when we send nothing that it has to acknowledge.
    #[cold]
    pub fn repeated(&mut self, now: u64, rank: u32) {
        let index = self.peer_index(rank);
        let peer = &mut self.peers[index];
        if peer.proven && now.saturating_sub(peer.doubted) > NAMED / 2 {
            peer.doubted = now;
            self.doubt(now, rank);
        }
    }

    /// Where `rank` may be reached, for streams: the address in use first, then the others.
    pub fn addresses(&mut self, rank: u32) -> Vec<Address> {
        let index = self.peer_index(rank);
        let mut all: Vec<Address> = self.peers[index].path.into_iter().collect();
        for candidate in self.candidates(index) {
            if !all.contains(&candidate) {
                all.push(candidate);
            }
        }
        all
    }

    /// The port at which the kernel of `rank` shows that it lives, where its card is known.
    pub fn liveness_port(&self, rank: u32) -> Option<u16> {
        let index = self.index.get(rank as usize).copied().unwrap_or(0) as usize;
        let peer = index.checked_sub(1).and_then(|p| self.peers.get(p))?;
        peer.card.as_ref().map(|card| card.liveness_port)
    }

    /// One address of `rank` for each pair of interfaces that may join us, the one in use first.
    /// The others are those in a network of an interface that no earlier one needs.
    pub fn ways(&mut self, rank: u32) -> Vec<Address> {
        let mut taken: Vec<&str> = Vec::new();
        let mut ways = Vec::new();
        for way in self.addresses_of_its_own(rank) {
            let Some(ip) = way.socket_address().map(|a| a.ip()) else { continue };
            let near = self.own.iter().find(|own| match way.scope() {
                0 => own.subnet.shares_network(ip),
                scope => own.index == scope,
            });
            match near {
                Some(own) if taken.contains(&own.name.as_str()) => continue,
                Some(own) => taken.push(&own.name),
                None if ways.is_empty() => {}
                None => continue,
            }
            ways.push(way);
        }
        ways
    }

    /// The addresses of `rank` without those that are ours as well, as that of docker0 is: they are not the way to anybody
    /// else. A peer all of whose addresses are ours is on this machine, which is two hosts of the job under two names.
    fn addresses_of_its_own(&mut self, rank: u32) -> Vec<Address> {
        let all = self.addresses(rank);
        let ours = |way: &Address| {
            let ip = way.socket_address().map(|a| a.ip());
            self.own.iter().any(|own| Some(own.subnet.ip) == ip && !own.loopback)
        };
        match all.iter().all(ours) {
            true => all,
            false => all.into_iter().filter(|way| !ours(way)).collect(),
        }
    }

    /// The peer as people know it: its host, and the address in use.
    pub fn describe(&self, rank: u32) -> String {
        let index = self.index.get(rank as usize).copied().unwrap_or(0) as usize;
        let Some(peer) = index.checked_sub(1).and_then(|p| self.peers.get(p)) else {
            return format!("rank {rank}");
        };
        let host = peer.card.as_ref().map_or("", |c| &c.host);
        let on = if host.is_empty() { String::new() } else { format!(" on host {host}") };
        match &peer.path {
            Some(path) => format!("rank {rank}{on} (at {path})"),
            None => format!("rank {rank}{on} (no address of it has answered)"),
        }
    }

    /// What carries datagrams, and how many that lane has sent and received; UDP's own are in `tally`.
    pub fn lane_tally(&self) -> (LaneInUse, u64, u64) {
        // One of them at most: `Opened::new` takes the lane that was asked for.
        let fabric = self.fabric.as_ref().map(|fabric| fabric.tally());
        let past_kernel = self.past_kernel.as_ref().map(|past| past.tally());
        let udp = self.why_udp.map_or(LaneInUse::Udp, LaneInUse::UdpFor);
        fabric.or(past_kernel).unwrap_or((udp, 0, 0))
    }

    /// Peers that are reached by the lane now.
    pub fn lane_peers(&self) -> u64 {
        match &self.past_kernel {
            Some(past) => past.reached().min(self.known() as u64),
            None => self.ofi_peers(),
        }
    }

    /// How many peers there are.
    pub fn known(&self) -> usize {
        self.peers.len()
    }

    /// Datagrams that the system refused to send.
    pub fn refused(&self) -> u64 {
        self.outbox.refused
    }
}
