//! What a rank that died leaves in memory that others go on using: a slot that it claimed and never published, frames
//! on their way to it, half of a message in fragments.

use crate::endpoint::{Payload, Shm, corrupt, locate};
use crate::fragments::Pipeline;
use crate::frames;
use crate::life::Lives;
use crate::ring::{Halt, Receiver};
use crate::segment::Mapping;
use hpvm_transport::{Broken, Life, Rank};
use hpvm_wire::segment::SLOTS;

/// [`Receiver::next`] of `rank` has no slot for this reason. True: the slot at the head is abandoned and has been passed, so
/// there may be a next one.
///
/// # Errors
/// A peer has written what it must not.
#[cold]
pub(crate) fn halted(
    halt: Halt,
    receiver: &mut Receiver,
    (mapping, rank): (&Mapping, Rank),
    lives: &Lives,
) -> Result<bool, Broken> {
    if let Halt::RunAway(found) = halt {
        return Err(corrupt("tickets", found, SLOTS));
    }
    let control = mapping.control(rank);
    let claiming = (0..mapping.ranks())
        .filter(|peer| *peer != rank)
        .map(|peer| (peer, &mapping.control(peer).own.claiming));
    let ring = (rank, &*control.tail, mapping.ring(rank));
    let abandoned = receiver.head_is_abandoned(ring, claiming, |peer| lives.is_gone(peer));
    if abandoned {
        receiver.pass_head(&control.credits, SLOTS);
    }
    Ok(abandoned)
}

impl Shm {
    /// That rank has died, and the job goes on without it.
    pub fn mark_dead(&mut self, rank: Rank) {
        self.lives.mark_dead(rank);
    }

    /// Takes back this rank's frames that ranks now dead had not given back, except those in packets from such a rank
    /// that are still to be read here.
    #[cold]
    pub(crate) fn frames_of_the_dead(&mut self) {
        let control = &*self.control;
        for dead in self.lives.marked() {
            let waiting = self.frames_in_packets_from(dead);
            for index in self.frames.sent_to(dead) {
                // Nobody has stored to the state since the death of the rank that would: no ordering is needed.
                if !frames::is_back(&control.frames[index]) && !waiting.contains(&index) {
                    frames::give_back(control, index);
                }
            }
        }
    }

    /// The frames of this rank in packets from `src` that have not been read, or not to their end.
    fn frames_in_packets_from(&self, src: Rank) -> Vec<usize> {
        let (mapping, rank) = (&*self.mapping, self.rank);
        let begun = self.pipelines.iter().filter(|pipeline| pipeline.src() == src);
        let mut found: Vec<usize> = begun.flat_map(Pipeline::frames_of_reader).collect();
        for cell in self.receiver.waiting(&mapping.control(rank).tail, mapping.ring(rank)) {
            // SAFETY: the slot is published and has not been given back.
            let raw = unsafe { cell.read_head() };
            let slot = cell.payload().cast_const();
            if raw.src != src {
                continue;
            }
            // What is corrupt is said when it is taken.
            match locate(mapping, rank, &raw, slot) {
                Ok(Payload::Frame(_, frame)) if frame.mine => found.push(frame.index.into()),
                Ok(Payload::Fragments) => {
                    // SAFETY: as above, and it announces a message in fragments.
                    if let Ok((pipeline, _)) = unsafe { Pipeline::read(&raw, slot) } {
                        found.extend(pipeline.frames_of_reader());
                    }
                }
                Ok(_) | Err(_) => {}
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring;
    use hpvm_transport::{Head, Packets, Refused};
    use hpvm_wire::segment::{FRAME_BYTES, FRAMES};
    use std::sync::Arc;

    fn ends(ranks: u32) -> Vec<Shm> {
        let mapping = Arc::new(Mapping::create(ranks, [5, 6]).expect("a segment"));
        let attach = |rank| Shm::attach(mapping.clone(), rank).expect("a free rank");
        let mut ends: Vec<Shm> = (0..ranks).map(attach).collect();
        ends.iter_mut().for_each(Shm::settle);
        ends
    }

    fn one_credit(from: &Shm, dst: Rank) -> bool {
        ring::take_credits(&from.mapping().control(dst).credits, 1) == 1
    }

    /// Sends a packet of `len` bytes. False: there is no credit, or no frame.
    fn send(from: &mut Shm, dst: Rank, len: usize) -> bool {
        one_credit(from, dst)
            && from.send(dst, Head::single(1, 7), len, |out| out.fill(len as u8)).is_ok()
    }

    /// Takes what has come, with as many polls as leap-frogging and suspicion need; the lengths of the packets by source.
    fn poll(end: &mut Shm) -> Vec<(Rank, usize)> {
        let mut came = Vec::new();
        for _ in 0..1 << 16 {
            end.poll(usize::MAX, |src, _, data| {
                assert!(data.iter().all(|byte| *byte == data.len() as u8));
                came.push((src, data.len()));
            })
            .expect("clean packets");
        }
        came
    }

    /// `rank` claims a slot in the ring of rank 0, and goes no further.
    fn claim_only(end: &mut Shm) {
        assert!(one_credit(end, 0));
        let _never_published = end.claim(0);
    }

    #[test]
    fn a_slot_that_a_dead_rank_claimed_blocks_nobody() {
        let mut ends = ends(3);
        claim_only(&mut ends[2]);
        ends[0].mark_dead(2);
        for round in 0..4 * SLOTS as usize {
            assert!(send(&mut ends[1], 0, 0) || round > 0, "the first of all");
            if round % 64 == 63 {
                poll(&mut ends[0]);
            }
        }
        poll(&mut ends[0]);
        assert!(send(&mut ends[1], 0, 5), "the ring goes round");
        assert_eq!(poll(&mut ends[0]), [(1, 5)]);
        assert!(ends[0].arm(), "nothing waits, so the receiver may sleep");
        ends[0].disarm();
    }

    #[test]
    fn a_slot_of_a_rank_that_lives_is_waited_for() {
        let mut ends = ends(3);
        claim_only(&mut ends[2]);
        ends[0].mark_dead(1);
        while send(&mut ends[1], 0, 0) {}
        poll(&mut ends[0]);
        while send(&mut ends[1], 0, 0) {}
        poll(&mut ends[0]);
        assert!(!ends[0].arm(), "the claimed slot is still waited for");
        assert!(!send(&mut ends[1], 0, 0), "and no slot beyond it is used again");
    }

    #[test]
    fn frames_that_a_dead_rank_has_not_read_come_back() {
        let mut ends = ends(3);
        // A whole message in fragments takes 16 frames and one slot.
        let long = 16 * FRAME_BYTES;
        let fragments = |from: &mut Shm, dst| {
            assert!(one_credit(from, dst));
            from.send_fragments(dst, None, Head::single(1, 7), long, |_, _, _| ())
        };
        let mut sent = 0;
        while fragments(&mut ends[0], 2).is_ok() {
            sent += 1;
        }
        assert_eq!(sent, FRAMES / 16);
        assert_eq!(fragments(&mut ends[0], 1), Err(Refused::NoBuffer));
        ends[0].mark_dead(2);
        assert_eq!(fragments(&mut ends[0], 1), Ok(()));
        ends[1].poll(usize::MAX, |src, _, _| assert_eq!(src, 0)).expect("clean packets");
    }

    #[test]
    fn an_answer_of_a_dead_rank_keeps_its_frame_until_it_is_read() {
        let mut ends = ends(3);
        assert!(send(&mut ends[0], 2, 200));
        assert_eq!(poll(&mut ends[2]), [(0, 200)]);
        assert!(send(&mut ends[2], 0, 201), "in the frame of the question");
        while send(&mut ends[0], 2, 250) {}
        ends[0].mark_dead(2);
        // Every frame that is free now is written, and one that is not is not.
        while send(&mut ends[0], 1, 251) {}
        let came = poll(&mut ends[0]);
        assert_eq!(came, [(2, 201)]);
    }

    #[test]
    fn half_of_a_message_of_a_dead_rank_is_dropped() {
        let mut ends = ends(3);
        let (first, rest) = ends.split_at_mut(1);
        let [receiver, sender] = [&mut first[0], &mut rest[1]];
        assert!(one_credit(sender, 0));
        let mut fragments = 0;
        let poll = |receiver: &mut Shm| {
            receiver.poll(usize::MAX, |src, _, _| assert_eq!(src, 2)).expect("clean packets");
            receiver.pipelines.len()
        };
        let _ = sender.send_fragments(0, None, Head::single(1, 7), 2 * FRAME_BYTES, |_, _, _| {
            fragments += 1;
            if fragments == 2 {
                assert_eq!(poll(receiver), 1);
                receiver.mark_dead(2);
                assert_eq!(poll(receiver), 0);
            }
        });
        assert!(fragments > 2, "the message is longer than what the receiver saw");
    }

    #[test]
    fn a_message_that_a_rank_completed_before_it_died_comes() {
        let mut ends = ends(3);
        let (first, rest) = ends.split_at_mut(1);
        let [receiver, sender] = [&mut first[0], &mut rest[1]];
        assert!(one_credit(sender, 0));
        let len = 2 * FRAME_BYTES;
        let (mut begun, mut came) = (false, 0);
        let _ = sender.send_fragments(0, None, Head::single(1, 7), len, |_, _, _| {
            if !std::mem::replace(&mut begun, true) {
                receiver.poll(usize::MAX, |_, _, data| came += data.len()).expect("clean packets");
                assert_eq!((receiver.pipelines.len(), came), (1, 0));
            }
        });
        receiver.mark_dead(2);
        receiver.poll(usize::MAX, |_, _, data| came += data.len()).expect("clean packets");
        assert_eq!((receiver.pipelines.len(), came), (0, len));
    }

    /// The frames of the message are the reader's own, and the reader needs frames before it has read on.
    #[test]
    fn a_message_that_is_being_read_keeps_its_frames_when_its_sender_dies() {
        let mut ends = ends(3);
        let len = 2 * FRAME_BYTES;
        for _ in 0..2 {
            assert!(send(&mut ends[0], 2, 200));
        }
        assert_eq!(poll(&mut ends[2]).len(), 2, "rank 2 keeps the frames to answer in");
        let (first, rest) = ends.split_at_mut(1);
        let [reader, sender] = [&mut first[0], &mut rest[1]];
        assert!(one_credit(sender, 0));
        let mut begun = false;
        let head = Head::single(1, 7);
        let _ = sender.send_fragments(0, None, head, len, |_, out, _| {
            if !std::mem::replace(&mut begun, true) {
                reader.poll(usize::MAX, |_, _, _| panic!("nothing is written")).expect("clean");
            }
            out.fill(9);
        });
        reader.mark_dead(2);
        while send(reader, 1, 251) {}
        let mut came = 0;
        let read = reader.poll(usize::MAX, |_, _, data| {
            assert!(data.iter().all(|byte| *byte == 9), "other bytes than were sent");
            came += data.len();
        });
        assert!(read.is_ok() && came == len, "{came} bytes");
    }
}
