//! Headers as they travel, and what is checked of them.

mod reply;

use crate::atomic::{DATATYPES, Datatype, OPS, Op};
use crate::event::NiFail;
use hpvm_wire::narrow;
use reply::{FAILS, FETCHED};
pub use reply::{Replies, Reply};

/// What a packet is. Data that follows by itself has no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Put,
    /// A put whose data follows at once, by itself.
    Push,
    Get,
    Atomic(Op, Datatype),
    /// `PtlFetchAtomic`, and `PtlSwap` with an operand.
    FetchAtomic(Op, Datatype),
    /// From the target of a put whose data follows by itself: send `length` bytes.
    Ready,
    /// From the target: the end of an operation, with what a get or a fetching atomic operation fetched.
    Reply(NiFail),
}

/// The longest element of an atomic operation: a complex long double.
pub const OPERAND: usize = 32;

/// A header. Who sent it is the carrier's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    /// The number of the interface, 0 to 3: the same at both sides.
    pub interface: u8,
    /// Data goes by itself.
    pub long: bool,
    /// The initiator waits for a reply; in a reply: it tells the program nothing (`PTL_ME_ACK_DISABLE`).
    pub flag: bool,
    pub pt_index: u32,
    /// The operation's number at the initiator.
    pub ticket: u64,
    /// In a reply: 0 if the entry was on the priority list, else 1.
    pub match_bits: u64,
    pub hdr_data: u64,
    /// Bytes asked for; in what comes from the target, bytes granted.
    pub length: u64,
    pub remote_offset: u64,
    /// Of a fetching atomic operation; else zero.
    pub operand: [u8; OPERAND],
}

/// What a peer sent is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a packet whose header is none of Portals")
    }
}

impl std::error::Error for Malformed {}

const LONG: u8 = 1;
const FLAG: u8 = 2;

/// In place of a kind: a put that waits for no reply and whose data is behind it. Interface, portal table index (2 bytes); match
/// bits, offset and header data (8 bytes each). The data says how long it is.
const BARE: u8 = 7;
const BARE_BYTES: usize = 4 + 3 * 8;

/// The same with a reply: its ticket (4 bytes) comes behind the header data.
const ASKING: u8 = 10;
const ASKING_BYTES: usize = BARE_BYTES + 4;
const _: () = assert!(ASKING_BYTES + 8 <= hpvm_wire::cell::LINE_PAYLOAD);

/// The same of a get, all of it: match bits and offset (8 bytes each), ticket and length (4 bytes each) behind the index.
const GETTING: u8 = 11;
const GETTING_BYTES: usize = 4 + 2 * 8 + 2 * 4;

/// A kind like those that [`Head::write_numbers`] names.
const PUSH: u8 = 9;

/// Kind, interface and flags, operation, type: a byte each.
const FIRST: usize = 4;
/// Of them follow so many ([`narrow`]).
const NUMBERS: usize = 6;

impl Head {
    /// Without the operand, which comes with fetching atomic operations only, at most.
    const FIXED: usize = FIRST + narrow::bytes(NUMBERS);
    /// At most.
    pub const BYTES: usize = Head::FIXED + OPERAND;

    /// Writes what travels, and says how many bytes that are: with a short put or its reply so few that 8 bytes of data and they
    /// fit a cache line of the transport. A put whose data does not go by itself is followed by `length` bytes.
    #[inline(always)]
    pub fn write(&self, bytes: &mut [u8; Head::BYTES]) -> usize {
        let fixed = match self.kind {
            Kind::Put => self.write_put(bytes),
            Kind::Get => self.write_get(bytes),
            Kind::Reply(NiFail::Ok) => self.write_fetched(bytes),
            _ => None,
        };
        match fixed {
            Some(len) => len,
            None => self.write_numbers(bytes),
        }
    }

    /// Writes a put whose data is behind it and whose numbers are short enough for fixed places. `None`: it is another.
    #[inline(always)]
    fn write_put(&self, bytes: &mut [u8; Head::BYTES]) -> Option<usize> {
        if self.long || !(self.flag || self.ticket == 0) {
            return None;
        }
        let [low, high] = u16::try_from(self.pt_index).ok()?.to_le_bytes();
        let ticket = u32::try_from(self.ticket).ok()?;
        let words = [self.match_bits, self.remote_offset, self.hdr_data];
        let kind = if self.flag { ASKING } else { BARE };
        let first = u32::from_le_bytes([kind, self.interface, low, high]);
        bytes[..4].copy_from_slice(&first.to_le_bytes());
        for (nth, word) in words.iter().enumerate() {
            bytes[4 + 8 * nth..12 + 8 * nth].copy_from_slice(&word.to_le_bytes());
        }
        if !self.flag {
            return Some(BARE_BYTES);
        }
        bytes[BARE_BYTES..ASKING_BYTES].copy_from_slice(&ticket.to_le_bytes());
        Some(ASKING_BYTES)
    }

    /// Writes what goes in front of what was fetched, as [`Reply::write_fetched`] does.
    #[inline(always)]
    fn write_fetched(&self, bytes: &mut [u8; Head::BYTES]) -> Option<usize> {
        let is_reply = (self.pt_index, self.hdr_data) == (0, 0) && self.match_bits <= 1;
        if self.long || !is_reply {
            return None;
        }
        Reply::of(self, NiFail::Ok).write_fetched(bytes)
    }

    /// Writes a get whose numbers are short enough for fixed places. `None`: they are not.
    #[inline(always)]
    fn write_get(&self, bytes: &mut [u8; Head::BYTES]) -> Option<usize> {
        if self.long || !self.flag || self.hdr_data != 0 {
            return None;
        }
        let [low, high] = u16::try_from(self.pt_index).ok()?.to_le_bytes();
        let ticket = u32::try_from(self.ticket).ok()?;
        let length = u32::try_from(self.length).ok()?;
        let first = u32::from_le_bytes([GETTING, self.interface, low, high]);
        bytes[..4].copy_from_slice(&first.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.match_bits.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.remote_offset.to_le_bytes());
        bytes[20..24].copy_from_slice(&ticket.to_le_bytes());
        bytes[24..GETTING_BYTES].copy_from_slice(&length.to_le_bytes());
        Some(GETTING_BYTES)
    }

    #[inline(always)]
    fn write_numbers(&self, bytes: &mut [u8; Head::BYTES]) -> usize {
        let (kind, a, b) = match self.kind {
            Kind::Put => (1, 0, 0),
            Kind::Get => (2, 0, 0),
            Kind::Atomic(op, ty) => (3, op as u8, ty as u8),
            Kind::FetchAtomic(op, ty) => (4, op as u8, ty as u8),
            Kind::Ready => (5, 0, 0),
            Kind::Reply(fail) => (6, fail as u8, 0),
            Kind::Push => (PUSH, 0, 0),
        };
        let flags = if self.long { LONG } else { 0 } | if self.flag { FLAG } else { 0 };
        bytes[..FIRST].copy_from_slice(&[kind, self.interface | flags << 2, a, b]);
        let numbers = [
            self.length,
            self.match_bits,
            u64::from(self.pt_index),
            self.ticket,
            self.remote_offset,
            self.hdr_data,
        ];
        let len = FIRST + narrow::write(&numbers, &mut bytes[FIRST..Head::FIXED]);
        if !matches!(self.kind, Kind::FetchAtomic(..)) {
            return len;
        }
        bytes[len..len + OPERAND].copy_from_slice(&self.operand);
        len + OPERAND
    }

    /// A put with its data behind it, as [`Head::write`] has written it, if it is one.
    #[inline(always)]
    pub fn put(packet: &[u8]) -> Option<(Head, &[u8])> {
        let (head, data) = packet.split_first_chunk::<BARE_BYTES>()?;
        let [kind @ (BARE | ASKING), interface @ 0..4, low, high] = *head.first_chunk()? else {
            return None;
        };
        let (ticket, data) = match kind {
            ASKING => data.split_first_chunk().map(|(t, data)| (u32::from_le_bytes(*t), data))?,
            _ => (0, data),
        };
        let head = Head {
            kind: Kind::Put,
            interface,
            long: false,
            flag: kind == ASKING,
            pt_index: u16::from_le_bytes([low, high]).into(),
            ticket: ticket.into(),
            match_bits: word(head, 4),
            hdr_data: word(head, 20),
            length: data.len() as u64,
            remote_offset: word(head, 12),
            operand: [0; OPERAND],
        };
        Some((head, data))
    }

    /// A get as `write_get` has written it, if it is one.
    #[inline(always)]
    pub fn get(packet: &[u8]) -> Option<Head> {
        let head: &[u8; GETTING_BYTES] = packet.try_into().ok()?;
        let [GETTING, interface @ 0..4, low, high] = *head.first_chunk()? else { return None };
        Some(Head {
            kind: Kind::Get,
            interface,
            long: false,
            flag: true,
            pt_index: u16::from_le_bytes([low, high]).into(),
            ticket: short(head, 20).into(),
            match_bits: word(head, 4),
            hdr_data: 0,
            length: short(head, 24).into(),
            remote_offset: word(head, 12),
            operand: [0; OPERAND],
        })
    }

    /// The header at the beginning of a packet, and the data behind it.
    #[inline]
    pub fn from_bytes(packet: &[u8]) -> Result<(Head, &[u8]), Malformed> {
        match packet.first() {
            Some(&(BARE | ASKING)) => Head::put(packet).ok_or(Malformed),
            Some(&GETTING) => Head::get(packet).map(|head| (head, &[][..])).ok_or(Malformed),
            Some(&FETCHED) => {
                Reply::fetched(packet).map(|(reply, data)| (reply.head(), data)).ok_or(Malformed)
            }
            _ => Head::with_numbers(packet),
        }
    }

    #[inline]
    fn with_numbers(packet: &[u8]) -> Result<(Head, &[u8]), Malformed> {
        let ([kind, second, a, b], rest) = packet.split_first_chunk::<FIRST>().ok_or(Malformed)?;
        let (interface, flags) = (second & 3, second >> 2);
        if flags & !(LONG | FLAG) != 0 {
            return Err(Malformed);
        }
        let atomic = || {
            let op = *OPS.get(usize::from(*a)).ok_or(Malformed)?;
            let ty = *DATATYPES.get(usize::from(*b)).ok_or(Malformed)?;
            if op.is_defined_on(ty) { Ok((op, ty)) } else { Err(Malformed) }
        };
        let kind = match (kind, a, b) {
            (1, 0, 0) => Kind::Put,
            (2, 0, 0) => Kind::Get,
            (3, ..) => atomic().map(|(op, ty)| Kind::Atomic(op, ty))?,
            (4, ..) => atomic().map(|(op, ty)| Kind::FetchAtomic(op, ty))?,
            (5, 0, 0) => Kind::Ready,
            (&PUSH, 0, 0) => Kind::Push,
            (6, fail, 0) => Kind::Reply(*FAILS.get(usize::from(*fail)).ok_or(Malformed)?),
            _ => return Err(Malformed),
        };
        let mut numbers = [0; NUMBERS];
        let taken = narrow::read(rest, &mut numbers).ok_or(Malformed)?;
        let mut data = &rest[taken..];
        let [length, match_bits, pt_index, ticket, remote_offset, hdr_data] = numbers;
        let mut operand = [0; OPERAND];
        if matches!(kind, Kind::FetchAtomic(..)) {
            (operand, data) =
                data.split_first_chunk().map(|(own, rest)| (*own, rest)).ok_or(Malformed)?;
        }
        let head = Head {
            kind,
            interface,
            long: flags & LONG != 0,
            flag: flags & FLAG != 0,
            pt_index: u32::try_from(pt_index).map_err(|_| Malformed)?,
            ticket,
            match_bits,
            hdr_data,
            length,
            remote_offset,
            operand,
        };
        Ok((head, data))
    }
}

/// The 8 bytes at a place of a header.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The 4 bytes at a place of a header.
#[inline(always)]
fn short(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(head: &Head) -> ([u8; Head::BYTES], usize) {
        let mut bytes = [0xaa; Head::BYTES];
        let len = head.write(&mut bytes);
        (bytes, len)
    }

    #[test]
    fn a_short_put_says_what_went_into_it() {
        let mut head = Head {
            kind: Kind::Put,
            interface: 3,
            long: false,
            flag: false,
            pt_index: 0xffff,
            ticket: 0,
            match_bits: u64::MAX - 1,
            hdr_data: 1 << 63 | 7,
            length: 5,
            remote_offset: 1 << 40,
            operand: [0; OPERAND],
        };
        for (index, ticket) in [
            (0xffff, None),
            (0x1_0000, None),
            (9, Some(1 << 32)),
            (9, Some(u32::MAX.into())),
            (1, None),
        ] {
            (head.pt_index, head.flag, head.ticket) =
                (index, ticket.is_some(), ticket.unwrap_or(0));
            let (bytes, len) = written(&head);
            let packet = [&bytes[..len], b"hello"].concat();
            let fits = index <= 0xffff && head.ticket <= u32::MAX.into();
            assert_eq!(Head::from_bytes(&packet), Ok((head, &b"hello"[..])));
            assert_eq!(Head::put(&packet).is_some(), fits);
        }
        let (bytes, len) = written(&head);
        assert_eq!(Head::from_bytes(&bytes[..len - 1]), Err(Malformed));
        let mut strange = bytes;
        strange[1] = 4;
        assert_eq!(Head::from_bytes(&strange[..len]), Err(Malformed));
    }

    #[test]
    fn heads_say_what_went_into_them() {
        let kinds = [
            Kind::Put,
            Kind::Push,
            Kind::Get,
            Kind::Atomic(Op::Sum, Datatype::LongDouble),
            Kind::FetchAtomic(Op::Mswap, Datatype::Uint64),
            Kind::Ready,
            Kind::Reply(NiFail::Segv),
        ];
        for (kind, long) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            let head = Head {
                kind,
                interface: 2,
                long,
                flag: !long,
                pt_index: 63,
                // Too long for a short put.
                ticket: 1 << 40,
                match_bits: 2,
                hdr_data: 3,
                length: 4,
                remote_offset: u64::MAX,
                operand: [if matches!(kind, Kind::FetchAtomic(..)) { 7 } else { 0 }; OPERAND],
            };
            let (bytes, len) = written(&head);
            assert_eq!(Head::from_bytes(&bytes[..len]), Ok((head, &[][..])));
            let mut packet = bytes[..len].to_vec();
            packet.push(9);
            assert_eq!(Head::from_bytes(&packet), Ok((head, &[9][..])));
            assert_eq!(Head::from_bytes(&bytes[..len - 1]), Err(Malformed));
        }
    }

    #[test]
    fn a_get_and_what_it_fetched_say_what_went_into_them() {
        let mut get = Head {
            kind: Kind::Get,
            interface: 3,
            long: false,
            flag: true,
            pt_index: 0xffff,
            ticket: u32::MAX.into(),
            match_bits: u64::MAX - 1,
            hdr_data: 0,
            length: 1 << 31,
            remote_offset: 1 << 40,
            operand: [0; OPERAND],
        };
        let (bytes, len) = written(&get);
        assert_eq!((len, Head::get(&bytes[..len])), (GETTING_BYTES, Some(get)));
        assert_eq!(Head::from_bytes(&bytes[..len]), Ok((get, &[][..])));
        assert_eq!(Head::from_bytes(&bytes[..len - 1]), Err(Malformed));
        assert_eq!(Head::from_bytes(&bytes[..len + 1]), Err(Malformed));
        get.length = 1 << 32;
        let (bytes, len) = written(&get);
        assert_eq!(Head::get(&bytes[..len]), None);
        assert_eq!(Head::from_bytes(&bytes[..len]), Ok((get, &[][..])));

        let reply = Reply { length: 3, silent: false, list: 1, ..Reply::of(&get, NiFail::Ok) };
        let (bytes, len) = written(&reply.head());
        let packet = [&bytes[..len], b"abc"].concat();
        assert_eq!(Reply::fetched(&packet), Some((reply, &b"abc"[..])));
        assert_eq!(Head::from_bytes(&packet), Ok((reply.head(), &b"abc"[..])));
        assert_eq!(Head::from_bytes(&packet[..len - 1]), Err(Malformed));
        for (at, byte) in [(1, 4), (2, 2), (3, 2)] {
            let mut strange = packet.clone();
            strange[at] = byte;
            assert_eq!(Head::from_bytes(&strange), Err(Malformed));
        }
    }

    #[test]
    fn a_short_put_and_its_reply_fit_a_line() {
        let put = Head {
            kind: Kind::Put,
            interface: 3,
            long: false,
            flag: true,
            pt_index: 63,
            ticket: 1 << 40,
            match_bits: u64::MAX,
            hdr_data: 0,
            length: 8,
            remote_offset: 0xffff,
            operand: [0; OPERAND],
        };
        let reply = Head { kind: Kind::Reply(NiFail::Ok), match_bits: 0, ..put };
        let silent = Head { flag: false, ticket: 0, hdr_data: u64::MAX, ..put };
        let asking = Head { ticket: u32::MAX.into(), hdr_data: u64::MAX, ..put };
        let get = Head { kind: Kind::Get, hdr_data: 0, ..asking };
        let fetched = Reply::of(&Head { match_bits: 0, ..get }, NiFail::Ok).head();
        for head in [put, reply, silent, asking, get, fetched] {
            assert!(written(&head).1 + 8 <= hpvm_wire::cell::LINE_PAYLOAD);
        }
        let mut replies = Replies::default();
        replies.push(&Reply::of(&asking, NiFail::Ok));
        assert!(replies.packet().len() <= hpvm_wire::cell::LINE_PAYLOAD);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(bytes in any::<[u8; 32]>(), kind in 0u8..13) {
            let mut packet = [0; Head::BYTES + 3];
            packet[..32].copy_from_slice(&bytes);
            packet[0] = kind;
            packet[1] &= 15;
            let mut packet = &mut packet[..];
            match kind {
                3 | 4 | BARE | ASKING => {}
                GETTING => packet = &mut packet[..GETTING_BYTES],
                FETCHED => packet[2..4].iter_mut().for_each(|byte| *byte &= 1),
                _ => packet[2..4].fill(0),
            }
            let packet = &*packet;
            if let Ok((head, data)) = Head::from_bytes(packet) {
                // Numbers may have come in more bytes than they need.
                let (bytes, len) = written(&head);
                if matches!(bytes[0], BARE | ASKING) {
                    // Its data says how long it is.
                    let again = [&bytes[..len], data].concat();
                    let length = data.len() as u64;
                    prop_assert_eq!(Head::from_bytes(&again), Ok((Head { length, ..head }, data)));
                } else {
                    let fixed = matches!(bytes[0], GETTING | FETCHED);
                    prop_assert!(fixed || len <= packet.len() - data.len());
                    prop_assert_eq!(Head::from_bytes(&bytes[..len]), Ok((head, &[][..])));
                }
            }
        }
    }
}
