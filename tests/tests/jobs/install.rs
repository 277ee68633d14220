//! An installation that was copied to another folder works from there, and goes without a trace.

use std::path::Path;
use std::process::Command;

use crate::common::{PATIENCE, clean, folder, prefix, run_within, sources, succeed, workspace};
use crate::wrappers::on_two;

fn install(arguments: &[&Path], remove: bool) {
    let mut command = Command::new(workspace().join("scripts/install"));
    if remove {
        command.arg("--remove");
    }
    command.args(arguments);
    succeed(command);
}

fn files(folder: &Path) -> Vec<String> {
    let mut find = Command::new("find");
    find.arg(folder).args(["(", "-type", "f", "-o", "-type", "l", ")"]);
    succeed(find).lines().map(str::to_string).collect()
}

#[test]
fn a_moved_installation_works() {
    let old = prefix();
    // A blank in the name, too: folders have such names.
    let (first, moved) = (folder("first"), folder("moved").join("other place"));
    install(&[&old, &first], false);
    std::fs::rename(&first, &moved).expect("renamed");
    let binary = folder("user").join("abi");
    let mut compiler = clean(moved.join("bin/mpicc"));
    compiler.arg("-o").arg(&binary).arg(sources().join("abi.c"));
    succeed(compiler);
    assert!(on_two(&moved, &binary, &[]).contains("2 ranks, 0 errors"));
    // Started directly, it finds the library of the new place.
    let mut loaded = clean("env");
    loaded.arg("LD_TRACE_LOADED_OBJECTS=1").arg(&binary);
    let libraries = succeed(loaded);
    let own = libraries.lines().find(|line| line.contains("libmpi_abi")).unwrap_or("");
    assert!(own.contains(&*moved.to_string_lossy()), "{libraries}");
    let alone = run_within(clean(&binary), PATIENCE);
    assert!(alone.code == Some(0) && alone.output.contains("1 ranks, 0 errors"), "{alone:?}");
}

#[test]
fn removing_leaves_what_others_put_there() {
    let (old, place) = (prefix(), folder("place"));
    std::fs::create_dir_all(place.join("bin")).expect("a folder");
    std::fs::write(place.join("bin/other"), "of somebody else").expect("a file");
    install(&[&old, &place], false);
    assert!(place.join("bin/mpirun").exists() && place.join("lib/libmpi_abi.so.1").exists());
    install(&[&old, &place], true);
    assert_eq!(files(&place), [place.join("bin/other").to_string_lossy()]);
}
