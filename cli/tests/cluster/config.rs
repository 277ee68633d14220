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
        ("tls-cert = /a\n", None, "serve.conf:1"),
        ("", Some("pbs"), "HPVM_SERVE_QUEUE: invalid value 'pbs'"),
    ] {
        let output = check(&server, file, &[], variable);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
    let missing = server.hpvm(&["serve", "--config", "nowhere.conf"]);
    assert!(!missing.status.success());
    assert!(text(&missing.stderr).contains("nowhere.conf"), "{missing:?}");
}

#[test]
fn a_server_does_what_its_file_says() {
    let mut server = Server::new();
    let file = format!("listen = 0\nqueue = embedded\ndata = {}\n", server.data().display());
    let path = server.dir.path().join("serve.conf");
    std::fs::write(&path, file).unwrap();
    server.begin_with(&["--config", path.to_str().unwrap()]);
    let said = server.hpvm(&["queue"]);
    assert!(said.status.success(), "{said:?}");
}
