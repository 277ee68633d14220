//! Headers as they travel, and what is checked of them.

use crate::atomic::{DATATYPES, Datatype, OPS, Op};
use crate::event::NiFail;

/// What a packet is. Data that follows by itself has no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Put,
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

impl Head {
    /// Without the operand, which comes with fetching atomic operations only.
    const FIXED: usize = 56;
    /// At most.
    pub const BYTES: usize = Head::FIXED + OPERAND;

    /// The bytes that travel are the first ones, as many as the number says.
    #[inline]
    pub fn to_bytes(&self) -> ([u8; Head::BYTES], usize) {
        let (kind, a, b) = match self.kind {
            Kind::Put => (1, 0, 0),
            Kind::Get => (2, 0, 0),
            Kind::Atomic(op, ty) => (3, op as u8, ty as u8),
            Kind::FetchAtomic(op, ty) => (4, op as u8, ty as u8),
            Kind::Ready => (5, 0, 0),
            Kind::Reply(fail) => (6, fail as u8, 0),
        };
        let flags = if self.long { LONG } else { 0 } | if self.flag { FLAG } else { 0 };
        let mut bytes = [0; Head::BYTES];
        bytes[..5].copy_from_slice(&[kind, self.interface, flags, a, b]);
        bytes[8..12].copy_from_slice(&self.pt_index.to_le_bytes());
        let words = [self.ticket, self.match_bits, self.hdr_data, self.length, self.remote_offset];
        for (place, word) in bytes[16..Head::FIXED].as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        if !matches!(self.kind, Kind::FetchAtomic(..)) {
            return (bytes, Head::FIXED);
        }
        bytes[Head::FIXED..].copy_from_slice(&self.operand);
        (bytes, Head::BYTES)
    }

    /// The header at the beginning of a packet, and the data behind it.
    #[inline]
    pub fn from_bytes(packet: &[u8]) -> Result<(Head, &[u8]), Malformed> {
        let (bytes, mut data) = packet.split_first_chunk::<{ Head::FIXED }>().ok_or(Malformed)?;
        let [kind, interface, flags, a, b, 0, 0, 0] = bytes[..8] else { return Err(Malformed) };
        if interface > 3 || flags & !(LONG | FLAG) != 0 || bytes[12..16] != [0; 4] {
            return Err(Malformed);
        }
        let atomic = || {
            let op = *OPS.get(usize::from(a)).ok_or(Malformed)?;
            let ty = *DATATYPES.get(usize::from(b)).ok_or(Malformed)?;
            if op.is_defined_on(ty) { Ok((op, ty)) } else { Err(Malformed) }
        };
        let kind = match (kind, a, b) {
            (1, 0, 0) => Kind::Put,
            (2, 0, 0) => Kind::Get,
            (3, ..) => atomic().map(|(op, ty)| Kind::Atomic(op, ty))?,
            (4, ..) => atomic().map(|(op, ty)| Kind::FetchAtomic(op, ty))?,
            (5, 0, 0) => Kind::Ready,
            (6, fail, 0) => Kind::Reply(*FAILS.get(usize::from(fail)).ok_or(Malformed)?),
            _ => return Err(Malformed),
        };
        let (words, _) = bytes[16..].as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]);
        let mut pt_index = [0; 4];
        pt_index.copy_from_slice(&bytes[8..12]);
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
            pt_index: u32::from_le_bytes(pt_index),
            ticket: word(0),
            match_bits: word(1),
            hdr_data: word(2),
            length: word(3),
            remote_offset: word(4),
            operand,
        };
        Ok((head, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_say_what_went_into_them() {
        let kinds = [
            Kind::Put,
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
                ticket: 1,
                match_bits: 2,
                hdr_data: 3,
                length: 4,
                remote_offset: u64::MAX,
                operand: [if matches!(kind, Kind::FetchAtomic(..)) { 7 } else { 0 }; OPERAND],
            };
            let (bytes, len) = head.to_bytes();
            assert_eq!(Head::from_bytes(&bytes[..len]), Ok((head, &[][..])));
            let mut packet = bytes[..len].to_vec();
            packet.push(9);
            assert_eq!(Head::from_bytes(&packet), Ok((head, &[9][..])));
            assert_eq!(Head::from_bytes(&bytes[..len - 1]), Err(Malformed));
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(bytes in any::<[u8; 32]>(), kind in 0u8..8) {
            let mut packet = [0; Head::BYTES + 3];
            packet[..32].copy_from_slice(&bytes);
            packet[0] = kind;
            packet[5..8].fill(0);
            if let Ok((head, data)) = Head::from_bytes(&packet) {
                let (bytes, len) = head.to_bytes();
                prop_assert_eq!((&bytes[..len], packet.len() - len), (&packet[..len], data.len()));
            }
        }
    }
}
