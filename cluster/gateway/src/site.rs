//! The gateway's side toward the ranks of its own site: one UDP socket. What a rank sends to a rank of another site comes
//! here, is checked, and waits for the link; what comes over a link goes to the rank that it names.

use crate::link::Gate;
use hpvm_net::{Card, JobKey};
use hpvm_sites::Sites;
use hpvm_wire::envelope::Envelope;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Longer than any datagram of a job.
const LARGEST: usize = 64 << 10;
/// Bytes that the kernel may keep for us in each direction, where it lets us have them.
const BUFFERS: libc::c_int = 4 << 20;

/// Where a rank of our site is.
#[derive(Default)]
struct Place {
    /// What its card says.
    told: Vec<SocketAddr>,
    /// Which of these it was heard at.
    heard: Option<SocketAddr>,
}

/// One site, as its gateway sees it.
pub struct Site {
    pub sites: Sites,
    pub own: u16,
    /// What goes to other sites may be compressed.
    pub compress: bool,
    key: JobKey,
    job: u32,
    socket: UdpSocket,
    six: bool,
    places: Mutex<HashMap<u32, Place>>,
    /// Datagrams that prove no knowledge of the job's key.
    strangers: AtomicU64,
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
        let (places, strangers) = (Mutex::default(), AtomicU64::new(0));
        Site { sites, own, compress, job: key.job(), key, socket, six, places, strangers }
    }

    /// Datagrams so far that were not of this job.
    #[cfg(test)]
    pub fn strangers(&self) -> u64 {
        // Relaxed: a number for people.
        self.strangers.load(Ordering::Relaxed)
    }

    /// A rank of ours has told where it is, perhaps anew.
    pub fn told(&self, rank: u32, card: &Card) {
        let told = card.addresses.iter().filter_map(|a| self.reachable(a.ip, card.port)).collect();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(rank, Place { told, heard: None });
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
        let mut buffer = vec![0; LARGEST];
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
        while !bytes.is_empty() {
            let Some((datagram, rest)) = Envelope::open(bytes) else { return self.stranger() };
            let (one, envelope) = (&bytes[..bytes.len() - rest.len()], datagram.envelope);
            bytes = rest;
            let (src, dst) = (envelope.src, envelope.dst);
            let far = self.sites.of(dst).filter(|site| *site != self.own);
            let (Some(far), true) =
                (far, self.sites.of(src) == Some(self.own) && envelope.job == self.job)
            else {
                self.stranger();
                continue;
            };
            // What strangers send must not take the link's bytes.
            if !self.key.direction(src, dst).verify(datagram.signed, datagram.body, datagram.mac) {
                self.stranger();
                continue;
            }
            self.heard(src, from);
            if let Some(gate) = gates.iter().find(|gate| gate.site == far) {
                gate.push(src, one);
            }
        }
    }

    fn stranger(&self) {
        // Relaxed: a number for people.
        self.strangers.fetch_add(1, Ordering::Relaxed);
    }

    /// A datagram of that rank came from there. Somebody else may have kept it and sent it: only an address that the rank
    /// has told counts.
    fn heard(&self, rank: u32, from: SocketAddr) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get_mut(&rank)
            && place.told.contains(&from)
        {
            place.heard = Some(from);
        }
    }

    /// Gives a datagram that came from another site to the rank that it is for. False: it makes no sense.
    pub fn deliver(&self, site: u16, bytes: &[u8]) -> bool {
        let Some((datagram, [])) = Envelope::open(bytes) else { return false };
        let Envelope { job, src, dst, .. } = datagram.envelope;
        if job != self.job
            || self.sites.of(src) != Some(site)
            || self.sites.of(dst) != Some(self.own)
        {
            return false;
        }
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        // A rank whose card has not come yet: lost, and sent again.
        let Some(place) = places.get(&dst) else { return true };
        let to: Vec<SocketAddr> = match place.heard {
            Some(heard) => vec![heard],
            // All of them, until it is heard at one: nobody but the rank can make use of it.
            None => place.told.clone(),
        };
        drop(places);
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
