//! The Fortran entry points of the libraries for other ABIs: called from C always, and from Fortran
//! where a compiler and the other MPI's `mpif.h` are.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{clean, prefix, scratch, succeed};
use hpvm_tests::skip::skipped;

/// One ABI: its name, our library, the folders where Debian keeps `mpif.h` and the module.
struct Flavour {
    define: &'static str,
    library: &'static str,
    headers: &'static [&'static str],
}

const MPICH: Flavour = Flavour {
    define: "-DMPICH",
    library: "libmpi.so.12",
    headers: &["usr/include/x86_64-linux-gnu/mpich"],
};

const OMPI: Flavour = Flavour {
    define: "-DOMPI",
    library: "libmpi.so.40",
    headers: &[
        "usr/lib/x86_64-linux-gnu/fortran/gfortran-mod-15/openmpi",
        "usr/lib/x86_64-linux-gnu/openmpi/include",
    ],
};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran").join(name)
}

/// Compiles and runs on 1, 2 and 4 ranks.
#[track_caller]
fn works(mut compiler: Command, flavour: &Flavour, binary: &Path) {
    let library = prefix().join("lib").join(flavour.library);
    compiler.arg("-o").arg(binary).arg(&library);
    let output = compiler.output().unwrap_or_else(|e| panic!("{compiler:?}: {e}"));
    assert!(output.status.success(), "{compiler:?}: {output:?}");
    runs(binary);
}

#[track_caller]
fn runs(binary: &Path) {
    for ranks in ["1", "2", "4"] {
        let mut job = clean(prefix().join("bin/mpirun"));
        job.args(["-n", ranks]).arg(binary).env("SUITE_FILE", binary.with_extension("data"));
        assert_eq!(succeed(job).trim(), "ok");
    }
}

fn from_c(flavour: &Flavour) {
    if !prefix().join("lib").join(flavour.library).exists() {
        return skipped(&format!("{} is not installed", flavour.library));
    }
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Werror", flavour.define]).arg(source("calls.c"));
    works(cc, flavour, &scratch().join(format!("calls{}", flavour.define)));
}

/// `HPVM_FORTRAN_ROOT` names the folder that the other MPI's development packages are unpacked in,
/// if they are not installed.
fn from_fortran(flavour: &Flavour, package: &str) {
    let root = PathBuf::from(std::env::var_os("HPVM_FORTRAN_ROOT").unwrap_or_else(|| "/".into()));
    let headers: Vec<_> = flavour.headers.iter().map(|folder| root.join(folder)).collect();
    let compiler = Command::new("gfortran").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) || !headers[0].join("mpif.h").exists()
    {
        return skipped(&format!(
            "needs gfortran and {package}'s {}/mpif.h (HPVM_FORTRAN_ROOT names another \
             place than /)",
            headers[0].display()
        ));
    }
    // Open MPI 4's module has no conversions of statuses; neither has counts of MPI_COUNT_KIND for all.
    let f08 = &["-DNO_LARGE_COUNTS", flavour.define][..];
    let variants = [
        ("header", "suite.F90", &[][..]),
        ("module", "suite.F90", &["-DUSE_MPI"][..]),
        ("f08", "f08.F90", f08),
    ];
    for (name, file, flags) in variants {
        let mut gfortran = Command::new("gfortran");
        gfortran.args(["-cpp", "-w", "-fallow-argument-mismatch", "-ffree-line-length-none"]);
        gfortran.current_dir(scratch()).args(flags);
        for folder in &headers {
            gfortran.arg("-I").arg(folder);
        }
        gfortran.arg(source(file));
        let binary = scratch().join(format!("suite{}-{name}", flavour.define));
        works(gfortran, flavour, &binary);
    }
}

/// With our own wrapper, header and module; the library is not named.
#[test]
fn own_installation() {
    let wrapper = prefix().join("bin/mpifort");
    let compiler = Command::new("gfortran").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) || !wrapper.exists() {
        return skipped("needs gfortran, and mpifort in the installation");
    }
    let variants = [
        ("header", "suite.F90", &[][..]),
        ("module", "suite.F90", &["-DUSE_MPI"][..]),
        ("only", "only.F90", &["-fno-allow-argument-mismatch"][..]),
        ("f08", "f08.F90", &[][..]),
        ("f08-optimised", "f08.F90", &["-O3"][..]),
        // The same without MPI_Init.
        ("header-sessions", "suite.F90", &["-DSESSIONS_ONLY"][..]),
        ("module-sessions", "suite.F90", &["-DUSE_MPI", "-DSESSIONS_ONLY"][..]),
        ("f08-sessions", "f08.F90", &["-DSESSIONS_ONLY"][..]),
    ];
    for (name, file, flags) in variants {
        let mut mpifort = Command::new(&wrapper);
        mpifort.args(["-cpp", "-w", "-ffree-line-length-none"]).args(flags);
        mpifort.env("XDG_CACHE_HOME", scratch().join("cache")).current_dir(scratch());
        mpifort.arg(source(file));
        let binary = scratch().join(format!("suite-own-{name}"));
        let output = mpifort.arg("-o").arg(&binary).output().expect("mpifort");
        assert!(output.status.success(), "{mpifort:?}: {output:?}");
        runs(&binary);
    }
}

/// The module `mpi` knows what arguments its procedures have.
#[test]
fn wrong_arguments_are_told_by_the_compiler() {
    let wrapper = prefix().join("bin/mpifort");
    let compiler = Command::new("gfortran").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) || !wrapper.exists() {
        return skipped("needs gfortran, and mpifort in the installation");
    }
    let mut mpifort = Command::new(&wrapper);
    mpifort.args(["-cpp", "-DWRONG", "-c", "-o"]).arg(scratch().join("wrong.o"));
    mpifort.env("XDG_CACHE_HOME", scratch().join("cache")).current_dir(scratch());
    let output = mpifort.arg(source("only.F90")).output().expect("mpifort");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("ierror"), "{said}");
}

/// The module for compilers that pass arrays by the standard's descriptors, which gfortran can do, too.
#[test]
fn descriptors_of_the_standard() {
    let (bin, include) = (prefix().join("bin"), prefix().join("include"));
    let compiler = Command::new("gfortran").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) || !bin.join("mpifort").exists() {
        return skipped("needs gfortran, and mpifort in the installation");
    }
    let folder = scratch().join("cdesc");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut mpifort = clean(bin.join("mpifort"));
    mpifort.env("XDG_CACHE_HOME", scratch().join("cache")).current_dir(&folder);
    mpifort.args(["-cpp", "-w", "-DHPVM_CDESC", "-I."]);
    mpifort.arg(include.join("mpi_f08.F90")).arg(source("f08.F90")).args(["-o", "f08"]);
    succeed(mpifort);
    runs(&folder.join("f08"));
}

/// Handles and statuses between the languages; the part in C once in the program and once in a library.
#[test]
fn fortran_and_c_in_one_program() {
    let bin = prefix().join("bin");
    let compiler = Command::new("gfortran").arg("--version").output();
    if !compiler.is_ok_and(|output| output.status.success()) || !bin.join("mpifort").exists() {
        return skipped("needs gfortran, and mpifort in the installation");
    }
    for (part, flags) in [("mixed.o", &["-c"][..]), ("libmixed.so", &["-shared", "-fPIC"][..])] {
        let mut mpicc = clean(bin.join("mpicc"));
        mpicc.args(["-Wall", "-Wextra", "-Werror"]).args(flags).arg(source("mixed.c"));
        mpicc.arg("-o").arg(scratch().join(part));
        succeed(mpicc);
        let binary = scratch().join(format!("{part}.run"));
        let mut mpifort = clean(bin.join("mpifort"));
        mpifort.env("XDG_CACHE_HOME", scratch().join("cache")).current_dir(scratch());
        mpifort.arg(source("mixed.F90")).arg(scratch().join(part)).arg("-o").arg(&binary);
        succeed(mpifort);
        runs(&binary);
    }
}

#[test]
fn mpich_from_c() {
    from_c(&MPICH);
}

#[test]
fn openmpi_from_c() {
    from_c(&OMPI);
}

#[test]
fn mpich_from_fortran() {
    from_fortran(&MPICH, "libmpich-dev");
}

#[test]
fn openmpi_from_fortran() {
    from_fortran(&OMPI, "libopenmpi-dev");
}
