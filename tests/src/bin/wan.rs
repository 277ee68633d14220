//! `wan`: joins two test hosts by a long and slow cable while a command runs.

use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::Parser;
use hpvm_tests::process::code_of;
use hpvm_tests::wan::{Cable, Wan};

/// Joins two test hosts by a long and slow cable, interface wan0 (10.79.0.1 and 10.79.0.2), while a command runs.
#[derive(Parser)]
#[command(name = "wan")]
struct Options {
    /// Time that a frame is under way, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 20.0)]
    delay: f64,
    /// Megabits per second in each direction
    #[arg(long, value_name = "MBIT", default_value_t = 100.0)]
    rate: f64,
    /// Frames of a thousand that are lost
    #[arg(long, value_name = "N", default_value_t = 0)]
    loss: u32,
    /// The first host
    one: String,
    /// The other host
    other: String,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let cable = Cable {
        delay: Duration::from_secs_f64(options.delay.clamp(0.0, 1e6) / 1e3),
        rate: (options.rate * 1e6).max(1.0) as u64,
        loss: options.loss,
    };
    let _wan = match Wan::lay(&options.one, &options.other, cable) {
        Ok(wan) => wan,
        Err(text) => {
            eprintln!("wan: {text}");
            return ExitCode::FAILURE;
        }
    };
    match Command::new(&options.command[0]).args(&options.command[1..]).status() {
        Ok(status) => ExitCode::from(code_of(status).clamp(0, 255) as u8),
        Err(error) => {
            eprintln!("wan: cannot run '{}': {error}", options.command[0]);
            ExitCode::from(127)
        }
    }
}
