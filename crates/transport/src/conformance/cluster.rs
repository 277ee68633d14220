//! The endpoints of one job under test, and the account of what each must still receive.

use super::{Fixture, MAX_IDLE_STEPS};
use crate::{Packets, Rank, Refused, Streams, Transport};
use hpvm_wire::Head;
use std::collections::VecDeque;

/// What one try to send came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Sent,
    NoCredit,
    NoBuffer,
}

/// A packet that was sent and has not come.
struct Expected {
    head: Head,
    payload: Vec<u8>,
}

/// All endpoints of a job. Every packet that goes through it is checked on arrival: it must be the
/// oldest of its pair that has not come, header and bytes.
pub struct Cluster<'f, F: Fixture> {
    pub fixture: &'f mut F,
    pub ends: Vec<F::Endpoint>,
    pub dice: Dice,
    /// Credits held, by sender and receiver.
    credits: Vec<u32>,
    /// Packets on their way, by sender and receiver.
    expected: Vec<VecDeque<Expected>>,
}

impl<'f, F: Fixture> Cluster<'f, F> {
    pub fn new(fixture: &'f mut F, size: u32) -> Self {
        let ends = fixture.open(size);
        assert_eq!(ends.len(), size as usize, "the fixture made another number of endpoints");
        let pairs = ends.len() * ends.len();
        let dice = Dice(fixture.seed());
        Cluster {
            fixture,
            ends,
            dice,
            credits: vec![0; pairs],
            expected: (0..pairs).map(|_| VecDeque::new()).collect(),
        }
    }

    pub fn size(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Tries once to send `len` arbitrary bytes under an arbitrary header.
    pub fn attempt(&mut self, src: Rank, dst: Rank, len: usize) -> Attempt {
        if !self.has_credit(src, dst) {
            return Attempt::NoCredit;
        }
        let head = self.dice.head();
        let payload = self.dice.bytes(len);
        self.attempt_this(src, dst, head, payload)
    }

    /// Whether `src` holds a credit toward `dst`, perhaps a new one.
    fn has_credit(&mut self, src: Rank, dst: Rank) -> bool {
        let pair = self.pair(src, dst);
        if self.credits[pair] == 0 {
            self.credits[pair] = u32::from(self.ends[src as usize].take_credits(dst));
        }
        self.credits[pair] > 0
    }

    /// Tries once to send this packet.
    pub fn attempt_this(&mut self, src: Rank, dst: Rank, head: Head, payload: Vec<u8>) -> Attempt {
        self.attempt_so(src, dst, (head, payload), false)
    }

    /// As `attempt_this`; it may leave `with_next`, or at once.
    pub fn attempt_so(
        &mut self,
        src: Rank,
        dst: Rank,
        (head, payload): (Head, Vec<u8>),
        with_next: bool,
    ) -> Attempt {
        if !self.has_credit(src, dst) {
            return Attempt::NoCredit;
        }
        let pair = self.pair(src, dst);
        let mut filled = false;
        let fill = |to: &mut [u8]| {
            assert_eq!(to.len(), payload.len(), "room of another size than asked for");
            to.copy_from_slice(&payload);
            filled = true;
        };
        let (end, len) = (&mut self.ends[src as usize], payload.len());
        let outcome = match with_next {
            true => end.send_with_next(dst, head, len, fill),
            false => end.send(dst, head, len, fill),
        };
        assert_eq!(filled, outcome.is_ok(), "fill runs exactly when the packet is taken");
        match outcome {
            Ok(()) => {
                self.credits[pair] -= 1;
                self.expected[pair].push_back(Expected { head, payload });
                Attempt::Sent
            }
            Err(Refused::NoBuffer) => Attempt::NoBuffer,
        }
    }

    /// Sends `len` arbitrary bytes; both ends are polled while there is no room.
    pub fn send(&mut self, src: Rank, dst: Rank, len: usize) {
        for _ in 0..MAX_IDLE_STEPS {
            if self.attempt(src, dst, len) == Attempt::Sent {
                return;
            }
            self.poll(dst, 16);
            self.poll(src, 16);
            self.fixture.turn();
        }
        panic!("seed {}: {src} can't send {len} bytes to {dst}", self.fixture.seed());
    }

    /// Sends packets until nothing is taken for a while; nobody polls. How many were taken.
    pub fn flood(&mut self, src: Rank, dst: Rank, len: usize) -> usize {
        let limit = self.fixture.bound(self.size()) + 1;
        let (mut sent, mut refused) = (0, 0);
        while refused < 200 && sent < limit {
            if self.attempt(src, dst, len) == Attempt::Sent {
                sent += 1;
                refused = 0;
            } else {
                refused += 1;
                self.fixture.turn();
            }
        }
        sent
    }

    /// Polls `rank` once and checks what comes.
    pub fn poll(&mut self, rank: Rank, budget: usize) -> usize {
        let size = self.ends.len();
        let seed = self.fixture.seed();
        let expected = &mut self.expected;
        let mut seen = 0;
        let outcome = self.ends[rank as usize].poll(budget, |src, head, payload| {
            seen += 1;
            assert!((src as usize) < size, "seed {seed}: a packet of rank {src}, which is nobody");
            let next = expected[src as usize * size + rank as usize].pop_front();
            let Some(next) = next else {
                panic!("seed {seed}: {src} sent {rank} nothing more, but {head:?} came")
            };
            assert_eq!(head, next.head, "seed {seed}: header from {src} to {rank}");
            assert!(
                payload == next.payload,
                "seed {seed}: {} bytes came from {src} to {rank} that differ from the {} sent",
                payload.len(),
                next.payload.len()
            );
        });
        let delivered = match outcome {
            Ok(n) => n,
            Err(broken) => panic!("seed {seed}: poll of rank {rank}: {broken}"),
        };
        // Bytes of streams that move, greetings among them, count once.
        let end = &self.ends[rank as usize];
        let streams = (0..size as Rank).any(|peer| end.can_stream(peer, u64::MAX));
        assert!(
            delivered == seen || (streams && delivered == seen + 1),
            "seed {seed}: poll counts {delivered}, having made {seen} calls"
        );
        seen
    }

    /// Packets that were sent and have not come.
    pub fn on_the_way(&self) -> usize {
        self.expected.iter().map(VecDeque::len).sum()
    }

    /// Polls everybody until everything has come, and some more: nothing may come twice.
    pub fn deliver_all(&mut self) {
        let mut idle = 0;
        while self.on_the_way() > 0 {
            idle = if self.poll_everyone() > 0 { 0 } else { idle + 1 };
            assert!(
                idle < MAX_IDLE_STEPS,
                "seed {}: {} packets never came",
                self.fixture.seed(),
                self.on_the_way()
            );
        }
        for _ in 0..200 {
            self.poll_everyone();
        }
    }

    fn poll_everyone(&mut self) -> usize {
        self.fixture.turn();
        (0..self.size()).map(|rank| self.poll(rank, 64 * 64)).sum()
    }

    /// Lets time pass.
    pub fn rest(&mut self, turns: u32) {
        for _ in 0..turns {
            self.fixture.turn();
        }
    }

    /// A payload size at which a transport changes its ways, or any other.
    pub fn some_size(&mut self) -> usize {
        let edges = edge_sizes(&self.ends[0]);
        match self.dice.below(2) {
            0 => edges[self.dice.below(edges.len())],
            _ => self.dice.below(self.ends[0].limits().packet + 1),
        }
    }

    fn pair(&self, src: Rank, dst: Rank) -> usize {
        src as usize * self.ends.len() + dst as usize
    }
}

/// The payload sizes at which a transport may change its ways.
pub fn edge_sizes(end: &impl Transport) -> Vec<usize> {
    let limits = end.limits();
    let edges = [
        0,
        1,
        7,
        8,
        9,
        limits.inline.saturating_sub(1),
        limits.inline,
        limits.inline + 1,
        limits.packet / 2,
        limits.packet.saturating_sub(1),
        limits.packet,
    ];
    edges.into_iter().filter(|e| *e <= limits.packet).collect()
}

/// A small generator (SplitMix64), so that the suite needs nothing from outside.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.roll() % n as u64) as usize }
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.roll().to_le_bytes()[..part.len()]);
        }
        bytes
    }

    /// Any header that a protocol may send.
    pub fn head(&mut self) -> Head {
        let r = self.roll();
        Head {
            handler: r as u8,
            flags: (r >> 8) as u8 & (Head::TRANSPORT - 1),
            aux: (r >> 16) as u16,
            imm: self.roll(),
        }
    }
}
