//! The arguments of `hpvm bench portals`.

use super::{common_args, own_target, prefix, repeat, repeat_arg};
use crate::error::BenchError;
use crate::portals::Plan;
use clap::{Arg, ArgMatches, Command, value_parser};
use std::path::PathBuf;

/// The `bench portals` subcommand.
pub fn command() -> Command {
    Command::new("portals")
        .about("Measure puts and gets of Portals between two processes, beside MPI's messages")
        .arg(repeat_arg())
        .arg(
            Arg::new("program")
                .long("program")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The benchmark [default: PREFIX/libexec/hpvm/hpvmportals]"),
        )
        .args(common_args().into_iter().filter(|arg| arg.get_id().as_str() != "program"))
}

/// What it shall do.
pub fn plan(matches: &ArgMatches) -> Result<Plan, BenchError> {
    let mut target = own_target(matches)?;
    if !matches.contains_id("program") {
        target.program = prefix()?.join("libexec/hpvm/hpvmportals");
    }
    Ok(Plan {
        target,
        repeat: repeat(matches),
        quick: matches.get_flag("quick"),
        json: matches.get_flag("json"),
    })
}
