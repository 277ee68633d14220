//! Ports (MPI 5.0, section 11.9.1): where a group of processes can be reached by others of the same user.
//!
//! A port is a socket in the kernel's abstract name space, for processes of this host, and one of TCP for those of
//! others; neither leaves anything behind however its process ends. Its name holds a secret, which nobody says on either: client
//! and port prove to each other that they know it ([`hpvm_net::handshake`]). So a stranger gets in nowhere, and one who takes
//! over a socket's name or address is not taken for the port. A check value tells a name that was changed on its way, before
//! anybody waits for a port that it does not name, or tries an address that is somebody else's.
//!
//! A job over several sites offers its ports to its launcher as well, by whom processes of all sites reach it, those of jobs that it
//! has spawned, too ([`super::sites`]).

use super::sites::Offer;
use super::talk::Talk;
use crate::runtime::{host_name, interfaces, net_timeout, tables::fnv};
use hpvm_job::port::{PREFIX, socket_name};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_net::handshake::{Found, Server, session_of};
use hpvm_net::{AddressAndPrefix, Card, JobKey};
use std::io;
use std::net::{IpAddr, SocketAddr as InetAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// Hexadecimal digits of the check value of a name, which follows the prefix.
const CHECK_DIGITS: usize = 16;
/// Characters of a wrong name that are shown: no part of the secret is among them.
const SHOWN_CHARACTERS: usize = 24;
/// Bytes of the socket's name that nobody can guess.
const ID: usize = 8;
/// Longest name, bytes: programs built for MPICH have room for 255.
pub const NAME_BYTES_MAX: usize = 240;
/// Connections that may wait for their proof at a time; of more the oldest is dropped.
const CANDIDATES: usize = 64;
/// How long one address of a port on another host is tried. Hosts that are there answer within milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// What a port's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    id: u64,
    secret: JobKey,
    /// The host, as [`host_number`] has it.
    host: u64,
    /// Where other hosts reach it, if they do.
    card: Option<Card>,
}

impl PortName {
    /// The name as programs hand it on.
    pub fn text(&self) -> String {
        let PortName { id, secret, host, card } = self;
        let head = format!("{id:016x}:{}:{host:016x}:", secret.hex());
        let room = NAME_BYTES_MAX - PREFIX.len() - CHECK_DIGITS - 1 - head.len();
        let mut card = card.clone();
        // As many addresses as there is room for.
        let mut card_text = String::new();
        while let Some(card) = &mut card {
            let text = card.text();
            if text.len() <= room {
                card_text = text;
                break;
            }
            if card.addresses.pop().is_none() {
                break;
            }
        }
        let content = head + &card_text;
        format!("{PREFIX}{}:{content}", check(&content))
    }

    /// The port that a program names.
    ///
    /// # Errors
    /// `MPI_ERR_PORT`: it is no name of a port.
    pub fn parse(text: &str) -> Result<PortName> {
        PortName::read(text).ok_or_else(|| {
            let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
            let more = if text.chars().nth(SHOWN_CHARACTERS).is_some() { " and so on" } else { "" };
            let why = match text.starts_with(PREFIX) {
                true => "is not whole: something of the port's name was changed or lost on its way",
                false => "is no port",
            };
            let text = format!("{shown:?}{more} {why}; expected what MPI_Open_port has given");
            Error::new(Class::Port, text)
        })
    }

    fn read(text: &str) -> Option<PortName> {
        let (told, content) = text.strip_prefix(PREFIX)?.split_once(':')?;
        if told != check(content) {
            return None;
        }
        let mut parts = content.splitn(4, ':');
        let mut number = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            part.bytes().all(|b| b.is_ascii_hexdigit()).then_some(part)
        };
        let id = u64::from_str_radix(number(2 * ID)?, 16).ok()?;
        let secret = JobKey::parse(number(32)?)?;
        let host = u64::from_str_radix(number(16)?, 16).ok()?;
        let card = match parts.next()? {
            "" => None,
            card => Some(Card::parse(card).ok()?),
        };
        Some(PortName { id, secret, host, card })
    }

    /// By which a launcher knows it; no secret.
    pub fn id(&self) -> String {
        format!("{:016x}", self.id)
    }

    fn address(&self) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(socket_name(&self.id()))
    }
}

/// The check value of a name's content. No two contents of one length that differ in one character have the same: each step of the
/// hash maps different values to different ones.
fn check(content: &str) -> String {
    format!("{:0CHECK_DIGITS$x}", fnv(content.as_bytes()))
}

/// A number that processes have in common which see each other's sockets, processes and memory: those of one host,
/// outside of containers, or of one container.
pub fn host_number() -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space =
        |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
    let (net, pid) = (space("net"), space("pid"));
    fnv(format!("{boot} {} {}", net.display(), pid.display()).as_bytes())
}

/// An open port.
#[derive(Debug)]
pub struct Port {
    pub name: PortName,
    listener: UnixListener,
    /// For other hosts, if this one has a network.
    network: Option<TcpListener>,
    /// For other sites, if the job has some.
    offer: Option<Offer>,
    /// Connections whose other ends have not proved anything yet, and whether they come by the launcher.
    candidates: Vec<(UnixStream, Server, bool)>,
}

fn failed(what: &str, cause: io::Error) -> Error {
    Error::new(Class::Port, format!("{what}: {cause}"))
}

fn no_number(cause: io::Error) -> Error {
    Error::new(Class::Other, format!("a random number: {cause}"))
}

/// A socket that other hosts reach, and where. None where there is no network to other hosts, or only one whose addresses hold
/// for a single cable.
fn listen() -> Option<(TcpListener, Card)> {
    let mut addresses: Vec<AddressAndPrefix> =
        interfaces().ok()?.into_iter().map(|interface| interface.subnet).collect();
    addresses.retain(|address| !hpvm_net::is_link_local(address.ip) && !address.ip.is_loopback());
    let any: IpAddr = match addresses[..] {
        [] => return None,
        [one] => one.ip,
        _ if addresses.iter().any(|address| address.ip.is_ipv6()) => [0; 16].into(),
        _ => [0; 4].into(),
    };
    let listener = TcpListener::bind((any, 0)).ok()?;
    listener.set_nonblocking(true).ok()?;
    let port = listener.local_addr().ok()?.port();
    Some((
        listener,
        Card { port, liveness_port: port, host: String::new(), fabric: None, addresses },
    ))
}

impl Port {
    /// Opens a port with a name of its own.
    pub fn open() -> Result<Port> {
        let ([id, _], [high, low]) = (crate::runtime::random_key()?, crate::runtime::random_key()?);
        let secret = JobKey::new((u128::from(high) << 64 | u128::from(low)).to_be_bytes());
        let mut name = PortName { id, secret, host: host_number(), card: None };
        let listener = name.address().and_then(|address| UnixListener::bind_addr(&address));
        let listener = listener.map_err(|cause| failed("opening a port", cause))?;
        listener.set_nonblocking(true).map_err(|cause| failed("opening a port", cause))?;
        let (network, card) = listen().unzip();
        name.card = card;
        Ok(Port { name, listener, network, offer: None, candidates: Vec::new() })
    }

    /// Can be reached by the launcher from now on.
    pub fn offered(self, offer: Option<Offer>) -> Port {
        Port { offer, ..self }
    }

    /// Readable when somebody connects.
    pub fn fds(&self) -> impl Iterator<Item = RawFd> + use<> {
        let network = self.network.as_ref().map(AsRawFd::as_raw_fd);
        let offer = self.offer.as_ref().map(Offer::fd);
        [self.listener.as_raw_fd()].into_iter().chain(network).chain(offer)
    }

    /// The next connection, if there is one, and whether it comes by the launcher.
    fn next(&mut self) -> Result<Option<(UnixStream, bool)>> {
        if let Some(stream) = self.next_direct()? {
            return Ok(Some((stream, false)));
        }
        match self.offer.as_mut().map(Offer::next) {
            None | Some(Ok(None)) => Ok(None),
            Some(Ok(Some(stream))) => Ok(Some((stream, true))),
            Some(Err(_)) => {
                // The launcher has gone: the job ends.
                self.offer = None;
                Ok(None)
            }
        }
    }

    /// The next one from this host or over the network.
    fn next_direct(&self) -> Result<Option<UnixStream>> {
        let waits = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        loop {
            let (error, more) = match self.listener.accept() {
                Ok((stream, _)) if hpvm_os::is_own(&stream) => return Ok(Some(stream)),
                Ok(_) => continue,
                Err(error) if waits(&error) => match self.network.as_ref().map(TcpListener::accept)
                {
                    None => return Ok(None),
                    Some(Ok((stream, _))) => return Ok(Some(of_network(stream))),
                    Some(Err(error)) => (error, false),
                },
                Err(error) => (error, true),
            };
            match error.kind() {
                io::ErrorKind::WouldBlock if !more => return Ok(None),
                // The client has gone already, or a signal has come.
                io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                _ => return Err(failed("accepting a connection", error)),
            }
        }
    }

    /// The next client that has proved itself, if one has. Does not block; `watch` is told of descriptors that
    /// become readable when there is more to see.
    pub fn accept(&mut self, mut watch: impl FnMut(RawFd)) -> Result<Option<Talk>> {
        while let Some((stream, by_launcher)) = self.next()? {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.candidates.len() == CANDIDATES {
                self.candidates.remove(0);
            }
            watch(stream.as_raw_fd());
            let server = Server::new(&self.name.secret).map_err(no_number)?;
            self.candidates.push((stream, server, by_launcher));
        }
        let mut place = 0;
        while let Some((stream, server, _)) = self.candidates.get_mut(place) {
            match server.look(stream) {
                Found::Nothing => place += 1,
                Found::Stranger => drop(self.candidates.remove(place)),
                Found::Proof(session) => {
                    let (stream, _, by_launcher) = self.candidates.remove(place);
                    return Ok(Some(Talk::new(stream, session).sharing_gateways(by_launcher)));
                }
            }
        }
        Ok(None)
    }
}

/// A connection to another host as the other kind has it: both are read and written alike.
fn of_network(stream: TcpStream) -> UnixStream {
    // What is said is short, and answered at once. Without it everything is slower, no more.
    let _ = stream.set_nodelay(true);
    let limit = (net_timeout().unwrap_or(u64::MAX) / 1_000_000_000).clamp(1, 30_000) as libc::c_int;
    let step = (limit / 4).max(1);
    // A host that vanishes says no more than one that is silent: its kernel is asked.
    for (level, option, value) in [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, step),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, step),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, limit.saturating_mul(1000)),
    ] {
        // SAFETY: an integer and its size. Where it fails the system's own limits hold.
        unsafe {
            let size = size_of_val(&value) as libc::socklen_t;
            libc::setsockopt(stream.as_raw_fd(), level, option, (&raw const value).cast(), size);
        }
    }
    UnixStream::from(OwnedFd::from(stream))
}

/// Connects to the port of another host.
fn connect_far(name: &PortName) -> Result<UnixStream> {
    let here = host_name();
    let Some(card) = &name.card else {
        let text = format!("the port is one of another host than {here}, without a network");
        return Err(Error::new(Class::Port, text));
    };
    let own: Vec<AddressAndPrefix> =
        interfaces().unwrap_or_default().into_iter().map(|interface| interface.subnet).collect();
    let mut causes = Vec::new();
    for ip in card.ordered(&own) {
        let address = InetAddr::new(ip, card.port);
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(of_network(stream)),
            Err(cause) => causes.push(format!("{address}: {cause}")),
        }
    }
    let text =
        format!("from {here} the port can't be reached, or is open no more: {}", causes.join("; "));
    Err(Error::new(Class::Port, text))
}

/// Connects to a port of this host.
fn connect_near(name: &PortName) -> Result<UnixStream> {
    let gone = |cause: io::Error| {
        let why = match cause.kind() {
            io::ErrorKind::ConnectionRefused => "it is open no more".to_owned(),
            _ => cause.to_string(),
        };
        Error::new(Class::Port, format!("connecting to a port: {why}"))
    };
    let stream =
        name.address().and_then(|address| UnixStream::connect_addr(&address)).map_err(gone)?;
    match hpvm_os::is_own(&stream) {
        true => Ok(stream),
        false => Err(Error::new(Class::Port, "the port belongs to another user")),
    }
}

/// Connects to a port by a stream that leads there.
pub fn connect_by(name: &PortName, stream: UnixStream) -> Result<Talk> {
    stream.set_nonblocking(true).map_err(|cause| failed("connecting to a port", cause))?;
    Ok(Talk::greeting(stream, session_of(&name.secret).map_err(no_number)?))
}

/// Connects to a port. What follows waits until the other side accepts.
pub fn connect(name: &PortName) -> Result<Talk> {
    let stream = match name.host == host_number() {
        true => connect_near(name)?,
        false => connect_far(name)?,
    };
    connect_by(name, stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random() -> PortName {
        Port::open().unwrap().name
    }

    #[test]
    fn names_are_read_as_they_were_written_and_nothing_else_is() {
        let mut name = random();
        let subnet =
            AddressAndPrefix { ip: "2001:db8:1234::5678:9abc".parse().unwrap(), prefix: 64 };
        let card = Card {
            port: 7,
            liveness_port: 7,
            host: String::new(),
            fabric: None,
            addresses: vec![subnet],
        };
        for card in [None, Some(card.clone())] {
            name.card = card;
            assert_eq!(PortName::parse(&name.text()).unwrap(), name);
        }
        let text = name.text();
        name.card = Some(Card { addresses: vec![subnet; 12], ..card });
        assert!(name.text().len() <= NAME_BYTES_MAX && PortName::parse(&name.text()).is_ok());
        let signs = text.replace(|c: char| c.is_ascii_digit(), "+");
        let long = format!("{text},0");
        for wrong in ["", "x", PREFIX, &text[..60], &long, &signs, "\u{20ac}"] {
            let error = PortName::parse(wrong).unwrap_err();
            assert_eq!(error.class, Class::Port, "{wrong}");
        }
    }

    #[test]
    fn a_launcher_finds_the_id_in_the_name() {
        let name = random();
        assert_eq!(hpvm_job::port::id_of(&name.text()), Some(&*name.id()));
    }

    #[test]
    fn a_name_of_which_one_character_was_changed_is_none() {
        let text = random().text();
        for place in 0..text.len() {
            for other in "0123456789abcdefABCDEF:,./g".chars() {
                let mut changed = text.clone();
                changed.replace_range(place..=place, other.encode_utf8(&mut [0; 4]));
                if changed != text {
                    let error = PortName::parse(&changed).expect_err(&changed);
                    assert_eq!(error.class, Class::Port, "{changed}");
                    assert!(!error.text.contains(&text[50..60]), "{}", error.text);
                }
            }
            assert!(PortName::parse(&text[..place]).is_err());
        }
    }

    #[test]
    fn strangers_are_passed_over() {
        let mut port = Port::open().unwrap();
        let other = PortName { secret: random().secret, ..port.name.clone() };
        // Over the network, too, where there is one.
        let away = PortName { host: port.name.host ^ 1, ..port.name.clone() };
        for (wrong, right) in [(&other, &port.name.clone()), (&other, &away)] {
            if right.host != port.name.host && right.card.is_none() {
                continue;
            }
            let mut wrong = connect(wrong).unwrap();
            let silent = UnixStream::connect_addr(&port.name.address().unwrap()).unwrap();
            assert!(port.accept(|_| {}).unwrap().is_none());
            assert!(wrong.established().unwrap_err().to_string().contains("secret"));
            let mut right = connect(right).unwrap();
            let accepted = loop {
                let _ = right.established().unwrap();
                if let Some(talk) = port.accept(|_| {}).unwrap() {
                    break talk;
                }
            };
            drop((wrong, silent, right, accepted));
        }
        let name = port.name.clone();
        drop(port);
        assert_eq!(connect(&name).unwrap_err().class, Class::Port);
    }
}
