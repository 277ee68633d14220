//! The configuration file of `hpvm serve`, and its variables. A flag counts more than a variable, which counts more than
//! the file. What values are allowed is said once, by the flags: a setting is checked by the flag of its name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command};

/// The variable that names the file.
const FILE: &str = "HPVM_SERVE_CONFIG";
/// The file of a server that root runs.
const SYSTEM_FILE: &str = "/etc/hpvm/serve.conf";

/// All keys of the file, which are flags, too, with their variables.
const KEYS: [(&str, &str); 11] = [
    ("data", "HPVM_SERVE_DATA"),
    ("keep-days", "HPVM_SERVE_KEEP_DAYS"),
    ("keep-jobs", "HPVM_SERVE_KEEP_JOBS"),
    ("listen", "HPVM_SERVE_LISTEN"),
    ("name", "HPVM_SERVE_NAME"),
    ("node-timeout", "HPVM_SERVE_NODE_TIMEOUT"),
    ("queue", "HPVM_SERVE_QUEUE"),
    ("quiet", "HPVM_SERVE_QUIET"),
    ("system", "HPVM_SERVE_SYSTEM"),
    ("tls-cert", "HPVM_SERVE_TLS_CERT"),
    ("tls-key", "HPVM_SERVE_TLS_KEY"),
];

/// Keys whose values are paths. A service has no folder to which a relative one could refer.
const PATHS: [&str; 3] = ["data", "tls-cert", "tls-key"];

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

/// What a server without flags would do.
pub fn without_flags(definition: &Command) -> Result<Configured, String> {
    let none = definition.clone().no_binary_name(true).try_get_matches_from([""; 0]);
    configure(&none.map_err(|error| first_line(&error))?, definition)
}

/// Whether a variable is for servers, by its name: all begin as that of the file does.
pub fn is_variable(name: &str) -> bool {
    name.starts_with(FILE.trim_end_matches("CONFIG"))
}

/// Adds variables and file to the flags.
pub fn configure(flags: &ArgMatches, definition: &Command) -> Result<Configured, String> {
    let file = file(flags)?;
    let mut settings = match &file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                format!("serve: configuration file {}: {error}", path.display())
            })?;
            parse(&path.display().to_string(), &text, definition)
                .map_err(|text| format!("serve: {text}"))?
        }
        None => Settings::new(),
    };
    settings.extend(variables(definition)?);
    settings.extend(from_flags(flags));
    both(&settings, "tls-cert", "tls-key")?;
    both(&settings, "tls-key", "tls-cert")?;
    let all = settings.iter().flat_map(|(key, setting)| as_flags(key, &setting.values, definition));
    let matches = definition.clone().no_binary_name(true).try_get_matches_from(all);
    let matches = matches.map_err(|error| format!("serve: {}", first_line(&error)))?;
    Ok(Configured { matches, settings, file })
}

/// Refuses a key without the one that it needs. They may be set in two ways, so the flags cannot say it.
fn both(settings: &Settings, key: &str, needed: &str) -> Result<(), String> {
    match settings.get(key) {
        Some(setting) if !settings.contains_key(needed) => {
            Err(format!("serve: {}: {key} is set without {needed}; set both or none", setting.from))
        }
        _ => Ok(()),
    }
}

/// The file that is named, or the usual one if it is there.
fn file(flags: &ArgMatches) -> Result<Option<PathBuf>, String> {
    if let Some(file) = flags.get_one::<PathBuf>("config") {
        return Ok(Some(file.clone()));
    }
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(file) = variable(FILE) {
        return Ok(Some(PathBuf::from(file)));
    }
    let own = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = own.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")));
    let own = own.map(|folder| folder.join("hpvm/serve.conf"));
    // SAFETY: the call has no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let all = own.into_iter().chain(root.then(|| PathBuf::from(SYSTEM_FILE)));
    for path in all {
        match path.try_exists() {
            Ok(true) => return Ok(Some(path)),
            Ok(false) => {}
            Err(error) => {
                return Err(format!("serve: configuration file {}: {error}", path.display()));
            }
        }
    }
    Ok(None)
}

/// The settings of a file's text: lines `key = value`, empty ones, and comments.
fn parse(file: &str, text: &str, definition: &Command) -> Result<Settings, String> {
    let mut settings = Settings::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let from = format!("{file}:{}", index + 1);
        let told = |text: String| format!("{from}: {text}");
        let (key, value) = line.split_once('=').ok_or_else(|| {
            told(format!("'{line}': expected a line like: listen = 127.0.0.1:8421"))
        })?;
        let key = known(key.trim()).map_err(told)?;
        let value = unquoted(value.trim()).map_err(told)?;
        check(key, value, definition).map_err(told)?;
        let value = OsString::from(value);
        match settings.get_mut(key) {
            None => {
                settings.insert(key, Setting { values: vec![value], from });
            }
            Some(before) if repeats(definition, key) => before.values.push(value),
            Some(before) => {
                return Err(told(format!("'{key}' is set twice, before at {}", before.from)));
            }
        }
    }
    Ok(settings)
}

/// The key of this name.
fn known(name: &str) -> Result<&'static str, String> {
    let found = KEYS.iter().find(|(key, _)| *key == name);
    found.map(|(key, _)| *key).ok_or_else(|| {
        let all: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        format!("unknown key '{name}'; expected one of {}", all.join(", "))
    })
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

/// Whether a value is one of this key.
fn check(key: &'static str, value: &str, definition: &Command) -> Result<(), String> {
    if is_switch(definition, key) {
        return match value {
            "true" | "false" => Ok(()),
            _ => Err(format!("{key} = '{value}': expected true or false")),
        };
    }
    if value.is_empty() {
        return Err(format!("{key} has no value"));
    }
    if PATHS.contains(&key) && !Path::new(value).is_absolute() {
        return Err(format!("{key} = '{value}': expected an absolute path"));
    }
    if key == "listen" {
        super::serve::address(value).map_err(|text| format!("listen = {text}"))?;
    }
    if matches!(value, "true" | "false") {
        return Err(format!("{key} = '{value}': this key is no switch; expected a value"));
    }
    let one = as_flags(key, &[value.into()], definition);
    let read = definition.clone().no_binary_name(true).try_get_matches_from(one);
    read.map(|_| ()).map_err(|error| first_line(&error))
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

/// What the variables set.
fn variables(definition: &Command) -> Result<Settings, String> {
    let known = |name: &str| name == FILE || KEYS.iter().any(|(_, variable)| *variable == name);
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    if let Some(name) = names.filter(|name| is_variable(name)).find(|name| !known(name)) {
        let all: Vec<&str> = KEYS.iter().map(|(_, variable)| *variable).collect();
        let all = all.join(", ");
        return Err(format!("serve: unknown variable {name}; expected {FILE} or one of {all}"));
    }
    let mut settings = Settings::new();
    for (key, variable) in KEYS {
        let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
            continue;
        };
        let told = |text: String| format!("serve: {variable}: {text}");
        let value = value.into_string().map_err(|_| told("expected UTF-8".to_string()))?;
        let values: Vec<String> = match repeats(definition, key) {
            true => value.split(',').map(|one| one.trim().to_string()).collect(),
            false => vec![value],
        };
        for value in &values {
            check(key, value, definition).map_err(told)?;
        }
        let values = values.into_iter().map(OsString::from).collect();
        settings.insert(key, Setting { values, from: variable.to_string() });
    }
    Ok(settings)
}

/// What the command line sets.
fn from_flags(flags: &ArgMatches) -> Settings {
    let given = |key: &str| flags.value_source(key) == Some(ValueSource::CommandLine);
    let mut settings = Settings::new();
    for (key, _) in KEYS.into_iter().filter(|(key, _)| given(key)) {
        let raw = flags.get_raw(key).unwrap_or_default();
        let values: Vec<OsString> = raw.map(OsString::from).collect();
        let values = if values.is_empty() { vec!["true".into()] } else { values };
        settings.insert(key, Setting { values, from: format!("--{key}") });
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::super::serve::definition;
    use super::*;

    fn error(text: &str) -> String {
        parse("f", text, &definition()).err().unwrap_or_else(|| panic!("{text} passes"))
    }

    #[test]
    fn the_example_names_every_key_and_its_comments_are_good_settings() {
        let example = include_str!("../../../cluster/serve/units/serve.conf");
        let set = parse("example", example, &definition());
        assert!(set.is_ok(), "{:?}", set.err());
        let all: Vec<&str> = example
            .lines()
            .filter(|line| !line.starts_with("# ") && line.contains(" = "))
            .map(|line| line.trim_start_matches('#'))
            .collect();
        let Ok(all) = parse("example", &all.join("\n"), &definition()) else {
            panic!("{}", error(&all.join("\n")));
        };
        assert_eq!(all.len(), KEYS.len(), "{:?}", all.keys());
    }

    #[test]
    fn every_key_is_a_flag_and_every_flag_that_sets_something_a_key() {
        let definition = definition();
        let acts = ["config", "check-config", "link", "help", "version"];
        let flags = definition.get_arguments().map(|arg| arg.get_id().as_str());
        let mut flags: Vec<&str> = flags.filter(|flag| !acts.contains(flag)).collect();
        flags.sort_unstable();
        assert_eq!(flags, KEYS.map(|(key, _)| key));
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
    }

    #[test]
    fn only_switches_become_flags_without_a_value() {
        let definition = definition();
        let flags = |key, value: &str| as_flags(key, &[value.into()], &definition);
        assert_eq!(flags("quiet", "true"), ["--quiet"]);
        assert!(flags("quiet", "false").is_empty());
        assert_eq!(flags("name", "true"), ["--name=true"]);
        assert_eq!(flags("name", "false"), ["--name=false"]);
    }

    #[test]
    fn names_add_up_and_quotation_marks_are_taken_away() {
        let text = "name = \"a b\"\r\nname=c";
        let Ok(all) = parse("f", text, &definition()) else { panic!("{}", error(text)) };
        assert_eq!(all["name"].values, ["a b", "c"]);
    }
}
