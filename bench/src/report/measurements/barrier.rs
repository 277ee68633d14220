//! The barrier and its growth.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::report::statistics::{Fit, line};
use crate::table;

pub struct Barrier;

fn jobs(context: &Context) -> Vec<Job> {
    context.counts().into_iter().map(|n| Job::new(n, "barrier", 1)).collect()
}

/// The line a + b log2 N through points of growing numbers of ranks.
pub fn growth<'a>(points: impl Iterator<Item = &'a Point>) -> Option<Fit> {
    let points: Vec<(f64, &[Vec<f64>])> =
        points.map(|p| (f64::from(p.ranks).log2(), &p.launches[..])).collect();
    line(&points)
}

/// "a + b log2 N" in words.
pub fn told(fit: &Fit) -> String {
    let [a, b] = [fit.line.at_zero, fit.line.slope].map(table::number);
    let ends = [fit.at_zero, fit.slope]
        .map(|i| format!("{} to {}", table::number(i.low), table::number(i.high)));
    format!("Fit: {a} µs + {b} µs · log₂ N (95 % intervals {} and {}).", ends[0], ends[1])
}

/// Whether some measurement had more ranks than processors, in a sentence.
pub fn oversubscribed(data: &Data) -> Option<String> {
    let cores = data.machine.cores;
    let many = data.settings.ranks as usize > cores && data.settings.hosts.is_empty();
    many.then(|| format!("Beyond {cores} ranks ranks share processors, and the growth is the scheduler's as well."))
}

impl Measurement for Barrier {
    fn name(&self) -> &'static str {
        "barrier"
    }
    fn title(&self) -> &'static str {
        "Barrier"
    }
    fn about(&self) -> &'static str {
        "MPI_Barrier, back to back, time of the slowest rank."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let points = data.points("barrier");
        let plot = Plot::new("MPI_Barrier", Axis::Ranks, "us").own(points, "hpvm");
        vec![plot.fit(growth(points.iter()).map(|fit| fit.line))]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let fit = growth(data.points("barrier").iter()).map(|fit| told(&fit));
        fit.into_iter().chain(oversubscribed(data)).collect()
    }
}
