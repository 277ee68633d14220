//! What waits to be sent, for each rank: requests in order, and answers in order.
//!
//! Apart from one another, because a request may have to wait until earlier ones are answered, and an answer
//! must not.

use crate::Rank;
use crate::error::Result;
use crate::messages::answer::Answer;
use crate::messages::request::{Request, Sent};
use crate::region::Regions;
use crate::under_way::{OpId, UnderWay};
use hpvm_fm::{Fm, Transport};
use std::collections::{BTreeMap, VecDeque};

/// One rank with which this one has to do in packets.
#[derive(Default)]
pub(crate) struct Peer {
    pub requests: VecDeque<Request>,
    pub answers: VecDeque<Answer>,
    /// Packets of ours that it has not answered.
    pub unanswered: u32,
    /// Something has been sent that changes its memory, since the last flush.
    pub unflushed: bool,
    /// The put since the last flush that has asked for an answer: who flushes when nothing else has been sent waits for that.
    pub asked: Option<OpId>,
    /// What went wrong first with what it has sent since its last flush, to be told with the answer.
    pub fault: Option<super::packets::Fault>,
    /// Its process has died: nothing is sent to it, and nothing is expected of it any more.
    pub lost: bool,
    /// It is in the list of those for whom something waits.
    listed: bool,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Queues {
    pub peers: BTreeMap<Rank, Peer>,
    /// Those for whom something waits.
    busy: Vec<Rank>,
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
        *peer = Peer { lost: true, listed: peer.listed, ..Peer::default() };
        true
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

    /// What a flush of `rank` has to wait for, without a packet of its own. `None`: it needs one.
    pub fn flushed_by(&mut self, rank: Rank, under_way: &mut UnderWay) -> Result<Option<OpId>> {
        let Some(peer) = self.peers.get_mut(&rank) else { return Ok(None) };
        let Some(asked) = peer.asked.take() else { return Ok(None) };
        // Nothing behind it, and of what is unanswered it is all.
        let last = !peer.unflushed
            && peer.requests.is_empty()
            && peer.unanswered == u32::from(!under_way.is_done(asked));
        if last {
            return Ok(Some(asked));
        }
        under_way.forget(asked).map(|()| None)
    }

    /// Sends a request unless others wait before it. True when all of it has left.
    pub fn start<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        request: &mut Request,
        under_way: &mut UnderWay,
    ) -> Result<bool> {
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
            peer.listed = !peer.answers.is_empty() || !peer.requests.is_empty();
            peer.listed
        });
        moved
    }
}

impl Peer {
    fn owes(&self) -> bool {
        self.unflushed || self.unanswered != 0 || !self.requests.is_empty()
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
