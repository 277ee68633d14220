//! A job in which every rank accesses the memory of every other at random, and a sequential model of that memory.
//!
//! A region has an area for each rank, which only that rank puts to and gets from: it knows at any time what must be
//! there. And it has elements that all update: what each update fetched, and the sum at the end, tell whether any was
//! lost, doubled or torn.

use crate::common::{PAIRS, Pairs};
use fastrand::Rng;
use hpvm_fm::{Broken, Fm};
use hpvm_onesided::{
    Allowed, AtomicOp, Error, Kind, Message, OneSided, OpId, Path, RegionKey, Run, Target, Update,
};
use hpvm_sim::{Config, Network, SimTransport, Turn};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of a part of an area that one operation accesses.
const SLOT: usize = 600;
/// Slots of an area.
const SLOTS: usize = 6;
/// Where the elements lie that all update.
const COUNTER: u64 = 0;
const TOKEN: u64 = 8;
const SWAPPED: u64 = 16;
const REAL: u64 = 24;
const SHORTS: u64 = 32;
const PAIR: u64 = 48;
/// Elements of an array that is updated as a whole.
const ARRAY: u64 = 64;
const ARRAY_LEN: usize = 150;
/// Where the areas begin.
const AREAS: usize = ARRAY as usize + 8 * ARRAY_LEN;

/// What is run.
#[derive(Clone, Copy)]
pub struct Job {
    pub allowed: Allowed,
    /// Of each rank.
    pub operations: u32,
    /// A rank that dies, and when.
    pub kill: Option<(u32, u64)>,
}

/// Tokens that were put in, and taken out.
type Tokens = (Vec<u64>, Vec<u64>);

/// What all ranks of a job know of one another.
#[derive(Default)]
struct Shared {
    keys: RefCell<Vec<RegionKey>>,
    unfinished: Cell<u32>,
    /// By target: what the counter was before each update, in the order in which that was learnt.
    counted: RefCell<HashMap<u32, Vec<u64>>>,
    /// By target.
    tokens: RefCell<HashMap<u32, Tokens>>,
    /// By target: what was added to reals and the others, times.
    sums: RefCell<HashMap<(u32, u64), u64>>,
    /// Successful swaps, by target.
    swapped: RefCell<HashMap<u32, u64>>,
    /// Model messages that were sent and came, by sender and receiver.
    posted: RefCell<HashMap<(u32, u32), (u64, u64)>>,
}

impl Shared {
    fn add(&self, target: u32, place: u64, what: u64) {
        *self.sums.borrow_mut().entry((target, place)).or_insert(0) += what;
    }
}

/// What an operation under way must have come to.
enum Check {
    Nothing,
    /// The bytes of a get.
    Bytes(Vec<u8>),
    Counter,
    Token,
    Swap {
        compare: u64,
    },
    Fails,
}

struct Pending {
    id: Option<OpId>,
    target: u32,
    /// What the operation reads or writes.
    local: Vec<u8>,
    /// Operands and the like.
    _operand: Vec<u8>,
    check: Check,
}

struct Machine {
    seed: u64,
    rank: u32,
    rng: Rng,
    fm: Fm<SimTransport>,
    onesided: OneSided,
    /// What this rank exposes.
    memory: Vec<u64>,
    targets: Vec<Target>,
    /// What must be in our areas at each rank.
    mirrors: Vec<Vec<u8>>,
    pending: Vec<Pending>,
    flushes: Vec<OpId>,
    /// Whether operations are flushed while they are under way, or when they are done.
    early: bool,
    left: u32,
    /// What the next compare-and-swap at each rank compares with.
    expects: Vec<u64>,
    finished: bool,
    shared: Rc<Shared>,
}

/// Runs a job to its end and compares the memory with the model.
pub fn run(config: Config, job: Job) {
    let (size, seed) = (config.size, config.seed);
    let network = Network::new(config);
    let shared = Rc::new(Shared::default());
    shared.unfinished.set(size);
    let mut machines: Vec<Machine> = network
        .endpoints()
        .into_iter()
        .map(|endpoint| Machine::new(endpoint, seed, job, shared.clone()))
        .collect();
    let mut killed = false;
    let mut turns = 0u64;
    let doomed = network.clone();
    network.run(40_000_000, &mut machines, |rank, machine| {
        turns += 1;
        if let Some((victim, when)) = job.kill
            && !killed
            && turns >= when
        {
            killed = true;
            doomed.kill(victim);
            if rank == victim {
                return Turn::Idle;
            }
        }
        machine.turn(killed)
    });
    if !killed {
        machines.iter().for_each(|machine| machine.check_memory(size));
    }
}

impl Machine {
    fn new(endpoint: SimTransport, seed: u64, job: Job, shared: Rc<Shared>) -> Machine {
        let mut fm = Fm::new(endpoint);
        let (rank, size) = (fm.rank(), fm.size());
        let mut onesided = OneSided::new(rank);
        onesided.set_allowed(job.allowed);
        onesided.register_apply(PAIRS..PAIRS + 1, Box::new(Pairs));
        let bytes = AREAS + size as usize * SLOT * SLOTS;
        let mut memory = vec![0u64; bytes.div_ceil(8)];
        // SAFETY: the memory lives as long as the machine.
        let key = unsafe { onesided.expose(&mut fm, memory.as_mut_ptr().cast(), bytes, 2) };
        shared.keys.borrow_mut().push(RegionKey::from_bytes(&key.to_bytes()));
        Machine {
            seed,
            rank,
            rng: Rng::with_seed(seed ^ u64::from(rank) << 40 ^ 0x0de1),
            fm,
            onesided,
            memory,
            targets: Vec::new(),
            mirrors: vec![vec![0; SLOT * SLOTS]; size as usize],
            pending: Vec::new(),
            flushes: Vec::new(),
            early: false,
            left: job.operations,
            expects: vec![0; size as usize],
            finished: false,
            shared,
        }
    }

    fn turn(&mut self, killed: bool) -> Turn {
        let mut faults = Vec::new();
        let onesided = &mut self.onesided;
        let extracted = self.fm.extract(4096, |src, head, data| {
            faults.extend(onesided.on_packet(src, head, data).err());
        });
        let mut worked = match extracted {
            Ok(packets) => packets != 0,
            Err(Broken::PeerLost { .. }) if killed => return Turn::Done,
            Err(broken) => panic!("seed {}: {broken}", self.seed),
        };
        assert_eq!(faults, [] as [String; 0], "seed {}", self.seed);
        worked |= self.onesided.has_work() && self.onesided.drain(&mut self.fm);
        self.take_messages();
        if self.targets.is_empty() {
            let keys = self.shared.keys.borrow().clone();
            let attach = |key| self.onesided.attach(&mut self.fm, key).expect("a way");
            self.targets = keys.iter().map(attach).collect();
            worked = true;
        }
        worked |= self.advance();
        if self.left == 0 && self.pending.is_empty() && self.flushes.is_empty() && !self.finished {
            self.finished = true;
            self.shared.unfinished.update(|n| n - 1);
        }
        let awaits_message = || {
            let posted = self.shared.posted.borrow();
            posted.iter().any(|((_, dst), (sent, came))| *dst == self.rank && sent != came)
        };
        if self.shared.unfinished.get() == 0 && !self.onesided.has_work() && !awaits_message() {
            return Turn::Done;
        }
        if worked { Turn::Worked } else { Turn::Idle }
    }

    fn take_messages(&mut self) {
        for Message { src, region, code, word } in self.onesided.take_messages() {
            assert_eq!((region, code), (0, 99), "seed {}", self.seed);
            let mut posted = self.shared.posted.borrow_mut();
            let (_, came) = posted.get_mut(&(src, self.rank)).expect("it was sent");
            assert_eq!(word, *came, "seed {}: messages of rank {src} are out of order", self.seed);
            *came += 1;
        }
    }

    /// Starts operations, then flushes them, then looks at what they came to.
    fn advance(&mut self) -> bool {
        let onesided = &mut self.onesided;
        let under_way = self.pending.iter().any(|p| p.id.is_some_and(|id| !onesided.is_done(id)));
        if under_way && !self.early {
            return false;
        }
        if !self.flushes.is_empty() {
            if self.flushes.iter().any(|id| !onesided.is_done(*id)) {
                return false;
            }
            for id in std::mem::take(&mut self.flushes) {
                onesided.forget(id).unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
            }
            assert!(!under_way, "seed {}: a flush ended before what it flushes", self.seed);
        } else if !self.pending.is_empty() && self.flush() {
            return true;
        }
        let pending = std::mem::take(&mut self.pending);
        pending.into_iter().for_each(|pending| self.look_at(pending));
        if self.left == 0 {
            return false;
        }
        let batch = self.rng.u32(1..=8).min(self.left);
        self.left -= batch;
        let mut used = Vec::new();
        self.early = self.rng.bool();
        (0..batch).for_each(|_| self.start(&mut used));
        true
    }

    /// True when there is something to wait for.
    fn flush(&mut self) -> bool {
        for target in &self.targets {
            let flush = self.onesided.flush(&mut self.fm, target);
            self.flushes.extend(flush.unwrap_or_else(|e| panic!("seed {}: {e}", self.seed)));
        }
        !self.flushes.is_empty()
    }

    fn start(&mut self, used: &mut Vec<(u32, usize)>) {
        let target = self.rng.u32(..self.targets.len() as u32);
        let slot = self.rng.usize(..SLOTS);
        match self.rng.u8(..14) {
            kind @ 0..5 if !used.contains(&(target, slot)) => {
                used.push((target, slot));
                self.transfer(target, slot, kind);
            }
            5 => self.count(target),
            6 => self.swap_token(target),
            7 => self.swap_if(target),
            8 => self.add(target),
            9 => self.add_array(target),
            10 => self.mistake(target),
            11 | 12 if !used.contains(&(target, slot)) => {
                used.push((target, slot));
                self.row(target, slot);
            }
            _ => self.post(target),
        }
    }

    /// A put or a get in one of our slots at `target`.
    fn transfer(&mut self, target: u32, slot: usize, kind: u8) {
        let area = AREAS + (self.rank as usize * SLOTS + slot) * SLOT;
        let (first, len) = (self.rng.usize(..SLOT), self.rng.usize(..=SLOT));
        let len = len.min(SLOT - first);
        let mirror = slot * SLOT + first;
        let offset = (area + first) as u64;
        let to = self.targets[target as usize];
        let puts = kind < 3;
        let mut local: Vec<u8> =
            (0..len).map(|_| if puts { self.rng.u8(..) } else { 0xee }).collect();
        let at = local.as_mut_ptr();
        let (fm, onesided) = (&mut self.fm, &mut self.onesided);
        let step = self.rng.usize(1..=97);
        let runs = move || {
            let run = move |i: usize| Run {
                local: at.wrapping_add(i),
                offset: offset + i as u64,
                len: step.min(len - i),
            };
            Box::new((0..len).step_by(step).map(run))
        };
        // SAFETY: `local` is kept until the operation is done.
        let id = unsafe {
            match kind {
                0 | 1 => onesided.put(fm, &to, offset, at, len),
                2 => onesided.put_runs(fm, &to, runs()),
                3 => onesided.get(fm, &to, offset, at, len),
                _ => onesided.get_runs(fm, &to, runs()),
            }
        };
        let mirror = &mut self.mirrors[target as usize][mirror..mirror + len];
        let check = match puts {
            true => {
                mirror.copy_from_slice(&local);
                Check::Nothing
            }
            false => Check::Bytes(mirror.to_vec()),
        };
        self.keep(id, target, local, Vec::new(), check);
    }

    /// Small puts in a row to one of our slots at `target`, of which later ones write over earlier ones. Not where the kernel copies: a
    /// put by it overtakes one that it has refused. Half of the rows end with a notice, a message of the model, behind which nothing is
    /// asked: what comes later finds the bytes there.
    fn row(&mut self, target: u32, slot: usize) {
        let area = AREAS + (self.rank as usize * SLOTS + slot) * SLOT;
        let to = self.targets[target as usize];
        let puts = if to.path() == Path::CrossMemory { 0 } else { self.rng.usize(1..=200) };
        let before_notice = self.rng.bool();
        let longest = if before_notice && self.rng.bool() { SLOT } else { 16 };
        for _ in 0..puts {
            let len = self.rng.usize(1..=longest);
            let first = self.rng.usize(..=SLOT - len);
            let local: Vec<u8> = (0..len).map(|_| self.rng.u8(..)).collect();
            let (fm, onesided) = (&mut self.fm, &mut self.onesided);
            let offset = (area + first) as u64;
            let at = local.as_ptr();
            // SAFETY: `local` is kept until the operation is done.
            let id = unsafe {
                match before_notice {
                    true => onesided.put_before_notice(fm, &to, offset, at, len),
                    false => onesided.put(fm, &to, offset, at, len),
                }
            };
            self.mirrors[target as usize][slot * SLOT + first..][..len].copy_from_slice(&local);
            self.keep(id, target, local, Vec::new(), Check::Nothing);
        }
        if before_notice {
            let flush = self.onesided.flush_before_notice(&mut self.fm, &to);
            if let Some(id) = flush.unwrap_or_else(|e| panic!("seed {}: {e}", self.seed)) {
                let _ = self.onesided.forget(id);
            }
            self.post(target);
        }
    }

    fn keep(
        &mut self,
        id: Result<Option<OpId>, Box<Error>>,
        target: u32,
        local: Vec<u8>,
        operand: Vec<u8>,
        check: Check,
    ) {
        let id = id.unwrap_or_else(|e| panic!("seed {}: {e}", self.seed));
        self.pending.push(Pending { id, target, local, _operand: operand, check });
    }

    /// One update; the element before goes to memory that is kept.
    fn update(
        &mut self,
        target: u32,
        at: u64,
        what: (Kind, AtomicOp),
        operand: &[u8],
        check: Check,
    ) {
        let to = self.targets[target as usize];
        let operand = operand.to_vec();
        let mut local = vec![0; operand.len()];
        let (fm, onesided) = (&mut self.fm, &mut self.onesided);
        // SAFETY: both are kept until the operation is done.
        let id = unsafe {
            let fetch = Some(local.as_mut_ptr());
            onesided.accumulate(fm, &to, at, what.0, what.1, operand.as_ptr(), 1, fetch)
        };
        self.keep(id, target, local, operand, check);
    }

    fn count(&mut self, target: u32) {
        let one = 1u64.to_ne_bytes();
        self.update(target, COUNTER, (Kind::U64, AtomicOp::Sum), &one, Check::Counter);
    }

    fn swap_token(&mut self, target: u32) {
        let token = self.rng.u64(1..);
        self.shared.tokens.borrow_mut().entry(target).or_default().0.push(token);
        let token = token.to_ne_bytes();
        self.update(target, TOKEN, (Kind::I64, AtomicOp::Replace), &token, Check::Token);
    }

    fn swap_if(&mut self, target: u32) {
        let to = self.targets[target as usize];
        let compare = self.expects[target as usize];
        let operand = [compare.to_ne_bytes(), (compare + 1).to_ne_bytes()].concat();
        let mut local = vec![0; 8];
        let (fm, onesided) = (&mut self.fm, &mut self.onesided);
        // SAFETY: both are kept until the operation is done.
        let id = unsafe {
            let (compare, swap) = (operand.as_ptr(), operand[8..].as_ptr());
            onesided.compare_and_swap(
                fm,
                &to,
                SWAPPED,
                Kind::U64,
                compare,
                swap,
                local.as_mut_ptr(),
            )
        };
        self.keep(id, target, local, operand, Check::Swap { compare });
    }

    /// Adds to a real number, to one of several short ones in a word, or to a pair.
    fn add(&mut self, target: u32) {
        match self.rng.u8(..3) {
            0 => {
                self.shared.add(target, REAL, 3);
                let three = 3f64.to_ne_bytes();
                self.update(target, REAL, (Kind::F64, AtomicOp::Sum), &three, Check::Nothing);
            }
            1 => {
                let at = SHORTS + 2 * self.rng.u64(..4);
                self.shared.add(target, at, 5);
                self.update(target, at, (Kind::I16, AtomicOp::Sum), &[5, 0], Check::Nothing);
            }
            _ => {
                self.shared.add(target, PAIR, 1);
                let pair = [1u64.to_ne_bytes(), 2u64.to_ne_bytes()].concat();
                self.update(
                    target,
                    PAIR,
                    (Kind::Other(PAIRS), AtomicOp::Sum),
                    &pair,
                    Check::Nothing,
                );
            }
        }
    }

    /// Adds 1 to every element of the array, in runs, without asking what was there.
    fn add_array(&mut self, target: u32) {
        let to = self.targets[target as usize];
        self.shared.add(target, ARRAY, 1);
        let operand = 1u32.to_ne_bytes().repeat(2 * ARRAY_LEN);
        let (at, step) = (operand.as_ptr(), self.rng.usize(1..=60));
        let update = move |i: usize| Update {
            operand: at.wrapping_add(4 * i),
            fetch: std::ptr::null_mut(),
            offset: ARRAY + 4 * i as u64,
            count: step.min(2 * ARRAY_LEN - i),
        };
        let updates = Box::new((0..2 * ARRAY_LEN).step_by(step).map(update));
        let (fm, onesided) = (&mut self.fm, &mut self.onesided);
        let what = (Kind::U32, AtomicOp::Sum, false);
        // SAFETY: the operands are kept until the operation is done.
        let id = unsafe { onesided.accumulate_runs(fm, &to, what, updates) };
        self.keep(id, target, Vec::new(), operand, Check::Nothing);
    }

    /// Asks for what is not there: through a region that was never exposed.
    fn mistake(&mut self, target: u32) {
        if target == self.rank {
            return;
        }
        let key = RegionKey { id: 5, control: 0, ..*self.targets[target as usize].key() };
        let to = self.onesided.attach(&mut self.fm, &key).expect("a way");
        if to.path() != hpvm_onesided::Path::Messages {
            return;
        }
        let mut local = vec![0; 8];
        let (fm, onesided) = (&mut self.fm, &mut self.onesided);
        // SAFETY: the memory is kept until the operation is done.
        let id = unsafe { onesided.get(fm, &to, 0, local.as_mut_ptr(), 8) };
        self.keep(id, target, local, Vec::new(), Check::Fails);
    }

    fn post(&mut self, target: u32) {
        let mut posted = self.shared.posted.borrow_mut();
        let (sent, _) = posted.entry((self.rank, target)).or_default();
        let key = *self.targets[target as usize].key();
        self.onesided.post_message(&mut self.fm, &key, 99, *sent);
        *sent += 1;
    }

    fn look_at(&mut self, pending: Pending) {
        let Pending { id, target, local, check, .. } = pending;
        let seed = self.seed;
        let outcome = id.map_or(Ok(()), |id| self.onesided.forget(id));
        if let Check::Fails = check {
            let expected = Error::NotExposed { rank: target, region: 5 };
            assert_eq!(outcome.map_err(|e| *e), Err(expected), "seed {seed}");
            return;
        }
        outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let word = || u64::from_ne_bytes(local[..8].try_into().expect("a word"));
        match check {
            Check::Nothing | Check::Fails => {}
            Check::Bytes(expected) => {
                assert!(local == expected, "seed {seed}: a get from {target}")
            }
            Check::Counter => {
                self.shared.counted.borrow_mut().entry(target).or_default().push(word());
            }
            Check::Token => {
                self.shared.tokens.borrow_mut().entry(target).or_default().1.push(word());
            }
            Check::Swap { compare } => {
                let found = word();
                let expects = &mut self.expects[target as usize];
                *expects = found.max(*expects);
                if found == compare {
                    *expects = (*expects).max(compare + 1);
                    *self.shared.swapped.borrow_mut().entry(target).or_default() += 1;
                }
            }
        }
    }

    /// Compares our memory with what all ranks did to it.
    fn check_memory(&self, size: u32) {
        let (seed, me) = (self.seed, self.rank);
        let mut counted = self.shared.counted.borrow_mut().remove(&me).unwrap_or_default();
        counted.sort_unstable();
        assert!(counted.iter().copied().eq(0..self.word(COUNTER)), "seed {seed}: {counted:?}");
        let (mut put, mut taken) = self.shared.tokens.borrow_mut().remove(&me).unwrap_or_default();
        put.push(0);
        taken.push(self.word(TOKEN));
        put.sort_unstable();
        taken.sort_unstable();
        assert_eq!(put, taken, "seed {seed}: tokens were lost or doubled");
        let swapped = self.shared.swapped.borrow().get(&me).copied().unwrap_or(0);
        assert_eq!(self.word(SWAPPED), swapped, "seed {seed}");
        let sum = |at: u64| self.shared.sums.borrow().get(&(me, at)).copied().unwrap_or(0);
        assert_eq!(f64::from_bits(self.word(REAL)), sum(REAL) as f64, "seed {seed}");
        for i in 0..4 {
            let at = SHORTS + 2 * i;
            let found = self.word(SHORTS) >> (16 * i) & 0xffff;
            assert_eq!(found, sum(at), "seed {seed}: short {i}");
        }
        assert_eq!(
            (self.word(PAIR), self.word(PAIR + 8)),
            (sum(PAIR), 2 * sum(PAIR)),
            "seed {seed}"
        );
        let times = sum(ARRAY);
        for i in 0..ARRAY_LEN as u64 {
            assert_eq!(self.word(ARRAY + 8 * i), times | times << 32, "seed {seed}: element {i}");
        }
        for ((src, dst), (sent, came)) in self.shared.posted.borrow().iter() {
            assert_eq!(sent, came, "seed {seed}: messages from {src} to {dst}");
        }
        assert_eq!(size as usize, self.mirrors.len());
    }

    fn word(&self, at: u64) -> u64 {
        self.memory[at as usize / 8]
    }
}
