//! The ends of operations as they travel.

use super::{Head, Kind, OPERAND, short, word};
use crate::event::NiFail;

pub(super) const FAILS: [NiFail; 8] = [
    NiFail::Ok,
    NiFail::Undeliverable,
    NiFail::Dropped,
    NiFail::PtDisabled,
    NiFail::PermViolation,
    NiFail::OpViolation,
    NiFail::NoMatch,
    NiFail::Segv,
];

/// In place of a kind: what was fetched is behind it, all of it. Interface, list and flag (a byte each); ticket and length (4 bytes
/// each), offset (8 bytes).
pub(super) const FETCHED: u8 = 12;
const FETCHED_BYTES: usize = 4 + 2 * 4 + 8;
const _: () = assert!(FETCHED_BYTES + 8 <= hpvm_wire::cell::LINE_PAYLOAD);

/// In place of a kind: replies without data. Three bytes of nothing; then of each reply the number of its failure, flag,
/// list and interface (a byte each), ticket, length and offset (8 bytes each).
const REPLIES: u8 = 8;
const REPLY_BYTES: usize = 4 + 3 * 8;

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

    /// Writes what goes in front of what was fetched, where all of it follows. `None`: its numbers are too long for that.
    #[inline(always)]
    pub fn write_fetched(&self, bytes: &mut [u8]) -> Option<usize> {
        let ticket = u32::try_from(self.ticket).ok()?;
        let length = u32::try_from(self.length).ok()?;
        let first = [FETCHED, self.interface, self.list & 1, u8::from(self.silent)];
        bytes[..4].copy_from_slice(&u32::from_le_bytes(first).to_le_bytes());
        bytes[4..8].copy_from_slice(&ticket.to_le_bytes());
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes[12..FETCHED_BYTES].copy_from_slice(&self.remote_offset.to_le_bytes());
        Some(FETCHED_BYTES)
    }

    /// A reply as [`Reply::write_fetched`] has written it, and the data behind it, if it is one.
    #[inline(always)]
    pub fn fetched(packet: &[u8]) -> Option<(Reply, &[u8])> {
        let (head, data) = packet.split_first_chunk::<FETCHED_BYTES>()?;
        let [FETCHED, interface @ 0..4, list @ 0..2, silent @ 0..2] = *head.first_chunk()? else {
            return None;
        };
        let reply = Reply {
            fail: NiFail::Ok,
            silent: silent != 0,
            list,
            interface,
            ticket: short(head, 4).into(),
            length: short(head, 8).into(),
            remote_offset: word(head, 12),
        };
        Some((reply, data))
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
        Some(Reply {
            fail: *FAILS.get(usize::from(fail))?,
            silent: silent != 0,
            list,
            interface,
            ticket: word(bytes, 4),
            length: word(bytes, 12),
            remote_offset: word(bytes, 20),
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
    use super::super::Malformed;
    use super::*;

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
}
