//! Hosts that `hpvm serve` starts itself, by the launcher's way to other hosts.

use serde_json::Value;

use crate::common;
use crate::server::Server;

/// A server that starts hosts on this machine, by a command in place of ssh.
struct Started {
    server: Server,
    port: String,
    agent: String,
}

impl Started {
    /// `before` are lines of a shell that the command begins with; `$1` is the host.
    fn new(before: &str) -> Started {
        let server = Server::new();
        let log = server.dir.path().join("agents").display().to_string();
        let data = server.dir.path().display().to_string();
        // As ssh: the words are a shell's. Each host has a home of its own.
        let script = format!(
            "#!/bin/sh\necho $1 $$ >> {log}\n{before}\nhost=$1; shift\n\
             export HPVM_NODE_CONFIG=/dev/null HPVM_NODE_DATA={data}/$host HPVM_NODE_CPUS=1\n\
             exec sh -c \"exec $*\"\n"
        );
        let agent = common::script(server.dir.path(), "agent", &script);
        Started { server, port: common::own_port().to_string(), agent }
    }

    fn begin(&mut self, hosts: &str) {
        let listen = format!("0.0.0.0:{}", self.port);
        let flags = ["--listen", &listen, "--hosts", hosts, "--launch-agent", &self.agent];
        self.server.begin_with(&flags);
    }

    fn host(&self, name: &str) -> Option<Value> {
        let value: Value = serde_json::from_str(&self.server.good(&["nodes", "--json"])).unwrap();
        value["hosts"].as_array().unwrap().iter().find(|host| host["name"] == name).cloned()
    }

    #[track_caller]
    fn is(&self, name: &str, state: &str, reason: &str) {
        let right = |host: &Value| {
            host["state"] == state && host["reason"].as_str().unwrap_or_default().contains(reason)
        };
        let is = || self.host(name).as_ref().is_some_and(right);
        assert!(common::until(is), "{name}: {:?}", self.host(name));
    }

    /// How often a host was started.
    fn starts(&self, name: &str) -> usize {
        let text =
            std::fs::read_to_string(self.server.dir.path().join("agents")).unwrap_or_default();
        text.lines().filter(|line| line.starts_with(&format!("{name} "))).count()
    }

    /// The process of `hpvm node` of a host, which the command has become.
    fn node(&self, name: &str) -> Option<i32> {
        let word = format!("--name {name} ");
        let all = self.server.job_processes();
        all.into_iter()
            .find(|(_, line)| line.contains(" node ") && line.contains(&word))
            .map(|(pid, _)| pid)
    }
}

#[test]
fn hosts_are_started_run_jobs_and_end_with_the_server() {
    let mut started = Started::new("");
    started.begin("n[1-2]");
    for name in ["n1", "n2"] {
        started.is(name, "up", "");
    }
    // The token is on nobody's command line.
    let lines: Vec<String> =
        started.server.job_processes().into_iter().map(|(_, line)| line).collect();
    assert!(!lines.iter().any(|line| line.contains("hpvm_")), "{lines:?}");
    let id = started.server.submit(&["-w", "n2", "sleep", "1000"]);
    assert_eq!(started.server.until(id, "running")["hosts"][0], "n2");
    // One that is killed is started again, and finds its job.
    common::kill(started.node("n2").expect("hpvm node"), libc::SIGKILL);
    assert!(common::until(|| started.starts("n2") == 2));
    started.is("n2", "up", "");
    assert_eq!(started.server.show(id)["state"], "running");
    // They end with the server, however that ends; jobs go on, and the next server starts hosts anew.
    started.server.end(libc::SIGKILL);
    assert!(common::until(|| started.node("n1").is_none() && started.node("n2").is_none()));
    started.begin("n[1-2]");
    started.is("n2", "up", "");
    assert_eq!(started.server.show(id)["state"], "running");
    started.server.good(&["cancel", &id.to_string()]);
    assert_eq!(started.server.until(id, "ended")["outcome"]["kind"], "cancelled");
    started.server.end(libc::SIGTERM);
    let left = started.server.job_processes();
    assert!(left.iter().all(|(_, line)| !line.contains(" node ")), "{left:?}");
}

#[test]
fn why_a_host_cannot_be_started_is_said() {
    let gate = "if [ ! -e $(dirname $0)/gate ]; then echo \"ssh: connect to host $1 port 22: No route to host\" >&2; exit 255; fi";
    let mut started = Started::new(gate);
    started.begin("n1");
    started.is("n1", "lost", "No route to host");
    assert!(common::until(|| started.starts("n1") >= 2), "it is tried again");
    let text = started.server.good(&["nodes"]);
    assert!(text.contains("No route to host"), "{text}");
    let said = started.server.hpvm(&["doctor", "--data", started.server.data().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("host n1: ") && said.contains("No route to host"), "{said}");
    let id = started.server.submit(&["-w", "n1", "true"]);
    started.server.until(id, "pending");
    std::fs::write(started.server.dir.path().join("gate"), "").unwrap();
    started.is("n1", "up", "");
    assert_eq!(started.server.until(id, "ended")["exit_code"], 0);
    started.server.end(libc::SIGTERM);
    let other = started.server.hpvm(&["serve", "--listen", "0", "--hosts", "n1"]);
    let text = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(text.contains("n1 does not reach a server that listens on loopback"), "{text}");
}
