//! What waits to be sent to each rank: requests in order, and answers in order. They are kept apart, because a request may have
//! to wait until earlier requests are answered, and an answer must not.

use crate::Rank;
use crate::error::Result;
use crate::messages::answer::Answer;
use crate::messages::batch::{Batch, Completion, GATHERED_BYTES_MAX, Of};
use crate::messages::request::{Body, Request, Sender, Sent};
use crate::region::Regions;
use crate::under_way::{OpId, UnderWay};
use hpvm_fm::{Fm, Transport};
use std::collections::{BTreeMap, VecDeque};

/// One rank with which this one has to do in packets.
#[derive(Default)]
pub(crate) struct Peer {
    pub requests: VecDeque<Request>,
    /// Behind all that has been sent; empty while requests wait.
    batch: Batch,
    /// A packet has been sent since the last one of ours came from there.
    pub in_a_row: bool,
    pub answers: VecDeque<Answer>,
    /// Packets of ours that it has not answered, and those that it has: answers come in the order of what they answer. Wraps.
    pub unanswered: u32,
    answered: u32,
    /// Something has been sent since the last flush of which no answer tells whether it has been done.
    pub unflushed: bool,
    /// A put or an update since the last flush has asked for an answer.
    pub has_asked: bool,
    /// The last packet was one that may wait for the next.
    pub holds: bool,
    /// The last get is answered when so many packets have been.
    last_get: u32,
    /// Flushes that wait for the answers to earlier packets, each until so many have been answered.
    flushes: VecDeque<(u32, OpId)>,
    /// What went wrong first with what it has sent since its last flush, to be told with the answer.
    pub fault: Option<super::packets::Fault>,
    /// Its process has died: nothing is sent to it, and nothing is expected of it any more.
    pub lost: bool,
    /// It is in the list of those for whom something waits.
    listed: bool,
    /// It is in the list of those for whom something has gathered.
    gathers: bool,
}

/// How what has gathered leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    Alone,
    /// It asks whether all has been done.
    WithFlush,
    /// Together with the packet that is sent next.
    WithNext,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Queues {
    pub peers: BTreeMap<Rank, Peer>,
    /// Those for whom something waits.
    busy: Vec<Rank>,
    /// Those for whom something has gathered, and has not left by `send_batches`.
    gathering: Vec<Rank>,
}

impl Queues {
    pub fn peer(&mut self, rank: Rank) -> &mut Peer {
        self.peers.entry(rank).or_default()
    }

    /// Whether something waits to be sent.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Whether something may have gathered that has not left.
    #[inline(always)]
    pub fn gathers(&self) -> bool {
        !self.gathering.is_empty()
    }

    /// Those for whom something waits.
    pub fn waiting(&self) -> &[Rank] {
        &self.busy
    }

    /// Rank `rank` has died. False: that was known.
    pub fn lose(&mut self, rank: Rank) -> bool {
        let peer = self.peer(rank);
        if peer.lost {
            return false;
        }
        let (listed, gathers) = (peer.listed, peer.gathers);
        *peer = Peer { lost: true, listed, gathers, ..Peer::default() };
        true
    }

    /// A packet of `rank` has come. False: it was on its way when its sender died.
    pub fn heard(&mut self, rank: Rank) -> bool {
        let Some(peer) = self.peers.get_mut(&rank) else { return true };
        peer.in_a_row = false;
        !peer.lost
    }

    /// Whether `rank` is known to have died.
    pub fn is_lost(&self, rank: Rank) -> bool {
        !self.peers.is_empty() && self.peers.get(&rank).is_some_and(|peer| peer.lost)
    }

    /// Something waits for `rank` now.
    pub fn list(&mut self, rank: Rank) {
        let peer = self.peers.entry(rank).or_default();
        if !peer.listed {
            peer.listed = true;
            self.busy.push(rank);
        }
    }

    /// Whether earlier requests to `rank` may still have something to do there.
    #[inline]
    pub fn owes(&self, rank: Rank) -> bool {
        !self.peers.is_empty() && self.peers.get(&rank).is_some_and(Peer::owes)
    }

    /// A flush of `rank` that sends nothing: all that has been sent is answered anyhow, and done when it is. `None`: it needs a
    /// packet, or there is nothing to wait for.
    pub fn flush_by_answers(&mut self, rank: Rank, under_way: &mut UnderWay) -> Option<OpId> {
        let peer = self.peers.get_mut(&rank)?;
        peer.has_asked = false;
        if peer.unflushed || peer.waits() || peer.unanswered == 0 {
            return None;
        }
        let id = under_way.insert(rank);
        under_way.packet_sent(id, core::iter::empty());
        under_way.sent(id);
        peer.flushes.push_back((peer.answered.wrapping_add(peer.unanswered), id));
        Some(id)
    }

    /// `rank` has answered a packet, the first of those that were unanswered.
    pub fn answered(&mut self, rank: Rank, under_way: &mut UnderWay) {
        let peer = self.peer(rank);
        peer.unanswered = peer.unanswered.saturating_sub(1);
        peer.answered = peer.answered.wrapping_add(1);
        let may_leave = peer.unanswered == 0 && !peer.batch.is_empty();
        while let Some((last, id)) = peer.flushes.front().copied()
            && last == peer.answered
        {
            peer.flushes.pop_front();
            // False where the peer has named it, although it was asked for nothing: it is done already.
            under_way.answer(id, rank, &[], true);
        }
        if may_leave {
            self.list(rank);
        }
    }

    /// Lets a small put or update gather with those before it. False: it has to travel by itself.
    ///
    /// # Safety
    /// `data` is readable for `len` bytes.
    pub unsafe fn gather<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        under_way: &mut UnderWay,
        ((of, completion), offset): ((Of, Completion), u64),
        (data, len): (*const u8, usize),
    ) -> bool {
        let packet = fm.limits().packet;
        let peer = match completion {
            Completion::Flush => self.peers.get_mut(&dst).filter(|peer| peer.unanswered != 0),
            Completion::Notice => Some(self.peers.entry(dst).or_default()),
        };
        let Some(peer) = peer else { return false };
        if len > GATHERED_BYTES_MAX || !peer.requests.is_empty() {
            return false;
        }
        if !peer.batch.takes(of, len, packet) {
            self.send_batch(fm, dst, under_way, Leaves::Alone);
        }
        let peer = self.peer(dst);
        let gathers = peer.requests.is_empty() && peer.batch.takes(of, len, packet);
        if gathers {
            // SAFETY: the caller's promise.
            unsafe { peer.batch.add((of, completion), offset, data, len) };
            if !peer.gathers {
                peer.gathers = true;
                self.gathering.push(dst);
            }
        }
        gathers
    }

    /// Sends what has gathered for `dst`, or lets it wait as a request.
    pub fn send_batch<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        under_way: &mut UnderWay,
        leaves: Leaves,
    ) {
        let Some(peer) = self.peers.get_mut(&dst) else { return };
        if !peer.send_batch(fm, dst, under_way, leaves) {
            self.list(dst);
        }
    }

    /// Sends what has gathered for `dst` so that it leaves together with the notice that the caller is about to send. True: behind that
    /// notice nothing is left to wait for, because all else has been answered.
    pub fn send_before_notice<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        under_way: &mut UnderWay,
    ) -> bool {
        let Some(peer) = self.peers.get_mut(&dst) else { return true };
        let by_notice = peer.batch.is_empty() || peer.batch.completion() == Completion::Notice;
        if !by_notice || peer.unflushed || peer.unanswered != 0 || !peer.requests.is_empty() {
            return false;
        }
        self.send_batch(fm, dst, under_way, Leaves::WithNext);
        let peer = self.peer(dst);
        peer.holds = false;
        !peer.waits()
    }

    /// Sends all that has gathered.
    #[cold]
    pub fn send_batches<T: Transport>(&mut self, fm: &mut Fm<T>, under_way: &mut UnderWay) {
        while let Some(dst) = self.gathering.pop() {
            self.peer(dst).gathers = false;
            self.send_batch(fm, dst, under_way, Leaves::Alone);
        }
    }

    /// Whether all that has been asked of `rank` takes effect there before what is sent to it from now on arrives: it has left, and
    /// no get is among it, which reads when its answer leaves.
    pub fn precedes(&self, rank: Rank) -> bool {
        self.peers.get(&rank).is_none_or(|peer| !peer.waits() && !peer.gets())
    }

    /// Sends a request unless others wait before it. True when all of it has left.
    pub fn start<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        request: &mut Request,
        under_way: &mut UnderWay,
    ) -> Result<bool> {
        // What has gathered comes first.
        self.send_batch(fm, dst, under_way, Leaves::Alone);
        let peer = self.peer(dst);
        Ok(peer.requests.is_empty() && request.send(fm, dst, peer, under_way)? == Sent::All)
    }

    /// Lets a request wait behind others.
    pub fn wait(&mut self, dst: Rank, request: Request) {
        self.peer(dst).requests.push_back(request);
        self.list(dst);
    }

    /// Sends what can be sent now. True when something has left.
    pub fn drain<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        regions: &Regions,
        under_way: &mut UnderWay,
    ) -> bool {
        let mut moved = false;
        let peers = &mut self.peers;
        self.busy.retain(|rank| {
            let Some(peer) = peers.get_mut(rank) else { return false };
            moved |= peer.send_answers(fm, *rank, regions);
            moved |= peer.send_requests(fm, *rank, under_way);
            if peer.unanswered == 0 && peer.requests.is_empty() && !peer.batch.is_empty() {
                moved |= peer.send_batch(fm, *rank, under_way, Leaves::Alone);
            }
            peer.listed = !peer.answers.is_empty() || !peer.requests.is_empty();
            peer.listed
        });
        moved
    }
}

impl Peer {
    /// A get has been sent, and is the last of those that are unanswered.
    pub fn note_get(&mut self) {
        self.last_get = self.answered.wrapping_add(self.unanswered);
    }

    fn gets(&self) -> bool {
        self.last_get.wrapping_sub(self.answered) as i32 > 0
    }

    fn owes(&self) -> bool {
        self.unflushed || self.unanswered != 0 || self.waits()
    }

    /// Something has been asked of it that has not left.
    fn waits(&self) -> bool {
        !self.requests.is_empty() || !self.batch.is_empty()
    }

    /// Sends what has gathered. False: it waits as a request now.
    fn send_batch<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        under_way: &mut UnderWay,
        leaves: Leaves,
    ) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        let mut batch = core::mem::take(&mut self.batch);
        let mut sender = Sender { fm, dst, peer: self, under_way };
        let sent = sender.batch(&mut batch, leaves) == Sent::All;
        match sent {
            // Its memory is used again.
            true => self.batch = batch,
            false => self.requests.push_back(Request { id: None, body: Body::Batch(batch) }),
        }
        sent
    }

    fn send_answers<T: Transport>(&mut self, fm: &mut Fm<T>, dst: Rank, regions: &Regions) -> bool {
        let mut moved = false;
        while let Some(answer) = self.answers.front_mut() {
            let (some, all) = answer.send(fm, dst, regions);
            moved |= some;
            if !all {
                break;
            }
            self.answers.pop_front();
        }
        moved
    }

    fn send_requests<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        under_way: &mut UnderWay,
    ) -> bool {
        let mut moved = false;
        while let Some(mut request) = self.requests.pop_front() {
            match request.send(fm, dst, self, under_way) {
                Ok(Sent::Stalled) => {
                    self.requests.push_front(request);
                    break;
                }
                Ok(Sent::All) => {}
                Err(error) => {
                    if let Some(id) = request.id {
                        under_way.fail(id, error);
                    }
                }
            }
            moved = true;
            if let Some(id) = request.id {
                under_way.sent(id);
            }
        }
        moved
    }
}
