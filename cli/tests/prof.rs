//! `hpvm prof`: counters of commands, of ranks, and of a job that runs.

mod common;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use common::{Job, PATIENCE, kill, mpirun, until, until_ended};
use hpvm_tests::process::clean;
use serde_json::Value;

fn prof(args: &[&str]) -> Command {
    let mut command = clean(env!("CARGO_BIN_EXE_hpvm"));
    command.arg("prof").args(args).stdin(Stdio::null());
    command
}

/// Output of a run that ends well: standard output and errors.
fn good(args: &[&str]) -> (String, String) {
    let output = prof(args).output().expect("hpvm prof");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{args:?}: {out}{err}");
    (out, err)
}

/// Whether this machine permits events; where it does not, the kernel's accounts are reported.
fn permitted() -> bool {
    let list = good(&["--list"]).0;
    let any = list.lines().any(|line| line == "minor-faults");
    assert!(any || list.is_empty(), "{list}");
    any
}

fn json(args: &[&str]) -> Value {
    let out = good(&[&["--json", "-o", "-"], args].concat()).0;
    serde_json::from_str(out.lines().last().expect("a line")).expect("JSON")
}

fn faults(value: &Value) -> f64 {
    value["events"]["minor-faults"]["value"].as_f64().expect("a number")
}

#[test]
fn each_rank_has_its_figures() {
    let own = env!("CARGO_BIN_EXE_hpvm");
    let script = "for i in $(seq $((PMI_RANK * 40))); do /bin/true; done";
    for launcher in [&["-n", "3"][..], &[own, "run", "-n", "3"]] {
        let found = json(&[launcher, &["bash", "-c", script]].concat());
        if !permitted() {
            assert!(faults(&found) > 0.0, "{found}");
            continue;
        }
        let ranks = found["ranks"].as_array().expect("ranks");
        let numbers: Vec<_> = ranks.iter().map(|rank| rank["rank"].as_i64()).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2)], "{found}");
        // Children are counted with their rank, and only there.
        let each: Vec<f64> = ranks.iter().map(faults).collect();
        assert!(each[0] + 1000.0 < each[1] && each[1] + 1000.0 < each[2], "{each:?}");
        assert_eq!(faults(&found), each.iter().sum::<f64>());
        assert_eq!(faults(&found["hosts"][0]), faults(&found));
        let clock = &ranks[2]["events"]["task-clock"];
        assert!(clock["raw"].as_u64() > Some(0), "{clock}");
        assert_eq!((&clock["coverage"], &clock["error"]), (&1.0.into(), &0.0.into()));
    }
}

#[test]
fn the_table_shows_ranks_and_what_is_not_counted() {
    let err = good(&["-n", "2", "true"]).1;
    let whole = ["EVENT", "VALUE", "task-clock", "minor-faults", "-n 2 true: "];
    let ranks: &[&str] =
        if permitted() { &["RANK 0", "RANK 1", "2 ranks on 1 host"] } else { &["getrusage"] };
    for part in whole.iter().chain(ranks) {
        assert!(err.contains(part), "no {part:?} in {err}");
    }
    let hardware = err.contains("\n cycles ");
    assert!(hardware || err.contains(" note: "), "{err}");
}

#[test]
fn csv_has_a_line_per_event_and_rank() {
    let out = good(&["--csv", "-o", "-", "-n", "2", "true"]).0;
    let mut scopes: BTreeMap<&str, usize> = BTreeMap::new();
    for line in out.lines().skip(1) {
        assert_eq!(line.split(',').count(), 11, "{line}");
        *scopes.entry(line.split(',').next().unwrap_or_default()).or_default() += 1;
    }
    let each = scopes["job"];
    if permitted() {
        assert_eq!(scopes, BTreeMap::from([("job", each), ("host", each), ("rank", 2 * each)]));
    }
}

#[test]
fn the_exit_code_is_the_commands() {
    let code = |args: &[&str]| prof(args).stderr(Stdio::null()).status().expect("hpvm prof").code();
    assert_eq!(code(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(code(&["sh", "-c", "kill -TERM $$"]), Some(143));
    assert_eq!(code(&["-n", "2", "sh", "-c", "exit 5"]), Some(5));
    assert_eq!(code(&["no-such-command-here"]), Some(127));
    assert_eq!(code(&["/dev/null"]), Some(126));
}

#[test]
fn a_command_that_cannot_be_started_is_told_in_one_line_that_steers_no_terminal() {
    let long = "x".repeat(100_000);
    for (word, code, part) in [
        ("no-\u{1b}[31m\u{7}such", 127, "'no-\\u{1b}[31m\\u{7}such' not found"),
        (&long, 126, "...xxx"),
        ("/etc/passwd", 126, "/etc/passwd"),
        ("/", 126, "folder"),
        ("", 127, "''"),
    ] {
        let output = prof(&["--", word]).output().expect("hpvm prof");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains(part) && err.len() < 300, "{err}");
        assert_eq!(err.matches('\n').count(), 1, "{err}");
        assert!(!err.trim_end().contains(char::is_control), "{err:?}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (args, part) in [
        (&["-e", "no-such-event", "true"][..], "no event 'no-such-event'; see hpvm prof --list"),
        (&[], "no command given"),
        (&["-j", "no-such-job"], "no job 'no-such-job'"),
        (&["-j", "x", "true"], "not both"),
        (&["-o", "/no/such/folder/report", "true"], "/no/such/folder/report"),
    ] {
        let output = prof(args).output().expect("hpvm prof");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && err.contains(part), "{args:?}: {err}");
    }
}

/// 400 pages are touched inside of the region, 2000 behind it.
const REGION: &str = r#"
#include <hpvm_region.h>
#include <sys/mman.h>
int main(void) {
    volatile char *p = mmap(0, 2400 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)p, 2400 * 4096, MADV_NOHUGEPAGE);
    for (int part = 0; part < 2; part++) {
        hpvm_region_begin();
        for (int i = 0; i < 200; i++) p[(part * 200 + i) * 4096] = 1;
        hpvm_region_end();
    }
    for (int i = 400; i < 2400; i++) p[i * 4096] = 1;
    return 0;
}
"#;

#[test]
fn a_region_is_counted_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("region.c"), folder.path().join("region"));
    std::fs::write(&source, REGION).expect("write");
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../include");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-I", include, "-o"]).arg(&program).arg(&source);
    assert!(cc.status().expect("cc").success());
    let program = program.to_str().expect("a name");
    assert!(Command::new(program).status().expect("the program").success());
    if !permitted() {
        return;
    }
    let outside = faults(&json(&[program]));
    assert!(outside >= 2400.0, "{outside}");
    let alone = faults(&json(&["--region", program]));
    assert!((400.0..440.0).contains(&alone), "{alone}");
    let ranks = json(&["--region", "-n", "2", program]);
    assert!((800.0..880.0).contains(&faults(&ranks)), "{ranks}");
}

#[test]
fn signals_reach_the_command() {
    let mut command =
        prof(&["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("hpvm prof");
    common::read_until(&mut child, "ready");
    kill(child.id() as i32, libc::SIGTERM);
    let ended = common::wait(child);
    assert_eq!(ended.code, 9, "{}", ended.err);
    assert!(ended.err.contains("task-clock"), "{}", ended.err);
}

/// Once both ranks are there and in their loops.
fn has_ranks(job: &Job) -> bool {
    let marked = common::marked(&job.mark);
    marked.iter().filter(|(_, line)| line.starts_with("bash")).count() >= 2
}

#[test]
fn a_job_that_runs_is_counted_from_now_on() {
    if !permitted() {
        return;
    }
    let mut job = mpirun(&["-n", "2", "bash", "-c", "while :; do :; done"]);
    let mut launcher = job.start();
    assert!(until(|| has_ranks(&job)), "no ranks after {PATIENCE:?}");
    let name = launcher.id().to_string();
    // A rank need not have got a processor in so short a time.
    let counted = || {
        let found = json(&["-j", &name, "--duration", "0.4"]);
        let ranks = found["ranks"].as_array().expect("ranks");
        assert_eq!(ranks.len(), 2, "{found}");
        ranks.iter().all(|rank| rank["events"]["task-clock"]["value"].as_f64() > Some(0.0))
    };
    assert!(until(counted), "a rank that computes takes no time");
    // Without a limit: until the job ends.
    let mut watch = prof(&["-j", &name]).stdout(Stdio::piped()).spawn().expect("hpvm prof");
    let watched = watch.id();
    let has_events = || {
        let descriptors =
            std::fs::read_dir(format!("/proc/{watched}/fd")).into_iter().flatten().flatten();
        let links = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        // Before it looks for the job it tries one event after the other.
        links.filter(|link| link.as_os_str() == "anon_inode:[perf_event]").count() > 1
    };
    assert!(until(has_events), "it does not count");
    kill(launcher.id() as i32, libc::SIGTERM);
    until_ended(&mut launcher);
    assert_eq!(until_ended(&mut watch), Some(0));
    job.check_gone();
}
