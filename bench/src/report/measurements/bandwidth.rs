//! How many bytes a second, and N1/2.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::stats::half_size;
use crate::table;

pub struct Bandwidth;

fn jobs(context: &Context) -> [Job; 1] {
    [Job::new(2, format!("bandwidth --sizes {}", context.sizes()), context.size_count())]
}

impl Measurement for Bandwidth {
    fn name(&self) -> &'static str {
        "bandwidth"
    }
    fn title(&self) -> &'static str {
        "Bandwidth and N½"
    }
    fn about(&self) -> &'static str {
        "Messages from one rank to another, 64 on the way at a time. N½ is the size that reaches half of the peak."
    }
    fn estimate(&self, context: &Context) -> f64 {
        context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        vec![Plot::new("Bandwidth", Axis::Bytes, "MB/s").own(data.points("bandwidth"), "hpvm")]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let curve: Vec<(u64, f64)> =
            data.points("bandwidth").iter().map(|p: &Point| (p.size, p.median())).collect();
        let half = half_size(&curve).map(|half| {
            let about = if half.at_most { "at most " } else { "" };
            let [peak, bytes] = [half.peak, half.bytes].map(table::number);
            format!("Peak {peak} MB/s; N½ is {about}{bytes} bytes.")
        });
        half.into_iter().collect()
    }
}
