//! Headers as they travel, and what is checked of them.

use crate::atomic::{DATATYPES, Datatype, OPS, Op};
use crate::event::NiFail;
use hpvm_wire::narrow;

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

const FAILS: [NiFail; 8] = [
    NiFail::Ok,
    NiFail::Undeliverable,
    NiFail::Dropped,
    NiFail::PtDisabled,
    NiFail::PermViolation,
    NiFail::OpViolation,
    NiFail::NoMatch,
    NiFail::Segv,
];

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

/// In place of a kind: replies without data. Three bytes of nothing; then of each reply the number of its failure, flag,
/// list and interface (a byte each), ticket, length and offset (8 bytes each).
const REPLIES: u8 = 8;
const REPLY_BYTES: usize = 4 + 3 * 8;

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
        if self.kind == Kind::Put
            && !self.long
            && (self.flag || self.ticket == 0)
            && let Ok(index) = u16::try_from(self.pt_index)
            && let Ok(ticket) = u32::try_from(self.ticket)
        {
            let words = [self.match_bits, self.remote_offset, self.hdr_data];
            let [low, high] = index.to_le_bytes();
            let kind = if self.flag { ASKING } else { BARE };
            let first = u32::from_le_bytes([kind, self.interface, low, high]);
            bytes[..4].copy_from_slice(&first.to_le_bytes());
            for (nth, word) in words.iter().enumerate() {
                bytes[4 + 8 * nth..12 + 8 * nth].copy_from_slice(&word.to_le_bytes());
            }
            if !self.flag {
                return BARE_BYTES;
            }
            bytes[BARE_BYTES..ASKING_BYTES].copy_from_slice(&ticket.to_le_bytes());
            return ASKING_BYTES;
        }
        self.write_numbers(bytes)
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
        let word = |nth: usize| {
            let bytes = head[4 + 8 * nth..].first_chunk();
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
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
            match_bits: word(0),
            hdr_data: word(2),
            length: data.len() as u64,
            remote_offset: word(1),
            operand: [0; OPERAND],
        };
        Some((head, data))
    }

    /// The header at the beginning of a packet, and the data behind it.
    #[inline]
    pub fn from_bytes(packet: &[u8]) -> Result<(Head, &[u8]), Malformed> {
        match Head::put(packet) {
            Some(found) => Ok(found),
            None => Head::with_numbers(packet),
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

/// The end of an operation at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub fail: NiFail,
    /// It tells the program nothing (`PTL_ME_ACK_DISABLE`).
    pub silent: bool,
    /// 0 if the entry was on the priority list, else 1.
    pub list: u8,
    pub interface: u8,
    pub ticket: u64,
    /// Bytes granted.
    pub length: u64,
    pub remote_offset: u64,
}

impl Reply {
    /// What a header says of the end of an operation.
    #[inline(always)]
    pub fn of(head: &Head, fail: NiFail) -> Reply {
        Reply {
            fail,
            silent: head.flag,
            list: u8::from(head.match_bits != 0),
            interface: head.interface,
            ticket: head.ticket,
            length: head.length,
            remote_offset: head.remote_offset,
        }
    }

    /// As a header, which data may follow.
    pub fn head(&self) -> Head {
        Head {
            kind: Kind::Reply(self.fail),
            interface: self.interface,
            long: false,
            flag: self.silent,
            pt_index: 0,
            ticket: self.ticket,
            match_bits: self.list.into(),
            hdr_data: 0,
            length: self.length,
            remote_offset: self.remote_offset,
            operand: [0; OPERAND],
        }
    }

    #[inline(always)]
    fn write(&self, bytes: &mut [u8]) {
        let first = [self.fail as u8, u8::from(self.silent), self.list & 1, self.interface];
        bytes[..4].copy_from_slice(&u32::from_le_bytes(first).to_le_bytes());
        let words = [self.ticket, self.length, self.remote_offset];
        for (nth, word) in words.iter().enumerate() {
            bytes[4 + 8 * nth..12 + 8 * nth].copy_from_slice(&word.to_le_bytes());
        }
    }

    #[inline(always)]
    fn read(bytes: &[u8; REPLY_BYTES]) -> Option<Reply> {
        let [fail, silent @ 0..2, list @ 0..2, interface @ 0..4] = *bytes.first_chunk()? else {
            return None;
        };
        let word = |nth: usize| {
            let bytes = bytes[4 + 8 * nth..].first_chunk();
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        Some(Reply {
            fail: *FAILS.get(usize::from(fail))?,
            silent: silent != 0,
            list,
            interface,
            ticket: word(0),
            length: word(1),
            remote_offset: word(2),
        })
    }
}

/// Replies without data for one process, which go in one packet.
#[derive(Default)]
pub struct Replies {
    bytes: Vec<u8>,
}

impl Replies {
    /// In a packet at most: who waits for many begins with the first while the last are under way.
    pub const MOST: usize = 8;
    /// A packet at most.
    pub const BYTES: usize = 4 + Replies::MOST * REPLY_BYTES;

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Replies::BYTES
    }

    /// Adds a reply, for which there is room.
    #[inline(always)]
    pub fn push(&mut self, reply: &Reply) {
        let len = self.bytes.len();
        if len == 0 {
            self.bytes.extend_from_slice(&[REPLIES, 0, 0, 0]);
        }
        let mut bytes = [0; REPLY_BYTES];
        reply.write(&mut bytes);
        self.bytes.extend_from_slice(&bytes);
    }

    /// The packet with those that are there, at most [`Replies::BYTES`] long.
    pub fn packet(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Whether a packet is one of replies.
    #[inline(always)]
    pub fn are_in(packet: &[u8]) -> bool {
        packet.first() == Some(&REPLIES)
    }

    /// The replies in such a packet. What is none is left out.
    #[inline(always)]
    pub fn read(packet: &[u8]) -> impl Iterator<Item = Reply> {
        let bytes = packet.get(4..).unwrap_or(&[]);
        let (replies, _) = bytes.as_chunks::<REPLY_BYTES>();
        replies.iter().filter_map(Reply::read)
    }
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
    fn replies_in_one_packet_come_out_as_they_went_in() {
        let reply = |ticket, fail| Reply {
            fail,
            silent: ticket == 2,
            list: (ticket & 1) as u8,
            interface: 3,
            ticket,
            length: 8,
            remote_offset: 1 << 50,
        };
        let mut replies = Replies::default();
        let one = reply(1 << 40, NiFail::Ok);
        assert_eq!(Reply::of(&one.head(), NiFail::Ok), one);
        let all = [one, reply(2, NiFail::Dropped), reply(u64::MAX, NiFail::Segv)];
        for (nth, one) in all.iter().enumerate() {
            assert!(replies.is_empty() == (nth == 0) && !replies.is_full());
            replies.push(one);
            assert!(Replies::read(replies.packet()).eq(all[..=nth].iter().copied()));
        }
        let mut bytes = replies.packet().to_vec();
        assert!(Replies::are_in(&bytes) && Head::put(&bytes).is_none());
        assert_eq!(Head::from_bytes(&bytes), Err(Malformed));
        assert!(Replies::read(&bytes[..bytes.len() - 1]).eq(all[..2].iter().copied()));
        bytes[4] = FAILS.len() as u8;
        assert!(Replies::read(&bytes).eq(all[1..].iter().copied()));
        (all.len()..Replies::MOST).for_each(|_| replies.push(&one));
        assert!(replies.is_full() && replies.packet().len() == Replies::BYTES);
        assert_eq!(Replies::read(&replies.packet()[..3]).count(), 0);
        replies.clear();
        assert!(replies.is_empty());
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
        for head in [put, reply, silent, asking] {
            assert!(written(&head).1 + 8 <= hpvm_wire::cell::LINE_PAYLOAD);
        }
        let mut replies = Replies::default();
        replies.push(&Reply::of(&asking, NiFail::Ok));
        assert!(replies.packet().len() <= hpvm_wire::cell::LINE_PAYLOAD);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(bytes in any::<[u8; 32]>(), kind in 0u8..12) {
            let mut packet = [0; Head::BYTES + 3];
            packet[..32].copy_from_slice(&bytes);
            packet[0] = kind;
            packet[1] &= 15;
            if kind != 3 && kind != 4 && kind != BARE && kind != ASKING {
                packet[2..4].fill(0);
            }
            if let Ok((head, data)) = Head::from_bytes(&packet) {
                // Numbers may have come in more bytes than they need.
                let (bytes, len) = written(&head);
                if matches!(bytes[0], BARE | ASKING) {
                    // Its data says how long it is.
                    let again = [&bytes[..len], data].concat();
                    let length = data.len() as u64;
                    prop_assert_eq!(Head::from_bytes(&again), Ok((Head { length, ..head }, data)));
                } else {
                    prop_assert!(len <= packet.len() - data.len());
                    prop_assert_eq!(Head::from_bytes(&bytes[..len]), Ok((head, &[][..])));
                }
            }
        }
    }
}
