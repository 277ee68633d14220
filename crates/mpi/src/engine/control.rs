//! Control packets: answers and notices to a peer, without a message's data. A control packet that finds no
//! credit waits here. Control packets may overtake each other: each names the request that it belongs to.

use crate::engine::process::Process;
use crate::pt2pt::protocol::{CANCEL, CTS, SPLIT_DONE, XOFF, XON};
use hpvm_fm::{Head, Rank, Transport};
use std::collections::VecDeque;

/// Control packets that wait for credits, each with the word that it carries.
#[derive(Default)]
pub(crate) struct Control {
    waiting: VecDeque<(Rank, Head, u64)>,
}

impl Control {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True when one of them has to reach its receiver before this process ends. An XOFF or XON need not.
    pub fn is_needed(&self) -> bool {
        self.waiting
            .iter()
            .any(|(_, head, _)| !matches!(head.handler, XOFF | XON | super::models::QUOTA))
    }

    /// True when one of them is for somebody whom it `concerns`.
    pub fn waits_for(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        self.waiting.iter().any(|(dst, _, _)| concerns(*dst))
    }

    /// Drops the packets for processes that are gone.
    pub fn drop_to(&mut self, gone: &[Rank]) {
        self.waiting.retain(|(dst, _, _)| !gone.contains(dst));
    }
}

impl<T: Transport> Process<T> {
    /// Sends a control packet, now or as soon as there is a credit. `word` is the payload if the packet is a
    /// CTS, a SPLIT_DONE or a CANCEL; others have none.
    pub(crate) fn send_control(&mut self, dst: Rank, head: Head, word: u64) {
        if !self.try_control(dst, head, word) {
            self.backlog.control.waiting.push_back((dst, head, word));
        }
    }

    fn try_control(&mut self, dst: Rank, head: Head, word: u64) -> bool {
        let len = if matches!(head.handler, CTS | SPLIT_DONE | CANCEL) { 8 } else { 0 };
        let bytes = word.to_le_bytes();
        self.fm.send(dst, head, len, |out| out.copy_from_slice(&bytes[..len])).is_ok()
    }

    /// Tries once to send each packet that waits. True when one went out.
    pub(super) fn drain_control(&mut self) -> bool {
        let mut moved = false;
        for _ in 0..self.backlog.control.waiting.len() {
            let Some((dst, head, word)) = self.backlog.control.waiting.pop_front() else { break };
            match self.try_control(dst, head, word) {
                true => moved = true,
                false => self.backlog.control.waiting.push_back((dst, head, word)),
            }
        }
        moved
    }
}
