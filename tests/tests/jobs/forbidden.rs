//! System calls that containers forbid: everything still works, only slower.

use crate::common::{PATIENCE, mpirun, number_after, run_within, tell};
use hpvm_tests::skip::skipped;

/// The output of a program that may find no way to install its filter.
fn filtered(ranks: u32, name: &str, arguments: &[&str]) -> Option<String> {
    let outcome = run_within(mpirun(ranks, name, arguments), 2 * PATIENCE);
    if outcome.code == Some(77) {
        skipped(&format!("this system allows no seccomp filter: {}", outcome.output.trim()));
        return None;
    }
    assert_eq!(outcome.code, Some(0), "{name} {arguments:?}, {ranks} ranks:\n{}", outcome.output);
    Some(outcome.output)
}

/// Large messages of all sizes and shapes; `who` may not read the memory of others.
fn pull(who: &str, ranks: u32) {
    if let Some(output) = filtered(ranks, "pull", &[who]) {
        assert!(output.contains(" messages, 0 wrong"), "{output}");
    }
}

#[test]
fn large_messages_with_cross_memory_attach() {
    pull("none", 2);
    pull("none", 3);
}

#[test]
fn large_messages_with_no_cross_memory_attach_in_one_rank() {
    pull("first", 2);
    pull("last", 2);
    pull("last", 3);
}

#[test]
fn large_messages_with_no_cross_memory_attach_anywhere() {
    pull("all", 2);
    pull("all", 3);
}

/// Ranks fall asleep around the moment when their message comes. A wake-up that gets lost costs
/// half a second; nothing else takes that long but a process that stands still, which is not counted.
fn wake(who: &str, ranks: u32, rounds: u32) {
    let Some(output) = filtered(ranks, "wake", &[who, &rounds.to_string()]) else { return };
    assert!(output.contains(" 0 wrong"), "{output}");
    let late = number_after(&output, "rounds,");
    if late != Some(0.0) {
        tell(&format!("membarrier forbidden in {who}: {}", output.trim()));
    }
    assert!(late.is_some_and(|n| n <= 2.0), "wake-ups get lost ({who}): {output}");
}

#[test]
fn wake_ups_with_membarrier() {
    wake("none", 2, 4000);
    wake("none", 3, 2000);
}

#[test]
fn wake_ups_with_no_membarrier_in_one_rank() {
    wake("first", 2, 4000);
    wake("last", 2, 4000);
    wake("last", 3, 2000);
}

#[test]
fn wake_ups_with_no_membarrier_anywhere() {
    wake("all", 2, 4000);
    wake("all", 4, 2000);
}
