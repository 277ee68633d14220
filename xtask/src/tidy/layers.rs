//! Dependencies between our crates point one way, from `mpi-abi` down to `sync` (ARCHITECTURE.md).

use std::path::{Path, PathBuf};

use super::Breach;

/// What each package of the workspace depends on directly, from the bottom up: a package names only packages
/// above its own line. Development dependencies are free: a test of a lower crate may drive a higher one.
const LAYERS: &[(&str, &[&str])] = &[
    ("hpvm-os", &[]),
    ("hpvm-sync", &[]),
    ("hpvm-copy", &[]),
    ("hpvm-say", &[]),
    ("hpvm-wire", &["sync"]),
    ("hpvm-transport", &["wire"]),
    ("hpvm-shm", &["copy", "os", "sync", "transport", "wire"]),
    ("hpvm-reliable", &["wire"]),
    ("hpvm-bulk", &["wire"]),
    ("hpvm-xdp", &["os"]),
    ("hpvm-xdp-helper", &["xdp"]),
    ("hpvm-ofi", &[]),
    ("hpvm-net", &["bulk", "ofi", "os", "reliable", "sync", "transport", "wire", "xdp"]),
    ("hpvm-names", &["net", "os"]),
    ("hpvm-mux", &["net", "shm", "transport", "wire"]),
    ("hpvm-sim", &["bulk", "copy", "reliable", "transport", "wire"]),
    ("hpvm-job", &["os"]),
    ("hpvm-sites", &[]),
    ("hpvm-fm", &["transport", "wire"]),
    ("hpvm-coll", &[]),
    ("hpvm-onesided", &["copy", "fm", "sync", "wire"]),
    ("hpvm-conflicts", &[]),
    ("hpvm-mpi", &["coll", "conflicts", "copy", "fm", "onesided", "sync", "wire"]),
    ("hpvm-io", &["mpi", "os"]),
    ("hpvm-abi", &[]),
    ("hpvm-model", &["abi", "conflicts", "copy", "say"]),
    ("hpvm-armci", &[]),
    ("hpvm-armci-abi", &["abi", "armci", "conflicts", "model"]),
    ("hpvm-bsp", &["conflicts"]),
    ("hpvm-bsp-abi", &["abi", "bsp", "copy", "model"]),
    ("hpvm-trace-abi", &["abi", "model"]),
    ("hpvm-foreign", &["abi"]),
    ("hpvm-fortran", &["abi", "foreign"]),
    ("hpvm-abi-fortran", &["abi", "foreign", "fortran"]),
    ("hpvm-abi-mpich", &["abi", "foreign", "fortran"]),
    ("hpvm-abi-ompi", &["abi", "foreign", "fortran"]),
    ("hpvm-abi-ompi-cxx", &["say"]),
    ("hpvm-fm-abi", &["fm"]),
    ("hpvm-portals", &["wire"]),
    ("hpvm-portals-abi", &["abi", "model", "portals", "sync"]),
    ("hpvm-pvm", &[]),
    ("hpvm-pvm-abi", &["copy", "net", "os", "pvm", "say", "shm", "sync"]),
    ("hpvm-sam", &["wire"]),
    ("hpvm-sam-abi", &["abi", "model", "sam"]),
    ("hpvm-shmem", &[]),
    ("hpvm-shmem-abi", &["abi", "conflicts", "copy", "model", "shmem"]),
    (
        "hpvm-mpi-abi",
        &[
            "abi",
            "coll",
            "copy",
            "fm",
            "fm-abi",
            "io",
            "job",
            "mpi",
            "mux",
            "names",
            "net",
            "onesided",
            "os",
            "say",
            "shm",
            "sites",
            "sync",
            "transport",
            "wire",
        ],
    ),
    ("hpvm-linkage", &[]),
    ("hpvm-routing", &[]),
    ("hpvm-simulate", &["coll", "copy", "mpi", "reliable", "routing", "transport", "wire"]),
    ("hpvm-launch", &["job", "linkage", "os", "routing", "sites"]),
    ("hpvm-gateway", &["net", "os", "sites", "wire"]),
    ("hpvm-pvm-machine", &["launch", "os", "pvm"]),
    ("hpvm-counters", &[]),
    ("hpvm-monitor", &["launch", "os", "shm", "wire"]),
    ("hpvm-queue", &["launch", "os"]),
    ("hpvm-serve", &["counters", "launch", "monitor", "os", "queue"]),
    ("hpvm-node", &["monitor", "os", "queue", "serve"]),
    ("hpvm-bench", &["coll", "job"]),
    (
        "hpvm",
        &[
            "bench",
            "coll",
            "counters",
            "gateway",
            "io",
            "job",
            "launch",
            "linkage",
            "monitor",
            "mpi",
            "names",
            "net",
            "node",
            "ofi",
            "os",
            "pvm-machine",
            "queue",
            "routing",
            "serve",
            "shm",
            "simulate",
            "wire",
            "xdp",
        ],
    ),
    ("hpvm-tests", &["job"]),
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
    let Some(package) = package else { return Ok(Vec::new()) };
    let line_of = |word: &str| {
        let line = text.lines().position(|l| l.trim_start().starts_with(word));
        line.map_or(1, |line| line + 1)
    };
    let breach = |line, text| Breach { path: path.to_path_buf(), line, text };
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == package) else {
        let text = format!("{package} has no layer; add it to xtask/src/tidy/layers.rs");
        return Ok(vec![breach(line_of("name"), text)]);
    };
    let tables = ["dependencies", "build-dependencies"];
    let tables = tables.iter().filter_map(|table| manifest.get(*table)?.as_table());
    let found: Vec<&str> =
        tables.flat_map(|table| table.keys().filter_map(|key| key.strip_prefix("hpvm-"))).collect();
    let mut breaches = Vec::new();
    for short in found.iter().filter(|short| !allowed.contains(short)) {
        let below = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        let text = format!("{package} must not depend on hpvm-{short}; it depends on: {below}");
        breaches.push(breach(line_of(&format!("hpvm-{short}")), text));
    }
    for short in allowed.iter().filter(|short| !found.contains(short)) {
        let text = format!(
            "{package} does not depend on hpvm-{short} any more; take it out of \
             xtask/src/tidy/layers.rs"
        );
        breaches.push(breach(1, text));
    }
    if is_mixed(&manifest) {
        let text = "a cdylib that is another kind of library as well is linked without link-time optimisation, which \
                    Cargo does not tell; expected crate-type = [\"cdylib\"]";
        breaches.push(breach(line_of("crate-type"), text.to_owned()));
    }
    Ok(breaches)
}

/// Whether the library is a `cdylib` and something else.
fn is_mixed(manifest: &toml::Table) -> bool {
    let kinds = manifest.get("lib").and_then(|lib| lib.get("crate-type")?.as_array());
    kinds.is_some_and(|kinds| {
        kinds.len() > 1 && kinds.iter().any(|kind| kind.as_str() == Some("cdylib"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(text: &str) -> Vec<Breach> {
        check_manifest(Path::new("crates/x/Cargo.toml"), text).expect("a manifest")
    }

    #[test]
    fn upward_is_refused_and_downward_is_not() {
        let text = "[package]\nname = \"hpvm-shm\"\n[dependencies]\nhpvm-wire = {}\nhpvm-mpi = {}\n\
                    hpvm-copy = {}\nhpvm-os = {}\nhpvm-sync = {}\n";
        let found = breaches(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].line, 5);
        assert!(found[0].text.contains("hpvm-shm must not depend on hpvm-mpi"), "{found:?}");
        assert!(found[1].text.contains("does not depend on hpvm-transport any more"), "{found:?}");
    }

    #[test]
    fn every_package_has_a_layer() {
        let found = breaches("[package]\nname = \"hpvm-new\"\n");
        assert!(found[0].text.contains("hpvm-new has no layer"), "{found:?}");
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let text = "[package]\nname = \"hpvm-sync\"\n[dev-dependencies]\nhpvm-mpi = {}\n";
        assert_eq!(breaches(text), []);
    }

    #[test]
    fn a_cdylib_is_nothing_else() {
        let of =
            |kinds: &str| format!("[package]\nname = \"xtask\"\n[lib]\ncrate-type = {kinds}\n");
        let found = breaches(&of(r#"["cdylib", "rlib"]"#));
        assert_eq!((found.len(), found[0].line), (1, 4), "{found:?}");
        assert_eq!(breaches(&of(r#"["cdylib"]"#)), []);
        assert_eq!(breaches(&of(r#"["rlib", "staticlib"]"#)), []);
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
