//! OpenSHMEM in real jobs: on several hosts, in the ways that slow systems leave, with many PEs, its applications, its
//! wrappers.

use std::path::{Path, PathBuf};
use std::process::Command;

use hpvm_tests::hosts::Hosts;

use crate::common::{clean, folder, prefix, succeed, workspace};

/// An installation that has OpenSHMEM.
pub fn oshcc() -> Option<PathBuf> {
    let wrapper = prefix().join("bin/oshcc");
    if wrapper.exists() {
        return Some(wrapper);
    }
    hpvm_tests::skip::skipped("the installation has no oshcc");
    None
}

/// A program, compiled.
pub fn built(oshcc: &Path, source: &str) -> PathBuf {
    let path = workspace().join(source);
    let name = path.file_stem().expect("a file").to_owned();
    let program = folder("shmem").join(name);
    let mut compiler = Command::new(oshcc);
    compiler.args(["-O2", "-std=gnu11", "-pthread", "-o"]).arg(&program).arg(path);
    succeed(compiler);
    program
}

/// Each routine has a manual page, and each of its forms leads to it.
#[test]
fn every_form_has_a_manual_page() {
    if oshcc().is_none() {
        return;
    }
    let list = workspace().join("docs/man3/aliases");
    let list = std::fs::read_to_string(list).expect("names of pages");
    let pages = prefix().join("share/man/man3");
    let read =
        |name: &str| std::fs::read_to_string(pages.join(format!("{name}.3"))).unwrap_or_default();
    for line in list.lines() {
        let mut names = line.split_whitespace();
        let page = names.next().expect("a name");
        assert!(read(page).contains(".SH SYNOPSIS"), "{page} has no manual page");
        for name in names {
            assert_eq!(read(name), format!(".so man3/{page}.3\n"), "{name}");
        }
    }
}

/// The conformance programs that move data.
const PROGRAMS: [&str; 11] = [
    "basic",
    "once",
    "row",
    "amo",
    "wait",
    "lock",
    "coll",
    "teams",
    "memory",
    "static",
    "addresses",
];

#[test]
fn between_hosts() {
    let Some(oshcc) = oshcc() else { return };
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    for name in PROGRAMS {
        let program = built(&oshcc, &format!("tests/shmem/{name}.c"));
        let list = [1, 2].map(|host| format!("{}:2", hosts.name(host)));
        let mut command = hosts.command(1, prefix().join("bin/oshrun"));
        command.args(["-H", &list.join(","), "-n", "4", "--launch-agent"]);
        command.arg(Hosts::agent()).arg(&program);
        assert_eq!(succeed(command), "No errors\n", "{name}");
    }
}

/// A PE that waits in vain for one of another host that has ended says so.
#[test]
fn the_end_of_a_pe_of_another_host() {
    let Some(oshcc) = oshcc() else { return };
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let program = built(&oshcc, "tests/shmem/ends.c");
    let list = [1, 2].map(|host| format!("{}:1", hosts.name(host)));
    for (what, call) in
        [("barrier", "shmem_barrier_all"), ("lock", "shmem_set_lock"), ("wait", "wait_until")]
    {
        let mut command = hosts.command(1, prefix().join("bin/oshrun"));
        command.args(["-H", &list.join(","), "-n", "2", "--launch-agent"]);
        let output = command.arg(Hosts::agent()).arg(&program).arg(what).output().expect("a job");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{what}: {told}");
        assert!(told.contains(call) && told.contains("PE 1"), "{what}: {told}");
    }
}

/// Where memory can't be mapped, and where the kernel copies nothing.
#[test]
fn without_loads_and_stores() {
    let Some(oshcc) = oshcc() else { return };
    for name in PROGRAMS {
        let program = built(&oshcc, &format!("tests/shmem/{name}.c"));
        for way in ["kernel", "messages"] {
            let mut job = clean(prefix().join("bin/oshrun"));
            job.args(["-n", "3", "-x", &format!("HPVM_ONESIDED={way}")]).arg(&program);
            assert_eq!(succeed(job), "No errors\n", "{name}, {way}");
        }
    }
}

#[test]
fn wrappers_name_the_library() {
    let Some(oshcc) = oshcc() else { return };
    let mut shows = Command::new(&oshcc);
    shows.arg("-showme:libs");
    assert_eq!(succeed(shows), "oshmem mpi_abi\n");
    let (here, source) = (
        folder("shmem_cxx"),
        "#include <shmem.h>\nint main() { static long x; shmem_init(); \
        shmem_p(&x, 5L, 0); int bad = shmem_g(&x, 0) != 5; shmem_finalize(); return bad; }\n",
    );
    std::fs::write(here.join("generic.cc"), source).expect("a source");
    let mut compiler = Command::new(prefix().join("bin/oshc++"));
    compiler.arg("-o").arg(here.join("generic")).arg(here.join("generic.cc"));
    succeed(compiler);
    let mut job = clean(prefix().join("bin/oshrun"));
    job.args(["-n", "1"]).arg(here.join("generic"));
    succeed(job);
}
