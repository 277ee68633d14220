//! Whether a job that is asked for makes sense, field by field, before it is recorded.

use crate::job::{CpuBind, JobSpec};
use crate::store::rules::QueueLimits;

/// The one queue there is.
pub const QUEUE: &str = "main";
/// The longest script and the most text in an environment, in bytes.
pub const SCRIPT_MAX: usize = 4 << 20;
pub const ENV_MAX: usize = 1 << 20;
/// Most jobs in an array: what one transaction records in well under a second.
pub const ARRAY_MAX: u32 = 10_000;
const NAME_MAX: usize = 200;
/// Most ranks of a job on one host; the launcher's own bound is far above.
const RANKS_MAX: u32 = 1 << 20;
/// Hosts and graphics processors of a job: far above what a handful of hosts has.
const NODES_MAX: u64 = 1 << 16;
const GPUS_MAX: u64 = 1 << 16;
/// Processes of a job: fewer than the launcher needs for itself and a rank help nobody, and no kernel has more.
const PROCESSES_MIN: u64 = 8;
const PROCESSES_MAX: u64 = 1 << 22;
/// Restarts of a job: more would take longer than a job ever waits for anything.
const RESTARTS_MAX: u64 = 1000;
/// Ten years: longer times overflow nobody's arithmetic, but mean a slip.
const LIMIT_MAX: u64 = 10 * 366 * 86_400;

/// A field and what is wrong with it.
pub type Fault = (&'static str, String);

/// All that is wrong; empty for a good job.
pub fn faults(spec: &JobSpec) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |field, text: Option<String>| faults.extend(text.map(|text| (field, text)));
    add("name", spec.name.as_deref().and_then(name));
    add("command", command(spec));
    add("script", spec.script.as_deref().and_then(script));
    add("args", spec.args.iter().find_map(|arg| zero(arg)));
    add("ranks", number(u64::from(spec.ranks), 1, u64::from(RANKS_MAX)));
    add("nodes", spec.nodes.and_then(|nodes| number(u64::from(nodes), 1, NODES_MAX)));
    add("hosts", spec.hosts.iter().find_map(|name| host(name)));
    add("gpus", spec.gpus.and_then(|gpus| number(u64::from(gpus), 1, GPUS_MAX)));
    let cpus = spec.cpus_per_rank.map_or(1, u64::from);
    add("cpus_per_rank", number(cpus, 1, 4096));
    add("cpu_bind", cpu_bind(spec));
    add("time_limit_seconds", spec.time_limit_seconds.and_then(|s| number(s, 1, LIMIT_MAX)));
    add("memory_bytes", spec.memory_bytes.and_then(|bytes| number(bytes, 1, 1 << 50)));
    let processes = spec.max_processes.map(u64::from);
    add("max_processes", processes.and_then(|n| number(n, PROCESSES_MIN, PROCESSES_MAX)));
    if let Some(queue) = spec.queue.as_deref().filter(|queue| *queue != QUEUE) {
        add("queue", Some(format!("there is no queue '{queue}'; there is {QUEUE}")));
    }
    let priority = spec.priority;
    let good = (-1000..=1000).contains(&priority);
    add("priority", (!good).then(|| format!("{priority}; expected -1000 to 1000")));
    add("max_restarts", number(u64::from(spec.max_restarts), 0, RESTARTS_MAX));
    let strange = spec.depends_on.iter().find(|dependency| dependency.job < 1);
    add("depends_on", strange.map(|d| format!("{} is no number of a job", d.job)));
    add("array", spec.array.as_deref().and_then(|text| array(text).err()));
    add("env", environment(spec));
    add("umask", spec.umask.and_then(|mask| number(u64::from(mask), 0, 0o777)));
    let strange = hpvm_launch::limits::unknown(&spec.limits);
    add("limits", strange.map(|name| format!("'{}' is no limit", name.escape_debug())));
    if let Some(dir) = spec.workdir.as_deref() {
        let text = format!("'{dir}' is no absolute path");
        add("workdir", (!dir.starts_with('/')).then_some(text).or_else(|| zero(dir)));
    }
    add("stdout", spec.stdout.as_deref().and_then(file));
    add("stderr", spec.stderr.as_deref().and_then(file));
    faults
}

/// What a queue's limits forbid; a job without a time limit gets the queue's.
pub fn keep_limits(spec: &mut JobSpec, limits: &QueueLimits) -> Vec<Fault> {
    let mut faults = Vec::new();
    let seconds = spec.time_limit_seconds.or(limits.time_limit_seconds);
    if let (Some(asked), Some(most)) = (seconds, limits.time_limit_seconds)
        && asked > most
    {
        faults.push(("time_limit_seconds", format!("{asked}; the queue's limit is {most} s")));
    }
    spec.time_limit_seconds = seconds;
    if let Some(most) = limits.ranks.filter(|most| spec.ranks > *most) {
        faults.push(("ranks", format!("{}; the queue's limit is {most}", spec.ranks)));
    }
    faults
}

/// What is wrong with the name of a host: it becomes a word of the launcher's command line.
pub fn host(name: &str) -> Option<String> {
    let letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = (1..=253).contains(&name.len())
        && name.chars().all(letter)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    (!good).then(|| format!("'{}' is no name of a host", name.escape_debug()))
}

fn number(found: u64, least: u64, most: u64) -> Option<String> {
    let good = (least..=most).contains(&found);
    (!good).then(|| format!("{found}; expected a number from {least} to {most}"))
}

fn zero(text: &str) -> Option<String> {
    text.contains('\0').then(|| "holds a zero byte".to_string())
}

fn name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".into());
    }
    if name.chars().count() > NAME_MAX {
        return Some(format!("is longer than {NAME_MAX} characters"));
    }
    let strange = name.chars().find(|c| c.is_control() || turns_text(*c));
    strange.map(|c| format!("holds the control character {:?}", c))
}

/// Whether a character changes the direction of the text behind it, in a list that of other jobs, too.
pub fn turns_text(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn command(spec: &JobSpec) -> Option<String> {
    match (spec.command.first(), &spec.script) {
        (None, None) => Some("is missing: give a program with its arguments, or a script".into()),
        (Some(_), Some(_)) => Some("give either a program or a script, not both".into()),
        (Some(program), None) if program.is_empty() => Some("the program's name is empty".into()),
        _ => spec.command.iter().find_map(|word| zero(word)),
    }
}

fn script(text: &str) -> Option<String> {
    if text.len() > SCRIPT_MAX {
        return Some(format!("is {} bytes long; the limit is {SCRIPT_MAX}", text.len()));
    }
    let first = text.split('\n').next().unwrap_or_default();
    if first.ends_with('\r') {
        return Some("has line ends of Windows: convert it with dos2unix".into());
    }
    let good = first.starts_with("#!") && first.len() > 2;
    (!good).then(|| "must begin with #! and an interpreter, such as #!/bin/sh".into())
}

/// A script starts its ranks itself, and says then to what they are bound.
fn cpu_bind(spec: &JobSpec) -> Option<String> {
    let bind = spec.cpu_bind.filter(|bind| *bind != CpuBind::None && spec.script.is_some())?;
    let (asked, own) = (bind.name(), bind.of_launcher());
    Some(format!(
        "'{asked}' of a script, which starts its ranks itself: mpirun --bind-to {own} there"
    ))
}

fn environment(spec: &JobSpec) -> Option<String> {
    let size: usize = spec.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    if size > ENV_MAX {
        return Some(format!("is {size} bytes long; the limit is {ENV_MAX}"));
    }
    spec.env.iter().find_map(|(name, value)| {
        let bad = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        bad.then(|| format!("'{}' is no variable", name.escape_debug()))
    })
}

fn file(path: &str) -> Option<String> {
    if path.is_empty() || path.ends_with('/') {
        return Some(format!("'{path}' is no name of a file"));
    }
    zero(path)
}

/// The numbers of `0-9`, `1,3,5-20:5` and how many may run at once (`%2`).
pub fn array(text: &str) -> Result<(Vec<u32>, Option<u32>), String> {
    let bad = |part: &str| {
        format!(
            "'{part}' in '{text}'; expected numbers like 0-9, 1,3 or 0-20:5, and %2 at the end for two at once"
        )
    };
    let (list, at_once) = match text.split_once('%') {
        None => (text, None),
        Some((list, most)) => {
            let most = most.parse().ok().filter(|most| *most > 0).ok_or_else(|| bad(most))?;
            (list, Some(most))
        }
    };
    let mut tasks = std::collections::BTreeSet::new();
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |word: &str| -> Result<u32, String> {
            let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| word.parse().ok()).flatten().ok_or_else(|| bad(part))
        };
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if first > last || step == 0 {
            return Err(bad(part));
        }
        if (last - first) / step >= ARRAY_MAX {
            return Err(format!("'{part}' is more than {ARRAY_MAX} jobs"));
        }
        tasks.extend((first..=last).step_by(step as usize));
        if tasks.len() > ARRAY_MAX as usize {
            return Err(format!("'{text}' is more than {ARRAY_MAX} jobs"));
        }
    }
    Ok((tasks.into_iter().collect(), at_once))
}

/// What Slurm calls the step of such a list: that of its first range that has one, else 1.
pub fn array_step(text: &str) -> u32 {
    let steps = text.split([',', '%']).filter_map(|part| part.split_once(':'));
    steps.filter_map(|(_, step)| step.parse().ok()).next().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn good() -> JobSpec {
        JobSpec { command: vec!["true".into()], ..JobSpec::default() }
    }

    #[test]
    fn each_wrong_field_is_named() {
        assert_eq!(faults(&good()), []);
        let s = |text: &str| Some(text.to_string());
        let cases = [
            ("command", JobSpec::default()),
            ("command", JobSpec { script: s("#!/bin/sh"), ..good() }),
            ("script", JobSpec { script: s("echo"), ..JobSpec::default() }),
            ("script", JobSpec { script: s("#!/bin/sh\r\n"), ..JobSpec::default() }),
            ("name", JobSpec { name: s("a\nb"), ..good() }),
            ("name", JobSpec { name: s("a\u{202e}b"), ..good() }),
            ("ranks", JobSpec { ranks: 0, ..good() }),
            ("nodes", JobSpec { nodes: Some(0), ..good() }),
            ("hosts", JobSpec { hosts: vec!["-H".into()], ..good() }),
            ("hosts", JobSpec { hosts: vec!["n1".into(), "n1:9".into()], ..good() }),
            ("gpus", JobSpec { gpus: Some(0), ..good() }),
            ("time_limit_seconds", JobSpec { time_limit_seconds: Some(0), ..good() }),
            ("max_processes", JobSpec { max_processes: Some(7), ..good() }),
            ("queue", JobSpec { queue: s("'; DROP TABLE jobs; --"), ..good() }),
            ("max_restarts", JobSpec { max_restarts: 1001, ..good() }),
            ("priority", JobSpec { priority: 1001, ..good() }),
            ("array", JobSpec { array: s("3-1"), ..good() }),
            ("env", JobSpec { env: [("A=B".into(), String::new())].into(), ..good() }),
            ("workdir", JobSpec { workdir: s("tmp"), ..good() }),
            ("stdout", JobSpec { stdout: s("out/"), ..good() }),
        ];
        for (field, spec) in cases {
            let fields: Vec<_> = faults(&spec).into_iter().map(|(field, _)| field).collect();
            assert_eq!(fields, [field], "{spec:?}");
        }
    }

    #[test]
    fn arrays() {
        assert_eq!(array("0-3"), Ok((vec![0, 1, 2, 3], None)));
        assert_eq!(array("5,1-9:4%2"), Ok((vec![1, 5, 9], Some(2))));
        for bad in ["", "x", "1-", "-1", "3-1", "1:0", "1%0", "1%", "0-4000000000", "1--2", "+1"] {
            assert!(array(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn steps_are_those_of_slurm() {
        for (list, step) in [("0-9:3", 3), ("1,3,7", 1), ("5,1-9:4%2", 4), ("0-3%2", 1)] {
            assert_eq!(array_step(list), step, "{list}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_array_or_refused(text in "[0-9,:%-]{0,20}") {
            if let Ok((tasks, _)) = array(&text) {
                prop_assert!(!tasks.is_empty() && tasks.len() <= ARRAY_MAX as usize);
            }
        }
    }
}
