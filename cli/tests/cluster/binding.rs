//! Which processors jobs hold, and that they run on no others.

use std::collections::BTreeSet;

use hpvm_launch::place::affinity;
use serde_json::Value;

use crate::common;
use crate::nodes::Cluster;
use crate::server::Server;

/// Says on which processors it may run, and stays.
const STAYS: &str = "grep Cpus_allowed_list /proc/self/status | cut -f 2; exec sleep 1000";
/// The same of two ranks that are bound to a core each, started by the script itself.
const BOUND: &str =
    "run -n 2 --bind-to core sh -c 'grep Cpus_allowed_list /proc/self/status | cut -f 2'";

/// What a job holds by the server's word: the processors of its first host.
fn held(shown: &Value) -> BTreeSet<usize> {
    let numbers = shown["allocation"][0]["processors"].as_array();
    numbers.into_iter().flatten().map(|n| n.as_u64().unwrap() as usize).collect()
}

/// What a job has said it may run on.
fn said(server: &Server, id: i64) -> BTreeSet<usize> {
    let text = || server.good(&["logs", &id.to_string()]);
    assert!(common::until(|| text().ends_with('\n')), "job {id}: {}", server.show(id));
    affinity::parse_list(text().trim())
}

/// The processors of this machine, if jobs can share it out.
fn several() -> Option<usize> {
    let all = affinity::allowed().unwrap().len();
    if all < 2 {
        hpvm_tests::skip::skipped("one processor");
        return None;
    }
    Some(all)
}

#[test]
fn jobs_that_share_a_host_run_on_different_processors_whoever_is_killed() {
    let Some(all) = several() else { return };
    let mut server = Server::start();
    let stays =
        |server: &Server, flags: &[&str]| server.submit(&[flags, &["sh", "-c", STAYS]].concat());
    let rest = (all - 1).to_string();
    let first = stays(&server, &["-n", "1"]);
    let second = stays(&server, &["-n", "1", "-c", &rest]);
    let jobs = [first, second];
    let of = |server: &Server| jobs.map(|id| held(&server.until(id, "running")));
    let before = of(&server);
    assert_eq!(jobs.map(|id| said(&server, id)), before);
    assert!(before[0].is_disjoint(&before[1]), "{before:?}");
    assert_eq!(before[0].union(&before[1]).count(), all);
    let text = server.good(&["show", &first.to_string()]);
    assert!(text.contains(&format!("processors   {}\n", affinity::show(&before[0]))), "{text}");
    // One more waits, also for a server that comes back; it gets what the first one had.
    let third = stays(&server, &["-n", "1"]);
    let waits = |server: &Server| server.until(third, "pending")["reason"].to_string();
    assert!(waits(&server).contains("1 processor; 0 are free"), "{}", waits(&server));
    server.end(libc::SIGKILL);
    server.begin();
    assert_eq!(of(&server), before);
    assert!(waits(&server).contains("1 processor"), "{}", waits(&server));
    server.good(&["cancel", &first.to_string()]);
    assert_eq!(held(&server.until(third, "running")), before[0]);
    assert_eq!(said(&server, third), before[0]);
    for id in [second, third] {
        server.good(&["cancel", &id.to_string()]);
        server.until(id, "ended");
    }
    server.nothing_left();
}

#[test]
fn ranks_are_bound_within_the_job_and_not_at_all_when_that_is_asked_for() {
    let Some(all) = several() else { return };
    let server = Server::start();
    let program = env!("CARGO_BIN_EXE_hpvm");
    let id = server.submit(&["-n", "2", "--wrap", &format!("{program} {BOUND}")]);
    let ended = server.until(id, "ended");
    let mine = held(&ended);
    let each = |text: &str| text.lines().map(affinity::parse_list).collect::<Vec<_>>();
    let ranks = each(&server.good(&["logs", &id.to_string()]));
    assert!(ranks.len() == 2 && ranks[0].is_disjoint(&ranks[1]), "{ranks:?} of {mine:?}");
    assert!(ranks.iter().all(|rank| rank.is_subset(&mine)), "{ranks:?} of {mine:?}");
    // The same asked of the queue.
    let id = server.submit(&[
        "-n",
        "2",
        "--cpu-bind",
        "cores",
        "sh",
        "-c",
        "sleep 0; cat /proc/self/status",
    ]);
    let ended = server.until(id, "ended");
    assert_eq!((&ended["exit_code"], &ended["spec"]["cpu_bind"]), (&0.into(), &"cores".into()));
    let text = server.good(&["logs", &id.to_string()]);
    let lists = text.lines().filter_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
    let ranks: Vec<_> = lists.map(affinity::parse_list).collect();
    assert!(ranks.len() == 2 && ranks[0].is_disjoint(&ranks[1]), "{ranks:?}");
    // A job that is not bound holds its processor all the same.
    let free = server.submit(&["-n", "1", "--cpu-bind=none", "sh", "-c", STAYS]);
    assert_eq!(said(&server, free).len(), all);
    assert_eq!(held(&server.show(free)).len(), 1);
    assert!(server.good(&["show", &free.to_string()]).contains("(not bound)\n"));
    server.good(&["cancel", &free.to_string()]);
    server.until(free, "ended");
    let refused = server.hpvm(&["submit", "--cpu-bind=cores", "--wrap", "true"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("cpu_bind") && text.contains("mpirun --bind-to core"), "{text}");
    server.nothing_left();
}

#[test]
fn hpvm_node_binds_the_jobs_of_its_host() {
    let Some(_) = several() else { return };
    let mut cluster = Cluster::start(&["n1"]);
    let server = &cluster.server;
    let jobs = [(); 2].map(|()| server.submit(&["-n", "1", "sh", "-c", STAYS]));
    let before = jobs.map(|id| held(&server.until(id, "running")));
    assert!(before[0].len() == 1 && before[0].is_disjoint(&before[1]), "{before:?}");
    assert_eq!(jobs.map(|id| said(server, id)), before);
    cluster.end(0, libc::SIGKILL);
    cluster.begin(0);
    let server = &cluster.server;
    server.good(&["cancel", &jobs[0].to_string()]);
    server.until(jobs[0], "ended");
    let third = server.submit(&["-n", "1", "sh", "-c", STAYS]);
    assert_eq!(held(&server.until(third, "running")), before[0]);
    for id in [jobs[1], third] {
        server.good(&["cancel", &id.to_string()]);
        server.until(id, "ended");
    }
    cluster.nothing_left();
}
