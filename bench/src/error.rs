//! What can go wrong, in words for people.

use std::path::PathBuf;

/// Why a benchmark could not be done.
#[derive(Debug)]
pub enum BenchError {
    /// A program that has to be run does not exist. `advice` says what to do about it.
    Missing { what: &'static str, path: PathBuf, advice: &'static str },
    /// A program could not be started or talked to.
    Io { doing: String, source: std::io::Error },
    /// A program ended badly. `said` is the end of its stderr.
    Failed { command: String, status: String, said: String },
    /// A program took longer than allowed and was ended.
    TimedOut { command: String, seconds: u64 },
    /// A program printed a line that is no result.
    BadLine { command: String, line: String, reason: String },
    /// A program ended well and printed no result.
    NoResult { program: PathBuf },
    /// An argument has a value that makes no sense.
    Argument { token: String, reason: String },
    /// Some measurements failed; the report says which.
    SomeFailed { count: usize },
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl BenchError {
    pub(crate) fn io(doing: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { doing: doing.into(), source }
    }

    /// The exit code of the command: see [`crate::run`].
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Missing { .. } | Self::Argument { .. } => 2,
            Self::Interrupted => 130,
            _ => 1,
        }
    }
}

impl std::fmt::Display for BenchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { what, path, advice } => {
                write!(f, "{what} is missing: {} does not exist; {advice}", path.display())
            }
            Self::Io { doing, source } => write!(f, "{doing}: {source}"),
            Self::Failed { command, status, said } if said.is_empty() => {
                write!(f, "'{command}' ended with {status} and said nothing")
            }
            Self::Failed { command, status, said } => {
                write!(f, "'{command}' ended with {status}; it said:\n{said}")
            }
            Self::TimedOut { command, seconds } => {
                write!(f, "'{command}' was ended after {seconds} s without finishing")
            }
            Self::BadLine { command, line, reason } => {
                write!(f, "'{command}' printed a line that is no result ({reason}): {line}")
            }
            Self::NoResult { program } => {
                let program = program.display();
                write!(
                    f,
                    "{program} printed no result: it is not the benchmark program of this command"
                )
            }
            Self::Argument { token, reason } => write!(f, "'{token}': {reason}"),
            Self::SomeFailed { count: 1 } => write!(f, "one run failed, see above"),
            Self::SomeFailed { count } => write!(f, "{count} runs failed, see above"),
            Self::Interrupted => write!(f, "stopped by Ctrl-C"),
        }
    }
}

impl std::error::Error for BenchError {}
