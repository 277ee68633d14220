//! Published names (MPI 5.0, section 11.9.4): for all jobs of one user on this host.
//!
//! Who publishes a name holds two things that the kernel takes back when the process ends, however it does: a socket
//! bound to a name made of the user and the service, so that a name is published once; and memory without a
//! name in the file system that says which port it stands for. Others of the same user find that memory among the
//! descriptors of the user's processes. Another user's processes are not looked at, so nobody else's port is given.

use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// Longest name and port that are read.
const LONGEST: u64 = 64 << 10;

/// What this process has published.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, Published>);

#[derive(Debug)]
struct Published {
    port: String,
    /// The name's, and the port's: see the module's text.
    _claim: UnixDatagram,
    _memory: File,
}

/// What a service is called in the kernel's tables.
fn tag(service: &str) -> String {
    // FNV-1a, of 128 bits.
    let step = |hash: u128, byte: u8| {
        (hash ^ u128::from(byte)).wrapping_mul(0x100_0000_0000_0000_0000_013b)
    };
    let hash = service.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step);
    format!("hpvm-name-{hash:032x}")
}

fn user() -> u32 {
    // SAFETY: a system call without arguments.
    unsafe { libc::geteuid() }
}

fn failed(what: &str, cause: io::Error) -> Error {
    Error::new(Class::Other, format!("publishing a name: {what}: {cause}"))
}

impl Names {
    /// Publishes `service`, which stands for `port` until this process takes it back or ends.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE`: it is published already.
    pub fn publish(&mut self, service: &str, port: &str) -> Result<()> {
        let address = SocketAddr::from_abstract_name(format!("{}-{}", tag(service), user()));
        let claim = address.and_then(|address| UnixDatagram::bind_addr(&address));
        let claim = claim.map_err(|cause| match cause.kind() {
            io::ErrorKind::AddrInUse => {
                let text = format!("the name {service:?} is published already on this host");
                Error::new(Class::Service, text)
            }
            _ => failed("a socket", cause),
        })?;
        let memory = remember(service, port).map_err(|cause| failed("memory", cause))?;
        let published = Published { port: port.to_owned(), _claim: claim, _memory: memory };
        self.0.insert(service.to_owned(), published);
        Ok(())
    }

    /// Takes it back.
    ///
    /// # Errors
    /// `MPI_ERR_SERVICE`: this process has not published it, or with another port.
    pub fn unpublish(&mut self, service: &str, port: &str) -> Result<()> {
        let why = match self.0.get(service) {
            Some(published) if published.port == port => {
                self.0.remove(service);
                return Ok(());
            }
            Some(_) => "with another port",
            None => "or has taken it back",
        };
        let text = format!("this process has not published the name {service:?}, {why}");
        Err(Error::new(Class::Service, text))
    }
}

/// Memory that says what `service` stands for.
fn remember(service: &str, port: &str) -> io::Result<File> {
    let name = CString::new(tag(service))?;
    // SAFETY: a string and flags; the result is checked.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else's.
    let mut file = unsafe { File::from_raw_fd(fd) };
    // In one piece: who looks sees all or nothing.
    file.write_all(format!("{service}\n{port}").as_bytes())?;
    Ok(file)
}

/// The port that `service` stands for.
///
/// # Errors
/// `MPI_ERR_NAME`: nobody has published it.
pub fn lookup(service: &str) -> Result<String> {
    let wanted = format!("/memfd:{} (deleted)", tag(service));
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = processes.filter(|process| {
        let is_process = process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        is_process && process.metadata().is_ok_and(|data| data.uid() == user())
    });
    for process in ours {
        let descriptors = std::fs::read_dir(process.path().join("fd")).into_iter().flatten();
        for descriptor in descriptors.flatten() {
            let path = descriptor.path();
            if std::fs::read_link(&path).is_ok_and(|to| to.as_os_str() == wanted.as_str())
                && let Some(port) = recall(&path, service)
            {
                return Ok(port);
            }
        }
    }
    let text = format!("nobody has published the name {service:?} on this host");
    Err(Error::new(Class::Name, text))
}

/// The port that such memory names.
fn recall(path: &Path, service: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let (name, port) = text.rsplit_once('\n')?;
    (name == service && !port.is_empty()).then(|| port.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_there_from_publishing_it_to_taking_it_back() {
        let name = format!("a service of test {}", std::process::id());
        let (mut ours, mut others) = (Names::default(), Names::default());
        assert_eq!(lookup(&name).unwrap_err().class, Class::Name);
        ours.publish(&name, "port").unwrap();
        assert_eq!(lookup(&name).unwrap(), "port");
        assert_eq!(others.publish(&name, "other").unwrap_err().class, Class::Service);
        assert_eq!(others.unpublish(&name, "port").unwrap_err().class, Class::Service);
        assert_eq!(ours.unpublish(&name, "other").unwrap_err().class, Class::Service);
        ours.unpublish(&name, "port").unwrap();
        assert_eq!(lookup(&name).unwrap_err().class, Class::Name);
        others.publish(&name, "other").unwrap();
        assert_eq!(lookup(&name).unwrap(), "other");
        drop(others);
        assert_eq!(lookup(&name).unwrap_err().class, Class::Name);
    }
}
