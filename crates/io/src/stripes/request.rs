//! What a rank asks the owner of a stripe for, and what it answers. Bytes of messages; both are allegations to who
//! gets them.

use super::parts::{MOST_PIECES, Part, SHARE_BYTES_MAX};
use super::stripe::Stripe;
use crate::file::Extent;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::ops::Range;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask<'a> {
    /// These bytes at these places of a stripe's data.
    Write(Vec<Extent>, &'a [u8]),
    Read(Vec<Extent>),
    /// Bytes of a stripe's data.
    Length,
    /// A range of the file for oneself, for writing, or shared with other readers. Answered once it is had.
    Lock(Range<u64>, bool),
    /// Ends the lock that was asked for with this number.
    Unlock,
}

/// A message to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The tag of the answer, which is also the number of a lock.
    pub number: u32,
    pub stripe: u64,
    pub ask: Ask<'a>,
}

const WRITE: u64 = 0;
const READ: u64 = 1;
const LENGTH: u64 = 2;
const LOCK: u64 = 3;
const SHARE: u64 = 4;
const UNLOCK: u64 = 5;

/// Bytes before the pieces: verb, number, stripe, pieces.
const HEAD: usize = 32;
const PIECE: usize = 16;
/// The longest message that is a request.
pub const LONGEST_REQUEST: usize = HEAD + MOST_PIECES * PIECE + SHARE_BYTES_MAX as usize;

fn head(verb: u64, number: u32, stripe: u64, pieces: &[Extent], room: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + pieces.len() * PIECE + room);
    let words = [verb, u64::from(number), stripe, pieces.len() as u64];
    let places = pieces.iter().flat_map(|piece| [piece.at, piece.len]);
    words.into_iter().chain(places).for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

/// Asks to write what `data` has of a part.
pub fn write(number: u32, stripe: u64, part: &Part, data: &[u8]) -> Vec<u8> {
    let mut bytes = head(WRITE, number, stripe, &part.pieces, part.bytes);
    part.ranges.iter().for_each(|range| bytes.extend_from_slice(&data[range.clone()]));
    bytes
}

pub fn read(number: u32, stripe: u64, part: &Part) -> Vec<u8> {
    head(READ, number, stripe, &part.pieces, 0)
}

pub fn length(number: u32, stripe: u64) -> Vec<u8> {
    head(LENGTH, number, stripe, &[], 0)
}

pub fn lock(number: u32, range: Range<u64>, alone: bool) -> Vec<u8> {
    let verb = if alone { LOCK } else { SHARE };
    let len = range.end.saturating_sub(range.start);
    head(verb, number, 0, &[Extent { at: range.start, len }], 0)
}

pub fn unlock(number: u32) -> Vec<u8> {
    head(UNLOCK, number, 0, &[], 0)
}

impl Request<'_> {
    /// `None`: no request that this version makes.
    pub fn parse(bytes: &[u8]) -> Option<Request<'_>> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let word = |bytes: &[u8]| bytes.first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
        let count = usize::try_from(word(&head[24..])).ok().filter(|n| *n <= MOST_PIECES)?;
        let (places, data) = rest.split_at_checked(count * PIECE)?;
        let place = |bytes: &[u8]| Extent { at: word(bytes), len: word(&bytes[8..]) };
        let pieces: Vec<Extent> = places.chunks_exact(PIECE).map(place).collect();
        let total = pieces.iter().try_fold(0u64, |sum, piece| {
            piece.at.checked_add(piece.len)?;
            sum.checked_add(piece.len)
        })?;
        let range = || match pieces[..] {
            [piece] => Some(piece.at..piece.at + piece.len),
            _ => None,
        };
        let bare = data.is_empty();
        let ask = match word(head) {
            WRITE if total == data.len() as u64 && total <= SHARE_BYTES_MAX => {
                Ask::Write(pieces, data)
            }
            READ if total <= SHARE_BYTES_MAX && bare => Ask::Read(pieces),
            LENGTH if count == 0 && bare => Ask::Length,
            LOCK if bare => Ask::Lock(range()?, true),
            SHARE if bare => Ask::Lock(range()?, false),
            UNLOCK if count == 0 && bare => Ask::Unlock,
            _ => return None,
        };
        let number = u32::try_from(word(&head[8..])).ok()?;
        Some(Request { number, stripe: word(&head[16..]), ask })
    }
}

/// Bytes of an answer before its data: the class of an error or 0, and a value.
pub const ANSWER: usize = 16;
/// Bytes of an error's text at most.
pub const TEXT: usize = 1000;

/// An answer that is no error.
pub fn answer(value: u64) -> Vec<u8> {
    [0, value].into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The answer to a request that failed.
pub fn failure(error: &Error) -> Vec<u8> {
    let code = u64::from(error.class.code().unsigned_abs());
    let mut bytes: Vec<u8> = [code, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    let text = error.text.as_bytes();
    bytes.extend_from_slice(&text[..text.len().min(TEXT)]);
    bytes
}

/// Does what is asked of a stripe, unless it is a lock. The value of the answer is the length, or, of a read, 1 where
/// the stripe ends before what was asked for: zeros stand for the rest.
pub fn serve(stripe: &Stripe, ask: &Ask<'_>) -> Result<Vec<u8>> {
    match ask {
        Ask::Write(pieces, data) => {
            let mut data = *data;
            for piece in pieces {
                let (now, later) = data.split_at(piece.len as usize);
                stripe.write_at(piece.at, now)?;
                data = later;
            }
            Ok(answer(0))
        }
        Ask::Read(pieces) => {
            let total: u64 = pieces.iter().map(|piece| piece.len).sum();
            let mut out = answer(0);
            out.resize(ANSWER + total as usize, 0);
            let (mut at, mut short) = (ANSWER, false);
            for piece in pieces {
                let part = &mut out[at..at + piece.len as usize];
                short |= stripe.read_at(piece.at, part)? < part.len();
                at += piece.len as usize;
            }
            out[..ANSWER].copy_from_slice(&answer(u64::from(short)));
            Ok(out)
        }
        Ask::Length => Ok(answer(stripe.len()?)),
        Ask::Lock(..) | Ask::Unlock => Err(Class::Intern.into()),
    }
}

/// The value and the data of an answer, of which there have to be `bytes`.
pub fn parse_answer(answer: &[u8], bytes: usize) -> Result<(u64, &[u8])> {
    let word = |bytes: &[u8]| bytes.first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
    let bad = || Error::new(Class::Intern, "an answer about a stripe makes no sense");
    let (head, data) = answer.split_at_checked(ANSWER).ok_or_else(bad)?;
    match word(head) {
        0 if data.len() == bytes => Ok((word(&head[8..]), data)),
        0 => Err(bad()),
        code => {
            let class = i32::try_from(code).ok().and_then(Class::from_code).unwrap_or(Class::Io);
            Err(Error::new(class, String::from_utf8_lossy(data).into_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, Manifest, Shares};
    use super::*;
    use crate::amode::{Amode, CREATE, RDWR};
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    fn stripes(home: &std::path::Path, count: usize) -> Vec<Stripe> {
        let hosts: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        let of = Manifest::new(b"f", home.as_os_str().as_bytes(), &hosts, 4096, [1; 16]).unwrap();
        let amode = Amode::new(RDWR | CREATE).unwrap();
        (0..count as u64).map(|n| Stripe::create(&of, n, amode).unwrap()).collect()
    }

    /// One rank's write or read, by messages to owners.
    #[derive(Clone, Debug)]
    struct Access {
        writes: bool,
        at: u64,
        len: u64,
        gap: u64,
    }

    impl Access {
        fn extents(&self) -> Vec<Extent> {
            let half = self.len / 2;
            let later = Extent { at: self.at + half + self.gap, len: self.len - half };
            vec![Extent { at: self.at, len: half }, later]
        }
    }

    fn accesses() -> impl Strategy<Value = Vec<Access>> {
        let one = (any::<bool>(), 0u64..30_000, 0u64..20_000, 0u64..9000)
            .prop_map(|(writes, at, len, gap)| Access { writes, at, len, gap });
        prop::collection::vec(one, 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Requests of several ranks that reach the owners in any order: what each has written lies there, next to
        /// what others have written into the same units, as in a file in one piece.
        #[test]
        fn as_a_file_in_one_piece(
            accesses in accesses(),
            count in 1usize..4,
            order in prop::collection::vec(any::<u16>(), 64),
        ) {
            let home = tempfile::tempdir().unwrap();
            let stripes = stripes(home.path(), count);
            let layout = Layout { unit: 4096, count: count as u64 };
            let mut model: Vec<u8> = Vec::new();
            for (number, access) in accesses.iter().enumerate() {
                let extents = access.extents();
                let data: Vec<u8> =
                    (0..access.len).map(|n| (n as u8).wrapping_mul(3) ^ number as u8).collect();
                for share in Shares::new(layout, extents.iter().copied()) {
                    // The owners answer in any order.
                    let mut parts: Vec<_> = share.iter().collect();
                    let by = |stripe: u64| order[(number * 3 + stripe as usize) % order.len()];
                    parts.sort_by_key(|(stripe, _)| by(**stripe));
                    let mut back = vec![0; data.len()];
                    for (stripe, part) in &parts {
                        let (tag, stripe) = (number as u32, **stripe);
                        let bytes = match access.writes {
                            true => write(tag, stripe, part, &data),
                            false => read(tag, stripe, part),
                        };
                        prop_assert!(bytes.len() <= LONGEST_REQUEST);
                        let request = Request::parse(&bytes).unwrap();
                        prop_assert_eq!((request.number, request.stripe), (tag, stripe));
                        let answer = serve(&stripes[stripe as usize], &request.ask).unwrap();
                        let wanted = if access.writes { 0 } else { part.bytes };
                        let (_, mut there) = parse_answer(&answer, wanted).unwrap();
                        for range in part.ranges.iter().filter(|_| !access.writes) {
                            let (now, later) = there.split_at(range.len());
                            back[range.clone()].copy_from_slice(now);
                            there = later;
                        }
                    }
                    if !access.writes {
                        for range in parts.iter().flat_map(|(_, part)| &part.ranges) {
                            let mut places = extents.iter().flat_map(|e| e.at..e.at + e.len);
                            let first = places.nth(range.start).unwrap() as usize;
                            for (byte, at) in range.clone().zip(first..) {
                                prop_assert_eq!(back[byte], model.get(at).copied().unwrap_or(0));
                            }
                        }
                    }
                }
                if access.writes {
                    let mut data = data.into_iter();
                    for at in extents.iter().flat_map(|e| e.at..e.at + e.len) {
                        model.resize(model.len().max(at as usize + 1), 0);
                        model[at as usize] = data.next().unwrap();
                    }
                }
                let lengths = stripes.iter().map(|stripe| {
                    let bytes = length(0, stripe.number);
                    let answer = serve(stripe, &Request::parse(&bytes).unwrap().ask).unwrap();
                    layout.size_of(stripe.number, parse_answer(&answer, 0).unwrap().0)
                });
                prop_assert_eq!(lengths.max(), Some(model.len() as u64));
            }
        }

        /// Nothing that is sent makes an owner or its client fail.
        #[test]
        fn garbage(mut bytes in prop::collection::vec(any::<u8>(), 0..200), verb in 0u64..7, pieces in 0u64..5) {
            if let (Some(first), true) = (bytes.get_mut(..HEAD), verb < 6) {
                first[..8].copy_from_slice(&verb.to_le_bytes());
                first[8..24].fill(0);
                first[24..].copy_from_slice(&pieces.to_le_bytes());
            }
            let home = tempfile::tempdir().unwrap();
            if let Some(request) = Request::parse(&bytes) {
                let _ = serve(&stripes(home.path(), 1)[0], &request.ask);
            }
            let _ = parse_answer(&bytes, 8);
        }
    }

    #[test]
    fn requests_and_errors_travel() {
        let parse = |bytes: &[u8]| format!("{:?}", Request::parse(bytes).unwrap().ask);
        assert_eq!(parse(&lock(7, 3..9, true)), "Lock(3..9, true)");
        assert_eq!(parse(&lock(7, 3..9, false)), "Lock(3..9, false)");
        assert_eq!(parse(&unlock(7)), "Unlock");
        let error = Error::new(Class::NoSpace, "no room");
        let back = parse_answer(&failure(&error), 0).unwrap_err();
        assert_eq!((back.class, &*back.text), (Class::NoSpace, "no room"));
        assert!(parse_answer(&answer(1), 3).is_err(), "too short");
        let mut long = length(1, 0);
        long.push(0);
        assert_eq!(Request::parse(&long), None);
    }
}
