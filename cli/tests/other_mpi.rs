//! What `mpirun` says when ranks use another MPI than hpvm's. The other libraries are made here:
//! what counts is their names.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Ended;

/// An installation whose `mpirun` finds `lib/`, with another MPI and a program that opens a library
/// by the name that it is given.
struct Installation(tempfile::TempDir);

const OPENER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **v)
{
    for (int i = 1; i < n; i++) {
        void *library = dlopen(v[i], RTLD_NOW);
        if (!library)
            return fprintf(stderr, "%s\n", dlerror()), 1;
        const char *(*name)(void) = (const char *(*)(void))dlsym(library, "name");
        printf("%s\n", name());
    }
    fflush(stdout);
    usleep(400000);
    return 0;
}
"#;

impl Installation {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("folder"));
        for folder in ["bin", "lib/hpvm/openmpi", "other"] {
            std::fs::create_dir_all(place.path(folder)).expect("folder");
        }
        common::copy_program(env!("CARGO_BIN_EXE_hpvm"), place.path("bin/mpirun"));
        place.library("lib/libmpi_abi.so.1", "ours, standard", "libmpi_abi.so.1");
        place.library("lib/libmpi.so.12", "ours, MPICH", "libmpi.so.12");
        place.library("lib/libmpi.so.40", "ours, Open MPI", "libmpi.so.40");
        place.library("other/libmpi.so.40", "other, Open MPI", "libmpi.so.40");
        place.library("other/libmpi.so.12", "other, MPICH", "libmpi.so.12");
        place.link("libmpi.so.12", "lib/libmpi.so");
        place.link("../../libmpi.so.40", "lib/hpvm/openmpi/libmpi.so");
        place.compile(&["-o", "opener"], OPENER);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().expect("path").join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("text").to_string()
    }

    fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).expect("link");
    }

    fn compile(&self, options: &[&str], code: &str) {
        std::fs::write(self.path("source.c"), code).expect("write");
        let mut cc = Command::new("cc");
        cc.current_dir(self.0.path()).arg("source.c").args(options);
        assert!(cc.status().expect("cc").success(), "{cc:?}");
    }

    fn library(&self, file: &str, name: &str, soname: &str) {
        let code = format!("const char *name(void) {{ return \"{name}\"; }}");
        let soname = format!("-Wl,-soname,{soname}");
        self.compile(&["-shared", "-fPIC", &soname, "-o", file], &code);
    }

    fn run(&self, list: &str, args: &[&str]) -> Ended {
        let mut command = Command::new(self.path("bin/mpirun"));
        command.args(args).env("LD_LIBRARY_PATH", list).env_remove("HPVM_LIBMPI");
        let output = command.output().expect("runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let code = output.status.code().expect("a code");
        Ended { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

#[test]
fn the_bare_name_leads_to_us_in_the_abi_of_the_library_beside_us() {
    let place = Installation::new();
    let opener = place.text("opener");
    for (beside, expected) in [("libmpi.so.40", "ours, Open MPI"), ("libmpi.so.12", "ours, MPICH")]
    {
        let link = place.path("other/libmpi.so");
        let _ = std::fs::remove_file(&link);
        place.link(beside, "other/libmpi.so");
        let ended = place.run(&place.text("other"), &["-n", "2", &opener, "libmpi.so"]);
        assert_eq!(ended.out, format!("{expected}\n").repeat(2), "{ended:?}");
        let both = place.run(&place.text("other"), &[&opener, "libmpi.so.12", "libmpi.so.40"]);
        assert_eq!(both.out, "ours, MPICH\nours, Open MPI\n", "{both:?}");
    }
    let args = ["-genv", "HPVM_LIBMPI", "openmpi", &opener, "libmpi.so"];
    assert_eq!(place.run("", &args).out, "ours, Open MPI\n");
}

#[test]
fn another_library_is_named_once() {
    let place = Installation::new();
    let (opener, other) = (place.text("opener"), place.text("other/libmpi.so.40"));
    let ended = place.run("", &["-n", "3", &opener, &other]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    let ours = place.text("lib/libmpi.so.40");
    for part in [&other[..], "Open MPI's ABI", "job of one rank", &ours] {
        assert!(ended.err.contains(part), "{part}: {ended:?}");
    }
    // A script that starts the program hides nothing.
    let line = format!("{opener} {other}; true");
    let ended = place.run("", &["-n", "2", "sh", "-c", &line]);
    assert!(ended.err.contains(&other), "{ended:?}");
    let quiet = place.run("", &["-q", "-n", "2", &opener, &other]);
    assert_eq!(quiet.err, "");
    // One rank is right to find itself alone, and ours are ours.
    assert_eq!(place.run("", &[&opener, &other]).err, "");
    assert_eq!(place.run("", &["-n", "2", &opener, "libmpi.so"]).err, "");
}

#[test]
fn an_mpi_linked_in_is_told_at_the_end() {
    let place = Installation::new();
    place.compile(
        &["-o", "static"],
        "int MPI_Init(void) { return 0; } int main(void) { return 0; }",
    );
    let program = place.text("static");
    let ended = place.run("", &["-n", "2", &program]);
    assert!(ended.err.contains("linked in (statically)"), "{ended:?}");
    assert!(ended.err.contains(&program), "{ended:?}");
    assert_eq!(place.run("", &["-n", "1", &program]).err, "");
    assert_eq!(place.run("", &["-n", "2", "true"]).err, "");
}

#[test]
fn the_segment_has_the_name_that_the_launcher_looks_for() {
    assert_eq!(hpvm_launch::loaded::SEGMENT, hpvm_shm::observe::LINK);
    assert!(Path::new("/proc/self/maps").exists());
}
