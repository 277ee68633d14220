//! MPI's files.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{Data, Point};
use crate::table;

pub struct Files;

fn jobs(context: &Context) -> Vec<Job> {
    let sizes = if context.settings.quick { "65536,1048576" } else { "65536,1048576,16777216" };
    let folder = context.folder.display().to_string();
    let ranks = [2, 4];
    let count = 11 * sizes.split(',').count() as u32;
    ranks
        .iter()
        .map(|n| Job::new(*n, format!("files --sizes {sizes} --file {folder}"), count))
        .collect()
}

impl Measurement for Files {
    fn name(&self) -> &'static str {
        "files"
    }
    fn title(&self) -> &'static str {
        "Files"
    }
    fn about(&self) -> &'static str {
        "MPI-IO into one file beside the report, bytes per rank: written independently, together as blocks, together in stripes of \
         4 KiB by turns, together as boxes of an array of three dimensions, together and synchronised with the disk, and read back in \
         the same ways; beside write(2) and read(2) of as many bytes of all ranks by one. \
         Without synchronising these are speeds of the kernel's page cache. Ranks must see the same file system."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        let path = context.folder.display().to_string();
        let bad = path.chars().any(char::is_whitespace);
        if bad { Err(format!("white space in the name of the folder '{path}'")) } else { Ok(()) }
    }
    fn estimate(&self, context: &Context) -> f64 {
        // Large blocks take longer than their budget.
        2.0 * context.seconds(&jobs(context))
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        context.measure(&jobs(context))
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let of = |p: &Point| (p.ranks == 2).then(|| p.op.clone()).flatten();
        vec![Plot::new("Files, two ranks", Axis::Bytes, "MB/s").by(data.points("files"), of)]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let of = |op: &str| {
            let points = data.points("files").iter().filter(|p| p.ranks == 2);
            points.filter(|p| p.op.as_deref() == Some(op)).max_by_key(|p| p.size)
        };
        let both = of("write_at_all").zip(of("write(2)")).map(|(ours, plain)| {
            let [ours, share] = [ours.median(), 100.0 * ours.median() / plain.median()].map(table::number);
            format!("Two ranks write {ours} MB/s together, {share} % of what one process does with write(2).")
        });
        both.into_iter().collect()
    }
}
