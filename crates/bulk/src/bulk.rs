//! The state machine as its caller sees it.

use crate::action::{Action, ConnId, Counters, Lost, Settings};
use crate::connection::{Connection, Stage};
use crate::lane::{Link, MAX_LANES};
use crate::peer::Peer;
use crate::proof::Key;
use crate::transfer::{Expected, Receiving, Sending};
use crate::{Rank, Time};
use hpvm_wire::bulk::{Frame, FrameKind};
use std::collections::{BTreeMap, VecDeque};

/// All bulk streams of one process. See the crate's text.
pub struct Bulk<M> {
    pub(crate) me: Rank,
    pub(crate) size: u32,
    pub(crate) key: Key,
    pub(crate) settings: Settings,
    pub(crate) peers: BTreeMap<Rank, Peer<M>>,
    conns: Vec<(u32, Option<Connection>)>,
    free: Vec<u32>,
    /// Peers with which something was unfinished at the last look.
    pending: Vec<Rank>,
    /// Connections that are not open yet, oldest first.
    greeting: Vec<ConnId>,
    actions: VecDeque<Action>,
    pub(crate) done: VecDeque<u64>,
    lost: Option<Lost>,
    pub(crate) counters: Counters,
}

impl<M> Bulk<M> {
    /// For process `me` of a job of `size`, whose members know `key`.
    pub fn new(me: Rank, size: u32, key: &[u8; 16], settings: Settings) -> Bulk<M> {
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
            lost: None,
            counters: Counters::default(),
        }
    }

    /// There are `lanes` ways to `peer` (at most 8; 1 unless told otherwise). Where this process
    /// does not make the connections it need not know.
    pub fn set_lanes(&mut self, peer: Rank, lanes: u8, now: Time) {
        let last = lanes.clamp(1, MAX_LANES) - 1;
        self.peer(peer, now).lane(last, now);
    }

    /// Begins to send stream `number`, which no unfinished stream to `dst` has.
    pub fn stream_out(&mut self, dst: Rank, number: u64, from: M, len: u64, now: Time) {
        let early = false;
        self.send(dst, Sending { number, from, len, cut: 0, early }, now);
    }

    /// Whether `stream_early` of `len` bytes is in order now.
    pub fn may_early(&self, dst: Rank, len: u64) -> bool {
        let fits = |peer: &Peer<M>| {
            peer.streams.early_out() + len <= u64::from(self.settings.early_window)
                && peer.lanes_up() > 0
                && !peer.streams.has_more()
        };
        len <= u64::from(self.settings.early) && self.peers.get(&dst).is_some_and(fits)
    }

    /// Begins to send a stream for which the receiver has not asked. `may_early` has said yes.
    pub fn stream_early(&mut self, dst: Rank, number: u64, from: M, len: u64, now: Time) {
        self.send(dst, Sending { number, from, len, cut: 0, early: true }, now);
    }

    fn send(&mut self, dst: Rank, stream: Sending<M>, now: Time) {
        self.peer(dst, now).streams.send(stream);
        self.wake(dst, now);
    }

    /// The receiver has all of stream `number`.
    ///
    /// # Errors
    /// It can't have; its memory is not touched from now on all the same.
    pub fn stream_end(&mut self, dst: Rank, number: u64, now: Time) -> Result<(), Lost> {
        let Some(peer) = self.peers.get_mut(&dst) else { return Ok(()) };
        let all_out = peer.lanes.iter_mut().all(|lane| lane.finish(number));
        if peer.streams.end(number) && all_out {
            return Ok(());
        }
        for conn in self.conns_of(dst) {
            self.drop_conn(conn, now, true);
        }
        let what = format!("it says that it has stream {number:#x}, which was not sent to the end");
        Err(Lost::Nonsense { peer: dst, what })
    }

    /// Says where stream `number` of `src` belongs: its first `room` bytes to `to`, the others
    /// nowhere. `done` returns `cookie` when all `len` have come. Bytes that came too soon go to
    /// `store` at once.
    #[allow(clippy::too_many_arguments, reason = "each says a thing of its own")]
    pub fn stream_in(
        &mut self,
        src: Rank,
        number: u64,
        to: M,
        (room, len): (u64, u64),
        cookie: u64,
        now: Time,
        store: impl FnOnce(&M, &[u8]),
    ) {
        let cut = |data: &[u8]| data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let peer = self.peer(src, now);
        match peer.streams.expect(Receiving { number, to, room, len, got: 0, cookie }) {
            Expected::Nothing => {}
            Expected::Begun(data, have) => {
                if let Some(stream) = peer.streams.landing(number) {
                    store(&stream.to, &data[..have.min(cut(&data))]);
                }
            }
            Expected::Whole(data, stream) => {
                store(&stream.to, &data[..cut(&data)]);
                self.done.push_back(cookie);
            }
            Expected::Wrong(found) => {
                let what = format!("stream {number:#x} of {found} bytes, announced with {len}");
                self.give_up(Lost::Nonsense { peer: src, what });
            }
        }
        self.wake(src, now);
    }

    /// The cookie of a stream that has come as a whole.
    pub fn done(&mut self) -> Option<u64> {
        self.done.pop_front()
    }

    /// Whether `done` has something.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// What is to be done next.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What makes it pointless to go on, once.
    pub fn lost(&mut self) -> Option<Lost> {
        self.lost.take()
    }

    /// Something is unfinished: connections want to be looked at, and `tick` to be called.
    pub fn busy(&self) -> bool {
        !self.pending.is_empty() || !self.greeting.is_empty() || !self.actions.is_empty()
    }

    /// A peer that makes the connections between us is to make one.
    pub fn expects_caller(&self) -> bool {
        let waits = |rank: &Rank| {
            *rank < self.me && self.peers.get(rank).is_some_and(|p| p.lanes_up() < p.lanes.len())
        };
        self.pending.iter().any(waits)
    }

    /// Peers from or to which something is to be streamed.
    pub fn pending(&self) -> &[Rank] {
        &self.pending
    }

    /// The connections on which something may come or go now.
    pub fn active(&self, into: &mut Vec<ConnId>) {
        into.extend_from_slice(&self.greeting);
        for rank in &self.pending {
            let Some(peer) = self.peers.get(rank) else { continue };
            into.extend(peer.lanes.iter().filter_map(|l| l.up()));
        }
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// For the text of a failure: what is unfinished with whom.
    pub fn describe(&self) -> String {
        let line = |(rank, peer): (&Rank, &Peer<M>)| {
            let lanes: Vec<_> = peer.lanes.iter().map(|l| format!("{:?}", l.link)).collect();
            format!("peer {rank}: {}; lanes {}", peer.streams.describe(), lanes.join(", "))
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
        let mut place = 0;
        while place < self.pending.len() {
            let rank = self.pending[place];
            if self.peers.get(&rank).is_some_and(Peer::pending) {
                self.look_after(rank, now);
                place += 1;
            } else {
                self.pending.swap_remove(place);
            }
        }
    }

    /// When `tick` has something to do even if nothing happens before.
    pub fn deadline(&self) -> Option<Time> {
        let greetings = self.greeting.iter().filter_map(|id| self.conn(*id)?.deadline);
        let peers = self.pending.iter().filter_map(|rank| {
            let peer = self.peers.get(rank)?;
            let connects = self.me < *rank;
            let retry = peer.lanes.iter().filter(|l| connects && l.link == Link::Down);
            let ask = peer.lanes.iter().filter(|l| l.asked.is_none() && l.has_doubtful());
            let ask = ask.filter(|l| l.up().is_none() && peer.lanes_up() > 0);
            let ask = ask.map(|l| l.since.saturating_add(self.settings.patience));
            let lost =
                (peer.unreached != 0).then(|| peer.unreached.saturating_add(self.settings.timeout));
            retry.map(|l| l.retry).chain(ask).chain(lost).min()
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
    fn wake(&mut self, rank: Rank, now: Time) {
        if !self.pending.contains(&rank) && self.peers.get(&rank).is_some_and(Peer::pending) {
            self.pending.push(rank);
            self.look_after(rank, now);
        }
    }

    /// Makes connections to a peer, moves chunks from lanes that are down, notices its loss.
    fn look_after(&mut self, rank: Rank, now: Time) {
        if self.me < rank {
            self.connect(rank, now);
            self.check_reach(rank, now);
        }
        self.ask_for_lanes(rank, now);
    }

    fn connect(&mut self, rank: Rank, now: Time) {
        let deadline = now.saturating_add(self.settings.connect);
        let lanes = self.peers.get(&rank).map_or(&[][..], |p| &p.lanes);
        let due = lanes.iter().zip(0u8..).filter(|(l, _)| l.link == Link::Down && l.retry <= now);
        let due: Vec<u8> = due.map(|(_, index)| index).collect();
        for index in due {
            let conn = self.add(Connection::new(Stage::Connecting, Some((rank, index)), deadline));
            self.actions.push_back(Action::Connect { conn, peer: rank, lane: index });
            let lane = self.peer(rank, now).lane(index, now);
            lane.link = Link::Opening(conn);
            lane.epoch += 1;
        }
    }

    /// A connection that the peer's host has taken is a sign of life: the process may compute.
    fn check_reach(&mut self, rank: Rank, now: Time) {
        let Some(peer) = self.peers.get(&rank) else { return };
        let lives = |id| self.conn(id).is_some_and(|c| !matches!(c.stage, Stage::Connecting));
        let alive = peer.lanes.iter().filter_map(|l| l.conn()).any(lives);
        let timeout = self.settings.timeout;
        let Some(peer) = self.peers.get_mut(&rank) else { return };
        if alive {
            peer.unreached = 0;
        } else if peer.unreached == 0 {
            peer.unreached = now.max(1);
        } else if now.saturating_sub(peer.unreached) >= timeout {
            let nanoseconds = now - peer.unreached;
            self.give_up(Lost::Unreachable { peer: rank, nanoseconds });
        }
    }

    /// Asks over a lane that is up what has come over those that are not.
    fn ask_for_lanes(&mut self, rank: Rank, now: Time) {
        let Some(peer) = self.peers.get_mut(&rank) else { return };
        let Some(over) = peer.lanes.iter().find_map(|l| l.up()) else { return };
        for index in 0..peer.lanes.len() {
            let lane = &mut peer.lanes[index];
            let long = lane.since.saturating_add(self.settings.patience) <= now;
            if lane.up().is_some() || lane.asked.is_some() || !lane.has_doubtful() || !long {
                continue;
            }
            lane.asked = Some((over, lane.epoch));
            let (number, offset) = (index as u64, u64::from(lane.epoch));
            let ask = Frame { kind: FrameKind::Ask, flags: 0, len: 0, number, offset };
            if let Some(Stage::Open(open)) = entry(&mut self.conns, over).map(|c| &mut c.stage) {
                open.control.push_back(ask);
            }
        }
    }

    pub(crate) fn give_up(&mut self, why: Lost) {
        self.lost.get_or_insert(why);
    }

    pub(crate) fn peer(&mut self, rank: Rank, now: Time) -> &mut Peer<M> {
        self.peers.entry(rank).or_insert_with(|| Peer::new(now))
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

    fn conns_of(&self, rank: Rank) -> Vec<ConnId> {
        let lanes = self.peers.get(&rank).map_or(&[][..], |p| &p.lanes);
        lanes.iter().filter_map(|l| l.conn()).collect()
    }

    fn add(&mut self, connection: Connection) -> ConnId {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.conns.push((0, None));
                self.conns.len() as u32 - 1
            }
        };
        let (generation, place) = &mut self.conns[index as usize];
        *place = Some(connection);
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
        let Some((generation, place)) = self.conns.get_mut(id.index as usize) else { return };
        if *generation != id.generation {
            return;
        }
        let Some(conn) = place.take() else { return };
        *generation = generation.wrapping_add(1);
        self.free.push(id.index);
        self.greeting.retain(|other| *other != id);
        if close {
            self.actions.push_back(Action::Close { conn: id });
        }
        let Some((peer, lane)) = conn.peer else { return };
        let Some(peer) = self.peers.get_mut(&peer) else { return };
        if let Some(reading) = conn.open().and_then(|open| open.reading) {
            peer.streams.drop_early(reading.part.number);
        }
        for lane in &mut peer.lanes {
            lane.asked = lane.asked.filter(|(over, _)| *over != id);
        }
        let lane = &mut peer.lanes[usize::from(lane)];
        if lane.conn() == Some(id) {
            let was_up = lane.up().is_some();
            lane.fell(was_up, now, &self.settings);
            self.counters.broken += u64::from(was_up);
        }
    }
}

fn entry(conns: &mut [(u32, Option<Connection>)], id: ConnId) -> Option<&mut Connection> {
    let (generation, conn) = conns.get_mut(id.index as usize)?;
    conn.as_mut().filter(|_| *generation == id.generation)
}
