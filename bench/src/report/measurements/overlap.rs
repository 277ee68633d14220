//! Communication behind computation.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::table;

pub struct Overlap;

fn jobs() -> [Job; 1] {
    let sizes = "1024,16384,262144,1048576,4194304";
    [Job::new(2, format!("overlap --sizes {sizes}"), 10)]
}

impl Measurement for Overlap {
    fn name(&self) -> &'static str {
        "overlap"
    }
    fn title(&self) -> &'static str {
        "Overlap of communication with computation"
    }
    fn about(&self) -> &'static str {
        "Two ranks exchange a message each way without blocking, and compute for as long as the exchange alone took before they wait \
         for it, without calling MPI meanwhile. 100 % when the exchange costs nothing beside the computing. Inside a host the \
         processors themselves copy the data, so that what a rank has to copy cannot be hidden behind its own computing."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs())
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs())
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        vec![Plot::new("Hidden share", Axis::Bytes, "%").own(data.points("overlap"), "hpvm")]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let largest = data.points("overlap").iter().max_by_key(|p| p.size);
        let largest = largest.map(|p: &Point| {
            let (size, share) = (table::bytes(p.size), table::number(p.median()));
            format!("Of an exchange of {size} {share} % disappears behind computing.")
        });
        largest.into_iter().collect()
    }
}
