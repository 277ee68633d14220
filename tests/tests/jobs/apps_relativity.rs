//! `apps/relativity`: Einstein's equations in vacuum, against the solutions of the tests "apples with apples".

use crate::apps::{
    app, checks_itself_on, makes_a_picture_and_scaling_tables, refused, restarts_on_other_ranks,
    restarts_with_the_same_bits,
};
use crate::common::succeed;

const GAUGE: (&str, &[&str]) = ("relativity", &["--cells", "16"]);
const NOISE: (&str, &[&str]) =
    ("relativity", &["--start", "noise", "--nx", "1", "--ny", "19", "--nz", "21"]);

#[test]
fn relativity_converges_to_exact_solutions_and_noise_does_not_grow() {
    checks_itself_on("relativity", &[1, 2, 3, 5]);
}

#[test]
fn a_restarted_relativity_ends_with_the_same_bits() {
    restarts_with_the_same_bits(GAUGE);
    restarts_with_the_same_bits(NOISE);
}

#[test]
fn a_relativity_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(GAUGE, 6, 0.0);
    restarts_on_other_ranks(NOISE, 6, 0.0);
}

/// The table's lines have all their digits in common, for nothing is added over ranks.
#[test]
fn relativity_is_the_same_on_any_ranks() {
    let lines = |ranks, start| {
        let flags = ["--start", start, "--nx", "18", "--ny", "15", "--nz", "11"];
        let output = succeed(app(ranks, "relativity", &[&flags[..], &["--steps", "20"]].concat())?);
        let is_row = |line: &&str| line.split_whitespace().all(|word| word.parse::<f64>().is_ok());
        Some(output.lines().filter(is_row).map(str::to_owned).collect::<Vec<_>>())
    };
    for start in ["gauge", "linear", "noise"] {
        let Some(alone) = lines(1, start) else { return };
        assert_eq!(alone.len(), 3, "{alone:?}");
        for ranks in [2, 3, 4, 5] {
            assert_eq!(lines(ranks, start).as_ref(), Some(&alone), "{start} on {ranks} ranks");
        }
    }
}

#[test]
fn relativity_refuses_what_it_cannot_split_or_solve() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--start", "hole"], 2, "gauge, linear or noise is needed"),
        (&["--nx", "4"], 2, "1 cell, or 6 or more"),
        (&["--nx", "1", "--ny", "1", "--nz", "1"], 2, "more than 1 is needed"),
        (&["--mode-x", "5"], 2, "a wave needs 8 cells or more"),
        (&["--amplitude", "1"], 2, "'1' is no good as --amplitude"),
        (&["--amplitude", "0.9", "--courant", "1", "--steps", "2000"], 1, "no finite curvature"),
    ];
    for (arguments, code, sentence) in cases {
        if !refused("relativity", arguments, *code, sentence) {
            return;
        }
    }
}

#[test]
fn relativity_draws_curvature_and_makes_scaling_tables() {
    makes_a_picture_and_scaling_tables(GAUGE);
    makes_a_picture_and_scaling_tables(NOISE);
}
