//! Processes as state machines: each has parts, which start operations and look after them.

use hpvm_mpi::pt2pt::select::{DEFAULT, Thresholds};
use hpvm_mpi::{Outcome, Process, ReqId};
use hpvm_sim::{
    BulkCounters, Config, Network, SimTransport, Statistics, StreamConfig, Streaming, Streams, Turn,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

pub type P = Process<Streaming<SimTransport>>;

/// Work of one process.
pub trait Part {
    /// Starts what may be started and checks what has ended.
    fn turn(&mut self, p: &mut P) -> Turn;
}

/// How often each event has happened, in all processes together.
type Notes = Rc<RefCell<HashMap<Event, u32>>>;
pub type Event = (u64, u64, u64);

/// What all processes of a run know: numbers only, and notes for checks across processes.
#[derive(Clone)]
pub struct Shared {
    pub seed: u64,
    pub rank: u32,
    pub size: u32,
    notes: Notes,
}

impl Shared {
    /// Counts an event; returns how often it has happened now.
    pub fn note(&self, event: Event) -> u32 {
        let mut notes = self.notes.borrow_mut();
        let count = notes.entry(event).or_insert(0);
        *count += 1;
        *count
    }

    pub fn noted(&self, event: Event) -> u32 {
        self.notes.borrow().get(&event).copied().unwrap_or(0)
    }
}

/// A generator of its own for every use, so that all processes can repeat it.
pub fn hash(words: &[u64]) -> u64 {
    let mut h = 0x9e37_79b9_7f4a_7c15u64;
    for w in words {
        h = (h ^ w).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^= h >> 32;
        h = h.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 29;
    }
    h
}

/// The outcome of a request that has ended. It must be without error.
pub fn ended(p: &mut P, id: ReqId, what: &dyn std::fmt::Debug) -> Option<Outcome> {
    assert!(p.requests().get(id).is_some(), "{what:?}: its request is gone");
    let outcome = p.take_outcome(id)?;
    if let Some(error) = &outcome.error {
        panic!("{what:?} failed: {error}");
    }
    Some(outcome)
}

/// The host of each process, as collectives are told: nothing, or up to five hosts with neighbours
/// on each, or without any order.
fn nodes(seed: u64, size: u32) -> Vec<u32> {
    let hosts = 1 + (hash(&[seed, 77]) % 5) as u32;
    match hash(&[seed, 78]) % 3 {
        0 => Vec::new(),
        1 => (0..size).map(|rank| rank * hosts / size).collect(),
        _ => (0..size).map(|rank| (hash(&[seed, 79, rank.into()]) % 5) as u32 % hosts).collect(),
    }
}

/// The site of each process: nothing, or up to four sites with hosts in a row on each, or without any order.
fn sites(seed: u64, nodes: &[u32]) -> Vec<u16> {
    let site = |node: u32| match hash(&[seed, 84]) % 3 {
        1 => node as u16 / 2,
        _ => (hash(&[seed, 85, node.into()]) % 4) as u16,
    };
    match hash(&[seed, 84]) % 3 {
        0 => Vec::new(),
        _ => nodes.iter().map(|node| site(*node)).collect(),
    }
}

struct Machine {
    process: P,
    parts: Vec<Box<dyn Part>>,
    /// Its parts are done and all that it has sent has come.
    finished: bool,
    /// Machines that are not finished: until there are none, all answer.
    unfinished: Rc<Cell<u32>>,
}

impl Machine {
    fn turn(&mut self, seed: u64) -> Turn {
        let p = &mut self.process;
        let mut worked = p.progress().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        while let Some(mut compute) = p.take_compute() {
            compute.run();
            p.computed(compute);
            worked = true;
        }
        let turns: Vec<Turn> = self.parts.iter_mut().map(|part| part.turn(p)).collect();
        worked |= turns.contains(&Turn::Worked);
        if turns.iter().all(|t| *t == Turn::Done) && !p.has_backlog() {
            assert_eq!(p.requests().live(), 0, "seed {seed}: requests are left");
            assert_eq!(p.queue_lengths(), (0, 0), "seed {seed}: messages are left");
            if !self.finished && !p.fm().transport().busy() {
                self.finished = true;
                self.unfinished.update(|n| n - 1);
            }
            if self.unfinished.get() == 0 {
                return Turn::Done;
            }
        }
        if worked { Turn::Worked } else { Turn::Idle }
    }
}

/// Thresholds under which messages of these tests travel in all ways, some in many steps.
pub fn thresholds(seed: u64) -> Thresholds {
    let max_step = match hash(&[seed, 82]) % 3 {
        0 => 256,
        1 => 1 + hash(&[seed, 83]) % 8192,
        _ => DEFAULT.max_step,
    };
    Thresholds { min_split_copy: 1, max_step, ..DEFAULT }
}

/// Runs a job in which every process has the parts that `parts` makes.
/// Returns what the network has counted.
pub fn run(config: Config, parts: impl Fn(&Shared) -> Vec<Box<dyn Part>>) -> Statistics {
    let streams = StreamConfig { least: u64::MAX, ..StreamConfig::calm() };
    run_with_streams(config, streams, parts).2
}

/// The same, with streams for large messages. Returns their books,
/// and what the network has counted.
pub fn run_with_streams(
    config: Config,
    streams: StreamConfig,
    parts: impl Fn(&Shared) -> Vec<Box<dyn Part>>,
) -> (Streams, BulkCounters, Statistics) {
    let network = Network::new(config);
    let streams = Streams::new(&network, streams);
    let (seed, size) = (network.seed(), network.size());
    let notes = Notes::default();
    let nodes = nodes(seed, size);
    let sites = sites(seed, &nodes);
    let unfinished = Rc::new(Cell::new(size));
    let machine = |rank| {
        let shared = Shared { seed, rank, size, notes: Rc::clone(&notes) };
        let endpoint = streams.endpoint(network.endpoint(rank));
        let mut process = Process::new(endpoint);
        process.set_sites(&nodes, &sites);
        process.set_thresholds(thresholds(seed));
        match hash(&[seed, 80]) % 3 {
            0 => process.set_quota(0),
            1 => process.set_quota(hash(&[seed, 81]) % 8192),
            _ => {}
        }
        let unfinished = Rc::clone(&unfinished);
        Machine { process, parts: parts(&shared), finished: false, unfinished }
    };
    let mut machines: Vec<Machine> = (0..size).map(machine).collect();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        network.run(10_000_000, &mut machines, |_, m| m.turn(seed));
    }));
    if let Err(cause) = ended {
        eprintln!("seed {seed}: streams: {}", streams.describe());
        for (rank, m) in machines.iter().enumerate() {
            eprintln!("  rank {rank}: {}", m.process.fm().transport().describe());
        }
        std::panic::resume_unwind(cause);
    }
    network.settle();
    let mut counters = BulkCounters::default();
    for (rank, m) in machines.iter_mut().enumerate() {
        counters += *m.process.fm().transport().bulk_counters();
        // What is still under way is of no consequence to anybody.
        m.process.progress().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert_eq!(m.process.queue_lengths(), (0, 0), "seed {seed}: rank {rank} got more");
        assert!(!m.process.fm().transport().busy(), "seed {seed}: rank {rank} streams on");
    }
    (streams, counters, network.statistics())
}
