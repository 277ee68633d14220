//! `conformance`: compiles the programs of `tests/conformance` with an MPI's compiler wrapper
//! and runs them under its launcher. Ends with the line `N passed, N failed`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hpvm_tests::build::Compiler;
use hpvm_tests::list;
use hpvm_tests::suite::{self, Settings};

/// Runs the MPI conformance programs on an MPI.
#[derive(Parser)]
#[command(name = "conformance")]
struct Options {
    /// Compiler wrapper of the MPI under test
    #[arg(long, value_name = "PATH")]
    mpicc: PathBuf,
    /// Launcher of the MPI under test
    #[arg(long, value_name = "PATH")]
    mpirun: PathBuf,
    /// Only tests whose label ("program ranks=N args") contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Tests at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Run every test on these numbers of ranks instead of those in the list
    #[arg(long, value_name = "N,N", value_parser = list::parse_ranks)]
    ranks_override: Option<std::vec::Vec<u32>>,
    /// Further argument of the launcher (may be repeated)
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    extra_mpirun_args: Vec<String>,
    /// Name of the MPI under test: entries marked only=NAME run on that one alone
    #[arg(long, value_name = "NAME", default_value = "hpvm")]
    implementation: String,
    /// Factor on all time limits
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    time_scale: f64,
    /// Keep the programs in this folder and rebuild only what changed
    #[arg(long, value_name = "DIR")]
    build_dir: Option<PathBuf>,
    /// Folder of the C files and of testlist
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance"))]
    dir: PathBuf,
    /// Library of the programs besides that of MPI, as -l wants it (may be repeated)
    #[arg(long, value_name = "NAME")]
    library: Vec<String>,
    /// Name the passed tests and their times too
    #[arg(long, short)]
    verbose: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number above 0 expected".to_string()),
    }
}

fn main() -> ExitCode {
    match real_main(Options::parse()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::from(2)
        }
    }
}

fn real_main(options: Options) -> Result<ExitCode, String> {
    let path = options.dir.join("testlist");
    let text = std::fs::read_to_string(&path)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let entries = list::parse(&text)?;
    let scratch = tempfile::tempdir().map_err(|e| format!("no temporary folder: {e}"))?;
    let output = options.build_dir.unwrap_or_else(|| scratch.path().to_path_buf());
    std::fs::create_dir_all(&output)
        .map_err(|e| format!("cannot make {}: {e}", output.display()))?;
    let settings = Settings {
        compiler: Compiler {
            mpicc: options.mpicc,
            sources: options.dir,
            output,
            libraries: options.library,
        },
        mpirun: options.mpirun,
        extra: options.extra_mpirun_args,
        implementation: options.implementation,
        filter: options.filter,
        ranks: options.ranks_override,
        time_scale: options.time_scale,
        jobs: options.jobs,
        verbose: options.verbose,
    };
    let count = suite::run(&entries, &settings, &|line| println!("{line}"));
    println!("{} passed, {} failed", count.passed, count.failed);
    if count.passed + count.failed == 0 {
        return Err("no test was selected: see --filter and --implementation".to_string());
    }
    Ok(if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
