//! `MPI_THREAD_MULTIPLE` under load.

use crate::common::{mpirun, number_after, succeed, tell};

/// Four threads per rank send, receive and meet in collectives at the same time.
fn hammer(ranks: u32) {
    let output = succeed(mpirun(ranks, "hammer", &["2"]));
    assert!(output.contains(" 0 wrong"), "{output}");
    let rounds = output.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
    tell(&format!("{ranks} ranks of 4 threads: {}", output.trim()));
    assert!(rounds.is_some_and(|n| n >= 8), "hardly anything happened: {output}");
    assert_eq!(number_after(&output, "rounds,"), Some(0.0), "{output}");
}

#[test]
fn two_ranks_of_four_threads() {
    hammer(2);
}

#[test]
fn three_ranks_of_four_threads() {
    hammer(3);
}
