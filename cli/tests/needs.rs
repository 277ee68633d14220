//! `hpvm info PROGRAM`, and `mpirun`'s warning about programs that would load another MPI. The
//! libraries are made here: what counts is their names and tables.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::script;
use serde_json::Value;

/// An installation whose `hpvm` finds `lib/`, and another MPI beside it.
struct Installation {
    dir: tempfile::TempDir,
}

const MPICH: &str = "int MPI_Init(int *a, char ***b) { return 0; } \
                     int MPI_Send(void) { return 0; } int MPI_Open_port(void) { return 1; }";

impl Installation {
    fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().expect("folder") };
        for folder in ["bin", "lib", "other"] {
            std::fs::create_dir(place.path(folder)).expect("folder");
        }
        common::copy_program(env!("CARGO_BIN_EXE_hpvm"), place.path("bin/hpvm"));
        std::os::unix::fs::symlink("hpvm", place.path("bin/mpirun")).expect("link");
        place.library("lib/libmpi_abi.so.1", "int MPI_Init;", &[]);
        for folder in ["lib", "other"] {
            place.library(&format!("{folder}/libmpi.so.12"), MPICH, &[]);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn compile(&self, out: &str, code: &str, options: &[&str]) -> PathBuf {
        let source = self.path("source.c");
        std::fs::write(&source, code).expect("write");
        let out = self.path(out);
        let mut cc = Command::new("cc");
        cc.current_dir(self.dir.path()).arg("source.c").arg("-o").arg(&out).args(options);
        assert!(cc.status().expect("cc").success(), "{cc:?}");
        out
    }

    fn library(&self, out: &str, code: &str, options: &[&str]) -> PathBuf {
        let name = format!("-Wl,-soname,{}", out.rsplit('/').next().expect("name"));
        self.compile(out, code, &[&["-shared", "-fPIC", &name], options].concat())
    }

    /// A program that calls MPI.
    fn program(&self, out: &str, options: &[&str]) -> PathBuf {
        let code = "int MPI_Init(int *, char ***); int MPI_Send(void); int MPI_Open_port(void); \
                    int main(int n, char **v) { return n > 9 ? MPI_Send() + MPI_Open_port() \
                    : MPI_Init(0, 0); }";
        self.compile(out, code, &[&["lib/libmpi.so.12"], options].concat())
    }

    fn call(&self, name: &str, args: &[&str]) -> Output {
        let mut command = Command::new(self.path("bin").join(name));
        command.current_dir(self.dir.path()).args(args).env_remove("LD_LIBRARY_PATH");
        command.output().expect("runs")
    }

    fn info(&self, program: &Path) -> (String, Value) {
        let program = program.to_str().expect("text");
        let text = self.call("hpvm", &["info", program]);
        assert!(text.status.success(), "{text:?}");
        let json = self.call("hpvm", &["info", "--json", program]);
        let json = serde_json::from_slice(&json.stdout).expect("json");
        (String::from_utf8(text.stdout).expect("text"), json)
    }

    /// What `mpirun` says about a program that runs well.
    fn warning(&self, program: &Path) -> String {
        let output = self.call("mpirun", &["-n", "2", program.to_str().expect("text")]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    }
}

const OLD: &str = "-Wl,--disable-new-dtags";

#[test]
fn a_program_for_mpich() {
    let place = Installation::new();
    let (text, json) = place.info(&place.program("p", &[]));
    assert!(text.contains("MPICH's ABI"), "{text}");
    assert!(text.contains("3 needed, all available"), "{text}");
    assert_eq!(json["mpi"], serde_json::json!(["mpich"]));
    let library = &json["libraries"][0];
    assert_eq!((library["ours"] == true, library["direct"] == true), (true, true), "{json}");
    assert_eq!(json["symbols"]["needed"], 3, "{json}");
    assert_eq!(json["symbols"]["unavailable"], serde_json::json!([]), "{json}");
    assert_eq!(place.warning(&place.path("p")), "");
}

#[test]
fn through_a_library_with_a_symbol_that_nobody_has() {
    let place = Installation::new();
    let code = "int MPI_Send(void); int MPIX_Strange(void); int f_(void) { return MPI_Send() + \
                MPIX_Strange(); } int mpi_helper_(void) { return 0; }";
    let path = "-Wl,-rpath,$ORIGIN";
    let inner = place.library("libinner.so", code, &["lib/libmpi.so.12"]);
    let code = "int f_(void); int mpi_helper_(void); int main(void) { return f_() + \
                mpi_helper_(); }";
    let allow = "-Wl,--allow-shlib-undefined";
    let program = place.compile("p", code, &["-L.", "libinner.so", path, allow]);
    let (text, json) = place.info(&program);
    assert!(text.contains("through libinner.so"), "{text}");
    assert!(text.contains("MPIX_Strange") && text.contains("not exported"), "{text}");
    // The program's own function, whose name only looks like one of MPI's, is none.
    assert_eq!(json["symbols"]["needed"], 2, "{json}");
    let (text, _) = place.info(&inner);
    assert!(text.contains("shared library") && text.contains("directly"), "{text}");
}

#[test]
fn what_is_no_mpi_program() {
    let place = Installation::new();
    let (text, json) = place.info(&place.compile("p", "int main(void) { return 0; }", &[]));
    assert!(text.contains("needs no MPI library"), "{text}");
    assert_eq!(json["mpi"], serde_json::json!([]));
    let script = script(place.dir.path(), "s", "#!/usr/bin/env python3\nimport mpi4py\n");
    let (text, _) = place.info(Path::new(&script));
    assert!(text.contains("script for '/usr/bin/env python3', not an ELF file"), "{text}");
    let output = place.call("hpvm", &["info", "./absent"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("'./absent' does not exist"));
    let text = place.call("hpvm", &["info", "sh"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("/sh"), "{text:?}");
}

#[test]
fn rpath_is_warned_about_and_runpath_is_not() {
    let place = Installation::new();
    let other = format!("-Wl,-rpath,{}", place.path("other").display());
    let program = place.program("old", &[OLD, &other]);
    let text = place.warning(&program);
    assert!(text.contains("DT_RPATH") && text.contains("/old'"), "{text}");
    assert!(text.contains("patchelf --remove-rpath"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let quiet = place.call("mpirun", &["-q", "-n", "1", program.to_str().expect("text")]);
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    let (text, json) = place.info(&program);
    assert!(text.contains("not hpvm's") && text.contains("warning"), "{text}");
    assert_eq!(json["libraries"][0]["ours"], false);
    let new = place.program("new", &["-Wl,--enable-new-dtags", &other]);
    assert_eq!(place.warning(&new), "");
    let own = format!("-Wl,-rpath,{}", place.path("lib").display());
    assert_eq!(place.warning(&place.program("own", &[OLD, &own])), "");
}

#[test]
fn a_library_named_by_its_path_is_warned_about() {
    let place = Installation::new();
    let code = "int MPI_Send(void) { return 0; } int MPI_Init(void) { return 0; } \
                int MPI_Open_port(void) { return 0; }";
    let absolute = place.path("other/libmpi.so.12");
    let soname = format!("-Wl,-soname,{}", absolute.display());
    place.compile("other/libmpi.so.12", code, &["-shared", "-fPIC", &soname]);
    let program = place.compile(
        "p",
        "int MPI_Send(void); int main(void) { return MPI_Send(); }",
        &["other/libmpi.so.12"],
    );
    let text = place.warning(&program);
    assert!(text.contains("--replace-needed") && text.contains("libmpi.so.12"), "{text}");
}

#[test]
fn scripts_and_strange_files_are_silently_fine() {
    let place = Installation::new();
    let script = script(place.dir.path(), "s", "#!/bin/sh\nexit 0\n");
    assert_eq!(place.warning(Path::new(&script)), "");
}
