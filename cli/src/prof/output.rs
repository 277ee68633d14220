//! Where the report goes, and in which form.

use std::io::Write;
use std::path::PathBuf;

use clap::ArgMatches;
use hpvm_counters::Report;

/// Where it goes when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// Standard output is the command's.
    Errors,
    Output,
}

/// Writes it as the flags say.
pub fn write(report: &Report, matches: &ArgMatches, usual: Usual) -> Result<(), String> {
    let text = if matches.get_flag("json") {
        format!("{}\n", report.json())
    } else if matches.get_flag("csv") {
        report.csv()
    } else {
        report.text(matches.get_flag("per-rank"))
    };
    match matches.get_one::<PathBuf>("output") {
        Some(file) if file.as_os_str() != "-" => std::fs::write(file, text).map_err(|error| {
            format!("prof: the report cannot be written to '{}': {error}", file.display())
        }),
        None if usual == Usual::Errors => {
            // If standard error is closed, there is nobody to tell.
            let _ = std::io::stderr().write_all(text.as_bytes());
            Ok(())
        }
        _ => crate::info::print(text.as_bytes()),
    }
}
