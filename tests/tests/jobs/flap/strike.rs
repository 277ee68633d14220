//! `kill -9` at random moments of jobs on several hosts.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hpvm_tests::hosts::Hosts;

use super::{LOOK, mpirun};
use crate::common::{PATIENCE, program, tell};
use crate::random::{Random, seed};

/// What was promised is 2 s; a loaded machine takes longer.
const SOON: Duration = Duration::from_secs(60);

const MODES: [&str; 5] = ["init", "flood", "big", "lent", "coll"];

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Rank,
    Agent,
    Launcher,
    /// The guardian of a host, and a moment later a rank.
    Guardian,
    /// The launcher and its guardian at once.
    Both,
}

const VICTIMS: [Victim; 5] =
    [Victim::Rank, Victim::Agent, Victim::Launcher, Victim::Guardian, Victim::Both];

/// Starts so many jobs on so many hosts and kills something of each.
pub fn kills(times: u32, count: u32) {
    let Some(hosts) = Hosts::up(count, &[]) else { return };
    let seed = seed();
    tell(&format!("HPVM_TEST_SEED={seed}"));
    let mut random = Random::new(seed);
    let mut took: [Vec<Duration>; VICTIMS.len()] = Default::default();
    for turn in 0..times {
        let kind = turn as usize % VICTIMS.len();
        let victim = VICTIMS[kind];
        let mode = MODES[random.below(MODES.len() as u64) as usize];
        match strike(&hosts, victim, mode, &mut random) {
            Ok(time) => took[kind].push(time),
            Err(fault) => {
                panic!("{victim:?}, storm {mode}, turn {turn}, HPVM_TEST_SEED={seed}: {fault}")
            }
        }
    }
    for (victim, times) in VICTIMS.iter().zip(&mut took) {
        times.sort();
        let [.., last] = &times[..] else { continue };
        let (count, half) = (times.len(), times[times.len() / 2]);
        tell(&format!(
            "{victim:?}: of {count} jobs half had ended after {half:.0?}, all after {last:.0?}"
        ));
    }
}

/// A job on all hosts, with what it says.
struct Job<'a> {
    hosts: &'a Hosts,
    launcher: Child,
    log: File,
}

/// One job and its end; how long that end took.
fn strike(
    hosts: &Hosts,
    victim: Victim,
    mode: &str,
    random: &mut Random,
) -> Result<Duration, String> {
    let mut job = Job::start(hosts, mode);
    let host = 1 + random.below(hosts.count().into()) as u32;
    // The first host has the launcher instead.
    let remote = host.max(2);
    job.until_ready(mode == "init")?;
    std::thread::sleep(Duration::from_micros(random.below(60_000)));
    let storm = program("storm").display().to_string();
    let launcher = job.launcher.id() as i32;
    let rank = || job.find(host, "a rank", |_, line| line.starts_with(&storm));
    let victims = match victim {
        Victim::Rank => vec![rank()?],
        // The shell before the agent has its words, too, but not at the beginning.
        Victim::Agent => vec![job.find(remote, "the agent", |pid, line| {
            line.ends_with("/bin/hpvm agent") && !is_guardian(pid) && !line.starts_with("/bin/sh")
        })?],
        Victim::Launcher => vec![launcher],
        Victim::Guardian => {
            let guardian = job.find(host, "a guardian", |pid, _| is_guardian(pid))?;
            vec![guardian, rank()?]
        }
        Victim::Both => {
            let guardian = job.find(1, "a guardian", |pid, _| is_guardian(pid))?;
            vec![guardian, launcher]
        }
    };
    let start = Instant::now();
    for pid in victims {
        // SAFETY: kill(2) takes integers; the process belongs to our job.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    let code = job.wait()?;
    job.until_gone()?;
    let took = start.elapsed();
    let name = hosts.name(host);
    let expected = match victim {
        Victim::Rank | Victim::Guardian => (137, format!(", on {name}) was killed by signal 9")),
        Victim::Agent => (1, format!("the connection to host '{}' was lost", hosts.name(remote))),
        // Nobody is left to say anything.
        Victim::Launcher | Victim::Both => (137, String::new()),
    };
    job.check(code, &expected.1, expected.0)?;
    Ok(took)
}

fn is_guardian(pid: i32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end() == "hpvm-guardian"
}

impl Job<'_> {
    fn start<'a>(hosts: &'a Hosts, mode: &str) -> Job<'a> {
        let mut command = mpirun(hosts);
        command.arg(program("storm")).arg(mode);
        let log = tempfile::tempfile().expect("a temporary file");
        let handle = || log.try_clone().expect("the log");
        command.stdin(Stdio::null()).stdout(handle()).stderr(handle());
        let launcher = command.spawn().expect("the launcher starts");
        Job { hosts, launcher, log }
    }

    /// Waits until the job is at work, or, if it is to be struck in MPI_Init, until something of
    /// it runs on the first and the last host.
    fn until_ready(&mut self, early: bool) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        let storm = program("storm").display().to_string();
        loop {
            let there =
                |host| self.hosts.processes(host).iter().any(|(_, line)| line.starts_with(&storm));
            if self.output().contains("ready") || early && there(1) && there(self.hosts.count()) {
                return Ok(());
            }
            if Instant::now() > end || !matches!(self.launcher.try_wait(), Ok(None)) {
                return Err(format!("it does not get ready:\n{}", self.output()));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn find(&self, host: u32, what: &str, is: impl Fn(i32, &str) -> bool) -> Result<i32, String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let all = self.hosts.processes(host);
            if let Some((pid, _)) = all.iter().find(|(pid, line)| is(*pid, line)) {
                return Ok(*pid);
            }
            if Instant::now() > end {
                return Err(format!("no {what} on {}: {all:?}", self.hosts.name(host)));
            }
        }
    }

    fn output(&self) -> String {
        let mut text = Vec::new();
        // Position and all are the children's, too, so read a file of our own.
        let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.log));
        let file = File::open(own).and_then(|mut file| {
            file.rewind()?;
            file.read_to_end(&mut text)
        });
        file.expect("the log");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Waits for the launcher's end. Gives its code.
    fn wait(&mut self) -> Result<i32, String> {
        let end = Instant::now() + SOON;
        while Instant::now() < end {
            if let Ok(Some(status)) = self.launcher.try_wait() {
                return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(format!("the launcher has not ended after {SOON:?}:\n{}", self.output()))
    }

    /// Waits until nothing runs on any host.
    fn until_gone(&self) -> Result<(), String> {
        let end = Instant::now() + SOON;
        for host in 1..=self.hosts.count() {
            loop {
                let left = self.hosts.processes(host);
                if left.is_empty() {
                    break;
                }
                if Instant::now() > end {
                    let name = self.hosts.name(host);
                    return Err(format!("after {SOON:?} there is still, on {name}: {left:?}"));
                }
            }
        }
        Ok(())
    }

    /// One message, which has this in it, or none; and this code.
    fn check(&self, code: i32, part: &str, expected: i32) -> Result<(), String> {
        let output = self.output();
        let lines: Vec<_> = output.lines().filter(|line| *line != "ready").collect();
        let right = match lines[..] {
            [] => part.is_empty(),
            [line] => !part.is_empty() && line.contains(part),
            _ => false,
        };
        if right && code == expected {
            return Ok(());
        }
        Err(format!("code {code} instead of {expected}, or not one line with '{part}':\n{output}"))
    }
}

impl Drop for Job<'_> {
    /// A job whose test has failed must not go on.
    fn drop(&mut self) {
        if let Ok(None) = self.launcher.try_wait() {
            let _ = self.launcher.kill();
            let _ = self.launcher.wait();
        }
    }
}
