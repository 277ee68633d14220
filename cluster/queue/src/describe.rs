//! Texts made of jobs: the command line that would submit one, names of output files.

use std::fmt::Write;
use std::path::PathBuf;

use crate::job::{DependKind, Job, JobSpec, Share};
use crate::name::Name;

/// A word as a shell reads it back.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The command that would submit the same job. Variables are left out: they come from the shell.
pub fn command_line(spec: &JobSpec) -> String {
    let mut line = "hpvm submit".to_string();
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = write!(line, " {name} {}", quote(&value));
        }
    };
    flag("-J", spec.name.clone());
    flag("-n", (spec.ranks != 1).then(|| spec.ranks.to_string()));
    flag("-N", spec.nodes.map(|nodes| nodes.to_string()));
    flag("-w", (!spec.hosts.is_empty()).then(|| spec.hosts.join(",")));
    flag("-c", spec.cpus_per_rank.map(|cpus| cpus.to_string()));
    flag("--cpu-bind", spec.cpu_bind.map(|bind| bind.name().to_string()));
    flag("-t", spec.time_limit_seconds.map(time));
    flag("--mem", spec.memory_bytes.map(memory));
    flag("--max-processes", spec.max_processes.map(|count| count.to_string()));
    flag("--gpus", spec.gpus.map(|gpus| gpus.to_string()));
    flag("-p", spec.queue.clone());
    flag("--priority", (spec.priority != 0).then(|| spec.priority.to_string()));
    let kind = |kind| match kind {
        DependKind::AfterOk => "afterok",
        DependKind::AfterAny => "afterany",
        DependKind::AfterNotOk => "afternotok",
    };
    let depends: Vec<_> =
        spec.depends_on.iter().map(|d| format!("{}:{}", kind(d.kind), Name::from(d))).collect();
    flag("-d", (!depends.is_empty()).then(|| depends.join(",")));
    flag("-a", spec.array.clone());
    flag("--max-restarts", (spec.max_restarts > 0).then(|| spec.max_restarts.to_string()));
    flag("-D", spec.workdir.clone());
    flag("-o", spec.stdout.clone());
    flag("-e", spec.stderr.clone());
    if spec.hold {
        line.push_str(" -H");
    }
    let words: Vec<String> = match &spec.script {
        Some(_) => {
            let name = spec.name.clone().unwrap_or_else(|| "SCRIPT".into());
            std::iter::once(name).chain(spec.args.iter().cloned()).collect()
        }
        None => spec.command.clone(),
    };
    for word in &words {
        line.push(' ');
        line.push_str(&quote(word));
    }
    line
}

/// The hosts of a job with their ranks, as `mpirun -H` takes them; nothing for a job on one host.
pub fn host_list(job: &Job) -> Option<String> {
    if job.allocation.len() < 2 {
        return None;
    }
    let share = |share: &Share| format!("{}:{}", share.host, share.ranks);
    Some(job.allocation.iter().map(share).collect::<Vec<_>>().join(","))
}

/// Whether both streams of a job go to one file.
pub fn is_joined(spec: &JobSpec) -> bool {
    match (&spec.stdout, &spec.stderr) {
        (Some(_), None) => true,
        (Some(out), Some(err)) => out == err,
        (None, _) => false,
    }
}

/// Seconds as sbatch writes them: `D-HH:MM:SS` or `HH:MM:SS`.
pub fn time(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let rest = format!("{hours:02}:{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    if days > 0 { format!("{days}-{rest}") } else { rest }
}

fn memory(bytes: u64) -> String {
    for (unit, size) in [("G", 1_u64 << 30), ("M", 1 << 20), ("K", 1 << 10)] {
        if bytes.is_multiple_of(size) {
            return format!("{}{unit}", bytes / size);
        }
    }
    format!("{}K", bytes.div_ceil(1024))
}

/// Memory for people: "512 MiB", "23.5 GiB".
pub fn amount(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) if bytes.is_multiple_of(size) => format!("{} {unit}", bytes / size),
        Some((unit, size)) => format!("{:.1} {unit}", bytes as f64 / size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// "1 GPU", "4 GPUs".
pub fn count(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The name of a job without one: that of its program.
pub fn usual_name(spec: &JobSpec) -> String {
    let program = spec.command.first().map_or("script", String::as_str);
    let name = program.rsplit('/').next().unwrap_or(program);
    let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    if name.is_empty() { "job".into() } else { name }
}

/// A name of a file with sbatch's patterns filled in. What a pattern stands for cannot lead out of
/// the folder that the name names.
pub fn file_name(pattern: &str, job: &Job, host: &str) -> PathBuf {
    let id = job.id().to_string();
    let array = job.summary.array.as_ref();
    let mut out = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        let value = match letters.next() {
            Some('%') => "%".to_string(),
            Some('j' | 'J') => id.clone(),
            Some('A') => array.map_or_else(|| id.clone(), |array| array.id.to_string()),
            Some('a') => array.map_or_else(|| "0".into(), |array| array.task.to_string()),
            Some('x') => inert(&job.summary.name),
            Some('u') => inert(&job.summary.user),
            Some('N') => inert(host),
            Some(other) => format!("%{other}"),
            None => "%".to_string(),
        };
        out.push_str(&value);
    }
    PathBuf::from(out)
}

/// Text as part of the name of a file: no folders, nothing hidden.
fn inert(text: &str) -> String {
    let text: String =
        text.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    if text.starts_with('.') { text.replacen('.', "_", 1) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::tests::job;

    #[test]
    fn command_lines() {
        let spec = JobSpec {
            command: vec!["./poisson".into(), "a b".into(), "it's".into()],
            ranks: 4,
            time_limit_seconds: Some(90_061),
            memory_bytes: Some(3 << 30),
            max_processes: Some(64),
            ..JobSpec::default()
        };
        let line = command_line(&spec);
        let flags = "-n 4 -t 1-01:01:01 --mem 3G --max-processes 64";
        assert_eq!(line, format!(r"hpvm submit {flags} ./poisson 'a b' 'it'\''s'"));
    }

    #[test]
    fn amounts_and_counts_are_words() {
        for (bytes, text) in [
            (500, "500 bytes"),
            (4 << 30, "4 GiB"),
            (1536 << 20, "1.5 GiB"),
            (100 << 20, "100 MiB"),
            (1025, "1.0 KiB"),
        ] {
            assert_eq!(amount(bytes), text);
        }
        assert_eq!((count(1, "GPU"), count(0, "GPU")), ("1 GPU".into(), "0 GPUs".into()));
    }

    #[test]
    fn names_of_files_stay_in_their_folder() {
        let mut job = job(12);
        job.summary.name = "../../etc/passwd".into();
        let name = |pattern| file_name(pattern, &job, "h").display().to_string();
        assert_eq!(name("slurm-%j.out"), "slurm-12.out");
        assert_eq!(name("%x"), "_._.._etc_passwd");
        assert_eq!(name("%A_%a-%%%N%z%"), "12_0-%h%z%");
        job.summary.name = "..".into();
        assert_eq!(file_name("d/%x/out", &job, "h").display().to_string(), "d/_./out");
    }
}
