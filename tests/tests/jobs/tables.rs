//! `HPVM_TABLES` and the tables in the cache: which ones a job takes, and which it refuses.

use std::path::PathBuf;
use std::process::Command;

use crate::common::{PATIENCE, mpirun, run_within, scratch, succeed};

fn file(name: &str, text: &str) -> PathBuf {
    let path = scratch().join(format!("tables-of-{name}"));
    std::fs::write(&path, text).expect("a file in the scratch folder");
    path
}

fn job(ranks: u32) -> Command {
    mpirun(ranks, "left", &["nothing"])
}

fn refused(command: Command, expected: &[&str]) {
    let outcome = run_within(command, PATIENCE);
    assert!(outcome.code != Some(0), "{outcome:?}");
    for text in expected {
        assert!(outcome.output.contains(text), "{text:?} is not in:\n{}", outcome.output);
    }
}

#[test]
fn a_sound_file_and_none_are_taken_silently() {
    let path = file("sound", "# x\nhpvm-tables 2\nallreduce any any ring\n");
    for value in [path.as_os_str(), std::ffi::OsStr::new("")] {
        for ranks in [1, 3] {
            let mut command = job(ranks);
            command.env("HPVM_TABLES", value);
            assert_eq!(succeed(command), "");
        }
    }
}

#[test]
fn a_broken_file_that_was_asked_for_is_an_error() {
    let path = file("broken", "hpvm-tables 2\n\nbcast any any fast\n");
    for ranks in [1, 2] {
        let mut command = job(ranks);
        command.env("HPVM_TABLES", &path);
        refused(command, &["tables-of-broken: line 3: 'fast'"]);
    }
    let mut command = job(2);
    command.env("HPVM_TABLES", "/nowhere/tables");
    refused(command, &["HPVM_TABLES: /nowhere/tables: "]);
}

#[test]
fn ranks_with_different_tables_do_not_start() {
    let one = file("one", "hpvm-tables 2\nallreduce any any ring\n");
    let other = file("other", "hpvm-tables 2\nallreduce any any direct\n");
    // Each rank names its own file before the program begins.
    let command = job(2);
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let program = command.get_program().to_owned();
    let at = arguments.iter().position(|a| a == "nothing").expect("the program's argument") - 1;
    let mut changed = Command::new(program);
    changed.args(&arguments[..at]).args(["sh", "-c"]);
    changed.arg(
        r#"if [ "$PMI_RANK" = 0 ]; then f=$0; else f=$1; fi; shift; HPVM_TABLES=$f exec "$@""#,
    );
    changed.arg(&one).arg(&other).args(&arguments[at..]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => changed.env(name, value),
            None => changed.env_remove(name),
        };
    }
    refused(changed, &["rank 1 has other tables", "tables-of-one", "tables-of-other"]);
}

/// A cache in which this machine's file holds `text`.
fn cache(folder: &str, text: &[u8]) -> PathBuf {
    let cache = scratch().join(folder);
    std::fs::create_dir_all(cache.join("hpvm")).expect("a folder in the scratch folder");
    let name = format!("tables-{}", hpvm_job::machine::Machine::here().key());
    std::fs::write(cache.join("hpvm").join(name), text).expect("a file");
    cache
}

#[test]
fn a_broken_file_in_the_cache_is_passed_over_with_one_warning() {
    let broken = [(&b"rubbish\n"[..], "line 1: 'rubbish'"), (b"\xff\xfe\0", "UTF-8")];
    for (text, expected) in broken {
        let mut command = job(3);
        command.env_remove("HPVM_TABLES").env("XDG_CACHE_HOME", cache("cache-of-tables", text));
        let output = succeed(command);
        assert_eq!(output.lines().count(), 1, "{output}");
        assert!(output.contains(expected) && output.contains("hpvm tune"), "{output}");
    }
}

#[test]
fn what_was_measured_on_another_machine_is_not_used() {
    // Ranks with different tables do not start: the first rank has this cache, the other none.
    let rules = "allreduce any any ring\n";
    let here = hpvm_job::machine::Machine::here();
    let head = |kernel: &str| {
        let (cpu, processors) = (&here.cpu, here.processors);
        format!("hpvm-tables 2\ncpu {cpu}\nprocessors {processors}\nkernel {kernel}\n{rules}")
    };
    for (text, used) in [(head(&here.kernel), true), (head("0.1"), false)] {
        let cache = cache("cache-of-a-machine", text.as_bytes());
        let command = job(2);
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let at = arguments.iter().position(|a| a == "nothing").expect("the program's argument") - 1;
        let mut changed = Command::new(command.get_program());
        changed.args(&arguments[..at]).args(["sh", "-c"]);
        changed.arg(r#"if [ "$PMI_RANK" = 0 ]; then export XDG_CACHE_HOME="$0"; fi; exec "$@""#);
        changed.arg(&cache).args(&arguments[at..]);
        changed.env_remove("HPVM_TABLES").env("XDG_CACHE_HOME", "/nowhere");
        match used {
            true => refused(changed, &["rank 1 has other tables"]),
            false => assert_eq!(succeed(changed), ""),
        }
    }
}
