//! What the ranks of a real job called, as `mpirun --record` writes it: a file for each rank, made one program here.
//!
//! A line has a call as in a [trace](crate::trace), without ranks. Beside those there are:
//!
//! | line | what |
//! |---|---|
//! | `hpvm-trace 1 rank R of N` | the first |
//! | `host NAME` | where the rank ran |
//! | `group ID 0-3,7` | the ranks of a communicator, in its order; collectives on it, and messages, end with `@ID` |
//! | `irecv ? BYTES ?` | from whoever, with whatever tag: what came is behind `wait` |
//! | `wait N PEER TAG` | the same as `wait N`, for such a receive |
//! | `unknown NAME` | a call that cannot be simulated |
//! | `end TIME` | the last: so long after the first |

use crate::error::Error;
use crate::machine::read_time;
use crate::program::{Call, Collective, Kind, Program};
use crate::time::Time;
use crate::trace::{MAX_CALLS, read_back, read_bytes, read_collective, read_tag, unknown};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Most communicators: what the engine has numbers for.
const MAX_GROUPS: usize = 8000;
/// Most ranks of a recorded job: each has a file.
pub const MAX_RANKS: u32 = 1 << 16;

/// The calls of a recorded job.
#[derive(Debug)]
pub struct Recorded {
    calls: Vec<Vec<Call>>,
    /// Ranks by the number of the group, less one.
    groups: Vec<Vec<u32>>,
    hosts: u32,
    measured: Time,
}

/// A recorded job on as many ranks as it had, or on a multiple: rank number r does what rank r modulo the recorded number did.
#[derive(Debug)]
pub struct Replay {
    recorded: Rc<Recorded>,
    ranks: u32,
}

/// A message's tag in a communicator.
type Labels = BTreeMap<(String, i32), i32>;

/// What all files say together.
#[derive(Default)]
struct Common {
    /// The ranks of each communicator, and its number: 0 is all ranks in their order.
    groups: BTreeMap<String, (Vec<u32>, u32)>,
    labels: Labels,
    hosts: BTreeSet<String>,
    total: usize,
}

/// A rank's file as far as it has been read.
struct Reading<'a> {
    rank: u32,
    size: u32,
    calls: Vec<Call>,
    /// Where the non-blocking calls so far are in `calls`.
    started: Vec<usize>,
    /// Communicators of the collectives among the calls, by their places.
    collectives: Vec<(usize, &'a str)>,
    /// Of receives from whoever: their communicators.
    open: BTreeMap<usize, &'a str>,
    end: Option<Time>,
}

/// The number of ranks that a rank's file names in its first line, and the rank.
///
/// # Errors
/// It does not begin as such a file does.
pub fn first_line(text: &str) -> Result<(u32, u32), Error> {
    let line = text.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.parse::<u32>().ok();
    let found = match words[..] {
        ["hpvm-trace", "1", "rank", rank, "of", size] => number(rank).zip(number(size)),
        _ => None,
    };
    found.filter(|(rank, size)| rank < size && *size <= MAX_RANKS).ok_or_else(|| {
        Error::new(format!(
            "'{line}': expected 'hpvm-trace 1 rank R of N', what mpirun --record writes"
        ))
    })
}

impl Recorded {
    /// Reads the files of all ranks, in their order.
    ///
    /// # Errors
    /// Which line of which rank is not understood, or how ranks contradict each other.
    pub fn read<'a>(files: impl IntoIterator<Item = &'a str>) -> Result<Recorded, Error> {
        let mut common = Common::default();
        let mut ranks = Vec::new();
        for (expected, text) in (0..).zip(files) {
            let wrong = |error: Error| Error::new(format!("rank {expected}: {error}"));
            let (rank, size) = first_line(text).map_err(wrong)?;
            if rank != expected {
                return Err(wrong(Error::new(format!("the file is that of rank {rank}"))));
            }
            let mut reading = Reading::new(rank, size);
            for (number, line) in (1..).zip(text.lines()).skip(1) {
                let words: Vec<&str> = line.split_whitespace().collect();
                let read = reading.line(&words, &mut common);
                read.map_err(|error| Error::new(format!("rank {rank}, line {number}: {error}")))?;
            }
            if let Some(index) = reading.open.keys().next() {
                let text = format!("receive number {index} has '?' and is never waited for");
                return Err(wrong(Error::new(text)));
            }
            if reading.end.is_none() {
                return Err(wrong(Error::new(
                    "there is no line 'end': the rank did not get to MPI_Finalize",
                )));
            }
            ranks.push(reading);
        }
        let size = ranks.first().map_or(0, |reading| reading.size);
        if ranks.len() as u32 != size || ranks.iter().any(|reading| reading.size != size) {
            return Err(Error::new(format!("{} files of a job of {size} ranks", ranks.len())));
        }
        agree(&mut ranks, &common)?;
        let mut groups = vec![Vec::new(); common.groups.values().filter(|(_, n)| *n > 0).count()];
        for (ranks, number) in common.groups.into_values().filter(|(_, number)| *number > 0) {
            groups[number as usize - 1] = ranks;
        }
        Ok(Recorded {
            measured: ranks.iter().filter_map(|reading| reading.end).max().unwrap_or(0),
            calls: ranks.into_iter().map(|reading| reading.calls).collect(),
            groups,
            hosts: (common.hosts.len() as u32).clamp(1, size),
        })
    }

    /// How many ranks the job had.
    pub fn ranks(&self) -> u32 {
        self.calls.len() as u32
    }

    /// On how many hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// What it took, from when the first line was written to when the last rank was through.
    pub fn measured(&self) -> Time {
        self.measured
    }
}

impl<'a> Reading<'a> {
    fn new(rank: u32, size: u32) -> Reading<'a> {
        Reading {
            rank,
            size,
            calls: Vec::new(),
            started: Vec::new(),
            collectives: Vec::new(),
            open: BTreeMap::new(),
            end: None,
        }
    }

    fn line(&mut self, words: &[&'a str], common: &mut Common) -> Result<(), Error> {
        if self.end.is_some() && !words.is_empty() {
            return Err(Error::new("there is something behind 'end'"));
        }
        let (words, id) = match words {
            [rest @ .., last] if last.starts_with('@') => (rest, &last[1..]),
            _ => (words, ""),
        };
        match *words {
            [] => {}
            ["host", name] => drop(common.hosts.insert(name.to_owned())),
            ["group", id, list] => common.add(id, read_list(list, self.size)?, self)?,
            ["unknown", name] => {
                return Err(Error::new(format!("{name} is not among what can be simulated")));
            }
            ["end", time] => self.end = Some(read_time(time)?),
            ["compute", time] => self.calls.push(Call::Compute(read_time(time)?)),
            ["mark"] => self.calls.push(Call::Mark),
            ["wait", back, ref from @ ..] => {
                let back = read_back(back)?;
                if let [peer, tag] = *from {
                    self.resolve(back, peer, tag, common)?;
                }
                self.calls.push(Call::Wait(back));
            }
            [kind @ ("send" | "recv" | "isend" | "irecv"), peer, bytes, tag] => {
                self.message(kind, (peer, read_bytes(bytes)?, tag), id, common)?;
            }
            [name, ref rest @ ..] => self.collective((name, rest), id, common)?,
        }
        common.total += 1;
        if common.total > MAX_CALLS {
            return Err(Error::new(format!("more than {MAX_CALLS} calls in all")));
        }
        Ok(())
    }

    fn peer(&self, word: &str) -> Result<u32, Error> {
        let peer = word.parse().ok().filter(|peer| *peer < self.size);
        peer.ok_or_else(|| Error::new(format!("'{word}': expected a rank below {}", self.size)))
    }

    fn message(
        &mut self,
        kind: &str,
        (peer, bytes, tag): (&str, usize, &str),
        id: &'a str,
        common: &mut Common,
    ) -> Result<(), Error> {
        let open = kind == "irecv" && (peer == "?" || tag == "?");
        let (peer, tag) = match open {
            true => (0, 0),
            false => (self.peer(peer)?, common.label(id, read_tag(Some(tag))?)),
        };
        if kind.starts_with('i') {
            self.started.push(self.calls.len());
        }
        if open {
            self.open.insert(self.calls.len(), id);
        }
        self.calls.push(match kind {
            "send" => Call::Send { to: peer, bytes, tag },
            "isend" => Call::Isend { to: peer, bytes, tag },
            "recv" => Call::Recv { from: peer, bytes, tag },
            _ => Call::Irecv { from: peer, bytes, tag },
        });
        Ok(())
    }

    /// What came of a receive from whoever.
    fn resolve(
        &mut self,
        back: u32,
        peer: &str,
        tag: &str,
        common: &mut Common,
    ) -> Result<(), Error> {
        let (peer, tag) = (self.peer(peer)?, read_tag(Some(tag))?);
        let index = self.started.len().checked_sub(back as usize);
        let at = index.and_then(|index| self.started.get(index)).copied();
        let Some(id) = at.and_then(|at| self.open.remove(&at)) else { return Ok(()) };
        let label = common.label(id, tag);
        if let Some(Call::Irecv { from, tag, .. }) = at.and_then(|at| self.calls.get_mut(at)) {
            (*from, *tag) = (peer, label);
        }
        Ok(())
    }

    fn collective(
        &mut self,
        (name, rest): (&str, &[&'a str]),
        id: &'a str,
        common: &Common,
    ) -> Result<(), Error> {
        let group = match id {
            "" => 0,
            id => common
                .groups
                .get(id)
                .map(|(_, number)| *number)
                .ok_or_else(|| Error::new(format!("'@{id}': there is no such group before")))?,
        };
        let members = common.groups.get(id).map_or(self.size, |(ranks, _)| ranks.len() as u32);
        let root = |word: &str| {
            let root = word.parse().ok().filter(|root| *root < members);
            root.ok_or_else(|| Error::new(format!("'{word}': expected a root below {members}")))
        };
        let Some(call) = read_collective(name, rest, root)? else {
            let words: Vec<&str> = [name].into_iter().chain(rest.iter().copied()).collect();
            return Err(unknown(&words));
        };
        if call.pending {
            self.started.push(self.calls.len());
        }
        self.collectives.push((self.calls.len(), id));
        self.calls.push(Call::Collective(Collective { group, ..call }));
        Ok(())
    }
}

impl Common {
    /// Takes the ranks of a communicator, which all of them tell.
    fn add(&mut self, id: &str, ranks: Vec<u32>, teller: &Reading<'_>) -> Result<(), Error> {
        if !ranks.contains(&teller.rank) {
            return Err(Error::new(format!("group {id} is without the rank that tells of it")));
        }
        let all = ranks.iter().copied().eq(0..teller.size);
        let next = self.groups.values().filter(|(_, number)| *number > 0).count() + 1;
        match self.groups.get(id) {
            Some((known, _)) if *known != ranks => {
                return Err(Error::new(format!("group {id} has other ranks than elsewhere")));
            }
            Some(_) => return Ok(()),
            None if next > MAX_GROUPS => {
                return Err(Error::new(format!("more than {MAX_GROUPS} groups")));
            }
            None => {}
        }
        self.groups.insert(id.to_owned(), (ranks, if all { 0 } else { next as u32 }));
        Ok(())
    }

    /// A tag that no other communicator has.
    fn label(&mut self, id: &str, tag: i32) -> i32 {
        let next = self.labels.len() as i32;
        *self.labels.entry((id.to_owned(), tag)).or_insert(next)
    }
}

/// Reads `0-3,7`.
fn read_list(list: &str, size: u32) -> Result<Vec<u32>, Error> {
    let wrong = || Error::new(format!("'{list}': expected different ranks below {size}, as 0-3,7"));
    let mut ranks = Vec::new();
    for part in list.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| word.parse::<u32>().ok().filter(|rank| *rank < size);
        let (from, to) = number(from).zip(number(to)).ok_or_else(wrong)?;
        ranks.extend(from..=to);
        if from > to || ranks.len() > size as usize {
            return Err(wrong());
        }
    }
    let different: BTreeSet<u32> = ranks.iter().copied().collect();
    if different.len() == ranks.len() { Ok(ranks) } else { Err(wrong()) }
}

/// All members of a communicator have called the same. Where ranks had blocks of different lengths, all get the mean.
fn agree(ranks: &mut [Reading<'_>], common: &Common) -> Result<(), Error> {
    let mut sums: BTreeMap<(&str, usize), (Collective, u64, u64)> = BTreeMap::new();
    for reading in ranks.iter() {
        for (nth, id, call) in reading.numbered() {
            let (first, sum, count) = sums.entry((id, nth)).or_insert((call, 0, 0));
            let same = Collective { bytes: first.bytes, ..call } == *first;
            if !same {
                return Err(Error::new(format!(
                    "collective number {nth} of a communicator is {:?} on rank {}, and {:?} on another",
                    call.kind, reading.rank, first.kind
                )));
            }
            (*sum, *count) = (*sum + call.bytes as u64, *count + 1);
        }
    }
    let all = ranks.len() as u64;
    for ((id, nth), (call, _, count)) in &sums {
        let members = common.groups.get(*id).map_or(all, |(ranks, _)| ranks.len() as u64);
        if *count != members {
            return Err(Error::new(format!(
                "{:?}, collective number {nth} of a communicator, was called by {count} of its {members} ranks",
                call.kind
            )));
        }
    }
    for reading in ranks {
        let numbered: Vec<(usize, &str, Collective)> = reading.numbered().collect();
        for ((at, _), (nth, id, call)) in reading.collectives.iter().zip(numbered) {
            let Some((_, sum, count)) = sums.get(&(id, nth)) else { continue };
            let bytes = sum.div_ceil((*count).max(1)) as usize;
            let bytes = if call.kind.reduces() { bytes.next_multiple_of(8) } else { bytes };
            reading.calls[*at] = Call::Collective(Collective { bytes, ..call });
        }
    }
    Ok(())
}

impl<'a> Reading<'a> {
    /// Its collectives, each with its number among those of its communicator.
    fn numbered(&self) -> impl Iterator<Item = (usize, &'a str, Collective)> + '_ {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.collectives.iter().filter_map(move |(at, id)| {
            let Call::Collective(call) = self.calls[*at] else { return None };
            let nth = counts.entry(id).and_modify(|nth| *nth += 1).or_insert(0);
            Some((*nth, *id, call))
        })
    }
}

impl Replay {
    /// For a job of so many ranks.
    ///
    /// # Errors
    /// That is no multiple of what was recorded.
    pub fn new(recorded: Rc<Recorded>, ranks: u32) -> Result<Replay, Error> {
        let own = recorded.ranks();
        if ranks == 0 || own == 0 || !ranks.is_multiple_of(own) {
            return Err(Error::new(format!(
                "{ranks} ranks: {own} were recorded, so expected a multiple of {own}"
            )));
        }
        Ok(Replay { recorded, ranks })
    }

    /// Who stands for a peer. Ranks keep the distances that they had, the shorter way around, and those between which both
    /// ways are the same stay in their copy: so whoever is sent to is also who receives.
    fn peer(&self, rank: u32, peer: u32) -> u32 {
        let (own, rank_there) = (self.recorded.ranks(), rank % self.recorded.ranks());
        if own == self.ranks || peer.abs_diff(rank_there) * 2 == own {
            return rank - rank_there + peer;
        }
        let forward = (peer + own - rank_there) % own;
        let distance = if forward * 2 < own {
            i64::from(forward)
        } else {
            i64::from(forward) - i64::from(own)
        };
        (i64::from(rank) + distance).rem_euclid(i64::from(self.ranks)) as u32
    }

    /// What becomes of a collective. Where each rank has a block for each other one, ranks keep what they have in all.
    fn collective(&self, call: Collective) -> Collective {
        let copies = (self.ranks / self.recorded.ranks()) as usize;
        let shared = matches!(call.kind, Kind::Alltoall | Kind::ReduceScatter);
        if call.group != 0 || !shared || copies == 1 {
            return call;
        }
        let bytes = call.bytes.div_ceil(copies);
        let bytes = if call.kind.reduces() { bytes.next_multiple_of(8) } else { bytes };
        Collective { bytes, ..call }
    }
}

impl Program for Replay {
    fn call(&self, rank: u32, step: usize) -> Option<Call> {
        let own = self.recorded.ranks();
        let call = *self.recorded.calls.get((rank % own) as usize)?.get(step)?;
        Some(match call {
            Call::Send { to, bytes, tag } => Call::Send { to: self.peer(rank, to), bytes, tag },
            Call::Isend { to, bytes, tag } => Call::Isend { to: self.peer(rank, to), bytes, tag },
            Call::Recv { from, bytes, tag } => {
                Call::Recv { from: self.peer(rank, from), bytes, tag }
            }
            Call::Irecv { from, bytes, tag } => {
                Call::Irecv { from: self.peer(rank, from), bytes, tag }
            }
            Call::Collective(call) => Call::Collective(self.collective(call)),
            call => call,
        })
    }

    fn groups(&self, rank: u32) -> Vec<(u32, Vec<u32>)> {
        let own = self.recorded.ranks();
        let (first, there) = (rank - rank % own, rank % own);
        let groups = (1..).zip(&self.recorded.groups);
        let mine = groups.filter(|(_, ranks)| ranks.contains(&there));
        mine.map(|(n, ranks)| (n, ranks.iter().map(|rank| first + rank).collect())).collect()
    }
}

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod tests;
