//! `instructions`: counts the instructions of the main paths with callgrind and compares them with
//! `tests/instructions.txt`. Without valgrind, and on other processors than x86-64, it says so and
//! passes.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use hpvm_tests::build::Compiler;
use hpvm_tests::instructions::{self, Counts, Expected, TOLERANCE, TOLERANCE_OF_OTHERS};

/// Counts the instructions of the main paths and compares them with a file.
#[derive(Parser)]
#[command(name = "instructions")]
struct Options {
    /// Compiler wrapper of the installation to count
    #[arg(long, value_name = "PATH")]
    mpicc: PathBuf,
    /// Its launcher
    #[arg(long, value_name = "PATH")]
    mpirun: PathBuf,
    /// Write the file instead of comparing with it
    #[arg(long)]
    update: bool,
    /// The file of expected counts
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions.txt"))]
    file: PathBuf,
}

fn main() -> ExitCode {
    if let Some(reason) = impossible() {
        hpvm_tests::skip::skipped(&format!("instructions are not counted: {reason}"));
        return ExitCode::SUCCESS;
    }
    match real_main(&Options::parse()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("instructions: {message}");
            ExitCode::from(2)
        }
    }
}

/// Why this machine cannot count.
fn impossible() -> Option<&'static str> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the expected counts are those of x86-64");
    }
    let valgrind = Command::new("valgrind").arg("--version").output();
    valgrind.is_err().then_some("valgrind is not installed")
}

fn real_main(options: &Options) -> Result<ExitCode, String> {
    let scratch = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let compiler = Compiler {
        mpicc: options.mpicc.clone(),
        sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"),
        output: scratch.path().to_path_buf(),
        libraries: Vec::new(),
    };
    if let Some((_, message)) = compiler.build_all(&["paths".to_string()], 1).pop_first() {
        return Err(format!("paths.c {message}"));
    }
    let mpirun = std::path::absolute(&options.mpirun)
        .map_err(|e| format!("no launcher {}: {e}", options.mpirun.display()))?;
    let counts = instructions::count(&mpirun, &compiler.program("paths"), scratch.path())?;
    let compiler = compiler_version()?;
    if options.update {
        let text = Expected { compiler, counts }.text();
        std::fs::write(&options.file, &text)
            .map_err(|e| format!("cannot write {}: {e}", options.file.display()))?;
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let text = std::fs::read_to_string(&options.file)
        .map_err(|e| format!("cannot read {}: {e}", options.file.display()))?;
    let expected =
        Expected::parse(&text).map_err(|e| format!("{}: {e}", options.file.display()))?;
    Ok(judge(&expected, &counts, &compiler))
}

fn compiler_version() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc)
        .arg("--version")
        .output()
        .map_err(|e| format!("cannot start {}: {e}", rustc.to_string_lossy()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// Prints all paths; fails when one of them takes too many instructions.
fn judge(expected: &Expected, counts: &Counts, compiler: &str) -> ExitCode {
    let same = expected.compiler == compiler;
    let tolerance = if same { TOLERANCE } else { TOLERANCE_OF_OTHERS };
    if !same {
        println!(
            "instructions: '{compiler}' made this library, '{}' the expected counts: {:.0} % more \
             pass",
            expected.compiler,
            100.0 * tolerance
        );
    }
    println!("{:28} {:>10} {:>10} {:>7}", "path", "expected", "found", "ratio");
    let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
    let verdicts = instructions::compare(&expected.counts, counts, tolerance);
    for verdict in &verdicts {
        let ratio = verdict.ratio().map_or("-".into(), |ratio| format!("{ratio:.3}"));
        let (old, new) = (number(verdict.expected), number(verdict.found));
        let remark = match (verdict.ok, verdict.ratio()) {
            (false, Some(_)) => "  TOO MANY",
            (false, None) => "  not in both: make instructions",
            (true, Some(ratio)) if ratio < 1.0 - tolerance => "  fewer: make instructions",
            _ => "",
        };
        println!("{:28} {old:>10} {new:>10} {ratio:>7}{remark}", verdict.name);
    }
    let bad = verdicts.iter().filter(|verdict| !verdict.ok).count();
    if bad == 0 {
        return ExitCode::SUCCESS;
    }
    println!(
        "instructions: {bad} of {} paths are not as expected. A change that is worth it is noted \
         by `make instructions`.",
        verdicts.len()
    );
    ExitCode::FAILURE
}
