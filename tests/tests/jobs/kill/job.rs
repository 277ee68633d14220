//! A job that is going to be killed, and what it leaves behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hpvm_tests::process::{self, MARKER};
use hpvm_tests::processes;

use super::folders::Folders;
use crate::common::{PATIENCE, clean, marker, prefix};

/// How long processes may take to disappear after the launcher.
const GRACE: Duration = Duration::from_secs(60);

/// A running job, its processes marked, its /tmp and /dev/shm watched.
pub struct Job {
    launcher: Child,
    log: File,
    marker: String,
    place: Folders,
    ranks: BTreeMap<u32, i32>,
    /// Inodes of the anonymous files that its ranks had mapped when we looked.
    memory: BTreeSet<u64>,
    killed: Option<Instant>,
}

impl Job {
    /// Starts `mpirun -n RANKS PROGRAM ARGUMENTS`.
    pub fn start(ranks: u32, program: &Path, arguments: &[&str]) -> Result<Job, String> {
        let marker = marker();
        let log = tempfile::tempfile().map_err(|e| format!("no temporary file: {e}"))?;
        let handle = || log.try_clone().map_err(|e| format!("no temporary file: {e}"));
        let mut command = clean(prefix().join("bin/mpirun"));
        command.args(["-n", &ranks.to_string()]).arg(program).args(arguments);
        command.stdin(Stdio::null()).stdout(handle()?).stderr(handle()?);
        command.process_group(0).env(MARKER, &marker);
        process::end_with_this_thread(&mut command);
        let place = Folders::new(&mut command);
        let launcher = command.spawn().map_err(|e| format!("mpirun does not start: {e}"))?;
        Ok(Job {
            launcher,
            log,
            marker,
            place,
            ranks: BTreeMap::new(),
            memory: BTreeSet::new(),
            killed: None,
        })
    }

    /// The process of a rank, once there is one.
    fn rank(&self, rank: u32) -> Option<i32> {
        let variable = format!("PMI_RANK={rank}");
        let mut all = process::marked(&self.marker).into_iter();
        all.find(|pid| processes::has(*pid, &variable))
    }

    /// All processes of the job: ranks, those of jobs that it has spawned included, launchers and guardians.
    pub fn processes(&self) -> Vec<i32> {
        process::marked(&self.marker)
    }

    /// The processes of all ranks, also of spawned ones.
    pub fn ranks(&self) -> Vec<i32> {
        let is_rank = |pid: &i32| {
            let variables = processes::variables(*pid);
            let knows = |name: &[u8]| variables.iter().any(|word| word.starts_with(name));
            knows(b"PMI_RANK=") && !knows(b"HPVM_LIFELINE=")
        };
        self.processes().into_iter().filter(is_rank).collect()
    }

    /// Kills one of them.
    pub fn kill_process(&mut self, pid: i32) {
        self.kill(pid);
    }

    /// Waits for the processes of these ranks, and remembers them: to look for one takes longer
    /// than much of what is to be interrupted.
    pub fn wait_for_ranks(&mut self, ranks: &[u32]) -> Result<(), String> {
        self.until("the ranks' processes", |job| {
            for rank in ranks {
                if let Some(pid) = job.rank(*rank) {
                    job.ranks.insert(*rank, pid);
                }
            }
            Ok(ranks.iter().all(|rank| job.ranks.contains_key(rank)))
        })
    }

    pub fn wait_for_output(&mut self, text: &str) -> Result<(), String> {
        self.until(text, |job| Ok(job.output()?.contains(text)))
    }

    fn until(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Job) -> Result<bool, String>,
    ) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while !done(self)? {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                return Err(format!("{status} before {what}; output:\n{}", self.output()?));
            }
            if Instant::now() > end {
                return Err(format!("no {what} after {PATIENCE:?}; output:\n{}", self.output()?));
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    }

    fn output(&mut self) -> Result<String, String> {
        let mut text = Vec::new();
        // Position and all are the children's, too, so read a file of our own.
        let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.log));
        let mut file = File::open(own).map_err(|e| format!("the log: {e}"))?;
        file.rewind().and_then(|()| file.read_to_end(&mut text)).map_err(|e| format!("{e}"))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Notes what memory without a name the processes of the job share.
    pub fn look(&mut self) {
        for pid in process::marked(&self.marker) {
            self.memory.extend(anonymous_files(pid));
        }
    }

    /// Kills a rank that `wait_for_ranks` has found.
    pub fn kill_rank(&mut self, rank: u32) {
        if let Some(pid) = self.ranks.get(&rank) {
            self.kill(*pid);
        }
    }

    /// Kills the small process that ends the job when the launcher is killed.
    pub fn kill_guardian(&mut self) -> Result<i32, String> {
        let mut found = None;
        // It takes its name when it gets its first turn, which ranks may have before it.
        self.until("process named hpvm-guardian", |job| {
            found = process::marked(&job.marker).into_iter().find(|pid| {
                std::fs::read_to_string(format!("/proc/{pid}/comm"))
                    .is_ok_and(|name| name.trim_end() == "hpvm-guardian")
            });
            Ok(found.is_some())
        })?;
        let guardian = found.ok_or("no guardian")?;
        self.kill(guardian);
        Ok(guardian)
    }

    /// Waits until one of the job's processes, which was killed, runs no more; the job goes on.
    pub fn wait_until_gone(&mut self, pid: i32) -> Result<(), String> {
        self.until("a killed process's end", |job| Ok(!job.processes().contains(&pid)))
    }

    pub fn kill_launcher(&mut self) {
        self.kill(self.launcher.id() as i32);
    }

    fn kill(&mut self, pid: i32) {
        self.killed.get_or_insert_with(Instant::now);
        // SAFETY: kill(2) takes integers; the process is our child, or carries our mark.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }

    /// Waits for the end of the launcher, at most `limit`, and checks that nothing is left.
    /// Gives exit code, time since the first kill, and output.
    pub fn end(mut self, limit: Duration) -> Result<(i32, Duration, String), String> {
        let start = self.killed.unwrap_or_else(Instant::now);
        let status = loop {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                break status;
            }
            if start.elapsed() > limit {
                let output = self.output()?;
                return Err(format!("not ended {limit:?} after the kill; output:\n{output}"));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        self.all_gone()?;
        let took = start.elapsed();
        let mut left = self.place.left();
        left.extend(self.mapped());
        let output = self.output()?;
        if !left.is_empty() {
            return Err(format!("left behind: {}; output:\n{output}", left.join(", ")));
        }
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok((code, took, output))
    }

    fn all_gone(&self) -> Result<(), String> {
        let end = Instant::now() + GRACE;
        loop {
            let left = process::marked(&self.marker);
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("processes are left after {GRACE:?}: {left:?}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Processes that still map the job's memory.
    fn mapped(&self) -> Vec<String> {
        let pids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| anonymous_files(*pid).iter().any(|inode| self.memory.contains(inode)))
            .map(|pid| format!("the memory, mapped by process {pid}"))
            .collect()
    }
}

impl Drop for Job {
    /// A job whose test has failed must not go on.
    fn drop(&mut self) {
        if let Ok(None) = self.launcher.try_wait() {
            self.kill_launcher();
            let _ = self.launcher.wait();
        }
        for pid in process::marked(&self.marker) {
            self.kill(pid);
        }
    }
}

/// The inodes of the memfds that a process has mapped.
fn anonymous_files(pid: i32) -> Vec<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let lines = maps.lines().filter(|line| line.contains("/memfd:"));
    lines.filter_map(|line| line.split_whitespace().nth(4)?.parse().ok()).collect()
}
