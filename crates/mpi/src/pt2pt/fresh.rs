//! Whether a peer's long messages are fresh: written by the peer shortly before it sends them, so that they lie in its processor's
//! cache, as those of programs do that compute what they send. Then two copies that overlap take less time than one read of all.
//!
//! The receiver finds out by the time of its reads, and says so in the FIN. After some slow reads in a row it asks for the peer's messages
//! in packets, and the peer sends those of some length in fragments, unasked. Now and then a few are read again, to find out anew.
//!
//! Only a read of memory that has been read shortly before tells anything: a first read is slow, also where the owner never writes that
//! memory again, and so is the first one after the message has gone in fragments, which leave it out of the receiver's cache. And a peer with
//! more buffers than are remembered has more messages on their way than frames in the cache, where two copies take longer than one.

use hpvm_fm::Rank;
use std::collections::BTreeMap;

/// Slow reads in a row that make a peer's messages count as fresh; a single one may have been disturbed.
const IN_A_ROW: u8 = 2;
/// Messages that are copied twice before some are read again: the slow ones of these then cost 1 to 5 % of the time.
const UNREAD: u8 = 128;
/// Addresses of a peer's messages that are remembered.
const REMEMBERED: usize = 8;

/// What is known of the peers whose memory is read.
#[derive(Debug, Default)]
pub(crate) struct Fresh(BTreeMap<Rank, Peer>);

#[derive(Debug, Default)]
struct Peer {
    /// Their messages, by our reads, and ours, by what they have told of theirs.
    theirs: Messages,
    ours: Messages,
    /// Where the messages lay that were read last; 0: nowhere.
    addresses: [u64; REMEMBERED],
    oldest: u8,
}

/// The long messages of one direction.
#[derive(Debug, Default)]
struct Messages {
    /// Reads in a row that were slow.
    slow: u8,
    /// Messages that need not be read.
    unread: u8,
}

impl Messages {
    /// A read was slow, or it was not. True: the next messages are not to be read.
    fn read(&mut self, slow: bool) -> bool {
        self.slow = if slow { self.slow + 1 } else { 0 };
        let are_fresh = self.slow == IN_A_ROW;
        if are_fresh {
            *self = Messages { slow: 0, unread: UNREAD };
        }
        are_fresh
    }

    fn went_unread(&mut self) {
        self.unread = self.unread.saturating_sub(1);
    }
}

impl Fresh {
    /// A read of a message of `peer`, which lay at `address`, was slow, or it was not. False: that tells nothing.
    pub fn read(&mut self, peer: Rank, address: u64, slow: bool) -> bool {
        let peer = self.0.entry(peer).or_default();
        let tells = peer.addresses.contains(&address);
        if !tells {
            peer.addresses[peer.oldest as usize] = address;
            peer.oldest = (peer.oldest + 1) % REMEMBERED as u8;
        } else if peer.theirs.read(slow) {
            peer.addresses = [0; REMEMBERED];
        }
        tells
    }

    /// Whether the next message of `peer` comes faster in fragments.
    pub fn is_theirs(&self, peer: Rank) -> bool {
        self.0.get(&peer).is_some_and(|peer| peer.theirs.unread != 0)
    }

    /// Such a message comes so.
    pub fn theirs_came(&mut self, peer: Rank) {
        if let Some(peer) = self.0.get_mut(&peer) {
            peer.theirs.went_unread();
        }
    }

    /// `peer` has told of its read of a message of ours.
    pub fn told(&mut self, peer: Rank, slow: bool) {
        self.0.entry(peer).or_default().ours.read(slow);
    }

    /// Whether the next message to `peer` goes faster in fragments.
    pub fn is_ours(&self, peer: Rank) -> bool {
        self.0.get(&peer).is_some_and(|peer| peer.ours.unread != 0)
    }

    /// Such a message has gone so.
    pub fn ours_went(&mut self, peer: Rank) {
        if let Some(peer) = self.0.get_mut(&peer) {
            peer.ours.went_unread();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slow_reads_in_a_row_make_messages_fresh_for_a_while() {
        let mut fresh = Fresh::default();
        assert!(!fresh.read(3, 1 << 20, true));
        for slow in [true, false, true, false] {
            assert!(fresh.read(3, 1 << 20, slow) && !fresh.is_theirs(3));
        }
        for turn in 0..3 {
            assert_eq!(fresh.read(3, 1 << 20, true), turn == 0);
            assert!(!fresh.is_theirs(3));
            assert!(fresh.read(3, 1 << 20, true));
            assert_eq!(fresh.is_theirs(3), turn == 0);
            if turn != 0 {
                assert!(fresh.read(3, 1 << 20, true));
            }
            for _ in 0..UNREAD {
                assert!(fresh.is_theirs(3) && !fresh.is_theirs(4) && !fresh.is_ours(3));
                fresh.theirs_came(3);
            }
            assert!(!fresh.is_theirs(3));
        }
    }

    #[test]
    fn as_many_buffers_as_are_remembered_tell_and_more_tell_nothing() {
        let mut fresh = Fresh::default();
        let buffers = REMEMBERED as u64;
        let mut read = |address| fresh.read(0, address, false);
        assert!((1..=buffers).all(|address| !read(address)));
        assert!((1..=buffers).all(&mut read));
        assert!((0..100).all(|message| !read(100 + message % (buffers + 1))));
    }

    #[test]
    fn a_sender_does_what_it_is_told_of_reads() {
        let mut fresh = Fresh::default();
        fresh.ours_went(1);
        for slow in [true, false, true, true] {
            assert!(!fresh.is_ours(1));
            fresh.told(1, slow);
        }
        for _ in 0..UNREAD {
            assert!(fresh.is_ours(1) && !fresh.is_ours(2) && !fresh.is_theirs(1));
            fresh.ours_went(1);
        }
        fresh.told(1, true);
        fresh.told(1, false);
        assert!(!fresh.is_ours(1));
    }
}
