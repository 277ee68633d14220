//! Tidy rules and code generation: `cargo xtask --help`.

mod abi;
mod cdecl;
mod codegen;
mod emit;
#[cfg(test)]
mod foreign_tests;
#[cfg(test)]
mod header_tests;
mod reference;
mod shmem;
mod spec;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the hpvm tree.
#[derive(Parser)]
#[command(name = "xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Generate header, entry points, constants and coverage table from spec/
    Codegen {
        /// Write nothing; fail when a generated file is not what spec/ says
        #[arg(long)]
        check: bool,
    },
    /// Print the signatures of the bodies of a chapter (skeleton for crates/mpi-abi/src/body/)
    Bodies {
        /// Chapter, as in spec/CHAPTER.toml
        chapter: String,
        /// Only functions whose status is not yet "done"
        #[arg(long)]
        missing: bool,
    },
    /// Write pages for every function of MPI and of Fast Messages into a folder, for the documentation site
    Reference {
        /// The folder, which is made if need be
        folder: PathBuf,
    },
    /// Check dependency direction, file lengths, generated files and forbidden calls
    Tidy,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let root = root();
    let outcome = match arguments.chore {
        Chore::Codegen { check: false } => codegen::write(&root),
        Chore::Codegen { check: true } => codegen::check(&root),
        Chore::Bodies { chapter, missing } => codegen::bodies(&root, &chapter, missing),
        Chore::Reference { folder } => codegen::reference(&root, &folder),
        Chore::Tidy => tidy::run(&root),
    };
    match outcome {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("xtask: {}", text.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// The root of the tree: the parent of this package's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
