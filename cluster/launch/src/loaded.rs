//! Which MPI library a process has loaded, seen from outside: a rank that uses another MPI than
//! hpvm's is a job of its own, and would compute something else without a word.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use hpvm_linkage::names::{Family, Role, classify};

use crate::environment;

/// The file of a job's shared memory, as `/proc/PID/fd` shows it.
pub const SEGMENT: &str = "/memfd:hpvm (deleted)";
/// A rank may be a script that starts the program; so many of its descendants are looked at.
const DESCENDANTS_MAX: usize = 16;

/// What was found in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has loaded another MPI's library; with its ABI, where its name says it.
    Other { pid: i32, library: PathBuf, family: Option<Family> },
    /// It runs hpvm's library, in a job of its own.
    Alone { pid: i32 },
}

impl Found {
    /// The process.
    pub fn pid(&self) -> i32 {
        match self {
            Found::Other { pid, .. } | Found::Alone { pid } => *pid,
        }
    }
}

/// Looks at a rank's process and what it has started. `ours` is the folder of our libraries.
/// `joined`: the rank has called MPI_Init as a part of this job.
pub fn look(pid: i32, ours: Option<&Path>, joined: bool) -> Option<Found> {
    let processes = with_descendants(pid);
    processes.into_iter().find_map(|pid| {
        let maps = fs::read(format!("/proc/{pid}/maps")).ok()?;
        let libraries = mpi_libraries(&String::from_utf8_lossy(&maps));
        let is_ours = |file: &&PathBuf| {
            ours.is_some_and(|folder| file.parent() == Some(folder)) || environment::is_ours(file)
        };
        let other = libraries.iter().find(|file| !is_ours(file));
        match other {
            Some(file) if !libraries.iter().any(|file| is_ours(&file)) => {
                let family = classify(&file.to_string_lossy()).map(|(family, _)| family);
                Some(Found::Other { pid, library: file.clone(), family })
            }
            // Ours besides: the other was only looked at.
            _ if !joined && libraries.iter().any(|file| is_ours(&file)) && has_segment(pid) => {
                Some(Found::Alone { pid })
            }
            _ => None,
        }
    })
}

/// The MPI libraries among the files that a process has mapped, by the text of `/proc/PID/maps`.
fn mpi_libraries(maps: &str) -> BTreeSet<PathBuf> {
    let files = maps.lines().filter_map(|line| {
        let path = line.find('/').map(|at| &line[at..])?;
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let name = path.rsplit('/').next()?;
        // One without a version: some vendors' are called so.
        let mpi = name == "libmpi.so" || matches!(classify(name), Some((_, Role::C)));
        mpi.then(|| PathBuf::from(path))
    });
    files.collect()
}

/// A process and what it has started.
pub fn with_descendants(pid: i32) -> Vec<i32> {
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() && all.len() < DESCENDANTS_MAX {
        let children = format!("/proc/{0}/task/{0}/children", all[at]);
        let children = fs::read_to_string(children).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        at += 1;
    }
    all
}

fn has_segment(pid: i32) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|link| link.as_os_str() == OsStr::new(SEGMENT))
}

/// The name of a process's program, for messages.
fn program(pid: i32) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name)
        .trim()
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// Cause and remedy in one line. `who` is the rank, `ours` the folder of our libraries.
pub fn text(found: &Found, who: &str, joined: bool, ours: Option<&Path>) -> String {
    match found {
        Found::Other { pid, library, family } => {
            let abi = family.map_or(String::new(), |family| format!(" ({})", family.title()));
            let so = match joined {
                true => "",
                false => " and finds itself alone: each rank is then a job of one rank",
            };
            let (library, remedy) = (library.display(), remedy(&program(*pid), *family, ours));
            format!("{who} uses {library}{abi} instead of hpvm's library{so}; {remedy}")
        }
        Found::Alone { .. } => format!(
            "{who} has started hpvm's MPI as a job of its own, of one rank: what mpirun gave it \
             (PMI_FD, PMI_RANK, PMI_SIZE, an open descriptor) did not reach it; does env -i, sudo \
             or a container stand between?"
        ),
    }
}

/// What makes this program load our library.
fn remedy(program: &str, family: Option<Family>, ours: Option<&Path>) -> String {
    let Some(folder) = ours.map(Path::display) else {
        return "leave --no-library-path out, or put the folder of hpvm's libraries first in \
                LD_LIBRARY_PATH"
            .to_string();
    };
    let name = if family == Some(Family::OpenMpi) { "libmpi.so.40" } else { "libmpi.so.12" };
    match program {
        "R" | "Rscript" => format!(
            "set R_LD_LIBRARY_PATH to {folder} followed by R's own folder (R RHOME)/lib: R puts \
             that in front of LD_LIBRARY_PATH"
        ),
        "julia" => format!(
            "run julia -e 'using MPIPreferences; MPIPreferences.use_system_binary(; \
             library_names=[\"{folder}/{name}\"])'"
        ),
        python if python.starts_with("python") => format!(
            "let it load {folder}/{name}: MPI4PY_LIBMPI={folder}/{name} for mpi4py's wheel; \
             'hpvm info MODULE.so' says why another module loads something else"
        ),
        _ => format!(
            "let it load {folder}/{name}: a DT_RPATH (see 'hpvm info PROGRAM'), an absolute path, \
             or a script that sets LD_LIBRARY_PATH anew stands in the way"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_among_maps() {
        let maps = "\
7f00-7f01 r-xp 00000000 fe:00 12   /usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4\n\
7f01-7f02 r--p 00000000 fe:00 12   /usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4\n\
7f02-7f03 r--p 00000000 fe:00 13   /usr/lib/libmpi_mpifh.so.40.30.0\n\
7f03-7f04 r--p 00000000 fe:00 13   /a b/libmpich.so.12.2.0 (deleted)\n\
7f04-7f05 r--p 00000000 fe:00 13   /usr/lib/libc.so.6\n\
7f05-7f06 rw-p 00000000 00:00 0    [heap]\n";
        let found: Vec<_> = mpi_libraries(maps).into_iter().collect();
        let open_mpi = "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40.30.4";
        assert_eq!(found, [Path::new("/a b/libmpich.so.12.2.0"), Path::new(open_mpi)]);
    }

    #[test]
    fn a_plain_process_has_none() {
        assert_eq!(look(std::process::id() as i32, None, false), None);
    }

    #[test]
    fn remedies() {
        let library = PathBuf::from("/x/libmpi.so.40.30.4");
        let found = Found::Other { pid: -1, library, family: Some(Family::OpenMpi) };
        let said = text(&found, "rank 1", false, Some(Path::new("/p/lib")));
        assert!(said.starts_with("rank 1 uses /x/libmpi.so.40.30.4 (Open MPI's ABI) instead"));
        assert!(said.contains("job of one rank; let it load /p/lib/libmpi.so.40"), "{said}");
        assert!(text(&found, "r", true, None).contains("--no-library-path"));
        let ours = Some(Path::new("/p/lib"));
        assert!(remedy("R", None, ours).contains("R_LD_LIBRARY_PATH"));
        assert!(remedy("python3.11", None, ours).contains("MPI4PY_LIBMPI=/p/lib/libmpi.so.12"));
    }
}
