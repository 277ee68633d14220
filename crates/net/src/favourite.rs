//! A socket of its own for the peer that this process talks to most.
//!
//! A connected socket saves the kernel several looks at its routing tables per datagram, on the
//! sending and on the receiving side: an eighth of the time one way (`bench/NOTES.md`). It has the
//! port of the socket for everybody, so no peer notices. What the favourite sends the kernel puts
//! there, so both have to be looked at, and a third one would cost more than it saves.

use crate::address::Address;
use crate::socket::{Received, Socket};
use std::io;
use std::os::fd::RawFd;

/// Datagrams that a peer must be ahead of all others together to get a socket, and at most is.
const ENOUGH: u32 = 64;
const MOST: u32 = 512;
/// Of so many looks one begins at the socket for everybody, and the others are at the favourite's
/// alone, so that neither starves: when others have written, and when they are silent. Looks in vain
/// until there are fewer.
const OFTEN: u32 = 2;
const SELDOM: u32 = 8;
const IN_VAIN: u32 = 16;
/// Datagrams that may have come to the socket for everybody before the favourite had one: those are
/// received first, in the order in which they came.
const EARLIER: u32 = 256;
/// Shortest time from one favourite to the next, nanoseconds.
const PAUSE: u64 = 10_000_000;

const NOBODY: u32 = u32::MAX;

/// Who the favourite is, if any.
pub struct Favourite {
    line: Option<Socket>,
    /// Whose line it is; `NOBODY` when there is none, or nothing is sent through it any more and
    /// only what it holds is still to be received.
    owner: u32,
    /// Who has sent most of late, and by how many datagrams more than all others.
    candidate: u32,
    lead: u32,
    /// No line is opened before this time.
    not_before: u64,
    /// Looks since one at the socket for everybody, how many there are to be, and how many of those
    /// were in vain.
    looks: u32,
    every: u32,
    vain: u32,
    /// Looks left that go to the socket for everybody until it is empty.
    earlier: u32,
    /// Where the process sleeps.
    epoll: Option<RawFd>,
}

impl Favourite {
    pub fn new() -> Favourite {
        Favourite {
            line: None,
            owner: NOBODY,
            candidate: NOBODY,
            lead: 0,
            not_before: 0,
            looks: 0,
            every: OFTEN,
            vain: 0,
            earlier: 0,
            epoll: None,
        }
    }

    /// What comes for the favourite also wakes a sleeper at `epoll`.
    pub fn wake_at(&mut self, epoll: RawFd) {
        self.epoll = Some(epoll);
    }

    /// A datagram has come from `rank`. True: it deserves a socket, which `open` gives it.
    #[inline(always)]
    pub fn heard(&mut self, rank: u32) -> bool {
        if rank != self.candidate {
            self.heard_other(rank);
            return false;
        }
        if self.lead < MOST {
            self.lead += 1;
        }
        self.owner != rank && self.lead >= ENOUGH
    }

    #[cold]
    fn heard_other(&mut self, rank: u32) {
        if self.lead > 0 {
            self.lead -= 1;
            return;
        }
        (self.candidate, self.lead) = (rank, 1);
        self.owner = NOBODY;
    }

    /// Gives the candidate, who is at `path`, a socket. Nothing happens where the system refuses.
    #[cold]
    pub fn open(&mut self, now: u64, socket: &Socket, path: &Address) {
        if now < self.not_before || self.readable() {
            return;
        }
        self.not_before = now + PAUSE;
        let Ok(socket) = socket.connected(path) else {
            // Not soon again.
            self.not_before = now + 1000 * PAUSE;
            return;
        };
        if self.epoll.is_some_and(|epoll| crate::epoll::watch(epoll, socket.fd()).is_err()) {
            return;
        }
        (self.line, self.owner) = (Some(socket), self.candidate);
        (self.looks, self.every, self.vain, self.earlier) = (0, OFTEN, 0, EARLIER);
    }

    /// The way to `rank` is not what it was: datagrams go through the socket for everybody again.
    #[cold]
    pub fn leave(&mut self, now: u64, rank: u32) {
        if self.owner == rank {
            (self.owner, self.lead) = (NOBODY, 0);
            self.not_before = now + PAUSE;
        }
    }

    /// The socket through which datagrams leave for `rank`.
    #[inline(always)]
    pub fn way<'a>(&'a self, rank: u32, everybody: &'a Socket) -> &'a Socket {
        match &self.line {
            Some(line) if self.owner == rank => line,
            _ => everybody,
        }
    }

    /// As [`Socket::receive`], from whichever of the two sockets has something; but `None` does
    /// not mean that `everybody` has nothing.
    #[inline(always)]
    pub fn receive(
        &mut self,
        everybody: &Socket,
        buffer: &mut [u8],
        named: bool,
    ) -> io::Result<Option<Received>> {
        let Some(line) = &self.line else { return everybody.receive(buffer, named) };
        self.looks += 1;
        if self.looks >= self.every || self.earlier > 0 {
            self.looks = 0;
            if let Some(received) = everybody.receive(buffer, named)? {
                (self.every, self.vain) = (OFTEN, 0);
                self.earlier = self.earlier.saturating_sub(1);
                return Ok(Some(received));
            }
            self.earlier = 0;
            self.vain += 1;
            if self.vain >= IN_VAIN {
                (self.every, self.vain) = ((2 * self.every).min(SELDOM), 0);
            }
        }
        let received = line.receive(buffer, named)?;
        if received.is_none() && self.owner == NOBODY {
            self.line = None;
        }
        Ok(received)
    }

    /// Something waits in the favourite's socket.
    pub fn readable(&self) -> bool {
        self.line.as_ref().is_some_and(Socket::readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: &str = "127.0.0.1";

    fn socket() -> (Socket, Address) {
        let socket = Socket::open(false, None).expect("a socket");
        let address = Address::new(HOME.parse().expect("valid"), socket.port(), false, 0);
        (socket, address.expect("IPv4"))
    }

    /// What comes within some looks: its first byte.
    fn next(favourite: &mut Favourite, everybody: &Socket) -> u8 {
        let mut buffer = [0; 100];
        for _ in 0..1_000_000 {
            if let Some(received) = favourite.receive(everybody, &mut buffer, false).expect("works")
            {
                assert_eq!(received.len, 1);
                return buffer[0];
            }
        }
        panic!("nothing came");
    }

    #[test]
    fn neither_socket_starves() {
        let ((a, to_a), (b, to_b), (c, _)) = (socket(), socket(), socket());
        let mut favourite = Favourite::new();
        (0..ENOUGH).for_each(|_| _ = favourite.heard(7));
        favourite.open(PAUSE, &a, &to_b);
        for (from, other) in [(&b, &c), (&c, &b)] {
            other.send(&to_a, &[1]).expect("room");
            (0..100).for_each(|_| from.send(&to_a, &[2]).expect("room"));
            assert!((0..2 * SELDOM).any(|_| next(&mut favourite, &a) == 1));
            while favourite.readable() || a.readable() {
                next(&mut favourite, &a);
            }
        }
    }

    #[test]
    fn who_sends_most_gets_a_socket_and_nothing_is_lost() {
        let ((a, to_a), (b, to_b), (c, _)) = (socket(), socket(), socket());
        let mut favourite = Favourite::new();
        assert!((1..ENOUGH).all(|_| !favourite.heard(7)));
        assert!(favourite.heard(7));
        favourite.open(PAUSE, &a, &to_b);
        assert!(favourite.line.is_some());
        let way = favourite.way(7, &a);
        assert!(way.fd() != a.fd() && way.port() == a.port());
        assert_eq!(favourite.way(8, &a).fd(), a.fd());
        way.send(&to_b, &[1]).expect("room");
        let mut buffer = [0; 100];
        while b.receive(&mut buffer, false).expect("works").is_none() {}
        assert_eq!(buffer[0], 1);
        for i in 0..200 {
            let from = if i % 3 == 0 { &c } else { &b };
            from.send(&to_a, &[i]).expect("room");
            assert_eq!(next(&mut favourite, &a), i);
        }
        // What comes from the favourite lies in its socket.
        b.send(&to_a, &[9]).expect("room");
        while !favourite.readable() {}
        assert!(!a.readable());
        assert_eq!(next(&mut favourite, &a), 9);
        // What lies there when the line is given up comes as well.
        b.send(&to_a, &[10]).expect("room");
        favourite.leave(2 * PAUSE, 7);
        assert_eq!(favourite.way(7, &a).fd(), a.fd());
        assert_eq!(next(&mut favourite, &a), 10);
        b.send(&to_a, &[11]).expect("room");
        assert_eq!(next(&mut favourite, &a), 11);
    }

    #[test]
    fn others_take_its_place() {
        let ((a, _), (_, to_b)) = (socket(), socket());
        let mut favourite = Favourite::new();
        (0..1000).for_each(|_| _ = favourite.heard(1));
        favourite.open(PAUSE, &a, &to_b);
        assert!(favourite.line.is_some());
        (0..MOST).for_each(|_| _ = favourite.heard(2));
        assert!(favourite.line.is_some());
        (0..ENOUGH).for_each(|_| _ = favourite.heard(2));
        assert!(favourite.owner == NOBODY && favourite.heard(2));
        let mut buffer = [0; 100];
        let mut looks = 0..10;
        assert!(looks.all(|_| favourite.receive(&a, &mut buffer, false).expect("works").is_none()));
        assert!(favourite.line.is_none());
        // Two that talk as much as each other get none.
        let mut favourite = Favourite::new();
        assert!((0..1000).all(|i| !favourite.heard(i % 2)));
    }
}
