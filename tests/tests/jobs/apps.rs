//! The applications in `apps/`: their own checks, and their checkpoints.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::common::{
    PATIENCE, clean, folder, marker, prefix, run_within, scratch, succeed_within, tell, workspace,
};
use crate::random::{Random, seed};
use hpvm_tests::process;

/// Some seconds of work for one processor; a loaded machine has less than one.
pub(crate) const LONG: Duration = Duration::from_secs(480);
/// All applications are compiled, each file with optimisation: two minutes of a processor that nobody else uses.
const BUILDS: Duration = Duration::from_secs(900);

/// All write checkpoints and take the same flags for them. The arguments make a problem of milliseconds per step.
pub(crate) const MD: (&str, &[&str]) = ("md", &["--cells", "8"]);
pub(crate) const TREECODE: (&str, &[&str]) = ("treecode", &["--bodies", "1500", "--sample", "0"]);
pub(crate) const FDTD: (&str, &[&str]) =
    ("fdtd", &["--cells", "24", "--layers", "5", "--sphere", "4"]);
const PLASMA: (&str, &[&str]) =
    ("fdtd", &["--case", "plasma", "--cells", "12", "--thermal", "0.2"]);

pub(crate) const HYDRO: (&str, &[&str]) = ("hydro", &["--cells", "16"]);
/// Open ends: the faces there belong to no cell.
pub(crate) const MHD: (&str, &[&str]) =
    ("mhd", &["--start", "blast", "--nx", "12", "--ny", "14", "--nz", "16"]);
pub(crate) const QMC: (&str, &[&str]) = ("qmc", &["--walkers", "50", "--block", "10"]);
pub(crate) const VORTEX: (&str, &[&str]) = ("vortex", &["--around", "20", "--layers", "1"]);

/// Whether the C compiler finds a header.
fn has_header(name: &str) -> bool {
    let program = folder("header").join("includes.c");
    std::fs::write(&program, format!("#include <{name}>\n")).expect("a file");
    let mut compiler = clean("cc");
    compiler.arg("-E").arg(program);
    compiler.output().is_ok_and(|output| output.status.success())
}

/// The applications, built once per run; `None` where they cannot be.
pub(crate) fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            if !has_header("zlib.h") {
                return None;
            }
            let output = scratch().join("apps");
            let mut make = clean("make");
            make.args(["-s", "-C"]).arg(workspace().join("apps"));
            make.arg(format!("MPICC={}", prefix().join("bin/mpicc").display()));
            make.arg(format!("OUT={}", output.display())).args(["all", "bsp", "sam", "shmem"]);
            succeed_within(make, BUILDS);
            Some(output)
        })
        .as_deref()
}

/// `mpirun -n RANKS APP ARGUMENTS`; `None`, and counted as skipped, where the applications cannot be built.
pub(crate) fn app(ranks: u32, name: &str, arguments: &[&str]) -> Option<Command> {
    app_with(&[], ranks, name, arguments)
}

/// The same with flags for `mpirun`.
pub(crate) fn app_with(
    flags: &[&str],
    ranks: u32,
    name: &str,
    arguments: &[&str],
) -> Option<Command> {
    let Some(built) = built() else {
        hpvm_tests::skip::skipped("zlib.h is missing; install zlib1g-dev");
        return None;
    };
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(flags).args(["-n", &ranks.to_string()]).arg(built.join(name)).args(arguments);
    Some(command)
}

/// Progress, on standard error, may come after the verdict.
pub(crate) fn has_passed(output: &str) -> bool {
    output.lines().any(|line| line == "PASSED")
}

fn checks_itself(name: &str) {
    checks_itself_on(name, &[1, 2, 3]);
}

pub(crate) fn checks_itself_on(name: &str, ranks: &[u32]) {
    for &ranks in ranks {
        let Some(command) = app(ranks, name, &["--check"]) else { return };
        let output = succeed_within(command, LONG);
        assert!(has_passed(&output), "{ranks} ranks:\n{output}");
        assert!(!output.contains("WRONG"), "{ranks} ranks:\n{output}");
    }
}

#[test]
fn md_gives_the_published_figures() {
    checks_itself("md");
}

/// Atoms that fly into each other leave with any speed: they are lost, not counted into cells that are not there.
#[test]
fn md_says_that_a_step_is_too_long() {
    let wild: [&[&str]; 3] =
        [&["--dt", "0.1"], &["--dt", "0.1", "--rebuild", "0"], &["--temperature", "100"]];
    for more in wild {
        let arguments = [&["--cells", "9", "--steps", "40"], more].concat();
        refused("md", &arguments, 1, "take a smaller --dt");
    }
}

#[test]
fn poisson_is_of_second_order() {
    checks_itself_on("poisson", &[1, 2, 3, 5, 7]);
}

#[test]
fn bsp_programs_check_their_answers() {
    checks_itself("bsp_fft");
    checks_itself("bsp_lu");
}

#[test]
fn shmem_programs_check_their_answers() {
    checks_itself_on("shmem_bucket_sort", &[1, 5, 64]);
    checks_itself_on("shmem_gups", &[1, 5, 64]);
}

/// `make demo` shows the command that compiles a program, so no rule of a makefile keeps it complete.
#[test]
fn what_the_demonstration_compiles_is_complete() {
    let demo = std::fs::read_to_string(workspace().join("scripts/demo")).expect("scripts/demo");
    let compiles: Vec<&str> = demo
        .lines()
        .filter_map(|line| line.strip_prefix("run "))
        .filter(|l| l.contains(" -o "))
        .collect();
    assert!(compiles.len() >= 2, "{compiles:?}");
    for command in compiles {
        let mut shell = clean("sh");
        shell.args(["-c", command]).env("prefix", prefix()).env("top", workspace());
        shell.env("work", folder("demo"));
        succeed_within(shell, LONG);
    }
}

/// No process ends the job before the first one has spoken.
#[test]
fn programs_of_other_models_say_what_is_wrong() {
    for name in ["shmem_bucket_sort", "shmem_gups", "bsp_fft", "bsp_lu"] {
        for wrong in ["--keys=1", "10x"] {
            for _ in 0..8 {
                let Some(command) = app(7, name, &[wrong]) else { return };
                let outcome = run_within(command, PATIENCE);
                assert_eq!(outcome.code, Some(2), "{name} {wrong}:\n{}", outcome.output);
                assert!(outcome.output.contains("unknown argument"), "{name}:\n{}", outcome.output);
            }
        }
    }
}

const CHOLESKY: (&str, &[&str]) = ("sam_cholesky", &["--nx", "10", "--ny", "3", "--nz", "3"]);

/// What `--check` says of the factor's bits.
fn factor_bits(ranks: u32, arguments: &[&str]) -> Option<Vec<String>> {
    let output = succeed_within(app(ranks, CHOLESKY.0, arguments)?, LONG);
    assert!(has_passed(&output), "{ranks} ranks:\n{output}");
    assert!(!output.contains("WRONG"), "{ranks} ranks:\n{output}");
    let bits = output.lines().filter(|line| line.starts_with("sum of the factor's bits"));
    Some(bits.map(str::to_owned).collect())
}

#[test]
fn cholesky_agrees_with_a_sequential_factor_and_is_the_same_on_any_ranks() {
    let Some(expected) = factor_bits(1, &["--check"]) else { return };
    assert_eq!(expected.len(), 2, "a beam and a full matrix");
    for ranks in [2, 3, 4, 6] {
        assert_eq!(factor_bits(ranks, &["--check"]), Some(expected.clone()), "{ranks} ranks");
    }
}

/// A file of the Matrix Market: its second line and its entries.
fn matrix_file(home: &Path, name: &str, content: &str) -> PathBuf {
    let path = home.join(name);
    let header = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n";
    std::fs::write(&path, format!("{header}{content}")).expect("a file");
    path
}

#[test]
fn cholesky_reads_matrices_and_refuses_wrong_ones() {
    let home = folder("matrices");
    // Two chains that know nothing of each other, an entry given in two parts, and one unknown alone.
    let entries: String = (1..=201)
        .map(|k| match k {
            100 | 200 | 201 => format!("{k} {k} 4.5\n"),
            _ => format!("{k} {k} 4\n{} {k} -0.5\n{} {k} -0.5\n", k + 1, k + 1),
        })
        .collect();
    let good = matrix_file(&home, "good", &format!("201 201 597\n{entries}"));
    let Some(expected) = factor_bits(1, &["--check", "--matrix", text(&good)]) else { return };
    assert_eq!(factor_bits(3, &["--check", "--matrix", text(&good)]), Some(expected));
    let cases = [
        ("2 2 3\n1 1 1\n2 1 3\n2 2 1\n", "is not positive definite"),
        ("2 2 2\n1 1 1\n2 2 nan\n", "line 5: expected row, column and a number"),
        ("2 2 2\n1 1 1\n1 2 1\n", "line 5: rows and columns count from 1"),
        ("2 2 3\n1 1 1\n2 2 1\n", "line 5: the file ends here"),
        ("2 2 1\n1 1 1\n2 2 1\n", "line 5: there are more entries"),
        ("2 3 1\n1 1 1\n", "line 3: as many rows as columns"),
    ];
    for (content, sentence) in cases {
        let bad = matrix_file(&home, "bad", content);
        refused("sam_cholesky", &["--matrix", text(&bad)], 3, sentence);
    }
    std::fs::write(home.join("bad"), "1 2 3\n").expect("a file");
    let foreign = home.join("bad");
    refused("sam_cholesky", &["--matrix", text(&foreign)], 3, "no file of the Matrix Market");
    refused("sam_cholesky", &["--matrix", text(&home.join("none"))], 3, "cannot be opened");
}

/// A cache that holds no copy but those in use: what was pushed is dropped, and fetched when it is used.
#[test]
fn cholesky_needs_no_cache() {
    let Some(mut command) = app(3, CHOLESKY.0, CHOLESKY.1) else { return };
    command.env("HPVM_SAM_CACHE", "1k");
    let output = succeed_within(command, LONG);
    assert!(output.contains("allowed 3e-10: right"), "{output}");
}

/// The basis does not depend on who found its elements, nor in which order.
#[test]
fn grobner_bases_are_the_sequential_ones_on_any_ranks() {
    checks_itself_on("sam_grobner", &[1, 2, 3, 5]);
    // Sums of products are kept below the square of the prime: the largest one, and one of which most sums are zero.
    for prime in ["2147483647", "3"] {
        let Some(command) = app(2, "sam_grobner", &["--check", "--prime", prime]) else { return };
        assert!(has_passed(&succeed_within(command, LONG)), "modulo {prime}");
    }
    let larger = ["--system", "katsura", "--size", "6"];
    // The line with the sum of the basis; another one has the time.
    let basis = |ranks| -> Option<String> {
        let output = succeed_within(app(ranks, "sam_grobner", &larger)?, LONG);
        assert!(output.contains("quotient: 64, expected 64: right"), "{ranks} ranks:\n{output}");
        let line = output.lines().find(|line| line.contains(" terms, sum "));
        Some(line.expect("the line about the basis").to_owned())
    };
    let Some(expected) = basis(1) else { return };
    for ranks in [2, 4] {
        assert_eq!(basis(ranks).as_ref(), Some(&expected), "{ranks} ranks");
    }
}

/// Polynomials that are in use stay; what is pushed and finds no room is fetched.
#[test]
fn grobner_needs_no_cache() {
    let Some(mut command) = app(3, "sam_grobner", &["--check"]) else { return };
    command.env("HPVM_SAM_CACHE", "1k");
    assert!(has_passed(&succeed_within(command, LONG)));
}

#[test]
fn treecode_agrees_with_direct_sums() {
    checks_itself("treecode");
}

#[test]
fn fdtd_agrees_with_analytic_fields() {
    checks_itself_on("fdtd", &[1, 2, 3, 5]);
}

#[test]
fn hydro_agrees_with_exact_solutions() {
    checks_itself_on("hydro", &[1, 2, 3, 5]);
}

#[test]
fn mhd_agrees_with_exact_and_published_answers_and_is_the_same_on_any_ranks() {
    checks_itself_on("mhd", &[1, 5]);
    let check =
        |ranks| app(ranks, "mhd", &["--check"]).map(|command| succeed_within(command, LONG));
    assert_eq!(check(2), check(3));
}

#[test]
fn qmc_gives_the_published_energies_and_the_same_on_any_ranks() {
    checks_itself_on("qmc", &[1, 2, 3, 5]);
    let check =
        |ranks| app(ranks, "qmc", &["--check"]).map(|command| succeed_within(command, LONG));
    assert_eq!(check(1), check(3));
}

#[test]
fn vortex_rings_go_as_fast_as_theory_says() {
    checks_itself_on("vortex", &[1, 2, 3, 5]);
}

/// Runs an application on its small problem; its output.
pub(crate) fn run(ranks: u32, (name, problem): (&str, &[&str]), more: &[&str]) -> Option<String> {
    app(ranks, name, &[problem, more].concat()).map(|command| succeed_within(command, LONG))
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path of plain characters")
}

/// The numbers of the last line of a run's table: step first.
pub(crate) fn last_line(output: &str) -> Vec<f64> {
    let numbers = |line: &str| -> Option<Vec<f64>> {
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    output
        .lines()
        .rev()
        .find_map(numbers)
        .unwrap_or_else(|| panic!("no line of numbers:\n{output}"))
}

/// The checkpoint of an uninterrupted run of `steps` steps.
pub(crate) fn uninterrupted(
    ranks: u32,
    what: (&str, &[&str]),
    steps: &str,
    home: &Path,
) -> Option<Vec<u8>> {
    let whole = home.join("whole");
    run(ranks, what, &["--steps", steps, "--checkpoint", text(&whole)])?;
    Some(std::fs::read(whole).expect("a checkpoint"))
}

pub(crate) fn restarts_with_the_same_bits(what: (&str, &[&str])) {
    for ranks in 1..=3 {
        let home = folder("restart");
        let Some(expected) = uninterrupted(ranks, what, "40", &home) else { return };
        let (half, end) = (home.join("half"), home.join("end"));
        run(ranks, what, &["--steps", "20", "--checkpoint", text(&half)]);
        let restart = ["--restart", text(&half), "--steps", "40", "--checkpoint", text(&end)];
        run(ranks, what, &restart);
        let restarted = std::fs::read(&end).expect("a checkpoint");
        assert!(restarted == expected, "{} on {ranks} ranks: other bits after a restart", what.0);
    }
}

#[test]
fn a_restarted_md_ends_with_the_same_bits() {
    restarts_with_the_same_bits(MD);
}

#[test]
fn a_restarted_treecode_ends_with_the_same_bits() {
    restarts_with_the_same_bits(TREECODE);
}

#[test]
fn a_restarted_fdtd_ends_with_the_same_bits() {
    restarts_with_the_same_bits(FDTD);
    restarts_with_the_same_bits(PLASMA);
}

#[test]
fn a_restarted_hydro_ends_with_the_same_bits() {
    restarts_with_the_same_bits(HYDRO);
}

#[test]
fn a_restarted_mhd_ends_with_the_same_bits() {
    restarts_with_the_same_bits(MHD);
}

#[test]
fn a_restarted_qmc_ends_with_the_same_bits() {
    restarts_with_the_same_bits(QMC);
}

#[test]
fn a_restarted_vortex_ends_with_the_same_bits() {
    restarts_with_the_same_bits(VORTEX);
}

/// Every number of the last line of output differs by no more than `allowed`, relative to `scale`.
pub(crate) fn restarts_on_other_ranks(what: (&str, &[&str]), columns: usize, allowed: f64) {
    let home = folder("other-ranks");
    let half = home.join("half");
    let Some(expected) = run(3, what, &["--steps", "40"]).map(|output| last_line(&output)) else {
        return;
    };
    run(3, what, &["--steps", "20", "--checkpoint", text(&half)]);
    for ranks in [1, 2, 5] {
        // A box of 8 unit cells has no five parts.
        if ranks == 5 && what.0 == "md" {
            continue;
        }
        let output =
            run(ranks, what, &["--restart", text(&half), "--steps", "40"]).expect("it is built");
        let got = last_line(&output);
        for (a, b) in got.iter().zip(&expected).take(columns) {
            assert!((a - b).abs() <= allowed, "{ranks} ranks: {got:?} instead of {expected:?}");
        }
    }
}

#[test]
fn an_md_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(MD, 6, 2e-7);
}

#[test]
fn a_treecode_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(TREECODE, 4, 2e-4);
}

#[test]
fn an_fdtd_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(FDTD, 4, 1e-9);
    restarts_on_other_ranks(PLASMA, 5, 1e-8);
}

#[test]
fn a_hydro_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(HYDRO, 5, 1e-8);
}

#[test]
fn an_mhd_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(MHD, 5, 1e-8);
}

#[test]
fn a_qmc_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(QMC, 6, 0.0);
}

#[test]
fn a_vortex_of_three_ranks_goes_on_with_others() {
    restarts_on_other_ranks(VORTEX, 7, 1e-7);
}

/// Waits until the file has been replaced `times` times, as its number in the file system tells.
pub(crate) fn wait_for_replacements(path: &Path, times: u64) {
    assert!(replaced(path, times, || false), "nobody has ended");
}

/// The same; false when it is `over` before.
pub(crate) fn replaced(path: &Path, times: u64, over: impl Fn() -> bool) -> bool {
    let (deadline, mut seen, mut count) = (Instant::now() + 2 * PATIENCE, None, 0);
    while count < times {
        if over() {
            return false;
        }
        let now = std::fs::metadata(path).ok().map(|data| (data.ino(), data.mtime_nsec()));
        if now.is_some() && now != seen {
            (seen, count) = (now, count + 1);
        }
        assert!(Instant::now() < deadline, "{} was written {count} times only", path.display());
        std::thread::yield_now();
    }
    true
}

/// Kills a rank of a job that writes checkpoints all the time.
fn kill_while_writing(command: Command, name: &str, checkpoint: &Path, random: &mut Random) {
    let marker = marker();
    let (times, delay) = (1 + random.below(4), Duration::from_micros(random.below(20_000)));
    std::thread::scope(|scope| {
        let job = scope.spawn(|| process::run(command, &marker, LONG));
        wait_for_replacements(checkpoint, times);
        std::thread::sleep(delay);
        let runs_it = |pid: &i32| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with(name))
        };
        let rank = process::marked(&marker).into_iter().find(runs_it).expect("a running rank");
        // SAFETY: a signal to a process of a job that this test has started and not yet awaited.
        unsafe { libc::kill(rank, libc::SIGKILL) };
        let outcome = job.join().expect("no panic").expect("it could be started");
        assert_eq!(outcome.code, Some(137), "{}", outcome.output);
        assert_eq!(outcome.leftovers, 0, "{}", outcome.output);
    });
}

pub(crate) fn survives_kills(what: (&str, &[&str]), every: &str) {
    let seed = seed();
    tell(&format!("{}: HPVM_TEST_SEED={seed}", what.0));
    let mut random = Random::new(seed);
    for _ in 0..4 {
        let home = folder("killed");
        let checkpoint = home.join("state");
        let flags = ["--steps", "1000000", "--every", every, "--checkpoint", text(&checkpoint)];
        let Some(command) = app(2, what.0, &[what.1, &flags].concat()) else { return };
        kill_while_writing(command, what.0, &checkpoint, &mut random);
        let left = std::fs::read(&checkpoint).expect("a checkpoint is there after the kill");
        let output =
            run(2, what, &["--restart", text(&checkpoint), "--steps", "0"]).expect("built");
        let step = format!("{}", last_line(&output)[0]);
        let expected = uninterrupted(2, what, &step, &home).expect("built");
        assert!(left == expected, "{}: not the state of step {step}", what.0);
    }
}

#[test]
fn a_killed_md_leaves_a_whole_checkpoint() {
    survives_kills(MD, "20");
}

#[test]
fn a_killed_treecode_leaves_a_whole_checkpoint() {
    survives_kills(TREECODE, "1");
}

/// Runs with a wrong argument or file; the code and what is said.
pub(crate) fn refused(name: &str, arguments: &[&str], code: i32, sentence: &str) -> bool {
    let Some(command) = app(2, name, arguments) else { return false };
    let outcome = run_within(command, PATIENCE);
    assert_eq!(outcome.code, Some(code), "{arguments:?}:\n{}", outcome.output);
    assert!(
        outcome.output.contains(sentence),
        "{arguments:?}: no '{sentence}' in\n{}",
        outcome.output
    );
    assert_eq!(outcome.output.matches(sentence).count(), 1, "said twice:\n{}", outcome.output);
    true
}

#[test]
fn damaged_checkpoints_are_refused() {
    let home = folder("checkpoints");
    let (good, bad) = (home.join("good"), home.join("bad"));
    if run(2, MD, &["--steps", "0", "--checkpoint", text(&good)]).is_none() {
        return;
    }
    let bytes = std::fs::read(&good).expect("a checkpoint");
    let with = |at: usize| {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        damaged
    };
    let cases = [
        (with(0), "not a checkpoint"),
        (with(8), "it has version"),
        (with(bytes.len() - 9), "damaged"),
        (with(100), "damaged"),
        (bytes[..bytes.len() - 1].to_vec(), "were written"),
        (bytes[..50].to_vec(), "too short"),
        (Vec::new(), "too short"),
    ];
    for (damaged, sentence) in cases {
        std::fs::write(&bad, damaged).expect("a file");
        refused("md", &["--restart", text(&bad)], 3, sentence);
    }
    refused("md", &["--restart", text(&home.join("none"))], 3, "cannot be opened");
    refused("treecode", &["--restart", text(&good)], 3, "was written by md, not by treecode");
    let nowhere = home.join("no-folder/state");
    refused(
        "md",
        &["--cells", "8", "--steps", "0", "--checkpoint", text(&nowhere)],
        3,
        "cannot be opened",
    );
}

#[test]
fn wrong_input_is_refused_in_a_sentence() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("md", &["--cells", "0"], "'0' is no good as --cells: a whole number from 1 to"),
        ("md", &["--cells", "2"], "cannot be split over 2 ranks"),
        ("md", &["--cels", "2"], "unknown argument '--cels'"),
        ("md", &["--dt"], "--dt needs a value"),
        ("md", &["--every", "5"], "add --checkpoint FILE"),
        ("treecode", &["--start", "cube"], "plummer or sphere is needed"),
        ("treecode", &["--scaling", "up"], "strong or weak is needed"),
        ("treecode", &["--accuracy", "nan"], "'nan' is no good as --accuracy"),
        ("hydro", &["--start", "cube"], "sod, sedov, wave or shear is needed"),
        ("hydro", &["--border-y", "open"], "periodic, outflow or reflecting is needed"),
        ("hydro", &["--nx", "3"], "1 cell, or 4 or more"),
        ("mhd", &["--start", "cube"], "ryu-jones, alfven, fast, slow or blast is needed"),
        ("mhd", &["--ny", "32"], "as many cells in y as in z"),
        (
            "mhd",
            &["--start", "brio-wu", "--nx", "1", "--ny", "8"],
            "more than one cell along its axis",
        ),
        ("qmc", &["--system", "li"], "he or h2 is needed"),
        ("qmc", &["--steps", "501"], "is no multiple of --block 500"),
        ("qmc", &["--block", "501"], "is no multiple of --branch 5"),
        ("vortex", &["--around", "1000", "--layers", "50"], "there can be 1000000"),
        ("sam_water", &["--cutoff", "9"], "less two bonds is 8.96"),
        ("sam_water", &["--molecules", "1"], "a whole number from 2 to"),
        ("sam_barnes", &["--bodies", "1"], "a whole number from 2 to"),
        ("sam_cholesky", &["--dense", "9", "--matrix", "a"], "one is needed"),
        ("sam_cholesky", &["--checkpoint", "state"], "no checkpoints here"),
        ("sam_cholesky", &["--dense", "4000", "--scaling", "weak"], "are more than 6000"),
        ("sam_cholesky", &["--block", "129"], "a whole number from 1 to 128"),
        ("sam_grobner", &["--system", "cube"], "lazard, cyclic or katsura is needed"),
        ("sam_grobner", &["--prime", "32001"], "is no prime"),
        ("sam_grobner", &["--size", "15"], "a whole number from 3 to 14"),
        ("sam_grobner", &["--scaling", "weak"], "strong is possible"),
        ("fdtd", &["--case", "cube"], "dipole, cavity or plasma is needed"),
        ("fdtd", &["--cells", "8"], "leave nothing of 8"),
        ("fdtd", &["--case", "cavity", "--mode-x", "0"], "has no field"),
    ];
    for (name, arguments, sentence) in cases {
        if !refused(name, arguments, 2, sentence) {
            return;
        }
    }
}

pub(crate) fn makes_a_picture_and_scaling_tables(what: (&str, &[&str])) {
    let image = folder("picture").join("image.png");
    if run(2, what, &["--steps", "2", "--image", text(&image)]).is_none() {
        return;
    }
    let bytes = std::fs::read(&image).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{}: not a PNG", what.0);
    assert!(bytes.windows(4).any(|w| w == b"IEND"), "{}: no end", what.0);
    for kind in ["strong", "weak"] {
        let table = run(3, what, &["--steps", "2", "--scaling", kind]).expect("built");
        assert_eq!(table.lines().count(), 5, "1, 2 and 3 ranks:\n{table}");
    }
}

#[test]
fn pictures_and_scaling_tables_are_made() {
    for what in [MD, TREECODE, FDTD, HYDRO, MHD, VORTEX] {
        makes_a_picture_and_scaling_tables(what);
    }
}

#[test]
fn cholesky_draws_its_factor_and_makes_scaling_tables() {
    let image = folder("pattern").join("image.png");
    if run(3, CHOLESKY, &["--image", text(&image)]).is_none() {
        return;
    }
    let bytes = std::fs::read(&image).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "not a PNG");
    for kind in ["strong", "weak"] {
        let table = run(3, CHOLESKY, &["--repeat", "3", "--scaling", kind]).expect("built");
        assert_eq!(table.lines().count(), 5, "1, 2 and 3 ranks:\n{table}");
    }
}

#[test]
fn grobner_makes_a_scaling_table() {
    let flags = ["--system", "katsura", "--size", "5"];
    let Some(table) = run(5, ("sam_grobner", &flags), &["--scaling", "strong"]) else { return };
    assert_eq!(table.lines().count(), 6, "1, 2, 4 and 5 ranks:\n{table}");
}

#[test]
fn grobner_draws_its_staircase() {
    let image = folder("staircase").join("image.png");
    let flags = ["--system", "cyclic", "--size", "4", "--image", text(&image)];
    let Some(mut command) = app(2, "sam_grobner", &flags) else { return };
    assert!(command.status().expect("mpirun").success());
    let bytes = std::fs::read(&image).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "not a PNG");
}
