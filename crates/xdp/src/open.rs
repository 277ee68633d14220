//! What takes privileges: our program on an interface, and an XSK for each process of a job on this host.

use crate::bpf::{self, Link, Map, Program};
use crate::device::{Interface, Mode};
use crate::features::SLOW_VETH;
use crate::netlink::Netlink;
use crate::program::{KEY, key, program};
use crate::socket::{may_open, open_all};
use crate::umem::{Shares, Umem};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Addresses of an interface at which each process receives.
const ADDRESSES: u32 = 16;
/// The queue whose frames are taken. Those of other queues are the kernel's, and come by the UDP socket.
const QUEUE: u32 = 0;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Why an interface can't be used: in one word, as other programs show it, and for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub why: Why,
    pub text: String,
}

/// Kinds of reasons against XDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Privileges are missing.
    Forbidden,
    /// Somebody else has the interface.
    Taken,
    /// Only in a mode that copies what others receive, and that was not asked for.
    Copies,
    /// No interface of Ethernet, nothing in this kernel, or something has failed.
    Impossible,
}

/// What is wanted of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// No better mode is tried than this one, and none that is worse than the other.
    pub best: Mode,
    pub worst: Mode,
    /// How long the program of a process that has ended may stay: the kernel takes it down some moments after that.
    pub patience: Duration,
}

impl Wish {
    /// Whatever works.
    pub const ANY: Wish =
        Wish { best: Mode::ZeroCopy, worst: Mode::Generic, patience: Duration::from_secs(1) };
}

/// An interface with our program and XSKs. The program goes with it, also where processes still have XSKs.
pub struct Queue {
    pub mode: Mode,
    /// Why the mode is none of the better ones; empty for the best.
    pub why: String,
    memory: OwnedFd,
    endpoints: Map,
    sockets: Vec<Option<OwnedFd>>,
    _table: Map,
    _link: Link,
}

/// What one process is given: with these descriptors it needs no privileges.
pub struct Handed {
    pub socket: OwnedFd,
    pub memory: OwnedFd,
}

/// Somebody else has the interface.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

/// What an error means here.
pub fn explain(name: &str, error: &io::Error) -> Refusal {
    let (why, text) = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => (
            Why::Forbidden,
            "XDP takes the capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, or root".to_owned(),
        ),
        Some(libc::EBUSY | libc::EEXIST) => {
            (Why::Taken, format!("another job or program has an XDP program on interface {name}"))
        }
        Some(libc::EAFNOSUPPORT) => {
            (Why::Impossible, "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)".to_owned())
        }
        Some(libc::ENOSYS) => {
            (Why::Impossible, "bpf is not allowed here, or the kernel has none".to_owned())
        }
        _ => (Why::Impossible, format!("interface {name}: {error}")),
    };
    Refusal { why, text }
}

/// The program for two tables: as one that knows of frames in pieces, where the kernel does.
fn load(endpoints: &Map, table: &Map) -> io::Result<Program> {
    let form = |in_pieces| program(endpoints.fd(), table.fd(), in_pieces);
    Program::load(&form(true), true).or_else(|_| Program::load(&form(false), false))
}

fn open_once(interface: u32, mode: Mode, shares: Shares) -> io::Result<Queue> {
    let endpoints = Map::table(KEY, shares.local_size * ADDRESSES)?;
    let table = Map::sockets(shares.local_size)?;
    let program = load(&endpoints, &table)?;
    let flag = if mode == Mode::Generic { bpf::GENERIC } else { bpf::NATIVE };
    let link = program.attach(interface, flag)?;
    let umem = Umem::new(shares)?;
    let sockets = open_all((interface, QUEUE), &umem, mode == Mode::ZeroCopy)?;
    for (local_rank, socket) in (0u32..).zip(&sockets) {
        table.set(&local_rank.to_ne_bytes(), socket.as_raw_fd() as u32)?;
    }
    let (memory, sockets) = (umem.memory()?, sockets.into_iter().map(Some).collect());
    Ok(Queue { mode, why: String::new(), memory, endpoints, sockets, _table: table, _link: link })
}

/// As `open_once`, but waits for the program of a job that has ended.
fn open_free(interface: u32, mode: Mode, shares: Shares, patience: Duration) -> io::Result<Queue> {
    let end = Instant::now() + patience;
    loop {
        match open_once(interface, mode, shares) {
            Err(error) if is_taken(&error) && Instant::now() < end => {
                std::thread::sleep(POLL_INTERVAL);
            }
            opened => return opened,
        }
    }
}

/// The modes that are tried at an interface, and why none before them.
fn modes(interface: &Interface, wish: Wish, veth: bool) -> Result<(Vec<Mode>, String), Refusal> {
    let (best, why) = match veth {
        true => (Mode::Generic, SLOW_VETH),
        false => (Mode::ZeroCopy, ""),
    };
    let wanted = |mode: &Mode| *mode >= best.max(wish.best) && *mode <= wish.worst;
    let all = [Mode::ZeroCopy, Mode::Native, Mode::Generic];
    let modes: Vec<Mode> = all.into_iter().filter(wanted).collect();
    if modes.is_empty() {
        return Err(copies(&interface.name, why));
    }
    Ok((modes, why.to_owned()))
}

/// Only the mode is left that costs others something.
pub fn copies(name: &str, why: &str) -> Refusal {
    let text = format!(
        "interface {name}: {why}; generic mode copies everything that comes by the interface, so it has to be asked for"
    );
    Refusal { why: Why::Copies, text }
}

impl Queue {
    /// Attaches the program and opens the sockets of so many processes, in the best mode that works and is wanted.
    ///
    /// # Errors
    /// None does.
    pub fn open(
        interface: &Interface,
        local_size: u32,
        wish: Wish,
        netlink: &mut Netlink,
    ) -> Result<Queue, Refusal> {
        let (name, index) = (&interface.name, interface.index);
        let impossible = |text| Refusal { why: Why::Impossible, text };
        let link = netlink.link(index).map_err(|error| explain(name, &error))?;
        if !link.ethernet {
            return Err(impossible(format!("interface {name} is none of Ethernet")));
        }
        let shares = Shares::new(local_size).ok_or_else(|| {
            impossible(format!("{local_size} processes of a host can't share an interface"))
        })?;
        let (modes, mut why) = modes(interface, wish, link.veth)?;
        for mode in modes {
            match open_free(index, mode, shares, wish.patience) {
                Ok(queue) => return Ok(Queue { why, ..queue }),
                Err(error) if is_forbidden(&error) || is_taken(&error) => {
                    return Err(explain(name, &error));
                }
                Err(error) if mode == Mode::Generic => return Err(explain(name, &error)),
                Err(error) => why = format!("no {}: {error}", mode.text()),
            }
        }
        Err(copies(name, &why))
    }

    /// Lets the process of a local rank take what comes for `port` at these addresses. Once for each local rank.
    ///
    /// # Errors
    /// The local rank is taken, or the system refuses.
    pub fn hand_over(
        &mut self,
        local_rank: u32,
        port: u16,
        addresses: impl Iterator<Item = IpAddr>,
    ) -> io::Result<Handed> {
        let socket = self.sockets.get_mut(local_rank as usize).and_then(Option::take);
        let socket = socket.ok_or(io::ErrorKind::InvalidInput)?;
        let memory = self.memory.try_clone()?;
        for address in addresses.take(ADDRESSES as usize) {
            self.endpoints.set(&key(address, port, QUEUE), local_rank)?;
        }
        Ok(Handed { socket, memory })
    }

    /// What comes for `port` is the kernel's again.
    pub fn withdraw(&self, port: u16, addresses: impl Iterator<Item = IpAddr>) {
        for address in addresses.take(ADDRESSES as usize) {
            // It may never have been there.
            let _ = self.endpoints.remove(&key(address, port, QUEUE));
        }
    }
}

/// Whether this process may use XDP at all, without touching any interface.
///
/// # Errors
/// Why not.
pub fn probe() -> Result<(), Refusal> {
    let tried = Map::table(KEY, 1).and_then(|endpoints| {
        let table = Map::sockets(1)?;
        load(&endpoints, &table)?;
        may_open()
    });
    tried.map_err(|error| explain("(any)", &error))
}
