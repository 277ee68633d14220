//! What a sleeping rank shows to whoever asks why a job does not go on: its pending operations, in
//! one page of the segment.
//!
//! ```text
//! word 0      generation     word 3      operations shown (low half) and there are (high half)
//! word 1      stage          word 4      1: other threads may call MPI meanwhile
//! word 2      asleep since   words 5..8  zero
//! word 8..    the operations, 12 words each
//! ```
//! The owner alone writes. The generation modulo 4 says what it does: 0 it is awake, 1 it writes,
//! 2 it sleeps and the page is valid. A reader that finds 2, copies the page, and finds the same
//! generation again has a whole record; waking up is one store, which leaves the page as it is.

use core::mem::size_of;
use core::sync::atomic::Ordering;
use hpvm_sync::atomic::{AtomicU64, fence};

/// Bytes of a rank's page.
pub const PENDING: usize = 4096;
/// Operations that are shown; there may be more.
pub const OPERATIONS_MAX: usize = 32;
/// Bytes of a communicator's name that are shown.
pub const NAME: usize = 32;
/// Bytes of the name of a call that are shown.
pub const CALL: usize = 24;

const WORDS: usize = PENDING / size_of::<u64>();
const FIRST: usize = 8;
const RECORD: usize = 12;
const AWAKE: u64 = 0;
const ASLEEP: u64 = 2;
/// Peer or tag of an operation that takes any.
pub const ANY: i32 = i32::MIN;

/// Tag of the messages with which members compare their collectives (`HPVM_CHECK`), on the fourth
/// context of their communicator.
pub const COMPARE_TAG: i32 = i32::MAX;

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Receive = 1,
    /// Its receive has not come, or it waits for credits.
    Send = 2,
    SynchronousSend = 3,
    Collective = 4,
    Probe = 5,
    /// Completed by something else than a message.
    Other = 6,
    /// Not an operation: a message that came and that nobody has asked for.
    Unexpected = 7,
    /// A call on a window that waits for other ranks; the window's name stands for the communicator's.
    Window = 8,
}

impl Kind {
    fn of(number: u8) -> Option<Kind> {
        use Kind::*;
        [Receive, Send, SynchronousSend, Collective, Probe, Other, Unexpected, Window]
            .into_iter()
            .find(|k| *k as u8 == number)
    }
}

/// One pending operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: Kind,
    /// It is a message of a collective that is shown, too.
    pub part: bool,
    /// Rank in the communicator, or `ANY`; -1 where there is none.
    pub peer: i32,
    /// The peer's number in the job, or `ANY`; -1 where there is none.
    pub process: i32,
    /// `ANY` or the tag.
    pub tag: i32,
    pub context: u32,
    /// Bytes sent, or bytes that the buffer of a receive can take.
    pub bytes: u64,
    /// The communicator's name, cut to `NAME` bytes.
    pub comm: String,
    /// The call's name where it is known, cut to `CALL` bytes.
    pub call: String,
}

/// In what part of its life the rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stage {
    /// It has not joined the job.
    Before = 0,
    Running = 1,
    Finalized = 2,
}

/// The page in the segment.
#[repr(C, align(4096))]
pub struct Pending {
    words: [AtomicU64; WORDS],
}

fn pack(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// Eight bytes of a text from `at` on, zeros behind its end.
fn letters(text: &str, at: usize, most: usize) -> u64 {
    let bytes = &text.as_bytes()[..text.len().min(most)];
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Record {
    fn words(&self) -> [u64; RECORD] {
        let kind = u32::from(self.kind as u8) | u32::from(self.part) << 8;
        let mut words = [0; RECORD];
        words[0] = pack(kind, self.peer as u32);
        words[1] = pack(self.process as u32, self.tag as u32);
        words[2] = pack(self.context, 0);
        words[3] = self.bytes;
        for i in 0..NAME / 8 {
            words[4 + i] = letters(&self.comm, i * 8, NAME);
        }
        for i in 0..CALL / 8 {
            words[8 + i] = letters(&self.call, i * 8, CALL);
        }
        words
    }

    fn read(words: &[u64]) -> Option<Record> {
        let (kind, peer) = halves(words[0]);
        let (process, tag) = halves(words[1]);
        Some(Record {
            kind: Kind::of(kind as u8)?,
            part: kind >> 8 & 1 == 1,
            peer: peer as i32,
            process: process as i32,
            tag: tag as i32,
            context: words[2] as u32,
            bytes: words[3],
            comm: text(&words[4..4 + NAME / 8]),
            call: text(&words[8..8 + CALL / 8]),
        })
    }
}

impl Pending {
    fn set(&self, word: usize, value: u64) {
        // Relaxed: the generation orders the words for readers.
        self.words[word].store(value, Ordering::Relaxed);
    }

    fn generation(&self) -> u64 {
        // Relaxed: only the owner asks, and only it writes.
        self.words[0].load(Ordering::Relaxed)
    }

    /// The owner's stage has changed.
    pub fn set_stage(&self, stage: Stage) {
        self.set(1, stage as u64);
    }

    /// The owner falls asleep: shows `since` (CLOCK_MONOTONIC, ns), whether it has other `threads`
    /// that may call MPI, and the first `OPERATIONS_MAX` of `total` operations.
    pub fn publish(&self, since: u64, threads: bool, records: &[Record], total: usize) {
        // The next multiple of 4, so that no generation is used for two contents.
        let awake = (self.generation() + 3) & !3;
        self.set(0, awake + 1);
        // Release: no word is seen before the odd generation. Pairs with the reader's fence.
        fence(Ordering::Release);
        let shown = records.len().min(OPERATIONS_MAX);
        self.set(2, since);
        self.set(3, pack(shown as u32, total.min(u32::MAX as usize) as u32));
        self.set(4, u64::from(threads));
        for (i, record) in records.iter().take(shown).enumerate() {
            for (j, word) in record.words().into_iter().enumerate() {
                self.set(FIRST + i * RECORD + j, word);
            }
        }
        // Release pairs with the reader's first look at the generation.
        self.words[0].store(awake + ASLEEP, Ordering::Release);
    }

    /// The owner falls asleep again, and what it has shown last still holds.
    pub fn again(&self) {
        let awake = (self.generation() + 3) & !3;
        // Release pairs with the reader's first look at the generation.
        self.words[0].store(awake + ASLEEP, Ordering::Release);
    }

    /// The owner is awake.
    #[inline]
    pub fn awake(&self) {
        // A sleeping generation becomes the next multiple of 4; an awake one stays.
        self.set(0, (self.generation() + 3) & !3);
    }
}

/// What a reader found in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Changes whenever the rank falls asleep or wakes up.
    pub generation: u64,
    pub stage: Stage,
    pub asleep: Option<Asleep>,
}

/// What a sleeping rank shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asleep {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub since: u64,
    /// Other threads of the process may call MPI meanwhile.
    pub threads: bool,
    pub records: Vec<Record>,
    /// Operations that there are; `records` holds at most `OPERATIONS_MAX` of them.
    pub total: u32,
}

impl Snapshot {
    /// Reads a copy of a page; `None` when it was made while the owner wrote, or is no such page.
    /// The caller makes sure that the generation did not change while it copied.
    pub fn read(page: &[u8; PENDING]) -> Option<Snapshot> {
        let words: Vec<u64> = page
            .chunks_exact(8)
            .filter_map(|c| Some(u64::from_le_bytes(c.try_into().ok()?)))
            .collect();
        let stage = match words[1] {
            0 => Stage::Before,
            1 => Stage::Running,
            2 => Stage::Finalized,
            _ => return None,
        };
        let generation = words[0];
        let asleep = match generation & 3 {
            AWAKE => None,
            ASLEEP => {
                let (shown, total) = halves(words[3]);
                let shown = shown as usize;
                if shown > OPERATIONS_MAX || total < shown as u32 {
                    return None;
                }
                let chunks = words[FIRST..].chunks_exact(RECORD).take(shown);
                let records = chunks.map(Record::read).collect::<Option<_>>()?;
                Some(Asleep { since: words[2], threads: words[4] != 0, records, total })
            }
            _ => return None,
        };
        Some(Snapshot { generation, stage, asleep })
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    fn page() -> Pending {
        Pending { words: core::array::from_fn(|_| AtomicU64::new(0)) }
    }

    fn copy(page: &Pending) -> [u8; PENDING] {
        let mut bytes = [0; PENDING];
        for (to, from) in bytes.chunks_exact_mut(8).zip(&page.words) {
            to.copy_from_slice(&from.load(Ordering::Relaxed).to_le_bytes());
        }
        bytes
    }

    fn record(tag: i32) -> Record {
        Record {
            kind: Kind::Receive,
            part: tag % 2 == 0,
            peer: -1,
            process: ANY,
            tag,
            context: 7,
            bytes: 1 << 40,
            comm: "MPI_COMM_WORLD".into(),
            call: "MPI_Reduce_scatter_block".into(),
        }
    }

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<Pending>(), PENDING);
        const { assert!(FIRST + OPERATIONS_MAX * RECORD <= WORDS) };
        const { assert!(4 + NAME / 8 == 8 && 8 + CALL / 8 <= RECORD) };
    }

    #[test]
    fn what_is_shown_is_read() {
        let page = page();
        page.set_stage(Stage::Running);
        let records: Vec<_> = (0..OPERATIONS_MAX as i32 + 5).map(record).collect();
        page.publish(99, true, &records, records.len());
        let seen = Snapshot::read(&copy(&page)).unwrap();
        let asleep = seen.asleep.unwrap();
        assert_eq!((seen.stage, asleep.since, asleep.total), (Stage::Running, 99, 37));
        assert_eq!(asleep.records, records[..OPERATIONS_MAX]);
        assert!(asleep.threads);
        page.awake();
        let awake = Snapshot::read(&copy(&page)).unwrap();
        assert_eq!(awake.asleep, None);
        assert_ne!(awake.generation, seen.generation);
        page.awake();
        assert_eq!(Snapshot::read(&copy(&page)).unwrap(), awake);
        page.again();
        let again = Snapshot::read(&copy(&page)).unwrap();
        assert_eq!(again.asleep.unwrap().records, records[..OPERATIONS_MAX]);
        assert_ne!(again.generation, seen.generation);
    }

    #[test]
    fn names_are_cut_and_garbage_is_refused() {
        let page = page();
        let mut long = record(1);
        long.comm = "ä".repeat(40);
        page.publish(1, false, &[long], 1);
        let mut bytes = copy(&page);
        let asleep = Snapshot::read(&bytes).unwrap().asleep.unwrap();
        assert!(asleep.records[0].comm.starts_with("ää") && asleep.records[0].comm.len() == NAME);
        bytes[0] += 3;
        assert_eq!(Snapshot::read(&bytes), None, "the owner writes");
        bytes[0] -= 3;
        for at in [8, 24, FIRST * 8] {
            let mut wrong = bytes;
            wrong[at] = 200;
            assert_eq!(Snapshot::read(&wrong), None, "byte {at}");
        }
    }
}
