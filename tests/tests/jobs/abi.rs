//! The standard ABI: programs and libraries of different MPIs in any combination.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{clean, mpirun, prefix, program, program_by, succeed, workspace};

/// MPICH's folder, or a note that the test is skipped.
fn mpich() -> Option<PathBuf> {
    let peers = std::env::var_os("HPVM_PEERS").map(PathBuf::from);
    let folder = peers.unwrap_or_else(|| workspace().join("peers")).join("mpich");
    if folder.join("bin/mpicc_abi").exists() && folder.join("lib/libmpi_abi.so.1").exists() {
        return Some(folder);
    }
    hpvm_tests::skip::skipped(&format!(
        "no MPICH with the standard ABI in {} (scripts/setup tests fetches it; \
         HPVM_PEERS=FOLDER names another place)",
        folder.display()
    ));
    None
}

/// MPICH's launcher for 3 ranks, which prefers the libraries in `library`.
fn mpiexec(mpich: &Path, library: PathBuf) -> Command {
    let mut command = clean(mpich.join("bin/mpiexec"));
    command.args(["-n", "3"]).env("LD_LIBRARY_PATH", library);
    command
}

/// The program found nothing wrong, and ran on the library whose version holds `name`.
#[track_caller]
fn fits(command: Command, name: &str, other: &str) {
    let output = succeed(command);
    let version = output.lines().next().unwrap_or("").to_lowercase();
    assert!(output.contains("3 ranks, 0 errors"), "{output}");
    assert!(version.contains(name) && !version.contains(other), "not {name}'s library: {output}");
}

#[test]
fn our_program_on_our_library() {
    fits(mpirun(3, "abi", &[]), "hpvm", "mpich");
}

#[test]
fn their_program_on_our_library() {
    let Some(mpich) = mpich() else { return };
    let binary = program_by(&mpich.join("bin/mpicc_abi"), "mpich", "abi");
    let mut named = clean(prefix().join("bin/mpirun"));
    named.args(["-n", "3"]).arg(&binary).env("LD_LIBRARY_PATH", prefix().join("lib"));
    fits(named, "hpvm", "mpich");
    // The launcher puts its own library first.
    let mut unnamed = clean(prefix().join("bin/mpirun"));
    unnamed.args(["-n", "3"]).arg(&binary);
    fits(unnamed, "hpvm", "mpich");
}

#[test]
fn our_program_on_their_library() {
    let Some(mpich) = mpich() else { return };
    let mut command = mpiexec(&mpich, mpich.join("lib"));
    command.arg(program("abi"));
    fits(command, "mpich", "hpvm");
}

#[test]
fn our_library_under_their_launcher() {
    let Some(mpich) = mpich() else { return };
    let mut command = mpiexec(&mpich, prefix().join("lib"));
    command.arg(program("abi"));
    fits(command, "hpvm", "mpich");
    let mut command = mpiexec(&mpich, prefix().join("lib"));
    command.arg(program_by(&mpich.join("bin/mpicc_abi"), "mpich", "abi"));
    fits(command, "hpvm", "mpich");
}
