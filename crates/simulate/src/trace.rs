//! Traces: the calls of each rank as text, and patterns of applications.

use crate::error::Error;
use crate::machine::read_time;
use crate::program::{Call, Collective, Kind, Program};
use crate::time::Time;

/// Most calls of one rank, and all of them together: what fits into memory.
pub(crate) const MAX_CALLS: usize = 1 << 26;
/// Longest message, bytes.
const MAX_BYTES: usize = 1 << 30;

/// The calls of all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    calls: Vec<Vec<Call>>,
}

impl Program for Trace {
    fn call(&self, rank: u32, step: usize) -> Option<Call> {
        self.calls.get(rank as usize)?.get(step).copied()
    }
}

/// A line that all of some ranks do.
struct Line<'a> {
    number: usize,
    ranks: core::ops::RangeInclusive<u32>,
    words: Vec<&'a str>,
}

impl Trace {
    /// Reads a trace for a job of `size` ranks. Each line has ranks (`3`, `0-7` or `*`), a call and its arguments;
    /// `repeat N` and `end` enclose lines that are done so often, and `#` begins a comment. A peer is a rank, or with a
    /// sign a distance from the own rank, around the end.
    pub fn read(text: &str, size: u32) -> Result<Trace, Error> {
        let mut trace = Trace { calls: vec![Vec::new(); size as usize] };
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let Some(first) = words.first() else { continue };
            let wrong = |error: Error| Error::new(format!("line {number}: {error}"));
            let ranks = match *first {
                "repeat" | "end" => 0..=0,
                word => read_ranks(word, size).map_err(wrong)?,
            };
            lines.push(Line { number, ranks, words });
        }
        let mut rest = lines.as_slice();
        let mut total = 0;
        trace.block(&mut rest, size, &mut total, 0)?;
        match rest.first() {
            None => Ok(trace),
            Some(line) => Err(Error::new(format!("line {}: 'end' without 'repeat'", line.number))),
        }
    }

    /// Reads lines up to the end of a block.
    fn block(
        &mut self,
        rest: &mut &[Line<'_>],
        size: u32,
        total: &mut usize,
        depth: usize,
    ) -> Result<(), Error> {
        while let Some((line, after)) = rest.split_first() {
            let wrong = |text: String| Error::new(format!("line {}: {text}", line.number));
            match line.words[0] {
                "end" if depth > 0 => return Ok(()),
                "end" => return Err(wrong("'end' without 'repeat'".into())),
                "repeat" => {
                    let times = match line.words[..] {
                        [_, times] => times.parse::<u32>().ok().filter(|n| *n > 0),
                        _ => None,
                    };
                    let times =
                        times.ok_or_else(|| wrong("expected 'repeat N', N from 1 on".into()))?;
                    // As many blocks in each other as anybody writes by hand.
                    if depth == 16 {
                        return Err(wrong("more than 16 'repeat' in each other".into()));
                    }
                    for _ in 0..times {
                        *rest = after;
                        self.block(rest, size, total, depth + 1)?;
                        if rest.is_empty() {
                            return Err(wrong("'repeat' without 'end'".into()));
                        }
                    }
                    *rest = &rest[1..];
                }
                _ => {
                    *rest = after;
                    for rank in line.ranks.clone() {
                        let call = read_call(&line.words[1..], rank, size);
                        let call = call.map_err(|error| wrong(error.to_string()))?;
                        self.calls[rank as usize].push(call);
                        *total += 1;
                        if *total > MAX_CALLS {
                            return Err(wrong(format!("more than {MAX_CALLS} calls in all")));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn read_ranks(word: &str, size: u32) -> Result<core::ops::RangeInclusive<u32>, Error> {
    let number = |word: &str| word.parse::<u32>().ok().filter(|rank| *rank < size);
    let range = match word.split_once('-') {
        _ if word == "*" => Some((0, size.saturating_sub(1))),
        Some((from, to)) => number(from).zip(number(to)).filter(|(from, to)| from <= to),
        None => number(word).map(|rank| (rank, rank)),
    };
    range.map(|(from, to)| from..=to).ok_or_else(|| {
        Error::new(format!(
            "'{word}': expected ranks below {size}, as 3, 0-7 or *, or repeat N, or end"
        ))
    })
}

fn read_peer(word: &str, rank: u32, size: u32) -> Result<u32, Error> {
    let wrong =
        || Error::new(format!("'{word}': expected a rank below {size}, or a distance as +1"));
    if word.starts_with(['+', '-']) {
        let distance: i64 = word.parse().map_err(|_| wrong())?;
        let size = i64::from(size);
        return Ok((i64::from(rank) + distance % size).rem_euclid(size) as u32);
    }
    word.parse().ok().filter(|rank| *rank < size).ok_or_else(wrong)
}

pub(crate) fn read_bytes(word: &str) -> Result<usize, Error> {
    word.parse()
        .ok()
        .filter(|bytes| *bytes <= MAX_BYTES)
        .ok_or_else(|| Error::new(format!("'{word}': expected bytes from 0 to {MAX_BYTES}")))
}

pub(crate) fn read_tag(word: Option<&str>) -> Result<i32, Error> {
    let Some(word) = word else { return Ok(0) };
    word.parse()
        .ok()
        .filter(|tag| *tag >= 0)
        .ok_or_else(|| Error::new(format!("'{word}': expected a tag from 0 to {}", i32::MAX)))
}

fn read_call(words: &[&str], rank: u32, size: u32) -> Result<Call, Error> {
    let message = |peer: &str, bytes: &str, tag: Option<&str>| {
        Ok::<_, Error>((read_peer(peer, rank, size)?, read_bytes(bytes)?, read_tag(tag)?))
    };
    match *words {
        ["waitall"] => Ok(Call::Waitall),
        ["wait", back] => read_back(back).map(Call::Wait),
        ["mark"] => Ok(Call::Mark),
        ["compute", time] => Ok(Call::Compute(read_time(time)?)),
        [kind @ ("send" | "recv" | "isend" | "irecv"), peer, bytes, ref tag @ ..]
            if tag.len() < 2 =>
        {
            let (peer, bytes, tag) = message(peer, bytes, tag.first().copied())?;
            Ok(match kind {
                "send" => Call::Send { to: peer, bytes, tag },
                "isend" => Call::Isend { to: peer, bytes, tag },
                "recv" => Call::Recv { from: peer, bytes, tag },
                _ => Call::Irecv { from: peer, bytes, tag },
            })
        }
        [name, ref rest @ ..] => {
            let root = |word: &str| read_peer(word, rank, size);
            let call = read_collective(name, rest, root)?;
            call.map(Call::Collective).ok_or_else(|| unknown(words))
        }
        [] => Err(unknown(words)),
    }
}

/// How many starts ago what is waited for was started.
pub(crate) fn read_back(word: &str) -> Result<u32, Error> {
    let back = word.parse().ok().filter(|back| *back > 0);
    back.ok_or_else(|| {
        Error::new(format!("'{word}': expected a number from 1 on, 1 for what was started last"))
    })
}

/// A collective of all ranks; an `i` in front: it does not block. None where the words are no collective.
pub(crate) fn read_collective(
    name: &str,
    rest: &[&str],
    root: impl Fn(&str) -> Result<u32, Error>,
) -> Result<Option<Collective>, Error> {
    let kind =
        |name: &str| Kind::ALL.iter().find(|(_, other)| *other == name).map(|(kind, _)| *kind);
    let (kind, pending) = match (kind(name), name.strip_prefix('i').and_then(kind)) {
        (Some(kind), _) => (kind, false),
        (None, Some(kind)) => (kind, true),
        (None, None) => return Ok(None),
    };
    let (root, bytes) = match *rest {
        [] if kind == Kind::Barrier => (0, 0),
        [at, bytes] if kind.has_root() => (root(at)?, read_bytes(bytes)?),
        [bytes] if !kind.has_root() && kind != Kind::Barrier => (0, read_bytes(bytes)?),
        _ => return Ok(None),
    };
    if kind.reduces() && !bytes.is_multiple_of(8) {
        return Err(Error::new(format!("'{bytes}': {name} has a multiple of 8 bytes")));
    }
    Ok(Some(Collective { kind, bytes, root, group: 0, pending }))
}

pub(crate) fn unknown(words: &[&str]) -> Error {
    Error::new(format!(
        "'{}': expected barrier, allreduce, allgather, alltoall, reduce_scatter or scan BYTES, bcast, reduce, gather or scatter \
         ROOT BYTES, one of these with an i in front, send, recv, isend or irecv PEER BYTES [TAG], wait N, waitall, compute \
         TIME or mark",
        words.join(" ")
    ))
}

/// What `apps/poisson` does in each iteration of conjugate gradients: the faces of a box go to up to six neighbours,
/// then two sums of one number. Kept as numbers: no memory per rank.
#[derive(Clone, Copy, Debug)]
pub struct Poisson {
    /// Inner grid points per direction.
    pub n: u32,
    pub iterations: usize,
    /// Time of a processor for a grid point in an iteration.
    pub point: Time,
    dims: [u32; 3],
}

/// Its sums.
const SUM: Call = Call::of_all(Kind::Allreduce, 8);
/// Calls of an iteration: a mark, 6 receives, 6 sends, the wait, the computation, two sums.
const ITERATION: usize = 1 + 6 + 6 + 1 + 1 + 2;

impl Poisson {
    /// The split with the smallest faces, as the application chooses it.
    pub fn new(n: u32, iterations: usize, point: Time, ranks: u32) -> Result<Poisson, Error> {
        let mut best: Option<[u32; 3]> = None;
        for x in (1..=ranks.min(n)).filter(|x| ranks.is_multiple_of(*x)) {
            for y in (1..=(ranks / x).min(n)).filter(|y| (ranks / x).is_multiple_of(*y)) {
                let dims = [x, y, ranks / x / y];
                let sum = |d: &[u32; 3]| d.iter().sum::<u32>();
                let better = |b: &[u32; 3]| (sum(&dims), [b[0], b[1]]) < (sum(b), [x, y]);
                if dims[2] <= n && best.as_ref().is_none_or(better) {
                    best = Some(dims);
                }
            }
        }
        let dims = best.ok_or_else(|| {
            Error::new(format!("poisson: {ranks} ranks cannot share a grid of {n} points a side"))
        })?;
        Ok(Poisson { n, iterations, point, dims })
    }

    /// Reads `n=64,iterations=10,point=2ns`.
    pub fn read(settings: &str, ranks: u32) -> Result<Poisson, Error> {
        let (mut n, mut iterations, mut point) = (64, 10, 2000);
        for setting in settings.split(',').filter(|s| !s.is_empty()) {
            let wrong = |what: &str| Error::new(format!("poisson: '{setting}': expected {what}"));
            let number = |value: &str, most: u32| {
                value.parse::<u32>().ok().filter(|n| (1..=most).contains(n))
            };
            match setting.split_once('=') {
                Some(("n", value)) => {
                    n = number(value, 100_000).ok_or_else(|| wrong("n from 1 to 100000"))?;
                }
                Some(("iterations", value)) => {
                    let most = 1_000_000;
                    let found = number(value, most);
                    iterations =
                        found.ok_or_else(|| wrong("iterations from 1 to 1000000"))? as usize;
                }
                Some(("point", value)) => point = read_time(value)?,
                _ => return Err(wrong("n=, iterations= or point=")),
            }
        }
        Poisson::new(n, iterations, point, ranks)
    }

    fn place(&self, rank: u32) -> [u32; 3] {
        let [_, y, z] = self.dims;
        [rank / (y * z), rank / z % y, rank % z]
    }

    /// Points of a rank in each direction.
    fn sizes(&self, at: [u32; 3]) -> [u32; 3] {
        core::array::from_fn(|d| self.n / self.dims[d] + u32::from(at[d] < self.n % self.dims[d]))
    }

    /// The neighbour through a face, and the bytes of the face.
    fn face(&self, rank: u32, face: usize) -> Option<(u32, usize)> {
        let (mut at, d) = (self.place(rank), face / 2);
        let sizes = self.sizes(at);
        let points: usize = (0..3).filter(|other| *other != d).map(|o| sizes[o] as usize).product();
        at[d] = if face.is_multiple_of(2) { at[d].checked_sub(1)? } else { at[d] + 1 };
        let [_, y, z] = self.dims;
        (at[d] < self.dims[d]).then_some(((at[0] * y + at[1]) * z + at[2], 8 * points))
    }
}

impl Program for Poisson {
    fn call(&self, rank: u32, step: usize) -> Option<Call> {
        // A barrier and a sum first, for warming up.
        let Some(step) = step.checked_sub(2) else {
            return Some(if step == 0 { Call::BARRIER } else { SUM });
        };
        let (iteration, part) = (step / ITERATION, step % ITERATION);
        if iteration >= self.iterations {
            return (step == self.iterations * ITERATION).then_some(Call::Mark);
        }
        let nothing = Call::Compute(0);
        Some(match part {
            0 => Call::Mark,
            1..=6 => match self.face(rank, part - 1) {
                // The tag is the face as the sender sees it.
                Some((from, bytes)) => Call::Irecv { from, bytes, tag: (part as i32 - 1) ^ 1 },
                None => nothing,
            },
            7..=12 => match self.face(rank, part - 7) {
                Some((to, bytes)) => Call::Isend { to, bytes, tag: part as i32 - 7 },
                None => nothing,
            },
            13 => Call::Waitall,
            14 => {
                let points = self.sizes(self.place(rank)).map(u64::from).iter().product::<u64>();
                Call::Compute(points * self.point)
            }
            _ => SUM,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::US;

    #[test]
    fn traces_are_read() {
        let text =
            "* barrier # all\nrepeat 2\n 0 send +1 8 5\n 1 recv 0 8 5\nend\n0-1 compute 3us\n";
        let trace = Trace::read(text, 2).expect("a trace");
        let send = Call::Send { to: 1, bytes: 8, tag: 5 };
        assert_eq!(trace.calls[0], [Call::BARRIER, send, send, Call::Compute(3 * US)]);
        assert_eq!(trace.calls[1].len(), 4);
        let around = Trace::read("* isend -1 0\n* isend +3 0", 2).expect("a trace");
        assert_eq!(around.calls[0], [Call::Isend { to: 1, bytes: 0, tag: 0 }; 2]);
        let text = "* ireduce 1 16\n* wait 1\n* reduce_scatter 8";
        let collectives = Trace::read(text, 2).expect("a trace");
        let reduce = Collective { kind: Kind::Reduce, bytes: 16, root: 1, group: 0, pending: true };
        let last = Call::of_all(Kind::ReduceScatter, 8);
        assert_eq!(collectives.calls[1], [Call::Collective(reduce), Call::Wait(1), last]);
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, expected) in [
            ("* dance", "line 1: 'dance': expected barrier"),
            ("\n9 barrier", "line 2: '9': expected ranks below 4"),
            ("3-1 barrier", "'3-1': expected ranks"),
            ("0 send 4 8", "'4': expected a rank below 4"),
            ("0 send 1 -8", "'-8': expected bytes"),
            ("0 send 1 8 -1", "'-1': expected a tag"),
            ("0 send 1 8 1 1", "expected barrier"),
            ("repeat 0\nend", "line 1: expected 'repeat N'"),
            ("repeat 2\n0 barrier", "line 1: 'repeat' without 'end'"),
            ("end", "line 1: 'end' without 'repeat'"),
            ("* allreduce 7", "'7': allreduce has a multiple of 8"),
            ("* iscan 7", "'7': iscan has a multiple of 8"),
            ("* gather 8", "expected barrier"),
            ("* bcast 4 8", "'4': expected a rank below 4"),
            ("* wait 0", "'0': expected a number from 1 on"),
            ("* compute 5", "expected a time with its unit"),
            ("repeat 4000000000\n* mark\nend", "more than 67108864 calls"),
        ] {
            let error = Trace::read(text, 4).expect_err(text).to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn poisson_splits_a_cube_like_the_application() {
        assert_eq!(Poisson::new(64, 1, 0, 8).expect("a split").dims, [2, 2, 2]);
        assert_eq!(Poisson::new(64, 1, 0, 6).expect("a split").dims, [3, 2, 1]);
        assert!(Poisson::new(2, 1, 0, 64).is_err());
        let p = Poisson::read("n=10,iterations=3,point=1ns", 8).expect("settings");
        // Each face is seen from both sides.
        for rank in 0..8 {
            for face in 0..6 {
                let Some((other, bytes)) = p.face(rank, face) else { continue };
                assert_eq!(p.face(other, face ^ 1), Some((rank, bytes)));
            }
        }
        for wrong in ["n=0", "n=x", "size=3", "point=3"] {
            assert!(Poisson::read(wrong, 8).is_err(), "{wrong}");
        }
    }
}
