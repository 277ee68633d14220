//! One network interface with our program and an XSK.

use crate::bpf::{self, Link, Map, Program};
use crate::netlink::Netlink;
use crate::program::{KEY, key, program};
use crate::socket::Xsk;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Endpoints and sockets that the tables of one interface hold.
const ENDPOINTS: u32 = 256;
const SOCKETS: u32 = 64;
/// The queue whose frames are taken. Those of other queues are the kernel's, and come by the UDP socket.
const QUEUE: u32 = 0;
/// How long the program of a process that has ended may stay.
const LEAVING: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// An interface that is to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub index: u32,
    /// The addresses at which datagrams are taken.
    pub addresses: Vec<IpAddr>,
}

/// How frames pass the interface, from the best way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The driver runs the program and moves frames into our memory itself.
    ZeroCopy,
    /// The driver runs the program, frames are copied.
    Native,
    /// The kernel runs the program for any driver, frames are copied.
    Generic,
}

impl Mode {
    pub fn text(self) -> &'static str {
        match self {
            Mode::ZeroCopy => "native mode, zero-copy",
            Mode::Native => "native mode, copied",
            Mode::Generic => "generic mode, copied",
        }
    }
}

/// An interface in use.
pub struct Device {
    pub interface: Interface,
    pub mode: Mode,
    /// Why the mode is none of the better ones; empty for the best.
    pub why: String,
    pub xsk: Xsk,
    _link: Link,
    _sockets: Map,
    _endpoints: Map,
}

/// An attached program with its tables.
struct Attached {
    link: Link,
    endpoints: Map,
    sockets: Map,
}

fn attach(interface: u32, mode: u32) -> io::Result<Attached> {
    let endpoints = Map::table(KEY, ENDPOINTS)?;
    let sockets = Map::sockets(SOCKETS)?;
    let program = Program::load(&program(endpoints.fd(), sockets.fd()))?;
    let link = program.attach(interface, mode)?;
    Ok(Attached { link, endpoints, sockets })
}

/// As `attach`, with a socket. The kernel takes down the program of a process some moments after that has ended: a job that
/// follows another waits for that, and gives up on a program that stays.
fn open_free(interface: u32, mode: Mode) -> io::Result<(Xsk, Attached)> {
    let flag = if mode == Mode::Generic { bpf::GENERIC } else { bpf::NATIVE };
    let end = Instant::now() + LEAVING;
    loop {
        let opened = attach(interface, flag).and_then(|attached| {
            Ok((Xsk::open(interface, QUEUE, mode == Mode::ZeroCopy)?, attached))
        });
        match opened {
            Err(error) if is_taken(&error) && Instant::now() < end => {
                std::thread::sleep(LOOK_EVERY);
            }
            opened => return opened,
        }
    }
}

/// Somebody else has the interface.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

/// What an error means here, for people.
fn explain(name: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "XDP takes the capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, or root".to_owned()
        }
        Some(libc::EBUSY | libc::EEXIST) => {
            format!("another process or program has an XDP program on interface {name}")
        }
        Some(libc::EAFNOSUPPORT) => "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)".to_owned(),
        Some(libc::ENOSYS) => "bpf is not allowed here, or the kernel has none".to_owned(),
        _ => format!("interface {name}: {error}"),
    }
}

impl Device {
    /// Attaches the program and takes what comes for `port`, in the best mode that works, from `best` on.
    ///
    /// # Errors
    /// None does: why, for people.
    pub fn open(
        interface: Interface,
        port: u16,
        best: Mode,
        netlink: &mut Netlink,
    ) -> Result<Device, String> {
        let name = interface.name.clone();
        let link = netlink.link(interface.index).map_err(|error| explain(&name, &error))?;
        if !link.ethernet {
            return Err(format!("interface {name} is none of Ethernet"));
        }
        let mut why = String::new();
        let best = if link.veth { best.max(Mode::Generic) } else { best };
        if link.veth {
            why.push_str("native mode is slower between virtual interfaces (veth)");
        }
        for mode in [Mode::ZeroCopy, Mode::Native, Mode::Generic] {
            if mode < best {
                continue;
            }
            let (xsk, attached) = match open_free(interface.index, mode) {
                Ok(opened) => opened,
                Err(error) => {
                    let forbidden = error.raw_os_error() == Some(libc::EPERM);
                    if forbidden || is_taken(&error) || mode == Mode::Generic {
                        return Err(explain(&name, &error));
                    }
                    why = format!("no {}: {error}", mode.text());
                    continue;
                }
            };
            attached.fill(&interface, port, &xsk).map_err(|error| explain(&name, &error))?;
            let Attached { link: _link, endpoints: _endpoints, sockets: _sockets } = attached;
            return Ok(Device { interface, mode, why, xsk, _link, _sockets, _endpoints });
        }
        Err(why)
    }
}

impl Attached {
    fn fill(&self, interface: &Interface, port: u16, xsk: &Xsk) -> io::Result<()> {
        self.sockets.set(&0u32.to_ne_bytes(), xsk.fd() as u32)?;
        for address in &interface.addresses {
            self.endpoints.set(&key(*address, port, QUEUE), 0)?;
        }
        Ok(())
    }
}

/// Whether this process may use XDP at all, without touching any interface.
///
/// # Errors
/// Why not, for people.
pub fn probe() -> Result<(), String> {
    let tried = Map::table(KEY, 1).and_then(|endpoints| {
        let sockets = Map::sockets(1)?;
        Program::load(&program(endpoints.fd(), sockets.fd()))
    });
    tried.map(drop).map_err(|error| explain("(any)", &error))?;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: integers only.
    match unsafe { libc::socket(libc::AF_XDP, kind, 0) } {
        -1 => Err(explain("(any)", &io::Error::last_os_error())),
        fd => {
            // SAFETY: just made, and nobody else's.
            unsafe { libc::close(fd) };
            Ok(())
        }
    }
}
