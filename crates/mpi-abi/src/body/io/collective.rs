//! Collective access: each rank alone where that is fast, else in two phases ([`hpvm_io::two_phase`]).

use super::access::Access;
use super::transfer::Direction;
use crate::body::agree;
use crate::body::check::wrong;
use crate::object::file::FileObject;
use hpvm_io::two_phase::{self, Cut, Cutter, Plan};
use hpvm_io::{Extent, Hints};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::collections::BTreeSet;

/// Accesses a file together with all its ranks; says how many bytes of the program's data that were.
///
/// # Safety
/// The memory of the access is valid for the direction.
pub unsafe fn run(access: &Access<'_>, direction: Direction) -> Result<u64> {
    let file = access.file;
    if file.size() == 1 && file.stripes.is_none() {
        // SAFETY: the caller's promise.
        return unsafe { access.run(direction) };
    }
    let mine = two_phase::Access::of(
        access.transfer.view.extents(access.transfer.position, access.transfer.bytes),
    );
    let words =
        [mine.start, mine.end, mine.bytes, mine.runs, wants(&access.transfer.hints, direction)];
    let all = agree::all_words(file.comm, file.size(), words)?;
    let accesses: Vec<_> = all
        .iter()
        .map(|[start, end, bytes, runs, _]| two_phase::Access {
            start: *start,
            end: *end,
            bytes: *bytes,
            runs: *runs,
        })
        .collect();
    // Rank 0's wish counts: hints should be the same everywhere, but need not.
    let any = accesses.iter().any(|a| a.runs > 0);
    let gathers = match all[0][4] {
        _ if file.stripes.is_some() => any,
        NEVER => false,
        ALWAYS => any,
        _ => two_phase::pays(&accesses),
    };
    if !gathers {
        // SAFETY: the caller's promise.
        return if file.stripes.is_some() { Ok(0) } else { unsafe { access.run(direction) } };
    }
    // As is the window that it asks for.
    let window = [access.transfer.hints.gather_bytes];
    let window = agree::all_words(file.comm, file.size(), window)?[0][0];
    let (plan, aggregators) = match &file.stripes {
        Some(striped) => {
            (Plan::striped(&accesses, striped.layout(), window), striped.owners().to_vec())
        }
        None => {
            let aggregators = aggregators(file, all[0][4] >> 8);
            (Plan::new(&accesses, aggregators.len() as u32, window), aggregators)
        }
    };
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

const AUTOMATIC: u64 = 0;
const ALWAYS: u64 = 1;
const NEVER: u64 = 2;

/// What this rank's hints say: whether to gather, and how many ranks do so.
fn wants(hints: &Hints, direction: Direction) -> u64 {
    use hpvm_io::When;
    let when = match direction {
        Direction::Read => hints.gather_reads,
        Direction::Write => hints.gather_writes,
    };
    let when = match when {
        When::Automatic => AUTOMATIC,
        When::Always => ALWAYS,
        When::Never => NEVER,
    };
    u64::from(hints.aggregators) << 8 | when
}

/// The ranks that gather: as many as were asked for, else the first of each host.
fn aggregators(file: &FileObject, wanted: u64) -> Vec<usize> {
    let size = file.size();
    if wanted > 0 {
        let n = (wanted as usize).min(size);
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
        let counts: Vec<_> = cuts.iter().map(|cuts| [extents(cuts) as u64]).collect();
        let incoming = agree::exchange_words(self.file.comm, &counts)?;
        let lists: Vec<u8> = cuts.iter().flatten().flat_map(|cut| encode(&cut.extents)).collect();
        let send = parts(cuts.iter().map(|cuts| extents(cuts) * PIECE));
        let recv = parts(incoming.iter().map(|[n]| *n as usize * PIECE));
        let mut gathered = vec![0; end(&recv)];
        agree::exchange_bytes(self.file.comm, (&lists, &send), (&mut gathered, &recv))?;
        let pieces: Vec<_> =
            recv.iter().map(|(at, len)| decode(&gathered[*at..at + len])).collect();
        let me = self.aggregators.iter().position(|rank| *rank == self.file.rank());
        let windows = me.map_or(Vec::new(), |me| self.plan.windows(me as u32, number));
        pieces.iter().try_for_each(|list| check(list, &windows))?;
        Ok(Round { cuts, pieces })
    }

    /// # Safety
    /// The memory of the access may be read.
    unsafe fn write(&self, access: &Access<'_>) -> Result<u64> {
        let mut outcome = Ok(());
        for number in 0..self.plan.rounds() {
            let round = self.round(number)?;
            let mut mine = Vec::new();
            let mut staging = Vec::new();
            for cut in round.cuts.iter().flatten() {
                // SAFETY: the caller's promise; a cut lies inside the stream.
                mine.extend_from_slice(unsafe {
                    access.transfer.memory.read(cut.at, cut.len, &mut staging)
                });
            }
            let send = parts(round.cuts.iter().map(|cuts| bytes(cuts)));
            let recv = parts(round.pieces.iter().map(|list| total(list)));
            let mut gathered = vec![0; end(&recv)];
            agree::exchange_bytes(self.file.comm, (&mine, &send), (&mut gathered, &recv))?;
            // Others go on to the next round, so an error waits for the end.
            outcome = outcome.and_then(|()| self.write_pieces(&round.pieces, &recv, &gathered));
        }
        outcome.map(|()| access.transfer.bytes)
    }

    /// Writes what was gathered in as large runs as it makes.
    fn write_pieces(
        &self,
        pieces: &[Vec<Extent>],
        places: &agree::Parts,
        data: &[u8],
    ) -> Result<()> {
        let sorted = in_order(pieces, places);
        let mut run: Vec<u8> = Vec::new();
        let mut start = 0;
        for (piece, at) in sorted {
            let place = self.place(piece.at);
            if place != start + run.len() as u64 && !run.is_empty() {
                self.store(start, &run)?;
                run.clear();
            }
            if run.is_empty() {
                start = place;
            }
            run.extend_from_slice(&data[at..at + piece.len as usize]);
        }
        match run.is_empty() {
            true => Ok(()),
            false => self.store(start, &run),
        }
    }

    /// Where a byte of the file lies in what this rank writes to and reads from.
    fn place(&self, at: u64) -> u64 {
        self.file.stripes.as_ref().map_or(at, |striped| striped.layout().place(at).1)
    }

    fn store(&self, place: u64, data: &[u8]) -> Result<()> {
        match &self.file.stripes {
            Some(striped) => striped.own()?.write_at(place, data),
            None => self.file.file.write_at(place, data),
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
        let sorted = in_order(pieces, places);
        let (Some((first, _)), Some(last)) =
            (sorted.first(), sorted.iter().map(|(p, _)| p.at + p.len).max())
        else {
            return Ok(vec![0; pieces.len()]);
        };
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
        for (piece, at) in &sorted {
            let from = (self.place(piece.at) - start) as usize;
            let len = piece.len.min(file_end.saturating_sub(piece.at)) as usize;
            out[*at..at + len].copy_from_slice(&whole[from..from + len]);
        }
        let had = |list: &Vec<Extent>| {
            list.iter().map(|p| file_end.saturating_sub(p.at).min(p.len) as usize).sum()
        };
        Ok(pieces.iter().map(had).collect())
    }
}

/// Pieces in the order of the file, with where their bytes lie.
fn in_order(pieces: &[Vec<Extent>], places: &agree::Parts) -> Vec<(Extent, usize)> {
    let mut all = Vec::new();
    for (list, (start, _)) in pieces.iter().zip(places) {
        let mut at = *start;
        for piece in list {
            all.push((*piece, at));
            at += piece.len as usize;
        }
    }
    all.sort_by_key(|(piece, _)| piece.at);
    all
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

fn encode(extents: &[Extent]) -> impl Iterator<Item = u8> + '_ {
    extents.iter().flat_map(|e| [e.at.to_le_bytes(), e.len.to_le_bytes()].into_iter().flatten())
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
    fn lists_of_extents_travel() {
        let list = [Extent { at: 1 << 40, len: 3 }, Extent { at: 7, len: u64::MAX }];
        assert_eq!(decode(&encode(&list).collect::<Vec<_>>()), list);
    }
}
