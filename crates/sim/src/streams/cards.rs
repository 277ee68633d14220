//! Virtual network cards: they read memory that another process has exposed, piece by piece, and fail now and then.

use super::StreamConfig;
use hpvm_transport::{Exposed, Rank, Streamed};
use std::collections::HashMap;

/// Ticks for which two processes reach each other by their cards, or do not.
const SPELL: u64 = 64;

/// A read under way.
struct Read {
    reader: Rank,
    /// Whose memory, and its key.
    from: (Rank, u64),
    to: *mut u8,
    len: usize,
    have: usize,
    cookie: u64,
    /// Before so many bytes.
    fails: Option<usize>,
    due: u64,
}

/// The cards of all processes.
pub(super) struct Cards {
    random: fastrand::Rng,
    seed: u64,
    percent: u8,
    fail_percent: u8,
    delay: core::ops::RangeInclusive<u64>,
    part: usize,
    /// Exposed memory by owner and key.
    exposed: HashMap<(Rank, u64), (*const u8, usize)>,
    /// The keys by owner and number.
    keys: HashMap<(Rank, u64), u64>,
    next_key: u64,
    reads: Vec<Read>,
    ended: Vec<(Rank, Streamed)>,
    /// Reads that came to a good end, and to a bad one.
    pub came: u64,
    pub failed: u64,
}

impl Cards {
    pub fn new(config: &StreamConfig) -> Cards {
        Cards {
            random: fastrand::Rng::with_seed(config.seed ^ 0x6361_7264),
            seed: config.seed,
            percent: config.rdma_percent,
            fail_percent: config.rdma_fail_percent,
            delay: config.delay.clone(),
            part: config.part.max(1),
            exposed: HashMap::new(),
            keys: HashMap::new(),
            next_key: 1 << 20,
            reads: Vec::new(),
            ended: Vec::new(),
            came: 0,
            failed: 0,
        }
    }

    /// Whether two processes reach each other by their cards at this time.
    pub fn reach(&self, a: Rank, b: Rank, now: u64) -> bool {
        let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        let seed = self.seed ^ pair.rotate_left(17) ^ (now / SPELL).wrapping_mul(0x9e37_79b9);
        self.percent > 0 && a != b && fastrand::Rng::with_seed(seed).u8(0..100) < self.percent
    }

    pub fn expose(&mut self, owner: Rank, number: u64, from: *const u8, len: usize) -> Exposed {
        let key = *self.keys.entry((owner, number)).or_insert_with(|| {
            self.next_key += 1;
            self.next_key
        });
        let before = self.exposed.insert((owner, key), (from, len));
        assert!(before.is_none_or(|before| before == (from, len)), "{number:#x} is exposed twice");
        Exposed { address: from.addr() as u64, key }
    }

    pub fn conceal(&mut self, owner: Rank, number: u64) {
        if let Some(key) = self.keys.remove(&(owner, number)) {
            self.exposed.remove(&(owner, key));
        }
    }

    /// Nothing is exposed and nothing is read.
    pub fn are_idle(&self) -> bool {
        self.exposed.is_empty() && self.reads.is_empty() && self.ended.is_empty()
    }

    pub fn begin(
        &mut self,
        reader: Rank,
        from: (Rank, Exposed),
        (to, len): (*mut u8, usize),
        cookie: u64,
        now: u64,
    ) {
        assert!(len > 0, "a read of nothing");
        let bad = self.random.u8(0..100) < self.fail_percent;
        let fails = bad.then(|| self.random.usize(0..=len));
        let from = (from.0, from.1.key);
        let due = now + self.random.u64(self.delay.clone());
        self.reads.push(Read { reader, from, to, len, have: 0, cookie, fails, due });
    }

    /// Moves some bytes of the reads of one process.
    pub fn pump(&mut self, reader: Rank, now: u64) {
        for read in self.reads.iter_mut().filter(|read| read.reader == reader && read.due <= now) {
            let until = read.fails.unwrap_or(read.len);
            let len = self.random.usize(1..=self.part).min(until - read.have);
            let exposed = self.exposed.get(&read.from);
            let (from, room) = *exposed.expect("memory that is read stays exposed");
            assert!(read.len <= room, "a read of {} bytes of {room}", read.len);
            // SAFETY: the owner vouches for `room` bytes until it conceals them, and the reader for `len` bytes until it has been
            // told the end.
            unsafe { from.add(read.have).copy_to_nonoverlapping(read.to.add(read.have), len) };
            read.have += len;
            read.due = now + self.random.u64(self.delay.clone());
        }
        let (ended, failed, came) = (&mut self.ended, &mut self.failed, &mut self.came);
        self.reads.retain(|read| {
            let over = read.have == read.fails.unwrap_or(read.len);
            if over && read.fails.is_some() {
                *failed += 1;
                ended.push((read.reader, Streamed::NotRead(read.cookie)));
            } else if over {
                *came += 1;
                ended.push((read.reader, Streamed::Read(read.cookie)));
            }
            !over
        });
    }

    /// Whether that process reads, or has not been told an end.
    pub fn is_reading(&self, reader: Rank) -> bool {
        self.reads.iter().any(|read| read.reader == reader) || self.has_ended(reader)
    }

    pub fn has_ended(&self, reader: Rank) -> bool {
        self.ended.iter().any(|(rank, _)| *rank == reader)
    }

    pub fn ended(&mut self, reader: Rank) -> Option<Streamed> {
        let index = self.ended.iter().position(|(rank, _)| *rank == reader)?;
        Some(self.ended.remove(index).1)
    }
}
