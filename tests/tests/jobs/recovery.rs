//! Jobs that go on although a rank was killed (`--enable-recovery`): who needs that rank gets an error, the others go on.

use std::process::Command;

use crate::common::{PATIENCE, clean, prefix, program, run_within};

fn outlive(case: &str) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-n", "3", "--enable-recovery"]).arg(program("outlive")).arg(case);
    command
}

/// In each case the survivors wait for the dead rank in another call first.
#[test]
fn who_waits_for_a_killed_rank_gets_an_error() {
    for case in [
        "receive",
        "anybody",
        "lengthy",
        "probe",
        "test",
        "barrier",
        "longreduce",
        "broadcast",
        "lock",
    ] {
        let outcome = run_within(outlive(case), PATIENCE);
        assert_eq!(outcome.code, Some(137), "{case}:\n{}", outcome.output);
        assert!(outcome.output.contains("SIGKILL"), "{case}:\n{}", outcome.output);
        for rank in [0, 2] {
            let seen = format!("rank {rank} has seen it");
            assert!(outcome.output.contains(&seen), "{case}:\n{}", outcome.output);
        }
    }
}

/// With the error handler that communicators begin with, the error ends the job.
#[test]
fn an_error_that_nobody_handles_ends_the_job() {
    let outcome = run_within(outlive("fatal"), PATIENCE);
    assert_eq!(outcome.code, Some(137), "{}", outcome.output);
    let text = "has died";
    assert!(
        outcome.output.contains("MPI_Barrier") && outcome.output.contains(text),
        "{}",
        outcome.output
    );
}
