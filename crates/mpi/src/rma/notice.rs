//! Notices: what ranks of a window tell each other beside the operations. A notice is a packet without payload that names the
//! window by its context id. Notices may overtake each other: each is counted, or answers another one.

use crate::comm::CONTEXTS;
use crate::engine::inbox::Inbox;
use crate::engine::process::{MAX_COMMS, Process};
use crate::pt2pt::protocol::WINDOW;
use hpvm_fm::{Head, Rank, Transport};

/// What a rank is told. The numbers are those in the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Notice {
    /// `MPI_Win_post`: the sender's memory may be accessed.
    Post = 0,
    /// `MPI_Win_complete`: the sender's accesses are complete.
    Complete = 1,
    /// The sender wants the lock of this rank, and can't queue for it itself.
    LockShared = 2,
    LockExclusive = 3,
    /// It has the lock that it asked for.
    Granted = 4,
    /// The sender gives the lock back.
    UnlockShared = 5,
    UnlockExclusive = 6,
    /// A lock that this rank waits for has changed.
    Wake = 7,
}

impl Notice {
    const ALL: [Notice; 8] = [
        Notice::Post,
        Notice::Complete,
        Notice::LockShared,
        Notice::LockExclusive,
        Notice::Granted,
        Notice::UnlockShared,
        Notice::UnlockExclusive,
        Notice::Wake,
    ];

    pub fn lock(exclusive: bool) -> Notice {
        if exclusive { Notice::LockExclusive } else { Notice::LockShared }
    }

    pub fn unlock(exclusive: bool) -> Notice {
        if exclusive { Notice::UnlockExclusive } else { Notice::UnlockShared }
    }
}

/// A notice that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub src: Rank,
    /// Context id of the window's communicator.
    pub context: u32,
    pub notice: Notice,
}

pub(crate) fn on_packet(inbox: &mut Inbox, src: Rank, head: Head) {
    let (context, code) = ((head.imm >> 32) as u32, head.imm as u32);
    let notice = Notice::ALL.get(code as usize).copied();
    match notice.filter(|_| context < MAX_COMMS * CONTEXTS) {
        Some(notice) => inbox.notices.push_back(Arrived { src, context, notice }),
        None => inbox.violate(src, format!("notice {code} of window {context}")),
    }
}

impl<T: Transport> Process<T> {
    /// Tells `dst` something about the window of `context`. Goes out when there is a credit.
    pub fn notify(&mut self, dst: Rank, context: u32, notice: Notice) {
        let imm = u64::from(context) << 32 | u64::from(notice as u32);
        self.send_control(dst, Head::single(WINDOW, imm), 0);
    }

    /// True when notices have come.
    #[inline(always)]
    pub fn has_notices(&self) -> bool {
        !self.inbox.notices.is_empty()
    }

    /// Process `src` has sent a notice that makes no sense: the next progress step ends with an error.
    pub fn accuse(&mut self, src: Rank, what: String) {
        self.inbox.violate(src, what);
    }

    /// The first of the notices that have come and have not been taken.
    pub fn take_notice(&mut self) -> Option<Arrived> {
        self.inbox.notices.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_lead_back() {
        for (code, notice) in Notice::ALL.into_iter().enumerate() {
            assert_eq!(notice as usize, code);
        }
    }
}
