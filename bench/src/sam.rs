//! `hpvm bench sam`: speed-ups of the applications on shared objects, as Figures 4 to 8 of the paper on PVM clusters.

use crate::error::BenchError;
use crate::machine::Machine;
use crate::out::{out, outln};
use crate::progress::Progress;
use crate::show::show;
use crate::stats::{self, Spread};
use crate::table::Table;
use crate::target::{Target, capture};
use serde::Serialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The longest case takes seconds; on a loaded machine, with many ranks, minutes.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// One input of an application.
#[derive(Debug)]
struct Case {
    name: &'static str,
    /// What the tables call it.
    title: &'static str,
    program: &'static str,
    arguments: &'static str,
    /// In place of them with `--quick`.
    quick: &'static str,
    /// What the program prints before its seconds.
    before: &'static str,
    /// The line that has it is the same on any number of ranks.
    answer: Option<&'static str>,
    /// The same problem by messages of MPI; it takes these arguments, too, and prints its time likewise.
    twin: Option<&'static str>,
}

/// The names of the cases, as the command line has them.
pub const NAMES: [&str; 7] =
    ["water", "water1728", "barnes", "grobner", "katsura", "cholesky", "dense"];

const SAME: Option<&str> = Some("the same on any number of ranks");

const CASES: [Case; NAMES.len()] = [
    Case {
        name: "water",
        title: "water, 343 molecules",
        program: "sam_water",
        arguments: "--quiet --steps 200",
        quick: "--quiet --steps 50",
        before: "steps in ",
        answer: SAME,
        twin: None,
    },
    Case {
        name: "water1728",
        title: "water, 1,728 molecules",
        program: "sam_water",
        arguments: "--quiet --molecules 1728 --steps 50",
        quick: "--quiet --molecules 1728 --steps 10",
        before: "steps in ",
        answer: SAME,
        twin: None,
    },
    Case {
        name: "barnes",
        title: "Barnes-Hut, 25,000 bodies",
        program: "sam_barnes",
        arguments: "--quiet --sample 0 --steps 10",
        quick: "--quiet --sample 0 --steps 2",
        before: "forces in ",
        answer: SAME,
        twin: Some("treecode"),
    },
    Case {
        name: "grobner",
        title: "Gröbner, Lazard",
        program: "sam_grobner",
        arguments: "--quiet",
        quick: "--quiet",
        before: "basis in ",
        answer: Some(" terms, sum "),
        twin: None,
    },
    Case {
        name: "katsura",
        title: "Gröbner, Katsura 9",
        program: "sam_grobner",
        arguments: "--quiet --system katsura --size 9",
        quick: "--quiet --system katsura --size 8",
        before: "basis in ",
        answer: Some(" terms, sum "),
        twin: None,
    },
    Case {
        name: "cholesky",
        title: "Cholesky, beam of 3,888 rows",
        program: "sam_cholesky",
        arguments: "--quiet --repeat 20",
        quick: "--quiet --repeat 5",
        before: "factorisation in ",
        answer: None,
        twin: None,
    },
    Case {
        name: "dense",
        title: "Cholesky, 1,000 full rows",
        program: "sam_cholesky",
        arguments: "--quiet --dense 1000 --repeat 20",
        quick: "--quiet --dense 1000 --repeat 5",
        before: "factorisation in ",
        answer: None,
        twin: None,
    },
];

/// What `hpvm bench sam` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub target: Target,
    /// Where the applications are.
    pub apps: PathBuf,
    /// Of [`NAMES`].
    pub cases: Vec<String>,
    pub ranks: Vec<u32>,
    pub repeat: u32,
    pub quick: bool,
    pub json: bool,
}

/// A case, its program or its twin, and a number of ranks.
#[derive(Clone, Debug, Serialize)]
struct Point {
    case: String,
    title: String,
    program: String,
    ranks: u32,
    /// One for each repetition, in their order.
    seconds: Vec<f64>,
    spread: Option<Spread>,
    /// The first number of ranks takes so many times as long, by medians.
    speedup: Option<f64>,
    #[serde(skip)]
    answer: Option<String>,
}

/// Everything that was found; also the form of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    points: Vec<Point>,
    failures: Vec<String>,
}

/// Measures and prints. Takes a minute or two for all cases.
///
/// # Errors
/// An application that is missing, Ctrl-C; after a full table, [`BenchError::SomeFailed`] when runs failed or gave
/// different answers.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    let report = measure(plan)?;
    show(&report, plan.json, print)?;
    match report.failures.len() {
        0 => Ok(()),
        count => Err(BenchError::SomeFailed { count }),
    }
}

fn cases(plan: &Plan) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| plan.cases.iter().any(|name| name == case.name))
}

/// Every program is there, before minutes are spent on others.
fn check(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check_launcher()?;
    let needed = cases(plan).flat_map(|case| [Some(case.program), case.twin]).flatten();
    for path in needed.map(|name| plan.apps.join(name)) {
        if !path.is_file() {
            let advice = "build the applications (make apps), or name their folder with --apps";
            return Err(BenchError::Missing { what: "an application", path, advice });
        }
    }
    Ok(())
}

fn measure(plan: &Plan) -> Result<Report, BenchError> {
    check(plan)?;
    let mut points = points(plan);
    let mut failures = Vec::new();
    let mut progress = Progress::new(points.len() as u64 * u64::from(plan.repeat));
    // In turn, so that what slows the machine for a while falls on all.
    for _ in 0..plan.repeat {
        for point in &mut points {
            progress.step(&format!("{}, {} on {}", point.case, point.program, point.ranks));
            match one(plan, point) {
                Ok(()) => {}
                Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                Err(error) => {
                    progress.say(&format!("{error}"));
                    failures.push(format!("{} on {}: {error}", point.program, point.ranks));
                }
            }
        }
    }
    failures.extend(different(&points));
    finish(&mut points);
    Ok(Report { machine: Machine::here(), points, failures })
}

fn points(plan: &Plan) -> Vec<Point> {
    let programs = |case: &'static Case| {
        let both = [Some(case.program), case.twin];
        both.into_iter().flatten().map(move |program| (case, program))
    };
    let mut points = Vec::new();
    for (case, program) in cases(plan).flat_map(programs) {
        points.extend(plan.ranks.iter().map(|ranks| Point {
            case: case.name.to_owned(),
            title: case.title.to_owned(),
            program: program.to_owned(),
            ranks: *ranks,
            seconds: Vec::new(),
            spread: None,
            speedup: None,
            answer: None,
        }));
    }
    points
}

/// One run of a point. Its answer must be that of its other runs.
fn one(plan: &Plan, point: &mut Point) -> Result<(), BenchError> {
    let case = CASES.iter().find(|case| case.name == point.case).expect("a case of the table");
    let arguments = if plan.quick { case.quick } else { case.arguments };
    let mut command = Command::new(&plan.target.mpirun);
    command.args(&plan.target.launch_args).args(["-n", &point.ranks.to_string()]);
    command.arg(plan.apps.join(&point.program)).args(arguments.split(' '));
    command.envs(plan.target.env.iter().map(|(name, value)| (name, value)));
    let shown = format!("mpirun -n {} {} {arguments}", point.ranks, point.program);
    let text = capture(command, &shown, TIME_LIMIT)?.text;
    let wrong = |reason: &str| BenchError::BadLine {
        command: shown.clone(),
        line: text.lines().last().unwrap_or_default().to_owned(),
        reason: reason.to_owned(),
    };
    let seconds = seconds_in(&text, case.before);
    point.seconds.push(seconds.ok_or_else(|| wrong("it does not say how long it took"))?);
    let words = case.answer.filter(|_| point.program == case.program);
    let answer = words.and_then(|words| text.lines().find(|line| line.contains(words)));
    let answer = answer.map(str::to_owned);
    if words.is_some()
        && (answer.is_none()
            || point.answer.as_ref().is_some_and(|old| answer.as_ref() != Some(old)))
    {
        return Err(wrong("its answer is not there, or another one than in the run before"));
    }
    point.answer = answer;
    Ok(())
}

/// The number between `before` and ` s`.
fn seconds_in(text: &str, before: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains(before))?;
    let (_, rest) = line.split_once(before)?;
    let (number, _) = rest.split_once(" s")?;
    number.parse().ok().filter(|seconds: &f64| *seconds > 0.0)
}

/// Points of a case whose answers differ from that of its first number of ranks.
fn different(points: &[Point]) -> Vec<String> {
    let other = |point: &&Point| {
        let answered =
            points.iter().find(|first| first.case == point.case && first.answer.is_some());
        point.answer.is_some() && answered.is_some_and(|first| first.answer != point.answer)
    };
    let tell = |point: &Point| {
        format!("{} on {}: another answer than on fewer ranks", point.program, point.ranks)
    };
    points.iter().filter(other).map(tell).collect()
}

fn finish(points: &mut [Point]) {
    for point in &mut *points {
        point.spread = stats::spread(&point.seconds);
    }
    for n in 0..points.len() {
        let of = |point: &Point| (point.case.clone(), point.program.clone());
        let first = points.iter().find(|first| of(first) == of(&points[n]));
        let base = first.and_then(|first| first.spread).map(|spread| spread.median);
        let own = points[n].spread.map(|spread| spread.median);
        points[n].speedup = base.zip(own).map(|(base, own)| base / own);
    }
}

fn print(report: &Report) {
    outln!("Shared objects: {}, {} processors", report.machine.cpu, report.machine.cores);
    if let Some(warning) = report.machine.warning() {
        outln!("{warning}");
    }
    let mut table =
        Table::new(&["", "program", "ranks", "seconds", "least", "most", "runs", "speed-up"]);
    for point in &report.points {
        let Some(spread) = point.spread else { continue };
        let speedup = point.speedup.map_or_else(|| "-".into(), |times| format!("{times:.2}"));
        let seconds = |value: f64| format!("{value:.4}");
        table.row(vec![
            point.title.clone(),
            point.program.clone(),
            point.ranks.to_string(),
            seconds(spread.median),
            seconds(spread.min),
            seconds(spread.max),
            spread.count.to_string(),
            speedup,
        ]);
    }
    out!("{table}");
    for failure in &report.failures {
        outln!("failed: {failure}");
    }
    outln!("\nseconds: the median. Speed-up: relative to the first number of ranks, by medians.");
    outln!("treecode solves the problem of sam_barnes by messages of MPI.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        assert_eq!(CASES.each_ref().map(|case| case.name), NAMES);
    }

    #[test]
    fn times_are_found_in_what_programs_print() {
        let text = "1 2 3\n10 forces in 1.4304 s on 1 ranks: 174782 bodies/s; 6010 uses\n";
        assert_eq!(seconds_in(text, "forces in "), Some(1.4304));
        assert_eq!(seconds_in(text, "steps in "), None);
        assert_eq!(
            seconds_in("factorisation in 0.0033 s: 50.77 Gflop/s", "factorisation in "),
            Some(0.0033)
        );
        assert_eq!(seconds_in("basis in nan s on", "basis in "), None);
        assert_eq!(seconds_in("basis in -1 s on", "basis in "), None);
    }

    fn point(program: &str, ranks: u32, seconds: &[f64], answer: Option<&str>) -> Point {
        Point {
            case: "barnes".into(),
            title: String::new(),
            program: program.into(),
            ranks,
            seconds: seconds.to_vec(),
            spread: None,
            speedup: None,
            answer: answer.map(str::to_owned),
        }
    }

    #[test]
    fn speed_ups_are_within_a_program_and_answers_within_a_case() {
        let mut points = vec![
            point("sam_barnes", 1, &[4.0, 9.0, 5.0], Some("a")),
            point("sam_barnes", 2, &[2.5], Some("a")),
            point("treecode", 1, &[3.0], None),
            point("treecode", 2, &[], None),
        ];
        finish(&mut points);
        let found: Vec<Option<f64>> = points.iter().map(|point| point.speedup).collect();
        assert_eq!(found, [Some(1.0), Some(2.0), Some(1.0), None]);
        assert!(different(&points).is_empty());
        points[1].answer = Some("b".into());
        assert_eq!(different(&points).len(), 1);
    }
}
