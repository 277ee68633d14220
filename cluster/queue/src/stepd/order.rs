//! What a supervisor is told: written by the server, read once.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::record::Folder;
use crate::account::Account;

/// A job as its supervisor performs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Program and arguments of the launcher.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    pub workdir: PathBuf,
    pub stdout: PathBuf,
    /// What is in these files already stays: an attempt before has written it.
    #[serde(default)]
    pub append: bool,
    /// The same as `stdout` when both go there.
    pub stderr: PathBuf,
    pub time_limit_seconds: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Processes and threads of all that the supervisor has started.
    #[serde(default)]
    pub max_processes: Option<u32>,
    /// Processors that it has reserved on this host.
    #[serde(default)]
    pub cpus: Option<u32>,
    /// The numbers of those to which it is bound; none: to nothing.
    #[serde(default)]
    pub processors: Vec<u32>,
    /// As whom the job runs; as the supervisor itself without it.
    #[serde(default)]
    pub user: Option<Account>,
    /// Why it must not run at all.
    #[serde(default)]
    pub refused: Option<String>,
    #[serde(default)]
    pub umask: Option<u32>,
    #[serde(default)]
    pub limits: BTreeMap<String, u64>,
    /// Value of `HPVM_JOB_ID` by which everything that belongs to the job is known.
    pub mark: String,
}

impl Order {
    /// Writes it so that it is there as a whole or not at all.
    pub fn write(&self, folder: &Folder) -> io::Result<()> {
        replace(&folder.order(), &serde_json::to_vec(self)?, 0o600)
    }

    /// Does something with the rights of the job's user.
    pub fn with_rights<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match &self.user {
            Some(user) => user.with_rights(work),
            None => work(),
        }
    }

    pub fn read(folder: &Folder) -> io::Result<Order> {
        Ok(serde_json::from_slice(&std::fs::read(folder.order())?)?)
    }
}

/// Puts a file in place in one step.
pub fn replace(path: &std::path::Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let new = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(mode).open(&new)?;
    file.write_all(bytes)?;
    drop(file);
    std::fs::rename(&new, path)
}
