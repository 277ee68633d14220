//! The ABIs of MPICH and Open MPI: a small program in both, at a fixed address and not, and the
//! symbols that programs may want. `make foreign` runs the conformance programs in both.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::common::{clean, prefix, scratch, sources, succeed, workspace};
use hpvm_tests::skip::skipped;

/// A folder of `tests/abi` and our library for it.
const ABIS: [(&str, &str); 2] = [("mpich", "libmpi.so.12"), ("ompi", "libmpi.so.40")];

/// At a fixed address the program holds copies of the data symbols of the library.
#[test]
fn programs_of_both_at_any_address() {
    for (abi, library) in ABIS {
        for place in ["-pie", "-no-pie"] {
            let binary = scratch().join(format!("foreign-{abi}{place}"));
            let mut cc = Command::new("cc");
            cc.args([
                "-Wall",
                "-Werror",
                place,
                if place == "-pie" { "-fPIE" } else { "-fno-pie" },
            ]);
            cc.arg("-I").arg(workspace().join("tests/abi").join(abi));
            cc.arg(sources().join("foreign.c")).arg(prefix().join("lib").join(library));
            let output = cc.arg("-o").arg(&binary).output().expect("cc");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let mut job = clean(prefix().join("bin/mpirun"));
            job.args(["-n", "3"]).arg(&binary);
            let said = succeed(job);
            assert_eq!(said.matches(": good").count(), 3, "{abi} {place}: {said}");
        }
    }
}

/// A program in C++ with MPICH's own bindings, which find our C library under the name of theirs.
#[test]
fn bindings_of_mpich_for_cxx() {
    let header = Path::new("/usr/include/x86_64-linux-gnu/mpich/mpicxx.h");
    if !header.exists() {
        return skipped("needs libmpich-dev with C++ bindings (mpicxx.h)");
    }
    let binary = scratch().join("bindings");
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++11", "-w", "-I"]).arg(header.parent().expect("a folder"));
    compiler.arg(sources().join("bindings.cpp")).args(["-lmpichcxx", "-lmpich", "-o"]);
    let output = compiler.arg(&binary).output().expect("c++");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for ranks in ["1", "3"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", ranks]).arg(&binary);
        assert_eq!(succeed(job), "well\n");
    }
}

/// Names and sizes of a library's public symbols; `None` without `nm`.
fn symbols(library: &str) -> Option<BTreeMap<String, u64>> {
    let path = prefix().join("lib").join(library);
    let output = Command::new("nm").args(["-DS", "--defined-only"]).arg(&path).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.last()?.split('@').next()?.to_owned();
        let size = if words.len() == 4 { u64::from_str_radix(words[1], 16).ok()? } else { 0 };
        Some((name, size))
    };
    Some(text.lines().filter_map(row).collect())
}

#[test]
fn every_public_symbol_of_open_mpi_is_there_and_large_enough() {
    let Some(ours) = symbols("libmpi.so.40") else {
        return hpvm_tests::skip::skipped("there is no nm");
    };
    let list = workspace().join("spec/abi/ompi.symbols");
    let list = std::fs::read_to_string(list).expect("the list");
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    let mut wrong = Vec::new();
    for row in rows.clone() {
        let (name, size) = row.split_once(' ').unwrap_or((row, "0"));
        let size: u64 = size.parse().expect("a size");
        match ours.get(name) {
            None => wrong.push(format!("{name} is missing")),
            Some(own) if *own < size => wrong.push(format!("{name}: {own} bytes, not {size}")),
            Some(_) => {}
        }
    }
    assert!(rows.count() > 1000, "the list is short");
    assert_eq!(wrong, Vec::<String>::new());
}
