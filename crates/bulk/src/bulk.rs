//! The state machine as its caller sees it.

use crate::action::{Action, ConnId, Counters, Done, Nonsense, Pending, Settings};
use crate::connection::{Connection, Stage};
use crate::peer::Peer;
use crate::proof::Key;
use crate::rail::{Link, MAX_RAILS};
use crate::{Rank, Time};
use hpvm_wire::bulk::{Frame, FrameKind};
use std::collections::{BTreeMap, VecDeque};

/// Connections by index, with the generation of each index.
pub(crate) type Conns = Vec<(u32, Option<Connection>)>;

/// All bulk streams of one process. See the crate's text.
pub struct Bulk<M> {
    pub(crate) me: Rank,
    pub(crate) size: u32,
    pub(crate) key: Key,
    pub(crate) settings: Settings,
    pub(crate) peers: BTreeMap<Rank, Peer<M>>,
    conns: Conns,
    free: Vec<u32>,
    /// Peers with which something was unfinished at the last look.
    pub(crate) pending: Vec<Rank>,
    /// Connections that are not open yet, oldest first.
    greeting: Vec<ConnId>,
    actions: VecDeque<Action>,
    pub(crate) done: VecDeque<Done>,
    /// Connections of which something that has come can be taken.
    pub(crate) ready: Vec<ConnId>,
    /// Peers whose openings or packets wait for others of the same peer.
    pub(crate) holding: Vec<Rank>,
    /// Peers whose next packet has to tell how many openings went before it.
    pub(crate) unfenced: u32,
    /// When bytes were last read.
    pub(crate) last_read: Time,
    /// By how much the windows of all peers together may grow.
    pub(crate) spare_window: u64,
    /// An opening has come since somebody asked.
    pub(crate) fresh: bool,
    lost: Option<Nonsense>,
    pub(crate) counters: Counters,
}

impl<M> Bulk<M> {
    /// For process `me` of a job of `size`, whose members know `key`.
    pub fn new(me: Rank, size: u32, key: &[u8; 16], settings: Settings) -> Bulk<M> {
        let spare_window = settings.spare_window;
        Bulk {
            me,
            size,
            key: Key::of_job(key),
            settings,
            peers: BTreeMap::new(),
            conns: Vec::new(),
            free: Vec::new(),
            pending: Vec::new(),
            greeting: Vec::new(),
            actions: VecDeque::new(),
            done: VecDeque::new(),
            ready: Vec::new(),
            holding: Vec::new(),
            unfenced: 0,
            last_read: 0,
            spare_window,
            fresh: false,
            lost: None,
            counters: Counters::default(),
        }
    }

    /// There are `rails` ways to `peer` (at most 8; 1 unless told otherwise). Where this process
    /// does not make the connections it need not know.
    pub fn set_rails(&mut self, peer: Rank, rails: u8, now: Time) {
        let last = rails.clamp(1, MAX_RAILS) - 1;
        self.peer(peer, now).rail(last, now);
    }

    /// What is to be done next.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What makes it pointless to go on, once.
    pub fn lost(&mut self) -> Option<Nonsense> {
        self.lost.take()
    }

    /// Something is unfinished: connections want to be looked at, and `tick` to be called.
    pub fn busy(&self) -> bool {
        !self.pending.is_empty()
            || !self.greeting.is_empty()
            || !self.actions.is_empty()
            || self.has_ready()
    }

    /// Bytes have come that can be taken without asking the system.
    #[inline(always)]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A peer that makes the connections between us is to make one.
    pub fn expects_caller(&self) -> bool {
        let waits = |rank: &Rank| {
            *rank < self.me && self.peers.get(rank).is_some_and(|p| p.rails_up() < p.rails.len())
        };
        self.pending.iter().any(waits)
    }

    /// Everything that was sent has come, and everything that was expected. Others may still be owed
    /// a word.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet_but_for(|_| false)
    }

    /// The same, whatever is unfinished with those who are `gone`.
    pub fn is_quiet_but_for(&self, gone: impl Fn(Rank) -> bool) -> bool {
        let quiet = |rank: &Rank| self.peers.get(rank).is_none_or(|p| !p.streams.pending());
        self.pending.iter().all(|rank| quiet(rank) || gone(*rank))
    }

    /// Peers with which something is unfinished and whose kernel has taken no connection for so
    /// long; or, where they make the connections, that have made none. Whether they live another
    /// way has to tell.
    pub fn silent(&self, now: Time, timeout: Time, mut each: impl FnMut(Rank, Time)) {
        for rank in &self.pending {
            let Some(peer) = self.peers.get(rank) else { continue };
            let since = match *rank < self.me {
                // From here on a connection may come at any time.
                true if peer.streams.sending() && peer.rails_up() == 0 => {
                    peer.rails.iter().map(|rail| rail.since).max()
                }
                true => None,
                false => peer.unreached,
            };
            if let Some(since) = since.filter(|since| now.saturating_sub(*since) >= timeout) {
                each(*rank, since);
            }
        }
    }

    pub(crate) fn writing_parts(
        &mut self,
    ) -> (&mut Conns, &mut BTreeMap<Rank, Peer<M>>, &Settings) {
        (&mut self.conns, &mut self.peers, &self.settings)
    }

    /// The connections at work with `peer`.
    pub fn connections(&self, peer: Rank, into: &mut Vec<ConnId>) {
        let rails = self.peers.get(&peer).map_or(&[][..], |p| &p.rails);
        into.extend(rails.iter().filter_map(|l| l.up()));
    }

    /// The connections on which something is likely to come or go now. On all others something may
    /// come as well.
    pub fn active(&self, into: &mut Vec<ConnId>) {
        into.extend_from_slice(&self.greeting);
        for rank in &self.pending {
            let Some(peer) = self.peers.get(rank) else { continue };
            into.extend(peer.rails.iter().filter_map(|l| l.up()));
        }
        for id in &self.ready {
            if !into.contains(id) {
                into.push(*id);
            }
        }
    }

    /// All connections on which something may come or go.
    pub fn all(&self, into: &mut Vec<ConnId>) {
        into.extend_from_slice(&self.greeting);
        into.extend(self.peers.values().flat_map(|peer| peer.rails.iter().filter_map(|l| l.up())));
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What is unfinished between this process and `peer`.
    pub fn pending(&self, peer: Rank) -> Pending {
        self.peers.get(&peer).map_or_else(Pending::default, |p| p.streams.unfinished())
    }

    /// For the text of a failed test: what is unfinished with whom.
    pub fn describe(&self) -> String {
        let line = |(rank, peer): (&Rank, &Peer<M>)| {
            let rails: Vec<_> = peer.rails.iter().map(|l| format!("{:?}", l.link)).collect();
            format!("peer {rank}: {}; rails {}", peer.streams.unfinished(), rails.join(", "))
        };
        let lines: Vec<_> = self.peers.iter().map(line).collect();
        format!("{}; {:?}", lines.join("; "), self.counters)
    }

    /// Somebody connected. `nonce` has never been used and can't be guessed.
    pub fn accepted(&mut self, nonce: [u8; 16], now: Time) -> ConnId {
        let strangers = self.greeting.iter().copied().filter(|id| !self.is_ours(*id));
        let strangers: Vec<ConnId> = strangers.collect();
        if strangers.len() >= self.settings.strangers.max(1) {
            self.counters.strangers += 1;
            self.drop_conn(strangers[0], now, true);
        }
        let deadline = now.saturating_add(self.settings.greeting);
        self.add(Connection::new(Stage::Hello { nonce }, None, deadline))
    }

    fn is_ours(&self, id: ConnId) -> bool {
        self.conn(id).is_some_and(|c| c.ours)
    }

    /// The connection is of no use any more, and closed by the caller.
    pub fn broken(&mut self, id: ConnId, now: Time) {
        self.drop_conn(id, now, false);
        self.tick(now);
    }

    /// Lets time pass. To be called now and then while `busy`, and when `deadline` has come.
    pub fn tick(&mut self, now: Time) {
        self.drop_late(now);
        let mut index = 0;
        while index < self.pending.len() {
            let rank = self.pending[index];
            let missed = |peer: &Peer<M>| self.me < rank && peer.is_missed();
            if self.peers.get(&rank).is_some_and(|p| p.pending() || missed(p)) {
                self.look_after(rank, now);
                index += 1;
            } else {
                self.pending.swap_remove(index);
                if let Some(peer) = self.peers.get_mut(&rank) {
                    peer.unreached = None;
                }
            }
        }
    }

    /// When `tick` has something to do even if nothing happens before.
    pub fn deadline(&self) -> Option<Time> {
        let greetings = self.greeting.iter().filter_map(|id| self.conn(*id)?.deadline);
        let peers = self.pending.iter().filter_map(|rank| {
            let peer = self.peers.get(rank)?;
            let connects = self.me < *rank;
            let retry = peer.rails.iter().filter(|l| connects && l.link == Link::Down);
            let ask = peer.rails.iter().filter(|l| l.asked.is_none() && l.has_doubtful());
            let ask = ask.filter(|l| l.up().is_none() && peer.rails_up() > 0);
            let ask = ask.map(|l| l.since.saturating_add(self.settings.patience));
            let late = peer.streams.next_impatience();
            retry.map(|l| l.retry).chain(ask).chain(late).min()
        });
        greetings.chain(peers).min()
    }

    fn drop_late(&mut self, now: Time) {
        let late = |id: &ConnId| self.conn(*id).and_then(|c| c.deadline).is_some_and(|d| d <= now);
        let late: Vec<ConnId> = self.greeting.iter().copied().filter(late).collect();
        for id in late {
            if !self.is_ours(id) {
                self.counters.strangers += 1;
            }
            self.drop_conn(id, now, true);
        }
    }

    /// Something has begun with `rank`.
    pub(crate) fn wake(&mut self, rank: Rank, now: Time) {
        let me = self.me;
        let wants = |peer: &Peer<M>| peer.pending() || (me < rank && peer.is_missed());
        if !self.pending.contains(&rank) && self.peers.get(&rank).is_some_and(wants) {
            self.pending.push(rank);
            self.look_after(rank, now);
        }
    }

    /// Makes connections to a peer, moves chunks from rails that are down, records since when it is
    /// out of reach.
    fn look_after(&mut self, rank: Rank, now: Time) {
        if self.me < rank {
            self.connect(rank, now);
            self.check_reach(rank, now);
        }
        self.ask_for_rails(rank, now);
    }

    fn connect(&mut self, rank: Rank, now: Time) {
        let deadline = now.saturating_add(self.settings.connect);
        let rails = self.peers.get(&rank).map_or(&[][..], |p| &p.rails);
        let due = rails.iter().zip(0u8..).filter(|(l, _)| l.link == Link::Down && l.retry <= now);
        let due: Vec<u8> = due.map(|(_, index)| index).collect();
        for index in due {
            let conn = self.add(Connection::new(Stage::Connecting, Some((rank, index)), deadline));
            self.actions.push_back(Action::Connect { conn, peer: rank, rail: index });
            let rail = self.peer(rank, now).rail(index, now);
            rail.link = Link::Opening(conn);
            rail.epoch += 1;
        }
    }

    /// A connection that the peer's host has taken is a sign of life: the process may compute.
    fn check_reach(&mut self, rank: Rank, now: Time) {
        let Some(peer) = self.peers.get(&rank) else { return };
        let lives = |id| self.conn(id).is_some_and(|c| !matches!(c.stage, Stage::Connecting));
        let alive = peer.rails.iter().filter_map(|l| l.conn()).any(lives);
        let Some(peer) = self.peers.get_mut(&rank) else { return };
        if alive || !peer.pending() {
            peer.unreached = None;
        } else {
            peer.unreached.get_or_insert(now);
        }
    }

    /// Asks over a rail that is up what has come over those that are not.
    fn ask_for_rails(&mut self, rank: Rank, now: Time) {
        let Some(peer) = self.peers.get_mut(&rank) else { return };
        let Some(over) = peer.rails.iter().find_map(|l| l.up()) else { return };
        for index in 0..peer.rails.len() {
            let rail = &mut peer.rails[index];
            let long = rail.since.saturating_add(self.settings.patience) <= now;
            if rail.up().is_some() || rail.asked.is_some() || !rail.has_doubtful() || !long {
                continue;
            }
            rail.asked = Some((over, rail.epoch));
            let (number, offset) = (index as u64, u64::from(rail.epoch));
            let ask = Frame::bare(FrameKind::Ask, number, offset);
            if let Some(Stage::Open(open)) = entry(&mut self.conns, over).map(|c| &mut c.stage) {
                open.control.push_back(ask);
            }
        }
    }

    pub(crate) fn give_up(&mut self, why: Nonsense) {
        self.lost.get_or_insert(why);
    }

    pub(crate) fn peer(&mut self, rank: Rank, now: Time) -> &mut Peer<M> {
        self.peers.entry(rank).or_insert_with(|| Peer::new(now, &self.settings))
    }

    pub(crate) fn conn(&self, id: ConnId) -> Option<&Connection> {
        let (generation, conn) = self.conns.get(id.index as usize)?;
        conn.as_ref().filter(|_| *generation == id.generation)
    }

    /// A connection, and the peers, which are apart from it.
    pub(crate) fn parts(
        &mut self,
        id: ConnId,
    ) -> Option<(&mut Connection, &mut BTreeMap<Rank, Peer<M>>)> {
        Some((entry(&mut self.conns, id)?, &mut self.peers))
    }

    fn add(&mut self, connection: Connection) -> ConnId {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.conns.push((0, None));
                self.conns.len() as u32 - 1
            }
        };
        let (generation, entry) = &mut self.conns[index as usize];
        *entry = Some(connection);
        let id = ConnId { index, generation: *generation };
        self.greeting.push(id);
        id
    }

    /// The connection has proved itself.
    pub(crate) fn opened(&mut self, id: ConnId) {
        self.counters.connections += 1;
        self.greeting.retain(|other| *other != id);
    }

    /// Forgets a connection; what was half read or half written is to be done again.
    pub(crate) fn drop_conn(&mut self, id: ConnId, now: Time, close: bool) {
        let Some((generation, entry)) = self.conns.get_mut(id.index as usize) else { return };
        if *generation != id.generation {
            return;
        }
        let Some(conn) = entry.take() else { return };
        *generation = generation.wrapping_add(1);
        self.free.push(id.index);
        self.greeting.retain(|other| *other != id);
        self.ready.retain(|other| *other != id);
        if close {
            self.actions.push_back(Action::Close { conn: id });
        }
        let Some((rank, rail)) = conn.peer else { return };
        let Some(peer) = self.peers.get_mut(&rank) else { return };
        if let Some(reading) = conn.open().and_then(|open| open.reading) {
            peer.streams.drop_early(reading.part.number);
        }
        for rail in &mut peer.rails {
            rail.asked = rail.asked.filter(|(over, _)| *over != id);
        }
        let rail = &mut peer.rails[usize::from(rail)];
        let Some(was_up) = (rail.conn() == Some(id)).then(|| rail.up().is_some()) else { return };
        rail.fell(was_up, now, &self.settings);
        if was_up {
            peer.streams.say_again();
            self.counters.broken += 1;
            self.wake(rank, now);
        }
    }
}

pub(crate) fn entry(
    conns: &mut [(u32, Option<Connection>)],
    id: ConnId,
) -> Option<&mut Connection> {
    let (generation, conn) = conns.get_mut(id.index as usize)?;
    conn.as_mut().filter(|_| *generation == id.generation)
}
