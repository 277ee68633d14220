//! Real processes of one host that update the same elements on every path: by loads and stores, through the kernel, by
//! owners that wait and poll now and then, and in messages.
//!
//! The test program starts itself again as the ranks.

mod common;

use common::{PAIRS, Pairs};
use hpvm_fm::{Fm, Head, PeerMemory};
use hpvm_onesided::{Allowed, AtomicOp, Error, Kind, OneSided, OpId, RegionKey, Target};
use hpvm_shm::{Mapping, Shm};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEY: [u64; 2] = [55, 66];
const ROLE: &str = "HPVM_ONESIDED_ROLE";
const LIMIT: Duration = Duration::from_secs(60);
const RANKS: u32 = 3;
const TIMES: u64 = 150;
/// Handler of the packets in which the ranks exchange their keys.
const KEYS: u8 = 0;
/// Where a rank has an area of its own in every region.
const AREAS: u64 = 1024;
const AREA: u64 = 10_000;
/// Where elements lie that all add to at a time, and how many: more than an owner does in one part.
const SUMS: u64 = AREAS + AREA * RANKS as u64;
const SUMMED: u64 = 9_000;

struct Player {
    fm: Fm<Shm>,
    onesided: OneSided,
    keys: Vec<RegionKey>,
    /// Ranks that have said that they are done.
    done: u64,
    start: Instant,
    /// Does what others leave for it, in times of waiting that follow on times of computing.
    looks: bool,
    random: fastrand::Rng,
}

impl Player {
    /// Waits or computes for a while, as programs do.
    fn wait_or_compute(&mut self) {
        if !self.looks {
            return;
        }
        let (waits, long) = (self.random.bool(), Duration::from_micros(self.random.u64(..300)));
        let begin = Instant::now();
        while begin.elapsed() < long {
            if waits && !self.onesided.poll_delegations(&mut self.fm) {
                std::hint::spin_loop();
            }
        }
        if waits && self.random.u8(..8) == 0 {
            self.onesided.look_away();
        }
    }

    fn progress(&mut self) {
        if self.looks {
            self.onesided.poll_delegations(&mut self.fm);
        }
        let (onesided, keys) = (&mut self.onesided, &mut self.keys);
        let sink = |src, head: Head, data: &[u8]| match head.handler {
            KEYS => keys.push(RegionKey::from_bytes(data.try_into().expect("a key"))),
            _ => onesided.on_packet(src, head, data).expect("a correct packet"),
        };
        self.fm.extract(1 << 16, sink).expect("clean packets");
        self.onesided.drain(&mut self.fm);
        self.done += self.onesided.take_messages().count() as u64;
        assert!(self.start.elapsed() < LIMIT, "stuck");
        std::thread::yield_now();
    }

    fn wait(&mut self, op: Option<OpId>) {
        let Some(op) = op else { return };
        while !self.onesided.is_done(op) {
            self.progress();
        }
        self.onesided.forget(op).expect("no error");
    }

    fn tell_key(&mut self, key: RegionKey) {
        self.keys.push(key);
        for dst in (0..RANKS).filter(|dst| *dst != key.rank) {
            let fill = |out: &mut [u8]| out.copy_from_slice(&key.to_bytes());
            while self.fm.send(dst, Head::single(KEYS, 0), RegionKey::BYTES, fill).is_err() {
                self.progress();
            }
        }
        while self.keys.len() < RANKS as usize {
            self.progress();
        }
    }

    fn add(&mut self, target: &Target, offset: u64, kind: Kind, operand: &[u8]) {
        let mut old = vec![0; operand.len()];
        let (fm, old) = (&mut self.fm, Some(old.as_mut_ptr()));
        // SAFETY: one element each, until the operation is done.
        let op = unsafe {
            let operand = operand.as_ptr();
            self.onesided.accumulate(fm, target, offset, kind, AtomicOp::Sum, operand, 1, old)
        };
        self.wait(op.expect("in range"));
    }

    /// Adds 1 to the first of the sums, 2 to the second, and so on.
    fn add_to_all(&mut self, target: &Target) {
        let operands: Vec<u64> = (1..=SUMMED).collect();
        let Player { fm, onesided, .. } = self;
        let (operand, count) = (operands.as_ptr().cast(), SUMMED as usize);
        // SAFETY: the operands live until the operation is done.
        let op = unsafe {
            onesided.accumulate(fm, target, SUMS, Kind::U64, AtomicOp::Sum, operand, count, None)
        };
        self.wait(op.expect("in range"));
    }

    fn round(&mut self, me: u64, target: &Target, n: u64) {
        self.wait_or_compute();
        self.add(target, 0, Kind::U64, &1u64.to_ne_bytes());
        self.add(target, 8, Kind::F64, &1f64.to_ne_bytes());
        self.add(target, 18, Kind::I16, &1i16.to_ne_bytes());
        self.add(target, 25, Kind::I32, &1i32.to_ne_bytes());
        self.add(
            target,
            32,
            Kind::Other(PAIRS),
            &[1u64.to_ne_bytes(), 3u64.to_ne_bytes()].concat(),
        );
        self.add_to_all(target);
        let sent: Vec<u8> = (0..AREA).map(|i| (i * 7 + n * 13 + me) as u8).collect();
        let mut got = vec![0; AREA as usize];
        let at = AREAS + me * AREA;
        let Player { fm, onesided, .. } = self;
        // SAFETY: both live until the operations are done.
        let put = unsafe { onesided.put(fm, target, at, sent.as_ptr(), sent.len()) };
        self.wait(put.expect("in range"));
        let flush = self.onesided.flush(&mut self.fm, target);
        self.wait(flush.expect("nothing went wrong"));
        let Player { fm, onesided, .. } = self;
        // SAFETY: as above.
        let get = unsafe { onesided.get(fm, target, at, got.as_mut_ptr(), got.len()) };
        self.wait(get.expect("in range"));
        assert!(got == sent, "round {n}");
    }
}

/// What one rank does.
fn play(end: Shm, allowed: Allowed, lends: bool, looks: bool) {
    let mut fm = Fm::new(end);
    let me = fm.rank();
    let mut onesided = OneSided::new(me);
    onesided.set_allowed(allowed);
    onesided.register_apply(PAIRS..PAIRS + 1, Box::new(Pairs));
    let bytes = (SUMS + 8 * SUMMED) as usize;
    let mut heap = vec![0u64; bytes.div_ceil(8)];
    let lent = if lends { fm.transport_mut().lend(bytes) } else { None };
    let memory = lent.map_or(heap.as_mut_ptr().cast(), |memory| memory.as_ptr());
    // SAFETY: the memory lives until this process ends.
    let key = unsafe { onesided.expose(&mut fm, memory, bytes, 0) };
    let random = fastrand::Rng::with_seed(me.into());
    let (keys, start) = (Vec::new(), Instant::now());
    let mut player = Player { fm, onesided, keys, done: 0, start, looks, random };
    player.tell_key(key);
    let keys = player.keys.clone();
    let targets: Vec<Target> = keys
        .iter()
        .map(|key| player.onesided.attach(&mut player.fm, key).expect("a way"))
        .collect();
    for target in targets.iter().filter(|target| target.control().is_some()) {
        assert!(!player.onesided.precedes(target), "words overtake what is under way in packets");
    }
    for n in 0..TIMES {
        targets.iter().for_each(|target| player.round(me.into(), target, n));
    }
    for key in &keys {
        player.onesided.post_message(&mut player.fm, key, 1, 0);
    }
    while player.done < u64::from(RANKS) || player.onesided.has_work() {
        player.progress();
    }
    let all = TIMES * u64::from(RANKS);
    // SAFETY: the region's memory, which nobody accesses any more.
    let word = |at: usize| unsafe { memory.add(at).cast::<u64>().read_unaligned() };
    assert_eq!((word(0), f64::from_bits(word(8))), (all, all as f64));
    assert_eq!((word(18) as u16, word(25) as u32), (all as u16, all as u32));
    assert_eq!((word(32), word(40)), (all, 3 * all));
    for i in 0..SUMMED {
        assert_eq!(word((SUMS + 8 * i) as usize), (i + 1) * all, "sum {i}");
    }
}

#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let [path, rank, way] = role.split(' ').collect::<Vec<_>>()[..] else { panic!("{role}") };
    let rank = rank.parse().expect("a rank");
    let mapping = Arc::new(Mapping::join(path, RANKS, KEY).expect("the parent's segment"));
    let mut end = Shm::attach(mapping, rank).expect("my rank");
    let allowed = Allowed::default();
    match way {
        "mapped" => play(end, allowed, true, false),
        "messages" => play(end, Allowed { mapped: false, cross_memory: false }, true, false),
        "mixed" => {
            // One of them may not use the kernel, and goes by messages.
            if rank == 1 {
                end.forbid_reads();
            }
            play(end, allowed, false, true);
        }
        "looking" => play(end, allowed, false, true),
        "killed" => go_on_without_victim(end),
        _ => play(end, allowed, false, false),
    }
}

fn spawn(mapping: &Mapping, rank: u32, way: &str) -> Child {
    Command::new(std::env::current_exe().expect("our own path"))
        .args(["--exact", "worker", "--nocapture"])
        .env(ROLE, format!("{} {rank} {way}", mapping.path()))
        .stdout(if way == "killed" { Stdio::piped() } else { Stdio::null() })
        .spawn()
        .expect("a process")
}

fn all(way: &str) {
    let mapping = Mapping::create(RANKS, KEY).expect("a segment");
    let children: Vec<_> = (0..RANKS).map(|rank| spawn(&mapping, rank, way)).collect();
    for mut child in children {
        assert!(child.wait().expect("its end").success(), "{way}");
    }
}

#[test]
fn by_loads_and_stores() {
    all("mapped");
}

#[test]
fn through_the_kernel() {
    all("kernel");
}

#[test]
fn by_owners_that_wait_and_compute_by_turns() {
    all("looking");
}

/// The rank that is killed.
const VICTIM: u32 = 2;
/// What it says when it can be.
const READY: &str = "ready to be killed";

impl Player {
    /// A put, a get and a sum. False: `target` is gone.
    fn is_there(&mut self, target: &Target, n: u64) -> bool {
        let Player { fm, onesided, .. } = self;
        let (mine, one, mut found, mut sum) = (8 * u64::from(fm.rank()), 1u64, 0u64, 0u64);
        // SAFETY: all live until the operations are done, which are so at once.
        let done = unsafe {
            let put = onesided.put(fm, target, mine, (&raw const n).cast(), 8);
            let got = put.and_then(|_| onesided.get(fm, target, mine, (&raw mut found).cast(), 8));
            let (op, one, sum) = (AtomicOp::Sum, (&raw const one).cast(), (&raw mut sum).cast());
            got.and_then(|_| onesided.accumulate(fm, target, 56, Kind::U64, op, one, 1, Some(sum)))
        };
        match done {
            Ok(_) => assert_eq!(found, n),
            Err(_) if target.rank() == VICTIM => return false,
            // It has died with the lock of another rank's memory, which goes on without it.
            Err(error) if matches!(*error, Error::HolderGone { holder: VICTIM, .. }) => {}
            Err(error) => panic!("rank {}: {error}", target.rank()),
        }
        true
    }
}

/// Rank 0 uses the memory of the others until the victim is gone, and goes on with rank 1's.
fn go_on_without_victim(end: Shm) {
    let mut fm = Fm::new(end);
    let me = fm.rank();
    let mut onesided = OneSided::new(me);
    let mut memory = [0u64; 8];
    // SAFETY: the memory lives until this process ends.
    let key = unsafe { onesided.expose(&mut fm, memory.as_mut_ptr().cast(), 64, 0) };
    let (keys, start, random) = (Vec::new(), Instant::now(), fastrand::Rng::with_seed(1));
    let mut player = Player { fm, onesided, keys, done: 0, start, looks: true, random };
    player.tell_key(key);
    let mut targets = Vec::new();
    for key in player.keys.clone() {
        if key.rank != me && (key.rank != VICTIM || me == 0) {
            targets.push(player.onesided.attach(&mut player.fm, &key).expect("a way"));
        }
    }
    let (mut n, mut left) = (0, 5000);
    let mut ready = false;
    while left > 0 && player.done == 0 {
        n += 1;
        // SAFETY: our own memory. What rank 0 has put there says that it has found a way to all of us.
        if me == VICTIM && !ready && unsafe { memory.as_ptr().read_volatile() } != 0 {
            println!("{READY}");
            ready = true;
        }
        targets.retain(|target| player.is_there(target, n));
        left -= u32::from(me == 0 && targets.len() == 1);
        player.progress();
    }
    // Each goes when the other is done with its memory.
    if me != VICTIM {
        player.onesided.post_message(&mut player.fm, targets[0].key(), 1, 0);
        while player.done == 0 || player.onesided.has_work() {
            player.progress();
        }
    }
}

#[test]
fn an_owner_that_is_killed_is_gone_and_holds_up_nobody() {
    for n in 0..6 {
        let mapping = Mapping::create(RANKS, KEY).expect("a segment");
        let mut children: Vec<_> = (0..RANKS).map(|rank| spawn(&mapping, rank, "killed")).collect();
        let victim = &mut children[VICTIM as usize];
        let mut said = BufReader::new(victim.stdout.take().expect("a pipe")).lines();
        assert!(said.any(|line| line.expect("text").contains(READY)));
        std::thread::sleep(Duration::from_millis(20 + 7 * n));
        victim.kill().expect("a child");
        for (rank, child) in children.iter_mut().enumerate() {
            let end = child.wait().expect("its end");
            assert!(end.success() || rank == VICTIM as usize, "rank {rank}: {end}");
        }
    }
}

#[test]
fn through_the_kernel_and_one_in_messages() {
    all("mixed");
}

#[test]
fn in_messages() {
    all("messages");
}
