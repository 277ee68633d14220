//! How a client and a server (a port of MPI, the name server) prove to each other that they know a secret, without sending
//! it.
//!
//! The client sends a random number. The server answers with one of its own and a code over both, and the client with another
//! code. The codes are keyed with the secret and differ in both directions. Everything that is sent afterwards carries codes
//! under a key that follows from the secret and the numbers. So somebody who listens can neither join nor add anything.

use crate::JobKey;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

/// Bytes of a random number (a nonce) and of a code.
pub const NONCE_BYTES: usize = 16;

/// Whether two codes are equal, in a time that does not tell where they differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// A number that no stranger can guess.
///
/// # Errors
/// The system gives none.
pub fn random() -> io::Result<[u8; NONCE_BYTES]> {
    hpvm_os::random()
}

/// Writes to a socket whose other end may be gone, which is no reason to end by SIGPIPE.
///
/// # Errors
/// As `send(2)`.
pub fn send(socket: &impl AsRawFd, bytes: &[u8]) -> io::Result<usize> {
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_NOSIGNAL);
    // SAFETY: the bytes live through the call.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// What follows from the secret and both numbers for `purpose`.
fn code(
    secret: &JobKey,
    purpose: &[u8],
    client: &[u8; NONCE_BYTES],
    port: &[u8; NONCE_BYTES],
) -> [u8; NONCE_BYTES] {
    secret.derive(&[purpose, client, port].concat())
}

fn session(secret: &JobKey, client: &[u8; NONCE_BYTES], port: &[u8; NONCE_BYTES]) -> JobKey {
    JobKey::new(code(secret, b"hpvm port session", client, port))
}

/// The port's side.
#[derive(Debug)]
pub struct Server {
    secret: JobKey,
    number: [u8; NONCE_BYTES],
    said: Vec<u8>,
}

/// What a look at a client has found.
#[derive(Debug)]
pub enum Found {
    /// It has not said everything yet.
    Nothing,
    /// It knows the secret; the key of what is said from now on.
    Proof(JobKey),
    /// It does not know the secret, or is gone.
    Stranger,
}

impl Server {
    /// For one client, which has to know `secret`.
    ///
    /// # Errors
    /// The system gives no random number.
    pub fn new(secret: &JobKey) -> io::Result<Server> {
        Ok(Server { secret: *secret, number: random()?, said: Vec::new() })
    }

    /// Takes in what the client has said. Does not block.
    pub fn look<S: AsRawFd>(&mut self, stream: &S) -> Found
    where
        for<'a> &'a S: Read,
    {
        loop {
            let mut bytes = [0; 2 * NONCE_BYTES];
            let room = if self.said.len() < NONCE_BYTES { NONCE_BYTES } else { 2 * NONCE_BYTES }
                - self.said.len();
            match (&*stream).read(&mut bytes[..room]) {
                Ok(0) => return Found::Stranger,
                Ok(count) => self.said.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Found::Nothing,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Found::Stranger,
            }
            let Some((client, proof)) = self.said.split_first_chunk::<NONCE_BYTES>() else {
                continue;
            };
            if proof.is_empty() {
                let answer = code(&self.secret, b"hpvm port", client, &self.number);
                let answer = [self.number, answer].concat();
                // A fresh socket has room for so few bytes.
                if send(stream, &answer).ok() != Some(answer.len()) {
                    return Found::Stranger;
                }
            }
            if proof.len() == NONCE_BYTES {
                let right = code(&self.secret, b"hpvm port client", client, &self.number);
                return match same(proof, &right) {
                    true => Found::Proof(session(&self.secret, client, &self.number)),
                    false => Found::Stranger,
                };
            }
        }
    }
}

/// The client's side.
#[derive(Debug)]
pub struct Client {
    secret: JobKey,
    number: [u8; NONCE_BYTES],
}

/// A client of the port with this secret.
///
/// # Errors
/// The system gives no random number.
pub fn session_of(secret: &JobKey) -> io::Result<Client> {
    Ok(Client { secret: *secret, number: random()? })
}

impl Client {
    /// What it says first.
    pub fn greeting(&self) -> [u8; NONCE_BYTES] {
        self.number
    }

    /// What it says to the port's `answer`, and the key of what is said from then on. `None`: who answers does not know
    /// the secret.
    pub fn prove(&self, answer: &[u8; 2 * NONCE_BYTES]) -> Option<([u8; NONCE_BYTES], JobKey)> {
        let (port, proof) = answer.split_first_chunk::<NONCE_BYTES>()?;
        if !same(proof, &code(&self.secret, b"hpvm port", &self.number, port)) {
            return None;
        }
        let ours = code(&self.secret, b"hpvm port client", &self.number, port);
        Some((ours, session(&self.secret, &self.number, port)))
    }
}
