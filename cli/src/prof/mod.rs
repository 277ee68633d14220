//! `hpvm prof`: counters of a command, of its ranks, or of a job that runs.

mod attach;
mod collector;
mod command;
pub mod counted;
mod output;
mod socket;

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hpvm_counters::allowed::Offer;
use hpvm_counters::{Event, events};

/// The subcommand.
pub fn definition() -> Command {
    Command::new("prof")
        .about("Count what a command, its ranks, or a running job do to the processor")
        .long_about(
            "Count what a command, its ranks, or a running job do to the processor.\n\n\
             hpvm prof mpirun -n 4 ./a.out, or shorter hpvm prof -n 4 ./a.out: cycles, instructions, caches, TLB and \
             branches where this machine shows such counters, and always time on processors, page faults, context \
             switches and migrations; for the whole job, each host and each rank, with their threads and children. \
             Programs are neither relinked nor preloaded. Where there are more events than counters, they are \
             counted in turns; a value is then an estimate, with the part of the time in which it was counted \
             (coverage) and its error at 95 %.\n\n\
             The exit code is the command's. The report goes to standard error.",
        )
        .override_usage("hpvm prof [OPTIONS] COMMAND...\n       hpvm prof [OPTIONS] -n RANKS PROGRAM...\n       hpvm prof [OPTIONS] -j JOB")
        .arg(
            Arg::new("per-rank")
                .long("per-rank")
                .action(ArgAction::SetTrue)
                .help("A column for each rank in the table, also when there are more than 8"),
        )
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .help("Count every event that this machine offers, in turns"),
        )
        .arg(
            Arg::new("event")
                .short('e')
                .long("event")
                .value_name("EVENT,...")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .conflicts_with("all")
                .help("Count these events only, by the names that --list shows"),
        )
        .arg(
            Arg::new("list")
                .long("list")
                .action(ArgAction::SetTrue)
                .help("List the events that can be counted here"),
        )
        .arg(
            Arg::new("region")
                .long("region")
                .action(ArgAction::SetTrue)
                .conflicts_with("job")
                .help("Count only between hpvm_region_begin and hpvm_region_end, or MPI_Pcontrol(1) and MPI_Pcontrol(0)"),
        )
        .arg(
            Arg::new("job")
                .short('j')
                .long("job")
                .value_name("JOB|PID")
                .help("Count a job that runs, named as for hpvm jobs or by its number in the queue, until it ends or Ctrl-C"),
        )
        .arg(
            Arg::new("duration")
                .long("duration")
                .value_name("SECONDS")
                .value_parser(value_parser!(f64))
                .requires("job")
                .help("With -j: stop after so long"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Write JSON"))
        .arg(
            Arg::new("csv")
                .long("csv")
                .action(ArgAction::SetTrue)
                .conflicts_with("json")
                .help("Write comma-separated values, one line per event and rank"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .value_parser(value_parser!(std::path::PathBuf))
                .help("Write the report to FILE; - is standard output"),
        )
        .arg(
            Arg::new("command")
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(std::ffi::OsString))
                .value_hint(clap::ValueHint::CommandWithArguments)
                .value_name("COMMAND"),
        )
}

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let wanted = wanted(matches)?;
    let named: Vec<String> = match matches.contains_id("event") {
        true => wanted.iter().map(|event| event.name.clone()).collect(),
        false => Vec::new(),
    };
    let offer = Offer::of(wanted);
    if matches.get_flag("list") {
        return list(&offer).map(|()| 0);
    }
    if let Some(missing) = named.iter().find(|name| !offer.events.iter().any(|e| e.name == **name))
    {
        let why = offer.notes.first().map_or(String::new(), |note| format!(": {note}"));
        return Err(format!("prof: event '{missing}' cannot be counted here{why}"));
    }
    let words = matches.get_many::<std::ffi::OsString>("command");
    let words: Vec<_> = words.into_iter().flatten().cloned().collect();
    match (matches.get_one::<String>("job"), words.is_empty()) {
        (Some(job), true) => attach::run(job, offer, matches),
        (Some(_), false) => Err("prof: give either -j JOB or a command, not both".into()),
        (None, false) => match command::file(&words) {
            Ok(file) => command::run(&file, &words, offer, matches),
            Err(error) => {
                // If standard error is closed, there is nobody to tell.
                let _ = writeln!(std::io::stderr(), "hpvm: prof: {}", error.message);
                Ok(error.code)
            }
        },
        (None, true) => {
            Err("prof: no command given; hpvm prof mpirun -n 4 ./a.out, hpvm prof -j JOB".into())
        }
    }
}

/// The events that are asked for.
fn wanted(matches: &ArgMatches) -> Result<Vec<Event>, String> {
    let every = || events::software().into_iter().chain(events::all());
    let Some(names) = matches.get_many::<String>("event") else {
        let hardware = match matches.get_flag("all") || matches.get_flag("list") {
            true => events::all(),
            false => events::usual(),
        };
        return Ok(events::software().into_iter().chain(hardware).collect());
    };
    let of = |name: &String| {
        let found = every().find(|event| event.name == *name);
        found.ok_or_else(|| format!("prof: there is no event '{name}'; see hpvm prof --list"))
    };
    names.map(of).collect()
}

fn list(offer: &Offer) -> Result<(), String> {
    let mut text = String::new();
    for event in &offer.events {
        text.push_str(&event.name);
        text.push('\n');
    }
    crate::info::print(text.as_bytes())?;
    for note in &offer.notes {
        eprintln!("note: {note}");
    }
    Ok(())
}
