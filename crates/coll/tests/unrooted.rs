//! Barrier, allgather(v) and alltoall(v, w) within one group, against their definitions.

mod model;

use hpvm_coll::select::{Allgather, Alltoall};
use hpvm_coll::*;
use model::data::{blank, packed, put};
use model::{Cost, Mode, Proc, no_op, run, ty};
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
    how: impl Into<Option<Allgather>>,
    mode: Mode,
    seed: u64,
) -> Cost {
    let how = how.into();
    let bytes = elements as usize * SEND.size;
    let stride = 2 * elements as usize * RECV.extent;
    let mut want = blank(RECV, 2 * elements as usize * size as usize);
    for rank in 0..size {
        put(&mut want, rank as usize * stride, RECV, &packed(rank, 0, bytes));
    }
    let proc = |rank: u32| {
        let input = exchange(rank, size, elements, in_place);
        let schedule = match how {
            Some(how) => allgather::build(how, &input),
            None => allgather::schedule(&input),
        };
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
    how: impl Into<Option<Alltoall>>,
    mode: Mode,
    seed: u64,
) -> Cost {
    let how = how.into();
    let bytes = elements as usize * SEND.size;
    let n = elements as usize;
    let proc = |rank: u32| {
        let input = exchange(rank, size, elements, in_place);
        let schedule = match how {
            Some(how) => alltoall::build(how, &input),
            None => alltoall::schedule(&input),
        };
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
    let cost = run(&mut procs, no_op, mode, seed);
    // Nobody leaves before having heard, directly or not, that everybody has come.
    assert!(procs.iter().flat_map(|p| &p.heard).all(|&heard| heard), "size {size}");
    cost
}

/// Elements of the block from one rank to another; some are zero.
fn length(from: u32, to: u32, scale: usize) -> usize {
    (from as usize * 3 + to as usize * 5 + scale) % 4 * scale
}

/// Places of blocks in a buffer, in falling order with a hole before each; and the room needed.
fn places(counts: &[i64]) -> (Vec<i64>, usize) {
    let mut displs = vec![0; counts.len()];
    let mut end = 0;
    for (displ, count) in displs.iter_mut().zip(counts).rev() {
        *displ = end + 1;
        end += count + 1;
    }
    (displs, end as usize)
}

fn allgatherv(
    size: u32,
    scale: usize,
    in_place: bool,
    how: impl Into<Option<Allgather>>,
    mode: Mode,
    seed: u64,
) {
    let how = how.into();
    let counts: Vec<i64> = (0..size).map(|rank| 2 * length(rank, 0, scale) as i64).collect();
    let (displs, room) = places(&counts);
    let data = |rank: u32| packed(rank, 0, length(rank, 0, scale) * SEND.size);
    let mut want = blank(RECV, room);
    for rank in 0..size {
        put(&mut want, displs[rank as usize] as usize * RECV.extent, RECV, &data(rank));
    }
    let proc = |rank: u32| {
        let recv = Vectors {
            counts: &counts,
            displs: &displs,
            extent: RECV.extent as i64,
            size_bytes: RECV.size as i64,
        };
        let send_count = length(rank, 0, scale) as i64;
        let send_size = SEND.size as i64;
        let input = GatherV { rank, size, root: 0, send_count, send_size, recv, in_place };
        let mut send = blank(SEND, send_count as usize);
        let mut buffer = blank(RECV, room);
        if in_place {
            let at = displs[rank as usize] as usize * RECV.extent;
            put(&mut buffer, at, RECV, &data(rank));
        } else {
            put(&mut send, 0, SEND, &data(rank));
        }
        let schedule = match how {
            Some(how) => allgatherv::build(how, &input),
            None => allgatherv::schedule(&input),
        };
        Proc::new(rank, schedule, send, buffer, TYPES)
    };
    let mut procs: Vec<_> = (0..size).map(proc).collect();
    run(&mut procs, no_op, mode, seed);
    assert!(procs.iter().all(|p| p.recv == want), "{how:?} {size}");
}

/// Counts and places of a rank, the latter in units of so many bytes.
struct Lists {
    sends: Vec<i64>,
    sdispls: Vec<i64>,
    recvs: Vec<i64>,
    rdispls: Vec<i64>,
    units: [usize; 2],
}

impl Lists {
    fn build(&self, rank: u32, in_place: bool, typed: bool) -> Schedule {
        let (sends, recvs) = (&self.sends[..], &self.recvs[..]);
        let size = recvs.len() as u32;
        let [sunit, runit] = self.units.map(|unit| unit as i64);
        let [ssize, rsize] = [SEND.size as i64, RECV.size as i64];
        if typed {
            let bytes = |displs: &[i64], unit| displs.iter().map(|d| d * unit).collect::<Vec<_>>();
            let (sdispls, rdispls) = (bytes(&self.sdispls, sunit), bytes(&self.rdispls, runit));
            let (ssizes, rsizes) = (vec![ssize; sends.len()], vec![rsize; recvs.len()]);
            let send = TypedVectors { counts: sends, displs: &sdispls, sizes: &ssizes };
            let recv = TypedVectors { counts: recvs, displs: &rdispls, sizes: &rsizes };
            return alltoallw::schedule(&AlltoallW { rank, size, send, recv, in_place });
        }
        // The plain form counts in extents, so its unit is the extent.
        let (sdispls, rdispls) = (&self.sdispls, &self.rdispls);
        let send = Vectors { counts: sends, displs: sdispls, extent: sunit, size_bytes: ssize };
        let recv = Vectors { counts: recvs, displs: rdispls, extent: runit, size_bytes: rsize };
        alltoallv::schedule(&AlltoallV { rank, size, send, recv, in_place })
    }
}

/// Also alltoallw, which gets types that depend on the pair. In place, both directions of a pair
/// have the same length.
fn alltoallv(size: u32, scale: usize, in_place: bool, typed: bool, mode: Mode, seed: u64) {
    let length = |from: u32, to: u32| match in_place {
        true => length(from.min(to), from.max(to), scale),
        false => length(from, to, scale),
    };
    let kind = |from: u32, to: u32, base: model::Type| match typed {
        true => ty(base.size, base.extent + (from + to) as usize % 3),
        false => ty(base.size, base.extent + 2),
    };
    let bytes = |from: u32, to: u32| length(from, to) * SEND.size;
    let mut procs: Vec<_> = (0..size)
        .map(|rank| {
            let sends: Vec<i64> = (0..size).map(|to| length(rank, to) as i64).collect();
            let recvs: Vec<i64> = (0..size).map(|from| 2 * length(from, rank) as i64).collect();
            let ((sdispls, sroom), (rdispls, rroom)) = (places(&sends), places(&recvs));
            let (sunit, runit) = (SEND.extent + 2, RECV.extent + 2);
            let (mut send, mut recv) = (vec![0xEE; sroom * sunit], vec![0xEE; rroom * runit]);
            for to in 0..size {
                let data = packed(rank, to, bytes(rank, to));
                let i = to as usize;
                if in_place {
                    put(&mut recv, rdispls[i] as usize * runit, kind(rank, to, RECV), &data);
                } else {
                    put(&mut send, sdispls[i] as usize * sunit, kind(rank, to, SEND), &data);
                }
            }
            let lists = Lists { sends, sdispls, recvs, rdispls, units: [sunit, runit] };
            let schedule = lists.build(rank, in_place, typed);
            let types = [kind(0, 0, SEND), kind(0, 0, RECV)];
            let mut proc = Proc::new(rank, schedule, send, recv, types);
            proc.send_of = (0..size).map(|to| kind(rank, to, SEND)).collect();
            proc.recv_of = (0..size).map(|from| kind(from, rank, RECV)).collect();
            proc
        })
        .collect();
    run(&mut procs, no_op, mode, seed);
    for proc in &procs {
        let rank = proc.rank;
        let recvs: Vec<i64> = (0..size).map(|from| 2 * length(from, rank) as i64).collect();
        let (displs, room) = places(&recvs);
        let unit = RECV.extent + 2;
        let mut want = vec![0xEE; room * unit];
        for from in 0..size {
            let data = packed(from, rank, bytes(from, rank));
            let at = displs[from as usize] as usize * unit;
            put(&mut want, at, kind(from, rank, RECV), &data);
        }
        assert!(proc.recv == want, "rank {rank} of {size}, typed {typed}");
    }
}

#[test]
fn v_forms_every_size() {
    for size in (1..=18).chain([70]) {
        for (scale, in_place) in [(0, false), (1, false), (2, true), (3, false)] {
            for how in [Allgather::Direct, Allgather::Dissemination, Allgather::Ring] {
                allgatherv(size, scale, in_place, how, Mode::Rendezvous, 3);
            }
            alltoallv(size, scale, in_place, false, Mode::Rendezvous, 3);
            alltoallv(size, scale, in_place, true, Mode::Mixed, 3);
        }
    }
}

#[test]
fn barrier_holds_everyone_back() {
    for size in (1..=40).chain([300]) {
        for mode in [Mode::Eager, Mode::Rendezvous] {
            let cost = barrier(size, barrier::schedule, mode, u64::from(size));
            let rounds = (size as f64).log2().ceil() as usize;
            assert_eq!((cost.rounds, cost.messages), (rounds, rounds * size as usize));
            for radix in [0, 2, 3, 4, 5, 400] {
                barrier(size, |g| barrier::dissemination::with_radix(g, radix), mode, 3);
            }
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

/// What the default tables choose is right and the same on all ranks, on both sides of every
/// threshold.
#[test]
fn default_choices() {
    for size in [1, 2, 3, 4, 5, 8, 9, 17] {
        for elements in [0, 1, 60, 1000, 9000] {
            allgather(size, elements, false, None, Mode::Rendezvous, 1);
            alltoall(size, elements.min(1000), elements == 60, None, Mode::Rendezvous, 1);
            allgatherv(size, elements as usize / 3, false, None, Mode::Rendezvous, 1);
        }
    }
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

    #[test]
    fn v_forms_any(size in 1u32..24, scale in 0usize..4, in_place: bool, typed: bool,
                   way in 0usize..3, mode in modes(), seed: u64) {
        let how = [Allgather::Direct, Allgather::Dissemination, Allgather::Ring][way];
        allgatherv(size, scale, in_place, how, mode, seed);
        alltoallv(size, scale, in_place, typed, mode, seed);
    }
}
