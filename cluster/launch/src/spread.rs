//! How a job is spread over hosts: which rank runs where, and what agents are told.

use std::ffi::OsString;
use std::time::Duration;

use crate::args::{self, Launcher, NET_TIMEOUT, Options, Request};
use crate::dispatcher::Layout;
use crate::error::LaunchError;
use crate::place;
use crate::remote::order::{Node, Order, Program, Run, Shell};
use crate::remote::{start, tree};
use crate::{environment, hosts, slurm};

/// How long a host may give no sign of life, unless the user says it.
const PATIENCE: Duration = Duration::from_secs(60);

/// One rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Index of its host.
    pub node: u32,
    /// Index of its program.
    pub program: usize,
}

/// A host that has ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As the user wrote it; this machine's own name for this machine.
    pub host: String,
    /// Whether it is this machine.
    pub local: bool,
}

/// Hosts and ranks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    pub nodes: Vec<Host>,
    pub ranks: Vec<Rank>,
    /// Agents that one process starts.
    pub width: u32,
}

impl Spread {
    /// Places all ranks. May ask a name server which host is this machine.
    pub fn of(request: &Request) -> Self {
        Self::with(request, hosts::is_local)
    }

    fn with(request: &Request, is_local: impl Fn(&str) -> bool) -> Self {
        let mut names: Vec<(String, u32)> = Vec::new();
        let mut spread =
            Self { nodes: Vec::new(), ranks: Vec::new(), width: request.options.launch_width };
        for (index, program) in request.programs.iter().enumerate() {
            let placed = match &program.room {
                Some(room) => room.place(program.ranks, request.options.map_by),
                None => vec![0; program.ranks as usize],
            };
            let here = "localhost".to_string();
            for place in placed {
                let name = program.room.as_ref().map_or(&here, |room| &room.hosts[place].0);
                let known = names.iter().find(|(other, _)| other == name).map(|(_, node)| *node);
                let node = known.unwrap_or_else(|| {
                    let node = spread.node_of(name, is_local(name));
                    names.push((name.clone(), node));
                    node
                });
                spread.ranks.push(Rank { node, program: index });
            }
        }
        spread
    }

    /// The number of a host; all names of this machine are one.
    fn node_of(&mut self, name: &str, local: bool) -> u32 {
        let same =
            |node: &Host| local && node.local || !local && node.host.eq_ignore_ascii_case(name);
        let found = self.nodes.iter().position(same);
        let index = found.unwrap_or_else(|| {
            let host = if local { hosts::local_name() } else { name.to_string() };
            self.nodes.push(Host { host, local });
            self.nodes.len() - 1
        });
        index as u32
    }

    /// Whether any rank runs on another host.
    pub fn is_remote(&self) -> bool {
        self.nodes.iter().any(|node| !node.local)
    }

    /// The number of this machine, if it has ranks.
    pub fn local_node(&self) -> Option<u32> {
        self.nodes.iter().position(|node| node.local).map(|node| node as u32)
    }

    /// The orders for our agents, and what the dispatcher has to know of them.
    pub fn orders(
        &self,
        request: &Request,
        job: &str,
        key: &str,
    ) -> Result<(Vec<Order>, Layout), LaunchError> {
        let options = &request.options;
        let patience = patience(options.net_timeout)?;
        let nodes: Vec<u32> = self.ranks.iter().map(|rank| rank.node).collect();
        let mapping = place::mapping(&nodes);
        let all = self.described();
        let remote: Vec<Node> =
            all.into_iter().filter(|node| !self.nodes[node.number as usize].local).collect();
        let shell = Shell {
            raw: by_srun(options),
            words: words(options),
            preload: options.preload,
            width: options.launch_width,
            patience,
        };
        let common = Order {
            job: job.to_string(),
            key: key.to_string(),
            size: self.ranks.len() as u32,
            mapping: mapping.clone(),
            programs: request
                .programs
                .iter()
                .map(|program| described(request, program))
                .collect::<Result<_, _>>()?,
            bind: options.bind,
            report_bindings: options.report_bindings,
            shell,
            nodes: Vec::new(),
        };
        let groups = tree::split(&remote, options.launch_width as usize);
        let layout = Layout {
            hosts: self.nodes.iter().map(|node| node.host.clone()).collect(),
            groups: groups
                .iter()
                .map(|group| group.iter().map(|node| node.number).collect())
                .collect(),
            mapping,
            patience,
        };
        let orders = groups.into_iter().map(|nodes| Order { nodes, ..common.clone() }).collect();
        Ok((orders, layout))
    }

    /// All hosts with their ranks.
    fn described(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..)
            .zip(&self.nodes)
            .map(|(number, node)| Node { number, host: node.host.clone(), runs: Vec::new() })
            .collect();
        for (number, rank) in (0..).zip(&self.ranks) {
            let runs = &mut nodes[rank.node as usize].runs;
            let program = rank.program as u32;
            match runs.last_mut() {
                Some(run) if run.first + run.count == number && run.program == program => {
                    run.count += 1;
                }
                _ => runs.push(Run { first: number, count: 1, program }),
            }
        }
        nodes
    }
}

/// The command that reaches other hosts.
fn words(options: &Options) -> Vec<OsString> {
    match &options.launch_agent {
        Some(words) => words.clone(),
        None if by_srun(options) => slurm::SRUN.iter().map(OsString::from).collect(),
        None => {
            let ssh = start::SSH.iter().map(OsString::from);
            ssh.chain(options.ssh_args.iter().cloned()).collect()
        }
    }
}

/// Whether it is srun, which takes words as they are.
fn by_srun(options: &Options) -> bool {
    let usual = || if in_slurm() { Launcher::Slurm } else { Launcher::Ssh };
    options.launch_agent.is_none() && options.launcher.unwrap_or_else(usual) == Launcher::Slurm
}

fn in_slurm() -> bool {
    std::env::var_os("SLURM_JOB_ID").is_some()
}

/// A program as agents are told of it.
fn described(request: &Request, program: &args::Program) -> Result<Program, LaunchError> {
    let options = &request.options;
    let (set, inherit) = environment::for_others(std::env::vars_os(), options, program);
    Ok(Program {
        argv: program.argv.clone(),
        wdir: crate::run::folder(program)?.into_os_string(),
        inherit,
        set: set.into_iter().collect(),
        library_path: options.library_path,
    })
}

fn patience(flag: Option<Duration>) -> Result<Duration, LaunchError> {
    match (flag, std::env::var_os(NET_TIMEOUT)) {
        (Some(limit), _) => Ok(limit),
        (None, Some(value)) if !value.is_empty() => args::parse_net_timeout(NET_TIMEOUT, &value),
        _ => Ok(PATIENCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Parsed, parse};

    fn spread(line: &str) -> Spread {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let Ok(Parsed::Run(request)) = parse("mpirun", &words) else { panic!("{line}") };
        Spread::with(&request, |name| ["localhost", "here", "10.0.0.1"].contains(&name))
    }

    fn nodes(spread: &Spread) -> Vec<u32> {
        spread.ranks.iter().map(|rank| rank.node).collect()
    }

    #[test]
    fn all_names_of_this_machine_are_one_host() {
        let spread = spread("-H a:2,here:1,10.0.0.1:1,A:1 prog");
        assert_eq!(nodes(&spread), [0, 0, 0, 1, 1]);
        assert_eq!(spread.nodes[0].host, "a");
        assert_eq!(spread.local_node(), Some(1));
        assert!(spread.is_remote());
    }

    #[test]
    fn one_machine_is_no_network() {
        for line in ["-n 3 prog", "-H here,localhost -n 3 prog", "-n 1 a : -n 2 b"] {
            let spread = spread(line);
            assert_eq!(nodes(&spread), [0, 0, 0], "{line}");
            assert!(!spread.is_remote());
        }
    }

    #[test]
    fn hosts_are_reached_as_was_said() {
        let command = |line: &str| {
            let line: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let Ok(Parsed::Run(request)) = parse("mpirun", &line) else { panic!("{line:?}") };
            let words = words(&request.options);
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(command("--launcher ssh --ssh-args=-v a"), "ssh -T -o BatchMode=yes -v");
        assert!(command("--launcher slurm a").starts_with("srun "));
        assert_eq!(command("--launcher slurm --launch-agent rsh a"), "rsh");
    }

    #[test]
    fn runs_are_joined() {
        let spread = spread("-H a:2,b:2 -n 4 p : -n 2 q");
        let described = spread.described();
        let run = |first, count, program| Run { first, count, program };
        assert_eq!(described[0].runs, [run(0, 2, 0), run(4, 2, 1)]);
        assert_eq!(described[1].runs, [run(2, 2, 0)]);
    }
}
