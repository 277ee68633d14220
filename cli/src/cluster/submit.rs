//! `hpvm submit`: what sbatch takes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hpvm_queue::check::{self, SCRIPT_MAX};
use hpvm_queue::job::{CpuBind, JobId, JobSpec};
use hpvm_queue::program;
use hpvm_serve::api::types::{Job, Validated};
use hpvm_serve::client::Client;

use super::{directives, json_flag, logs, manner, server, values, wait};

/// How often sbatch's --requeue starts a job again: what Slurm's MaxBatchRequeue is by default.
const REQUEUES: &str = "5";

/// The subcommand.
pub fn definition() -> Command {
    Command::new("submit")
        .about("Submit a job to the queue")
        .long_about(
            "Submit a job to the queue.\n\n\
             A program is started as hpvm run starts it, on the number of ranks given with -n. A \
             file that begins with #! is a batch script, as sbatch takes it: it runs once and calls \
             mpirun itself, which then starts as many ranks as -n says. Lines of a script that begin \
             with #HPVM or #SBATCH, before its first command, give flags; the command line counts \
             more, and #HPVM counts more than #SBATCH. Without a program, and with -, the script is \
             read from standard input.",
        )
        .args(flags())
        .arg(flag("wait", Some('W'), "Wait for the end; exit with the job's code (128 + signal, 124 for a time limit)"))
        .arg(flag("watch", None, "Show the output as it comes, and wait for the end as --wait does"))
        .arg(flag("parsable", None, "Print the job's number alone"))
        .arg(flag("test-only", None, "Check only, and say when the job would start"))
        .arg(json_flag())
        .arg(
            Arg::new("program")
                .value_name("PROGRAM|SCRIPT")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .help("Program or script, with its arguments"),
        )
}

fn flag(name: &'static str, short: Option<char>, help: &'static str) -> Arg {
    let arg = Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    match short {
        Some(short) => arg.short(short),
        None => arg,
    }
}

/// Flags that a script may give as well.
fn flags() -> Vec<Arg> {
    let value = |name: &'static str, short: Option<char>, of: &'static str, help: &'static str| {
        let arg = Arg::new(name).long(name).value_name(of).help(help);
        match short {
            Some(short) => arg.short(short),
            None => arg,
        }
    };
    vec![
        value("job-name", Some('J'), "NAME", "Name that lists show"),
        value("nodes", Some('N'), "N", "Number of hosts"),
        value(
            "nodelist",
            Some('w'),
            "HOSTS",
            "Hosts that it may run on, as n1,n[3-5] [default: all]",
        ),
        value("ntasks", Some('n'), "N", "Number of ranks [default: 1]"),
        value("cpus-per-task", Some('c'), "N", "Processors reserved for each rank [default: 1]"),
        value(
            "cpu-bind",
            None,
            "TYPE",
            "Bind each rank to one of its cores, threads, sockets or ldoms, or with none not even the job to \
             its processors [default: the job alone]",
        ),
        value(
            "time",
            Some('t'),
            "TIME",
            "Time limit: minutes, M:S, H:M:S or D-H[:M[:S]] [default: none]",
        ),
        value(
            "mem",
            None,
            "SIZE",
            "Memory on each host, of all its processes there, as 4G; more ends the job",
        ),
        value(
            "max-processes",
            None,
            "N",
            "Processes and threads at once, the launcher's few included; more ends the job",
        ),
        value("partition", Some('p'), "QUEUE", "Queue").visible_alias("queue"),
        value(
            "output",
            Some('o'),
            "FILE",
            "File for standard output, with %j and sbatch's other patterns [default: kept by the server]",
        ),
        value("error", Some('e'), "FILE", "File for standard error [default: as -o]"),
        value(
            "array",
            Some('a'),
            "LIST",
            "One job for each number, as 0-9 or 1-9:2; %2 at the end: two at once",
        ),
        value(
            "dependency",
            Some('d'),
            "LIST",
            "Jobs that must end first, as afterok:12 (of an array, all of it), afterok:12_3 or afterany:12:13",
        ),
        value("priority", None, "N", "-1000 to 1000; a minute of waiting counts as 1 [default: 0]")
            .allow_hyphen_values(true),
        value("chdir", Some('D'), "DIR", "Folder to run in [default: this one]"),
        value(
            "export",
            None,
            "LIST",
            "Variables the job gets: ALL, NONE, or names and NAME=VALUE [default: ALL]",
        ),
        value("gpus", Some('G'), "N", "Number of GPUs, in all"),
        value("wrap", None, "COMMAND", "A shell command instead of a script"),
        flag("requeue", None, "As --max-restarts 5"),
        flag("no-requeue", None, "As --max-restarts 0"),
        value(
            "max-restarts",
            None,
            "N",
            "Start it again, at most N times, when a host is lost or a rank is killed by a signal [default: 0]",
        ),
        flag("hold", Some('H'), "Do not start it before hpvm release"),
    ]
}

/// A command that knows the flags of scripts only.
fn script_flags() -> Command {
    Command::new("script").no_binary_name(true).disable_help_flag(true).args(flags())
}

/// What flags say, by name; later ones replace earlier ones.
type Given = BTreeMap<&'static str, String>;

fn given(matches: &ArgMatches, into: &mut Given) {
    for arg in flags() {
        let Some(name) = flags_name(&arg) else { continue };
        if matches!(arg.get_action(), ArgAction::SetTrue) {
            match name {
                _ if !matches.get_flag(name) => None,
                "requeue" => into.insert("max-restarts", REQUEUES.into()),
                "no-requeue" => into.insert("max-restarts", "0".into()),
                _ => into.insert(name, String::new()),
            };
        } else if let Some(value) = matches.get_one::<String>(name) {
            into.insert(name, value.clone());
        }
    }
}

/// The name of a flag as text that lives as long as the program.
fn flags_name(arg: &Arg) -> Option<&'static str> {
    const NAMES: [&str; 23] = [
        "job-name",
        "nodes",
        "nodelist",
        "ntasks",
        "cpus-per-task",
        "cpu-bind",
        "time",
        "mem",
        "max-processes",
        "partition",
        "output",
        "error",
        "array",
        "dependency",
        "priority",
        "chdir",
        "export",
        "gpus",
        "wrap",
        "max-restarts",
        "requeue",
        "no-requeue",
        "hold",
    ];
    NAMES.into_iter().find(|name| arg.get_id().as_str() == *name)
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let words: Vec<String> =
        matches.get_many::<String>("program").unwrap_or_default().cloned().collect();
    let spec = spec(matches, words).map_err(|text| format!("submit: {text}"))?;
    if spec.array.is_some() && matches.get_flag("watch") {
        let text = "submit: --watch shows the output of one job; with --array, --wait waits for all \
                    tasks, and hpvm logs -f JOB_TASK shows one of them";
        return Err(text.into());
    }
    if matches.get_flag("test-only") {
        return test(matches, &spec);
    }
    let job = server::with(async |client: Client| {
        // Sent again after a broken connection, it is still one job.
        let key = hpvm_serve::secret::token().unwrap_or_default();
        client.post::<Job>("/api/v1/jobs", &[("idempotency-key", &key)], &spec).await
    })?;
    // Of an array, the array's.
    let id = job.summary.array.as_ref().map_or(job.summary.id, |array| array.id);
    let follows = matches.get_flag("watch");
    let text = if matches.get_flag("json") {
        serde_json::to_string(&job).map_err(|error| error.to_string())?
    } else if matches.get_flag("parsable") {
        id.to_string()
    } else {
        submitted(id, job.spec.array.as_deref())
    };
    let is_remark = !matches.get_flag("json") && !matches.get_flag("parsable");
    if is_remark && manner::is_quiet() {
        // The job is what was asked for.
    } else if is_remark && follows {
        // Standard output is the job's.
        let _ = writeln!(std::io::stderr(), "{text}");
    } else {
        crate::info::print(format!("{text}\n").as_bytes())?;
    }
    if follows {
        logs::follow(id.into(), false, 0)?;
    }
    if follows || matches.get_flag("wait") {
        return wait::for_word(&id.to_string());
    }
    Ok(0)
}

/// What was made, for people.
fn submitted(id: JobId, array: Option<&str>) -> String {
    match array.and_then(|list| check::array(list).ok()).as_ref().map(|(tasks, _)| &tasks[..]) {
        Some([only]) => format!("Submitted array {id}: task {id}_{only}"),
        Some([first, .., last]) => {
            format!("Submitted array {id}: tasks {id}_{first} to {id}_{last}")
        }
        _ => format!("Submitted job {id}"),
    }
}

fn test(matches: &ArgMatches, spec: &JobSpec) -> Result<i32, String> {
    let checked = server::with(async |client: Client| {
        client.post::<Validated>("/api/v1/jobs?validate=1", &[], spec).await
    })?;
    let text = if matches.get_flag("json") {
        serde_json::to_string(&checked).map_err(|error| error.to_string())?
    } else {
        match checked.estimated_start {
            Some(start) => format!("The job would start at {start} at the latest"),
            None => "The job can be submitted; when it starts cannot be said".to_string(),
        }
    };
    crate::info::print(format!("{text}\n").as_bytes())?;
    Ok(0)
}

/// The job that the command line and the script ask for.
fn spec(matches: &ArgMatches, mut words: Vec<String>) -> Result<JobSpec, String> {
    // What clap does not know is to it a program of that name.
    if let Some(flag) = words.first().filter(|word| word.len() > 1 && word.starts_with('-')) {
        return Err(format!(
            "unknown flag '{flag}'; hpvm submit --help lists them (a program of that name: ./{flag})"
        ));
    }
    let mut flags = Given::new();
    let mut spec = JobSpec::default();
    let wrapped = matches.get_one::<String>("wrap");
    if let Some(command) = wrapped {
        if !words.is_empty() {
            return Err("--wrap takes the place of a program or script; give one of them".into());
        }
        spec.script = Some(format!("#!/bin/sh\n{command}\n"));
        flags.insert("job-name", "wrap".into());
    } else if let Some((name, text)) = script(&words)? {
        for ours in [false, true] {
            read_directives(&text, ours, &mut flags)?;
        }
        flags.entry("job-name").or_insert(name);
        spec.script = Some(text);
        spec.args = words.split_off(words.len().min(1));
    } else {
        spec.command = words;
    }
    given(matches, &mut flags);
    fill(&mut spec, &flags)?;
    if !super::server::is_remote()
        && let Some(fault) = program::fault(&spec, Path::new("."))
    {
        return Err(fault);
    }
    Ok(spec)
}

fn read_directives(text: &str, ours: bool, flags: &mut Given) -> Result<(), String> {
    for directive in directives::find(text)?.into_iter().filter(|d| d.ours == ours) {
        let line = directive.line;
        match script_flags().try_get_matches_from(&directive.words) {
            Ok(matches) => given(&matches, flags),
            // Slurm has many flags for what there is not here.
            Err(error) if !ours && error.kind() == ErrorKind::UnknownArgument => {
                let words = directive.words.join(" ");
                let _ =
                    writeln!(std::io::stderr(), "hpvm: line {line}: '#SBATCH {words}' is ignored");
            }
            Err(error) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default().replacen("error: ", "", 1);
                return Err(format!("line {line} of the script: {first}"));
            }
        }
    }
    Ok(())
}

/// Name and text of the script, if the first word is one or there is none.
fn script(words: &[String]) -> Result<Option<(String, String)>, String> {
    let told = |name: &str, error: std::io::Error| format!("{name}: {error}");
    let most = SCRIPT_MAX as u64 + 1;
    let Some(first) = words.first().filter(|word| *word != "-") else {
        let mut text = String::new();
        let read = std::io::stdin().take(most).read_to_string(&mut text);
        read.map_err(|error| told("standard input", error))?;
        if text.is_empty() {
            return Err("no program and no script; hpvm submit --help says more".into());
        }
        return Ok(Some(("stdin".into(), text)));
    };
    // To open a pipe would wait for somebody who writes to it.
    if !std::fs::metadata(first).is_ok_and(|meta| meta.is_file()) {
        return Ok(None);
    }
    let Ok(mut file) = std::fs::File::open(first) else { return Ok(None) };
    let mut start = [0; 2];
    if file.read_exact(&mut start).is_err() || &start != b"#!" {
        return Ok(None);
    }
    let mut text = String::from("#!");
    file.take(most).read_to_string(&mut text).map_err(|error| told(first, error))?;
    let name = first.rsplit('/').next().unwrap_or(first).to_string();
    Ok(Some((name, text)))
}

/// The mask of this process.
fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(line.trim(), 8).ok()
}

/// Puts what the flags say into the job.
fn fill(spec: &mut JobSpec, flags: &Given) -> Result<(), String> {
    let text = |name: &str| flags.get(name).cloned();
    let count = |name: &str| -> Result<Option<u32>, String> {
        let bad = |value: &String| format!("--{name} '{value}': expected a number from 1");
        let read = |value: &String| {
            value.parse().ok().filter(|count| *count > 0).ok_or_else(|| bad(value))
        };
        flags.get(name).map(read).transpose()
    };
    let told =
        |name: &str, value: Result<_, String>| value.map_err(|why| format!("--{name} {why}"));
    spec.name = text("job-name");
    spec.nodes = count("nodes")?;
    spec.ranks = count("ntasks")?.unwrap_or(1);
    spec.cpus_per_rank = count("cpus-per-task")?;
    let bind = |value: &String| {
        let names = CpuBind::ALL.map(CpuBind::name).join(", ");
        CpuBind::parse(value)
            .ok_or_else(|| format!("--cpu-bind '{value}': expected one of {names}"))
    };
    spec.cpu_bind = flags.get("cpu-bind").map(bind).transpose()?;
    let time = |value: &String| told("time", values::time(value));
    spec.time_limit_seconds = flags.get("time").map(time).transpose()?;
    let memory = |value: &String| told("mem", values::memory(value));
    spec.memory_bytes = flags.get("mem").map(memory).transpose()?;
    spec.max_processes = count("max-processes")?;
    spec.queue = text("partition");
    spec.stdout = text("output");
    spec.stderr = text("error");
    spec.array = text("array");
    if let Some(list) = flags.get("dependency") {
        spec.depends_on =
            values::dependencies(list).map_err(|why| format!("--dependency {why}"))?;
    }
    if let Some(value) = flags.get("priority") {
        let bad = |_| format!("--priority '{value}': expected a number from -1000 to 1000");
        spec.priority = value.parse().map_err(bad)?;
    }
    if let Some(value) = flags.get("max-restarts") {
        let bad = |_| format!("--max-restarts '{value}': expected a number from 0 to 1000");
        spec.max_restarts = value.parse().map_err(bad)?;
    }
    spec.gpus = match flags.get("gpus").map(String::as_str) {
        Some("0") => None,
        _ => count("gpus")?,
    };
    if let Some(list) = flags.get("nodelist") {
        spec.hosts = values::hosts(list).map_err(|why| format!("--nodelist {why}"))?;
    }
    spec.hold = flags.contains_key("hold");
    let export = flags.get("export").map(String::as_str);
    if super::server::is_remote() {
        // Neither folders nor variables of this machine mean anything there.
        spec.workdir = text("chdir");
        spec.env = environment(Some(export.unwrap_or("NONE")));
        return Ok(());
    }
    spec.umask = umask();
    spec.limits = hpvm_launch::limits::own();
    let here = std::env::current_dir().map_err(|error| format!("the present folder: {error}"))?;
    let folder = flags.get("chdir").map_or_else(|| here.clone(), |dir| here.join(dir));
    spec.workdir = Some(folder.to_str().ok_or("the folder's name is no text")?.to_string());
    spec.env = environment(export);
    Ok(())
}

/// Whether the queue sets it for a task of an array: a job that one submits is not that task.
fn is_of_task(name: &str) -> bool {
    let rest = ["HPVM_", "SLURM_"].iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| rest.starts_with("ARRAY_"))
}

/// What the job gets of our environment.
fn environment(export: Option<&str>) -> BTreeMap<String, String> {
    let own: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !name.is_empty() && !name.contains('='))
        .filter(|(name, _)| !super::server::is_ours(name) && !is_of_task(name))
        .collect();
    let mut env = BTreeMap::new();
    for word in export.unwrap_or("ALL").split(',') {
        match (word, word.split_once('=')) {
            ("ALL", _) => env.extend(own.clone()),
            ("NONE", _) => {}
            (_, Some((name, value))) => {
                env.insert(name.to_string(), value.to_string());
            }
            (name, None) => {
                env.extend(own.get(name).map(|value| (name.to_string(), value.clone())))
            }
        }
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<JobSpec, String> {
        let matches = definition().try_get_matches_from([&["submit"], words].concat()).unwrap();
        let words = matches.get_many::<String>("program").unwrap_or_default().cloned().collect();
        spec(&matches, words)
    }

    #[test]
    fn every_flag_has_its_name() {
        assert!(flags().iter().all(|arg| flags_name(arg).is_some()));
    }

    #[test]
    fn programs_and_flags() {
        let spec = read(&["-n", "4", "-t", "10", "--mem=1G", "-J", "x", "/a", "-n", "5"]).unwrap();
        assert_eq!(spec.command, ["/a", "-n", "5"]);
        assert_eq!((spec.ranks, spec.time_limit_seconds), (4, Some(600)));
        assert_eq!((spec.memory_bytes, spec.name.as_deref()), (Some(1 << 30), Some("x")));
        assert!(read(&["-n", "0", "a"]).unwrap_err().contains("--ntasks '0'"));
        assert!(read(&["-t", "soon", "a"]).unwrap_err().contains("--time 'soon'"));
        for words in [&["-Z", "a"][..], &["--mail-type=ALL", "a"], &["--wrap", "a", "-Z"]] {
            assert!(read(words).unwrap_err().contains("unknown flag '-"), "{words:?}");
        }
        for (words, restarts) in [
            (&["a"][..], 0),
            (&["--requeue", "a"], 5),
            (&["--no-requeue", "a"], 0),
            (&["--max-restarts", "7", "--requeue", "a"], 7),
        ] {
            assert_eq!(read(words).unwrap().max_restarts, restarts, "{words:?}");
        }
        assert_eq!(read(&["--cpu-bind=none", "a"]).unwrap().cpu_bind, Some(CpuBind::None));
        let refused = read(&["--cpu-bind", "map_cpu:0", "a"]).unwrap_err();
        assert!(refused.contains("'map_cpu:0': expected one of none, cores"), "{refused}");
        assert!(read(&["--max-restarts=x", "a"]).unwrap_err().contains("--max-restarts 'x'"));
        let wrapped = read(&["--wrap", "echo hi"]).unwrap();
        assert_eq!(wrapped.script.as_deref(), Some("#!/bin/sh\necho hi\n"));
    }

    #[test]
    fn programs_that_cannot_start() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        let refused = read(&["-D", folder, "./missing"]).unwrap_err();
        assert!(refused.contains("no such file") && refused.contains(folder), "{refused}");
        assert!(read(&["-D", folder, "-d", "afterok:1", "./missing"]).is_ok());
    }

    #[test]
    fn lines_of_scripts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("job.sh");
        let text = "#!/bin/sh\n#SBATCH -n 2 --requeue\n#SBATCH --mail-type=ALL\n\
                    #HPVM -n 3 --time=1:00\necho\n";
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let spec = read(&[path, "arg"]).unwrap();
        assert_eq!((spec.ranks, spec.time_limit_seconds), (3, Some(60)));
        assert_eq!(spec.max_restarts, 5);
        assert_eq!((spec.args, spec.name.as_deref()), (vec!["arg".to_string()], Some("job.sh")));
        assert_eq!(read(&["-n", "4", path]).unwrap().ranks, 4);
        assert_eq!(read(&["--no-requeue", path]).unwrap().max_restarts, 0);
        std::fs::write(path, "#!/bin/sh\n#HPVM --strange\n").unwrap();
        assert!(read(&[path]).unwrap_err().contains("line 2"));
    }

    #[test]
    fn exported_variables() {
        assert!(environment(Some("NONE")).is_empty());
        assert_eq!(environment(Some("A=1,B")).get("A").map(String::as_str), Some("1"));
        assert!(environment(Some("ALL,A=1")).len() >= environment(None).len());
    }
}
