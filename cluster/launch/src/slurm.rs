//! The allocation of a Slurm job: from the environment that Slurm gives to what runs in it, or as Slurm tells who asks.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::error::LaunchError;
use crate::hostlist;
use crate::hosts::Host;
use crate::remote::start::quote;

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

/// The job we are in.
pub const JOB: &str = "SLURM_JOB_ID";

/// An allocation that somebody names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// As it was written: `slurm`, `slurm:JOB` or `slurm:JOB@LOGIN`.
    shown: String,
    /// None: the job we are in.
    job: Option<u32>,
    /// A host that reaches its cluster, where this one does not.
    login: Option<String>,
}

impl Allocation {
    /// Reads its name; none if the text names no allocation.
    ///
    /// # Errors
    /// It begins as one, and goes on otherwise.
    pub fn parse(text: &str) -> Result<Option<Allocation>, LaunchError> {
        let shown = text.to_string();
        if text == "slurm" {
            return Ok(Some(Allocation { shown, job: None, login: None }));
        }
        let Some(place) = text.strip_prefix("slurm:") else { return Ok(None) };
        let (job, login) = match place.split_once('@') {
            Some((job, login)) => (job, Some(login.to_string())),
            None => (place, None),
        };
        let digits = job.bytes().all(|byte| byte.is_ascii_digit());
        let job = job.parse().ok().filter(|job| *job > 0 && digits);
        let fits = login.as_deref().is_none_or(crate::hosts::is_name);
        match job {
            Some(job) if fits => Ok(Some(Allocation { shown, job: Some(job), login })),
            _ => Err(LaunchError::usage(format!(
                "'{text}': expected slurm, slurm:JOB or slurm:JOB@LOGIN, where JOB is the number of a Slurm job and LOGIN a \
                 host that reaches its cluster"
            ))),
        }
    }

    /// The name that one of its hosts has in the job: nodes of different clusters may be called the same.
    pub fn full_name(&self, host: &str) -> String {
        self.login.as_ref().map_or_else(|| host.to_string(), |login| format!("{host}@{login}"))
    }

    /// The name that its own cluster gives to a host.
    pub fn own_name<'a>(&self, host: &'a str) -> &'a str {
        let tail = self.login.as_ref().and_then(|login| host.strip_suffix(login.as_str()));
        tail.and_then(|front| front.strip_suffix('@')).unwrap_or(host)
    }

    /// Whether its hosts are those of a cluster that only another host reaches, so that none of them is this machine.
    pub fn is_elsewhere(&self) -> bool {
        self.login.is_some()
    }

    /// What starts something on one of its hosts, whose name follows: srun, which takes the words behind that as they are.
    /// It is run on this machine, or by a shell of [`Allocation::login`].
    pub fn srun(&self) -> Vec<OsString> {
        let job = self.job.map(|job| OsString::from(format!("--jobid={job}")));
        let words = SRUN.iter().map(OsString::from);
        words.clone().take(1).chain(job).chain(words.skip(1)).collect()
    }

    /// The words that give the words behind them to a shell which reaches the cluster; empty: this machine does. `reach`: how other hosts
    /// are reached.
    pub fn login(&self, reach: &[OsString]) -> Vec<OsString> {
        let login = self.login.iter().map(OsString::from);
        login.flat_map(|login| reach.iter().cloned().chain([login])).collect()
    }

    /// Its hosts with their slots. Asks Slurm, and waits for the answer, where it is not the allocation we are in.
    ///
    /// # Errors
    /// There is no such job, it does not run, or nobody can be asked.
    pub fn hosts(&self, reach: &[OsString]) -> Result<Vec<Host>, LaunchError> {
        let own = std::env::var(JOB).ok().and_then(|job| job.parse::<u32>().ok());
        let inside = own.is_some() && self.login.is_none();
        let found = match self.job {
            None if own.is_none() => Err(LaunchError::usage(format!(
                "this is not inside of a Slurm job ({JOB} is not set): name one by slurm:JOB or slurm:JOB@LOGIN"
            ))),
            Some(job) if !(inside && own == Some(job)) => self.asked(job, reach),
            _ => hosts(|name| std::env::var(name).ok()),
        };
        let named = |error: LaunchError| LaunchError {
            message: format!("{}: {}", self.shown, error.message),
            ..error
        };
        let found = found.map_err(named)?;
        let full = |host: Host| Host { name: self.full_name(&host.name), ..host };
        Ok(found.into_iter().map(full).collect())
    }

    fn asked(&self, job: u32, reach: &[OsString]) -> Result<Vec<Host>, LaunchError> {
        let question = ["scontrol", "show", "job", "--details", "--oneliner"].map(OsString::from);
        let question = question.into_iter().chain([job.to_string().into()]);
        let login = self.login(reach);
        let words: Vec<OsString> = if login.is_empty() {
            question.collect()
        } else {
            login.into_iter().chain(question.map(|word| quote(&word))).collect()
        };
        let failed =
            |text: &str| LaunchError::new(1, format!("cannot ask Slurm about the job: {text}"));
        let output = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).output();
        let tool = words[0].to_string_lossy();
        let output = output.map_err(|error| failed(&format!("'{tool}': {error}")))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let text = text
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .collect::<Vec<_>>()
                .join("; ");
            let status = format!("'{tool}' ended with {}", output.status);
            return Err(failed(if text.is_empty() { &status } else { &text }));
        }
        described(&String::from_utf8_lossy(&output.stdout))
    }
}

/// Reads what `scontrol show job --details --oneliner` says: the hosts of a job that runs. A host has as many slots as tasks
/// of the job have processors there.
fn described(text: &str) -> Result<Vec<Host>, LaunchError> {
    let wrong = |text: String| LaunchError::new(1, text);
    let mut lines = text.lines().filter(|line| line.starts_with("JobId="));
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err(wrong("it is not one job: name a part of it".to_string()));
    };
    let value = |name: &str| {
        let mut words = line.split_whitespace();
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let state = value("JobState").unwrap_or("");
    if state != "RUNNING" {
        return Err(wrong(format!("the job is {state}; it has to run (RUNNING)")));
    }
    let number = |name| value(name).and_then(|value: &str| value.parse::<u32>().ok());
    let each =
        value("NtasksPerN:B:S:C").and_then(|parts| parts.split(':').next()?.parse::<u32>().ok());
    let per_task = number("CPUs/Task").unwrap_or(1).max(1);
    let mut hosts = Vec::new();
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let Some(list) = word.strip_prefix("Nodes=") else { continue };
        let Some(cpus) = words.next_if(|word| word.starts_with("CPU_IDs=")) else { continue };
        let slots = match each.filter(|each| *each > 0) {
            Some(each) => each,
            None => (count_ids(&cpus["CPU_IDs=".len()..])? / per_task).max(1),
        };
        for item in hostlist::items(list) {
            let names = hostlist::expand(item)?;
            hosts.extend(names.into_iter().map(|name| Host { name, slots: Some(slots) }));
        }
    }
    if hosts.is_empty() {
        return Err(wrong("Slurm does not say which hosts the job has".to_string()));
    }
    trim(&mut hosts, number("NumTasks").unwrap_or(u32::MAX));
    Ok(hosts)
}

/// Takes slots away, from the last hosts first, until there are no more than tasks, but one for each host.
fn trim(hosts: &mut [Host], tasks: u32) {
    let sum: u64 = hosts.iter().map(|host| u64::from(host.slots.unwrap_or(1))).sum();
    let mut surplus = sum.saturating_sub(u64::from(tasks));
    for slots in hosts.iter_mut().rev().flat_map(|host| &mut host.slots) {
        let taken = surplus.min(u64::from(slots.saturating_sub(1)));
        *slots -= taken as u32;
        surplus -= taken;
    }
}

/// How many numbers a list has: `0-3,8`.
fn count_ids(list: &str) -> Result<u32, LaunchError> {
    let count = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
        to.checked_sub(from)?.checked_add(1)
    };
    let sum = list.split(',').map(count).try_fold(0_u32, |sum, part| sum.checked_add(part?));
    sum.ok_or_else(|| {
        LaunchError::new(1, format!("Slurm says CPU_IDs={list}, which is not understood"))
    })
}

/// The hosts of the allocation we are in, with their slots; none outside of one. `variable` looks
/// into the environment.
pub fn hosts(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Host>, LaunchError> {
    if variable(JOB).is_none() {
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

    /// What Slurm 22.05 says, shortened in places that are not read.
    fn told(state: &str, tasks: &str, nodes: &str) -> String {
        format!(
            "JobId=1 JobName=no-shell JobState={state} Reason=None NodeList=n[1-2] BatchHost=n1 NumNodes=2 NumCPUs=3 {tasks} \
             ReqB:S:C:T=0:0:*:* TRES=cpu=3,node=2,billing=3 JOB_GRES=(null)   {nodes} MinCPUsNode=1 Command=(null) \
             WorkDir=/home/Nodes=x Power= \n"
        )
    }

    #[test]
    fn slurm_describes_a_job() {
        let each = |nodes: [&str; 2], ids: [&str; 2]| {
            format!(
                "Nodes={} CPU_IDs={} Mem=0 GRES=   Nodes={} CPU_IDs={} Mem=0 GRES=",
                nodes[0], ids[0], nodes[1], ids[1]
            )
        };
        let two = each(["n1", "n2"], ["0-1", "0"]);
        let many = each(["n[1-2]", "m"], ["0-3,8-11", "0-15"]);
        for (tasks, nodes, expected) in [
            ("NumTasks=3 CPUs/Task=1 NtasksPerN:B:S:C=0:0:*:*", &two, "n1:2 n2:1"),
            ("NumTasks=4 CPUs/Task=1 NtasksPerN:B:S:C=2:0:*:*", &two, "n1:2 n2:2"),
            ("NumTasks=32 CPUs/Task=1 NtasksPerN:B:S:C=0:0:*:*", &many, "n1:8 n2:8 m:16"),
            ("NumTasks=8 CPUs/Task=4 NtasksPerN:B:S:C=0:0:*:*", &many, "n1:2 n2:2 m:4"),
            ("NumTasks=12 CPUs/Task=1 NtasksPerN:B:S:C=0:0:*:*", &many, "n1:8 n2:3 m:1"),
            ("NumTasks=1 CPUs/Task=64 NtasksPerN:B:S:C=0:0:*:*", &many, "n1:1 n2:1 m:1"),
        ] {
            let hosts = described(&told("RUNNING", tasks, nodes)).unwrap();
            let text: Vec<String> =
                hosts.iter().map(|host| format!("{}:{}", host.name, host.slots.unwrap())).collect();
            assert_eq!(text.join(" "), expected, "{tasks}");
        }
        for (text, part) in [
            (told("PENDING", "", ""), "the job is PENDING; it has to run"),
            (told("COMPLETED", "", &two), "the job is COMPLETED"),
            (told("RUNNING", "", ""), "does not say which hosts"),
            (told("RUNNING", "", "Nodes=n1 CPU_IDs=3-1 Mem=0"), "CPU_IDs=3-1"),
            (told("RUNNING", "", "Nodes=n1 CPU_IDs=0-4294967295 Mem=0"), "CPU_IDs=0-4294967295"),
            (told("RUNNING", "", "Nodes=n[1 CPU_IDs=0 Mem=0"), "'[' without ']'"),
            (told("RUNNING", "", &two).repeat(2), "it is not one job"),
            (String::new(), "it is not one job"),
        ] {
            let error = described(&text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn allocations_are_named() {
        let named = |text: &str| Allocation::parse(text).unwrap();
        assert_eq!(named("n1,n2"), None);
        assert_eq!(named("slurm1:7"), None);
        let away = named("slurm:7@me@gate").unwrap();
        assert_eq!(away.full_name("n1"), "n1@me@gate");
        assert_eq!(away.own_name("n1@me@gate"), "n1");
        assert_eq!(away.own_name("n1"), "n1");
        let reach = ["ssh", "-T"].map(OsString::from);
        assert_eq!(away.login(&reach), ["ssh", "-T", "me@gate"]);
        assert_eq!(away.srun()[..2], ["srun", "--jobid=7"]);
        assert_eq!(away.srun().last().unwrap(), "--nodelist");
        assert!(away.is_elsewhere());
        let here = named("slurm:8").unwrap();
        assert!(here.login(&reach).is_empty() && !here.is_elsewhere());
        assert_eq!((here.full_name("n1"), here.own_name("n1@x")), ("n1".to_string(), "n1@x"));
        assert_eq!(named("slurm").unwrap().srun(), SRUN);
        for text in
            ["slurm:", "slurm:0", "slurm:x", "slurm:+7", "slurm:7@", "slurm:7@-o", "slurm:7@a b"]
        {
            let error = Allocation::parse(text).unwrap_err();
            assert!(error.message.contains("expected slurm, slurm:JOB"), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_answer_of_slurm_is_taken_or_refused(middle in "[A-Za-z0-9=\\[\\]:/,. -]{0,120}") {
            if let Ok(hosts) = described(&told("RUNNING", "NumTasks=3", &middle)) {
                assert!(!hosts.is_empty() && hosts.iter().all(|host| host.slots > Some(0)));
            }
        }
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
