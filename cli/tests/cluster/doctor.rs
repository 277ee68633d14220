//! `hpvm doctor`: what is whole is said to be, and what is not has a remedy.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::server::Server;

/// How the doctor finds a part, and the remedy.
fn found(server: &Server, about: &str) -> (String, String) {
    let data = server.data();
    let output = server.hpvm(&["doctor", "--json", "--data", data.to_str().unwrap()]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = said["findings"].as_array().unwrap();
    let bad = all.iter().any(|finding| finding["state"] == "bad");
    assert_eq!(output.status.code(), Some(i32::from(bad)), "{said}");
    let finding = all.iter().find(|finding| finding["about"] == about);
    let finding = finding.unwrap_or_else(|| panic!("nothing about {about}: {said}"));
    let text = |name: &str| finding[name].as_str().unwrap_or_default().to_string();
    (text("state"), text("remedy"))
}

#[test]
fn a_configuration_file_is_looked_at() {
    let server = Server::new();
    let file = server.dir.path().join("hpvm/serve.conf");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let doctor = |text: &str, mode: u32| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = server.command();
        command.env_remove("HPVM_SERVE_CONFIG").env("XDG_CONFIG_HOME", server.dir.path());
        let output = command.arg("doctor").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = said.lines().skip_while(|l| !l.contains("configuration")).collect();
        lines.get(..3).unwrap_or_else(|| panic!("{said}")).join("\n")
    };
    let data = format!("data = {}\n", server.dir.path().join("elsewhere").display());
    let said = doctor(&data, 0o600);
    assert!(said.starts_with("ok ") && said.contains("serve.conf"), "{said}");
    let mut command = server.command();
    command.env("HPVM_SERVE_CONFIG", &file);
    let output = command.arg("doctor").output().unwrap();
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(all.contains("elsewhere is not there yet"), "{all}");
    for (text, mode, expected) in [
        ("keep-day = 1\n", 0o600, "serve.conf:1: unknown key 'keep-day'"),
        ("keep-days = 1\n", 0o622, "chmod go-w"),
        ("tls-cert = /nowhere/c\ntls-key = /nowhere/k\n", 0o600, "tls-cert /nowhere/c: No such"),
    ] {
        let said = doctor(text, mode);
        assert!(said.contains("bad   configuration") && said.contains(expected), "{said}");
    }
}

#[test]
fn what_is_wrong_is_found_and_has_a_remedy() {
    let mut server = Server::start();
    for about in ["program", "data", "store", "server"] {
        assert_eq!(found(&server, about).0, "ok", "{about}");
    }
    let mode = |mode| {
        std::fs::set_permissions(server.data(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o755);
    assert_eq!(found(&server, "data").0, "bad");
    assert!(found(&server, "data").1.starts_with("chmod 700"));
    mode(0o700);
    server.end(libc::SIGTERM);
    assert_eq!(found(&server, "server").0, "warn");
    std::fs::write(server.data().join("store.sqlite"), "this is no store at all".repeat(500))
        .unwrap();
    assert_eq!(found(&server, "store").0, "bad");
}
