//! Errors of the launcher: a text for people and the exit code that goes with it.

use std::fmt;

/// Exit code of wrong usage.
pub const USAGE: i32 = 2;
/// Exit code when the program was found but cannot be executed.
pub const NOT_EXECUTABLE: i32 = 126;
/// Exit code when the program was not found.
pub const NOT_FOUND: i32 = 127;
/// Exit code when `--timeout` ended the job.
pub const TIMED_OUT: i32 = 124;

/// Why a job could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError {
    /// Cause, offending token, what to do; without the command's name in front.
    pub message: String,
    /// Exit code of the command.
    pub code: i32,
}

impl LaunchError {
    /// An error with its exit code. What the message repeats of the user's words, of files and of
    /// other hosts is made fit for a terminal.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { message: crate::text::message(&message.into()), code }
    }

    /// Wrong usage: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// The system refused something: exit code 1.
    pub fn system(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(1, format!("{what}: {}", plain(error)))
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LaunchError {}

/// The text of an operating-system error without Rust's " (os error N)".
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

/// The text of an errno.
pub fn errno_text(errno: i32) -> String {
    plain(&std::io::Error::from_raw_os_error(errno))
}
