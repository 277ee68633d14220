//! The suite: every entry on every number of ranks, under one MPI.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use crate::build::Compiler;
use crate::list::{Entry, Exit};
use crate::process::{self, Outcome};

/// How the suite is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Compiles the programs.
    pub compiler: Compiler,
    /// The launcher, called as `mpirun EXTRA -n RANKS PROGRAM ARGS`.
    pub mpirun: PathBuf,
    /// Further arguments of the launcher.
    pub extra: Vec<String>,
    /// Name of the MPI under test, for entries with `only=`.
    pub implementation: String,
    /// Only tests whose label contains this text.
    pub filter: Option<String>,
    /// These numbers of ranks in place of the entries' own.
    pub ranks: Option<Vec<u32>>,
    /// Factor on the time limits.
    pub time_scale: f64,
    /// Tests (and compilations) at a time.
    pub jobs: usize,
    /// Say the name and time of passed tests too.
    pub verbose: bool,
}

/// The result of a suite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Tests that did what their entry says.
    pub passed: usize,
    /// Tests that did not.
    pub failed: usize,
}

/// One run to be done.
struct Test<'a> {
    entry: &'a Entry,
    ranks: u32,
    label: String,
}

/// Compiles and runs the tests and hands each line of the report to `say` as it comes.
pub fn run(entries: &[Entry], settings: &Settings, say: &(dyn Fn(&str) + Sync)) -> Count {
    let tests = select(entries, settings);
    let names: BTreeSet<String> = tests.iter().map(|t| t.entry.program.clone()).collect();
    let names: Vec<String> = names.into_iter().collect();
    let broken = settings.compiler.build_all(&names, settings.jobs.max(2));
    let queue = Mutex::new(tests.iter());
    let count = Mutex::new(Count::default());
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs.max(1) {
            scope.spawn(|| {
                while let Some(test) = lock(&queue).next() {
                    let verdict = run_one(test, settings, &broken);
                    report(test, &verdict, settings.verbose, &mut lock(&count), say);
                }
            });
        }
    });
    *lock(&count)
}

fn select<'a>(entries: &'a [Entry], settings: &Settings) -> Vec<Test<'a>> {
    let mut tests = Vec::new();
    for entry in entries {
        if entry.only.as_ref().is_some_and(|only| *only != settings.implementation) {
            continue;
        }
        for &ranks in settings.ranks.as_ref().unwrap_or(&entry.ranks) {
            let mut label = format!("{} ranks={ranks}", entry.program);
            for arg in &entry.args {
                label.push(' ');
                label.push_str(arg);
            }
            if settings.filter.as_ref().is_none_or(|filter| label.contains(filter)) {
                tests.push(Test { entry, ranks, label });
            }
        }
    }
    tests
}

fn report(
    test: &Test,
    verdict: &Result<Duration, String>,
    verbose: bool,
    count: &mut Count,
    say: &(dyn Fn(&str) + Sync),
) {
    match verdict {
        Ok(time) => {
            count.passed += 1;
            if verbose {
                say(&format!("ok   {} ({:.2} s)", test.label, time.as_secs_f64()));
            }
        }
        Err(why) => {
            count.failed += 1;
            say(&format!("FAIL {}: {why}", test.label));
        }
    }
}

/// Runs one test; the error is the line of the report and, indented, the output.
fn run_one(
    test: &Test,
    settings: &Settings,
    broken: &BTreeMap<String, String>,
) -> Result<Duration, String> {
    if let Some(message) = broken.get(&test.entry.program) {
        return Err(message.clone());
    }
    let mut command = Command::new(&settings.mpirun);
    command.args(&settings.extra).arg("-n").arg(test.ranks.to_string());
    command.arg(settings.compiler.program(&test.entry.program)).args(&test.entry.args);
    let limit = test.entry.time.mul_f64(settings.time_scale);
    let marker = format!("{}-{}", std::process::id(), test.label.replace(' ', "-"));
    let outcome = process::run(command, &marker, limit)?;
    match judge(test.entry, &outcome, limit) {
        None => Ok(outcome.elapsed),
        Some(why) => Err(format!("{why}\n{}", indent(&outcome.output))),
    }
}

/// Why the outcome is not what the entry asks for, if it is not.
fn judge(entry: &Entry, outcome: &Outcome, limit: Duration) -> Option<String> {
    let Some(code) = outcome.code else {
        return Some(format!("not done after {:.0} s, killed", limit.as_secs_f64()));
    };
    let wanted = match entry.exit {
        Exit::Clean => (code != 0).then(|| format!("exit code {code}, 0 expected")),
        Exit::Code(c) => (code != c).then(|| format!("exit code {code}, {c} expected")),
        Exit::Nonzero => (code == 0).then(|| "exit code 0, an error expected".to_string()),
    };
    let text = match (&entry.expect, entry.exit) {
        (Some(text), _) => Some(text.as_str()),
        (None, Exit::Clean) => Some("No errors"),
        (None, _) => None,
    };
    let silent = text
        .filter(|text| !outcome.output.contains(text))
        .map(|text| format!("exit code as expected, but the output lacks '{text}'"));
    let left = (outcome.leftovers > 0)
        .then(|| format!("{} processes outlived the launcher", outcome.leftovers));
    wanted.or(silent).or(left)
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect::<String>().trim_end().to_string()
}

/// A panic in another worker leaves the plain data behind these locks whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list;

    fn entry(line: &str) -> Entry {
        list::parse(line).unwrap().remove(0)
    }

    fn outcome(code: Option<i32>, output: &str) -> Outcome {
        Outcome { code, output: output.into(), leftovers: 0, elapsed: Duration::ZERO }
    }

    fn fails(line: &str, outcome: &Outcome) -> bool {
        judge(&entry(line), outcome, Duration::from_secs(1)).is_some()
    }

    #[test]
    fn a_clean_run_needs_code_and_words() {
        assert!(!fails("a ranks=1", &outcome(Some(0), "No errors\n")));
        assert!(fails("a ranks=1", &outcome(Some(0), "")));
        assert!(fails("a ranks=1", &outcome(Some(1), "No errors\n")));
        assert!(fails("a ranks=1", &outcome(None, "No errors\n")));
    }

    #[test]
    fn an_expected_failure_must_fail_in_time() {
        assert!(!fails("a ranks=1 exit=7", &outcome(Some(7), "")));
        assert!(fails("a ranks=1 exit=7", &outcome(Some(8), "")));
        assert!(!fails("a ranks=1 exit=nonzero", &outcome(Some(134), "")));
        assert!(fails("a ranks=1 exit=nonzero", &outcome(Some(0), "No errors")));
        assert!(fails("a ranks=1 exit=nonzero", &outcome(None, "")));
        assert!(fails("a ranks=1 exit=nonzero expect=why", &outcome(Some(1), "")));
    }

    #[test]
    fn leftovers_fail_a_test() {
        let mut out = outcome(Some(0), "No errors\n");
        out.leftovers = 1;
        assert!(fails("a ranks=1", &out));
    }
}
