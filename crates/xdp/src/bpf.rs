//! The bpf system call: maps, programs, links. All are descriptors without names: what the last process that
//! has them leaves, the kernel takes away.

use crate::insn::Insn;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const MAP_DELETE: libc::c_int = 3;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;

const MAP_TYPE_HASH: u32 = 1;
const MAP_TYPE_SOCKETS: u32 = 17;
const PROGRAM_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;

/// The program runs for every packet after the kernel has made its own description of it.
pub const GENERIC: u32 = 1 << 1;
/// The driver runs the program.
pub const NATIVE: u32 = 1 << 2;

/// The program knows that a frame may lie in pieces: without that the kernel makes one piece of each that comes.
const IN_PIECES: u32 = 1 << 5;

/// The functions that the program calls are not kept for programs under the GPL.
const LICENSE: &std::ffi::CStr = c"Apache-2.0 OR MIT";

fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: a live structure of the given size; the kernel checks what it says.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = i32::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A name that lists of the kernel's objects show.
const fn name(text: &[u8]) -> [u8; 16] {
    let mut name = [0; 16];
    let mut i = 0;
    while i < text.len() && i < 15 {
        name[i] = text[i];
        i += 1;
    }
    name
}

/// What our maps and programs are called.
pub const NAME: &str = "hpvm_xdp";

#[repr(C)]
struct CreateMap {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    node: u32,
    name: [u8; 16],
}

/// A map in the kernel.
pub struct Map(OwnedFd);

impl Map {
    /// From keys of `key` bytes to numbers.
    pub fn table(key: usize, entries: u32) -> io::Result<Map> {
        Map::create(MAP_TYPE_HASH, key as u32, entries)
    }

    /// From numbers to sockets.
    pub fn sockets(entries: u32) -> io::Result<Map> {
        Map::create(MAP_TYPE_SOCKETS, 4, entries)
    }

    fn create(kind: u32, key: u32, entries: u32) -> io::Result<Map> {
        let name = name(NAME.as_bytes());
        let mut create =
            CreateMap { kind, key, value: 4, entries, flags: 0, inner: 0, node: 0, name };
        descriptor(bpf(MAP_CREATE, &mut create)?).map(Map)
    }

    pub fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Sets the value of a key, which has the length that the map was made for.
    pub fn set(&self, key: &[u8], value: u32) -> io::Result<()> {
        bpf(MAP_UPDATE, &mut self.element(key, &value)).map(drop)
    }

    /// Removes a key.
    pub fn remove(&self, key: &[u8]) -> io::Result<()> {
        bpf(MAP_DELETE, &mut self.element(key, &0)).map(drop)
    }

    fn element(&self, key: &[u8], value: &u32) -> Element {
        Element {
            map: self.fd() as u32,
            _gap: 0,
            key: key.as_ptr() as u64,
            value: core::ptr::from_ref(value) as u64,
            flags: 0,
        }
    }
}

#[repr(C)]
struct Element {
    map: u32,
    _gap: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// A program that the kernel has checked.
pub struct Program(OwnedFd);

#[repr(C)]
struct LoadProgram {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel: u32,
    flags: u32,
    name: [u8; 16],
    ifindex: u32,
    attach: u32,
}

impl Program {
    /// Loads a program. `in_pieces`: it knows that a frame may lie in several pieces, of which it sees the first.
    ///
    /// # Errors
    /// The kernel refuses it; with what its verifier says, as far as it says something.
    pub fn load(code: &[Insn], in_pieces: bool) -> io::Result<Program> {
        let (name, license) = (name(NAME.as_bytes()), LICENSE.as_ptr() as u64);
        let mut load = LoadProgram {
            kind: PROGRAM_TYPE_XDP,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            license,
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel: 0,
            flags: if in_pieces { IN_PIECES } else { 0 },
            name,
            ifindex: 0,
            attach: ATTACH_XDP,
        };
        let first = match bpf(PROGRAM_LOAD, &mut load) {
            Ok(fd) => return descriptor(fd).map(Program),
            Err(error) => error,
        };
        if matches!(first.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) {
            return Err(first);
        }
        let mut log = vec![0u8; 64 << 10];
        (load.log_level, load.log_size, load.log) = (1, log.len() as u32, log.as_mut_ptr() as u64);
        match bpf(PROGRAM_LOAD, &mut load) {
            Ok(fd) => descriptor(fd).map(Program),
            Err(_) => {
                let end = log.iter().position(|b| *b == 0).unwrap_or(0);
                let text = String::from_utf8_lossy(&log[..end]);
                let last = text.lines().rev().take(3).collect::<Vec<_>>().join("; ");
                Err(io::Error::new(first.kind(), format!("{first}: {last}")))
            }
        }
    }

    /// Attaches it to an interface, until the result is dropped or the process ends. `mode`: [`NATIVE`] or
    /// [`GENERIC`].
    pub fn attach(&self, interface: u32, mode: u32) -> io::Result<Link> {
        #[repr(C)]
        struct CreateLink {
            program: u32,
            interface: u32,
            kind: u32,
            flags: u32,
        }
        let program = self.0.as_raw_fd() as u32;
        let mut create = CreateLink { program, interface, kind: ATTACH_XDP, flags: mode };
        descriptor(bpf(LINK_CREATE, &mut create)?).map(Link)
    }
}

/// A program at its place.
#[allow(dead_code, reason = "it is there to be dropped")]
pub struct Link(OwnedFd);

/// The numbers of the maps of a program, at most 16; for tests of what is left.
///
/// # Errors
/// There is no such program, or the kernel does not tell.
pub fn maps_of(program: u32) -> io::Result<Vec<u32>> {
    const BY_ID: libc::c_int = 13;
    const INFO: libc::c_int = 15;
    #[repr(C)]
    struct ById {
        id: u32,
        next: u32,
        flags: u32,
    }
    #[repr(C)]
    struct Ask {
        fd: u32,
        len: u32,
        at: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        before: [u32; 13],
        maps: u32,
        at: u64,
    }
    let program = descriptor(bpf(BY_ID, &mut ById { id: program, next: 0, flags: 0 })?)?;
    let mut maps = [0u32; 16];
    let mut info =
        Info { maps: maps.len() as u32, at: maps.as_mut_ptr() as u64, ..Info::default() };
    let at = (&raw mut info) as u64;
    let mut ask = Ask { fd: program.as_raw_fd() as u32, len: size_of::<Info>() as u32, at };
    bpf(INFO, &mut ask)?;
    Ok(maps[..maps.len().min(info.maps as usize)].to_vec())
}

/// What the kernel holds of BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Program = 11,
    Map = 12,
    Link = 31,
}

/// The numbers of everything of a kind that is in the kernel now, also of others; for tests of what is left.
///
/// # Errors
/// The kernel does not tell: it takes CAP_SYS_ADMIN.
pub fn ids(kind: Kind) -> io::Result<Vec<u32>> {
    #[repr(C)]
    struct Next {
        after: u32,
        next: u32,
        flags: u32,
    }
    let mut next = Next { after: 0, next: 0, flags: 0 };
    let mut all = Vec::new();
    loop {
        match bpf(kind as libc::c_int, &mut next) {
            Ok(_) => all.push(next.next),
            Err(end) if end.raw_os_error() == Some(libc::ENOENT) => return Ok(all),
            Err(error) => return Err(error),
        }
        next.after = next.next;
    }
}
