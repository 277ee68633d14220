//! One program on hpvm and on one other implementation, in turn: what was found, point by point.

use crate::error::BenchError;
use crate::machine::Machine;
use crate::out::{out, outln};
use crate::progress::Progress;
use crate::record::Record;
use crate::stats::{self, Spread};
use crate::table::{self, Table};
use serde::Serialize;

/// One of the two.
pub struct Side<'a> {
    pub name: &'a str,
    /// Runs the program once; what it measured.
    pub run: &'a mut dyn FnMut() -> Result<Vec<Record>, BenchError>,
}

/// How many rounds there are when `repeat` were asked for.
pub fn rounds(repeat: u32, quick: bool) -> u32 {
    if quick { repeat.min(3) } else { repeat }
}

/// Runs both sides in each of `rounds` rounds, with progress; the runs of each side. Without the second side those are empty.
pub fn alternate<'a>(
    rounds: u32,
    first: Side<'a>,
    second: Option<Side<'a>>,
) -> Result<[Vec<Vec<Record>>; 2], BenchError> {
    let mut sides = [Some(first), second];
    let each = sides.iter().flatten().count() as u64;
    let mut progress = Progress::new(u64::from(rounds) * each);
    let mut runs = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        // Who is first changes, so that neither always finds the machine as the other has left it.
        for at in [round % 2, 1 - round % 2].map(|at| at as usize) {
            if let Some(side) = &mut sides[at] {
                progress.step(side.name);
                runs[at].push((side.run)()?);
            }
        }
    }
    Ok(runs)
}

/// One measurement of all rounds.
#[derive(Debug, Serialize)]
pub struct Row {
    pub mode: String,
    pub op: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    pub size: u64,
    pub unit: String,
    pub hpvm: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Spread>,
    /// How many times as good as the other: the median of the rounds' own ratios.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The least and the largest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratios: Option<Spread>,
}

/// Everything that was found; also the form of `--json`.
#[derive(Debug, Serialize)]
pub struct Report {
    pub machine: Machine,
    pub rounds: u32,
    pub rows: Vec<Row>,
    /// Why there is no peer beside hpvm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
}

impl Report {
    /// For people. `note` says how `title` was measured.
    pub fn print(&self, title: &str, peer: &str, note: &str) {
        let Machine { cpu, cores, .. } = &self.machine;
        outln!("{title}: {cpu}, {cores} processors, {} rounds", self.rounds);
        if let Some(warning) = self.machine.warning() {
            outln!("{warning}");
        }
        out!("{}", table(&self.rows, peer));
        outln!("\n{note}");
        match &self.alone {
            Some(why) => outln!("No {peer} beside it: {why}"),
            None => outln!("Ratios are of one round each; above 1 hpvm is better."),
        }
    }
}

/// A row for each point of the first run that all runs have; `theirs` may be empty.
pub fn rows(ours: &[Vec<Record>], theirs: &[Vec<Record>]) -> Vec<Row> {
    let values = |runs: &[Vec<Record>], of: &Record| -> Option<Vec<f64>> {
        let same = |point: &&Record| {
            (&point.mode, &point.op, &point.shape, point.size)
                == (&of.mode, &of.op, &of.shape, of.size)
        };
        runs.iter().map(|run| run.iter().find(same).map(|point| point.median)).collect()
    };
    let row = |point: &Record| {
        let mine = values(ours, point)?;
        let others = values(theirs, point).filter(|values| !values.is_empty());
        let better = |(mine, other): (&f64, &f64)| {
            if point.unit == "us" { other / mine } else { mine / other }
        };
        let ratios: Option<Vec<f64>> =
            others.as_ref().map(|others| mine.iter().zip(others).map(better).collect());
        let ratios = ratios.and_then(|ratios| stats::spread(&ratios));
        Some(Row {
            mode: point.mode.clone(),
            op: point.op.clone().unwrap_or_default(),
            shape: point.shape.clone(),
            size: point.size,
            unit: point.unit.clone(),
            hpvm: stats::spread(&mine)?,
            peer: others.and_then(|others| stats::spread(&others)),
            ratio: ratios.map(|ratios| ratios.median),
            ratios,
        })
    };
    ours.first().into_iter().flatten().filter_map(row).collect()
}

/// The rows beside those of `peer`.
fn table(rows: &[Row], peer: &str) -> Table {
    let mut t = Table::new(&[
        "what",
        "how",
        "bytes",
        "unit",
        "hpvm",
        peer,
        "times as good",
        "least",
        "most",
    ]);
    for row in rows {
        let ratio =
            |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.2}"));
        // A program of one mode has operations of several types.
        let (what, how) = match &row.shape {
            Some(shape) => (&row.op, shape),
            None => (&row.mode, &row.op),
        };
        t.row(vec![
            what.clone(),
            how.clone(),
            table::bytes(row.size),
            row.unit.clone(),
            table::number(row.hpvm.median),
            row.peer.map_or_else(|| "-".into(), |peer| table::number(peer.median)),
            ratio(row.ratio),
            ratio(row.ratios.map(|ratios| ratios.min)),
            ratio(row.ratios.map(|ratios| ratios.max)),
        ]);
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{self, Line};

    fn run_of(trip: f64, rate: f64) -> Vec<Record> {
        let line = |mode: &str, unit: &str, median: f64| {
            let line = format!(
                r#"{{"mode":"{mode}","op":"x","ranks":2,"size":8,"unit":"{unit}","median":{median},"min":0,"max":1e9,"iters":1,"batches":5}}"#
            );
            match record::parse(&line) {
                Ok(Line::Point(point)) => point,
                other => panic!("{other:?}"),
            }
        };
        vec![line("round trip", "us", trip), line("bandwidth", "MB/s", rate)]
    }

    #[test]
    fn who_is_first_changes() {
        let order = std::cell::RefCell::new(String::new());
        let run = |name| {
            order.borrow_mut().push(name);
            Ok(run_of(1.0, 1.0))
        };
        let (mut a, mut b) = (|| run('a'), || run('b'));
        let first = Side { name: "a", run: &mut a };
        let second = Side { name: "b", run: &mut b };
        let runs = alternate(3, first, Some(second)).expect("both run");
        assert_eq!(runs.map(|runs| runs.len()), [3, 3]);
        assert_eq!(*order.borrow(), "abbaab");
        let runs = alternate(2, Side { name: "a", run: &mut a }, None).expect("it runs");
        assert_eq!(runs.map(|runs| runs.len()), [2, 0]);
    }

    #[test]
    fn ratios_are_of_rounds_and_above_one_where_hpvm_is_better() {
        let ours = [run_of(1.0, 900.0), run_of(2.0, 800.0), run_of(1.0, 100.0)];
        let theirs = [run_of(10.0, 300.0), run_of(10.0, 100.0), run_of(30.0, 200.0)];
        let found = rows(&ours, &theirs);
        let ratios: Vec<_> = found.iter().map(|row| row.ratio).collect();
        assert_eq!(ratios, [Some(10.0), Some(3.0)]);
        let spread = found[0].ratios.expect("three rounds");
        assert_eq!((spread.min, spread.max), (5.0, 30.0));
        let alone = rows(&ours, &[]);
        assert!(alone.iter().all(|row| row.ratio.is_none() && row.peer.is_none()));
    }
}
