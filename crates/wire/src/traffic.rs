//! How much a rank has sent to whom, for monitors: a list of the peers that it has sent to, in the order of the first
//! message to each. Only pages that are written take memory, so the list costs 24 bytes for each of these peers, and
//! nothing in a job that is not monitored.
//!
//! What a collective shows to all members of a communicator is counted once, for all of them together: an entry may stand
//! for a team, whose members' numbers lie in the entries behind it. A reader of the list adds the count to each member.

use hpvm_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Peers that a list holds: as many as a segment may hold ranks. In a larger job later ones are not counted.
pub const PEERS: usize = 1 << 16;
/// Bytes of a list: its head and the peers, whole pages.
pub const TRAFFIC: usize = ((PEERS + 1) * size_of::<Peer>()).next_multiple_of(4096);

/// Numbers of a team's members in an entry behind that of the team.
pub const MEMBERS: usize = size_of::<Peer>() / size_of::<u32>();
/// Entries that teams take of a list at most; what goes to later ones is counted for each member.
const TEAMS: u32 = PEERS as u32 / 2;

/// What went to one peer, or to each member of a team.
///
/// Access rules: its owner alone writes. `rank` and `team` are written once, before [`Traffic::len`] covers the entry.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Peer {
    /// The peer's number in the job.
    pub rank: AtomicU32,
    /// How many members a team has; 0: it is one peer.
    pub team: AtomicU32,
    pub messages: AtomicU64,
    pub bytes: AtomicU64,
}

impl Peer {
    /// Makes it an entry of members instead, of up to [`MEMBERS`].
    fn hold(&self, members: &[u32]) {
        let member = |at: usize| members.get(at).copied().unwrap_or_default();
        let pair = |at: usize| u64::from(member(at)) | u64::from(member(at + 1)) << 32;
        // Relaxed, all: published with the length.
        self.rank.store(member(0), Ordering::Relaxed);
        self.team.store(member(1), Ordering::Relaxed); // relaxed: as above
        self.messages.store(pair(2), Ordering::Relaxed); // relaxed: as above
        self.bytes.store(pair(4), Ordering::Relaxed); // relaxed: as above
    }
}

/// A list in the segment.
#[repr(C)]
pub struct Traffic {
    /// 1 in a job that is monitored.
    on: AtomicU32,
    /// Entries in use.
    len: AtomicU32,
    _unused: [AtomicU64; 2],
    peers: [Peer; PEERS],
}

impl Traffic {
    /// Where [`Traffic::len`] lies, and where the entries begin: for who reads the list through its file.
    pub const LEN_AT: usize = core::mem::offset_of!(Traffic, len);
    pub const ON_AT: usize = core::mem::offset_of!(Traffic, on);
    pub const PEERS_AT: usize = core::mem::offset_of!(Traffic, peers);

    /// Says that its owner counts.
    pub fn begin(&self) {
        self.on.store(1, Ordering::Relaxed); // relaxed: orders nothing
    }

    /// A new entry for `rank`, which has none; where it lies. `None`: all are in use. For the owner only.
    pub fn add(&self, rank: u32) -> Option<u32> {
        let at = self.len.load(Ordering::Relaxed); // relaxed: only we write it
        let peer = self.peers.get(at as usize)?;
        peer.rank.store(rank, Ordering::Relaxed); // relaxed: published by the next line
        // Release: a monitor that sees the length sees the rank.
        self.len.store(at + 1, Ordering::Release);
        Some(at)
    }

    /// A new entry for a team, and those of its members; where the first lies. `None`: there is no room for it.
    /// For the owner only.
    pub fn add_team(&self, members: &[u32]) -> Option<u32> {
        let at = self.len.load(Ordering::Relaxed); // relaxed: only we write it
        let count = u32::try_from(members.len()).ok()?;
        let entries = 1 + u32::try_from(members.len().div_ceil(MEMBERS)).ok()?;
        let end = at.checked_add(entries).filter(|end| *end <= TEAMS)?;
        self.peer(at)?.team.store(count, Ordering::Relaxed); // relaxed: published below
        for (entry, some) in (at + 1..).zip(members.chunks(MEMBERS)) {
            self.peer(entry)?.hold(some);
        }
        // Release: a monitor that sees the length sees team and members.
        self.len.store(end, Ordering::Release);
        Some(at)
    }

    /// The entry at `at`, if there is one.
    #[inline(always)]
    pub fn peer(&self, at: u32) -> Option<&Peer> {
        self.peers.get(at as usize)
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<Peer>(), 24);
        assert_eq!((Traffic::ON_AT, Traffic::LEN_AT, Traffic::PEERS_AT), (0, 4, 24));
        assert!(size_of::<Traffic>() <= TRAFFIC);
        assert_eq!((MEMBERS, core::mem::offset_of!(Peer, team)), (6, 4));
    }
}
