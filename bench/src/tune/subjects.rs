//! What is tuned: which candidates there are, and by which runs of the benchmark they are compared.

use super::{MOST_BYTES, Plan, decide};
use hpvm_coll::select::text::{Algorithm, CARRIED};
use hpvm_coll::select::{
    Allgather, Allreduce, Alltoall, Bcast, COLL_KINDS, Carrier, CollKind, Copies, DEFAULT, Gather,
    Reduce, ReduceScatter, Scatter, Table, Tables,
};

/// Most bytes that a member shows in a slot, as far as they are measured.
const MAX_SHOWN: i64 = 8192;

/// Something that is tuned.
pub struct Subject<A: Algorithm> {
    /// Its name in tables.
    pub name: &'static str,
    /// The benchmark's modes; a candidate has to win in each.
    pub modes: fn(u32) -> &'static [&'static str],
    sizes: fn(&Plan, u32) -> &'static [i64],
    pub rules: fn(&Tables) -> &Table<A>,
    choose: fn(&Tables, u32, i64) -> A,
    /// Candidates beside those of the built-in table.
    others: &'static [A],
    /// One form for algorithms that do the same on so many ranks.
    same: fn(A, u32) -> A,
    /// What the table counts, of the size that the benchmark is given.
    pub bytes: fn(u32, i64) -> i64,
    /// The size of a rank's longest buffer, or of its slot, and the most that is measured.
    buffer: fn(u32, i64) -> i64,
    most: i64,
}

fn unchanged<A>(algorithm: A, _ranks: u32) -> A {
    algorithm
}

fn message(_ranks: u32, size: i64) -> i64 {
    size
}

fn whole(ranks: u32, size: i64) -> i64 {
    i64::from(ranks) * size
}

/// What the root of a scatter shows.
fn all_but_one(ranks: u32, size: i64) -> i64 {
    i64::from(ranks - 1) * size
}

/// A window that holds all peers is as good as any larger one.
fn windows(algorithm: Alltoall, ranks: u32) -> Alltoall {
    match algorithm {
        Alltoall::Pairwise { window } if window + 1 >= ranks => {
            Alltoall::Pairwise { window: ranks.saturating_sub(1).max(8) }
        }
        other => other,
    }
}

pub const ALLREDUCE: Subject<Allreduce> = Subject {
    name: "allreduce",
    modes: |_| &["allreduce"],
    sizes: lengths,
    rules: |tables| &tables.allreduce,
    choose: Tables::allreduce,
    others: &[
        Allreduce::Direct,
        Allreduce::RecursiveDoubling,
        Allreduce::Rabenseifner,
        Allreduce::Ring,
    ],
    same: unchanged,
    bytes: message,
    buffer: message,
    most: MOST_BYTES,
};

pub const BCAST: Subject<Bcast> = Subject {
    name: "bcast",
    modes: |_| &["bcast"],
    sizes: lengths,
    rules: |tables| &tables.bcast,
    choose: Tables::bcast,
    others: &[
        Bcast::Binomial,
        Bcast::ScatterAllgather,
        Bcast::Chain { segment: 16 << 10 },
        Bcast::Chain { segment: 64 << 10 },
    ],
    same: unchanged,
    bytes: message,
    buffer: message,
    most: MOST_BYTES,
};

pub const REDUCE: Subject<Reduce> = Subject {
    name: "reduce",
    modes: |_| &["reduce"],
    sizes: lengths,
    rules: |tables| &tables.reduce,
    choose: Tables::reduce,
    others: &[Reduce::Binomial, Reduce::Rabenseifner],
    same: unchanged,
    bytes: message,
    buffer: message,
    most: MOST_BYTES,
};

pub const ALLGATHER: Subject<Allgather> = Subject {
    name: "allgather",
    modes: |_| &["allgather"],
    sizes: lengths,
    rules: |tables| &tables.allgather,
    choose: Tables::allgather,
    others: &[Allgather::Direct, Allgather::Dissemination, Allgather::Ring],
    same: unchanged,
    bytes: whole,
    buffer: whole,
    most: MOST_BYTES,
};

pub const GATHER: Subject<Gather> = Subject {
    name: "gather",
    modes: |_| &["gather"],
    sizes: lengths,
    rules: |tables| &tables.gather,
    choose: Tables::gather,
    others: &[Gather::Binomial, Gather::Linear],
    same: unchanged,
    bytes: message,
    buffer: whole,
    most: MOST_BYTES,
};

pub const SCATTER: Subject<Scatter> = Subject {
    name: "scatter",
    modes: |_| &["scatter"],
    sizes: lengths,
    rules: |tables| &tables.scatter,
    choose: Tables::scatter,
    others: &[Scatter::Binomial, Scatter::Linear],
    same: unchanged,
    bytes: message,
    buffer: whole,
    most: MOST_BYTES,
};

pub const ALLGATHERV: Subject<Allgather> = Subject {
    name: "allgatherv",
    modes: |_| &["allgatherv"],
    sizes: lengths,
    rules: |tables| &tables.allgatherv,
    choose: Tables::allgatherv,
    others: &[Allgather::Direct, Allgather::Dissemination, Allgather::Ring],
    same: unchanged,
    bytes: whole,
    buffer: whole,
    most: MOST_BYTES,
};

pub const REDUCE_SCATTER: Subject<ReduceScatter> = Subject {
    name: "reduce_scatter",
    modes: |_| &["reduce_scatter"],
    sizes: lengths,
    rules: |tables| &tables.reduce_scatter,
    choose: Tables::reduce_scatter,
    others: &[ReduceScatter::Tree, ReduceScatter::Halving, ReduceScatter::Pairwise],
    same: unchanged,
    bytes: whole,
    buffer: whole,
    most: MOST_BYTES,
};

pub const ALLTOALL: Subject<Alltoall> = Subject {
    name: "alltoall",
    modes: |_| &["alltoall"],
    sizes: lengths,
    rules: |tables| &tables.alltoall,
    choose: Tables::alltoall,
    others: &[
        Alltoall::Bruck,
        Alltoall::Pairwise { window: 4 },
        Alltoall::Pairwise { window: 8 },
        Alltoall::Pairwise { window: 32 },
    ],
    same: windows,
    bytes: message,
    buffer: whole,
    most: MOST_BYTES,
};

/// By [`CollKind`].
pub const CARRIERS: [Subject<Carrier>; COLL_KINDS] = [
    carried(
        CollKind::Bcast,
        |_| &["bcast"],
        |t| &t.carriers[0],
        |t, n, b| t.carrier(CollKind::Bcast, n, b),
    ),
    carried(
        CollKind::Reduce,
        |_| &["reduce"],
        |t| &t.carriers[1],
        |t, n, b| t.carrier(CollKind::Reduce, n, b),
    ),
    carried(
        CollKind::Allreduce,
        |_| &["allreduce"],
        |t| &t.carriers[2],
        |t, n, b| t.carrier(CollKind::Allreduce, n, b),
    ),
    carried(
        CollKind::Allgather,
        |_| &["allgather"],
        |t| &t.carriers[3],
        |t, n, b| t.carrier(CollKind::Allgather, n, b),
    ),
    carried(
        CollKind::Alltoall,
        |_| &["alltoall"],
        |t| &t.carriers[4],
        |t, n, b| t.carrier(CollKind::Alltoall, n, b),
    ),
    carried(
        CollKind::Gather,
        |_| &["gather"],
        |t| &t.carriers[5],
        |t, n, b| t.carrier(CollKind::Gather, n, b),
    ),
    carried(
        CollKind::Scatter,
        |_| &["scatter"],
        |t| &t.carriers[6],
        |t, n, b| t.carrier(CollKind::Scatter, n, b),
    ),
];

/// What carries a small collective; a member shows the message, or all blocks.
const fn carried(
    kind: CollKind,
    modes: fn(u32) -> &'static [&'static str],
    rules: fn(&Tables) -> &Table<Carrier>,
    choose: fn(&Tables, u32, i64) -> Carrier,
) -> Subject<Carrier> {
    Subject {
        name: CARRIED[kind as usize],
        modes,
        sizes: |_, _| &[8, 64, 512, 2048, 8192],
        rules,
        choose,
        others: &[Carrier::SharedMemory, Carrier::Messages],
        same: unchanged,
        bytes: match kind {
            CollKind::Alltoall => whole,
            CollKind::Scatter => all_but_one,
            _ => message,
        },
        buffer: if matches!(kind, CollKind::Alltoall | CollKind::Gather | CollKind::Scatter) {
            whole
        } else {
            message
        },
        most: MAX_SHOWN,
    }
}

/// Between two ranks both the time of a message and the bandwidth have to be better. More ranks
/// share processors on small machines, and all of them move data at once.
pub const COPIES: Subject<Copies> = Subject {
    name: hpvm_coll::select::text::MESSAGE,
    modes: |ranks| if ranks == 2 { &["latency", "bandwidth"] } else { &["alltoall"] },
    sizes: |_, ranks| match ranks {
        2 => &[131_072, 524_288, 4 << 20],
        _ => &[32_768, 131_072, 524_288, 1 << 20],
    },
    rules: |tables| &tables.copies,
    choose: |tables, ranks, bytes| tables.copies(ranks, bytes).unwrap_or(Copies::Two),
    others: &[Copies::Two, Copies::One],
    same: unchanged,
    bytes: message,
    buffer: |ranks, size| if ranks == 2 { size } else { whole(ranks, size) },
    most: MOST_BYTES,
};

/// Sizes of messages that the algorithms of collectives are measured with.
fn lengths(plan: &Plan, _ranks: u32) -> &'static [i64] {
    match plan.thorough {
        false => &[8, 512, 8192, 65536, 1 << 20],
        true => &[8, 64, 512, 2048, 8192, 32768, 131_072, 524_288, 1 << 20],
    }
}

/// Runs of the benchmark that a whole tuning takes.
pub fn steps(plan: &Plan) -> u64 {
    fn of<A: Algorithm>(subject: &Subject<A>, ranks: u32) -> usize {
        subject.candidates(ranks).len() * (subject.modes)(ranks).len()
    }
    let all = |ranks: u32| {
        of(&ALLREDUCE, ranks)
            + of(&BCAST, ranks)
            + of(&REDUCE, ranks)
            + of(&ALLGATHER, ranks)
            + of(&ALLTOALL, ranks)
            + of(&GATHER, ranks)
            + of(&SCATTER, ranks)
            + of(&ALLGATHERV, ranks)
            + of(&REDUCE_SCATTER, ranks)
            + CARRIERS.iter().map(|subject| of(subject, ranks)).sum::<usize>()
            + of(&COPIES, ranks)
    };
    plan.ranks.iter().map(|ranks| all(*ranks) as u64).sum::<u64>() * u64::from(plan.rounds())
}

impl<A: Algorithm> Subject<A> {
    pub fn candidates(&self, ranks: u32) -> Vec<A> {
        decide::candidates((self.rules)(&DEFAULT), self.others, ranks, self.same)
    }

    /// The built-in choice.
    pub fn choose(&self, ranks: u32, bytes: i64) -> A {
        (self.same)((self.choose)(&DEFAULT, ranks, bytes), ranks)
    }

    /// The sizes that it is measured with.
    pub fn measured(&self, plan: &Plan, ranks: u32) -> Vec<i64> {
        let fits = |size: &&i64| (self.buffer)(ranks, **size) <= self.most;
        (self.sizes)(plan, ranks).iter().filter(fits).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_hold_all_peers_are_one() {
        let window = |window| Alltoall::Pairwise { window };
        assert_eq!(windows(window(4), 5), windows(window(32), 5));
        assert_eq!(windows(window(4), 8), window(4));
        assert_eq!(windows(window(32), 64), window(32));
        assert_eq!(windows(window(99), 64), window(63));
        assert_eq!(ALLTOALL.candidates(2).len(), 2);
        assert_eq!(ALLTOALL.candidates(8).len(), 3);
    }

    #[test]
    fn the_built_in_choice_is_always_a_candidate() {
        fn check<A: Algorithm>(subject: &Subject<A>) {
            for ranks in 2..40 {
                let candidates = subject.candidates(ranks);
                for bytes in (0..24).map(|shift| 1 << shift) {
                    assert!(candidates.contains(&subject.choose(ranks, bytes)), "{}", subject.name);
                }
            }
        }
        check(&ALLREDUCE);
        check(&BCAST);
        check(&REDUCE);
        check(&ALLGATHER);
        check(&ALLTOALL);
        check(&GATHER);
        check(&SCATTER);
        check(&ALLGATHERV);
        check(&REDUCE_SCATTER);
        CARRIERS.iter().for_each(check);
        check(&COPIES);
    }

    #[test]
    fn carriers_stand_in_the_order_of_their_tables() {
        for (kind, subject) in CollKind::ALL.into_iter().zip(&CARRIERS) {
            let mode = (subject.modes)(2)[0];
            assert_eq!(subject.name, CARRIED[kind as usize]);
            assert_eq!(subject.name, format!("{mode}-by"));
            let mut tables = DEFAULT.clone();
            tables.carriers[kind as usize] = vec![rule()].into();
            assert_eq!((subject.rules)(&tables).len(), 1);
            assert_eq!((subject.choose)(&tables, 2, 8), Carrier::Messages);
        }
    }

    fn rule() -> hpvm_coll::select::Rule<Carrier> {
        hpvm_coll::select::Rule { ranks: 2, bytes: 8, algorithm: Carrier::Messages }
    }
}
