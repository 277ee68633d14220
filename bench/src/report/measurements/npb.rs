//! The NAS Parallel Benchmarks, from the user's own copy.

use super::Measurement;
use crate::error::BenchError;
use crate::npb;
use crate::report::context::Context;
use crate::report::data::{OWN, Point};
use std::path::PathBuf;

pub struct Npb;

fn plan(context: &Context, npb: &str) -> npb::Plan {
    let bin = context.target.mpirun.parent().unwrap_or(&context.programs).to_owned();
    let classes = if context.settings.quick { "S,W" } else { "A,B" };
    npb::Plan {
        target: context.target.clone(),
        bin,
        sources: PathBuf::from(npb),
        classes: classes.split(',').map(str::to_owned).collect(),
        ranks: vec![1, 2, 4],
        benchmarks: npb::BENCHMARKS.iter().map(|b| (*b).to_owned()).collect(),
        peers: Vec::new(),
        peers_dir: context.peers.clone(),
        json: false,
    }
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
        if context.settings.quick { 60.0 } else { 1200.0 }
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let sources = context.settings.npb.clone().unwrap_or_default();
        let outcome = npb::measure(&plan(context, &sources))?;
        let verified = outcome.rows.iter().filter(|row| row.verified && row.by == OWN);
        Ok(verified
            .map(|row| {
                Point::new("npb", OWN, row.ranks, 0, "Mop/s", vec![row.mops])
                    .of(&row.benchmark, &row.class)
            })
            .collect())
    }
}
