//! From the command line to a [`Request`]: nothing here touches the system except files that flags
//! name, and the topology where a number of ranks depends on it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hpvm_job::name_server::Addresses;

use crate::error::LaunchError;
use crate::family::Family;
use crate::hosts::Host;
use crate::output::Routing;
use crate::place::Room;
use crate::place::fabric::{self, Fabric};
use crate::place::policy::{MapBy, Policy};
use crate::place::rankfile::{self, Seat};
use crate::place::topology::{Level, Topology};
use crate::place::universe::Universe;
use crate::restart::RestartPolicy;
use crate::sites::SiteOptions;
use crate::{slurm, spread};

mod files;
mod foreign;
mod mca;
mod parser;
mod values;

pub use values::{parse_net_timeout, parse_seconds};

/// What the command line asks for.
#[derive(Debug)]
pub enum Parsed {
    Run(Box<Request>),
    /// With the word behind the flag: `all`, or a flag's name.
    Help(Option<String>),
    Version,
}

/// A job to run.
#[derive(Clone, Debug)]
pub struct Request {
    /// At least one; the index is the program's application number.
    pub programs: Vec<Program>,
    pub options: Options,
}

/// One program of the job with its ranks.
#[derive(Clone, Debug)]
pub struct Program {
    pub ranks: u32,
    /// Where they run; none: on this machine.
    pub room: Option<Room>,
    /// Where each of them runs, if a file says so.
    pub seats: Option<Vec<Seat>>,
    /// Program and arguments; never empty.
    pub argv: Vec<OsString>,
    /// Variables set for this program.
    pub env: Vec<(OsString, OsString)>,
    /// What of the present environment is passed; `None` means what the job says.
    pub pass: Option<Pass>,
    pub wdir: Option<PathBuf>,
    /// Folders that are searched for it before `PATH`.
    pub path: Option<OsString>,
}

/// Which variables of the launcher's environment the ranks get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// All on this machine; on other hosts only hpvm's own.
    Usual,
    All,
    Only(Vec<OsString>),
}

/// The usual ways to reach other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    Ssh,
    Rsh,
    Slurm,
    /// None: only this machine.
    Fork,
}

/// Who gets standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Nobody,
    Rank(u32),
    /// All of it for each of these; `None`: for all ranks.
    Several(Option<Vec<u32>>),
}

/// What is shown before the job starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Display {
    pub map: bool,
    pub allocation: bool,
    pub topology: bool,
}

/// Options of the whole job.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command's name in front of messages: `mpirun`, `mpiexec` or `hpvm run`.
    pub label: String,
    pub genv: Vec<(OsString, OsString)>,
    /// Variables of the present environment that are not passed.
    pub unset: Vec<OsString>,
    pub pass: Pass,
    pub policy: Policy,
    /// How other hosts are reached: a command and its first arguments.
    pub launch_agent: Option<Vec<OsString>>,
    /// By which of the usual ways, where no command is given.
    pub launcher: Option<Launcher>,
    /// What ssh is given in front of the host.
    pub ssh_args: Vec<OsString>,
    pub launch_width: u32,
    pub universe: Universe,
    /// Where hpvm is installed on other hosts.
    pub prefix: Option<PathBuf>,
    pub preload: bool,
    /// How long a host may give no sign of life.
    pub net_timeout: Option<Duration>,
    /// Where the user's name server is.
    pub name_server: Option<Addresses>,
    /// Groups of hosts that cannot reach each other.
    pub sites: SiteOptions,
    pub report_bindings: bool,
    pub display: Display,
    pub launch: bool,
    pub output: Routing,
    pub input: Input,
    pub timeout: Option<Duration>,
    pub stack_traces: bool,
    /// When the job is started again.
    pub restart: RestartPolicy,
    /// A rank that fails does not end the job.
    pub recovery: bool,
    pub exit_codes: bool,
    /// Where the launcher's process number is written.
    pub report_pid: Option<OsString>,
    pub library_path: bool,
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
    /// Remarks made while reading the command line, to be shown unless quiet.
    pub warnings: Vec<String>,
}

impl Options {
    /// The defaults, for a command of this name.
    pub fn new(label: &str) -> Self {
        Self {
            label: label.to_string(),
            genv: Vec::new(),
            unset: Vec::new(),
            pass: Pass::Usual,
            policy: Policy::default(),
            launch_agent: None,
            launcher: None,
            ssh_args: Vec::new(),
            launch_width: crate::remote::tree::DEFAULT_TREE_WIDTH as u32,
            universe: Universe::default(),
            prefix: None,
            preload: false,
            net_timeout: None,
            name_server: None,
            sites: SiteOptions::default(),
            report_bindings: false,
            display: Display::default(),
            launch: true,
            output: Routing::default(),
            input: Input::Rank(0),
            timeout: None,
            stack_traces: false,
            restart: RestartPolicy::default(),
            recovery: false,
            exit_codes: false,
            report_pid: None,
            library_path: true,
            json: false,
            quiet: false,
            verbose: false,
            warnings: Vec::new(),
        }
    }
}

/// Linux has no more process ids than this.
pub const MAX_RANKS: u32 = 4_194_304;
/// The variable with the time after which a silent host is given up.
pub const NET_TIMEOUT: &str = "HPVM_NET_TIMEOUT";
/// The command that reaches other hosts, and ssh's first words, where no flag names them.
pub const LAUNCH_AGENT: &str = "HPVM_LAUNCH_AGENT";
pub const SSH_ARGS: &str = "HPVM_SSH_ARGS";

/// Reads the arguments that follow the command's name. `label` is that name.
pub fn parse(label: &str, args: &[OsString]) -> Result<Parsed, LaunchError> {
    let (mut options, drafts) = match parser::read(label, args)? {
        parser::Read::Stop(stop) => return Ok(stop),
        parser::Read::Job { options, drafts } => (*options, drafts),
    };
    from_variables(&mut options, |name| std::env::var_os(name))?;
    let mut hosts = foreign::hosts(&|name| std::env::var_os(name))?;
    if hosts.is_empty() {
        hosts = slurm::hosts(|name| std::env::var(name).ok())?;
    }
    if hosts.is_empty() {
        hosts = queue_hosts(|name| std::env::var(name).ok())?;
    }
    let fabric = fabric::of(&options.policy)?;
    let single = drafts.len() == 1;
    let mut programs = Vec::new();
    let reach = spread::reach_logins(&options);
    if let Some(family) = Family::of_environment().filter(|_| options.sites.given().is_empty()) {
        options.sites = family.options(|allocation| allocation.hosts(&reach))?;
    }
    for mut draft in drafts {
        options.sites.fill(&mut draft.hosts, |allocation| allocation.hosts(&reach))?;
        if !draft.hosts.is_empty() {
            hosts = draft.hosts.clone();
        }
        if draft.per_host.is_none() && options.policy.map == MapBy::Slot {
            draft.per_host = foreign::per_host(&|name| std::env::var_os(name));
            draft.wraps |= draft.per_host.is_some();
        }
        if single && hosts.is_empty() && draft.per_host.is_none() && options.policy.file.is_none() {
            let tasks = queue_tasks(|name| std::env::var(name).ok());
            draft.ranks = draft.ranks.or(tasks);
        }
        programs.push(draft.settle(&hosts, single, &options, fabric.as_ref())?);
    }
    if options.recovery && options.restart.max > 0 {
        return Err(LaunchError::usage(
            "--max-restarts and --enable-recovery exclude each other: with the second a rank that fails does not end the job",
        ));
    }
    check_input(&options, programs.iter().map(|program| program.ranks).sum())?;
    Ok(Parsed::Run(Box::new(Request { programs, options })))
}

/// The ranks that a job of hpvm's queue was submitted with: what `mpirun` in its script starts when
/// nobody says how many.
fn queue_tasks(variable: impl Fn(&str) -> Option<String>) -> Option<u32> {
    variable("HPVM_QUEUE_JOB_ID")?;
    variable("HPVM_NTASKS")?.parse().ok().filter(|tasks| (1..=MAX_RANKS).contains(tasks))
}

/// The hosts that a job of hpvm's queue has got, where they are several.
fn queue_hosts(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Host>, LaunchError> {
    let list = variable("HPVM_QUEUE_JOB_ID").and_then(|_| variable(crate::environment::NODELIST));
    list.map_or(Ok(Vec::new()), |list| crate::hosts::parse_list(&list))
}

/// Standard input can only go to ranks that there are.
fn check_input(options: &Options, ranks: u32) -> Result<(), LaunchError> {
    let wanted = match &options.input {
        Input::Rank(rank) => vec![*rank],
        Input::Several(Some(list)) => list.clone(),
        Input::Nobody | Input::Several(None) => Vec::new(),
    };
    match wanted.into_iter().find(|rank| *rank >= ranks) {
        Some(rank) => Err(LaunchError::usage(format!(
            "--stdin {rank}: the job has {ranks} ranks, numbered from 0"
        ))),
        None => Ok(()),
    }
}

/// What variables say and flags do not. A flag that names a way to reach hosts wins over both.
pub(crate) fn from_variables(
    options: &mut Options,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), LaunchError> {
    let named = options.launch_agent.is_some() || options.launcher.is_some();
    if let Some(value) = variable(LAUNCH_AGENT).filter(|value| !value.is_empty() && !named) {
        options.launch_agent = Some(values::split_words(LAUNCH_AGENT, &value)?);
    }
    if let Some(value) = variable(SSH_ARGS).filter(|_| options.ssh_args.is_empty())
        && !value.is_empty()
    {
        options.ssh_args = values::split_words(SSH_ARGS, &value)?;
    }
    foreign::reach(options, &variable);
    Ok(())
}

/// A program as far as it has been read.
#[derive(Clone, Debug, Default)]
struct Draft {
    ranks: Option<u32>,
    per_host: Option<u32>,
    /// More ranks than so many on each host go round again, as with MPICH and Intel MPI; for Open MPI that is an error.
    wraps: bool,
    hosts: Vec<Host>,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    pass: Option<Pass>,
    wdir: Option<PathBuf>,
    path: Option<OsString>,
}

impl Draft {
    fn settle(
        mut self,
        hosts: &[Host],
        single: bool,
        options: &Options,
        fabric: Option<&Fabric>,
    ) -> Result<Program, LaunchError> {
        let policy = &options.policy;
        if let MapBy::PerPart { count, level } = policy.map {
            self.per_host = Some(count.saturating_mul(parts_here(level)?));
        }
        let listed = match (&policy.file, &policy.map) {
            (Some(file), MapBy::Sequence) => Some(crate::hosts::read_file(file)?),
            _ => None,
        };
        let hosts = listed.as_deref().unwrap_or(hosts);
        let seats = match (&policy.file, &policy.map) {
            (Some(file), map) if *map != MapBy::Sequence => Some(seats(file, hosts, single)?),
            _ => None,
        };
        let room = (!hosts.is_empty()).then(|| Room::new(hosts, self.per_host));
        let count = room.as_ref().map_or(1, |room| room.hosts.len());
        let default = match (&seats, &room, self.per_host) {
            (Some(seats), ..) => seats.len() as u32,
            (None, Some(room), _) if policy.map == MapBy::Sequence => room.sequence.len() as u32,
            (None, Some(room), _) => room.default_ranks(),
            (None, None, per_host) => per_host.unwrap_or(1),
        };
        if let (Some(ranks), Some(per_host), false) = (self.ranks, self.per_host, self.wraps)
            && u64::from(ranks) > u64::from(per_host) * count as u64
        {
            let hosts = if count == 1 { "one host".to_string() } else { format!("{count} hosts") };
            return Err(LaunchError::usage(format!(
                "-n {ranks} asks for more ranks than {per_host} on each host allow on {hosts}; with \
                 -ppn {per_host} hosts are filled again"
            )));
        }
        // Without -n, slots say how many ranks a single program has; of several each has one.
        let usual = if single || self.per_host.is_some() { default } else { 1 };
        let ranks = self.ranks.unwrap_or(usual);
        if let Some(seats) = seats.as_ref().filter(|seats| ranks as usize > seats.len()) {
            return Err(LaunchError::usage(format!(
                "-n {ranks}: the rankfile has lines for {} ranks",
                seats.len()
            )));
        }
        let room = match (room, &policy.map) {
            (Some(room), MapBy::Part(level)) if policy.span && !policy.strict => {
                Some(room.even(parts_here(*level)?))
            }
            (room, _) => room,
        };
        let room = match (room, fabric) {
            (Some(room), Some(fabric)) => Some(fabric.order(&room, ranks)?),
            (room, _) => room,
        };
        let Self { argv, env, pass, wdir, path, .. } = self;
        Ok(Program { ranks, room, seats, argv, env, pass, wdir, path })
    }
}

fn parts_here(level: Level) -> Result<u32, LaunchError> {
    let machine = Topology::here()
        .map_err(|error| LaunchError::system("cannot find out the usable cpus", &error))?;
    Ok(machine.parts(level).len() as u32)
}

fn seats(file: &std::path::Path, hosts: &[Host], single: bool) -> Result<Vec<Seat>, LaunchError> {
    if !single {
        return Err(LaunchError::usage("a job with a rankfile has one program, without ':'"));
    }
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    rankfile::read(file, &names)
}

#[cfg(test)]
mod tests;
