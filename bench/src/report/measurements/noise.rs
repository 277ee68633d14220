//! What the machine takes from a program that only computes.

use super::Measurement;
use crate::error::BenchError;
use crate::report::context::Context;
use crate::report::data::{Data, FLOOR, Point};
use crate::report::machine;
use crate::{interrupt, table};
use std::hint::black_box;
use std::time::Instant;

/// Multiplications of one piece of work: about 100 µs.
const WORK: u32 = 100_000;

pub struct Noise;

fn piece() -> f64 {
    let start = Instant::now();
    let mut x = 1u64;
    for i in 0..WORK {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(u64::from(i)));
    }
    start.elapsed().as_secs_f64() * 1e6
}

fn pieces(context: &Context) -> u32 {
    if context.settings.quick { 5_000 } else { 50_000 }
}

impl Measurement for Noise {
    fn name(&self) -> &'static str {
        "noise"
    }
    fn title(&self) -> &'static str {
        "How quiet the machine is"
    }
    fn about(&self) -> &'static str {
        "The same piece of work of some 100 µs, thousands of times on one processor. What a piece takes beyond the fastest tenth is \
         time that interrupts, other programs, the clock's changes or, in a virtual machine, other guests have taken."
    }
    fn estimate(&self, context: &Context) -> f64 {
        f64::from(pieces(context)) * 150e-6
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let before = machine::stolen();
        let mut times = Vec::new();
        for _ in 0..pieces(context) {
            if interrupt::requested() {
                return Err(BenchError::Interrupted);
            }
            times.push(piece());
        }
        times.sort_by(f64::total_cmp);
        let fast = times[times.len() / 10];
        let all: f64 = times.iter().sum();
        let lost = 100.0 * (1.0 - fast * times.len() as f64 / all).max(0.0);
        // A thousand of them, ends included, are enough to be kept.
        let step = (times.len() / 1000).max(1);
        let last = *times.last().unwrap_or(&0.0);
        let kept: Vec<f64> =
            times.iter().step_by(step).copied().chain([last]).map(rounded).collect();
        let mut points = vec![
            Point::new("noise", FLOOR, 1, 0, "us", kept).of("piece", ""),
            Point::new("noise", FLOOR, 1, 0, "%", vec![rounded(lost)]).of("lost", ""),
        ];
        if let (Some(before), Some(after)) = (before, machine::stolen()) {
            let all = after.0.saturating_sub(before.0).max(1) as f64;
            let stolen = 100.0 * after.1.saturating_sub(before.1) as f64 / all;
            points.push(
                Point::new("noise", FLOOR, 1, 0, "%", vec![rounded(stolen)]).of("stolen", ""),
            );
        }
        Ok(points)
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let of = |op: &str| data.points("noise").iter().find(|p| p.op.as_deref() == Some(op));
        let mut lines = Vec::new();
        if let Some(lost) = of("lost").map(Point::median) {
            let doubt = if lost > 5.0 {
                ". Figures of small messages and of medians near each other are doubtful"
            } else {
                ""
            };
            lines.push(format!("{} % of the time was lost to others{doubt}.", table::number(lost)));
        }
        if let Some(stolen) = of("stolen").map(Point::median).filter(|s| *s > 0.5) {
            lines.push(format!(
                "The host took {} % of the processors' time meanwhile.",
                table::number(stolen)
            ));
        }
        lines
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
