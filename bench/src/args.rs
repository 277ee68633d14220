//! The arguments of `hpvm bench`, `hpvm bench peers` and `hpvm tune`.

mod armci;
mod npb;
mod portals;
mod pvm;
mod report;
mod sam;

use crate::bsp;
use crate::error::BenchError;
use crate::evaluate::{self, What};
use crate::network;
use crate::peers;
use crate::plot;
use crate::target::Target;
use crate::tune;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_job::machine::{Machine, TableSettings};
use std::path::PathBuf;

const ABOUT: &str = "Measure this machine's message passing, beside the figures of 1995 to 2000";
const ABOUT_REPORT: &str =
    "Measure everything and write one page, beside the papers' tables and figures";
const ABOUT_NPB: &str = "Build and run your own copy of the NAS Parallel Benchmarks";
const ABOUT_SAM: &str = "Speed-up of the applications on shared objects, from one rank to several";
const ABOUT_PEERS: &str = "Compare hpvm with MPICH, Open MPI and Intel MPI, alternating in one run";

/// The `bench` subcommand.
pub fn command() -> Command {
    Command::new("bench")
        .about(ABOUT)
        .args_conflicts_with_subcommands(true)
        .subcommand(peers_command())
        .subcommand(armci::command())
        .subcommand(bsp_command())
        .subcommand(portals::command())
        .subcommand(pvm::command())
        .subcommand(report::command())
        .subcommand(npb::command())
        .subcommand(sam::command())
        .arg(
            Arg::new("what")
                .value_parser(What::NAMES)
                .default_value("all")
                .help("What to measure"),
        )
        .arg(
            Arg::new("ranks")
                .short('n')
                .value_name("RANKS")
                .value_parser(value_parser!(u32).range(2..=4096))
                .help("Ranks for collectives and, beyond two, idle ones beside a bandwidth test"),
        )
        .arg(Arg::new("floor").long("floor").value_name("FILE").value_parser(value_parser!(PathBuf)).help(
            "The program that measures the machine's floor [default: PREFIX/libexec/hpvm/hpvmfloor]",
        ))
        .arg(
            Arg::new("plot")
                .long("plot")
                .value_name("FILE.svg")
                .value_parser(value_parser!(PathBuf))
                .help("Measure nothing: draw what 'hpvm bench peers --json' wrote"),
        )
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("RESULT.json")
                .requires("plot")
                .value_parser(value_parser!(PathBuf))
                .help("The comparison to draw [default: standard input]"),
        )
        .arg(
            Arg::new("hosts")
                .long("hosts")
                .value_name("HOSTS")
                .value_delimiter(',')
                .conflicts_with_all(["what", "ranks", "floor", "plot"])
                .help("Measure the network between these hosts instead (two or more: a,b)"),
        )
        .arg(
            Arg::new("launch-agent")
                .long("launch-agent")
                .value_name("CMD")
                .requires("hosts")
                .help("Reach the hosts by this command instead of ssh"),
        )
        .args(common_args())
}

pub use armci::plan as armci;
pub use npb::plan as npb;
pub use portals::plan as portals;
pub use pvm::plan as pvm;
pub use report::plan as report;
pub use sam::plan as sam;

fn bsp_command() -> Command {
    let own = ["program"];
    Command::new("bsp")
        .about("Measure the parameters of the BSP machine: p, l and g of put, get and send")
        .arg(
            Arg::new("ranks")
                .short('n')
                .value_name("PROCESSES")
                .value_delimiter(',')
                .value_parser(value_parser!(u32).range(1..=4096))
                .default_value("2,4")
                .help("Numbers of processes"),
        )
        .arg(
            Arg::new("program")
                .long("program")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The benchmark [default: PREFIX/libexec/hpvm/hpvmbsp]"),
        )
        .args(common_args().into_iter().filter(|arg| !own.contains(&arg.get_id().as_str())))
}

/// What `hpvm bench bsp` shall do.
pub fn bsp(matches: &ArgMatches) -> Result<bsp::Plan, BenchError> {
    let mut target = own_target(matches)?;
    if !matches.contains_id("program") {
        target.program = prefix()?.join("libexec/hpvm/hpvmbsp");
    }
    let ranks = matches.get_many::<u32>("ranks").into_iter().flatten().copied().collect();
    Ok(bsp::Plan {
        target,
        ranks,
        quick: matches.get_flag("quick"),
        json: matches.get_flag("json"),
    })
}

fn peers_command() -> Command {
    let path = |name, value, help| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    Command::new("peers")
        .about(ABOUT_PEERS)
        .arg(
            path("dir", "FOLDER", "Where the peers are, or are installed to (from PyPI)")
                .default_value("peers"),
        )
        .arg(path("mpicc", "FILE", "The compiler wrapper of hpvm [default: PREFIX/bin/mpicc]"))
        .arg(path("file", "FOLDER", "Write files in this folder [default: that of --dir]"))
        .arg(
            Arg::new("repeat")
                .long("repeat")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=100))
                .help("Alternations [default: 5, with --quick 3]"),
        )
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("PEERS")
                .value_delimiter(',')
                .value_parser(peers::PEER_NAMES)
                .help("Compare with these peers alone"),
        )
        .arg(
            Arg::new("what")
                .long("what")
                .value_name("PARTS")
                .value_delimiter(',')
                .value_parser(peers::PART_NAMES)
                .help("Measure these parts alone"),
        )
        .arg(
            ranks_arg(
                "Numbers of ranks that call collectives or write files [default: 2,4,8 or 2,4]",
            )
            .conflicts_with("hosts"),
        )
        .arg(
            Arg::new("install-only")
                .long("install-only")
                .action(ArgAction::SetTrue)
                .help("Install the peers that are missing and measure nothing"),
        )
        .args(host_args())
        .args(common_args())
}

/// For a comparison between hosts.
fn host_args() -> [Arg; 4] {
    let of_hosts = |name, value, help| Arg::new(name).long(name).value_name(value).help(help);
    [
        of_hosts("hosts", "A,B", "Compare between two hosts, of which this is the first, over TCP")
            .value_delimiter(','),
        of_hosts("launch-agent", "CMD", "Reach the other host by this command instead of ssh")
            .requires("hosts"),
        of_hosts("device", "NAME", "The network interface, of the same name on both hosts")
            .requires("hosts"),
        of_hosts(
            "wrapper",
            "CMD",
            "Start ranks through this program (to bind them), and bind no other way",
        )
        .requires("hosts"),
    ]
}

/// The hosts of `hpvm bench peers --hosts`, if it was asked for.
fn peer_hosts(matches: &ArgMatches, parts: &[String]) -> Result<Option<peers::Hosts>, BenchError> {
    let Some(named) = matches.get_many::<String>("hosts") else { return Ok(None) };
    let named: Vec<String> = named.filter(|host| !host.is_empty()).cloned().collect();
    let wrong = |token: String, reason: String| Err(BenchError::Argument { token, reason });
    let names: [String; 2] = match named.try_into() {
        Ok(names) => names,
        Err(named) => return wrong(named.join(","), "two hosts are compared: --hosts a,b".into()),
    };
    if let Some(part) = parts.iter().find(|part| !peers::HOST_PARTS.contains(&part.as_str())) {
        let all = peers::HOST_PARTS.join(", ");
        return wrong(part.clone(), format!("between hosts there are {all}"));
    }
    let word = |name: &str| matches.get_one::<String>(name).cloned();
    let (agent, device, wrapper) = (word("launch-agent"), word("device"), word("wrapper"));
    Ok(Some(peers::Hosts { names, agent, device, wrapper }))
}

/// The `tune` subcommand.
pub fn tune_command() -> Command {
    Command::new("tune")
        .about("Measure what is fastest on this machine and use it from now on")
        .long_about(
            "Measure on this machine which algorithm each collective should use (allreduce, bcast, \
             reduce, gather, scatter, allgather, allgatherv, alltoall, reduce_scatter), whether \
             collective slots or messages should carry small ones, and from which length on large \
             messages should be copied once, by the kernel, instead of twice; and write tables \
             that make jobs do so from now on. A candidate replaces the built-in choice only where \
             it is faster in every round, and by 5 % in its best. The file says for which CPU, \
             number of processors and kernel it holds; jobs elsewhere ignore it. HPVM_TABLES names \
             another one, and HPVM_TABLES= asks for the built-in tables. Takes about half a \
             minute, with --thorough two or three; keep the machine quiet meanwhile.",
        )
        .arg(
            Arg::new("thorough")
                .long("thorough")
                .action(ArgAction::SetTrue)
                .help("More sizes, more rounds, more time for each"),
        )
        .arg(ranks_arg("Numbers of ranks to measure [default: 2,4,8]"))
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write the tables there [default: where jobs look, see hpvm info]"),
        )
        .args(
            common_args()
                .into_iter()
                .filter(|arg| !["json", "quick"].contains(&arg.get_id().as_str())),
        )
}

/// What `hpvm tune` shall do.
pub fn tune(matches: &ArgMatches) -> Result<tune::Plan, BenchError> {
    let mut ranks = ranks(matches);
    if ranks.is_empty() {
        ranks = vec![2, 4, 8];
    }
    let settings = TableSettings::of(|name| std::env::var_os(name));
    let named = matches.get_one::<PathBuf>("output").cloned();
    let elsewhere = settings.named.as_ref().filter(|_| named.is_none());
    let overridden = elsewhere.map(|name| name.to_string_lossy().into_owned());
    let output = named.or_else(|| settings.cache_file(&Machine::here()));
    let output = output.ok_or_else(|| BenchError::Argument {
        token: "--output".into(),
        reason: "neither XDG_CACHE_HOME nor HOME says where the tables belong: name a file".into(),
    })?;
    let thorough = matches.get_flag("thorough");
    Ok(tune::Plan { target: own_target(matches)?, ranks, thorough, output, overridden })
}

/// `-n`: several numbers of ranks, each two or more.
fn ranks_arg(help: &'static str) -> Arg {
    Arg::new("ranks")
        .short('n')
        .long("ranks")
        .value_name("RANKS")
        .value_delimiter(',')
        .value_parser(value_parser!(u32).range(2..=4096))
        .help(help)
}

/// The numbers of ranks that were named, each once, in order; none if none was.
fn ranks(matches: &ArgMatches) -> Vec<u32> {
    let mut ranks: Vec<u32> =
        matches.get_many::<u32>("ranks").into_iter().flatten().copied().collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// `--repeat`, of what runs two programs in turn.
fn repeat_arg() -> Arg {
    Arg::new("repeat")
        .long("repeat")
        .value_name("N")
        .value_parser(value_parser!(u32).range(1..=100))
        .default_value("5")
        .help("Rounds, in each of which both are measured")
}

/// What `--repeat` says.
fn repeat(matches: &ArgMatches) -> u32 {
    matches.get_one("repeat").copied().unwrap_or(5)
}

fn common_args() -> Vec<Arg> {
    let path = |name, value, help| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    let flag = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    vec![
        flag("quick", "Fewer sizes and less time for each"),
        flag("json", "Print one JSON object instead of tables"),
        path("mpirun", "FILE", "The launcher [default: PREFIX/bin/mpirun]"),
        path("program", "FILE", "The benchmark [default: PREFIX/libexec/hpvm/hpvmbench]"),
        path("lib", "FOLDER", "Seek MPI's library there first (LD_LIBRARY_PATH)"),
        Arg::new("launch-arg")
            .long("launch-arg")
            .value_name("ARG")
            .action(ArgAction::Append)
            .allow_hyphen_values(true)
            .help("An argument for the launcher; may be repeated"),
    ]
}

/// The folder that holds `bin/hpvm`, from where this program lies.
fn prefix() -> Result<PathBuf, BenchError> {
    let exe = std::env::current_exe()
        .map_err(|e| BenchError::io("cannot find out where this program lies", e))?;
    let prefix = exe.parent().and_then(|bin| bin.parent());
    Ok(prefix.map(PathBuf::from).unwrap_or_default())
}

/// The MPI that is called hpvm in the tables.
fn own_target(matches: &ArgMatches) -> Result<Target, BenchError> {
    let prefix = prefix()?;
    let path = |name: &str, default: &str| {
        // Not every command has a benchmark program to name.
        let named = matches.try_get_one::<PathBuf>(name).ok().flatten();
        named.cloned().unwrap_or_else(|| prefix.join(default))
    };
    let mpirun = path("mpirun", "bin/mpirun");
    let program = path("program", "libexec/hpvm/hpvmbench");
    let lib = matches.get_one::<PathBuf>("lib");
    let mut target = Target::new("hpvm", mpirun, program, lib.map(PathBuf::as_path));
    target.launch_args =
        matches.get_many::<String>("launch-arg").into_iter().flatten().cloned().collect();
    Ok(target)
}

/// What `hpvm bench` shall do.
pub fn evaluate(matches: &ArgMatches) -> Result<evaluate::Plan, BenchError> {
    let floor = matches.get_one::<PathBuf>("floor").cloned();
    let what = matches.get_one::<String>("what").map_or("all", String::as_str);
    Ok(evaluate::Plan {
        target: own_target(matches)?,
        floor_wanted: floor.is_some(),
        floor: floor.map_or_else(|| prefix().map(|p| p.join("libexec/hpvm/hpvmfloor")), Ok)?,
        what: What::from_name(what).ok_or_else(|| BenchError::Argument {
            token: what.into(),
            reason: "unknown measurement".into(),
        })?,
        ranks: matches.get_one::<u32>("ranks").copied(),
        quick: matches.get_flag("quick"),
        json: matches.get_flag("json"),
    })
}

/// What `hpvm bench --hosts` shall do, if it was asked for.
pub fn network(matches: &ArgMatches) -> Result<Option<network::Plan>, BenchError> {
    let Some(named) = matches.get_many::<String>("hosts") else { return Ok(None) };
    let hosts: Vec<String> = named.filter(|host| !host.is_empty()).cloned().collect();
    if hosts.len() < 2 {
        let reason = "a network has at least two hosts: --hosts a,b".into();
        return Err(BenchError::Argument { token: hosts.concat(), reason });
    }
    let mut target = own_target(matches)?;
    if let Some(command) = matches.get_one::<String>("launch-agent") {
        target.launch_args.extend(["--launch-agent".to_owned(), command.clone()]);
    }
    let (quick, json) = (matches.get_flag("quick"), matches.get_flag("json"));
    Ok(Some(network::Plan { target, hosts, quick, json }))
}

/// What `hpvm bench --plot` shall do.
pub fn plot(matches: &ArgMatches) -> plot::Plan {
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    plot::Plan { output: path("plot").unwrap_or_default(), input: path("from") }
}

/// What `hpvm bench peers` shall do.
pub fn peers(matches: &ArgMatches) -> Result<peers::Plan, BenchError> {
    let quick = matches.get_flag("quick");
    let names = |name: &str, all: &[&str]| -> Vec<String> {
        match matches.get_many::<String>(name) {
            Some(chosen) => chosen.cloned().collect(),
            None => all.iter().map(|s| (*s).to_owned()).collect(),
        }
    };
    let mpicc = matches.get_one::<PathBuf>("mpicc").cloned();
    let all: &[&str] =
        if matches.contains_id("hosts") { &peers::HOST_PARTS } else { &peers::PART_NAMES };
    let parts = names("what", all);
    let hosts = peer_hosts(matches, &parts)?;
    Ok(peers::Plan {
        own: own_target(matches)?,
        program_given: matches.contains_id("program"),
        mpicc: mpicc.map_or_else(|| prefix().map(|p| p.join("bin/mpicc")), Ok)?,
        dir: matches.get_one::<PathBuf>("dir").cloned().unwrap_or_else(|| "peers".into()),
        peers: names("only", &peers::PEER_NAMES),
        parts,
        file: matches.get_one::<PathBuf>("file").cloned(),
        ranks: ranks(matches),
        hosts,
        install_only: matches.get_flag("install-only"),
        repeat: matches.get_one::<u32>("repeat").copied().unwrap_or(if quick { 3 } else { 5 }),
        quick,
        json: matches.get_flag("json"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_well_formed() {
        command().debug_assert();
        tune_command().debug_assert();
    }

    #[test]
    fn reads_both_forms() {
        let m = command().get_matches_from(["bench", "latency", "--quick", "-n", "4"]);
        let plan = evaluate(&m).unwrap();
        assert!(plan.quick && plan.ranks == Some(4) && plan.what == What::Latency);
        let m = command().get_matches_from(["bench", "peers", "--quick", "--only", "mpich,impi"]);
        let plan = peers(m.subcommand().unwrap().1).unwrap();
        assert_eq!((plan.repeat, plan.peers.len()), (3, 2));
        assert_eq!(plan.parts.len(), peers::PART_NAMES.len());
    }

    #[test]
    fn peers_are_compared_between_two_hosts() {
        let plan = |words: &str| {
            let m = command().get_matches_from(words.split(' '));
            peers(m.subcommand().unwrap().1)
        };
        let found = plan("bench peers --hosts a,b --launch-agent reach").unwrap();
        assert_eq!(found.parts, peers::HOST_PARTS);
        let hosts = found.hosts.unwrap();
        assert_eq!((&hosts.names[1][..], hosts.agent.as_deref()), ("b", Some("reach")));
        assert!(plan("bench peers --hosts a,b,c").is_err());
        assert!(plan("bench peers --hosts a,b --what startup").is_err());
        assert!(plan("bench peers --what latency").unwrap().hosts.is_none());
    }

    #[test]
    fn a_network_has_hosts() {
        let words = |hosts| ["bench", "--hosts", hosts, "--launch-agent", "ssh -4", "--quick"];
        let plan = network(&command().get_matches_from(words("a,b"))).unwrap().unwrap();
        assert_eq!((plan.hosts, plan.quick), (vec!["a".to_owned(), "b".to_owned()], true));
        assert_eq!(plan.target.launch_args, ["--launch-agent", "ssh -4"]);
        assert!(network(&command().get_matches_from(words("a"))).is_err());
        assert!(network(&command().get_matches_from(["bench"])).unwrap().is_none());
        assert!(command().try_get_matches_from(["bench", "latency", "--hosts", "a,b"]).is_err());
    }

    #[test]
    fn tunes_each_number_of_ranks_once() {
        let words = ["tune", "--thorough", "-n", "8,2,8", "-o", "file"];
        let plan = tune(&tune_command().get_matches_from(words)).unwrap();
        assert!(plan.thorough && plan.ranks == [2, 8] && plan.overridden.is_none());
        assert_eq!(plan.output, PathBuf::from("file"));
        assert!(tune_command().try_get_matches_from(["tune", "-n", "1,2"]).is_err());
        assert!(tune_command().try_get_matches_from(["tune", "--json"]).is_err());
    }

    #[test]
    fn refuses_one_rank() {
        assert!(command().try_get_matches_from(["bench", "-n", "1"]).is_err());
    }
}
