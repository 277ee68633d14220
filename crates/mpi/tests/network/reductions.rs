//! Collectives that combine data.

use crate::calls::{Call, Kind};
use crate::collectives::Buffers;
use crate::data::word_type;
use crate::harness::{P, hash};
use crate::spaces::Space;
use hpvm_mpi::coll::{Combine, Plan};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::op::{Op, Predef, UserOp};
use std::sync::{Arc, OnceLock};

const POISON: u64 = 0xeeee_eeee_eeee_eeee;

/// Composition of affine maps modulo a prime: associative, but the order of operands matters.
fn compose(first: u64, second: u64) -> u64 {
    const P: u64 = 2_147_483_647;
    let split = |w: u64| (w & 0x7fff_ffff, w >> 32 & 0x7fff_ffff);
    let ((a, b), (c, d)) = (split(first), split(second));
    (a * c % P) | ((b * c + d) % P) << 32
}

fn combined(call: &Call, a: u64, b: u64) -> u64 {
    if call.commutes { a.wrapping_add(b) } else { compose(a, b) }
}

fn operation(call: &Call) -> &'static Arc<Op> {
    static SUM: OnceLock<Arc<Op>> = OnceLock::new();
    static COMPOSE: OnceLock<Arc<Op>> = OnceLock::new();
    if call.commutes {
        return SUM.get_or_init(|| Arc::new(Op::Predefined(Predef::Sum)));
    }
    COMPOSE.get_or_init(|| {
        let function = |input: *const u8, inout: *mut u8, count: i64, _: &Arc<Datatype>| {
            for i in 0..count as usize {
                // SAFETY: both buffers hold `count` words, of any alignment.
                unsafe {
                    let (a, b) = (input.cast::<u64>().add(i), inout.cast::<u64>().add(i));
                    b.write_unaligned(compose(a.read_unaligned(), b.read_unaligned()));
                }
            }
        };
        Arc::new(Op::User(UserOp { commute: false, function: Arc::new(function) }))
    })
}

/// Word `i` of a process's operand.
fn operand(call: &Call, process: u32, i: usize) -> u64 {
    hash(&[call.seq, process.into(), i as u64, 11]) & 0x7fff_ffff_7fff_ffff
}

/// The words of the reduction over processes in this order.
fn reduced(call: &Call, processes: &[u32], words: std::ops::Range<usize>) -> Vec<u64> {
    let one = |i| {
        let all = processes.iter().map(|p| operand(call, *p, i));
        all.reduce(|a, b| combined(call, a, b)).expect("a process at least")
    };
    words.map(one).collect()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Words of the results of the ranks of the local group; both groups have the same sum.
fn parts(call: &Call, space: &Space) -> Vec<usize> {
    let n = space.local.len();
    let other = if space.is_inter() { space.peers().len() } else { 1 };
    let mut parts = vec![call.count * other; n];
    if call.kind == Kind::ReduceScatter {
        // Some give what they have to the next.
        for i in 0..n - 1 {
            if hash(&[call.seq, i as u64, space.colour.into(), 13]).is_multiple_of(2) {
                parts[i + 1] += std::mem::take(&mut parts[i]);
            }
        }
    }
    parts
}

/// What a rank gets, from which processes' operands; `None`: nothing.
fn result(call: &Call, space: &Space, me: u32) -> Option<Vec<u64>> {
    let (rank, peers) = (space.comm.rank() as usize, space.peers());
    let below = &space.local[..rank];
    match call.kind {
        Kind::Reduce if !call.root(space, me).is_root => None,
        Kind::Reduce | Kind::Allreduce => Some(reduced(call, peers, 0..call.count)),
        Kind::Scan => Some(reduced(call, &space.local[..=rank], 0..call.count)),
        Kind::Exscan if below.is_empty() => None,
        Kind::Exscan => Some(reduced(call, below, 0..call.count)),
        _ => {
            let parts = parts(call, space);
            let start: usize = parts[..rank].iter().sum();
            Some(reduced(call, peers, start..start + parts[rank]))
        }
    }
}

/// The plan of a call and its buffers.
pub fn plan(p: &P, space: &Space, call: &Call, me: u32) -> (Plan, Buffers) {
    let scatters = matches!(call.kind, Kind::ReduceScatter | Kind::ReduceScatterBlock);
    let parts = parts(call, space);
    let given = if scatters { parts.iter().sum() } else { call.count };
    let rank = space.comm.rank() as usize;
    let taken = if scatters { parts[rank] } else { call.count };
    let root = call.root(space, me);
    let in_place = call.in_place && (call.kind != Kind::Reduce || root.is_root);
    let own: Vec<u64> = (0..given).map(|i| operand(call, me, i)).collect();
    let mut start = if in_place { own.clone() } else { vec![POISON; taken] };
    let mut buffers = Buffers { send: bytes(&own), recv: bytes(&start), expected: Vec::new() };
    if let Some(result) = result(call, space, me) {
        start[..result.len()].copy_from_slice(&result);
    }
    // What is left of an input in place behind the result may have changed.
    buffers.expected = bytes(&start[..taken]);
    let plan = make(p, space, call, me, in_place, &mut buffers, taken);
    (plan, buffers)
}

fn make(
    p: &P,
    space: &Space,
    call: &Call,
    me: u32,
    in_place: bool,
    buffers: &mut Buffers,
    taken: usize,
) -> Plan {
    let planner = p.plan(&space.comm);
    let send = (!in_place).then_some(buffers.send.as_ptr());
    let recv = buffers.recv.as_mut_ptr();
    let what = Combine { count: call.count as i64, ty: word_type(), op: operation(call) };
    let block = Combine { count: taken as i64, ..what };
    match call.kind {
        Kind::Reduce => planner.reduce(call.root(space, me).argument, send, recv, what),
        Kind::Allreduce => planner.allreduce(send, recv, what),
        Kind::ReduceScatter => {
            let counts: Vec<i64> = parts(call, space).iter().map(|c| *c as i64).collect();
            planner.reduce_scatter(send, recv, &counts, what)
        }
        Kind::ReduceScatterBlock => planner.reduce_scatter_block(send, recv, block),
        Kind::Scan => planner.scan(send, recv, what),
        Kind::Exscan => planner.exscan(send, recv, what),
        other => unreachable!("{other:?} reduces nothing"),
    }
}
