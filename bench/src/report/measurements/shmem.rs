//! OpenSHMEM: put, get, atomics.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::Context;
use crate::report::data::{self, Data, OWN, Point};

pub struct Shmem;

fn sizes(context: &Context) -> &'static str {
    if context.settings.quick { "8,4096,262144" } else { "8,64,1024,16384,262144,1048576" }
}

fn curves(p: &Point) -> Option<String> {
    let op = p.op.clone()?;
    (op == "put" || op == "get").then_some(op)
}

impl Measurement for Shmem {
    fn name(&self) -> &'static str {
        "shmem"
    }
    fn title(&self) -> &'static str {
        "SHMEM: put, get, atomics"
    }
    fn about(&self) -> &'static str {
        "OpenSHMEM between PEs 0 and 1: put with quiet after each, get, many puts with one quiet (bandwidth), fetch-and-add and \
         compare-and-swap of 8 bytes; the barrier of both. The origin's data are in its caches, as are those that it wrote \
         before: a short put in shared memory is a store."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        context.program("hpvmshmem").map(drop)
    }
    fn estimate(&self, context: &Context) -> f64 {
        let points = 3.0 * sizes(context).split(',').count() as f64 + 3.0;
        context.launched(context.launches(), points * context.budget())
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut target = context.placed(2, false);
        target.program = context.programs.join("hpvmshmem");
        let mut points = Vec::new();
        let args = format!("--budget {} --sizes {}", context.budget(), sizes(context));
        for _ in 0..context.launches() {
            data::add(&mut points, OWN, context.run(&target, 2, &args)?.points);
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        vec![
            Plot::new("SHMEM put with quiet, and get", Axis::Bytes, "us")
                .by(data.points("shmem"), curves),
        ]
    }
}
