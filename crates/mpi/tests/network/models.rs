//! Packets of other programming models: in order, once, whatever waits where; queues do not grow for ever.

use crate::harness::{P, Part, Shared, hash};
use hpvm_mpi::engine::models::Polled;
use hpvm_sim::Turn;

const MODEL: usize = 1;

/// Sends packets to all and takes those of others, in turns when it likes to. Some processes take none for a long time.
pub struct Packets {
    shared: Shared,
    /// For each other process.
    each: u32,
    sent: u32,
    taken: Vec<u32>,
    turns: u64,
    quota: Option<usize>,
    /// Process 0 sends nothing, and so many bytes at most wait there.
    most: Option<usize>,
}

/// Turns for which some take nothing.
const HELD: u64 = 2000;

impl Packets {
    /// Process 1 floods process 0, where no more than `most` bytes may wait.
    pub fn flood(shared: &Shared, each: u32, most: usize) -> Packets {
        let sent = if shared.rank == 0 { each } else { 0 };
        Packets { quota: Some(4000), most: Some(most), sent, ..Packets::new(shared, each) }
    }

    pub fn new(shared: &Shared, each: u32) -> Packets {
        let quota = match hash(&[shared.seed, 901]) % 3 {
            0 => Some(0),
            1 => Some(hash(&[shared.seed, 902]) as usize % 4000),
            _ => None,
        };
        let taken = vec![0; shared.size as usize];
        Packets { shared: shared.clone(), each, sent: 0, taken, turns: 0, quota, most: None }
    }

    fn packet(&self, src: u32, number: u32, most: usize) -> Vec<u8> {
        let len = hash(&[self.shared.seed, src.into(), number.into(), 903]) as usize % (most + 1);
        let mut bytes = vec![number as u8; len.max(8)];
        bytes[..4].copy_from_slice(&src.to_le_bytes());
        bytes[4..8].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    fn take(&mut self, p: &mut P, most: usize) -> bool {
        let Some((src, bytes)) = p.take_model(MODEL, |src, bytes| (src, bytes.to_vec())) else {
            return self.turns.is_multiple_of(3) && self.poll(p, most);
        };
        self.came(src, &bytes, most);
        true
    }

    /// As a library does that waits.
    fn poll(&mut self, p: &mut P, most: usize) -> bool {
        let mut shown = Vec::new();
        // As many at once as it likes.
        let most_at_once = 1 + self.turns as usize % 3;
        let polled = p.poll_for_model(MODEL, 2, |src, bytes| {
            shown.push((src, bytes.to_vec()));
            shown.len() < most_at_once
        });
        match polled.expect("a whole network") {
            Polled::Packets(count) => assert_eq!(count, shown.len()),
            Polled::Other => assert!(shown.is_empty()),
            Polled::Nothing => return false,
        }
        shown.iter().for_each(|(src, bytes)| self.came(*src, bytes, most));
        true
    }

    fn came(&mut self, src: u32, bytes: &[u8], most: usize) {
        let number = self.taken[src as usize];
        let expected = self.packet(src, number, most);
        assert!(bytes == expected, "seed {}: packet {number} of {src}", self.shared.seed);
        self.taken[src as usize] += 1;
    }

    fn send(&mut self, p: &mut P, most: usize) -> bool {
        // As a library does, which waits while much has not left.
        if self.sent == self.each || p.unsent_of_model(MODEL) > 20 {
            return false;
        }
        let bytes = self.packet(self.shared.rank, self.sent, most);
        let (head, data) = bytes.split_at(bytes.len() / 3);
        for dst in 0..self.shared.size {
            p.send_model(MODEL, dst, [head, data]).expect("nobody dies");
        }
        self.sent += 1;
        true
    }
}

impl Part for Packets {
    fn turn(&mut self, p: &mut P) -> Turn {
        let most = p.fm().limits().packet.min(600);
        if let Some(quota) = self.quota.filter(|_| self.turns == 0) {
            p.set_model_quota(quota);
        }
        self.turns += 1;
        let mut worked = self.send(p, most);
        let holds = self.shared.rank.is_multiple_of(2) && self.turns < HELD;
        if !holds {
            worked |= self.take(p, most);
        }
        let waits = p.waiting_for_model(MODEL);
        let bounded = self.shared.rank != 0 || self.most.is_none_or(|most| waits <= most);
        assert!(bounded, "seed {}: {waits} bytes wait", self.shared.seed);
        let senders = usize::from(self.most.is_some())..;
        let all = self.taken[senders].iter().all(|taken| *taken == self.each);
        let done = self.sent == self.each && all;
        match (done, worked || holds) {
            (true, _) => Turn::Done,
            (_, true) => Turn::Worked,
            _ => Turn::Idle,
        }
    }
}
