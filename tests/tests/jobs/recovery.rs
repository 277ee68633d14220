//! Jobs that go on although a rank was killed (`--enable-recovery`): who needs that rank gets an error, the others go on.

use std::process::Command;

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, clean, prefix, program, program_by, run_within};

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
        survives(outlive(case), case);
    }
}

/// As many messages as shared memory holds are on their way to the rank that is killed: in slots, in frames, announced.
#[test]
fn messages_on_their_way_to_a_killed_rank_keep_no_memory() {
    for length in ["8", "1000", "4000", "16000", "200000"] {
        let mut command = clean(prefix().join("bin/mpirun"));
        command.args(["-n", "3", "--enable-recovery"]).arg(program("outlive_flood")).arg(length);
        survives(command, &format!("{length} bytes"));
    }
}

/// Windows: a rank is killed in the middle of an update, so that it holds a lock, or with updates under way.
#[test]
fn a_rank_that_is_killed_in_an_update_of_a_window_holds_up_nobody() {
    for case in ["shared", "exclusive", "wide", "created", "slot", "target"] {
        let mut command = clean(prefix().join("bin/mpirun"));
        command.args(["-n", "3", "--enable-recovery"]).arg(program("outlive_update")).arg(case);
        survives(command, case);
    }
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-n", "3", "--enable-recovery"]).arg(program("outlive_update")).arg("target");
    command.env("HPVM_ONESIDED", "messages");
    survives(command, "target in packets");
}

/// Models without errors: who waits for memory that a dead rank may have been about to store to ends the job.
#[test]
fn a_lock_of_a_killed_pe_ends_the_job_with_words() {
    let Some(oshcc) = crate::shmem::oshcc() else { return };
    let mut command = clean(prefix().join("bin/oshrun"));
    command.args(["-n", "3", "--enable-recovery"]);
    command.arg(program_by(&oshcc, "oshmem", "outlive_shmem"));
    let outcome = run_within(command, PATIENCE);
    assert_eq!(outcome.code, Some(137), "{}", outcome.output);
    let said = outcome.output.contains("shmem_set_lock failed");
    assert!(said && outcome.output.contains("has died"), "{}", outcome.output);
    assert!(!outcome.output.contains("has it"), "{}", outcome.output);
}

#[track_caller]
fn survives(command: Command, case: &str) {
    let outcome = run_within(command, PATIENCE);
    assert_eq!(outcome.code, Some(137), "{case}:\n{}", outcome.output);
    assert!(outcome.output.contains("SIGKILL"), "{case}:\n{}", outcome.output);
    for rank in [0, 2] {
        let seen = format!("rank {rank} has seen it");
        assert!(outcome.output.contains(&seen), "{case}:\n{}", outcome.output);
    }
    // Also MPI_Finalize ends as it should.
    let ends = ["gives up", "ending the job"];
    assert!(!ends.iter().any(|text| outcome.output.contains(text)), "{case}:\n{}", outcome.output);
}

/// Rank 1 dies beside rank 0, beside rank 2, and alone on its host. Messages to it are never acknowledged.
#[test]
fn ranks_on_several_hosts_survive_too() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    for (place, cases) in [
        ([1, 1, 2], ["receive", "lengthy"]),
        ([1, 2, 2], ["longreduce", "lock"]),
        ([1, 2, 3], ["lengthy", "barrier"]),
    ] {
        for case in cases {
            let list = place.map(|host| hosts.name(host)).join(",");
            let mut command = hosts.command(1, prefix().join("bin/mpirun"));
            command.args(["-n", "3", "-H", &list, "--enable-recovery", "--launch-agent"]);
            command.arg(Hosts::agent()).arg(program("outlive")).arg(case);
            survives(command, &format!("{case} on {list}"));
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
