//! From mpirun to its end.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::Context;
use crate::report::data::{self, Data, FLOOR, OWN, Point};
use crate::report::statistics::line;
use crate::table;
use std::process::Command;
use std::time::Instant;

pub struct Startup;

fn counts(context: &Context) -> &'static [u32] {
    if context.settings.quick { &[1, 2, 8, 16] } else { &[1, 2, 4, 8, 16, 32, 64] }
}

fn times(context: &Context) -> u32 {
    if context.settings.quick { 5 } else { 11 }
}

impl Measurement for Startup {
    fn name(&self) -> &'static str {
        "startup"
    }
    fn title(&self) -> &'static str {
        "Start-up time"
    }
    fn about(&self) -> &'static str {
        "From the start of mpirun to its end, of a program that only initialises and finalises. The floor is the program `true`, \
         started and waited for once."
    }
    fn estimate(&self, context: &Context) -> f64 {
        let ranks: u32 = counts(context).iter().sum();
        f64::from(times(context)) * (f64::from(ranks) * 0.004 + 0.05 * counts(context).len() as f64)
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut points = Vec::new();
        for _ in 0..times(context) {
            for n in counts(context) {
                let output = context.run(&context.placed(*n, false), *n, "startup")?;
                data::join(
                    &mut points,
                    Point::new("startup", OWN, *n, 0, "s", vec![output.seconds]),
                );
            }
            let start = Instant::now();
            let ran = Command::new("true").status();
            ran.map_err(|e| BenchError::io("cannot start 'true'", e))?;
            let seconds = start.elapsed().as_secs_f64();
            data::join(&mut points, Point::new("startup", FLOOR, 1, 0, "s", vec![seconds]));
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let name = |p: &Point| Some(if p.by == FLOOR { "true" } else { "mpirun" }.to_owned());
        vec![Plot::new("Start to end", Axis::Ranks, "s").by(data.points("startup"), name)]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let own = data.points("startup").iter().filter(|p| p.by == OWN);
        let points: Vec<(f64, &[Vec<f64>])> =
            own.map(|p| (f64::from(p.ranks), &p.launches[..])).collect();
        let fit = line(&points).map(|fit| {
            let [a, b] = [fit.line.at_zero, fit.line.slope].map(|s| table::number(s * 1e3));
            format!("Fit: {a} ms + {b} ms for each rank.")
        });
        fit.into_iter().collect()
    }
}
