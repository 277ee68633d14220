//! Fast Messages' own interface, from C.

use std::process::Command;

use crate::common::{clean, folder, prefix, succeed, workspace};

/// Whether the library exports a function: its name stands in the table of strings.
fn exports(name: &str) -> bool {
    let library = std::fs::read(prefix().join("lib/libmpi_abi.so.1")).expect("the library");
    let name = format!("\0{name}\0").into_bytes();
    library.windows(name.len()).any(|window| window == name)
}

#[test]
fn ping_pong_of_two_nodes() {
    if !exports("FM_initialize") {
        hpvm_tests::skip::skipped("libmpi_abi.so.1 does not export FM_initialize");
        return;
    }
    let (top, home) = (workspace().join("apps/fm"), folder("fm"));
    let binary = home.join("pingpong");
    let prefix = prefix();
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Werror", "-o"]).arg(&binary).arg(top.join("pingpong.c"));
    compiler.arg(format!("-I{}", prefix.join("include").display()));
    compiler.arg(format!("-L{}", prefix.join("lib").display()));
    compiler.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display())).arg("-lmpi_abi");
    succeed(compiler);
    let mut job = clean(prefix.join("bin/mpirun"));
    job.args(["-n", "2"]).arg(&binary).args(["-n", "500", "-m", "65536"]);
    let output = succeed(job);
    let mut lines = output.lines();
    assert!(lines.next().is_some_and(|head| head.contains("latency us")), "{output}");
    let mut expected = [0].into_iter().chain((0..=16).map(|shift| 1u64 << shift));
    for line in lines {
        let fields: Vec<f64> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        assert_eq!(fields.len(), 4, "four numbers expected: {line}");
        assert_eq!(Some(fields[0] as u64), expected.next(), "{line}");
        assert!(fields[1] > 0.0 && (fields[0] == 0.0 || fields[2] > 0.0), "{line}");
    }
    assert_eq!(expected.next(), None, "sizes are missing:\n{output}");
}
