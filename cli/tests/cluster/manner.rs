//! Flags that all commands take: what `-q` leaves out, what `-v` adds, colours, the order of lists,
//! JSON.

use serde_json::Value;

use crate::server::Server;

/// All that speak to a server.
const VERBS: [&str; 18] = [
    "submit", "queue", "show", "logs", "cancel", "hold", "release", "wait", "nodes", "queues",
    "top", "drain", "resume", "login", "logout", "user", "token", "doctor",
];

#[test]
fn every_command_has_the_flags() {
    let server = Server::new();
    for verb in VERBS {
        let help = server.good(&[verb, "--help"]);
        for flag in ["-q, --quiet", "-v, --verbose", "--color <WHEN>"] {
            assert!(help.contains(flag), "{verb}: {help}");
        }
    }
}

#[test]
fn quiet_leaves_out_what_was_not_asked_for_and_verbose_says_who_is_asked() {
    let server = Server::start();
    assert_eq!(server.good(&["submit", "-q", "-H", "true"]), "");
    assert_eq!(server.good(&["submit", "-q", "--parsable", "-H", "true"]), "2\n");
    for list in [&["queue"][..], &["nodes"], &["queues"], &["user", "list"], &["token", "list"]] {
        let whole = server.good(list);
        let quiet = server.good(&[list, &["-q"]].concat());
        let (head, rest) = whole.split_once('\n').unwrap();
        assert!(head.starts_with(|c: char| c.is_ascii_uppercase()), "{list:?}: {head}");
        assert_eq!(rest.lines().count(), quiet.lines().count(), "{list:?}: {quiet}");
        assert!(!quiet.contains(head), "{list:?}: {quiet}");
    }
    let loud = server.hpvm(&["queue", "-v"]);
    let said = String::from_utf8_lossy(&loud.stderr).into_owned();
    assert!(said.contains(server.data().to_str().unwrap()) && said.contains(" ms"), "{said}");
    assert_eq!(String::from_utf8_lossy(&loud.stdout), server.good(&["queue"]));
    // What a job's end was for is a remark; the code says it, too.
    server.good(&["cancel", "1"]);
    let waits = |flags: &[&str]| server.hpvm(&[&["wait", "1"][..], flags].concat());
    assert!(String::from_utf8_lossy(&waits(&[]).stderr).contains("job 1"));
    let quiet = waits(&["-q"]);
    assert_eq!((quiet.status.code(), quiet.stderr.len()), (Some(143), 0));
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let server = Server::start();
    server.submit(&["-H", "true"]);
    let list = |flags: &[&str]| server.good(&[&["queue"][..], flags].concat());
    let plain = list(&[]);
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let coloured = list(&["--color=always"]);
    assert!(coloured.contains("\x1b[33mheld\x1b[0m"), "{coloured:?}");
    let mut bare = String::new();
    for part in coloured.split('\x1b') {
        bare +=
            part.split_once('m').filter(|_| part.starts_with('[')).map_or(part, |(_, rest)| rest);
    }
    assert_eq!(bare, plain, "the same letters in the same columns");
    assert_eq!(list(&["--color", "never"]), plain);
    let wrong = server.hpvm(&["queue", "--color", "blue"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("'blue'") && said.contains("always, never"), "{said}");
}

#[test]
fn lists_have_the_order_that_is_asked_for() {
    let server = Server::start();
    for (name, ranks, priority) in [("b", "2", "5"), ("a", "1", "7"), ("c", "2", "0")] {
        server.submit(&["-H", "-J", name, "-n", ranks, "--priority", priority, "true"]);
    }
    let order = |key: &str| -> Vec<i64> {
        let text = server.good(&["queue", "--json", "--sort", key]);
        let value: Value = serde_json::from_str(&text).unwrap();
        value["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_i64().unwrap()).collect()
    };
    for (key, ids) in [
        ("id", [1, 2, 3]),
        ("-id", [3, 2, 1]),
        ("name", [2, 1, 3]),
        ("-name", [3, 1, 2]),
        ("ranks", [2, 1, 3]),
        ("-ranks", [1, 3, 2]),
        ("priority", [3, 1, 2]),
        ("-priority", [2, 1, 3]),
        ("user", [1, 2, 3]),
        ("state", [1, 2, 3]),
        ("time", [1, 2, 3]),
    ] {
        assert_eq!(order(key), ids, "{key}");
    }
    let wrong = server.hpvm(&["queue", "--sort", "size"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("'size'"), "{wrong:?}");
}

#[test]
fn what_is_done_to_jobs_is_told_as_json() {
    let server = Server::start();
    server.submit(&["-H", "true"]);
    let of = |verb: &str| -> Value {
        let text = server.good(&[verb, "--json", "1"]);
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(of("release")["id"], 1);
    server.until(1, "ended");
    let ended = of("wait");
    assert_eq!((&ended["id"], &ended["state"]), (&1.into(), &"ended".into()));
    assert_eq!(ended["outcome"]["code"], 0, "{ended}");
}
