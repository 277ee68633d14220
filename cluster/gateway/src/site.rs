//! The gateway's side toward the ranks of its own site: one UDP socket. What a rank sends to a rank of another site comes
//! here, is checked, and waits for the link; what comes over a link goes to the rank that it names.
//!
//! Ranks have numbers in a *space*: that of the job, one for each job that ranks have spawned, one for each link between such jobs. Each
//! has a key of its own, from which the job's number in envelopes follows, by which spaces are told apart.

use crate::link::Gate;
use hpvm_net::{BodyHash, Card, JobKey};
use hpvm_sites::Sites;
use hpvm_wire::envelope::Envelope;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// Longer than any datagram of a job.
const DATAGRAM_BYTES_MAX: usize = 64 << 10;
/// Bytes that the kernel may keep for us in each direction, where it lets us have them.
const BUFFERS: libc::c_int = 4 << 20;

/// Where a rank of our site is.
#[derive(Default)]
struct Addresses {
    /// What its card says.
    told: Vec<SocketAddr>,
    /// Which of these it was heard at.
    heard: Option<SocketAddr>,
}

/// Ranks that are numbered together.
struct Space {
    /// By which the launcher calls it; none for the job itself.
    number: Option<u32>,
    sites: Sites,
    key: JobKey,
    hash: Box<BodyHash>,
    addresses: Mutex<HashMap<u32, Addresses>>,
    /// Since when the launcher wants it no more. Ranks may still be sending their last acknowledgements.
    forgotten: Option<Instant>,
}

/// So long a space that is wanted no more is kept.
const LINGER: Duration = Duration::from_secs(10);

/// One site, as its gateway sees it.
pub struct Site {
    pub names: Vec<String>,
    pub own: u16,
    /// What goes to other sites may be compressed.
    pub compress: bool,
    /// By the job's number in envelopes.
    spaces: RwLock<HashMap<u32, Space>>,
    /// That number of the job itself.
    job: u32,
    socket: UdpSocket,
    six: bool,
    /// Datagrams that prove no knowledge of a key.
    strangers: AtomicU64,
}

impl Space {
    fn new(number: Option<u32>, sites: Sites, key: JobKey) -> Space {
        let hash = key.body_hash();
        Space { number, sites, key, hash, addresses: Mutex::default(), forgotten: None }
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<u32, Addresses>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A datagram of that rank came from there. Somebody else may have kept it and sent it: only an address that the rank
    /// has told counts.
    fn heard(&self, rank: u32, from: SocketAddr) {
        if let Some(card) = self.addresses().get_mut(&rank)
            && card.told.contains(&from)
        {
            card.heard = Some(from);
        }
    }
}

impl Site {
    pub fn new(sites: Sites, (own, compress): (u16, bool), key: JobKey, socket: UdpSocket) -> Site {
        let six = socket.local_addr().is_ok_and(|address| address.is_ipv6());
        for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
            let (value, size) = (BUFFERS, size_of::<libc::c_int>() as libc::socklen_t);
            // SAFETY: a valid option value of its size. A smaller buffer than wanted only costs speed.
            unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const value).cast(),
                    size,
                )
            };
        }
        let (names, job, strangers) = (sites.names.clone(), key.job(), AtomicU64::new(0));
        let spaces = RwLock::new(HashMap::from([(job, Space::new(None, sites, key))]));
        Site { names, own, compress, spaces, job, socket, six, strangers }
    }

    fn spaces(&self) -> RwLockReadGuard<'_, HashMap<u32, Space>> {
        self.spaces.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, HashMap<u32, Space>> {
        self.spaces.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Datagrams so far that were not of this job.
    #[cfg(test)]
    pub fn strangers(&self) -> u64 {
        // Relaxed: a number for people.
        self.strangers.load(Ordering::Relaxed)
    }

    /// A rank of the job has told where it is, perhaps anew.
    pub fn told(&self, rank: u32, card: &Card) {
        if let Some(space) = self.spaces().get(&self.job) {
            self.put(space, rank, card);
        }
    }

    fn put(&self, space: &Space, rank: u32, card: &Card) {
        let told = card.addresses.iter().filter_map(|a| self.reachable(a.ip, card.port)).collect();
        space.addresses().insert(rank, Addresses { told, heard: None });
    }

    /// From now on there are these ranks, too, which the launcher calls by this number. Of two spaces whose keys give the same number in
    /// envelopes, which happens once in 4 thousand million, the later one is not served.
    pub fn add(&self, number: u32, sites: Sites, key: JobKey) {
        if sites.names.len() != self.names.len() {
            return;
        }
        let mut spaces = self.change();
        spaces.retain(|_, space| space.forgotten.is_none_or(|since| since.elapsed() < LINGER));
        spaces.entry(key.job()).or_insert_with(|| Space::new(Some(number), sites, key));
    }

    /// Where a rank of such a space is.
    pub fn place(&self, number: u32, rank: u32, card: &Card) {
        let spaces = self.spaces();
        let space = spaces.values().find(|space| space.number == Some(number));
        if let Some(space) = space.filter(|space| space.sites.of(rank) == Some(self.own)) {
            self.put(space, rank, card);
        }
    }

    /// The ranks of a space have ended, or need no gateway any more.
    pub fn forget(&self, number: u32) {
        let mut spaces = self.change();
        let space = spaces.values_mut().find(|space| space.number == Some(number));
        space.into_iter().for_each(|space| space.forgotten = Some(Instant::now()));
    }

    /// An address as our socket takes it.
    fn reachable(&self, ip: IpAddr, port: u16) -> Option<SocketAddr> {
        match (ip, self.six) {
            (IpAddr::V4(ip), true) => Some((ip.to_ipv6_mapped(), port).into()),
            (IpAddr::V6(_), false) => None,
            (ip, _) => Some((ip, port).into()),
        }
    }

    /// Takes what ranks send, for ever.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn listen(&self, gates: &[Gate]) -> io::Result<()> {
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        loop {
            match self.socket.recv_from(&mut buffer) {
                Ok((len, from)) => self.take(&buffer[..len], from, gates),
                // What an earlier datagram met: its rank is gone.
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&self, mut bytes: &[u8], from: SocketAddr, gates: &[Gate]) {
        let spaces = self.spaces();
        while !bytes.is_empty() {
            let Some((datagram, rest)) = Envelope::open(bytes) else { return self.stranger() };
            let (one, envelope) = (&bytes[..bytes.len() - rest.len()], datagram.envelope);
            bytes = rest;
            let (src, dst) = (envelope.src, envelope.dst);
            let Some(space) = spaces.get(&envelope.job) else {
                self.stranger();
                continue;
            };
            let far = space.sites.of(dst).filter(|site| *site != self.own);
            let (Some(far), true) = (far, space.sites.of(src) == Some(self.own)) else {
                self.stranger();
                continue;
            };
            // What strangers send must not take the link's bytes.
            let direction = space.key.direction(src, dst);
            if !direction.verify(&space.hash, datagram.signed, datagram.body, datagram.mac) {
                self.stranger();
                continue;
            }
            space.heard(src, from);
            if let Some(gate) = gates.iter().find(|gate| gate.site == far) {
                gate.push(u64::from(envelope.job) << 32 | u64::from(src), one);
            }
        }
    }

    fn stranger(&self) {
        // Relaxed: a number for people.
        self.strangers.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives a datagram that came from another site to the rank that it is for. False: it makes no sense.
    pub fn deliver(&self, site: u16, bytes: &[u8]) -> bool {
        let Some((datagram, [])) = Envelope::open(bytes) else { return false };
        let Envelope { job, src, dst, .. } = datagram.envelope;
        let spaces = self.spaces();
        // The other gateway may have heard of a space before us, or may not know yet that it is wanted no more: lost.
        let Some(space) = spaces.get(&job) else { return true };
        if space.sites.of(src) != Some(site) || space.sites.of(dst) != Some(self.own) {
            return false;
        }
        let addresses = space.addresses();
        // A rank whose card has not come yet: lost, and sent again.
        let Some(card) = addresses.get(&dst) else { return true };
        let to: Vec<SocketAddr> = match card.heard {
            Some(heard) => vec![heard],
            // All of them, until it is heard at one: nobody but the rank can make use of it.
            None => card.told.clone(),
        };
        drop(addresses);
        drop(spaces);
        for to in to {
            // What does not go out is lost as on any network.
            let _ = self.socket.send_to(bytes, to);
        }
        true
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, WouldBlock,
    };
    matches!(
        error.kind(),
        ConnectionRefused | HostUnreachable | Interrupted | NetworkUnreachable | WouldBlock
    )
}
