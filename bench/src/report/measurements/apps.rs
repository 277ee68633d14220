//! The applications' scaling, as they print it themselves.

use super::Measurement;
use super::paper_runs;
use crate::error::BenchError;
use crate::report::chart::{Axis, Plot};
use crate::report::context::Context;
use crate::report::data::{self, Data, OWN, Point};
use crate::table;
use crate::target::{Captured, capture};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A scaling run of minutes is left to the applications' own pages.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// How an application ends that does not have what it is asked for (docs/apps).
const WRONG_ARGUMENTS: &str = "exit status: 2";

/// Kinds of scaling, as the flag has them.
const KINDS: [&str; 2] = ["strong", "weak"];

/// Bodies of the run beside table 4 of the Loki paper, which has a hundred times as many: a second on two processors.
pub const TREECODE_BODIES: u32 = 100_000;

pub struct Apps;

/// How an application is run: half a second on one core, and some seconds. Others with `--scaling` take their defaults.
struct Case {
    name: &'static str,
    quick: &'static str,
    whole: &'static str,
    /// Steps of the quick and of the whole case, of which papers give the time of one.
    steps: (f64, f64),
}

const CASES: [Case; 14] = [
    case("aspcg", "--steps 20", "--cells 256 --steps 20", (20.0, 20.0)),
    case("fdtd", "--steps 200", "--steps 1000", (200.0, 1000.0)),
    case("hydro", "--steps 10", "--steps 60", (10.0, 60.0)),
    case("md", "--steps 40", "--steps 200", (40.0, 200.0)),
    case("mhd", "--cells 256 --steps 40", "--cells 256 --steps 200", (40.0, 200.0)),
    case("qmc", "--steps 1000", "--steps 5000", (1000.0, 5000.0)),
    case("relativity", "--steps 10", "--steps 60", (10.0, 60.0)),
    case("sam_barnes", "--steps 4", "--steps 20", (4.0, 20.0)),
    // Factorisations, of which the fastest counts.
    case("sam_cholesky", "--repeat 20", "--repeat 100", (1.0, 1.0)),
    case("sam_grobner", "--system katsura --size 8", "--system katsura --size 9", (1.0, 1.0)),
    case("sam_water", "--steps 200", "--steps 1000", (200.0, 1000.0)),
    case("sweep", "--steps 10", "--steps 60", (10.0, 60.0)),
    case("treecode", "--steps 4", "--steps 20", (4.0, 20.0)),
    case("vortex", "--steps 2", "--steps 10", (2.0, 10.0)),
];

const fn case(
    name: &'static str,
    quick: &'static str,
    whole: &'static str,
    steps: (f64, f64),
) -> Case {
    Case { name, quick, whole, steps }
}

fn case_of(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

/// Steps that a run of an application made, where it is known.
pub fn steps(name: &str, quick: bool) -> Option<f64> {
    let case = case_of(name)?;
    Some(if quick { case.steps.0 } else { case.steps.1 })
}

/// Of a scaling run: its kind.
fn scaling_kind(p: &Point) -> Option<&str> {
    p.shape.as_deref().filter(|shape| KINDS.contains(shape))
}

/// Lines of "ranks seconds speed-up efficiency%".
fn scaling(text: &str) -> Vec<(u32, f64)> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [ranks, seconds, _, efficiency] = words[..] else { return None };
        efficiency.strip_suffix('%')?.parse::<f64>().ok()?;
        Some((ranks.parse().ok()?, seconds.parse::<f64>().ok().filter(|s| *s > 0.0)?))
    };
    text.lines().filter_map(row).collect()
}

/// The number before "million interactions/s".
fn interactions(text: &str) -> Option<f64> {
    let before = text.split("million interactions/s").next().filter(|b| b.len() < text.len())?;
    before.split_whitespace().last()?.parse().ok()
}

impl Apps {
    fn programs(context: &Context) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(context.programs.join("apps"));
        let mut found: Vec<PathBuf> =
            folder.into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect();
        found.sort();
        found
    }

    fn captured(
        context: &Context,
        program: &PathBuf,
        ranks: u32,
        args: &str,
    ) -> Result<Captured, BenchError> {
        let target = context.placed(ranks, false);
        let mut command = Command::new(&target.mpirun);
        command.args(&target.launch_args).args(["-n", &ranks.to_string()]).arg(program);
        command.args(args.split_whitespace()).envs(target.env.iter().map(|(k, v)| (k, v)));
        capture(command, &format!("{} {args}", program.display()), TIME_LIMIT)
    }

    fn one(
        context: &Context,
        program: &PathBuf,
        name: &str,
        points: &mut Vec<Point>,
    ) -> Result<(), BenchError> {
        let cores =
            u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
        let ranks =
            if context.settings.hosts.is_empty() { cores.max(2) } else { context.settings.ranks };
        let args =
            case_of(name).map_or("", |c| if context.settings.quick { c.quick } else { c.whole });
        for kind in KINDS {
            for _ in 0..context.launches() {
                let scaled = format!("--scaling {kind} {args}");
                let output = match Self::captured(context, program, ranks, &scaled) {
                    // It knows the common flags, and refuses this one.
                    Err(BenchError::Failed { status, .. }) if status == WRONG_ARGUMENTS => break,
                    done => done?,
                };
                for (n, seconds) in scaling(&output.text) {
                    let point = Point::new("app", OWN, n, 0, "s", vec![seconds]).of(name, kind);
                    data::join(points, point);
                }
            }
        }
        for run in paper_runs::RUNS.iter().filter(|run| run.program == name) {
            let n = if run.alone { 1 } else { ranks };
            for _ in 0..context.launches() {
                let output = Self::captured(context, program, n, &format!("--quiet {}", run.args))?;
                if let Some(figure) = run.figure(&output.text) {
                    let point = Point::new("app", OWN, n, 0, run.unit, vec![figure]);
                    data::join(points, point.of(name, &run.shape()));
                }
            }
        }
        if name == "treecode" {
            let args = format!("--bodies {TREECODE_BODIES} --steps 2 --quiet");
            let output = Self::captured(context, program, ranks, &args)?;
            if let Some(rate) = interactions(&output.text) {
                points.push(
                    Point::new("app", OWN, ranks, 0, "M/s", vec![rate]).of(name, "interactions"),
                );
            }
        }
        Ok(())
    }
}

impl Measurement for Apps {
    fn name(&self) -> &'static str {
        "apps"
    }
    fn title(&self) -> &'static str {
        "Applications"
    }
    fn about(&self) -> &'static str {
        "The applications that were built by `make apps`, on 1, 2, 4, ... ranks up to the number of processors: a problem of fixed \
         size (strong), and one that grows with the ranks (weak). Efficiency is the speed-up by the number of ranks. Then the papers' \
         own problems, whose figures stand under “Then and now”."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        let missing = || Err("no application is built (make apps)".to_owned());
        if Self::programs(context).is_empty() { missing() } else { Ok(()) }
    }
    fn estimate(&self, context: &Context) -> f64 {
        let each = if context.settings.quick { 4.0 } else { 15.0 };
        Self::programs(context).len() as f64 * each * f64::from(context.launches())
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut points = Vec::new();
        for program in Self::programs(context) {
            let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let help = Self::captured(context, &program, 1, "--help");
            if matches!(help, Err(BenchError::Interrupted)) {
                return Err(BenchError::Interrupted);
            }
            // Programs without the common flags have no scaling runs.
            if help.is_ok_and(|output| output.text.contains("--scaling")) {
                Self::one(context, &program, &name, &mut points)?;
            }
        }
        Ok(points)
    }
    fn plots(&self, data: &Data) -> Vec<Plot> {
        let of = |p: &Point| {
            let shape = scaling_kind(p)?;
            Some(format!("{}, {shape}", p.op.as_deref()?))
        };
        vec![Plot::new("Seconds of a run", Axis::Ranks, "s").by(data.points("apps"), of)]
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let points = data.points("apps");
        let efficiency = |p: &Point| {
            let alone = points.iter().find(|a| {
                a.ranks == 1 && (&a.op, &a.shape, &a.unit) == (&p.op, &p.shape, &p.unit)
            })?;
            let ideal = if p.shape.as_deref() == Some("weak") { 1.0 } else { f64::from(p.ranks) };
            let percent = table::number(100.0 * alone.median() / p.median() / ideal);
            let (op, shape) = (p.op.as_deref()?, scaling_kind(p)?);
            Some(format!("{op}, {shape}: {percent} % efficient on {} ranks.", p.ranks))
        };
        points.iter().filter(|p| p.ranks > 1).filter_map(efficiency).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_tables_are_read() {
        let text = "strong scaling\n ranks      seconds   speed-up efficiency\n     1       0.4661       1.00       100%\n     2       0.5078       0.92        46%\n";
        assert_eq!(scaling(text), [(1, 0.4661), (2, 0.5078)]);
        assert_eq!(scaling("1 2 3 4\n1 0 1.0 5%\n"), []);
        let text = "1 forces in 0.2 s: 121323 bodies/s; about 185 million interactions/s\n";
        assert_eq!(interactions(text), Some(185.0));
        assert_eq!(interactions("185 interactions"), None);
    }
}
