//! Figures that follow from several events.

use crate::estimate::Estimate;
use crate::events::TASK_CLOCK;

/// A figure and how it is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    pub name: &'static str,
    pub value: f64,
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things per thing.
    Ratio,
    /// A part of a whole, 0 to 1.
    Share,
    /// Per second.
    Hertz,
    /// Bytes per second.
    Bytes,
}

/// Bytes that a miss of the last cache brings, on all processors that we know.
const LINE: f64 = 64.0;

/// Name, dividend, divisor, factor, unit. `elapsed` stands for the seconds of the clock on the wall.
const TABLE: &[(&str, &str, &str, f64, Unit)] = &[
    ("processors-used", TASK_CLOCK, "elapsed", 1e-9, Unit::Ratio),
    ("instructions-per-cycle", "instructions", "cycles", 1.0, Unit::Ratio),
    ("frequency", "cycles", TASK_CLOCK, 1e9, Unit::Hertz),
    ("branch-miss-rate", "branch-misses", "branches", 1.0, Unit::Share),
    ("cache-miss-rate", "cache-misses", "cache-references", 1.0, Unit::Share),
    ("L1-dcache-miss-rate", "L1-dcache-load-misses", "L1-dcache-loads", 1.0, Unit::Share),
    ("LLC-miss-rate", "LLC-load-misses", "LLC-loads", 1.0, Unit::Share),
    ("dTLB-miss-rate", "dTLB-load-misses", "dTLB-loads", 1.0, Unit::Share),
    ("iTLB-miss-rate", "iTLB-load-misses", "iTLB-loads", 1.0, Unit::Share),
    ("memory-read-bandwidth", "LLC-load-misses", "elapsed", LINE, Unit::Bytes),
];

/// The figures whose events were all counted.
pub fn derived<'a>(
    events: impl Iterator<Item = (&'a str, &'a Estimate)> + Clone,
    elapsed: f64,
) -> Vec<Derived> {
    let of = |wanted: &str| match wanted {
        "elapsed" => Some(elapsed),
        _ => events.clone().find(|(name, _)| *name == wanted).and_then(|(_, found)| found.scaled),
    };
    let figure =
        |(name, dividend, divisor, factor, unit): &(&'static str, &str, &str, f64, Unit)| {
            let (dividend, divisor) = (of(dividend)?, of(divisor)?);
            (divisor > 0.0).then(|| Derived {
                name,
                value: dividend / divisor * factor,
                unit: *unit,
            })
        };
    TABLE.iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_what_was_counted() {
        let some = |value: f64| Estimate { scaled: Some(value), ..Estimate::default() };
        let events = [
            ("task-clock", some(2e9)),
            ("cycles", some(6e9)),
            ("instructions", some(9e9)),
            ("branches", some(0.0)),
            ("branch-misses", some(0.0)),
            ("LLC-loads", Estimate::default()),
            ("LLC-load-misses", some(1e6)),
        ];
        let found = derived(events.iter().map(|(name, estimate)| (*name, estimate)), 4.0);
        let found: Vec<_> = found.iter().map(|d| (d.name, d.value)).collect();
        assert_eq!(
            found,
            [
                ("processors-used", 0.5),
                ("instructions-per-cycle", 1.5),
                ("frequency", 3e9),
                ("memory-read-bandwidth", 16e6),
            ]
        );
    }
}
