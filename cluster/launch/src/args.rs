//! From the command line to a [`Request`]: nothing here touches the system except the hostfile.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::error::LaunchError;
use crate::flags::{self, Flag, Id};
use crate::hosts::{self, Host};
use crate::place::{self, MapBy, Room};
use crate::slurm;

/// What the command line asks for.
#[derive(Debug)]
pub enum Parsed {
    Run(Box<Request>),
    Help,
    Version,
}

/// A job to run.
#[derive(Debug)]
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
    /// Program and arguments; never empty.
    pub argv: Vec<OsString>,
    /// Variables set for this program.
    pub env: Vec<(OsString, OsString)>,
    /// What of the present environment is passed; `None` means what the job says.
    pub pass: Option<Pass>,
    pub wdir: Option<PathBuf>,
}

/// Which variables of the launcher's environment the ranks get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// All on this machine; on other hosts only hpvm's own.
    Usual,
    All,
    Only(Vec<OsString>),
}

/// What each rank is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    None,
    Core,
    HwThread,
}

/// The usual ways to reach other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    Ssh,
    Slurm,
}

/// Options of the whole job.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command's name in front of messages: `mpirun`, `mpiexec` or `hpvm run`.
    pub label: String,
    pub genv: Vec<(OsString, OsString)>,
    pub pass: Pass,
    pub map_by: MapBy,
    /// How other hosts are reached: a command and its first arguments.
    pub launch_agent: Option<Vec<OsString>>,
    /// By which of the usual ways, where no command is given.
    pub launcher: Option<Launcher>,
    /// What ssh is given in front of the host.
    pub ssh_args: Vec<OsString>,
    pub launch_width: u32,
    pub preload: bool,
    /// How long a host may give no sign of life.
    pub net_timeout: Option<Duration>,
    pub bind: Bind,
    pub report_bindings: bool,
    pub tag: bool,
    pub timestamp: bool,
    pub timeout: Option<Duration>,
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
            pass: Pass::Usual,
            map_by: MapBy::Slot,
            launch_agent: None,
            launcher: None,
            ssh_args: Vec::new(),
            launch_width: crate::remote::tree::WIDTH as u32,
            preload: false,
            net_timeout: None,
            bind: Bind::None,
            report_bindings: false,
            tag: false,
            timestamp: false,
            timeout: None,
            library_path: true,
            json: false,
            quiet: false,
            verbose: false,
            warnings: Vec::new(),
        }
    }
}

/// Reads the arguments that follow the command's name. `label` is that name.
pub fn parse(label: &str, args: &[OsString]) -> Result<Parsed, LaunchError> {
    let mut parser = Parser {
        options: Options::new(label),
        programs: Vec::new(),
        args: args.iter(),
        stop: None,
    };
    while !parser.program()? {}
    if let Some(stop) = parser.stop {
        return Ok(stop);
    }
    let mut options = parser.options;
    from_variables(&mut options, |name| std::env::var_os(name))?;
    let single = parser.programs.len() == 1;
    let mut hosts = slurm::hosts(|name| std::env::var(name).ok())?;
    let mut programs = Vec::new();
    for draft in parser.programs {
        if !draft.hosts.is_empty() {
            hosts = draft.hosts.clone();
        }
        programs.push(draft.settle(&hosts, single)?);
    }
    Ok(Parsed::Run(Box::new(Request { programs, options })))
}

/// A program as far as it has been read.
#[derive(Default)]
struct Draft {
    ranks: Option<u32>,
    per_host: Option<u32>,
    hosts: Vec<Host>,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    pass: Option<Pass>,
    wdir: Option<PathBuf>,
}

impl Draft {
    fn settle(self, hosts: &[Host], single: bool) -> Result<Program, LaunchError> {
        let room = (!hosts.is_empty()).then(|| Room::new(hosts, self.per_host));
        let count = room.as_ref().map_or(1, |room| room.hosts.len());
        let default = match (&room, self.per_host) {
            (Some(room), _) => room.default_ranks(),
            (None, per_host) => per_host.unwrap_or(1),
        };
        if let (Some(ranks), Some(per_host)) = (self.ranks, self.per_host)
            && u64::from(ranks) > u64::from(per_host) * count as u64
        {
            let hosts = if count == 1 { "one host".to_string() } else { format!("{count} hosts") };
            return Err(LaunchError::usage(format!(
                "-n {ranks} asks for more ranks than -ppn {per_host} allows on {hosts}"
            )));
        }
        // Without -n, slots say how many ranks a single program has; of several each has one.
        let usual = if single || self.per_host.is_some() { default } else { 1 };
        let ranks = self.ranks.unwrap_or(usual);
        let (argv, env, pass, wdir) = (self.argv, self.env, self.pass, self.wdir);
        Ok(Program { ranks, room, argv, env, pass, wdir })
    }
}

struct Parser<'a> {
    options: Options,
    programs: Vec<Draft>,
    args: std::slice::Iter<'a, OsString>,
    stop: Option<Parsed>,
}

impl Parser<'_> {
    /// Reads one program with its flags; true after the last.
    fn program(&mut self) -> Result<bool, LaunchError> {
        let mut draft = Draft::default();
        while let Some(arg) = self.args.next() {
            match arg.as_bytes() {
                b"--" => {
                    draft.argv.extend(self.args.next().cloned());
                    break;
                }
                b":" => return Err(self.no_program("before ':'")),
                [b'-', _, ..] => self.flag(arg, &mut draft)?,
                _ => {
                    draft.argv.push(arg.clone());
                    break;
                }
            }
            if self.stop.is_some() {
                return Ok(true);
            }
        }
        if draft.argv.is_empty() {
            let place = if self.programs.is_empty() { "" } else { "after ':'" };
            return Err(self.no_program(place));
        }
        let mut more = false;
        for arg in self.args.by_ref() {
            if arg == ":" {
                more = true;
                break;
            }
            draft.argv.push(arg.clone());
        }
        self.programs.push(draft);
        Ok(!more)
    }

    fn no_program(&self, place: &str) -> LaunchError {
        let gap = if place.is_empty() { "" } else { " " };
        LaunchError::usage(format!(
            "no program given{gap}{place}; usage: {} [-n N] PROGRAM [ARGUMENT]... (see --help)",
            self.options.label
        ))
    }

    fn flag(&mut self, arg: &OsStr, draft: &mut Draft) -> Result<(), LaunchError> {
        let bytes = arg.as_bytes();
        let body = bytes.strip_prefix(b"--").unwrap_or(&bytes[1..]);
        let (name, inline) = match body.iter().position(|byte| *byte == b'=') {
            Some(at) => (&body[..at], Some(OsString::from_vec(body[at + 1..].to_vec()))),
            None => (body, None),
        };
        let text = String::from_utf8_lossy(name);
        if let Some(flag) = flags::find(&text) {
            return self.known(flag, &arg.to_string_lossy(), inline, draft);
        }
        if let Some(count) = attached_count(&text) {
            draft.ranks = Some(parse_count("-n", OsStr::new(count))?);
            return Ok(());
        }
        let hint = match flags::nearest(&text) {
            Some(near) => format!("did you mean '{near}'?"),
            None => "see --help for all of them".to_string(),
        };
        Err(LaunchError::usage(format!("unknown flag '{}'; {hint}", arg.to_string_lossy())))
    }

    fn known(
        &mut self,
        flag: &Flag,
        shown: &str,
        inline: Option<OsString>,
        draft: &mut Draft,
    ) -> Result<(), LaunchError> {
        if flag.values.is_empty() && inline.is_some() {
            return Err(LaunchError::usage(format!("'{shown}': this flag takes no value")));
        }
        let mut values: Vec<OsString> = inline.into_iter().collect();
        while values.len() < flag.values.len() {
            let Some(value) = self.args.next() else {
                return Err(LaunchError::usage(format!(
                    "'{shown}' needs a value: {}",
                    flag.values[values.len()]
                )));
            };
            values.push(value.clone());
        }
        self.apply(flag.id, shown, values, draft)
    }

    fn apply(
        &mut self,
        id: Id,
        shown: &str,
        mut values: Vec<OsString>,
        draft: &mut Draft,
    ) -> Result<(), LaunchError> {
        let second = if values.len() > 1 { values.pop() } else { None }.unwrap_or_default();
        let first = values.pop().unwrap_or_default();
        let options = &mut self.options;
        match id {
            Id::Ranks => draft.ranks = Some(parse_count(shown, &first)?),
            Id::PerHost => draft.per_host = Some(parse_count(shown, &first)?),
            Id::OnePerHost => draft.per_host = Some(1),
            Id::Host => draft.hosts.extend(hosts::parse_list(&first.to_string_lossy())?),
            Id::Hostfile => draft.hosts.extend(hosts::read_file(&PathBuf::from(first))?),
            Id::MapBy => {
                let (map_by, per_host) = place::parse(&first.to_string_lossy())?;
                options.map_by = map_by;
                draft.per_host = per_host.or(draft.per_host);
            }
            Id::ByNode => options.map_by = MapBy::Node,
            Id::LaunchAgent => options.launch_agent = Some(split_words(shown, &first)?),
            Id::Launcher => options.launcher = Some(parse_launcher(shown, &first)?),
            Id::SshArgs => options.ssh_args = split_words(shown, &first)?,
            Id::LaunchWidth => options.launch_width = parse_count(shown, &first)?,
            Id::Preload => options.preload = true,
            Id::Net => options.genv.push(("HPVM_NET".into(), first)),
            Id::NetTimeout => {
                let limit = parse_net_timeout(shown, &first)?;
                options.net_timeout = Some(limit);
                let seconds = limit.as_secs_f64().to_string();
                options.genv.push((NET_TIMEOUT.into(), seconds.into()));
            }
            Id::Export => export(options, first)?,
            Id::GlobalEnv => options.genv.push((variable(shown, first)?, second)),
            Id::ProgramEnv => draft.env.push((variable(shown, first)?, second)),
            Id::GlobalEnvNone => options.pass = Pass::Only(Vec::new()),
            Id::GlobalEnvAll => options.pass = Pass::All,
            Id::GlobalEnvList => options.pass = Pass::Only(split_list(&first)),
            Id::ProgramEnvNone => draft.pass = Some(Pass::Only(Vec::new())),
            Id::ProgramEnvAll => draft.pass = Some(Pass::All),
            Id::ProgramEnvList => draft.pass = Some(Pass::Only(split_list(&first))),
            Id::Wdir if first.is_empty() => {
                return Err(LaunchError::usage(format!("'{shown}': the folder's name is empty")));
            }
            Id::Wdir => draft.wdir = Some(PathBuf::from(first)),
            Id::BindTo => options.bind = parse_bind(&first)?,
            Id::ReportBindings => options.report_bindings = true,
            Id::TagOutput => options.tag = true,
            Id::TimestampOutput => options.timestamp = true,
            Id::Output => output(options, &first)?,
            Id::Timeout => options.timeout = Some(parse_seconds(shown, &first)?),
            Id::NoLibraryPath => options.library_path = false,
            Id::Json => options.json = true,
            Id::Quiet => options.quiet = true,
            Id::Verbose => options.verbose = true,
            Id::Oversubscribe | Id::AllowRoot | Id::HwThreads | Id::Mca => {}
            Id::Ignored | Id::IgnoredValue => {}
            Id::Help => self.stop = Some(Parsed::Help),
            Id::Version => self.stop = Some(Parsed::Version),
        }
        Ok(())
    }
}

/// The variable with the time after which a silent host is given up.
pub const NET_TIMEOUT: &str = "HPVM_NET_TIMEOUT";

fn split_words(shown: &str, value: &OsStr) -> Result<Vec<OsString>, LaunchError> {
    let words: Vec<OsString> = value
        .as_bytes()
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    if words.is_empty() {
        return Err(LaunchError::usage(format!("'{shown}': no command given")));
    }
    Ok(words)
}

/// The command that reaches other hosts, and ssh's first words, where no flag names them.
pub const LAUNCH_AGENT: &str = "HPVM_LAUNCH_AGENT";
pub const SSH_ARGS: &str = "HPVM_SSH_ARGS";

/// What variables say and flags do not. A flag that names a way to reach hosts wins over both.
fn from_variables(
    options: &mut Options,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), LaunchError> {
    let named = options.launch_agent.is_some() || options.launcher.is_some();
    if let Some(value) = variable(LAUNCH_AGENT).filter(|value| !value.is_empty() && !named) {
        options.launch_agent = Some(split_words(LAUNCH_AGENT, &value)?);
    }
    if let Some(value) = variable(SSH_ARGS).filter(|_| options.ssh_args.is_empty())
        && !value.is_empty()
    {
        options.ssh_args = split_words(SSH_ARGS, &value)?;
    }
    Ok(())
}

fn parse_launcher(shown: &str, value: &OsStr) -> Result<Launcher, LaunchError> {
    match value.to_string_lossy().as_ref() {
        "ssh" => Ok(Launcher::Ssh),
        "slurm" | "srun" => Ok(Launcher::Slurm),
        other => Err(LaunchError::usage(format!(
            "'{shown} {other}': hpvm reaches hosts by 'ssh' or 'slurm'; --launch-agent takes any \
             other command"
        ))),
    }
}

fn output(options: &mut Options, value: &OsStr) -> Result<(), LaunchError> {
    for word in value.to_string_lossy().split(',') {
        match word {
            "tag" | "rank" => options.tag = true,
            "timestamp" => options.timestamp = true,
            other => {
                return Err(LaunchError::usage(format!(
                    "'--output {other}': hpvm knows 'tag' and 'timestamp'"
                )));
            }
        }
    }
    Ok(())
}

/// The digits of `-n4` or `-np4`.
fn attached_count(name: &str) -> Option<&str> {
    let digits = name.strip_prefix("np").or_else(|| name.strip_prefix('n'))?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// A number of ranks: at least 1, and few enough for MPI's `int`.
fn parse_count(shown: &str, value: &OsStr) -> Result<u32, LaunchError> {
    let text = value.to_string_lossy();
    // The standard library takes a sign.
    match text.parse::<u32>().ok().filter(|_| !text.starts_with('+')) {
        Some(0) => Err(LaunchError::usage(format!("'{shown} 0': there must be at least one rank"))),
        Some(count) if count <= MAX_RANKS => Ok(count),
        Some(_) => Err(LaunchError::usage(format!("'{shown} {text}': at most {MAX_RANKS} ranks"))),
        None => Err(LaunchError::usage(format!(
            "'{shown} {text}': '{text}' is not a number of ranks; give a whole number from 1"
        ))),
    }
}

/// Linux has no more process ids than this.
pub const MAX_RANKS: u32 = 4_194_304;

/// Seconds, with a fraction if need be.
pub fn parse_seconds(shown: &str, value: &OsStr) -> Result<Duration, LaunchError> {
    let text = value.to_string_lossy();
    let seconds = text.strip_suffix('s').unwrap_or(&text).parse::<f64>().ok();
    seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| {
            LaunchError::usage(format!("'{shown} {text}': give a number of seconds above 0"))
        })
}

/// Bounds of the time after which a silent host is given up. Ranks have the same: see
/// `net_timeout` in crates/mpi-abi/src/runtime/meet.rs.
const NET_TIMEOUT_RANGE: RangeInclusive<f64> = 0.5..=1e6;

/// The value of `--net-timeout` and of its variable.
pub fn parse_net_timeout(shown: &str, value: &OsStr) -> Result<Duration, LaunchError> {
    let limit = parse_seconds(shown, value)?;
    if NET_TIMEOUT_RANGE.contains(&limit.as_secs_f64()) {
        return Ok(limit);
    }
    let text = value.to_string_lossy();
    Err(LaunchError::usage(format!("'{shown} {text}': give 0.5 to 1000000 seconds")))
}

fn parse_bind(value: &OsStr) -> Result<Bind, LaunchError> {
    match value.to_string_lossy().as_ref() {
        "none" | "no" => Ok(Bind::None),
        "core" | "cores" => Ok(Bind::Core),
        "hwthread" | "hwthreads" | "pu" => Ok(Bind::HwThread),
        other => Err(LaunchError::usage(format!(
            "'--bind-to {other}': hpvm binds to 'core', 'hwthread' or 'none'"
        ))),
    }
}

fn split_list(value: &OsStr) -> Vec<OsString> {
    value
        .as_bytes()
        .split(|byte| *byte == b',')
        .filter(|name| !name.is_empty())
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect()
}

/// A name that the environment can hold.
fn variable(shown: &str, name: OsString) -> Result<OsString, LaunchError> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(LaunchError::usage(format!(
            "'{shown} {}': this is not the name of a variable",
            name.to_string_lossy()
        )));
    }
    Ok(name)
}

fn export(options: &mut Options, value: OsString) -> Result<(), LaunchError> {
    let bytes = value.as_bytes();
    if let Some(at) = bytes.iter().position(|byte| *byte == b'=') {
        let name = variable("-x", OsString::from_vec(bytes[..at].to_vec()))?;
        options.genv.push((name, OsString::from_vec(bytes[at + 1..].to_vec())));
        return Ok(());
    }
    let name = variable("-x", value)?;
    match std::env::var_os(&name) {
        Some(value) => options.genv.push((name, value)),
        None => options.warnings.push(format!(
            "-x {}: the variable is not set, so there is nothing to pass on",
            name.to_string_lossy()
        )),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn request(line: &str) -> Request {
        match parse("mpirun", &words(line)) {
            Ok(Parsed::Run(request)) => *request,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refusal(line: &str) -> String {
        match parse("mpirun", &words(line)) {
            Err(error) => {
                assert_eq!(error.code, crate::error::USAGE);
                error.message
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn both_dialects() {
        for line in [
            "-n 4 prog",
            "-np 4 prog",
            "--np 4 prog",
            "-n4 prog",
            "-np4 prog",
            "--np=4 prog",
            "-ppn 4 prog",
            "-N 4 prog",
            "-host localhost:4 prog",
            "--host=localhost:2,127.0.0.1:2 prog",
            "--oversubscribe --allow-run-as-root --mca btl self -n 4 -- prog",
            "--map-by ppr:4:node prog",
            "--map-by ppr:2:node:PE=2 -H a,b prog",
            "-pernode -H n[1-4] -launcher ssh prog",
            "-bootstrap ssh -rmk user -iface net0 -envall -print-rank-map -n 4 prog",
            "--bynode --rank-by slot --display-map --output tag,timestamp -n 4 prog",
        ] {
            let request = request(line);
            assert_eq!(request.programs[0].ranks, 4, "{line}");
            assert_eq!(request.programs[0].argv, words("prog"), "{line}");
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let request = request("-n 2 prog -n 3 --tag-output -- x");
        assert_eq!(request.programs[0].ranks, 2);
        assert_eq!(request.programs[0].argv, words("prog -n 3 --tag-output -- x"));
        assert!(!request.options.tag);
    }

    #[test]
    fn several_programs() {
        let request = request("-genv A 1 -n 2 -env B 2 a x : -wdir /tmp -n 3 b : c");
        let ranks: Vec<_> = request.programs.iter().map(|program| program.ranks).collect();
        assert_eq!(ranks, [2, 3, 1]);
        assert_eq!(request.options.genv, [("A".into(), "1".into())]);
        assert_eq!(request.programs[0].env, [("B".into(), "2".into())]);
        assert_eq!(request.programs[1].wdir, Some(PathBuf::from("/tmp")));
        assert!(request.programs[2].env.is_empty());
    }

    #[test]
    fn hosts_hold_until_others_are_named() {
        let request = request("-n 1 a : -H x,y:2 b : -ppn 3 c : -H z d");
        let rooms: Vec<_> = request
            .programs
            .iter()
            .map(|program| program.room.as_ref().map(|room| room.hosts.clone()))
            .collect();
        let host = |name: &str, slots| (name.to_string(), slots);
        assert_eq!(rooms[0], None);
        assert_eq!(rooms[1], Some(vec![host("x", 1), host("y", 2)]));
        assert_eq!(rooms[2], Some(vec![host("x", 3), host("y", 3)]));
        assert_eq!(rooms[3], Some(vec![host("z", 1)]));
        let ranks: Vec<_> = request.programs.iter().map(|program| program.ranks).collect();
        assert_eq!(ranks, [1, 1, 6, 1]);
    }

    #[test]
    fn slots_and_hosts_give_the_number_of_ranks() {
        for (line, ranks) in [
            ("-H a,b prog", 2),
            ("-H a:2,b prog", 3),
            ("-H a prog", 1),
            ("-H a,b -ppn 3 prog", 6),
            ("-H n[1-16]:2 prog", 32),
            ("-H a,b -n 5 prog", 5),
        ] {
            assert_eq!(request(line).programs[0].ranks, ranks, "{line}");
        }
    }

    #[test]
    fn refusals_name_the_token() {
        for (line, part) in [
            ("", "no program given; usage: mpirun"),
            ("-n 2", "no program given"),
            ("-n 2 a :", "no program given after ':'"),
            (": a", "no program given before ':'"),
            ("-n", "'-n' needs a value: N"),
            ("-n 0 a", "at least one rank"),
            ("-n -3 a", "'-3' is not a number of ranks"),
            ("-n 99999999 a", "at most"),
            ("-np two a", "'two' is not a number"),
            ("--hotsfile x a", "unknown flag '--hotsfile'; did you mean '--hostfile'?"),
            ("-zzzzzz a", "unknown flag '-zzzzzz'; see --help"),
            ("--tag-output=3 a", "takes no value"),
            ("--bind-to socket a", "'--bind-to socket'"),
            ("--timeout 0 a", "above 0"),
            ("--timeout x a", "'--timeout x'"),
            ("-ppn 2 -n 4 a", "more ranks than -ppn 2 allows on one host"),
            ("-H a,b -ppn 2 -n 5 a", "more ranks than -ppn 2 allows on 2 hosts"),
            ("-H a:0 a", "not a number of slots"),
            ("--map-by wheel a", "'--map-by wheel'"),
            ("--map-by ppr:0:node a", "'--map-by ppr:0:node'"),
            ("--launcher lsf a", "'--launcher lsf'"),
            ("--ssh-args= a", "no command given"),
            ("--output file a", "'--output file'"),
            ("--launch-agent= a", "no command given"),
            ("--net-timeout 0 a", "above 0"),
            ("--net-timeout 0.4 a", "0.5 to 1000000"),
            ("--net-timeout 1000001 a", "0.5 to 1000000"),
            ("-n +2 a", "'-n +2'"),
            ("--wdir= a", "'--wdir=': the folder's name is empty"),
            ("-H [::1 a", "'[::1' is not the name of a host"),
            ("-genv A", "'-genv' needs a value: VALUE"),
            ("-x =3 a", "not the name of a variable"),
        ] {
            let message = refusal(line);
            assert!(message.contains(part), "{line}: {message}");
        }
    }

    #[test]
    fn variables_say_what_flags_do_not() {
        let variables = |name: &str| match name {
            LAUNCH_AGENT => Some("rsh -x".into()),
            SSH_ARGS => Some("-p 2222".into()),
            _ => None,
        };
        let with = |line: &str| {
            let mut options = request(line).options;
            from_variables(&mut options, variables).unwrap();
            (options.launch_agent, options.ssh_args)
        };
        assert_eq!(with("a"), (Some(words("rsh -x")), words("-p 2222")));
        assert_eq!(with("--ssh-args -v --launcher ssh a"), (None, words("-v")));
        assert_eq!(with("--launch-agent x a").0, Some(words("x")));
    }

    #[test]
    fn help_wins_over_a_missing_program() {
        assert!(matches!(parse("mpirun", &words("-n 2 --help")), Ok(Parsed::Help)));
        assert!(matches!(parse("mpirun", &words("-V")), Ok(Parsed::Version)));
    }
}
