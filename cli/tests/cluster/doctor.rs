//! `hpvm doctor`: what is whole is said to be, and what is not has a remedy.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::common;
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
    // The variable of the tests names its folder, so every command fails now.
    server.end(libc::SIGTERM);
    let (state, remedy) = found(&server, "server");
    assert_eq!(state, "bad");
    assert!(remedy.contains(&format!("hpvm serve --data {}", server.data().display())), "{remedy}");
    std::fs::write(server.data().join("store.sqlite"), "this is no store at all".repeat(500))
        .unwrap();
    assert_eq!(found(&server, "store").0, "bad");
}

/// What the doctor says with these variables, as text: the line about a part, and its remedy.
fn told(server: &Server, about: &str, variables: &[(&str, &str)], args: &[&str]) -> String {
    let mut command = server.command();
    command.env_remove("HPVM_SERVER").env_remove("HPVM_TOKEN").env_remove("XDG_CONFIG_HOME");
    command.env_remove("XDG_STATE_HOME").env("HOME", server.dir.path());
    let output = command.envs(variables.iter().copied()).arg("doctor").args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines =
        text.lines().skip_while(|line| line.get(6..20).is_none_or(|name| name.trim() != about));
    let first: Vec<&str> = lines.take(2).collect();
    assert!(!first.is_empty(), "nothing about {about}: {text}");
    let remedy = first.get(1).filter(|line| line.trim_start().starts_with("->"));
    format!("{}{}", first[0], remedy.unwrap_or(&""))
}

#[test]
fn a_server_on_this_machine_is_the_one_that_commands_speak_to() {
    let mut server = Server::start();
    let data = server.data().display().to_string();
    let said = |server: &Server,
                variables: &[(&str, &str)],
                args: &[&str],
                about: &str,
                words: &[&str]| {
        let said = told(server, about, variables, args);
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    };
    let with = |named: &'static str| [("HPVM_SERVER", named)];
    said(
        &server,
        &[("HPVM_SERVER", &data)],
        &[],
        "server",
        &["ok ", "answers", &data, "mode embedded"],
    );
    // One runs, and commands look elsewhere.
    let here = ["--data", data.as_str()];
    said(&server, &[], &here, "server", &["warn ", &format!("export HPVM_SERVER={data}")]);
    said(&server, &[], &[], "server", &["warn ", "none runs here"]);
    said(
        &server,
        &with("head:8421"),
        &[],
        "server",
        &["bad ", "export HPVM_SERVER=https://head:8421"],
    );
    said(
        &server,
        &with("/nowhere/at/all"),
        &[],
        "server",
        &["bad ", "/nowhere/at/all", "or unset HPVM_SERVER"],
    );
    said(
        &server,
        &with("http://n1.example:1"),
        &[],
        "server",
        &["bad ", "plain HTTP", "export HPVM_SERVER=https://"],
    );
    // That of the folder has a line of its own.
    said(&server, &with("/nowhere/at/all"), &here, "server here", &["ok ", &data]);
    // What is left of one that was killed.
    server.end(libc::SIGKILL);
    said(
        &server,
        &[("HPVM_SERVER", &data)],
        &[],
        "server",
        &["bad ", "does not run", "hpvm serve --data"],
    );
}

#[test]
fn a_server_elsewhere_is_looked_at_from_the_way_to_the_login() {
    let mut server = Server::new();
    server.begin_with(&["--listen", "0.0.0.0:0"]);
    server.typed(&["user", "add", "ann"], "long enough\n");
    let port = server.link.split("/#").next().unwrap().rsplit_once(':').unwrap().1.to_string();
    let address = format!("https://localhost:{port}");
    let of = |server: &Server, about: &str, words: &[&str]| {
        let said = told(server, about, &[("HPVM_SERVER", &address)], &[]);
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
        said
    };
    let login = format!("hpvm login {address}");
    // Not signed in yet: the certificate is unknown, and no secret goes there.
    let said = of(&server, "certificate", &["bad ", "none is pinned", "SHA256:", &login]);
    let fingerprint =
        said.split_whitespace().find(|word| word.starts_with("SHA256:")).unwrap().to_string();
    of(&server, "server", &["bad ", "see certificate"]);

    let sign_in = |server: &Server, fingerprint: &str| {
        use std::io::Write;
        let mut command = server.command();
        command.env("HPVM_SERVER", &address).env("HOME", server.dir.path());
        command.env_remove("XDG_CONFIG_HOME").stdin(std::process::Stdio::piped());
        let mut child =
            command.args(["login", "-u", "ann", "--fingerprint", fingerprint]).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"long enough\n").unwrap();
        assert!(child.wait().unwrap().success());
    };
    sign_in(&server, &fingerprint);
    let version = env!("CARGO_PKG_VERSION");
    of(&server, "server", &["ok ", &address, &format!("hpvm {version}")]);
    of(&server, "certificate", &["ok ", "pinned", &fingerprint]);
    of(&server, "login", &["ok ", "ann (user)", &address]);
    let other = [("HPVM_SERVER", address.as_str()), ("HPVM_TOKEN", "hpvm_nonsense")];
    let said = told(&server, "login", &other, &[]);
    assert!(said.contains("bad ") && said.contains("unset HPVM_TOKEN"), "{said}");
    // A name that the certificate has not: nobody is signed in under it; what is kept is copied to it.
    let file = server.dir.path().join(".config/hpvm/servers.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    let named = address.replace("localhost", "127.9.9.9");
    std::fs::write(&file, kept.replace(&address, &named)).unwrap();
    let said = told(&server, "certificate", &[("HPVM_SERVER", &named)], &[]);
    assert!(said.contains("bad ") && said.contains("hpvm serve --name"), "{said}");
    std::fs::write(&file, kept).unwrap();

    // The token is ended.
    server.good(&["user", "remove", "ann"]);
    of(&server, "login", &["bad ", "ann", &login]);
    // Somebody in between has another authority.
    server.end(libc::SIGTERM);
    of(&server, "server", &["bad ", "refused", &format!("hpvm serve --listen 0.0.0.0:{port}")]);
    std::fs::remove_dir_all(server.data().join("tls")).unwrap();
    server.begin_with(&["--listen", &format!("0.0.0.0:{port}")]);
    of(&server, "certificate", &["bad ", &fingerprint, "was pinned", "somebody may be in between"]);
    let said = told(&server, "server", &[("HPVM_SERVER", "https://no.such.host.invalid")], &[]);
    assert!(said.contains("bad ") && said.contains("getent hosts no.such.host.invalid"), "{said}");
}

/// A file system of 16 MiB in a folder's place.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// `None` where we may not mount any.
    fn at(folder: &std::path::Path) -> Option<SmallDisk> {
        std::fs::create_dir_all(folder).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16M,mode=700", "tmpfs"]).arg(folder);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| SmallDisk(folder.to_path_buf()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still be there. Of a test that fails nothing is left but memory.
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_told_as_long_as_it_is_full() {
    let mut server = Server::new();
    let Some(_disk) = SmallDisk::at(&server.data()) else {
        return hpvm_tests::skip::skipped("no file system can be mounted here");
    };
    server.begin();
    let told = |word: &str| {
        let said = server.hpvm(&["doctor", "-q", "--data", server.data().to_str().unwrap()]);
        String::from_utf8_lossy(&said.stdout).contains(word)
    };
    assert!(!told("is full"));
    let filler = server.data().join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 1 << 14]).is_ok() {}
    assert!(common::until(|| told("is full: jobs that write wait")));
    let refused = server.hpvm(&["submit", "true"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("disk"), "{text}");
    // As long as it is open it takes its room.
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    assert!(common::until(|| !told("is full")));
    let id = server.submit(&["true"]);
    assert_eq!(server.until(id, "ended")["exit_code"], 0);
    server.nothing_left();
}
