//! Tests that cannot run on this machine are counted, so that none vanishes unseen.
//!
//! `make test` names a file in `HPVM_SKIPPED`, in which every test that does not run leaves a line; the
//! lines are printed at the end. With `HPVM_SKIP_NOTHING=1` such a test fails instead: CI sets it.

use std::io::Write;

/// To be called by a test that cannot run here, before it returns. `why` names what is missing, and what to
/// install where that helps.
///
/// # Panics
/// Where nothing may be skipped (`HPVM_SKIP_NOTHING=1`).
pub fn skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("main").to_owned();
    let line = format!("{test}: {}", why.replace('\n', " "));
    // With standard error closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "    skipped: {line}");
    if let Some(file) = std::env::var_os("HPVM_SKIPPED") {
        // One write of one short line in append mode: tests of several processes do not mix.
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(file).expect("HPVM_SKIPPED");
        file.write_all(format!("{line}\n").as_bytes()).expect("a line in HPVM_SKIPPED");
    }
    let strict = std::env::var("HPVM_SKIP_NOTHING").is_ok_and(|value| value == "1");
    assert!(!strict, "HPVM_SKIP_NOTHING is set, but this test cannot run: {line}");
}
