//! Datagrams on their way into the socket. Consecutive datagrams to one peer leave together, in one system call.

use crate::address::Address;
use crate::socket::Socket;
use hpvm_wire::envelope::{ENVELOPE, SIGNED};

/// Bytes of datagrams that leave together, a little below what the kernel takes.
const MAX_BYTES_TOGETHER: usize = 60_000;
/// Datagrams that leave together: the kernel's limit.
const MAX_DATAGRAMS_TOGETHER: usize = 64;

/// What became of datagrams that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// They are on their way, or lost as on any network.
    Gone,
    /// The socket has no room. They wait in the outbox.
    Stuck,
    /// They were too large for the path, and are lost.
    TooLarge,
}

/// A run of datagrams to one address, of equal size except for the last one.
pub struct Outbox {
    bytes: Box<[u8]>,
    used: usize,
    count: usize,
    segment: usize,
    /// The last one is shorter: nothing may follow it.
    closed: bool,
    to: Option<Address>,
    rank: u32,
    /// The kernel joins datagrams.
    joins: bool,
    /// Datagrams that the system refused to send.
    pub refused: u64,
}

impl Outbox {
    pub fn new() -> Outbox {
        Outbox {
            bytes: vec![0; MAX_BYTES_TOGETHER].into(),
            used: 0,
            count: 0,
            segment: 0,
            closed: false,
            to: None,
            rank: 0,
            joins: true,
            refused: 0,
        }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rank that the run is for.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Whether a datagram with a body of `len` bytes may join the run.
    #[inline]
    pub fn takes(&self, rank: u32, len: usize) -> bool {
        let len = len + ENVELOPE;
        self.count == 0
            || (self.rank == rank
                && !self.closed
                && len <= self.segment
                && self.count < MAX_DATAGRAMS_TOGETHER
                && self.used + len <= MAX_BYTES_TOGETHER)
    }

    /// Adds a datagram that `takes` has said yes to. `len` is at most what one datagram holds.
    #[inline]
    pub fn add(
        &mut self,
        rank: u32,
        to: &Address,
        signed: &[u8; SIGNED],
        mac: &[u8; ENVELOPE - SIGNED],
        body: &[u8],
    ) {
        let len = ENVELOPE + body.len();
        if self.count == 0 {
            (self.rank, self.to, self.segment) = (rank, Some(*to), len);
        }
        let room = &mut self.bytes[self.used..self.used + len];
        room[..SIGNED].copy_from_slice(signed);
        room[SIGNED..ENVELOPE].copy_from_slice(mac);
        room[ENVELOPE..].copy_from_slice(body);
        self.closed = len < self.segment;
        self.used += len;
        self.count += 1;
    }

    fn clear(&mut self) {
        (self.used, self.count, self.closed) = (0, 0, false);
    }

    /// Offers the run to `take`, which returns how many bytes of it, whole datagrams, it has sent.
    #[inline]
    pub fn offer(&mut self, take: impl FnOnce(&Address, &[u8], usize) -> usize) {
        let Some(to) = self.to.filter(|_| self.count > 0) else { return };
        match take(&to, &self.bytes[..self.used], self.segment) {
            0 => {}
            taken if taken >= self.used => self.clear(),
            taken => {
                self.bytes.copy_within(taken..self.used, 0);
                self.used -= taken;
                self.count = self.used.div_ceil(self.segment);
            }
        }
    }

    /// Sends the run.
    #[inline]
    pub fn flush(&mut self, socket: &Socket) -> Left {
        let Some(to) = self.to.filter(|_| self.count > 0) else { return Left::Gone };
        let result = match self.count {
            1 => socket.send(&to, &self.bytes[..self.used]),
            _ if self.joins => {
                socket.send_joined(&to, &self.bytes[..self.used], self.segment as u16)
            }
            _ => return self.one_by_one(socket, &to),
        };
        match result {
            Ok(()) => {
                self.clear();
                Left::Gone
            }
            Err(errno) => self.failed(errno, socket, &to),
        }
    }

    #[cold]
    fn failed(&mut self, errno: i32, socket: &Socket, to: &Address) -> Left {
        match errno {
            libc::EAGAIN | libc::ENOBUFS | libc::EINTR => Left::Stuck,
            libc::EMSGSIZE if self.count == 1 => {
                self.clear();
                Left::TooLarge
            }
            // Too large for the path, or a device that can't join: one by one tells.
            libc::EMSGSIZE | libc::EINVAL | libc::EIO | libc::EOPNOTSUPP if self.count > 1 => {
                let left = self.one_by_one(socket, to);
                self.joins &= left != Left::Gone;
                left
            }
            // No way there now, as when a cable is out: lost like any other.
            _ => {
                self.refused += self.count as u64;
                self.clear();
                Left::Gone
            }
        }
    }

    #[cold]
    fn one_by_one(&mut self, socket: &Socket, to: &Address) -> Left {
        let mut left = Left::Gone;
        let mut at = 0;
        while at < self.used {
            let len = self.segment.min(self.used - at);
            match socket.send(to, &self.bytes[at..at + len]) {
                Ok(()) => {}
                Err(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => {
                    self.bytes.copy_within(at..self.used, 0);
                    self.used -= at;
                    self.count = self.used.div_ceil(self.segment);
                    return Left::Stuck;
                }
                Err(libc::EMSGSIZE) => left = Left::TooLarge,
                Err(_) => self.refused += 1,
            }
            at += len;
        }
        self.clear();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::RECEIVE_BYTES_MAX;

    #[test]
    fn runs_keep_their_shape() {
        let a = Socket::open(false, None).unwrap();
        let b = Socket::open(false, None).unwrap();
        let to = Address::new("127.0.0.1".parse().unwrap(), b.port(), false, 0).unwrap();
        for joins in [true, false] {
            let mut outbox = Outbox { joins, ..Outbox::new() };
            assert_eq!(outbox.flush(&a), Left::Gone);
            for len in [900, 900, 100] {
                assert!(outbox.takes(3, len));
                outbox.add(3, &to, &[1; SIGNED], &[2; ENVELOPE - SIGNED], &vec![len as u8; len]);
            }
            assert!(!outbox.takes(3, 100), "nothing follows a short one");
            assert!(!outbox.takes(4, 900), "one run, one receiver");
            assert_eq!(outbox.flush(&a), Left::Gone);
            assert!(outbox.is_empty() && outbox.takes(4, 900));
            let mut buffer = vec![0; RECEIVE_BYTES_MAX];
            let mut came = 0;
            for _ in 0..1_000_000 {
                if let Some(received) = b.receive(&mut buffer, false).unwrap() {
                    came += received.len;
                }
                if came >= 1900 + 3 * ENVELOPE {
                    break;
                }
            }
            assert_eq!(came, 1900 + 3 * ENVELOPE);
        }
    }

    #[test]
    fn nowhere_to_send_is_a_loss() {
        let a = Socket::open(false, None).unwrap();
        // Reserved for documentation: the host has no way, or nobody answers.
        let to = Address::new("192.0.2.250".parse().unwrap(), 9, false, 0).unwrap();
        let mut outbox = Outbox::new();
        outbox.add(1, &to, &[0; SIGNED], &[0; ENVELOPE - SIGNED], &[0; 100]);
        assert_eq!(outbox.flush(&a), Left::Gone);
        assert!(outbox.is_empty());
    }
}
