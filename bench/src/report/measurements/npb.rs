//! The NAS Parallel Benchmarks, from the user's own copy.

use super::Measurement;
use crate::error::BenchError;
use crate::npb::{self, CLASSES, Row, Wanted};
use crate::report::context::Context;
use crate::report::data::{OWN, Point};
use crate::report::store;
use crate::whole_file;
use std::path::{Path, PathBuf};

pub struct Npb;

/// From this class on a benchmark takes so long that each is run once.
const LARGE: &str = "B";

/// Numbers of ranks: from one up to the processors, four at least; of large classes the one alone that uses all
/// processors, or the least that has any use for them.
fn ranks(benchmark: &str, class: &str, processors: u32) -> Vec<u32> {
    let at = |class| CLASSES.iter().position(|c| *c == class);
    // EP would run on any number.
    let usual = |n: u32| benchmark != "EP" || n.is_power_of_two();
    let fit = |n: &u32| npb::runs_on(benchmark, *n) && usual(*n);
    let all: Vec<u32> = (1..=processors.max(4)).filter(fit).collect();
    if at(class) < at(LARGE) {
        return all;
    }
    let useful = all.iter().rev().find(|n| (2..=processors).contains(*n));
    let least = all.iter().find(|n| **n >= processors);
    useful.or(least).copied().into_iter().collect()
}

fn wanted(classes: &[String], processors: u32) -> Vec<Wanted> {
    let mut all = Vec::new();
    for class in classes {
        for benchmark in npb::BENCHMARKS {
            let named = [benchmark.to_owned()];
            let ranks = ranks(benchmark, class, processors);
            all.extend(npb::wanted(std::slice::from_ref(class), &named, &ranks));
        }
    }
    all
}

fn plan(context: &Context, npb: &str) -> npb::Plan {
    let bin = context.target.mpirun.parent().unwrap_or(&context.programs).to_owned();
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    npb::Plan {
        target: context.target.clone(),
        bin,
        sources: PathBuf::from(npb),
        wanted: wanted(&context.settings.npb_classes, processors),
        repeat: 1,
        peers: Vec::new(),
        peers_dir: context.peers.clone(),
        others: false,
        json: false,
    }
}

/// Runs that a report that was ended has made. A file that can't be read counts as none.
fn made(file: &Path) -> Vec<Row> {
    store::read(file, "runs of NPB").unwrap_or_default()
}

impl Measurement for Npb {
    fn name(&self) -> &'static str {
        "npb"
    }
    fn title(&self) -> &'static str {
        "NAS Parallel Benchmarks"
    }
    fn about(&self) -> &'static str {
        "The benchmarks of the copy that --npb names, million operations a second; only runs that verified themselves."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        context.settings.npb.as_ref().map(drop).ok_or_else(|| "no sources named (--npb DIR)".into())
    }
    fn estimate(&self, context: &Context) -> f64 {
        let each = |class: &String| match class.as_str() {
            "S" => 15.0,
            "W" => 45.0,
            "A" => 240.0,
            "B" => 500.0,
            _ => 3000.0,
        };
        context.settings.npb_classes.iter().map(each).sum()
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let sources = context.settings.npb.clone().unwrap_or_default();
        let file = context.folder.join("npb-runs");
        let mut keep = |rows: &[Row]| {
            let text = serde_json::to_string(rows)
                .map_err(|e| BenchError::io("cannot write JSON", e.into()))?;
            whole_file::write(&file, &text)
        };
        let outcome = npb::measure(&plan(context, &sources), made(&file), &mut keep)?;
        if outcome.interrupted {
            return Err(BenchError::Interrupted);
        }
        let verified = outcome.rows.iter().filter(|row| row.verified && row.by == OWN);
        Ok(verified
            .map(|row| {
                Point::new("npb", OWN, row.ranks, 0, "Mop/s", vec![row.mops])
                    .of(&row.benchmark, &row.class)
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_classes_run_once() {
        assert_eq!(ranks("CG", "A", 2), [1, 2, 4]);
        assert_eq!(ranks("BT", "A", 2), [1, 4]);
        assert_eq!(ranks("BT", "A", 9), [1, 4, 9]);
        assert_eq!(ranks("CG", "B", 2), [2]);
        assert_eq!(ranks("BT", "B", 2), [4]);
        assert_eq!(ranks("SP", "C", 16), [16]);
        assert_eq!(ranks("MG", "B", 12), [8]);
        assert_eq!(ranks("LU", "B", 1), [1]);
        assert_eq!(ranks("EP", "A", 6), [1, 2, 4]);
    }

    #[test]
    fn runs_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("npb-runs");
        assert!(made(&file).is_empty());
        let row = Row {
            benchmark: "CG".into(),
            class: "S".into(),
            by: OWN.into(),
            ranks: 2,
            seconds: 1.0,
            mops: 2.0,
            verified: true,
        };
        std::fs::write(&file, serde_json::to_string(&[&row]).unwrap()).unwrap();
        assert_eq!(made(&file), [row]);
        std::fs::write(&file, "{").unwrap();
        assert!(made(&file).is_empty());
    }
}
