//! Sends that are cancelled at some moment: each is cancelled or received, and none is both or neither.

use crate::harness::{Event, P, Part, Shared, hash, run, run_with_streams};
use crate::seeds;
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Comm, Group, ReqId};
use hpvm_sim::{Config, Reads, StreamConfig, Turn};
use std::sync::Arc;

const BASE: u32 = 300 * CONTEXTS;
const LARGEST: u64 = 40_000;

/// What the parts of a run tell one another of a message.
const CANCELLED: u64 = 1;
const COMPLETED: u64 = 2;
const RECEIVED: u64 = 3;

/// A message that this process sends to its right neighbour.
struct Sent {
    id: Option<ReqId>,
    bytes: Vec<u8>,
    /// Turns until it is cancelled.
    left: u64,
    over: bool,
}

/// A message that it receives from its left neighbour, maybe.
struct Received {
    id: Option<ReqId>,
    bytes: Vec<u8>,
    /// Turns until its receive is posted.
    left: u64,
    over: bool,
}

pub struct Cancels {
    shared: Shared,
    comm: Arc<Comm>,
    sent: Vec<Sent>,
    received: Vec<Received>,
}

impl Cancels {
    pub fn new(shared: &Shared, messages: u64) -> Cancels {
        let group = Group::list((0..shared.size).collect());
        let (seed, rank, size) = (shared.seed, shared.rank, shared.size);
        let left = (rank + size - 1) % size;
        let pause = |n: u64, what| hash(&[seed, rank.into(), n, what]) % 400;
        let sent = |n| Sent {
            id: None,
            bytes: vec![n as u8; len(seed, rank, n)],
            left: pause(n, 1),
            over: false,
        };
        let received = |n| Received {
            id: None,
            bytes: vec![0xff; len(seed, left, n)],
            left: pause(n, 2),
            over: false,
        };
        Cancels {
            shared: shared.clone(),
            comm: Comm::intra(BASE, group, rank).unwrap(),
            sent: (0..messages).map(sent).collect(),
            received: (0..messages).map(received).collect(),
        }
    }

    fn neighbour(&self, step: u32) -> u32 {
        (self.shared.rank + step) % self.shared.size
    }

    /// One turn of message `n` out. True: something was done.
    fn send(&mut self, p: &mut P, n: usize) -> bool {
        let (rank, to) = (self.shared.rank, self.neighbour(1));
        let m = &mut self.sent[n];
        let Some(id) = m.id else {
            let out = Outgoing {
                buf: m.bytes.as_ptr(),
                count: m.bytes.len() as i64,
                ty: Datatype::byte(),
            };
            let mode = match hash(&[self.shared.seed, rank.into(), n as u64, 3]).is_multiple_of(2) {
                true => Mode::Synchronous,
                false => Mode::Standard,
            };
            let context = self.comm.context(Channel::User);
            // SAFETY: the buffer lives as long as the process.
            match unsafe { p.send(out, to, context, n as i32, mode, None) } {
                Started::Pending(id) => m.id = Some(id),
                Started::Done => {
                    m.over = true;
                    self.shared.note((COMPLETED, rank.into(), n as u64));
                }
            }
            return true;
        };
        if m.left > 0 {
            m.left -= 1;
            if m.left == 0 {
                p.cancel(id);
            }
        }
        let Some(outcome) = p.take_outcome(id) else { return m.left > 0 };
        m.over = true;
        let end = if outcome.status.cancelled { CANCELLED } else { COMPLETED };
        self.shared.note((end, rank.into(), n as u64));
        true
    }

    /// One turn of message `n` in.
    fn receive(&mut self, p: &mut P, n: usize) -> bool {
        let (from, seed) = (self.neighbour(self.shared.size - 1), self.shared.seed);
        let known = |what| -> Event { (what, from.into(), n as u64) };
        let m = &mut self.received[n];
        let cancelled = self.shared.noted(known(CANCELLED)) != 0;
        let Some(id) = m.id else {
            m.over = cancelled;
            m.left = m.left.saturating_sub(1);
            if m.left == 0 && !cancelled {
                let into = Incoming {
                    buf: m.bytes.as_mut_ptr(),
                    count: m.bytes.len() as i64,
                    ty: Datatype::byte(),
                };
                let pattern = Pattern { src: from, tag: n as i32 };
                // SAFETY: the buffer lives as long as the process.
                m.id = Some(unsafe { p.recv(into, &self.comm, Channel::User, pattern, None) });
            }
            return true;
        };
        if let Some(outcome) = p.take_outcome(id) {
            assert!(!cancelled, "seed {seed}: message {n} of {from} was cancelled, and has come");
            assert!(outcome.error.is_none(), "seed {seed}: {:?}", outcome.error);
            assert!(m.bytes.iter().all(|b| *b == n as u8), "seed {seed}: message {n} of {from}");
            self.shared.note(known(RECEIVED));
            m.over = true;
        } else if cancelled {
            assert!(p.cancel(id), "seed {seed}: cancelled message {n} of {from} has a receive");
            p.take_outcome(id);
            m.over = true;
        } else {
            return false;
        }
        true
    }
}

/// Bytes of message `n` of `src`.
fn len(seed: u64, src: u32, n: u64) -> usize {
    let h = hash(&[seed, src.into(), n, 4]);
    (if h.is_multiple_of(3) { h / 3 % 100 } else { h / 3 % LARGEST }) as usize
}

impl Part for Cancels {
    fn turn(&mut self, p: &mut P) -> Turn {
        let mut worked = false;
        for n in 0..self.sent.len() {
            worked |= !self.sent[n].over && self.send(p, n);
            worked |= !self.received[n].over && self.receive(p, n);
        }
        let over = self.sent.iter().all(|m| m.over) && self.received.iter().all(|m| m.over);
        match (over, worked) {
            (true, _) => Turn::Done,
            (false, true) => Turn::Worked,
            (false, false) => Turn::Idle,
        }
    }
}

/// How many messages of a run ended in which way.
fn count(shared: &Shared, messages: u64, what: u64) -> u32 {
    let all = (0..shared.size).flat_map(|src| (0..messages).map(move |n| (what, src.into(), n)));
    all.map(|event| shared.noted(event)).sum()
}

#[test]
fn a_cancelled_send_is_cancelled_or_received() {
    const MESSAGES: u64 = 20;
    let (mut cancelled, mut received) = (0, 0);
    for seed in seeds(40_000, 300) {
        let size = 1 + (seed % 4) as u32;
        let notes = std::cell::OnceCell::new();
        let parts = |shared: &Shared| -> Vec<Box<dyn Part>> {
            notes.get_or_init(|| shared.clone());
            vec![Box::new(Cancels::new(shared, MESSAGES))]
        };
        match seed % 3 {
            0 => drop(run(Config::random(size, seed), parts)),
            1 => drop(run(Config::lossy(size, seed), parts)),
            _ => {
                let config = Config { reads: Reads::Never, ..Config::random(size, seed) };
                run_with_streams(config, StreamConfig::random(seed), parts);
            }
        }
        let shared = notes.get().unwrap();
        let of = |what| count(shared, MESSAGES, what);
        assert_eq!(of(CANCELLED) + of(COMPLETED), size * MESSAGES as u32, "seed {seed}");
        assert_eq!(of(COMPLETED), of(RECEIVED), "seed {seed}");
        cancelled += of(CANCELLED);
        received += of(RECEIVED);
    }
    if ["HPVM_SEED", "HPVM_SEEDS"].iter().all(|name| std::env::var_os(name).is_none()) {
        assert!(cancelled > 1000 && received > 1000, "{cancelled} cancelled, {received} received");
    }
}
