//! Jobs at a terminal: typing, Ctrl-C, Ctrl-D.

mod common;

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;

use common::*;

/// Starts a job at a terminal of its own, whose other side is returned. Its output is piped.
fn at_terminal(job: &mut Job) -> (Child, File) {
    let (ours, theirs) = terminal();
    job.command.stdin(theirs);
    own_terminal(&mut job.command);
    (job.start(), ours)
}

#[test]
fn typing_reaches_rank_zero() {
    let mut job =
        bash(&["-n", "2"], "echo ready; while read -r x; do echo $PMI_RANK $x; done; echo end");
    let (mut child, mut terminal) = at_terminal(&mut job);
    read_until(&mut child, "ready\n");
    terminal.write_all(b"one\n").unwrap();
    read_until(&mut child, "0 one\n");
    terminal.write_all(b"two\n").unwrap();
    read_until(&mut child, "0 two\n");
    terminal.write_all(&[4]).unwrap();
    let ended = wait(child);
    assert_eq!(ended.code, 0, "{ended:?}");
    job.check_gone();
    // The terminal has shown what was typed.
    let mut seen = [0; 64];
    assert!(terminal.read(&mut seen).unwrap() > 0);
}

#[test]
fn control_c_ends_the_job() {
    let mut job = bash(&["-n", "2"], "echo ready; sleep 1000");
    let (mut child, mut terminal) = at_terminal(&mut job);
    for _ in 0..2 {
        read_until(&mut child, "ready\n");
    }
    terminal.write_all(&[3]).unwrap();
    let ended = wait(child);
    assert_eq!(ended.code, 130, "{ended:?}");
    assert!(ended.err.contains("received SIGINT; ending the job (Ctrl-C again"), "{ended:?}");
    job.check_gone();
}

#[test]
fn control_z_stops_the_job() {
    let gate = Gate::new();
    let mut job = bash(&["-n", "1"], &format!("echo $$; {}", gate.wait()));
    let (mut child, mut terminal) = at_terminal(&mut job);
    let pid: i32 = read_until(&mut child, "\n").trim().parse().unwrap();
    let stopped = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('T'))
    };
    terminal.write_all(&[26]).unwrap();
    let launcher = child.id() as i32;
    assert!(until(|| stopped(pid) && stopped(launcher)));
    kill(launcher, libc::SIGCONT);
    gate.open();
    assert_eq!(wait(child).code, 0);
    job.check_gone();
}

#[test]
fn the_terminal_going_away_ends_the_job() {
    let mut job = bash(&["-n", "2"], "echo ready; sleep 1000");
    let (mut child, terminal) = at_terminal(&mut job);
    for _ in 0..2 {
        read_until(&mut child, "ready\n");
    }
    drop(terminal);
    let ended = wait(child);
    assert_eq!(ended.code, 128 + libc::SIGHUP, "{ended:?}");
    job.check_gone();
}
