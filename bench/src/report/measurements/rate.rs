//! How many small messages a second.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};

pub struct Rate;

fn jobs(context: &Context) -> Vec<Job> {
    context.counts().into_iter().map(|n| Job::new(n, "rate --sizes 0,8,64,256", 4)).collect()
}

impl Measurement for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }
    fn title(&self) -> &'static str {
        "Message rate"
    }
    fn about(&self) -> &'static str {
        "Ranks of the lower half stream to partners in the upper half, all pairs at once; million messages a second of all together."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let plot = Plot::new("Messages of all pairs", Axis::Ranks, "M/s");
        vec![plot.by(data.points("rate"), |p| Some(crate::table::bytes(p.size)))]
    }
}
