//! The map of all pairs of ranks.

use super::Measurement;
use crate::error::BenchError;
use crate::report::context::{Context, Job};
use crate::report::data::Point;

/// More ranks make a map of more pairs than anybody reads.
const MAX_RANKS: u32 = 16;

pub struct Pairs;

fn jobs(context: &Context) -> [Job; 1] {
    let ranks = context.counts().last().map_or(2, |n| (*n).clamp(2, MAX_RANKS));
    [Job::new(ranks, "pairs --sizes 8,65536", 0)]
}

impl Measurement for Pairs {
    fn name(&self) -> &'static str {
        "pairs"
    }
    fn title(&self) -> &'static str {
        "Map of all pairs"
    }
    fn about(&self) -> &'static str {
        "Every two ranks alone while the others wait: one-way time of 8 bytes in µs, and bandwidth of a ping-pong of 64 KiB in MB/s. \
         Darker is worse. In a machine of one kind all cells should look alike; where ranks share processors they cannot."
    }
    fn estimate(&self, context: &Context) -> f64 {
        let ranks = f64::from(jobs(context)[0].ranks);
        // Two sizes, ten batches of 1 ms and a barrier among ranks that may share processors.
        context.launched(context.launches(), ranks * ranks * 0.02)
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
}
