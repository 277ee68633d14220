//! Processes that a job over two sites spawns, on hosts of its own site and of the other: hosts 1 and 2, and hosts 3 and 4, between which
//! only hosts 1 and 3 reach each other. Skipped, with a word, where test hosts can't be had.

use crate::common::{UnderWay, clean, prefix, program, run_within, succeed};
use crate::sites::{gateways, signal, two_sites, until};
use hpvm_tests::hosts::Hosts;
use std::process::Command;
use std::time::Duration;

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The program with a rank on each host; in its words `#` stands for the beginning of hosts' names.
fn job(hosts: &Hosts, words: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    let name = |host| hosts.name(host);
    command.args(["--site", &format!("east={},{}", name(1), name(2))]);
    command.args(["--site", &format!("west={},{}", name(3), name(4)), "--launch-agent"]);
    command.arg(Hosts::agent()).arg("-l").arg(program("sites_spawn"));
    command.args(words.iter().map(|word| word.replace('#', hosts.prefix())));
    command
}

/// Nothing of a job is left on any host.
fn nothing_is_left(hosts: &Hosts) {
    let left = |host| hosts.processes(host).iter().any(|(_, line)| line.contains("sites_spawn"));
    until("processes are left", || !(1..=4).any(left));
    until("gateways are left", || gateways(hosts).is_empty());
}

/// The ranks of a job on a host whose command lines have this word behind the program's name.
fn ranks(hosts: &Hosts, host: u32, word: &str) -> Vec<i32> {
    let is = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().is_some_and(|file| file.ends_with("sites_spawn")) && words.next() == Some(word)
    };
    hosts.processes(host).into_iter().filter(|(_, line)| is(line)).map(|(pid, _)| pid).collect()
}

#[test]
fn processes_are_spawned_at_any_site() {
    let Some(hosts) = two_sites() else { return };
    for (words, places, end) in [
        // By one rank: on its host, on another one of its site, at the other site, at both.
        (&["self", "1", "-"][..], &[1][..], "right 2 101"),
        (&["self", "2", "#2"], &[2, 2], "right 3 201"),
        (&["self", "2", "#4"], &[4, 4], "right 3 201"),
        (&["self", "2", "#2,#4"], &[2, 4], "right 3 201"),
        // By all ranks, who are at both.
        (&["world", "1", "-"], &[1], "right 5 104"),
        (&["world", "2", "#3,#4"], &[3, 4], "right 6 204"),
        (&["world", "4", "#1,#2,#3,#4"], &[1, 2, 3, 4], "right 8 404"),
        (&["each", "#2", "#4"], &[2, 4], "right 6 204"),
        (&["each", "#4", "-"], &[1, 4], "right 6 204"),
        // The spawned ones spawn others: at the same site and at the other.
        (&["chain", "#3", "#4"], &[3, 4], "right 5 104"),
        (&["chain", "#4", "#2"], &[2, 4], "right 5 104"),
    ] {
        let output = succeed(job(&hosts, words));
        // What they write has the label of the rank that has started them.
        let mut lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.pop(), Some(&*format!("[0] {end}")), "{words:?}: {output}");
        let mut found: Vec<&str> =
            lines.iter().filter_map(|line| line.split(" on ").nth(1)).collect();
        found.sort_unstable();
        let expected: Vec<String> = places.iter().map(|host| hosts.name(*host)).collect();
        assert_eq!(found, expected, "{words:?}: {output}");
        assert!(lines.iter().all(|line| line.starts_with("[0] child ")), "{words:?}: {output}");
    }
    nothing_is_left(&hosts);
}

/// Hosts 2 and 4 reach neither each other nor the other site's gateway.
#[test]
fn ports_are_reached_from_any_site() {
    let Some(hosts) = two_sites() else { return };
    for (words, end) in [
        // Each group at a site, and both groups at both.
        (&["port", "halves"][..], "[0] right 4 4"),
        (&["port", "both"], "[0] right 4 4"),
        // Jobs that ranks have spawned: each at a site, on a host, at the same site, at both.
        (&["jobs", "#2", "#4"], "[0] right 2 200"),
        (&["jobs", "#4", "#1,#2"], "[0] right 3 300"),
        (&["jobs", "#2", "#2"], "[0] right 2 200"),
        (&["jobs", "#3", "#4"], "[0] right 2 200"),
        (&["jobs", "#2,#3", "#4,#1"], "[0] right 4 400"),
    ] {
        let output = succeed(job(&hosts, words));
        assert_eq!(output.lines().last(), Some(end), "{words:?}: {output}");
    }
    nothing_is_left(&hosts);
}

#[test]
fn what_cannot_be_spawned_or_reached_is_said_on_all_ranks() {
    let Some(hosts) = two_sites() else { return };
    for (words, text) in [
        (&["refuse", "1", "elsewhere"][..], "host 'elsewhere' is at none of the sites"),
        (&["closed"], "the port is open no more"),
    ] {
        let output = succeed(job(&hosts, words));
        assert_eq!(output.lines().filter(|line| line.contains(text)).count(), 4, "{output}");
    }
    nothing_is_left(&hosts);
}

/// A job without gateways connects with one whose members are at both sites: an error at once, on both sides.
#[test]
fn a_job_that_was_started_apart_is_not_connected_with_members_at_two_sites() {
    let Some(hosts) = two_sites() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("port").display().to_string();
    let mut other = clean(prefix().join("bin/mpirun"));
    other.args(["-H", &hosts.name(1), "--launch-agent"]).arg(Hosts::agent());
    other.arg(program("sites_spawn")).args(["connect", &file]);
    let (accepted, connected) = std::thread::scope(|scope| {
        let connected = scope.spawn(|| succeed(other));
        (succeed(job(&hosts, &["accept", &file])), connected.join().unwrap())
    });
    let text =
        "members of comm are at several sites: the job that connects does not share their gateways";
    assert_eq!(accepted.lines().filter(|line| line.contains(text)).count(), 4, "{accepted}");
    assert!(connected.contains("the connection to the other group broke"), "{connected}");
    nothing_is_left(&hosts);
}

/// The words of a job, and what happens while it and those that it has spawned wait.
fn with(hosts: &Hosts, words: &[&str], during: impl FnOnce() + Send) -> (Option<i32>, String) {
    let way = UnderWay::new();
    let command = job(hosts, &[words, &[way.file()]].concat());
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            way.wait();
            during();
            way.is_over();
        });
        run_within(command, LIMIT)
    });
    nothing_is_left(hosts);
    (outcome.code, outcome.output)
}

#[test]
fn a_gateway_that_is_killed_knows_spawned_processes_again() {
    let Some(hosts) = two_sites() else { return };
    let (code, output) = with(&hosts, &["hold", "#4"], || {
        let before = gateways(&hosts);
        before.iter().for_each(|(_, pid)| signal(*pid, libc::SIGKILL));
        until("two new gateways", || gateways(&hosts).difference(&before).count() == 2);
    });
    assert_eq!(code, Some(0), "{output}");
    assert!(output.ends_with("[0] right 5 104\n"), "{output}");
}

#[test]
fn who_is_killed_ends_both_jobs_with_one_message() {
    let Some(hosts) = two_sites() else { return };
    let kills: [(&str, u32, &str); 2] =
        [("hold", 4, "spawned have failed: rank 0"), ("hold", 2, "rank 1")];
    for (number, (word, host, text)) in kills.into_iter().enumerate() {
        let (code, output) = with(&hosts, &["hold", "#4"], || {
            // The spawned one is the younger one on its host.
            let all = ranks(&hosts, host, word);
            assert_eq!(all.len(), 2 - number, "{all:?}");
            signal(*all.iter().max().expect("a rank"), libc::SIGKILL);
            until("the ranks have ended", || ranks(&hosts, 1, word).is_empty());
        });
        assert_eq!(code, Some(128 + libc::SIGKILL), "{output}");
        let said: Vec<&str> = output.lines().filter(|line| line.contains("mpirun: ")).collect();
        assert!(
            said.len() == 1 && said[0].contains(text) && said[0].contains("SIGKILL"),
            "{output}"
        );
    }
}

/// The gateways stay for those who go on when the job that has spawned them has ended.
#[test]
fn processes_at_two_sites_outlive_those_who_have_spawned_them() {
    let Some(hosts) = two_sites() else { return };
    let (code, output) = with(&hosts, &["part", "#2,#4"], || {
        let left = || (1..=4).map(|host| ranks(&hosts, host, "part").len()).sum::<usize>();
        until("the first job has ended", || left() == 2);
        // Ranks of theirs have ended, and agents where nothing else is left; the gateways are asked for more.
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(gateways(&hosts).len(), 2);
    });
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("alone 2"), "{output}");
}
