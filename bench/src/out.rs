//! Standard output: what cannot be written is an error of the command, told once at its end, not a panic.

use crate::error::BenchError;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The first fault of this process.
static FAULT: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes, unless that has failed before.
pub fn write(text: fmt::Arguments<'_>) {
    let mut fault = FAULT.lock().unwrap_or_else(PoisonError::into_inner);
    if fault.is_none() {
        *fault = io::stdout().write_fmt(text).err();
    }
}

/// What was written is there. A reader that has gone away is no error.
///
/// # Errors
/// Some of it could not be written.
pub fn finish() -> Result<(), BenchError> {
    let mut fault = FAULT.lock().unwrap_or_else(PoisonError::into_inner);
    match fault.take().or_else(|| io::stdout().flush().err()) {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(BenchError::io("cannot write to standard output", error))
        }
        _ => Ok(()),
    }
}

/// As `print!`.
macro_rules! out {
    ($($word:tt)*) => { $crate::out::write(format_args!($($word)*)) };
}

/// As `println!`.
macro_rules! outln {
    () => { $crate::out::write(format_args!("\n")) };
    ($($word:tt)*) => {
        $crate::out::write(format_args!("{}\n", format_args!($($word)*)))
    };
}

pub(crate) use {out, outln};
