//! Other MPIs on the same machine, by turns.

use super::Measurement;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::{Context, Job};
use crate::report::data::{self, Data, OWN, Point, larger_is_better};
use crate::report::statistics::ratio;
use crate::target::Target;
use crate::{peers, table};

pub struct Peers;

fn jobs(context: &Context) -> Vec<Job> {
    let sizes = context.sizes();
    let count = context.size_count();
    let mut jobs = vec![
        Job::new(2, format!("latency --sizes 0,{sizes}"), count + 1),
        Job::new(2, format!("bandwidth --sizes {sizes}"), count),
    ];
    for n in [2, 4] {
        jobs.push(Job::new(n, "barrier", 1));
        jobs.push(Job::new(n, "allreduce --sizes 8,65536", 2));
    }
    jobs
}

fn candidates(context: &Context) -> Result<Vec<Target>, BenchError> {
    let folder = |e| BenchError::io(format!("cannot use {}", context.peers.display()), e);
    let dir = context.peers.canonicalize().map_err(folder)?;
    std::fs::create_dir_all(dir.join("build")).map_err(folder)?;
    let bin = context.target.mpirun.parent().unwrap_or(&context.programs);
    let plan = peers::Plan {
        own: context.target.clone(),
        program_given: false,
        mpicc: bin.join("mpicc"),
        dir: dir.clone(),
        peers: context.settings.peers.clone(),
        parts: Vec::new(),
        file: None,
        ranks: Vec::new(),
        hosts: None,
        install_only: false,
        repeat: 1,
        quick: context.settings.quick,
        json: false,
    };
    peers::candidates(&plan, &dir)
}

fn known_as(p: &Point) -> Option<String> {
    Some(crate::plot::known_as(&p.by).to_owned())
}

/// Of one point: the fastest peer, and the ratio of hpvm's median to its.
fn best<'a>(points: &'a [Point], own: &Point) -> Option<(&'a Point, f64)> {
    let same = |p: &&Point| {
        p.by != OWN && p.mode == own.mode && (p.ranks, p.size) == (own.ranks, own.size)
    };
    let sign = if larger_is_better(&own.unit) { -1.0 } else { 1.0 };
    let peer = points
        .iter()
        .filter(same)
        .min_by(|a, b| (sign * a.median()).total_cmp(&(sign * b.median())))?;
    Some((peer, ratio(&peer.launches, &own.launches)?.0))
}

impl Measurement for Peers {
    fn name(&self) -> &'static str {
        "peers"
    }
    fn title(&self) -> &'static str {
        "Beside other MPIs"
    }
    fn about(&self) -> &'static str {
        "The same program on hpvm and on the MPIs that were found, each with its defaults; all take turns with every launch. \
         `hpvm bench peers` compares more."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        if !context.settings.hosts.is_empty() {
            return Err("between hosts: hpvm bench peers --hosts".into());
        }
        if context.settings.peers.is_empty() {
            let dir = context.peers.display().to_string();
            return Err(match &*dir {
                "" => "not asked for (--peers)".to_owned(),
                dir => format!("none in {dir} (hpvm bench peers --install-only)"),
            });
        }
        Ok(())
    }
    fn estimate(&self, context: &Context) -> f64 {
        // MPIs that poll take long where ranks share processors.
        1.5 * context.seconds(&jobs(context)) * (1 + context.settings.peers.len()) as f64
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let candidates = candidates(context)?;
        let mut points = Vec::new();
        for round in 0..context.launches() as usize {
            for job in jobs(context) {
                for i in 0..candidates.len() {
                    let target = &candidates[(i + round) % candidates.len()];
                    let args = format!("{} --budget {} --raw yes", job.args, context.budget());
                    let output = context.run(target, job.ranks, &args)?;
                    data::add(&mut points, &target.name, output.points);
                }
            }
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let of = |mode: &'static str| {
            let points = data.points("peers").iter();
            points.filter(move |p| p.mode == mode).cloned().collect::<Vec<Point>>()
        };
        vec![
            Plot::new("One-way time", Axis::Bytes, "us").by(&of("latency"), known_as),
            Plot::new("Bandwidth", Axis::Bytes, "MB/s").by(&of("bandwidth"), known_as),
        ]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let points = data.points("peers");
        let line = |own: &Point| {
            let (peer, ratio) = best(points, own)?;
            let ahead = if larger_is_better(&own.unit) { ratio >= 1.0 } else { ratio <= 1.0 };
            Some((
                ahead,
                format!(
                    "{} {} on {}: {} times {}",
                    own.mode,
                    table::bytes(own.size),
                    own.ranks,
                    table::number(ratio),
                    crate::plot::known_as(&peer.by)
                ),
            ))
        };
        let all: Vec<(bool, String)> =
            points.iter().filter(|p| p.by == OWN).filter_map(line).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let ahead = all.iter().filter(|(ahead, _)| *ahead).count();
        let behind: Vec<&str> = all.iter().filter(|(ahead, _)| !ahead).map(|(_, s)| &**s).collect();
        let mut lines =
            vec![format!("Ahead of the best of the others at {ahead} of {} points.", all.len())];
        if !behind.is_empty() {
            lines.push(format!("Behind at: {}.", behind.join("; ")));
        }
        lines
    }
}
