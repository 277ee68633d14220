//! Rules that the whole tree keeps; every breach is one line `file:line: what is wrong`.

mod documented;
mod layers;
mod links;
mod modules;
mod rules;
mod source;

use std::path::{Path, PathBuf};

/// A breach of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// Path from the root.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    pub text: String,
}

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 6] = ["target", "build", "peers", "node_modules", "__pycache__", "dist"];

/// Checks the tree; the error lists every breach.
pub fn run(root: &Path) -> Result<String, String> {
    let mut breaches = layers::check(root)?;
    let mut documented = documented::Documented::read(root)?;
    let mut links = links::Links::default();
    for path in files(root)? {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        rules::check(&path, &text, &mut breaches);
        modules::check(&path, &text, &mut breaches);
        links.look(&path, &text);
        if !rules::is_test_file(&path) {
            documented.look(&path, &text);
        }
    }
    documented.check(&mut breaches);
    links.check(root, &mut breaches);
    breaches.sort();
    let mut lines: Vec<String> = breaches.iter().map(Breach::to_string).collect();
    lines.extend(crate::codegen::stale(root)?);
    if lines.is_empty() {
        return Ok("tidy: no breaches\n".to_owned());
    }
    Err(format!("{} breaches of the tree's rules:\n{}", lines.len(), lines.join("\n")))
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.text)
    }
}

/// Text files of the tree, as paths from the root.
fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    const TEXT: [&str; 14] = [
        "rs", "toml", "md", "c", "h", "cpp", "f90", "py", "sh", "ts", "html", "css", "yml", "json",
    ];
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let shown = root.join(&folder);
        let entries = std::fs::read_dir(&shown)
            .map_err(|e| format!("cannot list {}: {e}", shown.display()))?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                folders.push(path);
            } else if kind.is_file()
                && path.extension().and_then(|e| e.to_str()).is_some_and(|e| TEXT.contains(&e))
            {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        if let Err(breaches) = run(&crate::root()) {
            panic!("{breaches}");
        }
    }
}
