//! The helper's side, which runs with privileges for users who have none: it opens XSKs, and lets a process take what comes
//! for a port only when that process shows the socket that is bound to it. Whoever asks is the user who has started it.
//!
//! The helper stays for as long as one of the processes is connected, and keeps the program and the sockets that it was
//! shown: while a process can take what comes for a port, nobody else can have that port. When the helper is killed, the program
//! goes, and everything comes by UDP.

use crate::device::{Interface, Mode};
use crate::message::{Answer, MAPPED, MOST_INTERFACES, Request, answers, receive};
use crate::netlink::Netlink;
use crate::open::{Handed, Queue, Refusal, Why, explain};
use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long a message may take to come whole, and how long the first process is waited for, which is connected already.
const SILENCE: Duration = Duration::from_secs(5);
/// How long the processes that are connected and have not mapped their sockets yet are waited for, since the first has asked: less
/// than a process waits for an answer.
const STRAGGLERS: Duration = Duration::from_secs(10);
/// The namespace of a socket, as a descriptor.
const SIOCGSKNS: libc::Ioctl = 0x894C;

/// Serves the processes of one host until the last of them has gone.
///
/// # Errors
/// The system refuses.
pub fn serve(listener: &UnixListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut opened = Opened::default();
    let mut clients: Vec<Client> = Vec::new();
    loop {
        let patience = match clients.is_empty() {
            true => Some(SILENCE),
            false => opened.patience(),
        };
        let streams = clients.iter().map(|client| client.stream.as_fd());
        let ready = wait(streams.chain([listener.as_fd()]), patience)?;
        for index in (0..clients.len()).rev().filter(|index| ready[*index]) {
            if opened.hear(&mut clients[index]).is_err() {
                opened.forget(&clients.swap_remove(index));
            }
        }
        // Whoever has asked did so after all others had connected: who still waits here is one of those.
        let came = admit(listener, &mut clients)?;
        if clients.is_empty() && !came {
            return Ok(());
        }
        if opened.is_time_to_bind(&clients) {
            opened.bind();
            for client in &clients {
                // Whoever has gone is heard of by its connection.
                let _ = opened.tell(client);
            }
        }
    }
}

/// Takes in everybody who has connected and is this user. Tells whether anybody has connected.
fn admit(listener: &UnixListener, clients: &mut Vec<Client>) -> io::Result<bool> {
    let mut came = false;
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(came),
            // It has gone while it waited.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error),
        };
        came = true;
        stream.set_read_timeout(Some(SILENCE))?;
        if hpvm_os::peer(&stream).is_ok_and(|(_, user)| user == own_user()) {
            clients.push(Client { stream, asked: None });
        }
    }
}

/// Waits until one of the descriptors is readable or has been closed, for so long at most. Tells of each whether it is.
fn wait<'a>(
    descriptors: impl Iterator<Item = BorrowedFd<'a>>,
    patience: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let end = patience.map(|patience| Instant::now() + patience);
    let mut all: Vec<_> = descriptors.map(|fd| hpvm_os::entry(&fd, libc::POLLIN)).collect();
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        // A signal ends a wait before its time.
        if hpvm_os::poll(&mut all, left)? > 0 || left.is_some_and(|left| left.is_zero()) {
            return Ok(all.iter().map(|one| one.revents != 0).collect());
        }
    }
}

fn own_user() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::getuid() }
}

/// A process that is connected.
struct Client {
    stream: UnixStream,
    asked: Option<Asked>,
}

impl Client {
    /// It has mapped everything, or was refused everything and maps nothing.
    fn is_done(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.mapped || asked.interfaces.is_empty())
    }
}

/// What a process has asked for and got.
struct Asked {
    local_rank: u32,
    port: Option<Port>,
    /// The socket that it has shown, so that the port stays its own.
    _shown: Option<OwnedFd>,
    /// The interfaces whose sockets it has.
    interfaces: Vec<u32>,
    /// It has mapped them.
    mapped: bool,
}

/// What has been opened, at the first request.
#[derive(Default)]
struct Opened {
    local_size: u32,
    queues: Vec<(Interface, Result<Queue, Refusal>)>,
    /// When sockets are bound whoever has mapped them; `None` before there are any.
    deadline: Option<Instant>,
    /// How each interface is used, once the sockets are bound.
    bound: Option<Vec<Result<(Mode, String), Refusal>>>,
}

impl Opened {
    /// How long others are waited for: for ever once everything is bound.
    fn patience(&self) -> Option<Duration> {
        let deadline = self.deadline.filter(|_| self.bound.is_none())?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Reads what a process says. An error is the end of it: it has gone, or speaks otherwise.
    fn hear(&mut self, client: &mut Client) -> io::Result<()> {
        let Some(asked) = &mut client.asked else { return self.answer(client) };
        let (bytes, _) = receive(&client.stream)?;
        if asked.mapped || bytes != MAPPED {
            return Err(io::ErrorKind::InvalidData.into());
        }
        asked.mapped = true;
        self.tell(client)
    }

    /// Reads a request and answers it.
    fn answer(&mut self, client: &mut Client) -> io::Result<()> {
        let (bytes, descriptors) = receive(&client.stream)?;
        let request = Request::parse(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        if self.local_size == 0 {
            self.open(&request);
        }
        let socket = descriptors.into_iter().next();
        let port = match &socket {
            Some(socket) => Port::of(socket, own_user()),
            None => Err("no socket came with the request".to_owned()),
        };
        let (mut given, mut interfaces, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for index in &request.interfaces {
            all.push(match self.hand_over(&request, *index, &port) {
                Ok(handed) => {
                    given.extend([handed.socket, handed.first, handed.memory]);
                    interfaces.push(*index);
                    Answer::HandedOver
                }
                Err(refusal) => Answer::Refused(refusal),
            });
        }
        let local_rank = request.local_rank;
        let port = port.ok();
        client.asked = Some(Asked { local_rank, port, _shown: socket, interfaces, mapped: false });
        let given: Vec<_> = given.iter().map(AsFd::as_fd).collect();
        hpvm_os::send(&client.stream, &answers(&all), &given).map(|_| ())
    }

    fn open(&mut self, request: &Request) {
        self.local_size = request.local_size;
        self.deadline = Some(Instant::now() + STRAGGLERS);
        let mut netlink = Netlink::new().map_err(|error| explain("(any)", &error));
        for index in request.interfaces.iter().take(MOST_INTERFACES) {
            let addresses = addresses(*index).unwrap_or_default();
            let interface = Interface { name: name(*index), index: *index, addresses };
            let queue = match &mut netlink {
                Ok(netlink) => Queue::open(&interface, request.local_size, request.wish, netlink),
                Err(refusal) => Err(refusal.clone()),
            };
            self.queues.push((interface, queue));
        }
    }

    /// Hands the sockets of one interface over.
    fn hand_over(
        &mut self,
        request: &Request,
        index: u32,
        port: &Result<Port, String>,
    ) -> Result<Handed, Refusal> {
        let impossible = |text| Refusal { why: Why::Impossible, text };
        let found = self.queues.iter_mut().find(|(interface, _)| interface.index == index);
        let Some((interface, queue)) = found.filter(|_| request.local_size == self.local_size)
        else {
            let text = "the processes of this host do not ask for the same interfaces";
            return Err(impossible(text.to_owned()));
        };
        let queue = queue.as_mut().map_err(|refusal| refusal.clone())?;
        port.as_ref().map_err(|text| impossible(text.clone()))?;
        queue.hand_over(request.local_rank).map_err(|error| explain(&interface.name, &error))
    }

    /// One has asked, so all that live are connected, and all of those have mapped what they were given, or they have had their
    /// time.
    fn is_time_to_bind(&self, clients: &[Client]) -> bool {
        let Some(deadline) = self.deadline.filter(|_| self.bound.is_none()) else { return false };
        clients.iter().all(Client::is_done) || Instant::now() >= deadline
    }

    fn bind(&mut self) {
        let bind = |(_, queue): &mut (_, Result<Queue, Refusal>)| match queue {
            Ok(queue) => queue.bind(),
            Err(refusal) => Err(refusal.clone()),
        };
        self.bound = Some(self.queues.iter_mut().map(bind).collect());
    }

    /// Lets a process take what comes for its port and tells it how each of its interfaces is used, once that is known and it has
    /// mapped them.
    fn tell(&self, client: &Client) -> io::Result<()> {
        let (Some(bound), Some(asked)) = (&self.bound, &client.asked) else { return Ok(()) };
        if !asked.mapped {
            return Ok(());
        }
        let mut all = Vec::new();
        for ((interface, queue), bound) in self.queues.iter().zip(bound) {
            if !asked.interfaces.contains(&interface.index) {
                continue;
            }
            all.push(match (queue, bound, asked.port) {
                (Ok(queue), Ok((mode, why)), Some(port)) => {
                    let addresses = port.of_interface(interface);
                    match queue.take(asked.local_rank, port.number, addresses) {
                        Ok(()) => Answer::Open(*mode, why.clone()),
                        Err(error) => Answer::Refused(explain(&interface.name, &error)),
                    }
                }
                (_, Err(refusal), _) | (Err(refusal), ..) => Answer::Refused(refusal.clone()),
                (.., None) => return Err(io::ErrorKind::InvalidData.into()),
            });
        }
        hpvm_os::send(&client.stream, &answers(&all), &[]).map(|_| ())
    }

    /// A process has gone: its port will be free.
    fn forget(&mut self, client: &Client) {
        let Some(asked) = &client.asked else { return };
        let Some(port) = &asked.port else { return };
        for (interface, queue) in &self.queues {
            if let Ok(queue) = queue {
                queue.withdraw(port.number, port.of_interface(interface));
            }
        }
    }
}

/// The port to which a socket is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Port {
    number: u16,
    /// `None`: all addresses.
    only: Option<IpAddr>,
    four: bool,
    six: bool,
}

impl Port {
    /// That of a UDP socket of `user` in our network namespace: in one of his own he may bind any port.
    fn of(socket: &OwnedFd, user: u32) -> Result<Port, String> {
        let failed = |error: io::Error| format!("looking at a socket: {error}");
        // SAFETY: zeros are a value of the structure.
        let mut about: libc::stat = unsafe { core::mem::zeroed() };
        // SAFETY: live memory for the result.
        if unsafe { libc::fstat(socket.as_raw_fd(), &mut about) } != 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        let domain = option(socket, libc::SOL_SOCKET, libc::SO_DOMAIN).map_err(failed)?;
        let protocol = option(socket, libc::SOL_SOCKET, libc::SO_PROTOCOL).map_err(failed)?;
        let kind = option(socket, libc::SOL_SOCKET, libc::SO_TYPE).map_err(failed)?;
        let six = domain == libc::AF_INET6;
        if (protocol, kind) != (libc::IPPROTO_UDP, libc::SOCK_DGRAM)
            || !(six || domain == libc::AF_INET)
        {
            return Err("what came with the request is no socket of UDP".to_owned());
        }
        if about.st_uid != user {
            return Err("the socket that came with the request is another user's".to_owned());
        }
        let ours = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        if namespace(socket.as_fd()).map_err(failed)? != namespace(ours.as_fd()).map_err(failed)? {
            return Err("the socket that came is of another network namespace".to_owned());
        }
        let four =
            !six || option(socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY).map_err(failed)? == 0;
        let bound = lock_port(socket)?;
        let ip = bound.ip().to_canonical();
        let only = Some(ip).filter(|ip| !ip.is_unspecified());
        Ok(Port { number: bound.port(), only, four, six })
    }

    /// The addresses of an interface at which it receives.
    fn of_interface(&self, interface: &Interface) -> impl Iterator<Item = IpAddr> {
        interface.addresses.iter().copied().filter(|ip| self.takes(*ip))
    }

    fn takes(&self, address: IpAddr) -> bool {
        let family = if address.is_ipv4() { self.four } else { self.six };
        family && self.only.is_none_or(|only| only == address)
    }
}

/// Makes the port of a socket its own until it is closed, and tells where it is bound. A port that the system has chosen is
/// given up when the socket is disconnected (`connect` with `AF_UNSPEC`), and somebody else could have it; one that was named
/// is not.
fn lock_port(socket: &OwnedFd) -> Result<SocketAddr, String> {
    let failed = |error: io::Error| format!("looking at a socket: {error}");
    let (fd, copy) = (socket.as_raw_fd(), socket.try_clone().map_err(failed)?);
    let copy = std::net::UdpSocket::from(copy);
    // SAFETY: zeros are a value of the structure.
    let mut address: libc::sockaddr_storage = unsafe { core::mem::zeroed() };
    let mut len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: live memory of the given length.
    if unsafe { libc::getsockname(fd, (&raw mut address).cast(), &mut len) } != 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    let bound = copy.local_addr().map_err(failed)?;
    if bound.port() == 0 {
        return Err("the socket that came with the request is not bound".to_owned());
    }
    // The other side has the same socket and may connect it meanwhile, which chooses a port, though hardly this one twice.
    let mut kept = 0;
    for _ in 0..4 {
        let nobody = libc::sockaddr { sa_family: libc::AF_UNSPEC as u16, sa_data: [0; 14] };
        // SAFETY: a live address of the given length.
        unsafe { libc::connect(fd, &raw const nobody, size_of_val(&nobody) as u32) };
        match copy.local_addr().map_err(failed)? {
            now if now == bound => kept += 1,
            now if now.port() == 0 => {
                kept = 0;
                // SAFETY: the address that the system has told.
                if unsafe { libc::bind(fd, (&raw const address).cast(), len) } != 0 {
                    return Err(failed(io::Error::last_os_error()));
                }
            }
            _ => break,
        }
        if kept == 2 {
            return Ok(bound);
        }
    }
    Err("the socket that came with the request does not keep its port".to_owned())
}

fn option(socket: &OwnedFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value = 0;
    let mut len = size_of_val(&value) as libc::socklen_t;
    let (fd, at) = (socket.as_raw_fd(), (&raw mut value).cast());
    // SAFETY: live memory of the given length.
    match unsafe { libc::getsockopt(fd, level, name, at, &mut len) } {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Which network namespace a socket is of: device and number of its file.
fn namespace(socket: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    // SAFETY: no argument but the descriptor.
    let fd = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSKNS) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else's.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: zeros are a value of the structure.
    let mut about: libc::stat = unsafe { core::mem::zeroed() };
    // SAFETY: live memory for the result.
    match unsafe { libc::fstat(fd.as_raw_fd(), &mut about) } {
        0 => Ok((about.st_dev, about.st_ino)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn name(index: u32) -> String {
    let mut name = [0 as libc::c_char; libc::IF_NAMESIZE];
    // SAFETY: room for a name.
    let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr()) };
    if found.is_null() {
        return format!("number {index}");
    }
    // SAFETY: the system has written a string that ends with zero.
    unsafe { CStr::from_ptr(found) }.to_string_lossy().into_owned()
}

/// The addresses of an interface.
fn addresses(index: u32) -> io::Result<Vec<IpAddr>> {
    let mut first = core::ptr::null_mut();
    // SAFETY: live memory for the result, which is freed below.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut all = Vec::new();
    let mut next: *const libc::ifaddrs = first;
    // SAFETY: the list that the system has made, until it is freed.
    while let Some(one) = unsafe { next.as_ref() } {
        next = one.ifa_next;
        // SAFETY: a name of the list.
        if unsafe { libc::if_nametoindex(one.ifa_name) } == index {
            // SAFETY: an address of the list, or none.
            all.extend(unsafe { address(one.ifa_addr) });
        }
    }
    // SAFETY: made above, and not used any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(all)
}

/// # Safety
/// `at` is null or leads to an address as long as its family says.
unsafe fn address(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: as the caller promises.
    let family = i32::from(unsafe { at.as_ref()? }.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: as the caller promises.
            let four = unsafe { at.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(four.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as the caller promises.
            let six = unsafe { at.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(six.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    fn port(socket: UdpSocket, user: u32) -> Result<Port, String> {
        Port::of(&socket.into(), user)
    }

    #[test]
    fn only_bound_sockets_of_udp_and_of_the_user_count() {
        let own = own_user();
        let bind = |at: &str| UdpSocket::bind(at).unwrap();
        // Without privileges the namespace can't be told; nothing is handed out then.
        let Ok(four) = port(bind("127.0.0.1:0"), own) else { return };
        assert!(four.takes([127, 0, 0, 1].into()) && !four.takes([10, 0, 0, 1].into()));
        assert!(!four.takes(Ipv6Addr::LOCALHOST.into()));
        let all = port(bind("0.0.0.0:0"), own).unwrap();
        assert!(all.takes([10, 0, 0, 1].into()) && !all.takes(Ipv6Addr::LOCALHOST.into()));
        let both = port(bind("[::]:0"), own).unwrap();
        assert!(both.takes([10, 0, 0, 1].into()) && both.takes(Ipv6Addr::LOCALHOST.into()));
        let text = port(bind("127.0.0.1:0"), own + 1).unwrap_err();
        assert!(text.contains("another user's"), "{text}");
        for other in [
            OwnedFd::from(std::net::TcpListener::bind("127.0.0.1:0").unwrap()),
            std::fs::File::open("/dev/null").unwrap().into(),
        ] {
            assert!(Port::of(&other, own).is_err());
        }
        // SAFETY: integers only; the result is checked.
        let unbound = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0) };
        assert!(unbound >= 0);
        // SAFETY: just made.
        let text = Port::of(&unsafe { OwnedFd::from_raw_fd(unbound) }, own).unwrap_err();
        assert!(text.contains("not bound"), "{text}");
    }

    /// The first process connects long before it asks: it waits for all ranks of the job meanwhile.
    #[test]
    fn a_silent_process_holds_up_nobody_and_is_waited_for() {
        use std::io::{Read, Write};
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::SocketAddr;
        let name = format!("hpvm-xdp-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let server = std::thread::spawn(move || serve(&listener));
        let silent = UnixStream::connect_addr(&address).unwrap();
        for _ in 0..3 {
            let mut other = UnixStream::connect_addr(&address).unwrap();
            other.write_all(b"nonsense").unwrap();
            assert_eq!(other.read(&mut [0; 9]).unwrap(), 0);
        }
        assert!(!server.is_finished());
        drop(silent);
        server.join().unwrap().unwrap();
    }

    /// One that is slow is waited for, one that has gone is not, whether it has asked or not.
    #[test]
    fn sockets_are_bound_when_all_that_are_connected_have_theirs() {
        let asked = |mapped| {
            let (local_rank, interfaces) = (0, vec![1]);
            Some(Asked { local_rank, port: None, _shown: None, interfaces, mapped })
        };
        let client = |asked| Client { stream: UnixStream::pair().unwrap().0, asked };
        let mut opened = Opened { local_size: 4, ..Opened::default() };
        let mut clients = vec![client(asked(true)), client(asked(false)), client(None)];
        assert!(!opened.is_time_to_bind(&clients), "nobody has asked");
        opened.deadline = Some(Instant::now() + STRAGGLERS);
        for left in [3, 2] {
            assert!(!opened.is_time_to_bind(&clients), "{left} are connected");
            opened.forget(&clients.pop().unwrap());
        }
        assert!(opened.is_time_to_bind(&clients));
        clients.push(client(None));
        opened.deadline = Some(Instant::now());
        assert!(opened.is_time_to_bind(&clients), "the time is over");
        opened.bind();
        assert!(!opened.is_time_to_bind(&clients), "they are bound");
    }

    /// Otherwise its user could go on to receive at a port that is another's.
    #[test]
    fn a_port_stays_with_its_socket_whatever_its_user_does() {
        for at in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0", "[::1]:0"] {
            let socket = UdpSocket::bind(at).unwrap();
            let bound = socket.local_addr().unwrap();
            let shown = OwnedFd::from(socket.try_clone().unwrap());
            assert_eq!(lock_port(&shown), Ok(bound));
            let nobody = libc::sockaddr { sa_family: libc::AF_UNSPEC as u16, sa_data: [0; 14] };
            let (fd, len) = (socket.as_raw_fd(), size_of_val(&nobody) as u32);
            // SAFETY: a live address of the given length.
            assert_eq!(unsafe { libc::connect(fd, &raw const nobody, len) }, 0);
            assert_eq!(socket.local_addr().unwrap(), bound);
            assert!(UdpSocket::bind(bound).is_err(), "somebody else has the port");
            // It still receives.
            let other = UdpSocket::bind((bound.ip(), 0)).unwrap();
            let to = if bound.is_ipv4() { "127.0.0.1" } else { "::1" };
            other.send_to(b"x", (to, bound.port())).unwrap();
            assert_eq!(socket.recv(&mut [0; 9]).unwrap(), 1);
        }
    }

    /// Whoever has a network of his own may bind any port there.
    #[test]
    fn a_socket_of_another_network_does_not_count() {
        let elsewhere = std::thread::spawn(|| {
            // SAFETY: an integer; only this thread is moved, and it ends here.
            let moved = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
            moved.then(|| UdpSocket::bind("0.0.0.0:53").unwrap())
        });
        // It takes privileges.
        let Some(socket) = elsewhere.join().unwrap() else { return };
        let text = port(socket, own_user()).unwrap_err();
        assert!(text.contains("another network namespace"), "{text}");
    }

    #[test]
    fn the_loopback_has_its_addresses() {
        let all = addresses(1).unwrap();
        assert!(all.is_empty() || all.contains(&Ipv4Addr::LOCALHOST.into()), "{all:?}");
        assert_eq!((name(1), addresses(0x7fff_ffff).unwrap()), ("lo".to_owned(), vec![]));
    }
}
