//! Random point-to-point messages in both protocols, and the non-overtaking rule.
//!
//! Each kind of receive (by source and tag, from any source, with any tag, both) has a
//! communicator of its own, so that every receive finds a message whatever the order. Who gets
//! which message is then checked against the rule of section 3.5: of the messages of one sender
//! that a receive accepts, the first that was sent comes first.

use crate::data::{Shape, UNIT, content};
use crate::harness::{P, Part, Shared, ended, hash};
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::engine::matching::{ANY_PROCESS, Pattern};
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::status::ANY_TAG;
use hpvm_mpi::{Channel, Comm, Group, ReqId};
use hpvm_sim::Turn;
use std::collections::HashMap;
use std::sync::Arc;

const KINDS: u64 = 4;
/// Units of the largest message unless said otherwise: several packets.
const LARGEST: usize = 400;
/// First context id of the communicators of this part.
const BASE: u32 = 100 * CONTEXTS;

/// A message of the job's script.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// Its number, by which its content is known.
    seq: u64,
    src: u32,
    dst: u32,
    tag: i32,
    units: usize,
    kind: u64,
    mode: Mode,
}

impl Message {
    fn pattern(&self) -> Pattern {
        let src = if self.kind & 1 == 1 { ANY_PROCESS } else { self.src };
        let tag = if self.kind & 2 == 2 { ANY_TAG } else { self.tag };
        Pattern { src, tag }
    }
}

/// All messages in the order in which their senders send them. `one_way`: even ranks send, odd ones receive.
fn script(seed: u64, size: u32, each: u32, largest: usize, one_way: bool) -> Vec<Message> {
    let pairs = u64::from(size / 2);
    let message = |seq: u64| {
        let h = |what: u64| hash(&[seed, seq, what]);
        let lengths = [0, 1, 2, 5, 40, largest / 4, largest];
        Message {
            seq,
            src: if one_way { 2 * (seq % pairs) } else { seq % u64::from(size) } as u32,
            dst: if one_way { 2 * (h(1) % pairs) + 1 } else { h(1) % u64::from(size) } as u32,
            tag: (h(2) % 3) as i32,
            units: lengths[(h(3) % lengths.len() as u64) as usize],
            kind: h(4) % KINDS,
            mode: [Mode::Standard, Mode::Standard, Mode::Synchronous, Mode::Buffered]
                [(h(5) % 4) as usize],
        }
    };
    (0..u64::from(size) * u64::from(each)).map(message).collect()
}

struct Receive {
    kind: u64,
    pattern: Pattern,
    id: ReqId,
    buffer: Vec<u8>,
    shape: Shape,
    /// Sender, tag and bytes, once known.
    got: Option<(u32, i32, u64)>,
}

/// The sends and receives of one process.
pub struct Traffic {
    shared: Shared,
    comms: Vec<Arc<Comm>>,
    to_send: std::vec::IntoIter<Message>,
    /// Messages for this process in an order of its own: a receive is posted for each.
    to_receive: Vec<Message>,
    incoming: Vec<Message>,
    sending: Vec<(ReqId, Message, Vec<u8>)>,
    receives: Vec<Receive>,
    turns: u64,
    checked: bool,
    largest: usize,
}

impl Traffic {
    pub fn new(shared: &Shared, each: u32) -> Traffic {
        let all = script(shared.seed, shared.size, each, LARGEST, false);
        Self::of(shared, all, LARGEST)
    }

    /// Messages of up to `largest` units, from even ranks to odd ones. Two processes at least.
    pub fn one_way(shared: &Shared, each: u32, largest: usize) -> Traffic {
        let all = script(shared.seed, shared.size, each, largest, true);
        Self::of(shared, all, largest)
    }

    fn of(shared: &Shared, all: Vec<Message>, largest: usize) -> Traffic {
        let Shared { seed, rank, size, .. } = *shared;
        let mine = |m: &&Message| m.src == rank;
        let incoming: Vec<Message> = all.iter().filter(|m| m.dst == rank).copied().collect();
        let mut to_receive = incoming.clone();
        to_receive.sort_by_key(|m| hash(&[seed, m.seq, 77]));
        let comm = |kind: u64| {
            // Ranks count backwards, so that a rank taken for a process is noticed.
            let group = Group::list((0..size).rev().collect());
            Comm::intra(BASE + kind as u32 * CONTEXTS, group, rank).unwrap()
        };
        Traffic {
            shared: shared.clone(),
            comms: (0..KINDS).map(comm).collect(),
            to_send: all.iter().filter(mine).copied().collect::<Vec<_>>().into_iter(),
            to_receive,
            incoming,
            sending: Vec::new(),
            receives: Vec::new(),
            turns: 0,
            checked: false,
            largest,
        }
    }

    fn chance(&self, what: u64, percent: u64) -> bool {
        hash(&[self.shared.seed, self.shared.rank.into(), self.turns, what]) % 100 < percent
    }

    fn send_next(&mut self, p: &mut P) -> bool {
        let Some(m) = self.to_send.next() else { return false };
        let shape = Shape::new(hash(&[m.seq, 1]).is_multiple_of(3));
        let mut buffer = shape.blank(m.units);
        shape.put(&mut buffer, 0, &content(m.seq, m.src, m.dst, m.units));
        let count = m.units as i64 * shape.per_unit;
        let out = Outgoing { buf: buffer.as_ptr(), count, ty: &shape.ty };
        let context = self.comms[m.kind as usize].context(Channel::User);
        // SAFETY: `sending` keeps the buffer until the request has ended.
        match unsafe { p.send(out, m.dst, context, m.tag, m.mode, None) } {
            Started::Done => assert!(m.mode != Mode::Synchronous, "{m:?} was done at once"),
            Started::Pending(id) => self.sending.push((id, m, buffer)),
        }
        true
    }

    fn post_next(&mut self, p: &mut P) -> bool {
        let Some(m) = self.to_receive.pop() else { return false };
        let shape = Shape::new(hash(&[m.seq, 2]).is_multiple_of(3));
        // Another message than `m` may come: all fit.
        let mut buffer = shape.blank(self.largest);
        let count = self.largest as i64 * shape.per_unit;
        let into = Incoming { buf: buffer.as_mut_ptr(), count, ty: &shape.ty };
        let (comm, pattern) = (&self.comms[m.kind as usize], m.pattern());
        // SAFETY: `receives` keeps the buffer until the request has ended.
        let id = unsafe { p.recv(into, comm, Channel::User, pattern, None) };
        self.shared.note(posted(m.kind, m.dst, pattern));
        self.receives.push(Receive { kind: m.kind, pattern, id, buffer, shape, got: None });
        true
    }

    /// Looks at what has ended; whether anything had.
    fn collect(&mut self, p: &mut P) -> bool {
        let before = self.sending.len();
        let shared = &self.shared;
        self.sending.retain(|(id, m, _)| {
            let done = ended(p, *id, m).is_some();
            if done && m.mode == Mode::Synchronous {
                let posted = shared.noted(posted(m.kind, m.dst, m.pattern()));
                assert!(posted > 0, "{m:?} was complete before any receive for it");
            }
            !done
        });
        let mut moved = self.sending.len() != before;
        for r in self.receives.iter_mut().filter(|r| r.got.is_none()) {
            if let Some(outcome) = ended(p, r.id, &r.pattern) {
                let status = outcome.status;
                let source = self.comms[0].peer(status.source).expect("a source in the group");
                r.got = Some((source, status.tag, status.bytes));
                moved = true;
            }
        }
        moved
    }

    /// Checks who got what, once everything is there.
    fn check(&self) {
        let mut queues: HashMap<(u64, Pattern2), std::collections::VecDeque<Message>> =
            HashMap::new();
        // Per kind, sender, and the tag if receives choose one: what came in that order.
        for m in &self.incoming {
            queues.entry((m.kind, key(m.kind, m.src, m.tag))).or_default().push_back(*m);
        }
        for r in &self.receives {
            let (src, tag, bytes) = r.got.expect("all receives have ended");
            assert!(r.pattern.accepts(src, tag), "{:?} got tag {tag} from {src}", r.pattern);
            let queue = queues.get_mut(&(r.kind, key(r.kind, src, tag)));
            let m = queue.and_then(|q| q.pop_front()).expect("as many messages as receives");
            let place = format!("seed {}: {m:?} in {:?}", self.shared.seed, r.pattern);
            assert_eq!((tag, bytes), (m.tag, (m.units * UNIT) as u64), "{place}: overtaken?");
            let mut expected = r.shape.blank(self.largest);
            r.shape.put(&mut expected, 0, &content(m.seq, m.src, m.dst, m.units));
            assert!(expected == r.buffer, "{place}: other data");
        }
    }
}

type Pattern2 = (u32, Option<i32>);

/// The messages that compete for the same receives and must stay in order.
fn key(kind: u64, src: u32, tag: i32) -> Pattern2 {
    (src, (kind & 2 == 0).then_some(tag))
}

/// The note of a receive with this pattern.
fn posted(kind: u64, dst: u32, pattern: Pattern) -> (u64, u64, u64) {
    let pattern = u64::from(pattern.src) << 32 | u64::from(pattern.tag as u32);
    (1 << 40 | kind, dst.into(), pattern)
}

impl Part for Traffic {
    fn turn(&mut self, p: &mut P) -> Turn {
        self.turns += 1;
        let mut moved = self.collect(p);
        for i in 0..3 {
            moved |= self.chance(i, 50) && self.send_next(p);
            moved |= self.chance(10 + i, 50) && self.post_next(p);
        }
        let busy = !self.to_receive.is_empty()
            || self.to_send.len() > 0
            || !self.sending.is_empty()
            || self.receives.iter().any(|r| r.got.is_none());
        match busy {
            // Chance starts things later: that is no standstill.
            true if moved || !self.to_receive.is_empty() || self.to_send.len() > 0 => Turn::Worked,
            true => Turn::Idle,
            false => {
                if !self.checked {
                    self.check();
                    self.checked = true;
                }
                Turn::Done
            }
        }
    }
}
