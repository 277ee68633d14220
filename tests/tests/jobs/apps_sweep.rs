//! `apps/sweep`: neutral particles in matter, by discrete ordinates on unstructured meshes.

use crate::apps::{
    app, checks_itself_on, makes_a_picture_and_scaling_tables, refused, restarts_with_the_same_bits,
};
use crate::common::{PATIENCE, clean, folder, prefix, run_within, succeed, workspace};

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
fn sweeps_help_has_a_line_for_each_flag() {
    let Some(command) = app(1, "sweep", &["--help"]) else { return };
    let help = succeed(command);
    assert!(help.lines().any(|line| line.starts_with("  --no-rays  ")), "{help}");
}

#[test]
fn a_restarted_sweep_ends_with_the_same_bits() {
    restarts_with_the_same_bits(TWISTED);
    restarts_with_the_same_bits(SHIELD);
}

/// The change of each iteration, as it is printed.
fn changes(output: &str) -> Vec<String> {
    let change = |line: &str| -> Option<String> {
        let mut words = line.split_whitespace();
        words.next()?.parse::<u32>().ok()?;
        let change = words.next().filter(|word| word.contains('e'))?;
        change.parse::<f64>().is_ok().then(|| change.to_owned())
    };
    output.lines().filter_map(change).collect()
}

/// Changes are the largest of all cells: the table has the same digits, wherever the cells are.
#[test]
fn sweep_is_the_same_on_any_ranks() {
    let lines = |ranks, problem: &[&str]| {
        let command = app(ranks, "sweep", &[problem, &["--steps", "6"]].concat())?;
        Some(changes(&succeed(command)))
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

/// The same where METIS cuts the mesh, also into as many parts as there are cells.
#[test]
fn sweep_is_the_same_when_metis_cuts_the_mesh() {
    let few: &[&str] = &["--case", "manufactured", "--bricks", "2", "--tolerance", "0"];
    for (problem, all_ranks) in [(TWISTED.1, &[2, 3, 5][..]), (SHIELD.1, &[3]), (few, &[7, 8])] {
        let problem = [problem, &["--steps", "4"]].concat();
        let Some(command) = app(1, "sweep", &problem) else { return };
        let alone = changes(&succeed(command));
        assert_eq!(alone.len(), 4, "{alone:?}");
        for ranks in all_ranks {
            let by_metis = [&problem[..], &["--partition", "metis"]].concat();
            let Some(command) = app(*ranks, "sweep", &by_metis) else { return };
            let outcome = run_within(command, PATIENCE);
            if outcome.output.contains("compiled without METIS") {
                return hpvm_tests::skip::skipped("metis.h is missing; install libmetis-dev");
            }
            assert_eq!(outcome.code, Some(0), "{}", outcome.output);
            assert_eq!(changes(&outcome.output), alone, "{problem:?}: {ranks} ranks");
        }
    }
}

/// A METIS that fails, as the real one does without memory: bisection cuts the mesh, which is said.
#[test]
fn sweep_says_that_metis_has_failed() {
    let home = folder("no-metis");
    let source = home.join("metis.c");
    std::fs::write(&source, "int METIS_PartGraphKway(void) { return -3; }\n").expect("a file");
    let failing = home.join("failing.so");
    let mut compiler = clean("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&failing, &source]);
    succeed(compiler);
    let problem = [SHIELD.1, &["--steps", "2", "--partition", "metis"]].concat();
    let Some(mut command) = app(3, "sweep", &problem) else { return };
    command.env("LD_PRELOAD", &failing);
    let outcome = run_within(command, PATIENCE);
    if outcome.output.contains("compiled without METIS") {
        return hpvm_tests::skip::skipped("metis.h is missing; install libmetis-dev");
    }
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    let said = outcome.output.matches("into 3 parts").count();
    assert_eq!(said, 1, "{}", outcome.output);
    assert!(outcome.output.contains("recursive bisection cuts them instead"), "{}", outcome.output);
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
        (&["--partition", "scotch"], "bisection or metis is needed"),
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

/// Vectors do not go through functions of which some are compiled for a processor that has them and others for one that has not.
#[test]
fn sweep_runs_as_compilers_leave_it_without_optimisation() {
    if app(2, "sweep", &[]).is_none() {
        return;
    }
    let plain = folder("plain").join("sweep");
    let mut make = clean("make");
    make.args(["-s", "-C"]).arg(workspace().join("apps/sweep")).arg("CFLAGS=-O0");
    make.arg(format!("MPICC={}", prefix().join("bin/mpicc").display()));
    make.arg(format!("OUT={}", plain.display()));
    succeed(make);
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-n", "2"]).arg(&plain).args(TWISTED.1).args(["--steps", "2"]);
    succeed(command);
}
