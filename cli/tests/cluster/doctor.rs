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
