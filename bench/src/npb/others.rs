//! MPIs of the system that compile Fortran themselves: Debian and Ubuntu call their commands `mpifort.mpich`,
//! `mpirun.openmpi` and so on.

use super::build::{self, Built};
use crate::error::BenchError;
use crate::target::Target;
use std::path::{Path, PathBuf};

/// As their commands end, and arguments without which a launcher refuses root, and more ranks than processors.
const NAMES: [(&str, &[&str]); 2] =
    [("mpich", &[]), ("openmpi", &["--allow-run-as-root", "--oversubscribe"])];

/// Those that have a launcher and both compilers, each with a copy of the sources.
pub fn found(sources: &Path) -> Result<Vec<(Target, Built)>, BenchError> {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    let mut all = Vec::new();
    for (name, args) in NAMES {
        let command = |command: &str| on_path(&folders, &format!("{command}.{name}"));
        let [launcher, fortran, c] = ["mpirun", "mpifort", "mpicc"].map(command);
        let (Some(launcher), Some(fortran), Some(c)) = (launcher, fortran, c) else { continue };
        let mut target = Target::new(&format!("system's {name}"), launcher, PathBuf::new(), None);
        target.launch_args = args.iter().map(|arg| (*arg).to_owned()).collect();
        all.push((target, Built::new(sources, build::Wrappers { fortran, c })?));
    }
    Ok(all)
}

fn on_path(folders: &[PathBuf], command: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(command)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_that_has_it_counts() {
        let [a, b] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let folders = [a.path().to_owned(), b.path().to_owned()];
        assert_eq!(on_path(&folders, "mpirun.mpich"), None);
        for folder in [&b, &a] {
            let file = folder.path().join("mpirun.mpich");
            std::fs::write(&file, "").unwrap();
            assert_eq!(on_path(&folders, "mpirun.mpich"), Some(file));
        }
    }
}
