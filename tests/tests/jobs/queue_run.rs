//! treecode as a job of the queue: `hpvm submit --max-restarts` starts it again from its checkpoint after a rank was killed
//! and after one of its hosts was cut off, and it ends with the bits of a run that nothing was done to.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;
use hpvm_tests::process;

use crate::apps::{LONG, TREECODE, app, built, replaced, text};
use crate::common::{clean, folder, marker, prefix, succeed_within};

/// Where the server of a queue is, and what runs for it.
struct Queue {
    home: PathBuf,
    hosts: Option<Hosts>,
    marker: String,
    processes: Vec<Child>,
}

impl Queue {
    /// A server on this machine, or on the first of these hosts with `hpvm node` on the others.
    fn begin(hosts: Option<Hosts>) -> Queue {
        let (home, processes) = (folder("queue"), Vec::new());
        let mut queue = Queue { home, hosts, marker: marker(), processes };
        let address = match queue.hosts {
            Some(_) => "0.0.0.0:8421".to_owned(),
            None => format!("127.0.0.1:{}", free_port()),
        };
        let log = std::fs::File::create(queue.home.join("serve.log")).expect("a log");
        let data = queue.data();
        let mut serve = queue.on(1);
        serve.args(["serve", "--queue", "embedded", "--node-timeout", "10"]);
        serve.args(["--listen", &address, "--data", text(&data)]).stdout(log);
        queue.processes.push(serve.spawn().expect("hpvm serve"));
        let socket = data.join("server.sock");
        assert!(until(|| socket.exists() && queue.said().contains("#link=")), "{}", queue.said());
        queue.begin_nodes();
        queue
    }

    fn begin_nodes(&mut self) {
        let count = self.hosts.as_ref().map_or(1, Hosts::count);
        let token = (count > 1).then(|| self.good(&["token", "create", "n", "--scope", "node"]));
        for host in 2..=count {
            let mut node = self.on(host);
            let said = self.said();
            let fingerprint = said.lines().find_map(|line| line.strip_prefix("Certificate: "));
            let name = self.hosts.as_ref().map(|hosts| hosts.name(1)).unwrap_or_default();
            node.args(["node", "--cpus", "2", "--server", &format!("https://{name}:8421")]);
            node.args(["--fingerprint", fingerprint.expect("a certificate").trim(), "--data"]);
            node.arg(self.home.join(format!("node{host}")));
            node.env("HPVM_TOKEN", token.as_deref().unwrap_or_default().trim());
            node.stderr(Stdio::null());
            self.processes.push(node.spawn().expect("hpvm node"));
        }
        let up = || self.good(&["nodes", "--json"]).matches("\"state\":\"up\"").count();
        assert!(until(|| up() == count as usize), "{}", self.good(&["nodes"]));
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.home.join("serve.log")).unwrap_or_default()
    }

    /// `hpvm` on a host.
    fn on(&self, host: u32) -> Command {
        let program = prefix().join("bin/hpvm");
        let mut command = match &self.hosts {
            Some(hosts) => hosts.command(host, program),
            None => clean(program),
        };
        command.env("HPVM_SERVER", self.data()).env(process::MARKER, &self.marker);
        command.env("HPVM_SERVE_CONFIG", "/dev/null").env("HPVM_NODE_CONFIG", "/dev/null");
        command.current_dir(&self.home).stdin(Stdio::null());
        command
    }

    fn good(&self, args: &[&str]) -> String {
        let output = self.on(1).args(args).output().expect("hpvm");
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// treecode of two ranks as a job; its number.
    fn submit(&self, flags: &[&str], problem: &[&str]) -> String {
        let program = built().expect("built").join("treecode");
        let words = ["submit", "--parsable", "-n", "2", "--max-restarts", "5"];
        self.good(&[&words, flags, &[text(&program)], problem].concat()).trim().to_owned()
    }

    fn show(&self, job: &str) -> serde_json::Value {
        serde_json::from_str(&self.good(&["show", "--json", job])).expect("JSON")
    }

    fn ended(&self, job: &str) -> bool {
        self.show(job)["state"] == "ended"
    }

    /// How often it was started again.
    fn restarts(&self, job: &str) -> u64 {
        self.show(job)["restarts"].as_u64().unwrap_or(0)
    }

    fn kill_a_rank(&self) {
        let runs_it = |pid: &i32| {
            std::fs::read_link(format!("/proc/{pid}/exe"))
                .is_ok_and(|exe| exe.ends_with("treecode"))
        };
        let rank = process::marked(&self.marker).into_iter().find(runs_it);
        // SAFETY: a signal to a process of a job that this test has started.
        rank.into_iter().for_each(|pid| unsafe { assert_eq!(libc::kill(pid, libc::SIGKILL), 0) });
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        for host in 1..=self.hosts.as_ref().map_or(0, Hosts::count) {
            self.hosts.iter().for_each(|hosts| hosts.crash(host));
        }
        for child in &mut self.processes {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        for pid in process::marked(&self.marker) {
            // SAFETY: a signal to a process that this test has started.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn until(condition: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < LONG {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

fn problem<'a>(steps: &'a str, state: &'a Path) -> Vec<&'a str> {
    let length = ["--quiet", "--steps", steps, "--every", "10", "--checkpoint", text(state)];
    [TREECODE.1, &length].concat()
}

/// Starts a run of so many steps, lets `disturb` do something to it, and says whether it has been started again so often.
/// Then it must have ended well, with the bits of a run that was left alone.
fn disturbed(
    queue: &Queue,
    steps: &str,
    (flags, restarts): (&[&str], u64),
    disturb: impl Fn(&str, &Path),
) -> bool {
    let [state, whole] = ["state", "whole"].map(|name| queue.home.join(format!("{name}-{steps}")));
    succeed_within(app(2, "treecode", &problem(steps, &whole)).expect("built"), LONG);
    let job = queue.submit(flags, &problem(steps, &state));
    disturb(&job, &state);
    assert!(until(|| queue.ended(&job)), "{}", queue.show(&job));
    let (shown, logs) = (queue.show(&job), queue.good(&["logs", "-e", &job]));
    if queue.restarts(&job) < restarts {
        return false;
    }
    assert_eq!(shown["exit_code"], 0, "{shown}\n{logs}");
    assert!(logs.contains("of the job, from checkpoint"), "{logs}");
    let read = |file: &Path| std::fs::read(file).expect("a checkpoint");
    assert!(read(&state) == read(&whole), "other bits\n{shown}\n{logs}");
    true
}

/// A run that had ended before all was done to it says nothing: then a longer one.
const STEPS: [&str; 3] = ["600", "3000", "15000"];

#[test]
fn the_queue_starts_treecode_again_when_a_rank_is_killed() {
    if app(2, "treecode", &[]).is_none() {
        return;
    }
    let queue = Queue::begin(None);
    let kill_twice = |job: &str, state: &Path| {
        for _ in 0..2 {
            let before = queue.restarts(job);
            if !replaced(state, 2, || queue.ended(job)) {
                return;
            }
            queue.kill_a_rank();
            assert!(until(|| queue.restarts(job) > before || queue.ended(job)));
        }
    };
    let done = STEPS.iter().any(|steps| disturbed(&queue, steps, (&[], 2), kill_twice));
    assert!(done, "it could not be disturbed in time");
}

#[test]
fn the_queue_starts_treecode_again_without_a_host_that_was_cut_off() {
    if app(2, "treecode", &[]).is_none() {
        return;
    }
    let Some(hosts) = Hosts::up(3, &["--ssh"]) else { return };
    let queue = Queue::begin(Some(hosts));
    let hosts = queue.hosts.as_ref().expect("hosts");
    let cut = |job: &str, state: &Path| {
        if replaced(state, 2, || queue.ended(job)) {
            queue.kill_a_rank();
            assert!(until(|| queue.restarts(job) > 0 || queue.ended(job)));
        }
        if !replaced(state, 2, || queue.ended(job)) {
            return;
        }
        // The server's own host cannot be lost.
        let on = queue.show(job)["hosts"].to_string();
        let lost =
            [2, 3].into_iter().find(|host| on.contains(&format!("\"{}\"", hosts.name(*host))));
        hosts.link(lost.expect("two of three hosts"), "net0", false);
        let before = queue.restarts(job);
        assert!(until(|| queue.restarts(job) > before || queue.ended(job)));
        hosts.link(lost.expect("two of three hosts"), "net0", true);
    };
    let done = STEPS.iter().any(|steps| disturbed(&queue, steps, (&["-N", "2"], 2), cut));
    assert!(done, "it could not be disturbed in time");
}
