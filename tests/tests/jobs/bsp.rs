//! BSPlib: what its mistakes say, jobs on two hosts, the wrappers.

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process::clean;

use crate::common::{PATIENCE, conformance, prefix, run_within, scratch, succeed};

/// The mistake of `bsp_errors.c`, and what the line about it says.
const MISTAKES: &[(&str, &str)] = &[
    (
        "range",
        "bsp_put: process 1, superstep 2: 4 bytes at offset 100 end 4 bytes behind the block of 100 bytes that process 0 has",
    ),
    (
        "get_range",
        "bsp_get: process 1, superstep 2: 8 bytes at offset 96 end 4 bytes behind the block of 100 bytes",
    ),
    (
        "row_put",
        "bsp_put: process 1, superstep 2: 4 bytes at offset 100 end 4 bytes behind the block of 100 bytes that process 2 has",
    ),
    (
        "row_hpput",
        "bsp_hpput: process 1, superstep 2: 4 bytes at offset 100 end 4 bytes behind the block of 100 bytes that process 2 has",
    ),
    (
        "row_get",
        "bsp_get or bsp_hpget: process 1, superstep 2: 4 bytes at offset 100 end 4 bytes behind the block of 100 bytes",
    ),
    ("row_get_put", "bsp_get or bsp_hpget: process 1, superstep 2: 4 bytes at offset 100 end"),
    ("row_get_send", "bsp_get or bsp_hpget: process 1, superstep 2: 4 bytes at offset 100 end"),
    ("row_get_end", "bsp_get or bsp_hpget: process 1, superstep 2: 4 bytes at offset 100 end"),
    ("pid", "bsp_get: process 1, superstep 2: there is no process 3; expected 0 to 2"),
    ("null", "bsp_hpget: process 1, superstep 2: process 0 has registered NULL for the block at"),
    ("early", "was registered in this superstep"),
    (
        "pushes",
        "superstep 0: process 0 has called bsp_push_reg 2 times in this superstep, process 2 3 times",
    ),
    ("pops", "process 0 and process 2 have not popped the same registration"),
    ("tag", "process 0 has set a tag size of 0 bytes, process 1 of 4"),
    ("abort", "bsp_abort: process 2, superstep 2: 3 of four, 4.5"),
    ("end", "superstep 2: process 2 has called bsp_end while process 0 has called bsp_sync"),
    (
        "missing_end",
        "bsp_end: process 2, superstep 2: the process ends without having called bsp_end",
    ),
];

#[test]
fn mistakes_name_process_superstep_and_block() {
    let errors = conformance("bsp_errors");
    for (mistake, says) in MISTAKES {
        let mut command = clean(prefix().join("bin/bsprun"));
        command.args(["-n", "3"]).arg(&errors).arg(mistake);
        let outcome = run_within(command, PATIENCE);
        let text = &outcome.output;
        assert_eq!(outcome.code, Some(1), "{mistake}: {text}");
        assert!(text.contains(says), "{mistake}: '{says}' is missing:\n{text}");
        assert_eq!(text.lines().count(), 1, "{mistake}: {text}");
    }
}

#[test]
fn supersteps_between_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    for (name, argument) in [
        ("bsp_exchange", "5"),
        ("bsp_drma", "40000"),
        ("bsp_bsmp", "8"),
        ("bsp_words", "20000"),
        ("bsp_begin", "fewer"),
    ] {
        let list = [1, 2].map(|host| format!("{}:2", hosts.name(host)));
        let mut command = hosts.command(1, prefix().join("bin/mpirun"));
        command.args(["-H", &list.join(","), "-n", "4", "--launch-agent"]);
        command.arg(Hosts::agent()).arg(conformance(name)).arg(argument);
        assert_eq!(succeed(command), "No errors\n", "{name}");
    }
}

/// A C++ program by `bspc++` and by pkg-config; flags of other BSPlibs.
#[test]
fn wrappers_compile_and_run() {
    let folder = scratch().join("bsp");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("hello.cc");
    let text = "#include <bsp.h>\n#include <cstdio>\nint main() { bsp_begin(bsp_nprocs()); bsp_sync();\n\
                if (bsp_pid() == 0) std::printf(\"%d\\n\", bsp_nprocs()); bsp_end(); }\n";
    std::fs::write(&source, text).expect("a source");
    let program = folder.join("hello");
    let mut wrapper = clean(prefix().join("bin/bspc++"));
    wrapper
        .args(["-O2", "-flibrary-level", "2", "-fcombine-puts", "-o"])
        .arg(&program)
        .arg(&source);
    let said = run_within(wrapper, PATIENCE);
    assert_eq!(said.code, Some(0), "{}", said.output);
    assert!(said.output.contains("'-flibrary-level 2' has no effect"), "{}", said.output);
    let mut run = clean(prefix().join("bin/bsprun"));
    run.args(["-npes", "3"]).arg(&program);
    assert_eq!(succeed(run), "3\n");
    let mut wrapper = clean(prefix().join("bin/bspcc"));
    wrapper.arg("--mcbsp").arg(&source);
    let bad = run_within(wrapper, PATIENCE);
    assert_eq!(bad.code, Some(2), "{}", bad.output);
}
