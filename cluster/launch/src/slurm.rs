//! The allocation of a Slurm job, from the environment that Slurm gives to what runs in it.

use crate::error::LaunchError;
use crate::hostlist;
use crate::hosts::Host;

/// How agents are started inside of an allocation. A step of its own per host, beside whatever
/// else runs there; `ssh` may be forbidden on the nodes.
pub const SRUN: &[&str] = &[
    "srun",
    "--overlap",
    "--nodes=1",
    "--ntasks=1",
    "--mpi=none",
    "--cpu-bind=none",
    "--quiet",
    "--kill-on-bad-exit=0",
    "--nodelist",
];

/// The hosts of the allocation we are in, with their slots; none outside of one. `variable` looks
/// into the environment.
pub fn hosts(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Host>, LaunchError> {
    if variable("SLURM_JOB_ID").is_none() {
        return Ok(Vec::new());
    }
    let Some(list) = variable("SLURM_JOB_NODELIST") else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for item in hostlist::items(&list) {
        names.extend(hostlist::expand(item)?);
    }
    let slots = match variable("SLURM_TASKS_PER_NODE") {
        Some(text) => counts(&text, names.len())?,
        None => vec![1; names.len()],
    };
    Ok(names
        .into_iter()
        .zip(slots)
        .map(|(name, slots)| Host { name, slots: Some(slots) })
        .collect())
}

/// Reads `2(x3),1`: two on each of three hosts, one on the fourth.
fn counts(text: &str, hosts: usize) -> Result<Vec<u32>, LaunchError> {
    let bad = || {
        LaunchError::usage(format!(
            "SLURM_TASKS_PER_NODE is '{text}'; expected numbers for {hosts} hosts, like 2(x3),1"
        ))
    };
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')').ok_or_else(bad)?),
            None => (part, "1"),
        };
        let count: u32 = count.trim().parse().map_err(|_| bad())?;
        let times: usize = times.parse().map_err(|_| bad())?;
        if count == 0 || times > hosts || counts.len() + times > hosts {
            return Err(bad());
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    if counts.len() == hosts { Ok(counts) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(list: &str, tasks: &str) -> Result<Vec<Host>, LaunchError> {
        hosts(|name| match name {
            "SLURM_JOB_ID" => Some("7".to_string()),
            "SLURM_JOB_NODELIST" => Some(list.to_string()),
            "SLURM_TASKS_PER_NODE" if !tasks.is_empty() => Some(tasks.to_string()),
            _ => None,
        })
    }

    #[test]
    fn allocations() {
        let hosts = allocation("n[1-3],login", "2(x3),1").unwrap();
        let text: Vec<String> =
            hosts.iter().map(|host| format!("{}:{}", host.name, host.slots.unwrap())).collect();
        assert_eq!(text, ["n1:2", "n2:2", "n3:2", "login:1"]);
        assert_eq!(allocation("n1", "").unwrap()[0].slots, Some(1));
        assert!(super::hosts(|_| None).unwrap().is_empty());
    }

    #[test]
    fn faults() {
        for tasks in ["2", "2(x9)", "x", "2(x2", "0(x2)", "2(x2),1", "2(x99999999999)"] {
            let error = allocation("n[1-2]", tasks).unwrap_err();
            assert!(error.message.contains("SLURM_TASKS_PER_NODE"), "{tasks}: {error}");
        }
        assert!(allocation("n[", "1").is_err());
    }
}
