//! Windows of MPI: put, get, atomics.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};

/// Operations of one element; every other one has a curve.
const ATOMICS: [&str; 5] = ["fetch_and_op", "compare_and_swap", "lock", "fence", "pscw"];

pub struct Rma;

fn jobs(context: &Context) -> Vec<Job> {
    let sized = ["put", "get", "accumulate"];
    let sizes =
        if context.settings.quick { "8,4096,262144" } else { "8,64,1024,16384,262144,4194304" };
    let count = 2 * sizes.split(',').count() as u32;
    let sized = sized.iter().map(|op| Job::new(2, format!("rma --op {op} --sizes {sizes}"), count));
    let single = ATOMICS.iter().map(|op| Job::new(2, format!("rma --op {op}"), 2));
    sized.chain(single).collect()
}

fn curves(p: &Point) -> Option<String> {
    let op = p.op.as_deref().filter(|op| !ATOMICS.contains(op))?;
    (p.shape.as_deref() == Some("allocate")).then(|| op.to_owned())
}

impl Measurement for Rma {
    fn name(&self) -> &'static str {
        "rma"
    }
    fn title(&self) -> &'static str {
        "Windows: put, get, atomics"
    }
    fn about(&self) -> &'static str {
        "MPI's windows between two ranks, made by MPI_Win_allocate and by MPI_Win_create: put, get and accumulate with a flush after \
         each; fetch-and-op, compare-and-swap, lock-put-unlock, put and fence, start-put-complete with post-wait, of 8 bytes."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        vec![
            Plot::new("Windows of MPI_Win_allocate", Axis::Bytes, "us")
                .by(data.points("rma"), curves),
        ]
    }
}
