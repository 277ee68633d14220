//! A host that takes no part in a job and does what it can to disturb it: the job ends with the
//! right result, and its counters show what was dropped.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;

use crate::common::{PATIENCE, UnderWay, clean, number_after, prefix, program, run_within, tell};

/// The host that disturbs.
const STRANGER: u32 = 3;
const NETWORK: &str = "10.77.0";

/// The UDP ports that are open on a host; nothing but ranks opens any there.
fn ports(hosts: &Hosts, host: u32) -> Vec<String> {
    let output = hosts.command(host, "cat").arg("/proc/net/udp").output().expect("cat");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let port = |line: &str| {
        let (_, port) = line.split_whitespace().nth(1)?.split_once(':')?;
        Some(u32::from_str_radix(port, 16).ok()?.to_string())
    };
    text.lines().filter_map(port).collect()
}

/// Waits until this many ports are open.
fn until_ports(hosts: &Hosts, host: u32, count: usize) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    let mut seen = vec![Vec::new()];
    loop {
        let ports = ports(hosts, host);
        if ports.len() == count {
            return ports;
        }
        if seen.last() != Some(&ports) {
            seen.push(ports);
        }
        assert!(Instant::now() < end, "ports of host {host}, one list after the other: {seen:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts to disturb the ranks of a host.
fn disturb(hosts: &Hosts, host: u32, ports: &[String], seconds: &str) -> Child {
    let mut command = hosts.command(STRANGER, program("stranger"));
    command.args([seconds, &host.to_string()]);
    command.arg(format!("/run/netns/{}", hosts.name(host)));
    command.args(["net0", &format!("{NETWORK}.{host}")]).args(ports);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the stranger starts")
}

/// What `hpvm jobs ARGUMENTS` prints on a host.
fn jobs(hosts: &Hosts, host: u32, arguments: &[&str]) -> String {
    let mut command = hosts.command(host, prefix().join("bin/hpvm"));
    let output = command.arg("jobs").args(arguments).output().expect("hpvm jobs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The sum of a counter over the ranks of our job that run on a host.
fn counter(hosts: &Hosts, host: u32, name: &str) -> u64 {
    let list = jobs(hosts, host, &[]);
    let ours = list.lines().filter(|line| line.contains(&program("hosts").display().to_string()));
    let id = ours.filter_map(|line| line.split_whitespace().next()).next();
    let Some(id) = id else { panic!("no job on host {host}:\n{list}") };
    let shown = jobs(hosts, host, &[id]);
    let counters = shown.lines().filter(|line| line.contains("counters: "));
    counters.filter_map(|line| number_after(line, name)).sum::<f64>() as u64
}

fn job(hosts: &Hosts, arguments: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    let both = format!("{},{}", hosts.name(1), hosts.name(2));
    command.args(["-H", &both, "-ppn", "2", "--net", "10.77.0.0/24", "--launch-agent"]);
    command.arg(Hosts::agent()).arg(program("hosts")).args(arguments);
    command
}

#[test]
fn a_flood_from_a_third_host_changes_nothing() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    // Compiled before the job runs, which does not wait for it.
    program("stranger");
    let running = UnderWay::new();
    let command = job(&hosts, &["1", "2", running.file()]);
    std::thread::scope(|scope| {
        let counts = scope.spawn(|| {
            running.wait();
            let found: Vec<_> = (1..=2).map(|host| until_ports(&hosts, host, 2)).collect();
            let strangers: Vec<_> =
                (1..=2).map(|host| disturb(&hosts, host, &found[host as usize - 1], "5")).collect();
            for stranger in strangers {
                let output = stranger.wait_with_output().expect("the stranger ends");
                assert!(output.status.success(), "{output:?}");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                tell(text.trim());
                for word in ["garbage", "repeated", "forged", "connections"] {
                    assert!(number_after(&text, word).is_some_and(|n| n > 0.0), "{word}: {text}");
                }
            }
            // Ranks show their counters when they sleep, which they do now and then.
            let end = Instant::now() + PATIENCE;
            let names = ["strangers", "datagrams dropped"];
            loop {
                let counts: [u64; 2] =
                    names.map(|name| (1..=2).map(|host| counter(&hosts, host, name)).sum());
                if counts[0] > 100 && counts[1] > 0 || Instant::now() > end {
                    running.is_over();
                    return counts;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let outcome = run_within(command, 2 * PATIENCE);
        assert_eq!(outcome.code, Some(0), "{}", outcome.output);
        assert!(outcome.output.starts_with("right "), "{}", outcome.output);
        let [strangers, dropped]: [u64; 2] = counts.join().expect("the counters");
        tell(&format!("{strangers} strangers and {dropped} old datagrams counted"));
        assert!(strangers > 100, "{strangers} strangers counted");
        assert!(dropped > 0, "no repeated datagram counted");
    });
}
