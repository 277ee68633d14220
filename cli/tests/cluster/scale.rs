//! How the server bears 1,000 hosts, 10,000 queued jobs, a million finished ones and 200 watchers.
//! It measures and takes a minute, so it runs when asked for only:
//! `cargo test --release -p hpvm --test cluster scale -- --ignored --nocapture`.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hpvm_monitor::HostSample;
use hpvm_queue::node::{Capacity, Orders, Report};
use hpvm_serve::api::types::NodeReport;
use hpvm_serve::client::{Address, Client, Events, Kept};
use hpvm_serve::tls::trust::Trust;
use hyper::Method;
use tokio::sync::{Barrier, Semaphore};

use crate::server::Server;

const HOSTS: usize = 1000;
const WATCHERS: usize = 200;
const FINISHED: usize = 1_000_000;
/// How long each measurement lasts.
const SPAN: Duration = Duration::from_secs(10);

/// Puts so many finished jobs into the store of a server that does not run.
fn finish_jobs(server: &Server, count: usize) {
    let script = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("INSERT INTO specs (id, spec) VALUES (99, '{\"command\":[\"x\"]}')")
db.executemany("""INSERT INTO jobs (state, user, name, queue, priority, ranks, submitted, started, ended, hosts, outcome, spec)
    VALUES ('ended', 'u' || (?1 % 50), 'job' || ?1, 'main', 0, 1, 1, 2, 3,
    iif(?1 = 7, '["rare"]', '["n' || (?1 % 100) || '"]'), '{"kind":"exit","code":0}', 99)""",
    ((i,) for i in range(int(sys.argv[2]))))
db.execute("INSERT INTO job_names (rowid, words) SELECT id, words FROM job_words ORDER BY id")
db.commit()
"#;
    let mut python = Command::new("python3");
    let store = server.data().join("store.sqlite");
    let done = python.args(["-c", script]).arg(store).arg(count.to_string()).status().unwrap();
    assert!(done.success());
}

/// Seconds of processor and bytes of memory that a process has used.
fn used(pid: u32) -> (f64, u64) {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = line.trim().strip_suffix("kB").unwrap().trim().parse().unwrap();
    (ticks / 100.0, kib * 1024)
}

/// Says how much of a processor the server takes from here on, and its memory at the end.
async fn measured(what: &str, pid: u32) {
    let (before, _) = used(pid);
    tokio::time::sleep(SPAN).await;
    let (after, memory) = used(pid);
    let share = (after - before) / SPAN.as_secs_f64() * 100.0;
    println!("{what}: {share:.1} % of a processor, {} MB", memory >> 20);
}

fn timed(server: &Server, what: &str, path: &str, headers: &[&str]) {
    let mut times: Vec<Duration> = (0..7)
        .map(|_| {
            let begin = Instant::now();
            assert_eq!(server.http("GET", path, headers, "").status, 200);
            begin.elapsed()
        })
        .collect();
    times.sort();
    println!("{what}: {:.1} ms", times[3].as_secs_f64() * 1000.0);
}

/// A simulated host.
struct Host {
    client: Kept,
    number: usize,
    /// Reports so far.
    count: u64,
}

impl Host {
    async fn report(&mut self, sample: &HostSample) {
        self.count += 1;
        let report = Report {
            identity: format!("id{}", self.number),
            session: 1,
            number: self.count,
            ..Report::default()
        };
        let capacity = Capacity { cpus: 16, memory: 1 << 36, gpus: 0 };
        let asked = NodeReport { report, capacity, sample: Some(sample.clone()) };
        let path = format!("/api/v1/nodes/host{}/report", self.number);
        let body = serde_json::to_vec(&asked).unwrap();
        if let Ok(bytes) = self.client.send(Method::POST, &path, Some(body)).await {
            let _: Orders = serde_json::from_slice(&bytes).unwrap();
        }
    }

    /// Reports what a busy host would have said in the day before `sample`: each 30 seconds, as
    /// finely as a day is kept, and each second of the last hour.
    /// Not all hosts at once, as in a real day: the server would need memory for all those requests.
    async fn report_a_day(&mut self, sample: &HostSample, turns: &Semaphore) {
        const HOUR: u64 = 3_600;
        const DAY: u64 = 24 * HOUR;
        let half_minutes = (HOUR / 30..DAY / 30).rev().map(|number| number * 30);
        let ago = half_minutes.chain((1..HOUR).rev());
        for seconds in ago {
            let mut then = sample.clone();
            then.at_ms -= seconds * 1000;
            make_busy(&mut then, self.number as u64 * DAY + seconds);
            let _turn = turns.acquire().await.unwrap();
            self.report(&then).await;
        }
    }
}

/// Rates between half and twice 1 MB/s, processors busy by 0.8 to 0.9, memory that grows slowly.
fn make_busy(sample: &mut HostSample, seed: u64) {
    let noise = |k: u64| {
        let mixed = (seed * 6 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1 << 24) as f64
    };
    let rate = |k| 1e6 * 2f64.powf(2.0 * noise(k) - 1.0);
    if let Some(cpu) = &mut sample.cpu {
        cpu.total.user = 0.8 + 0.1 * noise(0) as f32;
        cpu.total.system = 0.0;
    }
    sample.memory.total = 1 << 36;
    sample.memory.available = (seed / 100 % 1000) << 26;
    if let Some(network) = &mut sample.network {
        (network.received, network.sent) = (rate(1), rate(2));
    }
    (sample.disk.read, sample.disk.written) = (Some(rate(3)), Some(rate(4)));
}

/// A host that reports once a second, with a sample as of 16 processors.
async fn report_each_second(mut host: Host, sample: HostSample) {
    tokio::time::sleep(Duration::from_millis(host.number as u64)).await;
    let mut every = tokio::time::interval(Duration::from_secs(1));
    loop {
        every.tick().await;
        host.report(&sample).await;
    }
}

/// A server of the program that `HPVM_TEST_PROGRAM` names, so that another build can be measured.
fn server() -> Server {
    let mut server = Server::new();
    if let Some(program) = std::env::var_os("HPVM_TEST_PROGRAM") {
        server.program = program.into();
    }
    server.begin();
    server
}

/// Clients with a token for hosts and one for everything, and a sample of this machine.
fn clients(server: &Server) -> (Client, Client, HostSample) {
    let sampled = || {
        let names: serde_json::Value =
            serde_json::from_str(&server.good(&["nodes", "--json"])).unwrap();
        let sample = names["hosts"][0]["sample"].clone();
        sample["cpu"]["cores"].is_array().then_some(sample)
    };
    assert!(crate::common::until(|| sampled().is_some()), "no sample of the processors");
    let sample = serde_json::from_value(sampled().expect("there was one")).unwrap();
    let address = Address::parse(server.link.split("/#").next().unwrap()).unwrap();
    let client = |scope: &str| {
        let token = server.good(&["token", "create", scope, "--scope", scope]);
        Client::remote(address.clone(), Trust::System, Some(token.trim().into()))
    };
    (client("node"), client("admin"), sample)
}

/// What the hosts have reported before they are measured.
#[derive(Clone, Copy, PartialEq)]
enum Past {
    Nothing,
    Day,
}

/// Measures the server with hosts that report, and with watchers of them.
fn measure_hosts(server: &Server, past: Past) {
    let (hosts, watchers, sample) = clients(server);
    let sample = wide(&sample);
    let pid = server.pid();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        measured("nobody reports", pid).await;
        let begin = Instant::now();
        let told = Arc::new(Barrier::new(HOSTS + 1));
        let turns = Arc::new(Semaphore::new(4));
        for number in 0..HOSTS {
            let mut host = Host { client: hosts.keep(), number, count: 0 };
            let (told, turns, sample) = (told.clone(), turns.clone(), sample.clone());
            tokio::spawn(async move {
                if past == Past::Day {
                    host.report_a_day(&sample, &turns).await;
                }
                told.wait().await;
                report_each_second(host, sample).await;
            });
        }
        told.wait().await;
        if past == Past::Day {
            println!("a day of 1,000 hosts told in {} s", begin.elapsed().as_secs());
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        measured("1,000 hosts reporting", pid).await;
        let seen = Arc::new(AtomicU64::new(0));
        for _ in 0..WATCHERS {
            let (watcher, seen) = (watchers.clone(), seen.clone());
            tokio::spawn(async move {
                let answer = watcher.send(Method::GET, "/api/v1/events", &[], None).await.unwrap();
                let mut events = Events::new(answer);
                while events.next().await.is_some() {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        let before = seen.load(Ordering::Relaxed);
        measured("and 200 watchers", pid).await;
        // The watchers share a processor: what the server does for them is as much as they take.
        let seen = (seen.load(Ordering::Relaxed) - before) as f64;
        println!("each saw {:.0} events/s", seen / WATCHERS as f64 / SPAN.as_secs_f64());
    });
}

/// Hosts alone: what they cost in a queue that is not large.
#[test]
#[ignore = "a measurement"]
fn scale_hosts() {
    measure_hosts(&server(), Past::Nothing);
}

/// The same after a day. That is told first, by six million reports, which takes minutes.
#[test]
#[ignore = "a measurement"]
fn scale_day() {
    measure_hosts(&server(), Past::Day);
}

#[test]
#[ignore = "a measurement"]
fn scale() {
    let mut server = server();
    for count in [10, FINISHED] {
        server.end(libc::SIGTERM);
        finish_jobs_once(&server, count);
        server.begin();
        let cookie = format!("Cookie: {}", server.sign_in(&server.link).cookie());
        println!("{count} finished jobs");
        timed(&server, "  first page", "/api/v1/jobs", &[&cookie]);
        for (what, query) in [
            ("ended jobs of a user", "state=ended&user=u7".to_string()),
            ("jobs of a host", "host=n7".into()),
            ("jobs of a host that hardly any had", "host=rare".into()),
            ("a part of every name", "name=job".into()),
            ("a part of hardly any name", format!("name=b{}", count - 1)),
            ("a letter that no name has", "name=q".into()),
            ("of a user, a part of hardly any name", format!("user=u7&name=b{}", count - 3)),
            ("of a user and a host that have none together", "user=u8&host=n7".into()),
        ] {
            let path = format!("/api/v1/jobs?{query}");
            timed(&server, &format!("  {what}"), &path, &[&cookie]);
        }
    }
    let names: serde_json::Value =
        serde_json::from_str(&server.good(&["nodes", "--json"])).unwrap();
    server.good(&["drain", names["hosts"][0]["name"].as_str().unwrap(), "x"]);
    let begin = Instant::now();
    server.good(&["submit", "-a", "0-9999", "-w", "nowhere", "true"]);
    println!("10,000 jobs submitted in {:.1} s", begin.elapsed().as_secs_f64());
    measure_hosts(&server, Past::Nothing);
}

fn finish_jobs_once(server: &Server, count: usize) {
    let store = server.data().join("store.sqlite");
    let script = "import sqlite3,sys\ndb=sqlite3.connect(sys.argv[1])\n\
        db.execute(\"DELETE FROM jobs\")\ndb.execute(\"DELETE FROM specs\")\ndb.commit()";
    let mut python = Command::new("python3");
    assert!(python.args(["-c", script]).arg(store).status().unwrap().success());
    finish_jobs(server, count);
}

/// The sample as if the host had 16 processors.
fn wide(sample: &HostSample) -> HostSample {
    let mut wide = sample.clone();
    if let Some(cpu) = &mut wide.cpu
        && let Some(first) = cpu.cores.first().cloned()
    {
        cpu.cores.resize(16, first);
    }
    wide
}
