//! Test hosts on one machine: network namespaces made by `tests/hosts/hosts` (see the README
//! there). They need root; where they cannot be made, tests say so and do nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::process;

/// Hosts that are taken away when this is dropped.
#[derive(Debug)]
pub struct Hosts {
    prefix: String,
    count: u32,
}

impl Hosts {
    /// Makes `count` hosts with the options of `hosts up`. Where the system does not allow it,
    /// counts the test as skipped and gives none. Blocks until they
    /// are up.
    pub fn up(count: u32, options: &[&str]) -> Option<Hosts> {
        crate::watchdog::watch();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if let Err(reason) = possible(options) {
            crate::skip::skipped(&reason);
            return None;
        }
        // What earlier runs left when they were killed.
        run(&["down", "--stale"]).expect("hosts down --stale");
        // Relaxed: only distinctness matters.
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let owner = std::process::id().to_string();
        let prefix = format!("t{owner}n{number}h");
        let count_text = count.to_string();
        let mut args = vec!["up", &prefix, &count_text, "--owner", &owner];
        args.extend_from_slice(options);
        run(&args).expect("hosts up");
        Some(Hosts { prefix, count })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The common beginning of their names, for hostlists.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of a host, numbered from 1.
    pub fn name(&self, host: u32) -> String {
        assert!((1..=self.count).contains(&host), "host {host} of {}", self.count);
        format!("{}{host}", self.prefix)
    }

    /// All names, separated by commas, as `-H` takes them.
    pub fn list(&self) -> String {
        (1..=self.count).map(|host| self.name(host)).collect::<Vec<_>>().join(",")
    }

    /// A command on a host, in the present folder and a clean environment.
    pub fn command(&self, host: u32, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = process::clean(tool("hosts"));
        command.arg("exec").arg(self.name(host)).arg(program);
        command
    }

    /// What `--launch-agent` is given to start commands on the hosts without ssh.
    pub fn agent() -> PathBuf {
        tool("agent")
    }

    /// Pulls out (`false`) or puts in (`true`) the cable of `net0` or `net1`.
    pub fn link(&self, host: u32, device: &str, up: bool) {
        run(&["link", &self.name(host), device, if up { "up" } else { "down" }]).expect("link");
    }

    /// Takes the way between two hosts away (`false`), or gives it back.
    pub fn path(&self, one: u32, other: u32, open: bool) {
        for (from, to) in [(one, other), (other, one)] {
            for (family, address) in
                [("-4", format!("10.77.0.{to}/32")), ("-6", format!("fd77::{to:x}/128"))]
            {
                let verb = if open { "del" } else { "add" };
                let mut ip = Command::new("ip");
                ip.args(["-n", &self.name(from), family, "route", verb, "blackhole", &address]);
                let status = ip.status().expect("the command ip");
                assert!(status.success(), "{ip:?}");
            }
        }
    }

    /// Limits a device in both directions, as `tc` has it (`100mbit`); `none` removes the limit.
    pub fn rate(&self, host: u32, device: &str, rate: &str) {
        run(&["rate", &self.name(host), device, rate]).expect("rate");
    }

    /// The processes of a host with their command lines.
    pub fn processes(&self, host: u32) -> Vec<(i32, String)> {
        processes_on(&self.name(host))
    }

    /// Kills everything that runs on a host at one blow.
    pub fn crash(&self, host: u32) {
        run(&["crash", &self.name(host)]).expect("crash");
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        if let Err(text) = run(&["down", &self.prefix]) {
            eprintln!("{text}");
        }
    }
}

/// The processes of a host with their command lines.
pub(crate) fn processes_on(host: &str) -> Vec<(i32, String)> {
    let text = run(&["ps", host]).expect("ps");
    let split = |line: &str| {
        let (pid, words) = line.split_once(' ')?;
        Some((pid.parse().ok()?, words.trim().to_string()))
    };
    text.lines().filter_map(split).collect()
}

/// Whether test hosts can be made here; the error says why not.
pub fn possible(options: &[&str]) -> Result<(), String> {
    let ssh = options.iter().filter(|option| **option == "--ssh");
    let output = Command::new(tool("hosts")).arg("check").args(ssh).output();
    let output = output.map_err(|error| format!("tests/hosts/hosts: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn tool(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts").join(name)
}

fn run(args: &[&str]) -> Result<String, String> {
    let output = Command::new(tool("hosts")).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("tests/hosts/hosts: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        return Err(format!("hosts {}: {}", args.join(" "), text(&output.stderr)));
    }
    Ok(text(&output.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(hosts: &Hosts, host: u32, words: &[&str]) -> String {
        let output = hosts.command(host, words[0]).args(&words[1..]).output().expect("a command");
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    #[test]
    fn they_have_names_and_a_network_and_vanish() {
        let Some(hosts) = Hosts::up(2, &["--second", "--decoy"]) else { return };
        assert_eq!(on(&hosts, 2, &["hostname"]), hosts.name(2));
        let other = Command::new(Hosts::agent())
            .args([&hosts.name(1), "hostname; getent hosts", &hosts.name(2)])
            .output()
            .expect("the agent");
        let text = String::from_utf8_lossy(&other.stdout).into_owned();
        assert!(text.starts_with(&format!("{}\nfd77::2", hosts.name(1))), "{text}");
        let carrier = ["cat", "/sys/class/net/net0/carrier"];
        assert_eq!(on(&hosts, 1, &carrier), "1");
        hosts.link(1, "net0", false);
        assert_eq!(on(&hosts, 1, &carrier), "0");
        hosts.link(1, "net0", true);
        hosts.rate(1, "net1", "100mbit");
        hosts.rate(1, "net1", "none");
        let mut sleeper = hosts.command(2, "sleep").arg("1000").spawn().expect("sleep");
        while hosts.processes(2).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        hosts.crash(2);
        assert!(!sleeper.wait().expect("a child").success());
        let prefix = hosts.prefix().to_string();
        drop(hosts);
        assert!(!run(&["list"]).expect("list").contains(&prefix));
        assert!(!Path::new("/run/netns").join(format!("{prefix}1")).exists());
    }
}
