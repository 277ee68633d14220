//! How a client and a port prove to each other that they know the port's secret, without saying it.
//!
//! The client says a random number; the port answers with one of its own and a code over both, the client with another
//! code. The codes are keyed with the secret, and different in both directions. What is said afterwards carries codes of a key that
//! follows from secret and numbers, so whoever listens can neither join nor add anything.

use super::connected::send;
use hpvm_mpi::error::Result;
use hpvm_net::JobKey;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;

/// Bytes of a random number and of a code.
pub const WORD: usize = 16;

/// Whether two codes are equal, in a time that does not tell where they differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// A random number.
fn random() -> Result<[u8; WORD]> {
    let [high, low] = crate::runtime::random_key()?;
    Ok((u128::from(high) << 64 | u128::from(low)).to_le_bytes())
}

/// What follows from the secret and both numbers for `purpose`.
fn code(secret: &JobKey, purpose: &[u8], client: &[u8; WORD], port: &[u8; WORD]) -> [u8; WORD] {
    secret.derive(&[purpose, client, port].concat())
}

fn session(secret: &JobKey, client: &[u8; WORD], port: &[u8; WORD]) -> JobKey {
    JobKey::new(code(secret, b"hpvm port session", client, port))
}

/// The port's side.
#[derive(Debug)]
pub struct Server {
    secret: JobKey,
    number: [u8; WORD],
    said: Vec<u8>,
}

/// What a look at a client has found.
pub enum Found {
    Nothing,
    /// It knows the secret; the key of what is said from now on.
    Proof(JobKey),
    Stranger,
}

impl Server {
    pub fn new(secret: &JobKey) -> Result<Server> {
        Ok(Server { secret: *secret, number: random()?, said: Vec::new() })
    }

    /// Takes in what the client has said. Does not block.
    pub fn look(&mut self, mut stream: &UnixStream) -> Found {
        loop {
            let mut bytes = [0; 2 * WORD];
            let room = if self.said.len() < WORD { WORD } else { 2 * WORD } - self.said.len();
            match stream.read(&mut bytes[..room]) {
                Ok(0) => return Found::Stranger,
                Ok(count) => self.said.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Found::Nothing,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return Found::Stranger,
            }
            let Some((client, proof)) = self.said.split_first_chunk::<WORD>() else { continue };
            if proof.is_empty() {
                let answer = code(&self.secret, b"hpvm port", client, &self.number);
                let answer = [self.number, answer].concat();
                // A fresh socket has room for so few bytes.
                if send(stream, &answer).ok() != Some(answer.len()) {
                    return Found::Stranger;
                }
            }
            if proof.len() == WORD {
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
    number: [u8; WORD],
}

/// A client of the port with this secret.
pub fn session_of(secret: &JobKey) -> Result<Client> {
    Ok(Client { secret: *secret, number: random()? })
}

impl Client {
    /// What it says first.
    pub fn greeting(&self) -> [u8; WORD] {
        self.number
    }

    /// What it says to the port's `answer`, and the key of what is said from then on. `None`: who answers does not know
    /// the secret.
    pub fn prove(&self, answer: &[u8; 2 * WORD]) -> Option<([u8; WORD], JobKey)> {
        let (port, proof) = answer.split_first_chunk::<WORD>()?;
        if !same(proof, &code(&self.secret, b"hpvm port", &self.number, port)) {
            return None;
        }
        let ours = code(&self.secret, b"hpvm port client", &self.number, port);
        Some((ours, session(&self.secret, &self.number, port)))
    }
}
