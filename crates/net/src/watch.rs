//! Watching silent peers: what they owe, questions to their kernels, and the message when one is given up.
//! [`hpvm_reliable::liveness`] decides what silence means.

use crate::net::{Net, is_far};
use crate::ping::Pings;
use hpvm_reliable::liveness::{Cause, Limits, Liveness, Loss, Owed, Waits};
use hpvm_transport::{Broken, Rank};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
/// In place of a host's number: the gateway through which ranks of other sites are reached. No host has such a number.
const GATEWAY: u32 = u32::MAX / 2;

/// What a process knows about silent peers.
pub struct Watch {
    liveness: Liveness,
    pings: Pings,
    /// The number of the host of each rank.
    nodes: Box<[u32]>,
}

impl Watch {
    pub fn new(timeout: u64, nodes: Vec<u32>) -> Watch {
        Watch { liveness: Liveness::new(timeout), pings: Pings::default(), nodes: nodes.into() }
    }

    pub fn limits(&self) -> &Limits {
        self.liveness.limits()
    }

    fn node(&self, rank: Rank) -> u32 {
        // What the process manager did not tell is taken for a host of its own.
        self.nodes.get(rank as usize).copied().unwrap_or(u32::MAX - rank)
    }
}

impl Net {
    /// Looks for peers that owe something and are silent.
    #[cold]
    pub(crate) fn look_around(&mut self, now: u64) -> Result<(), Broken> {
        self.next_round = now + self.watch.limits().round;
        self.streams.look(now);
        self.datagrams.tidy();
        if let Some((rank, why)) = self.datagrams.trouble.take()
            && !self.is_dead(rank)
        {
            return Err(Broken::PeerLost { rank, why });
        }
        let owed = self.debts(now);
        for owed in owed.iter().filter(|owed| owed.waits == Waits::Datagrams) {
            self.datagrams.doubt(now, owed.peer);
        }
        let Watch { liveness, pings, .. } = &mut self.watch;
        pings.answers(|host, answer| liveness.answer(now, host, answer));
        pings.keep(|host| owed.iter().any(|owed| owed.host == host));
        let datagrams = &mut self.datagrams;
        let loss = liveness.look(now, &owed, |owed, about_host| {
            let ways = datagrams.ways(owed.peer);
            let mut asked = pings.ask_process(owed.host, owed.peer, &ways);
            if let Some(port) = datagrams.liveness_port(owed.peer).filter(|_| asked && about_host) {
                let ways: Vec<_> = ways.iter().map(|way| way.with_port(port)).collect();
                asked = pings.ask_host(owed.host, &ways);
            }
            asked
        });
        loss.map_or(Ok(()), |loss| Err(self.lost(now, loss)))
    }

    /// The peers that have owed something for a while and are silent.
    fn debts(&mut self, now: u64) -> Vec<Owed> {
        let doubt = self.watch.limits().doubt;
        let mut owed = Vec::new();
        let new = |peer, waits, since, heard| {
            let host = self.host_number(peer);
            Owed { peer, host, waits, since, heard, host_heard: heard }
        };
        self.hub.silent(now, doubt, |peer, pending| {
            owed.push(new(peer, Waits::Datagrams, pending.since, pending.heard));
        });
        self.streams.silent(now, doubt, |peer, since| {
            owed.push(new(peer, Waits::Connection, since, 0));
        });
        owed.retain(|owed| !self.is_dead(owed.peer));
        if owed.iter().any(|owed| owed.waits == Waits::Datagrams) {
            let mut hosts: BTreeMap<u32, u64> = BTreeMap::new();
            self.hub.each_heard(|peer, heard| {
                let latest = hosts.entry(self.host_number(peer)).or_default();
                *latest = heard.max(*latest);
            });
            for owed in owed.iter_mut().filter(|owed| owed.waits == Waits::Datagrams) {
                owed.host_heard = hosts.get(&owed.host).copied().unwrap_or(0);
            }
        }
        // A gateway on this host is there as long as we are; what it does not reach, it tells the launcher.
        let far = &self.far;
        owed.retain(|owed| !is_far(far, owed.peer) || !self.datagrams.ways(owed.peer).is_empty());
        owed
    }

    /// Whose kernel is asked about a rank. Of another site none can be asked from here: that is its gateway's matter, and
    /// ours is the way to our own gateway.
    fn host_number(&self, rank: Rank) -> u32 {
        if self.is_far(rank) { GATEWAY } else { self.watch.node(rank) }
    }

    /// The error of a peer that is given up: what was seen, and what may be the cause.
    #[cold]
    fn lost(&self, now: u64, loss: Loss) -> Broken {
        let rank = loss.peer;
        let who = match self.is_far(rank) {
            true => format!("the gateway for {}", self.datagrams.describe(rank)),
            false => self.datagrams.describe(rank),
        };
        let host = &self.host;
        let owed = self.owed(now, loss);
        let limit = seconds(self.watch.limits().timeout);
        let text = match loss.cause {
            Cause::ProcessGone { refused, refusals } => format!(
                "{who} is gone: its host answers host {host} and has refused connections at its \
                 port for {} s, {refusals} times; {owed}. The process has ended, or a firewall \
                 refuses TCP",
                seconds(refused),
            ),
            Cause::HostSilent { silent, unanswered, heard } => {
                let pending = self.hub.pending(rank);
                // Datagrams that come while nothing answers over TCP tell a firewall from a cut.
                let datagrams =
                    loss.waits == Waits::Connection && now.saturating_sub(pending.heard) < silent;
                let (verb, cause) = if datagrams {
                    ("takes no connection from", "A firewall drops TCP")
                } else {
                    (
                        "does not answer",
                        "Its host is down, the network between the two hosts is cut, or a \
                         firewall drops what passes between them",
                    )
                };
                format!(
                    "{who} {verb} host {host}: {}; {owed}; {unanswered} questions to its kernel \
                     (TCP) had no answer either. {cause}",
                    last_heard(now, heard.max(pending.heard)),
                )
            }
        };
        let why = format!("{text}; the limit is --net-timeout (now {limit} s)");
        Broken::PeerLost { rank, why }
    }

    /// What is waited for, and for how long.
    fn owed(&self, now: u64, loss: Loss) -> String {
        let pending = self.hub.pending(loss.peer);
        match loss.waits {
            Waits::Datagrams => format!(
                "{} packets sent to it are not acknowledged, the oldest for {} s",
                pending.packets,
                seconds(now.saturating_sub(pending.since)),
            ),
            Waits::Connection => format!(
                "no connection could be made, though large messages are to be streamed ({})",
                self.streams.pending(loss.peer),
            ),
        }
    }
}

/// Seconds with a digit behind the point, where that is not 0.
fn seconds(nanoseconds: u64) -> String {
    let tenths = nanoseconds / (SECOND / 10);
    match tenths % 10 {
        0 => format!("{}", tenths / 10),
        digit => format!("{}.{digit}", tenths / 10),
    }
}

/// When a peer last gave a sign of life, for a message. 0: never.
fn last_heard(now: u64, heard: u64) -> String {
    match heard {
        0 => "it never answered".to_owned(),
        heard => {
            format!("its last sign of life came {} s ago", seconds(now.saturating_sub(heard)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        assert_eq!(seconds(2_500_000_000), "2.5");
        assert_eq!(seconds(60 * SECOND), "60");
        assert_eq!(seconds(99_999_999), "0");
        assert_eq!(last_heard(5 * SECOND, 0), "it never answered");
        assert_eq!(last_heard(5 * SECOND, SECOND), "its last sign of life came 4 s ago");
    }
}
