//! The arithmetic on a made-up source of events: a processor with some counters, a kernel that hands them round, and a
//! program whose rates change.

use super::*;
use proptest::prelude::*;

/// More events than counters, handed round at every tick as the kernel does.
struct Source {
    counters: usize,
    /// Of each event, what would be counted if it were counted all the time.
    truth: Vec<u64>,
    seen: Vec<Reading>,
    turns: Vec<u32>,
    first: usize,
}

impl Source {
    fn new(events: usize, counters: usize) -> Source {
        let (truth, seen) = (vec![0; events], vec![Reading::default(); events]);
        Source { counters, truth, seen, turns: vec![0; events], first: 0 }
    }

    /// The program runs for `time` and does `rates` of each event per nanosecond.
    fn tick(&mut self, time: u64, rates: &[u64]) {
        let events = self.truth.len();
        for (event, rate) in rates.iter().enumerate() {
            self.truth[event] += rate * time;
            self.seen[event].enabled += time;
            if (event + events - self.first) % events < self.counters {
                self.seen[event].value += rate * time;
                self.seen[event].running += time;
                self.turns[event] += 1;
            }
        }
        self.first = (self.first + 1) % events;
    }
}

/// Runs it, reading all events after every tick.
fn counted(source: &mut Source, ticks: &[(u64, Vec<u64>)]) -> Vec<Series> {
    let mut all = vec![Series::default(); source.truth.len()];
    for (time, rates) in ticks {
        source.tick(*time, rates);
        for (series, reading) in all.iter_mut().zip(&source.seen) {
            series.push(*reading);
        }
    }
    all
}

/// Ticks of some length with some rates for `events` events.
fn ticks(events: usize) -> impl Strategy<Value = Vec<(u64, Vec<u64>)>> {
    let one = (1u64..1000, prop::collection::vec(0u64..1000, events));
    prop::collection::vec(one, 1..200)
}

proptest! {
    #[test]
    fn with_enough_counters_everything_is_exact(ticks in ticks(4)) {
        let mut source = Source::new(4, 4);
        for (series, truth) in counted(&mut source, &ticks).iter().zip(&source.truth) {
            let found = series.estimate();
            prop_assert_eq!(found.raw, *truth);
            prop_assert_eq!(found.scaled, Some(*truth as f64));
            prop_assert_eq!((found.coverage, found.error), (1.0, Some(0.0)));
        }
    }

    #[test]
    fn a_steady_rate_is_estimated_without_error(
        times in prop::collection::vec(1u64..1000, 30..100),
        rates in prop::collection::vec(0u64..1000, 7),
    ) {
        let ticks: Vec<_> = times.iter().map(|time| (*time, rates.clone())).collect();
        let mut source = Source::new(7, 3);
        for (series, truth) in counted(&mut source, &ticks).iter().zip(&source.truth) {
            let found = series.estimate();
            let truth = *truth as f64;
            prop_assert!((found.scaled.unwrap() - truth).abs() <= 1e-9 * truth.max(1.0));
            prop_assert!(found.error.unwrap() <= 1e-3 * truth.max(1.0), "{found:?}");
            prop_assert!(found.coverage > 0.0 && found.coverage < 1.0);
        }
    }

    #[test]
    fn coverages_share_the_counters(ticks in ticks(6)) {
        let mut source = Source::new(6, 2);
        let all = counted(&mut source, &ticks);
        let time: u64 = ticks.iter().map(|(time, _)| time).sum();
        let running: u64 = all.iter().map(|series| series.estimate().running).sum();
        prop_assert_eq!(running, 2 * time);
        for (found, turns) in all.iter().map(Series::estimate).zip(&source.turns) {
            // Not counted is not none, and one turn says nothing about how turns differ.
            prop_assert_eq!(found.scaled.is_none(), *turns == 0);
            prop_assert_eq!(found.error.is_some(), *turns > 1 || found.running == time);
        }
    }

    #[test]
    fn the_order_of_sums_does_not_matter(ticks in ticks(5), cut in 0usize..5) {
        let mut source = Source::new(5, 4);
        let all: Vec<_> = counted(&mut source, &ticks).iter().map(Series::estimate).collect();
        let (a, b) = all.split_at(cut);
        let whole = Estimate::sum(all.iter().copied());
        let parts = Estimate::sum([Estimate::sum(a.iter().copied()), Estimate::sum(b.iter().copied())]);
        prop_assert_eq!((whole.raw, whole.running, whole.enabled), (parts.raw, parts.running, parts.enabled));
        let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
            (a, b) => a == b,
        };
        prop_assert!(near(whole.scaled, parts.scaled) && near(whole.error, parts.error));
    }
}

/// A generator of numbers, so that the test below is the same every time.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

#[test]
fn the_error_holds_what_it_promises() {
    // 400 runs of a program whose rates change at random; counted a third of the time.
    let (mut state, mut within, mut all) = (7, 0, 0);
    for _ in 0..400 {
        let mut source = Source::new(6, 2);
        let ticks: Vec<_> = (0..120)
            .map(|_| (1_000, (0..6).map(|_| next(&mut state) % 1000).collect::<Vec<u64>>()))
            .collect();
        for (series, truth) in counted(&mut source, &ticks).iter().zip(&source.truth) {
            let found = series.estimate();
            let off = (found.scaled.unwrap() - *truth as f64).abs();
            within += u32::from(off <= found.error.unwrap());
            all += 1;
        }
    }
    let share = f64::from(within) / f64::from(all);
    assert!((0.92..0.98).contains(&share), "{share} of {all} within the error; expected 0.95");
}

#[test]
fn one_turn_gives_no_error() {
    let mut series = Series::default();
    series.push(Reading { value: 10, enabled: 100, running: 50 });
    let found = series.estimate();
    assert_eq!((found.scaled, found.coverage, found.error), (Some(20.0), 0.5, None));
    // It only waits for its turn: no new turn.
    series.push(Reading { value: 10, enabled: 200, running: 50 });
    assert_eq!(series.estimate().error, None);
    assert_eq!(series.estimate().scaled, Some(40.0));
}

#[test]
fn never_counted_is_not_zero() {
    let mut series = Series::default();
    series.push(Reading { value: 0, enabled: 100, running: 0 });
    assert_eq!(series.estimate().scaled, None);
    let counted =
        Estimate { scaled: Some(5.0), raw: 5, enabled: 9, running: 9, ..Estimate::default() };
    assert_eq!(Estimate::sum([series.estimate(), counted]).scaled, None);
    assert_eq!(Estimate::sum([Estimate::default(), counted]).scaled, Some(5.0));
    assert_eq!(Estimate::sum([]).scaled, None);
}

#[test]
fn a_reading_that_goes_back_changes_nothing() {
    let mut series = Series::default();
    series.push(Reading { value: 10, enabled: 100, running: 100 });
    let before = series;
    series.push(Reading { value: 9, enabled: 200, running: 200 });
    assert_eq!(series, before);
}
