//! Collectives over collective slots, on communicators that follow each other on one context.

use crate::harness::{P, Part, Shared, ended, hash};
use hpvm_mpi::coll::shm::{BlockBuffers, CollArgs, MAX_SLOT, ShmCollective, ShmOperation};
use hpvm_mpi::coll::{Combine, Plan, Root};
use hpvm_mpi::datatype::{Datatype, TypeRef};
use hpvm_mpi::op::{Op, Predef};
use hpvm_mpi::pt2pt::{Incoming, Outgoing};
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
/// Collectives whose blocks went piece by piece.
pub static IN_PIECES: AtomicU32 = AtomicU32::new(0);
/// Exchanges whose members read each other's memory.
pub static READS: AtomicU32 = AtomicU32::new(0);
/// Those that began through shared memory and had to go by messages.
pub static MESSAGES: AtomicU32 = AtomicU32::new(0);

/// A context whose slots nothing else in a run uses: its set has large slots.
const CONTEXT: u32 = 4 * 64 * 13;

/// A communicator at an address that does not change.
struct Held {
    comm: Arc<Comm>,
}

/// What happens on one communicator: the operations, from the first one on.
struct Stay {
    comm: Box<Held>,
    /// This process has nothing more to do on it.
    left: bool,
    done: u32,
    running: Option<Running>,
}

/// An operation under way: send and receive buffer, and what the latter shall begin with.
type Running = (Under, Box<[u64]>, Box<[u64]>, Vec<u64>);

/// What is done if it has to go by messages.
type Instead = (Plan, &'static Arc<Comm>);

#[derive(Debug)]
enum Under {
    ShmOperation(Box<(ShmOperation<'static>, Option<Instead>)>),
    Messages(ReqId),
}

impl Under {
    fn poll(&mut self, p: &mut P) -> hpvm_mpi::error::Result<bool> {
        match self {
            Under::ShmOperation(under) => {
                let (call, plan) = &mut **under;
                if !call.poll(p)? {
                    return Ok(false);
                }
                if !call.goes_by_messages() {
                    return Ok(true);
                }
                MESSAGES.fetch_add(1, Ordering::Relaxed); // relaxed: read when all is over
                let (plan, comm) = plan.take().expect("once");
                // SAFETY: the buffers stay until the operation has ended.
                *self = Under::Messages(unsafe { p.start_collective(comm, plan) });
                Ok(false)
            }
            Under::Messages(id) => Ok(ended(p, *id, &"a collective by messages").is_some()),
        }
    }

    /// Whether nobody who sleeps since the last `poll` does so for long: sleeps for want of room are short,
    /// slots and messages that are to come ring, and whoever finds that it may go on does not sleep.
    fn wakes(&self, p: &P) -> bool {
        match self {
            Under::ShmOperation(under) => {
                let m = &under.0;
                m.lacks_room() || m.is_crossing() || m.awaits(p, |_| true) || m.is_ready(p)
            }
            Under::Messages(_) => true,
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
    turns: u64,
    sum: Arc<Op>,
}

fn u64s() -> &'static Arc<Datatype> {
    Datatype::predefined(0x259).expect("MPI_UINT64_T")
}

impl CollSlots {
    pub fn new(shared: &Shared, stays: u32, operations: u32) -> CollSlots {
        let (shared, sum) = (shared.clone(), Arc::new(Op::Predefined(Predef::Sum)));
        CollSlots { shared, stays, operations, stay: 0, now: None, sum, turns: 0 }
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

    /// Enters the next communicator that this process is a member of, and frees the last one.
    fn enter(&mut self, p: &mut P) -> bool {
        while self.now.is_none() && self.stay < self.stays {
            let members = self.members(self.stay);
            self.stay += 1;
            if members.len() < 2 {
                continue;
            }
            let comm = Comm::intra(CONTEXT, Group::list(members), self.shared.rank);
            self.now = comm.map(|comm| {
                // As if its members had agreed on a context.
                p.open_coll_slots(CONTEXT, self.stay.into());
                Stay { comm: Box::new(Held { comm }), left: false, done: 0, running: None }
            });
        }
        self.now.is_some()
    }

    fn leave(&mut self, p: &mut P) {
        if let Some(stay) = self.now.take() {
            p.close_coll_slots(&stay.comm.comm);
        }
    }

    fn step(&mut self, p: &mut P) -> bool {
        let seed = self.shared.seed;
        p.oversubscribed = !hash(&[seed, 83]).is_multiple_of(4);
        let Some(stay) = &mut self.now else { return false };
        if stay.running.is_none() {
            if stay.done == self.operations {
                if self.operations == 0 && !all_left(stay, &self.shared, self.stay) {
                    return false;
                }
                self.leave(p);
                return true;
            }
            let number = u64::from(self.stay) << 32 | u64::from(stay.done);
            stay.running = Some(begin(p, &stay.comm.comm, &self.shared, number, &self.sum));
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

/// All members of an operation go the same way.
fn agree(shared: &Shared, number: u64, messages: bool) {
    let event = |way: bool| (hash(&[83]), number, u64::from(way));
    shared.note(event(messages));
    assert_eq!(shared.noted(event(!messages)), 0, "seed {}: two ways", shared.seed);
}

/// `count` numbers at an absolute address, the next block right behind them.
fn block_at(numbers: &[u64], count: u64) -> Arc<Datatype> {
    let at = numbers.as_ptr().addr() as i64;
    let block = Datatype::hindexed(&[count as i64], &[at], u64s()).expect("a block");
    Datatype::resized(0, 8 * count as i64, &block).expect("an extent")
}

/// How many numbers a block has.
fn count_of(p: &P, comm: &Comm, h: &impl Fn(u64) -> u64) -> u64 {
    let n = u64::from(comm.size());
    if p.spans_hosts(comm) {
        // What one member carries for its host is longer; some of it does not fit in the ring.
        let count = [0, 1, 2, 5, 7, 20, 300, 1500, 3000][h(1) as usize % 9];
        // In an alltoall each member carries its own blocks.
        return if h(5).is_multiple_of(64) { 6500 } else { count };
    }
    // The longest data of exchanges are 80 * 8 * 8 bytes, and with `large` large slots are needed.
    let large = h(5).is_multiple_of(8);
    let count = match large {
        true => [1030, 4001, 4096, 40_000][h(1) as usize % 4],
        false => [0, 1, 2, 5, 6, 7, 14, 15, 40, 80, 500][h(1) as usize % 11],
    };
    if large && n <= 3 && h(6).is_multiple_of(3) {
        // A reduction goes round in several parts.
        return 150_000;
    }
    count
}

/// Begins a random operation, the same on all members, and says what comes of it.
fn begin(p: &mut P, comm: &Arc<Comm>, shared: &Shared, number: u64, sum: &Arc<Op>) -> Running {
    let h = |i: u64| hash(&[shared.seed, number, i]);
    let (n, me) = (u64::from(comm.size()), u64::from(comm.rank()));
    let mut count = count_of(p, comm, &h);
    if h(4) % 8 > 3 && !h(7).is_multiple_of(2) {
        // All blocks of a member fit in a large slot. Others go piece by piece, or members read each other's memory.
        count = count.min(LARGE_SLOT_BYTES as u64 / 8 / n);
    }
    let root = (h(2) % n) as u32;
    let value = |member: u64, i: u64| h(100 + member * 1000 + i) >> 8;
    let (in_place, absolute) = (h(3) % 4 == 0, h(1 << 32 | me) % 4 == 0);
    let mut sent: Box<[u64]> = (0..count * n).map(|i| value(me, i)).collect();
    let mut recv: Box<[u64]> = vec![7; (count * n) as usize].into();
    let ty = u64s();
    let buffers = |recv: &mut [u64]| BlockBuffers {
        send: (!in_place).then_some(if absolute {
            core::ptr::null()
        } else {
            sent.as_ptr().cast()
        }),
        send_count: if absolute { 1 } else { count as i64 },
        send_ty: TypeRef::new(&if absolute { block_at(&sent, count) } else { ty.clone() }),
        recv: recv.as_mut_ptr().cast(),
        recv_count: count as i64,
        recv_ty: TypeRef::new(ty),
    };
    let sums = || (0..count).map(|i| (0..n).map(|m| value(m, i)).sum()).collect::<Vec<u64>>();
    let reduce = |root: Option<u32>, sent: &mut [u64], recv: &mut [u64]| CollArgs::Reduce {
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
    let combine = Combine { count: count as i64, ty: u64s(), op: sum };
    let incoming = |buf: *mut u8| Incoming { buf, count: count as i64, ty: u64s() };
    let (args, expected) = match h(4) % 8 {
        0 => (CollArgs::Barrier, Vec::new()),
        1 => {
            if u64::from(root) == me {
                recv.copy_from_slice(&sent);
            }
            let buf = recv.as_mut_ptr().cast();
            let args = CollArgs::Bcast { root, buf, count: count as i64, ty: TypeRef::new(ty) };
            (args, (0..count).map(|i| value(root.into(), i)).collect())
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
            (CollArgs::Allgather(buffers(&mut recv)), all.map(|(m, i)| value(m, i)).collect())
        }
        5 => {
            recv.copy_from_slice(&sent);
            let all = (0..n).flat_map(|m| (0..count).map(move |i| (m, me * count + i)));
            (CollArgs::Alltoall(buffers(&mut recv)), all.map(|(m, i)| value(m, i)).collect())
        }
        6 => {
            let own = (me * count) as usize;
            recv[own..own + count as usize].copy_from_slice(&sent[..count as usize]);
            let all = (0..n).flat_map(|m| (0..count).map(move |i| (m, i)));
            let at_root = u64::from(root) == me;
            let mut buffers = buffers(&mut recv);
            if !at_root && buffers.send.is_none() {
                buffers.send = Some(sent.as_ptr().cast());
                (buffers.send_count, buffers.send_ty) = (count as i64, TypeRef::new(ty));
            }
            let expected = all.map(|(m, i)| value(m, i)).filter(|_| at_root).collect();
            (CollArgs::Gather { root, buffers }, expected)
        }
        _ => {
            let mut buffers = buffers(&mut recv);
            let in_place = in_place && u64::from(root) == me;
            if buffers.send.is_none() {
                buffers.send = Some(sent.as_ptr().cast());
                (buffers.send_count, buffers.send_ty) = (count as i64, TypeRef::new(ty));
            }
            let all = (0..count).map(|i| value(root.into(), me * count + i));
            let expected = all.filter(|_| !in_place).collect();
            (CollArgs::Scatter { root, buffers, in_place }, expected)
        }
    };
    let bytes = match &args {
        CollArgs::Barrier => 1,
        CollArgs::Alltoall(_) => 8 * count * n,
        CollArgs::Scatter { .. } => 8 * count * (n - 1),
        _ => 8 * count,
    };
    let plan = plan_of(p, comm, &args, combine, incoming);
    // SAFETY: the buffers are boxed and kept beside the call; so is the communicator.
    unsafe {
        let comm: &'static Arc<Comm> = &*core::ptr::from_ref(comm);
        let call = p.begin_shm(comm, args, bytes).expect("it begins");
        agree(shared, number, call.is_none());
        let under = match call {
            Some(call) => {
                HIERARCHICAL.fetch_add(u32::from(p.spans_hosts(comm)), Ordering::Relaxed); // relaxed: read when all is over
                LONG.fetch_add(u32::from(bytes > MAX_SLOT), Ordering::Relaxed); // relaxed: as above
                if bytes > MAX_SLOT {
                    let shown = format!("{call:?}");
                    let counts = [
                        ("RingReduce(", &RING_REDUCTIONS),
                        ("DirectRead(", &READS),
                        ("Blocks(", &IN_PIECES),
                    ];
                    for (_, count) in counts.into_iter().filter(|(name, _)| shown.contains(name)) {
                        count.fetch_add(1, Ordering::Relaxed); // relaxed: as above
                    }
                }
                Under::ShmOperation(Box::new((call, Some((plan, comm)))))
            }
            None => Under::Messages(p.start_collective(comm, plan)),
        };
        (under, sent, recv, expected)
    }
}

/// The same by messages.
fn plan_of<'a>(
    p: &P,
    comm: &Comm,
    args: &'a CollArgs,
    combine: Combine<'a>,
    incoming: impl Fn(*mut u8) -> Incoming<'a>,
) -> Plan {
    let plan = p.plan(comm);
    fn send(buffers: &BlockBuffers) -> Option<Outgoing<'_>> {
        let (count, ty) = (buffers.send_count, &buffers.send_ty);
        buffers.send.map(|buf| Outgoing { buf, count, ty })
    }
    fn recv(buffers: &BlockBuffers) -> Incoming<'_> {
        Incoming { buf: buffers.recv, count: buffers.recv_count, ty: &buffers.recv_ty }
    }
    match args {
        CollArgs::Barrier => plan.barrier(),
        CollArgs::Bcast { root, buf, .. } => plan.bcast(Root::Rank(*root), incoming(*buf)),
        CollArgs::Reduce { root, send, recv, .. } => {
            let send = (!send.is_null()).then_some(*send);
            match root {
                Some(root) => plan.reduce(Root::Rank(*root), send, *recv, combine),
                None => plan.allreduce(send, *recv, combine),
            }
        }
        CollArgs::Allgather(buffers) => plan.allgather(send(buffers), recv(buffers)),
        CollArgs::Alltoall(buffers) => plan.alltoall(send(buffers), recv(buffers)),
        CollArgs::Gather { root, buffers } => {
            let at_root = *root == comm.rank();
            plan.gather(Root::Rank(*root), send(buffers), at_root.then(|| recv(buffers)))
        }
        CollArgs::Scatter { root, buffers, in_place } => {
            let at_root = *root == comm.rank();
            let sent = send(buffers).filter(|_| at_root);
            plan.scatter(Root::Rank(*root), sent, (!in_place).then(|| recv(buffers)))
        }
    }
}

impl Part for CollSlots {
    fn turn(&mut self, p: &mut P) -> Turn {
        self.turns += 1;
        if !self.enter(p) {
            return Turn::Done;
        }
        if hash(&[self.shared.seed, self.shared.rank.into(), self.turns]) % 100 < 30 {
            return Turn::Worked;
        }
        if self.step(p) { Turn::Worked } else { Turn::Idle }
    }
}
