//! `cargo xtask codegen` and `cargo xtask bodies`: from spec/ to committed files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::emit;
use crate::spec::Spec;

/// Where the generated Rust modules lie; nothing else may lie there.
pub const RUST: &str = "crates/mpi-abi/src/generated";

/// Writes every generated file; says what changed.
pub fn write(root: &Path) -> Result<String, String> {
    let files = generate(root)?;
    let mut report = String::new();
    for (path, text) in &files {
        let full = root.join(path);
        if std::fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        }
        std::fs::write(&full, text).map_err(|e| format!("cannot write {}: {e}", full.display()))?;
        report.push_str(&format!("wrote {}\n", path.display()));
    }
    for stray in strays(root, &files) {
        std::fs::remove_file(root.join(&stray))
            .map_err(|e| format!("cannot remove {}: {e}", stray.display()))?;
        report.push_str(&format!("removed {}\n", stray.display()));
    }
    Ok(report)
}

/// Fails when a generated file is missing, stale or left over.
pub fn check(root: &Path) -> Result<String, String> {
    let stale = stale(root)?;
    if stale.is_empty() {
        return Ok(String::new());
    }
    Err(stale.join("\n"))
}

/// One line per generated file that is not as spec/ says.
pub fn stale(root: &Path) -> Result<Vec<String>, String> {
    let files = generate(root)?;
    let mut lines = Vec::new();
    for (path, text) in &files {
        let shown = path.display();
        match std::fs::read_to_string(root.join(path)) {
            Err(e) => lines.push(format!("{shown}:1: {e}; run `cargo xtask codegen`")),
            Ok(old) if old != *text => {
                let same = old.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
                let line = same + 1;
                lines.push(format!("{shown}:{line}: not as spec/ says; run `cargo xtask codegen`"));
            }
            Ok(_) => {}
        }
    }
    for stray in strays(root, &files) {
        lines.push(format!("{}:1: not generated from spec/; remove it", stray.display()));
    }
    Ok(lines)
}

/// The skeleton of a chapter's bodies.
pub fn bodies(root: &Path, chapter: &str, only_missing: bool) -> Result<String, String> {
    let spec = Spec::load(&root.join("spec"))?;
    let found = spec.chapters.iter().find(|c| c.name == chapter).ok_or_else(|| {
        let names: Vec<&str> = spec.chapters.iter().map(|c| c.name.as_str()).collect();
        format!("no chapter `{chapter}` in spec/; there are: {}", names.join(", "))
    })?;
    Ok(emit::bodies::bodies(found, only_missing))
}

/// Paths (from the root) and texts of all generated files.
pub fn generate(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let spec = Spec::load(&root.join("spec"))?;
    let rust = Path::new(RUST);
    let mut files = vec![
        (PathBuf::from("include/mpi.h"), emit::header::header(&spec)?),
        (PathBuf::from("docs/coverage.md"), emit::coverage::coverage(&spec)),
        (PathBuf::from("cli/src/missing.rs"), emit::missing::missing(&spec)),
        (rust.join("constants.rs"), emit::constants::constants(&spec)?),
        (rust.join("predefined.rs"), emit::predefined::predefined(&spec)?),
    ];
    let mut modules = format!(
        "//! Entry points, constants and tables made from spec/.\n//!\n//! {}\n\n\
         #[rustfmt::skip]\npub mod constants;\n",
        emit::NOTICE
    );
    for chapter in &spec.chapters {
        let name = format!("entry_{}", chapter.name);
        modules.push_str(&format!("#[rustfmt::skip]\npub mod {name};\n"));
        files.push((rust.join(format!("{name}.rs")), emit::entry::entry(&spec, chapter)?));
    }
    modules.push_str("#[rustfmt::skip]\npub mod predefined;\n");
    files.push((rust.join("mod.rs"), modules));
    Ok(files)
}

/// Files among the generated modules that are not generated.
fn strays(root: &Path, files: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let known: BTreeSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    let Ok(entries) = std::fs::read_dir(root.join(RUST)) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(Path::new(RUST).join(entry.ok()?.file_name())));
    paths.filter(|path| !known.contains(path.as_path())).collect()
}
