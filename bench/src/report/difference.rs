//! Two reports beside each other: what has changed beyond chance.

use super::data::{Data, Point, larger_is_better};
use super::statistics::{Interval, ratio};

/// A change below this share says more about the day than about the program.
const NOTABLE: f64 = 0.05;

/// One point that both reports have.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub measurement: String,
    pub point: Point,
    pub before: f64,
    /// New to old, and where that lies in 95 of 100 cases.
    pub ratio: f64,
    pub interval: Interval,
    pub better: bool,
}

/// What a comparison says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Significant ones, the largest first.
    pub changes: Vec<Change>,
    /// Points that both have.
    pub compared: usize,
    /// Reasons why the two can't be compared well.
    pub doubts: Vec<String>,
}

/// Compares `new` with `old`.
pub fn compare(old: &Data, new: &Data) -> Difference {
    let mut difference = Difference { doubts: doubts(old, new), ..Difference::default() };
    for (name, point) in new.all() {
        let before = old.points(name).iter().find(|p| p.is_same(point));
        let Some((before, (ratio, interval))) =
            before.and_then(|b| Some((b, ratio(&b.launches, &point.launches)?)))
        else {
            continue;
        };
        difference.compared += 1;
        let beyond_chance = interval.low > 1.0 || interval.high < 1.0;
        if beyond_chance && (ratio - 1.0).abs() > NOTABLE {
            difference.changes.push(Change {
                measurement: name.to_owned(),
                before: before.median(),
                ratio,
                interval,
                better: (ratio > 1.0) == larger_is_better(&point.unit),
                point: point.clone(),
            });
        }
    }
    let size = |change: &Change| change.ratio.ln().abs();
    difference.changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    difference
}

fn doubts(old: &Data, new: &Data) -> Vec<String> {
    let mut doubts = Vec::new();
    let names = ["host", "processor", "number of processors", "kernel"];
    for ((name, before), now) in
        names.iter().zip(old.machine.identity()).zip(new.machine.identity())
    {
        if before != now {
            doubts.push(format!("another {name}: '{before}' then, '{now}' now"));
        }
    }
    if old.settings.quick != new.settings.quick {
        doubts.push("one of the two was made with --quick".into());
    }
    if old.settings.hosts != new.settings.hosts {
        doubts.push("other hosts".into());
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::super::data::Outcome;
    use super::super::fixed;
    use super::*;

    fn scaled(by: f64) -> Data {
        let mut data = fixed::data();
        let latency = data.finished.iter_mut().find(|f| f.name == "latency").unwrap();
        let Outcome::Points(points) = &mut latency.outcome else { panic!("no points") };
        points[0].launches.iter_mut().flatten().for_each(|v| *v *= by);
        data
    }

    #[test]
    fn a_report_does_not_differ_from_itself() {
        let data = fixed::data();
        let difference = compare(&data, &data);
        assert!(difference.changes.is_empty() && difference.compared > 5, "{difference:?}");
        assert!(difference.doubts.is_empty());
    }

    #[test]
    fn a_slower_point_is_found_and_called_worse() {
        let difference = compare(&fixed::data(), &scaled(1.5));
        assert_eq!(difference.changes.len(), 1);
        let change = &difference.changes[0];
        assert!((change.ratio - 1.5).abs() < 1e-9 && !change.better && change.interval.low > 1.0);
        assert!(compare(&fixed::data(), &scaled(0.5)).changes[0].better);
        assert!(compare(&fixed::data(), &scaled(1.02)).changes.is_empty());
    }

    #[test]
    fn another_machine_is_a_doubt() {
        let mut other = fixed::data();
        other.machine.cpu = "something else".into();
        other.settings.quick = !other.settings.quick;
        assert_eq!(compare(&other, &fixed::data()).doubts.len(), 2);
    }
}
