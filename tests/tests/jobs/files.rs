//! Files on devices that conformance programs cannot have.

use crate::common::{PATIENCE, number, prefix, program, run_within, scratch};
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

/// A quota, a device and a server that fail, at the rank that gathers: also what a write, a read and a sync of NFS may say.
#[test]
fn a_failing_device_is_an_error_of_all_that_must_know() {
    let faulty = program("faulty");
    for ranks in ["1", "2", "3"] {
        let folder = scratch().join(format!("faulty {}", number()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut command = clean(prefix().join("bin/mpirun"));
        command.args(["-n", ranks]).arg(&faulty).arg(folder.join("file"));
        let outcome = run_within(command, PATIENCE);
        if outcome.code == Some(77) {
            return skipped(&format!("needs seccomp filters: {}", outcome.output.trim()));
        }
        assert_eq!(outcome.code, Some(0), "{ranks} ranks:\n{}", outcome.output);
        assert!(outcome.output.contains("faulty: well"), "{}", outcome.output);
        let left: Vec<_> = std::fs::read_dir(&folder).expect("the folder").flatten().collect();
        assert_eq!(left.len(), 1, "beside the file: {left:?}");
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}
