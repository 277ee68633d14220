//! Ports (MPI 5.0, section 11.9.1): where a group of processes can be reached by others of the same user on this host.
//!
//! A port is a socket in the kernel's abstract name space, which leaves nothing behind however its process ends. Its
//! name holds a secret: whoever connects proves the knowledge of one half of it, and is answered with the other half.
//! So a stranger gets in nowhere, and one who takes over the socket's name is not taken for the port.

use super::talk::Talk;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// What every name of a port begins with, with the version of what is said on it.
const PREFIX: &str = "hpvm-port:1:";
/// Bytes of the socket's name that nobody can guess.
const ID: usize = 8;
/// Bytes of one half of the secret.
const HALF: usize = 16;
/// Connections that may wait for their proof at a time; of more the oldest is dropped.
const CANDIDATES: usize = 64;

/// What a port's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    id: [u8; ID],
    /// What a client proves with, and what it is answered.
    halves: [[u8; HALF]; 2],
}

impl PortName {
    fn random() -> Result<PortName> {
        let mut bytes = [0; ID + 2 * HALF];
        // SAFETY: the buffer is as long as we say.
        let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if got != bytes.len() as isize {
            let text = format!("getrandom: {}", io::Error::last_os_error());
            return Err(Error::new(Class::Other, text));
        }
        Ok(PortName::of_bytes(&bytes))
    }

    fn of_bytes(bytes: &[u8; ID + 2 * HALF]) -> PortName {
        let mut name = PortName { id: [0; ID], halves: [[0; HALF]; 2] };
        let (id, secret) = bytes.split_at(ID);
        name.id.copy_from_slice(id);
        let (first, second) = secret.split_at(HALF);
        name.halves[0].copy_from_slice(first);
        name.halves[1].copy_from_slice(second);
        name
    }

    /// The name as programs hand it on.
    pub fn text(&self) -> String {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        format!("{PREFIX}{}:{}{}", hex(&self.id), hex(&self.halves[0]), hex(&self.halves[1]))
    }

    /// The port that a program names.
    ///
    /// # Errors
    /// `MPI_ERR_PORT`: it is no name of a port.
    pub fn parse(text: &str) -> Result<PortName> {
        let bytes = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':'));
        let bytes = bytes.filter(|(id, secret)| id.len() == 2 * ID && secret.len() == 4 * HALF);
        let digits = bytes.map(|(id, secret)| [id, secret].concat());
        let parsed = digits.as_deref().and_then(parse_hex::<{ ID + 2 * HALF }>);
        parsed.as_ref().map(PortName::of_bytes).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            let text = format!("{shown:?} is no port; expected what MPI_Open_port has given");
            Error::new(Class::Port, text)
        })
    }

    fn address(&self) -> io::Result<SocketAddr> {
        let id: String = self.id.iter().map(|b| format!("{b:02x}")).collect();
        SocketAddr::from_abstract_name(format!("hpvm-port-{id}"))
    }
}

fn parse_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    if digits.len() != 2 * N || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Whether two secrets are equal, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// The process at the other end is the same user's.
fn of_our_user(stream: &UnixStream) -> bool {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut size = size_of_val(&found) as libc::socklen_t;
    // SAFETY: valid memory for the credentials and their size.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &mut size,
        )
    } != 0;
    // SAFETY: a system call without arguments.
    !failed && found.uid == unsafe { libc::geteuid() }
}

/// A connection whose other end has not proved anything yet.
#[derive(Debug)]
struct Candidate {
    stream: UnixStream,
    said: Vec<u8>,
}

/// What a look at a candidate has found.
enum Found {
    Nothing,
    Proof,
    Stranger,
}

impl Candidate {
    fn look(&mut self, expected: &[u8; HALF]) -> Found {
        let mut bytes = [0; HALF];
        let room = HALF - self.said.len();
        match self.stream.read(&mut bytes[..room]) {
            Ok(0) => return Found::Stranger,
            Ok(count) => self.said.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Found::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Found::Nothing,
            Err(_) => return Found::Stranger,
        }
        match (self.said.len() == HALF, same(&self.said, expected)) {
            (false, _) => Found::Nothing,
            (true, true) => Found::Proof,
            (true, false) => Found::Stranger,
        }
    }
}

/// An open port.
#[derive(Debug)]
pub struct Port {
    pub name: PortName,
    listener: UnixListener,
    candidates: Vec<Candidate>,
}

fn failed(what: &str, cause: io::Error) -> Error {
    Error::new(Class::Port, format!("{what}: {cause}"))
}

impl Port {
    /// Opens a port with a name of its own.
    pub fn open() -> Result<Port> {
        let name = PortName::random()?;
        let listener = name.address().and_then(|address| UnixListener::bind_addr(&address));
        let listener = listener.map_err(|cause| failed("opening a port", cause))?;
        listener.set_nonblocking(true).map_err(|cause| failed("opening a port", cause))?;
        Ok(Port { name, listener, candidates: Vec::new() })
    }

    /// Readable when somebody connects.
    pub fn fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// The next client that has proved itself, if one has. Does not block; `watch` is told of descriptors that
    /// become readable when there is more to see.
    pub fn accept(&mut self, mut watch: impl FnMut(RawFd)) -> Result<Option<Talk>> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if !of_our_user(&stream) || stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.candidates.len() == CANDIDATES {
                        self.candidates.remove(0);
                    }
                    watch(stream.as_raw_fd());
                    self.candidates.push(Candidate { stream, said: Vec::new() });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The client has gone already.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(failed("accepting a connection", error)),
            }
        }
        let [proof, answer] = self.name.halves;
        let mut place = 0;
        while let Some(candidate) = self.candidates.get_mut(place) {
            match candidate.look(&proof) {
                Found::Nothing => place += 1,
                Found::Stranger => drop(self.candidates.remove(place)),
                Found::Proof => {
                    let mut stream = self.candidates.remove(place).stream;
                    // A fresh socket has room for so few bytes.
                    if stream.write_all(&answer).is_ok() {
                        return Ok(Some(Talk::new(stream)));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Connects to a port and proves itself there. What follows waits until the other side accepts.
pub fn connect(name: &PortName) -> Result<Talk> {
    let gone = |cause: io::Error| {
        let why = match cause.kind() {
            io::ErrorKind::ConnectionRefused => "nobody has it open on this host".to_owned(),
            _ => cause.to_string(),
        };
        Error::new(Class::Port, format!("the port can't be reached: {why}"))
    };
    let mut stream =
        name.address().and_then(|address| UnixStream::connect_addr(&address)).map_err(gone)?;
    if !of_our_user(&stream) {
        return Err(Error::new(Class::Port, "the port belongs to another user"));
    }
    let [proof, answer] = &name.halves;
    stream.write_all(proof).map_err(gone)?;
    stream.set_nonblocking(true).map_err(gone)?;
    Ok(Talk::expecting(stream, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_written_and_nothing_else_is() {
        let name = PortName::random().unwrap();
        let text = name.text();
        assert_eq!(PortName::parse(&text).unwrap(), name);
        let cut = &text[..text.len() - 1];
        let signs = text.replace(|c: char| c.is_ascii_digit(), "+");
        for wrong in ["", "x", "hpvm-port:1:", cut, &format!("{text}0"), &signs, "\u{20ac}"] {
            let error = PortName::parse(wrong).unwrap_err();
            assert_eq!(error.class, Class::Port, "{wrong}");
        }
    }

    #[test]
    fn strangers_are_passed_over() {
        let mut port = Port::open().unwrap();
        let other = PortName { halves: PortName::random().unwrap().halves, ..port.name.clone() };
        let wrong = connect(&other).unwrap();
        let silent = UnixStream::connect_addr(&port.name.address().unwrap()).unwrap();
        assert!(port.accept(|_| {}).unwrap().is_none());
        let right = connect(&port.name).unwrap();
        assert!(port.accept(|_| {}).unwrap().is_some());
        drop((wrong, silent, right));
        let name = port.name.clone();
        drop(port);
        assert_eq!(connect(&name).unwrap_err().class, Class::Port);
    }
}
