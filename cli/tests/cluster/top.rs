//! `hpvm top`: one frame as text and as JSON, and on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::Value;

use crate::common::{self, PATIENCE};
use crate::server::Server;

fn json(server: &Server, flags: &[&str]) -> Value {
    serde_json::from_str(&server.good(&[&["top", "--json"], flags].concat())).unwrap()
}

fn ids(value: &Value) -> Vec<i64> {
    value["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_i64().unwrap()).collect()
}

#[test]
fn one_frame_shows_hosts_jobs_and_ranks() {
    let server = Server::start();
    let ended = server.submit(&["-J", "over", "false"]);
    server.until(ended, "ended");
    let running = server.submit(&["-J", "busy", "-n", "2", "sleep", "1000"]);
    let held = server.submit(&["-J", "late", "-H", "-t", "10", "true"]);
    server.until(running, "running");
    let text = server.good(&["top", "--once"]);
    for word in [
        "processors reserved   running 1   pending 0   held 1   by id",
        "HOST  ",
        "  up  ",
        "HOSTS (REASON)",
        "2    busy",
        "late",
        "00:10:00",
        "Ranks of job 2 busy: none of them has begun MPI",
    ] {
        assert!(text.contains(word), "no {word:?} in\n{text}");
    }
    assert!(!text.contains("over") && !text.contains('\u{1b}'), "{text:?}");
    let value = json(&server, &["--all", "--sort", "name"]);
    assert_eq!(ids(&value), [running, held, ended]);
    assert!(value["hosts"][0]["cpus"].as_i64() > Some(0), "{value}");
    assert_eq!(
        (&value["ranks"]["job"], &value["ranks"]["ranks"]),
        (&running.into(), &Value::Array(vec![]))
    );
    assert_eq!(ids(&json(&server, &["-f", "state:failed"])), [ended]);
    assert_eq!(ids(&json(&server, &["-f", "user:me", "-r"])), [held, running]);
    assert_eq!(json(&server, &["-j", &held.to_string()])["ranks"], Value::Null);
    let over = server.good(&["top", "--once", "-f", "over"]);
    assert!(!over.contains("code 1"), "{over}");
    let over = server.good(&["top", "--once", "-f", "over", "-a"]);
    assert!(
        over.contains("(code 1)") && over.contains("Ranks of job 1 over: it is ended"),
        "{over}"
    );
    server.good(&["cancel", &running.to_string()]);
}

#[test]
fn a_narrow_terminal_shows_no_half_numbers() {
    let server = Server::start();
    let id = server.submit(&["-J", "busy", "-t", "10", "sleep", "1000"]);
    server.until(id, "running");
    let frame = |columns: &str| {
        let mut command = server.command();
        let output = command.args(["top", "--once"]).env("COLUMNS", columns).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Bars come with the first sample.
    assert!(common::until(|| frame("80").contains('[')));
    for columns in ["80", "60", "44", "40"] {
        let text = frame(columns);
        let count = |sign: char| text.matches(sign).count();
        assert!(count('[') > 0 && count('[') == count('%'), "{columns}:\n{text}");
        let job = text.lines().find(|line| line.contains("busy")).unwrap_or(&text);
        assert!(job.contains("running"), "{columns}: {job}");
        let times = job.split_whitespace().filter(|word| word.contains(':'));
        assert!(times.clone().all(|word| word.len() == 8), "{columns}: {job}");
        assert!(text.lines().next().unwrap().contains("held 0"), "{columns}:\n{text}");
    }
    server.good(&["cancel", &id.to_string()]);
}

#[test]
fn mistakes_are_named() {
    let server = Server::start();
    for (flags, word) in [
        (&["top"][..], "standard output is no terminal; --once"),
        (&["top", "--once", "-f", "colour:red"], "'colour' in the filter; expected state, user"),
        (&["top", "--once", "-j", "7"], "there is no job 7"),
        (&["top", "--once", "--sort", "size"], "possible values: id, name"),
    ] {
        let output = server.hpvm(flags);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(word), "{flags:?}: {text}");
    }
}

/// `hpvm top` on a terminal of its own, and what it writes.
struct Top {
    child: Child,
    terminal: File,
    written: Receiver<Vec<u8>>,
    seen: String,
}

impl Top {
    fn start(server: &Server) -> Top {
        let (terminal, theirs) = common::terminal();
        common::set_size(&terminal, 40, 150);
        let mut command = server.command();
        command.arg("top").env("TERM", "xterm").stdin(theirs.try_clone().unwrap());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        common::own_terminal(&mut command);
        let child = command.spawn().unwrap();
        // Its copies of the other side would keep ours open.
        drop(command);
        let (tell, written) = channel();
        let mut reader = terminal.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if tell.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Top { child, terminal, written, seen: String::new() }
    }

    /// Waits until this has been written since the last wait.
    fn until(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.seen.contains(text) {
            let left = end.saturating_duration_since(Instant::now());
            match self.written.recv_timeout(left) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(error) => panic!("no {text:?} ({error}) in {:?}", self.seen),
            }
        }
        self.seen.clear();
    }

    fn press(&mut self, keys: &[u8]) {
        self.terminal.write_all(keys).unwrap();
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LEAVES: &str = "\u{1b}[?1049l";

#[test]
fn on_a_terminal_jobs_come_and_are_cancelled() {
    let server = Server::start();
    let mut top = Top::start(&server);
    top.until("quit");
    let id = server.submit(&["-J", "fresh", "sleep", "1000"]);
    server.until(id, "running");
    top.until("fresh");
    top.press(b"c");
    top.until("Cancel");
    top.press(b"n");
    top.until("not");
    assert_eq!(server.show(id)["state"], "running");
    top.press(b"c");
    top.until("Cancel");
    top.press(b"y");
    assert_eq!(server.until(id, "ended")["exit_code"], 143);
    top.press(b"q");
    top.until(LEAVES);
    assert_eq!(common::until_ended(&mut top.child), Some(0));
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    let server = Server::start();
    for press in [true, false] {
        let mut top = Top::start(&server);
        top.until("quit");
        match press {
            true => top.press(&[3]),
            false => common::kill(top.child.id() as i32, libc::SIGTERM),
        }
        top.until(LEAVES);
        assert_eq!(common::until_ended(&mut top.child), Some(0));
    }
}

#[test]
fn the_server_may_go_and_come_back() {
    let mut server = Server::start();
    let mut top = Top::start(&server);
    top.until("quit");
    server.end(libc::SIGTERM);
    top.until("trying");
    server.begin();
    server.submit(&["-J", "later", "-H", "true"]);
    top.until("later");
    top.press(b"q");
    assert_eq!(common::until_ended(&mut top.child), Some(0));
}
