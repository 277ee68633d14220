//! Broadcast, gather(v) and scatter(v) within one group, against their definitions.

mod model;

use hpvm_coll::select::Bcast;
use hpvm_coll::*;
use model::data::{POISON, packed, put};
use model::{Cost, Mode, Proc, no_op, run, ty};
use proptest::prelude::*;

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)]
}

/// `bytes` is a multiple of 6. Ranks use types of different sizes, with and without gaps.
fn bcast(size: u32, root: u32, bytes: usize, how: Bcast, mode: Mode, seed: u64) -> Cost {
    let kinds = [ty(1, 1), ty(2, 2), ty(3, 4), ty(6, 11), ty(2, 3)];
    let kind = |rank: u32| kinds[(rank as usize + seed as usize % 5) % 5];
    let data = packed(root, 0, bytes);
    let proc = |rank: u32| {
        let kind = kind(rank);
        let count = bytes / kind.size;
        let schedule = bcast::build(
            how,
            &Broadcast {
                rank,
                size,
                root,
                count: count as i64,
                size_bytes: kind.size as i64,
                contiguous: kind.size == kind.extent,
            },
        );
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn bcast_any(size in 1u32..40, root in 0u32..40, units in 0usize..30, way in 0usize..4,
                 mode in modes(), seed: u64) {
        bcast(size, root % size, 6 * units, bcasts()[way], mode, seed);
    }
}
