//! How a job ends that has gone beyond a limit of its own, in the words that its record has.

use crate::job::{Outcome, OutcomeKind};

/// What a limit of processes is.
const ASKED: &str = "were asked for, the launcher's included";

/// It used so many bytes of memory: over, if that is more than its limit.
pub fn memory(used: u64, limit: u64) -> Option<Outcome> {
    let text = format!("it used {used} bytes of memory; it had asked for {limit}");
    (used > limit).then(|| Outcome::of(OutcomeKind::MemoryLimit).with(text))
}

/// The kernel has refused it more memory than its limit.
pub fn refused_memory(limit: u64) -> Outcome {
    let text = format!("it needed more memory than the {limit} bytes that it had asked for");
    Outcome::of(OutcomeKind::MemoryLimit).with(text)
}

/// It had so many processes and threads: over, if those are more than its limit.
pub fn processes(there: u64, limit: u32) -> Option<Outcome> {
    let text = format!("it had {there} processes and threads; {limit} {ASKED}");
    (there > u64::from(limit)).then(|| Outcome::of(OutcomeKind::ProcessLimit).with(text))
}

/// The kernel has refused it more processes than its limit.
pub fn refused_processes(limit: u32) -> Outcome {
    let text = format!("it needed more than the {limit} processes and threads that {ASKED}");
    Outcome::of(OutcomeKind::ProcessLimit).with(text)
}
