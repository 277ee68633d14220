//! Processes that ranks have started and left behind. The launcher is their sub-reaper: whoever
//! loses its parent becomes the launcher's child, so that nothing escapes by daemonising.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::{lifeline, sys};

/// Sweeps at most, and the time between two.
const SWEEPS: u32 = 400;
const SWEEP_EVERY: Duration = Duration::from_millis(5);

/// Finds the job's processes among the launcher's children.
#[derive(Debug)]
pub struct Leftovers {
    /// Children that are not the job's: the guardian, and those we had before (a shell that
    /// became the launcher by `exec` leaves us its background processes).
    foreign: BTreeSet<i32>,
    /// Those of jobs that have parted are meant, too.
    with_parted: bool,
    /// Those of jobs that are connected with ours are meant, too.
    with_jobs: bool,
}

impl Leftovers {
    /// Becomes the sub-reaper. To be called after the guardian was started and before any rank.
    pub fn adopt() -> Self {
        // SAFETY: sets a flag of this process. Without it, orphans are found by group only.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        Self { foreign: children(), with_parted: false, with_jobs: false }
    }

    /// A child that is not the job's: it connects us to another host.
    pub fn ignore(&mut self, pid: i32) {
        self.foreign.insert(pid);
    }

    /// Collects the exit status of every child that has ended and is not in `keep`. Says whether
    /// a child of the job is still alive.
    pub fn reap(&self, keep: impl Fn(i32) -> bool) -> bool {
        let mut alive = false;
        for pid in children().difference(&self.foreign).filter(|pid| !keep(**pid)) {
            // SAFETY: asks for one child's status without waiting; the status is not wanted.
            let ended = unsafe { libc::waitpid(*pid, std::ptr::null_mut(), libc::WNOHANG) };
            alive |= ended == 0;
        }
        alive
    }

    /// Whether one of them is the launcher of a job that a rank has spawned.
    pub fn has_spawned_job(&self) -> bool {
        children().difference(&self.foreign).any(|pid| lifeline::is_spawning(*pid))
    }

    /// Whether one of them is the launcher of a job that is connected with ours no more, and is to go on.
    pub fn has_parted_job(&self) -> bool {
        let mut children = children();
        children.retain(|pid| !self.foreign.contains(pid));
        !self.with_parted && children.into_iter().any(lifeline::has_parted)
    }

    /// Sends a signal to everything that descends from the launcher and is the job's. A launcher of a job that is connected with
    /// ours has noticed that it is to end that: were it killed, so would be all jobs that run below it, of which some may have parted.
    pub fn signal(&self, number: i32) {
        let spared = |pid| match self.with_jobs {
            false => lifeline::is_spawning(pid),
            true => lifeline::has_parted(pid),
        };
        for pid in self.descendants(|pid| self.with_parted || !spared(pid)) {
            sys::kill(pid, number);
        }
    }

    /// Kills everything that descends from the launcher and is the job's, whatever group or variables it has, until there
    /// is nothing. Blocks for 2 s at most: a process may hang in the kernel.
    pub fn end(&self) {
        for _ in 0..SWEEPS {
            self.reap(|_| false);
            if self.descendants(|pid| !lifeline::is_spawning(pid)).is_empty() {
                return;
            }
            self.signal(libc::SIGKILL);
            std::thread::sleep(SWEEP_EVERY);
        }
    }

    /// From now on launchers of jobs that are connected with ours get the signals, too.
    pub fn kill_jobs(&mut self) {
        self.with_jobs = true;
    }

    /// Sends a signal to the launchers of jobs that have parted from ours, which from now on end with it.
    pub fn signal_parted(&mut self, number: i32) {
        self.with_parted = true;
        let parted =
            self.descendants(|_| true).into_iter().filter(|pid| lifeline::has_parted(*pid));
        parted.for_each(|pid| sys::kill(pid, number));
    }

    /// All processes below this one that are `wanted` and whose ancestors are.
    fn descendants(&self, wanted: impl Fn(i32) -> bool) -> Vec<i32> {
        let mut by_parent: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for pid in all_pids() {
            if let Some(parent) = parent_of(pid) {
                by_parent.entry(parent).or_default().push(pid);
            }
        }
        let mut found = Vec::new();
        let mut parents = vec![std::process::id() as i32];
        while let Some(parent) = parents.pop() {
            for pid in by_parent.remove(&parent).unwrap_or_default() {
                if !self.foreign.contains(&pid) && wanted(pid) {
                    found.push(pid);
                    parents.push(pid);
                }
            }
        }
        found
    }
}

/// The numbers of all processes there are.
pub fn all_pids() -> impl Iterator<Item = i32> {
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn children() -> BTreeSet<i32> {
    let own = std::process::id() as i32;
    match std::fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(text) => text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // A kernel without that file: look at every process.
        Err(_) => all_pids().filter(|pid| parent_of(*pid) == Some(own)).collect(),
    }
}

/// The parent of a process.
pub fn parent_of(pid: i32) -> Option<i32> {
    hpvm_os::process::parent(pid as u32).map(|parent| parent as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let pid = child.id() as i32;
        assert_eq!(parent_of(pid), Some(std::process::id() as i32));
        assert!(all_pids().any(|other| other == pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
