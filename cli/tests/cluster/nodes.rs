//! `hpvm node`: jobs on other hosts, as real processes. The first tests run several of them on this
//! machine; the last ones need test hosts (network namespaces), and say so where there are none.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hpvm_tests::hosts::Hosts;
use serde_json::Value;

use crate::common;
use crate::kills::{self, Random, variable};
use crate::restore::change_store;
use crate::server::Server;

/// A server with hosts that report to it. The server's own machine is drained.
pub struct Cluster {
    pub server: Server,
    nodes: Vec<(String, Option<Child>)>,
}

impl Cluster {
    pub fn start(names: &[&str]) -> Cluster {
        Cluster::start_with(names, &[])
    }

    /// The same with these flags for the server.
    pub fn start_with(names: &[&str], flags: &[&str]) -> Cluster {
        let mut server = Server::new();
        // It comes back to where its hosts look for it.
        let port = common::own_port().to_string();
        server.begin_with(&[&["--listen", &port], flags].concat());
        let mut cluster = Cluster { server, nodes: Vec::new() };
        token(&cluster.server);
        for name in names {
            cluster.nodes.push((name.to_string(), None));
            cluster.begin(cluster.nodes.len() - 1);
        }
        let up = || cluster.hosts().iter().filter(|host| host["state"] == "up").count();
        assert!(common::until(|| up() == names.len() + 1), "{:?}", cluster.hosts());
        let own = hpvm_launch_name(&cluster.server);
        cluster.server.good(&["drain", &own, "no jobs here"]);
        cluster
    }

    /// Starts `hpvm node` of a host.
    pub fn begin(&mut self, number: usize) {
        let url = self.server.link.split("/#").next().unwrap().to_string();
        let name = &self.nodes[number].0;
        let mut command = self.server.command();
        command.args(["node", "--cpus", "2", "--server", &url, "--name", name]);
        command.arg("--data").arg(self.data(number)).arg("--token-file");
        command.arg(self.server.dir.path().join("token")).env("HPVM_NODE_CONFIG", "/dev/null");
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        self.nodes[number].1 = Some(child);
    }

    pub fn end(&mut self, number: usize, signal: i32) {
        let mut child = self.nodes[number].1.take().expect("hpvm node");
        common::kill(child.id() as i32, signal);
        let status = child.wait().unwrap();
        assert!(signal != libc::SIGTERM || status.success(), "{status}");
    }

    pub fn data(&self, number: usize) -> PathBuf {
        self.server.dir.path().join(&self.nodes[number].0)
    }

    /// The data folders of the server and of its hosts.
    fn folders(&self) -> Vec<PathBuf> {
        let hosts = (0..self.nodes.len()).map(|number| self.data(number));
        hosts.chain([self.server.data()]).collect()
    }

    fn hosts(&self) -> Vec<Value> {
        let value: Value = serde_json::from_str(&self.server.good(&["nodes", "--json"])).unwrap();
        value["hosts"].as_array().unwrap().clone()
    }

    /// Folders of jobs on a host.
    fn kept(&self, number: usize) -> usize {
        std::fs::read_dir(self.data(number).join("jobs")).unwrap().count()
    }

    /// All processes of its jobs, on any host.
    fn job_processes(&self) -> Vec<(i32, String)> {
        let mut all = self.server.job_processes();
        all.retain(|(_, line)| !line.contains(" node --cpus "));
        all
    }

    pub fn nothing_left(&self) {
        assert!(common::until(|| self.job_processes().is_empty()), "{:?}", self.job_processes());
        for number in 0..self.nodes.len() {
            assert!(common::until(|| self.kept(number) == 0), "host {number} keeps folders");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().filter_map(|(_, child)| child.as_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The name of the server's own machine.
fn hpvm_launch_name(server: &Server) -> String {
    let value: Value = serde_json::from_str(&server.good(&["nodes", "--json"])).unwrap();
    value["hosts"][0]["name"].as_str().unwrap().to_string()
}

/// Makes a token for hosts, in a file.
fn token(server: &Server) {
    use std::os::unix::fs::OpenOptionsExt;
    let token = server.good(&["token", "create", "nodes", "--scope", "node"]);
    let path = server.dir.path().join("token");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, token.as_bytes()).unwrap();
}

#[test]
fn jobs_on_another_host_look_like_those_here() {
    let mut cluster = Cluster::start(&["n1", "n2"]);
    let server = &cluster.server;
    let words = ["submit", "--parsable", "-w", "n2", "bash", "-c"];
    let id = server.good(&[&words[..], &["echo out; echo err >&2; exit 3"]].concat());
    let id: i64 = id.trim().parse().unwrap();
    let ended = server.until(id, "ended");
    assert_eq!((&ended["exit_code"], &ended["hosts"][0]), (&3.into(), &"n2".into()), "{ended}");
    assert_eq!(server.good(&["logs", &id.to_string()]), "out\n");
    let errors = server.good(&["logs", "-e", &id.to_string()]);
    assert!(errors.starts_with("err\n") && errors.contains("exited with code 3"), "{errors}");
    // To a file of the user's own, which the server need not see.
    let file = ["-o", "file-%j", "-w", "n1", "bash", "-c", "echo out; echo err >&2"];
    let id = server.submit(&file);
    server.until(id, "ended");
    let text = std::fs::read_to_string(server.dir.path().join(format!("file-{id}"))).unwrap();
    assert_eq!(
        (text.as_str(), server.good(&["logs", &id.to_string()])),
        ("out\nerr\n", text.clone())
    );
    // One that does not want to end, and a process that slips away.
    let script = "trap '' TERM; echo here; setsid sleep 1000 & while :; do sleep 1; done";
    let id = server.submit(&["bash", "-c", script]);
    let number = id.to_string();
    assert!(common::until(|| server.good(&["logs", &number]) == "here\n"));
    server.good(&["cancel", &number]);
    let ended = server.until(id, "ended");
    assert_eq!(ended["outcome"]["kind"], "cancelled", "{ended}");
    cluster.nothing_left();
    for number in 0..2 {
        cluster.end(number, libc::SIGTERM);
    }
}

#[test]
fn hosts_share_the_work_and_are_drained_one_by_one() {
    let cluster = Cluster::start(&["n1", "n2"]);
    let server = &cluster.server;
    let long = |flags: &[&str]| server.submit(&[flags, &["sleep", "1000"]].concat());
    let (first, second) = (long(&["-n", "2"]), long(&["-n", "2"]));
    let host = |id| server.until(id, "running")["hosts"][0].as_str().unwrap().to_string();
    assert_ne!(host(first), host(second));
    let third = long(&["-n", "2"]);
    let reason = server.until(third, "pending")["reason"].to_string();
    assert!(reason.contains("2 processors; 0 are free"), "{reason}");
    server.good(&["drain", "n1", "fan"]);
    let fourth = long(&["-w", "n1"]);
    let reason = server.until(fourth, "pending")["reason"].to_string();
    assert!(reason.contains("host n1 is drained by"), "{reason}");
    let unknown = long(&["-w", "n7"]);
    let reason = server.until(unknown, "pending")["reason"].to_string();
    assert!(reason.contains("there is no host 'n7'"), "{reason}");
    for id in [unknown, fourth, third, second, first] {
        server.good(&["cancel", &id.to_string()]);
        server.until(id, "ended");
    }
    cluster.nothing_left();
}

#[test]
fn a_host_goes_on_alone_and_is_found_again() {
    let mut cluster = Cluster::start(&["n1"]);
    let gate = cluster.server.dir.path().join("gate");
    let script = format!(
        "echo begin; until [ -e {} ]; do sleep 0.01; done; echo end; exit 5",
        gate.display()
    );
    let id = cluster.server.submit(&["bash", "-c", &script]);
    let number = id.to_string();
    assert!(common::until(|| cluster.server.good(&["logs", &number]) == "begin\n"));
    // The server goes, then the host's daemon; the job ends while nobody looks.
    cluster.server.end(libc::SIGKILL);
    cluster.end(0, libc::SIGKILL);
    std::fs::write(&gate, "").unwrap();
    assert!(common::until(|| cluster.job_processes().is_empty()));
    let port =
        cluster.server.link.split("/#").next().unwrap().rsplit_once(':').unwrap().1.to_string();
    cluster.server.begin_with(&["--listen", &port]);
    assert_eq!(cluster.server.show(id)["state"], "running", "nobody knows better yet");
    cluster.begin(0);
    let ended = cluster.server.until(id, "ended");
    assert_eq!((&ended["outcome"]["kind"], &ended["exit_code"]), (&"exit".into(), &5.into()));
    assert_eq!(cluster.server.good(&["logs", &number]), "begin\nend\n");
    cluster.nothing_left();
}

#[test]
fn records_that_cannot_be_read_end_no_job() {
    let mut cluster = Cluster::start(&["n1"]);
    let gate = cluster.server.dir.path().join("gate").display().to_string();
    let script = format!("echo begin; until [ -e {gate} ]; do sleep 0.01; done; echo end; exit 5");
    let id = cluster.server.submit(&["bash", "-c", &script]);
    let number = id.to_string();
    assert!(common::until(|| cluster.server.good(&["logs", &number]) == "begin\n"));
    // The host's: it asks the server for the job, and gets it again.
    cluster.end(0, libc::SIGKILL);
    let record = cluster.data(0).join("jobs").join(&number).join("work.json");
    std::fs::write(&record, "{").unwrap();
    cluster.begin(0);
    let whole = || serde_json::from_slice::<Value>(&std::fs::read(&record).unwrap()).is_ok();
    assert!(common::until(whole), "{}", cluster.server.show(id));
    assert_eq!(cluster.server.until(id, "running")["hosts"][0], "n1");
    // The server's: what it cannot read it neither wants nor gives up.
    let url = cluster.server.link.split("/#").next().unwrap();
    let port = url.rsplit_once(':').unwrap().1.to_string();
    let again = |server: &mut Server, sql: &str| {
        server.end(libc::SIGKILL);
        change_store(server, sql);
        server.begin_with(&["--listen", &port]);
    };
    let column = "(SELECT spec FROM jobs WHERE id = ";
    let torn = format!("UPDATE specs SET spec = '#' || spec WHERE id = {column}{id})");
    again(&mut cluster.server, &torn);
    // Orders have gone to the host and been carried out.
    let other = cluster.server.submit(&["true"]);
    cluster.server.until(other, "ended");
    let runs = |line: &str| line.contains(&gate);
    assert!(cluster.job_processes().iter().any(|(_, line)| runs(line)), "it runs no more");
    let mended = format!("UPDATE specs SET spec = substr(spec, 2) WHERE id = {column}{id})");
    again(&mut cluster.server, &mended);
    std::fs::write(&gate, "").unwrap();
    let ended = cluster.server.until(id, "ended");
    assert_eq!((&ended["outcome"]["kind"], &ended["exit_code"]), (&"exit".into(), &5.into()));
    assert_eq!(cluster.server.good(&["logs", &number]), "begin\nend\n");
    cluster.nothing_left();
}

#[test]
fn strangers_and_other_hosts_of_the_same_name_are_refused() {
    let cluster = Cluster::start(&["n1"]);
    let server = &cluster.server;
    let report = |header: &str| {
        let body = r#"{"report":{"identity":"x","session":1,"number":1,"seen":{"epoch":0,"number":0},
            "jobs":[]},"capacity":{"cpus":1,"memory":1,"gpus":0}}"#;
        server.http("POST", "/api/v1/nodes/n1/report", &[header], body).status
    };
    assert_eq!(report("X: y"), 401);
    let token = |scope: &str| {
        let made = server.good(&["token", "create", "t", "--scope", scope]);
        format!("Authorization: Bearer {}", made.trim())
    };
    assert_eq!(report(&token("jobs")), 403);
    let node = token("node");
    assert_eq!(report(&node), 409, "another n1 reports");
    for path in ["/api/v1/jobs", "/api/v1/session", "/api/v1/hosts", "/metrics", "/api/v1/events"] {
        assert_eq!(server.http("GET", path, &[&node], "").status, 403, "{path}");
    }
    // A host sends the output of its own jobs only.
    let path = "/api/v1/nodes/n1/jobs/1/output?stream=stdout&offset=0";
    let id = server.submit(&["-w", "n9", "true"]);
    assert_eq!((id, server.http("PUT", path, &[&node], "x").status), (1, 404));
    let mixed = server.hpvm(&["token", "create", "t", "--scope", "node,jobs"]);
    assert!(String::from_utf8_lossy(&mixed.stderr).contains("goes with no other"), "{mixed:?}");
    // The same folder twice.
    let mut second = server.command();
    second.args(["node", "--server", server.link.split("/#").next().unwrap(), "--name", "n1"]);
    second.arg("--token-file").arg(server.dir.path().join("token"));
    let second = second.arg("--data").arg(cluster.data(0)).output().unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("another hpvm node"), "{second:?}");
}

/// `kill -9` of the server, of `hpvm node`, of supervisors and launchers at random moments.
#[test]
fn whatever_is_killed_on_any_host_no_job_is_lost_and_none_runs_twice() {
    let seed = variable("HPVM_TEST_SEED").unwrap_or(u64::from(std::process::id()));
    let rounds = variable("HPVM_TEST_ROUNDS").unwrap_or(12);
    println!("HPVM_TEST_SEED={seed}");
    let mut random = Random(seed);
    let mut cluster = Cluster::start(&["n1", "n2"]);
    let url = cluster.server.link.split("/#").next().unwrap().to_string();
    let port = url.rsplit_once(':').unwrap().1.to_string();
    let ledger = cluster.server.dir.path().join("ledger").to_str().unwrap().to_string();
    let (mut killed, mut submitted) = (0, Vec::new());
    for _ in 0..rounds {
        let script = kills::job(&ledger, random.below(5));
        let output = cluster.server.hpvm(&["submit", "--parsable", "bash", "-c", &script]);
        submitted.extend(String::from_utf8_lossy(&output.stdout).trim().parse::<i64>());
        std::thread::sleep(Duration::from_millis(random.below(200)));
        match random.below(6) {
            0 => {
                cluster.server.end(libc::SIGKILL);
                std::thread::sleep(Duration::from_millis(random.below(300)));
                cluster.server.begin_with(&["--listen", &port]);
            }
            1 | 2 => {
                let number = random.below(2) as usize;
                cluster.end(number, libc::SIGKILL);
                std::thread::sleep(Duration::from_millis(random.below(300)));
                cluster.begin(number);
            }
            kind @ (3 | 4) => {
                if let Some(pid) = kills::victim(&cluster.folders(), &mut random, kind == 3) {
                    common::kill(pid, libc::SIGKILL);
                    killed += 1;
                }
            }
            _ => {}
        }
    }
    let all_ended = || cluster.server.jobs().iter().all(|job| job["state"] == "ended");
    assert!(common::until(all_ended), "seed {seed}: {:?}", cluster.server.jobs());
    let logs = |id: i64| cluster.server.good(&["logs", &id.to_string()]);
    kills::check(&cluster.server.jobs(), logs, &ledger, seed, &submitted, killed);
    cluster.nothing_left();
}

/// A server and hosts in namespaces of their own, over TLS.
pub struct Spread {
    pub hosts: Hosts,
    pub dir: tempfile::TempDir,
    /// The `hpvm` of all of them.
    pub program: PathBuf,
    /// Of the server, beside the usual ones.
    pub flags: Vec<String>,
    /// Whether jobs reach other hosts by ssh.
    pub ssh: bool,
    /// The server, then `hpvm node` of the other hosts.
    processes: Vec<Child>,
    pub token: String,
}

impl Spread {
    pub fn start() -> Option<Spread> {
        let mut spread = Spread::new(&[])?;
        spread.begin();
        spread.begin_nodes();
        Some(spread)
    }

    /// Three hosts; nothing runs there yet.
    pub fn new(options: &[&str]) -> Option<Spread> {
        let hosts = Hosts::up(3, options)?;
        let (dir, program) = (tempfile::tempdir().unwrap(), env!("CARGO_BIN_EXE_hpvm").into());
        let (flags, ssh) = (Vec::new(), options.contains(&"--ssh"));
        let (processes, token) = (Vec::new(), String::new());
        Some(Spread { hosts, dir, program, flags, ssh, processes, token })
    }

    /// Starts the server.
    pub fn begin(&mut self) {
        self.processes.push(self.serve());
        let socket = self.data().join("server.sock");
        assert!(common::until(|| socket.exists() && !self.fingerprint().is_empty()));
        let token = self.good(&["token", "create", "nodes", "--scope", "node"]);
        self.token = token.trim().to_string();
    }

    /// Starts `hpvm node` of the other hosts.
    pub fn begin_nodes(&mut self) {
        let nodes = [2, 3].map(|host| self.node(host));
        self.processes.extend(nodes);
        self.all_up();
    }

    /// Blocks until the server has all three hosts.
    pub fn all_up(&self) {
        let up = |text: &str| text.matches("\"state\":\"up\"").count() == 3;
        let told = || self.good(&["nodes", "--json"]);
        assert!(common::until(|| up(&told())), "{}", told());
    }

    fn serve(&self) -> Child {
        let mut serve = self.on(1, &["serve", "--listen", "0.0.0.0:8421", "--data"]);
        let log = std::fs::File::create(self.dir.path().join("serve.log")).unwrap();
        serve.arg(self.data()).args(&self.flags).stdout(log).spawn().unwrap()
    }

    fn node(&self, host: u32) -> Child {
        let mut command = self.node_command(host);
        command.arg("--data").arg(self.node_data(host));
        let log = std::fs::File::create(self.dir.path().join(format!("log{host}"))).unwrap();
        command.stderr(log).spawn().unwrap()
    }

    /// `hpvm node` of a host without its data folder.
    pub fn node_command(&self, host: u32) -> Command {
        let url = format!("https://{}:8421", self.hosts.name(1));
        let fingerprint = self.fingerprint();
        let args = ["node", "--cpus", "2", "--server", &url, "--fingerprint", &fingerprint];
        let mut command = self.on(host, &args);
        command.env("HPVM_TOKEN", &self.token);
        command
    }

    pub fn node_data(&self, host: u32) -> PathBuf {
        self.dir.path().join(format!("node{host}"))
    }

    /// The data folders of the server and of the other hosts.
    pub fn folders(&self) -> Vec<PathBuf> {
        vec![self.data(), self.node_data(2), self.node_data(3)]
    }

    /// Whether a process is the server or `hpvm node` of a host.
    pub fn is_service(&self, pid: i32) -> bool {
        self.processes.iter().any(|child| child.id() as i32 == pid)
    }

    /// Kills the server (host 1) or `hpvm node` of a host.
    pub fn kill(&mut self, host: u32) {
        let child = &mut self.processes[host as usize - 1];
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts it again, after it was killed.
    pub fn again(&mut self, host: u32) {
        self.processes[host as usize - 1] = if host == 1 { self.serve() } else { self.node(host) };
        if host == 1 {
            assert!(common::until(|| !self.fingerprint().is_empty()), "no server");
        }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// `hpvm` on a host.
    pub fn on(&self, host: u32, args: &[&str]) -> Command {
        let mut command = self.hosts.command(host, &self.program);
        command.args(args).env("HPVM_SERVER", self.data()).stdin(Stdio::null());
        if !self.ssh {
            command.env("HPVM_LAUNCH_AGENT", Hosts::agent());
        }
        command.env("HPVM_SERVE_CONFIG", "/dev/null").env("HPVM_NODE_CONFIG", "/dev/null");
        command.current_dir(self.dir.path());
        command
    }

    pub fn good(&self, args: &[&str]) -> String {
        let output = self.on(1, args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn fingerprint(&self) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("serve.log")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Certificate: "));
        line.unwrap_or_default().trim().to_string()
    }

    pub fn show(&self, id: &str) -> Value {
        serde_json::from_str(&self.good(&["show", "--json", id])).unwrap()
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        (1..=3).for_each(|host| self.hosts.crash(host));
        for child in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_job_spans_hosts_that_have_joined_over_tls() {
    let Some(spread) = Spread::start() else { return };
    let names: Vec<String> = (1..=3).map(|host| spread.hosts.name(host)).collect();
    let said = |id: &str| {
        let text = spread.good(&["logs", id]);
        common::sorted(&text).iter().map(|line| line.to_string()).collect::<Vec<_>>()
    };
    let submit =
        |args: &[&str]| spread.good(&[&["submit", "--parsable"], args].concat()).trim().to_string();
    let wait = |id: &str, code: i32| {
        let output = spread.on(1, &["wait", id]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", spread.show(id));
    };
    // A program on three hosts, a script whose mpirun finds them, one whose first host is remote.
    let id = submit(&["-N", "3", "sh", "-c", "echo $PMI_RANK/$PMI_SIZE $(hostname)"]);
    wait(&id, 0);
    let hosts = spread.show(&id)["hosts"].clone();
    let expected: Vec<String> =
        (0..3).map(|rank| format!("{rank}/3 {}", hosts[rank].as_str().unwrap())).collect();
    assert_eq!(said(&id), expected);
    let list = names[1..].join(",");
    let program = env!("CARGO_BIN_EXE_hpvm");
    let script = format!("{program} run sh -c 'echo $PMI_RANK/$PMI_SIZE; exit 4'");
    let id = submit(&["-N", "2", "-w", &list, "-n", "4", "--wrap", &script]);
    wait(&id, 4);
    assert_eq!(spread.show(&id)["hosts"].as_array().unwrap().len(), 2);
    let id = submit(&["-N", "2", "-w", &list, "sh", "-c", "echo here; exec sleep 1000"]);
    assert!(common::until(|| spread.good(&["logs", &id]) == "here\nhere\n"));
    spread.good(&["cancel", &id]);
    wait(&id, 143);
    for host in [2, 3] {
        let sleeps =
            || spread.hosts.processes(host).iter().any(|(_, line)| line.contains("sleep 1000"));
        assert!(common::until(|| !sleeps()), "on host {host}");
    }
}
