//! Looking for messages.

use super::Measurement;
use crate::error::BenchError;
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::table;

pub struct Probe;

impl Measurement for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }
    fn title(&self) -> &'static str {
        "Looking for messages"
    }
    fn about(&self) -> &'static str {
        "MPI_Iprobe for any message when there is none."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&[Job::new(2, "probe", 1)])
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&[Job::new(2, "probe", 1)])
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let look = data.points("probe").first().map(Point::median);
        look.map(|us| format!("A look costs {} ns.", table::number(us * 1e3))).into_iter().collect()
    }
}
