//! `hpvm serve`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_queue::store::list::Keep;
use hpvm_serve::Options;
use hpvm_serve::api::types::Link;
use hpvm_serve::client::Client;
use hpvm_serve::run::Which;
use hpvm_serve::starter::Hosts;

use super::config::Service;
use super::{server, values};

/// What its configuration may set.
pub const SERVICE: Service = Service {
    name: "serve",
    definition,
    file_variable: "HPVM_SERVE_CONFIG",
    keys: &[
        ("data", "HPVM_SERVE_DATA"),
        ("hosts", "HPVM_SERVE_HOSTS"),
        ("keep-days", "HPVM_SERVE_KEEP_DAYS"),
        ("keep-jobs", "HPVM_SERVE_KEEP_JOBS"),
        ("launch-agent", "HPVM_SERVE_LAUNCH_AGENT"),
        ("listen", "HPVM_SERVE_LISTEN"),
        ("name", "HPVM_SERVE_NAME"),
        ("node-timeout", "HPVM_SERVE_NODE_TIMEOUT"),
        ("queue", "HPVM_SERVE_QUEUE"),
        ("quiet", "HPVM_SERVE_QUIET"),
        ("system", "HPVM_SERVE_SYSTEM"),
        ("tls-cert", "HPVM_SERVE_TLS_CERT"),
        ("tls-key", "HPVM_SERVE_TLS_KEY"),
    ],
    paths: &["data", "tls-cert", "tls-key"],
    pairs: &[("tls-cert", "tls-key"), ("tls-key", "tls-cert")],
    example: "listen = 127.0.0.1:8421",
    check: |key, value| match key {
        "listen" => address(value).map(|_| ()).map_err(|text| format!("listen = {text}")),
        "hosts" => values::hosts(value).map(|_| ()).map_err(|text| format!("hosts = {text}")),
        _ => Ok(()),
    },
};

/// The subcommand.
pub fn definition() -> Command {
    Command::new("serve")
        .about("Run a job queue with a page in the browser, for this machine")
        .long_about(
            "Run a job queue with a page in the browser, for this machine.\n\n\
             Prints a link that signs in once. Jobs are submitted in the browser or with hpvm \
             submit; they run as you, and go on when the server ends: the next one finds them \
             again. Everything is kept in the data folder.\n\n\
             Each flag that sets something may stand in a configuration file, as a line like \
             keep-days = 365, and in a variable, like HPVM_SERVE_KEEP_DAYS; a flag counts more than \
             a variable, and that more than the file.",
        )
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Configuration file [default: ~/.config/hpvm/serve.conf, or else, for root, /etc/hpvm/serve.conf]"),
        )
        .arg(
            Arg::new("check-config")
                .long("check-config")
                .action(ArgAction::SetTrue)
                .help("Say what is wrong with the configuration, or what it sets, and end"),
        )
        .arg(
            Arg::new("data")
                .long("data")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Data folder [default: $XDG_STATE_HOME/hpvm or ~/.local/state/hpvm]"),
        )
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDR:PORT")
                .help("Where to listen; outside loopback with TLS only [default: 127.0.0.1:8421, or a free port]"),
        )
        .arg(
            Arg::new("queue")
                .long("queue")
                .value_name("QUEUE")
                .value_parser(["auto", "embedded", "slurm"])
                .default_value("auto")
                .help("Whose jobs: Slurm's, or those of a queue of its own; auto: Slurm's where it is configured"),
        )
        .arg(
            Arg::new("tls-cert")
                .long("tls-cert")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Certificate and its chain, PEM, with --tls-key [default: one of the server's own]"),
        )
        .arg(
            Arg::new("tls-key")
                .long("tls-key")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The key of --tls-cert, PEM"),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("One more name or address for a certificate of the server's own"),
        )
        .arg(
            Arg::new("system")
                .long("system")
                .action(ArgAction::SetTrue)
                .help("Run each job as the user of this system who has submitted it; as root only"),
        )
        .arg(
            Arg::new("keep-jobs")
                .long("keep-jobs")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("Remove records and kept output of all but the newest N jobs that have ended [default: keep all]"),
        )
        .arg(
            Arg::new("keep-days")
                .long("keep-days")
                .value_name("DAYS")
                .value_parser(value_parser!(u64).range(1..=36_500))
                .help("Remove those of jobs that ended so many days ago [default: keep all]"),
        )
        .arg(
            Arg::new("node-timeout")
                .long("node-timeout")
                .value_name("SECONDS")
                .default_value("300")
                .value_parser(value_parser!(u64).range(10..=86_400))
                .help("Give up the jobs of a host that has not reported for so long"),
        )
        .arg(
            Arg::new("hosts")
                .long("hosts")
                .value_name("LIST")
                .help("Start hpvm node on these hosts, as n1,n[3-5], by ssh, and keep it running [default: none]"),
        )
        .arg(
            Arg::new("launch-agent")
                .long("launch-agent")
                .value_name("COMMAND")
                .help("Start it by this command in place of ssh, as mpirun --launch-agent [default: HPVM_LAUNCH_AGENT]"),
        )
        .arg(
            Arg::new("link")
                .long("link")
                .action(ArgAction::SetTrue)
                .help("Print a new link of the server that runs, and end"),
        )
        .arg(
            Arg::new("quiet")
                .short('q')
                .long("quiet")
                .action(ArgAction::SetTrue)
                .help("Print the link alone"),
        )
}

/// Performs it.
pub fn run(flags: &ArgMatches) -> Result<i32, String> {
    let configured = SERVICE.configure(flags)?;
    let matches = &configured.matches;
    let listen = matches.get_one::<String>("listen").map(|text| address(text)).transpose();
    let listen = listen.map_err(|text| format!("serve: --listen {text}"))?;
    let hosts = matches.get_one::<String>("hosts").map(|text| values::hosts(text)).transpose();
    let hosts = hosts.map_err(|text| format!("serve: --hosts {text}"))?;
    if flags.get_flag("check-config") {
        crate::info::print(configured.report().as_bytes())?;
        return Ok(0);
    }
    let data = match matches.get_one::<PathBuf>("data") {
        Some(data) => data.clone(),
        None => server::usual_data()?,
    };
    let data = std::path::absolute(&data).map_err(|e| format!("--data {}: {e}", data.display()))?;
    if flags.get_flag("link") {
        let named = matches.get_one::<PathBuf>("data").is_some();
        return link(named.then_some(&data));
    }
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let quiet = matches.get_flag("quiet");
    let file = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let options = Options {
        data,
        listen,
        queue: match matches.get_one::<String>("queue").map(String::as_str) {
            Some("embedded") => Which::Embedded,
            Some("slurm") => Which::Slurm,
            _ => Which::Auto,
        },
        certificate: file("tls-cert").zip(file("tls-key")),
        names: matches.get_many::<String>("name").unwrap_or_default().cloned().collect(),
        program: program()?,
        home,
        keep: Keep {
            jobs: matches.get_one("keep-jobs").copied(),
            days: matches.get_one("keep-days").copied(),
        },
        system: matches.get_flag("system"),
        node_limit_seconds: matches.get_one::<u64>("node-timeout").copied().unwrap_or(300),
        hosts: Hosts {
            names: hosts.unwrap_or_default(),
            agent: matches.get_one::<String>("launch-agent").map(OsString::from),
        },
        env: environment(),
        quiet,
    };
    hpvm_serve::run(&options).map(|()| 0).map_err(|text| format!("serve: {text}"))
}

fn link(data: Option<&PathBuf>) -> Result<i32, String> {
    let ask = async |client: Client| {
        client.post::<Link>("/api/v1/session/link", &[], &serde_json::json!({})).await
    };
    let link = match data {
        None => server::with(ask)?,
        Some(data) => {
            let socket = hpvm_serve::run::socket(data);
            server::with(async |_| ask(Client::new(socket)).await)?
        }
    };
    crate::info::print(format!("{}\n", link.url).as_bytes())?;
    Ok(0)
}

/// `ADDR:PORT`, `ADDR`, `:PORT` or `PORT`.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::from([127, 0, 0, 1]);
    let localhost = text.replacen("localhost", "127.0.0.1", 1);
    let port = localhost.strip_prefix(':').unwrap_or(&localhost);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if let Ok(ip) = localhost.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, hpvm_serve::run::PORT));
    }
    localhost
        .parse()
        .map_err(|_| format!("'{text}': expected an address and a port, like 127.0.0.1:8421"))
}

/// This program's file, also after it was replaced by a newer one.
pub(super) fn program() -> Result<PathBuf, String> {
    let file = std::env::current_exe().map_err(|error| format!("serve: own program: {error}"))?;
    let text = file.to_string_lossy();
    let kept = text.strip_suffix(" (deleted)").map(PathBuf::from);
    Ok(kept.filter(|path| Path::new(path).exists()).unwrap_or(file))
}

/// What jobs get of our environment: all that is text and not for us alone.
pub(super) fn environment() -> BTreeMap<String, String> {
    let text = |word: std::ffi::OsString| word.into_string().ok();
    let all = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    all.filter(|(name, _)| !server::is_ours(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("8000", "127.0.0.1:8000"),
            (":8000", "127.0.0.1:8000"),
            ("localhost:1", "127.0.0.1:1"),
            ("::1", "[::1]:8421"),
            ("[::1]:9", "[::1]:9"),
            ("0.0.0.0", "0.0.0.0:8421"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected);
        }
        assert!(address("host:x").unwrap_err().contains("'host:x'"));
    }
}
