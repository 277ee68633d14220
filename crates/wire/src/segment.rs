//! The shared-memory segment of one job on one host.
//!
//! ```text
//! header page | control block of rank 0, 1, ... | pending operations of rank 0, 1, ...
//!             | ring of rank 0, 1, ... | slots of rank 0, 1, ... | frames of rank 0, 1, ...
//!             | large slots of rank 0, 1, ... | traffic of rank 0, 1, ... | delegation slot of rank 0, 1, ...
//! ```
//! The memory is zeroed by the kernel and pages come into being when touched, so an idle rank
//! costs its control block only. Size per rank:
//! `CONTROL + PENDING + slots * 128 + COLL_SLOTS * collective slots + LARGE_SETS * LARGE_SLOTS * large slot + FRAMES * FRAME_STRIDE + TRAFFIC + delegation slot`, and `slots` does not
//! depend on the number of ranks: see `Geometry`.

use crate::accumulate_lock::Updating;
use crate::cell::Cell;
use crate::coll_slots::{COLL_SLOTS, CollSlots, LARGE_SETS, LARGE_SLOT_BYTES, LARGE_SLOTS};
use crate::counters::Counters;
use crate::delegation;
use crate::pending::PENDING;
use crate::regions::Regions;
use crate::split_copy::{SPLIT_COPIES, SplitCopy};
use crate::traffic::TRAFFIC;
use hpvm_sync::Padded;
use hpvm_sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Frames that a rank owns for its outgoing packets.
pub const FRAMES: usize = 512;
/// Payload bytes of a frame.
pub const FRAME_BYTES: usize = 16 * 1024;
/// Bytes from one frame to the next. The odd number of lines keeps equal offsets of neighbouring frames out of the same
/// cache sets.
pub const FRAME_STRIDE: usize = FRAME_BYTES + 192;
/// Offset in a frame, behind the payload, of the word that says how many bytes of a message in fragments have been written
/// ([`crate::cell::Fragments`]).
pub const FRAME_PROGRESS: usize = FRAME_BYTES;
/// Slots of a rank's ring. All credits of a receiver together are this many, however many
/// senders there are: a receiver's memory does not grow with the job.
pub const SLOTS: u32 = 512;
/// Bytes of a page, with which large slots and other parts of the segment begin.
const LARGE_SLOT_ALIGN: usize = 4096;
/// Bytes before the first control block.
pub const HEADER: usize = 4096;
/// Bytes of a control block.
pub const CONTROL: usize = 4096;
// Loom's atomics are larger.
#[cfg(not(hpvm_loom))]
const _: () = assert!(size_of::<Control>() == CONTROL, "control blocks would overlap");
/// Most ranks in one segment; a header that alleges more is refused.
pub const MAX_RANKS: u32 = 1 << 16;

/// First bytes of the segment.
#[repr(C)]
pub struct Header {
    /// `MAGIC` once the creator has finished the header.
    pub magic: AtomicU64,
    pub version: u32,
    pub ranks: u32,
    /// The job's random key, which a process that maps the segment by mistake or by a guess does not know.
    pub key: [u64; 2],
    /// Not zero when some rank may not use `membarrier`: then every sender pays the fence.
    pub fences: AtomicU32,
    /// Ranks that have attached.
    pub attached: AtomicU32,
    /// Whether reading a peer's memory through the kernel pays on this host: 0 until a rank has measured
    /// it, then `READS_PAY`, or `READS_DO_NOT` for good. All ranks obey, so that a sender that
    /// waits to be read from has a receiver that reads.
    pub reads: AtomicU32,
    /// Nanoseconds that a read of 64 KiB in the reader's cache takes (`hpvm_copy::attach::Cost`); 0 until a rank has measured it.
    pub cached_read_ns: AtomicU32,
    /// The least limit of processor time of any rank, stored as `u32::MAX` minus the number of processors; 0: no rank has a
    /// limit.
    pub quota: AtomicU32,
    /// The user's answer to whether ranks share processors: 0 (none), `HAVE_PROCESSORS`, or `SHARE_PROCESSORS`, which overrides
    /// the other. Written before the job's bootstrap barrier.
    pub told_to_share: AtomicU32,
}

/// Words of [`Control::processors`]: for 8192 processors, the most that Linux can be built for.
pub const PROCESSOR_WORDS: usize = 128;

/// Values of [`Header::reads`].
pub const READS_PAY: u32 = 1;
pub const READS_DO_NOT: u32 = 2;

/// Values of [`Header::told_to_share`].
pub const HAVE_PROCESSORS: u32 = 1;
pub const SHARE_PROCESSORS: u32 = 2;

/// "hpvmseg" and a layout letter.
pub const MAGIC: u64 = u64::from_le_bytes(*b"hpvmsegB");
/// Raised with every change of a layout in this crate.
pub const VERSION: u32 = 18;
/// State of a doorbell: its owner sleeps on the word itself (a futex).
pub const SLEEPS_ON_WORD: u32 = 1;
/// State of a doorbell: its owner sleeps on a pipe, because sockets may wake it as well.
pub const SLEEPS_ON_PIPE: u32 = 2;

/// The control block of a rank, which all ranks of the host can access. A page.
///
/// Access rules: `tail` and `credits` are changed by all senders; `credits` also by the owner,
/// who only adds. `doorbell` is set by the owner and cleared by whoever wakes it. `frames[i]` is
/// set to 1 by the owner when it fills frame `i`, and to 0 by whoever has read it last and does not keep
/// it to write to it. All other fields have one writer, the owner.
#[repr(C, align(4096))]
pub struct Control {
    /// Next ticket of the ring.
    pub tail: Padded<AtomicU32>,
    /// Slots that no sender holds a credit for.
    pub credits: Padded<AtomicU32>,
    /// 0: awake. `SLEEPS_ON_WORD`, `SLEEPS_ON_PIPE`: asleep there or about to be.
    pub doorbell: Padded<AtomicU32>,
    /// 0: free. 1: its bytes are on their way, or its reader keeps it.
    pub frames: Padded<[AtomicU8; FRAMES]>,
    pub identity: Padded<Identity>,
    pub own: Padded<OwnWords>,
    /// One more than the number of the processor on which the rank last waited for long; 0 before that.
    pub processor: Padded<AtomicU32>,
    /// Whether the rank is inside an atomic update that shares an accumulate lock.
    pub updating: Padded<Updating>,
    /// The processors that the rank may use: bit `n % 64` of word `n / 64`. Written before the job's bootstrap
    /// barrier.
    pub processors: [AtomicU64; PROCESSOR_WORDS],
    pub counters: Counters,
    /// Memory that the rank lends.
    pub regions: Regions,
    /// The control blocks of split copies of messages to this rank.
    pub split_copies: [SplitCopy; SPLIT_COPIES],
}

/// Which process a rank is: written when it attaches, then only read.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Identity {
    /// Process id; 0 until the rank has attached.
    pub pid: AtomicU32,
    /// The rank's number in the job, which may span hosts.
    pub rank: AtomicU32,
}

/// What a rank says of itself in words that others seldom read.
#[derive(Debug, Default)]
#[repr(C)]
pub struct OwnWords {
    /// One more than the descriptor of the pipe that wakes the rank when it sleeps on one; 0: none.
    pub pipe: AtomicU32,
    /// One more than the number of the rank in whose ring this rank is claiming a slot that it has not published yet;
    /// 0: none. So a slot that a dead rank has left unpublished is told from one of a rank that was only stopped.
    pub claiming: AtomicU32,
}

impl Control {
    /// A control block as a fresh segment has it, for models and tests.
    pub fn new() -> Self {
        Control {
            tail: Padded(AtomicU32::new(0)),
            credits: Padded(AtomicU32::new(0)),
            doorbell: Padded(AtomicU32::new(0)),
            frames: Padded(core::array::from_fn(|_| AtomicU8::new(0))),
            identity: Padded(Identity::default()),
            own: Padded(OwnWords::default()),
            processor: Padded(AtomicU32::new(0)),
            updating: Padded(Updating::default()),
            processors: core::array::from_fn(|_| AtomicU64::new(0)),
            counters: Counters::default(),
            regions: Regions::default(),
            split_copies: core::array::from_fn(|_| SplitCopy::new()),
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

/// Offsets inside a segment of `ranks` ranks.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub ranks: u32,
}

impl Geometry {
    pub const fn control(&self, rank: u32) -> usize {
        HEADER + rank as usize * CONTROL
    }
    pub const fn pending(&self, rank: u32) -> usize {
        self.control(self.ranks) + rank as usize * PENDING
    }
    pub const fn ring(&self, rank: u32) -> usize {
        self.pending(self.ranks) + rank as usize * SLOTS as usize * size_of::<Cell>()
    }
    pub const fn coll_slots(&self, rank: u32) -> usize {
        self.ring(self.ranks) + rank as usize * COLL_SLOTS * size_of::<CollSlots>()
    }
    pub const fn frames(&self, rank: u32) -> usize {
        self.coll_slots(self.ranks) + rank as usize * FRAMES * FRAME_STRIDE
    }
    pub const fn large_slots(&self, rank: u32) -> usize {
        let frames = self.frames(self.ranks).next_multiple_of(LARGE_SLOT_ALIGN);
        frames + rank as usize * LARGE_SETS * LARGE_SLOTS * LARGE_SLOT_BYTES
    }
    /// The large slots are whole pages, so this begins with a page, too.
    pub const fn traffic(&self, rank: u32) -> usize {
        self.large_slots(self.ranks) + rank as usize * TRAFFIC
    }
    /// What ranks have sent to whom is whole pages, too.
    pub const fn delegation(&self, rank: u32) -> usize {
        self.traffic(self.ranks) + rank as usize * delegation::PAGE
    }
    /// Bytes of the whole segment.
    pub const fn bytes(&self) -> usize {
        self.delegation(self.ranks)
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<Control>(), CONTROL);
        assert!(size_of::<Header>() <= HEADER);
        let g = Geometry { ranks: 3 };
        assert_eq!(g.pending(0), HEADER + 3 * CONTROL);
        assert_eq!(g.ring(0), HEADER + 3 * (CONTROL + PENDING));
        assert_eq!(g.ring(0) % 128, 0);
        assert_eq!(g.coll_slots(0) % 128, 0);
        assert_eq!(g.frames(0) % 64, 0);
        assert!(g.large_slots(0) >= g.frames(2) + FRAMES * FRAME_STRIDE);
        assert_eq!(g.large_slots(0) % LARGE_SLOT_ALIGN, 0);
        assert_eq!(g.traffic(0), g.large_slots(2) + LARGE_SETS * LARGE_SLOTS * LARGE_SLOT_BYTES);
        assert_eq!(g.traffic(0) % 4096, 0);
        assert_eq!(g.delegation(0), g.traffic(2) + TRAFFIC);
        assert_eq!(g.delegation(0) % delegation::PAGE, 0);
        assert_eq!(g.bytes(), g.delegation(2) + delegation::PAGE);
    }
}
