//! Programs started without a launcher, and programs whose standard streams are closed.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::common::{PATIENCE, clean, prefix, program, run_within, succeed};

/// Closes these descriptors in the child before the program starts.
fn without(mut command: Command, descriptors: &'static [i32]) -> Command {
    // SAFETY: runs between fork and exec; close(2) is async-signal-safe, and the descriptors are
    // the standard streams, which nothing else in the child uses.
    unsafe {
        command.pre_exec(move || {
            for &fd in descriptors {
                libc::close(fd);
            }
            Ok(())
        });
    }
    command
}

fn runs_without(descriptors: &'static [i32]) -> String {
    let outcome = run_within(without(clean(program("solo")), descriptors), PATIENCE);
    let output = &outcome.output;
    let end = &output[output.len().saturating_sub(500)..];
    assert_eq!(outcome.code, Some(42), "without descriptors {descriptors:?}: ...{end}");
    outcome.output
}

#[test]
fn a_program_alone_is_a_job_of_one() {
    assert!(runs_without(&[]).starts_with("line 0 of the program\nline 1 "));
}

/// CMake takes the first mpiexec in PATH, which may be another MPI's: N jobs of one rank would give a wrong result in silence.
#[test]
fn a_program_that_open_mpi_has_started() {
    let mut command = clean(program("solo"));
    command.env("PMIX_NAMESPACE", "1234@0").env("OMPI_COMM_WORLD_SIZE", "2");
    let outcome = run_within(command, PATIENCE);
    assert_ne!(outcome.code, Some(42), "{}", outcome.output);
    assert!(outcome.output.contains("another MPI's mpirun"), "{}", outcome.output);
    let mut command = clean(program("solo"));
    command.env("PMIX_NAMESPACE", "1234@0").env("OMPI_COMM_WORLD_SIZE", "1");
    assert_eq!(run_within(command, PATIENCE).code, Some(42));
}

#[test]
fn a_program_alone_with_closed_streams() {
    runs_without(&[0]);
    assert_eq!(runs_without(&[0, 1]), "");
    assert_eq!(runs_without(&[1]), "");
    assert_eq!(runs_without(&[0, 1, 2]), "");
}

#[test]
fn ranks_that_close_their_streams() {
    for closed in ["1>&- 2>&-", "2>&-", "0<&- 1>&- 2>&-"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        let script = format!("exec \"$0\" ring loud {closed}");
        job.args(["-n", "3", "sh", "-c", &script]).arg(program("many"));
        let output = succeed(job);
        let expected = if closed == "2>&-" { "done, 3 ranks\n" } else { "" };
        assert_eq!(output, expected, "streams closed by {closed}");
    }
}
