//! MPICH's C++ bindings, `libmpicxx.so.12`: what it exports, and programs that were compiled with MPICH's `mpicxx.h`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{clean, prefix, scratch, sources, succeed, workspace};
use hpvm_tests::skip::skipped;

const HEADER: &str = "/usr/include/x86_64-linux-gnu/mpich/mpicxx.h";

/// What a tool of binutils says of our library; `None` where there is no such tool.
fn binutils(tool: &str, flags: &[&str]) -> Option<String> {
    let library = prefix().join("lib/libmpicxx.so.12");
    let output = Command::new(tool).args(flags).arg(&library).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The lines of a list in `spec/abi` that are no remarks.
fn list(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join("spec/abi").join(name)).expect("the list");
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn every_name_of_the_bindings_is_there() {
    let Some(text) = binutils("nm", &["-D", "--defined-only"]) else {
        return skipped("there is no nm");
    };
    let ours: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let names = list("mpich-cxx.symbols");
    assert!(names.len() > 600, "the list is short");
    let missing: Vec<&String> =
        names.iter().filter(|name| !ours.contains(&name.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

/// The function at each address of the library where the loader puts one.
fn entries(relocations: &str) -> BTreeMap<u64, String> {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.get(4)?.split('@').next()?.to_owned();
        let address = u64::from_str_radix(words[0], 16).ok()?;
        words[2].ends_with("_64").then_some((address, name))
    };
    relocations.lines().filter_map(entry).collect()
}

/// Programs call a virtual function by its place in the table of its class.
#[test]
fn tables_of_virtual_functions_have_the_same_order() {
    if !cfg!(target_arch = "x86_64") {
        return skipped("relocations are read as those of x86-64");
    }
    let tools = (binutils("readelf", &["-rW"]), binutils("nm", &["-DS", "--defined-only"]));
    let (Some(relocations), Some(symbols)) = tools else {
        return skipped("there are no binutils");
    };
    let entries = entries(&relocations);
    let mut tables = BTreeMap::new();
    for line in symbols.lines().filter(|line| line.contains(" _ZTVN3MPI")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |word| u64::from_str_radix(word, 16).expect("a number");
        let (start, size) = (number(words[0]), number(words[1]));
        // The first two are an offset and the type information.
        let places = (start + 16..start + size).step_by(8);
        let table: Vec<String> =
            places.map(|at| entries.get(&at).cloned().unwrap_or("-".to_owned())).collect();
        tables.insert(words[3].to_owned(), table);
    }
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut class = String::new();
    for line in list("mpich-cxx.tables") {
        match line.strip_prefix("  ") {
            Some(entry) => expected.entry(class.clone()).or_default().push(entry.to_owned()),
            None => class = line,
        }
    }
    assert_eq!(expected.len(), 18);
    for (class, table) in &expected {
        assert_eq!(tables.get(class), Some(table), "{class}");
    }
}

/// A program of ours, compiled with MPICH's header; `None` without that.
fn compiled(name: &str, flags: &[&str]) -> Option<PathBuf> {
    if !Path::new(HEADER).exists() {
        skipped("needs libmpich-dev with C++ bindings (mpicxx.h)");
        return None;
    }
    let binary = scratch().join(format!("{name}{}", flags.concat()));
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++11", "-w", "-I"]).arg(Path::new(HEADER).parent().expect("a folder"));
    compiler.args(flags).arg(sources().join(name).with_extension("cpp"));
    compiler.args(["-lmpichcxx", "-lmpich", "-o"]).arg(&binary);
    let output = compiler.output().expect("c++");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(binary)
}

/// Also at a fixed address, where the program holds copies of the objects of the library.
#[test]
fn every_virtual_function_is_called_by_its_table() {
    for flags in [["-O0", "-fPIE", "-pie"], ["-O2", "-fno-pie", "-no-pie"]] {
        let Some(binary) = compiled("bindings_tables", &flags) else { return };
        for ranks in ["1", "2", "4"] {
            let mut job = clean(prefix().join("bin/mpirun"));
            job.args(["-n", ranks]).arg(&binary).arg(scratch().join("bindings_tables.file"));
            assert_eq!(succeed(job), "well\n", "{flags:?} on {ranks}");
        }
    }
}

#[test]
fn errors_are_exceptions_and_exceptions_do_not_pass_through_c() {
    let Some(binary) = compiled("bindings_errors", &["-O2"]) else { return };
    for ranks in ["1", "3"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", ranks]).arg(&binary);
        assert_eq!(succeed(job), "well\n", "on {ranks}");
    }
}

/// Ours, and not the system's, which these programs were linked with.
#[test]
fn a_program_gets_our_bindings() {
    let Some(binary) = compiled("bindings", &["-O1"]) else { return };
    let mut job = clean(prefix().join("bin/mpirun"));
    job.args(["-n", "1", "env", "LD_TRACE_LOADED_OBJECTS=1"]).arg(&binary);
    let said = succeed(job);
    let line = said.lines().find(|line| line.contains("libmpichcxx.so.12 ")).unwrap_or("");
    assert!(line.contains(&format!("{}/", prefix().join("lib").display())), "{said}");
}
