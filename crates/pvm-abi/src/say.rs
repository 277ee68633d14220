//! Telling people something on standard error, in the name of the library.

use hpvm_pvm::Tid;

/// Writes a line at once, with this process in front: the number of the task, if it is one.
pub fn say(task: Option<Tid>, text: &str) {
    hpvm_say::line(&match task {
        Some(tid) => format!("libpvm [t{tid:x}]: {text}"),
        None => format!("libpvm [pid{}]: {text}", std::process::id()),
    });
}
