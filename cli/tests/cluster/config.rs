//! The configuration files of `hpvm serve` and `hpvm node`.

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

#[test]
fn a_host_does_what_its_file_says() {
    let server = Server::start();
    let url = server.link.split("/#").next().unwrap().to_string();
    let folder = server.dir.path().join("hpvm");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("node.conf");
    let data = server.dir.path().join("node");
    let lines = format!("server = {url}\nname = n7\ncpus = 3\ndata = {}\n", data.display());
    std::fs::write(&file, &lines).unwrap();
    let token = server.good(&["token", "create", "nodes", "--scope", "node"]);
    let node = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = server.command();
        command.env("XDG_CONFIG_HOME", server.dir.path()).arg("node").args(args);
        command.envs(variables.iter().copied());
        command
    };
    let said = |args: &[&str], variables: &[(&str, &str)]| {
        let output = node(args, variables).output().unwrap();
        text(&[output.stdout, output.stderr].concat())
    };
    let all = said(&["--check-config", "--cpus", "5"], &[("HPVM_NODE_GPUS", "1")]);
    for expected in [
        "node.conf: good\n",
        "cpus = 5    # --cpus\n",
        "gpus = 1    # HPVM_NODE_GPUS\n",
        "name = n7 ",
    ] {
        assert!(all.contains(expected), "{all}");
    }
    let wrong = said(&["--check-config"], &[("HPVM_NODE_PORT", "1")]);
    assert!(wrong.contains("node: unknown variable HPVM_NODE_PORT"), "{wrong}");
    // The token beside it, which nobody else may read.
    let doctor = || {
        let mut command = server.command();
        let output = command.env("XDG_CONFIG_HOME", server.dir.path()).arg("doctor").output();
        text(&output.unwrap().stdout)
    };
    assert!(doctor().contains("bad   node           there is no token"), "{}", doctor());
    let beside = folder.join("node.token");
    std::fs::write(&beside, &token).unwrap();
    let mode = |mode| {
        std::fs::set_permissions(&beside, std::os::unix::fs::PermissionsExt::from_mode(mode))
            .unwrap();
    };
    mode(0o644);
    assert!(said(&[], &[]).contains("chmod 600"));
    assert!(doctor().contains("chmod 600"), "{}", doctor());
    mode(0o600);
    assert!(doctor().contains("warn  node           hpvm node does not run on"), "{}", doctor());
    let mut child = node(&[], &[]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let there = || server.good(&["nodes", "--json"]).contains("\"name\":\"n7\"");
    assert!(crate::common::until(there), "{}", server.good(&["nodes"]));
    assert!(server.good(&["nodes", "--json"]).contains("\"cpus\":3"));
    let runs = || doctor().contains("ok    node           hpvm node runs");
    assert!(crate::common::until(runs), "{}", doctor());
    crate::common::kill(child.id() as i32, libc::SIGTERM);
    assert!(child.wait().unwrap().success());
}

/// The units as systemd reads them, with this program in the place of an installed one.
#[test]
fn systemd_finds_no_fault_in_the_units() {
    let analyze = std::process::Command::new("systemd-analyze").arg("--version").output();
    if !analyze.is_ok_and(|output| output.status.success()) {
        return hpvm_tests::skip::skipped("no systemd-analyze: apt-get install systemd");
    }
    let units = concat!(env!("CARGO_MANIFEST_DIR"), "/../cluster/serve/units");
    let dir = tempfile::tempdir().unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(units).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !name.ends_with(".service") {
            continue;
        }
        let unit = std::fs::read_to_string(entry.path()).unwrap();
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=hpvm ")).unwrap();
        // Flags that the program does not know would be found at the first start only.
        let words: Vec<&str> = start.split(' ').chain(["--help"]).collect();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_hpvm")).args(&words).output();
        assert!(output.unwrap().status.success(), "{name}: {start}");
        let path = dir.path().join(&name);
        let started = format!("ExecStart={} ", env!("CARGO_BIN_EXE_hpvm"));
        std::fs::write(&path, unit.replace("ExecStart=hpvm ", &started)).unwrap();
        let mut verify = std::process::Command::new("systemd-analyze");
        let output = verify.args(["verify", "--man=no"]).arg(&path).output().unwrap();
        let said = text(&[output.stdout, output.stderr].concat());
        let about: Vec<&str> = said.lines().filter(|line| line.contains(&name)).collect();
        assert!(output.status.success() && about.is_empty(), "{name}: {said}");
        count += 1;
    }
    assert_eq!(count, 4);
}
