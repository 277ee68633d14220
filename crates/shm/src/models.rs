//! Models of the lock-free code, run by loom in every interleaving; and a proof that they can fail.
//!
//! What the orderings protect (slots, frames) lies in cells that loom watches: two accesses that are not ordered
//! fail, whether or not a wrong value is seen. The table [`WEAKENED`] names every ordering of this crate and the
//! model that fails when that one is weakened (`hpvm_sync::weaken`).

use crate::ring::{Claim, Halt, Receiver, Taken, take_credits};
use crate::{asleep, frames, progress_word};
use hpvm_sync::atomic::{AtomicU8, AtomicU32, Ordering};
use hpvm_sync::cell::UnsafeCell;
use hpvm_sync::loom;
use hpvm_sync::weaken;
use hpvm_wire::cell::{Cell, RawHead};
use std::sync::Arc;

/// The orderings of this crate by name, each with a model that does not hold without it.
const WEAKENED: &weaken::Table = &[
    ("ring.publish", two_senders),
    ("ring.next", two_senders),
    ("ring.leapfrog", two_senders),
    ("ring.take_credits", slots_are_used_again),
    ("ring.give_back", slots_are_used_again),
    ("ring.claim", a_sender_dies_in_a_claim),
    ("ring.claimed", a_sender_dies_in_a_claim),
    ("ring.abandoned", a_sender_dies_in_a_claim),
    ("ring.claiming", a_sender_dies_in_a_claim),
    ("frame.mark_read", frames_are_used_again),
    ("frame.is_back", frames_are_used_again),
    ("progress.advance", a_message_in_fragments),
    ("progress.written", a_message_in_fragments),
    ("asleep.announce", a_receiver_falls_asleep),
    ("asleep.is_announced", a_receiver_falls_asleep),
];

/// The receiver of the models' ring, and a sender that dies.
const ME: u32 = 9;
const DEAD: u32 = 1;

/// A ring, its credits, and what lies beside it.
struct Ring {
    tail: AtomicU32,
    pool: AtomicU32,
    cells: Vec<Cell>,
    /// The word of each sender that says whether it is claiming a slot here.
    claiming: [AtomicU32; 2],
    doorbell: AtomicU32,
    /// One frame: its state, its bytes, and how many of them have been written.
    state: AtomicU8,
    frame: [UnsafeCell<u64>; 2],
    progress: AtomicU32,
}

impl Ring {
    fn new(slots: usize) -> Arc<Ring> {
        Arc::new(Ring {
            tail: AtomicU32::new(0),
            pool: AtomicU32::new(slots as u32),
            cells: (0..slots).map(|_| Cell::new()).collect(),
            claiming: [AtomicU32::new(0), AtomicU32::new(0)],
            doorbell: AtomicU32::new(0),
            state: AtomicU8::new(0),
            frame: [UnsafeCell::new(0), UnsafeCell::new(0)],
            progress: AtomicU32::new(0),
        })
    }

    fn claim(&self, src: u32) -> Claim<'_> {
        Claim::new(&self.tail, &self.cells, &self.claiming[src as usize], ME)
    }

    fn send(&self, src: u32, imm: u64) {
        while take_credits(&self.pool, 1) == 0 {
            loom::thread::yield_now();
        }
        let claim = self.claim(src);
        let head = RawHead { src, imm, handler: 0, flags: 0, aux: 0, len: 0 };
        // SAFETY: the claim is ours; loom looks.
        unsafe { claim.cell().write_head(head) };
        claim.publish();
    }

    /// The next message, which is read by `read` before its slot is given back.
    fn receive(&self, receiver: &mut Receiver, read: impl FnOnce(RawHead)) -> bool {
        let next = receiver.next(&self.tail, &self.cells);
        assert!(!matches!(next, Err(Halt::RunAway(_))), "as many tickets as credits");
        let Ok(Some(Taken { ticket, cell, .. })) = next else { return false };
        // SAFETY: published and not yet done; loom looks.
        read(unsafe { cell.read_head() });
        receiver.done(ticket, &self.pool, self.cells.len() as u32);
        true
    }

    fn wait_for_frame(&self) {
        while !frames::is_back(&self.state) {
            loom::thread::yield_now();
        }
        frames::mark_filled(&self.state);
    }

    fn write_frame(&self, part: usize, value: u64) {
        // SAFETY: the frame is ours; loom looks.
        self.frame[part].with_mut(|bytes| unsafe { *bytes = value });
    }

    fn read_frame(&self, part: usize) -> u64 {
        // SAFETY: the sender has said that it is written; loom looks.
        self.frame[part].with(|bytes| unsafe { *bytes })
    }
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    // Preemptions beyond a few find nothing new in models so small, and take hours.
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// `senders[s]` messages from each sender over a ring of `slots`: nothing is lost, torn or out
/// of the sender's order.
fn traffic(slots: usize, senders: &'static [u64]) {
    explore(move || {
        let ring = Ring::new(slots);
        let start = |(src, count): (usize, &'static u64)| {
            let ring = ring.clone();
            loom::thread::spawn(move || (0..*count).for_each(|i| ring.send(src as u32, i)))
        };
        let threads: Vec<_> = senders.iter().enumerate().map(start).collect();
        let mut receiver = Receiver::new(slots as u32);
        let mut seen = vec![0; senders.len()];
        while seen.iter().sum::<u64>() < senders.iter().sum() {
            let came = ring.receive(&mut receiver, |head| {
                assert_eq!(head.imm, seen[head.src as usize], "order of sender {}", head.src);
                seen[head.src as usize] += 1;
            });
            if !came {
                loom::thread::yield_now();
            }
        }
        threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    });
}

fn two_senders() {
    traffic(2, &[1, 1]);
}

fn slots_are_used_again() {
    traffic(1, &[2]);
}

/// A sender dies between claim and publish while another one sends: its slot is passed, and only that.
fn a_sender_dies_in_a_claim() {
    explore(|| {
        let ring = Ring::new(2);
        assert_eq!(take_credits(&ring.pool, 1), 1);
        let _never_published = ring.claim(DEAD);
        let sender = {
            let ring = ring.clone();
            loom::thread::spawn(move || ring.send(0, 7))
        };
        let mut receiver = Receiver::new(2);
        let (mut passed, mut came) = (0, 0);
        while (passed, came) != (1, 1) {
            let words = ring.claiming.iter().enumerate().map(|(rank, word)| (rank as u32, word));
            let here = (ME, &ring.tail, &ring.cells[..]);
            if receiver.head_is_abandoned(here, words, |rank| rank == DEAD) {
                receiver.pass_head(&ring.pool, 2);
                passed += 1;
                assert_eq!(passed, 1, "the other's slot was passed");
            } else if ring.receive(&mut receiver, |head| assert_eq!(head.imm, 7)) {
                came += 1;
            } else {
                loom::thread::yield_now();
            }
        }
        sender.join().expect("it ends");
    });
}

/// Two packets in one frame, one after the other.
fn frames_are_used_again() {
    explore(|| {
        let ring = Ring::new(2);
        let sender = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                for packet in 0..2 {
                    ring.wait_for_frame();
                    ring.write_frame(0, packet);
                    ring.send(0, packet);
                }
            })
        };
        let mut receiver = Receiver::new(2);
        let mut packets = 0;
        while packets < 2 {
            let came = ring.receive(&mut receiver, |head| {
                assert_eq!((head.imm, ring.read_frame(0)), (packets, packets));
                frames::mark_read(&ring.state);
                packets += 1;
            });
            if !came {
                loom::thread::yield_now();
            }
        }
        sender.join().expect("it ends");
    });
}

/// A message whose slot is published before its two fragments are written.
fn a_message_in_fragments() {
    explore(|| {
        let ring = Ring::new(2);
        let sender = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                ring.wait_for_frame();
                progress_word::begin(&ring.progress);
                ring.send(0, 0);
                for part in 0..2 {
                    ring.write_frame(part, 7 + part as u64);
                    progress_word::advance(&ring.progress, part + 1);
                }
            })
        };
        let mut receiver = Receiver::new(2);
        while !ring.receive(&mut receiver, |_| ()) {
            loom::thread::yield_now();
        }
        let mut read = 0;
        while read < 2 {
            let written = progress_word::written(&ring.progress);
            assert!((read..=2).contains(&written));
            for part in read..written {
                assert_eq!(ring.read_frame(part), 7 + part as u64);
            }
            if read == written {
                loom::thread::yield_now();
            }
            read = written;
        }
        frames::mark_read(&ring.state);
        sender.join().expect("it ends");
    });
}

/// A frame that a message in fragments was in carries another one: what was written of the first is not taken
/// for what is written of the second.
fn fragments_follow_each_other() {
    explore(|| {
        let ring = Ring::new(2);
        let sender = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                for message in 0..2 {
                    ring.wait_for_frame();
                    progress_word::begin(&ring.progress);
                    ring.send(0, message);
                    ring.write_frame(0, message);
                    progress_word::advance(&ring.progress, 1);
                }
            })
        };
        let mut receiver = Receiver::new(2);
        for message in 0..2 {
            while !ring.receive(&mut receiver, |head| assert_eq!(head.imm, message)) {
                loom::thread::yield_now();
            }
            while progress_word::written(&ring.progress) == 0 {
                loom::thread::yield_now();
            }
            assert_eq!(ring.read_frame(0), message);
            frames::mark_read(&ring.state);
        }
        sender.join().expect("it ends");
    });
}

/// A receiver that goes to sleep while a message is sent: it sees the message, or it is woken. Else the
/// model comes to a standstill, which loom reports.
fn a_receiver_falls_asleep() {
    explore(|| {
        let ring = Ring::new(2);
        let sleeper = loom::thread::current();
        let sender = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                ring.send(0, 0);
                if asleep::is_announced(&ring.doorbell, true) {
                    // Relaxed: the word carries no data.
                    ring.doorbell.swap(0, Ordering::Relaxed);
                    sleeper.unpark();
                }
            })
        };
        let mut receiver = Receiver::new(2);
        while !ring.receive(&mut receiver, |_| ()) {
            asleep::announce(&ring.doorbell, 1, || false);
            if receiver.pending(&ring.tail) {
                // Relaxed: a late ring only wakes for nothing.
                ring.doorbell.store(0, Ordering::Relaxed);
                loom::thread::yield_now();
            } else {
                loom::thread::park();
            }
        }
        sender.join().expect("it ends");
    });
}

#[test]
fn loom_two_senders() {
    two_senders();
}

#[test]
fn loom_a_sender_does_not_overtake_itself() {
    traffic(4, &[2]);
}

#[test]
fn loom_slots_are_used_again() {
    slots_are_used_again();
}

#[test]
fn loom_a_sender_dies_in_a_claim() {
    a_sender_dies_in_a_claim();
}

#[test]
fn loom_frames_are_used_again() {
    frames_are_used_again();
}

#[test]
fn loom_a_message_in_fragments() {
    a_message_in_fragments();
}

#[test]
fn loom_fragments_follow_each_other() {
    fragments_follow_each_other();
}

#[test]
fn loom_a_receiver_falls_asleep() {
    a_receiver_falls_asleep();
}

#[test]
fn loom_every_weakened_ordering_is_noticed() {
    weaken::check_noticed(WEAKENED);
}

#[test]
fn loom_every_ordering_has_a_model() {
    let sources = [
        include_str!("ring.rs"),
        include_str!("frames.rs"),
        include_str!("progress_word.rs"),
        include_str!("asleep.rs"),
    ];
    weaken::check_complete(WEAKENED, &sources);
}
