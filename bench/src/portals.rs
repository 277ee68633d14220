//! `hpvm bench portals`: puts and gets of Portals between two processes beside MPI's messages of the same lengths, alternately.

use crate::error::BenchError;
use crate::evaluate::TIME_LIMIT;
use crate::machine::Machine;
use crate::out::{out, outln};
use crate::record::Record;
use crate::show::show;
use crate::stats::{self, Spread};
use crate::table::{self, Table};
use crate::target::Target;
use crate::versus::{self, Side};
use serde::Serialize;

/// What `hpvm bench portals` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// Its program is hpvmportals.
    pub target: Target,
    /// How often the two alternate.
    pub repeat: u32,
    pub quick: bool,
    pub json: bool,
}

/// One measurement of all rounds.
#[derive(Debug, Serialize)]
struct Row {
    mode: String,
    op: String,
    size: u64,
    unit: String,
    portals: Spread,
    mpi: Spread,
    /// Portals' time in times of MPI's, or MPI's bandwidth in times of Portals': of the rounds' own ratios.
    ratio: Spread,
}

/// Everything that was found; also the form of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    rounds: u32,
    rows: Vec<Row>,
}

/// Measures and prints. Blocks for some seconds to a minute.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let report = measure(plan)?;
    show(&report, plan.json, print)
}

fn measure(plan: &Plan) -> Result<Report, BenchError> {
    let rounds = versus::rounds(plan.repeat, plan.quick);
    let budget = if plan.quick { "0.03" } else { "0.15" };
    let points = |name: &str| {
        let args = [name, "--budget", budget].map(str::to_owned);
        Ok(plan.target.run(2, &args, TIME_LIMIT)?.with_results(&plan.target.program)?.points)
    };
    let (mut portals, mut mpi) = (|| points("portals"), || points("mpi"));
    let first = Side { name: "portals", run: &mut portals };
    let second = Side { name: "mpi", run: &mut mpi };
    let [portals, mpi] = versus::alternate(rounds, first, Some(second))?;
    Ok(Report { machine: Machine::here(), rounds, rows: rows(&portals, &mpi) })
}

/// A row for each point of Portals of which MPI has one of the same kind and length.
fn rows(portals: &[Vec<Record>], mpi: &[Vec<Record>]) -> Vec<Row> {
    let row = |point: &Record| {
        let find = |runs: &[Vec<Record>], op: Option<&str>| -> Option<Vec<f64>> {
            let fits = |found: &&Record| {
                let same = op.is_none_or(|op| found.op.as_deref() == Some(op));
                found.mode == point.mode && found.size == point.size && same
            };
            runs.iter().map(|run| run.iter().find(fits).map(|found| found.median)).collect()
        };
        let op = point.op.clone().unwrap_or_default();
        let mine = find(portals, Some(&op))?;
        // A get is a whole round trip.
        let trips = if op == "get" { 2.0 } else { 1.0 };
        let theirs: Vec<f64> = find(mpi, None)?.iter().map(|value| value * trips).collect();
        let time = point.unit == "us";
        let ratio = |(mine, theirs): (&f64, &f64)| if time { mine / theirs } else { theirs / mine };
        let ratios: Vec<f64> = mine.iter().zip(&theirs).map(ratio).collect();
        Some(Row {
            mode: point.mode.clone(),
            op,
            size: point.size,
            unit: point.unit.clone(),
            portals: stats::spread(&mine)?,
            mpi: stats::spread(&theirs)?,
            ratio: stats::spread(&ratios)?,
        })
    };
    portals.first().into_iter().flatten().filter_map(row).collect()
}

fn print(report: &Report) {
    let Machine { cpu, cores, .. } = &report.machine;
    outln!("Portals beside MPI: {cpu}, {cores} processors, {} rounds", report.rounds);
    if let Some(warning) = report.machine.warning() {
        outln!("{warning}");
    }
    let mut t =
        Table::new(&["what", "how", "bytes", "unit", "Portals", "MPI", "behind", "least", "most"]);
    for row in &report.rows {
        let ratio = |value: f64| format!("{value:.2}");
        t.row(vec![
            row.mode.clone(),
            row.op.clone(),
            table::bytes(row.size),
            row.unit.clone(),
            table::number(row.portals.median),
            table::number(row.mpi.median),
            ratio(row.ratio.median),
            ratio(row.ratio.min),
            ratio(row.ratio.max),
        ]);
    }
    out!("{t}");
    outln!(
        "\nOne way, but a get, which is a round trip, as is MPI's beside it. Below 1 Portals is ahead; ratios are of one round each."
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{self, Line};

    fn run_of(points: &[(&str, &str, &str, f64)]) -> Vec<Record> {
        let point = |(mode, op, unit, median): &(&str, &str, &str, f64)| {
            let line = format!(
                r#"{{"mode":"{mode}","op":"{op}","ranks":2,"size":8,"unit":"{unit}","median":{median},"min":0,"max":1e9,"iters":1,"batches":5}}"#
            );
            match record::parse(&line) {
                Ok(Line::Point(point)) => point,
                other => panic!("{other:?}"),
            }
        };
        points.iter().map(point).collect()
    }

    #[test]
    fn ratios_are_above_one_where_portals_is_behind() {
        let portals = run_of(&[
            ("latency", "put", "us", 0.3),
            ("latency", "get", "us", 0.3),
            ("bandwidth", "put", "MB/s", 50.0),
        ]);
        let mpi = run_of(&[("latency", "send", "us", 0.2), ("bandwidth", "send", "MB/s", 100.0)]);
        let found = rows(&[portals.clone(), portals], &[mpi.clone(), mpi]);
        let ratios: Vec<f64> =
            found.iter().map(|row| (row.ratio.median * 100.0).round() / 100.0).collect();
        assert_eq!(ratios, [1.5, 0.75, 2.0]);
    }
}
