//! What waits for credits or buffers: control packets, sends that could not go out at once, and
//! messages that go in `DATA` packets.
//!
//! Order between a pair of processes is kept: once a send to a process waits, later sends to it
//! wait behind it.

use crate::engine::control::Control;
use crate::engine::process::Process;
use crate::engine::quota::is_off;
use crate::engine::requests::ReqId;
use hpvm_fm::{Rank, Transport};
use std::collections::VecDeque;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Backlog {
    pub(super) control: Control,
    /// Per process with waiting sends, those sends in order. Few at a time, so a list will do.
    sends: Vec<(Rank, VecDeque<ReqId>)>,
    /// Why a send may not simply go out: the length of `sends`, and one more when every send is to be counted
    /// ([`crate::engine::traffic`]).
    attention: usize,
    watched: bool,
    /// Packets of other programming models.
    pub models: super::models::Waiting,
    /// Messages that go in packets.
    pub packets: Vec<InPackets>,
    /// By rank, the last XOFF or XON that it sent; empty until one has come.
    told: Vec<u64>,
    /// Ranks that have sent XOFF and no XON since.
    off: usize,
}

/// A message that goes in `DATA` packets.
pub(crate) struct InPackets {
    pub request: ReqId,
    /// The receiver's request.
    pub receiver: u64,
    /// Packed bytes sent.
    pub position: u64,
}

impl Backlog {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        let models = self.models.is_empty();
        self.sends.is_empty() && self.control.is_empty() && self.packets.is_empty() && models
    }

    /// True when something in it, but for messages that go in packets, is for somebody whom it `concerns`.
    pub fn waits_for(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        self.control.waits_for(&concerns)
            || self.sends.iter().any(|(dst, queue)| !queue.is_empty() && concerns(*dst))
            || self.models.waits_for(&concerns)
    }

    /// True when somebody needs something of it.
    pub fn is_needed(&self) -> bool {
        self.control.is_needed() || !self.sends.is_empty() || !self.packets.is_empty()
    }

    /// True when a send to `dst` can't go out at once: it has to queue, or to be announced.
    #[inline(always)]
    pub fn blocks(&self, dst: Rank) -> bool {
        self.holds(dst) || self.is_off(dst)
    }

    /// True when a send to `dst` is not simply to go out: it must queue, or be counted.
    #[inline(always)]
    pub fn holds(&self, dst: Rank) -> bool {
        self.attention != 0 && (self.watched || self.queues(dst))
    }

    /// True when a send to `dst` must queue behind others.
    pub fn queues(&self, dst: Rank) -> bool {
        self.sends.iter().any(|(d, _)| *d == dst)
    }

    /// True when sends are to be counted and nothing else keeps any of them from going out at once.
    #[inline(always)]
    pub fn only_counts(&self) -> bool {
        self.watched && self.attention == 1 && self.off == 0
    }

    /// From now on every send is to be counted.
    pub fn watch(&mut self) {
        self.watched = true;
        self.note_attention();
    }

    fn note_attention(&mut self) {
        self.attention = self.sends.len() + usize::from(self.watched);
    }

    /// True when all messages to `dst` are announced, because its quota for ours is used up.
    #[inline(always)]
    pub fn is_off(&self, dst: Rank) -> bool {
        self.off != 0 && self.told.get(dst as usize).is_some_and(|word| is_off(*word))
    }

    /// `dst` has sent XOFF or XON.
    pub fn told(&mut self, dst: Rank, word: u64) {
        let index = dst as usize;
        if index >= self.told.len() {
            self.told.resize(index + 1, 0);
        }
        // One that had to wait for a credit may come behind the next.
        let last = self.told[index];
        if word > last {
            self.off = self.off + usize::from(is_off(word)) - usize::from(is_off(last));
            self.told[index] = word;
        }
    }

    pub fn add_send(&mut self, dst: Rank, id: ReqId) {
        match self.sends.iter_mut().find(|(d, _)| *d == dst) {
            Some((_, queue)) => queue.push_back(id),
            None => self.sends.push((dst, VecDeque::from([id]))),
        }
        self.note_attention();
    }

    /// Nobody is there any more to take control packets for these.
    pub fn drop_control_to(&mut self, lost: &[Rank]) {
        self.control.drop_to(lost);
    }

    /// Send `id` to `dst` shall not go out. False: it has, or never waited.
    pub fn withdraw_send(&mut self, dst: Rank, id: ReqId) -> bool {
        let Some((_, queue)) = self.sends.iter_mut().find(|(d, _)| *d == dst) else { return false };
        let found = queue.iter().position(|waiting| *waiting == id);
        found.and_then(|index| queue.remove(index)).is_some()
    }
}

impl<T: Transport> Process<T> {
    /// Tries everything that waits once. True when something went out.
    pub(crate) fn drain_backlog(&mut self) -> bool {
        self.drain_control() | self.drain_sends() | self.drain_packets() | self.drain_models()
    }

    fn drain_sends(&mut self) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.backlog.sends.len() {
            let (_, queue) = &self.backlog.sends[index];
            match queue.front().copied() {
                Some(id) => match self.launch(id) {
                    Ok(()) => {
                        moved = true;
                        self.backlog.sends[index].1.pop_front();
                    }
                    Err(_) => index += 1,
                },
                None => drop(self.backlog.sends.swap_remove(index)),
            }
        }
        self.backlog.note_attention();
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_backlog_holds_every_send_and_queues_none() {
        let mut backlog = Backlog::default();
        assert!(!backlog.holds(1));
        backlog.watch();
        assert!(backlog.only_counts());
        assert!(backlog.holds(1) && backlog.blocks(1) && !backlog.queues(1) && !backlog.is_off(1));
        assert!(backlog.is_empty() && !backlog.is_needed());
    }

    #[test]
    fn the_later_word_of_a_receiver_holds() {
        let mut backlog = Backlog::default();
        assert!(!backlog.blocks(3));
        backlog.told(3, 1);
        assert!(backlog.is_off(3) && !backlog.is_off(2) && !backlog.is_off(4));
        backlog.told(3, 2);
        assert!(!backlog.is_off(3) && backlog.off == 0);
        // XON came first, the XOFF before it later.
        backlog.told(5, 4);
        backlog.told(5, 3);
        assert!(!backlog.is_off(5) && backlog.off == 0);
    }
}
