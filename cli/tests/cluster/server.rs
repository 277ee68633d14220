//! A server for a test, in a folder of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use hpvm_tests::process::clean;
use serde_json::Value;

use crate::common::{self, PATIENCE, marked};

/// A server with its data folder. It ends with this value, and so do its jobs.
pub struct Server {
    pub dir: tempfile::TempDir,
    pub mark: String,
    pub link: String,
    /// The `hpvm` that everything is done with.
    pub program: PathBuf,
    process: Option<Child>,
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The value of the session's cookie.
    pub fn cookie(&self) -> String {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie:"));
        let line = line.unwrap_or_else(|| panic!("no cookie in {}", self.head));
        line.split_once(':').unwrap().1.trim().split(';').next().unwrap().to_string()
    }
}

impl Server {
    pub fn start() -> Server {
        let mut server = Server::new();
        server.begin();
        server
    }

    /// A folder and a mark; nothing runs yet.
    pub fn new() -> Server {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Only distinctness matters.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("queue-{}-{count}", std::process::id());
        let dir = tempfile::tempdir().unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_hpvm"));
        Server { dir, mark, link: String::new(), program, process: None }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn command(&self) -> Command {
        hpvm_tests::watchdog::watch();
        let mut command = clean(&self.program);
        command.env("HPVM_TEST_MARK", &self.mark).env("HPVM_SERVER", self.data());
        // What this machine's own server is told is no part of a test.
        command.env("HPVM_SERVE_CONFIG", "/dev/null");
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Starts the process; blocks until it listens.
    pub fn begin(&mut self) {
        self.begin_with(&["--listen", "0"]);
    }

    /// The same with these flags.
    pub fn begin_with(&mut self, flags: &[&str]) {
        self.begin_with_variables(flags, &[]);
    }

    /// The same with these variables, too.
    pub fn begin_with_variables(&mut self, flags: &[&str], variables: &[(&str, &str)]) {
        let mut command = self.command();
        command.envs(variables.iter().copied());
        command.args(["serve", "-q"]).args(flags).arg("--data").arg(self.data());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("#link="), "the server says {line:?}");
        self.link = line.trim().to_string();
        self.process = Some(child);
    }

    /// Ends the server by this signal; jobs go on.
    pub fn end(&mut self, signal: i32) {
        let mut child = self.process.take().expect("a server");
        common::kill(child.id() as i32, signal);
        let status = child.wait().unwrap();
        if signal == libc::SIGTERM {
            assert!(status.success(), "{status}");
        }
    }

    /// The same with a line on its standard input.
    pub fn typed(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Makes a user with a password and signs in; gives the line of the cookie.
    pub fn user(&self, name: &str, role: &str) -> String {
        let made = self.typed(&["user", "add", name, "--role", role], "long enough\n");
        assert!(made.status.success(), "{made:?}");
        let body = format!(r#"{{"user":"{name}","password":"long enough"}}"#);
        let answer = self.http("POST", "/api/v1/session", &[], &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        format!("Cookie: {}", answer.cookie())
    }

    /// Runs `hpvm` with these arguments.
    pub fn hpvm(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    /// The same, which must succeed; gives what it says.
    pub fn good(&self, args: &[&str]) -> String {
        let output = self.hpvm(args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("a server").id()
    }

    /// Submits and gives the number.
    pub fn submit(&self, args: &[&str]) -> i64 {
        self.good(&[&["submit", "--parsable"], args].concat()).trim().parse().unwrap()
    }

    pub fn show(&self, id: i64) -> Value {
        serde_json::from_str(&self.good(&["show", "--json", &id.to_string()])).unwrap()
    }

    pub fn jobs(&self) -> Vec<Value> {
        let text = self.good(&["queue", "-a", "--json", "--limit", "100000"]);
        let value: Value = serde_json::from_str(&text).unwrap();
        value["jobs"].as_array().unwrap().clone()
    }

    /// Waits until a job is in this state.
    pub fn until(&self, id: i64, state: &str) -> Value {
        let reached = common::until(|| self.show(id)["state"] == state);
        assert!(reached, "job {id} does not become {state}: {}", self.show(id));
        self.show(id)
    }

    /// The processes of its jobs: all with the mark but the server and the commands of this test.
    pub fn job_processes(&self) -> Vec<(i32, String)> {
        let own = self.process.as_ref().map(|child| child.id() as i32);
        marked(&self.mark).into_iter().filter(|(pid, _)| Some(*pid) != own).collect()
    }

    /// Waits until no process of its jobs is left; what wrote the end of a job down ends behind it.
    #[track_caller]
    pub fn nothing_left(&self) {
        let left = common::until(|| self.job_processes().is_empty());
        assert!(left, "{:?}", self.job_processes());
    }

    /// A request over TCP, as a browser or a stranger sends it.
    pub fn http(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let address = self.link.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|line| line.to_lowercase().starts_with("host:")) {
            text += &format!("Host: {address}\r\n");
        }
        if !body.is_empty() && !headers.iter().any(|l| l.to_lowercase().starts_with("content-type"))
        {
            text += "Content-Type: application/json\r\n";
        }
        headers.iter().for_each(|line| text += &format!("{line}\r\n"));
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let answer = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer to {method} {path}: {head:?}"));
        Answer { status, head: head.to_string(), body: body.to_string() }
    }

    /// Signs in with a link and gives the cookie's line.
    pub fn sign_in(&self, link: &str) -> Answer {
        let token = link.split_once("#link=").unwrap().1;
        self.http("POST", "/api/v1/session", &[], &format!(r#"{{"link":"{token}"}}"#))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        // What jobs a failed test has left.
        for _ in 0..1000 {
            let left = marked(&self.mark);
            if left.is_empty() {
                break;
            }
            left.iter().for_each(|(pid, _)| common::kill(*pid, libc::SIGKILL));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
