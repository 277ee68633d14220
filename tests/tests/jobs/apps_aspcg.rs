//! `apps/aspcg`: incompressible flow, its pressure by conjugate gradients with an additive Schwarz preconditioner.

use crate::apps::{
    app, checks_itself_on, makes_a_picture_and_scaling_tables, refused, restarts_on_other_ranks,
    restarts_with_the_same_bits,
};
use crate::common::succeed;

pub(crate) const CAVITY: (&str, &[&str]) =
    ("aspcg", &["--cells", "24", "--block", "4", "--tolerance", "1e-3"]);
pub(crate) const SHEAR: (&str, &[&str]) = (
    "aspcg",
    &[
        "--case",
        "shear",
        "--nx",
        "20",
        "--ny",
        "40",
        "--block",
        "4",
        "--overlap",
        "3",
        "--tolerance",
        "1e-3",
    ],
);

#[test]
fn aspcg_goes_petscs_way_and_gives_the_published_flow() {
    checks_itself_on("aspcg", &[1, 2, 3, 5]);
}

#[test]
fn a_restarted_aspcg_ends_with_the_same_bits() {
    restarts_with_the_same_bits(CAVITY);
    restarts_with_the_same_bits(SHEAR);
}

#[test]
fn an_aspcg_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(CAVITY, 3, 1e-9);
    restarts_on_other_ranks(SHEAR, 3, 1e-9);
}

/// The preconditioner's blocks are those of the problem: iterations do not grow with the ranks.
#[test]
fn aspcg_takes_as_many_iterations_on_any_ranks() {
    let lines = |ranks| {
        let flags = ["--case", "shear", "--cells", "60", "--block", "10", "--steps", "5"];
        let command = app(ranks, "aspcg", &[&flags[..], &["--print", "1"]].concat())?;
        let output = succeed(command);
        let columns = |line: &str| -> Option<(i64, i64)> {
            let words: Vec<&str> = line.split_whitespace().collect();
            Some((words.first()?.parse().ok()?, words.get(4)?.parse().ok()?))
        };
        Some(output.lines().filter_map(columns).collect::<Vec<_>>())
    };
    let Some(alone) = lines(1) else { return };
    assert_eq!(alone.len(), 6, "{alone:?}");
    for ranks in [2, 3, 5] {
        assert_eq!(lines(ranks).as_ref(), Some(&alone), "{ranks} ranks");
    }
}

#[test]
fn aspcg_refuses_what_it_cannot_split_or_solve() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--case", "pipe"], 2, "cavity, vortices or shear is needed"),
        (&["--cells", "100"], 2, "no whole number of blocks of 16 cells"),
        (&["--cells", "8", "--block", "2", "--overlap", "3"], 2, "an overlap of 3 cells"),
        (&["--cells", "16"], 2, "1 x 1 blocks of cells cannot be split over 2 ranks"),
        (&["--overlap", "9"], 2, "'9' is no good as --overlap"),
        (&["--relaxation", "1.5"], 2, "'1.5' is no good as --relaxation"),
    ];
    for (arguments, code, sentence) in cases {
        if !refused("aspcg", arguments, *code, sentence) {
            return;
        }
    }
}

#[test]
fn aspcg_draws_the_vorticity_and_makes_scaling_tables() {
    makes_a_picture_and_scaling_tables(CAVITY);
    makes_a_picture_and_scaling_tables(SHEAR);
}
