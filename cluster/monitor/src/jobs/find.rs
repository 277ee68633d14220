//! Finding jobs: the ranks of a job have its name in their environment.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use hpvm_launch::environment::ranks::SLURM_JOB;
use hpvm_launch::environment::{JOB_ID, NODE};
use hpvm_launch::text::printable;
use hpvm_shm::observe::{LINK, View};

/// A job of this user on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: String,
    /// Who started its ranks, if that process is there.
    pub launcher: Option<i32>,
    /// All its processes, in ascending order; a rank may have started others.
    pub processes: Vec<i32>,
    /// Number of ranks, as the launcher said.
    pub size: Option<u32>,
    /// What the first of its processes runs.
    pub program: String,
}

/// What the environment of a process says.
struct Member {
    pid: i32,
    job: String,
    size: Option<u32>,
    /// The job of Slurm that it belongs to.
    slurm: Option<i64>,
    /// The number of its host in the job; the first host of some jobs has none.
    node: Option<u32>,
}

/// Which jobs are looked for. An environment says what its process likes: where we may look at those of
/// several users, `owner` is whose they have to be.
#[derive(Clone, Debug)]
pub struct Scope {
    pub of: Of,
    pub owner: Option<u32>,
    /// The number of this host among those of the job, where that is known. One machine may play several hosts, and
    /// then has processes of all of them.
    pub node: Option<u32>,
}

/// See [`Scope`].
#[derive(Clone, Debug)]
pub enum Of {
    /// The job of this name, and those that were started inside of it.
    Job(String),
    /// Those in the allocation of this job of Slurm.
    Slurm(i64),
}

impl Of {
    fn holds(&self, member: &Member) -> bool {
        match self {
            Of::Slurm(id) => member.slurm == Some(*id),
            Of::Job(outer) => {
                let rest = member.job.strip_prefix(outer.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

/// All jobs whose processes we may look at, by name.
pub fn jobs() -> Vec<Job> {
    grouped(&pids().into_iter().filter_map(member).collect::<Vec<_>>())
}

/// The jobs of a scope.
pub fn jobs_in(scope: &Scope) -> Vec<Job> {
    let theirs = |pid: &i32| match scope.owner {
        Some(owner) => fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == owner),
        None => true,
    };
    let members = pids().into_iter().filter(theirs).filter_map(member);
    let mut members: Vec<_> = members.filter(|member| scope.of.holds(member)).collect();
    if let Some(node) = scope.node {
        keep_own(&mut members, node);
    }
    grouped(&members)
}

/// Leaves out the processes of hosts that are only played here, in jobs that have such.
fn keep_own(members: &mut Vec<Member>, node: u32) {
    let mut nodes: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for member in members.iter() {
        nodes.entry(member.job.clone()).or_default().insert(member.node.unwrap_or(0));
    }
    members.retain(|member| nodes[&member.job].len() < 2 || member.node.unwrap_or(0) == node);
}

fn grouped(members: &[Member]) -> Vec<Job> {
    let job_of: BTreeMap<i32, &str> = members.iter().map(|m| (m.pid, &*m.job)).collect();
    let mut jobs: BTreeMap<&str, Job> = BTreeMap::new();
    for m in members {
        let job = jobs.entry(&m.job).or_insert_with(|| Job {
            id: m.job.clone(),
            launcher: launcher(m.pid, &m.job, &job_of),
            processes: Vec::new(),
            size: m.size,
            program: program(m.pid),
        });
        job.processes.push(m.pid);
    }
    jobs.into_values().collect()
}

fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

fn member(pid: i32) -> Option<Member> {
    // Not ours, or gone meanwhile.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    // What others put into names must not steer the terminal.
    let job = printable(&variable(&environment, JOB_ID)?);
    let size = variable(&environment, "PMI_SIZE").and_then(|size| size.parse().ok());
    let slurm = variable(&environment, SLURM_JOB).and_then(|id| id.parse().ok());
    let node = variable(&environment, NODE).and_then(|node| node.parse().ok());
    Some(Member { pid, job, size, slurm, node })
}

/// The value of a variable in the text of `/proc/PID/environ`.
fn variable(environment: &[u8], name: &str) -> Option<String> {
    let mut entries = environment.split(|byte| *byte == 0);
    let value = entries.find_map(|e| e.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The first ancestor that is not in the job itself.
fn launcher(mut pid: i32, job: &str, job_of: &BTreeMap<i32, &str>) -> Option<i32> {
    loop {
        pid = parent(pid).filter(|parent| *parent > 1)?;
        if job_of.get(&pid) != Some(&job) {
            return Some(pid);
        }
    }
}

fn parent(pid: i32) -> Option<i32> {
    hpvm_os::process::parent(pid as u32).map(|parent| parent as i32)
}

fn program(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
    printable(&words.join(" "))
}

/// The job that a word on the command line means: its name, the start of it, or the process
/// number of its launcher or of one of its processes.
pub fn choose(jobs: &[Job], word: &str) -> Result<Job, String> {
    if word.is_empty() {
        return Err("jobs: the job's name is empty; see hpvm jobs".to_owned());
    }
    if let Some(job) = jobs.iter().find(|job| job.id == word) {
        return Ok(job.clone());
    }
    if let Ok(pid) = word.parse::<i32>() {
        let owns = |job: &&Job| job.launcher == Some(pid) || job.processes.contains(&pid);
        if let Some(job) = jobs.iter().find(owns) {
            return Ok(job.clone());
        }
        return Err(format!("jobs: {}", no_process(pid)));
    }
    let found: Vec<_> = jobs.iter().filter(|job| job.id.starts_with(word)).collect();
    match found[..] {
        [job] => Ok(job.clone()),
        [] => Err(format!("jobs: no job '{word}' of this user runs here; see hpvm jobs")),
        _ => Err(format!("jobs: {} jobs begin with '{word}'; give more of the name", found.len())),
    }
}

fn no_process(pid: i32) -> String {
    match fs::read(format!("/proc/{pid}/environ")) {
        Ok(_) => format!("process {pid} belongs to no job; see hpvm jobs"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            format!("process {pid} belongs to another user: {error}")
        }
        Err(_) => format!("there is no process {pid}"),
    }
}

/// The processes of each rank of a job on this machine, with what they have started; those that are no rank's without
/// a number.
pub fn processes_by_rank(job: &Job) -> Vec<(Option<u32>, Vec<i32>)> {
    let mut ranks: BTreeMap<Option<u32>, Vec<i32>> = BTreeMap::new();
    for pid in &job.processes {
        // Gone meanwhile.
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { continue };
        let rank = variable(&environment, "PMI_RANK").and_then(|rank| rank.parse().ok());
        ranks.entry(rank).or_default().push(*pid);
    }
    ranks.into_iter().collect()
}

/// Whether the queue has started a job as, or inside of, its number `word`.
pub fn is_queued_as(job: &Job, word: &str) -> bool {
    let outer = job.id.split('/').next().unwrap_or_default();
    let number = outer.strip_prefix("queue-").and_then(|rest| rest.split_once('-'));
    number.is_some_and(|(_, number)| number == word)
}

/// Opens the job's shared memory through one of its processes.
pub fn open(job: &Job) -> Result<View, String> {
    let mut problem = None;
    for pid in &job.processes {
        match segment(*pid) {
            Ok(None) => {}
            Ok(Some(path)) => match View::open(&path) {
                Ok(view) => return Ok(view),
                Err(error) => problem = Some(error.to_string()),
            },
            Err(error) => problem = Some(format!("descriptors of process {pid}: {error}")),
        }
    }
    Err(match problem {
        Some(problem) => format!("jobs: {}: {problem}", job.id),
        None => {
            format!("jobs: {}: no rank has called MPI_Init of hpvm yet, or all have ended", job.id)
        }
    })
}

/// A segment of a job, with the processes that have it open.
pub struct Segment {
    pub view: View,
    pub job: Job,
}

/// All segments of these jobs on this machine, one for each launch.
pub fn segments(mut jobs: Vec<Job>) -> Vec<Segment> {
    // A launcher inside of a job has the segment of its own ranks open, which is that of the job inside.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.id.len()));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for job in jobs {
        let mut owners: BTreeMap<u64, (PathBuf, Vec<i32>)> = BTreeMap::new();
        for pid in &job.processes {
            let Ok(Some(path)) = segment(*pid) else { continue };
            let Ok(meta) = fs::metadata(&path) else { continue };
            owners.entry(meta.ino()).or_insert_with(|| (path, Vec::new())).1.push(*pid);
        }
        for (number, (path, processes)) in owners {
            // What is no segment, or one of another version, shows nothing.
            if let (true, Ok(view)) = (seen.insert(number), View::open(&path)) {
                found.push(Segment { view, job: Job { processes, ..job.clone() } });
            }
        }
    }
    found.sort_by(|a, b| a.job.id.cmp(&b.job.id));
    found
}

/// The descriptor of the segment in a process.
fn segment(pid: i32) -> std::io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let path = entry?.path();
        if fs::read_link(&path).is_ok_and(|link| link.as_os_str() == LINK) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str, processes: &[i32]) -> Job {
        let processes = processes.to_vec();
        Job { id: id.into(), launcher: Some(7), processes, size: Some(2), program: "x".into() }
    }

    #[test]
    fn a_job_is_chosen_by_name_or_process() {
        let jobs = [job("host-1-a", &[8, 9]), job("host-1-ab", &[10])];
        assert_eq!(choose(&jobs, "host-1-a").unwrap(), jobs[0]);
        assert_eq!(choose(&jobs, "host-1-ab").unwrap(), jobs[1]);
        assert_eq!(choose(&jobs, "10").unwrap(), jobs[1]);
        assert!(choose(&jobs, "host-1").unwrap_err().contains("2 jobs"));
        assert!(choose(&jobs[..1], "").unwrap_err().contains("name is empty"));
        assert!(choose(&jobs, "other").unwrap_err().contains("'other'"));
        assert!(choose(&jobs, "2000000000").unwrap_err().contains("no process"));
        let own = std::process::id().to_string();
        assert!(choose(&jobs, &own).unwrap_err().contains("no job"));
    }

    #[test]
    fn a_scope_is_a_job_with_those_inside_or_an_allocation() {
        let member =
            |job: &str, slurm| Member { pid: 7, job: job.into(), size: None, slurm, node: None };
        let of = Of::Job("queue-1-7".into());
        for (name, inside) in [("queue-1-7", true), ("queue-1-7/a", true), ("queue-1-70", false)] {
            assert_eq!(of.holds(&member(name, Some(7))), inside, "{name}");
        }
        assert!(Of::Slurm(7).holds(&member("x", Some(7))));
        assert!(
            !Of::Slurm(7).holds(&member("7", Some(8))) && !Of::Slurm(7).holds(&member("7", None))
        );
    }

    #[test]
    fn of_hosts_played_here_one_is_ours() {
        let member =
            |pid, job: &str, node| Member { pid, job: job.into(), size: None, slurm: None, node };
        let all = || vec![member(1, "a", None), member(2, "a", Some(1)), member(3, "b", Some(7))];
        for (node, expected) in [(0, &[1, 3][..]), (1, &[2, 3]), (2, &[3])] {
            let mut members = all();
            keep_own(&mut members, node);
            assert!(members.iter().map(|member| member.pid).eq(expected.iter().copied()), "{node}");
        }
    }

    #[test]
    fn a_variable_is_found_whole() {
        let text = b"A=1\0HPVM_JOB_ID_X=no\0HPVM_JOB_ID=a-b=c\0";
        assert_eq!(variable(text, "HPVM_JOB_ID").as_deref(), Some("a-b=c"));
        assert_eq!(variable(text, "B"), None);
    }
}
