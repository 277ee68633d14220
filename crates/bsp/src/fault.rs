//! What ends a BSP program.

use std::fmt;

/// An error of the program, or of the machine, at one process in one superstep. One word, so that calls that succeed
/// do not carry room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<Told>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The function to name, if not the one that was called.
    pub function: Option<&'static str>,
    /// What was expected, what was found.
    pub text: String,
    /// Every process found the same, so one of them tells.
    pub by_all: bool,
}

impl Fault {
    #[cold]
    pub fn new(text: impl Into<String>) -> Fault {
        Fault(Box::new(Told { function: None, text: text.into(), by_all: false }))
    }

    /// A fault that every process finds from the same data.
    pub fn by_all(function: &'static str, text: impl Into<String>) -> Fault {
        Fault(Box::new(Told { function: Some(function), text: text.into(), by_all: true }))
    }

    /// The same fault, of a call of this function.
    pub fn of(mut self, function: &'static str) -> Fault {
        self.0.function = Some(function);
        self
    }

    pub fn no_memory(bytes: usize) -> Fault {
        Fault::new(format!("there is no memory for {bytes} bytes"))
    }
}

impl std::ops::Deref for Fault {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.0
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
