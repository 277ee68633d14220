//! A job in which every rank writes, reads, updates, renames, frees and steals at random, and what must be seen.

mod script;
mod wire;

use fastrand::Rng;
use hpvm_fm::Broken;
use hpvm_sam::{Here, Machine, Name, Next, Settings};
use hpvm_sim::{Config, Network, SimTransport, Turn};
use script::{Op, accumulator_name, content_of, scripts};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use wire::Wire;

/// What is run.
#[derive(Clone, Copy)]
pub struct Job {
    /// Of all ranks together.
    pub operations: usize,
    /// That each rank adds in each of two phases.
    pub tasks: u32,
    pub cache: usize,
    /// A rank that dies, and when.
    pub kill: Option<(u32, u64)>,
}

/// Most bytes of a content, and most uses that a rank has at a time.
pub const LONGEST: usize = 700;
const USES: usize = 3;

/// What all ranks of a job know of one another.
#[derive(Default)]
pub struct Shared {
    unfinished: Cell<u32>,
    /// Messages under way.
    pub flying: Cell<i64>,
    written: RefCell<HashSet<Name>>,
    /// Reads of a value that are over.
    reads: RefCell<HashMap<Name, u32>>,
    /// Updates of an accumulator so far, and who updates it.
    updates: RefCell<HashMap<Name, u64>>,
    updater: RefCell<HashMap<Name, u32>>,
    /// Tasks added, and how often each was done.
    tasks: RefCell<HashMap<u64, u32>>,
    /// Tasks of each phase that were added and not done.
    open: RefCell<[i64; 2]>,
}

struct Player {
    seed: u64,
    rank: u32,
    rng: Rng,
    machine: Machine,
    wire: Wire,
    script: VecDeque<Op>,
    cache: usize,
    /// Uses that have begun, and for how many turns yet.
    uses: Vec<(Name, u32)>,
    /// An update under way: where, how long yet, and whether it is the last.
    update: Option<(Name, *mut u8, u32, Option<u64>)>,
    tasks: u32,
    phase: usize,
    /// Waits for a task.
    asking: bool,
    made: u64,
    finished: bool,
    shared: Rc<Shared>,
}

/// Runs a job to its end, and looks at what is left.
pub fn run(config: Config, job: Job) {
    let (size, seed) = (config.size, config.seed);
    let network = Network::new(config);
    let shared = Rc::new(Shared::default());
    shared.unfinished.set(size);
    let (scripts, left) = scripts(seed, size, job.operations);
    let mut players: Vec<Player> = network
        .endpoints()
        .into_iter()
        .zip(scripts)
        .map(|(endpoint, script)| Player::new(endpoint, seed, job, script, shared.clone()))
        .collect();
    let mut killed = false;
    let mut turns = 0u64;
    let doomed = network.clone();
    network.run(40_000_000, &mut players, |rank, player| {
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
        player.turn(killed)
    });
    if killed {
        return;
    }
    let owned: usize = players.iter().map(|player| player.machine.census().owned).sum();
    assert_eq!(owned, left, "seed {seed}: values that stay");
    for player in &players {
        let census = player.machine.census();
        assert_eq!((census.wanted, census.in_use), (0, 0), "seed {seed}: {census:?}");
        assert!(census.bytes <= job.cache, "seed {seed}: {census:?}");
    }
    assert!(shared.tasks.borrow().values().all(|times| *times == 1), "seed {seed}");
}

impl Player {
    fn new(
        endpoint: SimTransport,
        seed: u64,
        job: Job,
        script: VecDeque<Op>,
        shared: Rc<Shared>,
    ) -> Player {
        let wire = Wire::new(endpoint);
        let (rank, ranks) = (wire.rank(), wire.ranks());
        let mut rng = Rng::with_seed(seed ^ u64::from(rank) << 40 ^ 0x5a3);
        let home: Option<hpvm_sam::Home> = match seed % 3 {
            0 => Some(Box::new(|name: Name, ranks| (name.key % u64::from(ranks)) as u32)),
            _ => None,
        };
        Player {
            seed,
            rank,
            machine: Machine::new(rank, ranks, Settings { cache: job.cache, home }),
            wire,
            script,
            cache: job.cache,
            uses: Vec::new(),
            update: None,
            tasks: if job.tasks == 0 { 0 } else { rng.u32(..job.tasks) },
            rng,
            phase: 0,
            asking: false,
            made: 0,
            finished: false,
            shared,
        }
    }

    fn ok<T>(&self, result: Result<T, hpvm_sam::Fault>) -> T {
        result.unwrap_or_else(|fault| panic!("seed {}, rank {}: {fault}", self.seed, self.rank))
    }

    fn turn(&mut self, killed: bool) -> Turn {
        let came = match self.wire.extract() {
            Ok(came) => came,
            Err(Broken::PeerLost { .. }) if killed => return Turn::Done,
            Err(broken) => panic!("seed {}: {broken}", self.seed),
        };
        let mut worked = !came.is_empty();
        for (from, head, content) in came {
            self.shared.flying.update(|n| n - 1);
            let bytes = content.as_ref().map_or(&[][..], |content| content.bytes());
            let here = if self.rng.bool() {
                let here = self.machine.receive_here(from, &head, bytes);
                self.ok(here)
            } else {
                Here::Kept
            };
            if here == Here::Kept {
                let result = self.machine.receive(from, &head, content);
                self.ok(result);
            }
        }
        worked |= self.advance();
        while let Some(message) = self.machine.next_outgoing() {
            self.shared.flying.update(|n| n + 1);
            self.wire.send(message);
        }
        worked |= self.wire.drain();
        self.check_bound();
        if self.is_through() && !self.finished {
            self.finished = true;
            self.shared.unfinished.update(|n| n - 1);
        }
        if self.shared.unfinished.get() == 0 && self.shared.flying.get() == 0 {
            return Turn::Done;
        }
        if worked { Turn::Worked } else { Turn::Idle }
    }

    fn is_through(&self) -> bool {
        self.script.is_empty() && self.uses.is_empty() && self.update.is_none() && self.phase == 2
    }

    /// What is above the limit is in use, or has come for a use that is about to begin.
    fn check_bound(&self) {
        let most = self.cache + (USES + 2) * LONGEST;
        let bytes = self.machine.cached_bytes();
        assert!(bytes <= most, "seed {}: {bytes} bytes in a cache of {most}", self.seed);
    }

    fn advance(&mut self) -> bool {
        let mut ended = false;
        if !self.asking {
            // Others may wait for that, also where no message tells of it.
            ended = self.end_uses();
            if self.update.is_some() {
                return self.go_on_updating();
            }
        }
        let Some(op) = self.script.pop_front() else { return self.work() | ended };
        let done = self.perform(op);
        if !done {
            self.script.push_front(op);
        }
        done | ended
    }

    /// Whether any has ended.
    fn end_uses(&mut self) -> bool {
        // The owner must not use what it renames or frees.
        let ends = matches!(self.script.front(), None | Some(Op::Rename { .. } | Op::Free { .. }));
        let crowded = self.uses.len() >= USES || ends;
        let before = self.uses.len();
        for (name, turns) in std::mem::take(&mut self.uses) {
            if turns > 0 && !crowded {
                self.uses.push((name, turns - 1));
                continue;
            }
            *self.shared.reads.borrow_mut().entry(name).or_insert(0) += 1;
            let result = self.machine.use_end(name);
            self.ok(result);
        }
        self.uses.len() < before
    }

    /// False: not yet.
    fn perform(&mut self, op: Op) -> bool {
        match op {
            Op::Write { name, uses } => {
                let bytes = content_of(name);
                let at = self.machine.value_begin(name, bytes.len());
                self.fill(self.ok(at), &bytes);
                self.publish(name, uses);
                true
            }
            Op::Read { name } => self.read(name),
            Op::Prefetch { name } => {
                let result = self.machine.prefetch(name);
                self.ok(result);
                true
            }
            Op::Push { name, to } => {
                let result = self.machine.push(name, to);
                self.ok(result);
                true
            }
            Op::Rename { old, new, uses } => {
                let result = self.machine.rename(old, new);
                let Some((at, len)) = self.ok(result) else { return false };
                // SAFETY: memory of the value that is being written.
                let before = unsafe { core::slice::from_raw_parts(at, len) };
                assert_eq!(before, content_of(old), "seed {}: {old}", self.seed);
                self.fill(at, &content_of(new)[..len]);
                self.publish(new, uses);
                true
            }
            Op::Free { name, reads } => {
                let over = self.shared.reads.borrow().get(&name).copied().unwrap_or(0);
                if over < reads {
                    return false;
                }
                let result = self.machine.free(name);
                self.ok(result);
                true
            }
            Op::Make { which } => {
                let name = accumulator_name(which);
                let at = self.machine.accumulator_begin(name, 24);
                let at = self.ok(at);
                self.begin_update(name, at, None);
                true
            }
            Op::Update { which, last } => self.update(which, last),
            Op::Glance { which } => self.glance(which),
            Op::Refresh { which } => {
                let result = self.machine.refresh(accumulator_name(which));
                self.ok(result);
                true
            }
            Op::ReadTotal { which } => self.read_total(which),
        }
    }

    fn fill(&self, at: *mut u8, bytes: &[u8]) {
        // SAFETY: memory of the value that is being written, at least as long.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
    }

    fn publish(&mut self, name: Name, uses: u64) {
        assert!(self.shared.written.borrow_mut().insert(name), "written twice by the test");
        let result = self.machine.value_end(name, uses);
        self.ok(result);
    }

    fn read(&mut self, name: Name) -> bool {
        let result = self.machine.use_begin(name);
        let Some((at, len)) = self.ok(result) else { return false };
        assert!(
            self.shared.written.borrow().contains(&name),
            "seed {}: rank {} has read {name} before it was written",
            self.seed,
            self.rank
        );
        // SAFETY: the value in use.
        let bytes = unsafe { core::slice::from_raw_parts(at, len) };
        assert_eq!(bytes, &content_of(name)[..len], "seed {}: {name}", self.seed);
        let turns = self.rng.u32(..20);
        self.uses.push((name, turns));
        true
    }

    fn update(&mut self, which: u64, last: Option<(u64, u64)>) -> bool {
        let name = accumulator_name(which);
        if let Some((_, updates)) = last
            && self.shared.updates.borrow().get(&name).copied().unwrap_or(0) < updates
        {
            return false;
        }
        let result = self.machine.update_begin(name);
        let Some((at, len)) = self.ok(result) else { return false };
        assert_eq!(len, 24, "seed {}: {name}", self.seed);
        self.begin_update(name, at, last.map(|(uses, _)| uses));
        true
    }

    fn begin_update(&mut self, name: Name, at: *mut u8, last: Option<u64>) {
        let other = self.shared.updater.borrow_mut().insert(name, self.rank);
        assert_eq!(other, None, "seed {}: two ranks update {name}", self.seed);
        // SAFETY: the accumulator, while it is updated.
        let words = unsafe { core::slice::from_raw_parts_mut(at.cast::<u64>(), 3) };
        let before = self.shared.updates.borrow().get(&name).copied().unwrap_or(0);
        assert_eq!(words[0], before, "seed {}: updates of {name} that were seen", self.seed);
        // Torn until the update ends.
        words[0] += 1;
        words[1] = words[1].wrapping_mul(31).wrapping_add(words[0]);
        self.update = Some((name, at, self.rng.u32(..15), last));
    }

    fn go_on_updating(&mut self) -> bool {
        let Some((name, at, turns, last)) = self.update else { return false };
        if turns > 0 {
            self.update = Some((name, at, turns - 1, last));
            return true;
        }
        // SAFETY: as in `begin_update`.
        let words = unsafe { core::slice::from_raw_parts_mut(at.cast::<u64>(), 3) };
        words[2] = words[0] ^ words[1];
        *self.shared.updates.borrow_mut().entry(name).or_insert(0) += 1;
        self.shared.updater.borrow_mut().remove(&name);
        self.update = None;
        let result = match last {
            Some(uses) => {
                self.shared.written.borrow_mut().insert(name);
                self.machine.update_end_to_value(name, uses)
            }
            None => self.machine.update_end(name),
        };
        self.ok(result);
        true
    }

    /// What three words of an accumulator say: how many updates.
    fn look(&self, name: Name, at: *const u8, len: usize) -> u64 {
        assert_eq!(len, 24);
        // SAFETY: what the machine has given for this length, and aligned.
        let words = unsafe { core::slice::from_raw_parts(at.cast::<u64>(), 3) };
        let sum = (1..=words[0]).fold(0u64, |sum, n| sum.wrapping_mul(31).wrapping_add(n));
        let expected = if words[0] == 0 { [0; 3] } else { [words[0], sum, words[0] ^ sum] };
        assert_eq!(words, expected, "seed {}: {name} is torn", self.seed);
        words[0]
    }

    fn glance(&mut self, which: u64) -> bool {
        let name = accumulator_name(which);
        let result = self.machine.chaotic_begin(name);
        let Some((at, len, version)) = self.ok(result) else { return false };
        let updates = self.look(name, at, len);
        assert!(version == updates || version == u64::MAX, "seed {}: {name}", self.seed);
        assert!(updates <= self.shared.updates.borrow()[&name], "seed {}: {name}", self.seed);
        let result = self.machine.chaotic_end(name);
        self.ok(result);
        true
    }

    fn read_total(&mut self, which: u64) -> bool {
        let name = accumulator_name(which);
        let result = self.machine.use_begin(name);
        let Some((at, len)) = self.ok(result) else { return false };
        assert!(self.shared.written.borrow().contains(&name), "seed {}: {name}", self.seed);
        let updates = self.look(name, at, len);
        assert_eq!(updates, self.shared.updates.borrow()[&name], "seed {}: {name}", self.seed);
        let result = self.machine.use_end(name);
        self.ok(result);
        true
    }

    /// Two phases of tasks; some make others.
    fn work(&mut self) -> bool {
        if self.phase == 2 || !self.uses.is_empty() {
            return false;
        }
        if !self.asking && self.made < u64::from(self.tasks) * (self.phase as u64 + 1) {
            self.add_task(self.rng.clone().u64(..4));
            return true;
        }
        self.asking = true;
        let result = self.machine.task_next();
        match self.ok(result) {
            Next::Wait => return false,
            Next::Over => {
                let open = self.shared.open.borrow()[self.phase];
                assert_eq!(open, 0, "seed {}: the phase is over, and tasks are not", self.seed);
                self.phase += 1;
            }
            Next::Task(task) => self.run_task(&task),
        }
        self.asking = false;
        true
    }

    fn add_task(&mut self, depth: u64) {
        let id = u64::from(self.rank) << 32 | self.made;
        self.made += 1;
        self.shared.tasks.borrow_mut().insert(id, 0);
        self.shared.open.borrow_mut()[self.phase] += 1;
        let task = [id, depth, self.phase as u64].map(u64::to_le_bytes).concat();
        let result = self.machine.task_add(&task);
        self.ok(result);
    }

    fn run_task(&mut self, task: &[u8]) {
        let word = |at: usize| u64::from_le_bytes(task[8 * at..8 * at + 8].try_into().unwrap());
        assert_eq!(word(2), self.phase as u64, "seed {}: a task of another phase", self.seed);
        *self.shared.tasks.borrow_mut().get_mut(&word(0)).expect("a task") += 1;
        // Active while it adds.
        self.asking = false;
        if word(1) > 0 {
            for _ in 0..self.rng.u32(..3) {
                self.add_task(word(1) - 1);
            }
        }
        self.shared.open.borrow_mut()[self.phase] -= 1;
    }
}
