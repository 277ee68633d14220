//! `hpvm bench --hosts`: the papers' figures of a network, between the hosts that were named.

use crate::error::BenchError;
use crate::evaluate::{self, TIME_LIMIT};
use crate::machine::Machine;
use crate::out::outln;
use crate::papers::{self, Figure, Quantity};
use crate::progress::Progress;
use crate::record::{Header, Record};
use crate::show::show;
use crate::stats::{HalfSize, Line, fit, half_size};
use crate::table;
use crate::target::Target;
use serde::Serialize;

/// What `hpvm bench --hosts` was asked to do.
#[derive(Debug)]
pub struct Plan {
    /// Its launcher is given the hosts by the measurements.
    pub target: Target,
    pub hosts: Vec<String>,
    pub quick: bool,
    pub json: bool,
}

/// Everything that was found; also the form of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    hosts: Vec<String>,
    header: Option<Header>,
    /// Between a rank on the first host and one on the second.
    latency: Vec<Record>,
    bandwidth: Vec<Record>,
    half_size: Option<HalfSize>,
    /// The same number of ranks on every host.
    barrier: Vec<Record>,
    /// Time of a barrier in µs against the logarithm to the base 2 of the ranks.
    barrier_fit: Option<Line>,
    /// MB/s from the ranks of one half of the hosts to those of the other, all at once.
    bisection: Vec<Record>,
    /// Bandwidth by ranks in the job, all but two of them idle.
    idle: Vec<Record>,
    papers: Vec<Figure>,
}

/// Measures and prints. Blocks for a minute or two.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let report = measure(plan)?;
    show(&report, plan.json, print)
}

/// The launcher's arguments for so many ranks on each of the hosts.
fn spread(hosts: &[String], each: u32, neighbours: bool) -> Vec<String> {
    let list: Vec<String> = hosts.iter().map(|host| format!("{host}:{each}")).collect();
    let by = if neighbours { "slot" } else { "node" };
    vec!["-H".into(), list.join(","), "--map-by".into(), by.into()]
}

fn measure(plan: &Plan) -> Result<Report, BenchError> {
    let (pair, all) = (&plan.hosts[..2], &plan.hosts[..]);
    let each: &[u32] = if plan.quick { &[1, 2, 4] } else { &[1, 2, 4, 8] };
    let idle: &[u32] = if plan.quick { &[1, 4] } else { &[1, 4, 16] };
    let mut progress = Progress::new(2 + 2 * each.len() as u64 + idle.len() as u64);
    let pace = if plan.quick { "--budget 0.06" } else { "--budget 0.3" };
    let mut header = None;
    let mut job = |hosts: &[String], each: u32, neighbours: bool, args: &str| {
        let ranks = hosts.len() as u32 * each;
        progress.step(&format!("{}, {ranks} ranks", args.split(' ').next().unwrap_or_default()));
        let mut target = plan.target.clone();
        target.launch_args.extend(spread(hosts, each, neighbours));
        let args: Vec<String> =
            args.split_whitespace().chain(pace.split(' ')).map(str::to_owned).collect();
        let output = target.run(ranks, &args, TIME_LIMIT)?.with_results(&target.program)?;
        header = header.take().or(output.header);
        Ok::<_, BenchError>(output.points)
    };
    let sizes = "8,64,256,1024,4096,16384,65536,262144,1048576,4194304";
    let latency = job(pair, 1, true, &format!("latency --sizes 0,{sizes}"))?;
    let bandwidth = job(pair, 1, true, &format!("bandwidth --sizes {sizes}"))?;
    let (mut barrier, mut bisection, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for n in each {
        barrier.extend(job(all, *n, true, "barrier")?);
        bisection.extend(job(all, *n, true, "rate --sizes 1024,65536,1048576")?);
    }
    for n in idle {
        // Ranks 0 and 1, which talk, are on different hosts.
        more.extend(job(pair, *n, false, "bandwidth --sizes 1024,65536")?);
    }
    bisection.iter_mut().for_each(in_bytes);
    let times: Vec<(f64, f64)> =
        barrier.iter().map(|r| (f64::from(r.ranks).log2(), r.median)).collect();
    let curve: Vec<(u64, f64)> = bandwidth.iter().map(|r| (r.size, r.median)).collect();
    Ok(Report {
        machine: Machine::here(),
        hosts: plan.hosts.clone(),
        header,
        half_size: half_size(&curve),
        barrier_fit: fit(&times),
        latency,
        bandwidth,
        barrier,
        bisection,
        idle: more,
        papers: papers::all().collect(),
    })
}

/// Million messages a second become million bytes a second.
fn in_bytes(r: &mut Record) {
    let size = r.size as f64;
    (r.median, r.min, r.max) = (r.median * size, r.min * size, r.max * size);
    (r.mode, r.unit) = ("bisection".into(), "MB/s".into());
}

fn print(report: &Report) {
    outln!("{}", report.machine);
    if let Some(h) = &report.header {
        outln!("{}, MPI {}, hosts {}", h.library, h.standard, report.hosts.join(", "));
    }
    outln!("Median over batches, with the least and the largest batch.");
    curve("One-way time of a message between two hosts", &report.latency);
    then(&report.latency.first().cloned(), Quantity::Latency);
    curve("Bandwidth between two hosts", &report.bandwidth);
    let peak = report.bandwidth.iter().max_by(|a, b| a.median.total_cmp(&b.median));
    then(&peak.cloned(), Quantity::Bandwidth);
    if let Some(half) = &report.half_size {
        evaluate::print_half(half);
    }
    curve("Time of MPI_Barrier over all hosts", &report.barrier);
    if let Some(Line { at_zero, slope }) = report.barrier_fit {
        let [a, b] = [at_zero, slope].map(table::number);
        outln!("  fit: {a} µs + {b} µs * log2(ranks)");
    }
    then(&report.barrier.last().cloned(), Quantity::Barrier);
    curve(
        "Bandwidth from one half of the hosts to the other, all their ranks at once",
        &report.bisection,
    );
    evaluate::print_idle(&report.idle);
}

fn curve(title: &str, points: &[Record]) {
    let refs: Vec<&Record> = points.iter().collect();
    evaluate::print_points(title, &refs);
}

fn then(ours: &Option<Record>, quantity: Quantity) {
    if let Some(ours) = ours {
        evaluate::print_then(ours, quantity, |figure| !figure.is_within_a_host());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_from_inside_a_machine_are_no_network() {
        let left_out: Vec<&str> =
            papers::all().filter(Figure::is_within_a_host).map(|f| &*f.entry.system).collect();
        assert!(left_out.contains(&"FM 1.9, shared memory"), "{left_out:?}");
        assert!(left_out.len() < papers::all().count() / 4, "{left_out:?}");
    }

    #[test]
    fn hosts_get_their_ranks() {
        let hosts = ["a".to_owned(), "b".to_owned()];
        assert_eq!(spread(&hosts, 4, true), ["-H", "a:4,b:4", "--map-by", "slot"]);
        assert_eq!(spread(&hosts, 4, false)[3], "node");
    }
}
