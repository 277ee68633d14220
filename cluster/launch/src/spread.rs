//! How a job is spread over hosts: which rank runs where, and what agents are told.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use crate::args::{self, Input, Launcher, NET_TIMEOUT, Options, Request};
use crate::dispatcher::Layout;
use crate::error::LaunchError;
use crate::place;
use crate::place::affinity;
use crate::place::policy::Policy;
use crate::place::topology::{Level, Topology};
use crate::place::universe::Universe;
use crate::remote::order::{Node, Order, Program, Run, Shell};
use crate::remote::{start, tree};
use crate::sites::Plan;
use crate::slurm::Allocation;
use crate::{environment, hosts, slurm};
use hpvm_sites::Sites;

/// How long a host may give no sign of life, unless the user says it.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

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
    /// What a rankfile says about the cores of each rank; empty without one.
    pub slots: Vec<String>,
    /// Agents that one process starts.
    pub width: u32,
    /// Where gateways between groups of hosts run, if hosts are in groups.
    pub sites: Option<Plan>,
}

impl Spread {
    /// Places all ranks. May ask a name server which host is this machine.
    pub fn of(request: &Request) -> Result<Self, LaunchError> {
        Self::with(request, hosts::is_local)
    }

    pub(crate) fn with(
        request: &Request,
        is_local: impl Fn(&str) -> bool,
    ) -> Result<Self, LaunchError> {
        let (policy, sites) = (&request.options.policy, &request.options.sites);
        // What a cluster elsewhere calls by a name may be another host here.
        let is_elsewhere =
            |name: &str| sites.allocation_of(name).is_some_and(Allocation::is_elsewhere);
        let is_local = |name: &str| !is_elsewhere(name) && is_local(name);
        let mut names: Vec<(String, u32)> = Vec::new();
        let mut spread = Self {
            nodes: Vec::new(),
            ranks: Vec::new(),
            slots: Vec::new(),
            width: request.options.launch_width,
            sites: None,
        };
        for (index, program) in request.programs.iter().enumerate() {
            for (name, slot) in hosts_of(program, policy, is_local)? {
                let name = &name;
                let known = names.iter().find(|(other, _)| other == name).map(|(_, node)| *node);
                let node = known.unwrap_or_else(|| {
                    let node = spread.node_of(name, is_local(name));
                    names.push((name.clone(), node));
                    node
                });
                spread.ranks.push(Rank { node, program: index });
                if program.seats.is_some() {
                    spread.slots.push(slot);
                }
            }
        }
        spread.sites = request.options.sites.plan(&spread, is_local)?;
        spread.check(request, is_local)?;
        Ok(spread)
    }

    /// What the user does not want, and what cannot be.
    fn check(&self, request: &Request, is_local: impl Fn(&str) -> bool) -> Result<(), LaunchError> {
        let options = &request.options;
        if self.is_remote() && matches!(options.input, Input::Several(_)) {
            return Err(LaunchError::usage(
                "--stdin for several ranks: all ranks have to run on this machine",
            ));
        }
        if self.is_remote() && options.launcher == Some(Launcher::Fork) {
            let other = self.nodes.iter().find(|node| !node.local);
            return Err(LaunchError::usage(format!(
                "--launcher fork reaches this machine only, not '{}'",
                other.map_or("", |node| &node.host)
            )));
        }
        if !options.policy.strict {
            return Ok(());
        }
        for (number, node) in (0..).zip(&self.nodes) {
            let ranks = self.ranks.iter().filter(|rank| rank.node == number).count() as u64;
            let slots = slots_of(request, node, &is_local)?;
            if ranks > slots {
                return Err(LaunchError::new(
                    1,
                    format!(
                        "--nooversubscribe: {ranks} ranks on '{}', which has {slots} slots",
                        node.host
                    ),
                ));
            }
        }
        Ok(())
    }

    /// What a rankfile says about the ranks of a host, in ascending order; empty without one.
    pub fn slots_of(&self, node: u32) -> Vec<String> {
        let pairs = self.ranks.iter().zip(&self.slots);
        pairs.filter(|(rank, _)| rank.node == node).map(|(_, slot)| slot.clone()).collect()
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

    /// What ranks are told of `MPI_UNIVERSE_SIZE`.
    pub fn universe(&self, request: &Request) -> Result<Option<u32>, LaunchError> {
        let rooms: Vec<_> = request.programs.iter().filter_map(|p| p.room.as_ref()).collect();
        let (universe, ranks) = (request.options.universe, self.ranks.len() as u32);
        // The machine is looked at only where nothing else says it.
        let alone = rooms.is_empty() && universe == Universe::Slots;
        let cores = if alone { cores(&request.options.policy)? } else { 0 };
        Ok(universe.size(ranks, rooms.into_iter(), || cores))
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
            login: Vec::new(),
            preload: options.preload,
            width: options.launch_width,
            patience,
            prefix: options.prefix.clone().map(OsString::from),
        };
        let input = if let Input::Rank(rank) = options.input { Some(rank) } else { None };
        let common = Order {
            job: job.to_string(),
            key: key.to_string(),
            size: self.ranks.len() as u32,
            universe: self.universe(request)?,
            mapping: mapping.clone(),
            programs: request
                .programs
                .iter()
                .map(|program| described(request, program))
                .collect::<Result<_, _>>()?,
            policy: options.policy.clone(),
            input,
            report_bindings: options.report_bindings,
            shell,
            sites: self.sites.clone(),
            nodes: Vec::new(),
        };
        let groups = self.groups(&remote, options.launch_width as usize)?;
        let layout = Layout {
            hosts: self.nodes.iter().map(|node| node.host.clone()).collect(),
            groups: groups
                .iter()
                .map(|group| group.iter().map(|node| node.number).collect())
                .collect(),
            mapping,
            patience,
        };
        let order = |mut nodes: Vec<Node>| {
            let mut shell = common.shell.clone();
            // All hosts of a group are at one site.
            let site = nodes.first().and_then(|node| options.sites.allocation_of(&node.host));
            if let Some(allocation) = site {
                shell.raw = true;
                shell.words = allocation.srun();
                shell.login = allocation.login(&reach_logins(options));
                for node in &mut nodes {
                    node.host = allocation.own_name(&node.host).to_string();
                }
            }
            Order { nodes, shell, ..common.clone() }
        };
        let orders = groups.into_iter().map(order).collect();
        Ok((orders, layout))
    }

    /// Who starts whom. A host starts none of another site: it may not reach it.
    fn groups(&self, remote: &[Node], width: usize) -> Result<Vec<Vec<Node>>, LaunchError> {
        let Some(plan) = &self.sites else { return Ok(tree::split(remote, width)) };
        let sites = Sites::parse(&plan.text, self.ranks.len());
        let sites = sites.map_err(|text| LaunchError::new(1, text))?;
        let of = |node: &Node| node.ranks().next().and_then(|(rank, _)| sites.of(rank));
        Ok(tree::split_apart(remote, width, |node| of(node).unwrap_or(0)))
    }

    /// All hosts with their ranks.
    fn described(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..)
            .zip(&self.nodes)
            .map(|(number, node)| {
                let (host, slots) = (node.host.clone(), self.slots_of(number));
                Node { number, host, runs: Vec::new(), slots }
            })
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

/// How other hosts are reached where no flag says it.
pub struct Reach {
    /// In front of a host's name.
    pub words: Vec<OsString>,
    /// The words behind it are taken as they are; ssh gives them to a shell.
    pub raw: bool,
    /// After so long without a sign of life a host is given up.
    pub patience: Duration,
}

/// What the environment says about reaching other hosts.
///
/// # Errors
/// A variable of the environment cannot be read.
pub fn reach() -> Result<Reach, LaunchError> {
    reach_by(None)
}

/// As [`reach`]; a launch agent that is given counts before that of the environment.
///
/// # Errors
/// As there, and an agent that is no command.
pub fn reach_by(agent: Option<&OsStr>) -> Result<Reach, LaunchError> {
    let mut options = Options::new("hpvm");
    args::from_variables(&mut options, |name| match agent {
        Some(agent) if name == args::LAUNCH_AGENT => Some(agent.to_owned()),
        _ => std::env::var_os(name),
    })?;
    Ok(Reach { words: words(&options), raw: by_srun(&options), patience: patience(None)? })
}

/// The command that reaches the hosts behind which other clusters are.
pub(crate) fn reach_logins(options: &Options) -> Vec<OsString> {
    let launcher = options.launcher.filter(|launcher| *launcher == Launcher::Rsh);
    words(&Options { launcher: Some(launcher.unwrap_or(Launcher::Ssh)), ..options.clone() })
}

/// The command that reaches other hosts.
fn words(options: &Options) -> Vec<OsString> {
    match &options.launch_agent {
        Some(words) => words.clone(),
        None if options.launcher == Some(Launcher::Rsh) => vec!["rsh".into()],
        None if by_srun(options) => slurm::SRUN.iter().map(OsString::from).collect(),
        None => {
            let ssh = start::SSH.iter().map(OsString::from);
            ssh.chain(options.ssh_args.iter().cloned()).collect()
        }
    }
}

/// Whether it is srun, which takes words as they are.
fn by_srun(options: &Options) -> bool {
    // A site that is no allocation is not one of the hosts of ours.
    let slurm = in_slurm() && !options.sites.has_allocations();
    let usual = || if slurm { Launcher::Slurm } else { Launcher::Ssh };
    options.launch_agent.is_none() && options.launcher.unwrap_or_else(usual) == Launcher::Slurm
}

/// For each rank of a program the name of its host, and what a rankfile says about its cores.
fn hosts_of(
    program: &args::Program,
    policy: &Policy,
    is_local: impl Fn(&str) -> bool,
) -> Result<Vec<(String, String)>, LaunchError> {
    if let Some(seats) = &program.seats {
        let seats = seats.iter().take(program.ranks as usize);
        return Ok(seats.map(|seat| (seat.host.clone(), seat.slot.clone())).collect());
    }
    let nowhere = || {
        LaunchError::usage("--nolocal: no other host is given; name some with -host or --hostfile")
    };
    let Some(room) = &program.room else {
        if policy.no_local {
            return Err(nowhere());
        }
        return Ok(vec![("localhost".to_string(), String::new()); program.ranks as usize]);
    };
    let kept = policy.no_local.then(|| room.without(&is_local));
    let room = kept.as_ref().unwrap_or(room);
    if room.hosts.is_empty() {
        return Err(nowhere());
    }
    let placed = room.place(program.ranks, &policy.map, policy.rank);
    Ok(placed.into_iter().map(|host| (room.hosts[host].0.clone(), String::new())).collect())
}

/// The cores of this machine that ranks may use, or its hardware threads.
fn cores(policy: &Policy) -> Result<u32, LaunchError> {
    let usable = match policy.unit() {
        Level::HwThread => affinity::allowed().map(|cpus| cpus.len()),
        _ => Topology::usable_cores(),
    };
    usable
        .map(|cores| cores as u32)
        .map_err(|error| LaunchError::system("cannot find out the usable cpus", &error))
}

/// The slots of a host: what lists of hosts say, else the number of its cores if it is this machine.
fn slots_of(
    request: &Request,
    node: &Host,
    is_local: impl Fn(&str) -> bool,
) -> Result<u64, LaunchError> {
    let rooms = request.programs.iter().filter_map(|program| program.room.as_ref());
    let same = |name: &str| node.local && is_local(name) || name.eq_ignore_ascii_case(&node.host);
    let given = rooms.filter(|room| room.is_given()).filter_map(|room| {
        let slots = room.hosts.iter().filter(|(name, _)| same(name));
        slots.map(|(_, slots)| u64::from(*slots)).max()
    });
    if let Some(slots) = given.max() {
        return Ok(slots);
    }
    if !node.local {
        return Ok(1);
    }
    cores(&request.options.policy).map(u64::from)
}

fn in_slurm() -> bool {
    std::env::var_os(slurm::JOB).is_some()
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
        path: program.path.clone().unwrap_or_default(),
    })
}

/// How long a host may give no sign of life.
pub(crate) fn patience(flag: Option<Duration>) -> Result<Duration, LaunchError> {
    match (flag, std::env::var_os(NET_TIMEOUT)) {
        (Some(limit), _) => Ok(limit),
        (None, Some(value)) if !value.is_empty() => args::parse_net_timeout(NET_TIMEOUT, &value),
        _ => Ok(SILENCE_LIMIT),
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
            .expect(line)
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
    fn an_allocation_elsewhere_is_a_site() {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join("agent");
        // Written by a process of its own: a file that somebody may write cannot be run.
        let mut writer = std::process::Command::new("sh");
        writer.args(["-c", "printf '#!/bin/sh\n%s\n' \"$2\" >\"$1\"; chmod 755 \"$1\"", "sh"]);
        let answer = "[ \"$*\" = 'gate scontrol show job --details --oneliner 7' ] || exit 9; \
                      echo JobId=7 JobState=RUNNING NumTasks=4 'Nodes=n[1-2]' CPU_IDs=0-1 Mem=0";
        assert!(writer.arg(&agent).arg(answer).status().unwrap().success());
        let agent = agent.to_str().unwrap();
        let of = |line: &str| {
            let line = format!("--launch-agent {agent} {line}");
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            parse("mpirun", &words).map(|parsed| match parsed {
                Parsed::Run(request) => request,
                _ => panic!("{line}"),
            })
        };
        let request = of("--site A=n1,a --site B=slurm:7@gate --gateway B=n2:70 prog").unwrap();
        // This machine is called as one of the cluster elsewhere is.
        let spread = Spread::with(&request, |name| name == "n1").unwrap();
        assert_eq!(nodes(&spread), [0, 1, 2, 2, 3, 3]);
        let names: Vec<&str> = spread.nodes.iter().map(|node| &*node.host).collect();
        assert_eq!(names[1..], ["a", "n1@gate", "n2@gate"]);
        assert_eq!(spread.local_node(), Some(0));
        let (orders, layout) = spread.orders(&request, "job", "00").unwrap();
        assert_eq!(layout.hosts[2..], ["n1@gate", "n2@gate"]);
        let begins = |order: &Order| {
            let words = order.shell.login.iter().chain(&order.shell.words);
            let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
            format!("{} | {}", words.join(" "), order.nodes[0].host)
        };
        assert_eq!(begins(&orders[0]), format!("{agent} | a"));
        let srun = slurm::SRUN[1..].join(" ");
        assert_eq!(begins(&orders[1]), format!("{agent} gate srun --jobid=7 {srun} | n1"));
        assert!(orders[1].shell.raw && !orders[0].shell.raw);
        let told = Order::decode(&orders[1].encode()).unwrap().shell;
        assert!(told.login.is_empty() && told.raw && told.words[0] == "srun");
        let gateway = &spread.sites.as_ref().unwrap().gateways[1];
        assert_eq!((&*gateway.host, gateway.port, gateway.node), ("n2", 70, 3));
        let error = of("--site A=a --site B=slurm:8@gate prog").unwrap_err();
        let text = "--site B=slurm:8@gate: cannot ask Slurm about the job: ";
        assert!(
            error.message.starts_with(text) && error.message.contains("exit status: 9"),
            "{error}"
        );
    }

    #[test]
    fn what_is_refused() {
        for (line, part) in [
            ("--nolocal -n 2 a", "no other host is given"),
            ("--nolocal -H here,localhost a", "no other host is given"),
            ("--nooversubscribe -H here:2,a:2 -n 5 a", "3 ranks on '"),
            ("--nooversubscribe -H a,b -n 3 a", "2 ranks on 'a', which has 1 slots"),
            ("--launcher fork -H a b", "this machine only, not 'a'"),
            ("--stdin all -H a,b c", "have to run on this machine"),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let Ok(Parsed::Run(request)) = parse("mpirun", &words) else { panic!("{line}") };
            let error = Spread::with(&request, |name| ["localhost", "here"].contains(&name));
            let error = error.expect_err(line);
            assert!(error.message.contains(part), "{line}: {error}");
        }
        let others = spread("--nolocal -H here:4,a:2 -n 3 b");
        assert_eq!(others.nodes.len(), 1);
        assert!(!others.nodes[0].local);
    }

    #[test]
    fn rankfiles_and_lists_say_where() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ranks");
        std::fs::write(&file, "rank 0=a slot=0\nrank 1=here slot=1:0\nrank 2=a slot=1-2\n")
            .unwrap();
        let shown = file.to_str().unwrap();
        let placed = spread(&format!("--rankfile {shown} prog"));
        assert_eq!(nodes(&placed), [0, 1, 0]);
        assert_eq!(placed.described()[0].slots, ["0", "1-2"]);
        assert_eq!(placed.slots_of(1), ["1:0"]);
        std::fs::write(&file, "a\nb\na\n").unwrap();
        assert_eq!(nodes(&spread(&format!("--map-by seq:file={shown} prog"))), [0, 1, 0]);
        assert_eq!(nodes(&spread("--map-by seq -H a,b,b prog")), [0, 1, 1]);
    }

    #[test]
    fn a_fabric_says_in_which_order() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("topology.conf");
        std::fs::write(
            &file,
            "SwitchName=s1 Nodes=a,c\nSwitchName=s2 Nodes=b,d\nSwitchName=t Switches=s1,s2",
        )
        .unwrap();
        let shown = file.to_str().unwrap();
        let hosts = |line: &str| {
            let spread = spread(&line.replace("FILE", shown));
            let names: Vec<&str> =
                spread.ranks.iter().map(|rank| &*spread.nodes[rank.node as usize].host).collect();
            names.join(" ")
        };
        assert_eq!(hosts("--fabric FILE -H a:2,b:1,c:1,d:1 -n 5 p"), "a a c b d");
        assert_eq!(hosts("--map-by switch --fabric FILE -H a:2,b:1,c:1,d:1 -n 2 p"), "b d");
        assert_eq!(hosts("--fabric FILE --map-by node -H d:2,c,b,a p"), "d b c a d");
        assert_eq!(hosts("--fabric FILE -H a,b,c -n 6 p"), "a a c c b b");
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
