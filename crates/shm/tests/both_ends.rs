//! Two real processes that copy messages together, from both ends, also where one of them is refused.
//!
//! The test program starts itself again as the ranks, as in `processes.rs`.

use hpvm_shm::{Mapping, Shm};
use hpvm_transport::{Head, Packets, PeerMemory, PeerMemoryError, Rank, Segment};
use hpvm_wire::split_copy::{self, End, SPLIT_COPIES};
use std::collections::VecDeque;
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const KEY: [u64; 2] = [33, 44];
const SENDER: Rank = 0;
const RECEIVER: Rank = 1;
const ROLE: &str = "HPVM_SHM_BOTH_ENDS_ROLE";
const LIMIT: Duration = Duration::from_secs(60);
const LONGEST: usize = 3 << 20;

/// The sender's message, at this address; the receiver's room for it, and its split copy's name. Then parts that
/// one was not permitted to copy, and that all is there.
const OFFER: u8 = 1;
const OPEN: u8 = 2;
const YOURS: u8 = 3;
const DONE: u8 = 4;

/// Messages of a run, fewer where sanitizers make each some dozen times as long (`make sanitize`).
fn messages() -> usize {
    let share = std::env::var("HPVM_TEST_SHARE");
    300 / share.map_or(1, |share| share.parse::<usize>().expect("a number"))
}

fn len(n: usize) -> usize {
    1 + n * 7919 * 4099 % LONGEST
}

/// A byte of message `n`.
fn byte(n: usize, at: usize) -> u8 {
    (n * 31 + at * 7 + (at >> 9)) as u8
}

struct Player {
    end: Shm,
    credits: u16,
    heard: VecDeque<(u8, u64)>,
    start: Instant,
}

/// One message, as both know it.
struct Message {
    index: usize,
    name: u32,
    len: u64,
    ours: *mut u8,
    theirs: u64,
}

impl Player {
    fn peer(&self) -> Rank {
        1 - self.end.rank()
    }

    fn listen(&mut self) {
        let heard = &mut self.heard;
        let hear = |_, head: Head, _: &[u8]| heard.push_back((head.handler, head.imm));
        self.end.poll(1 << 16, hear).expect("clean packets");
        assert!(self.start.elapsed() < LIMIT, "stuck");
        std::thread::yield_now();
    }

    fn say(&mut self, what: u8, word: u64) {
        let peer = self.peer();
        while self.credits == 0 {
            self.credits = self.end.take_credits(peer);
            self.listen();
        }
        self.credits -= 1;
        self.end.send(peer, Head::single(what, word), 0, |_| ()).expect("a slot");
    }

    fn hear(&mut self, what: u8) -> u64 {
        loop {
            match self.heard.pop_front() {
                Some((said, word)) if said == what => return word,
                Some(other) => panic!("{other:?} instead of {what}"),
                None => self.listen(),
            }
        }
    }

    /// Copies parts until all are there, whoever finishes the last.
    fn copy(&mut self, m: &Message) {
        let all = split_copy::units(m.len);
        let (mut undone, mut refused) = (None, false);
        loop {
            match self.heard.pop_front() {
                Some((DONE, _)) => return,
                Some((YOURS, part)) => undone = Some(part as u32..(part >> 32) as u32),
                Some(other) => panic!("{other:?} in the middle of a message"),
                None => {}
            }
            let part = undone.take().or_else(|| {
                let end = if self.end.rank() == SENDER { End::Back } else { End::Front };
                let split = self.end.split_copy(RECEIVER, m.index).filter(|_| !refused)?;
                split.claim(m.name, end, m.len)
            });
            let Some(part) = part else {
                self.listen();
                continue;
            };
            match self.copy_part(m, &part) {
                Ok(()) => {
                    let split = self.end.split_copy(RECEIVER, m.index).expect("it was there");
                    if split.finish(part.end - part.start, all) {
                        return self.say(DONE, 0);
                    }
                }
                Err(PeerMemoryError::NotPermitted) => {
                    refused = true;
                    self.say(YOURS, u64::from(part.end) << 32 | u64::from(part.start));
                }
                Err(other) => panic!("{part:?}: {other:?}"),
            }
        }
    }

    fn copy_part(&mut self, m: &Message, part: &Range<u32>) -> Result<(), PeerMemoryError> {
        let bytes = split_copy::bytes(m.len, part);
        let (ours, theirs) = (m.ours.wrapping_add(bytes.start as usize), m.theirs + bytes.start);
        let (peer, n) = (self.peer(), (bytes.end - bytes.start) as usize);
        // SAFETY: the part lies in the buffer of `len` bytes, and was claimed by us alone.
        unsafe {
            match self.end.rank() {
                SENDER => self.end.write(peer, theirs, ours, n),
                _ => self.end.read(peer, theirs, ours, n),
            }
        }
    }

    fn send_all(&mut self) {
        let mut sent = vec![0; LONGEST];
        for n in 0..messages() {
            sent[..len(n)].iter_mut().enumerate().for_each(|(at, b)| *b = byte(n, at));
            let ours = sent.as_mut_ptr();
            self.say(OFFER, ours.expose_provenance() as u64);
            let theirs = self.hear(OPEN);
            let name = self.hear(OPEN) as u32;
            self.copy(&Message { index: n % SPLIT_COPIES, name, len: len(n) as u64, ours, theirs });
        }
    }

    fn receive_all(&mut self) {
        for n in 0..messages() {
            let theirs = self.hear(OFFER);
            let index = n % SPLIT_COPIES;
            let mut room = vec![0; len(n)];
            let ours = room.as_mut_ptr();
            let split = self.end.split_copy(RECEIVER, index).expect("it was there");
            let name = split.open(split_copy::units(len(n) as u64)).expect("a name");
            self.say(OPEN, ours.expose_provenance() as u64);
            self.say(OPEN, name.into());
            self.copy(&Message { index, name, len: len(n) as u64, ours, theirs });
            let changed = room.iter().enumerate().position(|(at, b)| *b != byte(n, at));
            assert_eq!(changed, None, "of {} bytes of message {n}", len(n));
        }
    }
}

#[test]
fn worker() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let [path, rank, forbidden] = role.split(' ').collect::<Vec<_>>()[..] else { panic!("{role}") };
    let rank: Rank = rank.parse().expect("a rank");
    let mapping = Arc::new(Mapping::join(path, 2, KEY).expect("the parent's segment"));
    let mut end = Shm::attach(mapping.clone(), rank).expect("my rank");
    if forbidden == rank.to_string() {
        end.forbid_reads();
    }
    let (start, heard) = (Instant::now(), VecDeque::new());
    let mut player = Player { end, credits: 0, heard, start };
    if player.end.split_copy(RECEIVER, 0).is_none() {
        return; // a single processor
    }
    match rank {
        SENDER => player.send_all(),
        _ => player.receive_all(),
    }
}

fn both(forbidden: &str) {
    let mapping = Mapping::create(2, KEY).expect("a segment");
    let spawn = |rank| -> Child {
        Command::new(std::env::current_exe().expect("our own path"))
            .args(["--exact", "worker", "--nocapture"])
            .env(ROLE, format!("{} {rank} {forbidden}", mapping.path()))
            .stdout(Stdio::null())
            .spawn()
            .expect("a process")
    };
    for mut child in [SENDER, RECEIVER].map(spawn) {
        assert!(child.wait().expect("its end").success());
    }
}

#[test]
fn two_processes_copy_from_both_ends() {
    both("nobody");
}

#[test]
fn the_receiver_copies_what_the_sender_may_not() {
    both(&SENDER.to_string());
}

#[test]
fn the_sender_copies_what_the_receiver_may_not() {
    both(&RECEIVER.to_string());
}
