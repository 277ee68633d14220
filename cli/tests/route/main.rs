//! `hpvm route`: golden files, exit codes, messages; OpenSM's tables and Linux's routes beside ours.

mod linux;
mod opensm;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn route(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_hpvm")).arg("route").args(args).output();
    output.expect("hpvm route")
}

pub fn text(args: &[&str]) -> String {
    let output = route(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn json(args: &[&str]) -> serde_json::Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_slice(&route(&args).stdout).unwrap()
}

/// Compares with a golden file; `HPVM_UPDATE=1 cargo test -p hpvm --test route` writes them.
fn golden(name: &str, found: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/route").join(name);
    if std::env::var_os("HPVM_UPDATE").is_some() {
        std::fs::write(&file, found).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(known == found, "{} is not what comes out:\n{found}", file.display());
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[test]
fn reports_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    for shape in ["fattree:hpvm3", "fattree:hpvm3-doubled", "torus:4x4"] {
        let name = shape.replace(':', "-");
        golden(&format!("{name}.txt"), &text(&["--generate", shape]));
    }
    let (tables, fabric) = (path(folder.path(), "t"), path(folder.path(), "f"));
    let (plot, hosts) = (path(folder.path(), "p.svg"), path(folder.path(), "hosts"));
    text(&[
        "--generate",
        "fattree:k=4",
        "-o",
        &tables,
        "--save",
        &fabric,
        "--plot",
        &plot,
        "--hostfile",
        &hosts,
    ]);
    for (name, file) in [("tables.lft", &tables), ("fabric.txt", &fabric), ("plot.svg", &plot)] {
        golden(name, &std::fs::read_to_string(file).unwrap());
    }
    assert_eq!(std::fs::read_to_string(&hosts).unwrap().lines().count(), 16);
    // Through the fabric's file everything is the same.
    let again = path(folder.path(), "again");
    assert_eq!(text(&["--generate", "fattree:k=4"]), text(&[&fabric, "-o", &again]));
    assert_eq!(std::fs::read(&tables).unwrap(), std::fs::read(&again).unwrap());
    let checked = json(&[&fabric, "--check", &tables]);
    assert_eq!((&checked["routed"], &checked["deadlock"]), (&240.into(), &serde_json::Value::Null));
}

#[test]
fn after_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (path(folder.path(), "old"), path(folder.path(), "new"));
    let shape = ["--generate", "fattree:k=4"];
    text(&[&shape[..], &["-o", &old]].concat());
    let link = [&shape[..], &["--failed", "s1-0--s2-0"]].concat();
    golden("failed-link.txt", &text(&[&link[..], &["--previous", &old, "-o", &new]].concat()));
    let checked = json(&[&link[..], &["--check", &new]].concat());
    assert_eq!(checked["routed"], 240);
    // The old tables do not do.
    let output = route(&[&link[..], &["--check", &old]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("where no link is"));
    // A switch with its hosts; then one after another.
    let leaf = json(&[&shape[..], &["--failed", "s1-0", "--previous", &old]].concat());
    assert_eq!(leaf["cut_off"], serde_json::json!(["h0", "h1"]));
    assert_eq!(leaf["routed"], 14 * 13);
    let more = ["--failed", "s1-0--s2-0", "--failed", "s3-3", "--previous", &new];
    let both = json(&[&shape[..], &more].concat());
    assert_eq!((&both["routed"], &both["changed"]["anew"]), (&240.into(), &false.into()));
}

#[test]
fn mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let bad = path(folder.path(), "bad");
    std::fs::write(&bad, "switch a\nhost h\nlink h b\n").unwrap();
    let binary = path(folder.path(), "binary");
    std::fs::write(&binary, b"switch \xff\xfe\n").unwrap();
    let missing = path(folder.path(), "missing");
    let good = "fattree:m=2,2:w=1,2:p=1,1";
    for (args, code, words) in [
        (vec!["/no/such/file"], 1, vec!["/no/such/file", "No such file"]),
        (vec![&bad], 1, vec![&bad, "line 3", "'b'"]),
        (vec![&binary], 1, vec![&binary, "byte 7"]),
        (vec![], 2, vec!["<FABRIC>"]),
        (vec!["--generate", "cube:3"], 1, vec!["'cube'", "torus"]),
        (vec!["--generate", good, "--roots", "0"], 1, vec!["'0'", "from 1 on"]),
        (vec!["--generate", good, "--roots", "x,y"], 1, vec!["'x'", "no switch"]),
        (vec!["--generate", good, "--failed", "nothing"], 1, vec!["'nothing'", "NAME:PORT"]),
        (vec!["--generate", good, "--previous", "x"], 2, vec!["--failed"]),
        (vec!["--generate", good, "--check", &bad], 1, vec![&bad, "line 1", "'switch a'"]),
        (vec!["--generate", good, "--linux", &missing], 1, vec!["no address"]),
        (vec!["--generate", good, "-o", "/no/such/file"], 1, vec!["/no/such/file"]),
        (vec!["--generate", "torus:100x100", "-o", &missing, "--check", &bad], 2, vec!["--check"]),
    ] {
        let output = route(&args);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
        words
            .iter()
            .for_each(|word| assert!(message.contains(word), "{args:?}: {message}: {word}"));
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
