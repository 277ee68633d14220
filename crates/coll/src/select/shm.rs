//! Which way a blocking collective goes whose members share memory: one table of all thresholds.

use super::Small;

/// The ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Messages,
    /// One exchange through collective slots.
    Slots,
    /// Exchanges through large slots.
    LargeSlots,
    /// A reduction whose slices go round, in large slots.
    RingReduce,
    /// Blocks are read out of the memory of those that have them.
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

/// Up to so many bytes slots are the way, whatever the facts: members that have told each other nothing yet use them.
pub const ALWAYS_SLOTS: u64 = 1 << 10;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Longest data of a slot, and of a large one: those of `hpvm_wire::coll_slots`, as a test of `hpvm-mpi` sees to.
pub const SLOT: u64 = 16 * KIB;
pub const LARGE_SLOT: u64 = 256 * KIB;

/// One line of the table; the first that fits wins.
struct Row {
    /// None: any of them.
    small: Option<Small>,
    /// At least, and at most.
    members: (u32, u32),
    oversubscribed: Option<bool>,
    reads: Option<bool>,
    /// Bytes that a member shows: at least, and at most.
    bytes: (u64, u64),
    /// At least so many of them for each member.
    share: u64,
    /// At most so many of all members.
    total: u64,
    way: Way,
}

/// A line for any facts.
const fn row(small: Option<Small>, least: u64, most: u64, way: Way) -> Row {
    Row {
        small,
        members: (2, u32::MAX),
        oversubscribed: None,
        reads: None,
        bytes: (least, most),
        share: 0,
        total: u64::MAX,
        way,
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

/// The table (`bench/NOTES.md` says how it was measured). What no line fits goes by messages.
static ROWS: &[Row] = &[
    // Two with a processor each: the copies of a message overlap, those of slots do not.
    two(apart(row(None, 2 * KIB + 1, u64::MAX, Way::Messages))),
    row(None, 1, SLOT, Way::Slots),
    // One that writes and many that read at once, instead of copies from one to the next.
    apart(row(Some(Small::Bcast), 1, MIB, Way::LargeSlots)),
    apart(row(Some(Small::Allgather), 1, LARGE_SLOT, Way::LargeSlots)),
    apart(row(Some(Small::Reduce), 1, 128 * KIB, Way::LargeSlots)),
    apart(row(Some(Small::Allreduce), 1, 256 * KIB, Way::LargeSlots)),
    // Each round costs a switch: slices that are shorter lose more by that than the ring saves of copies.
    share(64 * KIB, shared(row(Some(Small::Reduce), 256 * KIB, 4 * MIB, Way::RingReduce))),
    share(64 * KIB, shared(row(Some(Small::Allreduce), 256 * KIB, 4 * MIB, Way::RingReduce))),
    shared(row(Some(Small::Bcast), 1, 4 * MIB, Way::LargeSlots)),
    shared(row(Some(Small::Reduce), 1, 4 * MIB, Way::LargeSlots)),
    shared(row(Some(Small::Allreduce), 1, 4 * MIB, Way::LargeSlots)),
    // One that reads goes on with nothing else while it does; beyond, memory is what limits.
    reads(shared(row(Some(Small::Alltoall), 64 * KIB + 1, 8 * MIB, Way::DirectRead))),
    reads(shared(row(Some(Small::Alltoall), 64 * KIB + 1, u64::MAX, Way::Messages))),
    total(
        4 * MIB,
        reads(shared(row(Some(Small::Allgather), LARGE_SLOT + 1, u64::MAX, Way::DirectRead))),
    ),
    shared(row(Some(Small::Alltoall), 1, LARGE_SLOT, Way::LargeSlots)),
    shared(row(Some(Small::Allgather), 1, LARGE_SLOT, Way::LargeSlots)),
    // What does not fit in a large slot goes piece by piece.
    total(4 * MIB, copies(shared(row(Some(Small::Alltoall), 1, u64::MAX, Way::LargeSlots)))),
    total(8 * MIB, copies(shared(row(Some(Small::Allgather), 1, u64::MAX, Way::LargeSlots)))),
    // With four members it depends on which processors they run on, and so does a scatter.
    many(8, shared(row(Some(Small::Gather), 1, 512 * KIB, Way::LargeSlots))),
];

impl Row {
    fn fits(&self, small: Small, facts: &Facts, bytes: u64) -> bool {
        let members = u64::from(facts.members);
        self.small.is_none_or(|is| is == small)
            && (self.members.0..=self.members.1).contains(&facts.members)
            && self.oversubscribed.is_none_or(|is| is == facts.oversubscribed)
            && self.reads.is_none_or(|is| is == facts.reads)
            && (self.bytes.0..=self.bytes.1).contains(&bytes)
            && bytes >= members.saturating_mul(self.share)
            && bytes.saturating_mul(members) <= self.total
            && (facts.large || !matches!(self.way, Way::LargeSlots | Way::RingReduce))
    }
}

/// Which way a collective goes of which a member shows `bytes`: in an alltoall or a scatter that is a block for each
/// member. A pure function of what all members know, so that all decide alike.
pub fn way(small: Small, facts: &Facts, bytes: u64) -> Way {
    let found = ROWS.iter().find(|row| row.fits(small, facts, bytes));
    found.map_or(Way::Messages, |row| row.way)
}

/// The largest power of two up to which every length goes through slots: whoever knows it need not ask [`way`] for
/// those, as long as no length in the table lies between two powers of two.
pub fn slots_up_to(small: Small, facts: &Facts) -> u64 {
    let powers = (0..=SLOT.ilog2()).map(|bit| 1 << bit);
    powers.take_while(|bytes| way(small, facts, *bytes) == Way::Slots).last().unwrap_or(0)
}

/// The longest data that do not go by messages; 0: all do. Whoever knows it need not ask [`way`] for longer ones.
pub fn messages_above(small: Small, facts: &Facts) -> u64 {
    let members = u64::from(facts.members);
    // The way changes behind these lengths only: where a line ends, or one in front of it begins.
    let ends = ROWS.iter().flat_map(|row| {
        let begins = [row.bytes.0, members.saturating_mul(row.share)];
        begins.map(|at| at.saturating_sub(1)).into_iter().chain([row.bytes.1, row.total / members])
    });
    ends.filter(|bytes| way(small, facts, *bytes) != Way::Messages).max().unwrap_or(0)
}

/// The same where measurements have said that it goes through shared memory.
pub fn untimed_way(small: Small, facts: &Facts, bytes: u64) -> Way {
    if bytes <= SLOT { Way::Slots } else { way(small, facts, bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: Facts = Facts { members: 2, oversubscribed: false, reads: true, large: true };
    const SHARED: Facts = Facts { members: 4, oversubscribed: true, reads: true, large: true };

    #[test]
    fn every_line_is_reached() {
        // Small, facts, bytes, way.
        let cases = [
            (Small::Bcast, APART, 2 * KIB, Way::Slots),
            (Small::Bcast, APART, 2 * KIB + 1, Way::Messages),
            (Small::Bcast, Facts { members: 4, ..APART }, SLOT, Way::Slots),
            (Small::Bcast, Facts { members: 4, ..APART }, MIB, Way::LargeSlots),
            (Small::Bcast, Facts { members: 4, ..APART }, MIB + 1, Way::Messages),
            (Small::Allgather, Facts { members: 3, ..APART }, LARGE_SLOT, Way::LargeSlots),
            (Small::Allgather, Facts { members: 3, ..APART }, LARGE_SLOT + 1, Way::Messages),
            (Small::Alltoall, Facts { members: 3, ..APART }, SLOT + 1, Way::Messages),
            (Small::Bcast, SHARED, 4 * MIB, Way::LargeSlots),
            (Small::Bcast, SHARED, 4 * MIB + 1, Way::Messages),
            (Small::Bcast, Facts { large: false, ..SHARED }, SLOT + 1, Way::Messages),
            (Small::Allreduce, Facts { members: 3, ..APART }, 256 * KIB, Way::LargeSlots),
            (Small::Allreduce, Facts { members: 3, ..APART }, 256 * KIB + 1, Way::Messages),
            (Small::Allreduce, APART, 64 * KIB, Way::Messages),
            (Small::Allreduce, Facts { reads: false, ..APART }, 64 * KIB, Way::Messages),
            (Small::Allreduce, SHARED, 256 * KIB - 1, Way::LargeSlots),
            (Small::Allreduce, SHARED, 256 * KIB, Way::RingReduce),
            (Small::Allreduce, Facts { members: 8, ..SHARED }, 512 * KIB - 1, Way::LargeSlots),
            (Small::Reduce, SHARED, 256 * KIB - 1, Way::LargeSlots),
            (Small::Reduce, SHARED, 256 * KIB, Way::RingReduce),
            (Small::Reduce, Facts { members: 8, ..SHARED }, 512 * KIB, Way::RingReduce),
            (Small::Alltoall, SHARED, 64 * KIB, Way::LargeSlots),
            (Small::Alltoall, SHARED, 8 * MIB, Way::DirectRead),
            (Small::Alltoall, SHARED, 8 * MIB + 1, Way::Messages),
            (Small::Alltoall, Facts { reads: false, ..SHARED }, LARGE_SLOT, Way::LargeSlots),
            (Small::Alltoall, Facts { reads: false, ..SHARED }, MIB, Way::LargeSlots),
            (Small::Alltoall, Facts { reads: false, ..SHARED }, MIB + 1, Way::Messages),
            (Small::Allgather, SHARED, MIB, Way::DirectRead),
            (Small::Allgather, SHARED, MIB + 1, Way::Messages),
            (Small::Allgather, SHARED, LARGE_SLOT, Way::LargeSlots),
            (Small::Allgather, Facts { reads: false, ..SHARED }, 2 * MIB, Way::LargeSlots),
            (Small::Allgather, Facts { reads: false, ..SHARED }, 2 * MIB + 1, Way::Messages),
            (Small::Gather, Facts { members: 8, ..SHARED }, 512 * KIB, Way::LargeSlots),
            (Small::Gather, Facts { members: 8, ..SHARED }, 512 * KIB + 1, Way::Messages),
            (Small::Gather, Facts { members: 7, ..SHARED }, SLOT + 1, Way::Messages),
            (Small::Gather, SHARED, SLOT, Way::Slots),
            (Small::Gather, SHARED, SLOT + 1, Way::Messages),
            (Small::Scatter, APART, 2 * KIB, Way::Slots),
            (Small::Scatter, APART, 2 * KIB + 1, Way::Messages),
            (Small::Reduce, APART, 2 * KIB, Way::Slots),
            (Small::Reduce, APART, 2 * KIB + 1, Way::Messages),
            (Small::Reduce, Facts { members: 3, ..APART }, SLOT, Way::Slots),
            (Small::Reduce, Facts { members: 3, ..APART }, 128 * KIB, Way::LargeSlots),
            (Small::Reduce, Facts { members: 3, ..APART }, 128 * KIB + 1, Way::Messages),
            (Small::Allreduce, APART, 2 * KIB + 1, Way::Messages),
            (Small::Allreduce, APART, SLOT + 1, Way::Messages),
        ];
        for (small, facts, bytes, expected) in cases {
            assert_eq!(way(small, &facts, bytes), expected, "{small:?} {facts:?} {bytes}");
        }
    }

    fn all_facts() -> impl Iterator<Item = (Small, Facts)> {
        let members = [2, 3, 64].into_iter();
        members.flat_map(|members| (0..8).map(move |bits: u32| (members, bits))).flat_map(
            |(members, bits)| {
                let is = |bit: u32| bits & bit != 0;
                let facts = Facts { members, oversubscribed: is(1), reads: is(2), large: is(4) };
                Small::ALL.map(|small| (small, facts))
            },
        )
    }

    #[test]
    fn short_ones_go_through_slots_whatever_the_facts() {
        for (small, facts) in all_facts() {
            for bytes in [1, ALWAYS_SLOTS] {
                assert_eq!(way(small, &facts, bytes), Way::Slots);
            }
        }
    }

    #[test]
    fn above_the_limit_every_length_goes_by_messages() {
        let sizes = (0..24).flat_map(|bit| [1u64 << bit, (1 << bit) + 1, 3 << bit]);
        let sizes: Vec<u64> = sizes.chain([u64::MAX]).collect();
        for (small, facts) in all_facts() {
            let limit = messages_above(small, &facts);
            assert!(limit >= ALWAYS_SLOTS);
            assert_ne!(way(small, &facts, limit), Way::Messages, "{small:?} {facts:?} {limit}");
            for bytes in sizes.iter().copied().chain([limit.saturating_add(1)]) {
                let is_short = bytes <= limit;
                let goes = way(small, &facts, bytes) == Way::Messages;
                assert!(is_short || goes, "{small:?} {facts:?} {bytes}");
            }
        }
    }

    #[test]
    fn up_to_the_limit_every_length_goes_through_slots() {
        for (small, facts) in all_facts() {
            let limit = slots_up_to(small, &facts);
            assert!(limit >= ALWAYS_SLOTS);
            for bytes in 1..=limit {
                assert_eq!(way(small, &facts, bytes), Way::Slots, "{small:?} {facts:?} {bytes}");
            }
            let beyond = way(small, &facts, limit + 1);
            assert!(limit == SLOT || beyond != Way::Slots, "{small:?} {facts:?} {limit}");
        }
    }
}
