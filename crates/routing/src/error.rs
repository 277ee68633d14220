//! What is wrong with an input: where, which word, what was expected.

use std::fmt;

/// A fault in a file or in an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line in the file, from 1, where there is one.
    pub line: Option<usize>,
    pub text: String,
}

impl Error {
    /// A fault that belongs to no line.
    pub fn new(text: impl Into<String>) -> Error {
        Error { line: None, text: text.into() }
    }

    /// A fault in a line.
    pub fn at(line: usize, text: impl Into<String>) -> Error {
        Error { line: Some(line), text: text.into() }
    }

    /// The same fault with a line, if it has none yet.
    pub fn or_at(mut self, line: usize) -> Error {
        self.line = self.line.or(Some(line));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Error {}

/// A word of the input, quoted, of a length that fits a message.
pub fn quoted(word: &str) -> String {
    /// A message is one line on a terminal.
    const SHOWN_CHARACTERS: usize = 60;
    let clean: String = word.chars().take(SHOWN_CHARACTERS).flat_map(char::escape_debug).collect();
    match word.chars().nth(SHOWN_CHARACTERS) {
        None => format!("'{clean}'"),
        Some(_) => format!("'{clean}...'"),
    }
}
