//! Users, roles, tokens: what each may, and that nobody may more. Attacks are among the scenarios.

use std::io::Write;
use std::net::TcpStream;

use crate::common::{self, PATIENCE};
use crate::server::Server;

fn token(server: &Server, flags: &[&str]) -> String {
    server.good(&[&["token", "create"], flags].concat()).trim().to_string()
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

#[test]
fn another_users_job_is_not_there() {
    let server = Server::start();
    let (ann, bob) = (server.user("ann", "user"), server.user("bob", "user"));
    let spec = r##"{"name":"secret-of-ann","script":"#!/bin/sh\necho secret\n","hold":true}"##;
    let made = server.http("POST", "/api/v1/jobs", &[&ann], spec);
    assert_eq!(made.status, 201, "{made:?}");
    for part in ["", "/output", "/output/follow", "/script", "/ranks", "/matrix", "/counters"] {
        let answer = server.http("GET", &format!("/api/v1/jobs/1{part}"), &[&bob], "");
        assert_eq!(answer.status, 404, "{part}: {answer:?}");
        // As of a job that does not exist.
        let none = server.http("GET", &format!("/api/v1/jobs/99{part}"), &[&bob], "");
        assert_eq!((none.status, none.body.replace("99", "1")), (404, answer.body), "{part}");
    }
    for (method, part) in
        [("POST", "/cancel"), ("POST", "/hold"), ("POST", "/release"), ("DELETE", "")]
    {
        let answer = server.http(method, &format!("/api/v1/jobs/1{part}"), &[&bob], "");
        assert_eq!(answer.status, 404, "{method} {part}: {answer:?}");
    }
    for path in ["/api/v1/jobs", "/api/v1/jobs?user=ann", "/api/v1/jobs?name=secret", "/plain"] {
        let answer = server.http("GET", path, &[&bob], "");
        assert!(answer.status == 200 && !answer.body.contains("secret"), "{path}: {answer:?}");
    }
    let seen = |cookie: &str| server.http("GET", "/api/v1/jobs/1", &[cookie], "").status;
    let admin = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    assert_eq!((seen(&ann), seen(&admin)), (200, 200));
    // Neither do events tell of it.
    let mut stream = events(&server, &bob);
    let own = server.http("POST", "/api/v1/jobs", &[&bob], r#"{"command":["true"],"hold":true}"#);
    assert_eq!(own.status, 201);
    server.good(&["release", "1"]);
    server.until(1, "ended");
    server.good(&["cancel", "2"]);
    let text = read_until(&mut stream, "\"cancelled\"");
    assert!(!text.contains("secret-of-ann") && !text.contains("\"id\":1,"), "{text}");
}

/// An open stream of events.
fn events(server: &Server, cookie: &str) -> TcpStream {
    let address = server.link.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET /api/v1/events HTTP/1.1\r\nConnection: close\r\nHost: {address}\r\n{cookie}\r\n\r\n"
    )
    .unwrap();
    let head = read_until(&mut stream, "caught-up");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    stream
}

/// Reads until a word has come, or the stream has ended.
fn read_until(stream: &mut TcpStream, word: &str) -> String {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !text.contains(word) {
        match common::read_some(stream, &mut bytes) {
            Ok(count @ 1..) => text += &String::from_utf8_lossy(&bytes[..count]),
            _ => break,
        }
    }
    text
}

#[test]
fn roles_bound_what_is_done() {
    let server = Server::start();
    let (ann, eve) = (server.user("ann", "user"), server.user("eve", "viewer"));
    let job = r#"{"command":["true"],"hold":true}"#;
    let host = hpvm_launch_host(&server);
    let drain = format!("/api/v1/hosts/{host}/drain");
    for (method, path, body, user, viewer) in [
        ("GET", "/api/v1/hosts", "", 200, 200),
        ("GET", "/api/v1/jobs", "", 200, 200),
        ("POST", "/api/v1/jobs", job, 201, 403),
        ("POST", "/api/v1/jobs/1/cancel", "", 200, 403),
        ("GET", "/api/v1/users", "", 403, 403),
        ("POST", "/api/v1/users", r#"{"name":"mallory","role":"admin"}"#, 403, 403),
        ("PUT", "/api/v1/users/ann/role", r#"{"role":"admin"}"#, 403, 403),
        ("PUT", "/api/v1/users/ann/password", r#"{"password":"another one"}"#, 403, 403),
        ("POST", "/api/v1/users/ann/link", "", 403, 403),
        ("DELETE", "/api/v1/users/ann", "", 403, 403),
        ("GET", "/api/v1/audit", "", 403, 403),
        ("GET", "/api/v1/tokens?all=true", "", 403, 403),
        ("POST", drain.as_str(), r#"{"reason":"x"}"#, 403, 403),
        ("PUT", "/api/v1/queues/main/limits", r#"{"ranks":1}"#, 403, 403),
        ("POST", "/api/v1/session/link", "", 403, 403),
    ] {
        let status = |cookie: &str| server.http(method, path, &[cookie], body).status;
        assert_eq!((status(&ann), status(&eve)), (user, viewer), "{method} {path}");
    }
    // A role that changes counts at once, in sessions that are open.
    server.good(&["user", "role", "eve", "user"]);
    assert_eq!(server.http("POST", "/api/v1/jobs", &[&eve], job).status, 201);
    server.good(&["cancel", "2"]);
    let wrong = server.hpvm(&["user", "add", "../x", "--link"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("expected 1 to 64 letters"));
}

/// The one host's name.
fn hpvm_launch_host(server: &Server) -> String {
    let hosts: serde_json::Value =
        serde_json::from_str(&server.good(&["nodes", "--json"])).unwrap();
    hosts["hosts"][0]["name"].as_str().unwrap().to_string()
}

#[test]
fn tokens_do_what_their_scopes_say_until_they_end() {
    let server = Server::start();
    let job = r#"{"command":["true"],"hold":true}"#;
    let (read, jobs) = (token(&server, &["r", "--scope", "read"]), token(&server, &["j"]));
    let admin = token(&server, &["a", "--scope", "admin", "--expires", "never"]);
    assert!(read.starts_with("hpvm_") && read.len() == 69, "{read}");
    let status = |token: &str, method: &str, path: &str, body: &str| {
        server.http(method, path, &[&bearer(token)], body).status
    };
    for (method, path, body, expected) in [
        ("GET", "/api/v1/jobs", "", [200, 200, 200]),
        ("POST", "/api/v1/jobs", job, [403, 201, 201]),
        ("GET", "/api/v1/users", "", [403, 403, 200]),
        // No token makes another, nor sets a password.
        ("POST", "/api/v1/tokens", r#"{"name":"x","scopes":["admin"]}"#, [403, 403, 403]),
        ("PUT", "/api/v1/session/password", r#"{"new":"long enough"}"#, [403, 403, 403]),
        ("POST", "/api/v1/session/link", "", [403, 403, 403]),
    ] {
        let found = [&read, &jobs, &admin].map(|token| status(token, method, path, body));
        assert_eq!(found, expected, "{method} {path}");
    }
    // Only hashes are stored.
    let store = std::fs::read(server.data().join("store.sqlite-wal")).unwrap();
    let secret = read.strip_prefix("hpvm_").unwrap().as_bytes();
    assert!(!store.windows(secret.len()).any(|part| part == secret));
    // Forged, cut, of another form, as a cookie.
    let last = if read.ends_with('0') { "1" } else { "0" };
    let forged = format!("{}{last}", &read[..read.len() - 1]);
    for bad in [forged.as_str(), &read[..60], "", "hpvm_' OR 1=1 --", &read[5..]] {
        assert_eq!(status(bad, "GET", "/api/v1/jobs", ""), 401, "{bad}");
    }
    let cookie = format!("Cookie: hpvm_session={}", &read[5..]);
    assert_eq!(server.http("GET", "/api/v1/jobs", &[&cookie], "").status, 401);
    // Who looks for tokens that nobody uses finds them.
    let idle = token(&server, &["idle"]);
    let list: serde_json::Value =
        serde_json::from_str(&server.good(&["token", "list", "--json"])).unwrap();
    let used = |name: &str| {
        let all = list.as_array().or(list["tokens"].as_array()).unwrap();
        let one = all.iter().find(|token| token["name"] == name).unwrap();
        !one["used"].is_null()
    };
    assert!(used("r") && used("j") && used("a") && !used("idle"), "{list}");
    assert_eq!(status(&idle, "GET", "/api/v1/jobs", ""), 200);
    // The end by hand, and by time.
    let list = server.good(&["token", "list"]);
    assert!(list.contains("admin") && list.contains("never"), "{list}");
    server.good(&["token", "revoke", "1"]);
    assert_eq!(status(&read, "GET", "/api/v1/jobs", ""), 401);
    let signed = server.sign_in(server.good(&["serve", "--link"]).trim()).cookie();
    let body = r#"{"name":"short","scopes":["read"],"expires_seconds":1}"#;
    let made = server.http("POST", "/api/v1/tokens", &[&format!("Cookie: {signed}")], body);
    let made: serde_json::Value = serde_json::from_str(&made.body).unwrap();
    let short = made["token"].as_str().unwrap();
    assert!(common::until(|| status(short, "GET", "/api/v1/jobs", "") == 401));
    server.good(&["cancel", "1", "2"]);
}

#[test]
fn a_new_password_a_role_and_a_removal_end_sessions_and_streams() {
    let server = Server::start();
    let ann = server.user("ann", "user");
    let body = r#"{"sign_in":{"user":"ann","password":"long enough"}}"#;
    let login = server.http("POST", "/api/v1/session/token", &[], body);
    let login: serde_json::Value = serde_json::from_str(&login.body).unwrap();
    let login = bearer(login["token"].as_str().unwrap());
    let status = |header: &str| server.http("GET", "/api/v1/session", &[header], "").status;
    assert_eq!((status(&ann), status(&login)), (200, 200));
    let mut stream = events(&server, &ann);
    let done = server.typed(&["user", "passwd", "ann"], "another one\n");
    assert!(done.status.success(), "{done:?}");
    // The connection closes with it; one that stayed open would end with the patience of this test.
    read_until(&mut stream, "this never comes");
    assert_eq!((status(&ann), status(&login)), (401, 401));
    let body = r#"{"user":"ann","password":"another one"}"#;
    let again = server.http("POST", "/api/v1/session", &[], body);
    let again = format!("Cookie: {}", again.cookie());
    let mut stream = events(&server, &again);
    server.good(&["user", "remove", "ann"]);
    read_until(&mut stream, "this never comes");
    assert_eq!(status(&again), 401);
    assert_eq!(server.http("POST", "/api/v1/session", &[], body).status, 401);
    let refused = server.hpvm(&["user", "remove", &owner(&server)]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("started this server"));
}

fn owner(server: &Server) -> String {
    let users: serde_json::Value =
        serde_json::from_str(&server.good(&["user", "list", "--json"])).unwrap();
    let all = users["users"].as_array().unwrap();
    all.iter().find(|user| user["owner"] == true).unwrap()["name"].as_str().unwrap().to_string()
}

#[test]
fn drained_hosts_start_nothing_limits_hold_and_the_log_says_who() {
    let server = Server::start();
    let host = hpvm_launch_host(&server);
    server.good(&["drain", &host, "a", "fan", "rattles"]);
    assert!(server.good(&["nodes"]).contains("drained"));
    let id = server.submit(&["true"]);
    let job = server.until(id, "pending");
    assert!(job["reason"].as_str().unwrap().contains("a fan rattles"), "{job}");
    // It stays so when the server is killed and begins anew.
    let mut server = server;
    server.end(libc::SIGKILL);
    server.begin();
    assert_eq!(server.show(id)["state"], "pending");
    server.good(&["resume", &host]);
    server.until(id, "ended");

    let admin = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let limits = r#"{"ranks":2,"time_limit_seconds":60,"jobs_per_user":1}"#;
    let set = server.http("PUT", "/api/v1/queues/main/limits", &[&admin], limits);
    assert_eq!(set.status, 200, "{set:?}");
    let error = |args: &[&str]| {
        let output = server.hpvm(args);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(error(&["submit", "-n", "3", "true"]).contains("limit is 2"));
    assert!(error(&["submit", "-t", "2", "true"]).contains("limit is 60 s"));
    let held = server.submit(&["--hold", "true"]);
    assert_eq!(server.show(held)["time_limit_seconds"], 60);
    assert!(error(&["submit", "true"]).contains("the limit is 1"));
    assert!(server.good(&["queues"]).contains("01:00"), "{}", server.good(&["queues"]));
    server.good(&["cancel", &held.to_string()]);

    let log = server.http("GET", "/api/v1/audit", &[&admin], "").body;
    for word in ["drain", "a fan rattles", "resume", "submit", "set limits", "127.0.0.1", "socket"]
    {
        assert!(log.contains(word), "the log lacks {word}: {log}");
    }
    let page = server.http("GET", "/api/v1/audit?limit=1", &[&admin], "").body;
    assert!(page.contains("next_before"), "{page}");
}

#[test]
fn strangers_and_guesses_are_slowed_down() {
    let server = Server::start();
    let guess = |n: u32| {
        let body = format!(r#"{{"user":"guess-{n}","password":"long enough"}}"#);
        server.http("POST", "/api/v1/session", &[], &body)
    };
    // Another account each time: the address counts.
    let slowed = (0..30).map(guess).find(|answer| answer.status == 429).expect("a limit");
    assert!(slowed.head.to_lowercase().contains("retry-after:"), "{slowed:?}");
    let made_up = bearer(&format!("hpvm_{}", "a".repeat(64)));
    let slowed = (0..300)
        .map(|_| server.http("GET", "/api/v1/jobs", &[&made_up], ""))
        .find(|answer| answer.status == 429);
    assert!(slowed.expect("a limit").head.to_lowercase().contains("retry-after:"));
    // Who is known is not a stranger.
    let good = bearer(&token(&server, &["good"]));
    assert_eq!(server.http("GET", "/api/v1/jobs", &[&good], "").status, 200);
}
