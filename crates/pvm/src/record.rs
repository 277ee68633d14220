//! What lies in a link: fragments of messages, and how they become messages again ([`Assembler`]).

use crate::Tid;
use crate::buffers::Head;
use crate::posted::Posted;

/// Bytes in front of each fragment: its length, and what it is.
pub const FRONT: u64 = 8;
/// Bytes of a message's head, which its first fragment has.
pub const HEAD: u64 = 40;
/// Fragments begin at multiples of this.
const ALIGN: u64 = 8;

/// What a fragment is.
pub const FIRST: u32 = 0x5056_4d31;
pub const MORE: u32 = 0x5056_4d32;
/// No fragment: the next one lies at the start of the ring.
pub const SKIP: u32 = 0x5056_4d33;

/// Where in the head it says when the message was sent.
const STAMP: usize = 32;

/// When the message was sent that begins here; `None`: none does.
pub fn stamp(fragment: &[u8]) -> Option<u64> {
    let begins = fragment.get(4..8)? == FIRST.to_le_bytes();
    let stamp = fragment.get(FRONT as usize + STAMP..)?.first_chunk()?;
    begins.then(|| u64::from_le_bytes(*stamp))
}

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
    out[STAMP..].copy_from_slice(&head.stamp.to_le_bytes());
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
        stamp: u64::from(word(32) as u32) | u64::from(word(36) as u32) << 32,
    };
    (head, total)
}

/// The longest message that a link carries: more than any memory has.
pub const MESSAGE_BYTES_MAX: u64 = 1 << 40;

/// A message that is not whole yet.
struct Partial {
    head: Head,
    total: u64,
    bytes: Destination,
}

/// Where the bytes of a message go.
enum Destination {
    Memory(Vec<u8>),
    /// To the receive that waits for them: so many are there.
    Posted(u64),
}

impl Destination {
    fn len(&self) -> u64 {
        match self {
            Destination::Memory(bytes) => bytes.len() as u64,
            Destination::Posted(len) => *len,
        }
    }
}

/// What lies at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes that the fragment has there.
    pub room: u64,
    /// The length of the message that is whole by it.
    pub whole: Option<u64>,
}

/// Puts the fragments from one task together. What the sender says is checked.
#[derive(Default)]
pub struct Assembler {
    partial: Option<Partial>,
}

impl Assembler {
    /// Takes the fragment that `there` begins with. A message that is whole by it goes to `sink`, with memory from `memory`; one
    /// that `posted` accepts goes there. A first fragment ends a message that is not whole: its sender has given it up.
    ///
    /// # Errors
    /// What the sender wrote makes no sense, or there is no memory: a text for people.
    pub fn take(
        &mut self,
        from: Tid,
        there: &[u8],
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        sink: &mut impl FnMut(Head, Vec<u8>),
        mut posted: Option<&mut Posted>,
    ) -> Result<Taken, String> {
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
            self.begin(head, from, memory, posted.as_deref())?;
            data = rest;
        }
        let whole = self.add(&data[..len as usize], posted.as_deref_mut())?.then(|| {
            let whole = self.partial.take()?;
            match (whole.bytes, posted) {
                (Destination::Memory(bytes), posted) => {
                    if let Some(posted) = posted {
                        posted.pass(&whole.head);
                    }
                    sink(whole.head, bytes);
                }
                (Destination::Posted(len), Some(posted)) => {
                    posted.complete(whole.head, len as usize)
                }
                (Destination::Posted(_), None) => {}
            }
            Some(whole.total)
        });
        Ok(Taken { room, whole: whole.flatten() })
    }

    /// Adds bytes to the message; says whether it is whole then.
    fn add(&mut self, data: &[u8], posted: Option<&mut Posted>) -> Result<bool, String> {
        let Some(partial) = &mut self.partial else {
            return Err("a fragment of no message".to_owned());
        };
        if partial.bytes.len() + data.len() as u64 > partial.total {
            return Err(format!("more than the {} bytes of the message", partial.total));
        }
        match (&mut partial.bytes, posted) {
            (Destination::Memory(bytes), _) => bytes.extend_from_slice(data),
            (Destination::Posted(len), Some(posted)) => {
                posted.write(*len as usize, data);
                *len += data.len() as u64;
            }
            (Destination::Posted(_), None) => {
                return Err("a message without its receive".to_owned());
            }
        }
        Ok(partial.bytes.len() == partial.total)
    }

    fn begin(
        &mut self,
        head: &[u8; HEAD as usize],
        from: Tid,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
        posted: Option<&Posted>,
    ) -> Result<(), String> {
        let (head, total) = decode(head, from);
        self.partial = None;
        let bytes = if posted.is_some_and(|posted| posted.accepts(&head, total)) {
            Destination::Posted(0)
        } else {
            let bytes = (total <= MESSAGE_BYTES_MAX).then(|| memory(total as usize)).flatten();
            Destination::Memory(
                bytes.ok_or_else(|| format!("no memory for a message of {total} bytes"))?,
            )
        };
        self.partial = Some(Partial { head, total, bytes });
        Ok(())
    }

    /// When the message was sent of which a part is missing.
    pub fn stamp(&self) -> Option<u64> {
        self.partial.as_ref().map(|partial| partial.head.stamp)
    }

    /// Whether the rest of a message is missing that goes to a receive which waits.
    pub fn goes_to_receive(&self) -> bool {
        matches!(&self.partial, Some(Partial { bytes: Destination::Posted(_), .. }))
    }

    /// The receive waits no longer here: what of its message has come gets memory of its own.
    ///
    /// # Errors
    /// There is none: a text for people.
    pub fn withdraw(
        &mut self,
        posted: &Posted,
        memory: &mut impl FnMut(usize) -> Option<Vec<u8>>,
    ) -> Result<(), String> {
        let Some(Partial { total, bytes, .. }) = &mut self.partial else { return Ok(()) };
        let Destination::Posted(len) = *bytes else { return Ok(()) };
        let mut own = memory(*total as usize)
            .ok_or_else(|| format!("no memory for a message of {total} bytes"))?;
        own.extend_from_slice(posted.written(len as usize));
        *bytes = Destination::Memory(own);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{ANY, Pattern};

    /// What is in a link, taken to its end: lengths of the messages, or the fault.
    fn taken(bytes: &[u8]) -> Result<Vec<usize>, String> {
        let (mut assembler, mut at, mut got) = (Assembler::default(), 0, Vec::new());
        while at < bytes.len() {
            let mut memory = |len| (len < 1 << 20).then(|| Vec::with_capacity(len));
            let mut sink = |_, m: Vec<u8>| got.push(m.len());
            at += assembler.take(1, &bytes[at..], &mut memory, &mut sink, None)?.room as usize;
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
        for total in [1 << 20, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX + 1, u64::MAX] {
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
        let head = Head {
            source: 5,
            target: 6,
            tag: -7,
            context: 8,
            wait_id: 9,
            encoding: 1,
            crc: -3,
            stamp: 1 << 40,
        };
        assert_eq!(decode(&encode(&head, 1 << 33), 5), (head, 1 << 33));
    }

    /// Bytes of a message of `len`, in fragments of eight bytes at most.
    fn fragments(head: &Head, len: usize) -> Vec<Vec<u8>> {
        let data: Vec<u8> = (0..len).map(|at| at as u8 + 1).collect();
        let parts: Vec<_> = if len == 0 { vec![&data[..]] } else { data.chunks(8).collect() };
        let fragment = |(number, part): (usize, &&[u8])| {
            let kind = if number == 0 { FIRST } else { MORE };
            let mut out = [(part.len() as u32).to_le_bytes(), kind.to_le_bytes()].concat();
            if number == 0 {
                out.extend(encode(head, len as u64));
            }
            out.extend(*part);
            out.resize(room(number == 0, part.len() as u64) as usize, 0);
            out
        };
        parts.iter().enumerate().map(fragment).collect()
    }

    /// Takes fragments for a receive with `room` bytes and elements of `element`; returns where they went.
    fn received(
        bytes: &[Vec<u8>],
        room: &mut [u8],
        element: usize,
    ) -> (Option<(Head, usize)>, Vec<Vec<u8>>) {
        let pattern = Pattern { source: 1, tag: 5, context: 0 };
        // SAFETY: the memory is there as long as the receive.
        let mut posted = unsafe { Posted::new(pattern, room.as_mut_ptr(), room.len(), element) };
        let (mut assembler, mut queued) = (Assembler::default(), Vec::new());
        for bytes in bytes {
            let mut memory = |len| Some(Vec::with_capacity(len));
            let mut sink = |_, m| queued.push(m);
            let taken = assembler.take(1, bytes, &mut memory, &mut sink, Some(&mut posted));
            assert_eq!(taken.map(|taken| taken.room), Ok(bytes.len() as u64));
        }
        (posted.got(), queued)
    }

    #[test]
    fn a_message_goes_to_the_receive_that_waits_for_it() {
        let head = Head { source: 1, tag: 5, ..Head::default() };
        let mut room = [0; 24];
        let two = [fragments(&head, 20), fragments(&head, 16)].concat();
        let (got, queued) = received(&two, &mut room, 4);
        assert_eq!(got, Some((head, 20)));
        assert_eq!(room[..20], (1..=20).collect::<Vec<u8>>());
        assert_eq!(queued.len(), 1, "the next message is for the next receive");
        assert_eq!(received(&fragments(&head, 0), &mut [], 1).0, Some((head, 0)));
    }

    #[test]
    fn other_messages_do_not_go_there() {
        let head = Head { source: 1, tag: 5, ..Head::default() };
        let other = Head { tag: 6, ..head };
        for (head, len) in [(other, 16), (head, 32), (head, 18)] {
            let mut room = [0; 24];
            let (got, queued) = received(&fragments(&head, len), &mut room, 4);
            assert_eq!((got, queued.len()), (None, 1), "{len} bytes, tag {}", head.tag);
            assert_eq!(room, [0; 24]);
        }
    }

    #[test]
    fn a_receive_gets_nothing_that_was_sent_after_what_it_would_have_accepted() {
        let head = Head { source: 1, tag: 5, ..Head::default() };
        // The first message is too long for the room, or began before the receive.
        let two = [fragments(&head, 32), fragments(&head, 8)].concat();
        let mut room = [0; 24];
        let (got, queued) = received(&two, &mut room, 1);
        assert_eq!((got, queued.len(), room), (None, 2, [0; 24]));
        let other = Head { tag: 6, ..head };
        let two = [fragments(&other, 32), fragments(&head, 8)].concat();
        let (got, queued) = received(&two, &mut room, 1);
        assert_eq!((got, queued.len()), (Some((head, 8)), 1));

        let pattern = Pattern { source: ANY, tag: ANY, context: 0 };
        // SAFETY: the memory is there as long as the receive.
        let mut posted = unsafe { Posted::new(pattern, room.as_mut_ptr(), room.len(), 1) };
        let (mut assembler, mut queued) = (Assembler::default(), Vec::new());
        let mut memory = |len| Some(Vec::with_capacity(len));
        let three = [fragments(&head, 16), fragments(&other, 8)].concat();
        for (number, bytes) in three.iter().enumerate() {
            let mut sink = |head: Head, _| queued.push(head.tag);
            let waiting = (number > 0).then_some(&mut posted);
            assembler.take(1, bytes, &mut memory, &mut sink, waiting).expect("sound");
        }
        assert_eq!((posted.got(), queued), (None, vec![5, 6]));
    }

    #[test]
    fn a_message_that_was_given_up_leaves_the_receive_to_the_next() {
        let head = Head { source: 1, tag: 5, ..Head::default() };
        let given_up = fragments(&head, 20)[..2].to_vec();
        let (mut room, next) = ([0; 24], fragments(&head, 8));
        let (got, queued) = received(&[given_up, next].concat(), &mut room, 4);
        assert_eq!((got, queued.len()), (Some((head, 8)), 0));
    }

    #[test]
    fn a_message_whose_receive_stops_waiting_becomes_whole_elsewhere() {
        let head = Head { source: 1, tag: 5, ..Head::default() };
        let mut room = [0; 24];
        let pattern = Pattern { source: ANY, tag: ANY, context: 0 };
        // SAFETY: the memory is there as long as the receive.
        let mut posted = unsafe { Posted::new(pattern, room.as_mut_ptr(), room.len(), 1) };
        let (mut assembler, mut queued) = (Assembler::default(), Vec::new());
        let mut memory = |len| Some(Vec::with_capacity(len));
        for (number, bytes) in fragments(&head, 20).iter().enumerate() {
            let waiting = (number < 2).then_some(&mut posted);
            let mut sink = |_, m| queued.push(m);
            assert!(assembler.take(1, bytes, &mut memory, &mut sink, waiting).is_ok());
            if number == 1 {
                assert!(assembler.goes_to_receive());
                assert_eq!(assembler.withdraw(&posted, &mut memory), Ok(()));
                assert!(!assembler.goes_to_receive());
            }
        }
        assert_eq!(queued, [(1..=20).collect::<Vec<u8>>()]);
    }
}
