//! `hpvm bench` and `hpvm tune`. The first runs the measurements of `src_c/` on an installed hpvm, prints them beside the
//! figures of the papers of 1996 to 2000, and compares hpvm with other MPIs in one run; the second writes what it
//! measured where the library finds it.
//!
//! This crate is the body of two commands: [`run`] and [`run_tune`] print, and catch Ctrl-C while they run.
//! The measuring itself is in C programs that use nothing but the MPI standard; here they are
//! launched, their lines of JSON read, and medians, ratios and N1/2 computed.

pub mod armci;
pub mod bsp;
pub mod datatype;
pub mod error;
pub mod evaluate;
pub mod interrupt;
pub mod machine;
pub mod network;
pub mod npb;
mod out;
pub mod papers;
pub mod peers;
pub mod plot;
pub mod portals;
pub mod progress;
pub mod pvm;
pub mod record;
pub mod report;
pub mod sam;
pub mod stats;
pub mod table;
pub mod target;
pub mod tune;
pub mod versus;

mod args;
mod show;
mod whole_file;

pub use args::{command, tune_command};
pub use error::BenchError;

/// Runs `hpvm bench` with arguments that [`command`] has parsed, and returns the exit code:
/// 0 well, 1 a measurement failed, 2 something is missing or misspelt, 130 after Ctrl-C.
pub fn run(matches: &clap::ArgMatches) -> i32 {
    interrupt::install();
    let outcome = match matches.subcommand() {
        Some(("peers", sub)) => args::peers(sub).and_then(|plan| peers::run(&plan)),
        Some(("armci", sub)) => args::armci(sub).and_then(|plan| armci::run(&plan)),
        Some(("bsp", sub)) => args::bsp(sub).and_then(|plan| bsp::run(&plan)),
        Some(("portals", sub)) => args::portals(sub).and_then(|plan| portals::run(&plan)),
        Some(("pvm", sub)) => args::pvm(sub).and_then(|plan| pvm::run(&plan)),
        Some(("report", sub)) => args::report(sub).and_then(|plan| report::run(&plan)),
        Some(("sam", sub)) => args::sam(sub).and_then(|plan| sam::run(&plan)),
        Some(("npb", sub)) => args::npb(sub).and_then(|plan| npb::run(&plan)),
        _ if matches.contains_id("plot") => plot::run(&args::plot(matches)),
        _ => args::network(matches).and_then(|plan| match plan {
            Some(plan) => network::run(&plan),
            None => args::evaluate(matches).and_then(|plan| evaluate::run(&plan)),
        }),
    };
    exit_code("hpvm bench", outcome)
}

/// Runs `hpvm tune` with arguments that [`tune_command`] has parsed; exit codes as of [`run`].
pub fn run_tune(matches: &clap::ArgMatches) -> i32 {
    interrupt::install();
    exit_code("hpvm tune", args::tune(matches).and_then(|plan| tune::run(&plan)))
}

fn exit_code(command: &str, outcome: Result<(), BenchError>) -> i32 {
    match outcome.and_then(|()| out::finish()) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{command}: {error}");
            error.exit_code()
        }
    }
}
