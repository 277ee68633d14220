//! The arguments of `hpvm bench pvm`.

use super::{prefix, repeat, repeat_arg};
use crate::error::BenchError;
use crate::pvm::Plan;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::path::PathBuf;

/// The `bench pvm` subcommand.
pub fn command() -> Command {
    let path = |name, value, help| {
        Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
    };
    let flag = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    Command::new("pvm")
        .about("Measure messages of PVM between two tasks, beside PVM 3.4 where that is installed")
        .arg(flag("quick", "Less time for each measurement, and at most 3 rounds"))
        .arg(flag("json", "Print one JSON object instead of a table"))
        .arg(repeat_arg())
        .arg(path("program", "FILE", "The benchmark [default: PREFIX/libexec/hpvm/hpvmpvm]"))
        .arg(
            path("pvm-root", "FOLDER", "PVM 3.4, as PVM_ROOT names it")
                .default_value("/usr/lib/pvm3"),
        )
        .arg(path("pvm-lib", "FOLDER", "Its libpvm3.so.3 [default: Debian's folder]"))
}

/// What it shall do.
pub fn plan(matches: &ArgMatches) -> Result<Plan, BenchError> {
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let program =
        path("program").map_or_else(|| prefix().map(|p| p.join("libexec/hpvm/hpvmpvm")), Ok)?;
    let debian = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    Ok(Plan {
        program,
        peer_root: path("pvm-root").unwrap_or_default(),
        peer_lib: path("pvm-lib").unwrap_or_else(|| debian.into()),
        repeat: repeat(matches),
        quick: matches.get_flag("quick"),
        json: matches.get_flag("json"),
    })
}
