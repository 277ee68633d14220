//! The arguments of `hpvm bench npb`.

use super::{common_args, own_target, prefix};
use crate::error::BenchError;
use crate::npb::{BENCHMARKS, CLASSES, Plan, wanted};
use crate::peers;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

const LONG: &str = "Build the NAS Parallel Benchmarks (NPB 3.4 or 3.3, MPI version) from your own copy of their \
    sources with mpifort and mpicc, in a temporary folder, run them on as many ranks as each allows, and print \
    million operations a second beside the tables of 1997. Runs that do not verify themselves are \
    marked, and the exit code is 1 then. With --peers they also run on MPICH and Open MPI of the system, where \
    those have compilers (mpifort.mpich, mpifort.openmpi), and the one in C (IS) on the MPIs that 'hpvm bench \
    peers' has installed and that have the standard ABI; their packages have no wrapper for Fortran.";

pub fn command() -> Command {
    let path = |name, value, help| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    let own = ["program", "quick"];
    Command::new("npb")
        .about(super::ABOUT_NPB)
        .long_about(LONG)
        .arg(
            path("npb", "DIR", "The folder NPB3.4-MPI or NPB3.3-MPI, or the one that holds it")
                .required(true),
        )
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
            Arg::new("repeat")
                .long("repeat")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..=1000))
                .default_value("1")
                .help("So many runs of each, MPIs by turns; medians are shown"),
        )
        .arg(Arg::new("peers").long("peers").action(ArgAction::SetTrue).help(
            "Beside other MPIs: the system's, and those of 'hpvm bench peers --install-only'",
        ))
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
    let beside = matches.get_flag("peers");
    let ranks: Vec<u32> = matches.get_many::<u32>("ranks").into_iter().flatten().copied().collect();
    Ok(Plan {
        target: own_target(matches)?,
        bin: prefix()?.join("bin"),
        sources: matches.get_one::<PathBuf>("npb").cloned().unwrap_or_default(),
        wanted: wanted(&words("class"), &benchmarks, &ranks),
        repeat: matches.get_one("repeat").copied().unwrap_or(1),
        peers: if beside { peers::installed(&peers_dir) } else { Vec::new() },
        peers_dir,
        others: beside,
        json: matches.get_flag("json"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_benchmarks_are_lists() {
        let read =
            |words: &str| plan(&command().get_matches_from(words.split(' '))).unwrap().wanted;
        let found = read("npb --npb x --class W,A --benchmark EP,IS -n 1,4");
        assert_eq!(found.len(), 8);
        assert!(found.iter().all(|w| [1, 4].contains(&w.ranks) && ["W", "A"].contains(&&*w.class)));
        // Three classes of six benchmarks on 1, 2, 4 and two on 1, 4.
        assert_eq!(read("npb --npb x").len(), 3 * (6 * 3 + 2 * 2));
        assert!(command().try_get_matches_from(["npb"]).is_err());
        assert!(command().try_get_matches_from(["npb", "--npb", "x", "--class", "Q"]).is_err());
    }
}
