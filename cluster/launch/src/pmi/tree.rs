//! Several servers as one: each host's server answers its own ranks. At a barrier the values that
//! were put travel up to the topmost server, and from there to all; only then is the barrier open.
//! So a `get` never leaves the host.

use std::collections::BTreeSet;

use super::server::{ClientEvent, ClientState, LOST_KEY, MAPPING_KEY, Outcome, Server};

/// Where a server stands among the others.
#[derive(Debug)]
pub struct TreePosition {
    /// Whether there is a server above.
    pub(super) below: bool,
    /// Ranks of this host that have not died.
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
    /// Whether the server above was told that everybody here and below waits in this barrier.
    complete: bool,
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
            complete: false,
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

    /// What follows when the barrier has opened everywhere: a server all of whose ranks have died has arrived at the next.
    pub fn opened(&mut self) -> Outcome {
        self.arrival(None)
    }

    /// Opens the barrier: the answers to the ranks of this host.
    pub fn open(&mut self) -> Vec<(u32, String)> {
        let mut replies = Vec::new();
        self.waiting = 0;
        let place = &mut self.place;
        (place.arrived, place.waiter) = (0, None);
        (place.told, place.complete) = (false, false);
        for (rank, client) in self.clients.iter_mut().enumerate() {
            if std::mem::replace(&mut client.in_barrier, false) {
                replies.push((rank as u32, "cmd=barrier_out rc=0\n".to_string()));
            }
        }
        replies
    }

    /// Whether a rank is among those that [`LOST_KEY`] has named.
    pub fn is_lost(&self, rank: u32) -> bool {
        self.clients[rank as usize].lost
    }

    /// Reads [`LOST_KEY`]: nobody waits in a barrier for the ranks that it names, and what follows from that.
    pub fn excuse_lost(&mut self) -> Outcome {
        let named = self.value(LOST_KEY).unwrap_or_default().split(',');
        let named: Vec<u32> = named.filter_map(|rank| rank.parse().ok()).collect();
        for rank in named {
            let Some(client) = self.clients.get_mut(rank as usize) else { continue };
            if std::mem::replace(&mut client.lost, true) {
                continue;
            }
            let waited = std::mem::replace(&mut client.in_barrier, false);
            self.waiting -= u32::from(waited);
            self.place.local -= u32::from(client.local);
            self.place.waiter = self.place.waiter.filter(|waiter| *waiter != rank);
        }
        self.arrival(None)
    }

    /// What follows when a rank of this host, or a server below, has arrived, or less is to be waited for. Where all ranks
    /// have died that would be true for ever, and is none.
    pub(super) fn arrival(&mut self, rank: Option<u32>) -> Outcome {
        let place = &mut self.place;
        let complete = self.waiting == place.local && place.arrived == place.children;
        if complete && place.below {
            let told = std::mem::replace(&mut place.complete, true);
            let event = (!told).then_some(ClientEvent::Arrived);
            return Outcome { replies: Vec::new(), event };
        }
        if complete && self.clients.iter().all(|client| client.lost) {
            return Outcome::default();
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
            let outcome = self.servers[host].handle(rank, line.as_bytes());
            self.carry(rank, vec![(host, outcome)])
        }

        /// All servers hear, one after the other, that these ranks have died.
        fn lose(&mut self, ranks: &str) -> Vec<(u32, String)> {
            self.servers[0].publish_value(LOST_KEY, ranks);
            let news = [(LOST_KEY.to_string(), ranks.to_string())];
            let mut outcomes = Vec::new();
            for (at, server) in self.servers.iter_mut().enumerate() {
                assert!(server.merge(&news, false));
                outcomes.push((at, server.excuse_lost()));
            }
            self.carry(0, outcomes)
        }

        fn carry(&mut self, rank: u32, outcomes: Vec<(usize, Outcome)>) -> Vec<(u32, String)> {
            let mut todo = std::collections::VecDeque::from(outcomes);
            let mut replies = Vec::new();
            while let Some((at, mut outcome)) = todo.pop_front() {
                replies.append(&mut outcome.replies);
                match outcome.event {
                    Some(ClientEvent::Arrived) => {
                        let fresh = self.servers[at].take_fresh();
                        assert!(self.servers[at - 1].merge(&fresh, true));
                        todo.push_back((at - 1, self.servers[at - 1].child_arrived()));
                    }
                    Some(ClientEvent::Opened) => {
                        assert_eq!(at, 0);
                        let fresh = self.servers[0].take_fresh();
                        for (at, server) in self.servers.iter_mut().enumerate().skip(1) {
                            assert!(server.merge(&fresh, false));
                            assert_eq!(server.take_fresh(), []);
                            replies.extend(server.open());
                            todo.push_back((at, server.opened()));
                        }
                    }
                    Some(ClientEvent::Waits) if at > 0 && self.servers[at - 1].set_waiter(rank) => {
                        let event = Some(ClientEvent::Waits);
                        todo.push_back((at - 1, Outcome { replies: Vec::new(), event }));
                    }
                    _ => {}
                }
            }
            replies
        }
    }

    fn ranks(mut replies: Vec<(u32, String)>) -> Vec<u32> {
        assert!(replies.iter().all(|(_, text)| text.contains("barrier_out")), "{replies:?}");
        replies.sort();
        replies.into_iter().map(|(rank, _)| rank).collect()
    }

    /// Who has died is waited for in no barrier: not in one that others wait in, not in one that it had come to itself,
    /// and not in later ones, also when nobody else is on its host.
    #[test]
    fn a_barrier_opens_without_the_dead() {
        let mut tree = Tree::new();
        for rank in [0, 1, 2, 3] {
            assert_eq!(tree.say(rank, "cmd=barrier_in"), []);
        }
        assert_eq!(ranks(tree.lose("4")), [0, 1, 2, 3]);
        assert_eq!(tree.say(2, "cmd=barrier_in"), []);
        // Rank 2 waits, and dies; its host has nobody any more.
        assert_eq!(tree.lose("4,2"), []);
        for _ in 0..3 {
            assert_eq!(tree.say(3, "cmd=barrier_in"), []);
            assert_eq!(tree.say(1, "cmd=barrier_in"), []);
            assert_eq!(ranks(tree.say(0, "cmd=barrier_in")), [0, 1, 3]);
        }
        // The same is told again, and what makes no sense.
        assert_eq!(tree.lose("4,2,2,99,x"), []);
        assert_eq!(tree.say(0, "cmd=barrier_in"), []);
        assert_eq!(tree.say(3, "cmd=barrier_in"), []);
        assert_eq!(ranks(tree.lose("4,2,1")), [0, 3]);
        // Where nobody lives no barrier opens.
        assert_eq!(tree.lose("4,2,1,0,3"), []);
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
