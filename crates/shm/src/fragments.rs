//! Messages in fragments: one slot, published before its frames are filled.
//!
//! The receiver copies a fragment while the sender writes the next one. One word, behind the payload of the
//! first frame, says how many bytes have been written by now. So a fragment costs a store to this word instead
//! of a slot, a ticket and a credit.
//!
//! The sender writes all fragments before it sends anything else, so a receiver that takes a later slot of
//! the same sender finds the message complete. A sender that is stopped half-way holds up nobody: the
//! receiver remembers how far it is ([`Pipeline`]) and goes on with other slots. The receiver may fall
//! asleep meanwhile, for the sender looks at its doorbell after the last fragment, too.

use crate::deaths;
use crate::endpoint::{Payload, Shm, corrupt, head_of, locate};
use crate::frames;
use crate::life::Lives;
use crate::progress_word;
use crate::reply_frames::{Frame, ReplyFrames};
use crate::ring::Taken;
use crate::segment::Mapping;
use core::hint::spin_loop;
use core::ptr;
use hpvm_copy::slow_stores::{self, MIN_TIMED};
use hpvm_transport::{Broken, Head, PREFIX, Rank, Refused};
use hpvm_wire::cell::{self, BARE_FRAGMENTS, FRAGMENTS, FRAME, MAX_FRAMES, RawHead};
use hpvm_wire::counters::add;
use hpvm_wire::segment::{FRAME_BYTES, SLOTS};

/// Longest message in fragments.
pub const MAX_LEN: usize = MAX_FRAMES * FRAME_BYTES;
/// Bytes of a fragment. Copying a page takes about as long as the word that announces it takes to cross.
const FRAGMENT_BYTES: usize = 4096;
/// Messages longer than this go in fragments of twice that.
const LONG_MESSAGE: usize = 32 << 10;
/// Number of looks at the word before a receiver does something else.
const POLLS_OF_WORD: u32 = 100;

/// An incoming message in fragments that is not complete.
pub struct Pipeline {
    src: Rank,
    /// The head of each fragment.
    rest: Head,
    len: usize,
    /// Bytes that have been delivered.
    at: usize,
    frames: [Frame; MAX_FRAMES],
}

fn owner(frame: Frame, rank: Rank, peer: Rank) -> Rank {
    if frame.mine { rank } else { peer }
}

impl Pipeline {
    /// The message in fragments that a slot announces, checked, and the bytes of its first packet, if it has one.
    ///
    /// # Safety
    /// The slot is published and the caller's; `raw` is its head.
    pub(crate) unsafe fn read(
        raw: &RawHead,
        slot: *const u8,
    ) -> Result<(Pipeline, Option<[u8; PREFIX]>), Broken> {
        // SAFETY: the payload of a slot is longer than the structure (asserted where it is
        // defined), and every bit pattern is valid.
        let said = unsafe { slot.cast::<cell::Fragments>().read_unaligned() };
        let len = raw.len as usize;
        if len == 0 || len > MAX_LEN {
            return Err(corrupt("bytes of a message in fragments", raw.len, MAX_LEN as u32));
        }
        let mut frames = [Frame { index: 0, mine: false }; MAX_FRAMES];
        let numbers = said.frames;
        for (frame, number) in frames.iter_mut().zip(numbers).take(len.div_ceil(FRAME_BYTES)) {
            *frame = Frame::checked(number.into())?;
        }
        let rest = Head { handler: said.handler, flags: said.flags, aux: said.aux, imm: said.imm };
        let prefix = (said.mark == FRAGMENTS).then_some(said.prefix);
        Ok((Pipeline { src: raw.src, rest, len, at: 0, frames }, prefix))
    }

    /// Bytes that the sender has written by now.
    fn written(&self, mapping: &Mapping, rank: Rank) -> usize {
        let first = self.frames[0];
        progress_word::written(mapping.progress(owner(first, rank, self.src), first.index.into()))
    }

    /// Delivers the bytes that have come; true when the message is complete.
    fn advance(
        &mut self,
        mapping: &Mapping,
        rank: Rank,
        (fragments, bytes): (&mut usize, &mut usize),
        sink: &mut impl FnMut(Rank, Head, &[u8]),
    ) -> Result<bool, Broken> {
        let mut looks = 0;
        while self.at < self.len {
            let written = self.written(mapping, rank);
            if written > self.len {
                return Err(corrupt("bytes of a fragment", written as u32, self.len as u32));
            }
            if written <= self.at {
                looks += 1;
                if looks == POLLS_OF_WORD {
                    return Ok(false);
                }
                spin_loop();
                continue;
            }
            looks = 0;
            while self.at < written {
                let (frame, from) = (self.frames[self.at / FRAME_BYTES], self.at % FRAME_BYTES);
                let n = (written - self.at).min(FRAME_BYTES - from);
                let memory = mapping.frame(owner(frame, rank, self.src), frame.index.into());
                // SAFETY: the frame is one of the segment, `from + n` at most its length; the sender has
                // written these bytes, and they are ours until the frame is given back.
                sink(self.src, self.rest, unsafe {
                    core::slice::from_raw_parts(memory.add(from), n)
                });
                self.at += n;
                *fragments += 1;
                *bytes += 64 + n;
            }
        }
        Ok(true)
    }

    /// The rank that sends the message.
    pub(crate) fn src(&self) -> Rank {
        self.src
    }

    /// Those of the message's frames that belong to the rank that reads it.
    pub(crate) fn frames_of_reader(&self) -> impl Iterator<Item = usize> {
        let frames = self.frames[..self.len.div_ceil(FRAME_BYTES)].iter();
        frames.filter(|frame| frame.mine).map(|frame| frame.index.into())
    }

    /// The message is complete: its frames become reply frames, or go back.
    fn arrived(&self, mapping: &Mapping, rank: Rank, replies: &mut ReplyFrames) {
        for frame in &self.frames[..self.len.div_ceil(FRAME_BYTES)] {
            replies.keep(mapping, rank, self.src, *frame);
        }
    }

    /// Whether there are bytes that have not been delivered.
    pub fn waits(&self, mapping: &Mapping, rank: Rank) -> bool {
        self.written(mapping, rank) > self.at
    }
}

impl Shm {
    /// Goes on with a poll that has delivered so many packets and bytes, if messages in fragments are incomplete or
    /// the next slot begins one. Returns the number of packets and fragments.
    #[inline(never)]
    pub(crate) fn poll_pipelines(
        &mut self,
        budget: usize,
        (mut packets, mut bytes): (usize, usize),
        mut sink: impl FnMut(Rank, Head, &[u8]),
    ) -> Result<usize, Broken> {
        let (mapping, rank) = (&*self.mapping, self.rank);
        let control = mapping.control(rank);
        let (pipelines, replies) = (&mut self.pipelines, &mut self.reply_frames);
        // The counter of packets counts slots, because the number of fragments that come at a time is chance.
        let mut fragments = 0;
        let here = (mapping, rank);
        let lives = &*self.lives;
        advance_all(pipelines, here, lives, replies, (&mut fragments, &mut bytes), &mut sink)?;
        while bytes < budget {
            let taken = match self.receiver.next(&control.tail, mapping.ring(rank)) {
                Ok(Some(taken)) => taken,
                Ok(None) => break,
                Err(halt) => match deaths::halted(halt, &mut self.receiver, here, lives)? {
                    true => continue,
                    false => break,
                },
            };
            let Taken { ticket, cell, leapt } = taken;
            // SAFETY: `next` returned it published, and it is ours until `done`.
            let raw = unsafe { cell.read_head() };
            let (head, slot) = (head_of(&raw), cell.payload().cast_const());
            let found = locate(mapping, rank, &raw, slot)?;
            // A message in fragments that the same sender began before has to be complete.
            if let Some(unfinished) = pipelines.iter().position(|t| t.src == raw.src) {
                let earlier = pipelines.swap_remove(unfinished);
                complete(earlier, here, replies, (&mut fragments, &mut bytes), &mut sink)?;
            }
            match found {
                Payload::Slot => {
                    // SAFETY: `locate` checked the length.
                    let payload = unsafe { core::slice::from_raw_parts(slot, raw.len as usize) };
                    sink(raw.src, head, payload);
                    bytes += 64 + payload.len();
                }
                Payload::Frame(start, frame) => {
                    // SAFETY: as above; the frame is ours until it is given back.
                    let payload = unsafe { core::slice::from_raw_parts(start, raw.len as usize) };
                    sink(raw.src, head, payload);
                    replies.keep(mapping, rank, raw.src, frame);
                    bytes += 64 + payload.len();
                }
                Payload::Fragments => {
                    // SAFETY: the slot is published and ours.
                    let (mut pipeline, prefix) = unsafe { Pipeline::read(&raw, slot)? };
                    if let Some(prefix) = prefix {
                        sink(raw.src, head, &prefix);
                    }
                    if pipeline.advance(mapping, rank, (&mut fragments, &mut bytes), &mut sink)? {
                        pipeline.arrived(mapping, rank, replies);
                    } else if !lives.is_marked(raw.src) {
                        pipelines.push(pipeline);
                    }
                }
            }
            self.receiver.done(ticket, &control.credits, SLOTS);
            packets += 1;
            if leapt {
                add(&control.counters.leapfrogs, 1);
            }
        }
        add(&control.counters.packets_received, packets as u64);
        Ok(packets + fragments)
    }

    /// See [`hpvm_transport::Packets::send_fragments`].
    pub(crate) fn send_pipeline<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        mut fill: F,
    ) -> Result<(), Refused> {
        let head = first.map_or(rest, |(head, _)| head);
        debug_assert!(len > 0 && len <= MAX_LEN && head.flags & FRAME == 0);
        let mut frames = [Frame { index: 0, mine: true }; MAX_FRAMES];
        let frames = &mut frames[..len.div_ceil(FRAME_BYTES)];
        let hot = self.gather(dst, frames, len)?;
        let mapping = &*self.mapping;
        let word = mapping.progress(owner(frames[0], self.rank, dst), frames[0].index.into());
        progress_word::begin(word);
        let claim = self.claim(dst);
        let raw = RawHead {
            src: self.rank,
            imm: head.imm,
            handler: head.handler,
            flags: head.flags | FRAME,
            aux: head.aux,
            len: len as u32,
        };
        // SAFETY: the claimed slot is ours until published.
        unsafe {
            claim.cell().write_head(raw);
            announce(claim.cell().payload().cast(), first.map(|(_, p)| p), rest, frames);
        }
        claim.publish();
        self.wake_if_asleep(dst);
        let fragment = if len > LONG_MESSAGE { 2 * FRAGMENT_BYTES } else { FRAGMENT_BYTES };
        let mut at = 0;
        while at < len {
            let frame = frames[at / FRAME_BYTES];
            let n = fragment.min(len - at);
            let start = if hot { 0 } else { slow_stores::ticks() };
            // SAFETY: a frame that `gather` returned is ours until the receiver has read it; the fragment lies
            // inside it, because the length of a frame is a multiple of that of a fragment.
            let room = unsafe {
                let first = mapping.frame(owner(frame, self.rank, dst), frame.index.into());
                core::slice::from_raw_parts_mut(first.add(at % FRAME_BYTES), n)
            };
            fill(at, room, !hot && self.slow_stores.are_slow());
            if !hot && n >= MIN_TIMED {
                self.slow_stores.wrote(n, slow_stores::ticks().wrapping_sub(start));
            }
            at += n;
            progress_word::advance(word, at);
        }
        self.wake_if_asleep(dst);
        let c = self.counters_ref();
        add(&c.packets_sent, 1);
        add(&c.bytes_sent, len as u64);
        Ok(())
    }

    /// Takes the frames for a message of `len` bytes to `dst`: all of them, or none. True: all of them are reply
    /// frames, so stores to them are fast.
    fn gather(&mut self, dst: Rank, frames: &mut [Frame], len: usize) -> Result<bool, Refused> {
        let mut replies = 0;
        for at in 0..frames.len() {
            if let Some(frame) = self.reply_frames.take(dst) {
                replies += 1;
                frames[at] = frame;
            } else if let Some(index) = self.free_frame(dst, len) {
                frames[at] = Frame { index: index as u16, mine: true };
            } else {
                // The reply frames of this peer go back to where they were, in the same order; the others are free.
                let control = &*self.control;
                for frame in &frames[replies..at] {
                    frames::give_back(control, frame.index.into());
                }
                for frame in frames[..replies].iter().rev() {
                    self.reply_frames.keep(&self.mapping, self.rank, dst, *frame);
                }
                add(&control.counters.frame_stalls, 1);
                return Err(Refused::NoBuffer);
            }
        }
        Ok(replies == frames.len())
    }
}

/// Delivers what has come of all incomplete messages in fragments, and gives back the frames of those that end.
#[inline(always)]
fn advance_all(
    pipelines: &mut Vec<Pipeline>,
    (mapping, rank): (&Mapping, Rank),
    lives: &Lives,
    replies: &mut ReplyFrames,
    (fragments, bytes): (&mut usize, &mut usize),
    sink: &mut impl FnMut(Rank, Head, &[u8]),
) -> Result<(), Broken> {
    let mut index = 0;
    while index < pipelines.len() {
        if pipelines[index].advance(mapping, rank, (fragments, bytes), sink)? {
            pipelines.swap_remove(index).arrived(mapping, rank, replies);
        } else if lives.is_marked(pipelines[index].src) {
            pipelines.swap_remove(index); // the rest will never come
        } else {
            index += 1;
        }
    }
    Ok(())
}

/// Delivers the rest of a message in fragments, all of which its sender has written. Anything else is corruption.
#[inline(always)]
fn complete(
    mut pipeline: Pipeline,
    (mapping, rank): (&Mapping, Rank),
    replies: &mut ReplyFrames,
    delivered: (&mut usize, &mut usize),
    sink: &mut impl FnMut(Rank, Head, &[u8]),
) -> Result<(), Broken> {
    if !pipeline.advance(mapping, rank, delivered, sink)? {
        let (at, len) = (pipeline.at as u32, pipeline.len as u32);
        return Err(corrupt("bytes of an unfinished message", at, len));
    }
    pipeline.arrived(mapping, rank, replies);
    Ok(())
}

/// Writes the payload of a slot that announces a message in fragments: as much of it as the frames need.
///
/// # Safety
/// `slot` is the payload of a claimed slot that is not published.
unsafe fn announce(
    slot: *mut cell::Fragments,
    prefix: Option<&[u8; PREFIX]>,
    rest: Head,
    frames: &[Frame],
) {
    // SAFETY: the caller's promise; the fields lie inside the payload and may be unaligned.
    unsafe {
        let mark = if prefix.is_some() { FRAGMENTS } else { BARE_FRAGMENTS };
        ptr::addr_of_mut!((*slot).mark).write_unaligned(mark);
        if let Some(prefix) = prefix {
            ptr::addr_of_mut!((*slot).prefix).write_unaligned(*prefix);
        }
        ptr::addr_of_mut!((*slot).imm).write_unaligned(rest.imm);
        ptr::addr_of_mut!((*slot).handler).write_unaligned(rest.handler);
        ptr::addr_of_mut!((*slot).flags).write_unaligned(rest.flags);
        ptr::addr_of_mut!((*slot).aux).write_unaligned(rest.aux);
        let numbers = ptr::addr_of_mut!((*slot).frames).cast::<u16>();
        for (at, frame) in frames.iter().enumerate() {
            numbers.add(at).write_unaligned(frame.number() as u16);
        }
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;
    use hpvm_transport::Packets;
    use hpvm_wire::segment::FRAMES;
    use std::sync::Arc;

    fn credit(end: &mut Shm, dst: Rank, held: &mut u16) {
        if *held == 0 {
            *held = end.take_credits(dst);
        }
        assert!(*held > 0, "no credit toward {dst}");
        *held -= 1;
    }

    /// Frames that are too few for a message to one receiver are there for packets to another.
    #[test]
    fn a_message_that_finds_too_few_frames_leaves_them_to_others() {
        let mapping = Arc::new(Mapping::create(3, [1, 2]).expect("a segment"));
        let attach = |rank| Shm::attach(mapping.clone(), rank).expect("a free rank");
        let mut ends: Vec<Shm> = (0..3).map(attach).collect();
        ends.iter_mut().for_each(Shm::settle);
        let (head, end, mut held) = (Head::single(9, 0), &mut ends[0], [0; 3]);
        for _ in 0..FRAMES / MAX_FRAMES - 1 {
            credit(end, 1, &mut held[1]);
            end.send_pipeline(1, None, head, MAX_LEN, |_, _, _| ()).expect("frames");
        }
        credit(end, 1, &mut held[1]);
        end.send(1, head, FRAME_BYTES, |_| ()).expect("a frame");
        credit(end, 1, &mut held[1]);
        let refused = end.send_pipeline(1, None, head, MAX_LEN, |_, _, _| ());
        assert_eq!(refused, Err(Refused::NoBuffer), "all frames but three are on their way");
        for _ in 0..MAX_FRAMES - 1 {
            credit(end, 2, &mut held[2]);
            assert_eq!(end.send(2, head, FRAME_BYTES, |_| ()), Ok(()));
        }
        credit(end, 2, &mut held[2]);
        assert_eq!(end.send(2, head, FRAME_BYTES, |_| ()), Err(Refused::NoBuffer));
    }

    /// Reply frames of one peer are there for packets to another when there are no others.
    #[test]
    fn who_has_no_frame_left_keeps_none() {
        let mapping = Arc::new(Mapping::create(3, [1, 2]).expect("a segment"));
        let attach = |rank| Shm::attach(mapping.clone(), rank).expect("a free rank");
        let mut ends: Vec<Shm> = (0..3).map(attach).collect();
        ends.iter_mut().for_each(Shm::settle);
        let head = Head::single(9, 0);
        let [a, b, _] = &mut ends[..] else { panic!("three ends") };
        let mut held = [0; 3];
        credit(a, 1, &mut held[1]);
        a.send(1, head, FRAME_BYTES, |_| ()).expect("a frame");
        assert_eq!(b.poll(usize::MAX, |_, _, _| ()), Ok(1));
        credit(b, 0, &mut held[0]);
        b.send(0, head, FRAME_BYTES, |_| ()).expect("the same frame");
        assert_eq!(a.poll(usize::MAX, |_, _, _| ()), Ok(1));
        assert!(a.reply_frames.serves(1), "its own frame has come home");
        while a.frames.take(a.mapping.control(0), 1, FRAME_BYTES).is_some() {}
        credit(a, 2, &mut held[2]);
        assert_eq!(a.send(2, head, FRAME_BYTES, |_| ()), Ok(()));
    }

    /// Reply frames of a peer stay so when they are too few for a message to it.
    #[test]
    fn a_message_that_finds_too_few_frames_keeps_what_was_kept() {
        let mapping = Arc::new(Mapping::create(2, [1, 2]).expect("a segment"));
        let attach = |rank| Shm::attach(mapping.clone(), rank).expect("a free rank");
        let mut ends: Vec<Shm> = (0..2).map(attach).collect();
        ends.iter_mut().for_each(Shm::settle);
        let head = Head::single(9, 0);
        let [a, b] = &mut ends[..] else { panic!("two ends") };
        let mut held = [0; 2];
        credit(b, 0, &mut held[0]);
        b.send(0, head, FRAME_BYTES, |_| ()).expect("a frame");
        assert_eq!(a.poll(usize::MAX, |_, _, _| ()), Ok(1));
        assert!(a.reply_frames.serves(1));
        // All of its own, without those that are reply frames.
        while a.frames.take(a.mapping.control(0), 1, MAX_LEN).is_some() {}
        credit(a, 1, &mut held[1]);
        assert_eq!(a.send_pipeline(1, None, head, MAX_LEN, |_, _, _| ()), Err(Refused::NoBuffer));
        assert!(a.reply_frames.serves(1));
        assert_eq!(a.send(1, head, FRAME_BYTES, |_| ()), Ok(()));
    }
}
