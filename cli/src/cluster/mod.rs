//! The commands of the cluster: a server, and what speaks to it. They use the words of Slurm's
//! commands where those exist.

mod act;
mod config;
mod credentials;
mod directives;
mod doctor;
mod doctor_groups;
mod doctor_node;
mod doctor_server;
mod drain;
mod list;
mod login;
mod logs;
mod manner;
mod names;
mod node;
mod password;
mod serve;
mod server;
mod submit;
mod token;
mod top;
mod user;
mod values;
mod wait;

use clap::{Arg, ArgAction, ArgMatches, Command};

/// All of them.
pub fn definitions() -> Vec<Command> {
    let mut all = vec![
        submit::definition(),
        list::queue_definition(),
        list::show_definition(),
        logs::definition(),
    ];
    all.extend(act::definitions());
    all.extend([wait::definition(), list::nodes_definition(), top::definition()]);
    all.extend(drain::definitions());
    all.extend(login::definitions());
    all.extend([user::definition(), token::definition(), doctor::definition()]);
    let ask = all.into_iter().map(manner::with_flags);
    [serve::definition(), node::definition()].into_iter().chain(ask).collect()
}

/// Performs one of them; `None` when the name is not one of theirs.
pub fn run(name: &str, matches: &ArgMatches) -> Option<Result<i32, String>> {
    manner::take(matches.subcommand().map_or(matches, |(_, inner)| inner));
    Some(match name {
        "serve" => serve::run(matches),
        "node" => node::run(matches),
        "submit" => submit::run(matches),
        "queue" => list::queue(matches),
        "show" => list::show(matches),
        "logs" => logs::run(matches),
        "cancel" | "hold" | "release" => act::run(name, matches),
        "wait" => wait::run(matches),
        "nodes" => list::nodes(matches),
        "top" => top::run(matches),
        "drain" | "resume" => drain::run(name, matches),
        "queues" => drain::queues(matches),
        "doctor" => doctor::run(matches),
        "login" => login::run(matches),
        "logout" => login::logout(),
        "user" => user::run(matches),
        "token" => token::run(matches),
        _ => return None,
    })
}

/// The supervisor of a job, for the server only, so no help mentions it.
pub fn stepd(args: &[std::ffi::OsString]) -> i32 {
    hpvm_queue::stepd::main(args)
}

/// The number of the job that this is the name of, if the server can be asked and knows it.
pub fn number(name: &str) -> Option<String> {
    Some(names::job(name.parse().ok()?).ok()?.summary.id.to_string())
}

fn json_flag() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON")
}

/// Writes a line of JSON to standard output.
fn print_json(made: serde_json::Result<String>) -> Result<(), String> {
    let text = made.map_err(|error| error.to_string())?;
    crate::info::print((text + "\n").as_bytes())
}

/// The jobs on a command line.
fn jobs_argument() -> Arg {
    let help =
        "Numbers of jobs or of whole arrays; of an array, 12_3 is one task, 12_[1-3,7] are four";
    Arg::new("job").value_name("JOB").required(true).num_args(1..).help(help)
}

/// The words of [`jobs_argument`].
fn job_words(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("job").unwrap_or_default().cloned().collect()
}
