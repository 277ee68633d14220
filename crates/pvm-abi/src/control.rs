//! The connection to the virtual machine's process, which is started where there is none.

use crate::link::sockets::Made;
use hpvm_os::user;
use hpvm_pvm::connection::{self, Connection};
use hpvm_pvm::protocol::{CLAIM, Hello, Identity, VERSION, task_address};
use std::io::{self, ErrorKind};
use std::os::fd::{FromRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// What a process that was started by the virtual machine was told.
struct Claim {
    tid: i32,
    nonce: i64,
    sockets: [RawFd; 2],
}

fn claim() -> Option<Claim> {
    let text = std::env::var(CLAIM).ok()?;
    let mut words = text.split(':');
    let tid = i32::from_str_radix(words.next()?, 16).ok()?;
    let nonce = u64::from_str_radix(words.next()?, 16).ok()? as i64;
    Some(Claim { tid, nonce, sockets: [words.next()?.parse().ok()?, words.next()?.parse().ok()?] })
}

/// The sockets of the claim, if the process still has them: somebody between may have closed them.
fn inherited(claim: &Claim) -> Made {
    let is = |fd: RawFd, what: char| {
        let expected =
            SocketAddr::from_abstract_name(task_address(claim.nonce, claim.tid, what)).ok()?;
        let mut address: libc::sockaddr_un =
            libc::sockaddr_un { sun_family: 0, sun_path: [0; 108] };
        let mut len = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: writes an address, as long as `len` says.
        let done = unsafe { libc::getsockname(fd, (&raw mut address).cast(), &raw mut len) };
        let name = expected.as_abstract_name()?;
        let found: Vec<u8> = address.sun_path.iter().skip(1).map(|byte| *byte as u8).collect();
        let own = done == 0
            && address.sun_family == libc::AF_UNIX as u16
            && address.sun_path[0] == 0
            && found.starts_with(name)
            && len as usize == 2 + 1 + name.len();
        own.then_some(fd)
    };
    let listener = is(claim.sockets[0], 'l')?;
    let bell = is(claim.sockets[1], 'b')?;
    // SAFETY: they are the sockets made for us, which nobody else in this process knows of.
    unsafe {
        for fd in [listener, bell] {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Some((UnixListener::from_raw_fd(listener), UnixDatagram::from_raw_fd(bell)))
    }
}

/// Connects and enrolls.
///
/// # Errors
/// There is no virtual machine, and none can be started; a text for people.
pub fn open() -> Result<(Connection, Identity, Made), String> {
    let claim = claim();
    let name = std::env::var("PVM_VMID").unwrap_or_default();
    let open = || enroll(connection::connect(user(), &name)?, claim.as_ref());
    let start = || connection::start(&hpvm()?);
    let (connection, identity) = connection::reach(open, start)
        .map_err(|cause| format!("the virtual machine cannot be reached: {cause}"))?;
    let own = claim.filter(|claim| claim.tid == identity.tid && claim.nonce == identity.nonce);
    Ok((connection, identity, own.as_ref().and_then(inherited)))
}

fn enroll(stream: UnixStream, claim: Option<&Claim>) -> io::Result<(Connection, Identity)> {
    let other = hpvm_os::peer(&stream).ok().map(|(_, user)| user);
    if other != Some(user()) {
        let text =
            format!("the virtual machine's socket belongs to user {other:?}, not to {}", user());
        return Err(io::Error::new(ErrorKind::Unsupported, text));
    }
    let program = std::env::args_os().next().unwrap_or_default();
    let hello = Hello {
        version: VERSION,
        claim: claim.map_or(0, |claim| claim.tid),
        nonce: claim.map_or(0, |claim| claim.nonce),
        console: false,
        program: program.to_string_lossy().into_owned(),
    };
    let mut connection = Connection::new(stream);
    let identity = connection.enroll(hello)?;
    Ok((connection, identity))
}

/// `hpvm`, beside the library or in `PATH`.
fn hpvm() -> io::Result<PathBuf> {
    let here: fn() -> io::Result<PathBuf> = hpvm;
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the address is one of ours; where it is found, the structure is filled in with a string of the loader's.
    let library = unsafe {
        (libc::dladdr(here as *const libc::c_void, info.as_mut_ptr()) != 0).then(|| {
            let name = core::ffi::CStr::from_ptr(info.assume_init().dli_fname);
            PathBuf::from(name.to_string_lossy().into_owned())
        })
    };
    let library = library.and_then(|file| file.canonicalize().ok());
    let beside = library.as_deref().and_then(Path::parent).and_then(Path::parent);
    let beside = beside.map(|prefix| prefix.join("bin/hpvm"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places =
        beside.into_iter().chain(std::env::split_paths(&path).map(|folder| folder.join("hpvm")));
    places.find(|file| file.is_file()).ok_or_else(|| {
        io::Error::other("hpvm, which starts the virtual machine, is neither at ../bin/hpvm beside the library nor in PATH")
    })
}
