//! Processes that send lists of packets, and the seeds to try them with.

use hpvm_sim::{Config, Network, SimTransport, Turn};
use hpvm_transport::{Broken, Head, Packets};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Each seed in turn; the first that fails is named.
pub fn for_each_seed(default: u64, check: impl Fn(u64)) {
    let number = |name| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let seeds = match number("HPVM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HPVM_SEEDS").unwrap_or(default),
    };
    for seed in seeds {
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| check(seed))) {
            eprintln!("failed with HPVM_SEED={seed}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// A process that sends a list of packets and counts what it gets.
pub struct Talker {
    pub end: SimTransport,
    /// Receiver and payload bytes of what is still to send.
    todo: VecDeque<(u32, usize)>,
    /// Credits held, by receiver.
    credits: Vec<u16>,
    /// Next packet number, by receiver and by sender.
    sent: Vec<u64>,
    received: Vec<u64>,
    pub expected: u64,
    pub lost: Option<Broken>,
}

impl Talker {
    pub fn turn(&mut self) -> Turn {
        let mut moved = self.send_some();
        let received = &mut self.received;
        let outcome = self.end.poll(4, |src, head, payload| {
            let number = &mut received[src as usize];
            assert_eq!(head.imm, *number, "packets of {src} out of order");
            assert!(payload.iter().all(|b| *b == number.to_le_bytes()[0]), "content of {src}");
            *number += 1;
        });
        match outcome {
            Ok(n) => moved |= n > 0,
            Err(broken) => {
                self.lost = Some(broken);
                return Turn::Done;
            }
        }
        match (self.todo.is_empty() && self.received.iter().sum::<u64>() == self.expected, moved) {
            (true, _) => Turn::Done,
            (false, true) => Turn::Worked,
            (false, false) => Turn::Idle,
        }
    }

    fn send_some(&mut self) -> bool {
        let Some(&(dst, len)) = self.todo.front() else { return false };
        let d = dst as usize;
        if self.credits[d] == 0 {
            self.credits[d] = self.end.take_credits(dst);
        }
        if self.credits[d] == 0 {
            return false;
        }
        let number = self.sent[d];
        let fill = |to: &mut [u8]| to.fill(number.to_le_bytes()[0]);
        if self.end.send(dst, Head::single(1, number), len, fill).is_err() {
            return false;
        }
        self.credits[d] -= 1;
        self.sent[d] += 1;
        self.todo.pop_front();
        true
    }
}

/// A network that `config` makes of a size and a seed, with a random list of at most `most`
/// packets for each process.
pub fn talkers(seed: u64, most: usize, config: fn(u32, u64) -> Config) -> (Network, Vec<Talker>) {
    let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(31));
    let size = random.u32(1..=6);
    let config = config(size, seed);
    let packet = config.limits.packet;
    let network = Network::new(config);
    let mut expected = vec![0; size as usize];
    let mut list = || {
        let count = random.usize(0..=most);
        let mut list = VecDeque::new();
        for _ in 0..count {
            let dst = random.u32(0..size);
            expected[dst as usize] += 1;
            list.push_back((dst, random.usize(0..=packet)));
        }
        list
    };
    let lists: Vec<_> = (0..size).map(|_| list()).collect();
    let make = |((end, todo), expected)| Talker {
        end,
        todo,
        credits: vec![0; size as usize],
        sent: vec![0; size as usize],
        received: vec![0; size as usize],
        expected,
        lost: None,
    };
    let all = network.endpoints().into_iter().zip(lists).zip(expected).map(make).collect();
    (network, all)
}
