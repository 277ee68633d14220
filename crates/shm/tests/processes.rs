//! Real processes on one segment: random traffic, and a process killed in the middle of it.
//!
//! The test program starts itself again as the ranks: `worker` is a test that does nothing unless
//! the environment says which rank to be.

use hpvm_shm::{Mapping, Shm};
use hpvm_transport::{Head, Packets, Rank};
use hpvm_wire::segment::FRAME_BYTES;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const KEY: [u64; 2] = [11, 22];
const RANKS: u32 = 4;
const ROLE: &str = "HPVM_SHM_TEST_ROLE";
const LIMIT: Duration = Duration::from_secs(60);

/// Byte `i` of message `n` from `src` to `dst`.
fn content(src: Rank, dst: Rank, n: u64, i: usize) -> u8 {
    (u64::from(src) * 31 + u64::from(dst) * 17 + n * 7 + i as u64) as u8
}

/// Length of message `n`: mostly small, some in frames, some in fragments.
fn length(src: Rank, dst: Rank, n: u64) -> usize {
    let mix = (n + u64::from(src * 5 + dst)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    if mix % 64 == 1 {
        return FRAME_BYTES + (mix % 60_000) as usize;
    }
    if mix.is_multiple_of(8) { (mix % 16_000) as usize } else { (mix % 104) as usize }
}

struct Traffic {
    end: Shm,
    credits: Vec<u16>,
    sent: Vec<u64>,
    received: Vec<u64>,
    /// Bytes of a message in fragments that have come.
    begun: Vec<usize>,
    /// Turns that the writing of a message waits, so that a slot is claimed for long.
    slow: u32,
}

impl Traffic {
    fn new(end: Shm) -> Traffic {
        let n = end.size() as usize;
        Traffic {
            end,
            credits: vec![0; n],
            sent: vec![0; n],
            received: vec![0; n],
            begun: vec![0; n],
            slow: 0,
        }
    }

    fn try_send(&mut self, dst: Rank) -> bool {
        let credits = &mut self.credits[dst as usize];
        if *credits == 0 {
            *credits = self.end.take_credits(dst);
        }
        if *credits == 0 {
            return false;
        }
        let (me, n, slow) = (self.end.rank(), self.sent[dst as usize], self.slow);
        let len = length(me, dst, n);
        let head = Head::single(9, n);
        let sent = if len > FRAME_BYTES {
            self.end.send_fragments(dst, None, head, len, |at, out, _| {
                out.iter_mut().enumerate().for_each(|(i, b)| *b = content(me, dst, n, at + i));
            })
        } else {
            self.end.send(dst, head, len, |out| {
                (0..slow).for_each(|_| std::hint::spin_loop());
                out.iter_mut().enumerate().for_each(|(i, b)| *b = content(me, dst, n, i));
            })
        };
        if sent.is_ok() {
            *credits -= 1;
            self.sent[dst as usize] += 1;
        }
        sent.is_ok()
    }

    fn poll(&mut self) -> usize {
        let me = self.end.rank();
        let (received, begun) = (&mut self.received, &mut self.begun);
        let check = |src: Rank, head: Head, data: &[u8]| {
            let n = received[src as usize];
            let at = core::mem::take(&mut begun[src as usize]);
            assert_eq!(head.imm, n, "rank {me}: order of messages from {src}");
            let len = length(src, me, n);
            assert!(data.iter().enumerate().all(|(i, b)| *b == content(src, me, n, at + i)));
            if len > FRAME_BYTES && at + data.len() < len {
                begun[src as usize] = at + data.len();
                return;
            }
            assert_eq!(at + data.len(), len);
            received[src as usize] += 1;
        };
        self.end.poll(1 << 16, check).expect("clean packets")
    }

    /// Sends `count` messages to each of `peers` and receives as many from each.
    fn exchange(&mut self, peers: &[Rank], count: u64) {
        let start = Instant::now();
        loop {
            let mut moved = self.poll() > 0;
            for dst in peers {
                if self.sent[*dst as usize] < count {
                    moved |= self.try_send(*dst);
                }
            }
            let all = |v: &[u64]| peers.iter().all(|p| v[*p as usize] >= count);
            if all(&self.sent) && all(&self.received) {
                return;
            }
            if !moved {
                // Credits ring no bell: sleep briefly.
                if self.end.arm() {
                    self.end.doorbell().wait(Duration::from_micros(200));
                    self.end.disarm();
                }
            }
            assert!(start.elapsed() < LIMIT, "stuck: {:?} {:?}", self.sent, self.received);
        }
    }
}

#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let [path, rank, what] = role.split(' ').collect::<Vec<_>>()[..] else { panic!("{role}") };
    let rank: Rank = rank.parse().expect("a rank");
    let mapping = Mapping::join(path, RANKS, KEY).expect("the parent's segment");
    let mut traffic = Traffic::new(Shm::attach(Arc::new(mapping), rank).expect("my rank"));
    match what {
        "all" => {
            let peers: Vec<Rank> = (0..RANKS).collect();
            traffic.exchange(&peers, 20_000 / share());
        }
        // Ranks 0 to 2 talk among themselves; rank 3 floods rank 0 until it is killed.
        "survive" if rank == 3 => {
            traffic.slow = 20_000;
            loop {
                traffic.try_send(0);
            }
        }
        "survive" => {
            let peers: Vec<Rank> = (0..3).filter(|r| *r != rank).collect();
            traffic.exchange(&peers, 8_000 / share());
        }
        other => panic!("{other}"),
    }
}

/// Messages are so many times fewer: sanitizers make each some dozen times as long (`make sanitize`).
fn share() -> u64 {
    std::env::var("HPVM_TEST_SHARE").map_or(1, |share| share.parse().expect("a number"))
}

fn spawn(mapping: &Mapping, rank: Rank, what: &str) -> Child {
    Command::new(std::env::current_exe().expect("our own path"))
        .args(["--exact", "worker", "--nocapture"])
        .env(ROLE, format!("{} {rank} {what}", mapping.path()))
        .stdout(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
fn random_traffic_between_processes() {
    let mapping = Mapping::create(RANKS, KEY).expect("a segment");
    let children: Vec<Child> = (0..RANKS).map(|r| spawn(&mapping, r, "all")).collect();
    for mut child in children {
        assert!(child.wait().expect("its end").success());
    }
}

/// Most of the kills find the sender between the claim of a slot and its publication.
#[test]
fn a_killed_sender_blocks_nobody() {
    for round in 0..12 {
        let mapping = Mapping::create(RANKS, KEY).expect("a segment");
        let mut children: Vec<Child> = (0..RANKS).map(|r| spawn(&mapping, r, "survive")).collect();
        // It has sent something when rank 0 has received something; and then it goes on for a moment.
        let counters = &mapping.control(3).counters;
        let start = Instant::now();
        while counters.packets_sent.load(Ordering::Relaxed) == 0 {
            assert!(start.elapsed() < LIMIT, "the sender has not begun"); // relaxed, above: a statistic
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(700 * round));
        children[3].kill().expect("it runs"); // SIGKILL, wherever it is
        let ends: Vec<bool> =
            children.iter_mut().map(|c| c.wait().expect("its end").success()).collect();
        assert_eq!(ends, [true, true, true, false], "round {round}");
    }
}
