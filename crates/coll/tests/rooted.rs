//! Broadcast, gather(v) and scatter(v) within one group, against their definitions.

mod model;

use hpvm_coll::select::{Bcast, Gather, Scatter};
use hpvm_coll::*;
use model::data::{POISON, blank, packed, put};
use model::{Cost, Mode, Proc, no_op, run, ty};
use proptest::prelude::*;

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)]
}

/// `bytes` is a multiple of 6. Ranks use types of different sizes, with and without gaps.
fn bcast(
    size: u32,
    root: u32,
    bytes: usize,
    how: impl Into<Option<Bcast>>,
    mode: Mode,
    seed: u64,
) -> Cost {
    let how = how.into();
    let kinds = [ty(1, 1), ty(2, 2), ty(3, 4), ty(6, 11), ty(2, 3)];
    let kind = |rank: u32| kinds[(rank as usize + seed as usize % 5) % 5];
    let data = packed(root, 0, bytes);
    let proc = |rank: u32| {
        let kind = kind(rank);
        let count = bytes / kind.size;
        let input = Broadcast {
            rank,
            size,
            root,
            count: count as i64,
            size_bytes: kind.size as i64,
            contiguous: kind.size == kind.extent,
        };
        let schedule = match how {
            Some(how) => bcast::build(how, &input),
            None => bcast::schedule(&input),
        };
        let mut recv = vec![POISON; count * kind.extent];
        if rank == root {
            put(&mut recv, 0, kind, &data);
        }
        Proc::new(rank, schedule, vec![], recv, [kind, kind])
    };
    let mut procs: Vec<_> = (0..size).map(proc).collect();
    let cost = run(&mut procs, no_op, mode, seed);
    for proc in &procs {
        let mut want = vec![POISON; proc.recv.len()];
        put(&mut want, 0, kind(proc.rank), &data);
        assert!(proc.recv == want, "rank {}", proc.rank);
    }
    cost
}

fn bcasts() -> [Bcast; 4] {
    [
        Bcast::Binomial,
        Bcast::ScatterAllgather,
        Bcast::Chain { segment: 7 },
        Bcast::Chain { segment: 1000 },
    ]
}

#[test]
fn bcast_every_root() {
    for how in bcasts() {
        for size in 1..=17 {
            for root in 0..size {
                for bytes in [0, 6, 60] {
                    bcast(size, root, bytes, how, Mode::Rendezvous, u64::from(root));
                }
            }
        }
        bcast(333, 100, 600, how, Mode::Mixed, 4);
    }
}

#[test]
fn bcast_cost() {
    let cost = bcast(16, 3, 6000, Bcast::Binomial, Mode::Eager, 0);
    assert_eq!((cost.messages, cost.bytes, cost.most_out), (15, 15 * 6000, 4 * 6000));
    let cost = bcast(16, 3, 9600, Bcast::ScatterAllgather, Mode::Eager, 0);
    assert!(cost.most_out <= 3 * 9600, "{cost:?}");
    let cost = bcast(16, 3, 6000, Bcast::Chain { segment: 1000 }, Mode::Eager, 0);
    assert_eq!((cost.messages, cost.most_out), (15 * 6, 6000));
}

const SEND: model::Type = ty(4, 6);
const RECV: model::Type = ty(2, 5);

#[derive(Clone, Copy, Debug)]
struct Case {
    size: u32,
    root: u32,
    elements: usize,
    in_place: bool,
    mode: Mode,
    seed: u64,
}

impl Case {
    /// What is not significant on a rank is absurd.
    fn input(&self, rank: u32, gather: bool) -> Exchange {
        let (send_count, recv_count) = (self.elements as i64, 2 * self.elements as i64);
        let in_place = self.in_place && rank == self.root;
        let here = rank == self.root;
        let (send, recv) = if gather { (!in_place, here) } else { (here, !in_place) };
        let absurd = -1_000_000;
        Exchange {
            rank,
            size: self.size,
            root: self.root,
            send_count: if send { send_count } else { absurd },
            send_extent: SEND.extent as i64,
            send_size: SEND.size as i64,
            recv_count: if recv { recv_count } else { absurd },
            recv_extent: RECV.extent as i64,
            recv_size: RECV.size as i64,
            in_place,
        }
    }
}

fn gather(case: Case, how: impl Into<Option<Gather>>) -> Cost {
    let how = how.into();
    let Case { size, root, elements, .. } = case;
    let (bytes, stride) = (elements * SEND.size, 2 * elements * RECV.extent);
    let mut procs: Vec<_> = (0..size)
        .map(|rank| {
            let input = case.input(rank, true);
            let schedule = match how {
                Some(how) => gather::build(how, &input),
                None => gather::schedule(&input),
            };
            let own = packed(rank, 0, bytes);
            let mut send = blank(SEND, elements);
            put(&mut send, 0, SEND, &own);
            let mut recv = vec![];
            if rank == root {
                recv = vec![POISON; stride * size as usize];
                if case.in_place {
                    put(&mut recv, rank as usize * stride, RECV, &own);
                    send.clear();
                }
            }
            Proc::new(rank, schedule, send, recv, [SEND, RECV])
        })
        .collect();
    let cost = run(&mut procs, no_op, case.mode, case.seed);
    let mut want = vec![POISON; stride * size as usize];
    for rank in 0..size {
        put(&mut want, rank as usize * stride, RECV, &packed(rank, 0, bytes));
    }
    assert!(procs[root as usize].recv == want, "{how:?} {case:?}");
    cost
}

fn scatter(case: Case, how: impl Into<Option<Scatter>>) -> Cost {
    let how = how.into();
    let Case { size, root, elements, .. } = case;
    let (bytes, stride) = (elements * SEND.size, elements * SEND.extent);
    let mut procs: Vec<_> = (0..size)
        .map(|rank| {
            let input = case.input(rank, false);
            let schedule = match how {
                Some(how) => scatter::build(how, &input),
                None => scatter::schedule(&input),
            };
            let mut send = vec![];
            if rank == root {
                send = vec![POISON; stride * size as usize];
                for to in 0..size {
                    put(&mut send, to as usize * stride, SEND, &packed(root, to, bytes));
                }
            }
            Proc::new(rank, schedule, send, blank(RECV, 2 * elements), [SEND, RECV])
        })
        .collect();
    let cost = run(&mut procs, no_op, case.mode, case.seed);
    for proc in &procs {
        let mut want = blank(RECV, 2 * elements);
        if proc.rank != root || !case.in_place {
            put(&mut want, 0, RECV, &packed(root, proc.rank, bytes));
        }
        assert!(proc.recv == want, "{how:?} {case:?} rank {}", proc.rank);
    }
    cost
}

/// Lengths that differ, some zero, and places in falling order with holes between.
fn vectors(size: u32, elements: usize) -> (Vec<i64>, Vec<i64>, usize) {
    let counts: Vec<i64> =
        (0..size as usize).map(|rank| ((rank * 5 + elements) % 4 * elements) as i64).collect();
    let mut displs = vec![0; size as usize];
    let mut end = 0;
    for rank in (0..size as usize).rev() {
        displs[rank] = end + 1;
        end += counts[rank] + 1;
    }
    (counts, displs, end as usize + 1)
}

fn gather_v(case: Case) {
    let Case { size, root, elements, .. } = case;
    let (counts, displs, room) = vectors(size, elements);
    let kind = ty(4, 7);
    let mut procs: Vec<_> = (0..size)
        .map(|rank| {
            let here = rank == root;
            let in_place = case.in_place && here;
            let own = packed(rank, 0, counts[rank as usize] as usize * 4);
            let recv = Vectors {
                counts: if here { &counts } else { &[] },
                displs: if here { &displs } else { &[] },
                extent: 7,
                size_bytes: 4,
            };
            let (send_count, send_size) = (2 * counts[rank as usize], 2);
            let input = GatherV { rank, size, root, send_count, send_size, recv, in_place };
            let mut buffer = if here { blank(kind, room) } else { vec![] };
            if in_place {
                put(&mut buffer, displs[rank as usize] as usize * 7, kind, &own);
            }
            let send = if in_place { vec![] } else { own };
            Proc::new(rank, gather::schedule_v(&input), send, buffer, [ty(2, 2), kind])
        })
        .collect();
    run(&mut procs, no_op, case.mode, case.seed);
    let mut want = blank(kind, room);
    for rank in 0..size as usize {
        let data = packed(rank as u32, 0, counts[rank] as usize * 4);
        put(&mut want, displs[rank] as usize * 7, kind, &data);
    }
    assert!(procs[root as usize].recv == want, "{case:?}");
}

fn scatter_v(case: Case) {
    let Case { size, root, elements, .. } = case;
    let (counts, displs, room) = vectors(size, elements);
    let kind = ty(4, 7);
    let mut procs: Vec<_> = (0..size)
        .map(|rank| {
            let here = rank == root;
            let in_place = case.in_place && here;
            let send = Vectors {
                counts: if here { &counts } else { &[] },
                displs: if here { &displs } else { &[] },
                extent: 7,
                size_bytes: 4,
            };
            let (recv_count, recv_size) = (2 * counts[rank as usize], 2);
            let input = ScatterV { rank, size, root, send, recv_count, recv_size, in_place };
            let mut buffer = if here { blank(kind, room) } else { vec![] };
            for to in 0..if here { size as usize } else { 0 } {
                let data = packed(root, to as u32, counts[to] as usize * 4);
                put(&mut buffer, displs[to] as usize * 7, kind, &data);
            }
            let recv = blank(ty(2, 2), recv_count as usize);
            Proc::new(rank, scatter::schedule_v(&input), buffer, recv, [kind, ty(2, 2)])
        })
        .collect();
    run(&mut procs, no_op, case.mode, case.seed);
    for proc in &procs {
        let mut want = packed(root, proc.rank, counts[proc.rank as usize] as usize * 4);
        if proc.rank == root && case.in_place {
            want.fill(POISON);
        }
        assert!(proc.recv == want, "{case:?} rank {}", proc.rank);
    }
}

fn gather_scatter(case: Case) {
    for how in [Gather::Binomial, Gather::Linear] {
        gather(case, how);
    }
    for how in [Scatter::Binomial, Scatter::Linear] {
        scatter(case, how);
    }
    gather_v(case);
    scatter_v(case);
}

#[test]
fn gather_scatter_every_root() {
    for size in 1..=17 {
        for root in 0..size {
            for (elements, in_place) in [(0, false), (1, true), (3, false)] {
                let (mode, seed) = (Mode::Rendezvous, 9);
                gather_scatter(Case { size, root, elements, in_place, mode, seed });
            }
        }
    }
    let (mode, in_place) = (Mode::Mixed, false);
    gather_scatter(Case { size: 250, root: 77, elements: 1, in_place, mode, seed: 1 });
}

#[test]
fn gather_scatter_cost() {
    let (mode, in_place) = (Mode::Eager, false);
    let case = Case { size: 16, root: 0, elements: 5, in_place, mode, seed: 1 };
    let cost = gather(case, Gather::Binomial);
    assert_eq!((cost.messages, cost.bytes, cost.most_out), (15, 32 * 20, 8 * 20));
    let cost = gather(case, Gather::Linear);
    assert_eq!((cost.messages, cost.bytes), (15, 15 * 20));
    let cost = scatter(case, Scatter::Binomial);
    assert_eq!((cost.messages, cost.bytes, cost.most_out), (15, 32 * 20, 15 * 20));
}

/// What the default tables choose is right and the same on all ranks, on both sides of every
/// threshold.
#[test]
fn default_choices() {
    for size in [1, 2, 3, 4, 5, 8, 9, 17] {
        for bytes in [6, 12_000, 18_000, 40_002, 120_000, 240_000] {
            bcast(size, size / 2, bytes, None, Mode::Rendezvous, 2);
        }
        for elements in [0, 1, 500, 600] {
            for in_place in [true, false] {
                let (root, mode) = (size / 3, Mode::Rendezvous);
                let case = Case { size, root, elements, in_place, mode, seed: 4 };
                gather(case, None);
                scatter(case, None);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bcast_any(size in 1u32..40, root in 0u32..40, units in 0usize..30, way in 0usize..4,
                 mode in modes(), seed: u64) {
        bcast(size, root % size, 6 * units, bcasts()[way], mode, seed);
    }

    #[test]
    fn gather_scatter_any(size in 1u32..40, root in 0u32..40, elements in 0usize..5,
                          in_place: bool, mode in modes(), seed: u64) {
        gather_scatter(Case { size, root: root % size, elements, in_place, mode, seed });
    }
}
