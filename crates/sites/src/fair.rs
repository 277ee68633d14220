//! What waits for the link to another site: a queue for each rank that sends, served by deficit round robin, so that a rank
//! that sends much delays nobody who sends little. Bounded: what has no room is lost, as on any network, and the ranks'
//! protocol sends it again.

use std::collections::{BTreeMap, VecDeque};

/// Bytes that a sender may take in its turn: one large datagram and some small ones.
const QUANTUM: usize = 3000;
/// What a datagram counts besides its bytes, so that empty ones are not free.
const OVERHEAD: usize = 64;

/// The datagrams that wait, by sender.
#[derive(Debug)]
pub struct Fair {
    queues: BTreeMap<u64, Queue>,
    /// Who has something, in the order of their turns.
    turns: VecDeque<u64>,
    /// Bytes that wait, and the most there may be.
    held: usize,
    most: usize,
    /// Datagrams that had no room.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Queue {
    datagrams: VecDeque<Box<[u8]>>,
    held: usize,
    /// What it may still take in this turn.
    deficit: usize,
}

impl Fair {
    /// Holds at most `most` bytes, counting [`OVERHEAD`] for each datagram.
    pub fn new(most: usize) -> Fair {
        Fair { queues: BTreeMap::new(), turns: VecDeque::new(), held: 0, most, dropped: 0 }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Bytes that wait.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes a datagram of `source`. When all is full, whoever holds the most loses the last it has: it may be this one.
    pub fn push(&mut self, source: u64, datagram: &[u8]) {
        let size = datagram.len() + OVERHEAD;
        if size > self.most {
            self.dropped += 1;
            return;
        }
        let queue = self.queues.entry(source).or_default();
        if queue.datagrams.is_empty() {
            self.turns.push_back(source);
            queue.deficit = QUANTUM;
        }
        queue.datagrams.push_back(datagram.into());
        queue.held += size;
        self.held += size;
        while self.held > self.most {
            self.shed();
        }
    }

    fn shed(&mut self) {
        let longest =
            self.queues.iter().max_by_key(|(_, queue)| queue.held).map(|(source, _)| *source);
        let Some(source) = longest else { return };
        let Some(queue) = self.queues.get_mut(&source) else { return };
        if let Some(datagram) = queue.datagrams.pop_back() {
            queue.held -= datagram.len() + OVERHEAD;
            self.held -= datagram.len() + OVERHEAD;
            self.dropped += 1;
        }
        if queue.datagrams.is_empty() {
            self.queues.remove(&source);
            self.turns.retain(|other| *other != source);
        }
    }

    /// The datagram that goes next.
    pub fn pop(&mut self) -> Option<Box<[u8]>> {
        loop {
            let source = *self.turns.front()?;
            let Some(queue) = self.queues.get_mut(&source) else {
                self.turns.pop_front();
                continue;
            };
            let size = queue.datagrams.front().map_or(0, |datagram| datagram.len() + OVERHEAD);
            if size > queue.deficit {
                queue.deficit += QUANTUM;
                self.turns.rotate_left(1);
                continue;
            }
            queue.deficit -= size;
            let datagram = queue.datagrams.pop_front();
            queue.held -= size;
            self.held -= size;
            if queue.datagrams.is_empty() {
                // What it did not use is not saved: who is idle collects no right to a burst.
                self.queues.remove(&source);
                self.turns.pop_front();
            }
            return datagram;
        }
    }

    /// Forgets all that waits.
    pub fn clear(&mut self) {
        self.queues.clear();
        self.turns.clear();
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(datagram: &[u8]) -> u64 {
        u64::from(datagram[0])
    }

    #[test]
    fn who_sends_little_does_not_wait_for_who_sends_much() {
        let mut fair = Fair::new(1 << 20);
        (0..300).for_each(|_| fair.push(1, &[1; 1400]));
        fair.push(2, &[2; 40]);
        let place = (0..).find(|_| fair.pop().is_some_and(|d| sender(&d) == 2)).unwrap();
        assert!(place <= 2, "after {place} datagrams of the other");
    }

    #[test]
    fn bytes_are_shared_evenly_whatever_their_packing() {
        let mut fair = Fair::new(1 << 20);
        (0..200).for_each(|_| fair.push(1, &[1; 1400]));
        (0..2000).for_each(|_| fair.push(2, &[2; 76]));
        let mut bytes = [0_usize; 3];
        for _ in 0..1000 {
            let datagram = fair.pop().unwrap();
            bytes[sender(&datagram) as usize] += datagram.len() + OVERHEAD;
        }
        let ratio = bytes[1] as f64 / bytes[2] as f64;
        assert!((0.9..1.1).contains(&ratio), "{bytes:?}");
    }

    #[test]
    fn when_full_the_greediest_loses() {
        let mut fair = Fair::new(100 * 1464);
        (0..1000).for_each(|_| fair.push(1, &[1; 1400]));
        (0..20).for_each(|_| fair.push(2, &[2; 1400]));
        assert_eq!(fair.dropped, 920);
        let mut counts = [0; 3];
        while let Some(datagram) = fair.pop() {
            counts[sender(&datagram) as usize] += 1;
        }
        assert_eq!(counts, [0, 80, 20]);
        assert_eq!((fair.held(), fair.is_empty()), (0, true));
    }

    proptest::proptest! {
        /// Of each sender what comes out is in order; nothing is counted twice; the bound holds.
        #[test]
        fn order_and_bound_hold(steps in proptest::collection::vec((0..5u8, 1..2000usize, proptest::bool::ANY), 1..400)) {
            let mut fair = Fair::new(20_000);
            let (mut pushed, mut popped) = (0_u64, 0_u64);
            let mut last = [0_u32; 5];
            for (index, (source, len, takes)) in (1_u32..).zip(steps) {
                let mut datagram = vec![source; len.max(5)];
                datagram[1..5].copy_from_slice(&index.to_le_bytes());
                fair.push(u64::from(source), &datagram);
                pushed += 1;
                assert!(fair.held() <= 20_000);
                if takes && let Some(datagram) = fair.pop() {
                    popped += 1;
                    let number = u32::from_le_bytes([1, 2, 3, 4].map(|at| datagram[at]));
                    assert!(number > last[sender(&datagram) as usize]);
                    last[sender(&datagram) as usize] = number;
                }
            }
            while fair.pop().is_some() {
                popped += 1;
            }
            assert_eq!((pushed, fair.held()), (popped + fair.dropped, 0));
        }
    }
}
