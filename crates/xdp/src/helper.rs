//! A process of a job and the helper: the first one of a host starts it, all of them ask it. It alone has privileges,
//! and ends when the last process has closed its connection, however it ends.

use crate::device::{Device, Interface};
use crate::message::{Answer, MAPPED, Request, parse_answers, receive};
use crate::open::{Handed, Refusal, Why, Wish};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// The helper's file below the folder of an installation.
pub const HELPER: &str = "libexec/hpvm/hpvm-xdp";
/// Longer than the helper waits for anything.
const ANSWER: Duration = Duration::from_secs(30);
/// Extended attribute of a file with capabilities.
const CAPABILITIES: &std::ffi::CStr = c"security.capability";

fn impossible(text: String) -> Refusal {
    Refusal { why: Why::Impossible, text }
}

fn forbidden(text: String) -> Refusal {
    Refusal { why: Why::Forbidden, text }
}

/// Whether a helper of this file may have the privileges: this process is root, or the file has capabilities that count.
/// It may still miss some, which it says itself.
///
/// # Errors
/// Why not.
pub fn usable(program: &Path) -> Result<(), Refusal> {
    let shown = program.display();
    let file =
        std::fs::metadata(program).map_err(|error| impossible(format!("{shown}: {error}")))?;
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } == 0 {
        return Ok(());
    }
    let mut path = program.as_os_str().as_bytes().to_vec();
    path.push(0);
    let (path, name) = (path.as_ptr().cast(), CAPABILITIES.as_ptr());
    // SAFETY: strings that end with zero; no room for the value is wanted, only its length.
    let capable = unsafe { libc::getxattr(path, name, core::ptr::null_mut(), 0) } > 0;
    if !capable && file.mode() & libc::S_ISUID == 0 {
        return Err(forbidden(format!(
            "{shown} has no capabilities (setcap {GRANT} {shown}, as root)"
        )));
    }
    // SAFETY: integers only.
    if unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } == 1 {
        let text = "capabilities of files do not count here (no_new_privs)".to_owned();
        return Err(forbidden(text));
    }
    // SAFETY: zeros are a value of the structure.
    let mut system: libc::statvfs = unsafe { core::mem::zeroed() };
    // SAFETY: a string that ends with zero, and live memory for the result.
    let told = unsafe { libc::statvfs(path, &mut system) } == 0;
    if told && system.f_flag & libc::ST_NOSUID != 0 {
        return Err(forbidden(format!("{shown} is on a file system that is mounted nosuid")));
    }
    Ok(())
}

/// What `setcap` is to give the helper: for interfaces, for frames, for programs, for those that add a length to a packet's address
/// (frames in pieces), and for memory beyond the user's limit of locked pages.
pub const GRANT: &str = "cap_net_admin,cap_net_raw,cap_bpf,cap_perfmon,cap_ipc_lock=ep";

/// A listening socket with a name of its own, which goes with it.
fn listen() -> io::Result<(UnixListener, String)> {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = format!("hpvm-xdp-{}-{:x}", std::process::id(), time.as_nanos());
    Ok((UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?, name))
}

/// A connection to the helper of this host.
pub struct Helper {
    name: String,
    stream: UnixStream,
}

impl Helper {
    /// Starts it. Blocks until it serves. It goes when nobody is connected any more, which the first process is from now on.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(program: &Path) -> Result<Helper, Refusal> {
        usable(program)?;
        let failed = |error: io::Error| impossible(format!("{}: {error}", program.display()));
        let (listener, name) = listen().map_err(failed)?;
        let stream = connect(&name).map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("serve").env_clear().current_dir("/");
        command.stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if !status.success() => {
                Err(impossible(format!("{}: {status}", program.display())))
            }
            // A program that waits for any child may have been faster: then the helper's answers tell.
            Err(error) if error.raw_os_error() != Some(libc::ECHILD) => Err(failed(error)),
            _ => Ok(Helper { name, stream }),
        }
    }

    /// Connects to the helper that another process of this host has started.
    ///
    /// # Errors
    /// There is none any more.
    pub fn join(name: &str) -> Result<Helper, Refusal> {
        let stream = connect(name);
        let stream = stream.map_err(|error| impossible(format!("asking hpvm-xdp: {error}")))?;
        Ok(Helper { name: name.to_owned(), stream })
    }

    /// Under which the other processes of this host find it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The connection to a helper that this user has started.
fn connect(name: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    stream.set_read_timeout(Some(ANSWER))?;
    if !hpvm_os::is_own(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(stream)
}

/// What a process has got.
pub struct Granted {
    pub devices: Vec<Device>,
    /// For each interface how it is used, or why not, for people.
    pub words: Vec<String>,
    /// Datagrams come past the kernel for as long as this is open.
    pub connection: OwnedFd,
}

impl Helper {
    /// Asks for these interfaces, for the process that has `local_rank` of so many and the bound socket `udp`. Blocks until all of
    /// them have asked, or for a while.
    ///
    /// # Errors
    /// None can be used.
    pub fn ask(
        self,
        (local_rank, local_size): (u32, u32),
        wish: Wish,
        interfaces: &[Interface],
        udp: BorrowedFd<'_>,
    ) -> Result<Granted, Refusal> {
        let indices = interfaces.iter().map(|interface| interface.index).collect();
        let request = Request { local_rank, local_size, wish, interfaces: indices };
        hpvm_os::send(&self.stream, &request.bytes(), &[udp]).map_err(silent)?;
        let (answers, descriptors) = self.answers()?;
        let mut outcome = Outcome::default();
        let mut mapped = Vec::new();
        let mut descriptors = descriptors.into_iter();
        for (interface, answer) in interfaces.iter().zip(answers) {
            match answer {
                Answer::Refused(refusal) => outcome.refused(refusal),
                Answer::HandedOver => {
                    let mut next = || descriptors.next().ok_or_else(odd);
                    let handed = Handed { socket: next()?, first: next()?, memory: next()? };
                    let device = Device::new(interface.index, handed, (local_rank, local_size));
                    let name = &interface.name;
                    let failed = |error| impossible(format!("mapping rings of {name}: {error}"));
                    mapped.push((name, device.map_err(failed)?));
                }
                Answer::Open(..) => return Err(odd()),
            }
        }
        if mapped.is_empty() {
            return Err(outcome.refusal());
        }
        hpvm_os::send(&self.stream, &MAPPED, &[]).map_err(silent)?;
        let (answers, _) = self.answers()?;
        if answers.len() != mapped.len() {
            return Err(odd());
        }
        for ((name, mut device), answer) in mapped.into_iter().zip(answers) {
            match answer {
                Answer::Refused(refusal) => outcome.refused(refusal),
                Answer::Open(mode, why) => {
                    device.set_bound(mode);
                    outcome.devices.push(device);
                    let and = if why.is_empty() { "" } else { "; " };
                    outcome.words.push(format!("{name}: {}{and}{why}", mode.text()));
                }
                Answer::HandedOver => return Err(odd()),
            }
        }
        if outcome.devices.is_empty() {
            return Err(outcome.refusal());
        }
        let Outcome { devices, words, .. } = outcome;
        Ok(Granted { devices, words, connection: self.stream.into() })
    }

    fn answers(&self) -> Result<(Vec<Answer>, Vec<OwnedFd>), Refusal> {
        let (bytes, descriptors) = receive(&self.stream).map_err(silent)?;
        Ok((parse_answers(&bytes).ok_or_else(odd)?, descriptors))
    }
}

fn silent(error: io::Error) -> Refusal {
    impossible(format!("asking hpvm-xdp: {error}"))
}

fn odd() -> Refusal {
    impossible("hpvm-xdp has given no answer, or one of another version".to_owned())
}

/// What has come of a request so far.
#[derive(Default)]
struct Outcome {
    devices: Vec<Device>,
    words: Vec<String>,
    refusals: Vec<Refusal>,
}

impl Outcome {
    fn refused(&mut self, refusal: Refusal) {
        self.words.push(refusal.text.clone());
        self.refusals.push(refusal);
    }

    /// Why there is no device.
    fn refusal(mut self) -> Refusal {
        self.words.dedup();
        // The reason that can be mended before the others.
        let why = self.refusals.iter().map(|refusal| refusal.why).min();
        let none = || "there is no interface of Ethernet".to_owned();
        let text = if self.words.is_empty() { none() } else { self.words.join("; ") };
        Refusal { why: why.unwrap_or(Why::Impossible), text }
    }
}
