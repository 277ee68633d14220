//! `hpvm simulate`: jobs of many ranks in virtual time, on a model of a machine.

mod args;
mod calibrate;
mod failures;
mod report;
mod runs;
mod start;

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

pub use args::definition;

/// Performs it.
pub fn run(matches: &ArgMatches) -> Result<i32, String> {
    let asked = args::Asked::new(matches)?;
    if asked.writes_machine {
        crate::info::print(asked.machine.write().as_bytes())?;
        return Ok(0);
    }
    match asked.subject.as_str() {
        "failures" => {
            crate::info::print(failures::text(&asked)?.as_bytes())?;
            return Ok(0);
        }
        "calibrate" => {
            let text = calibrate::run(&asked.calibration()?)?.text();
            if let Some(file) = &asked.save {
                write(file, &text)?;
            }
            crate::info::print(text.as_bytes())?;
            return Ok(0);
        }
        _ => {}
    }
    let rows = runs::rows(&asked)?;
    let report = report::Report { asked: &asked, rows: &rows, fit: report::fit_of(&rows) };
    if let Some(file) = &asked.plot {
        write(file, &report.plot())?;
    }
    let text = match asked.form {
        args::Form::Text => report.text(),
        args::Form::Csv => report.csv(),
        args::Form::Json => report.json().to_string() + "\n",
    };
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

fn read(file: &Path) -> Result<String, String> {
    crate::file::read("simulate", file)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    crate::file::write("simulate", file, text)
}

/// An error of the library, of which this command is the cause.
fn said(error: hpvm_simulate::Error) -> String {
    format!("simulate: {error}")
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn valued(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn command() -> Command {
    Command::new("simulate")
}

fn number(
    name: &'static str,
    range: impl Into<clap::builder::RangedU64ValueParser<u32>>,
    help: &'static str,
) -> Arg {
    valued(name, "N", help).value_parser(range.into())
}

fn seed() -> Arg {
    valued("seed", "S", "What is left to chance follows from it; default 0")
        .value_parser(value_parser!(u64))
}
