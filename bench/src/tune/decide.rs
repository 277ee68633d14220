//! From times to a table: which algorithm wins where, and the rules that say so.

use hpvm_coll::select::text::Algorithm;
use hpvm_coll::select::{ANY, Rule};

/// How much faster than the built-in choice another algorithm has to be.
const MARGIN: f64 = 0.05;

/// The time of one algorithm.
#[derive(Clone, Debug)]
pub struct Time<A> {
    pub ranks: u32,
    /// As the collective's table counts them.
    pub bytes: i64,
    pub algorithm: A,
    /// Microseconds in each round.
    pub us: Vec<f64>,
}

impl<A> Time<A> {
    /// Of the round that was disturbed least.
    fn best(&self) -> f64 {
        self.us.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Whether this was faster in each round; both sides of a round were taken seconds apart.
    fn always_beats(&self, other: &Self) -> bool {
        self.us.len() == other.us.len() && self.us.iter().zip(&other.us).all(|(a, b)| a < b)
    }
}

/// A point at which another algorithm wins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change<A> {
    pub ranks: u32,
    pub bytes: i64,
    pub from: A,
    pub to: A,
    pub us_from: f64,
    pub us_to: f64,
}

/// The changes that the times ask for. `built_in` gives the algorithm of the built-in table; where
/// it was not measured nothing changes.
pub fn changes<A: Algorithm>(
    times: &[Time<A>],
    built_in: impl Fn(u32, i64) -> A,
) -> Vec<Change<A>> {
    points(times)
        .into_iter()
        .filter_map(|(ranks, bytes)| {
            let here = || times.iter().filter(move |t| (t.ranks, t.bytes) == (ranks, bytes));
            let old = here().find(|t| t.algorithm == built_in(ranks, bytes))?;
            let new = here()
                .filter(|t| t.always_beats(old))
                .min_by(|a, b| a.best().total_cmp(&b.best()))?;
            (new.best() < (1.0 - MARGIN) * old.best()).then_some(Change {
                ranks,
                bytes,
                from: old.algorithm,
                to: new.algorithm,
                us_from: old.best(),
                us_to: new.best(),
            })
        })
        .collect()
}

/// The changes by what replaces what on how many ranks.
pub fn groups<A: Algorithm>(changes: &[Change<A>]) -> Vec<Vec<Change<A>>> {
    let mut groups: Vec<Vec<Change<A>>> = Vec::new();
    for c in changes {
        let same = |g: &&mut Vec<Change<A>>| {
            g.iter().all(|o| (o.ranks, o.from, o.to) == (c.ranks, c.from, c.to))
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(*c),
            None => groups.push(vec![*c]),
        }
    }
    groups
}

/// Ranks and bytes that were measured, in order, each once.
fn points<A>(times: &[Time<A>]) -> Vec<(u32, i64)> {
    let mut points: Vec<(u32, i64)> = times.iter().map(|t| (t.ranks, t.bytes)).collect();
    points.sort_unstable();
    points.dedup();
    points
}

/// The built-in table with the changes put in. A change holds for the numbers of ranks above the
/// next smaller measured one, and for lengths up to halfway (by ratio) to the neighbours. Above
/// the longest measured message its change goes on; above the most ranks nothing changes. None
/// where nothing changes at all.
pub fn table<A: Algorithm>(
    times: &[Time<A>],
    changes: &[Change<A>],
    built_in: &[Rule<A>],
    choose: impl Fn(u32, i64) -> A,
) -> Option<Vec<Rule<A>>> {
    let points = points(times);
    let most = points.last()?.0;
    if changes.is_empty() {
        return None;
    }
    let mut rules: Vec<Rule<A>> = Vec::new();
    let mut before: Vec<(i64, A)> = Vec::new();
    for ranks in 2..=most {
        // Every count up to the most has a measured one at or above it.
        let measured = points.iter().map(|p| p.0).find(|n| *n >= ranks)?;
        let sizes: Vec<i64> = points.iter().filter(|p| p.0 == measured).map(|p| p.1).collect();
        let line = line(&sizes, ranks, built_in, &choose, |bytes| {
            changes.iter().find(|c| (c.ranks, c.bytes) == (measured, bytes)).map(|c| c.to)
        });
        if line == before {
            let count = rules.len() - line.len();
            rules[count..].iter_mut().for_each(|rule| rule.ranks = ranks);
        } else {
            rules.extend(line.iter().map(|&(bytes, algorithm)| Rule { ranks, bytes, algorithm }));
            before = line;
        }
    }
    rules.extend(built_in.iter().filter(|rule| rule.ranks > most));
    Some(rules)
}

/// What one number of ranks does: limits in bytes and algorithms, the last without a limit.
fn line<A: Algorithm>(
    sizes: &[i64],
    ranks: u32,
    built_in: &[Rule<A>],
    choose: impl Fn(u32, i64) -> A,
    change: impl Fn(i64) -> Option<A>,
) -> Vec<(i64, A)> {
    let mut line: Vec<(i64, A)> = Vec::new();
    let mut add = |limit, algorithm| match line.last_mut() {
        Some(last) if last.1 == algorithm => last.0 = limit,
        _ => line.push((limit, algorithm)),
    };
    let mut low = -1;
    for (at, &bytes) in sizes.iter().enumerate() {
        let high = sizes.get(at + 1).map_or(ANY, |next| between(bytes, *next));
        match change(bytes) {
            Some(algorithm) => add(high, algorithm),
            None => {
                // The built-in table's own limits stay exact where it is kept.
                let fits = |rule: &&Rule<A>| rule.ranks >= ranks;
                let limits = built_in.iter().filter(fits).map(|rule| rule.bytes);
                let mut limits: Vec<i64> = limits.filter(|l| low < *l && *l < high).collect();
                limits.push(high);
                limits.sort_unstable();
                limits.into_iter().for_each(|limit| add(limit, choose(ranks, limit)));
            }
        }
        low = high;
    }
    line
}

/// The geometric mean: halfway on the scale on which sizes were taken.
fn between(a: i64, b: i64) -> i64 {
    ((a as f64 * b as f64).sqrt() as i64).clamp(a, b)
}

/// What is measured on so many ranks: the built-in table's algorithms and `others`, each once.
/// `same` brings those that do the same on so few ranks to one form.
pub fn candidates<A: Algorithm>(
    built_in: &[Rule<A>],
    others: &[A],
    ranks: u32,
    same: impl Fn(A, u32) -> A,
) -> Vec<A> {
    let mut found = Vec::new();
    let fits = built_in.iter().filter(|rule| rule.ranks >= ranks);
    for algorithm in fits.map(|rule| rule.algorithm).chain(others.iter().copied()) {
        let algorithm = same(algorithm, ranks);
        if !found.contains(&algorithm) {
            found.push(algorithm);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_coll::select::{Allreduce, DEFAULT, Tables};
    use proptest::prelude::*;
    use std::borrow::Cow;

    const ALGORITHMS: [Allreduce; 4] =
        [Allreduce::Direct, Allreduce::RecursiveDoubling, Allreduce::Rabenseifner, Allreduce::Ring];
    const SIZES: [i64; 5] = [8, 512, 8192, 65536, 1 << 20];

    fn times(us: impl Fn(u32, i64, Allreduce) -> f64) -> Vec<Time<Allreduce>> {
        let mut times = Vec::new();
        for ranks in [2, 4, 8] {
            for bytes in SIZES {
                times.extend(ALGORITHMS.map(|algorithm| Time {
                    ranks,
                    bytes,
                    algorithm,
                    us: vec![2.0 * us(ranks, bytes, algorithm), us(ranks, bytes, algorithm)],
                }));
            }
        }
        times
    }

    fn tuned(times: &[Time<Allreduce>]) -> (Vec<Change<Allreduce>>, Option<Tables>) {
        let choose = |ranks, bytes| DEFAULT.allreduce(ranks, bytes);
        let changes = changes(times, choose);
        let rules = table(times, &changes, &DEFAULT.allreduce, choose);
        let tables = rules.map(|r| Tables { allreduce: Cow::Owned(r), ..DEFAULT.clone() });
        (changes, tables)
    }

    #[test]
    fn a_small_gain_changes_nothing() {
        let near = |n, b, a| if a == DEFAULT.allreduce(n, b) { 1.0 } else { 0.96 };
        let (changes, tables) = tuned(&times(near));
        assert!(changes.is_empty() && tables.is_none());
    }

    #[test]
    fn who_loses_one_round_changes_nothing() {
        let ring = |_, _, a| if a == Allreduce::Ring { 0.5 } else { 1.0 };
        let mut times = times(ring);
        let count = tuned(&times).0.len();
        for time in times.iter_mut().filter(|t| t.algorithm == Allreduce::Ring) {
            time.us[0] = 2.1;
        }
        assert!(count > 0 && tuned(&times).0.is_empty());
    }

    #[test]
    fn one_change_reaches_halfway_and_no_further() {
        let wins = |n, b, a| {
            let kept = a == DEFAULT.allreduce(n, b);
            if (n, b, a) == (4, 8192, Allreduce::Ring) {
                0.5
            } else if kept {
                1.0
            } else {
                2.0
            }
        };
        let (changes, tables) = tuned(&times(wins));
        assert_eq!(changes.len(), 1);
        assert_eq!((changes[0].from, changes[0].us_to), (Allreduce::RecursiveDoubling, 0.5));
        let tables = tables.unwrap();
        for ranks in 1..100 {
            for bytes in [0, 8, 255, 256, 257, 2048, 2049, 8192, 8193, 23170, 23171, 1 << 30] {
                let changed = (3..=4).contains(&ranks) && (2049..=23170).contains(&bytes);
                let kept = DEFAULT.allreduce(ranks.max(2), bytes);
                let expected = if changed { Allreduce::Ring } else { kept };
                assert_eq!(tables.allreduce(ranks, bytes), expected, "{ranks} ranks, {bytes}");
            }
        }
        assert_eq!(tables.to_string().parse(), Ok(tables));
    }

    #[test]
    fn the_longest_goes_on_and_more_ranks_do_not_change() {
        let doubling = |_, _, a| if a == Allreduce::RecursiveDoubling { 1.0 } else { 9.0 };
        let tables = tuned(&times(doubling)).1.unwrap();
        assert_eq!(tables.allreduce(7, 1 << 40), Allreduce::RecursiveDoubling);
        assert_eq!(tables.allreduce(9, 1 << 40), DEFAULT.allreduce(9, 1 << 40));
        let measured = [2, 4, 8].map(|n| SIZES.map(|b| tables.allreduce(n, b)));
        assert!(measured.iter().flatten().all(|a| *a == Allreduce::RecursiveDoubling));
    }

    #[test]
    fn what_is_confirmed_together_is_one_comparison() {
        let change = |ranks, bytes, to| Change {
            ranks,
            bytes,
            from: Allreduce::Direct,
            to,
            us_from: 2.0,
            us_to: 1.0,
        };
        let ring = |ranks, bytes| change(ranks, bytes, Allreduce::Ring);
        let groups =
            groups(&[ring(2, 8), change(2, 64, Allreduce::Rabenseifner), ring(2, 512), ring(4, 8)]);
        let bytes: Vec<Vec<i64>> =
            groups.iter().map(|g| g.iter().map(|c| c.bytes).collect()).collect();
        assert_eq!(bytes, [vec![8, 512], vec![64], vec![8]]);
    }

    #[test]
    fn candidates_are_named_once() {
        let all = candidates(&DEFAULT.allreduce, &ALGORITHMS, 9, |a, _| a);
        assert_eq!(all.len(), 4);
        let one = candidates(&DEFAULT.allreduce, &ALGORITHMS, 9, |_, _| Allreduce::Ring);
        assert_eq!(one, [Allreduce::Ring]);
    }

    proptest! {
        #[test]
        fn what_was_measured_is_chosen(us in prop::collection::vec(0.1..10.0f64, 60)) {
            let at = |n: u32, b: i64, a| {
                let row = n.trailing_zeros() as usize - 1;
                let size = SIZES.iter().position(|s| *s == b).unwrap();
                let column = ALGORITHMS.iter().position(|x| *x == a).unwrap();
                us[(row * SIZES.len() + size) * 4 + column]
            };
            let (_, tables) = tuned(&times(at));
            let tables = tables.unwrap_or_else(|| DEFAULT.clone());
            for n in [2, 4, 8] {
                for b in SIZES {
                    let least = ALGORITHMS.map(|a| at(n, b, a)).into_iter().fold(99.0, f64::min);
                    let kept = at(n, b, DEFAULT.allreduce(n, b));
                    let expected = if least < 0.95 * kept { least } else { kept };
                    prop_assert_eq!(at(n, b, tables.allreduce(n, b)), expected);
                }
            }
        }
    }
}
