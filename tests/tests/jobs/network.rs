//! Jobs on several hosts, which are network namespaces: skipped, with a word, where those can't be
//! made.

use crate::common::{UnderWay, clean, number_after, prefix, program, run_within};
use hpvm_tests::hosts::Hosts;
use std::process::Command;
use std::time::Duration;

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// `mpirun` over all hosts.
fn mpirun(hosts: &Hosts, ranks: u32, options: &[&str], program_words: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-H", &hosts.list(), "--launch-agent"]).arg(Hosts::agent());
    command.args(["-n", &ranks.to_string(), "-ppn", &ranks.div_ceil(hosts.count()).to_string()]);
    command.args(options).arg(program("hosts")).args(program_words);
    command
}

fn is_right(command: Command) {
    let outcome = run_within(command, LIMIT);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("right "), "{}", outcome.output);
}

#[test]
fn ranks_talk_inside_and_between_hosts() {
    let Some(hosts) = Hosts::up(2, &["--decoy", "--second"]) else { return };
    is_right(mpirun(&hosts, 2, &[], &["1", "1"]));
    is_right(mpirun(&hosts, 4, &[], &["1", "2"]));
    for net in ["net0", "net1", "10.77.0.0/16", "fd77::/64", "fd78::/16"] {
        is_right(mpirun(&hosts, 4, &["--net", net], &["0.3", "2"]));
    }
}

#[test]
fn what_is_no_network_is_named() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let outcome = run_within(mpirun(&hosts, 2, &["--net", "ib7"], &["1"]), LIMIT);
    assert_ne!(outcome.code, Some(0));
    let text = outcome.output;
    assert!(text.contains("ib7") && text.contains("net0 10.77.0."), "{text}");
}

#[test]
fn many_ranks_on_three_hosts() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    is_right(mpirun(&hosts, 12, &[], &["1", "4"]));
}

/// Runs `during` while a job of four ranks is under way.
fn with_job(hosts: &Hosts, options: &[&str], during: impl FnOnce() + Send) {
    let job = UnderWay::new();
    let command = mpirun(hosts, 4, options, &["1", "2", job.file()]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            job.wait();
            during();
            job.is_over();
        });
        is_right(command);
    });
}

#[test]
fn a_cable_that_is_out_for_some_seconds_only_delays() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    with_job(&hosts, &[], || {
        hosts.link(2, "net0", false);
        std::thread::sleep(Duration::from_secs(3));
        hosts.link(2, "net0", true);
    });
}

#[test]
fn a_second_network_takes_over() {
    let Some(hosts) = Hosts::up(2, &["--second"]) else { return };
    // It stays out: only the other network can bring the job to its end.
    with_job(&hosts, &["--net-timeout", "60"], || hosts.link(2, "net0", false));
}

#[test]
fn a_network_that_stays_cut_ends_the_job_with_the_names_of_both_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let job = UnderWay::new();
    let command = mpirun(&hosts, 4, &["--net-timeout", "4"], &["100", "2", job.file()]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            job.wait();
            hosts.link(2, "net0", false);
        });
        let outcome = run_within(command, LIMIT);
        assert_ne!(outcome.code, Some(0));
        let text = outcome.output;
        assert!(text.contains(&hosts.name(1)) && text.contains(&hosts.name(2)), "{text}");
        // Whether packets or a connection were waited for, it reads the same up to here.
        assert!(text.contains("gives up") && text.contains("does not answer host"), "{text}");
        let silent = number_after(&text, "last sign of life came");
        assert!(silent.is_some_and(|seconds| seconds >= 4.0), "before the limit: {text}");
        assert!(
            text.contains("not acknowledged") || text.contains("no connection could"),
            "{text}"
        );
        // Ranks on both hosts have noticed it, and one is enough.
        assert_eq!(text.lines().count(), 1, "{text}");
    });
}

/// The hosts believe in longer frames than the switch between them takes, which drops those and says nothing.
#[test]
fn a_switch_with_a_shorter_mtu_than_the_hosts_only_delays() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    (1..=2).for_each(|host| set_mtu(&hosts, host, 9000));
    for net in ["10.77.0.0/16", "fd77::/64"] {
        is_right(mpirun(&hosts, 2, &["--net", net], &["0.5", "1"]));
    }
}

fn set_mtu(hosts: &Hosts, host: u32, mtu: u32) {
    let mut ip = hosts.command(host, "ip");
    let status = ip.args(["link", "set", "net0", "mtu", &mtu.to_string()]).status().expect("ip");
    assert!(status.success());
}

#[test]
fn large_frames_are_used_and_may_become_smaller() {
    let Some(hosts) = Hosts::up(2, &["--mtu", "9000"]) else { return };
    for net in ["10.77.0.0/16", "fd77::/64"] {
        is_right(mpirun(&hosts, 4, &["--net", net], &["0.5", "2"]));
    }
    with_job(&hosts, &[], || set_mtu(&hosts, 2, 1280));
    // One host has large frames, the other one doesn't.
    is_right(mpirun(&hosts, 2, &[], &["0.5", "1"]));
}

#[test]
fn hosts_with_nothing_but_link_local_addresses_talk() {
    for options in [&[][..], &["--second"][..]] {
        let Some(hosts) = Hosts::up(2, options) else { return };
        for host in 1..=2 {
            let mut ip = hosts.command(host, "ip");
            assert!(
                ip.args(["address", "flush", "scope", "global"]).status().expect("ip").success()
            );
        }
        is_right(mpirun(&hosts, 4, &[], &["1", "2"]));
        is_right(mpirun(&hosts, 2, &["--net", "net0"], &["1", "1"]));
    }
}
