//! Dependencies between our crates point one way, from `mpi-abi` down to `sync` (ARCHITECTURE.md).

use std::path::{Path, PathBuf};

use super::Breach;

/// What each package may depend on. Packages that are not listed (tests, tools) may use all.
/// Development dependencies are free: a test of a lower crate may drive a higher one.
const LAYERS: &[(&str, &[&str])] = &[
    ("hpvm-sync", &[]),
    ("hpvm-copy", &[]),
    ("hpvm-wire", &["sync"]),
    ("hpvm-transport", &["sync", "wire"]),
    ("hpvm-shm", &["sync", "copy", "wire", "transport"]),
    ("hpvm-reliable", &["wire"]),
    ("hpvm-bulk", &["wire"]),
    ("hpvm-net", &["sync", "wire", "transport", "reliable", "bulk"]),
    ("hpvm-mux", &["sync", "wire", "transport", "shm", "net"]),
    ("hpvm-sim", &["sync", "copy", "wire", "transport", "reliable", "bulk"]),
    ("hpvm-job", &["sync", "wire", "transport"]),
    ("hpvm-fm", &["sync", "wire", "transport"]),
    ("hpvm-coll", &["sync", "wire", "transport", "fm"]),
    (
        "hpvm-mpi",
        &[
            "sync",
            "copy",
            "wire",
            "transport",
            "shm",
            "reliable",
            "net",
            "sim",
            "job",
            "fm",
            "coll",
        ],
    ),
    ("hpvm-io", &["mpi"]),
    ("hpvm-abi", &[]),
    ("hpvm-foreign", &["abi"]),
    ("hpvm-fortran", &["abi", "foreign"]),
    ("hpvm-abi-fortran", &["abi", "foreign", "fortran"]),
    ("hpvm-abi-mpich", &["abi", "foreign", "fortran"]),
    ("hpvm-abi-ompi", &["abi", "foreign", "fortran"]),
    ("hpvm-abi-ompi-cxx", &[]),
    ("hpvm-fm-abi", &["sync", "wire", "transport", "fm"]),
    (
        "hpvm-mpi-abi",
        &[
            "sync",
            "wire",
            "transport",
            "shm",
            "reliable",
            "net",
            "mux",
            "job",
            "fm",
            "coll",
            "mpi",
            "abi",
            "fm-abi",
            "io",
        ],
    ),
    ("hpvm-linkage", &[]),
    ("hpvm-launch", &["sync", "wire", "job", "linkage"]),
    ("hpvm-monitor", &["sync", "wire", "transport", "shm", "job", "linkage", "launch"]),
    ("hpvm-queue", &["linkage", "launch"]),
    ("hpvm-serve", &["sync", "wire", "transport", "shm", "launch", "monitor", "queue"]),
    ("hpvm-bench", &["sync", "wire", "job", "launch", "coll"]),
    ("xtask", &[]),
];

/// Breaches in the Cargo.toml of every package of the workspace.
pub fn check(root: &Path) -> Result<Vec<Breach>, String> {
    let mut breaches = Vec::new();
    for folder in ["crates", "cluster", "."] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        for entry in entries.flatten() {
            let path = PathBuf::from(folder).join(entry.file_name()).join("Cargo.toml");
            let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
            let path = path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path);
            breaches.extend(check_manifest(&path, &text)?);
        }
    }
    Ok(breaches)
}

fn check_manifest(path: &Path, text: &str) -> Result<Vec<Breach>, String> {
    let manifest: toml::Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
    let package = manifest.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str());
    let layer = LAYERS.iter().find(|(name, _)| Some(*name) == package);
    let Some((package, allowed)) = layer else { return Ok(Vec::new()) };
    let mut breaches = Vec::new();
    for table in ["dependencies", "build-dependencies"] {
        let Some(table) = manifest.get(table).and_then(|t| t.as_table()) else { continue };
        for dependency in table.keys() {
            let Some(short) = dependency.strip_prefix("hpvm-") else { continue };
            if allowed.contains(&short) {
                continue;
            }
            let line = text.lines().position(|l| l.trim_start().starts_with(dependency.as_str()));
            breaches.push(Breach {
                path: path.to_path_buf(),
                line: line.map_or(1, |line| line + 1),
                text: format!(
                    "{package} must not depend on {dependency}; below it are: {}",
                    if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") }
                ),
            });
        }
    }
    Ok(breaches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(text: &str) -> Vec<Breach> {
        check_manifest(Path::new("crates/x/Cargo.toml"), text).expect("a manifest")
    }

    #[test]
    fn upward_is_refused_and_downward_is_not() {
        let text = "[package]\nname = \"hpvm-fm\"\n[dependencies]\nhpvm-sync = {}\nhpvm-mpi = {}\n";
        let found = breaches(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 5);
        assert!(found[0].text.contains("hpvm-fm must not depend on hpvm-mpi"), "{found:?}");
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let text = "[package]\nname = \"hpvm-fm\"\n[dev-dependencies]\nhpvm-mpi = {}\n";
        assert_eq!(breaches(text), []);
    }

    #[test]
    fn each_layer_names_only_lower_layers() {
        for (i, (package, allowed)) in LAYERS.iter().enumerate() {
            for short in *allowed {
                let below = LAYERS[..i].iter().any(|(name, _)| *name == format!("hpvm-{short}"));
                assert!(below, "{package} -> {short}");
            }
        }
    }
}
