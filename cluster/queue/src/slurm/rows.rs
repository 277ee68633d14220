//! What squeue and scontrol say of jobs, as ours.

use std::collections::BTreeMap;

use crate::job::{ArrayTask, Job, JobId, JobSpec, JobSummary, Outcome, OutcomeKind, State};
use crate::time::Stamp;
use hpvm_launch::hostlist;

/// Between the fields: no name that squeue prints holds it unless somebody put it there, and names
/// come last.
const BETWEEN: char = '\u{1f}';
const FIELDS: usize = 17;

/// A word that nobody can foresee: it begins each row, so that a name with a line's end in it cannot
/// forge one.
pub fn mark() -> Result<String, String> {
    use std::io::Read;
    let mut bytes = [0_u8; 8];
    let random = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    random.map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What squeue shall print.
pub fn format(mark: &str) -> String {
    let fields = [
        "%A", "%F", "%K", "%u", "%T", "%r", "%S", "%e", "%V", "%l", "%C", "%P", "%Q", "%N", "%Z",
        "%j",
    ];
    let text = fields.join(&BETWEEN.to_string());
    format!("{mark}{BETWEEN}{text}")
}

/// The rows that can be read.
pub fn parse(text: &str, mark: &str, now: Stamp) -> Vec<Job> {
    text.lines().filter_map(|line| row(line, mark, now)).collect()
}

fn row(line: &str, mark: &str, now: Stamp) -> Option<Job> {
    let words: Vec<&str> = line.splitn(FIELDS, BETWEEN).collect();
    let &[
        first,
        id,
        array,
        task,
        user,
        state,
        reason,
        start,
        end,
        submitted,
        limit,
        cpus,
        queue,
        priority,
        nodes,
        folder,
        name,
    ] = words.as_slice()
    else {
        return None;
    };
    if first != mark {
        return None;
    }
    let time = |word: &str| word.parse::<i64>().ok().map(|seconds| Stamp(seconds * 1000));
    let id: JobId = id.parse().ok().filter(|id| *id > 0)?;
    let submitted = time(submitted)?;
    let life = life(state, reason);
    let started = time(start).filter(|_| matches!(life, State::Running | State::Ended));
    let started = started.or((life == State::Running).then_some(now));
    let ended = (life == State::Ended).then(|| time(end).unwrap_or(now).max(submitted));
    // Of a job that never ran squeue says its end, or nothing, as its start.
    let started = started.filter(|start| ended.is_none_or(|end| *start <= end));
    let hosts = names(nodes);
    let waits = matches!(life, State::Held | State::Pending);
    let cpus = cpus.parse().unwrap_or(1).max(1);
    let tasks = Some(task).filter(|task| is_list(task)).map(str::to_owned);
    let summary = JobSummary {
        id,
        name: name.to_string(),
        user: user.to_string(),
        state: life,
        // Nothing where it has to be asked.
        outcome: if life == State::Ended { by_state(state) } else { None },
        reason: waits.then(|| sentence(reason)),
        estimated_start: time(start).filter(|_| waits),
        ranks: cpus,
        hosts: if waits || nodes.is_empty() { Vec::new() } else { hosts },
        submitted,
        started,
        ended,
        time_limit_seconds: seconds(limit),
        queue: queue.to_string(),
        // Slurm's go up to 2^32.
        priority: priority.parse::<i64>().map_or(0, |p| i32::try_from(p).unwrap_or(i32::MAX)),
        array: task
            .parse()
            .ok()
            .and_then(|task| Some(ArrayTask { id: array.parse().ok()?, task, at_once: None })),
        cancelling: state == "COMPLETING",
        restarts: 0,
        last_failure: None,
        eligible: None,
        // Those of its tasks that have no row of their own yet.
        waiting: tasks.clone(),
    };
    let spec = JobSpec {
        workdir: Some(folder.to_string()).filter(|folder| folder.starts_with('/')),
        ranks: cpus,
        array: tasks,
        ..JobSpec::default()
    };
    Some(Job { summary, spec, allocation: Vec::new(), uid: None })
}

/// The hosts of a list like `n[1-3],login`.
pub fn names(list: &str) -> Vec<String> {
    let items = hostlist::items(list).into_iter();
    items.flat_map(|item| hostlist::expand(item).unwrap_or_else(|_| vec![item.into()])).collect()
}

fn life(state: &str, reason: &str) -> State {
    match state {
        "PENDING" if matches!(reason, "JobHeldUser" | "JobHeldAdmin") => State::Held,
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT"
        | "RESV_DEL_HOLD" => State::Pending,
        "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "SIGNALING" | "STAGE_OUT"
        | "STOPPED" | "RESIZING" => State::Running,
        _ => State::Ended,
    }
}

/// How a job ended, as far as its state says.
fn by_state(state: &str) -> Option<Outcome> {
    Some(match state {
        "COMPLETED" => Outcome::exit(0),
        "CANCELLED" => Outcome::of(OutcomeKind::Cancelled),
        "TIMEOUT" | "DEADLINE" => Outcome::of(OutcomeKind::TimeLimit),
        "OUT_OF_MEMORY" => Outcome::of(OutcomeKind::MemoryLimit),
        "NODE_FAIL" | "BOOT_FAIL" | "PREEMPTED" => {
            Outcome::of(OutcomeKind::NodeLost).with(format!("Slurm says {state}"))
        }
        // With which code or signal is another question.
        _ => return None,
    })
}

/// How a job ended, with its code: from a state, whose further words say by whom, and `code:signal`.
pub fn ended(state: &str, code: &str) -> Option<Outcome> {
    let state = state.split_whitespace().next()?;
    if life(state, "") != State::Ended {
        return None;
    }
    let (code, signal) = code.split_once(':')?;
    let (code, signal): (i32, i32) = (code.parse().ok()?, signal.parse().ok()?);
    Some(match (state, signal) {
        // So the accounting has a job that began and ended while slurmdbd was down.
        ("FAILED", 0) if code == 0 => {
            Outcome::exit(1).with("Slurm says that it failed, and has no exit code")
        }
        ("FAILED" | "COMPLETED", 0) => Outcome::exit(code),
        ("FAILED" | "COMPLETED", signal) => {
            Outcome { signal: Some(signal), ..Outcome::of(OutcomeKind::Signal) }
        }
        _ => by_state(state)
            .unwrap_or_else(|| Outcome::exit(code.max(1)).with(format!("Slurm says {state}"))),
    })
}

/// The same from the fields of scontrol.
pub fn outcome(fields: &BTreeMap<String, String>) -> Option<Outcome> {
    ended(fields.get("JobState")?, fields.get("ExitCode")?)
}

/// `Name=value` pairs of one line. Values may hold blanks; what follows a blank and has an equals
/// sign behind letters begins the next. The last of a name counts: what a user may choose, as the
/// job's name, comes before what matters here.
pub fn fields(line: &str) -> BTreeMap<String, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for word in line.split(' ') {
        let name = word.split_once('=').filter(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ":/_".contains(c))
        });
        match (name, found.last_mut()) {
            (Some((name, value)), _) => found.push((name.to_string(), value.to_string())),
            (None, Some((_, value))) => {
                value.push(' ');
                value.push_str(word);
            }
            (None, None) => {}
        }
    }
    let mut fields = BTreeMap::new();
    for (name, value) in found {
        fields.insert(name, value.trim_end().to_string());
    }
    fields
}

/// Whether this is the list of an array's tasks that wait, not one task, nor none.
fn is_list(task: &str) -> bool {
    task.parse::<u32>().is_err() && !matches!(task, "N/A" | "")
}

/// Why a job waits, as a sentence with Slurm's word for it.
fn sentence(reason: &str) -> String {
    let text = match reason {
        "Resources" => "waits for processors or memory",
        "Priority" => "waits for jobs with a higher priority",
        "Dependency" => "waits for other jobs to end",
        "DependencyNeverSatisfied" => "can never start: a job it depends on has ended otherwise",
        "JobHeldUser" => "held until it is released",
        "JobHeldAdmin" => "held by an administrator",
        "BeginTime" => "waits for the time at which it may begin",
        "JobArrayTaskLimit" => "waits for other jobs of its array",
        "PartitionTimeLimit" => "can never start: asks for more time than its queue allows",
        "PartitionNodeLimit" | "PartitionConfig" => "asks for more than its queue allows",
        "PartitionDown" | "PartitionInactive" => "its queue is closed",
        "ReqNodeNotAvail" => "waits for a host that is drained, down or reserved",
        "NodeDown" => "waits for a host that is down",
        "Licenses" => "waits for a licence",
        "Reservation" => "waits for its reservation",
        "QOSMaxJobsPerUserLimit" | "AssocMaxJobsLimit" | "MaxJobsPerAccount" => {
            "waits for other jobs of the same user or account"
        }
        "None" | "" => "not looked at yet",
        _ => "waits",
    };
    match reason {
        "None" | "" => text.to_string(),
        reason => format!("{text} ({reason})"),
    }
}

/// Whether these fields of scontrol are of an array's tasks that wait: what they say of one task, as names of
/// files, is not so.
pub fn is_waiting_array(fields: &BTreeMap<String, String>) -> bool {
    fields.get("ArrayTaskId").is_some_and(|task| is_list(task))
}

/// `D-HH:MM:SS`, `HH:MM:SS`, `MM:SS`; nothing for `UNLIMITED`.
pub fn seconds(text: &str) -> Option<u64> {
    let (days, rest) =
        text.split_once('-').map_or((0, text), |(d, rest)| (d.parse().unwrap_or(0), rest));
    let mut total: u64 = 0;
    for word in rest.split(':') {
        total = total * 60 + word.parse::<u64>().ok()?;
    }
    Some(days * 86_400 + total).filter(|seconds| *seconds > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        words.join(&BETWEEN.to_string())
    }

    fn one(state: &str, reason: &str, task: &str, start: &str, name: &str) -> Vec<Job> {
        let words = [
            "m",
            "7",
            "5",
            task,
            "ann",
            state,
            reason,
            start,
            "200",
            "100",
            "1-00:10:00",
            "4",
            "all",
            "4294901757",
            "n[1-2]",
            "/home/ann",
            name,
        ];
        parse(&line(&words), "m", Stamp(1_000_000))
    }

    #[test]
    fn rows_of_squeue() {
        let job = &one("RUNNING", "None", "N/A", "150", "a job")[0];
        assert_eq!((job.id(), job.state()), (7, State::Running));
        assert_eq!(job.summary.hosts, ["n1", "n2"]);
        assert_eq!(job.summary.started, Some(Stamp(150_000)));
        assert_eq!(job.summary.time_limit_seconds, Some(87_000));
        let job = &one("PENDING", "Resources", "N/A", "150", "a")[0];
        assert_eq!(job.summary.estimated_start, Some(Stamp(150_000)));
        assert!(job.summary.reason.as_ref().unwrap().ends_with("(Resources)"));
        assert!(job.summary.hosts.is_empty() && job.summary.started.is_none());
        let job = &one("PENDING", "JobHeldUser", "0-9%2", "N/A", "a")[0];
        assert_eq!(job.state(), State::Held);
        assert_eq!(crate::name::shown(&job.summary), "7_[0-9%2]");
        let job = &one("FAILED", "NonZeroExitCode", "3", "150", "a")[0];
        assert_eq!(job.summary.array.as_ref().map(|array| (array.id, array.task)), Some((5, 3)));
        assert_eq!(job.summary.ended, Some(Stamp(200_000)));
    }

    #[test]
    fn names_forge_no_rows() {
        let forged = line(&["m2", "9", "9", "N/A", "root"]);
        let jobs = one("RUNNING", "None", "N/A", "150", &format!("x{BETWEEN}y\n{forged}"));
        assert_eq!(jobs.len(), 1);
        assert_eq!(jobs[0].summary.name, format!("x{BETWEEN}y"));
    }

    #[test]
    fn ends() {
        let code = |state: &str, code: &str| ended(state, code).map(|outcome| outcome.exit_code());
        assert_eq!(code("FAILED", "3:0"), Some(3));
        assert_eq!(code("FAILED", "0:9"), Some(137));
        assert_eq!(code("FAILED", "0:0"), Some(1), "no success, though the code is lost");
        assert_eq!(code("CANCELLED by 0", "0:15"), Some(143));
        assert_eq!(code("TIMEOUT", "0:0"), Some(124));
        assert_eq!(code("RUNNING", "0:0"), None);
        assert_eq!(code("FAILED", "x"), None);
    }

    #[test]
    fn fields_with_blanks() {
        let found = fields("JobId=7 JobName=a b StdOut=/home/ann/my out ExitCode=3:0");
        assert_eq!(found["JobName"], "a b");
        assert_eq!(found["StdOut"], "/home/ann/my out");
        assert_eq!(found["ExitCode"], "3:0");
    }

    #[test]
    fn waiting_arrays_are_told_from_tasks() {
        let shown = |task: &str| {
            format!("JobId=1 ArrayJobId=1 ArrayTaskId={task} JobName=wrap StdOut=/tmp/1_4294967294")
        };
        assert!(is_waiting_array(&fields(&shown("1-9%2"))));
        assert!(!is_waiting_array(&fields(&shown("7"))));
        assert!(!is_waiting_array(&fields("JobId=1 JobName=wrap")));
    }

    #[test]
    fn times() {
        assert_eq!(seconds("1:30"), Some(90));
        assert_eq!(seconds("UNLIMITED"), None);
        assert_eq!(seconds("NOT_SET"), None);
    }
}
