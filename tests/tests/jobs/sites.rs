//! Jobs over two sites: hosts 1 and 2, and hosts 3 and 4, between which only hosts 1 and 3 reach each other. Skipped, with a
//! word, where test hosts can't be had.

use crate::common::{clean, conformance, prefix, program, run_within, succeed};
use hpvm_tests::hosts::Hosts;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Two sites of two hosts each.
fn two_sites() -> Option<Hosts> {
    let hosts = Hosts::up(4, &[])?;
    for (one, other) in [(1, 4), (2, 3), (2, 4)] {
        hosts.path(one, other, false);
    }
    Some(hosts)
}

/// `mpirun` with `slots` ranks on each host.
fn mpirun(hosts: &Hosts, slots: u32, options: &[&str], file: &Path, words: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    let name = |host| format!("{}:{slots}", hosts.name(host));
    command.args(["--site", &format!("east={},{}", name(1), name(2))]);
    command.args(["--site", &format!("west={},{}", name(3), name(4)), "--launch-agent"]);
    command.arg(Hosts::agent()).args(options).arg(file).args(words);
    command
}

/// The gateways that run now: host and process.
fn gateways(hosts: &Hosts) -> BTreeSet<(u32, i32)> {
    let of = |host| {
        let all = hosts.processes(host).into_iter();
        all.filter(|(_, line)| line.ends_with("hpvm gateway")).map(move |(pid, _)| (host, pid))
    };
    (1..=hosts.count()).flat_map(of).collect()
}

/// The port at which a gateway listens.
fn port(hosts: &Hosts, host: u32, pid: i32) -> u16 {
    let links = |pid: i32| {
        let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        folder
            .filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string()))
    };
    let sockets: BTreeSet<String> = links(pid).collect();
    let mut table = String::new();
    for file in ["tcp", "tcp6"] {
        let output =
            hosts.command(host, "cat").arg(format!("/proc/net/{file}")).output().expect("cat");
        table.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    let listening = table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let own = sockets.contains(&format!("socket:[{}]", words.get(9)?));
        let port = words.get(1)?.rsplit_once(':')?.1;
        (own && words.get(3) == Some(&"0A")).then(|| u16::from_str_radix(port, 16).ok())?
    });
    listening.expect("a gateway listens")
}

/// Runs a job that goes on for so many seconds, and `during` once both gateways are there. Gives the job's code and words.
fn with_job(
    hosts: &Hosts,
    options: &[&str],
    seconds: &str,
    during: impl FnOnce() + Send,
) -> (Option<i32>, String) {
    let command = mpirun(hosts, 1, options, &program("hosts"), &[seconds, "1"]);
    let ended = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begin = Instant::now();
            while gateways(hosts).len() < 2
                && !ended.load(Ordering::Relaxed)
                && begin.elapsed() < LIMIT
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(1500));
            during();
        });
        let outcome = run_within(command, LIMIT);
        // Relaxed: only that it is seen some time.
        ended.store(true, Ordering::Relaxed);
        outcome
    });
    assert_eq!(gateways(hosts), BTreeSet::new(), "{}", outcome.output);
    (outcome.code, outcome.output)
}

fn is_right((code, output): (Option<i32>, String)) {
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("right "), "{output}");
}

#[test]
fn ranks_of_two_sites_talk() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], "2", || {
        assert_eq!(gateways(&hosts).iter().map(|(host, _)| *host).collect::<Vec<_>>(), [1, 3]);
    }));
    let chosen = [format!("west={}", hosts.name(4)), format!("east={}:7654", hosts.name(2))];
    hosts.path(2, 4, true);
    let options = ["--gateway", &chosen[0], "--gateway", &chosen[1], "--map-by", "node"];
    is_right(with_job(&hosts, &options, "2", || {
        let found: Vec<_> = gateways(&hosts).into_iter().collect();
        assert_eq!(found.iter().map(|(host, _)| *host).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(port(&hosts, 2, found[0].1), 7654);
    }));
}

#[test]
fn collectives_between_sites() {
    let Some(hosts) = two_sites() else { return };
    assert_eq!(succeed(mpirun(&hosts, 1, &[], &program("spread"), &["1"])), "right\n");
    for name in
        ["coll_random", "coll_barrier", "coll_comms", "coll_outstanding", "coll_noncommutative"]
    {
        succeed(mpirun(&hosts, 2, &[], &conformance(name), &[]));
    }
}

#[test]
fn messages_between_sites() {
    let Some(hosts) = two_sites() else { return };
    let programs = [
        "p2p_allpairs",
        "p2p_order",
        "p2p_random",
        "p2p_modes",
        "p2p_sizes",
        "p2p_flood",
        "p2p_probe",
        "rma_fence",
        "rma_lock",
    ];
    for name in programs {
        succeed(mpirun(&hosts, 1, &[], &conformance(name), &[]));
    }
}

#[test]
fn a_gateway_that_is_killed_is_started_again() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], "6", || {
        for _ in 0..2 {
            let before = gateways(&hosts);
            for (_, pid) in &before {
                // SAFETY: a signal to a process of this test's hosts.
                unsafe { libc::kill(*pid, libc::SIGKILL) };
            }
            let begin = Instant::now();
            while begin.elapsed() < LIMIT && gateways(&hosts).difference(&before).count() < 2 {
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(gateways(&hosts).difference(&before).count(), 2);
            std::thread::sleep(Duration::from_millis(500));
        }
    }));
}

#[test]
fn a_link_that_is_cut_for_some_seconds_only_delays() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], "10", || {
        hosts.path(1, 3, false);
        std::thread::sleep(Duration::from_secs(6));
        hosts.path(1, 3, true);
    }));
}

#[test]
fn a_link_that_stays_cut_ends_the_job_with_the_names_of_the_sites() {
    let Some(hosts) = two_sites() else { return };
    let cut = || hosts.path(1, 3, false);
    let (code, output) = with_job(&hosts, &["--net-timeout", "4"], "100", cut);
    assert_ne!(code, Some(0), "{output}");
    assert!(
        output.contains("is lost: its gateway on host") && output.contains("--net-timeout"),
        "{output}"
    );
    assert!(output.contains("'east'") && output.contains("'west'"), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

/// A gateway's kernel takes connections, and nobody serves them.
#[test]
fn a_gateway_that_is_stopped_ends_the_job() {
    let Some(hosts) = two_sites() else { return };
    let (code, output) = with_job(&hosts, &["--net-timeout", "4"], "100", || {
        let found = gateways(&hosts);
        let (_, pid) = found.first().expect("a gateway");
        // SAFETY: a signal to a process of this test's hosts.
        unsafe { libc::kill(*pid, libc::SIGSTOP) };
    });
    assert_ne!(code, Some(0), "{output}");
    assert!(output.contains("site 'east' is lost"), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

#[test]
fn strangers_at_the_port_of_a_gateway_disturb_nobody() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], "6", || {
        let (host, pid) = *gateways(&hosts).first().expect("a gateway");
        let port = port(&hosts, host, pid);
        let script = format!(
            "for i in $(seq 200); do exec {{held}}<>/dev/tcp/127.0.0.1/{port} || break; done
             for i in $(seq 20); do head -c 5000 /dev/urandom >/dev/tcp/127.0.0.1/{port}; done
             for i in $(seq 200); do head -c 700 /dev/urandom >/dev/udp/127.0.0.1/{port}; done
             cat"
        );
        let mut bash = hosts.command(host, "bash");
        bash.args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut stranger = bash.spawn().expect("bash");
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(gateways(&hosts).first(), Some(&(host, pid)), "the gateway has not died");
        let _ = stranger.stdin.take().map(|mut end| end.write_all(b"\n"));
        let _ = stranger.kill();
        stranger.wait().expect("bash ends");
    }));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let Some(hosts) = two_sites() else { return };
    let mut held = hosts.command(3, prefix().join("bin/hpvm"));
    held.arg("gateway").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut held = held.spawn().expect("a gateway");
    let line = format!("start 0 7655 60000 {} 2 A,B;0x1,1x1\n", "0f".repeat(16));
    let mut stdin = held.stdin.take().expect("its input");
    stdin.write_all(line.as_bytes()).expect("a pipe");
    let mut first = [0; 6];
    std::io::Read::read_exact(&mut held.stdout.take().expect("its output"), &mut first)
        .expect("its word");
    assert_eq!(&first, b"ready ");
    let chosen = format!("west={}:7655", hosts.name(3));
    let outcome =
        run_within(mpirun(&hosts, 1, &["--gateway", &chosen], &program("many"), &["ring"]), LIMIT);
    assert_eq!(outcome.code, Some(1), "{}", outcome.output);
    let text = outcome.output;
    assert!(text.contains("gateway of site 'west'") && text.contains("port 7655"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    // It ends with its input.
    drop(stdin);
    assert!(held.wait().expect("it ends").success());
    assert_eq!(gateways(&hosts), BTreeSet::new());
}
