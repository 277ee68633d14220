//! The subcommands of `hpvm` and where each is performed.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_launch::flags::Effect;

/// The whole command. Help, man pages and completions are made from it.
pub fn definition() -> Command {
    Command::new("hpvm")
        .version(env!("CARGO_PKG_VERSION"))
        .about(
            "High Performance Virtual Machine: an MPI, its launcher, its job queue, its benchmarks",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(run_definition())
        .subcommand(hpvm_bench::command())
        .subcommand(hpvm_bench::tune_command())
        .subcommand(crate::info::definition())
        .subcommand(crate::jobs::definition())
        .subcommand(crate::nameserver::definition())
        .subcommand(crate::prof::definition())
        .subcommand(crate::route::definition())
        .subcommand(crate::simulate::definition())
        .subcommand(crate::stripes::definition())
        .subcommands(cluster_definitions())
        .subcommand(
            Command::new("completions")
                .about("Write a completion script for a shell to standard output")
                .arg(
                    Arg::new("shell")
                        .required(true)
                        .value_parser(value_parser!(clap_complete::Shell)),
                )
                .arg(
                    Arg::new("command")
                        .value_parser(["hpvm", "mpirun", "mpiexec"])
                        .default_value("hpvm")
                        .help("The command that is completed"),
                ),
        )
        .subcommand(
            Command::new("docs")
                .about("Write the pages that are made from the launcher's tables into a folder")
                .hide(true)
                .arg(Arg::new("DIR").required(true).value_parser(value_parser!(PathBuf)))
                .arg(
                    Arg::new("commands")
                        .long("commands")
                        .action(ArgAction::SetTrue)
                        .help("A page for each subcommand instead, with its help"),
                ),
        )
        .subcommand(
            Command::new("man").about("Write the man pages into a folder").hide(true).arg(
                Arg::new("DIR")
                    .required(true)
                    .value_parser(value_parser!(PathBuf))
                    .help("The folder, which is made if need be"),
            ),
        )
}

/// The commands of the queue and the server, in a program that was built with them.
fn cluster_definitions() -> Vec<Command> {
    #[cfg(feature = "cluster")]
    return crate::cluster::definitions();
    #[cfg(not(feature = "cluster"))]
    Vec::new()
}

/// `hpvm run` for help and completions only; [`crate::main`] hands its arguments to the launcher.
fn run_definition() -> Command {
    Command::new("run")
        .about("Start a parallel program (the same as mpirun and mpiexec)")
        .override_help(hpvm_launch::help::about("hpvm run", None))
        .disable_help_flag(true)
        .args(
            hpvm_launch::flags::all()
                .filter(|flag| matches!(flag.effect, Effect::Works(_)))
                .map(flag_argument),
        )
        .arg(
            Arg::new("program")
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_hint(clap::ValueHint::CommandWithArguments),
        )
}

/// A flag of the launcher as completions know it.
fn flag_argument(flag: &hpvm_launch::flags::Flag) -> Arg {
    let mut argument = Arg::new(flag.names[0]).help(flag.help);
    for name in flag.names {
        let mut letters = name.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) if argument.get_short().is_none() => {
                argument = argument.short(letter);
            }
            (Some(letter), None) => argument = argument.visible_short_alias(letter),
            _ if argument.get_long().is_none() => argument = argument.long(*name),
            _ => argument = argument.visible_alias(*name),
        }
    }
    match flag.values.len() {
        0 => argument.action(ArgAction::SetTrue),
        count => argument.num_args(count).value_names(flag.values),
    }
}

/// Reads the arguments and performs the subcommand; gives the exit code.
pub fn run(args: &[OsString]) -> i32 {
    let matches = match definition().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            // Nothing can be done if the terminal is gone. Help has the colours that clap gives it; a
            // message repeats words of the user.
            let _ = match error.use_stderr() {
                false => error.print(),
                true => {
                    write!(std::io::stderr(), "{}", hpvm_launch::text::message(&error.to_string()))
                }
            };
            return error.exit_code();
        }
    };
    match perform(&matches) {
        Ok(code) => code,
        Err(text) => {
            // If standard error is closed, there is nobody to tell.
            let text = hpvm_launch::text::message(&text);
            let _ = writeln!(std::io::stderr(), "hpvm: {text}");
            1
        }
    }
}

fn perform(matches: &ArgMatches) -> Result<i32, String> {
    match matches.subcommand() {
        Some(("bench", matches)) => Ok(hpvm_bench::run(matches)),
        Some(("tune", matches)) => Ok(hpvm_bench::run_tune(matches)),
        Some(("info", matches)) => crate::info::run(matches),
        Some(("jobs", matches)) => crate::jobs::run(matches),
        Some(("nameserver", matches)) => crate::nameserver::run(matches),
        Some(("prof", matches)) => crate::prof::run(matches),
        Some(("route", matches)) => crate::route::run(matches),
        Some(("simulate", matches)) => crate::simulate::run(matches),
        Some(("stripes", matches)) => crate::stripes::run(matches),
        Some(("completions", matches)) => completions(matches),
        Some(("docs", matches)) => match matches.get_one::<PathBuf>("DIR") {
            Some(dir) if matches.get_flag("commands") => {
                crate::man::write_pages(dir, &definition()).map(|()| 0)
            }
            Some(dir) => write_docs(dir).map(|()| 0),
            None => Err("docs: DIR is missing".to_string()),
        },
        Some(("man", matches)) => match matches.get_one::<PathBuf>("DIR") {
            Some(dir) => crate::man::write(dir, &definition()).map(|()| 0),
            None => Err("man: DIR is missing".to_string()),
        },
        Some((name, matches)) => cluster(name, matches),
        None => Err("no subcommand given; see hpvm --help".to_string()),
    }
}

/// What is left: the commands of the queue and the server.
fn cluster(name: &str, matches: &ArgMatches) -> Result<i32, String> {
    #[cfg(feature = "cluster")]
    if let Some(done) = crate::cluster::run(name, matches) {
        return done;
    }
    let _ = matches;
    Err(format!("subcommand '{name}' is not connected"))
}

fn completions(matches: &ArgMatches) -> Result<i32, String> {
    let Some(shell) = matches.get_one::<clap_complete::Shell>("shell") else {
        return Err("completions: the shell is missing".to_string());
    };
    let mut script = Vec::new();
    let name = matches.get_one::<String>("command").map_or("hpvm", String::as_str);
    let mut command = match name {
        "hpvm" => definition(),
        // clap wants a name that lives as long as the program.
        "mpirun" => run_definition().name("mpirun"),
        _ => run_definition().name("mpiexec"),
    };
    clap_complete::generate(*shell, &mut command, name, &mut script);
    crate::info::print(&script)?;
    Ok(0)
}

/// Writes the pages made from tables.
fn write_docs(dir: &std::path::Path) -> Result<(), String> {
    let pages = [
        ("flags.md", hpvm_launch::help::flags_page()),
        ("environment.md", hpvm_launch::help::environment_page()),
    ];
    for (name, text) in pages {
        let file = dir.join(name);
        std::fs::write(&file, text)
            .map_err(|error| format!("docs: '{}': {error}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_sound() {
        super::definition().debug_assert();
    }
}
