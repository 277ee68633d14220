//! Reads flag by flag, by the table in [`flags`].

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::values::{
    attached_count, export, parse_count, parse_duration, parse_errhandler, parse_input, parse_lane,
    parse_launcher, parse_name_server, parse_net_timeout, parse_restart_on, parse_restarts,
    parse_seconds, parse_universe, split_list, split_words, variable,
};
use super::{Draft, LAUNCH_AGENT, NET_TIMEOUT, Options, Parsed, Pass, files, foreign, mca};
use hpvm_job::name_server::VARIABLE;

use crate::environment::{MONITOR, record};
use crate::error::LaunchError;
use crate::flags::{self, Effect, Flag, Id};
use crate::hosts;
use crate::output::pattern::Pattern;

/// What was read.
pub enum Read {
    Stop(Parsed),
    Job { options: Box<Options>, drafts: Vec<Draft> },
}

/// Reads all arguments.
pub fn read(label: &str, args: &[OsString]) -> Result<Read, LaunchError> {
    let mut parser = Parser {
        options: Options::new(label),
        programs: Vec::new(),
        args: args.iter().cloned().collect(),
        later: VecDeque::new(),
        no_effect: Vec::new(),
        stop: None,
    };
    foreign::parameters(&mut parser.options, &|name| std::env::var_os(name));
    while !parser.program()? {}
    if let Some(stop) = parser.stop {
        return Ok(Read::Stop(stop));
    }
    if !parser.no_effect.is_empty() {
        let keys = parser.no_effect.join(", ");
        parser.options.warnings.push(format!(
            "--mca {keys}: no effect here; hpvm chooses by itself how to send (docs/coming-from.md \
             says which parameters are obeyed)"
        ));
    }
    Ok(Read::Job { options: Box::new(parser.options), drafts: parser.programs })
}

struct Parser {
    options: Options,
    programs: Vec<Draft>,
    args: VecDeque<OsString>,
    /// Words of a file of programs, which come after those of the command line.
    later: VecDeque<OsString>,
    /// Open MPI's parameters that mean nothing here.
    no_effect: Vec<String>,
    stop: Option<Parsed>,
}

impl Parser {
    /// Reads one program with its flags; true after the last.
    fn program(&mut self) -> Result<bool, LaunchError> {
        let mut draft = Draft::default();
        while let Some(arg) = self.args.pop_front() {
            match arg.as_bytes() {
                b"--" => {
                    draft.argv.extend(self.args.pop_front());
                    break;
                }
                b":" => return Err(self.no_program("before ':'")),
                [b'-', _, ..] => self.flag(&arg, &mut draft)?,
                _ => {
                    draft.argv.push(arg);
                    break;
                }
            }
            if self.stop.is_some() {
                return Ok(true);
            }
            if self.args.is_empty() && !self.later.is_empty() {
                // Flags in front of a file of programs are for its first.
                self.args = std::mem::take(&mut self.later);
            }
        }
        if draft.argv.is_empty() {
            let place = if self.programs.is_empty() { "" } else { "after ':'" };
            return Err(self.no_program(place));
        }
        let mut more = false;
        while let Some(arg) = self.args.pop_front() {
            if arg == ":" {
                more = true;
                break;
            }
            draft.argv.push(arg);
        }
        if !more && !self.later.is_empty() {
            self.args = std::mem::take(&mut self.later);
            more = true;
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
            None => "see --help all for all of them".to_string(),
        };
        Err(LaunchError::usage(format!("unknown flag '{}'; {hint}", arg.to_string_lossy())))
    }

    fn known(
        &mut self,
        flag: &'static Flag,
        shown: &str,
        inline: Option<OsString>,
        draft: &mut Draft,
    ) -> Result<(), LaunchError> {
        if flag.effect == Effect::Refused {
            return Err(LaunchError::usage(format!("'{shown}' is not there: {}", flag.help)));
        }
        if flag.values.is_empty() && inline.is_some() {
            return Err(LaunchError::usage(format!("'{shown}': this flag takes no value")));
        }
        let mut values: Vec<OsString> = inline.into_iter().collect();
        while values.len() < flag.values.len() {
            // MPICH and Intel MPI take NAME=VALUE, too.
            if let (["VAR", "VALUE"], [name]) = (flag.values, &values[..])
                && let Some(at) = name.as_bytes().iter().position(|byte| *byte == b'=')
            {
                let value = OsString::from_vec(name.as_bytes()[at + 1..].to_vec());
                values = vec![OsString::from_vec(name.as_bytes()[..at].to_vec()), value];
                continue;
            }
            let Some(value) = self.args.pop_front() else {
                return Err(LaunchError::usage(format!(
                    "'{shown}' needs a value: {}",
                    flag.values[values.len()]
                )));
            };
            values.push(value);
        }
        match flag.effect {
            Effect::Works(id) => self.apply(id, shown, values, draft),
            Effect::Remark | Effect::Refused => {
                let text = format!("'{shown}' has no effect here: {}", flag.help);
                self.options.warnings.push(text);
                Ok(())
            }
        }
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
        if self.place(id, shown, &first, draft)? || self.output(id, shown, &first)? {
            return Ok(());
        }
        let Some((first, second)) = self.environment(id, shown, (first, second), draft)? else {
            return Ok(());
        };
        let options = &mut self.options;
        match id {
            Id::File => self.later = files::words(shown, Path::new(&first))?.into(),
            Id::LaunchAgent => {
                options.launch_agent = Some(split_words(shown, &first)?);
                // What ranks start on other hosts is started in the same way.
                options.genv.push((LAUNCH_AGENT.into(), first));
            }
            Id::Launcher => options.launcher = Some(parse_launcher(shown, &first)?),
            Id::SshArgs => options.ssh_args = split_words(shown, &first)?,
            Id::LaunchWidth => options.launch_width = parse_count(shown, &first)?,
            Id::Universe => options.universe = parse_universe(shown, &first)?,
            Id::Prefix => options.prefix = Some(PathBuf::from(first)),
            Id::Preload => options.preload = true,
            Id::Monitor => options.genv.push((MONITOR.into(), "1".into())),
            Id::Record => record(options, shown, &first)?,
            Id::Gateway => options.sites.gateway(shown, &first.to_string_lossy())?,
            Id::Compress => options.sites.compress(shown, &first.to_string_lossy())?,
            Id::Net => options.genv.push(("HPVM_NET".into(), first)),
            Id::Lane => {
                parse_lane(shown, &first)?;
                options.genv.push(("HPVM_LANE".into(), first));
            }
            Id::NetTimeout => {
                let limit = parse_net_timeout(shown, &first)?;
                options.net_timeout = Some(limit);
                let seconds = limit.as_secs_f64().to_string();
                options.genv.push((NET_TIMEOUT.into(), seconds.into()));
            }
            Id::NameServer => {
                let places = parse_name_server(shown, &first)?;
                options.genv.push((VARIABLE.into(), places.text().into()));
                options.name_server = Some(places);
            }
            Id::Timeout => options.timeout = Some(parse_seconds(shown, &first)?),
            Id::StackTraces => options.stack_traces = true,
            Id::MaxRestarts => options.restart.max = parse_restarts(shown, &first)?,
            Id::RestartOn => options.restart.on = parse_restart_on(shown, &first)?,
            Id::RestartDelay => options.restart.delay = parse_duration(shown, &first)?,
            Id::RestartWait => options.restart.wait = parse_duration(shown, &first)?,
            Id::Recovery => options.recovery = true,
            Id::NoRecovery => options.recovery = false,
            Id::ExitCodes => options.exit_codes = true,
            Id::ReportPid => options.report_pid = Some(first),
            Id::NoLibraryPath => options.library_path = false,
            Id::Json => options.json = true,
            Id::Quiet => options.quiet = true,
            Id::Verbose => options.verbose = true,
            Id::Mca => {
                let key = first.to_string_lossy();
                if !mca::obey(options, &format!("{shown} {key}"), &key, &second)? {
                    self.no_effect.push(key.into_owned());
                }
            }
            Id::Help => {
                let topic = self.args.front().map(|word| word.to_string_lossy().into_owned());
                let topic = topic.filter(|word| is_topic(word));
                self.stop = Some(Parsed::Help(topic));
            }
            Id::Version => self.stop = Some(Parsed::Version),
            _ => {}
        }
        Ok(())
    }

    /// Flags about variables and folders; the values back if it is another.
    fn environment(
        &mut self,
        id: Id,
        shown: &str,
        (first, second): (OsString, OsString),
        draft: &mut Draft,
    ) -> Result<Option<(OsString, OsString)>, LaunchError> {
        let options = &mut self.options;
        match id {
            Id::Export => export(options, first)?,
            Id::UnsetList => options.unset.extend(split_list(&first)),
            Id::InitialErrhandler => {
                parse_errhandler(shown, &first)?;
                options.genv.push(("HPVM_INITIAL_ERRHANDLER".into(), first));
            }
            Id::Unset => options.unset.push(variable(shown, first)?),
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
            Id::Path => draft.path = Some(first),
            _ => return Ok(Some((first, second))),
        }
        Ok(None)
    }

    /// Flags about which rank runs where; false if it is another.
    fn place(
        &mut self,
        id: Id,
        shown: &str,
        first: &OsStr,
        draft: &mut Draft,
    ) -> Result<bool, LaunchError> {
        let options = &mut self.options;
        let policy = &mut options.policy;
        let text = first.to_string_lossy();
        match id {
            Id::Ranks => draft.ranks = Some(parse_count(shown, first)?),
            Id::PerHost => {
                draft.per_host = Some(parse_count(shown, first)?);
                let name = shown.trim_start_matches('-').split('=').next().unwrap_or_default();
                draft.wraps = matches!(name, "ppn" | "perhost" | "grr");
            }
            Id::OnePerHost => draft.per_host = Some(1),
            Id::Host => draft.hosts.extend(hosts::parse_list(&text)?),
            Id::Site => draft.hosts.extend(options.sites.site(shown, &text)?),
            Id::Hostfile => draft.hosts.extend(hosts::read_file(Path::new(first))?),
            Id::MapBy => draft.per_host = policy.map_by(shown, &text)?.or(draft.per_host),
            Id::Fabric => policy.fabric = Some(PathBuf::from(first)),
            Id::MapFixed(way) => drop(policy.map_by(shown, way)?),
            Id::PerSocket => drop(policy.map_by(shown, &format!("ppr:{text}:socket"))?),
            Id::Ppr => {
                draft.per_host = policy.map_by(shown, &format!("ppr:{text}"))?.or(draft.per_host);
            }
            Id::RankBy => policy.rank_by(shown, &text)?,
            Id::Rankfile => policy.file = Some(PathBuf::from(first)),
            Id::Sequence => drop(policy.map_by(shown, "seq")?),
            Id::CpusPerRank => policy.width = parse_count(shown, first)?,
            Id::CpuSet => drop(policy.map_by(shown, &format!(":pe-list={text}"))?),
            Id::BindTo => policy.bind_to(shown, &text)?,
            Id::BindFixed(part) => policy.bind_to(shown, part)?,
            Id::CpuBind => policy.cpu_bind(shown, &text)?,
            Id::Threads => policy.threads = true,
            Id::Oversubscribe => policy.strict = false,
            Id::NoOversubscribe => policy.strict = true,
            Id::NoLocal => policy.no_local = true,
            Id::ReportBindings => options.report_bindings = true,
            Id::Display => return self.display(shown, &text).map(|()| true),
            Id::DisplayFixed(word) => return self.display(shown, word).map(|()| true),
            Id::DoNotLaunch => options.launch = false,
            Id::AllowRoot => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn display(&mut self, shown: &str, text: &str) -> Result<(), LaunchError> {
        for word in text.split([',', ':']) {
            let display = &mut self.options.display;
            match word.to_ascii_lowercase().as_str() {
                "map" | "map-devel" | "map-diffable" => display.map = true,
                "allocation" | "alloc" => display.allocation = true,
                "topo" | "topology" => display.topology = true,
                "bind" | "bindings" => self.options.report_bindings = true,
                // How others write the same.
                "parseable" | "parsable" | "" => {}
                _ => {
                    return Err(LaunchError::usage(format!(
                        "'{shown} {text}': hpvm shows map, bind, allocation and topo"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Flags about standard input and output; false if it is another.
    fn output(&mut self, id: Id, shown: &str, first: &OsStr) -> Result<bool, LaunchError> {
        let output = &mut self.options.output;
        match id {
            Id::TagOutput => output.tag = true,
            Id::TimestampOutput => output.time = true,
            Id::PrependPattern => output.prepend = Some(Pattern::parse(shown, first)?),
            Id::Output => output.words(shown, first)?,
            Id::OutputFile => output.to_files(shown, first)?,
            Id::OutputFolder => output.to_folder(shown, first)?,
            Id::OutPattern => output.to_pattern(0, Pattern::parse(shown, first)?),
            Id::ErrPattern => output.to_pattern(1, Pattern::parse(shown, first)?),
            Id::Merge => output.merge = true,
            Id::Stdin => self.options.input = parse_input(shown, &first.to_string_lossy())?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Whether a word behind `--help` says what is to be shown.
fn is_topic(word: &str) -> bool {
    word == "all" || flags::find(word.trim_start_matches('-')).is_some()
}
