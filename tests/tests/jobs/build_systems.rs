//! How CMake, Meson, autotools and pkg-config find the library, with another MPI's commands and
//! pkg-config files beside ours, as on a machine where such an MPI is installed in the system.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{clean, folder, prefix, sources, succeed};
use crate::wrappers::{on_two, there};

/// Commands of an MPI that must not be used: they say so, and fail.
const COMMANDS: [&str; 17] = [
    "mpicc",
    "mpicxx",
    "mpic++",
    "mpiCC",
    "mpifort",
    "mpif90",
    "mpif77",
    "mpif08",
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "orterun",
    "prterun",
    "ompi_info",
    "mpichversion",
    "mpiname",
    "mpiicc",
];

/// The pkg-config files of Open MPI and MPICH that build systems ask for.
const PACKAGES: [&str; 14] = [
    "mpi",
    "mpi-c",
    "mpi-cxx",
    "mpi-fort",
    "ompi",
    "ompi-c",
    "ompi-cxx",
    "ompi-fort",
    "ompi-f77",
    "ompi-f90",
    "mpich",
    "mpich2",
    "mvapich2",
    "impi",
];

/// A made-up other MPI: the folders of its commands and of its pkg-config files.
fn other_mpi() -> (PathBuf, PathBuf) {
    let (bin, packages) = (folder("other-bin"), folder("other-packages"));
    for name in COMMANDS {
        let script = "#!/bin/sh\necho \"this is the other MPI\" >&2\nexit 1\n";
        // By a process of its own: what another test starts meanwhile would hold the file open, and it could not be run.
        let mut writer = Command::new("sh");
        writer.args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"]);
        assert!(writer.arg(bin.join(name)).arg(script).status().expect("sh").success());
    }
    for name in PACKAGES {
        let text = format!(
            "Name: {name}\nDescription: the other MPI\nVersion: 9.9\n\
             Libs: -lthe_other_mpi\nCflags: -include the_other_mpi.h\n"
        );
        std::fs::write(packages.join(name).with_extension("pc"), text).expect("a file");
    }
    (bin, packages)
}

/// A command that sees our installation first and the other MPI after it.
fn beside(program: &str, prefix: &Path) -> Command {
    let (bin, packages) = other_mpi();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = clean(program);
    let ours = prefix.join("bin").display().to_string();
    command.env("PATH", format!("{ours}:{}:{path}", bin.display()));
    let ours = prefix.join("lib/pkgconfig").display().to_string();
    command.env("PKG_CONFIG_PATH", format!("{ours}:{}", packages.display()));
    command.env("XDG_CACHE_HOME", folder("cache"));
    command
}

#[track_caller]
fn runs(build: &Path, fortran: bool) {
    let prefix = prefix();
    assert_eq!(on_two(&prefix, &build.join("user_c"), &["ring"]), "done, 2 ranks\n");
    assert_eq!(on_two(&prefix, &build.join("user_cxx"), &[]), "sum 3000\n");
    if fortran {
        assert_eq!(on_two(&prefix, &build.join("user_fortran"), &[]), "sum 3\n");
    }
}

#[test]
fn every_name_of_other_mpis_is_ours() {
    let prefix = prefix();
    for name in COMMANDS {
        assert!(prefix.join("bin").join(name).exists(), "{name} is not installed");
        let page = prefix.join("share/man/man1").join(format!("{name}.1"));
        assert!(page.exists() || name == "mpiicc", "{name} has no manual page");
    }
    for name in ["mpiexec.hydra", "orterun", "prterun"] {
        let mut job = clean(prefix.join("bin").join(name));
        job.args(["-n", "3", "sh", "-c", "echo rank"]);
        assert_eq!(succeed(job), "rank\nrank\nrank\n", "{name}");
    }
    for name in ["ompi_info", "mpichversion", "mpiname"] {
        for flags in [&[][..], &["--version"], &["--parsable", "--all"]] {
            let mut ask = clean(prefix.join("bin").join(name));
            ask.args(flags);
            let text = succeed(ask);
            assert!(text.contains("hpvm "), "{name} {flags:?}: {text}");
        }
    }
    let output = clean(prefix.join("bin/mpif08")).arg("x.f90").output().expect("mpif08");
    let said = String::from_utf8_lossy(&output.stderr);
    // It is a compiler, which looks for the file.
    assert!(output.status.code() == Some(1) && said.contains("x.f90"), "{said}");
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
        let mut configure = beside("cmake", &prefix);
        configure.arg("-S").arg(sources().join("cmake")).arg("-B").arg(&build);
        if way == "home" {
            let (bin, _) = other_mpi();
            let path = std::env::var("PATH").unwrap_or_default();
            configure.env("PATH", format!("{}:{path}", bin.display()));
            configure.arg(format!("-DMPI_HOME={}", prefix.display()));
        }
        let output = succeed(configure);
        assert!(output.contains("Found MPI"), "{way}: {output}");
        let launcher = format!("launcher {}/bin/mpiexec", prefix.display());
        assert!(output.contains(&launcher), "{way}: {output}");
        let mut make = beside("cmake", &prefix);
        make.arg("--build").arg(&build);
        succeed(make);
        runs(&build, build.join("user_fortran").exists());
    }
}

#[test]
fn a_meson_project() {
    if !there("meson") || !there("ninja") || !there("gfortran") {
        return;
    }
    let prefix = prefix();
    // By pkg-config's files, and by the wrappers where there are no such files.
    for way in ["files", "wrappers"] {
        let build = folder("meson");
        let mut setup = beside("meson", &prefix);
        setup.arg("setup").arg(&build).arg(sources().join("meson"));
        let nothing = folder("nothing");
        if way == "wrappers" {
            setup.env("PKG_CONFIG_LIBDIR", &nothing).env_remove("PKG_CONFIG_PATH");
        }
        let output = succeed(setup);
        assert!(!output.contains("9.9"), "{way}: {output}");
        let mut make = beside("meson", &prefix);
        make.arg("compile").arg("-C").arg(&build);
        succeed(make);
        runs(&build, true);
    }
}

#[test]
fn an_autotools_project() {
    if !there("autoconf") || !there("gfortran") {
        return;
    }
    if !Path::new("/usr/share/aclocal/ax_mpi.m4").exists() {
        return hpvm_tests::skip::skipped(
            "/usr/share/aclocal/ax_mpi.m4 (autoconf-archive) is not there",
        );
    }
    let prefix = prefix();
    let home = folder("autotools");
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(sources().join("autotools")).arg(&home);
    succeed(copy);
    let tree = home.join("autotools");
    for name in ["many.c", "plus.cpp", "plus.f90"] {
        std::fs::copy(sources().join(name), home.join(name)).expect("a source");
    }
    let script = "cat /usr/share/aclocal/ax_mpi.m4 > aclocal.m4 && autoconf && ./configure && make";
    let mut shell = beside("sh", &prefix);
    shell.args(["-c", script]).current_dir(&tree);
    succeed(shell);
    runs(&tree, true);
}

#[test]
fn pkg_config_finds_it() {
    if !there("pkg-config") {
        return;
    }
    let prefix = prefix();
    for package in ["hpvm", "mpi", "mpi-c", "ompi", "ompi-c", "mpich", "impi"] {
        let mut ask = beside("pkg-config", &prefix);
        ask.args(["--cflags", "--libs", package]);
        let flags = succeed(ask);
        let binary = folder("pkg").join("many");
        let mut compiler = clean("cc");
        compiler.arg("-o").arg(&binary).arg(sources().join("many.c"));
        compiler.args(flags.split_whitespace());
        succeed(compiler);
        assert_eq!(on_two(&prefix, &binary, &["ring"]), "done, 2 ranks\n", "{package}");
    }
    for package in PACKAGES {
        let mut ask = beside("pkg-config", &prefix);
        ask.args(["--exists", "--print-errors", &format!("{package} >= 3.0")]);
        succeed(ask);
        let mut ask = beside("pkg-config", &prefix);
        ask.args(["--libs", package]);
        assert!(succeed(ask).contains("-lmpi_abi"), "{package}");
    }
}

/// The file for shells, in bash: it finds its own place.
#[test]
fn a_shell_that_read_the_file_for_shells() {
    let prefix = prefix();
    let mut shell = clean("bash");
    let file = prefix.join("share/hpvm/env.sh");
    let script = format!(". '{}' && command -v mpicc && echo $PKG_CONFIG_PATH", file.display());
    shell.args(["-c", &script]);
    let text = succeed(shell);
    let expected = format!("{0}/bin/mpicc\n{0}/lib/pkgconfig", prefix.display());
    assert!(text.starts_with(&expected), "{text}");
}
