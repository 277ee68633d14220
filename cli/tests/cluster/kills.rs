//! `kill -9` of the server, of supervisors and of launchers at random moments, while jobs come and
//! go: no job is lost, none runs twice, what they wrote is whole, nothing is left behind.
//! `HPVM_TEST_SEED=n` repeats a run, `HPVM_TEST_ROUNDS=n` makes it longer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hpvm_queue::stepd::record::{self, Folder};
use serde_json::Value;

use crate::common;
use crate::server::Server;

/// Lines that each job writes.
const LINES: usize = 20;

/// Random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

pub fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Says in the ledger that it starts, writes lines, says that it ends.
pub fn job(ledger: &str, pause: u64) -> String {
    format!(
        "echo start $HPVM_QUEUE_JOB_ID >> {ledger}; for i in $(seq {LINES}); do echo line $i; \
         sleep 0.0{pause}; done; echo end $HPVM_QUEUE_JOB_ID >> {ledger}"
    )
}

/// The supervisors of jobs that run, or the launchers under them, by what they have recorded in these data folders.
pub fn of_jobs(data: &[PathBuf], supervisors: bool) -> Vec<i32> {
    let folders = data.iter().flat_map(|data| std::fs::read_dir(data.join("jobs")));
    let folders = folders.flatten().flatten().map(|entry| Folder(entry.path()));
    let of = |folder: Folder| {
        // A record that is being made or removed is that of no job that runs.
        let supervisor = record::holder(&folder).ok().flatten()?;
        let launch = record::read(&folder).ok().flatten()?.launch;
        match supervisors {
            true => Some(supervisor),
            false => launch.filter(|l| record::start_time(l.pid) == Some(l.start)).map(|l| l.pid),
        }
    };
    folders.filter_map(of).collect()
}

/// One of them.
pub fn victim(data: &[PathBuf], random: &mut Random, supervisor: bool) -> Option<i32> {
    let found = of_jobs(data, supervisor);
    let count = found.len() as u64;
    (count > 0).then(|| found[random.below(count) as usize])
}

#[test]
fn whatever_is_killed_no_job_is_lost_and_none_runs_twice() {
    let seed = variable("HPVM_TEST_SEED").unwrap_or(u64::from(std::process::id()));
    let rounds = variable("HPVM_TEST_ROUNDS").unwrap_or(40);
    println!("HPVM_TEST_SEED={seed}");
    let mut random = Random(seed);
    let mut server = Server::start();
    let ledger = server.dir.path().join("ledger");
    let ledger = ledger.to_str().unwrap().to_string();
    let mut killed_jobs = 0;
    let mut submitted = Vec::new();
    for _ in 0..rounds {
        let script = job(&ledger, random.below(5));
        let output = server.hpvm(&["submit", "--parsable", "bash", "-c", &script]);
        submitted.extend(String::from_utf8_lossy(&output.stdout).trim().parse::<i64>());
        std::thread::sleep(Duration::from_millis(random.below(200)));
        match random.below(4) {
            0 => {
                server.end(libc::SIGKILL);
                std::thread::sleep(Duration::from_millis(random.below(300)));
                server.begin();
            }
            kind @ (1 | 2) => {
                if let Some(pid) = victim(&[server.data()], &mut random, kind == 1) {
                    common::kill(pid, libc::SIGKILL);
                    killed_jobs += 1;
                }
            }
            _ => {}
        }
    }
    let all_ended = || server.jobs().iter().all(|job| job["state"] == "ended");
    assert!(common::until(all_ended), "seed {seed}: {:?}", server.jobs());
    let logs = |id: i64| server.good(&["logs", &id.to_string()]);
    check(&server.jobs(), logs, &ledger, seed, &submitted, killed_jobs);
    server.end(libc::SIGTERM);
    let left = common::until(|| server.job_processes().is_empty());
    assert!(left, "seed {seed}: {:?}", server.job_processes());
}

/// None of the jobs that were submitted is lost, none has run twice, and what they wrote is whole.
pub fn check(
    jobs: &[Value],
    logs: impl Fn(i64) -> String,
    ledger: &str,
    seed: u64,
    submitted: &[i64],
    killed: usize,
) {
    let mut counts: BTreeMap<(String, i64), usize> = BTreeMap::new();
    for line in std::fs::read_to_string(ledger).unwrap_or_default().lines() {
        let (what, id) = line.split_once(' ').unwrap();
        *counts.entry((what.to_string(), id.parse().unwrap())).or_default() += 1;
    }
    let count = |what: &str, id| counts.get(&(what.to_string(), id)).copied().unwrap_or(0);
    for id in submitted {
        assert!(jobs.iter().any(|job| job["id"] == *id), "seed {seed}: job {id} is lost");
    }
    let lines: String = (1..=LINES).map(|i| format!("line {i}\n")).collect();
    let mut failed = 0;
    for job in jobs {
        let id = job["id"].as_i64().unwrap();
        assert!(count("start", id) <= 1, "seed {seed}: job {id} ran twice");
        let outcome = &job["outcome"];
        if outcome["kind"] == "exit" && outcome["code"] == 0 {
            assert_eq!((count("start", id), count("end", id)), (1, 1), "seed {seed}: job {id}");
            assert_eq!(logs(id), lines, "seed {seed}: job {id}");
        } else {
            let kind = outcome["kind"].as_str().unwrap();
            assert!(["signal", "node_lost"].contains(&kind), "seed {seed}: job {id}: {outcome}");
            failed += 1;
        }
    }
    assert!(failed <= killed, "seed {seed}: {failed} jobs failed, {killed} were killed: {jobs:?}");
}
