//! `mpirun --record`: what is written, and that `hpvm simulate` replays it.

use crate::common::{clean, prefix, program, run_within, scratch, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

fn folder(name: &str) -> PathBuf {
    scratch().join(format!("record-{name}"))
}

fn mpirun(folder: &Path, ranks: &str, words: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    command.arg("--record").arg(folder).args(["-n", ranks]).args(words);
    command
}

fn simulate(folder: &Path, options: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/hpvm"));
    command.args(["simulate", "trace"]).arg(folder).args(options);
    command
}

/// The lines of a rank, without how long it computed and with groups by letters.
fn lines(folder: &Path, rank: u32) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(rank.to_string())).expect("a record");
    let groups: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("group ")?.split(' ').next()).collect();
    let mut short = text.clone();
    for (letter, id) in ["A", "B"].into_iter().zip(&groups) {
        short = short.replace(id, letter);
    }
    let kept = |line: &&str| {
        !["compute ", "end ", "host ", "hpvm-trace "].iter().any(|front| line.starts_with(front))
    };
    short.lines().filter(kept).map(str::to_string).collect()
}

#[test]
fn calls_are_recorded_and_replayed() {
    let folder = folder("calls");
    let file = program("record");
    let file = file.to_str().expect("text");
    assert_eq!(succeed(mpirun(&folder, "4", &[file])), "right\n");
    let found = lines(&folder, 0);
    let expected = "mark|irecv ? 80 ?|isend 1 24 5|WAIT|irecv 3 16 6|isend 1 16 6|wait 2|wait 1|send 1 8000 7|\
                    isend 1 32 8|irecv 3 32 8|wait 2|wait 1|isend 1 32 8|irecv 3 32 8|wait 2|wait 1|isend 1 20 9|\
                    wait 1|mark|group A 0-3|group B 2,0|barrier @A|bcast 1 56|allreduce 8 @A|ireduce 0 16 @B|wait 1|\
                    allgather 12|gather 0 8|alltoall 16|scan 8 @B|mark|barrier";
    // Which of the first two requests ends first is chance.
    let shown = found.join("|");
    let waits = ["wait 2 3 5|wait 1", "wait 1|wait 2 3 5"];
    let right = waits.iter().any(|waits| shown == expected.replace("WAIT", waits));
    assert!(right, "{shown}\n{expected}");
    let other = lines(&folder, 1).join("|");
    for part in ["|recv 0 8000 7|", "|recv 0 20 9|", "|group B 3,1|"] {
        assert!(other.contains(part), "{part}: {other}");
    }
    let text = succeed(simulate(&folder, &[]));
    assert!(text.contains("recorded: ") && text.contains(" on 4 ranks, simulated "), "{text}");
    let more = succeed(simulate(&folder, &["--ranks", "4,64", "--json"]));
    for part in
        ["\"ranks\":4,", "\"hosts\":1,", "\"ranks\":64,", "\"hosts\":16,", "\"measured_us\":null"]
    {
        assert!(more.contains(part), "{part}: {more}");
    }
    let refused = run_within(simulate(&folder, &["--ranks", "6"]), LIMIT);
    assert_eq!(refused.code, Some(1), "{}", refused.output);
    assert!(refused.output.contains("expected a multiple of 4"), "{}", refused.output);
}

#[test]
fn what_cannot_be_recorded_is_told() {
    // A record that cannot be written ends the job.
    let file = scratch().join("no-folder");
    std::fs::write(&file, "").expect("a file");
    let program = program("record");
    let program = program.to_str().expect("text");
    let outcome = run_within(mpirun(&file, "2", &[program]), LIMIT);
    assert_ne!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("hpvm trace: '"), "{}", outcome.output);
    // Programs of no MPI are left alone.
    let folder = folder("none");
    assert_eq!(succeed(mpirun(&folder, "1", &["echo", "here"])), "here\n");
    assert!(!folder.exists());
    let outcome = run_within(simulate(scratch(), &[]), LIMIT);
    assert_eq!(outcome.code, Some(1), "{}", outcome.output);
}
