//! The rounds: every measurement on every candidate, taking turns.

use super::hosts;
use crate::error::BenchError;
use crate::progress::Progress;
use crate::record::Record;
use crate::target::{Output, Target};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The collectives that are compared.
pub const COLLECTIVES: [&str; 6] =
    ["barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall"];

/// How else they are called: by a root that runs ahead, one at a time, to which ranks come late, on a communicator
/// that has just been made.
const CALLS: [&str; 4] = ["ahead", "alone", "late", "fresh"];
/// What is called so: where a root or a leaf need not wait, and where all wait for all.
const CALLED: [&str; 7] =
    ["bcast", "reduce", "gather", "scatter", "allreduce", "allgather", "alltoall"];

/// A run that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(180);

/// One launch of the benchmark program.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub part: &'static str,
    pub ranks: u32,
    pub args: Vec<String>,
}

/// What one run says about one point: the median over its batches, and its best batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    pub median: f64,
    pub best: f64,
}

/// Of bandwidths and rates the larger is better, of times the smaller.
pub fn larger_is_better(unit: &str) -> bool {
    unit.ends_with("/s")
}

/// One point of one curve: a value per candidate and round; `None` where a run failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub part: &'static str,
    /// As the record's; of datatypes and windows the operation.
    pub mode: String,
    /// Of datatypes the type, of windows how they were made.
    pub shape: Option<String>,
    pub ranks: u32,
    pub size: u64,
    pub unit: String,
    pub values: Vec<Vec<Option<Value>>>,
}

/// A run that failed; its step is not tried again on that candidate.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    pub candidate: String,
    pub step: String,
    pub round: u32,
    pub reason: String,
}

/// What came out of all rounds.
#[derive(Debug, Default)]
pub struct Outcome {
    pub rows: Vec<Row>,
    /// Per candidate, what the library calls itself.
    pub libraries: Vec<String>,
    pub failures: Vec<Failure>,
}

/// How many ranks call collectives, unless it is said.
const RANKS: [u32; 3] = [2, 4, 8];
/// The same where a root runs ahead, calls come one at a time, late, or on a fresh communicator.
const RANKS_OF_CALLS: [u32; 2] = [2, 4];

/// How many ranks write and read files.
const RANKS_OF_FILES: [u32; 2] = [2, 4];

/// The launches of one round, for the parts that were asked for. `ranks` are those of collectives: as built in where
/// there are none. `file`: the folder in which files are written.
pub fn steps(parts: &[String], ranks: &[u32], file: &Path, quick: bool) -> Vec<Step> {
    let or_else = |usual| if ranks.is_empty() { usual } else { ranks };
    let pace = if quick { "--budget 0.06" } else { "--budget 0.2" };
    let latency = if quick {
        "0,8,40,128,1024,4096,65536,1048576"
    } else {
        "0,1,8,40,64,128,512,1024,4096,16384,65536,262144,1048576,4194304"
    };
    let bandwidth = if quick {
        "8,64,1024,4096,32768,262144,1048576"
    } else {
        "8,64,512,1024,4096,8192,16384,32768,65536,262144,1048576,4194304"
    };
    // More than a hundred points for each candidate: little time for one.
    let datatype = if quick { "--budget 0.02" } else { "--budget 0.05" };
    let rma = if quick { "8,4096,1048576" } else { "8,64,1024,16384,262144,4194304" };
    let collective = if quick { "8,1024,65536" } else { "4,8,64,1024,4096,16384,65536,1048576" };
    let mut all: Vec<(&'static str, u32, String)> = vec![
        ("latency", 2, format!("latency {pace} --sizes {latency}")),
        ("bandwidth", 2, format!("bandwidth {pace} --sizes {bandwidth}")),
        ("datatype", 2, format!("datatype {datatype}")),
        ("rma", 2, format!("rma {datatype} --sizes {rma}")),
        ("startup", 2, "startup".into()),
        ("startup", 8, "startup".into()),
        ("startup", 32, "startup".into()),
        ("startup", 64, "startup".into()),
        ("spawn", 1, "spawn --sizes 32".into()),
        ("spawn", 32, "startup".into()),
        ("memory", 2, "memory".into()),
        ("memory", 64, "memory".into()),
        ("idle", 2, format!("bandwidth {pace} --sizes 1024,65536")),
        ("idle", 8, format!("bandwidth {pace} --sizes 1024,65536")),
        ("wakeup", 2, "wakeup".into()),
    ];
    for part in COLLECTIVES {
        let sizes = if part == "barrier" { "" } else { collective };
        let sizes = if sizes.is_empty() { String::new() } else { format!(" --sizes {sizes}") };
        for &ranks in or_else(&RANKS) {
            all.push((part, ranks, format!("{part} {pace}{sizes}")));
        }
    }
    for &ranks in or_else(&RANKS_OF_FILES) {
        let budget = if quick { "0.3" } else { "1" };
        all.push((
            "files",
            ranks,
            format!("files --sizes {} --budget {budget} --batches 21", 4 << 20),
        ));
    }
    for calls in CALLS {
        for collective in CALLED {
            for &ranks in or_else(&RANKS_OF_CALLS) {
                let args = format!("{collective} --calls {calls} {pace} --sizes 8,512,4096");
                all.push((calls, ranks, args));
            }
        }
    }
    // Where the sender's data change and the receiver reads them, what lies in whose cache differs.
    let sizes = if quick { "32768,262144" } else { "1024,16384,32768,65536,262144,1048576" };
    let touched = format!("--touch yes {pace} --sizes {sizes}");
    all.push(("touched", 2, format!("latency {touched}")));
    for collective in CALLED {
        for &ranks in or_else(&RANKS_OF_CALLS) {
            all.push(("touched", ranks, format!("{collective} {touched}")));
        }
    }
    all.into_iter()
        .filter(|(part, ..)| parts.iter().any(|p| p == part))
        .map(|(part, ranks, args)| {
            let mut args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            if part == "files" {
                args.extend(["--file".into(), file.display().to_string()]);
            }
            Step { part, ranks, args }
        })
        .collect()
}

/// Runs all rounds. Only Ctrl-C ends them early; what fails is written down.
pub fn alternate(
    candidates: &[Target],
    steps: &[Step],
    rounds: u32,
    progress: &mut Progress,
) -> Result<Outcome, BenchError> {
    let mut outcome = Outcome::default();
    outcome.libraries.resize(candidates.len(), String::new());
    let mut broken = vec![vec![false; candidates.len()]; steps.len()];
    for round in 0..rounds {
        for (s, step) in steps.iter().enumerate() {
            for turn in 0..candidates.len() {
                let c = (turn + round as usize) % candidates.len();
                let shown = format!("{} -n {}", step.args[0], step.ranks);
                progress.step(&format!("{shown}, {} ({}/{rounds})", candidates[c].name, round + 1));
                if broken[s][c] {
                    continue;
                }
                let candidate = &candidates[c];
                let result = match &candidate.floor {
                    Some(floor) => hosts::run_floor(candidate, floor, &step.args, LIMIT)
                        .map(|output| as_points_of(step, output)),
                    None => candidate.run(step.ranks, &step.args, LIMIT),
                };
                match result {
                    Ok(output) => outcome.add(step, c, round, output),
                    Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                    Err(error) => {
                        broken[s][c] = true;
                        progress.say(&error.to_string());
                        outcome.failures.push(Failure {
                            candidate: candidates[c].name.clone(),
                            step: shown,
                            round: round + 1,
                            reason: error.to_string(),
                        });
                    }
                }
            }
        }
        outcome.fill(round as usize + 1);
    }
    Ok(outcome)
}

/// The floor's points as those of an MPI.
fn as_points_of(step: &Step, mut output: Output) -> Output {
    for point in &mut output.points {
        (point.mode, point.ranks) = (step.part.to_owned(), step.ranks);
    }
    output
}

impl Row {
    fn empty(part: &'static str, mode: &str, ranks: u32, size: u64, unit: &str) -> Self {
        let (mode, unit) = (mode.to_owned(), unit.to_owned());
        Self { part, mode, ranks, size, unit, shape: None, values: Vec::new() }
    }

    fn is_same_point(&self, other: &Self) -> bool {
        let key = |r: &Self| (r.part, r.ranks, r.size);
        key(self) == key(other) && self.mode == other.mode && self.shape == other.shape
    }
}

impl Outcome {
    fn add(&mut self, step: &Step, candidate: usize, round: u32, output: Output) {
        if let Some(header) = output.header {
            self.libraries[candidate] = header.library;
        }
        if step.args[0] == "startup" || step.part == "spawn" {
            let (ranks, s) = (step.ranks, output.seconds);
            let mode = if step.args[0] == "startup" { "startup" } else { "launch and spawn" };
            let row = Row::empty(step.part, mode, ranks, 0, "s");
            self.put(row, candidate, round, Value { median: s, best: s });
        }
        for point in output.points {
            let Record { mode, ranks, size, unit, median, min, max, cpu_share, .. } = point;
            if let Some(share) = cpu_share.map(|share| 100.0 * share) {
                let row = Row::empty(step.part, "processor", ranks, size, "%");
                self.put(row, candidate, round, Value { median: share, best: share });
            }
            let best = if larger_is_better(&unit) { max } else { min };
            let mode = point.op.unwrap_or(mode);
            let row = Row::empty(step.part, &mode, ranks, size, &unit);
            let row = Row { shape: point.shape, ..row };
            self.put(row, candidate, round, Value { median, best });
        }
    }

    fn put(&mut self, empty: Row, candidate: usize, round: u32, value: Value) {
        let found = self.rows.iter().position(|r| r.is_same_point(&empty));
        let at = found.unwrap_or_else(|| {
            let values = vec![Vec::new(); self.libraries.len()];
            self.rows.push(Row { values, ..empty });
            self.rows.len() - 1
        });
        let values = &mut self.rows[at].values[candidate];
        values.resize(round as usize, None);
        values.push(Some(value));
    }

    /// After a round every list has one entry per round.
    fn fill(&mut self, rounds: usize) {
        for values in self.rows.iter_mut().flat_map(|r| &mut r.values) {
            values.resize(rounds, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launcher that prints one point with a value of its own, or fails from `bad` on.
    fn fake(dir: &Path, name: &str, body: &str) -> Target {
        let path = dir.join(name);
        // A process of its own writes it: what another test starts meanwhile would inherit our open file,
        // and a file that somebody may write can't be started.
        let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#;
        let mut shell = std::process::Command::new("/bin/sh");
        let written = shell.args(["-c", write, "sh"]).arg(&path).arg(body).status();
        assert!(written.unwrap().success());
        Target::new(name, path, "/bin/true".into(), None)
    }

    fn point(value: f64) -> String {
        format!(
            r#"echo '{{"mode":"latency","ranks":2,"size":8,"unit":"us","median":{value},"min":0,"max":9,"iters":5,"batches":7}}'"#
        )
    }

    #[test]
    fn rounds_collect_values_and_a_failure_is_not_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let good = fake(dir.path(), "good", &point(2.0));
        let bad =
            fake(dir.path(), "bad", &format!("echo x >> {0}/calls; exit 1", dir.path().display()));
        let step = Step { part: "latency", ranks: 2, args: vec!["latency".into()] };
        let outcome = alternate(&[good, bad], &[step], 3, &mut Progress::new(6)).unwrap();
        assert_eq!(outcome.rows.len(), 1);
        let value = Some(Value { median: 2.0, best: 0.0 });
        assert_eq!(outcome.rows[0].values, [vec![value; 3], vec![None; 3]]);
        assert_eq!(outcome.failures.len(), 1);
        assert_eq!(std::fs::read_to_string(dir.path().join("calls")).unwrap(), "x\n");
    }

    #[test]
    fn what_waiting_costs_is_a_row_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let body = point(2.0).replace("\"batches\":7", "\"batches\":7,\"cpu_share\":0.25");
        let waiting = fake(dir.path(), "waiting", &body);
        let step = Step { part: "wakeup", ranks: 2, args: vec!["wakeup".into()] };
        let outcome = alternate(&[waiting], &[step], 1, &mut Progress::new(1)).unwrap();
        let row = outcome.rows.iter().find(|r| r.mode == "processor").unwrap();
        assert_eq!((row.values[0][0].unwrap().median, row.unit.as_str()), (25.0, "%"));
    }

    #[test]
    fn types_and_operations_are_rows_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let of = |op: &str, shape: &str| {
            let names = format!("\"mode\":\"datatype\",\"op\":\"{op}\",\"type\":\"{shape}\"");
            point(2.0).replace("\"mode\":\"latency\"", &names)
        };
        let body = [of("pack", "a"), of("pack", "b"), of("unpack", "a")].join("\n");
        let typed = fake(dir.path(), "typed", &body);
        let step = Step { part: "datatype", ranks: 2, args: vec!["datatype".into()] };
        let outcome = alternate(&[typed], &[step], 2, &mut Progress::new(2)).unwrap();
        let rows: Vec<(&str, Option<&str>, usize)> = outcome
            .rows
            .iter()
            .map(|r| (r.mode.as_str(), r.shape.as_deref(), r.values[0].len()))
            .collect();
        let expected = [("pack", Some("a"), 2), ("pack", Some("b"), 2), ("unpack", Some("a"), 2)];
        assert_eq!(rows, expected);
    }

    #[test]
    fn start_up_is_timed_from_outside() {
        let dir = tempfile::tempdir().unwrap();
        let slow = fake(dir.path(), "slow", "sleep 0.1");
        let step = Step { part: "startup", ranks: 8, args: vec!["startup".into()] };
        let outcome = alternate(&[slow], &[step], 1, &mut Progress::new(1)).unwrap();
        let row = &outcome.rows[0];
        assert_eq!((row.ranks, row.unit.as_str()), (8, "s"));
        assert!(row.values[0][0].unwrap().median >= 0.1);
    }

    #[test]
    fn every_part_has_a_step() {
        for part in super::super::PART_NAMES {
            let steps = steps(&[part.to_owned()], &[], Path::new("/tmp"), true);
            assert!(!steps.is_empty(), "{part}");
        }
    }
}
