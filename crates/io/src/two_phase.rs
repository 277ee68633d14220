//! Collective access in two phases: ranks whose pieces interleave in a file hand them to aggregators, each
//! of which owns a part of the file and moves it in large runs. Only plans are made here.

use crate::file::Extent;
use crate::stripes::Layout;
use std::ops::Range;

/// What one rank wants to access in a collective call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// First byte of the file, and the one behind the last.
    pub start: u64,
    pub end: u64,
    /// Bytes of data, and runs in which they lie in the file.
    pub bytes: u64,
    pub runs: u64,
    /// The marks of where runs begin, without those of where they end: see [`is_dense`].
    pub marks: u64,
}

impl Access {
    /// Of extents in the order of the file.
    pub fn of(extents: impl Iterator<Item = Extent>) -> Access {
        extents.fold(Access::default(), |all, e| Access {
            start: if all.runs == 0 { e.at } else { all.start },
            end: e.at + e.len,
            bytes: all.bytes + e.len,
            runs: all.runs + 1,
            marks: all.marks.wrapping_add(mark(e.at)).wrapping_sub(mark(e.at + e.len)),
        })
    }
}

/// A number for a position in the file that looks like one by chance (the last steps of SplitMix64).
fn mark(at: u64) -> u64 {
    let z = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether the accesses cover every byte from the first to the last once. That is so if and only if each place where a run begins
/// is one where another run ends, but for the first and the last; then their marks cancel each other out, which they do else in
/// one of 2^64 cases.
pub fn is_dense(accesses: &[Access]) -> bool {
    let (start, end) = span(accesses);
    let sum = |part: fn(&Access) -> u64| accesses.iter().map(part).fold(0, u64::wrapping_add);
    sum(|a| a.bytes) == end - start && sum(|a| a.marks) == mark(start).wrapping_sub(mark(end))
}

/// Runs of at least this many bytes on average are left to their own ranks: gathering costs two more
/// copies, which beyond that take longer than the system calls that it saves.
const LONG_RUN: u64 = 64 << 10;

/// Whether gathering pays: runs are short, and they interleave, so that neighbours in the file come from
/// different ranks. A pure function of what all ranks know.
pub fn pays(accesses: &[Access]) -> bool {
    let (bytes, runs) = accesses.iter().fold((0, 0), |(b, r), a| (b + a.bytes, r + a.runs));
    runs > 0 && bytes / runs < LONG_RUN && interleave(accesses)
}

/// Ranks of one host, at most, that read by themselves what is not gathered for its own sake.
const READERS: usize = 16;
/// Longest pieces on average that are gathered for more of them: a system call for each longer one takes less time.
const SHORT_PIECE: u64 = 1024;

/// As [`pays`], for reading a file that is kept in the memory of the one host that all ranks run on. There a rank reads its pieces with
/// the holes between them, at the same time as the others, faster than somebody else hands it its pieces.
pub fn pays_for_near_reads(accesses: &[Access]) -> bool {
    let (bytes, runs) = accesses.iter().fold((0, 0), |(b, r), a| (b + a.bytes, r + a.runs));
    accesses.len() > READERS && bytes < runs * SHORT_PIECE && pays(accesses)
}

/// Pieces of a page and more are written by their own ranks where that costs a system call each and nothing else.
const PAGE: u64 = 4096;

/// As [`pays`], for writing a file that is nothing but memory of the one host that all ranks run on.
pub fn pays_for_writes_to_memory(accesses: &[Access]) -> bool {
    let (bytes, runs) = accesses.iter().fold((0, 0), |(b, r), a| (b + a.bytes, r + a.runs));
    bytes < runs * PAGE && pays(accesses)
}

/// Bytes of the file that a rank gathers at a time on one host: what comes from others is still in the processor's own cache when it is written.
const NEAR_WINDOW: u64 = 1 << 20;
/// Bytes of each rank's in it, at least: each window costs all ranks a few rounds.
const NEAR_PART: u64 = 256 << 10;

/// Bytes of the file that are gathered and written at a time where all of so many ranks are on one host, of the `most` that are asked for.
pub fn near_window(most: u64, ranks: usize) -> u64 {
    most.min(NEAR_WINDOW.max(NEAR_PART.saturating_mul(ranks as u64)))
}

/// Whether the accesses of two ranks overlap in the range that they span.
pub fn interleave(accesses: &[Access]) -> bool {
    let mut spans: Vec<_> =
        accesses.iter().filter(|a| a.runs > 0).map(|a| (a.start, a.end)).collect();
    spans.sort_unstable();
    spans.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// Who moves which part of the file, in which rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    start: u64,
    end: u64,
    /// Bytes of the file that an aggregator moves in one round.
    window: u64,
    aggregators: u32,
    shares: Shares,
}

/// What each aggregator owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shares {
    /// One part of so many bytes.
    Domains(u64),
    /// A stripe of the file.
    Stripes(Layout),
}

/// Domains begin at multiples of this many bytes where they can: file systems keep pages and lock them.
const ALIGNMENT: u64 = 4096;

impl Plan {
    /// Shares what the accesses span out among `aggregators`, to be moved by `window` bytes at a time.
    pub fn new(accesses: &[Access], aggregators: u32, window: u64) -> Plan {
        let (start, end) = span(accesses);
        let start = start - start % ALIGNMENT;
        let aggregators = aggregators.max(1);
        let share = (end - start).div_ceil(u64::from(aggregators));
        let domain = share.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let window = window.max(ALIGNMENT);
        Plan { start, end, window, aggregators, shares: Shares::Domains(domain) }
    }

    /// Each aggregator moves what lies in one stripe of the file.
    pub fn striped(accesses: &[Access], layout: Layout, window: u64) -> Plan {
        let (start, end) = span(accesses);
        let aggregators = layout.count as u32;
        Plan { start, end, window, aggregators, shares: Shares::Stripes(layout) }
    }

    /// Bytes of the file that an aggregator moves in one round, at most.
    pub fn window(&self) -> u64 {
        self.window
    }

    pub fn aggregators(&self) -> u32 {
        self.aggregators
    }

    /// Rounds that all ranks go through together.
    pub fn rounds(&self) -> u64 {
        match self.shares {
            Shares::Domains(domain) => domain.min(self.end - self.start).div_ceil(self.window),
            Shares::Stripes(layout) => {
                let rows = self.rows(layout);
                (rows.end - rows.start).div_ceil(self.rows_of_round(layout))
            }
        }
    }

    /// The ranges of the file that an aggregator moves in a round, in order; none where it has none left.
    pub fn windows(&self, aggregator: u32, round: u64) -> Vec<(u64, u64)> {
        match self.shares {
            Shares::Domains(bytes) => {
                let domain = self.start + u64::from(aggregator) * bytes;
                let domain_end = (domain + bytes).min(self.end);
                let from = domain + round * self.window;
                let to = (from + self.window).min(domain_end);
                if from < to { vec![(from, to)] } else { Vec::new() }
            }
            Shares::Stripes(layout) => {
                let (rows, each) = (self.rows(layout), self.rows_of_round(layout));
                let first = rows.start + round * each;
                let unit_of = |row: u64| {
                    let unit =
                        row.saturating_mul(layout.count).saturating_add(u64::from(aggregator));
                    let at = unit.saturating_mul(layout.unit);
                    (at.max(self.start), at.saturating_add(layout.unit).min(self.end))
                };
                let units = (first..(first + each).min(rows.end)).map(unit_of);
                units.filter(|(from, to)| from < to).collect()
            }
        }
    }

    /// Rows are what lies side by side in all stripes: one unit of each.
    fn rows(&self, layout: Layout) -> Range<u64> {
        let row = layout.unit.saturating_mul(layout.count);
        self.start / row..self.end.div_ceil(row)
    }

    fn rows_of_round(&self, layout: Layout) -> u64 {
        (self.window / layout.unit).max(1)
    }
}

/// The first byte that anybody accesses, and the one behind the last.
fn span(accesses: &[Access]) -> (u64, u64) {
    let there = || accesses.iter().filter(|a| a.runs > 0);
    let start = there().map(|a| a.start).min().unwrap_or(0);
    (start, there().map(|a| a.end).max().unwrap_or(start))
}

/// The extents of one rank, in the order of the file, of which windows are cut out one after the other.
#[derive(Debug)]
pub struct Cutter {
    extents: Vec<Extent>,
    /// Stream bytes that lie before each extent.
    starts: Vec<u64>,
}

/// The part of a rank's stream that lies in a window: stream bytes `at..at + len`, and where they lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    pub at: u64,
    pub len: u64,
    pub extents: Vec<Extent>,
}

impl Cutter {
    pub fn new(extents: impl Iterator<Item = Extent>) -> Cutter {
        let extents: Vec<Extent> = extents.collect();
        let mut before = 0;
        let starts = extents
            .iter()
            .map(|e| {
                let start = before;
                before += e.len;
                start
            })
            .collect();
        Cutter { extents, starts }
    }

    /// What lies in bytes `from..to` of the file. Positions in the file grow with those in the stream, so
    /// it is one part of the stream.
    pub fn cut(&self, (from, to): (u64, u64)) -> Cut {
        let first = self.extents.partition_point(|e| e.at + e.len <= from);
        let mut cut = Cut::default();
        for (extent, start) in self.extents[first..].iter().zip(&self.starts[first..]) {
            let at = extent.at.max(from);
            let end = (extent.at + extent.len).min(to);
            if at >= end {
                break;
            }
            if cut.extents.is_empty() {
                cut.at = start + (at - extent.at);
            }
            cut.extents.push(Extent { at, len: end - at });
            cut.len += end - at;
        }
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extents(pieces: &[(u64, u64)]) -> Vec<Extent> {
        let mut at = 0;
        let place = |(hole, len): &(u64, u64)| {
            at += hole;
            let extent = Extent { at, len: *len };
            at += len;
            extent
        };
        pieces.iter().map(place).collect()
    }

    #[test]
    fn who_interleaves() {
        let access = |start, end| Access { start, end, bytes: 10, runs: 1, marks: 0 };
        assert!(!interleave(&[access(0, 10), access(10, 20), Access::default()]));
        assert!(interleave(&[access(0, 11), access(10, 20)]));
        assert!(!pays(&[Access { bytes: 1 << 30, ..access(0, 11) }, access(10, 20)]));
        let many = [access(0, 11); READERS + 1];
        assert!(pays_for_near_reads(&many) && !pays_for_near_reads(&many[1..]));
        assert!(pays_for_writes_to_memory(&many));
        assert!(!pays_for_writes_to_memory(&[Access { bytes: PAGE, ..many[0] }; 2]));
        assert!(!pays_for_near_reads(&[Access { bytes: SHORT_PIECE, ..many[0] }; READERS + 1]));
    }

    #[test]
    fn windows_on_one_host() {
        assert_eq!(near_window(16 << 20, 2), NEAR_WINDOW);
        assert_eq!(near_window(16 << 20, 64), 16 << 20);
        assert_eq!(near_window(4096, 64), 4096);
    }

    #[test]
    fn who_covers_everything() {
        let of = |list: &[(u64, u64)]| {
            Access::of(list.iter().map(|(at, len)| Extent { at: *at, len: *len }))
        };
        let nobody = Access::default();
        assert!(is_dense(&[of(&[(5, 2), (9, 1)]), nobody, of(&[(7, 2), (10, 3)])]));
        assert!(!is_dense(&[of(&[(5, 2), (9, 1)]), of(&[(7, 1), (10, 4)])]), "a hole");
        assert!(!is_dense(&[of(&[(5, 2), (9, 1)]), of(&[(6, 2), (10, 4)])]), "twice, and a hole");
        assert!(!is_dense(&[of(&[(5, 8)]), of(&[(5, 8)])]), "twice");
        assert!(is_dense(&[nobody]));
    }

    proptest! {
        /// Two ranks share out a range by turns: dense, unless one run of one of them is moved.
        #[test]
        fn marks_tell_holes(lens in prop::collection::vec(1u64..5000, 2..40), start in 0u64..1 << 40, moved: prop::sample::Index) {
            let mut at = start;
            let all: Vec<_> = lens.iter().map(|len| { let e = Extent { at, len: *len }; at += len; e }).collect();
            let shares = |all: &[Extent]| {
                let of = |rest| Access::of(all.iter().copied().enumerate().filter(move |(i, _)| i % 2 == rest).map(|(_, e)| e));
                [of(0), of(1)]
            };
            prop_assert!(is_dense(&shares(&all)));
            let mut other = all.clone();
            other[moved.index(all.len())].at += 1;
            prop_assert!(!is_dense(&shares(&other)));
        }

        /// The same where aggregators own stripes: and what they get lies in theirs.
        #[test]
        fn stripes_share_everything_out(
            pieces in prop::collection::vec((0u64..9000, 1u64..9000), 0..30),
            count in 1u64..5,
            unit in 1u64..5000,
            window in 1u64..20_000,
        ) {
            let list = extents(&pieces);
            let access = Access::of(list.iter().copied());
            let layout = Layout { unit, count };
            let plan = Plan::striped(&[Access::default(), access], layout, window);
            let cutter = Cutter::new(list.iter().copied());
            let mut cuts = Vec::new();
            for aggregator in 0..plan.aggregators() {
                for round in 0..plan.rounds() {
                    let windows = plan.windows(aggregator, round);
                    let bytes: u64 = windows.iter().map(|(from, to)| to - from).sum();
                    prop_assert!(bytes <= window.max(unit));
                    for (from, to) in windows {
                        prop_assert_eq!(layout.place(from).0, u64::from(aggregator));
                        prop_assert_eq!(from / unit, (to - 1) / unit);
                        cuts.push(cutter.cut((from, to)));
                    }
                }
            }
            cuts.retain(|cut| cut.len > 0);
            cuts.sort_by_key(|cut| cut.at);
            let mut next = 0;
            for cut in &cuts {
                prop_assert_eq!(cut.at, next);
                next += cut.len;
            }
            prop_assert_eq!(next, access.bytes);
        }

        /// The windows of all aggregators and rounds hold every byte once, in the stream's order.
        #[test]
        fn windows_share_everything_out(
            pieces in prop::collection::vec((0u64..9000, 1u64..9000), 0..30),
            aggregators in 1u32..5,
            window in 1u64..20_000,
        ) {
            let list = extents(&pieces);
            let access = Access::of(list.iter().copied());
            let plan = Plan::new(&[access, Access::default()], aggregators, window);
            let cutter = Cutter::new(list.iter().copied());
            let mut cuts: Vec<Cut> = (0..plan.aggregators())
                .flat_map(|a| (0..plan.rounds()).map(move |r| (a, r)))
                .flat_map(|(a, r)| plan.windows(a, r))
                .map(|window| cutter.cut(window))
                .filter(|cut| cut.len > 0)
                .collect();
            cuts.sort_by_key(|cut| cut.at);
            let mut next = 0;
            for cut in &cuts {
                prop_assert_eq!(cut.at, next);
                prop_assert_eq!(cut.extents.iter().map(|e| e.len).sum::<u64>(), cut.len);
                next += cut.len;
            }
            prop_assert_eq!(next, access.bytes);
        }
    }
}
