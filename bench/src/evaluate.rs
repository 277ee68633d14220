//! `hpvm bench`: measure this machine, print tables beside the figures of the papers.

use crate::datatype;
use crate::error::BenchError;
use crate::machine::Machine;
use crate::out::{out, outln};
use crate::papers::{self, Figure, Quantity};
use crate::progress::Progress;
use crate::record::{Header, Record};
use crate::show::show;
use crate::stats::{HalfSize, half_size};
use crate::table::{self, Table};
use crate::target::{Target, run_command};
use serde::Serialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A run that takes longer is broken: the time per size is bounded by the program itself.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(300);
/// Launches of which a start-up time is the median.
const STARTS: u32 = 5;

/// Modes of the benchmark for collectives with data.
const COLLECTIVES: [&str; 9] = [
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "allgatherv",
    "alltoall",
    "reduce_scatter",
];

/// What `hpvm bench` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub target: Target,
    pub floor: PathBuf,
    /// The floor program was named: it must exist then.
    pub floor_wanted: bool,
    pub what: What,
    pub ranks: Option<u32>,
    pub quick: bool,
    pub json: bool,
}

/// The parts of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Latency,
    Bandwidth,
    Rate,
    Idle,
    Barrier,
    Allreduce,
    Collectives,
    Datatype,
    Wakeup,
    Startup,
    Memory,
    Floor,
    All,
}

impl What {
    /// As they are written on the command line; the same order as the variants.
    pub const NAMES: [&'static str; 13] = [
        "latency",
        "bandwidth",
        "rate",
        "idle",
        "barrier",
        "allreduce",
        "collectives",
        "datatype",
        "wakeup",
        "startup",
        "memory",
        "floor",
        "all",
    ];
    const VARIANTS: [What; 13] = [
        What::Latency,
        What::Bandwidth,
        What::Rate,
        What::Idle,
        What::Barrier,
        What::Allreduce,
        What::Collectives,
        What::Datatype,
        What::Wakeup,
        What::Startup,
        What::Memory,
        What::Floor,
        What::All,
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|n| *n == name)?;
        Some(Self::VARIANTS[at])
    }

    /// The parts that are run for it.
    fn parts(self) -> Vec<What> {
        match self {
            What::All => Self::VARIANTS
                .into_iter()
                .filter(|w| !matches!(w, What::All | What::Barrier | What::Allreduce))
                .collect(),
            one => vec![one],
        }
    }
}

/// One launch of the benchmark.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    part: What,
    ranks: u32,
    args: Vec<String>,
}

/// Everything that was found; also the form of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    header: Option<Header>,
    results: Vec<Record>,
    half_size: Option<HalfSize>,
    floor: Vec<Record>,
    /// (ranks, seconds of each launch)
    startup: Vec<(u32, Vec<f64>)>,
    /// Bandwidth by ranks in the job, all but two of them idle.
    idle: Vec<Record>,
    papers: Vec<Figure>,
}

/// Measures and prints. Blocks for the length of the measurements, some minutes at most.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    let steps = steps(plan);
    if !steps.is_empty() {
        plan.target.check()?;
    }
    let report = measure(plan, &steps)?;
    show(&report, plan.json, print)
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn steps(plan: &Plan) -> Vec<Step> {
    let pace = if plan.quick { "--budget 0.06" } else { "--budget 0.3" };
    let sizes = |quick: &str| if plan.quick { format!("--sizes {quick}") } else { String::new() };
    let mut steps = Vec::new();
    let mut add = |part, ranks: u32, args: String| {
        steps.push(Step { part, ranks, args: words(&args) });
    };
    let counts = plan.ranks.map_or(vec![2, 4], |n| vec![n]);
    for part in plan.what.parts() {
        match part {
            What::Latency => {
                let sizes = sizes("0,8,40,64,512,4096,32768,262144,1048576");
                add(part, 2, format!("latency {pace} {sizes}"));
            }
            What::Bandwidth => {
                let sizes = sizes("8,64,256,1024,4096,16384,65536,262144,1048576");
                add(part, plan.ranks.unwrap_or(2), format!("bandwidth --min 1 {pace} {sizes}"));
            }
            What::Rate => {
                add(part, plan.ranks.unwrap_or(2), format!("rate {pace} --sizes 0,8,64,256"));
            }
            What::Idle => {
                let idle = plan.ranks.map_or(vec![0, 14, 62], |n| vec![0, n - 2]);
                for more in idle {
                    add(part, 2 + more, format!("bandwidth {pace} --sizes 1024,65536"));
                }
            }
            What::Barrier => counts.iter().for_each(|n| add(part, *n, format!("barrier {pace}"))),
            What::Allreduce | What::Collectives => {
                let all = [&["barrier"], &COLLECTIVES[..]].concat();
                let modes = if part == What::Allreduce { &["allreduce"][..] } else { &all[..] };
                for mode in modes {
                    for n in &counts {
                        add(part, *n, format!("{mode} {pace} --sizes 8,1024,65536"));
                    }
                }
            }
            What::Datatype => {
                let pace = if plan.quick { "--budget 0.02" } else { "--budget 0.1" };
                add(part, 2, format!("datatype {pace}"));
            }
            What::Wakeup => add(part, 2, "wakeup".into()),
            What::Startup => {
                let counts = plan.ranks.map_or(vec![2, 8, 32], |n| vec![n]);
                let starts = if plan.quick { 3 } else { STARTS };
                for n in counts {
                    (0..starts).for_each(|_| add(part, n, "startup".into()));
                }
            }
            What::Memory => {
                let counts = plan.ranks.map_or(vec![2, 64, 256], |n| vec![n]);
                for n in counts.into_iter().filter(|n| !plan.quick || *n <= 64) {
                    add(part, n, "memory".into());
                }
            }
            What::Floor | What::All => {}
        }
    }
    steps
}

fn measure(plan: &Plan, steps: &[Step]) -> Result<Report, BenchError> {
    let mut report = Report {
        machine: Machine::here(),
        header: None,
        results: Vec::new(),
        half_size: None,
        floor: Vec::new(),
        startup: Vec::new(),
        idle: Vec::new(),
        papers: papers::all().collect(),
    };
    let floor = plan.what.parts().contains(&What::Floor);
    let mut progress = Progress::new(steps.len() as u64 + u64::from(floor));
    for step in steps {
        progress.step(&format!("{}, {} ranks", step.args.first().map_or("", |s| s), step.ranks));
        let mut output = plan.target.run(step.ranks, &step.args, TIME_LIMIT)?;
        // Start-up is timed from outside.
        if step.part != What::Startup {
            output = output.with_results(&plan.target.program)?;
        }
        report.header = report.header.or(output.header);
        match step.part {
            What::Idle => report.idle.extend(output.points),
            What::Startup => add_start(&mut report.startup, step.ranks, output.seconds),
            _ => report.results.extend(output.points),
        }
    }
    if floor {
        progress.step("floor of the machine");
        measure_floor(plan, &mut report, &progress)?;
    }
    let curve: Vec<(u64, f64)> =
        of_mode(&report.results, "bandwidth").map(|r| (r.size, r.median)).collect();
    report.half_size = half_size(&curve);
    Ok(report)
}

fn add_start(startup: &mut Vec<(u32, Vec<f64>)>, ranks: u32, seconds: f64) {
    match startup.last_mut() {
        Some((n, times)) if *n == ranks => times.push(seconds),
        _ => startup.push((ranks, vec![seconds])),
    }
}

/// The floor is an extra where everything is asked for, and an error when it alone is.
fn measure_floor(plan: &Plan, report: &mut Report, progress: &Progress) -> Result<(), BenchError> {
    if !plan.floor.is_file() {
        let advice = "build bench/floor (make) and name the program with --floor";
        let error =
            BenchError::Missing { what: "the floor program", path: plan.floor.clone(), advice };
        if plan.floor_wanted || plan.what == What::Floor {
            return Err(error);
        }
        progress.say(&format!("left out: {error}"));
        return Ok(());
    }
    match run_command(Command::new(&plan.floor), "hpvmfloor", TIME_LIMIT) {
        Ok(output) => report.floor = output.points,
        Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
        Err(error) if plan.what == What::Floor => return Err(error),
        Err(error) => progress.say(&format!("left out: {error}")),
    }
    Ok(())
}

fn of_mode<'a>(records: &'a [Record], mode: &'a str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |r| r.mode == mode)
}

fn print(report: &Report) {
    outln!("{}", report.machine);
    if let Some(h) = &report.header {
        outln!("{}, MPI {}, host {}", h.library, h.standard, h.host);
    }
    outln!("Median over batches, with the least and the largest batch.");
    print_curve(report, "latency", "One-way time of a message, two ranks");
    print_papers(report, "latency", Quantity::Latency);
    print_curve(report, "bandwidth", "Bandwidth from rank 0 to rank 1");
    print_papers(report, "bandwidth", Quantity::Bandwidth);
    print_half_size(report);
    print_curve(report, "rate", "Message rate, all pairs of ranks together");
    print_idle(&report.idle);
    print_curve(report, "barrier", "Time of MPI_Barrier");
    print_papers(report, "barrier", Quantity::Barrier);
    for mode in COLLECTIVES {
        let title = format!("Time of MPI_{}{}", mode[..1].to_uppercase(), &mode[1..]);
        print_curve(report, mode, &title);
    }
    datatype::print(&report.results);
    print_wakeup(report);
    print_startup(report);
    print_memory(report);
    print_floor(report);
}

fn print_curve(report: &Report, mode: &str, title: &str) {
    let points: Vec<&Record> = of_mode(&report.results, mode).collect();
    print_points(title, &points);
}

pub(crate) fn print_points(title: &str, points: &[&Record]) {
    let Some(first) = points.first() else { return };
    outln!("\n{title}");
    let mut t = Table::new(&["size", "ranks", table::unit(&first.unit), "least", "most"]);
    for r in points {
        let size = if r.mode == "barrier" { "-".into() } else { table::bytes(r.size) };
        let [median, min, max] = [r.median, r.min, r.max].map(table::number);
        t.row(vec![size, r.ranks.to_string(), median, min, max]);
    }
    out!("{t}");
}

/// Our figure that a paper's one is set against: the latency of the shortest message, the peak
/// bandwidth, the barrier of the most ranks.
fn our_figure<'a>(report: &'a Report, mode: &'a str, quantity: Quantity) -> Option<&'a Record> {
    let points = of_mode(&report.results, mode);
    match quantity {
        Quantity::Latency => points.min_by_key(|r| r.size),
        Quantity::Barrier => points.max_by_key(|r| r.ranks),
        _ => points.max_by(|a, b| a.median.total_cmp(&b.median)),
    }
}

fn print_papers(report: &Report, mode: &str, quantity: Quantity) {
    if let Some(ours) = our_figure(report, mode, quantity) {
        print_then(ours, quantity, |_| true);
    }
}

/// The papers' figures of a quantity that are to be compared, and how many times better `ours` is.
pub(crate) fn print_then(ours: &Record, quantity: Quantity, comparable: impl Fn(&Figure) -> bool) {
    let (value, unit) = (table::number(ours.median), table::unit(&ours.unit));
    outln!("  then, and how many times better now ({value} {unit}, {} ranks):", ours.ranks);
    let mut t = Table::new(&["  system", "year", "then", "times", "paper"]).left_last();
    for f in papers::figures(quantity).filter(|f| comparable(f)) {
        let larger_is_better = quantity == Quantity::Bandwidth;
        let times = if larger_is_better {
            ours.median / f.entry.value
        } else {
            f.entry.value / ours.median
        };
        t.row(vec![
            format!("  {}", f.entry.system),
            f.entry.year.to_string(),
            f.entry.quoted(),
            table::number(times),
            source(&f),
        ]);
    }
    out!("{t}");
}

fn source(f: &Figure) -> String {
    let note = &f.entry.note;
    let note = if note.is_empty() { String::new() } else { format!("; {note}") };
    format!("{}, {}{note}", f.paper, f.section)
}

fn print_half_size(report: &Report) {
    if let Some(half) = &report.half_size {
        print_half(half);
    }
}

pub(crate) fn print_half(half: &HalfSize) {
    let about = if half.at_most { "at most " } else { "" };
    let [bytes, peak] = [half.bytes, half.peak].map(table::number);
    outln!(
        "  N1/2, the size that reaches half the peak of {peak} MB/s: {about}{bytes} bytes; then:"
    );
    let mut t = Table::new(&["  system", "year", "bytes", "paper"]).left_last();
    for f in papers::figures(Quantity::HalfSize) {
        t.row(vec![
            format!("  {}", f.entry.system),
            f.entry.year.to_string(),
            f.entry.quoted(),
            source(&f),
        ]);
    }
    out!("{t}");
}

pub(crate) fn print_idle(idle: &[Record]) {
    let Some(first) = idle.first() else { return };
    outln!("\nBandwidth while further ranks sit idle in the job");
    let mut t =
        Table::new(&["size", "idle", table::unit(&first.unit), "least", "most", "of that alone"]);
    for r in idle {
        let alone = idle.iter().find(|a| a.ranks == 2 && a.size == r.size);
        let share = alone.map_or("-".into(), |a| format!("{:.0} %", 100.0 * r.median / a.median));
        let [median, min, max] = [r.median, r.min, r.max].map(table::number);
        t.row(vec![table::bytes(r.size), (r.ranks - 2).to_string(), median, min, max, share]);
    }
    out!("{t}");
    for f in papers::figures(Quantity::IdleBandwidth) {
        outln!(
            "  then: {} % was left ({}, {}; {})",
            f.entry.value,
            f.entry.system,
            f.entry.year,
            source(&f)
        );
    }
}

fn print_wakeup(report: &Report) {
    let mut points = of_mode(&report.results, "wakeup").peekable();
    if points.peek().is_none() {
        return;
    }
    outln!("\nOne-way time to a receiver that has waited, and what the waiting cost");
    let mut t = Table::new(&["pause", "µs", "least", "most", "processor"]);
    for r in points {
        let share = r.cpu_share.map_or("-".into(), |s| format!("{:.0} %", 100.0 * s));
        let [median, min, max] = [r.median, r.min, r.max].map(table::number);
        t.row(vec![table::pause(r.size), median, min, max, share]);
    }
    out!("{t}");
}

fn print_startup(report: &Report) {
    if report.startup.is_empty() {
        return;
    }
    outln!("\nLaunch of a program that only initialises and finalises");
    let mut t = Table::new(&["ranks", "seconds", "least", "most", "launches"]);
    for (ranks, times) in &report.startup {
        let Some(s) = crate::stats::spread(times) else { continue };
        let [median, min, max] = [s.median, s.min, s.max].map(|v| format!("{v:.3}"));
        t.row(vec![ranks.to_string(), median, min, max, s.count.to_string()]);
    }
    out!("{t}");
}

fn print_memory(report: &Report) {
    let mut points = of_mode(&report.results, "memory").peekable();
    if points.peek().is_none() {
        return;
    }
    outln!("\nMemory of a rank after MPI_Init and a barrier, shared memory counted once");
    let mut t = Table::new(&["ranks", "KiB", "least", "most", "together"]);
    for r in points {
        let [mean, min, max] = [r.median, r.min, r.max].map(table::number);
        let all = table::number(r.median * f64::from(r.ranks));
        t.row(vec![r.ranks.to_string(), mean, min, max, all]);
    }
    out!("{t}");
}

fn print_floor(report: &Report) {
    if report.floor.is_empty() {
        return;
    }
    outln!("\nFloor of this machine, without message passing");
    let mut t = Table::new(&["what", "size", "median", "least", "most", "unit"]).left_last();
    for r in &report.floor {
        let [median, min, max] = [r.median, r.min, r.max].map(table::number);
        let unit = table::unit(&r.unit).to_owned();
        t.row(vec![r.mode.clone(), table::bytes(r.size), median, min, max, unit]);
    }
    out!("{t}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(what: What, ranks: Option<u32>) -> Plan {
        let target = Target::new("hpvm", "m".into(), "p".into(), None);
        Plan {
            target,
            floor: "f".into(),
            floor_wanted: false,
            what,
            ranks,
            quick: true,
            json: false,
        }
    }

    #[test]
    fn names_and_variants_agree() {
        for (name, variant) in What::NAMES.iter().zip(What::VARIANTS) {
            assert_eq!(format!("{variant:?}").to_lowercase(), *name);
            assert_eq!(What::from_name(name), Some(variant));
        }
        assert_eq!(What::from_name("speed"), None);
    }

    #[test]
    fn all_measures_every_part_once() {
        let steps = steps(&plan(What::All, None));
        for part in
            [What::Latency, What::Bandwidth, What::Rate, What::Idle, What::Datatype, What::Wakeup]
        {
            assert!(steps.iter().any(|s| s.part == part), "{part:?}");
        }
        let mut seen = steps.clone();
        seen.retain(|s| s.part != What::Startup);
        let count = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn idle_ranks_come_on_top_of_two() {
        let ranks: Vec<u32> = steps(&plan(What::Idle, Some(6))).iter().map(|s| s.ranks).collect();
        assert_eq!(ranks, [2, 6]);
    }

    #[test]
    fn starts_are_grouped_by_ranks() {
        let mut startup = Vec::new();
        [(2, 0.1), (2, 0.2), (8, 0.3)].iter().for_each(|(n, s)| add_start(&mut startup, *n, *s));
        assert_eq!(startup, [(2, vec![0.1, 0.2]), (8, vec![0.3])]);
    }
}
