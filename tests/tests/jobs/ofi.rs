//! Jobs whose datagrams go in messages of libfabric (`--lane ofi`), on hosts that are network namespaces: skipped, with
//! a word, where those or libfabric can't be had.

use crate::common::{UnderWay, clean, conformance, prefix, program, run_within, succeed};
use hpvm_tests::hosts::Hosts;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);
const TCP: &str = "tcp;ofi_rxm";
const UDP: &str = "udp;ofi_rxd";

fn hosts(count: u32, options: &[&str]) -> Option<Hosts> {
    let hosts = Hosts::up(count, options)?;
    match hpvm_ofi::probe() {
        Ok(found) if [TCP, UDP].iter().all(|name| found.providers.iter().any(|p| p == name)) => {
            return Some(hosts);
        }
        Ok(found) => hpvm_tests::skip::skipped(&format!("{TCP} and {UDP}: {}", found.text())),
        Err(why) => hpvm_tests::skip::skipped(&why),
    }
    None
}

/// `mpirun` with two ranks on each of two hosts, all of them by libfabric.
fn mpirun(hosts: &Hosts, options: &[&str], program: &Path, words: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-H", &hosts.list(), "-n", "4", "-ppn", "2", "--lane", "ofi", "--launch-agent"]);
    command.arg(Hosts::agent()).args(options).arg(program).args(words);
    command
}

fn named(provider: &str) -> [&str; 3] {
    ["-genv", "HPVM_OFI_PROVIDER", provider]
}

#[track_caller]
fn is_right(command: Command) {
    let outcome = run_within(command, LIMIT);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("right "), "{}", outcome.output);
}

/// What `hpvm jobs` says about each job of these hosts, with the ranks of one of them: processes are the machine's, so it finds
/// those of other tests' hosts, too.
fn jobs(hosts: &Hosts) -> Vec<String> {
    let hpvm = prefix().join("bin/hpvm");
    let list = hosts.command(1, &hpvm).arg("jobs").output().expect("hpvm jobs");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let names = list.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let one = |name| hosts.command(1, &hpvm).args(["jobs", name]).output().expect("hpvm jobs");
    let texts = names.map(|name| String::from_utf8_lossy(&one(name).stdout).into_owned());
    let here = [hosts.processes(1), hosts.processes(2)].concat();
    let is_here =
        |text: &String| here.iter().any(|(pid, _)| text.contains(&format!("process {pid}:")));
    texts.filter(is_here).collect()
}

/// Waits until `hpvm jobs` says each of these words of both ranks of one job.
#[track_caller]
fn until_jobs_say(hosts: &Hosts, words: &[&str]) {
    let start = Instant::now();
    loop {
        let jobs = jobs(hosts);
        if jobs.iter().any(|job| words.iter().all(|word| job.matches(word).count() == 2)) {
            return;
        }
        assert!(start.elapsed() < LIMIT, "{words:?}: not after {LIMIT:?}; {jobs:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Every rank of the other host is reached by libfabric: so all are there.
const REACHED: &str = " to 2 of 2 ranks\n";

/// Runs `during` while a job is under way by libfabric, and checks that it ends well.
fn with_job(hosts: &Hosts, options: &[&str], during: impl FnOnce() + Send) {
    let job = UnderWay::new();
    let command = mpirun(hosts, options, &program("hosts"), &["1", "2", job.file()]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            job.wait();
            until_jobs_say(hosts, &["lane sent", "lane received", REACHED]);
            during();
            job.is_over();
        });
        is_right(command);
    });
}

#[test]
fn the_provider_of_a_rank_is_shown_and_messages_take_it() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for provider in [TCP, UDP] {
        let lane = format!("lane to other hosts: ofi ({provider}){REACHED}");
        with_job(&hosts, &named(provider), || {
            until_jobs_say(&hosts, &["lane sent", "lane received", &lane]);
        });
    }
}

#[test]
fn messages_of_every_kind_and_length() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for provider in [TCP, UDP] {
        for (name, words) in [
            ("p2p_modes", &[][..]),
            ("p2p_sizes", &["both"]),
            ("p2p_flood", &[]),
            ("p2p_order", &[]),
            ("p2p_idle", &[]),
            ("coll_allreduce", &[]),
            ("coll_alltoall", &[]),
            ("rma_fence", &[]),
        ] {
            succeed(mpirun(&hosts, &named(provider), &conformance(name), words));
        }
    }
}

/// What is read of peers' memory is read by the provider: the ranks of one host do not read.
fn by_rdma(hosts: &Hosts, provider: &str, program: &Path, words: &[&str]) -> Command {
    let rdma = ["-genv", "HPVM_OFI_RDMA", "1", "-genv", "HPVM_SINGLE_COPY", "no"];
    mpirun(hosts, &[&named(provider)[..], &rdma].concat(), program, words)
}

#[test]
fn long_messages_are_read_out_of_their_senders_memory() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for provider in [TCP, UDP] {
        for (name, words) in [
            ("p2p_modes", &[][..]),
            ("p2p_sizes", &["both"]),
            ("p2p_order", &[]),
            ("p2p_cancel_send", &[]),
            ("p2p_truncate", &[]),
            ("coll_alltoall", &[]),
        ] {
            succeed(by_rdma(&hosts, provider, &conformance(name), words));
        }
        let job = UnderWay::new();
        let command = by_rdma(&hosts, provider, &program("hosts"), &["1", "2", job.file()]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                job.wait();
                until_jobs_say(&hosts, &["lane sent", "peer bytes read", REACHED]);
                job.is_over();
            });
            is_right(command);
        });
    }
}

/// While a rank reads the memory of another one, that one is killed: the job ends, and says so.
#[test]
fn a_rank_is_killed_whose_memory_is_being_read() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for host in [1, 2] {
        let job = by_rdma(&hosts, TCP, &program("hosts"), &["100", "2"]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until_jobs_say(&hosts, &["peer bytes read"]);
                let ranks = hosts.processes(host);
                let rank = ranks.iter().find(|(_, line)| line.ends_with("/hosts 100 2"));
                let (pid, _) = rank.unwrap_or_else(|| panic!("no rank among {ranks:?}"));
                // SAFETY: integers.
                assert_eq!(unsafe { libc::kill(*pid, libc::SIGKILL) }, 0);
            });
            let outcome = run_within(job, LIMIT);
            assert_ne!(outcome.code, Some(0), "{}", outcome.output);
            assert!(outcome.output.contains("SIGKILL"), "{}", outcome.output);
        });
        until_gone(&hosts);
    }
}

/// A cable that is out for a while: what the provider was reading is read again, or comes another way.
#[test]
fn a_cable_is_out_while_memory_is_being_read() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let job = UnderWay::new();
    let command = by_rdma(&hosts, TCP, &program("hosts"), &["1", "2", job.file()]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            job.wait();
            until_jobs_say(&hosts, &["peer bytes read"]);
            hosts.link(2, "net0", false);
            std::thread::sleep(Duration::from_secs(3));
            hosts.link(2, "net0", true);
            job.is_over();
        });
        is_right(command);
    });
}

#[test]
fn one_family_after_the_other_and_hosts_with_different_lanes() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for net in ["10.77.0.0/16", "fd77::/64"] {
        is_right(mpirun(&hosts, &["--net", net], &program("hosts"), &["0.5", "2"]));
    }
    // A rank by UDP and two providers that do not know each other: what is not common goes by UDP.
    let text = "case $PMI_RANK in 0) export HPVM_LANE=udp;; 1) export HPVM_OFI_PROVIDER='udp;ofi_rxd';; esac; \
                exec \"$0\" 0.5 2";
    let mut command = mpirun(&hosts, &[], Path::new("/bin/sh"), &["-c", text]);
    command.arg(program("hosts"));
    is_right(command);
}

#[test]
fn a_cable_that_is_out_for_some_seconds_only_delays() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for provider in [TCP, UDP] {
        with_job(&hosts, &named(provider), || {
            hosts.link(2, "net0", false);
            std::thread::sleep(Duration::from_secs(3));
            hosts.link(2, "net0", true);
        });
    }
}

/// libfabric's endpoints are at one interface, whose cable stays out: UDP finds the other.
#[test]
fn a_second_network_takes_over() {
    let Some(hosts) = hosts(2, &["--second"]) else { return };
    let options = [&named(TCP)[..], &["--net-timeout", "60"]].concat();
    with_job(&hosts, &options, || hosts.link(2, "net0", false));
}

#[test]
fn a_network_that_stays_cut_ends_the_job() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for provider in [TCP, UDP] {
        let options = [&named(provider)[..], &["--net-timeout", "6"]].concat();
        let job = mpirun(&hosts, &options, &program("hosts"), &["100", "2"]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until_jobs_say(&hosts, &[REACHED]);
                hosts.link(2, "net0", false);
            });
            let outcome = run_within(job, LIMIT);
            assert_ne!(outcome.code, Some(0), "{provider}");
            let text = outcome.output;
            assert!(text.contains("gives up") && text.contains("does not answer host"), "{text}");
            assert!(text.contains(&hosts.name(1)) && text.contains(&hosts.name(2)), "{text}");
        });
        until_gone(&hosts);
        hosts.link(2, "net0", true);
    }
}

/// The provider's connections carry short messages there and get stuck with long ones, of which nobody tells.
#[test]
fn a_switch_with_a_shorter_mtu_than_the_hosts_only_delays() {
    let Some(hosts) = hosts(2, &[]) else { return };
    for host in 1..=2 {
        let mut ip = hosts.command(host, "ip");
        let status = ip.args(["link", "set", "net0", "mtu", "9000"]).status().expect("ip");
        assert!(status.success());
    }
    for provider in [TCP, UDP] {
        is_right(mpirun(&hosts, &named(provider), &program("hosts"), &["1", "2"]));
    }
}

#[track_caller]
fn until_gone(hosts: &Hosts) {
    let start = Instant::now();
    while (1..=2).any(|host| !hosts.processes(host).is_empty()) {
        assert!(start.elapsed() < LIMIT, "{:?} {:?}", hosts.processes(1), hosts.processes(2));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_job_leaves_nothing() {
    let Some(hosts) = hosts(2, &[]) else { return };
    // Other tests of this machine have files of their own there.
    let ours = || -> Vec<String> {
        let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains("ofi") || name.starts_with("fi_")).collect()
    };
    for (provider, host) in [(TCP, 1), (TCP, 2), (UDP, 1), (UDP, 2)] {
        let job = mpirun(&hosts, &named(provider), &program("hosts"), &["100", "2"]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until_jobs_say(&hosts, &[REACHED]);
                assert_eq!(ours(), [""; 0]);
                let ranks = hosts.processes(host);
                let rank = ranks.iter().find(|(_, line)| line.ends_with("/hosts 100 2"));
                let (pid, _) = rank.unwrap_or_else(|| panic!("no rank among {ranks:?}"));
                // SAFETY: integers.
                assert_eq!(unsafe { libc::kill(*pid, libc::SIGKILL) }, 0);
            });
            let outcome = run_within(job, LIMIT);
            assert_ne!(outcome.code, Some(0), "{}", outcome.output);
            assert!(outcome.output.contains("SIGKILL"), "{}", outcome.output);
        });
        until_gone(&hosts);
        assert_eq!(ours(), [""; 0]);
    }
}

#[test]
fn what_can_not_be_had_is_refused_in_a_sentence() {
    let Some(hosts) = hosts(2, &[]) else { return };
    let refused = |options: &[&str], words: &[&str]| {
        let outcome = run_within(mpirun(&hosts, options, &program("hosts"), &["1", "2"]), LIMIT);
        assert_ne!(outcome.code, Some(0), "{}", outcome.output);
        let text = outcome.output;
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
        assert!(text.contains("HPVM_LANE is ofi"), "{text}");
    };
    refused(&named("no-such-provider"), &["no provider no-such-provider", TCP]);
    // A library of that name that is none.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("libfabric.so.1"), "no library").expect("a file");
    let path = format!("LD_LIBRARY_PATH={}", folder.path().display());
    refused(&["-x", &path], &["libfabric can't be loaded", "libfabric1"]);
    // Who does not ask for it does not notice.
    for lane in ["auto", "udp"] {
        is_right(mpirun(&hosts, &["--lane", lane, "-x", &path], &program("hosts"), &["0.2", "2"]));
    }
}
