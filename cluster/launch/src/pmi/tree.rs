//! Several servers as one: each host's server answers its own ranks. At a barrier the values that
//! were put travel up to the topmost server, and from there to all; only then is the barrier open.
//! So a `get` never leaves the host.

use std::collections::BTreeSet;

use super::server::{ClientEvent, ClientState, MAPPING_KEY, Outcome, Server};

/// Where a server stands among the others.
#[derive(Debug)]
pub struct TreePosition {
    /// Whether there is a server above.
    pub(super) below: bool,
    /// Ranks of this host.
    local: u32,
    /// Servers right below, and how many of them have arrived at the barrier.
    children: u32,
    arrived: u32,
    /// Keys put since the last barrier that others have not heard of.
    fresh: BTreeSet<String>,
    /// A rank somewhere below that waits in the barrier.
    pub(super) waiter: Option<u32>,
    /// Whether anybody was told that somebody waits in this barrier.
    told: bool,
}

impl TreePosition {
    /// The place of the only server of a job.
    pub(super) fn alone(ranks: u32) -> Self {
        Self {
            below: false,
            local: ranks,
            children: 0,
            arrived: 0,
            fresh: BTreeSet::new(),
            waiter: None,
            told: false,
        }
    }

    fn is_alone(&self) -> bool {
        !self.below && self.children == 0
    }

    /// Remembers that a key has a new value.
    pub(super) fn note(&mut self, key: &str) {
        if !self.is_alone() {
            self.fresh.insert(key.to_string());
        }
    }
}

impl Server {
    /// Puts a server of a job of several hosts in its place: `local` are the ranks of its host,
    /// `children` the number of servers below it, `below` whether there is one above it.
    pub fn take_place(&mut self, local: &[u32], children: u32, below: bool, mapping: &str) {
        self.clients.iter_mut().for_each(|client| client.local = false);
        for rank in local {
            self.clients[*rank as usize].local = true;
        }
        let alone = TreePosition::alone(local.len() as u32);
        self.place = TreePosition { below, children, ..alone };
        self.store(MAPPING_KEY, mapping);
    }

    /// Takes in values from a server below (`up`) or above. False when there is no room.
    pub fn merge(&mut self, pairs: &[(String, String)], up: bool) -> bool {
        pairs.iter().all(|(key, value)| {
            if up {
                self.place.note(key);
            }
            self.store(key, value)
        })
    }

    /// The values that others have not heard of; they are then taken for told.
    pub fn take_fresh(&mut self) -> Vec<(String, String)> {
        let keys = std::mem::take(&mut self.place.fresh);
        keys.into_iter()
            .filter_map(|key| Some((key.clone(), self.values.get(&key)?.clone())))
            .collect()
    }

    /// A rank below has come so far.
    pub fn set_state(&mut self, rank: u32, state: ClientState) {
        self.clients[rank as usize].state = state;
    }

    /// A rank below waits in the barrier. True if those above have not heard of anybody.
    pub fn set_waiter(&mut self, rank: u32) -> bool {
        self.place.waiter.get_or_insert(rank);
        !std::mem::replace(&mut self.place.told, true)
    }

    /// All ranks of a server below have arrived. The replies may be for several ranks.
    pub fn child_arrived(&mut self) -> Outcome {
        self.place.arrived += 1;
        self.arrival(None)
    }

    /// A server below is gone; the job ends, but nobody shall be let through meanwhile.
    pub fn child_lost(&mut self) {
        self.place.children = u32::MAX;
    }

    /// Opens the barrier: the answers to the ranks of this host.
    pub fn open(&mut self) -> Vec<(u32, String)> {
        let mut replies = Vec::new();
        self.waiting = 0;
        let place = &mut self.place;
        (place.arrived, place.waiter, place.told) = (0, None, false);
        for (rank, client) in self.clients.iter_mut().enumerate() {
            if std::mem::replace(&mut client.in_barrier, false) {
                replies.push((rank as u32, "cmd=barrier_out rc=0\n".to_string()));
            }
        }
        replies
    }

    /// What follows when a rank of this host, or a server below, has arrived.
    pub(super) fn arrival(&mut self, rank: Option<u32>) -> Outcome {
        let place = &mut self.place;
        let complete = self.waiting == place.local && place.arrived == place.children;
        if complete && place.below {
            return Outcome { replies: Vec::new(), event: Some(ClientEvent::Arrived) };
        }
        if complete {
            let event = (!place.is_alone()).then_some(ClientEvent::Opened);
            return Outcome { replies: self.open(), event };
        }
        let first = rank.is_some() && place.below && !std::mem::replace(&mut place.told, true);
        Outcome { replies: Vec::new(), event: first.then_some(ClientEvent::Waits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job of 5 ranks: 0 and 3 on the top host, 1 on a host below it, 2 and 4 below that.
    struct Tree {
        servers: [Server; 3],
    }

    const HOSTS: [&[u32]; 3] = [&[0, 3], &[1], &[2, 4]];

    impl Tree {
        fn new() -> Self {
            let server = |host: usize| {
                let mut server = Server::new("job", &[0; 5]);
                server.take_place(HOSTS[host], u32::from(host < 2), host > 0, "(vector,(0,3,1))");
                server
            };
            let mut tree = Self { servers: [server(0), server(1), server(2)] };
            for rank in 0..5 {
                tree.say(rank, "cmd=init pmi_version=1 pmi_subversion=1");
            }
            tree
        }

        /// Says a line for a rank and carries what follows through the tree; gives the replies.
        fn say(&mut self, rank: u32, line: &str) -> Vec<(u32, String)> {
            let host = HOSTS.iter().position(|ranks| ranks.contains(&rank)).unwrap();
            let mut outcome = self.servers[host].handle(rank, line.as_bytes());
            let mut at = host;
            let mut replies = Vec::new();
            loop {
                replies.append(&mut outcome.replies);
                match outcome.event {
                    Some(ClientEvent::Arrived) => {
                        let fresh = self.servers[at].take_fresh();
                        at -= 1;
                        assert!(self.servers[at].merge(&fresh, true));
                        outcome = self.servers[at].child_arrived();
                    }
                    Some(ClientEvent::Opened) => {
                        assert_eq!(at, 0);
                        let fresh = self.servers[0].take_fresh();
                        for server in &mut self.servers[1..] {
                            assert!(server.merge(&fresh, false));
                            assert_eq!(server.take_fresh(), []);
                            replies.extend(server.open());
                        }
                        return replies;
                    }
                    Some(ClientEvent::Waits) if at > 0 => {
                        at -= 1;
                        if !self.servers[at].set_waiter(rank) {
                            return replies;
                        }
                        outcome.event = Some(ClientEvent::Waits);
                    }
                    _ => return replies,
                }
            }
        }
    }

    #[test]
    fn a_barrier_opens_with_the_last_rank_and_carries_values() {
        let mut tree = Tree::new();
        for round in 0..3 {
            for rank in 0..5 {
                let put = format!("cmd=put kvsname=kvs_job key=k{rank} value={round}.{rank}");
                assert!(tree.say(rank, &put)[0].1.contains("rc=0"));
            }
            for rank in [4, 0, 2, 3] {
                assert_eq!(tree.say(rank, "cmd=barrier_in"), []);
                assert_eq!(tree.servers[0].barrier_waiter(), Some(if rank == 4 { 4 } else { 0 }));
            }
            let mut open: Vec<u32> =
                tree.say(1, "cmd=barrier_in").into_iter().map(|(rank, _)| rank).collect();
            open.sort();
            assert_eq!(open, [0, 1, 2, 3, 4]);
            assert_eq!(tree.servers[0].barrier_waiter(), None);
            for asker in 0..5 {
                for rank in 0..5 {
                    let get = format!("cmd=get kvsname=kvs_job key=k{rank}");
                    let reply = &tree.say(asker, &get)[0].1;
                    assert!(reply.ends_with(&format!("value={round}.{rank}\n")), "{reply}");
                }
            }
        }
    }

    #[test]
    fn states_and_names_are_told_upward() {
        let mut tree = Tree::new();
        let outcome = tree.servers[2].handle(4, b"cmd=finalize");
        assert_eq!(outcome.event, Some(ClientEvent::State(ClientState::Finalised)));
        let ask = b"cmd=publish_name service=s port=p";
        assert_eq!(tree.servers[1].handle(1, ask).event, Some(ClientEvent::Ask));
        let outcome = tree.servers[0].handle_from_below(1, ask).unwrap();
        assert!(matches!(outcome.event, Some(ClientEvent::Hold { .. })));
        assert!(tree.servers[0].published(1, "s", "p", true).1);
        assert!(tree.say(0, "cmd=lookup_name service=s")[0].1.contains("port=p"));
    }
}
