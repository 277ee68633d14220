//! Ranks of jobs on other hosts, as the API shows them: what they do, who has sent how much to whom, what is
//! counted for them. Programs are compiled by the installation that `make` has built.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use hpvm_tests::build::Compiler;
use serde_json::Value;

use crate::common;
use crate::nodes::{Cluster, Spread};
use crate::server::Server;
use crate::slurm::Front;

/// `tests/programs/traffic`, compiled; without an installation the test is counted as skipped.
fn traffic(folder: &Path) -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let prefix =
        std::env::var_os("HPVM_PREFIX").map_or_else(|| workspace.join("build"), PathBuf::from);
    let mpicc = prefix.join("bin/mpicc");
    if !mpicc.exists() {
        hpvm_tests::skip::skipped(&format!("no {}: run make first", mpicc.display()));
        return None;
    }
    let (sources, output) = (workspace.join("tests/programs"), folder.to_path_buf());
    let compiler = Compiler { mpicc, sources, output, libraries: Vec::new() };
    let failed = compiler.build_all(&["traffic".into()], 1);
    assert!(failed.is_empty(), "{failed:?}");
    Some(compiler.program("traffic").display().to_string())
}

/// An answer over the socket of a server, as an administrator gets it.
fn get(data: &Path, path: &str) -> (u16, Value) {
    let mut stream = UnixStream::connect(data.join("server.sock")).unwrap();
    stream.set_read_timeout(Some(common::PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

/// Something of a job, when it is as expected.
fn ask(data: &Path, path: &str, good: impl Fn(&Value) -> bool) -> Value {
    let mut last = (0, Value::Null);
    let end = std::time::Instant::now() + common::PATIENCE;
    while std::time::Instant::now() < end {
        last = get(data, &format!("/api/v1/jobs/{path}"));
        if last.0 == 200 && good(&last.1) {
            return last.1;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{path}: {last:?}");
}

fn length(value: &Value) -> usize {
    value.as_array().map_or(0, Vec::len)
}

/// Whether there are so many ranks, and all of them wait.
fn all_sleep(count: usize) -> impl Fn(&Value) -> bool {
    move |value| {
        let ranks = value["ranks"].as_array().cloned().unwrap_or_default();
        ranks.len() == count && ranks.iter().all(|rank| rank["state"] == "sleeping")
    }
}

fn hosts(ranks: &Value) -> Vec<&str> {
    let all = ranks["ranks"].as_array().unwrap();
    all.iter().map(|rank| rank["host"].as_str().unwrap()).collect()
}

/// The map that the ranks have printed: sender, receiver, bytes.
fn printed(output: &str) -> Vec<[u64; 3]> {
    let number = |word: &str| word.parse::<u64>().ok();
    let row = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.iter().position(|word| *word == "sent")? + 1;
        Some([number(words[at])?, number(words[at + 1])?, number(words[at + 3])?])
    };
    let mut all: Vec<_> = output.lines().filter_map(row).collect();
    all.sort_unstable();
    all
}

fn shown(matrix: &Value) -> Vec<[u64; 3]> {
    serde_json::from_value(matrix["entries"].clone()).unwrap_or_default()
}

#[test]
fn ranks_of_another_host_are_seen_while_somebody_looks() {
    let cluster = Cluster::start(&["n1"]);
    let (server, data) = (&cluster.server, cluster.server.data());
    let Some(program) = traffic(server.dir.path()) else { return };
    let id = server.submit(&["-n", "2", &program, "ring"]);
    let number = id.to_string();
    assert!(common::until(|| server.good(&["logs", &number]).matches("done").count() == 2));
    let ranks = ask(&data, &format!("{id}/ranks"), all_sleep(2));
    assert_eq!((hosts(&ranks), &ranks["ranks"][1]["rank"]), (vec!["n1", "n1"], &1.into()));
    assert!(ranks["ranks"][0]["counters"]["packets_sent"].is_u64(), "{ranks}");
    assert!(ranks["ranks"][0]["processor"].is_u64(), "{ranks}");
    assert!(ranks["ranks"][0]["memory"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{ranks}");
    let own = printed(&server.good(&["logs", &number]));
    let matrix = ask(&data, &format!("{id}/matrix"), |matrix| shown(matrix) == own);
    assert_eq!((own.len(), &matrix["size"]), (4, &2.into()));
    let counters = ask(&data, &format!("{id}/counters"), |_| true);
    let none = counters["notes"].to_string().contains("permits no events");
    assert!(none || length(&counters["ranks"]) == 2, "{counters}");
    // Of another's job there is nothing, whatever one asks for.
    let ann = server.user("ann", "user");
    for part in ["ranks", "matrix", "counters"] {
        let path = format!("/api/v1/jobs/{id}/{part}");
        assert_eq!(server.http("GET", &path, &[&ann], "").status, 404, "{part}");
    }
    // Nobody looks any more: the host is told so.
    let wanted = || {
        let orders = get(&data, "/api/v1/nodes/n1/orders?epoch=0&looks=9999").1;
        orders["looks"]["jobs"].as_object().map_or(0, serde_json::Map::len)
    };
    // However long the questions above took: this one was just now.
    ask(&data, &format!("{id}/ranks"), |_| wanted() == 1);
    assert!(common::until(|| wanted() == 0));
    server.good(&["cancel", &number]);
    server.until(id, "ended");
    assert_eq!(get(&data, &format!("/api/v1/jobs/{id}/ranks")).0, 409);
    cluster.nothing_left();
}

/// A host as it speaks to the server; gives the status of what it tells.
struct Voice<'a> {
    server: &'a Server,
    header: String,
}

impl Voice<'_> {
    fn new<'a>(server: &'a Server, scope: &str) -> Voice<'a> {
        let token = server.good(&["token", "create", "t", "--scope", scope]);
        Voice { server, header: format!("Authorization: Bearer {}", token.trim()) }
    }

    fn tell(&self, host: &str, id: i64, identity: &str, ranks: &[u32]) -> u16 {
        let rank = |rank: &u32| {
            format!(r#"{{"rank":{rank},"host":"x","pid":1,"state":"computing","counters":{{}}}}"#)
        };
        let ranks = ranks.iter().map(rank).collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"identity":"{identity}","parts":{{"ranks":true}},"launches":[{{"size":2,"ranks":[{ranks}]}}]}}"#
        );
        let path = format!("/api/v1/nodes/{host}/jobs/{id}/ranks");
        self.server.http("POST", &path, &[&self.header], &body).status
    }
}

#[test]
fn a_host_tells_of_ranks_of_its_own_jobs_only() {
    let mut cluster = Cluster::start(&["n1", "n2"]);
    let id = cluster.server.submit(&["-w", "n1", "sleep", "1000"]);
    cluster.server.until(id, "running");
    let identity = |number: usize| {
        let text = std::fs::read(cluster.data(number).join("identity.json")).unwrap();
        let value: Value = serde_json::from_slice(&text).unwrap();
        value["identity"].as_str().unwrap().to_string()
    };
    let (own, other) = (identity(0), identity(1));
    let node = Voice::new(&cluster.server, "node");
    assert_eq!(node.tell("n1", id, &own, &[1]), 204);
    assert_eq!(node.tell("n2", id, &other, &[1]), 404, "it has no ranks there");
    assert_eq!(node.tell("n1", id, &other, &[1]), 404, "another host under its name");
    assert_eq!(node.tell("n1", id + 1, &own, &[1]), 404, "no such job");
    assert_eq!(node.tell("n1", id, &own, &[2]), 422, "a rank that the job does not have");
    assert_eq!(node.tell("n1", id, &own, &[1; 4097]), 422, "more than a host tells of");
    assert_eq!(Voice::new(&cluster.server, "jobs").tell("n1", id, &own, &[1]), 403);
    let stranger = Voice { server: &cluster.server, header: "X: y".into() };
    assert_eq!(stranger.tell("n1", id, &own, &[1]), 401);
    // A host that is not there: a sentence says so.
    cluster.end(0, libc::SIGKILL);
    let silent = |value: &Value| value["notes"].to_string().contains("host n1 has not told");
    ask(&cluster.server.data(), &format!("{id}/ranks"), silent);
    cluster.begin(0);
    cluster.server.good(&["cancel", &id.to_string()]);
    cluster.server.until(id, "ended");
    cluster.nothing_left();
}

#[test]
fn ranks_of_a_job_on_several_hosts_are_seen_together() {
    let Some(spread) = Spread::start() else { return };
    let Some(program) = traffic(spread.dir.path()) else { return };
    let names: Vec<String> = (1..=3).map(|host| spread.hosts.name(host)).collect();
    let submit = ["submit", "--parsable", "-N", "3", "-n", "3", &program, "ring"];
    let id = spread.good(&submit).trim().to_string();
    assert!(common::until(|| spread.good(&["logs", &id]).matches("done").count() == 3));
    let ranks = ask(&spread.data(), &format!("{id}/ranks"), all_sleep(3));
    let mut seen = hosts(&ranks);
    seen.sort_unstable();
    assert_eq!(seen, names, "{ranks}");
    let own = printed(&spread.good(&["logs", &id]));
    assert_eq!(own.len(), 9);
    ask(&spread.data(), &format!("{id}/matrix"), |matrix| shown(matrix) == own);
    let counters = ask(&spread.data(), &format!("{id}/counters"), |_| true);
    let none = counters["notes"].to_string().contains("permits no events");
    assert!(none || length(&counters["ranks"]) == 3, "{counters}");
    spread.good(&["cancel", &id]);
    assert!(common::until(|| spread.good(&["show", "--json", &id]).contains("\"ended\"")));
}

#[test]
fn ranks_of_a_job_in_slurm_are_seen_by_a_step_in_it() {
    let Some(front) = Front::start() else { return };
    let Some(program) = traffic(front.dir.path()) else { return };
    let id = front.submit(&["-N", "2", "-n", "4", "-o", "out", &program, "ring"]);
    let number = id.to_string();
    assert!(common::until(|| front.good(&["logs", &number]).matches("done").count() == 4));
    let data = front.dir.path().join("data");
    let ranks = ask(&data, &format!("{id}/ranks"), all_sleep(4));
    let (one, two) = (front.cluster.host(1), front.cluster.host(2));
    // How many go where is Slurm's to say.
    let seen = hosts(&ranks);
    assert_eq!((seen[0], seen[3]), (one.as_str(), two.as_str()), "{ranks}");
    let own = printed(&front.good(&["logs", &number]));
    ask(&data, &format!("{id}/matrix"), |matrix| shown(matrix) == own);
    let counters = ask(&data, &format!("{id}/counters"), |_| true);
    let none = counters["notes"].to_string().contains("permits no events");
    assert!(none || length(&counters["ranks"]) == 4, "{counters}");
    let top = front.good(&["top", "--once", "-j", &number]);
    assert!(top.contains(&two), "{top}");
    // Nobody looks any more, and the step ends.
    let steps = || front.slurm(&["squeue", "-h", "-s", "-j", &number, "-o", "%j"]);
    ask(&data, &format!("{id}/ranks"), |_| steps().contains("hpvm-look"));
    assert!(common::until(|| !steps().contains("hpvm-look")), "{}", steps());
    assert_eq!(front.show(id)["state"], "running");
    ask(&data, &format!("{id}/ranks"), all_sleep(4));
    front.good(&["cancel", &number]);
    front.until(id, "ended");
    assert_eq!(get(&data, &format!("/api/v1/jobs/{id}/ranks")).0, 409);
}
