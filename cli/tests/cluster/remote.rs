//! A server with TLS, and commands that speak to it from elsewhere.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;
use std::time::Duration;

use crate::common::{self, PATIENCE};
use crate::server::Server;

/// An address of this machine that is not loopback's alone: outside loopback TLS is a must.
fn any() -> String {
    format!("0.0.0.0:{}", common::own_port())
}

struct Remote {
    server: Server,
    address: String,
}

impl Remote {
    fn start() -> Remote {
        let mut server = Server::new();
        server.begin_with(&["--listen", &any()]);
        let port = port(&server.link);
        Remote { server, address: format!("https://localhost:{port}") }
    }

    /// `hpvm` of somebody else, with a home of their own.
    fn hpvm(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.server.command();
        command.env("HPVM_SERVER", &self.address).env("HOME", self.server.dir.path());
        command.env_remove("XDG_CONFIG_HOME").args(args).stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn good(&self, args: &[&str], input: &str) -> String {
        let output = self.hpvm(args, input);
        assert!(output.status.success(), "{args:?}: {}", error(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The fingerprint that `hpvm login` shows.
    fn shown(&self) -> String {
        let output = self.hpvm(&["login"], "");
        let text = error(&output);
        assert!(!output.status.success() && text.contains("--fingerprint SHA256:"), "{text}");
        text.split_whitespace().find(|word| word.starts_with("SHA256:")).unwrap().to_string()
    }
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn port(link: &str) -> String {
    assert!(link.starts_with("https://"), "{link}");
    link.split("/#").next().unwrap().rsplit_once(':').unwrap().1.to_string()
}

#[test]
fn verbs_work_from_elsewhere_with_a_pinned_certificate() {
    let remote = Remote::start();
    remote.server.typed(&["user", "add", "ann"], "long enough\n");
    let refused = error(&remote.hpvm(&["queue"], ""));
    assert!(refused.contains("not signed in"), "{refused}");
    let fingerprint = remote.shown();
    let wrong = fingerprint.replace("SHA256:", "SHA256:00");
    let refused = error(&remote.hpvm(&["login", "--fingerprint", &wrong], ""));
    assert!(refused.contains(&fingerprint), "{refused}");
    let login = ["login", "-u", "ann", "--fingerprint", &fingerprint];
    let refused = error(&remote.hpvm(&login, "wrong password\n"));
    assert!(refused.contains("unknown user or wrong password"), "{refused}");
    assert!(remote.good(&login, "long enough\n").contains("Signed in as ann"));
    let file = remote.server.dir.path().join(".config/hpvm/servers.json");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file).unwrap());
    assert_eq!(mode & 0o777, 0o600);

    let id = remote.good(&["submit", "--parsable", "sh", "-c", "echo from elsewhere"], "");
    let id = id.trim();
    remote.good(&["wait", id], "");
    assert_eq!(remote.good(&["logs", id], ""), "from elsewhere\n");
    assert!(remote.good(&["show", id, "--json"], "").contains("\"user\":\"ann\""));
    assert!(remote.good(&["nodes"], "").contains("up"));
    // Of the owner's jobs ann sees nothing.
    let own = remote.server.submit(&["--hold", "true"]);
    assert!(error(&remote.hpvm(&["show", &own.to_string()], "")).contains("no job"));
    let top = remote.good(&["top", "--once", "--all", "-f", "user:me"], "");
    assert!(top.contains("  ann  "), "{top}");
    let top: serde_json::Value =
        serde_json::from_str(&remote.good(&["top", "--json", "--all"], "")).unwrap();
    assert_eq!(top["jobs"].as_array().unwrap().len(), 1, "{top}");
    remote.server.good(&["cancel", &own.to_string()]);

    // What others can read is not used.
    let chmod = |mode| {
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap()
    };
    chmod(0o644);
    assert!(error(&remote.hpvm(&["queue"], "")).contains("chmod 600"));
    chmod(0o600);
    remote.good(&["logout"], "");
    assert!(error(&remote.hpvm(&["queue"], "")).contains("not signed in"));
}

#[test]
fn the_authority_stays_over_restarts_and_another_is_not_believed() {
    let mut remote = Remote::start();
    remote.server.typed(&["user", "add", "ann"], "long enough\n");
    let fingerprint = remote.shown();
    let login = ["login", "-u", "ann", "--fingerprint", fingerprint.as_str()];
    remote.good(&login, "long enough\n");
    let listen = format!("0.0.0.0:{}", port(&remote.server.link));
    remote.server.end(libc::SIGTERM);
    remote.server.begin_with(&["--listen", &listen]);
    remote.good(&["queue"], "");
    // Somebody in between has another authority.
    remote.server.end(libc::SIGTERM);
    std::fs::remove_dir_all(remote.server.data().join("tls")).unwrap();
    remote.server.begin_with(&["--listen", &listen]);
    let refused = error(&remote.hpvm(&["queue"], ""));
    assert!(refused.contains("not the one that was pinned"), "{refused}");
    // A name that is not in the certificate.
    let named = remote.address.replace("localhost", "127.9.9.9");
    let mut command = remote.server.command();
    command.env("HPVM_SERVER", &named).env("HOME", remote.server.dir.path());
    assert!(!command.arg("queue").output().unwrap().status.success());
}

#[test]
fn plain_http_is_refused_outside_loopback() {
    let remote = Remote::start();
    let address = format!("127.0.0.1:{}", port(&remote.server.link));
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The answer comes before the request is complete, and who still writes is not cut off.
    stream.write_all(b"GET /api/v1/jobs HTTP/1.1\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 400") && text.contains("https://"), "{text}");
    for line in 0..50 {
        stream.write_all(format!("X-Line-{line}: more\r\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    // Who connects and says nothing keeps nobody else out.
    let _silent: Vec<_> = (0..20).map(|_| TcpStream::connect(&address).unwrap()).collect();
    remote.shown();
    let mut command = remote.server.command();
    command.env("HPVM_SERVER", "http://n1.example:8421");
    let refused = error(&command.arg("queue").output().unwrap());
    assert!(refused.contains("plain HTTP would show the token"), "{refused}");
}

#[test]
fn a_given_certificate_is_used() {
    let mut server = Server::new();
    // One of another server's own, with its authority behind it.
    let given = Server::new();
    let files = [given.dir.path().join("cert.pem"), given.dir.path().join("key.pem")];
    std::fs::write(&files[0], "no certificate").unwrap();
    std::fs::write(&files[1], "no key").unwrap();
    let flags = ["--tls-cert", files[0].to_str().unwrap(), "--tls-key", files[1].to_str().unwrap()];
    let refused = server.hpvm(&[&["serve", "--listen", "0"], &flags[..]].concat());
    assert!(error(&refused).contains("cert.pem"), "{}", error(&refused));
    // The authority that a server makes is a certificate like another.
    let mut maker = Server::new();
    maker.begin_with(&["--listen", &any()]);
    let tls = maker.data().join("tls");
    let text = |name: &str| tls.join(name).to_str().unwrap().to_string();
    let (certificate, key) = (text("authority.pem"), text("authority.key"));
    server.begin_with(&["--listen", "0", "--tls-cert", &certificate, "--tls-key", &key]);
    assert!(server.link.starts_with("https://127.0.0.1:"), "{}", server.link);
    let remote = Remote { address: server.link.split("/#").next().unwrap().into(), server };
    let fingerprint = remote.shown();
    let link = format!("{}\n", remote.server.link);
    remote.good(&["login", "--link", "--fingerprint", &fingerprint], &link);
    assert!(remote.good(&["user", "list"], "").contains("admin"));
}
