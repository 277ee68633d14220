//! What users may set is in the documents, and nothing else: environment variables of the sources in
//! docs/environment.md, thresholds of messages in docs/measuring.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Breach;

const ENVIRONMENT: &str = "docs/environment.md";
const MEASURING: &str = "docs/measuring.md";
const THRESHOLDS: &str = "crates/mpi/src/pt2pt/select.rs";
/// Folders whose sources run in the launcher, the command and the ranks.
const SOURCES: [&str; 5] = ["crates", "cluster/launch", "cluster/linkage", "cli", "bench"];

/// The documents' texts, and the names that the sources have, each with its first place.
pub struct Documented {
    environment: String,
    measuring: String,
    variables: BTreeMap<String, (PathBuf, usize)>,
    thresholds: BTreeMap<String, (PathBuf, usize)>,
}

impl Documented {
    /// Reads the documents.
    pub fn read(root: &Path) -> Result<Documented, String> {
        let read = |name: &str| {
            std::fs::read_to_string(root.join(name)).map_err(|e| format!("{name}: {e}"))
        };
        Ok(Documented {
            environment: read(ENVIRONMENT)?,
            measuring: read(MEASURING)?,
            variables: BTreeMap::new(),
            thresholds: BTreeMap::new(),
        })
    }

    /// Collects the names in a source.
    pub fn look(&mut self, path: &Path, text: &str) {
        let rust = path.extension().is_some_and(|e| e == "rs");
        if !rust || !SOURCES.iter().any(|folder| path.starts_with(folder)) {
            return;
        }
        // What tests use is not for users.
        let lines = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        for (at, line) in lines.enumerate() {
            for word in line.split('"').skip(1).step_by(2).filter(|word| is_variable(word)) {
                self.variables.entry(word.to_owned()).or_insert((path.to_path_buf(), at + 1));
            }
            let threshold = (path == Path::new(THRESHOLDS)).then(|| threshold_of(line)).flatten();
            if let Some(name) = threshold {
                self.thresholds.entry(name.to_owned()).or_insert((path.to_path_buf(), at + 1));
            }
        }
    }

    /// Breaches in both directions.
    pub fn check(&self, breaches: &mut Vec<Breach>) {
        let rows = |text: &str, fits: fn(&str) -> bool| -> Vec<(String, usize)> {
            let rows = text.lines().zip(1..).filter(|(line, _)| line.starts_with("| `"));
            let cells = rows.filter_map(|(line, n)| Some((line.split('`').nth(1)?, n)));
            let names = cells.flat_map(|(cell, n)| cell.split(", ").map(move |name| (name, n)));
            names.filter(|(name, _)| fits(name)).map(|(name, n)| (name.to_owned(), n)).collect()
        };
        let environment = rows(&self.environment, is_variable);
        let measuring = rows(&self.measuring, is_threshold);
        for (document, rows, names) in
            [(ENVIRONMENT, environment, &self.variables), (MEASURING, measuring, &self.thresholds)]
        {
            for (name, (path, line)) in names {
                if !rows.iter().any(|(row, _)| row == name) {
                    let text = format!("{name} has no row in {document}");
                    breaches.push(Breach { path: path.clone(), line: *line, text });
                }
            }
            for (name, line) in rows.iter().filter(|(row, _)| !names.contains_key(row)) {
                let text = format!("{name} has a row, but no source names it");
                breaches.push(Breach { path: document.into(), line: *line, text });
            }
        }
    }
}

/// One of our environment variables.
fn is_variable(word: &str) -> bool {
    let rest = word.strip_prefix("HPVM_").unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

/// `min-choice` and its like.
fn is_threshold(word: &str) -> bool {
    let prefix = ["min-", "max-", "quota"].iter().any(|prefix| word.starts_with(prefix));
    prefix && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

/// The name in a line of the table of thresholds: `field, "name", value, limit;`.
fn threshold_of(line: &str) -> Option<&str> {
    let (field, rest) = line.trim().split_once(", \"")?;
    let (name, _) = rest.split_once("\", ")?;
    let same = field == name.replace('-', "_");
    (same && line.trim_end().ends_with(';')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_rows_and_rows_without_names_are_breaches() {
        let mut documented = Documented {
            environment: "| `HPVM_OLD` | gone |\n| `HPVM_A, HPVM_NET` | networks |\n".to_owned(),
            measuring: "| `max-step` | |\n".to_owned(),
            variables: BTreeMap::new(),
            thresholds: BTreeMap::new(),
        };
        let path = Path::new("crates/mpi-abi/src/x.rs");
        documented.look(path, "f(\"HPVM_NET\", \"HPVM_A\");\nf(\"HPVM_NEW\", \"HPVM_\");\n");
        documented.look(
            Path::new(THRESHOLDS),
            "    max_step, \"max-step\", KIB, 7;\n    quota, \"quota\", 1, 2;\n",
        );
        let mut breaches = Vec::new();
        documented.check(&mut breaches);
        let texts: Vec<String> = breaches.iter().map(Breach::to_string).collect();
        assert_eq!(
            texts,
            [
                "crates/mpi-abi/src/x.rs:2: HPVM_NEW has no row in docs/environment.md",
                "docs/environment.md:1: HPVM_OLD has a row, but no source names it",
                "crates/mpi/src/pt2pt/select.rs:2: quota has no row in docs/measuring.md",
            ]
        );
    }
}
