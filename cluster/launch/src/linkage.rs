//! Warns when a program would not load our MPI library although our folder comes first.

use std::ffi::OsStr;
use std::path::Path;

use hpvm_linkage::elf::{self, File};
use hpvm_linkage::{Closure, Search, defeats};

use crate::environment::Environment;

/// Whether a program holds an MPI itself, so that no library can take its place.
pub fn has_own_mpi(program: &Path) -> bool {
    matches!(elf::open(program), Ok(File::Elf(_)))
        && elf::defines(program, "MPI_Init").unwrap_or(false)
}

/// What a program's DT_RPATH, or that of a library it needs, would make of our `library` folder;
/// one text per MPI library. Reads headers only. A script, a file that cannot be read and a
/// program without MPI give nothing: they are not ours to judge.
pub fn warnings(program: &Path, wdir: &Path, env: &Environment, library: &Path) -> Vec<String> {
    let Ok(File::Elf(elf)) = elf::open(program) else { return Vec::new() };
    let path = env.get(OsStr::new("LD_LIBRARY_PATH"));
    let search = Search::new(path.map_or(OsStr::new(""), |path| path), wdir);
    let closure = Closure::new(*elf, &search, false);
    defeats(&closure, library).iter().map(|defeat| defeat.text(library)).collect()
}
