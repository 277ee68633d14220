//! Telling people something on standard error.

use std::io::Write;

/// Writes a line at once. Where nobody can read it that is no reason to fail: `eprintln!` would.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
