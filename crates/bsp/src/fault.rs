//! What ends a BSP program.

use std::fmt;

/// An error of the program, or of the machine, at one process in one superstep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The function to name, if not the one that was called.
    pub function: Option<&'static str>,
    /// What was expected, what was found.
    pub text: String,
    /// Every process found the same, so one of them tells.
    pub by_all: bool,
}

impl Fault {
    pub fn new(text: impl Into<String>) -> Fault {
        Fault { function: None, text: text.into(), by_all: false }
    }

    /// A fault that every process finds from the same data.
    pub fn by_all(function: &'static str, text: impl Into<String>) -> Fault {
        Fault { function: Some(function), text: text.into(), by_all: true }
    }

    pub fn no_memory(bytes: usize) -> Fault {
        Fault::new(format!("there is no memory for {bytes} bytes"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Fault {}

impl From<String> for Fault {
    fn from(text: String) -> Fault {
        Fault::new(text)
    }
}
