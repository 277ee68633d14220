//! Telling people something on standard error.

use hpvm_pvm::Tid;
use std::io::Write;

/// Writes a line at once, with this process in front: the number of the task, if it is one. Where nobody can read it that
/// is no reason to fail: `eprintln!` would.
pub fn say(task: Option<Tid>, text: &str) {
    let line = match task {
        Some(tid) => format!("libpvm [t{tid:x}]: {text}\n"),
        None => format!("libpvm [pid{}]: {text}\n", std::process::id()),
    };
    let _ = std::io::stderr().write_all(line.as_bytes());
}
