//! PVM: two tasks of this host.

use super::Measurement;
use crate::error::BenchError;
use crate::pvm::run_ours;
use crate::report::chart::{Axis, Plot};
use crate::report::context::Context;
use crate::report::data::{self, Data, OWN, Point};

pub struct Pvm;

/// What the benchmark calls a message with its packing, and one that is neither packed nor unpacked.
pub const PACKED: &str = "pack, send, receive, unpack";
const TYPED: &str = "psend, precv";

fn largest(context: &Context) -> u32 {
    if context.settings.quick { 1 << 16 } else { 1 << 20 }
}

/// Its points are many, and each is measured at least some times: a third of what other points get.
fn budget(context: &Context) -> f64 {
    context.budget() / 3.0
}

impl Measurement for Pvm {
    fn name(&self) -> &'static str {
        "pvm"
    }
    fn title(&self) -> &'static str {
        "PVM: messages between two tasks"
    }
    fn about(&self) -> &'static str {
        "Round trips of messages that are packed, sent, received and unpacked, and of pvm_psend and pvm_precv; many messages in a \
         row by these (bandwidth); packing and unpacking beside memcpy; pvm_probe when there is nothing; pvm_spawn until the \
         task's first message. 'hpvm bench pvm' compares with PVM 3.4."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        if !context.settings.hosts.is_empty() {
            return Err("both tasks run on this host".into());
        }
        context.program("hpvmpvm").map(drop)
    }
    fn estimate(&self, context: &Context) -> f64 {
        let eights = f64::from(largest(context).ilog2() / 3);
        context.launched(context.launches(), (2.0 * eights + 15.0) * budget(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut points = Vec::new();
        for _ in 0..context.launches() {
            let program = context.programs.join("hpvmpvm");
            data::add(&mut points, OWN, run_ours(&program, budget(context), largest(context))?);
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let of = |p: &Point| p.op.clone().filter(|_| p.mode == "round trip");
        vec![Plot::new("PVM: round trip", Axis::Bytes, "us").by(data.points("pvm"), of)]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let trip = |op: &'static str| {
            data.points("pvm")
                .iter()
                .find(move |p| p.mode == "round trip" && p.op.as_deref() == Some(op) && p.size == 8)
        };
        let (Some(packed), Some(typed)) = (trip(PACKED), trip(TYPED)) else { return Vec::new() };
        let [packed, typed] = [packed, typed].map(|p| crate::table::number(p.median()));
        vec![format!(
            "Eight bytes go and come in {packed} µs where they are packed, in {typed} by psend and precv."
        )]
    }
}
