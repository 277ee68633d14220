//! PVM's Fortran interface: programs in fixed and in free form, compiled by gfortran.

use crate::common::{clean, marker, prefix, scratch, succeed, workspace};
use hpvm_tests::skip::skipped;
use std::path::PathBuf;
use std::process::Command;

/// A program of `tests/pvm` in a virtual machine of its own. `None`: there is no compiler.
fn task(file: &str) -> Option<Command> {
    if Command::new("gfortran").arg("--version").output().is_err() {
        skipped("needs gfortran");
        return None;
    }
    let program = compiled(file, &["-lfpvm3", "-lgpvm3", "-lpvm3"]);
    let mut command = clean(program);
    command.env("PVM_VMID", marker());
    Some(command)
}

/// The program, linked with `libraries`.
fn compiled(file: &str, libraries: &[&str]) -> PathBuf {
    let program = scratch().join(format!("{}-{}", file.replace('.', "-"), libraries.len()));
    let lib = prefix().join("lib");
    let mut compiler = Command::new("gfortran");
    // The same routine packs all types.
    compiler.args(["-O1", "-w", "-fallow-argument-mismatch", "-ffixed-line-length-none"]);
    compiler.current_dir(scratch()).arg("-J").arg(scratch()).arg("-o").arg(&program);
    compiler.arg(workspace().join("tests/pvm").join(file));
    compiler.arg("-I").arg(prefix().join("include")).arg("-L").arg(&lib).args(libraries);
    compiler.arg(format!("-Wl,-rpath,{}", lib.display()));
    let output = compiler.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

#[test]
fn messages_of_all_types_in_fixed_form() {
    let Some(task) = task("fortran_messages.f") else { return };
    assert_eq!(succeed(task), "No errors\n");
}

#[test]
fn groups_and_reductions() {
    let Some(task) = task("fortran_groups.f") else { return };
    assert_eq!(succeed(task), "No errors\n");
}

/// What a child writes is caught; the error that `pvmfperror` tells has the task's number in front.
#[test]
fn hosts_tasks_mailbox_and_wrong_arguments_in_free_form() {
    let Some(task) = task("fortran_machine.f90") else { return };
    let output = succeed(task);
    for says in ["a child writes\n", "the last error: ", "No errors\n"] {
        assert!(output.contains(says), "{says:?} is missing:\n{output}");
    }
}

/// Makefiles that name the archive, as PVM's own do.
#[test]
fn the_archives_name_may_be_given_as_a_file() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        return skipped("needs gfortran");
    }
    let archive = prefix().join("lib/libfpvm3.a");
    let mut command = clean(compiled("fortran_groups.f", &[archive.to_str().expect("a path")]));
    command.env("PVM_VMID", marker());
    assert_eq!(succeed(command), "No errors\n");
}
