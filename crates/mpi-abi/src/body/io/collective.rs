//! Collective access: each rank alone where that is fast, else in two phases ([`hpvm_io::two_phase`]).

use super::access::Access;
use super::common;
use super::transfer::{Direction, Transfer};
use crate::body::agree;
use crate::body::check::wrong;
use crate::object::file::FileObject;
use hpvm_io::two_phase::{self, Cut, Cutter, Plan};
use hpvm_io::{Extent, Hints, When};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::collections::BTreeSet;
use std::io::IoSlice;

/// Accesses a file together with all its ranks; says how many bytes of the program's data that were. A rank that has an error
/// instead of an access makes it one of all.
///
/// # Safety
/// The memory of the access is valid for the direction.
pub unsafe fn run(
    file: &FileObject,
    access: Result<Access<'_>>,
    direction: Direction,
) -> Result<u64> {
    if file.size() == 1 && file.stripes.is_none() {
        // SAFETY: the caller's promise.
        return unsafe { access?.run(direction) };
    }
    let mine = access.as_ref().map_or([0; TOLD_WORDS], |access| told(access, direction));
    let (access, all) = agree::together_with(file, access, mine)?;
    let access = &access;
    let accesses: Vec<_> = all.iter().map(access_of).collect();
    // Rank 0's wishes count: hints should be the same everywhere, but need not.
    let [wishes, window, ..] = all[0];
    let wishes = Wishes::told(wishes);
    if !gathers(file, direction, wishes.gather, &accesses) {
        // SAFETY: the caller's promise.
        return if file.stripes.is_some() { Ok(0) } else { unsafe { access.run(direction) } };
    }
    let window = match direction {
        Direction::Write if file.is_near() => two_phase::near_window(window, file.size()),
        _ => window,
    };
    let (plan, aggregators) = plan(file, &accesses, wishes, window);
    let writes = direction == Direction::Write;
    let sync_follows = writes && file.state().rhythm.write() && file.stripes.is_none();
    if writes && let Some(memory) = common::memory(file, &accesses, &plan)? {
        // SAFETY: the caller's promise.
        let moved = unsafe { common::write(access, &accesses, &plan, &memory, sync_follows) };
        return agree::together(file, moved);
    }
    let end = match (&file.stripes, direction) {
        (Some(striped), Direction::Read) => striped.measured(file)?,
        _ => 0,
    };
    let rounds = Rounds {
        file,
        end,
        cutter: Cutter::new(
            access.transfer.view.extents(access.transfer.position, access.transfer.bytes),
        ),
        plan,
        aggregators,
        sync_follows,
    };
    // SAFETY: the caller's promise.
    let moved = unsafe {
        match direction {
            Direction::Write => rounds.write(access),
            Direction::Read => rounds.read(access),
        }
    };
    agree::together(file, moved)
}

/// Words by which each rank tells the others of its access.
const TOLD_WORDS: usize = 7;

/// What the others have to know of an access: its hints, and where in the file it is.
fn told(access: &Access<'_>, direction: Direction) -> [u64; TOLD_WORDS] {
    let Transfer { view, position, bytes, hints, .. } = &access.transfer;
    let mine = two_phase::Access::of(view.extents(*position, *bytes));
    let wishes = Wishes::of(hints, direction).word();
    [wishes, hints.gather_bytes, mine.start, mine.end, mine.bytes, mine.runs, mine.marks]
}

/// Where in the file the access is that a rank has told of.
fn access_of([_, _, start, end, bytes, runs, marks]: &[u64; TOLD_WORDS]) -> two_phase::Access {
    two_phase::Access { start: *start, end: *end, bytes: *bytes, runs: *runs, marks: *marks }
}

/// Whether the pieces of all ranks are gathered, in two phases.
fn gathers(
    file: &FileObject,
    direction: Direction,
    wish: When,
    accesses: &[two_phase::Access],
) -> bool {
    let any = accesses.iter().any(|a| a.runs > 0);
    match wish {
        _ if file.stripes.is_some() => any,
        When::Never => false,
        When::Always => any,
        When::Automatic if direction == Direction::Read && file.is_near() => {
            two_phase::pays_for_near_reads(accesses)
        }
        When::Automatic if file.file.is_in_memory() && file.is_near() => {
            two_phase::pays_for_writes_to_memory(accesses)
        }
        When::Automatic => two_phase::pays(accesses),
    }
}

/// Who moves which part of the file, and the ranks that do.
fn plan(
    file: &FileObject,
    accesses: &[two_phase::Access],
    wishes: Wishes,
    window: u64,
) -> (Plan, Vec<usize>) {
    if let Some(striped) = &file.stripes {
        return (Plan::striped(accesses, striped.layout(), window), striped.owners().to_vec());
    }
    let aggregators = aggregators(file, wishes.aggregators as usize);
    (Plan::new(accesses, aggregators.len() as u32, window), aggregators)
}

/// What a rank's hints ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wishes {
    gather: When,
    /// How many ranks gather; 0: that is left to us.
    aggregators: u32,
}

impl Wishes {
    fn of(hints: &Hints, direction: Direction) -> Wishes {
        let gather = match direction {
            Direction::Read => hints.gather_reads,
            Direction::Write => hints.gather_writes,
        };
        Wishes { gather, aggregators: hints.aggregators }
    }

    /// As they are told to the other ranks.
    fn word(self) -> u64 {
        let gather = match self.gather {
            When::Automatic => 0,
            When::Always => 1,
            When::Never => 2,
        };
        u64::from(self.aggregators) << 8 | gather
    }

    fn told(word: u64) -> Wishes {
        let gather = match word & 0xff {
            1 => When::Always,
            2 => When::Never,
            _ => When::Automatic,
        };
        Wishes { gather, aggregators: (word >> 8) as u32 }
    }
}

/// The ranks that gather: as many as were asked for, else the first of each host.
fn aggregators(file: &FileObject, wanted: usize) -> Vec<usize> {
    let size = file.size();
    if wanted > 0 {
        let n = wanted.min(size);
        return (0..n).map(|i| i * size / n).collect();
    }
    let mut seen = BTreeSet::new();
    (0..size).filter(|rank| seen.insert(file.hosts[*rank])).collect()
}

/// A collective access under way.
struct Rounds<'a> {
    file: &'a FileObject,
    /// Bytes of the file, if it is striped and to be read.
    end: u64,
    cutter: Cutter,
    plan: Plan,
    /// Ranks, by the aggregator's number in the plan.
    aggregators: Vec<usize>,
    /// What is written may be sent to the device at once.
    sync_follows: bool,
}

/// What one round moves: parts of this rank's stream, by the rank of the aggregator, and the pieces of
/// others that this rank gathers, by their rank.
struct Round {
    cuts: Vec<Vec<Cut>>,
    pieces: Vec<Vec<Extent>>,
}

impl Rounds<'_> {
    /// Tells the aggregators which pieces they get or give in a round.
    fn round(&self, number: u64) -> Result<Round> {
        let mut cuts = vec![Vec::new(); self.file.size()];
        for (aggregator, rank) in self.aggregators.iter().enumerate() {
            let windows = self.plan.windows(aggregator as u32, number);
            let cut = windows.into_iter().map(|window| self.cutter.cut(window));
            cuts[*rank] = cut.filter(|cut| cut.len > 0).collect();
        }
        let extents = |cuts: &Vec<Cut>| cuts.iter().map(|cut| cut.extents.len()).sum::<usize>();
        let own = self.file.rank();
        // What this rank gathers of its own it knows.
        let told = |(rank, cuts)| if rank == own { 0 } else { extents(cuts) };
        let counts: Vec<_> = cuts.iter().enumerate().map(|cuts| [told(cuts) as u64]).collect();
        let incoming = agree::exchange_words(self.file.comm, &counts)?;
        let mut lists = Vec::new();
        let others = cuts.iter().enumerate().filter(|(rank, _)| *rank != own);
        others.flat_map(|(_, cuts)| cuts).for_each(|cut| encode(&cut.extents, &mut lists));
        let send = parts(counts.iter().map(|[n]| *n as usize * PIECE));
        let recv = parts(incoming.iter().map(|[n]| *n as usize * PIECE));
        let mut gathered = vec![0; end(&recv)];
        agree::exchange_bytes(self.file.comm, (&lists, &send), (&mut gathered, &recv))?;
        let mut pieces: Vec<_> =
            recv.iter().map(|(at, len)| decode(&gathered[*at..at + len])).collect();
        pieces[own] = cuts[own].iter().flat_map(|cut| cut.extents.iter().copied()).collect();
        let me = self.aggregators.iter().position(|rank| *rank == self.file.rank());
        let windows = me.map_or(Vec::new(), |me| self.plan.windows(me as u32, number));
        pieces.iter().try_for_each(|list| check(list, &windows))?;
        Ok(Round { cuts, pieces })
    }

    /// # Safety
    /// The memory of the access may be read.
    unsafe fn write(&self, access: &Access<'_>) -> Result<u64> {
        let mut outcome = Ok(());
        let mut scratch = self.file.scratch();
        for number in 0..self.plan.rounds() {
            let round = self.round(number)?;
            let mut packed = Vec::new();
            // SAFETY: the caller's promise.
            let (mine, send) = unsafe { self.outgoing(access, &round.cuts, &mut packed) };
            let own = self.file.rank();
            let (at, len) = send[own];
            let length =
                |(rank, list): (usize, &Vec<Extent>)| if rank == own { 0 } else { total(list) };
            let recv = parts(round.pieces.iter().enumerate().map(length));
            // What this rank gathers of its own stays where it is.
            let mut others = send.clone();
            others[own].1 = 0;
            // Never made shorter: what is added is filled with zeros.
            scratch.resize(scratch.len().max(end(&recv)), 0);
            let gathered = &mut scratch[..end(&recv)];
            agree::exchange_bytes(self.file.comm, (mine, &others), (gathered, &recv))?;
            let mut data: Vec<&[u8]> =
                recv.iter().map(|(at, len)| &gathered[*at..at + len]).collect();
            data[own] = &mine[at..at + len];
            // Others go on to the next round, so an error waits for the end.
            outcome = outcome.and_then(|()| self.write_pieces(&round.pieces, &data));
            if self.sync_follows
                && let Some((from, to)) = spanned(&round.pieces)
            {
                self.file.file.begin_sync(from, to - from);
            }
        }
        self.file.keep_scratch(scratch);
        outcome.map(|()| access.transfer.bytes)
    }

    /// The bytes of these cuts, and where those of each aggregator lie in them, by its rank. They are packed only where they do not lie in
    /// one run each.
    ///
    /// # Safety
    /// The memory of the access may be read.
    unsafe fn outgoing<'m>(
        &self,
        access: &'m Access<'_>,
        cuts: &[Vec<Cut>],
        packed: &'m mut Vec<u8>,
    ) -> (&'m [u8], agree::Parts) {
        let memory = &access.transfer.memory;
        let single = cuts.iter().all(|cuts| cuts.len() <= 1);
        if let Some((first, len)) = memory.run().filter(|_| single) {
            let part = |cuts: &Vec<Cut>| {
                cuts.first().map_or((0, 0), |cut| (cut.at as usize, cut.len as usize))
            };
            // SAFETY: the caller's promise: so many bytes in one run.
            let all = unsafe { core::slice::from_raw_parts(first, len) };
            return (all, cuts.iter().map(part).collect());
        }
        let mut staging = Vec::new();
        for cut in cuts.iter().flatten() {
            // SAFETY: the caller's promise; a cut lies inside the stream.
            packed.extend_from_slice(unsafe { memory.read(cut.at, cut.len, &mut staging) });
        }
        (packed, parts(cuts.iter().map(|cuts| bytes(cuts))))
    }

    /// Writes what was gathered, `data` of each rank, in as large runs as it makes.
    fn write_pieces(&self, pieces: &[Vec<Extent>], data: &[&[u8]]) -> Result<()> {
        let sorted = in_order(pieces);
        let all: u64 = sorted.iter().map(|piece| piece.extent.len).sum();
        // Servers get what follows each other in memory in large requests.
        let remote = self.file.file.is_remote();
        let apart = !remote && all >= SHORT_PART * sorted.len() as u64;
        let most = if remote { usize::MAX } else { LONGEST_COPIED };
        let mut run = Run { rounds: self, start: 0, end: 0, parts: Vec::new(), copied: Vec::new() };
        for Piece { extent, rank, at } in sorted {
            let part = &data[rank][at..at + extent.len as usize];
            let place = self.place(extent.at);
            if place != run.end || run.copied.len().saturating_add(part.len()) > most {
                run.store()?;
                (run.start, run.end) = (place, place);
            }
            match apart {
                true => run.parts.push(IoSlice::new(part)),
                false => run.copied.extend_from_slice(part),
            }
            run.end += part.len() as u64;
        }
        run.store()
    }

    /// Where a byte of the file lies in what this rank writes to and reads from.
    fn place(&self, at: u64) -> u64 {
        self.file.stripes.as_ref().map_or(at, |striped| striped.layout().place(at).1)
    }

    fn store(&self, place: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        match &self.file.stripes {
            Some(striped) => striped.own()?.write_parts_at(place, parts),
            None => self.file.file.write_parts_at(place, parts),
        }
    }

    /// # Safety
    /// The memory of the access may be written.
    unsafe fn read(&self, access: &Access<'_>) -> Result<u64> {
        let mut outcome = Ok(());
        // Stream bytes that came, up to the first that the file does not have.
        let mut parts_read: Vec<(u64, u64, u64)> = Vec::new();
        for number in 0..self.plan.rounds() {
            let round = self.round(number)?;
            let give = parts(round.pieces.iter().map(|list| total(list)));
            let mut out = vec![0; end(&give)];
            let there = self.read_pieces(&round.pieces, &give, &mut out);
            let there = there.unwrap_or_else(|error| {
                outcome = core::mem::replace(&mut outcome, Ok(())).and(Err(error));
                vec![0; round.pieces.len()]
            });
            let words: Vec<_> = there.iter().map(|n| [*n as u64]).collect();
            let got = agree::exchange_words(self.file.comm, &words)?;
            let take = parts(round.cuts.iter().map(|cuts| bytes(cuts)));
            let mut mine = vec![0; end(&take)];
            agree::exchange_bytes(self.file.comm, (&out, &give), (&mut mine, &take))?;
            for ((cuts, (at, _)), [there]) in round.cuts.iter().zip(&take).zip(&got) {
                let (mut at, mut there) = (*at, *there);
                for cut in cuts {
                    let n = there.min(cut.len);
                    // SAFETY: the caller's promise; a cut lies inside the stream.
                    unsafe { access.transfer.memory.write(cut.at, &mine[at..at + n as usize]) };
                    parts_read.push((cut.at, cut.len, n));
                    at += cut.len as usize;
                    there -= n;
                }
            }
        }
        outcome.map(|()| contiguous(parts_read))
    }

    /// Reads the pieces of all ranks; says how many bytes of each rank's the file has.
    fn read_pieces(
        &self,
        pieces: &[Vec<Extent>],
        places: &agree::Parts,
        out: &mut [u8],
    ) -> Result<Vec<usize>> {
        let sorted = in_order(pieces);
        let (Some(first), Some(last)) =
            (sorted.first(), sorted.iter().map(|p| p.extent.at + p.extent.len).max())
        else {
            return Ok(vec![0; pieces.len()]);
        };
        let first = first.extent;
        let start = self.place(first.at);
        let mut whole = vec![0; (self.place(last - 1) + 1 - start) as usize];
        let file_end = match &self.file.stripes {
            Some(striped) => {
                // What a stripe does not have of the file's bytes is a hole in it.
                striped.own()?.read_at(start, &mut whole)?;
                self.end
            }
            None => first.at + self.file.file.read_at(start, &mut whole)? as u64,
        };
        for Piece { extent, rank, at } in &sorted {
            let from = (self.place(extent.at) - start) as usize;
            let len = extent.len.min(file_end.saturating_sub(extent.at)) as usize;
            let to = places[*rank].0 + at;
            out[to..to + len].copy_from_slice(&whole[from..from + len]);
        }
        let had = |list: &Vec<Extent>| {
            list.iter().map(|p| file_end.saturating_sub(p.at).min(p.len) as usize).sum()
        };
        Ok(pieces.iter().map(had).collect())
    }
}

/// A piece of a rank's, whose bytes begin at byte `at` of that rank's.
#[derive(Clone, Copy)]
struct Piece {
    extent: Extent,
    rank: usize,
    at: usize,
}

/// The bytes of the file from the first piece of all ranks to the last, whose lists are in its order.
fn spanned(pieces: &[Vec<Extent>]) -> Option<(u64, u64)> {
    let from = pieces.iter().filter_map(|list| list.first()).map(|piece| piece.at).min()?;
    let to =
        pieces.iter().filter_map(|list| list.last()).map(|piece| piece.at + piece.len).max()?;
    Some((from, to))
}

/// The pieces of all ranks in the order of the file.
fn in_order(pieces: &[Vec<Extent>]) -> Vec<Piece> {
    let mut all = Vec::with_capacity(pieces.iter().map(Vec::len).sum());
    for (rank, list) in pieces.iter().enumerate() {
        let mut at = 0;
        for extent in list {
            all.push(Piece { extent: *extent, rank, at });
            at += extent.len as usize;
        }
    }
    // Stable: where ranks write the same bytes the last one's stay.
    all.sort_by_key(|piece| piece.extent.at);
    all
}

/// Parts shorter than this on average are copied together: each part that the system takes by itself costs it some 50 ns.
const SHORT_PART: u64 = 512;
/// Bytes that are copied together, at most: they stay in a processor's own cache until they are written.
const LONGEST_COPIED: usize = 256 << 10;

/// A run of the file that is to be written: parts that lie somewhere in memory, or have been copied together.
struct Run<'a> {
    rounds: &'a Rounds<'a>,
    start: u64,
    end: u64,
    parts: Vec<IoSlice<'a>>,
    copied: Vec<u8>,
}

impl Run<'_> {
    /// Writes what there is. Who gathers nothing may have no place to write to.
    fn store(&mut self) -> Result<()> {
        if self.parts.is_empty() && self.copied.is_empty() {
            return Ok(());
        }
        let stored = match self.parts.is_empty() {
            true => self.rounds.store(self.start, &mut [IoSlice::new(&self.copied)]),
            false => self.rounds.store(self.start, &mut self.parts),
        };
        self.parts.clear();
        self.copied.clear();
        stored
    }
}

/// Bytes from the beginning of the stream that came without a gap; parts are (at, wanted, came).
fn contiguous(mut parts: Vec<(u64, u64, u64)>) -> u64 {
    parts.sort_unstable();
    let mut end = 0;
    for (at, wanted, came) in parts {
        if at != end {
            break;
        }
        end += came;
        if came < wanted {
            break;
        }
    }
    end
}

/// Bytes of an extent in a list that is sent.
const PIECE: usize = 16;

fn encode(extents: &[Extent], list: &mut Vec<u8>) {
    list.reserve(extents.len() * PIECE);
    for Extent { at, len } in extents {
        list.extend_from_slice(&at.to_le_bytes());
        list.extend_from_slice(&len.to_le_bytes());
    }
}

/// What another rank asks for is an allegation: its pieces have to lie in our windows, in order.
fn check(list: &[Extent], windows: &[(u64, u64)]) -> Result<()> {
    let mut next = 0;
    for piece in list {
        let window = windows.get(windows.partition_point(|(_, to)| *to <= piece.at));
        let fits = |end: u64| window.is_some_and(|(from, to)| piece.at >= *from && end <= *to);
        let end = piece.at.checked_add(piece.len).filter(|end| piece.at >= next && fits(*end));
        let Some(end) = end else {
            let (from, to) = span(windows);
            let text = format!(
                "a rank asks for {} bytes from byte {} on; expected them in order inside {from} to {to}, in {} windows",
                piece.len,
                piece.at,
                windows.len()
            );
            return Err(wrong(Class::Other, text));
        };
        next = end;
    }
    Ok(())
}

/// From the beginning of the first window to the end of the last.
fn span(windows: &[(u64, u64)]) -> (u64, u64) {
    windows.first().zip(windows.last()).map_or((0, 0), |((from, _), (_, to))| (*from, *to))
}

/// Bytes of a rank's cuts.
fn bytes(cuts: &[Cut]) -> usize {
    cuts.iter().map(|cut| cut.len as usize).sum()
}

fn decode(bytes: &[u8]) -> Vec<Extent> {
    let word = |b: &[u8]| b.first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
    bytes.chunks_exact(PIECE).map(|b| Extent { at: word(b), len: word(&b[8..]) }).collect()
}

fn total(list: &[Extent]) -> usize {
    list.iter().map(|e| e.len as usize).sum()
}

/// Parts of these lengths, one behind the other.
fn parts(lengths: impl Iterator<Item = usize>) -> agree::Parts {
    let mut at = 0;
    let place = |len| {
        let part = (at, len);
        at += len;
        part
    };
    lengths.map(place).collect()
}

fn end(parts: &agree::Parts) -> usize {
    parts.last().map_or(0, |(at, len)| at + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_where_bytes_are_missing() {
        assert_eq!(contiguous(vec![(4, 4, 4), (0, 4, 4), (8, 4, 1), (12, 4, 4)]), 9);
        assert_eq!(contiguous(vec![(4, 4, 4)]), 0);
        assert_eq!(contiguous(Vec::new()), 0);
    }

    #[test]
    fn wishes_travel() {
        for gather in [When::Automatic, When::Always, When::Never] {
            for aggregators in [0, 1, 300, u32::MAX] {
                let wishes = Wishes { gather, aggregators };
                assert_eq!(Wishes::told(wishes.word()), wishes);
            }
        }
    }

    #[test]
    fn lists_of_extents_travel() {
        let list = [Extent { at: 1 << 40, len: 3 }, Extent { at: 7, len: u64::MAX }];
        let mut bytes = Vec::new();
        encode(&list, &mut bytes);
        assert_eq!(decode(&bytes), list);
    }
}
