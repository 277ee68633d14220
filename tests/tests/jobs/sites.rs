//! Jobs over two sites: hosts 1 and 2, and hosts 3 and 4, between which only hosts 1 and 3 reach each other. Skipped, with a
//! word, where test hosts can't be had.

use crate::common::{UnderWay, clean, conformance, prefix, program, run_within, succeed};
use hpvm_tests::hosts::Hosts;
use hpvm_tests::wan::{Cable, Wan};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Two sites of two hosts each.
pub fn two_sites() -> Option<Hosts> {
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
pub fn gateways(hosts: &Hosts) -> BTreeSet<(u32, i32)> {
    let of = |host| {
        let all = hosts.processes(host).into_iter();
        all.filter(|(_, line)| line.ends_with("hpvm gateway")).map(move |(pid, _)| (host, pid))
    };
    (1..=hosts.count()).flat_map(of).collect()
}

/// The ports of a process's TCP sockets that are in a state, as the kernel numbers it.
fn own_connections(hosts: &Hosts, host: u32, pid: i32, state: &str) -> Vec<u16> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let sockets: BTreeSet<String> = folder
        .filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string()))
        .collect();
    let mut table = String::new();
    for file in ["tcp", "tcp6"] {
        let output =
            hosts.command(host, "cat").arg(format!("/proc/net/{file}")).output().expect("cat");
        table.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    let own = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let own = sockets.contains(&format!("socket:[{}]", words.get(9)?));
        let port = words.get(1)?.rsplit_once(':')?.1;
        (own && *words.get(3)? == state).then(|| u16::from_str_radix(port, 16).ok())?
    };
    table.lines().filter_map(own).collect()
}

/// The port at which a gateway listens.
fn port(hosts: &Hosts, host: u32, pid: i32) -> u16 {
    *own_connections(hosts, host, pid, "0A").first().expect("a gateway listens")
}

/// Connections of a process that are made.
fn connections(hosts: &Hosts, host: u32, pid: i32) -> usize {
    own_connections(hosts, host, pid, "01").len()
}

/// Runs a job whose ranks go on talking, and `during` once all have talked; it ends after that. Gives its code and words.
fn with_job(
    hosts: &Hosts,
    options: &[&str],
    during: impl FnOnce() + Send,
) -> (Option<i32>, String) {
    with(hosts, options, &["0", "1"], "hosts", during)
}

/// The same with another program, whose last word is the file that it makes and waits for.
fn with(
    hosts: &Hosts,
    options: &[&str],
    words: &[&str],
    name: &str,
    during: impl FnOnce() + Send,
) -> (Option<i32>, String) {
    let job = UnderWay::new();
    let words = [words, &[job.file()]].concat();
    let command = mpirun(hosts, 1, options, &program(name), &words);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            job.wait();
            during();
            // A job that has failed leaves it.
            job.is_over();
        });
        run_within(command, LIMIT)
    });
    // The launcher ends before all that it has started.
    until("gateways are left", || gateways(hosts).is_empty());
    (outcome.code, outcome.output)
}

/// Waits until something is so.
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn signal(pid: i32, number: i32) {
    // SAFETY: a signal to a process of this test.
    unsafe { libc::kill(pid, number) };
}

fn is_right((code, output): (Option<i32>, String)) {
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("right "), "{output}");
}

/// The job has ended with one line, which has these parts.
fn is_one_line((code, output): (Option<i32>, String), parts: &[&str]) {
    assert_ne!(code, Some(0), "{output}");
    assert!(parts.iter().all(|part| output.contains(part)), "{output}");
    assert_eq!(output.lines().count(), 1, "{output}");
}

#[test]
fn ranks_of_two_sites_talk() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], || {
        assert_eq!(gateways(&hosts).iter().map(|(host, _)| *host).collect::<Vec<_>>(), [1, 3]);
    }));
    let chosen = [format!("west={}", hosts.name(4)), format!("east={}:7654", hosts.name(2))];
    hosts.path(2, 4, true);
    let options = ["--gateway", &chosen[0], "--gateway", &chosen[1], "--map-by", "node"];
    is_right(with_job(&hosts, &options, || {
        let found: Vec<_> = gateways(&hosts).into_iter().collect();
        assert_eq!(found.iter().map(|(host, _)| *host).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(port(&hosts, 2, found[0].1), 7654);
    }));
}

/// 40 ms there and back, 20 Mbit/s, one frame of two hundred lost.
#[test]
fn ranks_talk_over_a_long_slow_and_lossy_link() {
    let Some(hosts) = two_sites() else { return };
    hosts.path(1, 3, false);
    let cable = Cable { delay: Duration::from_millis(20), rate: 20_000_000, loss: 5 };
    let _wan = Wan::lay(&hosts.name(1), &hosts.name(3), cable).expect("a cable");
    is_right(with_job(&hosts, &[], || ()));
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
    is_right(with_job(&hosts, &[], || {
        for _ in 0..3 {
            let before = gateways(&hosts);
            before.iter().for_each(|(_, pid)| signal(*pid, libc::SIGKILL));
            until("two new gateways", || gateways(&hosts).difference(&before).count() == 2);
        }
    }));
}

#[test]
fn a_gateway_that_is_killed_again_and_again_ends_the_job() {
    let Some(hosts) = two_sites() else { return };
    let outcome = with_job(&hosts, &[], || {
        until("the job ends", || {
            let all = gateways(&hosts);
            all.iter()
                .filter(|(host, _)| *host == 3)
                .for_each(|(_, pid)| signal(*pid, libc::SIGKILL));
            all.is_empty()
        });
    });
    is_one_line(outcome, &["gateway of site 'west'", "again and again"]);
}

#[test]
fn a_connection_that_is_cut_is_made_again() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], || {
        let all = gateways(&hosts);
        let made = || all.iter().map(|(host, pid)| connections(&hosts, *host, *pid)).sum::<usize>();
        assert!(made() >= 2);
        hosts.path(1, 3, false);
        until("both gateways give the connection up", || made() == 0);
        hosts.path(1, 3, true);
    }));
}

#[test]
fn a_link_that_stays_cut_ends_the_job_with_the_names_of_the_sites() {
    let Some(hosts) = two_sites() else { return };
    let cut = || hosts.path(1, 3, false);
    let outcome = with_job(&hosts, &["--net-timeout", "6"], cut);
    is_one_line(outcome, &["is lost: its gateway on host", "--net-timeout", "'east'", "'west'"]);
}

/// A gateway's kernel takes connections, and nobody serves them.
#[test]
fn a_gateway_that_is_stopped_ends_the_job() {
    let Some(hosts) = two_sites() else { return };
    let outcome = with_job(&hosts, &["--net-timeout", "6"], || {
        let found = gateways(&hosts);
        let (_, pid) = found.first().expect("a gateway");
        signal(*pid, libc::SIGSTOP);
    });
    is_one_line(outcome, &["site 'east' is lost"]);
}

/// Ranks of other hosts of its site reach it as ever.
#[test]
fn a_rank_that_does_not_reach_its_gateway_ends_the_job() {
    let Some(hosts) = two_sites() else { return };
    let outcome = with(&hosts, &["--net-timeout", "6"], &["1", "3"], "far", || {
        hosts.path(1, 2, false);
    });
    // Rank 0 may wait for rank 1's acknowledgement of the barrier: then it may be the one that says so.
    is_one_line(outcome, &["does not answer host", &hosts.name(1), &hosts.name(2)]);
}

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    let Some(hosts) = two_sites() else { return };
    let outcome = with_job(&hosts, &[], || {
        let all = hosts.processes(4);
        // The agent's command line names no program.
        let found = all.iter().find(|(_, line)| line.contains("/hosts 0 1 "));
        signal(found.expect("a rank on host 4").0, libc::SIGKILL);
    });
    is_one_line(outcome, &[&hosts.name(4), "rank 3", "9"]);
}

#[test]
fn interrupted_nothing_is_left() {
    let Some(hosts) = two_sites() else { return };
    let (code, output) = with_job(&hosts, &[], || {
        let site = format!("east={}", hosts.name(1));
        let launcher =
            hpvm_tests::processes::children(std::process::id() as i32).into_iter().find(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(&site)
            });
        signal(launcher.expect("the launcher is a child of ours"), libc::SIGINT);
    });
    assert_eq!(code, Some(130), "{output}");
}

#[test]
fn strangers_at_the_port_of_a_gateway_disturb_nobody() {
    let Some(hosts) = two_sites() else { return };
    is_right(with_job(&hosts, &[], || {
        let (host, pid) = *gateways(&hosts).first().expect("a gateway");
        let port = port(&hosts, host, pid);
        let script = format!(
            "for i in $(seq 200); do exec {{held}}<>/dev/tcp/127.0.0.1/{port} || break; done
             for i in $(seq 20); do head -c 5000 /dev/urandom >/dev/tcp/127.0.0.1/{port}; done
             for i in $(seq 200); do head -c 700 /dev/urandom >/dev/udp/127.0.0.1/{port}; done"
        );
        let mut bash = hosts.command(host, "bash");
        bash.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        bash.status().expect("bash");
        assert_eq!(gateways(&hosts).first(), Some(&(host, pid)), "the gateway has not died");
        // With the strangers gone and the connection broken, the gateways find each other.
        let all = gateways(&hosts);
        all.iter().for_each(|(_, pid)| signal(*pid, libc::SIGKILL));
        until("two new gateways", || gateways(&hosts).difference(&all).count() == 2);
    }));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let Some(hosts) = two_sites() else { return };
    let mut held = hosts.command(3, prefix().join("bin/hpvm"));
    held.arg("gateway").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut held = held.spawn().expect("a gateway");
    let line = format!("start 0 7655 60000 {} auto 2 A,B;0x1,1x1\n", "0f".repeat(16));
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
    until("gateways are left", || gateways(&hosts).is_empty());
}
