//! What waits for credits or buffers: control packets, sends that could not go out at once, and messages
//! that go in `DATA` packets.
//!
//! The order of the sends to a process is kept: once a send waits, later sends to the same process wait
//! behind it.

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
    /// The waiting sends in order, for each process that has some. Few processes at a time, so a list will do.
    sends: Vec<(Rank, VecDeque<ReqId>)>,
    /// How many reasons there are for a send to leave the fast path: the length of `sends`, and one more when
    /// every send is counted ([`crate::engine::traffic`]). The fast path tests this one word for 0.
    slow_path_reasons: usize,
    /// Every send is counted.
    counts_sends: bool,
    /// Packets of other programming models.
    pub models: super::models::Waiting,
    /// Messages that go in packets.
    pub packets: Vec<InPackets>,
    /// The last XOFF or XON of each rank; empty until one has come.
    quota_words: Vec<u64>,
    /// How many ranks have sent XOFF and no XON since.
    xoff_ranks: usize,
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

    /// True when a control packet or a send to a rank whom it `concerns` waits. Messages in `DATA` packets do
    /// not count.
    pub fn waits_for(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        self.control.waits_for(&concerns)
            || self.sends.iter().any(|(dst, queue)| !queue.is_empty() && concerns(*dst))
            || self.models.waits_for(&concerns)
    }

    /// True when something waits that its receiver can't do without.
    pub fn is_needed(&self) -> bool {
        self.control.is_needed() || !self.sends.is_empty() || !self.packets.is_empty()
    }

    /// True when a message to `dst` may not go inline at once: it has to be counted, to queue, or to be
    /// announced.
    #[inline(always)]
    pub fn bars_inline(&self, dst: Rank) -> bool {
        self.needs_slow_path(dst) || self.has_sent_xoff(dst)
    }

    /// True when a send to `dst` has to leave the fast path: it must queue, or be counted.
    #[inline(always)]
    pub fn needs_slow_path(&self, dst: Rank) -> bool {
        self.slow_path_reasons != 0 && (self.counts_sends || self.has_queued(dst))
    }

    /// True when sends to `dst` wait, so that another one must queue behind them.
    pub fn has_queued(&self, dst: Rank) -> bool {
        self.sends.iter().any(|(d, _)| *d == dst)
    }

    /// True when sends are counted and nothing else keeps a send to any process from going out at once.
    #[inline(always)]
    pub fn only_counts(&self) -> bool {
        self.counts_sends && self.slow_path_reasons == 1 && self.xoff_ranks == 0
    }

    /// From now on every send is counted.
    pub fn count_every_send(&mut self) {
        self.counts_sends = true;
        self.update_slow_path();
    }

    fn update_slow_path(&mut self) {
        self.slow_path_reasons = self.sends.len() + usize::from(self.counts_sends);
    }

    /// True when `dst` has sent XOFF: its quota for our unexpected messages is used up, and every message to
    /// it must be announced.
    #[inline(always)]
    pub fn has_sent_xoff(&self, dst: Rank) -> bool {
        self.xoff_ranks != 0 && self.quota_words.get(dst as usize).is_some_and(|word| is_off(*word))
    }

    /// `dst` has sent XOFF or XON. Words are numbered; an odd one is an XOFF.
    pub fn set_quota_word(&mut self, dst: Rank, word: u64) {
        let index = dst as usize;
        if index >= self.quota_words.len() {
            self.quota_words.resize(index + 1, 0);
        }
        // A word that had to wait for a credit may come after the next one.
        let last = self.quota_words[index];
        if word > last {
            self.xoff_ranks =
                self.xoff_ranks + usize::from(is_off(word)) - usize::from(is_off(last));
            self.quota_words[index] = word;
        }
    }

    pub fn add_send(&mut self, dst: Rank, id: ReqId) {
        match self.sends.iter_mut().find(|(d, _)| *d == dst) {
            Some((_, queue)) => queue.push_back(id),
            None => self.sends.push((dst, VecDeque::from([id]))),
        }
        self.update_slow_path();
    }

    /// Drops the control packets for these ranks, which are gone.
    pub fn drop_control_to(&mut self, lost: &[Rank]) {
        self.control.drop_to(lost);
    }

    /// Takes send `id` to `dst` out of the queue. False: it has gone out, or never waited.
    pub fn withdraw_send(&mut self, dst: Rank, id: ReqId) -> bool {
        let Some((_, queue)) = self.sends.iter_mut().find(|(d, _)| *d == dst) else { return false };
        let found = queue.iter().position(|waiting| *waiting == id);
        found.and_then(|index| queue.remove(index)).is_some()
    }
}

impl<T: Transport> Process<T> {
    /// Tries once to send each thing that waits. True when something went out.
    pub(crate) fn drain_backlog(&mut self) -> bool {
        self.drain_control() | self.drain_sends() | self.drain_packets() | self.drain_models()
    }

    fn drain_sends(&mut self) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.backlog.sends.len() {
            let (_, queue) = &self.backlog.sends[index];
            match queue.front().copied() {
                Some(id) => match self.start_queued_send(id) {
                    Ok(()) => {
                        moved = true;
                        self.backlog.sends[index].1.pop_front();
                    }
                    Err(_) => index += 1,
                },
                None => drop(self.backlog.sends.swap_remove(index)),
            }
        }
        self.backlog.update_slow_path();
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_backlog_holds_every_send_and_queues_none() {
        let mut backlog = Backlog::default();
        assert!(!backlog.needs_slow_path(1));
        backlog.count_every_send();
        assert!(backlog.only_counts());
        assert!(
            backlog.needs_slow_path(1)
                && backlog.bars_inline(1)
                && !backlog.has_queued(1)
                && !backlog.has_sent_xoff(1)
        );
        assert!(backlog.is_empty() && !backlog.is_needed());
    }

    #[test]
    fn the_later_word_of_a_receiver_holds() {
        let mut backlog = Backlog::default();
        assert!(!backlog.bars_inline(3));
        backlog.set_quota_word(3, 1);
        assert!(backlog.has_sent_xoff(3) && !backlog.has_sent_xoff(2) && !backlog.has_sent_xoff(4));
        backlog.set_quota_word(3, 2);
        assert!(!backlog.has_sent_xoff(3) && backlog.xoff_ranks == 0);
        // XON came first, the XOFF before it later.
        backlog.set_quota_word(5, 4);
        backlog.set_quota_word(5, 3);
        assert!(!backlog.has_sent_xoff(5) && backlog.xoff_ranks == 0);
    }
}
