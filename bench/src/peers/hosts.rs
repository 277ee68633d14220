//! A comparison between two hosts: how each MPI is told about them, and the floor there, bare TCP.

use crate::error::BenchError;
use crate::target::{Floor, Output, Target, run_command};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The parts that make sense between two ranks on two hosts.
pub const PARTS: [&str; 2] = ["latency", "bandwidth"];

/// Two hosts, of which this is the first, and how to reach the other.
#[derive(Clone, Debug)]
pub struct Hosts {
    pub names: [String; 2],
    /// Instead of ssh.
    pub agent: Option<String>,
    /// Network interface, the same on both; each MPI chooses otherwise.
    pub device: Option<String>,
    /// Ranks are started through it.
    pub wrapper: Option<String>,
}

impl Hosts {
    /// Lets `target` run with a rank on each host, over TCP.
    pub fn arrange(&self, target: &mut Target) {
        let agent = self.agent.as_deref();
        let list = self.names.join(",");
        let mut env: Vec<(&str, OsString)> = Vec::new();
        let mut args: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| args.extend(words.iter().map(|w| (*w).to_owned()));
        match target.name.as_str() {
            "mpich" => {
                add(&["-hosts", &list, "-ppn", "1"]);
                agent.iter().for_each(|a| add(&["-launcher", "ssh", "-launcher-exec", a]));
                env.extend([("MPIR_CVAR_CH4_NETMOD", "ofi".into()), ("FI_PROVIDER", "tcp".into())]);
                env.extend(self.device.iter().map(|d| ("FI_TCP_IFACE", d.into())));
            }
            "impi" => {
                add(&["-hosts", &list, "-ppn", "1"]);
                agent.iter().for_each(|a| add(&["-bootstrap", "ssh", "-bootstrap-exec", a]));
                env.extend([("I_MPI_FABRICS", "ofi".into()), ("FI_PROVIDER", "tcp".into())]);
                env.extend(self.device.iter().map(|d| ("FI_TCP_IFACE", d.into())));
                // Where the wrapper binds.
                env.extend(self.wrapper.iter().map(|_| ("I_MPI_PIN", "0".into())));
            }
            "openmpi" => {
                let slots = self.names.each_ref().map(|host| format!("{host}:1")).join(",");
                add(&["-H", &slots, "--mca", "pml", "ob1", "--mca", "btl", "self,tcp"]);
                add(&["-x", "LD_LIBRARY_PATH", "-x", "OPAL_PREFIX"]);
                agent.iter().for_each(|a| add(&["--prtemca", "plm_ssh_agent", a]));
                if let Some(device) = &self.device {
                    add(&["--prtemca", "prte_if_include", device]);
                    add(&["--mca", "btl_tcp_if_include", device]);
                }
                self.wrapper.iter().for_each(|_| add(&["--bind-to", "none"]));
                let home = target.mpirun.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
                env.push(("OPAL_PREFIX", home.into()));
            }
            _ => {
                add(&["-H", &list]);
                agent.iter().for_each(|a| add(&["--launch-agent", a]));
                self.device.iter().for_each(|d| add(&["--net", d]));
                self.wrapper.iter().for_each(|_| add(&["--bind-to", "none"]));
            }
        }
        target.launch_args.extend(args);
        for (key, value) in env {
            target.env.retain(|(other, _)| other != key);
            target.env.push((key.to_owned(), value));
        }
        target.wrapper = self.wrapper.as_ref().map(Into::into);
    }

    /// Bare TCP between the two, by `program`, as something to compare with.
    pub fn floor(&self, program: &Path) -> Target {
        let agent = self.agent.as_deref().unwrap_or("ssh");
        let mut target = Target::new("tcp", program.to_owned(), program.to_owned(), None);
        let agent = agent.split_whitespace().map(str::to_owned).collect();
        target.floor = Some(Floor { agent, host: self.names[1].clone() });
        target.wrapper = self.wrapper.as_ref().map(Into::into);
        target
    }
}

/// Measures bare TCP as `args` ask for it: a part, and behind `--sizes` its sizes.
pub fn run_floor(
    target: &Target,
    floor: &Floor,
    args: &[String],
    limit: Duration,
) -> Result<Output, BenchError> {
    let mode = if args.first().is_some_and(|part| part == "latency") { "ping" } else { "stream" };
    let sizes = args.iter().skip_while(|arg| *arg != "--sizes").nth(1);
    let sizes = sizes.map_or("", String::as_str).split(',').filter(|size| *size != "0");
    // Any that is likely to be free; both ends have to know it beforehand.
    let port = (20_000 + std::process::id() % 10_000).to_string();
    let program = target.program.display().to_string();
    let mut words: Vec<String> =
        target.wrapper.iter().map(|wrapper| wrapper.display().to_string()).collect();
    words.push(program);

    let mut server = Command::new(floor.agent.first().map_or("ssh", String::as_str));
    server.args(floor.agent.iter().skip(1)).arg(&floor.host).args(&words);
    server.args(["serve", &port, "-"]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut server = server.spawn().map_err(|e| BenchError::io("cannot start the floor", e))?;
    let mut client = Command::new(&words[0]);
    client.args(&words[1..]).args([mode, &floor.host, &port, "-"]).args(sizes);
    let outcome = run_command(client, &format!("tcpfloor {mode}"), limit);
    // It ends when its client does; if there was none it may not have begun.
    if outcome.is_err() {
        let _ = server.kill();
    }
    let _ = server.wait();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(agent: Option<&str>) -> Hosts {
        let names = ["a".to_owned(), "b".to_owned()];
        let device = Some("eth1".to_owned());
        Hosts { names, agent: agent.map(str::to_owned), device, wrapper: None }
    }

    #[test]
    fn every_peer_is_told_about_hosts_agent_and_interface() {
        for name in ["hpvm"].iter().chain(&super::super::PEER_NAMES) {
            let mut target = Target::new(name, "/p/bin/mpirun".into(), "/x".into(), None);
            hosts(Some("reach")).arrange(&mut target);
            let args = target.launch_args.join(" ");
            assert!(args.contains("a,b") || args.contains("a:1,b:1"), "{name}: {args}");
            assert!(args.contains("reach"), "{name}: {args}");
            let in_env = target.env.iter().any(|(_, value)| value == "eth1");
            assert!(in_env || args.contains("eth1"), "{name}: {args}");
        }
    }

    #[test]
    fn without_an_agent_each_uses_ssh() {
        for name in super::super::PEER_NAMES {
            let mut target = Target::new(name, "/p/bin/mpirun".into(), "/x".into(), None);
            hosts(None).arrange(&mut target);
            assert!(!target.launch_args.iter().any(|arg| arg.contains("exec")), "{name}");
        }
        assert_eq!(hosts(None).floor(Path::new("/f")).floor.unwrap().agent, ["ssh"]);
    }
}
