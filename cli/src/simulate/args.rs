//! What the words of the command line ask for.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_routing::{Fabric, format, generate};
use hpvm_simulate::Machine;
use hpvm_simulate::failures::MAX_DAYS;
use hpvm_simulate::job::MAX_RANKS;
use hpvm_simulate::machine::read_time;
use hpvm_simulate::recorded::{Recorded, first_line};

use super::start::Costs;
use super::{command, flag, number, read, seed, valued};

/// What can be simulated, in the order of the help.
pub const SUBJECTS: [(&str, &str); 9] = [
    ("barrier", "MPI_Barrier"),
    ("allreduce", "MPI_Allreduce, a sum of 64-bit numbers, --size bytes"),
    ("alltoall", "MPI_Alltoall, --size bytes for each other rank"),
    ("bcast", "MPI_Bcast from rank 0, --size bytes"),
    ("pingpong", "a message to and fro between the first and the last rank"),
    (
        "trace",
        "the calls of FILE, of a folder of mpirun --record, or with --pattern of an application",
    ),
    ("start", "from mpirun to the end of MPI_Init"),
    ("calibrate", "measure real ranks, write a machine's numbers, and compare"),
    ("failures", "years of jobs whose hosts and processes fail"),
];

/// Bytes where none are given.
const SIZE: usize = 8;
/// How often a collective is repeated where nothing is said.
const TIMES: usize = 5;
/// Most bytes of a message.
const MAX_SIZE: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    Csv,
    Json,
}

/// All that was asked for.
pub struct Asked {
    pub subject: String,
    pub file: Option<PathBuf>,
    /// What the file is where it is a folder of `mpirun --record`.
    pub recorded: Option<Rc<Recorded>>,
    pub pattern: Option<String>,
    /// Numbers of ranks, each a job of its own, ascending.
    pub ranks: Vec<u32>,
    /// They were given, not the default.
    pub says_ranks: bool,
    /// Of the largest job; smaller ones have as many ranks on a host.
    pub hosts: Option<u32>,
    pub machine: Machine,
    pub fabric: Option<Fabric>,
    pub size: usize,
    pub times: usize,
    pub seed: u64,
    pub noise: u32,
    pub schedules: bool,
    pub memory: bool,
    pub form: Form,
    pub plot: Option<PathBuf>,
    pub writes_machine: bool,
    pub days: u32,
    says_years: bool,
    /// Of start.
    pub costs: Costs,
    says_costs: bool,
    /// Of calibrate: where the machine's numbers go, the hosts, arguments of mpirun.
    pub save: Option<PathBuf>,
    pub on: Option<String>,
    pub launch: Vec<String>,
}

/// The subcommand.
pub fn definition() -> Command {
    let subjects = SUBJECTS.map(|(name, _)| name);
    let width = subjects.iter().map(|name| name.len()).max().unwrap_or(0);
    let rows = SUBJECTS.map(|(name, what)| format!("  {name:width$}  {what}"));
    command()
        .about("Simulate a job of many ranks on a model of a machine")
        .long_about(
            "Simulate a job of many ranks on a model of a machine.\n\n\
             Every rank is a whole engine, as in a real job: matching, credits, collectives as schedules between hosts and \
             through shared memory inside them. Only time is virtual: a packet costs what the machine says (overhead of \
             sender and receiver, latency, gap, bandwidth), and with a fabric waits for the links on its route. The same \
             command gives the same output, always.",
        )
        .after_help(format!("Subjects:\n{}\n\nTimes have a unit (ns, us, ms), bandwidths too (Gbit/s, GB/s).", rows.join("\n")))
        .arg(
            Arg::new("subject")
                .value_name("SUBJECT")
                .value_parser(subjects)
                .required_unless_present("write-machine")
                .help("What is simulated"),
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Of trace: the calls of the ranks, or the folder that mpirun --record has written"),
        )
        .args(job_arguments())
        .args(machine_arguments())
        .args(other_arguments())
        .args([
            flag("csv", "Write comma-separated values").conflicts_with("json"),
            flag("json", "Write JSON"),
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE.svg")
                .value_parser(value_parser!(PathBuf))
                .help("Draw the times, and a + b log2 N; of one N, those of all powers of two up to it"),
        ])
}

fn job_arguments() -> [Arg; 10] {
    [
        valued(
            "ranks",
            "N,...",
            "How many ranks; several numbers are jobs one after the other; default 16",
        ),
        number(
            "hosts",
            1..=u64::from(MAX_RANKS),
            "On how many hosts; default: each rank has its own",
        ),
        valued("size", "BYTES", "Bytes of a message; default 8")
            .value_parser(value_parser!(u64).range(0..=MAX_SIZE)),
        number("times", 1..=100_000, "How often it is repeated; default 5"),
        valued("pattern", "NAME:SETTINGS", "Of trace: poisson:n=64,iterations=10,point=2ns")
            .conflicts_with("file"),
        flag(
            "schedules",
            "The schedules of collectives alone, without engines: for very many ranks",
        ),
        flag("memory", "Say where the memory of an engine is").conflicts_with("schedules"),
        seed(),
        valued("noise", "PERCENT", "Stretch the work of processors at random by up to so much")
            .value_parser(value_parser!(u32).range(0..=10_000)),
        number("processors", 0..=4096, "Processors of a host; 0: one for each rank"),
    ]
}

fn machine_arguments() -> [Arg; 8] {
    [
        valued("machine", "FILE", "The machine's numbers; default: two servers of today")
            .value_parser(value_parser!(PathBuf)),
        flag("write-machine", "Write the machine's numbers in the form of such a file, and end"),
        valued("latency", "TIME", "Between hosts, from sent to there"),
        valued("overhead", "TIME", "Of a processor for a packet between hosts, at each end"),
        valued("gap", "TIME", "Between two packets of a host"),
        valued("bandwidth", "RATE", "Of a host's network in each direction"),
        valued("fabric", "FILE", "The links between hosts (a file of hpvm route)")
            .value_parser(value_parser!(PathBuf)),
        valued("generate", "SHAPE", "Make up the links (as hpvm route --generate)")
            .conflicts_with("fabric"),
    ]
}

/// Those of single subjects.
fn other_arguments() -> [Arg; 6] {
    [
        valued("years", "Y", "Of failures: how long, as 10 or 0.5; default 1")
            .allow_hyphen_values(true),
        valued("agent", "TIME", "Of start: until an agent runs on another host; default 150ms"),
        valued("spawn", "TIME", "Of start: of a processor for an agent or a rank; default 1ms"),
        valued("save", "FILE", "Of calibrate: write the machine's numbers there, too")
            .value_parser(value_parser!(PathBuf)),
        valued("on", "HOST,...", "Of calibrate: the network between these hosts, a rank on each"),
        valued("mpirun-arg", "ARG", "Of calibrate: an argument of mpirun; may be repeated")
            .action(ArgAction::Append)
            .allow_hyphen_values(true),
    ]
}

/// Numbers of ranks that calibrate compares, where none are given.
const COMPARED: [u32; 6] = [2, 4, 8, 16, 32, 64];

impl Asked {
    /// What calibrate is to measure: with the installed benchmark.
    pub fn calibration(&self) -> Result<super::calibrate::Plan, String> {
        let hosts = self.on.as_ref().map(|on| on.split(',').count() as u32);
        let ranks = match (self.says_ranks, hosts) {
            (true, _) => self.ranks.clone(),
            (false, None) => COMPARED.to_vec(),
            (false, Some(hosts)) => (2..=hosts).collect(),
        };
        if ranks.iter().any(|ranks| *ranks < 2 || hosts.is_some_and(|hosts| *ranks > hosts)) {
            return Err(
                "simulate: calibrate compares from 2 ranks on, one for each host of --on".into()
            );
        }
        let prefix = hpvm_launch::environment::prefix();
        let prefix = prefix.map_err(|error| format!("simulate: {error}"))?;
        Ok(super::calibrate::Plan {
            mpirun: prefix.join("bin/mpirun"),
            program: prefix.join("libexec/hpvm/hpvmbench"),
            launch: self.launch.clone(),
            hosts: self.on.clone(),
            ranks,
            machine: self.machine.clone(),
        })
    }

    pub fn new(matches: &ArgMatches) -> Result<Asked, String> {
        let subject = matches.get_one::<String>("subject").cloned().unwrap_or_default();
        let plot = matches.get_one::<PathBuf>("output").cloned();
        let file = matches.get_one::<PathBuf>("file").cloned();
        let folder = file.as_deref().filter(|file| subject == "trace" && file.is_dir());
        let recorded = folder.map(recorded).transpose()?.map(Rc::new);
        let mut ranks = match (matches.get_one::<String>("ranks"), &recorded) {
            (None, Some(recorded)) => vec![recorded.ranks()],
            (words, _) => ranks(words)?,
        };
        if let ([only], true) = (&ranks[..], plot.is_some()) {
            ranks = (1..).map(|power| 1 << power).take_while(|n| n < only).chain([*only]).collect();
        }
        let form = match (matches.get_flag("csv"), matches.get_flag("json")) {
            (true, _) => Form::Csv,
            (_, true) => Form::Json,
            _ => Form::Text,
        };
        let asked = Asked {
            subject,
            file,
            recorded,
            pattern: matches.get_one::<String>("pattern").cloned(),
            ranks,
            hosts: matches.get_one::<u32>("hosts").copied(),
            machine: machine(matches)?,
            fabric: fabric(matches)?,
            size: matches.get_one::<u64>("size").map_or(SIZE, |size| *size as usize),
            times: matches.get_one::<u32>("times").map_or(TIMES, |times| *times as usize),
            seed: matches.get_one::<u64>("seed").copied().unwrap_or(0),
            noise: 10 * matches.get_one::<u32>("noise").copied().unwrap_or(0),
            schedules: matches.get_flag("schedules"),
            memory: matches.get_flag("memory"),
            form,
            plot,
            writes_machine: matches.get_flag("write-machine"),
            days: days(matches)?,
            costs: costs(matches)?,
            says_costs: matches.contains_id("agent") || matches.contains_id("spawn"),
            says_years: matches.contains_id("years"),
            save: matches.get_one::<PathBuf>("save").cloned(),
            on: matches.get_one::<String>("on").cloned(),
            launch: matches.get_many::<String>("mpirun-arg").unwrap_or_default().cloned().collect(),
            says_ranks: matches.contains_id("ranks"),
        };
        asked.check()?;
        Ok(asked)
    }

    /// What contradicts itself.
    fn check(&self) -> Result<(), String> {
        let is = |subject: &str| self.subject == subject;
        let wrong = |text: String| Err(format!("simulate: {text}"));
        if is("trace") != (self.file.is_some() || self.pattern.is_some()) && !self.writes_machine {
            return wrong(match is("trace") {
                true => "trace needs a FILE or --pattern".to_owned(),
                false => "a FILE and --pattern are for trace".to_owned(),
            });
        }
        let single = [
            ("--years", self.says_years, "failures"),
            ("--agent and --spawn", self.says_costs, "start"),
            ("--save", self.save.is_some(), "calibrate"),
            ("--on", self.on.is_some(), "calibrate"),
            ("--mpirun-arg", !self.launch.is_empty(), "calibrate"),
        ];
        if let Some((flag, _, of)) = single.iter().find(|(_, said, of)| *said && !is(of)) {
            let are = if flag.contains(" and ") { "are" } else { "is" };
            return wrong(format!("{flag} {are} for {of}"));
        }
        if (is("failures") || is("calibrate")) && self.plot.is_some() {
            return wrong(format!("{} draws nothing: -o", self.subject));
        }
        if is("allreduce") && !self.size.is_multiple_of(8) {
            return wrong(format!("--size {}: an allreduce has a multiple of 8 bytes", self.size));
        }
        if self.schedules && !["barrier", "allreduce", "alltoall"].iter().any(|s| is(s)) {
            return wrong("--schedules is for barrier, allreduce and alltoall".to_owned());
        }
        let most = self.ranks.last().copied().unwrap_or(1);
        if self.hosts.is_some_and(|hosts| hosts > most) {
            let hosts = self.hosts.unwrap_or(0);
            return wrong(format!("--hosts {hosts}: more than the {most} ranks"));
        }
        if is("pingpong") && self.ranks[0] < 2 {
            return wrong("pingpong needs two ranks".to_owned());
        }
        Ok(())
    }

    /// The hosts of a job of `ranks`: as many ranks on each as in the largest.
    pub fn hosts_of(&self, ranks: u32) -> u32 {
        let most = self.ranks.last().copied().unwrap_or(1).max(1);
        let usual = || match &self.recorded {
            Some(job) => (most.div_ceil(job.ranks()) * job.hosts()).min(most),
            None => most,
        };
        let hosts = self.hosts.unwrap_or_else(usual);
        let each = most.div_ceil(hosts).max(1);
        if ranks == most { hosts } else { ranks.div_ceil(each) }
    }
}

/// The record of a job: a file for each rank, which its number names.
fn recorded(folder: &Path) -> Result<Recorded, String> {
    let of = |rank: u32| read(&folder.join(rank.to_string()));
    let wrong = |error| format!("simulate: '{}': {error}", folder.display());
    let first = of(0)?;
    let (_, size) = first_line(&first).map_err(wrong)?;
    let others = (1..size).map(of).collect::<Result<Vec<String>, String>>()?;
    let texts = std::iter::once(&first).chain(&others);
    Recorded::read(texts.map(String::as_str)).map_err(wrong)
}

/// Numbers of ranks, ascending.
fn ranks(words: Option<&String>) -> Result<Vec<u32>, String> {
    let words = words.map_or("16", String::as_str);
    let number = |word: &str| {
        let found = word.parse().ok().filter(|n| (1..=MAX_RANKS).contains(n));
        found.ok_or_else(|| {
            format!(
                "simulate: --ranks '{word}': expected numbers from 1 to {MAX_RANKS}, with commas"
            )
        })
    };
    let mut ranks = words.split(',').map(number).collect::<Result<Vec<u32>, String>>()?;
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

fn machine(matches: &ArgMatches) -> Result<Machine, String> {
    let mut machine = match matches.get_one::<PathBuf>("machine") {
        None => Machine::default(),
        Some(file) => Machine::read(&read(file)?)
            .map_err(|error| format!("simulate: '{}': {error}", file.display()))?,
    };
    for (flag, names) in [
        ("latency", &["network.latency"][..]),
        ("overhead", &["network.send", "network.receive"]),
        ("gap", &["network.gap"]),
        ("bandwidth", &["network.bandwidth"]),
    ] {
        let Some(value) = matches.get_one::<String>(flag) else { continue };
        for name in names {
            machine.set(name, value).map_err(|error| format!("simulate: --{flag} {error}"))?;
        }
    }
    if let Some(processors) = matches.get_one::<u32>("processors") {
        machine.processors = *processors;
    }
    Ok(machine)
}

/// `--years`, in days.
fn days(matches: &ArgMatches) -> Result<u32, String> {
    let Some(word) = matches.get_one::<String>("years") else { return Ok(365) };
    let days = word.parse::<f64>().ok().map(|years| (years * 365.0).round());
    let days = days.filter(|days| (1.0..=f64::from(MAX_DAYS)).contains(days));
    days.map(|days| days as u32).ok_or_else(|| {
        format!("simulate: --years '{word}': expected a number from 0.003 to {}", MAX_DAYS / 365)
    })
}

fn costs(matches: &ArgMatches) -> Result<Costs, String> {
    let mut costs = Costs::default();
    for (flag, time) in [("agent", &mut costs.agent), ("spawn", &mut costs.spawn)] {
        if let Some(word) = matches.get_one::<String>(flag) {
            *time = read_time(word).map_err(|error| format!("simulate: --{flag} {error}"))?;
        }
    }
    Ok(costs)
}

fn fabric(matches: &ArgMatches) -> Result<Option<Fabric>, String> {
    if let Some(shape) = matches.get_one::<String>("generate") {
        let made = generate::generate(shape);
        return made.map(Some).map_err(|error| format!("simulate: --generate {error}"));
    }
    let Some(file) = matches.get_one::<PathBuf>("fabric") else { return Ok(None) };
    let text = read(file)?;
    let fabric = format::read(&text, format::detect(&text));
    fabric.map(Some).map_err(|error| format!("simulate: '{}': {error}", file.display()))
}
