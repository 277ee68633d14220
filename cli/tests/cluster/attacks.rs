//! Attacks on a running server that need more than one request, or a request that no client sends.

use std::io::Write;
use std::net::TcpStream;

use crate::common::{self, PATIENCE};
use crate::server::{Answer, Server};

/// Sends these bytes on one connection and gives all that comes until the server closes it: the last
/// request in them has to ask for that.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = connect(server);
    // A server that refuses may not read to the end.
    let _ = stream.write_all(bytes);
    let mut text = Vec::new();
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = common::read_some(&mut stream, &mut part) {
        text.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn address(server: &Server) -> String {
    server.link.strip_prefix("http://").unwrap().split('/').next().unwrap().to_string()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(address(server)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn post(server: &Server, cookie: &str, key: &str, body: &str) -> Answer {
    let key = format!("Idempotency-Key: {key}");
    server.http("POST", "/api/v1/jobs", &[cookie, &key], body)
}

fn id(answer: &Answer) -> i64 {
    let value: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    value["id"].as_i64().unwrap_or_else(|| panic!("{answer:?}"))
}

const HELD: &str = r#"{"command":["true"],"hold":true}"#;

#[test]
fn another_users_key_is_another_key() {
    let server = Server::start();
    let (ann, bob) = (server.user("ann", "user"), server.user("bob", "user"));
    let first = post(&server, &ann, "k", HELD);
    let second = post(&server, &bob, "k", HELD);
    assert_eq!((first.status, second.status), (201, 201));
    assert_ne!(id(&first), id(&second), "bob is not given ann's job");
    let other = post(&server, &bob, "k", r#"{"command":["false"]}"#);
    assert_eq!(other.status, 409);
    assert!(!other.body.contains(&format!("job {}", id(&first))), "{}", other.body);
}

#[test]
fn requests_that_race_have_one_effect() {
    let server = Server::start();
    let ann = server.user("ann", "user");
    let at_once = |send: &(dyn Fn() -> Answer + Sync)| -> Vec<Answer> {
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..12).map(|_| scope.spawn(send)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        })
    };
    let made = at_once(&|| post(&server, &ann, "race", HELD));
    assert!(
        made.iter().all(|answer| answer.status == 201 && id(answer) == id(&made[0])),
        "{made:?}"
    );
    assert_eq!(server.jobs().len(), 1);
    let job = id(&made[0]);
    let act = |what: &str| format!("/api/v1/jobs/{job}/{what}");
    let released = at_once(&|| server.http("POST", &act("release"), &[&ann], ""));
    assert!(released.iter().all(|answer| [200, 409].contains(&answer.status)), "{released:?}");
    assert!(released.iter().any(|answer| answer.status == 200), "{released:?}");
    server.until(job, "ended");
    // One that runs, ended by all at once.
    let job = server.submit(&["sleep", "1000"]);
    server.until(job, "running");
    let path = format!("/api/v1/jobs/{job}/cancel");
    let owner = server.sign_in(server.good(&["serve", "--link"]).trim()).cookie();
    let owner = format!("Cookie: {owner}");
    let ended = at_once(&|| server.http("POST", &path, &[&owner], ""));
    assert!(ended.iter().all(|answer| [200, 409].contains(&answer.status)), "{ended:?}");
    assert_eq!(server.until(job, "ended")["exit_code"], 143);
    assert_eq!(server.jobs().iter().filter(|each| each["id"] == job).count(), 1);
    let removed = at_once(&|| server.http("DELETE", &format!("/api/v1/jobs/{job}"), &[&owner], ""));
    assert_eq!(removed.iter().filter(|answer| answer.status == 204).count(), 1, "{removed:?}");
    assert!(removed.iter().all(|answer| [204, 404].contains(&answer.status)), "{removed:?}");
}

/// What a proxy and the server could read as two different requests is one or none here.
#[test]
fn no_request_hides_in_another() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let host = address(&server);
    let inner = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{HELD}GET /healthz HTTP/1.1\r\nHost: {host}\r\n\
         Connection: close\r\n\r\n",
        HELD.len()
    );
    let head = format!("POST /api/v1/jobs?validate=1 HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
    let length = inner.len();
    for (name, bytes) in [
        (
            "both",
            format!(
                "{head}Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"
            ),
        ),
        (
            "two lengths",
            format!("{head}Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{inner}"),
        ),
        ("a list of lengths", format!("{head}Content-Length: 0, {length}\r\n\r\n{inner}")),
        ("a signed length", format!("{head}Content-Length: +0\r\n\r\n{inner}")),
        ("an odd coding", format!("{head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{inner}")),
        (
            "a coding before the last",
            format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}"),
        ),
        ("space before the colon", format!("{head}Content-Length : {length}\r\n\r\n{inner}")),
        (
            "a folded line",
            format!("{head}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"),
        ),
        ("a chunk's size", format!("{head}Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n{inner}")),
        (
            "a huge chunk",
            format!("{head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{inner}"),
        ),
    ] {
        let answer = raw(&server, bytes.as_bytes());
        assert!(!answer.contains("201 Created"), "{name}: {answer}");
    }
    assert_eq!(server.jobs().len(), 0);
    // And the inner one alone is good, so it could have been seen.
    assert!(raw(&server, inner.as_bytes()).contains("201 Created"));
    for name in ["a\r\nX-Injected: 1", "\u{1}", "é"] {
        let path = format!(
            "/api/v1/jobs?name={}",
            name.bytes().map(|b| format!("%{b:02x}")).collect::<String>()
        );
        let answer = server.http("GET", &path, &[&cookie], "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(!answer.head.to_lowercase().contains("x-injected"), "{}", answer.head);
    }
}

#[test]
fn requests_have_a_largest_size() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nHost: {}\r\n{cookie}\r\nContent-Type: application/json\r\n\
         Connection: close\r\n",
        address(&server)
    );
    // Without a length, 20 MiB in chunks.
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    let chunk = [&b"100000\r\n"[..], &vec![b' '; 1 << 20], b"\r\n"].concat();
    (0..20).for_each(|_| chunked.extend_from_slice(&chunk));
    chunked.extend_from_slice(b"0\r\n\r\n");
    let said = raw(&server, &chunked);
    assert!(!said.contains("201 Created"), "{said}");
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(1 << 20));
    let refused = |said: &str| said.is_empty() || said.starts_with("HTTP/1.1 4");
    // Who is refused while still writing may find the connection reset before the answer.
    let said = raw(&server, long.as_bytes());
    assert!(refused(&said), "{said}");
    let many: String = (0..10_000).map(|n| format!("X-{n}: y\r\n")).collect();
    let said = raw(&server, format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n").as_bytes());
    assert!(refused(&said), "{said}");
    // Deep JSON ends as an error, not with the stack.
    let deep = format!(r#"{{"command":{}"#, "[".repeat(1 << 20));
    let said = server.http("POST", "/api/v1/jobs", &[&cookie], &deep);
    assert!([400, 422].contains(&said.status), "{said:?}");
    assert_eq!(server.http("GET", "/api/v1/jobs", &[&cookie], "").status, 200);
    assert_eq!(server.jobs().len(), 0);
}

#[test]
fn who_only_connects_keeps_nobody_out() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    // Some say nothing, some half of a request.
    let mut idle: Vec<TcpStream> = (0..400).map(|_| connect(&server)).collect();
    for stream in idle.iter_mut().skip(200) {
        stream.write_all(b"POST /api/v1/jobs HTTP/1.1\r\nContent-Length: 9\r\nX-").unwrap();
    }
    assert_eq!(server.http("GET", "/api/v1/jobs", &[&cookie], "").status, 200);
    let job = server.submit(&["true"]);
    server.until(job, "ended");
    assert_eq!(idle.len(), 400);
}

/// What filters mean to the store's languages they do not mean here.
#[test]
fn filters_are_values_only() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let strange = r#"a"b* OR NEAR(x, 1) ' %_"#;
    server.submit(&["-H", "-J", strange, "true"]);
    server.submit(&["-H", "-J", "poisson", "true"]);
    let found = |field: &str, value: &str| {
        let value: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let answer = server.http("GET", &format!("/api/v1/jobs?{field}={value}"), &[&cookie], "");
        assert_eq!(answer.status, 200, "{value}: {}", answer.body);
        let list: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        list["jobs"].as_array().unwrap().len()
    };
    for (part, count) in [
        ("\"", 1),
        ("*", 1),
        (" OR ", 1),
        ("NEAR(", 1),
        ("x, 1", 1),
        ("%", 1),
        ("_", 1),
        ("'", 1),
        ("poisson\" OR \"a", 0),
        ("words : p", 0),
        ("^po", 0),
        ("-po", 0),
        ("{a}", 0),
        ("\0", 0),
        ("oisson", 1),
        ("s", 1),
        ("", 2),
    ] {
        assert_eq!(found("name", part), count, "{part:?}");
        assert_eq!(found("host", part), 0, "{part:?}");
        assert_eq!(found("user", &format!("nobody{part}")), 0, "{part:?}");
    }
}

#[test]
fn a_report_is_its_owners_and_runs_nothing() {
    let server = Server::start();
    let (ann, bob) = (server.user("ann", "user"), server.user("bob", "user"));
    let make = |text: &str| {
        let body = serde_json::json!({ "command": ["echo", text] }).to_string();
        let job = id(&server.http("POST", "/api/v1/jobs", &[&ann], &body));
        server.until(job, "ended");
        format!("/api/v1/jobs/{job}/report")
    };
    let path = make("<!DOCTYPE html><script>alert(1)</script>");
    let page = server.http("GET", &path, &[&ann], "");
    assert_eq!(page.status, 200, "{page:?}");
    let head = page.head.to_lowercase();
    assert!(head.contains("content-security-policy: sandbox; default-src 'none'"), "{head}");
    assert_eq!(head.matches("content-security-policy").count(), 1, "{head}");
    assert!(head.contains("text/html") && head.contains("nosniff"), "{head}");
    let file = server.http("GET", &format!("{path}?download=1"), &[&ann], "");
    assert!(file.head.contains("attachment; filename=\"report-"), "{}", file.head);
    assert_eq!(server.http("GET", &path, &[&bob], "").status, 404);
    assert_eq!(server.http("GET", &path, &[], "").status, 401);
    let none = server.http("GET", &make("hello"), &[&ann], "");
    assert!(none.status == 404 && none.body.contains("has written no report"), "{none:?}");
}
