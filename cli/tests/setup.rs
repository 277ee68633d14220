//! `scripts/setup` on a machine whose Rust is too old and whose packages have none, for a user who may
//! install nothing: the advice has to work there.

mod common;

use std::process::Command;

use common::script;

#[test]
fn advice_for_a_machine_without_rust() {
    let dir = tempfile::tempdir().expect("folder");
    // Only these commands are there: no apt-get, no rustup.
    for name in ["bash", "env", "sed", "sort", "head", "grep", "id", "cc", "c++", "make", "curl"] {
        let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
        let found = String::from_utf8(found.expect("sh").stdout).expect("text");
        let target = if found.is_empty() { "/bin/true" } else { found.trim() };
        std::os::unix::fs::symlink(target, dir.path().join(name)).expect("link");
    }
    script(dir.path(), "rustc", "#!/bin/sh\necho rustc 1.63.0\n");
    let setup = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/setup");
    let output = Command::new(dir.path().join("bash"))
        .args([setup, "build"])
        .env("PATH", dir.path())
        .env("HOME", dir.path())
        .output()
        .expect("bash");
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("found: rustc 1.63.0"), "{text}");
    assert!(text.contains("root is not needed") && text.contains("| sh -s -- -y"), "{text}");
    assert!(!text.contains("install -y --no-install-recommends rustup"), "{text}");
}
