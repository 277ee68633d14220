//! The arguments of `hpvm bench npb`.

use super::{common_args, own_target, prefix};
use crate::error::BenchError;
use crate::npb::{BENCHMARKS, CLASSES, Plan};
use crate::peers;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

const LONG: &str = "Build the NAS Parallel Benchmarks (NPB 3.4, MPI version) from your own copy of their \
    sources with mpifort and mpicc, in a temporary folder, run them on as many ranks as each allows, and print \
    million operations a second beside the tables of 1997. Runs that do not verify themselves are \
    marked, and the exit code is 1 then. With --peers the one in C (IS) also runs on MPICH and Intel MPI, \
    which have the standard ABI; their packages have no wrapper for Fortran.";

pub fn command() -> Command {
    let path = |name, value, help| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    let own = ["program", "quick"];
    Command::new("npb")
        .about(super::ABOUT_NPB)
        .long_about(LONG)
        .arg(path("npb", "DIR", "The folder NPB3.4-MPI, or the one that holds it").required(true))
        .arg(
            list("class", "CLASSES", "Sizes of the problems")
                .value_parser(CLASSES)
                .default_value("S,W,A"),
        )
        .arg(list("benchmark", "NAMES", "These alone [default: all]").value_parser(BENCHMARKS))
        .arg(
            list(
                "ranks",
                "RANKS",
                "Numbers of ranks; BT and SP run on squares, others on powers of two",
            )
            .short('n')
            .value_parser(value_parser!(u32).range(1..=4096))
            .default_value("1,2,4"),
        )
        .arg(
            Arg::new("peers")
                .long("peers")
                .action(ArgAction::SetTrue)
                .help("Beside the MPIs that are installed (hpvm bench peers --install-only)"),
        )
        .arg(
            path("dir", "FOLDER", "Where the other MPIs are installed")
                .default_value("peers")
                .requires("peers"),
        )
        .args(common_args().into_iter().filter(|arg| !own.contains(&arg.get_id().as_str())))
}

fn list(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_delimiter(',').help(help)
}

/// What `hpvm bench npb` shall do.
pub fn plan(matches: &ArgMatches) -> Result<Plan, BenchError> {
    let words = |name: &str| -> Vec<String> {
        matches.get_many::<String>(name).into_iter().flatten().cloned().collect()
    };
    let benchmarks = match words("benchmark") {
        none if none.is_empty() => BENCHMARKS.iter().map(|b| (*b).to_owned()).collect(),
        chosen => chosen,
    };
    let peers_dir = matches.get_one::<PathBuf>("dir").cloned().unwrap_or_else(|| "peers".into());
    let wanted = matches.get_flag("peers");
    Ok(Plan {
        target: own_target(matches)?,
        bin: prefix()?.join("bin"),
        sources: matches.get_one::<PathBuf>("npb").cloned().unwrap_or_default(),
        classes: words("class"),
        ranks: matches.get_many::<u32>("ranks").into_iter().flatten().copied().collect(),
        benchmarks,
        peers: if wanted { peers::installed(&peers_dir) } else { Vec::new() },
        peers_dir,
        json: matches.get_flag("json"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_benchmarks_are_lists() {
        let words = "npb --npb x --class W,A --benchmark EP,IS -n 1,4";
        let found = plan(&command().get_matches_from(words.split(' '))).unwrap();
        assert_eq!((found.classes.len(), found.benchmarks.len(), found.ranks), (2, 2, vec![1, 4]));
        let all = plan(&command().get_matches_from(["npb", "--npb", "x"])).unwrap();
        assert_eq!(
            (all.classes, all.benchmarks.len()),
            (vec!["S".to_owned(), "W".into(), "A".into()], 8)
        );
        assert!(command().try_get_matches_from(["npb"]).is_err());
        assert!(command().try_get_matches_from(["npb", "--npb", "x", "--class", "Q"]).is_err());
    }
}
