//! The processes of a job. The supervisor is their sub-reaper: whoever loses its parent becomes the
//! supervisor's child, so that a supervisor without children has nothing of the job left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hpvm_launch::executor::guardian;
use hpvm_launch::sys;

/// Sweeps at most; a process that hangs in the kernel must not hold the supervisor for ever.
const SWEEPS: u32 = 400;
const SWEEP_EVERY: Duration = Duration::from_millis(5);
/// Scans without a find after which nothing with the job's mark is left: one in the middle of
/// `execve` may hide from one scan.
const EMPTY_SCANS: u32 = 4;

/// Collects the status of every child that has ended; `None` when there are no children at all.
pub fn reap(mut ended: impl FnMut(i32, i32)) -> Option<()> {
    loop {
        let mut status = 0;
        // SAFETY: asks for any child's status without waiting; the place is writable.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return Some(()),
            -1 if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return None,
            pid => ended(pid, status),
        }
    }
}

/// Kills all that descends from this process, until it has no children.
pub fn sweep() -> bool {
    for round in 0..SWEEPS {
        if reap(|_, _| {}).is_none() {
            return true;
        }
        // Whoever starts processes faster than they are found and killed is stopped first.
        if round > 0 {
            descendants().into_iter().for_each(|pid| sys::kill(pid, libc::SIGSTOP));
        }
        descendants().into_iter().for_each(|pid| sys::kill(pid, libc::SIGKILL));
        std::thread::sleep(SWEEP_EVERY);
    }
    false
}

/// Kills all that has the job's mark in its environment: for a job that has lost its supervisor.
/// Blocks until nothing is found, 2 s at most; says whether nothing is left.
pub fn kill_marked(mark: &str) -> bool {
    let marks = guardian::marks(mark, None);
    let mut empty = 0;
    for _ in 0..SWEEPS {
        let found = guardian::processes_of(&marks);
        empty = if found.is_empty() { empty + 1 } else { 0 };
        if empty == EMPTY_SCANS {
            return true;
        }
        found.iter().for_each(|pid| sys::kill(*pid, libc::SIGKILL));
        std::thread::sleep(SWEEP_EVERY);
    }
    false
}

/// All processes that descend from this one.
pub fn descendants() -> Vec<i32> {
    descendants_of(&[std::process::id() as i32])
}

/// All processes that descend from these.
pub fn descendants_of(ancestors: &[i32]) -> Vec<i32> {
    let mut by_parent: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for pid in all_pids() {
        if let Some(parent) = parent_of(pid) {
            by_parent.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut parents = ancestors.to_vec();
    while let Some(parent) = parents.pop() {
        for pid in by_parent.remove(&parent).unwrap_or_default() {
            found.push(pid);
            parents.push(pid);
        }
    }
    found
}

fn all_pids() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent_of(pid: i32) -> Option<i32> {
    hpvm_os::process::parent(pid as u32).map(|parent| parent as i32)
}

/// Those that descend from this one and are on this host: a command that leads to other hosts may start processes of
/// theirs below us, where hosts are containers.
fn own() -> BTreeSet<i32> {
    descendants().into_iter().filter(|pid| is_here(*pid)).collect()
}

/// Whether a process is on this host, by its network.
pub fn is_here(pid: i32) -> bool {
    let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
    network(&pid.to_string()) == network("self")
}

/// How many processes and threads descend from this one.
pub fn tasks() -> u64 {
    tasks_of_all(&own())
}

/// How many threads these processes have.
pub fn tasks_of_all(processes: &BTreeSet<i32>) -> u64 {
    processes.iter().filter_map(|pid| tasks_of(*pid)).sum()
}

fn tasks_of(pid: i32) -> Option<u64> {
    // The 18th word behind the name.
    hpvm_os::process::stat(pid as u32)?.split_ascii_whitespace().nth(17)?.parse().ok()
}

/// Memory of all processes that descend from this one, in bytes: what they share counts once.
pub fn memory() -> u64 {
    memory_of_all(&own())
}

/// The same of these processes.
pub fn memory_of_all(processes: &BTreeSet<i32>) -> u64 {
    processes.iter().filter_map(|pid| memory_of(*pid)).sum()
}

/// The user as whom a process runs.
pub fn user_of(pid: i32) -> Option<u32> {
    // The name in it need not be text.
    let status = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // The real one, the effective one, and two more.
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The kernel's name of a process.
pub fn name_of(pid: i32) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_string())
}

fn memory_of(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
