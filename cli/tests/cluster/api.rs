//! The API: what it answers, and what it must not. Attacks are among the scenarios.

use crate::common;
use crate::server::Server;

/// A request with what its answer holds and does not hold.
struct Scenario {
    request: (&'static str, &'static str, &'static str),
    status: u16,
    has: &'static [&'static str],
    has_not: &'static [&'static str],
}

const fn case(
    request: (&'static str, &'static str, &'static str),
    status: u16,
    has: &'static [&'static str],
    has_not: &'static [&'static str],
) -> Scenario {
    Scenario { request, status, has, has_not }
}

const SECRETS: &[&str] = &["poisson", "\"jobs\"", "argon2"];

#[test]
fn nothing_is_told_to_strangers() {
    let server = Server::start();
    server.submit(&["-J", "poisson", "true"]);
    for path in [
        "/api/v1/jobs",
        "/api/v1/jobs/1",
        "/api/v1/jobs/1/output",
        "/api/v1/jobs/1/output/follow",
        "/api/v1/jobs/1/script",
        "/api/v1/jobs/1/ranks",
        "/api/v1/hosts",
        "/api/v1/queues",
        "/api/v1/info",
        "/api/v1/events",
        "/metrics",
        "/plain/jobs/1",
    ] {
        let answer = server.http("GET", path, &[], "");
        assert_eq!(answer.status, 401, "{path}");
        assert!(!SECRETS.iter().any(|word| answer.body.contains(word)), "{path}: {}", answer.body);
    }
    for path in ["/api/v1/jobs", "/api/v1/jobs/1/cancel", "/api/v1/session/link"] {
        let answer = server.http("POST", path, &[], r#"{"command":["touch","/tmp/owned"]}"#);
        assert_eq!(answer.status, 401, "{path}");
    }
    // Tokens that were made up.
    let long = "f".repeat(64);
    for token in ["", "' OR 1=1 --", "admin", long.as_str()] {
        let cookie = format!("Cookie: hpvm_session={token}");
        assert_eq!(server.http("GET", "/api/v1/jobs", &[&cookie], "").status, 401, "{token}");
    }
}

#[test]
fn scenarios() {
    let server = Server::start();
    let signed = server.sign_in(&server.link);
    assert_eq!(signed.status, 200, "{signed:?}");
    assert!(signed.head.contains("HttpOnly; SameSite=Strict"), "{}", signed.head);
    assert_eq!(server.sign_in(&server.link).status, 401, "a link works once");
    let cookie = format!("Cookie: {}", signed.cookie());
    let good = r#"{"command":["true"],"hold":true,"name":"<script>alert(1)</script>"}"#;
    for s in [
        case(("POST", "/api/v1/jobs", good), 201, &["\"state\":\"held\"", "\"id\":1"], &[]),
        case(("GET", "/api/v1/jobs/1", ""), 200, &["command_line", "why_not"], &[]),
        case(("GET", "/api/v1/jobs/2", ""), 404, &["there is no job 2"], &[]),
        case(("GET", "/api/v1/jobs/x", ""), 404, &["no name of a job"], &[]),
        case(("GET", "/plain", ""), 200, &["&lt;script&gt;"], &["<script"]),
        case(("GET", "/plain/jobs/1", ""), 200, &["&lt;script&gt;"], &["<script"]),
        case(("GET", "/api/v1/jobs?state=ended", ""), 200, &["\"jobs\":[]"], &[]),
        case(("GET", "/api/v1/jobs?state=nonsense", ""), 400, &["expected active"], &[]),
        case(("GET", "/api/v1/jobs?name=%27%20OR%201%3D1%20--", ""), 200, &["\"jobs\":[]"], &[]),
        case(
            ("GET", "/api/v1/jobs?host=%27%3BDROP%20TABLE%20jobs%3B", ""),
            200,
            &["\"jobs\":[]"],
            &[],
        ),
        case(("GET", "/api/v1/jobs?limit=0", ""), 400, &["limit is 0"], &[]),
        case(("GET", "/api/v1/jobs?page_token=zzz", ""), 400, &["page_token"], &[]),
        case(("GET", "/api/v1/jobs?nonsense=1", ""), 400, &["nonsense"], &[]),
        case(("POST", "/api/v1/jobs", "{}"), 422, &["\"field\":\"command\""], &[]),
        case(("POST", "/api/v1/jobs", "not json"), 400, &["\"status\":400"], &[]),
        case(("POST", "/api/v1/jobs", r#"{"command":["x"],"evil":1}"#), 422, &["evil"], &[]),
        case(
            ("POST", "/api/v1/jobs?validate=1", r#"{"command":["a b"],"ranks":4}"#),
            200,
            &["hpvm submit -n 4 'a b'", "estimated_start"],
            &[],
        ),
        case(
            ("POST", "/api/v1/jobs", r#"{"command":["./missing"],"workdir":"/"}"#),
            422,
            &["\"field\":\"command\"", "./missing: there is no such file"],
            &[],
        ),
        case(
            (
                "POST",
                "/api/v1/jobs?validate=1",
                r#"{"command":["./missing"],"workdir":"/of/another/host"}"#,
            ),
            200,
            &["hpvm submit", "./missing"],
            &[],
        ),
        case(
            (
                "POST",
                "/api/v1/jobs",
                r#"{"command":["x"],"depends_on":[{"kind":"afterok","job":99}]}"#,
            ),
            404,
            &["no job 99 to depend on"],
            &[],
        ),
        case(("DELETE", "/api/v1/jobs/1", ""), 409, &["cancel it first"], &[]),
        case(("GET", "/api/v1/jobs/1/matrix", ""), 409, &["is held"], &[]),
        case(("GET", "/api/v1/jobs/1/matrix?unit=miles", ""), 400, &["unit"], &[]),
        case(("GET", "/api/v1/jobs/1/counters", ""), 409, &["is held"], &[]),
        case(("GET", "/api/v1/jobs/1/ranks", ""), 409, &["is held"], &[]),
        case(
            ("POST", "/api/v1/jobs/1/cancel", ""),
            200,
            &["\"cancelled\"", "\"exit_code\":143"],
            &[],
        ),
        case(("POST", "/api/v1/jobs/1/release", ""), 409, &["is not held"], &[]),
        case(("DELETE", "/api/v1/jobs/1", ""), 204, &[], &[]),
        case(("GET", "/api/v1/jobs/1", ""), 404, &[], &[]),
        case(("GET", "/api/v1/hosts", ""), 200, &["\"state\":\"up\"", "\"cpus\""], &[]),
        case(("GET", "/api/v1/hosts/..%2F..%2Fetc/history", ""), 404, &["no host"], &[]),
        case(("GET", "/api/v1/openapi.json", ""), 200, &["\"openapi\""], &[]),
        case(("GET", "/metrics", ""), 200, &["hpvm_jobs{state=\"running\"} 0"], &[]),
        case(("GET", "/api/v1/nothing", ""), 404, &["\"status\":404"], &[]),
        case(("GET", "/../../../../etc/passwd", ""), 404, &[], &["root:"]),
        case(("GET", "/%2e%2e/%2e%2e/etc/passwd", ""), 404, &[], &["root:"]),
        case(("POST", "/api/v1/session/link", ""), 403, &[], &["#link="]),
    ] {
        let (method, path, body) = s.request;
        let answer = server.http(method, path, &[&cookie], body);
        assert_eq!(answer.status, s.status, "{method} {path}: {}", answer.body);
        for word in s.has {
            assert!(answer.body.contains(word), "{method} {path} lacks {word}: {}", answer.body);
        }
        for word in s.has_not {
            assert!(!answer.body.contains(word), "{method} {path} has {word}");
        }
        assert!(answer.head.contains("content-security-policy"), "{method} {path}");
    }
}

#[test]
fn requests_of_other_sites_are_refused() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let job = r#"{"command":["true"]}"#;
    for header in [
        "Origin: http://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Host: evil.example",
    ] {
        let answer = server.http("POST", "/api/v1/jobs", &[&cookie, header], job);
        assert_eq!(answer.status, 403, "{header}");
    }
    let form = ["Content-Type: application/x-www-form-urlencoded", "Origin: http://evil.example"];
    let headers = [&[cookie.as_str()][..], &form].concat();
    assert_eq!(server.http("POST", "/plain/jobs", &headers, "command=true&ranks=1").status, 403);
    assert_eq!(server.jobs().len(), 0);
}

#[test]
fn the_same_key_is_the_same_job() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let post = |key: &str, body: &str| {
        let key = format!("Idempotency-Key: {key}");
        server.http("POST", "/api/v1/jobs", &[&cookie, &key], body)
    };
    let job = r#"{"command":["true"],"hold":true}"#;
    let (one, two) = (post("a", job), post("a", job));
    assert_eq!((one.status, two.status), (201, 201));
    assert!(two.body.contains("\"id\":1"), "{}", two.body);
    assert_eq!(post("a", r#"{"command":["false"]}"#).status, 409);
    assert!(post("b", job).body.contains("\"id\":2"));
}

#[test]
fn a_password_ends_other_sessions_and_wrong_ones_look_the_same() {
    let server = Server::start();
    let first = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let second = server.sign_in(server.good(&["serve", "--link"]).trim());
    let second = format!("Cookie: {}", second.cookie());
    let set = |cookie: &str, body: &str| {
        server.http("PUT", "/api/v1/session/password", &[cookie], body).status
    };
    assert_eq!(set(&first, r#"{"new":"short"}"#), 422);
    assert_eq!(set(&first, r#"{"new":"long enough"}"#), 204);
    let status = |cookie: &str| server.http("GET", "/api/v1/session", &[cookie], "").status;
    assert_eq!((status(&first), status(&second)), (200, 401));
    assert_eq!(set(&first, r#"{"new":"another one","old":"wrong"}"#), 422);
    let user: serde_json::Value =
        serde_json::from_str(&server.http("GET", "/api/v1/session", &[&first], "").body).unwrap();
    let user = user["user"].as_str().unwrap().to_string();
    let sign_in = |user: &str, password: &str| {
        let body = format!(r#"{{"user":"{user}","password":"{password}"}}"#);
        server.http("POST", "/api/v1/session", &[], &body)
    };
    let (wrong, unknown) = (sign_in(&user, "wrong password"), sign_in("nobody", "wrong password"));
    assert_eq!((wrong.status, &wrong.body), (401, &unknown.body));
    let good = sign_in(&user, "long enough");
    assert_eq!(good.status, 200);
    let cookie = format!("Cookie: {}", good.cookie());
    assert_eq!(server.http("DELETE", "/api/v1/session", &[&cookie], "").status, 204);
    assert_eq!(status(&cookie), 401);
    // Too many attempts.
    let last = (0..30).map(|_| sign_in("nobody", "guess")).find(|answer| answer.status == 429);
    assert!(last.expect("a limit").head.to_lowercase().contains("retry-after:"));
}

#[test]
fn an_output_is_only_ever_what_the_job_wrote() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let out = server.dir.path().join("out");
    let id = server.submit(&["-o", out.to_str().unwrap(), "bash", "-c", "echo '<b>text</b>'"]);
    server.until(id, "ended");
    let get = |query: &str| {
        server.http("GET", &format!("/api/v1/jobs/{id}/output{query}"), &[&cookie], "")
    };
    let answer = get("");
    assert_eq!(answer.body, "<b>text</b>\n");
    assert!(answer.head.contains("text/plain") && answer.head.contains("x-size: 12"));
    assert_eq!(get("?offset=3&limit=4").body, "text");
    assert_eq!(get("?offset=-5").body, "</b>\n".to_string()[..].to_string());
    assert_eq!(get("?offset=1000").body, "");
    assert!(get("?download=1").head.contains("attachment"));
    assert_eq!(get("?stream=../../etc/passwd").status, 400);
    std::fs::remove_file(&out).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &out).unwrap();
    assert_eq!(get("").status, 404);
    std::fs::remove_file(&out).unwrap();
    std::fs::write(&out, "something else").unwrap();
    assert!(get("").body.contains("not the file that the job wrote"));
}

#[test]
fn a_stream_resumes_where_it_was_cut() {
    let server = Server::start();
    let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
    let id = server.submit(&["true"]);
    server.until(id, "ended");
    // The stream ends with the server, so it is read to its end.
    let read = |path: &str, server: &mut Server| {
        let (link, cookie) = (server.link.clone(), cookie.clone());
        let path = path.to_string();
        let reader = std::thread::spawn(move || stream_of(&link, &path, &cookie));
        assert!(common::until(|| {
            server.good(&["queue"]);
            reader.is_finished() || STREAMS.load(std::sync::atomic::Ordering::SeqCst) > 0
        }));
        server.end(libc::SIGTERM);
        server.begin();
        STREAMS.store(0, std::sync::atomic::Ordering::SeqCst);
        reader.join().unwrap()
    };
    let mut server = server;
    let fresh = read("/api/v1/events", &mut server);
    assert!(fresh.contains("event: snapshot") && fresh.contains("event: caught-up"), "{fresh}");
    assert!(!fresh.contains("\nid:"), "control events carry no id: {fresh}");
    let resumed = read("/api/v1/events?after=0", &mut server);
    assert!(!resumed.contains("event: snapshot"), "{resumed}");
    let ids: Vec<i64> =
        resumed.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]) && ids.len() >= 3, "{ids:?}");
    let last = format!("/api/v1/events?after={}", ids[ids.len() - 2]);
    let rest = read(&last, &mut server);
    assert_eq!(rest.matches("event: job").count(), 1, "{rest}");
    let strange = read("/api/v1/events?after=1000000", &mut server);
    assert!(strange.contains("event: snapshot"), "{strange}");
}

/// Streams that have said that they caught up.
static STREAMS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Reads a stream of events until the server ends it.
fn stream_of(link: &str, path: &str, cookie: &str) -> String {
    use std::io::Write;
    let address = link.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(common::PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{cookie}\r\n\r\n").unwrap();
    let mut text = Vec::new();
    let mut bytes = [0; 4096];
    let mut told = false;
    while let Ok(count @ 1..) = common::read_some(&mut stream, &mut bytes) {
        text.extend_from_slice(&bytes[..count]);
        if !told && String::from_utf8_lossy(&text).contains("event: caught-up") {
            told = true;
            STREAMS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
