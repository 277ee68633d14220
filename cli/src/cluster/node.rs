//! `hpvm node`.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_launch::text_file;
use hpvm_node::Options;
use hpvm_queue::driver::turn_of;
use hpvm_queue::node::Capacity;
use hpvm_queue::processors::Processors;
use hpvm_queue::stepd::order::replace;
use hpvm_serve::client::{Address, Client};
use hpvm_serve::tls::fingerprint;
use hpvm_serve::tls::trust::{Trust, look};
use hyper::Method;

use super::config::Service;
use super::list::percent;
use super::{credentials, serve, server};

/// Beside the configuration file, unless another is named.
pub(super) const TOKEN_FILE: &str = "node.token";
/// Longer lines are no token.
const TOKEN_MAX: usize = 4096;
/// Nor is a longer file one with a token.
const TOKEN_FILE_MAX: u64 = 1 << 20;
/// Between two looks for a server that is not there yet.
const AGAIN: Duration = Duration::from_secs(2);

/// What its configuration may set.
pub const SERVICE: Service = Service {
    name: "node",
    definition,
    file_variable: "HPVM_NODE_CONFIG",
    keys: &[
        ("cpus", "HPVM_NODE_CPUS"),
        ("data", "HPVM_NODE_DATA"),
        ("fingerprint", "HPVM_NODE_FINGERPRINT"),
        ("gpus", "HPVM_NODE_GPUS"),
        ("name", "HPVM_NODE_NAME"),
        ("server", "HPVM_NODE_SERVER"),
        ("token-file", "HPVM_NODE_TOKEN_FILE"),
    ],
    paths: &["data", "token-file"],
    pairs: &[],
    example: "server = https://head:8421",
    check,
};

fn check(key: &str, value: &str) -> Result<(), String> {
    let told = |text: String| format!("{key} = {text}");
    match key {
        "server" => {
            Address::parse(value).map(|_| ()).map_err(|text| told(format!("{value}: {text}")))
        }
        "name" => hpvm_queue::check::host(value).map_or(Ok(()), |text| Err(told(text))),
        "fingerprint" if !value.to_ascii_uppercase().starts_with("SHA256:") => Err(told(format!(
            "'{value}': expected SHA256: and what follows, as hpvm serve prints it"
        ))),
        _ => Ok(()),
    }
}

/// The subcommand.
pub fn definition() -> Command {
    let path = |name: &'static str, of: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(of).value_parser(value_parser!(PathBuf)).help(help)
    };
    let count = |name: &'static str, help: &'static str| {
        let least = i64::from(name == "cpus");
        Arg::new(name)
            .long(name)
            .value_name("N")
            .value_parser(value_parser!(u32).range(least..))
            .help(help)
    };
    Command::new("node")
        .about("Run jobs of a server on this host")
        .long_about(
            "Run jobs of a server on this host.\n\n\
             On the head node: hpvm serve --listen 0.0.0.0, and hpvm token create nodes --scope \
             node. On each other host: hpvm node --server https://HEAD:8421 --fingerprint SHA256:.. \
             --token-file FILE. The host shows its load in the page and gets jobs, which run as who \
             has started hpvm node. Jobs go on when it ends or loses the server; the next one finds \
             them again. Jobs of several hosts start their ranks by ssh, as mpirun -H does.\n\n\
             Each flag that sets something may stand in a configuration file, as a line like cpus = \
             16, and in a variable, like HPVM_NODE_CPUS; a flag counts more than a variable, and \
             that more than the file.",
        )
        .arg(path("config", "FILE", "Configuration file [default: ~/.config/hpvm/node.conf, or else, for root, /etc/hpvm/node.conf]"))
        .arg(
            Arg::new("check-config")
                .long("check-config")
                .action(ArgAction::SetTrue)
                .help("Say what is wrong with the configuration, or what it sets, and end"),
        )
        .arg(
            Arg::new("server")
                .long("server")
                .value_name("https://HOST:PORT")
                .help("The server [default: HPVM_SERVER]"),
        )
        .arg(path("token-file", "FILE", "File with a token of the scope node, or - for standard input, with which hpvm node ends then [default: HPVM_TOKEN, or else node.token beside node.conf]"))
        .arg(
            Arg::new("fingerprint")
                .long("fingerprint")
                .value_name("SHA256:..")
                .help("Of the server's certificate, as hpvm serve prints it; kept in the data folder"),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .help("Name under which the other hosts reach this one [default: the host's name]"),
        )
        .arg(path("data", "DIR", "Data folder [default: beside that of hpvm serve]"))
        .arg(count("cpus", "Processors that jobs may reserve [default: all that it may use]"))
        .arg(count("gpus", "GPUs that jobs may reserve [default: those of NVIDIA's and AMD's drivers]"))
        .arg(
            Arg::new("remove")
                .long("remove")
                .value_name("NAME")
                .action(ArgAction::Set)
                .help("Let the server forget a host that reports no more, and end (for administrators)"),
        )
}

/// Performs it.
pub fn run(flags: &ArgMatches) -> Result<i32, String> {
    if let Some(name) = flags.get_one::<String>("remove") {
        let path = format!("/api/v1/nodes/{}", percent(name));
        let nothing = serde_json::json!({});
        server::with(async |client: Client| client.call(Method::DELETE, &path, &nothing).await)?;
        return Ok(0);
    }
    let configured = SERVICE.configure(flags)?;
    let matches = &configured.matches;
    if flags.get_flag("check-config") {
        crate::info::print(configured.report().as_bytes())?;
        return Ok(0);
    }
    let server = server_of(matches)?;
    let attached = matches.get_one::<PathBuf>("token-file").is_some_and(|path| is_input(path));
    let data = match (attached, matches.get_one::<PathBuf>("data")) {
        // Hosts that a server starts may share home folders.
        (true, None) => usual_data(&server, Some(&name(matches)?))?,
        _ => data_of(matches, &server)?,
    };
    let found = Capacity::of_this_machine();
    let given = |name: &str| matches.get_one::<u32>(name).copied();
    let options = Options {
        server: client(&server, &data, matches)?,
        name: name(matches)?,
        capacity: Capacity {
            cpus: given("cpus").unwrap_or(found.cpus).max(1),
            gpus: given("gpus").unwrap_or(found.gpus),
            ..found
        },
        processors: Processors::of_this_machine(given("cpus"), turn_of(&data)),
        data,
        program: serve::program()?,
        home: std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from),
        env: serve::environment(),
        attached,
    };
    hpvm_node::run(&options).map(|()| 0).map_err(|text| format!("node: {text}"))
}

/// The server that is named.
pub(super) fn server_of(matches: &ArgMatches) -> Result<Address, String> {
    match matches.get_one::<String>("server") {
        Some(text) => Address::parse(text),
        None => {
            Ok(server::address()?
                .ok_or("node: name the server, like --server https://head:8421")?)
        }
    }
}

/// The data folder, which is one of the server's own unless it is named.
pub(super) fn data_of(matches: &ArgMatches, server: &Address) -> Result<PathBuf, String> {
    let data = match matches.get_one::<PathBuf>("data") {
        Some(data) => data.clone(),
        None => usual_data(server, None)?,
    };
    std::path::absolute(&data).map_err(|e| format!("--data {}: {e}", data.display()))
}

/// One folder for each server, and for each host that has a name.
fn usual_data(server: &Address, host: Option<&str>) -> Result<PathBuf, String> {
    let usual = server::usual_data()?;
    let host = host.map_or_else(String::new, |host| format!("-{host}"));
    let (at, port) = (server.host.replace(':', "_"), server.port);
    Ok(usual.with_file_name(format!("hpvm-node-{at}-{port}{host}")))
}

/// Whether a token comes on standard input, whose end is then the end of `hpvm node`, too.
fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The first line of standard input. Byte by byte: what follows is not ours to keep.
fn token_from_input() -> Result<String, String> {
    let mut bytes = std::io::stdin().lock().bytes();
    let line = bytes.by_ref().take(TOKEN_MAX).take_while(|byte| !matches!(byte, Ok(b'\n')));
    let line = line.collect::<Result<Vec<u8>, _>>();
    let line = line.map_err(|error| format!("node: standard input: {error}"))?;
    let token = String::from_utf8_lossy(&line).trim().to_string();
    let none = "node: no token on standard input; its first line is the token".to_string();
    if token.is_empty() { Err(none) } else { Ok(token) }
}

fn name(matches: &ArgMatches) -> Result<String, String> {
    let name = match matches.get_one::<String>("name") {
        Some(name) => name.clone(),
        None => hpvm_launch::hosts::local_name(),
    };
    match hpvm_queue::check::host(&name) {
        Some(text) => Err(format!("node: --name {text}")),
        None => Ok(name),
    }
}

/// The way to the server: whom to believe, and the token.
fn client(server: &Address, data: &Path, matches: &ArgMatches) -> Result<Client, String> {
    let stored = credentials::find(server)?;
    let token = match matches.get_one::<PathBuf>("token-file") {
        Some(path) if is_input(path) => Some(token_from_input()?),
        Some(path) => Some(token_in(path)?),
        None => match std::env::var(server::TOKEN).ok().filter(|token| !token.is_empty()) {
            Some(token) => Some(token),
            None => SERVICE.beside(TOKEN_FILE).map(|path| token_in(&path)).transpose()?,
        },
    };
    let token = token.ok_or_else(|| {
        format!(
            "node: no token. On the server's machine: hpvm token create nodes --scope node; here: \
             --token-file FILE, or {} in the environment",
            server::TOKEN
        )
    })?;
    let trust = match matches.get_one::<String>("fingerprint") {
        Some(expected) if server.tls => Trust::Pinned(pinned(server, data, expected)?),
        _ => stored.map_or(Trust::System, |stored| stored.trust()),
    };
    Ok(Client::remote(server.clone(), trust, Some(token)))
}

/// A token that nobody else can read.
pub(super) fn token_in(path: &Path) -> Result<String, String> {
    let told = |why: &dyn std::fmt::Display| format!("node: token file {}: {why}", path.display());
    let mode = std::fs::metadata(path).map_err(|error| told(&error))?.mode();
    if mode & 0o077 != 0 {
        let text = format!("others can read it (mode {:o}): chmod 600", mode & 0o777);
        return Err(told(&text));
    }
    let text = text_file::read(path, TOKEN_FILE_MAX).map_err(|unread| told(&unread))?;
    match text.split_whitespace().next() {
        Some(token) => Ok(token.to_string()),
        None => Err(told(&"it is empty")),
    }
}

/// The certificate with this fingerprint: the one that was kept, or the one that the server shows.
/// A server that is not there yet is waited for.
fn pinned(server: &Address, data: &Path, expected: &str) -> Result<Vec<u8>, String> {
    let same = |der: &[u8]| fingerprint(&der.to_vec().into()).eq_ignore_ascii_case(expected.trim());
    let file = data.join("certificate.der");
    if let Some(kept) = std::fs::read(&file).ok().filter(|der| same(der)) {
        return Ok(kept);
    }
    let mut said = false;
    let shown = loop {
        match server::block_on(look(&server.host, server.port))? {
            Ok(shown) => break shown,
            Err(text) if !said => {
                said = true;
                // Without a log there is nobody to tell.
                let _ = writeln!(std::io::stderr(), "hpvm node: waiting for the server: {text}");
            }
            Err(_) => {}
        }
        std::thread::sleep(AGAIN);
    };
    let found = shown.chain.last().ok_or_else(|| format!("{server} shows no certificate"))?;
    if !same(found) {
        let found = fingerprint(found);
        return Err(format!("node: {server} has the certificate {found}; expected {expected}"));
    }
    let told = |error: std::io::Error| format!("{}: {error}", file.display());
    let mut folder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.recursive(true).create(data).map_err(told)?;
    replace(&file, found, 0o600).map_err(told)?;
    Ok(found.as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_others_can_read_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "hpvm_x\n").unwrap();
        let mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o644);
        assert!(token_in(&path).unwrap_err().contains("chmod 600"));
        mode(0o600);
        assert_eq!(token_in(&path).unwrap(), "hpvm_x");
        std::fs::write(&path, " \n").unwrap();
        assert!(token_in(&path).unwrap_err().contains("empty"));
    }
}
