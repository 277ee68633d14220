//! From one half of the ranks to the other, all at once.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::table;

pub struct Bisection;

fn jobs(context: &Context) -> Vec<Job> {
    context
        .counts()
        .into_iter()
        .map(|n| Job::new(n, "rate --sizes 1024,65536,1048576", 3))
        .collect()
}

impl Measurement for Bisection {
    fn name(&self) -> &'static str {
        "bisection"
    }
    fn title(&self) -> &'static str {
        "Bisection bandwidth"
    }
    fn about(&self) -> &'static str {
        "All ranks of the lower half send to partners in the upper half at once; with hosts through the middle of the network."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut points = context.measure(&jobs(context))?;
        for p in &mut points {
            let size = p.size as f64;
            p.launches.iter_mut().flatten().for_each(|rate| *rate *= size);
            (p.mode, p.unit) = ("bisection".into(), "MB/s".into());
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let plot = Plot::new("One half to the other", Axis::Ranks, "MB/s");
        vec![plot.by(data.points("bisection"), |p: &Point| Some(table::bytes(p.size)))]
    }
}
