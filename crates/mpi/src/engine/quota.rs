//! How much of each sender's is kept for receives that have not been called.
//!
//! A message that comes before its receive is copied to memory of this process. A sender that runs
//! ahead would fill it, so each has a share of [`MOST`]. Once more than that of its is kept it is
//! told to announce every message from then on (`ANNOUNCE`), but for those that it can stream, whose
//! unasked bytes the transport bounds: then the bytes stay with it until they are asked for, and a
//! blocking send waits, as the standard allows any send to. When half of the share is free again it
//! is told that it may send at once.
//!
//! What is kept is at most, for each sender, its share, what was on its way before this process saw
//! that it is too much (inside a host its frames, 8 MiB), and what it may send from then on before it
//! looks ([`hpvm_fm::BLIND`] packets and the batch of credits that passes it, 6 MiB): 64 MiB, and
//! 14 MiB per sender, on up to 256 processes. An announcement is kept, too, but for each of them its sender
//! keeps a request, which is larger: nobody can bound that but the program.

use crate::engine::matching::{Content, Unexpected};
use crate::engine::process::Process;
use crate::pt2pt::protocol::ANNOUNCE;
use hpvm_fm::{Head, Rank, Transport};

/// Bytes that all senders together may leave here.
const MOST: u64 = 64 << 20;
/// The least share of a sender, bytes.
const LEAST: u64 = 256 << 10;
/// What keeping a message costs beside its bytes: its place in a queue that doubles when it is full,
/// and the allocator's own.
const EACH: u64 = 2 * size_of::<Unexpected>() as u64 + 32;

/// See the module's text. It decides and counts; others send.
#[derive(Debug)]
pub(crate) struct Kept {
    share: u64,
    /// By rank, as far as somebody's messages had to be kept.
    senders: Vec<Sender>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    bytes: u64,
    /// What it was told so often: an odd number means that it announces.
    told: u64,
}

impl Kept {
    pub fn new(processes: u32) -> Kept {
        Kept { share: (MOST / u64::from(processes.max(1))).max(LEAST), senders: Vec::new() }
    }

    /// Another share, for tests.
    pub fn set_share(&mut self, bytes: u64) {
        self.share = bytes;
    }

    /// `message` is kept from now on. What its sender has to be told, if anything.
    pub fn keep(&mut self, message: &Unexpected) -> Option<u64> {
        let bytes = weight(message);
        if bytes == 0 {
            return None;
        }
        let place = message.src as usize;
        if place >= self.senders.len() {
            self.senders.resize(place + 1, Sender::default());
        }
        let sender = &mut self.senders[place];
        sender.bytes += bytes;
        (sender.bytes > self.share && !announces(sender.told)).then(|| sender.tell())
    }

    /// `message` is kept no more. What its sender has to be told, if anything.
    pub fn release(&mut self, message: &Unexpected) -> Option<u64> {
        let sender = self.senders.get_mut(message.src as usize)?;
        sender.bytes = sender.bytes.saturating_sub(weight(message));
        (sender.bytes <= self.share / 2 && announces(sender.told)).then(|| sender.tell())
    }

    /// Bytes kept of what `src` sent.
    pub fn of(&self, src: Rank) -> u64 {
        self.senders.get(src as usize).map_or(0, |sender| sender.bytes)
    }
}

impl Sender {
    fn tell(&mut self) -> u64 {
        self.told += 1;
        self.told
    }
}

/// What the last word of a receiver means: whether all messages to it are announced. Words are
/// numbers that only grow, so that of two that overtook each other the later one holds.
pub(crate) fn announces(word: u64) -> bool {
    word % 2 == 1
}

/// The memory that a message takes here.
fn weight(message: &Unexpected) -> u64 {
    match &message.content {
        Content::Eager(data) => data.len() as u64 + EACH,
        Content::Pieces { len, .. } => len + EACH,
        Content::Announced(a) => a.data.as_ref().map_or(0, |data| data.len() as u64 + EACH),
    }
}

impl<T: Transport> Process<T> {
    /// `message` is kept no more; its sender is told when it may go on.
    #[inline]
    pub(crate) fn release(&mut self, message: &Unexpected) {
        if let Some(word) = self.inbox.kept.release(message) {
            self.send_control(message.src, Head::single(ANNOUNCE, word), 0);
        }
    }

    /// Bytes of messages from `src` that are kept because no receive has asked for them.
    pub fn kept_of(&self, src: Rank) -> u64 {
        self.inbox.kept.of(src)
    }

    /// Lets each sender leave only so many bytes here before it has to announce its messages. For
    /// tests; the built-in share depends on the size of the job.
    pub fn set_share(&mut self, bytes: u64) {
        self.inbox.kept.set_share(bytes);
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
    fn who_leaves_more_than_its_share_announces_until_half_is_free() {
        let mut kept = Kept::new(2);
        kept.set_share(10 * EACH);
        let m = message(1, 0);
        let told: Vec<_> = (0..12).filter_map(|_| kept.keep(&m)).collect();
        assert_eq!(told, [1], "once, not with every message");
        assert_eq!(kept.of(1), 12 * EACH);
        let told: Vec<_> = (0..6).filter_map(|_| kept.release(&m)).collect();
        assert!(told.is_empty(), "more than half is kept");
        assert_eq!(kept.release(&m), Some(2));
        assert_eq!(kept.release(&m), None);
    }

    #[test]
    fn senders_do_not_suffer_for_each_other() {
        let mut kept = Kept::new(4);
        kept.set_share(100);
        assert_eq!(kept.keep(&message(3, 1000)), Some(1));
        assert_eq!(kept.keep(&message(2, 0)).is_some(), EACH > 100);
        assert_eq!((kept.of(0), kept.of(9)), (0, 0));
    }

    #[test]
    fn announcements_weigh_what_they_carry() {
        let announced =
            |data| Announcement { len: 9, address: 0, request: 1, data, streams: false };
        let of = |data| {
            weight(&Unexpected { src: 0, tag: 0, content: Content::Announced(announced(data)) })
        };
        assert_eq!(of(None), 0);
        assert_eq!(of(Some(vec![0; 9].into())), 9 + EACH);
    }

    #[test]
    fn shares_add_up() {
        for processes in [1, 2, 5, 64, 256] {
            assert!(Kept::new(processes).share * u64::from(processes) <= MOST);
        }
        assert_eq!(Kept::new(1000).share, LEAST);
    }
}
