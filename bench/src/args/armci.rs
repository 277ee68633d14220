//! The arguments of `hpvm bench armci`.

use super::{common_args, own_target, prefix, repeat, repeat_arg};
use crate::armci::{Peer, Plan};
use crate::error::BenchError;
use clap::{Arg, ArgMatches, Command, value_parser};
use std::path::PathBuf;

/// The `bench armci` subcommand.
pub fn command() -> Command {
    let path = |name, value, help: String| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    let own = ["program"];
    Command::new("armci")
        .about("Measure one-sided operations of ARMCI, beside ARMCI-MPI on Open MPI where that is installed")
        .arg(repeat_arg())
        .arg(path("program", "FILE", "The benchmark [default: PREFIX/libexec/hpvm/hpvmarmci]".into()))
        .arg(path("peer-mpicc", "FILE", "Compiler wrapper of the peer's MPI".into())
            .default_value("/usr/bin/mpicc.openmpi"))
        .arg(path("peer-mpirun", "FILE", "Its launcher".into()).default_value("/usr/bin/mpirun.openmpi"))
        .arg(path("peer-library", "FILE", "ARMCI-MPI's library [default: Debian's libarmci-openmpi.a]".into()))
        .arg(path("peer-include", "FOLDER", "Where its armci.h is".into()).default_value("/usr/include"))
        .args(common_args().into_iter().filter(|arg| !own.contains(&arg.get_id().as_str())))
}

/// What it shall do.
pub fn plan(matches: &ArgMatches) -> Result<Plan, BenchError> {
    let mut target = own_target(matches)?;
    if !matches.contains_id("program") {
        target.program = prefix()?.join("libexec/hpvm/hpvmarmci");
    }
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let debian = format!("/usr/lib/{}-linux-gnu/libarmci-openmpi.a", std::env::consts::ARCH);
    Ok(Plan {
        target,
        peer: Peer {
            mpicc: path("peer-mpicc").unwrap_or_default(),
            mpirun: path("peer-mpirun").unwrap_or_default(),
            library: path("peer-library").unwrap_or_else(|| debian.into()),
            include: path("peer-include").unwrap_or_default(),
        },
        repeat: repeat(matches),
        quick: matches.get_flag("quick"),
        json: matches.get_flag("json"),
    })
}
