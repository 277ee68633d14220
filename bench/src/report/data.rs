//! What a report is made of. Everything that is shown comes from here, and this is the JSON beside the page.

use super::machine::Details;
use crate::record::Record;
use serde::{Deserialize, Serialize};

/// The version of this form; another one is refused by `--against`.
pub const FORMAT: u32 = 1;
/// hpvm in [`Point::by`].
pub const OWN: &str = "hpvm";
/// The machine without message passing in [`Point::by`].
pub const FLOOR: &str = "floor";

/// A whole report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Data {
    pub format: u32,
    /// Of the program that wrote it.
    pub version: String,
    pub settings: Settings,
    pub machine: Details,
    /// Seconds since 1970.
    pub time: u64,
    /// All measurements that were asked for have been made.
    pub complete: bool,
    pub finished: Vec<Finished>,
}

/// What figures depend on beside the machine. A run that is resumed must have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub quick: bool,
    /// The most ranks of any measurement.
    pub ranks: u32,
    pub hosts: Vec<String>,
    pub peers: Vec<String>,
    pub launch_args: Vec<String>,
    pub npb: Option<String>,
    #[serde(default)]
    pub npb_classes: Vec<String>,
    /// Length and age of MPI's library: another build is another thing.
    pub library: String,
}

/// One measurement that was made, or was not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    pub name: String,
    pub seconds: f64,
    /// The one-minute load when it began.
    pub load: Option<f64>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Points(Vec<Point>),
    /// What it needs is not here.
    LeftOut(String),
    Failed(String),
}

/// One point of one curve with all its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// [`OWN`], [`FLOOR`] or a peer's name.
    pub by: String,
    pub ranks: u32,
    pub size: u64,
    pub unit: String,
    /// Samples by launch.
    pub launches: Vec<Vec<f64>>,
}

impl Point {
    /// A point with one launch.
    pub fn new(mode: &str, by: &str, ranks: u32, size: u64, unit: &str, samples: Vec<f64>) -> Self {
        let (mode, by, unit) = (mode.to_owned(), by.to_owned(), unit.to_owned());
        Self { mode, op: None, shape: None, by, ranks, size, unit, launches: vec![samples] }
    }

    pub fn of(mut self, op: &str, shape: &str) -> Self {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        (self.op, self.shape) = (some(op), some(shape));
        self
    }

    pub fn is_same(&self, other: &Self) -> bool {
        let key = |p: &Self| (p.ranks, p.size);
        let names = |p: &Self| (p.mode.clone(), p.op.clone(), p.shape.clone(), p.by.clone());
        key(self) == key(other) && names(self) == names(other) && self.unit == other.unit
    }

    /// The median of all samples; NaN of none.
    pub fn median(&self) -> f64 {
        crate::stats::median(&self.launches.concat()).unwrap_or(f64::NAN)
    }
}

/// Adds a launch's results to the points: those that are there already get one more launch.
pub fn add(points: &mut Vec<Point>, by: &str, records: Vec<Record>) {
    for r in records {
        let samples = if r.samples.is_empty() { vec![r.min, r.median, r.max] } else { r.samples };
        let new = Point::new(&r.mode, by, r.ranks, r.size, &r.unit, samples)
            .of(r.op.as_deref().unwrap_or(""), r.shape.as_deref().unwrap_or(""));
        join(points, new);
    }
}

/// Adds one point, or its launches to the same one.
pub fn join(points: &mut Vec<Point>, new: Point) {
    match points.iter_mut().find(|p| p.is_same(&new)) {
        Some(point) => point.launches.extend(new.launches),
        None => points.push(new),
    }
}

impl Data {
    /// The points of one measurement; none when it was not made.
    pub fn points(&self, name: &str) -> &[Point] {
        let found = self.finished.iter().find(|f| f.name == name);
        match found.map(|f| &f.outcome) {
            Some(Outcome::Points(points)) => points,
            _ => &[],
        }
    }

    /// All points of all measurements.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Point)> {
        self.finished.iter().flat_map(|f| {
            let points: &[Point] = match &f.outcome {
                Outcome::Points(points) => points,
                _ => &[],
            };
            points.iter().map(|p| (f.name.as_str(), p))
        })
    }
}

/// Of bandwidths, rates and shares the larger is better, of times and sizes the smaller.
pub fn larger_is_better(unit: &str) -> bool {
    unit.ends_with("/s") || unit == "%" || unit == "times"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_point_come_together() {
        let line = |value: f64| {
            let text = format!(
                r#"{{"mode":"rma","op":"put","type":"create","ranks":2,"size":8,"unit":"us","median":{value},"min":0,
                "max":9,"iters":5,"batches":2,"samples":[{value},9]}}"#
            );
            match crate::record::parse(&text) {
                Ok(crate::record::Line::Point(record)) => record,
                other => panic!("{other:?}"),
            }
        };
        let mut points = Vec::new();
        add(&mut points, OWN, vec![line(1.0)]);
        add(&mut points, OWN, vec![line(2.0)]);
        add(&mut points, "mpich", vec![line(3.0)]);
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].launches, [vec![1.0, 9.0], vec![2.0, 9.0]]);
        assert_eq!(points[0].median(), 5.5);
    }
}
