//! What an agent does, decided without doing anything: events, frames and the time go in, actions
//! come out. An agent judges nothing: it tells the launcher what happened, and does what it is
//! told. What comes from agents below is checked and passed on.

use std::collections::VecDeque;
use std::time::Duration;

use super::frame::Frame;
use super::links::Links;
use super::order::{Node, Order};
use super::{parts, tree};
use crate::dispatcher::leaving::{Found, Leaving};
use crate::dispatcher::{Ended, Event};
use crate::environment::short_job_id;
use hpvm_sites::SITES_KEY;

use crate::pmi::server::{ClientEvent, ClientState, JOB_KEY, LOST_KEY, Outcome, Server};

/// An agent that heard nothing from above for so many times the patience ends itself and all that
/// it started. Longer than what those above wait for us: a launcher that was stopped for a while
/// must not lose its job.
const ORPHAN_FACTOR: u32 = 5;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame to who started us.
    Up(Frame),
    /// Send a frame to one agent below, or to all whose connection is open.
    Down { link: Option<usize>, frame: Frame },
    /// Send these bytes on a rank's PMI connection.
    Reply { rank: u32, text: String },
    /// Send a signal to the process groups of all ranks of this host.
    Signal(i32),
    /// Send a signal to every process here that descends from the job.
    SignalLeftovers(i32),
    /// As the launcher's.
    KillJobs,
    /// Send a signal to the launchers here of jobs that this one has spawned and that have parted from it.
    SignalParted(i32),
    /// Find out whether any process or output of the job is left here.
    Survey,
    /// Close the connection to an agent below.
    Cut(usize),
    /// Bytes for the standard input of the rank that gets it, which runs here; none: its end.
    Stdin(Vec<u8>),
    /// Whether outputs are not to be read.
    Pause(bool),
    /// Hold a name of the job's, for other jobs on this host.
    Hold { question: u32, service: String, port: String },
    /// Hold these names no longer.
    Release(Vec<String>),
    /// These bytes go to a process of this host; none: that is the end.
    Stream { number: u32, bytes: Vec<u8> },
    /// This line goes to the gateway of this host, if there is one.
    Space { number: u32, line: String },
    /// Look for a name on this host.
    Find { question: u32, service: String },
    /// Send what waits to be sent, and end.
    Finish,
    /// End at once, and everything that was started here with us.
    Die(String),
}

/// The state of one agent.
#[derive(Debug)]
pub struct Brain {
    /// Number of this host.
    node: u32,
    /// Ranks of this host that have not ended.
    running: Vec<u32>,
    /// The rank that gets standard input, and whether it runs here.
    input: Option<u32>,
    has_input: bool,
    pmi: Server,
    links: Links,
    /// For each connection all hosts behind it.
    groups: Vec<Vec<Node>>,
    leaving: Option<Leaving>,
    /// Whether it has been said that jobs go on that ranks here have spawned.
    goes_on: bool,
    heard: Duration,
    over: bool,
    actions: VecDeque<Action>,
}

impl Brain {
    /// The agent of an order's first host; its time begins now.
    pub fn new(order: &Order) -> Self {
        let (own, below) = (&order.nodes[0], &order.nodes[1..]);
        let groups = tree::split(below, order.shell.width as usize);
        let numbers = |group: &Vec<Node>| group.iter().map(|node| node.number).collect();
        let links = Links::new(groups.iter().map(numbers).collect(), order.shell.patience);
        let mut appnums = vec![0; order.size as usize];
        for (rank, program) in own.ranks() {
            appnums[rank as usize] = program;
        }
        let running: Vec<u32> = own.ranks().map(|(rank, _)| rank).collect();
        let mut pmi = Server::new(short_job_id(&order.job), &appnums);
        pmi.take_place(&running, groups.len() as u32, true, &order.mapping);
        pmi.set_universe(order.universe);
        pmi.store(JOB_KEY, &order.key);
        if let Some(sites) = &order.sites {
            pmi.store(SITES_KEY, &sites.text);
        }
        Self {
            node: own.number,
            input: order.input,
            has_input: order.input.is_some_and(|rank| running.contains(&rank)),
            running,
            pmi,
            links,
            groups,
            leaving: None,
            goes_on: false,
            heard: Duration::ZERO,
            over: false,
            actions: VecDeque::new(),
        }
    }

    /// The orders for the agents below.
    pub fn orders(&self, order: &Order) -> Vec<Order> {
        let below = |nodes: &Vec<Node>| Order { nodes: nodes.clone(), ..order.clone() };
        self.groups.iter().map(below).collect()
    }

    /// The next thing to do, in order.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether more is expected from an agent below.
    pub fn expects(&mut self, link: usize) -> bool {
        self.links.get(link).open
    }

    /// When those above have been silent for too long, by the attended clock.
    fn orphaned(&self) -> Duration {
        self.heard.saturating_add(self.links.patience() * ORPHAN_FACTOR)
    }

    /// Whether a rank of this host has called MPI_Init as a part of this job.
    pub fn has_joined(&self, rank: u32) -> bool {
        self.pmi.state(rank) != ClientState::Silent
    }

    /// Keeps a value for all ranks, agents and the launcher.
    pub fn publish_value(&mut self, key: &str, value: &str) {
        self.pmi.publish_value(key, value);
    }

    /// The server that has the values.
    pub fn values(&self) -> &Server {
        &self.pmi
    }

    /// When [`Event::Tick`] is due.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let orphan = self.links.clock.real(self.orphaned());
        // Those above are told that we live, whether or not there is anybody below.
        let due = [self.leaving.as_ref().and_then(Leaving::due), self.links.next_due()];
        due.into_iter().flatten().chain([orphan, self.links.next_telling()]).min()
    }

    /// Something has happened on this host.
    pub fn handle(&mut self, event: Event, now: Duration) {
        match event {
            Event::Started { rank, pid } => self.up(Frame::Started { rank, pid }),
            Event::NotStarted { rank, text, code } => {
                self.running.retain(|other| *other < rank);
                self.up(Frame::NotStarted { rank, text, code });
            }
            Event::NotExecuted { rank, text, code } => {
                self.up(Frame::NotExecuted { rank, text, code });
            }
            Event::Pmi { rank, line } => {
                let outcome = self.pmi.handle(rank, line);
                self.outcome(rank, line, outcome);
            }
            Event::PmiOverflow { rank } => {
                let text = format!("it is longer than {} bytes", crate::pmi::LINE_MAX);
                self.up(Frame::Malformed { rank, text });
            }
            Event::Exited { rank, ended } => self.exited(rank, ended),
            Event::Heard { link } => self.links.heard(link, now),
            Event::Frame { link, frame } => self.report(link, frame, now),
            Event::LinkLost { link, text, code } => self.lost(link, text, code),
            Event::Signal(number) => {
                let name = crate::text::signal_name(number);
                self.die(format!("received {name}"));
            }
            Event::ChildrenEnded => {
                self.leaving.iter_mut().for_each(|leaving| leaving.children_ended(now));
            }
            Event::Survey(found) => self.surveyed(found, now),
            Event::Tick => self.tick(now),
            Event::OtherMpi { text } => self.up(Frame::OtherMpi(text)),
            Event::TooManyThreads { text } => self.up(Frame::TooManyThreads(text)),
            Event::GatewayLost { text } => self.up(Frame::GatewayLost(text)),
            Event::Found { question, port } => {
                self.up(Frame::Found { question, node: self.node, port });
            }
            Event::HeldHere { question, held } => {
                self.up(Frame::Held { question, node: self.node, held });
            }
            Event::Stream { number, bytes } => {
                self.up(Frame::Stream { node: self.node, number, bytes });
            }
            Event::LifelineCut
            | Event::Held { .. }
            | Event::OutputBroken { .. }
            | Event::FileBroken { .. } => {}
        }
    }

    /// A frame has come from who started us.
    pub fn instruct(&mut self, frame: Frame, now: Duration) {
        match frame {
            Frame::Signal(number) => {
                self.actions.push_back(Action::Signal(number));
                self.down(None, Frame::Signal(number));
            }
            Frame::Puts(pairs) => {
                if !self.pmi.merge(&pairs, false) {
                    return self.die("more values than a job may keep".to_string());
                }
                let deaths = pairs.iter().any(|(key, _)| key == LOST_KEY);
                self.down(None, Frame::Puts(pairs));
                if deaths {
                    let outcome = self.pmi.excuse_lost();
                    self.outcome(0, b"", outcome);
                }
            }
            Frame::Open => {
                self.links.barrier_opened();
                self.down(None, Frame::Open);
                for (rank, text) in self.pmi.open() {
                    self.actions.push_back(Action::Reply { rank, text });
                }
                let outcome = self.pmi.opened();
                self.outcome(0, b"", outcome);
            }
            Frame::Reply { rank, text } => match self.toward(rank) {
                Some(link) => self.down(Some(link), Frame::Reply { rank, text }),
                None => self.actions.push_back(Action::Reply { rank, text }),
            },
            Frame::Stdin(bytes) => match self.input.and_then(|rank| self.toward(rank)) {
                Some(link) => self.down(Some(link), Frame::Stdin(bytes)),
                None if self.has_input => self.actions.push_back(Action::Stdin(bytes)),
                None => {}
            },
            Frame::Pause(paused) => {
                self.actions.push_back(Action::Pause(paused));
                self.down(None, Frame::Pause(paused));
            }
            Frame::Hold { question, service, port } => {
                let (name, stands_for) = (service.clone(), port.clone());
                self.down(None, Frame::Hold { question, service: name, port: stands_for });
                self.actions.push_back(Action::Hold { question, service, port });
            }
            Frame::Release(services) => {
                self.down(None, Frame::Release(services.clone()));
                self.actions.push_back(Action::Release(services));
            }
            Frame::Find { question, service } => {
                self.down(None, Frame::Find { question, service: service.clone() });
                self.actions.push_back(Action::Find { question, service });
            }
            Frame::Stream { node, number, bytes } if node == self.node => {
                self.actions.push_back(Action::Stream { number, bytes });
            }
            Frame::Stream { node, number, bytes } => {
                if let Some(link) = self.links.toward(node) {
                    self.down(Some(link), Frame::Stream { node, number, bytes });
                }
            }
            Frame::Space { number, line } => {
                self.down(None, Frame::Space { number, line: line.clone() });
                self.actions.push_back(Action::Space { number, line });
            }
            Frame::SignalParted(number) => {
                self.down(None, Frame::SignalParted(number));
                self.actions.push_back(Action::SignalParted(number));
            }
            Frame::Leave { kill } => self.leave(kill, now),
            Frame::Alive => {}
            other => self.die(format!("the launcher sent what only agents send: {other:?}")),
        }
    }

    /// Bytes have come from who started us.
    pub fn heard_above(&mut self, now: Duration) {
        self.heard = self.links.clock.at(now);
    }

    fn up(&mut self, frame: Frame) {
        self.actions.push_back(Action::Up(frame));
    }

    fn down(&mut self, link: Option<usize>, frame: Frame) {
        if self.links.any_open() {
            self.actions.push_back(Action::Down { link, frame });
        }
    }

    fn die(&mut self, why: String) {
        if !std::mem::replace(&mut self.over, true) {
            self.actions.push_back(Action::Die(why));
        }
    }

    /// The connection behind which a rank runs; none if it runs here, or nowhere.
    fn toward(&self, rank: u32) -> Option<usize> {
        (0..self.groups.len()).find(|link| self.is_behind(rank, *link))
    }

    fn is_behind(&self, rank: u32, link: usize) -> bool {
        let mut runs = self.groups[link].iter().flat_map(|node| &node.runs);
        runs.any(|run| rank >= run.first && rank - run.first < run.count)
    }

    fn outcome(&mut self, rank: u32, line: &[u8], outcome: Outcome) {
        for (rank, text) in outcome.replies {
            self.actions.push_back(Action::Reply { rank, text });
        }
        match outcome.event {
            // The last ones are for the topmost server.
            None
            | Some(ClientEvent::Opened)
            | Some(ClientEvent::Hold { .. })
            | Some(ClientEvent::Find { .. })
            | Some(ClientEvent::Release { .. })
            | Some(ClientEvent::Unpublish { .. }) => {}
            Some(ClientEvent::State(state)) => self.up(Frame::State { rank, state }),
            Some(ClientEvent::Abort { code, message }) => {
                self.up(Frame::Abort { rank, code, message });
            }
            Some(ClientEvent::Malformed(text)) => self.up(Frame::Malformed { rank, text }),
            Some(ClientEvent::Waits) => self.up(Frame::Waits { rank }),
            Some(ClientEvent::Ask) => self.up(Frame::Ask { rank, line: line.to_vec() }),
            Some(ClientEvent::Arrived) => {
                for part in parts(self.pmi.take_fresh()) {
                    self.up(Frame::Puts(part));
                }
                self.up(Frame::Arrived);
            }
        }
    }

    fn exited(&mut self, rank: u32, ended: Ended) {
        let before = self.running.len();
        self.running.retain(|other| *other != rank);
        if self.running.len() < before {
            self.up(Frame::Exited { rank, ended });
        }
    }

    fn report(&mut self, link: usize, frame: Frame, now: Duration) {
        if !self.links.get(link).open {
            return;
        }
        self.links.heard(link, now);
        if frame.rank().is_some_and(|rank| !self.is_behind(rank, link)) {
            return self.nonsense(link, "a frame about a rank of another host");
        }
        match frame {
            Frame::Alive => {}
            Frame::Puts(pairs) => {
                if !self.pmi.merge(&pairs, true) {
                    self.nonsense(link, "more values than a job may keep");
                }
            }
            Frame::Arrived => {
                if std::mem::replace(&mut self.links.get(link).arrived, true) {
                    return self.nonsense(link, "two arrivals at one barrier");
                }
                let outcome = self.pmi.child_arrived();
                self.outcome(0, b"", outcome);
            }
            Frame::Waits { rank } => {
                if self.pmi.set_waiter(rank) {
                    self.up(Frame::Waits { rank });
                }
            }
            Frame::Left => {
                self.links.get(link).open = false;
                self.actions.push_back(Action::Cut(link));
                self.check_left();
            }
            Frame::Lost { ref nodes, .. } => {
                if !nodes.iter().all(|node| self.links.leads_to(link, *node)) {
                    return self.nonsense(link, "the loss of a host that it does not know");
                }
                self.up(frame);
            }
            Frame::Found { node, .. } | Frame::Held { node, .. } | Frame::Stream { node, .. }
                if !self.links.leads_to(link, node) =>
            {
                self.nonsense(link, "an answer of a host that it does not know");
            }
            Frame::Order(_)
            | Frame::Signal(_)
            | Frame::SignalParted(_)
            | Frame::Leave { .. }
            | Frame::Pause(_)
            | Frame::Open
            | Frame::Reply { .. }
            | Frame::Space { .. }
            | Frame::Hold { .. }
            | Frame::Release(_)
            | Frame::Find { .. }
            | Frame::Stdin(_) => self.nonsense(link, "what only the launcher sends"),
            frame => self.up(frame),
        }
    }

    fn host(&self, link: usize) -> &str {
        &self.groups[link][0].host
    }

    fn nonsense(&mut self, link: usize, what: &str) {
        let host = self.host(link);
        let text = format!("the agent on host '{host}' sent something that makes no sense: {what}");
        self.lost(link, text, 1);
    }

    fn lost(&mut self, link: usize, text: String, code: i32) {
        let state = self.links.get(link);
        if !std::mem::replace(&mut state.open, false) {
            return;
        }
        let nodes = state.nodes.clone();
        self.pmi.child_lost();
        self.actions.push_back(Action::Cut(link));
        self.up(Frame::Lost { nodes, text, code });
        self.check_left();
    }

    fn leave(&mut self, kill: bool, now: Duration) {
        self.down(None, Frame::Leave { kill });
        if !self.running.is_empty() {
            self.actions.push_back(Action::Signal(libc::SIGKILL));
        }
        if kill {
            self.actions.push_back(Action::SignalLeftovers(libc::SIGKILL));
        }
        self.leaving = Some(Leaving::new(kill, now));
        self.actions.push_back(Action::Survey);
    }

    fn surveyed(&mut self, found: Found, now: Duration) {
        let Some(leaving) = &mut self.leaving else { return };
        let signal = leaving.surveyed(found, now);
        if leaving.kills_jobs() {
            self.actions.push_back(Action::KillJobs);
        }
        if let Some(signal) = signal {
            self.actions.push_back(Action::SignalLeftovers(signal));
        }
        if found.parted && !std::mem::replace(&mut self.goes_on, true) {
            self.up(Frame::GoOn);
        }
        self.check_left();
    }

    fn check_left(&mut self) {
        let done = self.leaving.as_ref().is_some_and(Leaving::done);
        if done && !self.links.any_open() && !std::mem::replace(&mut self.over, true) {
            self.up(Frame::Left);
            self.actions.push_back(Action::Finish);
        }
    }

    fn tick(&mut self, now: Duration) {
        if self.links.tell(now) {
            self.up(Frame::Alive);
            self.down(None, Frame::Alive);
        }
        for link in self.links.silent(now) {
            let seconds = self.links.patience().as_secs_f64();
            let text = format!("no sign of life from host '{}' for {seconds} s", self.host(link));
            self.lost(link, text, 1);
        }
        if self.leaving.as_ref().and_then(Leaving::due).is_some_and(|due| now >= due) {
            self.actions.push_back(Action::Survey);
        }
        if self.links.clock.at(now) >= self.orphaned() {
            self.die("no sign of life from the launcher".to_string());
        }
    }
}

#[cfg(test)]
#[path = "brain_tests.rs"]
mod tests;
