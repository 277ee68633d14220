//! The sum over all ranks and its growth.

use super::Measurement;
use super::barrier::{growth, oversubscribed, told};
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::table;

pub struct Allreduce;

fn jobs(context: &Context) -> Vec<Job> {
    let job = |n| Job::new(n, "allreduce --sizes 8,1024,65536,1048576", 4);
    context.counts().into_iter().map(job).collect()
}

impl Measurement for Allreduce {
    fn name(&self) -> &'static str {
        "allreduce"
    }
    fn title(&self) -> &'static str {
        "Allreduce"
    }
    fn about(&self) -> &'static str {
        "MPI_Allreduce of sums of doubles, back to back, time of the slowest rank."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let points = data.points("allreduce");
        let plot = Plot::new("MPI_Allreduce", Axis::Ranks, "us");
        vec![plot.by(points, |p: &Point| Some(table::bytes(p.size)))]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let small = data.points("allreduce").iter().filter(|p| p.size == 8);
        let fit = growth(small).map(|fit| format!("8 B. {}", told(&fit)));
        fit.into_iter().chain(oversubscribed(data)).collect()
    }
}
