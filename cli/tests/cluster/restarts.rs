//! Jobs that are started again (`--max-restarts`): after `kill -9` of a rank, of a supervisor, of a
//! host with all that is on it, and of the server in between.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::common;
use crate::kills::{Random, variable, victim};
use crate::nodes::Cluster;
use crate::server::Server;

/// A program with a checkpoint: each step is written down before it is told of, and an attempt goes on
/// behind the last that was. It stays at the step after `stop` until the file `gate` is there.
fn steps(server: &Server, stop: u32) -> String {
    let dir = server.dir.path().display();
    format!(
        "cd {dir}; echo attempt $HPVM_RESTART_COUNT pid $$; i=$(cat checkpoint 2>/dev/null || echo 0); \
         while [ $i -lt 6 ]; do i=$((i + 1)); \
         echo $i > checkpoint.new; mv checkpoint.new checkpoint; echo step $i; \
         while [ $i = {stop} ] && [ ! -e gate ]; do sleep 0.01; done; done; echo done"
    )
}

fn logs(server: &Server, id: i64) -> String {
    server.good(&["logs", &id.to_string()])
}

/// Waits for this text in a job's output.
fn until_written(server: &Server, id: i64, text: &str) -> String {
    assert!(common::until(|| logs(server, id).contains(text)), "{}", logs(server, id));
    logs(server, id)
}

/// The process that an attempt has told of.
fn pid(output: &str, attempt: u32) -> i32 {
    let line = output.lines().find_map(|l| l.strip_prefix(&format!("attempt {attempt} pid ")));
    line.and_then(|pid| pid.parse().ok()).unwrap_or_else(|| panic!("{output}"))
}

/// The steps that were made, in order, by all attempts.
fn made(output: &str) -> Vec<u32> {
    output.lines().filter_map(|line| line.strip_prefix("step ")?.parse().ok()).collect()
}

fn succeeded(job: &Value) -> bool {
    job["outcome"]["kind"] == "exit" && job["exit_code"] == 0
}

#[test]
fn after_a_killed_rank_it_goes_on_from_its_checkpoint() {
    let server = Server::start();
    let script = steps(&server, 3);
    let id = server.submit(&["--max-restarts", "2", "bash", "-c", &script]);
    let output = until_written(&server, id, "step 3");
    common::kill(pid(&output, 0), libc::SIGKILL);
    let waits = common::until(|| server.show(id)["restarts"] == 1);
    assert!(waits, "{}", server.show(id));
    std::fs::write(server.dir.path().join("gate"), "").unwrap();
    let ended = server.until(id, "ended");
    assert!(succeeded(&ended) && ended["restarts"] == 1, "{ended}");
    assert_eq!(ended["last_failure"]["signal"], 9, "{ended}");
    let output = logs(&server, id);
    assert_eq!(made(&output), [1, 2, 3, 4, 5, 6], "{output}");
    assert!(output.contains("attempt 1 pid") && output.ends_with("done\n"), "{output}");
    // The record goes with all that was kept of both attempts.
    let shown = server.good(&["show", &id.to_string()]);
    assert!(shown.contains("restarts") && shown.contains("1 of 2"), "{shown}");
    let kept = || std::fs::read_dir(server.data().join("jobs")).unwrap().count();
    assert_eq!(kept(), 2);
    let user = server.user("ann", "admin");
    let gone = server.http("DELETE", &format!("/api/v1/jobs/{id}"), &[&user], "");
    assert_eq!((gone.status, kept()), (204, 0), "{gone:?}");
}

#[test]
fn what_ends_by_itself_or_is_cancelled_is_not_started_again() {
    let server = Server::start();
    let fails = server.submit(&["--requeue", "bash", "-c", "exit 3"]);
    let limit = server.submit(&["--requeue", "-t", "0:01", "sleep", "1000"]);
    let plain = server.submit(&["bash", "-c", "kill -9 $$"]);
    for (id, kind) in [(fails, "exit"), (limit, "time_limit"), (plain, "signal")] {
        let ended = server.until(id, "ended");
        assert_eq!(ended["outcome"]["kind"], kind, "{ended}");
        assert!(ended["restarts"].is_null(), "{ended}");
    }
    // One that is killed each time: the last failure is its end.
    let vain = server.submit(&["--max-restarts", "1", "bash", "-c", "echo x; kill -9 $$"]);
    let ended = server.until(vain, "ended");
    assert_eq!((&ended["outcome"]["kind"], &ended["restarts"]), (&"signal".into(), &1.into()));
    assert_eq!(logs(&server, vain), "x\nx\n");
    // Cancelled and held while it waits for its next attempt: eight seconds and more, after three restarts.
    let words = ["--max-restarts", "9", "bash", "-c", "kill -9 $$"];
    let (cancelled, held) = (server.submit(&words), server.submit(&words));
    for id in [cancelled, held] {
        let pauses = || {
            let job = server.show(id);
            let count = job["restarts"].as_u64().unwrap_or(0);
            let reason = format!("is started again (restart {count} of 9)");
            count >= 4 && job["state"] == "pending" && job["reason"].to_string().contains(&reason)
        };
        assert!(common::until(pauses), "{}", server.show(id));
    }
    server.good(&["cancel", &cancelled.to_string()]);
    server.good(&["hold", &held.to_string()]);
    assert_eq!(server.until(cancelled, "ended")["outcome"]["kind"], "cancelled");
    assert_eq!(server.show(held)["state"], "held");
    server.good(&["release", &held.to_string()]);
    server.good(&["cancel", &held.to_string()]);
    assert_eq!(server.until(held, "ended")["outcome"]["kind"], "cancelled");
}

#[test]
fn a_file_of_the_user_holds_what_all_attempts_wrote() {
    let server = Server::start();
    let script = "echo attempt $HPVM_RESTART_COUNT; [ $HPVM_RESTART_COUNT = 1 ] || kill -9 $$";
    std::fs::write(server.dir.path().join("out"), "of an older job\n").unwrap();
    let id = server.submit(&["--max-restarts", "1", "-o", "out", "bash", "-c", script]);
    assert!(succeeded(&server.until(id, "ended")));
    let text = std::fs::read_to_string(server.dir.path().join("out")).unwrap();
    assert!(text.starts_with("attempt 0\n") && text.ends_with("attempt 1\n"), "{text}");
    assert_eq!(logs(&server, id), text);
}

/// Ends `hpvm node` and all that runs on its host, as a power cut does.
fn pull_the_plug(cluster: &mut Cluster, number: usize) {
    cluster.end(number, libc::SIGKILL);
    let data = format!("HPVM_QUEUE_JOB_ID={}", cluster.server.jobs()[0]["id"]);
    let own = |pid: &i32| hpvm_tests::processes::has(*pid, &data);
    let left = || -> Vec<i32> {
        let all = cluster.server.job_processes().into_iter();
        all.filter(|(pid, line)| own(pid) || line.contains(" stepd ")).map(|(pid, _)| pid).collect()
    };
    let gone = common::until(|| {
        left().iter().for_each(|pid| common::kill(*pid, libc::SIGKILL));
        left().is_empty()
    });
    assert!(gone, "{:?}", left());
}

#[test]
fn a_job_of_a_lost_host_goes_on_on_another() {
    let mut cluster = Cluster::start_with(&["n1", "n2"], &["--node-timeout", "10"]);
    let script = steps(&cluster.server, 3);
    let id = cluster.server.submit(&["--requeue", "bash", "-c", &script]);
    let output = until_written(&cluster.server, id, "step 3");
    assert_eq!(made(&output), [1, 2, 3]);
    let host = |job: &Value| job["hosts"][0].as_str().unwrap_or_default().to_string();
    let first = host(&cluster.server.show(id));
    let number = usize::from(first == "n2");
    pull_the_plug(&mut cluster, number);
    // The first attempt's end is not known before its host has been silent for long enough.
    let output = until_written(&cluster.server, id, "attempt 1");
    assert_ne!(pid(&output, 0), pid(&output, 1));
    std::fs::write(cluster.server.dir.path().join("gate"), "").unwrap();
    let ended = cluster.server.until(id, "ended");
    assert!(succeeded(&ended) && ended["restarts"] == 1, "{ended}");
    assert_ne!(host(&ended), first, "{ended}");
    assert_eq!(ended["last_failure"]["kind"], "node_lost", "{ended}");
    let output = logs(&cluster.server, id);
    assert_eq!(made(&output), [1, 2, 3, 4, 5, 6], "{output}");
    // The host comes back and is told that nothing of the job is wanted there.
    cluster.begin(number);
    cluster.nothing_left();
}

#[test]
fn a_host_that_comes_back_ends_the_old_attempt_before_the_new_one() {
    let mut cluster = Cluster::start_with(&["n1"], &["--node-timeout", "10"]);
    let script = steps(&cluster.server, 3);
    let id = cluster.server.submit(&["--requeue", "bash", "-c", &script]);
    let output = until_written(&cluster.server, id, "step 3");
    // Only the daemon: the job goes on.
    cluster.end(0, libc::SIGKILL);
    let given_up = || cluster.server.show(id)["restarts"] == 1;
    assert!(common::until(given_up), "{}", cluster.server.show(id));
    let alive = |pid: i32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    assert!(alive(pid(&output, 0)));
    cluster.begin(0);
    let output = until_written(&cluster.server, id, "attempt 1");
    assert!(!alive(pid(&output, 0)), "both at once");
    std::fs::write(cluster.server.dir.path().join("gate"), "").unwrap();
    assert!(succeeded(&cluster.server.until(id, "ended")));
    cluster.nothing_left();
}

#[test]
fn whatever_is_killed_all_jobs_succeed_in_the_end() {
    let seed = variable("HPVM_TEST_SEED").unwrap_or(u64::from(std::process::id()));
    let rounds = variable("HPVM_TEST_ROUNDS").unwrap_or(12);
    println!("HPVM_TEST_SEED={seed}");
    let mut random = Random(seed);
    let mut server = Server::start();
    let ledger = server.dir.path().join("ledger");
    let script = format!(
        "echo $HPVM_QUEUE_JOB_ID.$HPVM_RESTART_COUNT >> {}; echo begin; sleep 0.2; echo end",
        ledger.display()
    );
    for _ in 0..rounds {
        let words = ["submit", "--max-restarts", "100", "bash", "-c", &script];
        server.hpvm(&words);
        std::thread::sleep(Duration::from_millis(random.below(200)));
        match random.below(4) {
            0 => {
                server.end(libc::SIGKILL);
                server.begin();
            }
            kind => {
                if let Some(pid) = victim(&[server.data()], &mut random, kind == 1) {
                    common::kill(pid, libc::SIGKILL);
                }
            }
        }
    }
    let all_ended = || server.jobs().iter().all(|job| job["state"] == "ended");
    assert!(common::until(all_ended), "seed {seed}: {:?}", server.jobs());
    let mut starts: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(&ledger).unwrap_or_default().lines() {
        *starts.entry(line.to_string()).or_default() += 1;
    }
    assert!(starts.values().all(|count| *count == 1), "seed {seed}: twice: {starts:?}");
    for job in server.jobs() {
        let id = job["id"].as_i64().unwrap();
        assert!(job["outcome"]["code"] == 0, "seed {seed}: {job}");
        let last = format!("{id}.{}", job["restarts"].as_u64().unwrap_or(0));
        assert!(starts.contains_key(&last), "seed {seed}: {job} {starts:?}");
        let output = logs(&server, id);
        assert!(output.ends_with("begin\nend\n"), "seed {seed}: {job}: {output}");
    }
    server.end(libc::SIGTERM);
    let left = common::until(|| server.job_processes().is_empty());
    assert!(left, "seed {seed}: {:?}", server.job_processes());
}
