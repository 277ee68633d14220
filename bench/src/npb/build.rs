//! Building the benchmarks, and what each needs.

use crate::error::BenchError;
use crate::target::capture;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A benchmark compiles in seconds; a compiler that waits for something is ended.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Compilers for MPI.
#[derive(Debug)]
pub struct Wrappers {
    pub fortran: PathBuf,
    pub c: PathBuf,
}

/// A copy of the sources that is built with an MPI's wrappers.
#[derive(Debug)]
pub struct Built {
    work: tempfile::TempDir,
    /// Programs are compiled for a number of ranks: NPB 3.3 and older.
    for_ranks: bool,
}

/// The folder of the MPI version: the one that was named, or the one inside of it.
pub fn sources(named: &Path) -> Result<PathBuf, BenchError> {
    let is_npb = |folder: &Path| {
        ["sys/make.common", "config/make.def.template", "BT", "common"]
            .iter()
            .all(|f| folder.join(f).exists())
    };
    let inside =
        std::fs::read_dir(named).into_iter().flatten().filter_map(|e| Some(e.ok()?.path()));
    let mpi = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().ends_with("-MPI"));
    let found = std::iter::once(named.to_owned()).chain(inside.filter(mpi)).find(|f| is_npb(f));
    found.ok_or_else(|| BenchError::Argument {
        token: named.display().to_string(),
        reason: "no NPB there: expected the folder NPB3.4-MPI of NPB 3.4, or NPB3.3-MPI of 3.3 (with BT, common, config and sys), or the one \
                 that holds it; its sources come from NASA (nas.nasa.gov/software/npb.html)"
            .into(),
    })
}

/// hpvm's own wrappers, with a compiler behind them.
pub fn own_wrappers(bin: &Path) -> Result<Wrappers, BenchError> {
    let wrappers = Wrappers { fortran: bin.join("mpifort"), c: bin.join("mpicc") };
    for (wrapper, advice) in [
        (&wrappers.fortran, "install hpvm with its wrappers and a Fortran compiler (gfortran)"),
        (&wrappers.c, "install hpvm with its wrappers and a C compiler"),
    ] {
        if !wrapper.is_file() {
            let what = "the compiler wrapper";
            return Err(BenchError::Missing { what, path: wrapper.clone(), advice });
        }
        let mut command = Command::new(wrapper);
        command.arg("--version");
        let shown = format!("{} --version", wrapper.display());
        capture(command, &shown, TIME_LIMIT).map_err(|e| BenchError::Argument {
            token: wrapper.display().to_string(),
            reason: format!("it finds no compiler ({advice}): {e}"),
        })?;
    }
    Ok(wrappers)
}

impl Built {
    /// Copies the sources and writes their `config/make.def`.
    pub fn new(sources: &Path, wrappers: Wrappers) -> Result<Self, BenchError> {
        let work = tempfile::tempdir().map_err(|e| BenchError::io("cannot create a folder", e))?;
        let here = |doing: &str| format!("cannot {doing} {}", work.path().display());
        copy(sources, work.path()).map_err(|e| BenchError::io(here("copy NPB to"), e))?;
        std::fs::create_dir_all(work.path().join("bin"))
            .and_then(|()| {
                std::fs::write(work.path().join("config/make.def"), definitions(&wrappers))
            })
            .map_err(|e| BenchError::io(here("write into"), e))?;
        let common = std::fs::read_to_string(sources.join("sys/make.common"))
            .map_err(|e| BenchError::io("cannot read NPB's sys/make.common", e))?;
        Ok(Self { work, for_ranks: is_for_ranks(&common) })
    }

    /// The program, compiled when it is not there yet.
    pub fn program(&self, benchmark: &str, class: &str, ranks: u32) -> Result<PathBuf, BenchError> {
        let lower = benchmark.to_lowercase();
        let end = if self.for_ranks { ranks.to_string() } else { "x".to_owned() };
        let program = self.work.path().join(format!("bin/{lower}.{class}.{end}"));
        if !program.is_file() {
            let mut arguments = vec![lower, format!("CLASS={class}")];
            if self.for_ranks {
                arguments.push(format!("NPROCS={ranks}"));
            }
            let mut command = Command::new("make");
            // Makefiles that ask for PWD get the shell's otherwise.
            command.env("PWD", self.work.path()).args(&arguments).current_dir(self.work.path());
            capture(command, &format!("make {}", arguments.join(" ")), TIME_LIMIT)?;
        }
        if program.is_file() {
            return Ok(program);
        }
        let advice = "NPB's make has not said why; try it by hand";
        Err(BenchError::Missing { what: "the benchmark", path: program, advice })
    }
}

/// Whether `sys/make.common` names programs by the number of ranks that they are for.
fn is_for_ranks(make_common: &str) -> bool {
    make_common.contains("$(CLASS).$(NPROCS)")
}

/// `config/make.def`: wrappers, optimisation, and what gfortran from 10 on refuses of NPB without a flag: calls of one
/// MPI function with several types, and hexadecimal constants with X. NPB 3.3 calls the Fortran compiler MPIF77.
fn definitions(wrappers: &Wrappers) -> String {
    let (fortran, c) = (wrappers.fortran.display(), wrappers.c.display());
    format!(
        "MPIFC = {fortran}\nMPIF77 = $(MPIFC)\nFLINK = $(MPIFC)\nFMPI_LIB =\nFMPI_INC =\nFFLAGS = -O3 -fallow-argument-mismatch -fallow-invalid-boz\nFLINKFLAGS = $(FFLAGS)\n\
         MPICC = {c}\nCLINK = $(MPICC)\nCMPI_LIB =\nCMPI_INC =\nCFLAGS = -O3\nCLINKFLAGS = $(CFLAGS)\nCC = cc -g\nBINDIR = ../bin\n\
         RAND = randi8\n"
    )
}

/// All files but what somebody has built. NPB's make runs scripts of `sys`, which copies made by git or zip may hold as plain files.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        let target = to.join(&name);
        let built = [".o", ".mod", ".x"].iter().any(|end| name.to_string_lossy().ends_with(end));
        if kind.is_dir() && name != "bin" && name != ".git" {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() && !built {
            std::fs::copy(entry.path(), &target)?;
            if from.ends_with("sys") {
                std::fs::set_permissions(target, PermissionsExt::from_mode(0o755))?;
            }
        }
    }
    Ok(())
}

/// Whether a benchmark runs on so many ranks: BT and SP on squares, the others on powers of two.
pub fn runs_on(benchmark: &str, ranks: u32) -> bool {
    match benchmark {
        "BT" | "SP" => ranks.isqrt().pow(2) == ranks,
        "EP" => ranks > 0,
        _ => ranks.is_power_of_two(),
    }
}

/// About the bytes that a benchmark takes, of all ranks together. From the arrays of its grid, with a half more for
/// ghost cells and buffers.
pub fn memory(benchmark: &str, class: &str) -> u64 {
    let at = super::CLASSES.iter().position(|c| *c == class).unwrap_or(super::CLASSES.len() - 1);
    let cube = |sides: [u64; 6], words: u64| sides[at].pow(3) * words * 8;
    let bytes = match benchmark {
        "BT" => cube([12, 24, 64, 102, 162, 408], 45),
        "SP" => cube([12, 36, 64, 102, 162, 408], 40),
        "LU" => cube([12, 33, 64, 102, 162, 408], 20),
        "MG" => cube([32, 128, 256, 256, 512, 1024], 4),
        // Three arrays of complex numbers; the grid is no cube.
        "FT" => [1 << 18, 1 << 19, 1 << 23, 1 << 25, 1 << 27, 1 << 31][at] * 3 * 16,
        "CG" => {
            [1400, 7000, 14000, 75_000, 150_000, 1_500_000][at]
                * [100, 130, 170, 250, 350, 600][at]
                * 12
        }
        "IS" => [1 << 16, 1 << 20, 1 << 23, 1 << 25, 1 << 27, 1 << 31][at] * 12,
        _ => 1 << 24,
    };
    bytes + bytes / 2 + (64 << 20)
}

/// Bytes that are free, where the system says so.
pub fn available_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_npb_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let error = sources(dir.path()).unwrap_err();
        assert!(error.to_string().contains("NPB3.4-MPI") && error.exit_code() == 2, "{error}");
        let inner = dir.path().join("NPB3.4-MPI");
        for folder in ["sys", "config", "BT", "common"] {
            std::fs::create_dir_all(inner.join(folder)).unwrap();
        }
        std::fs::write(inner.join("sys/make.common"), "").unwrap();
        std::fs::write(inner.join("config/make.def.template"), "").unwrap();
        assert_eq!(sources(dir.path()).unwrap(), inner);
        assert_eq!(sources(&inner).unwrap(), inner);
    }

    #[test]
    fn programs_of_older_versions_are_for_a_number_of_ranks() {
        assert!(is_for_ranks("PROGRAM  = $(BINDIR)/$(BENCHMARK).$(CLASS).$(NPROCS)\n"));
        assert!(!is_for_ranks("PROGRAM  = $(BINDIR)/$(BENCHMARK).$(CLASS).x\n"));
    }

    #[test]
    fn a_missing_wrapper_is_named() {
        let error = own_wrappers(Path::new("/nowhere")).unwrap_err();
        assert!(
            error.to_string().contains("/nowhere/mpifort") && error.exit_code() == 2,
            "{error}"
        );
    }

    #[test]
    fn what_the_user_has_built_is_not_copied() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(from.path().join("BT")).unwrap();
        std::fs::create_dir_all(from.path().join("bin")).unwrap();
        for file in ["BT/bt.f90", "BT/bt.o", "BT/x.mod", "bin/bt.A.x"] {
            std::fs::write(from.path().join(file), "").unwrap();
        }
        copy(from.path(), to.path()).unwrap();
        assert!(to.path().join("BT/bt.f90").is_file());
        assert!(!to.path().join("BT/bt.o").exists() && !to.path().join("bin").exists());
    }

    #[test]
    fn scripts_that_lost_their_permission_get_it_back() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(from.path().join("sys")).unwrap();
        std::fs::write(from.path().join("sys/print_header"), "#!/bin/sh\n").unwrap();
        copy(from.path(), to.path()).unwrap();
        let script = std::fs::metadata(to.path().join("sys/print_header")).unwrap();
        assert_eq!(script.permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn ranks_and_memory() {
        assert!(runs_on("BT", 4) && runs_on("SP", 9) && !runs_on("BT", 2));
        assert!(runs_on("MG", 8) && !runs_on("MG", 6) && runs_on("EP", 3));
        for benchmark in super::super::BENCHMARKS {
            let sizes: Vec<u64> =
                super::super::CLASSES.iter().map(|c| memory(benchmark, c)).collect();
            assert!(sizes.is_sorted(), "{benchmark}: {sizes:?}");
        }
        // Known: FT class B holds about 1.7 GB, IS class C about 1.5.
        assert!((1..4).contains(&(memory("FT", "B") >> 30)), "{}", memory("FT", "B") >> 20);
    }
}
