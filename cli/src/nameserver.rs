//! `hpvm nameserver`: published names for jobs of a user that share no host.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use hpvm_job::name_server::{Addresses, KEY_VARIABLE, PORT, key_file, read_key, write_key};
use hpvm_launch::sys;
use hpvm_names::Server;
use hpvm_net::{JobKey, handshake, interfaces, is_link_local};

/// Descriptors that connections are given at most, where the system's limit allows it.
const DESCRIPTORS: libc::rlim_t = 1 << 15;

/// The subcommand.
pub fn definition() -> Command {
    Command::new("nameserver")
        .about("Keep the names that your jobs publish (MPI_Publish_name), for jobs that share no host")
        .long_about(format!(
            "Keep the names that your jobs publish (MPI_Publish_name), for jobs that share no host.\n\n\
             Jobs are told where it is by mpirun --nameserver HOST[:PORT] or by HPVM_NAMESERVER. It serves those who have \
             your key, which it makes the first time: hpvm/names.key in $XDG_CONFIG_HOME or ~/.config, or the file that \
             {KEY_VARIABLE} names. Where the machine on which you call mpirun has another home folder, copy the file there. \
             A name is gone with the process that has published it. It runs until it is ended by a signal, and writes \
             nothing to the disk but the key."
        ))
        .arg(
            Arg::new("listen")
                .long("listen")
                .short('p')
                .alias("port")
                .value_name("[ADDRESS:]PORT")
                .help(format!("Where to listen; port 0: any free one. Default: {PORT}, at all addresses")),
        )
        .arg(
            Arg::new("report-uri")
                .long("report-uri")
                .short('r')
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write the place into FILE, for mpirun --nameserver file:FILE"),
        )
}

/// Serves until a signal comes.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let told = |cause: &dyn std::fmt::Display| format!("nameserver: {cause}");
    let ended =
        sys::signals(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]).map_err(|cause| told(&cause))?;
    more_descriptors();
    let (file, key) = key().map_err(|why| told(&why))?;
    let listener = listen(matches.get_one::<String>("listen")).map_err(|why| told(&why))?;
    let mut server = Server::new(listener, key).map_err(|cause| told(&cause))?;
    let places = places(server.address().map_err(|cause| told(&cause))?);
    let report = matches.get_one::<PathBuf>("report-uri");
    if let Some(report) = report {
        crate::file::write("nameserver", report, &format!("{}\n", places.text()))?;
    }
    let (host, port) = &places.0[0];
    let line = format!(
        "names are served at {host}:{port}, for those who have the key in {}\n",
        file.display()
    );
    crate::info::print(line.as_bytes())?;
    while !server.turn(ended.as_raw_fd()).map_err(|cause| told(&cause))? {}
    if let Some(report) = report {
        // It would lead to nobody.
        let _ = std::fs::remove_file(report);
    }
    Ok(0)
}

/// The key, made if there is none, and its file.
fn key() -> Result<(PathBuf, JobKey), String> {
    let variable = std::env::var_os;
    let file = key_file(variable(KEY_VARIABLE), variable("XDG_CONFIG_HOME"), variable("HOME"));
    let file = file.ok_or_else(|| {
        format!("HOME is not set, so there is no place for the key; {KEY_VARIABLE} names one")
    })?;
    let parsed = |text: Option<String>| text.as_deref().and_then(JobKey::parse);
    if let Some(key) = parsed(read_key(&file)?) {
        return Ok((file, key));
    }
    let random = handshake::random().map_err(|cause| format!("a random number: {cause}"))?;
    // False: another one has just made it.
    write_key(&file, &JobKey::new(random).hex())?;
    match parsed(read_key(&file)?) {
        Some(key) => Ok((file, key)),
        None => Err(format!("{}: it is gone again", file.display())),
    }
}

fn listen(wanted: Option<&String>) -> Result<TcpListener, String> {
    let any = |port| [SocketAddr::new([0; 16].into(), port), SocketAddr::new([0; 4].into(), port)];
    let addresses = match wanted.map(String::as_str) {
        None => any(PORT).to_vec(),
        Some(text) => match (text.parse::<u16>(), text.parse::<SocketAddr>()) {
            (Ok(port), _) => any(port).to_vec(),
            (_, Ok(address)) => vec![address],
            _ => {
                return Err(format!(
                    "--listen {text:?}: expected PORT or ADDRESS:PORT, as 10.0.0.1:{PORT}"
                ));
            }
        },
    };
    let port = addresses[0].port();
    // The second is for machines without IPv6.
    TcpListener::bind(&addresses[..]).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!("port {port} is in use, maybe by a server of another user: choose one by --listen PORT")
        }
        _ => format!("listening at {}: {cause}", addresses[0]),
    })
}

/// Where others reach it: this machine's name, then its addresses, as the name may mean nothing to them.
fn places(bound: SocketAddr) -> Addresses {
    let port = bound.port();
    let one = |ip: IpAddr| (ip.to_string(), port);
    if !bound.ip().is_unspecified() {
        return Addresses(vec![one(bound.ip())]);
    }
    let mut places = vec![(hpvm_launch::hosts::local_name(), port)];
    let addresses = interfaces::all().unwrap_or_default().into_iter().map(|i| i.subnet.ip);
    let reached = |ip: &IpAddr| !ip.is_loopback() && !is_link_local(*ip);
    places.extend(addresses.filter(reached).take(8).map(one));
    Addresses(places)
}

/// As many descriptors as are allowed: each connection needs one. Without it fewer processes are served.
fn more_descriptors() {
    if let Ok(limit) = sys::descriptor_limit() {
        let wanted = limit.rlim_max.min(DESCRIPTORS).max(limit.rlim_cur);
        let _ = sys::set_descriptor_limit(&libc::rlimit { rlim_cur: wanted, ..limit });
    }
}
