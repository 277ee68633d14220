//! What the dispatcher does about other hosts: the connections to agents, and what comes from them.

use std::time::Duration;

use super::{Action, Cause, Dispatcher, Loss, Phase};
use crate::pmi::server::{ClientEvent, Server};
use crate::remote::frame::Frame;
use crate::remote::links::Links;

/// After everything was killed, agents that do not say so in time are cut off.
pub const GRACE_CUT: Duration = Duration::from_secs(1);

/// The hosts of a job and how they are reached.
#[derive(Debug)]
pub struct Layout {
    /// Names of the hosts, as messages show them.
    pub hosts: Vec<String>,
    /// For each connection the hosts behind it, the nearest first. A host behind none is ours.
    pub groups: Vec<Vec<u32>>,
    /// The hosts of all ranks, as ranks are told.
    pub mapping: String,
    /// A host from which nothing was heard for so long is given up.
    pub patience: Duration,
}

impl Dispatcher {
    /// Makes it a job of several hosts. To be called before any event.
    pub fn spread(mut self, layout: Layout) -> Self {
        let Layout { hosts, groups, mapping, patience } = layout;
        let remote: Vec<u32> = groups.iter().flatten().copied().collect();
        let local: Vec<u32> = (0..self.ranks.len() as u32)
            .filter(|rank| !remote.contains(&self.ranks[*rank as usize].node))
            .collect();
        self.pmi.take_place(&local, groups.len() as u32, false, &mapping);
        self.hosts = hosts;
        self.links = Links::new(groups, patience);
        self
    }

    /// Whether more is expected from an agent.
    pub fn expects(&mut self, link: usize) -> bool {
        self.links.get(link).open
    }

    /// A frame has come that is not about output or input.
    pub(super) fn frame(&mut self, link: usize, frame: Frame, now: Duration) {
        if !self.links.get(link).open {
            return;
        }
        self.links.heard(link, now);
        if let Some(rank) = frame.rank() {
            let known = self.ranks.get(rank as usize);
            if !known.is_some_and(|rank| self.links.leads_to(link, rank.node)) {
                return self.nonsense(link, &format!("a frame about rank {rank}"), now);
            }
        }
        match frame {
            Frame::Started { rank, pid } => self.ranks[rank as usize].pid = Some(pid),
            Frame::NotStarted { rank, text, code } => self.not_started(rank, text, code, now),
            Frame::NotExecuted { text, code, .. } => self.fail(Cause::Other, code, text, now),
            Frame::State { rank, state } => {
                self.pmi.set_state(rank, state);
                self.check_missing(now);
            }
            Frame::Abort { rank, code, message } => {
                self.client_event(rank, ClientEvent::Abort { code, message }, now);
            }
            Frame::Malformed { rank, text } => self.malformed(rank, &text, now),
            Frame::Exited { rank, ended } => self.exited(rank, ended, now),
            Frame::Waits { rank } => {
                self.pmi.set_waiter(rank);
                self.check_missing(now);
            }
            Frame::Puts(pairs) => {
                if !self.pmi.merge(&pairs, true) {
                    self.nonsense(link, "more values than a job may keep", now);
                }
            }
            Frame::Arrived => self.arrived(link, now),
            Frame::Ask { rank, line } => match self.pmi.handle_from_below(rank, &line) {
                Some(outcome) => self.outcome(rank, outcome, now),
                None => self.nonsense(link, "a question that has no answer", now),
            },
            Frame::Found { node, .. } | Frame::Held { node, .. }
                if !self.links.leads_to(link, node) =>
            {
                self.nonsense(link, &format!("an answer of host {node}"), now);
            }
            Frame::Found { question, node, port } => self.found(question, Some(node), port),
            Frame::Held { question, node, held } => self.held_on(question, node, held),
            Frame::Lost { nodes, text, code } => self.lost_below(link, &nodes, text, code, now),
            Frame::GatewayLost(text) => self.gateway_lost(text, now),
            Frame::OtherMpi(text) => self.other_mpi(text),
            Frame::TooManyThreads(text) => self.too_many_threads(text),
            Frame::Note(text) => self.actions.push_back(Action::Note(text)),
            Frame::Left => self.left(link, now),
            // Its agent ends when they do; that its host lives is seen as ever.
            Frame::GoOn => {
                self.cut_at = None;
                self.tell_end();
            }
            Frame::Alive => {}
            other => self.nonsense(link, &format!("{other:?}"), now),
        }
    }

    /// The ranks of two sites cannot talk any more.
    pub(super) fn gateway_lost(&mut self, text: String, now: Duration) {
        self.fail(Cause::PeerLost, 1, format!("{text}; ending the job"), now);
    }

    /// Keeps a value for all ranks and agents.
    pub fn publish_value(&mut self, key: &str, value: &str) {
        self.pmi.publish_value(key, value);
    }

    /// The server that has the values.
    pub fn values(&self) -> &Server {
        &self.pmi
    }

    fn arrived(&mut self, link: usize, now: Duration) {
        if std::mem::replace(&mut self.links.get(link).arrived, true) {
            return self.nonsense(link, "two arrivals at one barrier", now);
        }
        let outcome = self.pmi.child_arrived();
        // No rank is concerned: the event can only be that the barrier is open.
        self.outcome(0, outcome, now);
    }

    /// The barrier is open here: it opens everywhere.
    pub(super) fn opened(&mut self) {
        self.links.barrier_opened();
        for part in crate::remote::parts(self.pmi.take_fresh()) {
            self.down(None, Frame::Puts(part));
        }
        self.down(None, Frame::Open);
    }

    /// Sends a frame to one agent, or to all.
    pub(super) fn down(&mut self, link: Option<usize>, frame: Frame) {
        if self.links.count() > 0 {
            self.actions.push_back(Action::Down { link, frame });
        }
    }

    fn nonsense(&mut self, link: usize, what: &str, now: Duration) {
        let host = &self.hosts[self.links.get(link).nodes[0] as usize];
        let text = format!("the agent on host '{host}' sent something that makes no sense: {what}");
        self.lost(link, text, 1, now);
    }

    /// The connection to an agent is gone, and with it all hosts behind it.
    pub(super) fn lost(&mut self, link: usize, text: String, code: i32, now: Duration) {
        if !self.links.get(link).open {
            return;
        }
        let node = self.links.get(link).nodes[0];
        let cause = self.loss_of(node, Loss::Broken);
        self.close(link);
        if let Phase::Leaving(_) = self.phase
            && self.code.is_none()
        {
            // All ranks have ended well, but some output may not have come.
            self.code = Some(code);
            self.actions.push_back(Action::Error(text.clone()));
        }
        self.fail(cause, code, format!("{text}; ending the job"), now);
        self.check_all_ended(now);
        self.check_left();
    }

    /// Writes down that a host is lost: the nearest behind a connection, as of those behind it nothing is known.
    fn loss_of(&mut self, node: u32, loss: Loss) -> Cause {
        let started = self.ranks.iter().any(|rank| rank.node == node && rank.pid.is_some());
        let loss = if started { loss } else { Loss::NotStarted };
        let known = *self.lost.entry(node).or_insert(loss);
        if known == Loss::NotStarted { Cause::NotStarted } else { Cause::HostLost }
    }

    fn lost_below(&mut self, link: usize, nodes: &[u32], text: String, code: i32, now: Duration) {
        if !nodes.iter().all(|node| self.links.leads_to(link, *node)) {
            return self.nonsense(link, "the loss of a host that it does not know", now);
        }
        let cause = match nodes.first() {
            // Silence of a host behind another ends the connection from there, with a text only.
            Some(node) => self.loss_of(*node, Loss::Broken),
            None => Cause::Other,
        };
        self.absent(nodes);
        self.pmi.child_lost();
        self.fail(cause, code, format!("{text}; ending the job"), now);
        self.check_all_ended(now);
    }

    fn left(&mut self, link: usize, now: Duration) {
        let nodes = self.links.get(link).nodes.clone();
        let unfinished =
            |rank: &super::RankState| nodes.contains(&rank.node) && rank.ended.is_none();
        if self.ranks.iter().any(|rank| unfinished(rank) && !rank.absent) {
            let host = &self.hosts[nodes[0] as usize];
            let text = format!("the agent on host '{host}' went away before its ranks ended");
            return self.lost(link, text, 1, now);
        }
        self.close(link);
        self.check_left();
    }

    /// Ends the dealings with an agent.
    fn close(&mut self, link: usize) {
        let state = self.links.get(link);
        state.open = false;
        let nodes = state.nodes.clone();
        self.absent(&nodes);
        self.pmi.child_lost();
        self.actions.push_back(Action::Cut(link));
    }

    /// Nothing more will be heard of the ranks of these hosts.
    fn absent(&mut self, nodes: &[u32]) {
        self.ask_without(nodes);
        for rank in self.ranks.iter_mut().filter(|rank| nodes.contains(&rank.node)) {
            if rank.ended.is_none() && !std::mem::replace(&mut rank.absent, true) {
                self.unfinished -= 1;
            }
        }
    }

    /// Everything was told to die: agents get so long to confirm it.
    pub(super) fn cut_soon(&mut self, now: Duration) {
        if self.links.any_open() {
            self.cut_at.get_or_insert(now + GRACE_CUT);
        }
    }

    /// What is due about connections.
    pub(super) fn tick_links(&mut self, now: Duration) {
        if self.links.any_open() && self.links.tell(now) {
            self.down(None, Frame::Alive);
        }
        if self.cut_at.is_some_and(|at| now >= at) {
            self.cut_at = None;
            self.cut_all(now);
        }
        for link in self.links.silent(now) {
            let seconds = self.links.patience().as_secs_f64();
            let host = &self.hosts[self.links.get(link).nodes[0] as usize];
            let text = format!("no sign of life from host '{host}' for {seconds} s");
            let node = self.links.get(link).nodes[0];
            self.loss_of(node, Loss::Silent);
            self.lost(link, text, 1, now);
        }
    }

    /// Closes all connections; agents then kill what they have started.
    pub(super) fn cut_all(&mut self, now: Duration) {
        for link in self.links.open().collect::<Vec<_>>() {
            let host = &self.hosts[self.links.get(link).nodes[0] as usize];
            let text = format!(
                "host '{host}' does not answer; what runs there ends when it notices that the \
                 connection is gone"
            );
            self.actions.push_back(Action::Note(text));
            if self.cause == Some(Cause::PeerLost) {
                // So this is the host whose silence a rank has noticed first.
                let node = self.links.get(link).nodes[0];
                self.loss_of(node, Loss::Silent);
            }
            self.close(link);
        }
        self.check_all_ended(now);
        self.check_left();
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
