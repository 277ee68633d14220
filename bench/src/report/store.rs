//! The work folder: what has been measured outlives the run, and another run with the same settings goes on.

use super::data::{FORMAT, Finished, Outcome, Settings};
use super::machine::Details;
use crate::error::BenchError;
use crate::whole_file;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};

/// A folder with `begun.json` and a file for each finished measurement.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Under what the folder was begun.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Begun {
    format: u32,
    settings: Settings,
    machine: [String; 4],
}

impl Begun {
    /// What differs between two, in words.
    fn difference(&self, now: &Self) -> Option<String> {
        let (then, new) = (&self.settings, &now.settings);
        let pairs = [
            ("format", self.format.to_string(), now.format.to_string()),
            ("machine", self.machine.join(", "), now.machine.join(", ")),
            ("--quick", then.quick.to_string(), new.quick.to_string()),
            ("ranks", then.ranks.to_string(), new.ranks.to_string()),
            ("hosts", then.hosts.join(","), new.hosts.join(",")),
            ("peers", then.peers.join(","), new.peers.join(",")),
            ("--launch-arg", then.launch_args.join(" "), new.launch_args.join(" ")),
            ("--npb", then.npb.clone().unwrap_or_default(), new.npb.clone().unwrap_or_default()),
            ("--npb-class", then.npb_classes.join(","), new.npb_classes.join(",")),
            ("MPI's library", then.library.clone(), new.library.clone()),
        ];
        let different = pairs.into_iter().find(|(_, then, now)| then != now);
        different.map(|(what, then, now)| format!("{what} was '{then}' and is '{now}'"))
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), BenchError> {
    let text = serde_json::to_string(value)
        .map_err(|e| BenchError::io(format!("cannot write {}", path.display()), e.into()))?;
    whole_file::write(path, &text)
}

/// Reads a JSON file; `what` says what it should be.
pub fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, BenchError> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| BenchError::io(format!("cannot read {}", path.display()), e))?;
    serde_json::from_str(&text).map_err(|e| BenchError::Argument {
        token: path.display().to_string(),
        reason: format!("not {what}: {e}"),
    })
}

impl Store {
    /// Opens the folder, or makes it. One that was begun under other conditions is refused unless `fresh` says that it
    /// may be thrown away.
    pub fn open(
        folder: PathBuf,
        settings: &Settings,
        machine: &Details,
        fresh: bool,
    ) -> Result<Self, BenchError> {
        let now = Begun { format: FORMAT, settings: settings.clone(), machine: machine.identity() };
        let file = folder.join("begun.json");
        // Only what this program has made is removed.
        if fresh && file.is_file() {
            let removed = std::fs::remove_dir_all(&folder);
            removed
                .map_err(|e| BenchError::io(format!("cannot remove {}", folder.display()), e))?;
        }
        if file.is_file() {
            let then: Begun = read(&file, "the beginning of a report")?;
            if let Some(difference) = then.difference(&now) {
                return Err(BenchError::Argument {
                    token: folder.display().to_string(),
                    reason: format!(
                        "a report was begun there under other conditions: {difference}; --fresh begins anew"
                    ),
                });
            }
            return Ok(Self { folder });
        }
        std::fs::create_dir_all(&folder)
            .map_err(|e| BenchError::io(format!("cannot create {}", folder.display()), e))?;
        write(&file, &now)?;
        Ok(Self { folder })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// A measurement that an earlier run has finished. A file that can't be read counts as none.
    pub fn found(&self, name: &str) -> Option<Finished> {
        let found: Finished = read(&self.file(name), "a measurement").ok()?;
        (found.name == name && matches!(found.outcome, Outcome::Points(_))).then_some(found)
    }

    pub fn keep(&self, finished: &Finished) -> Result<(), BenchError> {
        write(&self.file(&finished.name), finished)
    }

    /// Removes the folder: the report holds everything.
    pub fn done(self) -> Result<(), BenchError> {
        std::fs::remove_dir_all(&self.folder)
            .map_err(|e| BenchError::io(format!("cannot remove {}", self.folder.display()), e))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixed;
    use super::*;

    #[test]
    fn what_was_finished_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let data = fixed::data();
        let open = |settings: &Settings, fresh| {
            Store::open(dir.path().join("work"), settings, &data.machine, fresh)
        };
        let store = open(&data.settings, false).unwrap();
        let latency = data.finished.iter().find(|f| f.name == "latency").unwrap();
        let failed = data.finished.iter().find(|f| f.name == "files").unwrap();
        store.keep(latency).unwrap();
        store.keep(failed).unwrap();
        let again = open(&data.settings, false).unwrap();
        assert_eq!(again.found("latency").unwrap().outcome, latency.outcome);
        assert!(again.found("files").is_none(), "a failure is tried again");
        std::fs::write(again.file("latency"), "{").unwrap();
        assert!(again.found("latency").is_none());

        let other = Settings { quick: false, ..data.settings.clone() };
        let error = open(&other, false).unwrap_err().to_string();
        assert!(
            error.contains("--quick was 'true' and is 'false'") && error.contains("--fresh"),
            "{error}"
        );
        assert!(open(&other, true).unwrap().found("latency").is_none());
        open(&other, false).unwrap().done().unwrap();
        assert!(!dir.path().join("work").exists());
    }
}
