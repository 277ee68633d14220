//! What processes do, and what must come of it.
//!
//! Each initiator has an entry of its own at each target, so one memory for each pair tells what is there: puts that travel with their
//! headers are done in their order, and before or after a long operation on the same entry an initiator waits. A word is added
//! to by all.

use crate::net::{ARENA, BASE, SLOT, World};
use hpvm_portals::atomic::{Datatype, Op};
use hpvm_portals::*;
use std::collections::BTreeMap;

const WORD: u64 = 1;

/// What the events of an operation still have to say.
struct Expected {
    to: usize,
    sends: bool,
    acknowledged: bool,
    replies: bool,
    mlength: u64,
    /// What a get must have fetched, and where.
    fetched: Option<(usize, Vec<u8>)>,
    /// Where the word's old value is.
    old: Option<usize>,
    long: bool,
}

struct Run<'a> {
    world: &'a mut World,
    /// By initiator and target: the entry's bytes.
    shown: BTreeMap<(usize, usize), Vec<u8>>,
    /// By initiator: operations under way.
    expected: Vec<BTreeMap<u64, Expected>>,
    /// Old values of the word at each target.
    olds: Vec<Vec<u64>>,
    added: Vec<u64>,
    /// Operations that each target must have seen, by number of event.
    seen: Vec<BTreeMap<u8, u64>>,
    next: u64,
    /// By process: where the next operation's bytes are.
    free: Vec<u64>,
    seed: u64,
}

pub fn run(seed: u64, size: usize, operations: usize) {
    let mut world = World::new(seed, size);
    world.open_entries();
    let mut run = Run {
        shown: BTreeMap::new(),
        expected: (0..size).map(|_| BTreeMap::new()).collect(),
        olds: vec![Vec::new(); size],
        added: vec![0; size],
        seen: vec![BTreeMap::new(); size],
        next: 1,
        free: vec![0; size],
        world: &mut world,
        seed,
    };
    let mut left = operations;
    while left > 0 {
        let from = run.world.rng.below(size);
        if run.world.rng.below(3) == 0 && run.operate(from) {
            left -= 1;
        } else {
            run.world.step();
        }
        run.take_events();
    }
    while run.world.step() {
        run.take_events();
    }
    run.take_events();
    run.finish();
}

impl Run<'_> {
    /// Starts an operation. False: none can start now.
    fn operate(&mut self, from: usize) -> bool {
        let size = self.world.nodes.len();
        let to = self.world.rng.below(size);
        let choice = self.world.rng.below(5);
        let long = choice < 2 && self.world.rng.below(4) == 0;
        let busy = self.expected[from].values();
        let mut busy = busy.filter(|e| e.to == to);
        if busy.clone().any(|e| e.long) || (long && busy.next().is_some()) {
            return false;
        }
        let length = match choice {
            3 | 4 => 8,
            _ if long => {
                let least = if self.world.rng.below(2) == 0 { EAGER } else { PUSHED };
                least + 1 + self.world.rng.next() % 4000
            }
            _ => self.world.rng.next() % 200,
        };
        let local = self.free[from];
        if local + length > ARENA as u64 / 2 {
            // Where the first operations' bytes were: they are over.
            if self.expected[from].is_empty() {
                self.free[from] = 0;
            }
            return false;
        }
        self.free[from] += length;
        // Beyond the end of the entry, too.
        let remote = self.world.rng.next() % (SLOT + 100 - length.min(SLOT));
        let mlength = length.min(SLOT.saturating_sub(remote));
        match choice {
            0 | 2 => self.put(from, to, local, length, remote, mlength, long),
            1 => self.get(from, to, local, length, remote, mlength, long),
            3 => self.add(from, to, local, false),
            _ => self.add(from, to, local, true),
        }
        true
    }

    fn request(&self, from: usize, to: usize, verb: Verb, local: u64, length: u64) -> Request {
        let local = Local { descriptor: self.world.nodes[from].descriptor, offset: local };
        let gets = matches!(verb, Verb::Get | Verb::FetchAtomic(..));
        Request {
            verb,
            put: (verb != Verb::Get).then_some(local),
            get: gets.then_some(local),
            length,
            ack: Ack::Full,
            target: Target::Logical(to as u32),
            pt_index: 0,
            match_bits: 0,
            remote_offset: 0,
            user_ptr: self.next,
            hdr_data: self.next,
            operand: [0; OPERAND],
        }
    }

    fn begin(&mut self, from: usize, request: Request, expected: Expected) {
        let kind = match request.verb {
            Verb::Put => 2,
            Verb::Get => 0,
            Verb::Atomic(..) => 4,
            _ => 6,
        };
        *self.seen[expected.to].entry(kind).or_default() += 1;
        self.expected[from].insert(self.next, expected);
        self.next += 1;
        self.world.start(from, request);
    }

    #[expect(clippy::too_many_arguments, reason = "what a put is")]
    fn put(
        &mut self,
        from: usize,
        to: usize,
        local: u64,
        length: u64,
        remote: u64,
        mlength: u64,
        long: bool,
    ) {
        let bytes: Vec<u8> = (0..length).map(|_| self.world.rng.next() as u8).collect();
        let range = local as usize..(local + length) as usize;
        self.world.nodes[from].memory[range].copy_from_slice(&bytes);
        let shown = self.shown.entry((from, to)).or_insert_with(|| vec![0; SLOT as usize]);
        let at = (remote as usize).min(shown.len());
        shown[at..at + mlength as usize].copy_from_slice(&bytes[..mlength as usize]);
        let request =
            Request { remote_offset: remote, ..self.request(from, to, Verb::Put, local, length) };
        let (sends, acknowledged, replies) = (true, true, false);
        let expected =
            Expected { to, sends, acknowledged, replies, mlength, fetched: None, old: None, long };
        self.begin(from, request, expected);
    }

    #[expect(clippy::too_many_arguments, reason = "what a get is")]
    fn get(
        &mut self,
        from: usize,
        to: usize,
        local: u64,
        length: u64,
        remote: u64,
        mlength: u64,
        long: bool,
    ) {
        let shown = self.shown.entry((from, to)).or_insert_with(|| vec![0; SLOT as usize]);
        let at = (remote as usize).min(shown.len());
        let fetched = Some((local as usize, shown[at..at + mlength as usize].to_vec()));
        let request =
            Request { remote_offset: remote, ..self.request(from, to, Verb::Get, local, length) };
        let (sends, acknowledged, replies) = (false, false, true);
        let expected =
            Expected { to, sends, acknowledged, replies, mlength, fetched, old: None, long };
        self.begin(from, request, expected);
    }

    /// Adds 1 to the word of the target.
    fn add(&mut self, from: usize, to: usize, local: u64, fetches: bool) {
        let at = local as usize;
        self.world.nodes[from].memory[at..at + 8].copy_from_slice(&1u64.to_le_bytes());
        let (op, ty) = (Op::Sum, Datatype::Uint64);
        let verb = if fetches { Verb::FetchAtomic(op, ty) } else { Verb::Atomic(op, ty) };
        let request = Request { match_bits: WORD, ..self.request(from, to, verb, local, 8) };
        self.added[to] += 1;
        let expected = Expected {
            to,
            sends: true,
            acknowledged: !fetches,
            replies: fetches,
            mlength: 8,
            fetched: None,
            old: fetches.then_some(at),
            long: false,
        };
        self.begin(from, request, expected);
    }

    fn take_events(&mut self) {
        let seed = self.seed;
        for at in 0..self.world.nodes.len() {
            let (mine, others) = (self.world.nodes[at].mine, self.world.nodes[at].others);
            while let Ok((event, dropped)) = self.world.nodes[at].interface.queue_take(mine, |e| *e)
            {
                assert!(!dropped && event.fail == 0, "seed {seed}: {event:?}");
                self.initiator_event(at, &event);
            }
            while let Ok((event, dropped)) =
                self.world.nodes[at].interface.queue_take(others, |e| *e)
            {
                assert!(!dropped && event.fail == 0, "seed {seed}: {event:?}");
                let left = self.seen[at].get_mut(&event.kind).expect("an event of that kind");
                *left = left.checked_sub(1).expect("no more events than operations");
                let start = BASE + ARENA as u64 / 2;
                assert!(event.start >= start, "seed {seed}: {event:?}");
            }
        }
    }

    fn initiator_event(&mut self, at: usize, event: &FullEvent) {
        let seed = self.seed;
        let found = self.expected[at].get_mut(&event.user_ptr);
        let expected = found.unwrap_or_else(|| panic!("seed {seed}: {event:?} of no operation"));
        match event.kind {
            9 => assert!(std::mem::take(&mut expected.sends), "seed {seed}: {event:?}"),
            10 => {
                assert!(!expected.sends, "seed {seed}: acknowledged before it was sent");
                assert!(std::mem::take(&mut expected.acknowledged), "seed {seed}: {event:?}");
                assert_eq!(event.mlength, expected.mlength, "seed {seed}");
            }
            8 => {
                assert!(std::mem::take(&mut expected.replies), "seed {seed}: {event:?}");
                assert_eq!(event.mlength, expected.mlength, "seed {seed}");
                let memory = &self.world.nodes[at].memory;
                if let Some((place, bytes)) = &expected.fetched {
                    let found = &memory[*place..place + bytes.len()];
                    assert!(found == bytes, "seed {seed}: a get has other bytes");
                }
                if let Some(place) = expected.old {
                    let mut word = [0; 8];
                    word.copy_from_slice(&memory[place..place + 8]);
                    self.olds[expected.to].push(u64::from_le_bytes(word));
                }
            }
            kind => panic!("seed {seed}: event {kind} at an initiator"),
        }
        if !expected.sends && !expected.acknowledged && !expected.replies {
            self.expected[at].remove(&event.user_ptr);
        }
    }

    fn finish(mut self) {
        let seed = self.seed;
        for at in 0..self.world.nodes.len() {
            assert!(self.expected[at].is_empty(), "seed {seed}: operations of {at} are not over");
            assert!(
                self.seen[at].values().all(|left| *left == 0),
                "seed {seed}: events are missing"
            );
            let word = ARENA / 2 + self.world.nodes.len() * SLOT as usize;
            let node = &mut self.world.nodes[at];
            assert!(!node.interface.is_busy(), "seed {seed}: {at} is busy");
            assert_eq!(node.interface.release(node.descriptor), Ok(()), "seed {seed}");
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&node.memory[word..word + 8]);
            assert_eq!(u64::from_le_bytes(bytes), self.added[at], "seed {seed}: additions to {at}");
            // Each addition was seen by at most one as the value before.
            let olds = &mut self.olds[at];
            olds.sort_unstable();
            assert!(olds.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}: {olds:?}");
            assert!(olds.iter().all(|old| *old < self.added[at]), "seed {seed}");
        }
        for ((from, to), bytes) in &self.shown {
            let start = ARENA / 2 + from * SLOT as usize;
            let found = &self.world.nodes[*to].memory[start..start + bytes.len()];
            assert!(found == bytes, "seed {seed}: the entry of {from} at {to} has other bytes");
        }
    }
}
