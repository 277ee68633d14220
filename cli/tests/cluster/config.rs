//! The configuration file of `hpvm serve`.

use std::process::Output;

use crate::server::Server;

/// What `--check-config` says of this file with these flags, and with this variable.
fn check(server: &Server, text: &str, flags: &[&str], variable: Option<&str>) -> Output {
    std::fs::write(server.dir.path().join("serve.conf"), text).unwrap();
    let mut command = server.command();
    command.args(["serve", "--check-config", "--config", "serve.conf"]).args(flags);
    command.envs(variable.map(|value| ("HPVM_SERVE_QUEUE", value))).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn flags_count_more_than_variables_and_those_more_than_the_file() {
    let server = Server::new();
    let file = "keep-jobs = 7\nqueue = slurm\n";
    for (flags, variable, expected) in [
        (&[][..], None, "queue = slurm    # serve.conf:2\n"),
        (&[], Some("auto"), "queue = auto    # HPVM_SERVE_QUEUE\n"),
        (&["--queue", "embedded"], Some("auto"), "queue = embedded    # --queue\n"),
    ] {
        let output = check(&server, file, flags, variable);
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stdout);
        assert!(said.contains(expected) && said.contains("keep-jobs = 7 "), "{said}");
    }
    assert!(!server.data().exists());
}

#[test]
fn a_wrong_file_is_refused_with_the_line() {
    let server = Server::new();
    for (file, variable, expected) in [
        ("\nprot = 1\n", None, "serve.conf:2: unknown key 'prot'"),
        ("node-timeout = 5\n", None, "serve.conf:1: invalid value '5'"),
        ("tls-cert = /a\n", None, "serve.conf:1: tls-cert is set without tls-key"),
        ("name = true\n", None, "serve.conf:1: name = 'true': this key is no switch"),
        ("", Some("pbs"), "HPVM_SERVE_QUEUE: invalid value 'pbs'"),
    ] {
        let output = check(&server, file, &[], variable);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
    let mut command = server.command();
    let unknown = command.args(["serve", "--check-config"]).env("HPVM_SERVE_PORT", "1").output();
    let said = text(&unknown.unwrap().stderr);
    assert!(said.contains("unknown variable HPVM_SERVE_PORT"), "{said}");
    let missing = server.hpvm(&["serve", "--config", "nowhere.conf"]);
    assert!(!missing.status.success());
    assert!(text(&missing.stderr).contains("nowhere.conf"), "{missing:?}");
}

#[test]
fn certificate_and_key_may_be_set_in_two_ways() {
    let server = Server::new();
    let output = check(&server, "tls-key = /k\n", &["--tls-cert", "c"], None);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    assert!(
        said.contains("tls-cert = c    # --tls-cert\ntls-key = /k    # serve.conf:1\n"),
        "{said}"
    );
}

#[test]
fn without_the_usual_file_there_are_defaults_and_with_it_they_are_replaced() {
    let server = Server::new();
    let folder = server.dir.path().join("hpvm");
    let said = |expected: &str| {
        let mut command = server.command();
        command.env_remove("HPVM_SERVE_CONFIG").env("XDG_CONFIG_HOME", server.dir.path());
        let output = command.args(["serve", "--check-config"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = text(&output.stdout);
        assert_eq!(said.contains("/hpvm/serve.conf: good\n"), expected == "a file", "{said}");
        said
    };
    // A machine whose root has configured a server has the file of all.
    if !std::path::Path::new("/etc/hpvm/serve.conf").exists() {
        assert_eq!(said("no file"), "there is no configuration file\n");
    }
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("serve.conf"), "keep-jobs = 3\n").unwrap();
    assert!(said("a file").contains("keep-jobs = 3 "));
}

#[test]
fn a_server_does_what_its_file_says_and_jobs_do_not_see_its_variables() {
    let mut server = Server::new();
    // The queue and port are the file's; were they not, auto and 8421 would be taken.
    std::fs::write(server.dir.path().join("serve.conf"), "listen = 0\nqueue = embedded\n").unwrap();
    server.begin_with_variables(
        &["--config", "serve.conf"],
        &[("HPVM_SERVE_KEEP_JOBS", "5"), ("HPVM_SERVE_QUIET", "true"), ("HPVM_TOKEN", "x")],
    );
    let doctor = server.hpvm(&["doctor", "--data", server.data().to_str().unwrap()]);
    let info = text(&doctor.stdout);
    assert!(info.contains("mode embedded"), "{info}");
    assert!(!server.link.contains(":8421/"), "{}", server.link);
    let mut command = server.command();
    command.args(["submit", "--parsable", "-o", "out", "--wrap", "env"]);
    let submitted = command.env("HPVM_SERVE_KEEP_DAYS", "9").env("SEEN", "1").output().unwrap();
    let id = text(&submitted.stdout).trim().parse().unwrap_or_else(|_| panic!("{submitted:?}"));
    server.until(id, "ended");
    let seen = std::fs::read_to_string(server.dir.path().join("out")).unwrap();
    assert!(seen.contains("SEEN=1") && !seen.contains("HPVM_SERVE_"), "{seen}");
    assert!(!seen.contains("HPVM_TOKEN"), "{seen}");
}
