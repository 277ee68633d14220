//! Files that a command reads and writes for people, with its name in errors.

use std::path::Path;

use hpvm_launch::text_file::read_or_stdin;

/// More bytes are no description of a fabric, a machine or a program: the largest fabrics have a tenth of them.
const FILE_MAX: u64 = 256 << 20;

/// A file's text, or standard input's for `-`.
pub fn read(command: &str, file: &Path) -> Result<String, String> {
    read_or_stdin(file, FILE_MAX)
        .map_err(|unread| format!("{command}: '{}': {unread}", file.display()))
}

pub fn write(command: &str, file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{command}: '{}': {error}", file.display()))
}
