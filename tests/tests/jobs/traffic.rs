//! The rank map: what `hpvm jobs --matrix` reads is what the ranks counted themselves. And `MPI_Pcontrol`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, clean, prefix, program};

/// By sender and receiver: messages, bytes.
type Pairs = BTreeMap<(u64, u64), (u64, u64)>;

/// A job whose ranks have sent everything and wait for ever.
struct Waiting {
    launcher: Child,
    own: Pairs,
}

impl Waiting {
    fn start(how: &str, ranks: usize, flags: &[&str]) -> Waiting {
        let mut command = clean(prefix().join("bin/mpirun"));
        command.args(flags).args(["-n", &ranks.to_string()]).arg(program("traffic")).arg(how);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut launcher = command.spawn().expect("the launcher starts");
        let (mut own, mut done) = (Pairs::new(), 0);
        let mut lines = BufReader::new(launcher.stdout.take().expect("piped")).lines();
        while done < ranks {
            let line = lines.next().expect("ranks say that they are done").expect("text");
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words[at].parse().expect("a number");
            match words[0] {
                "sent" => drop(own.insert((number(1), number(2)), (number(3), number(4)))),
                _ => done += 1,
            }
        }
        Waiting { launcher, own }
    }

    fn jobs(&self, flags: &[&str]) -> (bool, String) {
        let pid = self.launcher.id().to_string();
        let mut command = clean(prefix().join("bin/hpvm"));
        let output = command.args(["jobs", &pid]).args(flags).output().expect("hpvm starts");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// What is shown, once it is what the ranks have counted; otherwise what it is after a while.
    fn matrix(&self) -> Pairs {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.shown();
            if found == self.own || Instant::now() > end {
                return found;
            }
            // A rank says that it is done before it sleeps, and shows its counters when it sleeps.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn shown(&self) -> Pairs {
        let (good, text) = self.jobs(&["--matrix"]);
        assert!(good, "{text}");
        let row = |line: &str| {
            let numbers: Vec<u64> =
                line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            ((numbers[0], numbers[1]), (numbers[2], numbers[3]))
        };
        text.lines().skip(1).map(row).collect()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The launcher ends its ranks before it ends.
        let pid = self.launcher.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.launcher.wait();
    }
}

#[test]
fn a_ring_has_two_diagonals() {
    let job = Waiting::start("ring", 4, &["--monitor"]);
    let found = job.matrix();
    assert_eq!(found, job.own);
    let distance = |(from, to): &(u64, u64)| (to + 4 - from) % 4;
    assert!(found.keys().all(|pair| distance(pair) != 2), "{found:?}");
    assert_eq!(found.len(), 12);
}

#[test]
fn an_alltoall_fills_the_map() {
    let job = Waiting::start("alltoall", 3, &["--monitor"]);
    let found = job.matrix();
    assert_eq!(found, job.own);
    assert_eq!((found.len(), found[&(2, 0)]), (6, (5, 80)));
}

#[test]
fn small_collectives_count_what_others_read() {
    let job = Waiting::start("small", 3, &["-genv", "HPVM_MONITOR", "1"]);
    assert_eq!(job.matrix(), job.own);
}

#[test]
fn who_is_not_monitored_counts_nothing() {
    let job = Waiting::start("ring", 2, &[]);
    let (good, text) = job.jobs(&["--matrix"]);
    assert!(!good && text.contains("mpirun --monitor"), "{text}");
    assert!(job.jobs(&[]).0);
}

#[test]
fn a_setting_that_is_none_is_refused() {
    let mut command = clean(prefix().join("bin/mpirun"));
    command.args(["-n", "1", "-genv", "HPVM_MONITOR", "yes"]).arg(program("traffic")).arg("ring");
    let output = command.output().expect("the launcher starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("expected 0 or 1"), "{text}");
}

#[test]
fn pcontrol_begins_and_ends_the_region() {
    let mut command = clean(prefix().join("bin/hpvm"));
    command.args(["prof", "--region", "--csv", "-o", "-", "-n", "2"]).arg(program("region"));
    let output = command.output().expect("hpvm starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let faults = |line: &str| line.split(',').nth(5).and_then(|value| value.parse::<f64>().ok());
    let ranks: Vec<f64> = text
        .lines()
        .filter(|line| line.starts_with("rank,") && line.contains(",minor-faults,"))
        .filter_map(faults)
        .collect();
    // Where the kernel permits no events, ranks have none.
    if !ranks.is_empty() {
        assert!(ranks.len() == 2 && ranks.iter().all(|n| (300.0..340.0).contains(n)), "{text}");
    }
}
