//! `mpicc` and `mpicxx`, and how build systems find the library.

use std::path::Path;
use std::process::Command;

use crate::common::{clean, folder, prefix, sources, succeed};

/// Whether a command is there; a note that the test is skipped when it is not.
fn there(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        hpvm_tests::skip::skipped(&format!("{name} is not installed"));
    }
    found
}

fn wrapper(name: &str, arguments: &[&str]) -> String {
    let mut command = clean(prefix().join("bin").join(name));
    command.args(arguments);
    succeed(command).trim_end().to_string()
}

/// Runs a program on 2 ranks.
pub fn on_two(prefix: &Path, program: &Path, arguments: &[&str]) -> String {
    let mut command = clean(prefix.join("bin/mpirun"));
    command.args(["-n", "2"]).arg(program).args(arguments);
    succeed(command)
}

#[test]
fn a_cpp_program() {
    let home = folder("cpp");
    let source = sources().join("plus.cpp");
    for name in ["mpicxx", "mpic++"] {
        let binary = home.join(name);
        let (from, to) = (source.display().to_string(), binary.display().to_string());
        wrapper(name, &["-Wall", "-Werror", "-O1", "-o", &to, &from]);
        assert_eq!(on_two(&prefix(), &binary, &[]), "sum 3000\n");
    }
}

/// The header's own functions ([mpi.h], after the prototypes) with programs of all languages and manners.
#[test]
fn what_the_standard_abi_lacks_compiles_strictly() {
    let home = folder("older");
    let conformance = sources().with_file_name("conformance");
    let manners = [
        ("mpicc", &["-std=c99"][..]),
        ("mpicc", &["-std=gnu17"][..]),
        ("mpicxx", &["-x", "c++", "-std=c++11"][..]),
        ("mpicxx", &["-x", "c++", "-std=c++20"][..]),
    ];
    for name in ["fint_handles", "fint_status", "removed_types", "removed_env"] {
        let source = conformance.join(name).with_extension("c").display().to_string();
        for (compiler, manner) in manners {
            let binary = home.join(name);
            let to = binary.display().to_string();
            let strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-o", &to, &source];
            wrapper(compiler, &[manner, &strict[..]].concat());
            assert_eq!(on_two(&prefix(), &binary, &[]), "No errors\n", "{name} {manner:?}");
        }
    }
}

#[test]
fn compiling_and_linking_apart() {
    let home = folder("apart");
    let (object, binary) = (home.join("many.o"), home.join("many"));
    let source = sources().join("many.c");
    wrapper("mpicc", &["-c", "-o", &object.to_string_lossy(), &source.to_string_lossy()]);
    wrapper("mpicc", &["-o", &binary.to_string_lossy(), &object.to_string_lossy()]);
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
}

#[test]
fn what_the_wrappers_show() {
    let prefix = prefix();
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let (include, lib) = (include.to_string_lossy(), lib.to_string_lossy());
    for name in ["mpicc", "mpicxx", "mpic++"] {
        let shown = wrapper(name, &["-show", "-O2", "x.c"]);
        for part in ["-O2", "x.c", &format!("-I{include}"), &format!("-L{lib}"), "-lmpi_abi"] {
            assert!(shown.split_whitespace().any(|word| word == part), "{part} in: {shown}");
        }
        let compiles = wrapper(name, &["-show", "-c", "x.c"]);
        assert!(compiles.contains(&*include) && !compiles.contains("-lmpi_abi"), "{compiles}");
        assert_eq!(wrapper(name, &["-showme:compile"]), format!("-I{include}"));
        assert!(wrapper(name, &["-showme:link"]).contains(&format!("-L{lib}")));
        assert_eq!(wrapper(name, &["-showme:incdirs"]), include);
        assert_eq!(wrapper(name, &["-showme:libdirs"]), lib);
        assert_eq!(wrapper(name, &["-showme:libs"]), "mpi_abi");
        let command = wrapper(name, &["-showme:command"]);
        assert!(shown.starts_with(&command), "{command}: {shown}");
        assert!(wrapper(name, &["-showme:version"]).contains("hpvm"));
    }
    assert_ne!(wrapper("mpicc", &["-showme:command"]), wrapper("mpicxx", &["-showme:command"]));
}

#[test]
fn a_command_that_was_shown_works() {
    let home = folder("shown");
    let (binary, source) = (home.join("many"), sources().join("many.c"));
    let shown =
        wrapper("mpicc", &["-show", "-o", &binary.to_string_lossy(), &source.to_string_lossy()]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &shown]);
    succeed(shell);
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
}

#[test]
fn an_error_of_the_compiler_comes_through() {
    let home = folder("broken");
    let source = home.join("broken.c");
    std::fs::write(&source, "int main(void) { return this_is_nothing; }\n").expect("a file");
    let mut command = clean(prefix().join("bin/mpicc"));
    command.arg("-o").arg(home.join("broken")).arg(&source);
    let output = command.output().expect("mpicc starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("this_is_nothing"), "{message}");
}

#[test]
fn a_cmake_project() {
    if !there("cmake") {
        return;
    }
    let prefix = prefix();
    // With the wrappers in PATH, and with nothing but the folder's name.
    for way in ["path", "home"] {
        let build = folder("cmake");
        let mut configure = clean("cmake");
        configure.arg("-S").arg(sources().join("cmake")).arg("-B").arg(&build);
        if way == "path" {
            let path = std::env::var("PATH").unwrap_or_default();
            configure.env("PATH", format!("{}:{path}", prefix.join("bin").display()));
        } else {
            configure.arg(format!("-DMPI_HOME={}", prefix.display()));
        }
        let output = succeed(configure);
        assert!(output.contains("Found MPI"), "{way}: {output}");
        let mut make = clean("cmake");
        make.arg("--build").arg(&build);
        succeed(make);
        assert_eq!(on_two(&prefix, &build.join("user_c"), &["ring"]), "done, 2 ranks\n", "{way}");
        assert_eq!(on_two(&prefix, &build.join("user_cxx"), &[]), "sum 3000\n", "{way}");
    }
}

#[test]
fn pkg_config_finds_it() {
    if !there("pkg-config") {
        return;
    }
    let prefix = prefix();
    for package in ["hpvm", "mpi"] {
        let mut ask = clean("pkg-config");
        ask.args(["--cflags", "--libs", package]);
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        let flags = succeed(ask);
        let binary = folder("pkg").join("many");
        let mut compiler = clean("cc");
        compiler.arg("-o").arg(&binary).arg(sources().join("many.c"));
        compiler.args(flags.split_whitespace());
        succeed(compiler);
        assert_eq!(on_two(&prefix, &binary, &["ring"]), "done, 2 ranks\n");
    }
}
