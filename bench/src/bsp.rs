//! `hpvm bench bsp`: the parameters of the BSP machine, p, l and g, as hpvmbsp's supersteps give them.

use crate::error::BenchError;
use crate::evaluate::TIME_LIMIT;
use crate::machine::Machine;
use crate::out::{out, outln};
use crate::progress::Progress;
use crate::record::{Header, Record};
use crate::show::show;
use crate::stats::Line;
use crate::table::{self, Table};
use crate::target::Target;
use serde::Serialize;

/// Bytes of a word, which is what g is told of.
const WORD_BYTES: f64 = 8.0;

/// What `hpvm bench bsp` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// Its program is hpvmbsp.
    pub target: Target,
    pub ranks: Vec<u32>,
    pub quick: bool,
    pub json: bool,
}

/// A straight line through the times of h-relations of one kind.
#[derive(Debug, Serialize)]
pub(crate) struct Fit {
    pub ranks: u32,
    /// `put`, `get`, `send`, ...
    pub operation: String,
    /// `words`: every word by a call of its own. `blocks`: one call for each other process.
    pub kind: String,
    /// µs of a superstep without communication, as the line says.
    pub l: f64,
    /// µs for each byte that a process sends or receives.
    pub g: f64,
    pub g_word: f64,
    /// The largest distance of a point from the line, as a part of the point.
    pub residual: f64,
}

/// Everything that was found; also the form of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    header: Option<Header>,
    points: Vec<Record>,
    fits: Vec<Fit>,
}

/// Measures and prints. Blocks for some seconds to a minute for each number of processes.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let report = measure(plan)?;
    show(&report, plan.json, print)
}

fn measure(plan: &Plan) -> Result<Report, BenchError> {
    let mut progress = Progress::new(plan.ranks.len() as u64);
    let args =
        if plan.quick { "--budget 0.03 --max 1048576" } else { "--budget 0.3 --max 16777216" };
    let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
    let (mut header, mut points) = (None, Vec::new());
    for ranks in &plan.ranks {
        progress.step(&format!("supersteps, {ranks} processes"));
        let output =
            plan.target.run(*ranks, &args, TIME_LIMIT)?.with_results(&plan.target.program)?;
        header = header.or(output.header);
        points.extend(output.points);
    }
    let fits = fits(&points);
    Ok(Report { machine: Machine::here(), header, points, fits })
}

/// A fit for each number of processes, operation and kind, in the order in which they were measured.
pub(crate) fn fits(points: &[Record]) -> Vec<Fit> {
    let name = |r: &Record| {
        (r.ranks, r.op.clone().unwrap_or_default(), r.shape.clone().unwrap_or_default())
    };
    let mut names: Vec<(u32, String, String)> = Vec::new();
    for point in points.iter().filter(|point| point.mode == "h-relation") {
        if !names.contains(&name(point)) {
            names.push(name(point));
        }
    }
    let one = |wanted: &(u32, String, String)| {
        let own =
            points.iter().filter(|point| point.mode == "h-relation" && name(point) == *wanted);
        let own: Vec<(f64, f64)> = own.map(|point| (point.size as f64, point.median)).collect();
        let line = relative_fit(&own)?;
        let off = |(x, y): &(f64, f64)| ((line.at_zero + line.slope * x - y) / y).abs();
        let residual = own.iter().map(off).fold(0.0, f64::max);
        let (ranks, operation, kind) = wanted.clone();
        let (l, g, g_word) = (line.at_zero, line.slope, line.slope * WORD_BYTES);
        Some(Fit { ranks, operation, kind, l, g, g_word, residual })
    };
    names.iter().filter_map(one).collect()
}

/// The line from which points (x, y) are least far as parts of y, so that short supersteps count as long ones do.
fn relative_fit(points: &[(f64, f64)]) -> Option<Line> {
    let points: Vec<&(f64, f64)> = points.iter().filter(|(_, y)| *y > 0.0).collect();
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| f(*x, *y)).sum::<f64>();
    // With u = 1/y and v = x/y: a u + b v = 1 as nearly as can be.
    let (uu, uv, vv) =
        (sum(&|_, y| 1.0 / (y * y)), sum(&|x, y| x / (y * y)), sum(&|x, y| x * x / (y * y)));
    let (u, v) = (sum(&|_, y| 1.0 / y), sum(&|x, y| x / y));
    let determinant = uu * vv - uv * uv;
    let line =
        Line { at_zero: (u * vv - v * uv) / determinant, slope: (v * uu - u * uv) / determinant };
    (determinant > 1e-12 * uu * vv).then_some(line)
}

fn print(report: &Report) {
    outln!("BSP parameters: {}, {} processors", report.machine.cpu, report.machine.cores);
    if let Some(warning) = report.machine.warning() {
        outln!("{warning}");
    }
    let mut ranks: Vec<u32> = report.points.iter().map(|point| point.ranks).collect();
    ranks.dedup();
    for p in ranks {
        print_machine(report, p);
    }
    outln!(
        "\nl and g are the line l + g h through the times of supersteps in which every process has h bytes for the"
    );
    outln!(
        "others (64 B and more); off says how far a point is from it at most. 1/g: MB/s for each process."
    );
}

fn print_machine(report: &Report, p: u32) {
    let time = |mode: &str| {
        report.points.iter().find(|r| r.mode == mode && r.ranks == p).map(|r| r.median)
    };
    let shown = |time: Option<f64>| time.map_or_else(|| "-".into(), table::number);
    let (sync, barrier) = (time("sync"), time("barrier"));
    let ratio =
        sync.zip(barrier).map_or_else(String::new, |(s, b)| format!(" ({:.2} barriers)", s / b));
    outln!(
        "\np = {p}: an empty superstep takes {} µs{ratio}, MPI_Barrier {} µs",
        shown(sync),
        shown(barrier)
    );
    let mut t =
        Table::new(&["operation", "as", "l µs", "g ns/word", "g ns/byte", "1/g MB/s", "off"]);
    for fit in report.fits.iter().filter(|fit| fit.ranks == p) {
        t.row(vec![
            fit.operation.clone(),
            fit.kind.clone(),
            table::number(fit.l),
            table::number(fit.g_word * 1e3),
            table::number(fit.g * 1e3),
            table::number(1.0 / fit.g),
            format!("{:.0} %", 100.0 * fit.residual),
        ]);
    }
    let copies = report.points.iter().filter(|r| r.mode == "memcpy" && r.ranks == p);
    if let Some(copy) = copies.max_by_key(|r| r.size) {
        let ns = copy.median * 1e3 / copy.size as f64;
        let cells = [
            "-".to_owned(),
            table::number(ns * WORD_BYTES),
            table::number(ns),
            table::number(1e3 / ns),
        ];
        let mut row = vec!["memcpy".to_owned(), table::bytes(copy.size)];
        row.extend(cells);
        row.push("-".to_owned());
        t.row(row);
    }
    out!("{t}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{self, Line as Read};

    fn point(op: &str, kind: &str, size: u64, median: f64) -> Record {
        let line = format!(
            r#"{{"mode":"h-relation","op":"{op}","type":"{kind}","ranks":2,"size":{size},"unit":"us","median":{median},
            "min":0,"max":1e9,"iters":5,"batches":7}}"#
        );
        match record::parse(&line) {
            Ok(Read::Point(point)) => point,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_is_found_again() {
        let exact = |op: &str, l: f64, g: f64| {
            [64u64, 1024, 65536, 1 << 20].map(|h| point(op, "words", h, l + g * h as f64))
        };
        let mut points = exact("put", 0.5, 0.001).to_vec();
        points.extend(exact("get", 0.75, 0.002));
        let fits = fits(&points);
        assert_eq!(fits.len(), 2);
        assert!(
            (fits[0].l - 0.5).abs() < 1e-6 && (fits[0].g_word - 0.008).abs() < 1e-9,
            "{fits:?}"
        );
        assert!((fits[1].l - 0.75).abs() < 1e-6 && fits[1].residual < 1e-6, "{fits:?}");
    }

    #[test]
    fn short_supersteps_count_as_long_ones_do() {
        // One point of a MiB is half as long again as the line of the others: l hardly changes.
        let points = [(64.0, 1.064), (256.0, 1.256), (1024.0, 2.024), (1048576.0, 1573.0)];
        let line = relative_fit(&points).expect("a line");
        assert!((line.at_zero - 1.0).abs() < 0.2, "{line:?}");
        assert_eq!(relative_fit(&points[..1]).map(|line| line.slope), None);
    }
}
