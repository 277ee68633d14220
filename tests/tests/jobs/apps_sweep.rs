//! `apps/sweep`: neutral particles in matter, by discrete ordinates on unstructured meshes.

use crate::apps::{
    app, checks_itself_on, makes_a_picture_and_scaling_tables, refused, restarts_with_the_same_bits,
};
use crate::common::succeed;

const SHIELD: (&str, &[&str]) = ("sweep", &["--bricks", "10", "--tolerance", "0"]);
/// A mesh so twisted that cells wait for each other in cycles, and the iteration before is part of the state.
const TWISTED: (&str, &[&str]) = (
    "sweep",
    &[
        "--case",
        "manufactured",
        "--bricks",
        "4",
        "--jitter",
        "0.2",
        "--twist",
        "3",
        "--tolerance",
        "0",
    ],
);

#[test]
fn sweep_agrees_with_a_manufactured_solution_and_kobayashis_benchmark() {
    checks_itself_on("sweep", &[1, 3]);
}

#[test]
fn a_restarted_sweep_ends_with_the_same_bits() {
    restarts_with_the_same_bits(TWISTED);
    restarts_with_the_same_bits(SHIELD);
}

/// Changes are the largest of all cells: the table has the same digits, wherever the cells are.
#[test]
fn sweep_is_the_same_on_any_ranks() {
    let lines = |ranks, problem: &[&str]| {
        let output = succeed(app(ranks, "sweep", &[problem, &["--steps", "6"]].concat())?);
        let change = |line: &str| -> Option<String> {
            let mut words = line.split_whitespace();
            words.next()?.parse::<u32>().ok()?;
            let change = words.next().filter(|word| word.contains('e'))?;
            change.parse::<f64>().is_ok().then(|| change.to_owned())
        };
        Some(output.lines().filter_map(change).collect::<Vec<_>>())
    };
    let tetrahedra = [TWISTED.1, &["--shape", "tetrahedra"]].concat();
    for problem in [SHIELD.1, TWISTED.1, &tetrahedra] {
        let Some(alone) = lines(1, problem) else { return };
        assert_eq!(alone.len(), 6, "{alone:?}");
        for ranks in [2, 3, 5] {
            assert_eq!(lines(ranks, problem).as_ref(), Some(&alone), "{problem:?}: {ranks} ranks");
        }
    }
}

#[test]
fn sweep_refuses_what_it_cannot_solve() {
    let cases: &[(&[&str], &str)] = &[
        (&["--case", "slab"], "kobayashi or manufactured is needed"),
        (&["--shape", "prisms"], "hexahedra or tetrahedra is needed"),
        (&["--bricks", "15"], "needs a multiple of 10"),
        (&["--twist", "1"], "take --case manufactured"),
        (&["--case", "manufactured", "--bricks", "1"], "cannot be shared by 2 ranks"),
        (&["--bricks", "270", "--shape", "tetrahedra"], "every rank has the whole mesh"),
        (&["--jitter", "0.5"], "'0.5' is no good as --jitter"),
    ];
    for (arguments, sentence) in cases {
        if !refused("sweep", arguments, 2, sentence) {
            return;
        }
    }
}

#[test]
fn sweep_draws_the_flux_and_makes_scaling_tables() {
    makes_a_picture_and_scaling_tables(SHIELD);
}
