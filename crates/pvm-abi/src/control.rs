//! The connection to the virtual machine's process, which is started where there is none.

use crate::link::sockets::{Made, peer_user, user};
use hpvm_pvm::Code;
use hpvm_pvm::protocol::{
    self, Answer, CLAIM, Hello, Identity, Mail, Request, VERSION, task_address,
};
use hpvm_pvm::wire::{frame, unframe};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often a virtual machine that ends at the same moment is replaced by a new one.
const ATTEMPTS: usize = 10;

pub struct Control {
    stream: UnixStream,
    input: Vec<u8>,
    pub events: VecDeque<Mail>,
    /// The virtual machine is being halted.
    pub halting: bool,
}

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

impl Control {
    /// Connects and enrolls.
    ///
    /// # Errors
    /// There is no virtual machine, and none can be started; a text for people.
    pub fn open() -> Result<(Control, Identity, Made), String> {
        let claim = claim();
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            match connect() {
                Ok(stream) => match Control::enroll(stream, claim.as_ref()) {
                    Ok((control, identity)) => {
                        let own = claim.filter(|claim| {
                            claim.tid == identity.tid && claim.nonce == identity.nonce
                        });
                        return Ok((control, identity, own.as_ref().and_then(inherited)));
                    }
                    Err(cause) if cause.kind() == ErrorKind::Unsupported => {
                        return Err(cause.to_string());
                    }
                    Err(cause) => last = cause.to_string(),
                },
                Err(cause) => last = cause.to_string(),
            }
            start()?;
        }
        Err(format!("the virtual machine: {last}"))
    }

    fn enroll(stream: UnixStream, claim: Option<&Claim>) -> io::Result<(Control, Identity)> {
        let other = peer_user(stream.as_raw_fd());
        if other != Some(user()) {
            let text = format!(
                "the virtual machine's socket belongs to user {other:?}, not to {}",
                user()
            );
            return Err(io::Error::new(ErrorKind::Unsupported, text));
        }
        let mut control =
            Control { stream, input: Vec::new(), events: VecDeque::new(), halting: false };
        let program = std::env::args_os().next().unwrap_or_default();
        let hello = Hello {
            version: VERSION,
            claim: claim.map_or(0, |claim| claim.tid),
            nonce: claim.map_or(0, |claim| claim.nonce),
            console: false,
            program: program.to_string_lossy().into_owned(),
        };
        match control.exchange(&Request::Enroll { hello })? {
            Answer::Enrolled { identity } => Ok((control, identity)),
            Answer::Code { code } if code == Code::OutOfRes.number() => Err(io::Error::new(
                ErrorKind::Unsupported,
                "the virtual machine has no task identifiers left",
            )),
            _ => {
                let text = "the virtual machine is one of another version of hpvm; `pvm`, then `halt`, ends it";
                Err(io::Error::new(ErrorKind::Unsupported, text))
            }
        }
    }

    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn exchange(&mut self, request: &Request) -> io::Result<Answer> {
        self.stream.write_all(&frame(request))?;
        loop {
            match self.parse()? {
                Some(answer) => {
                    // Messages behind it are put aside, too: nothing more may come that would wake us.
                    self.parse()?;
                    return Ok(answer);
                }
                None => self.read(true)?,
            };
        }
    }

    /// Says something to which there is no answer.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn tell(&mut self, request: &Request) -> io::Result<()> {
        self.stream.write_all(&frame(request))
    }

    /// Reads what has come without waiting.
    ///
    /// # Errors
    /// The virtual machine has ended.
    pub fn look(&mut self) -> io::Result<()> {
        while self.read(false)? {}
        // Nothing was asked, so there is no answer.
        self.parse().map(drop)
    }

    /// Says whether something came.
    fn read(&mut self, wait: bool) -> io::Result<bool> {
        if !wait {
            self.stream.set_nonblocking(true)?;
        }
        let mut part = [0; 16 << 10];
        let got = loop {
            match self.stream.read(&mut part) {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        if !wait {
            self.stream.set_nonblocking(false)?;
        }
        match got {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                self.input.extend_from_slice(&part[..len]);
                Ok(true)
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    fn parse(&mut self) -> io::Result<Option<Answer>> {
        loop {
            match unframe::<Answer>(&mut self.input).map_err(io::Error::other)? {
                Some(Answer::Event { mail }) => self.events.push_back(mail),
                Some(Answer::Halting {}) => self.halting = true,
                other => return Ok(other),
            }
        }
    }

    /// Says that the virtual machine is to be halted, and does not wait.
    pub fn halt(&mut self) {
        let _ = self.stream.write_all(&frame(&Request::Halt {}));
    }
}

fn connect() -> io::Result<UnixStream> {
    let name = std::env::var("PVM_VMID").unwrap_or_default();
    let address = SocketAddr::from_abstract_name(protocol::address(user(), &name))?;
    UnixStream::connect_addr(&address)
}

/// `hpvm`, beside the library or in `PATH`.
fn hpvm() -> Result<PathBuf, String> {
    let here: fn() -> Result<PathBuf, String> = hpvm;
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
        "hpvm, which starts the virtual machine, is neither at ../bin/hpvm beside the library nor in PATH"
            .to_owned()
    })
}

/// Starts a virtual machine; when this returns it can be reached.
fn start() -> Result<(), String> {
    let hpvm = hpvm()?;
    let mut command = Command::new(&hpvm);
    command.args(["pvm", "--serve"]).stdin(Stdio::null()).stdout(Stdio::piped()).env_remove(CLAIM);
    let failed = |cause: String| {
        format!("{} pvm --serve, which starts the virtual machine: {cause}", hpvm.display())
    };
    let mut child = command.spawn().map_err(|cause| failed(cause.to_string()))?;
    let mut said = String::new();
    let read = child.stdout.take().map(|mut out| out.read_to_string(&mut said));
    // A program that ignores the end of its children has none to wait for.
    let _ = child.wait();
    match read {
        Some(Ok(_)) if said == "ready\n" => Ok(()),
        _ => Err(failed("it has ended without being ready".to_owned())),
    }
}
