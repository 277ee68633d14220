//! Files on devices that conformance programs cannot have.

use crate::common::{PATIENCE, prefix, program, run_within};
use hpvm_tests::process::clean;
use hpvm_tests::skip::skipped;

/// A full device: what a job does on a file system of 1 MiB, which only its processes see and which ends with them.
#[test]
fn a_full_device_is_an_error_of_all_that_must_know() {
    let full = program("full");
    for ranks in ["1", "2", "3"] {
        let script = "dir=$(mktemp -d) && mount -t tmpfs -o size=1m tmpfs \"$dir\" || exit 77
            \"$1\" -n \"$2\" \"$3\" \"$dir/file\"; code=$?; umount -l \"$dir\"; rmdir \"$dir\"; exit $code";
        let mut command = clean("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]);
        command.arg(prefix().join("bin/mpirun")).arg(ranks).arg(&full);
        let outcome = run_within(command, PATIENCE);
        if outcome.code == Some(77) || outcome.output.contains("unshare failed") {
            return skipped(&format!("needs mount namespaces: {}", outcome.output.trim()));
        }
        assert_eq!(outcome.code, Some(0), "{ranks} ranks:\n{}", outcome.output);
        assert!(outcome.output.contains("full: well"), "{}", outcome.output);
    }
}
