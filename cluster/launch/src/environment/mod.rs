//! The environment of the ranks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::args::{Options, Pass, Program};
use crate::error::LaunchError;

mod library;
pub mod ranks;

pub use library::{BARE_NAME, is_ours, lead_to, library_folder, prefix};

/// Variables with which another process manager would speak to its own ranks. A job started from
/// inside another job must not hand them on.
const FOREIGN: &[&str] = &[
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_SPAWNED",
    "PMI_JOBID",
    "PMI_CONTROL_PORT",
    "PMI_CONTROL_FD",
    "HYDI_CONTROL_FD",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMIX_SERVER_URI",
    "PMIX_SERVER_URI2",
    "PMIX_SERVER_URI21",
    "PMIX_SERVER_URI3",
    "PMIX_SERVER_URI4",
    "PMIX_SERVER_URI41",
    JOB_ID,
    NODE,
    hpvm_sites::DOOR,
    crate::family::FAMILY,
    crate::family::PARENTS,
];

/// The variable that names the job. A job inside a job is called `OUTER/INNER`.
pub const JOB_ID: &str = "HPVM_JOB_ID";
/// The variable with the hosts of a job of the queue, `a:4,b:2`.
pub const NODELIST: &str = "HPVM_NODELIST";
/// The variable with the number of the host in a job of several hosts.
pub const NODE: &str = "HPVM_NODE";
/// The number of the user as whom all ranks of a job of a queue run, on every host.
pub const QUEUE_UID: &str = "HPVM_QUEUE_UID";
/// The file mode creation mask of a job of a queue, in octal digits.
pub const QUEUE_UMASK: &str = "HPVM_QUEUE_UMASK";
/// The soft limits of a job of a queue, as [`crate::limits::encode`] writes them.
pub const QUEUE_LIMITS: &str = "HPVM_QUEUE_LIMITS";
/// The variable by which ranks count what they send to whom: 1.
pub const MONITOR: &str = "HPVM_MONITOR";
/// The variable that says where ranks record what they call, the library that does so, and the variable by which it is loaded.
const RECORD: &str = "HPVM_RECORD";
const RECORDER: &str = "libhpvm_trace.so.1";
const PRELOAD: &str = "LD_PRELOAD";
/// The variable with the name of the socket where ranks announce themselves before they become the program, so that
/// `hpvm prof` counts them.
pub const PROF: &str = "HPVM_PROF";

/// Has ranks record what they call, in files of a folder.
///
/// # Errors
/// The library is not installed, or there is no present working folder.
pub fn record(options: &mut Options, shown: &str, folder: &OsStr) -> Result<(), LaunchError> {
    let library = library_folder().map(|lib| lib.join(RECORDER)).filter(|library| library.exists());
    if folder.is_empty() || library.is_none() {
        let why = if folder.is_empty() {
            "expected a folder"
        } else {
            "libhpvm_trace.so.1 is not installed"
        };
        return Err(LaunchError::usage(format!("{shown} {}: {why}", folder.to_string_lossy())));
    }
    let folder = std::path::absolute(folder)
        .map_err(|error| LaunchError::system("the present working folder", &error))?;
    // By its name alone: other hosts may have it elsewhere in their library path.
    let mut loaded = OsString::from(RECORDER);
    if let Some(others) = std::env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
        loaded.push(":");
        loaded.push(others);
    }
    options.genv.push((RECORD.into(), folder.into()));
    options.genv.push((PRELOAD.into(), loaded));
    Ok(())
}

/// Whether a variable tells a process which rank it is: what a rank starts by other ways than MPI is none.
pub fn is_foreign(name: &OsStr) -> bool {
    FOREIGN.iter().any(|foreign| name == *foreign)
        // In a Slurm allocation that has no job of ours around it these are Slurm's own.
        || ranks::is_of_rank(name) && !name.to_string_lossy().starts_with("SLURM_")
}

/// Variables set for the ranks of one program; those that differ by rank are not among them.
pub type Environment = BTreeMap<OsString, OsString>;

/// Makes the environment of one program's ranks. `present` is the launcher's own.
pub fn build(
    present: impl Iterator<Item = (OsString, OsString)>,
    options: &Options,
    program: &Program,
    library: Option<&Path>,
) -> Environment {
    let pass = program.pass.as_ref().unwrap_or(&options.pass);
    let mut environment: Environment = present
        .filter(|(name, _)| match pass {
            Pass::Usual | Pass::All => !is_foreign(name),
            Pass::Only(names) => names.contains(name),
        })
        .filter(|(name, _)| !options.unset.contains(name))
        .collect();
    for (name, value) in options.genv.iter().chain(&program.env) {
        environment.insert(name.clone(), value.clone());
    }
    if let Some(folder) = library {
        lead_to(&mut environment, folder);
    }
    environment
}

/// How names of variables begin that other hosts get without being asked for: ours, and OpenSHMEM's, which must
/// be the same on all PEs.
const PASSED_ALWAYS: [&[u8]; 3] = [b"HPVM_", b"SHMEM_", b"SMA_"];

/// What is set for a program's ranks on other hosts, on top of what their host gives them; and
/// whether it gives them anything.
pub fn for_others(
    present: impl Iterator<Item = (OsString, OsString)>,
    options: &Options,
    program: &Program,
) -> (Environment, bool) {
    use std::os::unix::ffi::OsStrExt;
    let pass = program.pass.as_ref().unwrap_or(&options.pass);
    let mut environment: Environment = present
        .filter(|(name, _)| !is_foreign(name))
        .filter(|(name, _)| match pass {
            Pass::Usual => PASSED_ALWAYS.iter().any(|begin| name.as_bytes().starts_with(begin)),
            Pass::All => true,
            Pass::Only(names) => names.contains(name),
        })
        .filter(|(name, _)| !options.unset.contains(name))
        .collect();
    for (name, value) in options.genv.iter().chain(&program.env) {
        environment.insert(name.clone(), value.clone());
    }
    (environment, !matches!(pass, Pass::Only(_)))
}

/// The part of an environment that is not another process manager's.
pub fn own(present: impl Iterator<Item = (OsString, OsString)>) -> Environment {
    present.filter(|(name, _)| !is_foreign(name)).collect()
}

/// Puts a folder in front of a path list in an environment.
pub fn put_first(environment: &mut Environment, name: &str, folder: &Path) {
    let name = OsString::from(name);
    let path = put_in_front(folder, environment.get(&name).map(OsString::as_os_str));
    environment.insert(name, path);
}

/// A path list with this folder first.
fn put_in_front(folder: &Path, list: Option<&OsStr>) -> OsString {
    let mut path = folder.as_os_str().to_os_string();
    if let Some(list) = list.filter(|list| !list.is_empty()) {
        if std::env::split_paths(list).next().as_deref() == Some(folder) {
            return list.to_os_string();
        }
        path.push(":");
        path.push(list);
    }
    path
}

/// The last part of a job's name, without the jobs around it.
pub fn short_job_id(job: &str) -> &str {
    job.rsplit('/').next().unwrap_or(job)
}

/// A name for a new job, unlike that of any other: host, process, time. `outer` is the value of
/// [`JOB_ID`] around us.
pub fn new_job_id(outer: Option<&OsStr>) -> String {
    let host = crate::hosts::local_name();
    let host: String = host.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos() as u64);
    let own = format!("{}-{:x}-{time:x}", &host[..host.len().min(64)], std::process::id());
    match outer.map(|outer| outer.to_string_lossy()) {
        // A chain of jobs this deep is a loop; its guardians then work by process group alone.
        Some(outer) if !outer.is_empty() && outer.len() < 1024 => format!("{outer}/{own}"),
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(env: &[(&str, &str)], pass: Option<Pass>) -> Program {
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Program {
            ranks: 1,
            room: None,
            seats: None,
            argv: vec!["x".into()],
            env,
            pass,
            wdir: None,
            path: None,
        }
    }

    fn present() -> impl Iterator<Item = (OsString, OsString)> {
        [("A", "1"), ("B", "2"), ("PMI_RANK", "7"), ("LD_LIBRARY_PATH", "/x")]
            .map(|(name, value)| (name.into(), value.into()))
            .into_iter()
    }

    #[test]
    fn precedence() {
        let mut options = Options::new("mpirun");
        options.genv = vec![("B".into(), "3".into()), ("C".into(), "3".into())];
        let program = program(&[("C", "4")], None);
        let environment = build(present(), &options, &program, Some(Path::new("/p/lib")));
        let text = format!("{environment:?}");
        assert_eq!(text, r#"{"A": "1", "B": "3", "C": "4", "LD_LIBRARY_PATH": "/p/lib:/x"}"#);
    }

    #[test]
    fn passing() {
        let mut options = Options::new("mpirun");
        options.pass = Pass::Only(Vec::new());
        assert!(build(present(), &options, &program(&[], None), None).is_empty());
        let only = Pass::Only(vec!["B".into(), "Z".into()]);
        let environment = build(present(), &options, &program(&[], Some(only)), None);
        assert_eq!(format!("{environment:?}"), r#"{"B": "2"}"#);
    }

    #[test]
    fn what_goes_to_other_hosts() {
        let mut options = Options::new("mpirun");
        options.genv = vec![("C".into(), "3".into())];
        let checks =
            [("HPVM_CHECK".into(), "1".into()), ("SHMEM_SYMMETRIC_SIZE".into(), "1g".into())];
        let present = || present().chain(checks.clone());
        let (set, inherit) = for_others(present(), &options, &program(&[("D", "4")], None));
        assert_eq!(
            format!("{set:?}"),
            r#"{"C": "3", "D": "4", "HPVM_CHECK": "1", "SHMEM_SYMMETRIC_SIZE": "1g"}"#
        );
        assert!(inherit);
        options.pass = Pass::All;
        let (set, _) = for_others(present(), &options, &program(&[], None));
        assert_eq!(set.len(), 6);
        let only = Pass::Only(vec!["A".into()]);
        let (set, inherit) = for_others(present(), &options, &program(&[], Some(only)));
        assert_eq!(format!("{set:?}"), r#"{"A": "1", "C": "3"}"#);
        assert!(!inherit);
    }

    #[test]
    fn a_folder_is_not_put_in_front_twice() {
        let path = put_in_front(Path::new("/p/lib"), Some(OsStr::new("/p/lib:/x")));
        assert_eq!(path, OsStr::new("/p/lib:/x"));
        assert_eq!(put_in_front(Path::new("/p/lib"), Some(OsStr::new(""))), OsStr::new("/p/lib"));
    }

    #[test]
    fn job_ids() {
        let first = new_job_id(None);
        assert!(!first.contains('/'));
        let inner = new_job_id(Some(OsStr::new(&first)));
        assert!(inner.starts_with(&format!("{first}/")), "{inner}");
    }
}
