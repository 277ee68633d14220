//! Reductions within one group, against their definitions.

mod model;

use hpvm_coll::select::{Allreduce, Reduce, ReduceScatter as Rs};
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

const EXAMPLE: Case = Case {
    size: 16,
    root: 0,
    count: 160,
    commutative: true,
    in_place: false,
    mode: Mode::Eager,
    seed: 1,
};

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
    let mut case = EXAMPLE;
    let bytes = 160 * 8;
    assert_eq!(allreduce(case, Allreduce::RecursiveDoubling).most_out, 4 * bytes);
    assert_eq!(allreduce(case, Allreduce::Ring).most_out, 2 * bytes / 16 * 15);
    assert_eq!(allreduce(case, Allreduce::Rabenseifner).most_out, 2 * bytes / 16 * 15);
    case.commutative = false;
    assert_eq!(allreduce(case, Allreduce::Rabenseifner).rounds, 8);
    case.size = 200;
    case.count = 20;
    for how in ALLREDUCES {
        allreduce(case, how);
    }
}

fn reduce(case: Case, how: Reduce) -> Cost {
    let want = image(&reduced(case.op(), 0..case.size, case.count), case.count);
    let mut procs: Vec<_> = (0..case.size)
        .map(|rank| {
            let in_place = case.in_place && rank == case.root;
            let case = Case { in_place, ..case };
            // Away from the root there is no receive buffer at all.
            let result = if rank == case.root { case.count } else { 0 };
            case.proc(rank, reduce::build(how, &case.input(rank)), case.count, result)
        })
        .collect();
    let cost = run(&mut procs, case.op(), case.mode, case.seed);
    assert!(procs[case.root as usize].recv == want, "{how:?} {case:?}");
    cost
}

fn scans(case: Case) {
    let (procs, cost) = case.run(case.op(), scan::scan);
    assert!(cost.rounds <= case.size as usize);
    for proc in &procs {
        let want = image(&reduced(case.op(), 0..proc.rank + 1, case.count), case.count);
        assert!(proc.recv == want, "scan {case:?} rank {}", proc.rank);
    }
    let (procs, _) = case.run(case.op(), scan::exscan);
    for proc in &procs {
        let want = match proc.rank {
            0 if case.in_place => image(&operands(0, case.count), case.count),
            0 => blank(TYPE, case.count),
            rank => image(&reduced(case.op(), 0..rank, case.count), case.count),
        };
        assert!(proc.recv == want, "exscan {case:?} rank {}", proc.rank);
    }
}

/// Parts of `case.count`, or of lengths that differ and may be zero.
fn reduce_scatter(case: Case, how: impl Into<Option<Rs>>, even: bool) -> Cost {
    let how = how.into();
    let part = |rank: u32| match even {
        true => case.count,
        false => (rank as usize * 7 + case.count) % 4 * (case.count.min(3)),
    };
    let counts: Vec<i64> = (0..case.size).map(|rank| part(rank) as i64).collect();
    let total = counts.iter().sum::<i64>() as usize;
    let mut procs: Vec<_> = (0..case.size)
        .map(|rank| {
            let input = case.input(rank);
            let schedule = if even {
                match how {
                    Some(how) => reduce_scatter::block::build(how, &input),
                    None => reduce_scatter::block::schedule(&input),
                }
            } else {
                let input = ReduceScatter {
                    rank,
                    size: case.size,
                    counts: &counts,
                    extent: input.extent,
                    size_bytes: input.size_bytes,
                    commutative: input.commutative,
                    in_place: input.in_place,
                };
                match how {
                    Some(how) => reduce_scatter::build(how, &input),
                    None => reduce_scatter::schedule(&input),
                }
            };
            case.proc(rank, schedule, total, part(rank))
        })
        .collect();
    let cost = run(&mut procs, case.op(), case.mode, case.seed);
    let all = reduced(case.op(), 0..case.size, total);
    let mut start = 0;
    for proc in &procs {
        let own = part(proc.rank);
        let want = image(&all[start * 8..(start + own) * 8], own);
        assert!(proc.recv[..want.len()] == want, "{how:?} {case:?} rank {}", proc.rank);
        start += own;
    }
    cost
}

const REDUCES: [Reduce; 2] = [Reduce::Binomial, Reduce::Rabenseifner];
const REDUCE_SCATTERS: [Rs; 3] = [Rs::Tree, Rs::Halving, Rs::Pairwise];

#[test]
fn reduce_every_root() {
    for how in REDUCES {
        every_case(|case| {
            for root in 0..case.size {
                reduce(Case { root, ..case }, how);
            }
        });
    }
}

#[test]
fn reduce_cost() {
    let mut case = EXAMPLE;
    let bytes = case.count * 8;
    case.root = 5;
    let cost = reduce(case, Reduce::Binomial);
    assert_eq!((cost.messages, cost.most_out), (15, bytes));
    let cost = reduce(case, Reduce::Rabenseifner);
    assert!(cost.most_out < 2 * bytes && cost.rounds == 8, "{cost:?}");
    case.size = 301;
    case.commutative = false;
    for how in REDUCES {
        reduce(case, how);
    }
}

#[test]
fn scan_every_size() {
    every_case(scans);
    scans(Case { size: 200, count: 3, commutative: false, ..EXAMPLE });
    let (_, cost) = EXAMPLE.run(sum, scan::scan);
    assert_eq!((cost.rounds, cost.most_out), (4, 4 * EXAMPLE.count * 8));
}

#[test]
fn reduce_scatter_every_size() {
    for how in REDUCE_SCATTERS {
        every_case(|case| {
            reduce_scatter(case, how, true);
            reduce_scatter(case, how, false);
        });
    }
    let cost = reduce_scatter(EXAMPLE, Rs::Halving, true);
    assert_eq!((cost.rounds, cost.most_out), (5, 15 * EXAMPLE.count * 8));
    let cost = reduce_scatter(EXAMPLE, Rs::Pairwise, true);
    assert_eq!(cost.most_out, 15 * EXAMPLE.count * 8);
    let case = Case { size: 130, count: 2, ..EXAMPLE };
    for how in REDUCE_SCATTERS {
        reduce_scatter(case, how, false);
    }
}

/// What the default tables choose is right as well, below and above their thresholds.
#[test]
fn default_choices() {
    for size in [2, 3, 6, 8] {
        for count in [1, 600, 5000] {
            for commutative in [true, false] {
                let case = Case { size, count, commutative, ..EXAMPLE };
                let want = image(&reduced(case.op(), 0..size, count), count);
                let (procs, _) = case.run(case.op(), allreduce::schedule);
                assert!(procs.iter().all(|p| p.recv == want));
                let (procs, _) = case.run(case.op(), reduce::schedule);
                assert!(procs[0].recv == want);
                reduce_scatter(Case { count: count / 4, ..case }, None, true);
                reduce_scatter(case, None, false);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn allreduce_any(case in cases(), way in 0usize..4) {
        allreduce(case, ALLREDUCES[way]);
    }

    #[test]
    fn reduce_any(case in cases(), way in 0usize..2) {
        reduce(case, REDUCES[way]);
    }

    #[test]
    fn scan_any(case in cases()) {
        scans(case);
    }

    #[test]
    fn reduce_scatter_any(case in cases(), way in 0usize..3, even: bool) {
        let case = Case { count: case.count % 8, ..case };
        reduce_scatter(case, REDUCE_SCATTERS[way], even);
    }
}
