//! Published names (MPI 5.0, section 11.9.4) on one host: for all jobs of one user.
//!
//! Who publishes a name holds two things that the kernel takes back when the process ends, however it does: a socket
//! bound to a name made of the user and the service, so that a name is published once; and memory without a
//! name in the file system that says which port it stands for. Others of the same user find that memory among the
//! descriptors of the user's processes. Another user's processes are not looked at, so nobody else's port is given.
//! Processes of another network namespace are on another host: their ports cannot be reached as those of this one.
//!
//! On the other hosts of its job the launcher and its agents hold the name, in the same way.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// Longest name and port that are read.
const ENTRY_BYTES_MAX: u64 = 64 << 10;
/// Longest service that the process manager hears as it is; of a longer one it hears the hash.
const LONGEST_KEY: usize = 128;

/// Names that this process holds.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, Published>);

#[derive(Debug)]
struct Published {
    port: String,
    /// The name's, and the port's: see the module's text.
    _claim: UnixDatagram,
    _memory: File,
}

/// Why a name is not published.
#[derive(Debug)]
pub enum NameError {
    /// It is published already on this host.
    Taken,
    /// The system refuses what it is done with.
    System(&'static str, io::Error),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Taken => write!(f, "it is published already on this host"),
            NameError::System(what, cause) => write!(f, "{what}: {cause}"),
        }
    }
}

impl std::error::Error for NameError {}

/// A name or a port as it is told to process managers, whose lines neither spaces nor semicolons nor line ends may be in.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => out.push(byte as char),
            b'-' | b'.' | b'_' | b'~' | b':' | b',' | b'/' | b'[' | b']' | b'@' | b'+' => {
                out.push(byte as char);
            }
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// What [`encode`] has encoded; none: it has not.
pub fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        out.push(match byte {
            b'%' => (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8,
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

/// What a service is called wherever it is held, or told: encoded, and not too long for a process manager.
pub fn key(service: &str) -> String {
    let key = encode(service);
    if key.len() <= LONGEST_KEY { key } else { format!("%{:032x}", hash(service)) }
}

/// FNV-1a, of 128 bits.
fn hash(text: &str) -> u128 {
    let step = |hash: u128, byte: u8| {
        (hash ^ u128::from(byte)).wrapping_mul(0x100_0000_0000_0000_0000_013b)
    };
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}

/// What a name is called in the kernel's tables.
fn tag(key: &str) -> String {
    format!("hpvm-name-{:032x}", hash(key))
}

impl Names {
    /// Publishes `key`, which stands for `port` until this process takes it back or ends.
    pub fn publish(&mut self, key: &str, port: &str) -> Result<(), NameError> {
        let address = SocketAddr::from_abstract_name(format!("{}-{}", tag(key), hpvm_os::user()));
        let claim = address.and_then(|address| UnixDatagram::bind_addr(&address));
        let claim = claim.map_err(|cause| match cause.kind() {
            io::ErrorKind::AddrInUse => NameError::Taken,
            _ => NameError::System("a socket", cause),
        })?;
        let memory = remember(key, port).map_err(|cause| NameError::System("memory", cause))?;
        let published = Published { port: port.to_owned(), _claim: claim, _memory: memory };
        self.0.insert(key.to_owned(), published);
        Ok(())
    }

    /// Holds `key` for a process of the job that has published it, maybe on this host. False: it stands for another port here.
    pub fn hold(&mut self, key: &str, port: &str) -> bool {
        match self.publish(key, port) {
            Err(NameError::Taken) => lookup(key).is_none_or(|held| held == port),
            // A name that cannot be held here is found elsewhere.
            Ok(()) | Err(NameError::System(..)) => true,
        }
    }

    /// The port of a name that this process holds.
    pub fn port(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|published| &published.port[..])
    }

    /// Holds it no longer.
    pub fn release(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// All names that this process holds, and what they stand for.
    pub fn all(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(name, published)| (name.clone(), published.port.clone())).collect()
    }

    /// All names that this process holds.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Memory that says what `key` stands for.
fn remember(key: &str, port: &str) -> io::Result<File> {
    let name = CString::new(tag(key))?;
    // Not sealed: it is found by its name, and gets its length with its text.
    // SAFETY: a string that ends with a zero, and flags; a descriptor that comes is new.
    let file = unsafe { hpvm_os::own(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC)) };
    let mut file = File::from(file?);
    // In one piece: who looks sees all or nothing.
    file.write_all(format!("{key}\n{port}").as_bytes())?;
    Ok(file)
}

/// The port that `key` stands for on this host, if anybody has published it.
pub fn lookup(key: &str) -> Option<String> {
    let wanted = format!("/memfd:{} (deleted)", tag(key));
    let host = |process: &Path| std::fs::read_link(process.join("ns/net")).ok();
    let ours = host(Path::new("/proc/self"));
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ours = processes.filter(|process| {
        let is_process = process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        is_process
            && process.metadata().is_ok_and(|data| data.uid() == hpvm_os::user())
            && host(&process.path()) == ours
    });
    for process in ours {
        let descriptors = std::fs::read_dir(process.path().join("fd")).into_iter().flatten();
        for descriptor in descriptors.flatten() {
            let path = descriptor.path();
            if std::fs::read_link(&path).is_ok_and(|to| to.as_os_str() == wanted.as_str())
                && let Some(port) = recall(&path, key)
            {
                return Some(port);
            }
        }
    }
    None
}

/// The port that such memory names.
fn recall(path: &Path, key: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(ENTRY_BYTES_MAX).read_to_string(&mut text).ok()?;
    let (name, port) = text.rsplit_once('\n')?;
    (name == key && !port.is_empty()).then(|| port.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_there_from_publishing_it_to_taking_it_back() {
        let name = key(&format!("a service of test {}", std::process::id()));
        let (mut ours, mut others) = (Names::default(), Names::default());
        assert_eq!(lookup(&name), None);
        ours.publish(&name, "port").unwrap();
        assert_eq!(lookup(&name).as_deref(), Some("port"));
        assert!(matches!(others.publish(&name, "other"), Err(NameError::Taken)));
        assert!(!others.hold(&name, "other") && others.hold(&name, "port"));
        assert_eq!((ours.port(&name), others.port(&name)), (Some("port"), None));
        ours.release(&name);
        assert_eq!(lookup(&name), None);
        assert!(others.hold(&name, "other"));
        assert_eq!(lookup(&name).as_deref(), Some("other"));
        drop(others);
        assert_eq!(lookup(&name), None);
    }

    #[test]
    fn names_are_told_without_spaces_and_come_back() {
        let port = "hpvm-port:3:0123:[fe80::1]/64,10.0.0.1";
        assert_eq!(encode(port), port);
        for text in ["a b", "x=1;y", "50%", "caf\u{e9}\n", ""] {
            let told = encode(text);
            assert!(told.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';'), "{told}");
            assert_eq!(decode(&told).as_deref(), Some(text));
        }
        for text in ["%", "%1", "%zz", "%ff"] {
            assert_eq!(decode(text), None, "{text}");
        }
        let long = "n".repeat(LONGEST_KEY + 1);
        assert!(key(&long).len() < LONGEST_KEY && key(&long) != key(&format!("{long}n")));
    }
}
