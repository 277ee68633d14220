//! The BSP machine: l and g.

use super::Measurement;
use crate::bsp::fits;
use crate::error::BenchError;
use crate::record::Record;
use crate::report::chart::{Axis, Plot};
use crate::report::context::Context;
use crate::report::data::{self, Data, OWN, Point};
use crate::table;

pub struct Bsp;

fn counts(context: &Context) -> Vec<u32> {
    // More processes than two say more about the scheduler where there are two processors.
    context.counts().into_iter().take(if context.settings.quick { 1 } else { 2 }).collect()
}

/// Supersteps are many: a quarter of what other points get.
fn budget(context: &Context) -> f64 {
    context.budget() / 4.0
}

fn largest(context: &Context) -> u32 {
    if context.settings.quick { 16384 } else { 1 << 20 }
}

/// Medians in the form that the fit takes.
fn records(points: &[Point]) -> Vec<Record> {
    let record = |p: &Point| {
        let text = format!(
            r#"{{"mode":"h","ranks":{},"size":{},"unit":"us","median":{m},"min":{m},"max":{m},"iters":1,"batches":1}}"#,
            p.ranks,
            p.size,
            m = p.median()
        );
        let mut record: Record = serde_json::from_str(&text).ok()?;
        (record.mode, record.op, record.shape) = (p.mode.clone(), p.op.clone(), p.shape.clone());
        Some(record)
    };
    points.iter().filter_map(record).collect()
}

impl Measurement for Bsp {
    fn name(&self) -> &'static str {
        "bsp"
    }
    fn title(&self) -> &'static str {
        "The BSP machine: l and g"
    }
    fn about(&self) -> &'static str {
        "Supersteps in which every process has h bytes for the others: word by word, or as one block each. l is the time of a \
         superstep without communication, g what a byte more costs, by the line that is least far off as a part of each point."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        context.program("hpvmbsp").map(drop)
    }
    fn estimate(&self, context: &Context) -> f64 {
        let sizes = f64::from(largest(context).ilog2() - 6) / 2.0 + 1.0;
        let each = sizes * 13.0 * budget(context);
        counts(context).len() as f64 * context.launched(context.launches(), each)
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut points = Vec::new();
        let args = format!("--budget {} --max {} --raw yes", budget(context), largest(context));
        for _ in 0..context.launches() {
            for n in counts(context) {
                let mut target = context.placed(n, false);
                target.program = context.programs.join("hpvmbsp");
                data::add(&mut points, OWN, context.run(&target, n, &args)?.points);
            }
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let of = |p: &Point| {
            let op = p.op.as_deref().filter(|op| ["put", "get", "send"].contains(op))?;
            (p.ranks == 2 && p.shape.as_deref() == Some("blocks")).then(|| op.to_owned())
        };
        vec![
            Plot::new("Superstep, two processes, blocks", Axis::Bytes, "us")
                .by(data.points("bsp"), of),
        ]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let fits = fits(&records(data.points("bsp")));
        let told = fits.iter().filter(|fit| ["put", "get", "send"].contains(&&*fit.operation));
        told.map(|fit| {
            let [l, g, rate] = [fit.l, fit.g_word * 1e3, 1.0 / fit.g].map(table::number);
            let off = 100.0 * fit.residual;
            format!(
                "p = {}, {} as {}: l = {l} µs, g = {g} ns a word, 1/g = {rate} MB/s (points up to {off:.0} % off).",
                fit.ranks, fit.operation, fit.kind
            )
        })
        .collect()
    }
}
