//! How long a message is on its way.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, OWN, Point};
use crate::report::statistics::summary;
use crate::table;

pub struct Latency;

fn jobs(context: &Context) -> [Job; 1] {
    [Job::new(2, format!("latency --sizes 0,{}", context.sizes()), context.size_count() + 1)]
}

/// The shortest message of the report.
pub fn one_way(data: &Data) -> Option<&Point> {
    data.points("latency").iter().filter(|p| p.by == OWN).min_by_key(|p| p.size)
}

impl Measurement for Latency {
    fn name(&self) -> &'static str {
        "latency"
    }
    fn title(&self) -> &'static str {
        "Latency"
    }
    fn about(&self) -> &'static str {
        "Half the round trip of a message between two ranks, by size. With hosts: between the first and the second."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        vec![Plot::new("One-way time", Axis::Bytes, "us").own(data.points("latency"), "hpvm")]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let Some((p, s)) = one_way(data).and_then(|p| Some((p, summary(&p.launches)?))) else {
            return Vec::new();
        };
        let [now, low, high] = [s.median, s.interval.low, s.interval.high].map(table::number);
        let size = table::bytes(p.size);
        let mut lines = vec![format!("{size}: {now} µs one way (95 % interval {low} to {high}).")];
        let flag = data.points("floor").iter().find(|f| f.mode == "flag").map(Point::median);
        if let Some(flag) = flag.filter(|_| data.settings.hosts.is_empty()) {
            lines.push(format!(
                "That is {} times what a cache line takes.",
                table::number(s.median / flag)
            ));
        }
        lines
    }
}
