//! What ends a program of shared objects.

use std::fmt;

/// An error of the program, of a peer or of the machine. One word, so that calls that succeed carry no room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<Text>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Text(String);

impl Fault {
    #[cold]
    pub fn new(text: impl Into<String>) -> Fault {
        Fault(Box::new(Text(text.into())))
    }

    #[cold]
    pub fn no_memory(bytes: usize) -> Fault {
        Fault::new(format!("there is no memory for {bytes} bytes"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.0)
    }
}

impl std::error::Error for Fault {}

impl From<String> for Fault {
    fn from(text: String) -> Fault {
        Fault::new(text)
    }
}
