//! The subcommands other than `run`.

mod common;

use std::process::{Command, Output};

fn hpvm(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hpvm")).args(args).output().unwrap()
}

fn text(args: &[&str]) -> String {
    let output = hpvm(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_and_version() {
    assert_eq!(text(&["--version"]), format!("hpvm {}\n", env!("CARGO_PKG_VERSION")));
    assert!(text(&["--help"]).contains("info"));
    assert_eq!(text(&["help", "run"]).trim(), text(&["run", "--help"]).trim());
    assert!(text(&["run", "--help"]).contains("--hostfile"));
    assert!(text(&["run", "--version"]).contains(env!("CARGO_PKG_VERSION")));
    let output = hpvm(&["dance"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("'dance'"));
}

#[test]
fn info() {
    let report: serde_json::Value = serde_json::from_str(&text(&["info", "--json"])).unwrap();
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["cpus"].as_u64().unwrap() >= 1);
    assert!(report["memfd"].is_boolean());
    let plain = text(&["info"]);
    assert_eq!(plain.lines().count(), report.as_object().unwrap().len());
}

#[test]
fn man_pages_and_completions() {
    let dir = tempfile::tempdir().unwrap();
    text(&["man", dir.path().to_str().unwrap()]);
    for page in
        ["hpvm", "hpvm-run", "hpvm-info", "hpvm-route", "hpvm-simulate", "mpirun", "mpiexec"]
    {
        let page = std::fs::read_to_string(dir.path().join(format!("{page}.1"))).unwrap();
        assert!(page.contains(".TH"), "{page}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&["completions", shell]).contains("hostfile"), "{shell}");
        for command in ["mpirun", "mpiexec"] {
            let script = text(&["completions", shell, command]);
            assert!(script.contains("output-filename") && script.contains(command), "{shell}");
        }
    }
}

/// The pages of the documentation site: one for every command, and a list of them.
#[test]
fn pages_of_commands() {
    let dir = tempfile::tempdir().unwrap();
    text(&["docs", "--commands", dir.path().to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let index = read("index.md");
    for command in ["run", "info", "route", "simulate"] {
        assert!(index.contains(&format!("(hpvm-{command}.md)")), "{index}");
        assert!(read(&format!("hpvm-{command}.md")).starts_with(&format!("# hpvm {command}\n")));
    }
    assert!(read("hpvm-route.md").contains("--failed <LINK|SWITCH>"));
    assert!(read("hpvm-run.md").contains("--hostfile"));
    assert!(!index.contains("hpvm-man.md"), "{index}");
}

/// Bash offers flags behind `mpirun --out`, with the script as it is installed.
#[test]
fn bash_completes_mpirun() {
    let script = text(&["completions", "bash", "mpirun"]);
    let ask = "COMP_WORDS=(mpirun --output-f) COMP_CWORD=1; _mpirun mpirun --output-f mpirun; \
               printf '%s\\n' \"${COMPREPLY[@]}\"";
    let shell = format!("{script}\n{ask}");
    let output = Command::new("bash").args(["-c", &shell]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "--output-filename", "{output:?}");
}

#[test]
fn a_benchmark_that_measures_nothing_is_an_error() {
    let output =
        hpvm(&["bench", "pvm", "--quick", "--pvm-root", "/nonexistent", "--program", "/bin/true"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/bin/true printed no result"), "{said}");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let point = r#"{"mode":"round trip","op":"send","ranks":2,"size":8,"unit":"us","median":1,"min":1,"max":1,"iters":1,"batches":5}"#;
    let text = format!("#!/bin/sh\necho '{point}'\n");
    let program = common::script(folder.path(), "measures", &text);
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hpvm"));
        command.args(["bench", "pvm", "--quick", "--pvm-root", "/nonexistent", "--program"]);
        command.arg(&program);
        command
    };
    assert_eq!(command().output().unwrap().status.code(), Some(0));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command().stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write to standard output: No space left"), "{said}");
}

/// Words of a user that a command refuses: one short line that steers no terminal.
#[test]
fn words_that_name_no_job_are_told_in_a_short_line() {
    let long = "x".repeat(100_000);
    for action in ["cancel", "hold", "release", "show", "wait", "logs"] {
        for word in ["\u{1b}[31m", &long] {
            let output = hpvm(&[action, word]);
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && err.len() < 400, "{action}: {err}");
            assert!(!err.trim_end().contains(char::is_control), "{action}: {err:?}");
        }
    }
}

/// Nobody writes to the pipe, so whoever opens it waits for ever.
#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let pipe = pipe.to_str().unwrap();
    for words in [&["submit", pipe][..], &["serve", "--config", pipe], &["node", "--config", pipe]]
    {
        let mut command = Command::new("timeout");
        command.args(["60", env!("CARGO_BIN_EXE_hpvm")]).args(words);
        let output = command.env("HPVM_SERVER", "http://127.0.0.1:1").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
    }
}
