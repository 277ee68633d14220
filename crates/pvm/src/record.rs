//! What lies in a link: fragments of messages, and how they become messages again ([`Assembler`]).

use crate::Tid;
use crate::buffers::Head;

/// Bytes in front of each fragment: its length, and what it is.
pub const FRONT: u64 = 8;
/// Bytes of a message's head, which its first fragment has.
pub const HEAD: u64 = 40;
/// Fragments begin at multiples of this.
const ALIGN: u64 = 8;

/// What a fragment is.
pub const FIRST: u32 = 0x5056_4d31;
pub const MORE: u32 = 0x5056_4d32;

/// Bytes that a fragment takes in the ring.
pub fn room(first: bool, len: u64) -> u64 {
    (FRONT + if first { HEAD } else { 0 } + len).next_multiple_of(ALIGN)
}

/// A message's head with its length, as it lies in the ring.
pub fn encode(head: &Head, total: u64) -> [u8; HEAD as usize] {
    let mut out = [0; HEAD as usize];
    out[..8].copy_from_slice(&total.to_le_bytes());
    let words = [head.target, head.tag, head.context, head.wait_id, head.encoding, head.crc];
    for (word, to) in words.iter().zip(out[8..].chunks_exact_mut(4)) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// The opposite.
pub fn decode(bytes: &[u8; HEAD as usize], source: i32) -> (Head, u64) {
    let word =
        |at: usize| i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let total = u64::from(word(0) as u32) | u64::from(word(4) as u32) << 32;
    let head = Head {
        source,
        target: word(8),
        tag: word(12),
        context: word(16),
        wait_id: word(20),
        encoding: word(24),
        crc: word(28),
    };
    (head, total)
}

/// The longest message that a link carries: more than any memory has.
pub const LONGEST: u64 = 1 << 40;

/// A message that is not whole yet.
struct Partial {
    head: Head,
    total: u64,
    bytes: Vec<u8>,
}

/// Puts the fragments from one task together. What the sender says is checked.
#[derive(Default)]
pub struct Assembler {
    partial: Option<Partial>,
}

impl Assembler {
    /// Takes the fragment that `there` begins with, and returns how long it is there. A message that is whole by it goes to `sink`;
    /// memory for one comes from `memory`. A first fragment ends a message that is not whole: its sender has given it up.
    ///
    /// # Errors
    /// What the sender wrote makes no sense, or there is no memory: a text for people.
    pub fn take(
        &mut self,
        from: Tid,
        there: &[u8],
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
    ) -> Result<usize, String> {
        let word =
            |at: usize| there.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let (Some(len), Some(kind)) = (word(0), word(4)) else {
            return Err(format!("{} bytes where a fragment should begin", there.len()));
        };
        let first = kind == FIRST;
        let room = room(first, u64::from(len));
        if room > there.len() as u64 || (!first && kind != MORE) {
            let there = there.len();
            return Err(format!("a fragment of {len} bytes and kind {kind:#x}; {there} are there"));
        }
        let mut data = &there[FRONT as usize..];
        if first && let Some((head, rest)) = data.split_first_chunk() {
            self.begin(head, from, memory)?;
            data = rest;
        }
        let Some(partial) = &mut self.partial else {
            return Err("a fragment of no message".to_owned());
        };
        if partial.bytes.len() as u64 + u64::from(len) > partial.total {
            return Err(format!("more than the {} bytes of the message", partial.total));
        }
        partial.bytes.extend_from_slice(&data[..len as usize]);
        if partial.bytes.len() as u64 == partial.total
            && let Some(whole) = self.partial.take()
        {
            sink(whole.head, whole.bytes);
        }
        Ok(room as usize)
    }

    fn begin(
        &mut self,
        head: &[u8; HEAD as usize],
        from: Tid,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
    ) -> Result<(), String> {
        let (head, total) = decode(head, from);
        let bytes = (total <= LONGEST).then(|| memory(total as usize)).flatten();
        let bytes = bytes.ok_or_else(|| format!("no memory for a message of {total} bytes"))?;
        self.partial = Some(Partial { head, total, bytes });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in a link, taken to its end: lengths of the messages, or the fault.
    fn taken(bytes: &[u8]) -> Result<Vec<usize>, String> {
        let (mut assembler, mut at, mut got) = (Assembler::default(), 0, Vec::new());
        while at < bytes.len() {
            let mut memory = |len| (len < 1 << 20).then(|| Vec::with_capacity(len));
            at += assembler.take(1, &bytes[at..], &mut memory, &mut |_, m| got.push(m.len()))?;
        }
        Ok(got)
    }

    fn first(total: u64, len: u32) -> Vec<u8> {
        let front = [len.to_le_bytes(), FIRST.to_le_bytes()].concat();
        let mut out = [front, encode(&Head::default(), total).to_vec()].concat();
        out.resize(room(true, u64::from(len)) as usize, 7);
        out
    }

    #[test]
    fn a_message_that_claims_more_than_there_is_memory_is_refused() {
        assert_eq!(taken(&first(9, 9)), Ok(vec![9]));
        for total in [1 << 20, LONGEST, LONGEST + 1, u64::MAX] {
            assert!(taken(&first(total, 0)).is_err(), "{total}");
        }
        assert!(taken(&first(3, 9)).is_err(), "more than the message has");
        assert!(taken(&first(3, 3)[..8]).is_err() && taken(&[1, 2, 3]).is_err());
    }

    #[test]
    fn a_message_that_was_given_up_is_forgotten() {
        let more = [8u32.to_le_bytes(), MORE.to_le_bytes()].concat();
        let rest = [more, vec![1; 8]].concat();
        assert_eq!(taken(&[first(100, 16), first(24, 16), rest.clone()].concat()), Ok(vec![24]));
        assert!(taken(&rest).is_err(), "a rest of nothing");
    }

    #[test]
    fn heads_come_back() {
        let head =
            Head { source: 5, target: 6, tag: -7, context: 8, wait_id: 9, encoding: 1, crc: -3 };
        assert_eq!(decode(&encode(&head, 1 << 33), 5), (head, 1 << 33));
    }
}
