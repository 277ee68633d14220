//! Telling people something on standard error, in the name of the library.

pub use hpvm_say::write;

/// Writes `hpvm: ` and the text as one line.
pub fn say(text: &str) {
    hpvm_say::line(&format!("hpvm: {text}"));
}
