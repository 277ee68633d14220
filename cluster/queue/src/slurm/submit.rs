//! Handing a job to sbatch.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Slurm;
use super::run::{Identity, run_as};
use crate::account;
use crate::describe::{quote, time};
use crate::job::{CpuBind, DependKind, JobId};
use crate::name::Name;
use crate::store::jobs::New;
use crate::time::Stamp;
use hpvm_launch::environment::MONITOR;

impl Slurm {
    /// Submits a job; of an array, the number of the array.
    pub fn submit(&self, new: &New, program: &Path) -> Result<JobId, String> {
        let args = arguments(new);
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let who = identity(new)?;
        let text = run_as("sbatch", &words, script(new, program).as_bytes(), &who)
            .map_err(|failed| failed.text())?;
        // With several clusters, `number;cluster`.
        let number = text.trim().split(';').next().unwrap_or_default();
        number.parse().map_err(|_| format!("sbatch has answered '{}'", text.escape_debug()))
    }

    /// When the job would start, without submitting it.
    pub fn test(&self, new: &New, program: &Path) -> Result<Option<Stamp>, String> {
        let mut args = arguments(new);
        args.push("--test-only".into());
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        // It answers on standard error, so its output is turned around by a shell, which is given
        // the words as words.
        let shell = [&["-c", "exec sbatch \"$@\" 2>&1", "sbatch"], &words[..]].concat();
        let who = identity(new)?;
        let text = run_as("sh", &shell, script(new, program).as_bytes(), &who);
        let text = text.map_err(|failed| failed.text())?;
        let after = text.split(" to start at ").nth(1).unwrap_or_default();
        let word = after.split_whitespace().next().unwrap_or_default();
        Ok(word.parse::<i64>().ok().map(|seconds| Stamp(seconds * 1000)))
    }
}

/// Each flag with its value in one word, so that no value is taken for a flag.
fn arguments(new: &New) -> Vec<String> {
    let spec = &new.spec;
    let mut args = vec![
        "--parsable".to_string(),
        format!("--job-name={}", new.name),
        format!("--ntasks={}", spec.ranks),
    ];
    let mut add = |name: &str, value: Option<String>| {
        args.extend(value.map(|value| format!("--{name}={value}")));
    };
    add("nodes", spec.nodes.map(|n| n.to_string()));
    add("cpus-per-task", spec.cpus_per_rank.map(|n| n.to_string()));
    add("time", spec.time_limit_seconds.map(time));
    add("mem", spec.memory_bytes.map(|bytes| format!("{}K", bytes.div_ceil(1024))));
    add("gpus", spec.gpus.map(|n| n.to_string()));
    add("nodelist", (!spec.hosts.is_empty()).then(|| spec.hosts.join(",")));
    add("partition", spec.queue.clone());
    // More of ours starts earlier; Slurm takes the opposite of anybody.
    add("nice", (spec.priority != 0).then(|| (-spec.priority).to_string()));
    let depends: Vec<String> = spec
        .depends_on
        .iter()
        .map(|other| {
            let kind = match other.kind {
                DependKind::AfterOk => "afterok",
                DependKind::AfterAny => "afterany",
                DependKind::AfterNotOk => "afternotok",
            };
            format!("{kind}:{}", Name::from(other))
        })
        .collect();
    add("dependency", (!depends.is_empty()).then(|| depends.join(",")));
    add("array", spec.array.clone());
    add("chdir", spec.workdir.clone());
    add("output", spec.stdout.clone());
    add("error", spec.stderr.clone());
    if spec.hold {
        args.push("--hold".into());
    }
    if spec.max_restarts > 0 {
        // How often is for its administrator to say (MaxBatchRequeue).
        args.push("--requeue".into());
    }
    if spec.script.is_some() && !spec.args.is_empty() {
        // The script comes on standard input; what follows a dash is its own.
        args.push("/dev/stdin".into());
        args.extend(spec.args.iter().cloned());
    }
    args
}

fn script(new: &New, program: &Path) -> String {
    let spec = &new.spec;
    if let Some(script) = &spec.script {
        return match is_of_shell(script) {
            true => with_array_names(script),
            // Jobs that are no array keep the very text.
            false if spec.array.is_some() && env_splits() => with_names_before(script),
            false => script.clone(),
        };
    }
    let words: Vec<String> = spec.command.iter().map(|word| quote(word)).collect();
    let program = quote(&program.display().to_string());
    let bind = spec.cpu_bind.map_or("none", CpuBind::of_launcher);
    let bind = if bind == "none" { String::new() } else { format!("--bind-to {bind} ") };
    let (ranks, words) = (spec.ranks, words.join(" "));
    let text = format!("#!/bin/sh\nexec {program} run {bind}-n {ranks} -- {words}\n");
    with_array_names(&text)
}

/// What Slurm tells a task of an array, under the names that it has in the embedded queue as well.
const ARRAY: [&str; 6] = ["JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_MAX", "TASK_STEP"];
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "mksh", "zsh"];

/// A shell's script that sets them before its first command, in the line of that one, so that the shell's
/// messages name the right lines.
fn with_array_names(script: &str) -> String {
    let mut at = 0;
    for line in script.split_inclusive('\n') {
        let text = line.trim_start();
        if !text.is_empty() && !text.starts_with('#') {
            let set = ARRAY.map(|name| format!("HPVM_ARRAY_{name}=\"$SLURM_ARRAY_{name}\""));
            let set = format!("[ -z \"${{SLURM_ARRAY_JOB_ID-}}\" ] || export {}; ", set.join(" "));
            return format!("{}{set}{}", &script[..at], &script[at..]);
        }
        at += line.len();
    }
    script.to_string()
}

/// What a first line may have on all hosts: kernels before 5.1 cut it there.
const FIRST_LINE_MAX: usize = 126;

/// A script of another language, whose first line sets them and then runs its interpreter. All other lines, their numbers,
/// the script's name and its arguments stay what they are.
fn with_names_before(script: &str) -> String {
    let Some((first, rest)) = script.strip_prefix("#!").and_then(|text| text.split_once('\n'))
    else {
        return script.to_string();
    };
    // As the kernel reads it: the interpreter, and all the rest as one word.
    let first = first.trim();
    let (interpreter, word) = first.split_once([' ', '\t']).unwrap_or((first, ""));
    let word = Some(word.trim()).filter(|word| !word.is_empty());
    let words = std::iter::once(interpreter).chain(word).map(env_word);
    let words = words.collect::<Vec<_>>().join(" ");
    let set = "exec env $(env|sed -n s/^SLURM_ARRAY/HPVM_ARRAY/p) \"$@\"";
    let first = format!("#!/usr/bin/env -S sh -c '{set}' sh {words}");
    // `env` takes a word with an equals sign for a variable.
    if interpreter.is_empty() || interpreter.contains('=') || first.len() > FIRST_LINE_MAX {
        return script.to_string();
    }
    format!("{first}\n{rest}")
}

/// A word for `env -S`.
fn env_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    match word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

/// Whether `env` has `-S` (coreutils from 8.30 on). The hosts are taken to be like this machine.
fn env_splits() -> bool {
    static SPLITS: OnceLock<bool> = OnceLock::new();
    let tried = || std::process::Command::new("/usr/bin/env").args(["-S", "true"]).output();
    *SPLITS.get_or_init(|| tried().is_ok_and(|output| output.status.success()))
}

/// By its first line: `#!/bin/sh -e`, `#!/usr/bin/env bash`.
fn is_of_shell(script: &str) -> bool {
    let first = script.lines().next().and_then(|line| line.strip_prefix("#!"));
    let mut words = first.unwrap_or_default().split_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_string();
    let program = words.next().map(base).unwrap_or_default();
    let program = if program == "env" { words.next().map(base) } else { Some(program) };
    program.is_some_and(|program| SHELLS.contains(&program.as_str()))
}

/// The submitter. Only root may submit for others.
fn identity(new: &New) -> Result<Identity, String> {
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::getuid() };
    let account = account::find(&new.user).ok_or_else(|| {
        format!("'{}' is no user of this system, so Slurm knows no such", new.user)
    })?;
    if own != 0 && account.uid != own {
        return Err(format!(
            "this server does not run as root, so it submits for who has started it only, not for '{}'",
            new.user
        ));
    }
    let mut env = new.spec.env.clone();
    env.extend(account.env());
    // For the rank map; a job may say no.
    env.entry(MONITOR.into()).or_insert_with(|| "1".into());
    let folder = Some(account.home).filter(|home| home.is_dir());
    Ok(Identity {
        user: (own == 0 && account.uid != 0).then_some((account.uid, account.gid, account.groups)),
        env,
        folder: folder.unwrap_or_else(|| PathBuf::from("/")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobSpec;

    fn new(spec: JobSpec) -> New {
        let (user, name, queue) = ("root".into(), "--uid=0".into(), String::new());
        New { user, name, queue, spec, tasks: Vec::new(), at_once: None, key: None }
    }

    #[test]
    fn values_are_no_flags_and_words_no_commands() {
        let spec = JobSpec {
            command: vec!["a b".into(), "$(reboot)".into(), "x\n#SBATCH --uid=0".into()],
            queue: Some("-p".into()),
            ranks: 3,
            max_restarts: 1,
            gpus: Some(2),
            hosts: vec!["n1".into(), "n2".into()],
            ..JobSpec::default()
        };
        let made = arguments(&new(spec.clone()));
        assert!(made.iter().all(|word| word.starts_with("--")), "{made:?}");
        assert!(made.contains(&"--job-name=--uid=0".to_string()));
        for word in ["--requeue", "--gpus=2", "--nodelist=n1,n2"] {
            assert!(made.contains(&word.to_string()), "{made:?}");
        }
        let text = script(&new(spec), Path::new("/opt/my hpvm"));
        assert!(text.starts_with("#!/bin/sh\n["), "{text}");
        assert!(text.contains("; exec '/opt/my hpvm' run -n 3 -- 'a b' '$(reboot)' "), "{text}");
    }

    #[test]
    fn scripts_of_shells_get_the_names_in_the_line_of_their_first_command() {
        let made = with_array_names("#!/bin/bash -e\n#SBATCH -n 2\n\n  echo $LINENO\nfalse\n");
        assert_eq!(made.lines().count(), 5);
        assert!(made.starts_with("#!/bin/bash -e\n#SBATCH -n 2\n\n[ -z"), "{made}");
        assert!(
            made.ends_with(
                "HPVM_ARRAY_TASK_STEP=\"$SLURM_ARRAY_TASK_STEP\";   echo $LINENO\nfalse\n"
            )
        );
        assert_eq!(with_array_names("#!/bin/sh\n# nothing\n"), "#!/bin/sh\n# nothing\n");
        assert_ne!(with_array_names("#!/usr/bin/env bash\ntrue"), "#!/usr/bin/env bash\ntrue");
        for (first, shell) in
            [("/bin/sh -e", true), ("/usr/bin/env zsh", true), ("/bin/csh", false)]
        {
            assert_eq!(is_of_shell(&format!("#!{first}\n")), shell, "{first}");
        }
    }

    /// Runs a script as slurmstepd does, by its name, with some of an array's variables or none.
    fn ran(script: &str, array: bool) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slurm_script");
        // Written by a process of its own: what another test starts meanwhile would hold the file open, and it could not be run.
        let mut writer = std::process::Command::new("sh");
        writer.args(["-c", "printf %s \"$2\" >\"$1\"; chmod 700 \"$1\"", "sh"]);
        assert!(writer.arg(&path).arg(script).status().unwrap().success());
        let mut command = std::process::Command::new(&path);
        command.args(["a b", "$HOME"]);
        command.env_remove("SLURM_ARRAY_TASK_ID").env_remove("SLURM_ARRAY_TASK_STEP");
        if array {
            command.env("SLURM_ARRAY_TASK_ID", "7").env("SLURM_ARRAY_TASK_STEP", "2");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.replace(&path.display().to_string(), "SCRIPT")
    }

    #[test]
    fn other_scripts_get_the_names_before_their_interpreter() {
        // `awk -f` is one word to the kernel, so this is a language whose first line has an argument.
        let text = "#!/usr/bin/awk -f\n#SBATCH -n 2\nBEGIN { print ENVIRON[\"HPVM_ARRAY_TASK_ID\"], \
                    ENVIRON[\"HPVM_ARRAY_TASK_STEP\"], ARGV[1], ARGV[2], ARGC }\n";
        let made = with_names_before(text);
        assert_eq!(
            made.lines().skip(1).collect::<Vec<_>>(),
            text.lines().skip(1).collect::<Vec<_>>()
        );
        assert_eq!(ran(&made, true), "7 2 a b $HOME 3\n");
        assert_eq!(ran(&made, false), "  a b $HOME 3\n");
        // Two words behind the interpreter are one, as in the script itself, and its name is the script's.
        let text = "#! /usr/bin/env -S  printf '%s\\n' \nx\n";
        assert_eq!(ran(text, true), "SCRIPT\na b\n$HOME\n");
        assert_eq!(ran(&with_names_before(text), true), ran(text, true));
        assert_ne!(with_names_before(text), text);
        for other in ["print(1)\n", "#!\nx\n", "#!/opt/a=b/python\nx\n", "#!/usr/bin/python3"] {
            assert_eq!(with_names_before(other), other);
        }
        let long = format!("#!/opt/{}/python3\nx\n", "long/".repeat(20));
        assert_eq!(with_names_before(&long), long);
        let python = with_names_before("#!/usr/bin/env python3\n");
        assert!(python.lines().next().unwrap().len() <= FIRST_LINE_MAX, "{python}");
        assert_ne!(python, "#!/usr/bin/env python3\n");
    }
}
