//! Ranks that are bound to processors: whether a host is oversubscribed is one answer for all of its ranks,
//! from all processors that they may use together.

use crate::common::{mpirun, prefix, program, succeed};
use hpvm_tests::process::clean;
use hpvm_tests::skip::skipped;

/// Two processors that this process may use.
pub fn two_processors() -> Option<[String; 2]> {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).expect("a list");
    let mut all = list.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().expect("a number");
        number(first)..=number(last)
    });
    Some([all.next()?.to_string(), all.next()?.to_string()])
}

/// What each rank of a job says, with the rank's number.
#[track_caller]
fn all_say(command: std::process::Command, ranks: u32, oversubscribed: bool) {
    let output = succeed(command);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let expected = |rank| format!("rank {rank} oversubscribed {}", u32::from(oversubscribed));
    assert_eq!(lines, (0..ranks).map(expected).collect::<Vec<_>>());
}

/// A job of one rank on each of `processors`, bound before the library is started.
fn each_on(processors: &[&str]) -> std::process::Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    for (i, processor) in processors.iter().enumerate() {
        command.args((i > 0).then_some(":"));
        command.args(["-n", "1"]).arg(program("bound")).arg(processor);
    }
    command
}

#[test]
fn ranks_that_a_launcher_binds_are_not_oversubscribed() {
    let Some([a, b]) = two_processors() else { return skipped("one processor") };
    all_say(each_on(&[&a, &b]), 2, false);
    all_say(each_on(&[&a, &a]), 2, true);
    all_say(each_on(&[&a, &b, &a]), 3, true);
}

#[test]
fn ranks_bound_to_cores_by_us_are_not_oversubscribed() {
    let Some(_) = two_processors() else { return skipped("one processor") };
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-n", "2", "--bind-to", "core"]).arg(program("bound"));
    all_say(command, 2, false);
    all_say(mpirun(2, "bound", &[]), 2, false);
}
