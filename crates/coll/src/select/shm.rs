//! The method of a blocking collective whose members share memory: one table of all thresholds, and the pure
//! function [`select_shm`] that looks it up.

use super::CollKind;

/// The methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmMethod {
    Messages,
    /// One exchange through collective slots.
    Slots,
    /// Exchanges through large slots.
    LargeSlots,
    /// Ring reduce-scatter in large slots: the slices of a reduction go round.
    RingReduce,
    /// Members read blocks out of each other's memory.
    DirectRead,
}

/// What all members of a communicator know alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub members: u32,
    /// Ranks share processors.
    pub oversubscribed: bool,
    /// All members can read long data out of each other's memory.
    pub reads: bool,
    /// The communicator has large slots.
    pub large: bool,
}

/// Up to so many bytes a collective goes through slots, whatever the facts are. Members that have not told each other
/// anything yet rely on that.
pub const ALWAYS_SLOTS: u64 = 1 << 10;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Bytes of the longest data for a slot, and for a large slot. The same numbers as in `hpvm_wire::coll_slots`; a test of
/// `hpvm-mpi` compares them.
pub const SLOT: u64 = 16 * KIB;
pub const LARGE_SLOT: u64 = 256 * KIB;
/// Bytes of the longest operands that two ranks exchange whole in an allreduce by messages, if they read each other's
/// memory ([`super::Tables::allreduce_reads`]).
pub const WHOLE_OPERANDS: u64 = 256 * KIB;

/// One line of the table. The first line that fits decides.
struct Row {
    /// `None`: any kind.
    kind: Option<CollKind>,
    /// Least and greatest number of members.
    members: (u32, u32),
    oversubscribed: Option<bool>,
    reads: Option<bool>,
    /// Least and greatest number of bytes that a member shows.
    bytes: (u64, u64),
    /// Least number of those bytes per member of the communicator.
    share: u64,
    /// Greatest number of bytes that all members show together.
    total: u64,
    method: ShmMethod,
}

/// A line for any facts.
const fn row(kind: Option<CollKind>, least: u64, most: u64, method: ShmMethod) -> Row {
    Row {
        kind,
        members: (2, u32::MAX),
        oversubscribed: None,
        reads: None,
        bytes: (least, most),
        share: 0,
        total: u64::MAX,
        method,
    }
}

/// Where every rank has a processor.
const fn apart(row: Row) -> Row {
    Row { oversubscribed: Some(false), ..row }
}

/// Where ranks share processors: each message costs switches between them.
const fn shared(row: Row) -> Row {
    Row { oversubscribed: Some(true), ..row }
}

const fn two(row: Row) -> Row {
    Row { members: (2, 2), ..row }
}

/// Where there are so many members, or more.
const fn many(least: u32, row: Row) -> Row {
    Row { members: (least, u32::MAX), ..row }
}

const fn reads(row: Row) -> Row {
    Row { reads: Some(true), ..row }
}

/// Where long data are copied twice.
const fn copies(row: Row) -> Row {
    Row { reads: Some(false), ..row }
}

const fn share(share: u64, row: Row) -> Row {
    Row { share, ..row }
}

const fn total(total: u64, row: Row) -> Row {
    Row { total, ..row }
}

/// The table (`bench/NOTES.md` says how it was measured). A collective that no line fits goes by messages.
static ROWS: &[Row] = &[
    // Two members with a processor each: the two copies of a message overlap, those through slots do not.
    two(apart(row(None, 2 * KIB + 1, u64::MAX, ShmMethod::Messages))),
    row(None, 1, SLOT, ShmMethod::Slots),
    // One member writes and many read at the same time, instead of copies from one to the next.
    apart(row(Some(CollKind::Bcast), 1, MIB, ShmMethod::LargeSlots)),
    apart(row(Some(CollKind::Allgather), 1, LARGE_SLOT, ShmMethod::LargeSlots)),
    apart(row(Some(CollKind::Reduce), 1, 128 * KIB, ShmMethod::LargeSlots)),
    apart(row(Some(CollKind::Allreduce), 1, 256 * KIB, ShmMethod::LargeSlots)),
    // Each round of the ring costs a switch of processes: with shorter slices that costs more than the ring saves.
    share(64 * KIB, shared(row(Some(CollKind::Reduce), 256 * KIB, 4 * MIB, ShmMethod::RingReduce))),
    share(
        64 * KIB,
        shared(row(Some(CollKind::Allreduce), 256 * KIB, 4 * MIB, ShmMethod::RingReduce)),
    ),
    shared(row(Some(CollKind::Bcast), 1, 4 * MIB, ShmMethod::LargeSlots)),
    shared(row(Some(CollKind::Reduce), 1, 4 * MIB, ShmMethod::LargeSlots)),
    shared(row(Some(CollKind::Allreduce), 1, 4 * MIB, ShmMethod::LargeSlots)),
    // A member that reads does nothing else meanwhile. Beyond 8 MiB memory is what limits both methods.
    reads(shared(row(Some(CollKind::Alltoall), 64 * KIB + 1, 8 * MIB, ShmMethod::DirectRead))),
    reads(shared(row(Some(CollKind::Alltoall), 64 * KIB + 1, u64::MAX, ShmMethod::Messages))),
    total(
        4 * MIB,
        reads(shared(row(
            Some(CollKind::Allgather),
            LARGE_SLOT + 1,
            u64::MAX,
            ShmMethod::DirectRead,
        ))),
    ),
    shared(row(Some(CollKind::Alltoall), 1, LARGE_SLOT, ShmMethod::LargeSlots)),
    shared(row(Some(CollKind::Allgather), 1, LARGE_SLOT, ShmMethod::LargeSlots)),
    // Blocks that do not fit in a large slot go piece by piece.
    total(
        4 * MIB,
        copies(shared(row(Some(CollKind::Alltoall), 1, u64::MAX, ShmMethod::LargeSlots))),
    ),
    total(
        8 * MIB,
        copies(shared(row(Some(CollKind::Allgather), 1, u64::MAX, ShmMethod::LargeSlots))),
    ),
    // From 8 members on. With four members, and for a scatter, it depends on which processors they run on.
    many(8, shared(row(Some(CollKind::Gather), 1, 512 * KIB, ShmMethod::LargeSlots))),
];

impl Row {
    fn fits(&self, kind: CollKind, facts: &Facts, bytes: u64) -> bool {
        let members = u64::from(facts.members);
        self.kind.is_none_or(|is| is == kind)
            && (self.members.0..=self.members.1).contains(&facts.members)
            && self.oversubscribed.is_none_or(|is| is == facts.oversubscribed)
            && self.reads.is_none_or(|is| is == facts.reads)
            && (self.bytes.0..=self.bytes.1).contains(&bytes)
            && bytes >= members.saturating_mul(self.share)
            && bytes.saturating_mul(members) <= self.total
            && (facts.large
                || !matches!(self.method, ShmMethod::LargeSlots | ShmMethod::RingReduce))
    }
}

/// The method of a collective of which a member shows `bytes`: in an alltoall or a scatter that is a block for each
/// member. A pure function of what all members know, so that all decide alike.
pub fn select_shm(kind: CollKind, facts: &Facts, bytes: u64) -> ShmMethod {
    let found = ROWS.iter().find(|row| row.fits(kind, facts, bytes));
    found.map_or(ShmMethod::Messages, |row| row.method)
}

/// The largest power of two up to which every length goes through slots: whoever knows it need not ask [`select_shm`] for
/// those, as long as no length in the table lies between two powers of two.
pub fn slots_up_to(kind: CollKind, facts: &Facts) -> u64 {
    let powers = (0..=SLOT.ilog2()).map(|bit| 1 << bit);
    powers
        .take_while(|bytes| select_shm(kind, facts, *bytes) == ShmMethod::Slots)
        .last()
        .unwrap_or(0)
}

/// The longest data that do not go by messages; 0: all do. Whoever knows it need not ask [`select_shm`] for longer ones.
pub fn messages_above(kind: CollKind, facts: &Facts) -> u64 {
    let members = u64::from(facts.members);
    // The method changes behind these lengths only: where a line ends, or one in front of it begins.
    let ends = ROWS.iter().flat_map(|row| {
        let begins = [row.bytes.0, members.saturating_mul(row.share)];
        begins.map(|at| at.saturating_sub(1)).into_iter().chain([row.bytes.1, row.total / members])
    });
    ends.filter(|bytes| select_shm(kind, facts, *bytes) != ShmMethod::Messages).max().unwrap_or(0)
}

/// Up to so many bytes members have to agree whether they read each other's memory before `kind` goes by messages,
/// because its algorithm depends on that; 0: it does not.
pub fn agreement_up_to(kind: CollKind, facts: &Facts) -> u64 {
    let asks = kind == CollKind::Allreduce && facts.members == 2 && !facts.oversubscribed;
    if asks { WHOLE_OPERANDS } else { 0 }
}

/// What [`select_shm`] says, where measurements have said that the collective goes through shared memory.
pub fn untimed_shm(kind: CollKind, facts: &Facts, bytes: u64) -> ShmMethod {
    if bytes <= SLOT { ShmMethod::Slots } else { select_shm(kind, facts, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Facts = Facts { members: 2, oversubscribed: false, reads: true, large: true };
    const SHARED: Facts = Facts { members: 4, oversubscribed: true, reads: true, large: true };

    #[test]
    fn every_line_is_reached() {
        // Kind, facts, bytes, method.
        let cases = [
            (CollKind::Bcast, APART, 2 * KIB, ShmMethod::Slots),
            (CollKind::Bcast, APART, 2 * KIB + 1, ShmMethod::Messages),
            (CollKind::Bcast, Facts { members: 4, ..APART }, SLOT, ShmMethod::Slots),
            (CollKind::Bcast, Facts { members: 4, ..APART }, MIB, ShmMethod::LargeSlots),
            (CollKind::Bcast, Facts { members: 4, ..APART }, MIB + 1, ShmMethod::Messages),
            (CollKind::Allgather, Facts { members: 3, ..APART }, LARGE_SLOT, ShmMethod::LargeSlots),
            (
                CollKind::Allgather,
                Facts { members: 3, ..APART },
                LARGE_SLOT + 1,
                ShmMethod::Messages,
            ),
            (CollKind::Alltoall, Facts { members: 3, ..APART }, SLOT + 1, ShmMethod::Messages),
            (CollKind::Bcast, SHARED, 4 * MIB, ShmMethod::LargeSlots),
            (CollKind::Bcast, SHARED, 4 * MIB + 1, ShmMethod::Messages),
            (CollKind::Bcast, Facts { large: false, ..SHARED }, SLOT + 1, ShmMethod::Messages),
            (CollKind::Allreduce, Facts { members: 3, ..APART }, 256 * KIB, ShmMethod::LargeSlots),
            (
                CollKind::Allreduce,
                Facts { members: 3, ..APART },
                256 * KIB + 1,
                ShmMethod::Messages,
            ),
            (CollKind::Allreduce, APART, 64 * KIB, ShmMethod::Messages),
            (CollKind::Allreduce, Facts { reads: false, ..APART }, 64 * KIB, ShmMethod::Messages),
            (CollKind::Allreduce, SHARED, 256 * KIB - 1, ShmMethod::LargeSlots),
            (CollKind::Allreduce, SHARED, 256 * KIB, ShmMethod::RingReduce),
            (
                CollKind::Allreduce,
                Facts { members: 8, ..SHARED },
                512 * KIB - 1,
                ShmMethod::LargeSlots,
            ),
            (CollKind::Reduce, SHARED, 256 * KIB - 1, ShmMethod::LargeSlots),
            (CollKind::Reduce, SHARED, 256 * KIB, ShmMethod::RingReduce),
            (CollKind::Reduce, Facts { members: 8, ..SHARED }, 512 * KIB, ShmMethod::RingReduce),
            (CollKind::Alltoall, SHARED, 64 * KIB, ShmMethod::LargeSlots),
            (CollKind::Alltoall, SHARED, 8 * MIB, ShmMethod::DirectRead),
            (CollKind::Alltoall, SHARED, 8 * MIB + 1, ShmMethod::Messages),
            (
                CollKind::Alltoall,
                Facts { reads: false, ..SHARED },
                LARGE_SLOT,
                ShmMethod::LargeSlots,
            ),
            (CollKind::Alltoall, Facts { reads: false, ..SHARED }, MIB, ShmMethod::LargeSlots),
            (CollKind::Alltoall, Facts { reads: false, ..SHARED }, MIB + 1, ShmMethod::Messages),
            (CollKind::Allgather, SHARED, MIB, ShmMethod::DirectRead),
            (CollKind::Allgather, SHARED, MIB + 1, ShmMethod::Messages),
            (CollKind::Allgather, SHARED, LARGE_SLOT, ShmMethod::LargeSlots),
            (CollKind::Allgather, Facts { reads: false, ..SHARED }, 2 * MIB, ShmMethod::LargeSlots),
            (
                CollKind::Allgather,
                Facts { reads: false, ..SHARED },
                2 * MIB + 1,
                ShmMethod::Messages,
            ),
            (CollKind::Gather, Facts { members: 8, ..SHARED }, 512 * KIB, ShmMethod::LargeSlots),
            (CollKind::Gather, Facts { members: 8, ..SHARED }, 512 * KIB + 1, ShmMethod::Messages),
            (CollKind::Gather, Facts { members: 7, ..SHARED }, SLOT + 1, ShmMethod::Messages),
            (CollKind::Gather, SHARED, SLOT, ShmMethod::Slots),
            (CollKind::Gather, SHARED, SLOT + 1, ShmMethod::Messages),
            (CollKind::Scatter, APART, 2 * KIB, ShmMethod::Slots),
            (CollKind::Scatter, APART, 2 * KIB + 1, ShmMethod::Messages),
            (CollKind::Reduce, APART, 2 * KIB, ShmMethod::Slots),
            (CollKind::Reduce, APART, 2 * KIB + 1, ShmMethod::Messages),
            (CollKind::Reduce, Facts { members: 3, ..APART }, SLOT, ShmMethod::Slots),
            (CollKind::Reduce, Facts { members: 3, ..APART }, 128 * KIB, ShmMethod::LargeSlots),
            (CollKind::Reduce, Facts { members: 3, ..APART }, 128 * KIB + 1, ShmMethod::Messages),
            (CollKind::Allreduce, APART, 2 * KIB + 1, ShmMethod::Messages),
            (CollKind::Allreduce, APART, SLOT + 1, ShmMethod::Messages),
        ];
        for (kind, facts, bytes, expected) in cases {
            assert_eq!(select_shm(kind, &facts, bytes), expected, "{kind:?} {facts:?} {bytes}");
        }
    }

    fn all_facts() -> impl Iterator<Item = (CollKind, Facts)> {
        let members = [2, 3, 64].into_iter();
        members.flat_map(|members| (0..8).map(move |bits: u32| (members, bits))).flat_map(
            |(members, bits)| {
                let is = |bit: u32| bits & bit != 0;
                let facts = Facts { members, oversubscribed: is(1), reads: is(2), large: is(4) };
                CollKind::ALL.map(|kind| (kind, facts))
            },
        )
    }

    #[test]
    fn short_ones_go_through_slots_whatever_the_facts() {
        for (kind, facts) in all_facts() {
            for bytes in [1, ALWAYS_SLOTS] {
                assert_eq!(select_shm(kind, &facts, bytes), ShmMethod::Slots);
            }
        }
    }

    #[test]
    fn above_the_limit_every_length_goes_by_messages() {
        let sizes = (0..24).flat_map(|bit| [1u64 << bit, (1 << bit) + 1, 3 << bit]);
        let sizes: Vec<u64> = sizes.chain([u64::MAX]).collect();
        for (kind, facts) in all_facts() {
            let limit = messages_above(kind, &facts);
            assert!(limit >= ALWAYS_SLOTS);
            assert_ne!(
                select_shm(kind, &facts, limit),
                ShmMethod::Messages,
                "{kind:?} {facts:?} {limit}"
            );
            for bytes in sizes.iter().copied().chain([limit.saturating_add(1)]) {
                let is_short = bytes <= limit;
                let goes = select_shm(kind, &facts, bytes) == ShmMethod::Messages;
                assert!(is_short || goes, "{kind:?} {facts:?} {bytes}");
            }
        }
    }

    #[test]
    fn up_to_the_limit_every_length_goes_through_slots() {
        for (kind, facts) in all_facts() {
            let limit = slots_up_to(kind, &facts);
            assert!(limit >= ALWAYS_SLOTS);
            for bytes in 1..=limit {
                assert_eq!(
                    select_shm(kind, &facts, bytes),
                    ShmMethod::Slots,
                    "{kind:?} {facts:?} {bytes}"
                );
            }
            let beyond = select_shm(kind, &facts, limit + 1);
            assert!(limit == SLOT || beyond != ShmMethod::Slots, "{kind:?} {facts:?} {limit}");
        }
    }
}
