//! Instructions that the main paths take, counted by callgrind and compared with a file.
//!
//! A regression shows without timing anything, so also on a machine that is busy. The program
//! `programs/paths.c` has one function per path; callgrind writes one profile per call of them, and
//! the least of a path's calls counts, because the others may hold the rare turns of a path (a
//! grant of credits, a wait).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much more than the file says a path may take.
pub const TOLERANCE: f64 = 0.03;
/// The same where another compiler made the library than when the file was written.
pub const TOLERANCE_OF_OTHERS: f64 = 0.15;

/// Instructions per operation, by path.
pub type Counts = BTreeMap<String, f64>;

/// What the file of expected counts holds.
#[derive(Debug, Default, PartialEq)]
pub struct Expected {
    /// `rustc --version` when it was written.
    pub compiler: String,
    pub counts: Counts,
}

impl Expected {
    /// Reads lines of a path and a count; those that begin with `#` say who wrote it.
    pub fn parse(text: &str) -> Result<Expected, String> {
        let mut expected = Expected::default();
        for (number, line) in text.lines().enumerate() {
            if let Some(compiler) = line.strip_prefix("# compiler: ") {
                expected.compiler = compiler.trim().to_string();
            }
            let line = line.split('#').next().unwrap_or("");
            let words: Vec<&str> = line.split_whitespace().collect();
            let [name, count] = words[..] else {
                if words.is_empty() {
                    continue;
                }
                return Err(format!("line {}: '{line}' is not a path and a count", number + 1));
            };
            let count = count
                .parse::<f64>()
                .ok()
                .filter(|count| count.is_finite() && *count > 0.0)
                .ok_or_else(|| format!("line {}: '{count}' is not a count", number + 1))?;
            expected.counts.insert(name.to_string(), count);
        }
        Ok(expected)
    }

    /// The text that [`Expected::parse`] reads.
    pub fn text(&self) -> String {
        let mut text = format!(
            "# Instructions per operation of the main paths; `make instructions` writes this file.\n\
             # compiler: {}\n",
            self.compiler
        );
        for (name, count) in &self.counts {
            let _ = writeln!(text, "{name:28} {count:10.1}");
        }
        text
    }
}

/// A path beside what was expected of it.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    pub name: String,
    pub expected: Option<f64>,
    pub found: Option<f64>,
    pub ok: bool,
}

impl Verdict {
    /// Found to expected, where both are known.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.found? / self.expected?)
    }
}

/// Compares all paths of either side. A path is in order that takes at most `tolerance` more than
/// expected; one that only one side knows is not.
pub fn compare(expected: &Counts, found: &Counts, tolerance: f64) -> Vec<Verdict> {
    let mut names: Vec<&String> = expected.keys().chain(found.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let (expected, found) = (expected.get(name).copied(), found.get(name).copied());
            let mut verdict = Verdict { name: name.clone(), expected, found, ok: false };
            verdict.ok = verdict.ratio().is_some_and(|ratio| ratio <= 1.0 + tolerance);
            verdict
        })
        .collect()
}

/// Runs the compiled program `paths` under callgrind with the launcher `mpirun`, on one rank and on
/// two, and returns what its paths took. `scratch` is a folder for the profiles. Takes seconds.
pub fn count(mpirun: &Path, program: &Path, scratch: &Path) -> Result<Counts, String> {
    let listed = Command::new(program)
        .arg("--names")
        .output()
        .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    let listed = listing(&String::from_utf8_lossy(&listed.stdout))?;
    let mut counts = Counts::new();
    for ranks in [1, 2] {
        let listed: Vec<&Listed> = listed.iter().filter(|path| path.ranks == ranks).collect();
        let folder = scratch.join(ranks.to_string());
        std::fs::create_dir_all(&folder)
            .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        run(mpirun, program, &listed, ranks, &folder)?;
        let profiles = read_profiles(&folder)?;
        for Listed { name, operations, .. } in listed {
            let least = profiles
                .iter()
                .filter(|profile| profile.path == *name)
                .map(|profile| profile.instructions)
                .min()
                .ok_or_else(|| format!("callgrind wrote no profile of {name}"))?;
            let short = name.strip_prefix("path_").unwrap_or(name).to_string();
            counts.insert(short, least as f64 / f64::from(*operations));
        }
    }
    Ok(counts)
}

/// Rank 0 runs under callgrind, rank 1 as it is.
fn run(
    mpirun: &Path,
    program: &Path,
    listed: &[&Listed],
    ranks: u32,
    folder: &Path,
) -> Result<(), String> {
    let mut command = Command::new(mpirun);
    command.args(["-q", "--timeout", "600", "-n", "1", "valgrind", "--quiet", "--tool=callgrind"]);
    // One by one: a pattern that both options share takes effect for one of them only.
    command.arg("--zero-before=path_*");
    command.args(listed.iter().map(|path| format!("--dump-after={}", path.name)));
    command.arg(format!("--callgrind-out-file={}/profile.%p", folder.display()));
    command.arg(program);
    if ranks == 2 {
        command.args([":", "-n", "1"]).arg(program);
    }
    // Tables of a machine would choose the algorithms that are counted.
    let output = command
        .env("HPVM_TABLES", "")
        .output()
        .map_err(|e| format!("cannot start {}: {e}", mpirun.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("the paths on {ranks} ranks ended with {}: {said}", output.status))
}

/// A path as the program lists it.
#[derive(Debug, PartialEq)]
struct Listed {
    name: String,
    ranks: u32,
    /// Of one call of its function.
    operations: u32,
}

fn listing(said: &str) -> Result<Vec<Listed>, String> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, ranks, operations] = words[..] else { return None };
        let (ranks, operations) = (ranks.parse().ok()?, operations.parse().ok()?);
        (operations > 0).then(|| Listed { name: name.to_string(), ranks, operations })
    };
    said.lines()
        .map(|text| line(text).ok_or_else(|| format!("'{text}' is not a path and two numbers")))
        .collect()
}

/// One call of a path.
#[derive(Debug, PartialEq)]
struct Profile {
    path: String,
    instructions: u64,
}

impl Profile {
    /// From callgrind's file; `None` when it was not written at the end of a path.
    fn parse(text: &str) -> Option<Profile> {
        let after = |prefix: &str| text.lines().find_map(|line| line.strip_prefix(prefix));
        let path = after("desc: Trigger: --dump-after=")?.trim().to_string();
        let instructions = after("totals: ").or_else(|| after("summary: "))?.trim().parse().ok()?;
        Some(Profile { path, instructions })
    }
}

fn read_profiles(folder: &Path) -> Result<Vec<Profile>, String> {
    let cannot = |path: &Path, e: std::io::Error| format!("cannot read {}: {e}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|e| cannot(folder, e))?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let mut profiles = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(|e| cannot(&path, e))?;
        profiles.extend(Profile::parse(&String::from_utf8_lossy(&bytes)));
    }
    Ok(profiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, f64)]) -> Counts {
        list.iter().map(|(name, count)| ((*name).to_string(), *count)).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let expected = Expected {
            compiler: "rustc 1.95.0".into(),
            counts: counts(&[("send", 321.5), ("recv", 99.0)]),
        };
        assert_eq!(Expected::parse(&expected.text()).unwrap(), expected);
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        for text in ["send\n", "send many\n", "send -3\n", "a b c\n"] {
            assert!(Expected::parse(text).unwrap_err().contains("line 1"), "{text}");
        }
    }

    #[test]
    fn more_instructions_are_a_regression_and_fewer_are_none() {
        let old = counts(&[("a", 100.0), ("b", 100.0), ("c", 100.0), ("gone", 1.0)]);
        let new = counts(&[("a", 102.9), ("b", 103.1), ("c", 50.0), ("new", 1.0)]);
        let bad: Vec<String> = compare(&old, &new, TOLERANCE)
            .into_iter()
            .filter(|verdict| !verdict.ok)
            .map(|verdict| verdict.name)
            .collect();
        assert_eq!(bad, ["b", "gone", "new"]);
    }

    #[test]
    fn profiles_name_their_path() {
        let text = "desc: Trigger: --dump-after=path_send\nevents: Ir\ntotals: 1234\n";
        let profile = Profile { path: "path_send".into(), instructions: 1234 };
        assert_eq!(Profile::parse(text), Some(profile));
        assert_eq!(Profile::parse(&text.replace("--dump-after=path_send", "Program end")), None);
    }

    #[test]
    fn the_program_lists_its_paths() {
        let listed = Listed { name: "path_a".into(), ranks: 2, operations: 64 };
        assert_eq!(listing("path_a 2 64\n").unwrap(), [listed]);
        assert!(listing("path_a 1 none\n").unwrap_err().contains("path_a 1 none"));
        assert!(listing("path_a 1 0\n").is_err());
    }
}
