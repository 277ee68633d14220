//! `HPVM_CHECK=1`: what is left at the end, and collectives that do not fit.

use std::process::Command;

use crate::common::{PATIENCE, mpirun, run_within, succeed};

fn checked(ranks: u32, way: &str) -> Command {
    let mut command = mpirun(ranks, "left", &[way]);
    command.env("HPVM_CHECK", "1");
    command
}

#[test]
fn a_clean_program_is_not_told_anything() {
    for ranks in [1, 2, 5] {
        assert_eq!(succeed(checked(ranks, "nothing")), "");
    }
    assert_eq!(succeed(mpirun(2, "left", &["objects"])), "", "only when asked");
}

#[test]
fn objects_that_are_left_are_named() {
    let output = succeed(checked(2, "objects"));
    for line in [
        r#"    1 communicator not freed: "forgotten""#,
        r#"    1 datatype not freed: "row of three""#,
        "    1 group not freed: of 2 processes",
        "    1 operation not freed",
        "    1 info object not freed",
        "    1 error handler not freed",
        "    1 buffer not detached: of MPI_Buffer_attach",
        "    1 block of MPI_Alloc_mem not freed: 12345 bytes",
    ] {
        let times = output.lines().filter(|l| l == &line).count();
        assert_eq!(times, 2, "{line:?} in:\n{output}");
    }
    assert_eq!(output.lines().count(), 2 * 9, "{output}");
}

#[test]
fn messages_that_are_left_are_named() {
    let output = succeed(checked(3, "messages"));
    let expected = [
        "hpvm: rank 2 of 3: left at MPI_Finalize (HPVM_CHECK):",
        "    1 request not completed: receive from rank 0 with tag 77 on MPI_COMM_WORLD",
        "    1 request not freed: persistent receive from any rank with tag 78",
        "    1 message never received: from rank 0 with tag 42, 16 bytes, on MPI_COMM_WORLD",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_report_has_a_bound() {
    let output = succeed(checked(1, "many"));
    assert!(output.contains("1000 groups not freed: of 1 process; "), "{output}");
    assert!(output.contains("and 995 more") && output.len() < 300, "{output}");
}

/// Ranks that disagree, and what the message says of the last of three ranks and of the first.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "functions",
        "rank 2 calls MPI_Bcast (root 0, 4 bytes)",
        "rank 0 calls MPI_Allreduce (4 bytes, MPI_SUM)",
    ),
    (
        "roots",
        "rank 2 calls MPI_Bcast (root 1, 4 bytes)",
        "rank 0 calls MPI_Bcast (root 0, 4 bytes)",
    ),
    (
        "lengths",
        "rank 2 calls MPI_Bcast (root 0, 12 bytes)",
        "rank 0 calls MPI_Bcast (root 0, 16 bytes)",
    ),
    (
        "ops",
        "rank 2 calls MPI_Allreduce (4 bytes, MPI_MAX)",
        "rank 0 calls MPI_Allreduce (4 bytes, MPI_SUM)",
    ),
    (
        "later",
        "rank 2 calls MPI_Iallreduce (4 bytes, MPI_MIN)",
        "rank 0 calls MPI_Iallreduce (4 bytes, MPI_SUM)",
    ),
    (
        "between-roots",
        "rank 0 of the group of process 1 calls MPI_Bcast (root 1)",
        "rank 0 of the group of process 0 calls MPI_Bcast (MPI_ROOT)",
    ),
    (
        "between-functions",
        "rank 0 of the group of process 1 calls MPI_Ibarrier",
        "rank 0 of the group of process 0 calls MPI_Iallreduce (4 bytes, MPI_SUM)",
    ),
];

#[test]
fn calls_that_fit_are_not_told_of() {
    for ranks in [2, 3, 5] {
        assert_eq!(succeed(checked(ranks, "fit")), "");
    }
}

#[test]
fn collectives_that_differ_are_named() {
    for (way, last, first) in DIFFERENCES {
        let outcome = run_within(checked(3, way), PATIENCE);
        let expected = format!("MPI_ERR_NOT_SAME: {last} while {first}");
        assert!(outcome.output.contains(&expected), "{way}:\n{}", outcome.output);
        assert_eq!(outcome.code, Some(40), "{way}:\n{}", outcome.output);
    }
}

fn epochs(way: &str) -> Command {
    let mut command = mpirun(3, "epochs", &[way]);
    command.env("HPVM_CHECK", "1");
    command
}

#[test]
fn accesses_that_meet_are_named() {
    assert_eq!(succeed(epochs("fit")), "");
    for (way, expected) in [
        (
            "two-puts",
            "MPI_Put of rank 1 and MPI_Put of rank 2 both access bytes 16 to 23 of rank 0",
        ),
        (
            "two-operations",
            "an accumulate (Sum) of rank 1 and an accumulate (Replace) of rank 2 both access bytes 40 to 47",
        ),
        (
            "read-too-early",
            "MPI_Put of rank 1 and MPI_Get of rank 1 both access bytes 88 to 95 of rank 0",
        ),
    ] {
        let outcome = run_within(epochs(way), PATIENCE);
        assert!(outcome.output.contains("MPI_ERR_RMA_CONFLICT"), "{way}:\n{}", outcome.output);
        assert!(outcome.output.contains(expected), "{way}:\n{}", outcome.output);
        assert_eq!(outcome.code, Some(47), "{way}:\n{}", outcome.output);
        succeed(mpirun(3, "epochs", &[way]));
    }
    let outcome = run_within(epochs("different-calls"), PATIENCE);
    let expected = "rank 2 calls MPI_Win_free while rank 0 calls MPI_Win_fence";
    assert!(outcome.output.contains(expected), "{}", outcome.output);
}

#[test]
fn a_wrong_value_is_refused() {
    let mut command = mpirun(1, "left", &["nothing"]);
    command.env("HPVM_CHECK", "maybe");
    let outcome = run_within(command, PATIENCE);
    assert!(outcome.code != Some(0) && outcome.output.contains("expected 0 or 1"), "{outcome:?}");
}
