//! Messages that receiver and sender copy together: both see the same split copy, and each part is copied by one
//! of them or refused to it.

use super::peer_memory::{MARGIN, UNTOUCHED};
use super::{Cluster, Fixture};
use crate::{Packets, PeerMemoryError, Rank, Segment, Transport};
use core::ops::Range;
use hpvm_wire::split_copy::{self, End, SPLIT_COPIES};

/// A split copy that one end opens is the same for the others, and no other split copy of anybody.
pub fn split_copies_are_seen_by_all_and_apart<F: Fixture>(fixture: &mut F) {
    const LEN: u64 = 40 * 4096;
    let c = Cluster::new(fixture, 2);
    for end in &c.ends {
        assert!(
            end.split_copy(2, 0).is_none() && end.split_copy(Rank::MAX, 0).is_none(),
            "a split of nobody"
        );
        assert!(
            end.split_copy(end.rank(), SPLIT_COPIES).is_none(),
            "more split_copies than there are"
        );
    }
    let all = || (0..2).flat_map(|owner| (0..SPLIT_COPIES).map(move |index| (owner, index)));
    let mut opened = Vec::new();
    for (owner, index) in all() {
        let [own, others] =
            [owner, 1 - owner].map(|rank| c.ends[rank as usize].split_copy(owner, index));
        let Some(own) = own else { continue };
        // As many units as nobody else has.
        let units = split_copy::units(LEN) - opened.len() as u32;
        let name = own.open(units).expect("a name");
        opened.push((owner, index, name, units));
        assert!(others.is_some(), "its owner alone sees split copy {index} of {owner}");
    }
    for (owner, index, name, units) in opened {
        let split = c.ends[1 - owner as usize].split_copy(owner, index).expect("it was there");
        assert_eq!(split.claim(name + 1, End::Back, LEN), None, "another name");
        let last = split.claim(name, End::Back, LEN).expect("nobody has claimed anything of it");
        assert_eq!(last.end, units, "split copy {index} of {owner} is another one");
        let own = c.ends[owner as usize].split_copy(owner, index).expect("it was there");
        let mut front = 0;
        while let Some(part) = own.claim(name, End::Front, LEN) {
            assert_eq!(part.start, front);
            front = part.end;
        }
        assert_eq!(front, last.start, "what one has claimed is for the other still");
    }
}

/// Whoever comes to it copies a part, or is refused: then the other does. In the end all bytes are there,
/// once, and nothing else was written.
pub fn a_message_is_copied_from_both_ends<F: Fixture>(fixture: &mut F) {
    let mut c = Cluster::new(fixture, 2);
    for (sender, receiver) in [(1, 0), (0, 1), (0, 0)] {
        for len in [1, 4096, 4097, 100_000, (1 << 20) + 13] {
            let sent = c.dice.bytes(len);
            let mut room = vec![UNTOUCHED; len + 2 * MARGIN];
            let index = c.dice.below(SPLIT_COPIES);
            let Some(split) = c.ends[receiver as usize].split_copy(receiver, index) else {
                continue;
            };
            let name = split.open(split_copy::units(len as u64)).expect("a name");
            let message = Message { sender, receiver, index, name, sent: &sent };
            message.copy(&mut c, &mut room[MARGIN..MARGIN + len]);
            let mut around = room[..MARGIN].iter().chain(&room[MARGIN + len..]);
            assert!(around.all(|b| *b == UNTOUCHED), "copies of {len} bytes wrote beside them");
        }
    }
}

struct Message<'a> {
    sender: Rank,
    receiver: Rank,
    index: usize,
    name: u32,
    sent: &'a [u8],
}

impl Message<'_> {
    /// Both copy to `room`, in any order, until nothing is left.
    fn copy<F: Fixture>(&self, c: &mut Cluster<'_, F>, room: &mut [u8]) {
        let len = self.sent.len() as u64;
        let all = split_copy::units(len);
        let mut lasts = 0;
        loop {
            let end = [End::Front, End::Back][c.dice.below(2)];
            let copier = if end == End::Front { self.receiver } else { self.sender };
            let copier = &mut c.ends[copier as usize];
            let split = copier.split_copy(self.receiver, self.index).expect("both see it");
            let Some(part) = split.claim(self.name, end, len) else { break };
            let bytes = split_copy::bytes(len, &part);
            let bytes = bytes.start as usize..bytes.end as usize;
            match self.copy_part(copier, end, room, &bytes) {
                Ok(()) => {}
                // The other would be asked, and might be refused, too: then packets bring it.
                Err(PeerMemoryError::NotPermitted) => {
                    room[bytes.clone()].copy_from_slice(&self.sent[bytes]);
                }
                Err(refused) => panic!("bytes {bytes:?} at the {end:?}: {refused:?}"),
            }
            let split = copier.split_copy(self.receiver, self.index).expect("both see it");
            lasts += u32::from(split.finish(part.end - part.start, all));
        }
        assert_eq!(lasts, 1, "one part is the last");
        assert!(room == self.sent, "{len} bytes came changed");
        let split = c.ends[self.sender as usize].split_copy(self.receiver, self.index);
        let split = split.expect("both see it");
        assert_eq!(split.claim(self.name, End::Back, len), None, "nothing is left");
        assert!(split.is_finished(all));
    }

    fn copy_part(
        &self,
        copier: &mut impl Transport,
        end: End,
        room: &mut [u8],
        bytes: &Range<usize>,
    ) -> Result<(), PeerMemoryError> {
        let (from, to) = (&self.sent[bytes.clone()], &mut room[bytes.clone()]);
        let (from, to, n) = (from.as_ptr(), to.as_mut_ptr(), from.len());
        // SAFETY: both have `n` bytes, of which this part was claimed by nobody else.
        unsafe {
            match end {
                End::Front => copier.read(self.sender, from.expose_provenance() as u64, to, n),
                End::Back => copier.write(self.receiver, to.expose_provenance() as u64, from, n),
            }
        }
    }
}
