//! Streams as the caller sees them: their beginning and end, and their order among its packets.

use crate::action::{ConnId, Done, Input, Nonsense};
use crate::bulk::{Bulk, entry};
use crate::order::FENCE;
use crate::peer::Peer;
use crate::rail::Rail;
use crate::transfer::{Expected, PATIENT, Receiving, Sending};
use crate::{Rank, Time};
use hpvm_wire::Head;
use hpvm_wire::bulk::Opening;

impl<M> Bulk<M> {
    /// Begins to send stream `number`, which no unfinished stream to `dst` has, and for which the
    /// receiver has asked in a packet.
    pub fn stream_out(&mut self, dst: Rank, number: u64, from: M, len: u64, now: Time) {
        let patience = self.patience(len);
        let stream = Sending {
            number,
            from,
            len,
            opening: None,
            opened: true,
            known: true,
            unasked: false,
            cut: 0,
            may: len,
            come: 0,
            patience,
            begun: now,
        };
        self.peer(dst, now).streams.send(stream);
        self.wake(dst, now);
    }

    /// Whether `stream_open` is in order: there is a connection.
    pub fn may_open(&self, dst: Rank) -> bool {
        self.peers.get(&dst).is_some_and(|peer| peer.rails_up() > 0)
    }

    /// Streams from or to `rank` are likely: there had better be a connection. False: `rank` is the
    /// one to make it.
    pub fn meet(&mut self, rank: Rank, now: Time) -> bool {
        let ours = self.me < rank;
        if ours {
            self.peer(rank, now).met = true;
            self.wake(rank, now);
        }
        ours
    }

    /// Begins to send stream `number`, of which the receiver knows nothing yet: `head` is delivered
    /// there as a packet's, behind the `packets` packets that went to `dst` so far.
    /// `unasked`: as many bytes as are permitted may go before the receiver asks.
    #[allow(clippy::too_many_arguments, reason = "each says a thing of its own")]
    pub fn stream_open(
        &mut self,
        dst: Rank,
        (number, head): (u64, Head),
        (from, len): (M, u64),
        unasked: bool,
        packets: u32,
        now: Time,
    ) {
        let patience = self.patience(len);
        let streams = &mut self.peer(dst, now).streams;
        let fenced = streams.order.fence().is_none();
        let opening = Some(Opening { total: len, order: streams.order.begin(), packets, head });
        streams.send(Sending {
            number,
            from,
            len,
            opening,
            opened: false,
            known: false,
            unasked,
            cut: 0,
            may: 0,
            come: 0,
            patience,
            begun: now,
        });
        self.unfenced += u32::from(fenced);
        self.wake(dst, now);
    }

    fn patience(&self, len: u64) -> Time {
        match len <= u64::from(self.settings.early) {
            true => self.settings.restless,
            false => PATIENT,
        }
    }

    /// For a process that has nothing to do at the moment: a short stream that is the only one to its
    /// peer whose memory somebody may wait for is copied as soon as all of it is with rails. `copy` as for
    /// `copy_late`.
    pub fn copy_brief(&mut self, mut copy: impl FnMut(&M, u64) -> M) {
        let most = u64::from(self.settings.brief);
        for rank in &self.pending {
            let streams = self.peers.get_mut(rank).map(|peer| &mut peer.streams);
            if let Some(stream) = streams.and_then(|streams| streams.take_brief(most)) {
                stream.from = copy(&stream.from, stream.len);
                self.done.push_back(Done::Gone(stream.number));
            }
        }
    }

    /// Streams that have not come in time are copied, so that nobody waits for their memory:
    /// `copy` returns memory with the first bytes of its argument, as many as it is told.
    pub fn copy_late(&mut self, now: Time, mut copy: impl FnMut(&M, u64) -> M) {
        for rank in &self.pending {
            let Some(peer) = self.peers.get_mut(rank) else { continue };
            while let Some(stream) = peer.streams.take_impatient(now) {
                stream.from = copy(&stream.from, stream.len);
                self.done.push_back(Done::Gone(stream.number));
            }
        }
    }

    /// Says where stream `number` of `src` belongs: its first `room` bytes to `to`, the others
    /// nowhere. `done` returns `cookie` when all `len` have come. Bytes that came too soon go to
    /// `store` at once, with their offset.
    #[allow(clippy::too_many_arguments, reason = "each says a thing of its own")]
    pub fn stream_in(
        &mut self,
        src: Rank,
        number: u64,
        to: M,
        (room, len): (u64, u64),
        cookie: u64,
        now: Time,
        mut store: impl FnMut(&M, u64, &[u8]),
    ) {
        let cut = |data: &[u8]| data.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let peer = self.peer(src, now);
        let asked = false;
        match peer.streams.expect(Receiving { number, to, room, len, got: 0, cookie, asked }) {
            Expected::Nothing => {}
            Expected::Begun(data, have) => {
                if let Some(stream) = peer.streams.landing(number) {
                    store(&stream.to, 0, &data[..have.min(cut(&data))]);
                }
            }
            Expected::Whole(data, stream) => {
                store(&stream.to, 0, &data[..cut(&data)]);
                self.done.push_back(Done::Came(cookie));
            }
            Expected::Wrong(found) => {
                let what = format!("stream {number:#x} of {found} bytes, announced with {len}");
                self.give_up(Nonsense { peer: src, what });
            }
        }
        let (most, spare) = (u64::from(self.settings.most_window), self.spare_window);
        let peer = self.peer(src, now);
        let wider = peer.streams.widen(most, spare);
        if peer.streams.owes_limit()
            && let Some(rail) = peer.rails.iter_mut().find(|rail| rail.up().is_some())
        {
            rail.tell_now = true;
        }
        self.spare_window -= wider;
        self.wake(src, now);
        self.store_ready(src, now, store);
    }

    /// Stores what has come of streams from `src` whose destination is known, behind a header.
    fn store_ready(&mut self, src: Rank, now: Time, mut store: impl FnMut(&M, u64, &[u8])) {
        for index in (0..self.ready.len()).rev() {
            let id = self.ready[index];
            if self.conn(id).and_then(|conn| conn.peer).is_none_or(|(rank, _)| rank != src) {
                continue;
            }
            while let Input::Have { to, offset, bytes } = self.input(id) {
                store(to, offset, bytes);
                let n = bytes.len();
                self.read(id, n, now);
            }
        }
    }

    /// What has ended.
    pub fn done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// Whether `done` has something.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// What the next packet to `dst` has to tell in its last [`FENCE`] bytes, little endian, beside
    /// the flag [`Head::TRANSPORT`], if it has to tell something; then `fenced` is due.
    #[inline(always)]
    pub fn fence(&self, dst: Rank) -> Option<u32> {
        if self.unfenced == 0 { None } else { self.fence_of(dst) }
    }

    #[cold]
    fn fence_of(&self, dst: Rank) -> Option<u32> {
        self.peers.get(&dst)?.streams.order.fence()
    }

    /// A packet with what `fence` said is on its way.
    pub fn fenced(&mut self, dst: Rank) {
        if let Some(peer) = self.peers.get_mut(&dst) {
            peer.streams.order.fenced();
            self.unfenced -= 1;
        }
    }

    /// Whether a packet to `dst`, after `packets` others, has to wait: the receiver would keep too many
    /// for an opening that has not come, or that nobody knows to have.
    #[inline(always)]
    pub fn is_ahead(&mut self, dst: Rank, packets: impl FnOnce() -> u32) -> bool {
        !self.pending.is_empty() && self.is_ahead_of(dst, packets())
    }

    #[inline(never)]
    fn is_ahead_of(&mut self, dst: Rank, packets: u32) -> bool {
        let most = self.settings.most_behind.max(1);
        self.peers.get_mut(&dst).is_some_and(|peer| peer.streams.is_ahead(packets, most))
    }

    /// Packets of `src` that wait for an opening.
    pub fn held(&self, src: Rank) -> usize {
        self.peers.get(&src).map_or(0, |peer| peer.streams.order.held())
    }

    /// Whether packets or openings wait for others: then every packet goes by way of `packet`, as
    /// every packet with the flag [`Head::TRANSPORT`] does.
    #[inline(always)]
    pub fn holds(&self) -> bool {
        !self.holding.is_empty()
    }

    /// Delivers a packet to `sink`, or keeps it until `release`. One that has a fence and no room for
    /// it makes it pointless to go on.
    pub fn packet(
        &mut self,
        src: Rank,
        head: Head,
        data: &[u8],
        now: Time,
        sink: &mut impl FnMut(Rank, Head, &[u8]),
    ) {
        let (head, data, fence) = match head.flags & Head::TRANSPORT {
            0 => (head, data, None),
            _ => {
                let Some((data, fence)) = data.split_last_chunk::<FENCE>() else {
                    let what = format!("a packet of {} bytes with a fence", data.len());
                    return self.give_up(Nonsense { peer: src, what });
                };
                let head = Head { flags: head.flags & !Head::TRANSPORT, ..head };
                (head, data, Some(u32::from_le_bytes(*fence)))
            }
        };
        if self.peer(src, now).streams.order.passes(head, data, fence) {
            sink(src, head, data);
        } else {
            self.hold(src);
        }
    }

    pub(crate) fn hold(&mut self, rank: Rank) {
        if !self.holding.contains(&rank) {
            self.holding.push(rank);
        }
    }

    /// Delivers what was held back and may go. `packets` says how many packets of a peer have come
    /// in all. Returns how many went.
    ///
    /// An opening is delivered as a packet whose payload is the length of its stream and its number.
    pub fn release(
        &mut self,
        packets: impl Fn(Rank) -> u32,
        sink: &mut impl FnMut(Rank, Head, &[u8]),
    ) -> usize {
        let mut released = 0;
        let peers = &mut self.peers;
        self.holding.retain(|rank| {
            let Some(peer) = peers.get_mut(rank) else { return false };
            let held = peer.streams.order.held();
            released += peer.streams.order.release(*rank, packets(*rank), sink);
            if peer.streams.order.held() < held {
                // The sender may wait for that.
                peer.rails.iter_mut().for_each(Rail::answered);
            }
            peer.streams.order.holds()
        });
        released
    }

    /// Peers are told what has come: all of them because nobody will look soon, or those of whom no
    /// chunk is just coming, because nothing has come for a while.
    pub fn tell(&mut self, all: bool, now: Time) {
        let quiet = now.saturating_sub(self.last_read);
        let (conns, peers, settings) = self.writing_parts();
        for rail in peers.values_mut().flat_map(|peer| &mut peer.rails) {
            let owes = if all { rail.owes() } else { rail.is_awaited() };
            let Some(id) = rail.up().filter(|_| owes) else { continue };
            let open = entry(conns, id).and_then(|conn| conn.open());
            let is_idle = open.is_some_and(|open| open.reading.is_none());
            rail.tell_now |= all || (is_idle && quiet >= rail.silence(settings));
        }
    }

    /// Whether nothing has come for so long that `tell` may have something to do.
    #[inline]
    pub fn is_silent(&self, now: Time) -> bool {
        now.saturating_sub(self.last_read) >= self.settings.silence
    }

    /// A packet has gone to `dst`, which may wait for a word about its streams as well.
    pub fn answered(&mut self, dst: Rank) {
        let rails = self.peers.get_mut(&dst).map(|peer| &mut peer.rails);
        rails.into_iter().flatten().for_each(Rail::answered);
    }

    /// Whether the other end of a connection waits for a word about what has come.
    pub fn must_tell(&self, id: ConnId) -> bool {
        let peer = self.conn(id).and_then(|conn| conn.peer);
        let rail = |(rank, rail): (Rank, u8)| {
            let peer: &Peer<M> = self.peers.get(&rank)?;
            peer.rails.get(usize::from(rail))
        };
        peer.and_then(rail).is_some_and(|rail: &Rail| rail.tell_now)
    }

    /// Whether the other end of a connection has said something after which there may be more to
    /// write, since the last call.
    pub fn take_stirred(&mut self, id: ConnId) -> bool {
        let Some((rank, _)) = self.conn(id).and_then(|conn| conn.peer) else { return false };
        self.peers.get_mut(&rank).is_some_and(|peer| peer.streams.take_stirred())
    }

    /// Whether the sender of a stream waits to be told to go on.
    pub fn must_go(&self, src: Rank) -> bool {
        self.peers.get(&src).is_some_and(|peer| !peer.streams.go.is_empty())
    }

    /// Whether an opening has come since the last call: if its message is expected, its destination will
    /// be known after the next `release`, and its bytes had better wait for that.
    pub fn take_fresh(&mut self) -> bool {
        core::mem::take(&mut self.fresh)
    }
}
