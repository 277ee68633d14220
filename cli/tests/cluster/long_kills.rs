//! `kill -9` of the server, of `hpvm node`, of supervisors, launchers and agents at random moments, for minutes, while
//! jobs of one host and of several come and go on test hosts. No job is lost, none runs twice, what they wrote is
//! whole, no two share a processor, nothing is left behind. `HPVM_KILL_SECONDS` says how long, `HPVM_TEST_SEED=n`
//! repeats a run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hpvm_launch::executor::guardian;
use hpvm_launch::remote::start::SUBCOMMAND;
use hpvm_queue::stepd::family;
use serde_json::Value;

use crate::common;
use crate::kills::{self, Random, variable};
use crate::nodes::Spread;

/// Jobs that have not ended, at most: enough that some always wait.
const JOBS: usize = 12;

struct Run {
    spread: Spread,
    random: Random,
    ledger: String,
    submitted: Vec<i64>,
    /// Processes of jobs that were killed, and those of the server and of hosts.
    killed: usize,
    services: usize,
}

impl Run {
    fn jobs(&self, all: bool) -> Vec<Value> {
        let mut words = vec!["queue", "--json", "--limit", "100000"];
        words.extend(all.then_some("-a"));
        // The server may be away just now.
        let output = self.spread.on(1, &words).output().unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        value["jobs"].as_array().cloned().unwrap_or_default()
    }

    fn submit(&mut self) {
        let script = kills::job(&self.ledger, self.random.below(9));
        let script = format!("[ ${{PMI_RANK:-0}} = 0 ] || {{ sleep 0.3; exit 0; }}; {script}");
        let flags: &[&[&str]] = &[
            &["-n", "1"],
            &["-n", "2"],
            &["-N", "2"],
            &["-N", "3", "--mem", "500M"],
            &["-n", "1", "--cpu-bind", "none"],
            &["-N", "2", "--max-processes", "100", "--mem", "500M"],
        ];
        let flags = flags[self.random.below(flags.len() as u64) as usize];
        let words = [&["submit", "--parsable"], flags, &["bash", "-c", &script]].concat();
        let output = self.spread.on(1, &words).output().unwrap();
        self.submitted.extend(String::from_utf8_lossy(&output.stdout).trim().parse::<i64>());
    }

    /// Kills something of a job: a supervisor, a launcher, an agent.
    fn kill_of_job(&mut self) {
        let found = match self.random.below(3) {
            2 => self.agents(),
            kind => kills::of_jobs(&self.spread.folders(), kind == 0),
        };
        if !found.is_empty() {
            common::kill(found[self.random.below(found.len() as u64) as usize], libc::SIGKILL);
            self.killed += 1;
        }
    }

    /// The launchers' agents, on all hosts.
    fn agents(&self) -> Vec<i32> {
        let guards = |pid: i32| family::name_of(pid).as_deref() == Some(guardian::NAME);
        let is_agent = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() == 2 && words[0].ends_with("/hpvm") && words[1] == SUBCOMMAND
        };
        let all = (1..=3).flat_map(|host| self.spread.hosts.processes(host));
        let agents = all.filter(|(pid, line)| is_agent(line) && !guards(*pid));
        agents.map(|(pid, _)| pid).collect()
    }

    fn kill_service(&mut self) {
        let host = self.random.below(3) as u32 + 1;
        self.spread.kill(host);
        std::thread::sleep(Duration::from_millis(self.random.below(1500)));
        self.spread.again(host);
        self.services += 1;
    }

    /// Whether two jobs that run hold the same processor of a host.
    fn look_at_processors(&self) {
        let show = |id: i64| {
            let output = self.spread.on(1, &["show", "--json", &id.to_string()]).output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()
        };
        let mut held: BTreeMap<(String, u64), i64> = BTreeMap::new();
        for job in self.jobs(false).iter().filter(|job| job["state"] == "running") {
            let shown = show(job["id"].as_i64().unwrap());
            for share in shown["allocation"].as_array().into_iter().flatten() {
                for number in share["processors"].as_array().into_iter().flatten() {
                    let key = (share["host"].to_string(), number.as_u64().unwrap());
                    let own = shown["id"].as_i64().unwrap();
                    if let Some(other) = held.insert(key.clone(), own) {
                        // One may have ended, and the other have begun, between two looks.
                        let (a, b) = (show(other), show(own));
                        let both = a["state"] == "running" && b["state"] == "running";
                        assert!(!both, "{key:?} is held by {a} and {b}");
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "make kills"]
fn whatever_is_killed_for_minutes_no_job_is_lost_and_none_runs_twice() {
    let Some(spread) = Spread::start() else { return };
    let seed = variable("HPVM_TEST_SEED").unwrap_or(u64::from(std::process::id()));
    let seconds = variable("HPVM_KILL_SECONDS").unwrap_or(600);
    println!("HPVM_TEST_SEED={seed} HPVM_KILL_SECONDS={seconds}");
    let ledger = spread.dir.path().join("ledger").to_str().unwrap().to_string();
    let (random, submitted) = (Random(seed), Vec::new());
    let mut run = Run { spread, random, ledger, submitted, killed: 0, services: 0 };
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        match run.random.below(8) {
            0 => run.kill_service(),
            1 | 2 => run.kill_of_job(),
            3 => run.look_at_processors(),
            _ if run.jobs(false).len() < JOBS => run.submit(),
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(run.random.below(300)));
    }
    let all_ended = || run.jobs(false).is_empty() && !run.jobs(true).is_empty();
    assert!(common::until(all_ended), "seed {seed}: {:?}", run.jobs(false));
    let jobs = run.jobs(true);
    let good = jobs.iter().filter(|job| job["outcome"]["code"] == 0).count();
    println!(
        "{} jobs, {good} of them to their end; {} times the server or a host killed, {} times something of a job",
        jobs.len(),
        run.services,
        run.killed
    );
    let logs = |id: i64| run.spread.good(&["logs", &id.to_string()]);
    kills::check(&jobs, logs, &run.ledger, seed, &run.submitted, run.killed);
    for host in 1..=3 {
        let all = || run.spread.hosts.processes(host).into_iter();
        let left = || all().any(|(pid, _)| !run.spread.is_service(pid));
        assert!(
            common::until(|| !left()),
            "on host {host}: {:?}",
            run.spread.hosts.processes(host)
        );
    }
}
