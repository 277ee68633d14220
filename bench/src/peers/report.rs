//! The comparison as tables, or as one JSON object.

use super::compare::{Failure, Outcome, Row, Value, larger_is_better};
use crate::error::BenchError;
use crate::machine::Machine;
use crate::out::{out, outln};
use crate::record::Record;
use crate::show::show;
use crate::stats::{Spread, median, paired_ratio, spread};
use crate::table::{self, Table};
use crate::target::Target;
use serde::Serialize;
use std::collections::BTreeMap;

/// Characters of a library's own name that the table shows; `--json` has them all.
const LIBRARY_WIDTH: usize = 40;

/// A comparison, ready to be printed; its fields are the form of `--json`.
#[derive(Debug, Serialize)]
pub struct Report {
    machine: Machine,
    rounds: u32,
    candidates: Vec<Candidate>,
    floor: Vec<Record>,
    points: Vec<Point>,
    failures: Vec<Failure>,
}

#[derive(Debug, Serialize)]
struct Candidate {
    name: String,
    library: String,
    mpirun: String,
    /// No MPI: what the network does without one.
    floor: bool,
}

/// One row: who took how long.
#[derive(Debug, Serialize)]
struct Point {
    part: &'static str,
    mode: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    ranks: u32,
    size: u64,
    unit: String,
    /// Over the rounds, by candidate; missing where all runs failed.
    medians: BTreeMap<String, Spread>,
    values: BTreeMap<String, Vec<Option<f64>>>,
    best_peer: Option<String>,
    /// The first candidate to the best peer: median over the rounds of the ratio in each.
    ratio: Option<f64>,
    /// The same of the best batch in all rounds, of which other work on the machine takes least.
    ratio_at_best: Option<f64>,
    /// Whether `ratio` is on the good side of 1.
    ahead: Option<bool>,
    /// As `ratio`, to bare TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_floor: Option<f64>,
}

impl Point {
    /// The candidates have these names; that at `floor` is no peer.
    fn new(names: &[String], floor: Option<usize>, row: Row) -> Self {
        let larger = larger_is_better(&row.unit);
        let better = |a: f64, b: f64| if larger { a.max(b) } else { a.min(b) };
        let medians = |c: usize| -> Vec<Option<f64>> {
            row.values[c].iter().map(|v| v.map(|v: Value| v.median)).collect()
        };
        let present = |c: usize| -> Vec<f64> { medians(c).into_iter().flatten().collect() };
        let at_best = |c: usize| row.values[c].iter().flatten().map(|v| v.best).reduce(better);
        let peers = || (1..names.len()).filter(|c| Some(*c) != floor);
        let best = peers()
            .filter_map(|c| Some((c, median(&present(c))?)))
            .reduce(|a, b| if (b.1 > a.1) == larger { b } else { a })
            .map(|(c, _)| c);
        let ratio = best.and_then(|b| paired_ratio(&medians(0), &medians(b)));
        let peers_at_best = peers().filter_map(at_best).reduce(better);
        // What one process does by system calls is no matter of MPI.
        let plain = row.part == "files" && row.mode.contains("(2)");
        Self {
            medians: names
                .iter()
                .enumerate()
                .filter_map(|(c, name)| Some((name.clone(), spread(&present(c))?)))
                .collect(),
            values: names.iter().enumerate().map(|(c, name)| (name.clone(), medians(c))).collect(),
            best_peer: best.map(|b| names[b].clone()),
            ratio,
            ratio_at_best: paired_ratio(&[at_best(0)], &[peers_at_best]),
            ahead: ratio.filter(|_| !plain).map(|r| (r > 1.0) == larger && r != 1.0),
            ratio_to_floor: floor.and_then(|f| paired_ratio(&medians(0), &medians(f))),
            part: row.part,
            mode: row.mode,
            shape: row.shape,
            ranks: row.ranks,
            size: row.size,
            unit: row.unit,
        }
    }

    fn cells(&self, candidates: &[Candidate]) -> Vec<String> {
        let size = match (self.part, self.mode.as_str()) {
            ("startup" | "memory", _) | (_, "barrier" | "startup" | "launch and spawn") => {
                "-".into()
            }
            ("spawn", _) => self.size.to_string(),
            ("wakeup", _) => table::pause(self.size),
            _ => table::bytes(self.size),
        };
        let mut cells: Vec<String> = self.shape.iter().cloned().collect();
        cells.extend([size, self.ranks.to_string()]);
        cells.extend(candidates.iter().map(|c| match self.medians.get(&c.name) {
            // A stream of bytes has no message without any.
            None if c.floor && self.size == 0 => "-".into(),
            None => "failed".into(),
            Some(s) => {
                let [median, min, max] = [s.median, s.min, s.max].map(table::number);
                format!("{median} ({min}..{max})")
            }
        }));
        let ratio = |r: Option<f64>| r.map_or("-".into(), |r| format!("{r:.2}"));
        cells.extend([ratio(self.ratio), ratio(self.ratio_at_best)]);
        if candidates.iter().any(|c| c.floor) {
            cells.push(ratio(self.ratio_to_floor));
        }
        cells.push(match self.ahead {
            Some(true) => "ahead".into(),
            Some(false) => self.best_peer.clone().unwrap_or_default(),
            None => "-".into(),
        });
        cells
    }
}

impl Report {
    pub fn new(
        machine: Machine,
        targets: &[Target],
        rounds: u32,
        floor: Vec<Record>,
        outcome: Outcome,
    ) -> Self {
        let place = targets.iter().position(|t| t.floor.is_some());
        let names: Vec<String> = targets.iter().map(|t| t.name.clone()).collect();
        let candidate = |(t, library): (&Target, String)| {
            let mpirun = t.mpirun.display().to_string();
            Candidate { name: t.name.clone(), library, mpirun, floor: t.floor.is_some() }
        };
        Self {
            machine,
            rounds,
            candidates: targets.iter().zip(outcome.libraries).map(candidate).collect(),
            floor,
            points: outcome.rows.into_iter().map(|row| Point::new(&names, place, row)).collect(),
            failures: outcome.failures,
        }
    }

    /// How many runs failed.
    pub fn failures(&self) -> usize {
        self.failures.len()
    }

    pub fn print(&self, json: bool) -> Result<(), BenchError> {
        show(self, json, Report::print_words)
    }

    fn print_words(&self) {
        self.print_heading();
        for part in super::PART_NAMES {
            self.print_part(part);
        }
        let judged: Vec<bool> = self.points.iter().filter_map(|p| p.ahead).collect();
        let first = self.candidates.first().map_or("", |c| &c.name);
        let won = judged.iter().filter(|a| **a).count();
        outln!("\n{first} is ahead of the best peer at {won} of {} points.", judged.len());
        for f in &self.failures {
            outln!("failed: {} {} in round {}: {}", f.candidate, f.step, f.round, f.reason);
        }
    }

    fn print_heading(&self) {
        outln!("{}", self.machine);
        for c in &self.candidates {
            let library = match c.library.as_str() {
                "" if c.floor => "bare, both ends polling",
                "" => "(library did not say)",
                library => library,
            };
            let library: String = library.chars().take(LIBRARY_WIDTH).collect();
            outln!("  {:8} {library}; {}", c.name, c.mpirun);
        }
        outln!("{} rounds; median (least..most) of the rounds' medians;", self.rounds);
        outln!("ratio: first candidate to best peer, median of the rounds' ratios;");
        outln!("at best: the same of the best batch in all rounds.");
        if self.candidates.iter().any(|c| c.floor) {
            outln!("to tcp: as ratio, to bare TCP.");
        }
        for r in self.floor.iter().filter(|r| r.unit == "us") {
            let [median, min, max] = [r.median, r.min, r.max].map(table::number);
            outln!(
                "floor: {}, {} one way: {median} µs ({min}..{max})",
                r.mode,
                table::bytes(r.size)
            );
        }
    }

    fn print_part(&self, part: &str) {
        let points = self.points.iter().filter(|p| p.part == part);
        let mut modes: Vec<&str> = Vec::new();
        for p in points.clone() {
            if !modes.contains(&p.mode.as_str()) {
                modes.push(&p.mode);
            }
        }
        for mode in modes {
            self.print_table(points.clone().filter(|p| p.mode == mode).collect());
        }
    }

    /// The points of one part and mode.
    fn print_table(&self, points: Vec<&Point>) {
        let Some(first) = points.first() else { return };
        let title = match (first.part, first.mode.as_str()) {
            ("wakeup", "wakeup") => "wakeup: time to reach a receiver that has waited",
            ("wakeup", _) => "wakeup: processor used by the waiting rank",
            ("idle", _) => "idle: bandwidth beside ranks that only wait",
            ("memory", _) => "memory: of a rank after MPI_Init and a barrier, libraries included",
            ("startup", _) => "startup: launch, init, finalize",
            ("spawn", "spawn") => "spawn: MPI_Comm_spawn",
            ("spawn", "startup") => "spawn: launch, init, finalize of as many ranks",
            ("spawn", _) => "spawn: launch, init, MPI_Comm_spawn, disconnect, finalize, all ended",
            ("files", operation) => files_title(operation),
            ("datatype", "pack") => "datatype: MPI_Pack",
            ("datatype", "unpack") => "datatype: MPI_Unpack",
            ("datatype", "to contiguous") => "datatype: one way, gaps at the sender alone",
            ("datatype", _) => "datatype: one way, gaps at both ends",
            ("rma", operation) => rma_title(operation),
            ("ahead" | "alone" | "late" | "fresh" | "touched", mode) => mode,
            (part, _) => part,
        };
        outln!("\n{title}, {}", table::unit(&first.unit));
        let size = match first.part {
            "wakeup" => "pause",
            "spawn" => "processes",
            _ => "size",
        };
        let shape = if first.part == "rma" { "window" } else { "type" };
        let mut headings = if first.shape.is_some() { vec![shape] } else { Vec::new() };
        headings.extend([size, "ranks"]);
        headings.extend(self.candidates.iter().map(|c| c.name.as_str()));
        headings.extend(["ratio", "at best"]);
        headings.extend(self.candidates.iter().any(|c| c.floor).then_some("to tcp"));
        headings.push("best");
        let mut t = Table::new(&headings).left_last();
        points.iter().for_each(|p| t.row(p.cells(&self.candidates)));
        out!("{t}");
    }
}

/// What `hpvmbench rma` does under this name.
fn files_title(operation: &str) -> &str {
    match operation {
        "write_at" => "files: MPI_File_write_at, one block of each rank",
        "write_at_all" => "files: MPI_File_write_at_all, one block of each rank",
        "read_at_all" => "files: MPI_File_read_at_all, one block of each rank",
        "write_strided" => "files: MPI_File_write_at_all, 4 KiB of all ranks by turns",
        "read_strided" => "files: MPI_File_read_at_all, 4 KiB of all ranks by turns",
        "write_box" => "files: MPI_File_write_at_all, boxes of an array of three dimensions",
        "read_box" => "files: MPI_File_read_at_all, boxes of an array of three dimensions",
        "write_strided+sync" => {
            "files: MPI_File_write_at_all, 4 KiB of all ranks by turns, MPI_File_sync"
        }
        "write_box+sync" => "files: MPI_File_write_at_all, boxes, MPI_File_sync",
        "write+sync" => "files: MPI_File_write_at_all, MPI_File_sync",
        "write(2)" => "files: the same bytes in order by write(2), rank 0 alone",
        "read(2)" => "files: the same bytes in order by read(2), rank 0 alone",
        "write(2)+fsync" => "files: the same bytes in order by write(2) and fsync, rank 0 alone",
        other => other,
    }
}

fn rma_title(operation: &str) -> &str {
    match operation {
        "put" => "rma: MPI_Put, MPI_Win_flush",
        "get" => "rma: MPI_Get, MPI_Win_flush",
        "accumulate" => "rma: MPI_Accumulate (sum of 8-byte integers), MPI_Win_flush",
        "fetch_and_op" => "rma: MPI_Fetch_and_op, MPI_Win_flush",
        "compare_and_swap" => "rma: MPI_Compare_and_swap, MPI_Win_flush",
        "lock" => "rma: MPI_Win_lock, MPI_Put, MPI_Win_unlock",
        "fence" => "rma: MPI_Put, MPI_Win_fence of both ranks",
        "pscw" => "rma: start, put, complete; post, wait",
        "put_busy" => "rma: put, flush, while the target computes",
        "fetch_and_op_busy" => "rma: fetch and op, flush, while the target computes",
        "lock_busy" => "rma: lock, put, unlock, while the target computes",
        "put_test" => "rma: put, flush, while the target calls MPI_Test",
        "fetch_and_op_test" => "rma: fetch and op, flush, while the target calls MPI_Test",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: &str, values: [&[f64]; 3]) -> Row {
        let values = values
            .map(|v| v.iter().map(|&median| Some(Value { median, best: median / 2.0 })).collect());
        let values = values.into();
        Row {
            part: "latency",
            mode: "latency".into(),
            shape: None,
            ranks: 2,
            size: 8,
            unit: unit.into(),
            values,
        }
    }

    fn names() -> Vec<String> {
        ["hpvm", "a", "b"].map(str::to_owned).into()
    }

    #[test]
    fn of_times_the_smallest_peer_is_the_best() {
        let p = Point::new(&names(), None, row("us", [&[1.0, 1.0], &[4.0, 4.0], &[2.0, 2.0]]));
        assert_eq!((p.best_peer.as_deref(), p.ratio, p.ahead), (Some("b"), Some(0.5), Some(true)));
    }

    #[test]
    fn of_bandwidths_the_largest_peer_is_the_best() {
        let p = Point::new(&names(), None, row("MB/s", [&[1.0], &[4.0], &[2.0]]));
        assert_eq!(
            (p.best_peer.as_deref(), p.ratio, p.ahead),
            (Some("a"), Some(0.25), Some(false))
        );
    }

    #[test]
    fn a_tie_is_not_ahead() {
        for unit in ["us", "MB/s"] {
            let p = Point::new(&names(), None, row(unit, [&[2.0], &[2.0], &[2.0]]));
            assert_eq!((p.ratio, p.ahead), (Some(1.0), Some(false)));
        }
    }

    #[test]
    fn a_peer_that_failed_is_passed_over() {
        let p = Point::new(&names(), None, row("us", [&[1.0], &[], &[2.0]]));
        assert_eq!(p.best_peer.as_deref(), Some("b"));
        assert!(!p.medians.contains_key("a"));
        assert_eq!(p.ratio_at_best, Some(0.5));
        let p = Point::new(&names(), None, row("us", [&[], &[1.0], &[2.0]]));
        assert_eq!((p.ratio, p.ahead), (None, None));
    }

    #[test]
    fn the_floor_is_no_peer() {
        let p = Point::new(&names(), Some(2), row("us", [&[3.0], &[4.0], &[2.0]]));
        assert_eq!(
            (p.best_peer.as_deref(), p.ratio, p.ratio_to_floor),
            (Some("a"), Some(0.75), Some(1.5))
        );
        assert_eq!(p.ratio_at_best, Some(0.75));
    }

    #[test]
    fn the_floor_has_no_empty_message_and_has_not_failed() {
        let candidate = |name: &str| Candidate {
            name: name.into(),
            library: String::new(),
            mpirun: String::new(),
            floor: name == "b",
        };
        let candidates = ["hpvm", "a", "b"].map(candidate);
        let cell = |size| {
            let row = Row { size, ..row("us", [&[3.0], &[4.0], &[]]) };
            Point::new(&names(), Some(2), row).cells(&candidates)[4].clone()
        };
        assert_eq!([cell(0), cell(8)], ["-", "failed"]);
    }
}
