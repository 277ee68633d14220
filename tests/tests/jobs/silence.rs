//! Ranks that compute without calling MPI while others wait: nobody takes their silence for death,
//! however long it is and whatever strangers do, and the dead are still found.

use crate::common::{PATIENCE, clean, number_after, prefix, program, run_within};
use hpvm_tests::hosts::Hosts;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ADDRESS: &str = "10.77.0.2";

/// `compute` with `waiting` ranks on the first host and one that computes on the second.
fn compute(hosts: &Hosts, waiting: u32, options: &[&str], arguments: &[&str]) -> Command {
    let mut command = clean(prefix().join("bin/mpirun"));
    let places = format!("{}:{waiting},{}:1", hosts.name(1), hosts.name(2));
    command.args(["-H", &places, "-n", &(waiting + 1).to_string(), "--launch-agent"]);
    command.arg(Hosts::agent()).args(options).arg(program("compute")).args(arguments);
    command
}

/// The ports at which processes of a host listen, once there is one.
fn listening(hosts: &Hosts, host: u32) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let output = hosts.command(host, "cat").args(["/proc/net/tcp", "/proc/net/tcp6"]).output();
        let text = String::from_utf8_lossy(&output.expect("cat").stdout).into_owned();
        let port = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (_, port) = words.get(1)?.rsplit_once(':')?;
            let port = u32::from_str_radix(port, 16).ok()?;
            (*words.get(3)? == "0A").then(|| port.to_string())
        };
        let ports: Vec<String> = text.lines().filter_map(port).collect();
        if !ports.is_empty() {
            return ports;
        }
        assert!(Instant::now() < end, "nobody listens on host {host}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Fills the queues of all ports of the second host from the third.
fn fill(hosts: &Hosts, ports: &[String]) -> Child {
    let mut command = hosts.command(3, program("hold"));
    command.args(["140", ADDRESS]).args(ports);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    assert!(number_after(&line, "held").is_some_and(|held| held >= 128.0), "{line}");
    child
}

fn is_right(command: Command) {
    let outcome = run_within(command, 3 * PATIENCE);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("right"), "{}", outcome.output);
}

#[test]
fn a_rank_that_computes_for_many_times_the_limit_lives_for_64_that_wait() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    is_right(compute(&hosts, 64, &["--net-timeout", "2"], &["20", "large"]));
}

#[test]
fn strangers_that_fill_the_queue_of_a_rank_that_computes_end_nothing() {
    let Some(hosts) = Hosts::up(3, &[]) else { return };
    program("hold");
    // The queue of older systems, which few connections fill.
    let mut short = hosts.command(2, "sh");
    short.args(["-c", "echo 128 > /proc/sys/net/core/somaxconn"]);
    assert!(short.status().expect("sh").success());
    let command = compute(&hosts, 3, &["--net-timeout", "2"], &["15", "large"]);
    std::thread::scope(|scope| {
        let job = scope.spawn(|| is_right(command));
        let mut stranger = fill(&hosts, &listening(&hosts, 2));
        let outcome = job.join();
        // It holds them until the end.
        drop(stranger.stdin.take());
        assert!(stranger.wait().expect("it ends").success());
        outcome.expect("the job");
    });
}

#[test]
fn a_host_that_is_cut_off_while_it_computes_is_lost_after_the_limit() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let command = compute(&hosts, 3, &["--net-timeout", "3"], &["100"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            listening(&hosts, 2);
            // Some limits later, in which it has only computed.
            std::thread::sleep(Duration::from_secs(8));
            hosts.link(2, "net0", false);
        });
        let outcome = run_within(command, 2 * PATIENCE);
        assert_ne!(outcome.code, Some(0));
        let text = outcome.output;
        assert!(text.contains("does not answer host"), "{text}");
        assert!(text.contains("questions to its kernel (TCP) had no answer"), "{text}");
    });
}
