//! A whole job in virtual time.

use crate::end::End;
use crate::error::Error;
use crate::machine::Machine;
use crate::net::{Net, Statistics};
use crate::program::{Call, Program};
use crate::rank::Rank;
use crate::routes::{Load, Routes};
use crate::schedules::{Light, Shared};
use crate::slots::AllSlots;
use crate::time::Time;
use core::cell::RefCell;
use hpvm_coll::hosts::Hosts;
use hpvm_mpi::Process;
use hpvm_mpi::engine::nodes::Nodes;
use hpvm_routing::Fabric;
use std::rc::Rc;

type SharedNet = Rc<RefCell<Net>>;

/// What is simulated, apart from the program.
#[derive(Clone, Debug)]
pub struct Job {
    pub machine: Machine,
    pub ranks: u32,
    /// Neighbouring ranks share a host; at most `ranks`.
    pub hosts: u32,
    /// The links between hosts; without one, hosts wait for each other at their own networks only.
    pub fabric: Option<Fabric>,
    pub seed: u64,
    /// By how much the work of processors is stretched at random, at most, in a thousand.
    pub noise: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When each rank passed each mark.
    pub marks: Vec<Vec<Time>>,
    /// When the last rank was through.
    pub end: Time,
    pub statistics: Statistics,
    /// Links that were busy longest.
    pub links: Vec<Load>,
    /// What the engines keep in memory, by what it is for; none of schedules alone.
    pub memory: Vec<Kind>,
}

/// Bytes of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    /// Of a rank, in the mean and at most.
    pub mean: usize,
    pub most: usize,
    /// Ranks of a real job each have this; here they share one.
    pub shared: bool,
}

/// Links that an outcome names.
const LINKS: usize = 8;
/// Ranks that an error names.
const NAMED: usize = 8;
/// Ranks that one simulation may have: what a context id and a rank leave room for in the engine.
pub const MAX_RANKS: u32 = 1 << 24;

impl Job {
    /// The host of each rank: as many on each, the first ones have one more where they do not come out even.
    pub fn host_of(&self) -> Box<[u32]> {
        let (ranks, hosts) = (u64::from(self.ranks), u64::from(self.hosts));
        (0..ranks).map(|rank| (rank * hosts / ranks) as u32).collect()
    }

    /// Whether it can be simulated.
    pub fn check(&self) -> Result<(), Error> {
        if self.ranks == 0 || self.ranks > MAX_RANKS {
            return Err(Error::new(format!("{} ranks: expected 1 to {MAX_RANKS}", self.ranks)));
        }
        if self.hosts == 0 || self.hosts > self.ranks {
            return Err(Error::new(format!(
                "{} hosts for {} ranks: expected 1 to {}",
                self.hosts, self.ranks, self.ranks
            )));
        }
        Ok(())
    }

    /// The network of the job, and where its ranks are.
    fn net(&self) -> Result<(SharedNet, Box<[u32]>), Error> {
        self.check()?;
        let fabric = self.fabric.as_ref();
        let routes = fabric.map(|fabric| Routes::new(fabric, self.hosts)).transpose()?;
        let host_of = self.host_of();
        let net = Net::new(self.machine.clone(), host_of.clone(), routes, (self.seed, self.noise));
        Ok((Rc::new(RefCell::new(net)), host_of))
    }

    /// Runs the program on all ranks, each with a whole engine.
    pub fn run(&self, program: Rc<dyn Program>) -> Result<Outcome, Error> {
        let (net, host_of) = self.net()?;
        let most = most_on_a_host(&host_of);
        let nodes = Nodes::new(&host_of);
        let slots = Rc::new(AllSlots::new(self.ranks));
        let rank = |rank| {
            let mut process = Process::new(End::new(net.clone(), slots.clone(), rank));
            process.share_nodes(nodes.clone());
            let processors = self.machine.processors;
            process.oversubscribed = processors > 0 && most > processors;
            Rank::new(process, net.clone(), program.clone())
        };
        let mut ranks = (0..self.ranks).map(rank).collect::<Result<Vec<Rank>, Error>>()?;
        drive(&net, &mut ranks, Rank::turn)?;
        let memory = memory(&ranks);
        let marks = ranks.into_iter().map(|rank| rank.marks).collect();
        Ok(Outcome { memory, ..outcome(&net, marks) })
    }

    /// Runs the schedules of a collective alone, so often after one for warming up.
    pub fn run_schedules(&self, call: Call, times: usize) -> Result<Outcome, Error> {
        let (net, host_of) = self.net()?;
        let hosts = Hosts::new(host_of);
        let tables = hpvm_coll::select::DEFAULT.clone();
        let shared = Rc::new(Shared { net: net.clone(), tables, hosts, call, times });
        let light = |rank| Light::new(shared.clone(), rank);
        let mut ranks: Vec<Light> = (0..self.ranks).map(light).collect();
        drive(&net, &mut ranks, Light::turn)?;
        Ok(outcome(&net, ranks.into_iter().map(|rank| rank.marks).collect()))
    }
}

fn outcome(net: &RefCell<Net>, marks: Vec<Vec<Time>>) -> Outcome {
    let net = net.borrow();
    Outcome {
        marks,
        end: net.places.iter().map(|place| place.clock).max().unwrap_or(0),
        statistics: net.statistics,
        memory: Vec::new(),
        links: net.routes.as_ref().map_or_else(Vec::new, |routes| routes.busiest(LINKS)),
    }
}

/// The memory of all engines.
fn memory(ranks: &[Rank]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for rank in ranks {
        for (at, (name, bytes)) in rank.process.memory().into_iter().enumerate() {
            if at == kinds.len() {
                let shared = name == "hosts of processes";
                kinds.push(Kind { name, mean: 0, most: 0, shared });
            }
            kinds[at].mean += bytes;
            kinds[at].most = kinds[at].most.max(bytes);
        }
    }
    kinds.iter_mut().for_each(|kind| kind.mean /= ranks.len().max(1));
    kinds
}

fn most_on_a_host(host_of: &[u32]) -> u32 {
    host_of.chunk_by(|a, b| a == b).map(|ranks| ranks.len() as u32).max().unwrap_or(0)
}

/// Gives each rank its turns until all are through.
fn drive<R>(
    net: &RefCell<Net>,
    ranks: &mut [R],
    mut turn: impl FnMut(&mut R) -> Result<bool, Error>,
) -> Result<(), Error> {
    (0..ranks.len() as u32).for_each(|rank| net.borrow_mut().plan(rank, 0));
    loop {
        let next = net.borrow_mut().next_turn();
        let Some(rank) = next else { break };
        let done = turn(&mut ranks[rank as usize])?;
        let mut net = net.borrow_mut();
        net.end_turn(rank, done);
        if let Some(error) = net.error.take() {
            return Err(error);
        }
    }
    let waiting = net.borrow().waiting();
    if waiting.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = waiting.iter().take(NAMED).map(u32::to_string).collect();
    let more = if waiting.len() > NAMED { ", ..." } else { "" };
    Err(Error::new(format!(
        "{} of {} ranks wait for what nobody sends: {}{more}",
        waiting.len(),
        ranks.len(),
        names.join(", ")
    )))
}

impl Outcome {
    /// How long each step between two marks took: from when the last rank passed the one to when the last passed the
    /// other.
    pub fn steps(&self) -> Vec<Time> {
        let count = self.marks.iter().map(Vec::len).max().unwrap_or(0);
        let last = |mark: usize| self.marks.iter().filter_map(|m| m.get(mark)).max().copied();
        let times: Vec<Time> = (0..count).filter_map(last).collect();
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }

    /// The mean of the steps.
    pub fn mean(&self) -> Time {
        let steps = self.steps();
        steps.iter().sum::<Time>() / steps.len().max(1) as Time
    }
}
