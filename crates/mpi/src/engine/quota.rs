//! How many unexpected messages of each sender this process keeps.
//!
//! A message that comes before its receive is copied to memory of this process. A sender that runs ahead would fill this
//! memory, so each sender has a quota. When more than that of its messages is kept, the sender gets XOFF: from then on it
//! announces every message, except those that it can stream, whose unasked bytes the transport bounds. The bytes of an
//! announced message stay with the sender until they are asked for, and a blocking send waits, as the standard allows for
//! any send. When half of the quota is free again, the sender gets XON: it may send at once.
//!
//! For each sender three parts are kept at most: its quota; what was on its way before this process saw that it was too much
//! (inside a host the sender's frames, 8 MiB); and what the sender may send from then on before it looks
//! ([`hpvm_fm::MAX_UNPOLLED`] packets and the batch of credits that passes it, 6 MiB). Together these are 64 MiB, and 14 MiB
//! per sender, on up to 256 processes. Announcements are kept, too. For each of them the sender keeps a request, which is
//! larger; only the program can bound their number.

use crate::engine::dispatch::Deferred;
use crate::engine::inbox::Inbox;
use crate::engine::matching::{Content, Unexpected};
use crate::engine::process::Process;
use crate::pt2pt::protocol::{XOFF, XON};
use crate::pt2pt::select;
use hpvm_fm::{Head, PerPeer, Rank, Transport};

/// What keeping a message costs beside its bytes: its entry in a queue that doubles when it is full,
/// the allocator's own, and three entries in the hash of a long queue.
const ENTRY: u64 = 2 * size_of::<Unexpected>() as u64 + 32 + 3 * 64;

/// Decides and counts, as the module's text says; its callers send the XOFF and XON.
#[derive(Debug)]
pub(crate) struct Quota {
    share: u64,
    senders: PerPeer<Sender>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    bytes: u64,
    /// How often the sender was told XOFF or XON. If the number is odd, XOFF was the last.
    told: u64,
}

impl Quota {
    pub fn new(processes: u32) -> Quota {
        Quota { share: share(&select::DEFAULT, processes), senders: PerPeer::default() }
    }

    /// Another quota for each sender.
    pub fn set_quota(&mut self, bytes: u64) {
        self.share = bytes;
    }

    /// Counts `message`, which is kept from now on. Returns the XOFF that its sender has to get, if any.
    pub fn keep(&mut self, message: &Unexpected) -> Option<u64> {
        let bytes = weight(message);
        if bytes == 0 {
            return None;
        }
        let sender = self.senders.at(message.src);
        sender.bytes += bytes;
        (sender.bytes > self.share && !is_off(sender.told)).then(|| sender.tell())
    }

    /// `message` is kept no more. What its sender has to be told, if anything.
    pub fn release(&mut self, message: &Unexpected) -> Option<u64> {
        let sender = self.senders.get_mut(message.src)?;
        sender.bytes = sender.bytes.saturating_sub(weight(message));
        (sender.bytes <= self.share / 2 && is_off(sender.told)).then(|| sender.tell())
    }

    /// Bytes that the table takes.
    pub fn bytes(&self) -> usize {
        self.senders.bytes()
    }

    /// Bytes kept of what `src` sent.
    pub fn of(&self, src: Rank) -> u64 {
        self.senders.get(src).map_or(0, |sender| sender.bytes)
    }
}

impl Sender {
    fn tell(&mut self) -> u64 {
        self.told += 1;
        self.told
    }
}

/// The quota of one sender.
pub(crate) fn share(thresholds: &select::Thresholds, processes: u32) -> u64 {
    (thresholds.quota / u64::from(processes.max(1))).max(thresholds.min_quota)
}

/// Whether number `word` of what a receiver has told us is an XOFF. The numbers only grow, so that of
/// two packets that overtook each other the later one holds.
pub(crate) fn is_off(word: u64) -> bool {
    word % 2 == 1
}

impl Inbox {
    /// A receiver has told us XOFF or XON.
    pub(super) fn on_quota(&mut self, src: Rank, head: Head) {
        match is_off(head.imm) == (head.handler == XOFF) {
            true => self.deferred.push_back(Deferred::Quota(src, head.imm)),
            false => {
                self.violate(src, format!("number {} of XOFF and XON for the other", head.imm))
            }
        }
    }
}

/// The memory that a message takes here.
fn weight(message: &Unexpected) -> u64 {
    match &message.content {
        Content::Eager(data) => data.len() as u64 + ENTRY,
        Content::Fragments { len, .. } => len + ENTRY,
        Content::Announced(a) => a.data.as_ref().map_or(0, |data| data.len() as u64 + ENTRY),
    }
}

impl<T: Transport> Process<T> {
    /// `message` is kept no more; its sender is told when it may go on.
    #[inline]
    pub(crate) fn release(&mut self, message: &Unexpected) {
        if let Some(word) = self.inbox.quota.release(message) {
            self.tell_quota(message.src, word);
        }
    }

    pub(super) fn tell_quota(&mut self, src: Rank, word: u64) {
        let handler = if is_off(word) { XOFF } else { XON };
        self.send_control(src, Head::single(handler, word), 0);
    }

    /// Bytes of messages from `src` that are kept because no receive has asked for them.
    pub fn kept_of(&self, src: Rank) -> u64 {
        self.inbox.quota.of(src)
    }

    /// Lets each sender leave only so many bytes here before it has to announce its messages. For
    /// tests; the built-in quota depends on the size of the job.
    pub fn set_quota(&mut self, bytes: u64) {
        self.inbox.quota.set_quota(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::matching::Announcement;

    fn message(src: Rank, bytes: usize) -> Unexpected {
        Unexpected { src, tag: 0, content: Content::Eager(vec![0; bytes].into()) }
    }

    #[test]
    fn who_leaves_more_than_its_quota_announces_until_half_is_free() {
        let mut quota = Quota::new(2);
        quota.set_quota(10 * ENTRY);
        let m = message(1, 0);
        let told: Vec<_> = (0..12).filter_map(|_| quota.keep(&m)).collect();
        assert_eq!(told, [1], "once, not with every message");
        assert_eq!(quota.of(1), 12 * ENTRY);
        let told: Vec<_> = (0..6).filter_map(|_| quota.release(&m)).collect();
        assert!(told.is_empty(), "more than half is kept");
        assert_eq!(quota.release(&m), Some(2));
        assert_eq!(quota.release(&m), None);
    }

    #[test]
    fn senders_do_not_suffer_for_each_other() {
        let mut quota = Quota::new(4);
        quota.set_quota(100);
        assert_eq!(quota.keep(&message(3, 1000)), Some(1));
        assert_eq!(quota.keep(&message(2, 0)).is_some(), ENTRY > 100);
        assert_eq!((quota.of(0), quota.of(9)), (0, 0));
    }

    #[test]
    fn announcements_weigh_what_they_carry() {
        let announced = |data| Announcement {
            len: 9,
            address: 0,
            request: 1,
            exposed: None,
            data,
            stream_opened: false,
        };
        let of = |data| {
            weight(&Unexpected { src: 0, tag: 0, content: Content::Announced(announced(data)) })
        };
        assert_eq!(of(None), 0);
        assert_eq!(of(Some(vec![0; 9].into())), 9 + ENTRY);
    }

    #[test]
    fn shares_add_up() {
        for processes in [1, 2, 5, 64, 256] {
            assert!(Quota::new(processes).share * u64::from(processes) <= select::DEFAULT.quota);
        }
        assert_eq!(Quota::new(1000).share, select::DEFAULT.min_quota);
    }
}
