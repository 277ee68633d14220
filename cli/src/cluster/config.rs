//! The configuration files of `hpvm serve` and `hpvm node`, and their variables. A flag counts more than a variable, which
//! counts more than the file. What values are allowed is said once, by the flags: a setting is checked by the flag of its name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command};
use hpvm_launch::text_file;

use super::node::SERVICE as NODE;
use super::serve::SERVICE as SERVE;

/// A file with more bytes is no configuration.
const FILE_MAX: u64 = 1 << 20;

/// A command that runs on as a service.
pub struct Service {
    /// `serve`: so its file is called.
    pub name: &'static str,
    pub definition: fn() -> Command,
    /// The variable that names the file.
    pub file_variable: &'static str,
    /// All keys of the file, which are flags, too, with their variables.
    pub keys: &'static [(&'static str, &'static str)],
    /// Keys whose values are paths. A service has no folder to which a relative one could refer.
    pub paths: &'static [&'static str],
    /// A key that makes no sense without the other.
    pub pairs: &'static [(&'static str, &'static str)],
    /// A line of the file.
    pub example: &'static str,
    /// What flags cannot say of a value.
    pub check: fn(&str, &str) -> Result<(), String>,
}

/// The values of a key, and who has set them.
struct Setting {
    values: Vec<OsString>,
    from: String,
}

type Settings = BTreeMap<&'static str, Setting>;

/// Flags, variables and file together, as if all had been flags, and what was said where.
pub struct Configured {
    pub matches: ArgMatches,
    settings: Settings,
    /// The file that was read.
    pub file: Option<PathBuf>,
}

impl Configured {
    /// What `--check-config` prints.
    pub fn report(&self) -> String {
        let mut out = match &self.file {
            Some(file) => format!("{}: good\n", file.display()),
            None => "there is no configuration file\n".to_string(),
        };
        for (key, setting) in &self.settings {
            for value in &setting.values {
                out += &format!("{key} = {}    # {}\n", value.to_string_lossy(), setting.from);
            }
        }
        out
    }
}

/// Whether a variable is for services, by its name.
pub fn is_variable(name: &str) -> bool {
    [&SERVE, &NODE].iter().any(|service| name.starts_with(service.prefix()))
}

/// A file that is there, and where the others of a service belong.
fn usual(names: &str) -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = own.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")));
    let own = own.map(|folder| folder.join("hpvm").join(names));
    let root = hpvm_os::user() == 0;
    let system = root.then(|| Path::new("/etc/hpvm").join(names));
    own.into_iter().chain(system).collect()
}

impl Service {
    /// What its variables begin with.
    fn prefix(&self) -> &'static str {
        self.file_variable.trim_end_matches("CONFIG")
    }

    fn key_names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|(key, _)| *key).collect()
    }

    /// A file beside the usual ones of this service, if it is there.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        usual(name).into_iter().find(|path| path.exists())
    }

    /// What it would do without flags.
    pub fn without_flags(&self) -> Result<Configured, String> {
        let none = (self.definition)().no_binary_name(true).try_get_matches_from([""; 0]);
        self.configure(&none.map_err(|error| first_line(&error))?)
    }

    /// Adds variables and file to the flags.
    pub fn configure(&self, flags: &ArgMatches) -> Result<Configured, String> {
        let told = |text: String| format!("{}: {text}", self.name);
        let definition = (self.definition)();
        let file = self.file(flags).map_err(told)?;
        let mut settings = match &file {
            Some(path) => {
                let text = text_file::read(path, FILE_MAX).map_err(|unread| {
                    told(format!("configuration file {}: {unread}", path.display()))
                })?;
                self.parse(&path.display().to_string(), &text, &definition).map_err(told)?
            }
            None => Settings::new(),
        };
        settings.extend(self.variables(&definition).map_err(told)?);
        settings.extend(self.on_command_line(flags));
        for (key, needed) in self.pairs {
            both(&settings, key, needed).map_err(told)?;
        }
        let all = settings.iter();
        let all = all.flat_map(|(key, setting)| as_flags(key, &setting.values, &definition));
        let matches = definition.clone().no_binary_name(true).try_get_matches_from(all);
        let matches = matches.map_err(|error| told(first_line(&error)))?;
        Ok(Configured { matches, settings, file })
    }

    /// The file that is named, or the usual one if it is there.
    fn file(&self, flags: &ArgMatches) -> Result<Option<PathBuf>, String> {
        if let Some(file) = flags.get_one::<PathBuf>("config") {
            return Ok(Some(file.clone()));
        }
        if let Some(file) = std::env::var_os(self.file_variable).filter(|value| !value.is_empty()) {
            return Ok(Some(PathBuf::from(file)));
        }
        for path in usual(&format!("{}.conf", self.name)) {
            match path.try_exists() {
                Ok(true) => return Ok(Some(path)),
                Ok(false) => {}
                Err(error) => {
                    return Err(format!("configuration file {}: {error}", path.display()));
                }
            }
        }
        Ok(None)
    }

    /// The settings of a file's text: lines `key = value`, empty ones, and comments. The error has a line for each that
    /// is wrong.
    fn parse(&self, file: &str, text: &str, definition: &Command) -> Result<Settings, String> {
        let (mut settings, mut wrong) = (Settings::new(), Vec::new());
        for (index, line) in text.lines().enumerate() {
            let (line, from) = (line.trim(), format!("{file}:{}", index + 1));
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Err(text) = self.take(&mut settings, &from, line, definition) {
                wrong.push(format!("{from}: {text}"));
            }
        }
        if wrong.is_empty() { Ok(settings) } else { Err(wrong.join("\n")) }
    }

    /// Adds what one line sets.
    fn take(
        &self,
        settings: &mut Settings,
        from: &str,
        line: &str,
        definition: &Command,
    ) -> Result<(), String> {
        let (key, value) = line
            .split_once('=')
            .ok_or_else(|| format!("'{line}': expected a line like: {}", self.example))?;
        let key = self.known(key.trim())?;
        let value = unquoted(value.trim())?;
        self.check(key, value, definition)?;
        let value = OsString::from(value);
        match settings.get_mut(key) {
            None => drop(settings.insert(key, Setting { values: vec![value], from: from.into() })),
            Some(before) if repeats(definition, key) => before.values.push(value),
            Some(before) => return Err(format!("'{key}' is set twice, before at {}", before.from)),
        }
        Ok(())
    }

    /// The key of this name.
    fn known(&self, name: &str) -> Result<&'static str, String> {
        let found = self.key_names().into_iter().find(|key| *key == name);
        found.ok_or_else(|| {
            format!("unknown key '{name}'; expected one of {}", self.key_names().join(", "))
        })
    }

    /// Whether a value is one of this key.
    fn check(&self, key: &'static str, value: &str, definition: &Command) -> Result<(), String> {
        if is_switch(definition, key) {
            return match value {
                "true" | "false" => Ok(()),
                _ => Err(format!("{key} = '{value}': expected true or false")),
            };
        }
        if value.is_empty() {
            return Err(format!("{key} has no value"));
        }
        if self.paths.contains(&key) && !Path::new(value).is_absolute() {
            return Err(format!("{key} = '{value}': expected an absolute path"));
        }
        (self.check)(key, value)?;
        if matches!(value, "true" | "false") {
            return Err(format!("{key} = '{value}': this key is no switch; expected a value"));
        }
        let one = as_flags(key, &[value.into()], definition);
        let read = definition.clone().no_binary_name(true).try_get_matches_from(one);
        read.map(|_| ()).map_err(|error| first_line(&error))
    }

    /// What the variables set.
    fn variables(&self, definition: &Command) -> Result<Settings, String> {
        let known = |name: &str| {
            name == self.file_variable || self.keys.iter().any(|(_, variable)| *variable == name)
        };
        let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        let mut names = names.filter(|name| name.starts_with(self.prefix()));
        if let Some(name) = names.find(|name| !known(name)) {
            let all: Vec<&str> = self.keys.iter().map(|(_, variable)| *variable).collect();
            let (file, all) = (self.file_variable, all.join(", "));
            return Err(format!("unknown variable {name}; expected {file} or one of {all}"));
        }
        let mut settings = Settings::new();
        for (key, variable) in self.keys.iter().copied() {
            let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
                continue;
            };
            let told = |text: String| format!("{variable}: {text}");
            let value = value.into_string().map_err(|_| told("expected UTF-8".to_string()))?;
            let values: Vec<String> = match repeats(definition, key) {
                true => value.split(',').map(|one| one.trim().to_string()).collect(),
                false => vec![value],
            };
            for value in &values {
                self.check(key, value, definition).map_err(told)?;
            }
            let values = values.into_iter().map(OsString::from).collect();
            settings.insert(key, Setting { values, from: variable.to_string() });
        }
        Ok(settings)
    }

    /// What the command line sets.
    fn on_command_line(&self, flags: &ArgMatches) -> Settings {
        let given = |key: &str| flags.value_source(key) == Some(ValueSource::CommandLine);
        let mut settings = Settings::new();
        for key in self.key_names().into_iter().filter(|key| given(key)) {
            let raw = flags.get_raw(key).unwrap_or_default();
            let values: Vec<OsString> = raw.map(OsString::from).collect();
            let values = if values.is_empty() { vec!["true".into()] } else { values };
            settings.insert(key, Setting { values, from: format!("--{key}") });
        }
        settings
    }
}

/// Refuses a key without the one that it needs. They may be set in two ways, so the flags cannot say it.
fn both(settings: &Settings, key: &str, needed: &str) -> Result<(), String> {
    match settings.get(key) {
        Some(setting) if !settings.contains_key(needed) => {
            Err(format!("{}: {key} is set without {needed}; set both or none", setting.from))
        }
        _ => Ok(()),
    }
}

/// A value without the quotation marks around it.
fn unquoted(value: &str) -> Result<&str, String> {
    match (value.strip_prefix('"'), value.strip_suffix('"')) {
        (None, None) if value.contains(" #") => Err(format!(
            "{value}: comments have lines of their own; put what belongs to the value into quotation marks"
        )),
        (None, None) => Ok(value),
        (Some(rest), Some(_)) if !rest.is_empty() => Ok(&rest[..rest.len() - 1]),
        _ => Err(format!("{value}: a quotation mark is missing")),
    }
}

/// Whether the flag of this name does without a value.
fn is_switch(definition: &Command, key: &str) -> bool {
    let found = definition.get_arguments().find(|arg| arg.get_id() == key);
    found.is_some_and(|arg| matches!(arg.get_action(), ArgAction::SetTrue))
}

/// Whether the flag of this name may be given several times.
fn repeats(definition: &Command, key: &str) -> bool {
    let found = definition.get_arguments().find(|arg| arg.get_id() == key);
    found.is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append))
}

/// What clap says, without its headline and its hint about help.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let text = lines.collect::<Vec<_>>().join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_string()
}

/// The flags that say the same.
fn as_flags(key: &str, values: &[OsString], definition: &Command) -> Vec<OsString> {
    if is_switch(definition, key) {
        let on = values.iter().any(|value| value == "true");
        return on.then(|| format!("--{key}").into()).into_iter().collect();
    }
    let flag = |value: &OsString| {
        let mut flag = OsString::from(format!("--{key}="));
        flag.push(value);
        flag
    };
    values.iter().map(flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(service: &Service, text: &str) -> Result<Settings, String> {
        service.parse("f", text, &(service.definition)())
    }

    fn error(text: &str) -> String {
        parse(&SERVE, text).err().unwrap_or_else(|| panic!("{text} passes"))
    }

    #[test]
    fn the_examples_name_every_key_and_their_comments_are_good_settings() {
        for (service, example) in [
            (&SERVE, include_str!("../../../cluster/serve/units/serve.conf")),
            (&NODE, include_str!("../../../cluster/serve/units/node.conf")),
        ] {
            let set = parse(service, example);
            assert!(set.is_ok(), "{:?}", set.err());
            let all: Vec<&str> = example
                .lines()
                .filter(|line| !line.starts_with("# ") && line.contains(" = "))
                .map(|line| line.trim_start_matches('#'))
                .collect();
            let all = parse(service, &all.join("\n")).unwrap_or_else(|text| panic!("{text}"));
            assert_eq!(all.len(), service.keys.len(), "{:?}", all.keys());
        }
    }

    #[test]
    fn every_key_is_a_flag_and_every_flag_that_sets_something_a_key() {
        for service in [&SERVE, &NODE] {
            let definition = (service.definition)();
            let acts = ["config", "check-config", "link", "remove", "help", "version"];
            let flags = definition.get_arguments().map(|arg| arg.get_id().as_str());
            let mut flags: Vec<&str> = flags.filter(|flag| !acts.contains(flag)).collect();
            flags.sort_unstable();
            assert_eq!(flags, service.key_names());
            for (key, variable) in service.keys {
                let name = key.to_uppercase().replace('-', "_");
                assert_eq!(*variable, format!("{}{name}", service.prefix()));
            }
        }
    }

    #[test]
    fn variables_of_services_are_known_by_their_names() {
        for (name, expected) in [
            ("HPVM_SERVE_LISTEN", true),
            ("HPVM_NODE_TOKEN_FILE", true),
            ("HPVM_NODE", false),
            ("HPVM_NODELIST", false),
        ] {
            assert_eq!(is_variable(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("\n# x\nlisen = 1\n", "f:3: unknown key 'lisen'; expected one of data,"),
            ("listen 1", "f:1: 'listen 1': expected a line like"),
            ("queue = pbs", "f:1: invalid value 'pbs'"),
            ("keep-jobs = 0", "f:1: invalid value '0'"),
            ("system = yes", "f:1: system = 'yes': expected true or false"),
            ("data = here", "f:1: data = 'here': expected an absolute path"),
            ("listen = a:b", "f:1: listen = 'a:b': expected an address"),
            ("name = true", "f:1: name = 'true': this key is no switch"),
            ("name = false", "f:1: name = 'false': this key is no switch"),
            ("queue = true", "f:1: queue = 'true': this key is no switch"),
            ("keep-jobs = false", "f:1: keep-jobs = 'false': this key is no switch"),
            ("name = a # b", "f:1: a # b: comments have lines of their own"),
            ("name =", "f:1: name has no value"),
            ("name = \"x", "a quotation mark is missing"),
            ("quiet = true\nquiet = true", "f:2: 'quiet' is set twice, before at f:1"),
        ] {
            assert!(error(text).contains(expected), "{text}: {}", error(text));
        }
        let both = error("lisen = 1\nqueue = slurm\nkeep-jobs = many");
        let lines: Vec<&str> = both.lines().map(|line| &line[..5]).collect();
        assert_eq!(lines, ["f:1: ", "f:3: "], "{both}");
        for (text, expected) in [
            ("port = 1", "f:1: unknown key 'port'; expected one of cpus,"),
            ("server", "f:1: 'server': expected a line like: server = https://head:8421"),
            ("server = head", "f:1: server = head"),
            ("cpus = some", "f:1: invalid value 'some'"),
            ("cpus = 0", "f:1: invalid value '0'"),
            ("token-file = token", "f:1: token-file = 'token': expected an absolute path"),
            ("name = a b", "f:1: name = "),
            ("fingerprint = MD5:1", "f:1: fingerprint = 'MD5:1': expected SHA256:"),
        ] {
            let found = parse(&NODE, text).err().unwrap_or_else(|| panic!("{text} passes"));
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn only_switches_become_flags_without_a_value() {
        let definition = (SERVE.definition)();
        let flags = |key, value: &str| as_flags(key, &[value.into()], &definition);
        assert_eq!(flags("quiet", "true"), ["--quiet"]);
        assert!(flags("quiet", "false").is_empty());
        assert_eq!(flags("name", "true"), ["--name=true"]);
        assert_eq!(flags("name", "false"), ["--name=false"]);
    }

    #[test]
    fn names_add_up_and_quotation_marks_are_taken_away() {
        let text = "name = \"a b\"\r\nname=c";
        let Ok(all) = parse(&SERVE, text) else { panic!("{}", error(text)) };
        assert_eq!(all["name"].values, ["a b", "c"]);
    }
}
