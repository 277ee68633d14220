//! Reductions within one group, against their definitions.

mod model;

use hpvm_coll::select::Allreduce;
use hpvm_coll::*;
use model::data::{blank, compose, operands, put, reduced, scramble, sum};
use model::{Cost, Mode, Op, Proc, run, ty};
use proptest::prelude::*;

const TYPE: model::Type = ty(8, 11);

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Eager), Just(Mode::Rendezvous), Just(Mode::Mixed)]
}

#[derive(Clone, Copy, Debug)]
struct Case {
    size: u32,
    root: u32,
    count: usize,
    commutative: bool,
    in_place: bool,
    mode: Mode,
    seed: u64,
}

impl Case {
    fn input(&self, rank: u32) -> Reduction {
        Reduction {
            rank,
            size: self.size,
            root: self.root,
            count: self.count as i64,
            extent: TYPE.extent as i64,
            size_bytes: TYPE.size as i64,
            commutative: self.commutative,
            in_place: self.in_place,
        }
    }

    fn op(&self) -> Op {
        if self.commutative { sum } else { compose }
    }

    /// A rank with `elements` of operand and a result of `result` elements.
    fn proc(&self, rank: u32, schedule: Schedule, elements: usize, result: usize) -> Proc {
        let mut send = blank(TYPE, elements);
        let mut recv = blank(TYPE, if self.in_place { elements.max(result) } else { result });
        let buffer = if self.in_place { &mut recv } else { &mut send };
        put(buffer, 0, TYPE, &operands(rank, elements));
        Proc::new(rank, schedule, send, recv, [ty(1, 1), TYPE])
    }

    /// Runs an operation in which operand and result have the same length.
    fn run(&self, op: Op, build: impl Fn(&Reduction) -> Schedule) -> (Vec<Proc>, Cost) {
        let proc = |rank| self.proc(rank, build(&self.input(rank)), self.count, self.count);
        let mut procs: Vec<_> = (0..self.size).map(proc).collect();
        let cost = run(&mut procs, op, self.mode, self.seed);
        (procs, cost)
    }
}

/// Buffer contents with a packed result in front.
fn image(data: &[u8], count: usize) -> Vec<u8> {
    let mut buffer = blank(TYPE, count);
    put(&mut buffer, 0, TYPE, data);
    buffer
}

fn allreduce(case: Case, how: Allreduce) -> Cost {
    let want = image(&reduced(case.op(), 0..case.size, case.count), case.count);
    let (procs, cost) = case.run(case.op(), |input| allreduce::build(how, input));
    for proc in &procs {
        assert!(proc.recv == want, "{how:?} {case:?} rank {}", proc.rank);
    }
    // With an operator that shows its bracketing all ranks must still agree.
    let (procs, _) = case.run(scramble, |input| allreduce::build(how, input));
    assert!(procs.iter().all(|p| p.recv == procs[0].recv), "{how:?} {case:?}");
    cost
}

const ALLREDUCES: [Allreduce; 4] =
    [Allreduce::Direct, Allreduce::RecursiveDoubling, Allreduce::Rabenseifner, Allreduce::Ring];

fn every_case(mut each: impl FnMut(Case)) {
    for size in 1..=17 {
        for count in [0, 1, 5, 40] {
            for (commutative, in_place) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                let (mode, seed) = (Mode::Rendezvous, u64::from(size));
                each(Case { size, root: 0, count, commutative, in_place, mode, seed });
            }
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    (1u32..40, 0u32..40, 0usize..50, any::<bool>(), any::<bool>(), modes(), any::<u64>()).prop_map(
        |(size, root, count, commutative, in_place, mode, seed)| Case {
            size,
            root: root % size,
            count,
            commutative,
            in_place,
            mode,
            seed,
        },
    )
}

#[test]
fn allreduce_every_size() {
    for how in ALLREDUCES {
        every_case(|case| {
            allreduce(case, how);
        });
    }
}

#[test]
fn allreduce_cost() {
    let mut case = Case {
        size: 16,
        root: 0,
        count: 160,
        commutative: true,
        in_place: false,
        mode: Mode::Eager,
        seed: 1,
    };
    let bytes = 160 * 8;
    assert_eq!(allreduce(case, Allreduce::RecursiveDoubling).most_out, 4 * bytes);
    assert_eq!(allreduce(case, Allreduce::Ring).most_out, 2 * bytes / 16 * 15);
    assert_eq!(allreduce(case, Allreduce::Rabenseifner).most_out, 2 * bytes / 16 * 15);
    case.commutative = false;
    assert_eq!(allreduce(case, Allreduce::Rabenseifner).rounds, 8);
    case.size = 300;
    for how in ALLREDUCES {
        allreduce(case, how);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn allreduce_any(case in cases(), way in 0usize..4) {
        allreduce(case, ALLREDUCES[way]);
    }
}
