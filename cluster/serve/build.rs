//! Puts the built page into the program, if there is one: a table of its files. Without it the
//! server has a page without scripts.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../web/dist");
    // A path that does not exist would make every build start here anew. So who builds the page for
    // the first time says so with HPVM_PAGE, or by touching this file.
    if root.exists() {
        println!("cargo::rerun-if-changed={}", root.display());
    }
    println!("cargo::rerun-if-env-changed=HPVM_PAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut text = "/// Path from the root of the page, and content.\n\
                    pub static FILES: &[(&str, &[u8])] = &[\n"
        .to_string();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let path = file.canonicalize().unwrap_or(file).display().to_string();
        println!("cargo::rerun-if-changed={path}");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "    ({name:?}, include_bytes!({path:?})),");
    }
    text.push_str("];\n");
    let out = PathBuf::from(variable("OUT_DIR")).join("files.rs");
    if let Err(error) = std::fs::write(&out, text) {
        println!("cargo::error={}: {error}", out.display());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
