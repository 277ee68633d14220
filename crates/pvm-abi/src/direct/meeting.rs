//! How the two ends of a direct link make sure of each other: the receiver's card has a random key for one sender, which
//! comes through the virtual machine's processes; hello and welcome prove that their senders have it.

use hpvm_net::JobKey;
use hpvm_pvm::Tid;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// What opens one link.
pub type Key = [u8; 16];

/// A hello: magic, who calls whom, a random number, the proof.
pub const HELLO: usize = 44;
const MAGIC: [u8; 4] = *b"PVMd";
const SIGNED: usize = 28;
pub const WELCOME: usize = 16;

/// How long the system of a host may take to answer. A receiver that computes answers, too.
const CONNECT: Duration = Duration::from_millis(250);

fn proof(key: &Key, what: &[u8], about: &[u8]) -> [u8; 16] {
    JobKey::new(*key).derive(&[what, about].concat())
}

pub fn hello((from, to): (Tid, Tid), nonce: [u8; 16], key: &Key) -> [u8; HELLO] {
    let mut out = [0; HELLO];
    out[..4].copy_from_slice(&MAGIC);
    out[4..8].copy_from_slice(&from.to_le_bytes());
    out[8..12].copy_from_slice(&to.to_le_bytes());
    out[12..SIGNED].copy_from_slice(&nonce);
    let signed = proof(key, b"pvm hello", &out[..SIGNED]);
    out[SIGNED..].copy_from_slice(&signed);
    out
}

/// Who says that it calls.
pub fn caller(hello: &[u8; HELLO]) -> Option<Tid> {
    let from = [hello[4], hello[5], hello[6], hello[7]];
    hello.starts_with(&MAGIC).then(|| Tid::from_le_bytes(from))
}

/// The welcome to a hello that is right.
pub fn check(hello: &[u8; HELLO], who: (Tid, Tid), key: &Key) -> Option<[u8; WELCOME]> {
    let nonce: [u8; 16] = hello[12..SIGNED].try_into().ok()?;
    (self::hello(who, nonce, key) == *hello).then(|| welcome(key, nonce))
}

fn welcome(key: &Key, nonce: [u8; 16]) -> [u8; WELCOME] {
    proof(key, b"pvm welcome", &nonce)
}

/// A sender that has called and waits for its welcome.
pub struct Meeting {
    stream: TcpStream,
    others: VecDeque<SocketAddr>,
    who: (Tid, Tid),
    key: Key,
    nonce: [u8; 16],
    got: Vec<u8>,
}

impl Meeting {
    /// Calls at the first address that answers; `None`: none does.
    pub fn begin(who: (Tid, Tid), key: Key, to: Vec<IpAddr>, port: u16) -> Option<Meeting> {
        let mut others = to.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        let nonce = hpvm_os::random().ok()?;
        let stream = connect(&mut others, &hello(who, nonce, &key)).ok()?;
        Some(Meeting { stream, others, who, key, nonce, got: Vec::new() })
    }

    /// The connection, when it has been welcomed.
    ///
    /// # Errors
    /// Nobody at any of the addresses welcomes us.
    pub fn step(&mut self) -> io::Result<Option<TcpStream>> {
        let mut part = [0; WELCOME];
        let wanted = WELCOME - self.got.len();
        match self.stream.read(&mut part[..wanted]) {
            Ok(len) if len > 0 => self.got.extend_from_slice(&part[..len]),
            Err(cause)
                if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(None);
            }
            _ => return self.next(),
        }
        if self.got.len() < WELCOME {
            return Ok(None);
        }
        if self.got != welcome(&self.key, self.nonce) {
            return self.next();
        }
        self.stream.try_clone().map(Some)
    }

    /// It was somebody else: another host may have the same address on an interface of its own.
    fn next(&mut self) -> io::Result<Option<TcpStream>> {
        self.got.clear();
        self.stream = connect(&mut self.others, &hello(self.who, self.nonce, &self.key))?;
        Ok(None)
    }
}

impl AsRawFd for Meeting {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

fn connect(to: &mut VecDeque<SocketAddr>, hello: &[u8]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    while let Some(address) = to.pop_front() {
        let opened = TcpStream::connect_timeout(&address, CONNECT).and_then(|mut stream| {
            stream.set_nodelay(true)?;
            stream.write_all(hello)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        match opened {
            Ok(stream) => return Ok(stream),
            Err(cause) => last = cause,
        }
    }
    Err(last)
}
