//! `hpvm simulate start`: from `mpirun` to the end of `MPI_Init`, by the launcher's tree of agents and its servers of key-value
//! pairs, which are the real ones; only time and the ranks' own part are virtual.

use std::collections::BinaryHeap;

use hpvm_launch::pmi::server::{ClientEvent, Outcome as Said, Server};
use hpvm_launch::remote::tree::{DEFAULT_TREE_WIDTH, split};
use hpvm_simulate::job::Kind;
use hpvm_simulate::time::{MS, Time, US};
use hpvm_simulate::{Job, Machine, Outcome, Statistics};

/// What starting costs.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// From the order to start an agent on another host until it runs: ssh, and the program's start.
    pub agent: Time,
    /// Of the processor that starts an agent or a rank.
    pub spawn: Time,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { agent: 150 * MS, spawn: MS }
    }
}

/// Of the processor of a server for a line of a rank, or a pair from another server.
const LINE: Time = 5 * US;
const PAIR: Time = US;
/// What a rank publishes: its ports and addresses, as `hpvm-net`'s card of a host with one interface.
const CARD: &str = "40000,40001,node.example,10.0.0.1/24,fd00::1/64";
/// What the first rank of a host publishes of its segment: a path, a key, a hash.
const SEGMENT: &str = "/proc/1234567/fd/12:0123456789abcdef:0123456789abcdef:0123456789abcdef";
/// Pairs that all servers together may hold: each host holds those of all ranks. 150 bytes each.
const MAX_PAIRS: u64 = 1 << 24;

type Pairs = Vec<(String, String)>;

enum Event {
    /// An agent, or the launcher, runs.
    Ready(usize),
    /// A rank says its next line.
    Line(u32),
    /// Everybody below `from` waits in the barrier.
    Arrived { to: usize, pairs: Pairs },
    /// The barrier is open.
    Opened { to: usize, pairs: Pairs },
}

struct Entry(Time, u64, Event);

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    /// Reversed: the heap's greatest is the next to happen.
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (other.0, other.1).cmp(&(self.0, self.1))
    }
}

/// The launcher (number 0), or the agent of a host.
struct Node {
    server: Server,
    above: Option<usize>,
    below: Vec<usize>,
    ranks: std::ops::Range<u32>,
    /// Until when its processor's time is spent.
    clock: Time,
}

struct Start {
    machine: Machine,
    costs: Costs,
    nodes: Vec<Node>,
    /// The agent of each rank, and the lines that it has said.
    agent_of: Vec<usize>,
    said: Vec<usize>,
    events: BinaryHeap<Entry>,
    order: u64,
    statistics: Statistics,
    end: Time,
    done: u32,
}

/// When the last rank is through, as the outcome of a job.
pub fn run(job: &Job, costs: Costs) -> Result<Outcome, String> {
    job.check().map_err(super::said)?;
    let pairs = u64::from(job.ranks) * u64::from(job.hosts);
    if pairs > MAX_PAIRS {
        return Err(format!(
            "simulate: start: each of {} hosts holds what {} ranks publish, {pairs} pairs in all; at most {MAX_PAIRS} fit here",
            job.hosts, job.ranks
        ));
    }
    let mut start = Start::new(job, costs);
    start.enter(0, Event::Ready(0));
    while let Some(Entry(at, _, event)) = start.events.pop() {
        start.happen(at, event)?;
    }
    if start.done < job.ranks {
        return Err(format!(
            "simulate: start: only {} of {} ranks came through",
            start.done, job.ranks
        ));
    }
    let pair = |(key, value): (&str, &str)| key.len() + value.len();
    let values = job.ranks as usize * pair(("card-1000", CARD))
        + job.hosts as usize * pair(("segment-1000", SEGMENT));
    let kind = |name, bytes| Kind { name, mean: bytes, most: bytes, shared: false };
    let end = start.end;
    Ok(Outcome {
        marks: vec![vec![0, end]],
        end,
        statistics: start.statistics,
        links: Vec::new(),
        memory: vec![kind("values, per host", values)],
    })
}

impl Start {
    fn new(job: &Job, costs: Costs) -> Start {
        let host_of = job.host_of();
        let first = |host: u32| host_of.partition_point(|h| *h < host) as u32;
        let appnums = vec![0; job.ranks as usize];
        let node = |number: usize| {
            // The launcher has no ranks of its own here.
            let ranks = match number.checked_sub(1) {
                None => 0..0,
                Some(host) => first(host as u32)..first(host as u32 + 1),
            };
            let server = Server::new("job", &appnums);
            Node { server, above: None, below: Vec::new(), ranks, clock: 0 }
        };
        let mut nodes: Vec<Node> = (0..=job.hosts as usize).map(node).collect();
        let hosts: Vec<usize> = (1..=job.hosts as usize).collect();
        grow(&mut nodes, 0, &hosts);
        for node in &mut nodes {
            let ranks: Vec<u32> = node.ranks.clone().collect();
            let (below, above) = (node.below.len() as u32, node.above.is_some());
            node.server.take_place(&ranks, below, above, "(vector,(0,1,1))");
        }
        Start {
            machine: job.machine.clone(),
            costs,
            agent_of: host_of.iter().map(|host| *host as usize + 1).collect(),
            said: vec![0; job.ranks as usize],
            nodes,
            events: BinaryHeap::new(),
            order: 0,
            statistics: Statistics::default(),
            end: 0,
            done: 0,
        }
    }

    fn enter(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.push(Entry(at, self.order, event));
    }

    fn happen(&mut self, at: Time, event: Event) -> Result<(), String> {
        match event {
            Event::Ready(node) => self.ready(at, node),
            Event::Line(rank) => return self.line(at, rank),
            Event::Arrived { to, pairs } => {
                self.spend(to, at, pairs.len() as Time * PAIR);
                if !self.nodes[to].server.merge(&pairs, true) {
                    return Err("simulate: start: more values than a job may keep".to_owned());
                }
                let said = self.nodes[to].server.child_arrived();
                self.follow(to, said)?;
            }
            Event::Opened { to, pairs } => {
                self.spend(to, at, pairs.len() as Time * PAIR);
                if !self.nodes[to].server.merge(&pairs, false) {
                    return Err("simulate: start: more values than a job may keep".to_owned());
                }
                self.open_below(to, &pairs);
                let replies = self.nodes[to].server.open();
                self.reply(to, replies);
            }
        }
        Ok(())
    }

    fn spend(&mut self, node: usize, at: Time, time: Time) {
        let node = &mut self.nodes[node];
        node.clock = node.clock.max(at) + time;
    }

    /// An agent starts those below it, then its ranks.
    fn ready(&mut self, at: Time, node: usize) {
        self.nodes[node].clock = at;
        for child in self.nodes[node].below.clone() {
            self.spend(node, at, self.costs.spawn);
            self.enter(self.nodes[node].clock + self.costs.agent, Event::Ready(child));
        }
        for rank in self.nodes[node].ranks.clone() {
            self.spend(node, at, self.costs.spawn);
            self.enter(self.nodes[node].clock, Event::Line(rank));
        }
    }

    /// The lines of a rank, as the client of PMI-1 says them: `None` after the last.
    fn words(&self, rank: u32) -> Option<String> {
        let first = self.nodes[self.agent_of[rank as usize]].ranks.start;
        let lines = [
            Some("cmd=init pmi_version=1 pmi_subversion=1".to_owned()),
            Some("cmd=get_maxes".to_owned()),
            Some("cmd=get_my_kvsname".to_owned()),
            Some(format!("cmd=put kvsname=kvs_job key=card-{rank} value={CARD}")),
            (rank == first)
                .then(|| format!("cmd=put kvsname=kvs_job key=segment-{rank} value={SEGMENT}")),
            Some("cmd=barrier_in".to_owned()),
            Some(format!("cmd=get kvsname=kvs_job key=segment-{first}")),
        ];
        lines.into_iter().flatten().nth(self.said[rank as usize])
    }

    fn line(&mut self, at: Time, rank: u32) -> Result<(), String> {
        let Some(line) = self.words(rank) else {
            self.done += 1;
            self.end = self.end.max(at);
            return Ok(());
        };
        self.said[rank as usize] += 1;
        let node = self.agent_of[rank as usize];
        self.spend(node, at, LINE);
        let said = self.nodes[node].server.handle(rank, line.as_bytes());
        self.follow(node, said)
    }

    /// Sends replies, and what a server has to say to others.
    fn follow(&mut self, node: usize, said: Said) -> Result<(), String> {
        self.reply(node, said.replies);
        match said.event {
            Some(ClientEvent::Arrived) => {
                let pairs = self.nodes[node].server.take_fresh();
                if let Some(to) = self.nodes[node].above {
                    let at = self.frame(node, &pairs);
                    self.enter(at, Event::Arrived { to, pairs });
                }
            }
            Some(ClientEvent::Opened) => {
                let pairs = self.nodes[node].server.take_fresh();
                self.open_below(node, &pairs);
            }
            Some(ClientEvent::State(_) | ClientEvent::Waits) | None => {}
            Some(other) => return Err(format!("simulate: start: a server said {other:?}")),
        }
        Ok(())
    }

    fn open_below(&mut self, node: usize, pairs: &Pairs) {
        for to in self.nodes[node].below.clone() {
            let at = self.frame(node, pairs);
            self.enter(at, Event::Opened { to, pairs: pairs.clone() });
        }
    }

    /// The ranks that are answered say their next line.
    fn reply(&mut self, node: usize, replies: Vec<(u32, String)>) {
        for (rank, _) in replies {
            let at = self.nodes[node].clock + self.machine.host.latency;
            self.enter(at, Event::Line(rank));
        }
    }

    /// A frame leaves a node: when it is there.
    fn frame(&mut self, node: usize, pairs: &Pairs) -> Time {
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len() + 8).sum();
        let way = self.machine.network;
        self.spend(node, 0, way.send + way.bytes(bytes));
        self.statistics.between += 1;
        self.statistics.between_bytes += bytes as u64;
        self.nodes[node].clock + way.latency + way.receive
    }
}

/// Puts hosts below a node, as the launcher does.
fn grow(nodes: &mut [Node], above: usize, hosts: &[usize]) {
    for part in split(hosts, DEFAULT_TREE_WIDTH) {
        nodes[part[0]].above = Some(above);
        nodes[above].below.push(part[0]);
        grow(nodes, part[0], &part[1..]);
    }
}
