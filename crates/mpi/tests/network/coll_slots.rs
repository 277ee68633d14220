//! Collectives over collective slots, on communicators that follow each other on one context.

use crate::harness::{P, Part, Shared, ended, hash};
use hpvm_mpi::coll::Combine;
use hpvm_mpi::coll::shm::{
    self, Call, DirectRead, Hierarchical, LongWay, MOST, Proposal, RingReduce, ShmCollective,
    Sides, Steps, Way, What,
};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::op::{Op, Predef};
use hpvm_mpi::pt2pt::Incoming;
use hpvm_mpi::{Comm, Group, ReqId};
use hpvm_sim::Turn;
use hpvm_wire::coll_slots::LARGE_SLOT_BYTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Operations that went over slots within hosts and by messages between them.
pub static HIERARCHICAL: AtomicU32 = AtomicU32::new(0);
/// Those of them whose slots were longer than a slot's.
pub static LONG: AtomicU32 = AtomicU32::new(0);
/// Reductions that went round.
pub static RING_REDUCTIONS: AtomicU32 = AtomicU32::new(0);
/// Exchanges whose members read each other's memory, and those of them that had to go another way.
pub static READS: AtomicU32 = AtomicU32::new(0);
pub static REFUSED: AtomicU32 = AtomicU32::new(0);

/// A context whose slots nothing else in a run uses.
const CONTEXT: u32 = 4 * 13;

/// A communicator at an address that does not change.
struct Held {
    comm: Arc<Comm>,
}

/// What happens on one communicator: members negotiate, then come the operations.
struct Stay {
    comm: Box<Held>,
    words: Box<Proposal>,
    /// The staging buffers of the members.
    offers: Box<[u64]>,
    proposal: Option<ReqId>,
    negotiated: bool,
    /// This process has nothing more to do on it.
    left: bool,
    lengthened: bool,
    done: u32,
    running: Option<Running>,
}

/// An operation under way: send and receive buffer, and what the latter shall begin with.
type Running = (Under, Box<[u64]>, Box<[u64]>, Vec<u64>);

#[derive(Debug)]
enum Under {
    /// An exchange of slots, and those that follow it.
    Here(&'static Comm, Call<'static>, Option<Steps>),
    Hierarchical(Hierarchical<'static>),
    RingReduce(RingReduce<'static>),
    DirectRead(&'static Comm, Option<DirectRead<'static>>),
}

impl Under {
    /// `what` in exchanges of long slots.
    fn steps(p: &P, comm: &'static Comm, what: What) -> Under {
        let bytes = match &what {
            What::Bcast { count, .. } => 8 * *count as u64,
            _ => MOST + 1,
        };
        let mut steps = p.steps(comm, what, bytes);
        let (what, part) = steps.next().expect("at least one exchange");
        // SAFETY: the buffers and the communicator stay until the operation has ended.
        let call = unsafe { Call::begin(comm, what, part) };
        Under::Here(comm, call.expect("members have negotiated"), Some(steps))
    }

    fn poll(&mut self, p: &mut P) -> hpvm_mpi::error::Result<bool> {
        match self {
            Under::Here(comm, call, steps) => {
                if !call.poll(p)? {
                    return Ok(false);
                }
                let Some((what, part)) = steps.as_mut().and_then(Steps::next) else {
                    return Ok(true);
                };
                // SAFETY: the buffers and the communicator stay until the operation has ended.
                *call = unsafe { Call::begin(comm, what, part) }.expect("as the first one");
                Ok(false)
            }
            Under::Hierarchical(call) => call.poll(p),
            Under::RingReduce(call) => call.poll(p),
            Under::DirectRead(comm, reads) => {
                let call = reads.as_mut().expect("it is under way");
                if !call.poll(p)? {
                    return Ok(false);
                }
                let Some(what) = reads.take().and_then(DirectRead::refused) else {
                    return Ok(true);
                };
                REFUSED.fetch_add(1, Ordering::Relaxed); // relaxed: as for the others
                *self = Under::steps(p, comm, what);
                Ok(false)
            }
        }
    }

    /// Whether nobody who sleeps since the last `poll` does so for long: sleeps for want of room are short,
    /// slots and messages that are to come ring, and whoever finds that it may go on does not sleep.
    fn wakes(&self, p: &P) -> bool {
        fn wakes(m: &impl ShmCollective, p: &P) -> bool {
            m.lacks_room() || m.is_crossing() || m.awaits(p, |_| true) || m.is_ready(p)
        }
        match self {
            Under::Here(_, call, _) => wakes(call, p),
            Under::Hierarchical(call) => wakes(call, p),
            Under::RingReduce(call) => wakes(call, p),
            Under::DirectRead(_, call) => call.as_ref().is_some_and(|call| wakes(call, p)),
        }
    }
}

/// The collectives of one process.
pub struct CollSlots {
    shared: Shared,
    stays: u32,
    operations: u32,
    stay: u32,
    now: Option<Stay>,
    max: Arc<Op>,
    turns: u64,
}

fn u64s() -> &'static Arc<Datatype> {
    Datatype::predefined(0x259).expect("MPI_UINT64_T")
}

impl CollSlots {
    pub fn new(shared: &Shared, stays: u32, operations: u32) -> CollSlots {
        let (shared, max) = (shared.clone(), Arc::new(Op::Predefined(Predef::Max)));
        CollSlots { shared, stays, operations, stay: 0, now: None, max, turns: 0 }
    }

    /// The members of communicator `stay`: all, or those of whom a coin says so.
    fn members(&self, stay: u32) -> Vec<u32> {
        let all = 0..self.shared.size;
        match stay % 3 {
            0 => all.collect(),
            _ => all
                .filter(|r| hash(&[self.shared.seed, stay.into(), (*r).into()]) & 1 == 0)
                .collect(),
        }
    }

    /// Enters the next communicator that this process is a member of.
    fn enter(&mut self) -> bool {
        while self.now.is_none() && self.stay < self.stays {
            let members = self.members(self.stay);
            self.stay += 1;
            if members.len() < 2 {
                continue;
            }
            let comm = Comm::intra(CONTEXT, Group::list(members), self.shared.rank);
            self.now = comm.map(|comm| Stay {
                comm: Box::new(Held { comm }),
                words: Box::default(),
                offers: Box::default(),
                proposal: None,
                negotiated: false,
                left: false,
                lengthened: false,
                done: 0,
                running: None,
            });
        }
        self.now.is_some()
    }

    fn step(&mut self, p: &mut P) -> bool {
        let seed = self.shared.seed;
        let Some(stay) = &mut self.now else { return false };
        if !stay.negotiated {
            return negotiate(stay, p, &self.max, &self.shared);
        }
        if !stay.lengthened {
            return lengthen(stay, p);
        }
        if stay.running.is_none() {
            if stay.done == self.operations {
                if self.operations == 0 && !all_left(stay, &self.shared, self.stay) {
                    return false;
                }
                self.now = None;
                return true;
            }
            let number = u64::from(self.stay) << 32 | u64::from(stay.done);
            stay.running = Some(begin(p, &stay.comm.comm, &self.shared, number));
        }
        let Some((call, sent, recv, expected)) = &mut stay.running else { return false };
        assert!(call.wakes(p), "seed {seed}: {call:?} sleeps too long");
        let done = call.poll(p).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        if done {
            let n = expected.len();
            assert_eq!(recv[..n], expected[..], "seed {seed}: {call:?}, sent {sent:?}");
            stay.done += 1;
            stay.running = None;
        }
        done
    }
}

/// Whether all members of a communicator have nothing more to do on it.
fn all_left(stay: &mut Stay, shared: &Shared, number: u32) -> bool {
    let event = (hash(&[84]), number.into(), 0);
    if !core::mem::replace(&mut stay.left, true) {
        shared.note(event);
    }
    shared.noted(event) == stay.comm.comm.size()
}

/// Members tell each other what they know of the slots.
fn negotiate(stay: &mut Stay, p: &mut P, max: &Arc<Op>, shared: &Shared) -> bool {
    let Some(id) = stay.proposal else {
        // Ranks of one host may differ in that.
        let oversubscribed = hash(&[shared.seed, 83, shared.rank.into()]).is_multiple_of(4);
        *stay.words = p.proposal(&stay.comm.comm, oversubscribed);
        let combine = Combine { count: stay.words.len() as i64, ty: u64s(), op: max };
        let plan = p.plan(&stay.comm.comm).allreduce(None, stay.words.as_mut_ptr().cast(), combine);
        // SAFETY: the words live in a box that stays until the request has ended.
        stay.proposal = Some(unsafe { p.start_collective(&stay.comm.comm, plan) });
        return true;
    };
    if ended(p, id, &"proposal").is_none() {
        return false;
    }
    p.negotiated(&stay.comm.comm, *stay.words);
    // A late reader of the communicator before: these members go without slots.
    stay.negotiated = true;
    stay.proposal = None;
    if stay.words[1] != 0 {
        stay.done = u32::MAX;
    }
    true
}

/// Members on several hosts see each other's staging. One may have none; then all do without.
fn lengthen(stay: &mut Stay, p: &mut P) -> bool {
    let comm = &stay.comm.comm;
    if p.way(comm, 0) != Way::Hierarchical {
        stay.lengthened = true;
        return true;
    }
    let Some(id) = stay.proposal else {
        stay.offers = vec![0; comm.size() as usize].into();
        stay.offers[comm.rank() as usize] = p.offer_staging(comm);
        let recv = Incoming { buf: stay.offers.as_mut_ptr().cast(), count: 1, ty: u64s() };
        let plan = p.plan(comm).allgather(None, recv);
        // SAFETY: the offers live in a box that stays until the request has ended.
        stay.proposal = Some(unsafe { p.start_collective(comm, plan) });
        return true;
    };
    if ended(p, id, &"offers of staging buffers").is_none() {
        return false;
    }
    let seen = p.see_staging(comm, &stay.offers);
    assert!(seen.is_some(), "a virtual network lends");
    p.agree_on_staging(comm, seen);
    stay.lengthened = true;
    true
}

/// All members of an operation go the same way.
fn agree(shared: &Shared, number: u64, way: Way) {
    let event = |way: Way| (hash(&[83]), number, way as u64);
    shared.note(event(way));
    for other in [Way::Messages, Way::Slots, Way::Hierarchical].into_iter().filter(|w| *w != way) {
        assert_eq!(shared.noted(event(other)), 0, "seed {}: {way:?}, {other:?}", shared.seed);
    }
}

/// `count` numbers at an absolute address, the next block right behind them.
fn block_at(numbers: &[u64], count: u64) -> Arc<Datatype> {
    let at = numbers.as_ptr().addr() as i64;
    let block = Datatype::hindexed(&[count as i64], &[at], u64s()).expect("a block");
    Datatype::resized(0, 8 * count as i64, &block).expect("an extent")
}

/// Begins a random operation, the same on all members, and says what comes of it.
fn begin(p: &P, comm: &Arc<Comm>, shared: &Shared, number: u64) -> Running {
    let h = |i: u64| hash(&[shared.seed, number, i]);
    let (n, me) = (u64::from(comm.size()), u64::from(comm.rank()));
    // The longest slots of exchanges are 80 * 8 * 8 bytes, and with `large` large slots are needed.
    let large = h(5) % 16 == 0 && p.way(comm, 0) != Way::Hierarchical;
    let mut count = match large {
        true => [1030, 4001, 4096, 40_000][h(1) as usize % 4],
        false => [0, 1, 2, 5, 6, 7, 40, 80][h(1) as usize % 8],
    };
    if large && n <= 3 && h(6) % 3 == 0 {
        // A reduction goes round in several parts.
        count = 150_000;
    }
    if h(4) % 6 > 3 {
        // All blocks of a member must fit on a large slot.
        count = count.min(LARGE_SLOT_BYTES as u64 / 8 / n);
    }
    if p.way(comm, 0) == Way::Hierarchical {
        // What one member carries for its host is longer; some of it does not fit on the ring.
        count = [0, 1, 2, 5, 7, 20, 300, 1500][h(1) as usize % 8];
        if h(5) % 64 == 0 {
            // In an alltoall each member carries its own blocks.
            count = 6500;
        }
    }
    let root = (h(2) % n) as u32;
    let value = |member: u64, i: u64| h(100 + member * 1000 + i) >> 8;
    let (in_place, absolute) = (h(3) % 4 == 0, h(1 << 32 | me) % 4 == 0);
    let mut sent: Box<[u64]> = (0..count * n).map(|i| value(me, i)).collect();
    let mut recv: Box<[u64]> = vec![7; (count * n) as usize].into();
    let ty = u64s();
    let sides = |recv: &mut [u64]| Sides {
        send: (!in_place).then_some(if absolute {
            core::ptr::null()
        } else {
            sent.as_ptr().cast()
        }),
        send_count: if absolute { 1 } else { count as i64 },
        send_ty: if absolute { block_at(&sent, count) } else { ty.clone() },
        recv: recv.as_mut_ptr().cast(),
        recv_count: count as i64,
        recv_ty: ty.clone(),
    };
    let sums = || (0..count).map(|i| (0..n).map(|m| value(m, i)).sum()).collect::<Vec<u64>>();
    let reduce = |root: Option<u32>, sent: &mut [u64], recv: &mut [u64]| What::Reduce {
        root,
        // A program without elements may have no buffers.
        send: if count == 0 || in_place && root.is_none_or(|r| u64::from(r) == me) {
            recv[..count as usize].copy_from_slice(&sent[..count as usize]);
            core::ptr::null()
        } else {
            sent.as_ptr().cast()
        },
        recv: if count == 0 { core::ptr::null_mut() } else { recv.as_mut_ptr().cast() },
        count: count as usize,
        bytes: 8 * count as usize,
        ty: ty.as_predefined().expect("predefined"),
        op: Predef::Sum,
    };
    let (what, expected) = match h(4) % 6 {
        0 => (What::Barrier, Vec::new()),
        1 => {
            if u64::from(root) == me {
                recv.copy_from_slice(&sent);
            }
            let buf = recv.as_mut_ptr().cast();
            let what = What::Bcast { root, buf, count: count as i64, ty: ty.clone() };
            (what, (0..count).map(|i| value(root.into(), i)).collect())
        }
        2 => {
            let expected = if u64::from(root) == me { sums() } else { Vec::new() };
            (reduce(Some(root), &mut sent, &mut recv), expected)
        }
        3 => (reduce(None, &mut sent, &mut recv), sums()),
        4 => {
            let own = (me * count) as usize;
            recv[own..own + count as usize].copy_from_slice(&sent[..count as usize]);
            let all = (0..n).flat_map(|m| (0..count).map(move |i| (m, i)));
            (What::Allgather(sides(&mut recv)), all.map(|(m, i)| value(m, i)).collect())
        }
        _ => {
            recv.copy_from_slice(&sent);
            let all = (0..n).flat_map(|m| (0..count).map(move |i| (m, me * count + i)));
            (What::Alltoall(sides(&mut recv)), all.map(|(m, i)| value(m, i)).collect())
        }
    };
    let bytes = match &what {
        What::Barrier => 0,
        What::Alltoall(_) => 8 * count * n,
        _ => 8 * count,
    };
    agree(shared, number, p.way_of(comm, &what, bytes));
    // SAFETY: the buffers are boxed and kept beside the call; so is the communicator.
    unsafe {
        let comm: &'static Arc<Comm> = &*core::ptr::from_ref(comm);
        let call = match p.way(comm, 0) {
            Way::Hierarchical => {
                HIERARCHICAL.fetch_add(1, Ordering::Relaxed); // relaxed: read when all is over
                let longest = p.longest_slot(comm, &what, bytes).expect("it fits");
                assert_eq!(p.may_stage(comm, longest), Some(true));
                LONG.fetch_add(u32::from(longest > MOST), Ordering::Relaxed); // relaxed: as above
                p.begin_hierarchical(comm, what, longest).map(Under::Hierarchical)
            }
            _ if bytes > MOST => match p.long_way(comm, &what, bytes) {
                LongWay::LargeSlots => Some(Under::steps(p, comm, what)),
                LongWay::RingReduce => {
                    RING_REDUCTIONS.fetch_add(1, Ordering::Relaxed); // relaxed: as above
                    p.begin_ring_reduce(comm, what).map(Under::RingReduce)
                }
                LongWay::DirectRead => {
                    READS.fetch_add(1, Ordering::Relaxed); // relaxed: as above
                    p.begin_direct_read(comm, what).map(|call| Under::DirectRead(comm, Some(call)))
                }
            },
            _ => {
                Call::begin(comm, what, shm::Part::Short).map(|call| Under::Here(comm, call, None))
            }
        };
        let call = call.expect("members have negotiated");
        (call, sent, recv, expected)
    }
}

impl Part for CollSlots {
    fn turn(&mut self, p: &mut P) -> Turn {
        self.turns += 1;
        if !self.enter() {
            return Turn::Done;
        }
        if hash(&[self.shared.seed, self.shared.rank.into(), self.turns]) % 100 < 30 {
            return Turn::Worked;
        }
        if let Some(stay) = &self.now
            && stay.done == u32::MAX
        {
            // They may do so where somebody still reads what an earlier communicator has posted.
            assert!(self.operations > 0, "seed {}: members are unwilling", self.shared.seed);
            self.now = None;
            return Turn::Worked;
        }
        if self.step(p) { Turn::Worked } else { Turn::Idle }
    }
}
