//! Barrier, allgather(v) and alltoall(v, w) within one group, against their definitions.

mod model;

use hpvm_coll::select::{Allgather, Alltoall};
use hpvm_coll::*;
use model::data::{blank, packed, put};
use model::{Cost, Mode, Proc, Rng, no_op, run, ty};
use proptest::prelude::*;

const SEND: model::Type = ty(4, 6);
const RECV: model::Type = ty(2, 5);
const TYPES: [model::Type; 2] = [SEND, RECV];

fn exchange(rank: u32, size: u32, elements: i64, in_place: bool) -> Exchange {
    Exchange {
        rank,
        size,
        root: 0,
        send_count: elements,
        send_extent: SEND.extent as i64,
        send_size: SEND.size as i64,
        recv_count: 2 * elements,
        recv_extent: RECV.extent as i64,
        recv_size: RECV.size as i64,
        in_place,
    }
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)]
}

fn allgather(
    size: u32,
    elements: i64,
    in_place: bool,
    how: Allgather,
    mode: Mode,
    seed: u64,
) -> Cost {
    let bytes = elements as usize * SEND.size;
    let stride = 2 * elements as usize * RECV.extent;
    let mut want = blank(RECV, 2 * elements as usize * size as usize);
    for rank in 0..size {
        put(&mut want, rank as usize * stride, RECV, &packed(rank, 0, bytes));
    }
    let proc = |rank: u32| {
        let schedule = allgather::build(how, &exchange(rank, size, elements, in_place));
        let own = packed(rank, 0, bytes);
        let mut send = blank(SEND, elements as usize);
        let mut recv = vec![model::data::POISON; want.len()];
        if in_place {
            put(&mut recv, rank as usize * stride, RECV, &own);
        } else {
            put(&mut send, 0, SEND, &own);
        }
        Proc::new(rank, schedule, send, recv, TYPES)
    };
    let mut procs: Vec<_> = (0..size).map(proc).collect();
    let cost = run(&mut procs, no_op, mode, seed);
    assert!(procs.iter().all(|p| p.recv == want));
    cost
}

fn alltoall(
    size: u32,
    elements: i64,
    in_place: bool,
    how: Alltoall,
    mode: Mode,
    seed: u64,
) -> Cost {
    let bytes = elements as usize * SEND.size;
    let n = elements as usize;
    let proc = |rank: u32| {
        let schedule = alltoall::build(how, &exchange(rank, size, elements, in_place));
        let mut send = blank(SEND, n * size as usize);
        let mut recv = blank(RECV, 2 * n * size as usize);
        for to in 0..size as usize {
            let data = packed(rank, to as u32, bytes);
            if in_place {
                put(&mut recv, to * 2 * n * RECV.extent, RECV, &data);
            } else {
                put(&mut send, to * n * SEND.extent, SEND, &data);
            }
        }
        Proc::new(rank, schedule, send, recv, TYPES)
    };
    let mut procs: Vec<_> = (0..size).map(proc).collect();
    let cost = run(&mut procs, no_op, mode, seed);
    for proc in &procs {
        let mut want = blank(RECV, 2 * n * size as usize);
        for from in 0..size as usize {
            let data = packed(from as u32, proc.rank, bytes);
            put(&mut want, from * 2 * n * RECV.extent, RECV, &data);
        }
        assert!(proc.recv == want, "rank {}", proc.rank);
    }
    cost
}

fn barrier(size: u32, build: impl Fn(&Group) -> Schedule, mode: Mode, seed: u64) -> Cost {
    let proc = |rank| Proc::new(rank, build(&Group { rank, size }), vec![], vec![], TYPES);
    let mut procs: Vec<_> = (0..size).map(proc).collect();
    run(&mut procs, no_op, mode, seed)
}

/// Whether each rank's last round needs, directly or not, every other rank's first.
fn holds_back(size: u32, build: impl Fn(&Group) -> Schedule) -> bool {
    let schedules: Vec<_> = (0..size).map(|rank| build(&Group { rank, size })).collect();
    let rounds = schedules.iter().map(Schedule::len).max().unwrap_or(0);
    let mut known: Vec<Vec<bool>> =
        (0..size).map(|a| (0..size).map(|b| a == b).collect()).collect();
    for round in 0..rounds {
        let before = known.clone();
        for (me, schedule) in schedules.iter().enumerate() {
            for comm in schedule.round(round).into_iter().flat_map(|r| r.comms) {
                if let Comm::Recv { from: Peer::Local(from), .. } = comm {
                    let theirs = &before[*from as usize];
                    known[me].iter_mut().zip(theirs).for_each(|(mine, &t)| *mine |= t);
                }
            }
        }
    }
    known.iter().flatten().all(|&k| k)
}

#[test]
fn barrier_holds_everyone_back() {
    for size in (1..=40).chain([100, 128, 257]) {
        assert!(holds_back(size, barrier::schedule), "size {size}");
        for radix in [2, 3, 4, 5, 300] {
            assert!(holds_back(size, |g| barrier::dissemination::with_radix(g, radix)));
        }
    }
}

#[test]
fn barrier_ends() {
    for size in (1..=20).chain([300]) {
        for mode in [Mode::Eager, Mode::Rendezvous] {
            let cost = barrier(size, barrier::schedule, mode, u64::from(size));
            let rounds = (size as f64).log2().ceil() as usize;
            assert_eq!((cost.rounds, cost.messages), (rounds, rounds * size as usize));
            barrier(size, |g| barrier::dissemination::with_radix(g, 4), mode, 3);
        }
    }
}

#[test]
fn allgather_every_size() {
    for how in [Allgather::Direct, Allgather::Dissemination, Allgather::Ring] {
        for size in 1..=18 {
            for (elements, in_place) in [(0, false), (1, false), (3, true), (3, false)] {
                let cost = allgather(size, elements, in_place, how, Mode::Rendezvous, 1);
                let block = 4 * elements as usize;
                assert_eq!(cost.most_out, (size as usize - 1) * block, "{how:?}");
            }
        }
        allgather(200, 1, false, how, Mode::Mixed, 5);
    }
    let cost = allgather(12, 1, false, Allgather::Dissemination, Mode::Eager, 2);
    assert!(cost.rounds == 4 && cost.messages <= 2 * 4 * 12);
}

#[test]
fn alltoall_every_size() {
    let ways = [1, 3, 64].map(|window| Alltoall::Pairwise { window });
    for how in ways.into_iter().chain([Alltoall::Bruck]) {
        for size in 1..=18 {
            for (elements, in_place) in [(0, true), (1, false), (2, true), (2, false)] {
                alltoall(size, elements, in_place, how, Mode::Rendezvous, 1);
            }
        }
    }
    let cost = alltoall(100, 1, false, Alltoall::Bruck, Mode::Mixed, 5);
    assert_eq!(cost.messages, 700);
    alltoall(90, 1, true, Alltoall::Pairwise { window: 16 }, Mode::Rendezvous, 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn allgather_any(size in 1u32..24, elements in 0i64..6, in_place: bool, way in 0usize..3,
                     mode in modes(), seed: u64) {
        let how = [Allgather::Direct, Allgather::Dissemination, Allgather::Ring][way];
        allgather(size, elements, in_place, how, mode, seed);
    }

    #[test]
    fn alltoall_any(size in 1u32..24, elements in 0i64..6, in_place: bool, window in 0u32..20,
                    mode in modes(), seed: u64) {
        let how = if window > 15 { Alltoall::Bruck } else { Alltoall::Pairwise { window } };
        alltoall(size, elements, in_place, how, mode, seed);
    }
}

#[test]
fn rng_is_seeded() {
    assert_eq!(Rng(7).next(), Rng(7).next());
}
