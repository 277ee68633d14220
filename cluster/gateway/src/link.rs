//! The link to one other site: connects, sends what waits, gives what comes to our ranks. [`hpvm_sites::Link`] decides when.

use crate::compress::{MARK, Packer, Unpacker};
use crate::site::Site;
use crate::tls::Tls;
use hpvm_net::Card;
use hpvm_sites::{Fair, Link, Step};
use rustls::Connection;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that may wait for the link: what some ranks may have on their way at a time (1.5 MB each). Queues are served in turn, so
/// that a long one delays its own sender only.
const QUEUE: usize = 4 << 20;
/// Bytes that the kernel keeps unsent at most. What waits, waits in our queue, where it is served fairly.
const UNSENT: libc::c_int = 128 << 10;
/// A rate that no link has, in bytes per second: with any the kernel spreads what it sends over the round trip. Otherwise all that
/// may be on its way goes out at once after a pause, and overflows the queues of a long link.
const PACED: libc::c_int = libc::c_int::MAX;
/// Bytes of datagrams that are encrypted in one go.
pub const BATCH: usize = 32 << 10;
/// So long a link counts as slow after it was: what is compressed goes faster, and is to go on doing so.
const SLOW: u64 = 1_000_000_000;
/// Time for one try to connect, and for a greeting.
const CONNECT: Duration = Duration::from_secs(3);
const GREETING: Duration = Duration::from_secs(5);
/// Bytes in front of each datagram on a connection: its length. 0: a sign of life; [`MARK`]: a compressed batch.
const LENGTH: usize = 2;

/// The end of a link that others may use while its thread serves it.
pub struct Gate {
    /// The other site's number.
    pub site: u16,
    state: Mutex<State>,
    /// Wakes the thread.
    bell: OwnedFd,
}

struct State {
    waiting: Fair,
    /// A connection that the other gateway has made.
    taken: Option<Conversation>,
    /// Where the other gateway is, once that is known.
    peer: Option<(String, Card)>,
}

/// A connection whose other end has proved that it knows the job's key.
pub struct Conversation {
    tcp: TcpStream,
    tls: Connection,
    /// Bytes that have come and are no whole datagram yet.
    inbox: Vec<u8>,
    /// Until then the link counts as slower than we are: the system had no room for more a short time before.
    slow_until: u64,
    unpacker: Unpacker,
}

impl Gate {
    /// # Errors
    /// The system has no descriptor for it.
    pub fn new(site: u16) -> io::Result<Gate> {
        // SAFETY: the call makes a new descriptor or fails.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: eventfd has just given us this descriptor.
        let bell = unsafe { OwnedFd::from_raw_fd(fd) };
        let state = State { waiting: Fair::new(QUEUE), taken: None, peer: None };
        Ok(Gate { site, state: Mutex::new(state), bell })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a datagram of a rank of ours.
    pub fn push(&self, src: u64, datagram: &[u8]) {
        let mut state = self.state();
        let was_empty = state.waiting.is_empty();
        state.waiting.push(src, datagram);
        drop(state);
        if was_empty {
            self.ring();
        }
    }

    /// The other gateway is there, perhaps anew.
    pub fn told(&self, host: &str, card: Card) {
        self.state().peer = Some((host.to_owned(), card));
        self.ring();
    }

    /// The other gateway has connected to us: it would not if it had a connection, so this one replaces ours.
    pub fn take(&self, conversation: Conversation) {
        self.state().taken = Some(conversation);
        self.ring();
    }

    fn ring(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight bytes of ours. A full counter has rung already.
        unsafe { libc::write(self.bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn hush(&self) {
        let mut count = [0_u8; 8];
        // SAFETY: room for eight bytes; the descriptor does not block.
        unsafe { libc::read(self.bell.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }

    /// Serves the link until the other site is given up: the text says why.
    pub fn serve(&self, site: &Site, tls: &Tls, limit: u64) -> String {
        while self.state().peer.is_none() {
            self.sleep(None, hpvm_net::now() + 3_600_000_000_000);
        }
        let mut link = Link::new(site.own < self.site, limit, hpvm_net::now());
        let mut current: Option<Conversation> = None;
        let mut packer = Packer::new(site.compress);
        let mut trouble = String::from("no connection was made");
        loop {
            if let Some(taken) = self.state().taken.take() {
                current = Some(taken);
                link.connected(hpvm_net::now());
            }
            let now = hpvm_net::now();
            if let Some(conversation) = &mut current
                && let Err(error) = self.converse(conversation, site, (&mut link, &mut packer), now)
            {
                trouble = error.to_string();
                current = None;
                link.broken(now);
            }
            match link.poll(now) {
                Step::Wait(until) => self.sleep(current.as_ref(), until),
                Step::Connect => match self.connect(site, tls) {
                    Ok(conversation) => {
                        current = Some(conversation);
                        link.connected(hpvm_net::now());
                    }
                    Err(text) => {
                        trouble = text;
                        link.failed(hpvm_net::now());
                    }
                },
                Step::Tell => {
                    link.told(now);
                    if let Some(conversation) = &mut current {
                        // What does not fit is no sign that is missed: data goes.
                        let _ = conversation.tls.writer().write_all(&[0; LENGTH]);
                    }
                }
                Step::Close => {
                    trouble = String::from("nothing came over the connection any more");
                    current = None;
                    link.broken(now);
                }
                Step::GiveUp(since) => {
                    let (ours, theirs) =
                        (&site.names[site.own as usize], &site.names[self.site as usize]);
                    let host =
                        self.state().peer.as_ref().map_or(String::new(), |(host, _)| host.clone());
                    return format!(
                        "site '{theirs}' is lost: its gateway on host '{host}' has not been reached from site '{ours}' for \
                         {:.1} s ({trouble}); the limit is --net-timeout",
                        since as f64 / 1e9
                    );
                }
            }
        }
    }

    /// Sleeps until the connection can be served, the bell rings, or that time.
    fn sleep(&self, current: Option<&Conversation>, until: u64) {
        let limit = Duration::from_nanos(until.saturating_sub(hpvm_net::now()));
        let (fd, events) = match current {
            Some(conversation) if conversation.tls.wants_write() => {
                (conversation.tcp.as_raw_fd(), libc::POLLIN | libc::POLLOUT)
            }
            Some(conversation) => (conversation.tcp.as_raw_fd(), libc::POLLIN),
            None => (-1, 0),
        };
        let mut polled = [hpvm_os::entry(&fd, events), hpvm_os::entry(&self.bell, libc::POLLIN)];
        // While the socket is full, more that waits is no reason to wake.
        let count = if events & libc::POLLOUT != 0 { 1 } else { 2 };
        // Whatever comes of it, the loop looks.
        let _ = hpvm_os::poll(&mut polled[..count], Some(limit));
        self.hush();
    }

    /// Moves what can be moved in both directions.
    fn converse(
        &self,
        with: &mut Conversation,
        site: &Site,
        (link, packer): (&mut Link, &mut Packer),
        now: u64,
    ) -> io::Result<()> {
        if with.receive(|datagram| site.deliver(self.site, datagram))? {
            link.heard(now);
        }
        loop {
            if with.tls.wants_write() {
                match with.tls.write_tls(&mut with.tcp) {
                    Ok(_) => {
                        link.told(now);
                        continue;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        with.slow_until = now + SLOW;
                        return Ok(());
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
            }
            let mut batch = Vec::with_capacity(BATCH + 2048);
            let mut state = self.state();
            while batch.len() < BATCH
                && let Some(datagram) = state.waiting.pop()
            {
                batch.extend_from_slice(&(datagram.len() as u16).to_le_bytes());
                batch.extend_from_slice(&datagram);
            }
            drop(state);
            if batch.is_empty() {
                return Ok(());
            }
            let packed = if now < with.slow_until { packer.pack(&batch) } else { None };
            with.tls.writer().write_all(packed.unwrap_or(&batch))?;
        }
    }

    /// Tries all addresses of the other gateway, once.
    fn connect(&self, site: &Site, tls: &Tls) -> Result<Conversation, String> {
        let Some((host, card)) = self.state().peer.clone() else {
            return Err("it has not told where it is".to_owned());
        };
        let mut to: Vec<SocketAddr> =
            card.addresses.iter().map(|a| SocketAddr::from((a.ip, card.port))).collect();
        // The host's name may lead to an address that the host itself does not know.
        let named = (host.rsplit('@').next().unwrap_or(&host), card.port).to_socket_addrs();
        to.extend(named.into_iter().flatten());
        let mut seen = Vec::new();
        let mut trouble = String::from("it has no address");
        for address in to {
            if seen.contains(&address) {
                continue;
            }
            seen.push(address);
            let joined = TcpStream::connect_timeout(&address, CONNECT).and_then(|tcp| {
                let connection = tls.calls().map_err(io::Error::other)?;
                let mut conversation = Conversation::greet(tcp, connection)?;
                conversation.tls.writer().write_all(&site.own.to_le_bytes())?;
                Ok(conversation)
            });
            match joined {
                Ok(conversation) => return Ok(conversation),
                Err(error) => trouble = format!("{address}: {error}"),
            }
        }
        Err(trouble)
    }
}

impl Conversation {
    /// Proves to each other that both know the job's key. Takes [`GREETING`] at most, however slowly the other end writes.
    pub fn greet(tcp: TcpStream, mut tls: Connection) -> io::Result<Conversation> {
        let end = Instant::now() + GREETING;
        // What waits is bounded by `BATCH`: a bound of its own would only refuse the last datagram of a batch.
        tls.set_buffer_limit(None);
        tcp.set_nodelay(true)?;
        tcp.set_nonblocking(true)?;
        let options = [
            (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT),
            (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, PACED),
        ];
        for (level, name, value) in options {
            let size = size_of::<libc::c_int>() as libc::socklen_t;
            let value = (&raw const value).cast();
            // SAFETY: a valid option value of its size. Without the first bound it only queues in a worse place, without
            // the second it only loses more.
            unsafe { libc::setsockopt(tcp.as_raw_fd(), level, name, value, size) };
        }
        let mut greeted = Conversation {
            tcp,
            tls,
            inbox: Vec::new(),
            slow_until: 0,
            unpacker: Unpacker::default(),
        };
        while greeted.tls.is_handshaking() || greeted.tls.wants_write() {
            match greeted.step() {
                Ok(()) if Instant::now() < end => {}
                Ok(()) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => greeted.wait(end)?,
                Err(error) => return Err(error),
            }
        }
        Ok(greeted)
    }

    fn step(&mut self) -> io::Result<()> {
        if self.tls.wants_write() {
            self.tls.write_tls(&mut self.tcp)?;
            return Ok(());
        }
        if self.tls.read_tls(&mut self.tcp)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Err(error) = self.tls.process_new_packets() {
            // The other end is told why.
            let _ = self.tls.write_tls(&mut self.tcp);
            return Err(io::Error::other(error));
        }
        Ok(())
    }

    fn wait(&self, end: Instant) -> io::Result<()> {
        let left = end.saturating_duration_since(Instant::now());
        let events = if self.tls.wants_write() { libc::POLLOUT } else { libc::POLLIN };
        // A signal is an occasion to look, like an event.
        match hpvm_os::wait(&self.tcp, events, Some(left))? || Instant::now() < end {
            false => Err(io::ErrorKind::TimedOut.into()),
            true => Ok(()),
        }
    }

    /// Sends bytes at once, for tests.
    #[cfg(test)]
    pub fn say(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).expect("room");
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.tcp).expect("a connection");
        }
    }

    /// The number of the site that the other end says it is the gateway of: its first two bytes.
    pub fn site(&mut self) -> io::Result<u16> {
        let end = Instant::now() + GREETING;
        loop {
            self.read()?;
            if let Some((number, rest)) = self.inbox.split_first_chunk::<2>() {
                let number = u16::from_le_bytes(*number);
                self.inbox = rest.to_vec();
                return Ok(number);
            }
            self.wait(end)?;
        }
    }

    /// Takes what has come into the inbox. True: something has.
    fn read(&mut self) -> io::Result<bool> {
        let mut came = false;
        let ended = match self.tls.read_tls(&mut self.tcp) {
            Ok(0) => true,
            Ok(_) => false,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                false
            }
            Err(error) => return Err(error),
        };
        self.tls.process_new_packets().map_err(io::Error::other)?;
        let mut buffer = [0; 16 << 10];
        loop {
            match self.tls.reader().read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    came = true;
                    self.inbox.extend_from_slice(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        match ended && !came {
            true => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed")),
            false => Ok(came),
        }
    }

    /// Gives each whole datagram that has come to `sink`, which says whether it makes sense. True: something has come.
    fn receive(&mut self, mut sink: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
        let came = self.read()?;
        let mut rest = &self.inbox[..];
        loop {
            rest = give(rest, &mut sink)?;
            let Some(frame) = rest.strip_prefix(&MARK.to_le_bytes()) else { break };
            let Some((batch, later)) = self.unpacker.unpack(frame)? else { break };
            // Nothing is left of it: neither the beginning of a datagram nor another batch.
            if !give(batch, &mut sink)?.is_empty() {
                return Err(nonsense());
            }
            rest = later;
        }
        let used = self.inbox.len() - rest.len();
        self.inbox.drain(..used);
        Ok(came)
    }
}

/// Gives each whole datagram at the beginning of `bytes` to `sink`; the rest is the beginning of one, or of a compressed batch.
fn give<'a>(mut bytes: &'a [u8], sink: &mut impl FnMut(&[u8]) -> bool) -> io::Result<&'a [u8]> {
    while let Some((length, later)) = bytes.split_first_chunk::<LENGTH>() {
        let length = u16::from_le_bytes(*length);
        if length == MARK {
            break;
        }
        let Some((datagram, later)) = later.split_at_checked(length.into()) else { break };
        if length > 0 && !sink(datagram) {
            return Err(nonsense());
        }
        bytes = later;
    }
    Ok(bytes)
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it sent what is no datagram of this job")
}
