//! Whether a silent peer lives: the decision, without a socket or a clock.
//!
//! A process that computes for hours without a call of MPI acknowledges nothing, and nothing is
//! wrong with it. So silence of the process proves nothing; only its kernel can be asked. The
//! caller asks over TCP, which kernels answer by themselves ([`Answer`]), and tells what came back.
//! From that, from datagrams and from time [`Liveness::look`] decides:
//!
//! - a *host* is lost when for the whole limit nothing of it was heard, of whatever rank, and
//!   several questions stayed without any answer;
//! - a *process* is lost when for the whole limit its host refused connections at its port.
//!
//! Only time in which the caller looked counts as silence. A process that was stopped, or that
//! computed itself, has asked nobody meanwhile, and what has come lies unread in its sockets.

use crate::Peer;
use std::collections::{BTreeMap, BTreeSet};

/// Nanoseconds of the caller's clock.
type Time = u64;

const SECOND: Time = 1_000_000_000;
/// Questions that have to stay without an answer before anybody is given up.
const MIN_UNANSWERED: u32 = 3;
/// Processes about which one look asks. The others' turn comes with the next looks.
const MAX_ASKED_PER_LOOK: usize = 32;

/// The times of a decision. All follow from one limit, so a short limit makes all of them short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Silence after which a peer is given up.
    pub timeout: Time,
    /// Time between two looks; what passes between two looks above four times this is not counted.
    pub round: Time,
    /// Silence after which a peer is looked at at all.
    pub doubt: Time,
    /// Silence after which its kernel is asked.
    pub patience: Time,
    /// Time between two questions about one peer.
    pub ask_interval: Time,
}

impl Limits {
    pub fn of(timeout: Time) -> Limits {
        let round = (timeout / 8).clamp(1, SECOND / 4);
        let doubt = (timeout / 2).min(SECOND);
        Limits {
            timeout,
            round,
            doubt,
            patience: (timeout / 8).max(doubt),
            ask_interval: (timeout / 12).max(round).min(15 * SECOND),
        }
    }
}

/// What is waited for from a peer, which decides what counts as a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waits {
    /// Acknowledgements of datagrams: anything of its host is a sign of life.
    Datagrams,
    /// A connection for large messages: datagrams do not tell whether TCP gets through.
    Connection,
}

/// Something that a peer owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    pub peer: Peer,
    /// Number of its host.
    pub host: u32,
    pub waits: Waits,
    /// Since when it is owed.
    pub since: Time,
    /// When the process and when any rank of its host last gave a sign of life of the kind that
    /// counts, as far as the caller knows; 0: never.
    pub heard: Time,
    pub host_heard: Time,
}

/// What a kernel said to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The host's kernel answered, whatever it said.
    Host(u32),
    /// The process's port takes connections: it is there.
    Process(Peer),
    /// The host refuses connections at the process's port: nobody is there.
    Refused(Peer),
}

/// Why a peer is given up: what was seen, for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    pub peer: Peer,
    pub waits: Waits,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing was heard of its host for so long, in which so many questions were asked. `heard`:
    /// when something was heard last; 0: never.
    HostSilent { silent: Time, unanswered: u32, heard: Time },
    /// Its host answers, and has refused connections at its port for so long, so many times.
    ProcessGone { refused: Time, refusals: u32 },
}

/// Silence of a host.
#[derive(Debug)]
struct Silence {
    /// The last sign of life; 0: none.
    heard: Time,
    /// Silence since then, or since something is owed, in which the caller looked.
    silent: Time,
    /// Questions since the last sign of life.
    unanswered: u32,
    next_question: Time,
}

/// What its port says about a process.
#[derive(Debug)]
struct Port {
    /// As in [`Silence`], of the process itself.
    heard: Time,
    silent: Time,
    next_question: Time,
    /// It refused connections the last time, so many times in a row and for so long.
    refusals: u32,
    refused: Time,
}

/// The peers of one process that owe it something and are silent.
#[derive(Debug)]
pub struct Liveness {
    limits: Limits,
    hosts: BTreeMap<(u32, Waits), Silence>,
    ports: BTreeMap<(Peer, Waits), Port>,
    looked: Time,
    /// Index in the list of debtors where the next look begins to ask.
    turn: usize,
}

impl Liveness {
    pub fn new(timeout: Time) -> Liveness {
        let limits = Limits::of(timeout);
        Liveness { limits, hosts: BTreeMap::new(), ports: BTreeMap::new(), looked: 0, turn: 0 }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// To be called every [`Limits::round`] while something is owed, after everything that has
    /// come was read. `owed` are the peers that have been silent for [`Limits::doubt`]; `ask` is
    /// called with each peer about whose port its kernel is to be asked, and whether its host is to
    /// be asked for itself, too. It returns false when that can't be done now.
    pub fn look(
        &mut self,
        now: Time,
        owed: &[Owed],
        mut ask: impl FnMut(&Owed, bool) -> bool,
    ) -> Option<Loss> {
        let step = now.saturating_sub(self.looked).min(4 * self.limits.round);
        self.looked = now;
        self.forget(owed);
        self.pass(now, step, owed);
        if let Some(loss) = owed.iter().find_map(|o| self.loss(now, o)) {
            return Some(loss);
        }
        // Those that were left out come first the next time.
        let (behind, ahead) = owed.split_at(self.turn.min(owed.len()));
        let mut asked = 0;
        for (at, o) in (self.turn..).zip(ahead).chain((0..).zip(behind)) {
            if asked == MAX_ASKED_PER_LOOK {
                self.turn = at;
                break;
            }
            if self.is_due(now, o) {
                asked += 1;
                let host = self.is_host_due(now, o);
                if ask(o, host) {
                    self.note_question(now, o, host);
                }
            }
        }
        None
    }

    /// A kernel has answered.
    pub fn answer(&mut self, now: Time, host: u32, answer: Answer) {
        for waits in [Waits::Datagrams, Waits::Connection] {
            if let Some(silence) = self.hosts.get_mut(&(host, waits)) {
                (silence.heard, silence.silent, silence.unanswered) = (now, 0, 0);
            }
            let (peer, refused) = match answer {
                Answer::Host(_) => continue,
                Answer::Process(peer) => (peer, false),
                Answer::Refused(peer) => (peer, true),
            };
            let Some(port) = self.ports.get_mut(&(peer, waits)) else { continue };
            if refused {
                port.refusals += 1;
            } else {
                (port.refusals, port.refused) = (0, 0);
            }
        }
    }

    /// Peers that owe nothing any more begin anew when they do.
    fn forget(&mut self, owed: &[Owed]) {
        if !self.hosts.is_empty() {
            let hosts: BTreeSet<_> = owed.iter().map(|o| (o.host, o.waits)).collect();
            let peers: BTreeSet<_> = owed.iter().map(|o| (o.peer, o.waits)).collect();
            self.hosts.retain(|key, _| hosts.contains(key));
            self.ports.retain(|key, _| peers.contains(key));
        }
    }

    /// Lets `step` of attended time pass, and records who was heard.
    fn pass(&mut self, now: Time, step: Time, owed: &[Owed]) {
        for silence in self.hosts.values_mut() {
            silence.silent += step;
        }
        for port in self.ports.values_mut() {
            port.silent += step;
            port.refused += if port.refusals > 0 { step } else { 0 };
        }
        // What passed before the first look at a peer counts for as long as a doubt takes.
        let doubt = self.limits.doubt;
        for o in owed {
            let new = |heard: Time| now.saturating_sub(o.since.max(heard)).min(doubt);
            let silence = self.hosts.entry((o.host, o.waits)).or_insert_with(|| Silence {
                heard: o.host_heard,
                silent: new(o.host_heard),
                unanswered: 0,
                next_question: now,
            });
            if o.host_heard > silence.heard {
                (silence.heard, silence.unanswered) = (o.host_heard, 0);
            }
            silence.silent = silence.silent.min(now.saturating_sub(silence.heard));
            let port = self.ports.entry((o.peer, o.waits)).or_insert_with(|| Port {
                heard: o.heard,
                silent: new(o.heard),
                next_question: now,
                refusals: 0,
                refused: 0,
            });
            if o.heard > port.heard {
                (port.heard, port.refusals, port.refused) = (o.heard, 0, 0);
            }
            port.silent = port.silent.min(now.saturating_sub(port.heard));
        }
    }

    fn loss(&self, now: Time, owed: &Owed) -> Option<Loss> {
        let timeout = self.limits.timeout;
        let lost = |cause| Some(Loss { peer: owed.peer, waits: owed.waits, cause });
        let silence = self.hosts.get(&(owed.host, owed.waits))?;
        // The latest question has had its time when the next one is due.
        let asked = silence.unanswered >= MIN_UNANSWERED && now >= silence.next_question;
        if silence.silent >= timeout && asked {
            let Silence { silent, unanswered, heard, .. } = *silence;
            return lost(Cause::HostSilent { silent, unanswered, heard });
        }
        let port = self.ports.get(&(owed.peer, owed.waits))?;
        if port.refused >= timeout && port.refusals >= MIN_UNANSWERED {
            let Port { refused, refusals, .. } = *port;
            return lost(Cause::ProcessGone { refused, refusals });
        }
        None
    }

    fn is_due(&self, now: Time, owed: &Owed) -> bool {
        let port = self.ports.get(&(owed.peer, owed.waits));
        port.is_some_and(|p| p.silent >= self.limits.patience && now >= p.next_question)
    }

    fn is_host_due(&self, now: Time, owed: &Owed) -> bool {
        let silence = self.hosts.get(&(owed.host, owed.waits));
        silence.is_some_and(|s| now >= s.next_question)
    }

    fn note_question(&mut self, now: Time, owed: &Owed, host: bool) {
        let next = now + self.limits.ask_interval;
        if let Some(port) = self.ports.get_mut(&(owed.peer, owed.waits)) {
            port.next_question = next;
        }
        if let Some(silence) = self.hosts.get_mut(&(owed.host, owed.waits)).filter(|_| host) {
            silence.next_question = next;
            silence.unanswered += 1;
        }
    }
}

#[cfg(test)]
#[path = "liveness_tests.rs"]
mod tests;
