//! What ranks that only wait take from two that work.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::table;

/// The size whose share is told.
const SIZE: u64 = 65536;

pub struct Idle;

fn jobs(context: &Context) -> Vec<Job> {
    let counts = if context.settings.quick { &[2, 8, 16][..] } else { &[2, 4, 8, 16, 32, 64] };
    counts.iter().map(|n| Job::new(*n, "bandwidth --sizes 1024,65536", 2)).collect()
}

/// Percent of the bandwidth of two ranks that is left beside the most idle ones, and how many those are.
pub fn left(data: &Data) -> Option<(f64, u32)> {
    let points = || data.points("idle").iter().filter(|p| p.size == SIZE);
    let alone = points().find(|p| p.ranks == 2)?.median();
    let most = points().max_by_key(|p| p.ranks).filter(|p| p.ranks > 2)?;
    Some((100.0 * most.median() / alone, most.ranks - 2))
}

impl Measurement for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }
    fn title(&self) -> &'static str {
        "Bandwidth with idle ranks"
    }
    fn about(&self) -> &'static str {
        "The bandwidth of two ranks while others of the job only wait in a barrier. With hosts the two are on different ones."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure_placed(&jobs(context), true)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let plot = Plot::new("Bandwidth of ranks 0 and 1", Axis::Ranks, "MB/s");
        vec![plot.by(data.points("idle"), |p: &Point| Some(table::bytes(p.size)))]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let left = left(data).map(|(percent, idle)| {
            let percent = table::number(percent);
            format!(
                "Beside {idle} idle ranks {percent} % of the bandwidth at {} is left.",
                table::bytes(SIZE)
            )
        });
        left.into_iter().collect()
    }
}
