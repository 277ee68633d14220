//! What takes privileges: our program on an interface, and an XSK for each process of a job on this host.

use crate::bpf::{self, Link, Map, Program};
use crate::device::{Interface, Mode};
use crate::features::SLOW_VETH;
use crate::netlink::Netlink;
use crate::program::{KEY, key, program};
use crate::socket::{bind_all, may_open, open_all};
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

/// The XSKs of all processes of a host at one interface, and our program there. The program goes with it, also where processes
/// still have XSKs.
pub struct Queue {
    interface: Interface,
    /// The modes that are tried, the best first, and why none before them.
    modes: Vec<Mode>,
    why: String,
    patience: Duration,
    memory: OwnedFd,
    /// Until they are bound.
    sockets: Vec<OwnedFd>,
    handed: Vec<bool>,
    endpoints: Map,
    table: Map,
    program: Program,
    /// The program at its place, in this mode.
    attached: Option<(Mode, Link)>,
}

/// What one process is given: with these descriptors it needs no privileges.
pub struct Handed {
    pub socket: OwnedFd,
    /// The socket of local rank 0, which has the rings of the memory.
    pub first: OwnedFd,
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

/// Does it again while the program or the socket of a job that has ended is in the way.
fn when_free<T>(patience: Duration, mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let end = Instant::now() + patience;
    loop {
        match work() {
            Err(error) if is_taken(&error) && Instant::now() < end => {
                std::thread::sleep(POLL_INTERVAL);
            }
            result => return result,
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
    /// Opens the sockets of so many processes. The interface is not touched yet.
    ///
    /// # Errors
    /// It can't be used.
    pub fn open(
        interface: &Interface,
        local_size: u32,
        wish: Wish,
        netlink: &mut Netlink,
    ) -> Result<Queue, Refusal> {
        let (name, index) = (&interface.name, interface.index);
        let failed = |error: io::Error| explain(name, &error);
        let impossible = |text| Refusal { why: Why::Impossible, text };
        let link = netlink.link(index).map_err(failed)?;
        if !link.ethernet {
            return Err(impossible(format!("interface {name} is none of Ethernet")));
        }
        let shares = Shares::new(local_size).ok_or_else(|| {
            impossible(format!("{local_size} processes of a host can't share an interface"))
        })?;
        let (modes, why) = modes(interface, wish, link.veth)?;
        let endpoints = Map::table(KEY, local_size * ADDRESSES).map_err(failed)?;
        let table = Map::sockets(local_size).map_err(failed)?;
        let program = load(&endpoints, &table).map_err(failed)?;
        let umem = Umem::new(shares).map_err(failed)?;
        let sockets = open_all(&umem).map_err(failed)?;
        Ok(Queue {
            interface: interface.clone(),
            modes,
            why,
            patience: wish.patience,
            memory: umem.memory().map_err(failed)?,
            handed: vec![false; sockets.len()],
            sockets,
            endpoints,
            table,
            program,
            attached: None,
        })
    }

    /// The descriptors for the process of a local rank, to be mapped before they are bound. Once for each.
    ///
    /// # Errors
    /// The local rank has them, or they are bound, or the system refuses.
    pub fn hand_over(&mut self, local_rank: u32) -> io::Result<Handed> {
        let at = local_rank as usize;
        let (Some(socket), Some(first), Some(false)) =
            (self.sockets.get(at), self.sockets.first(), self.handed.get(at))
        else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let handed = Handed {
            socket: socket.try_clone()?,
            first: first.try_clone()?,
            memory: self.memory.try_clone()?,
        };
        self.handed[at] = true;
        Ok(handed)
    }

    /// Attaches the program and binds the sockets, once, in the best mode that works and is wanted. Also says why in none that is better;
    /// empty for the best.
    ///
    /// # Errors
    /// None does.
    pub fn bind(&mut self) -> Result<(Mode, String), Refusal> {
        let name = self.interface.name.clone();
        for mode in self.modes.clone() {
            let error = match self.bind_as(mode) {
                Ok(()) => return Ok((mode, self.why.clone())),
                Err(error) => error,
            };
            if is_forbidden(&error) || is_taken(&error) || mode == Mode::Generic {
                self.attached = None;
                return Err(explain(&name, &error));
            }
            self.why = format!("no {}: {error}", mode.text());
        }
        self.attached = None;
        Err(copies(&name, &self.why))
    }

    fn bind_as(&mut self, mode: Mode) -> io::Result<()> {
        let (index, patience) = (self.interface.index, self.patience);
        let is_generic = |mode| mode == Mode::Generic;
        // With and without copies it is attached in the same way.
        let link = match self.attached.take() {
            Some((before, link)) if is_generic(before) == is_generic(mode) => link,
            other => {
                drop(other);
                let flag = if is_generic(mode) { bpf::GENERIC } else { bpf::NATIVE };
                when_free(patience, || self.program.attach(index, flag))?
            }
        };
        self.attached = Some((mode, link));
        let zero_copy = mode == Mode::ZeroCopy;
        when_free(patience, || bind_all(&self.sockets, (index, QUEUE), zero_copy))?;
        for (local_rank, socket) in (0u32..).zip(&self.sockets) {
            self.table.set(&local_rank.to_ne_bytes(), socket.as_raw_fd() as u32)?;
        }
        // From now on they live as long as their processes.
        self.sockets.clear();
        Ok(())
    }

    /// Lets the process of a local rank take what comes for `port` at these addresses, once the sockets are bound.
    ///
    /// # Errors
    /// The system refuses.
    pub fn take(
        &self,
        local_rank: u32,
        port: u16,
        addresses: impl Iterator<Item = IpAddr>,
    ) -> io::Result<()> {
        for address in addresses.take(ADDRESSES as usize) {
            self.endpoints.set(&key(address, port, QUEUE), local_rank)?;
        }
        Ok(())
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
