//! Whether the ranks of an oversubscribed host take turns on its processors at present.
//!
//! Long packets are sent in another way where sender and receiver take turns: past the cache, in few
//! frames, and never in fragments, because nobody copies while the sender writes. But that there are
//! more ranks than processors does not say that they run: all but two of them may sleep until the end
//! of the job. So a sender of long packets looks now and then how many ranks of the host are awake. What
//! it finds is a hint: either way is right, and only one is fast.

/// Long packets from one look to the next: a look reads a cache line of each rank.
const PACKETS_PER_LOOK: u32 = 16;
/// So many looks in a row have to find a processor for each rank that is awake. Ranks that take turns sleep for
/// moments, too.
const FITTING_LOOKS: u32 = 16;
/// With more ranks than that they are taken to take turns: a look would cost too much.
const MAX_RANKS: u32 = 128;

/// What one rank has seen of its host.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Processors for all ranks; 0: they take turns, whoever is awake.
    processors: u32,
    packets: u32,
    fitting: u32,
    taken: bool,
}

impl Turns {
    /// For `ranks` ranks of an oversubscribed host that share `processors` processors.
    pub(crate) fn new(ranks: u32, processors: u32) -> Self {
        let processors = if ranks <= MAX_RANKS { processors } else { 0 };
        Turns { processors, packets: 0, fitting: 0, taken: true }
    }

    /// Whether ranks take turns, as far as is known.
    #[inline(always)]
    pub(crate) fn are_taken(&self) -> bool {
        self.taken
    }

    /// Processors for all ranks.
    pub(crate) fn processors(&self) -> u32 {
        self.processors
    }

    /// A long packet is about to be sent: whether to look how many ranks are awake, and tell [`Turns::saw`].
    #[inline(always)]
    pub(crate) fn look_is_due(&mut self) -> bool {
        self.packets += 1;
        self.packets >= PACKETS_PER_LOOK && self.processors > 0
    }

    /// So many ranks are awake, the sender among them. Returns the new answer of [`Turns::are_taken`] when it
    /// changes.
    pub(crate) fn saw(&mut self, awake: u32) -> Option<bool> {
        self.packets = 0;
        let fits = awake <= self.processors;
        self.fitting = if fits { (self.fitting + 1).min(FITTING_LOOKS) } else { 0 };
        let taken = if fits { self.taken && self.fitting < FITTING_LOOKS } else { true };
        (std::mem::replace(&mut self.taken, taken) != taken).then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(turns: &mut Turns, count: u32, awake: u32) -> Vec<bool> {
        let mut send = |_| if turns.look_is_due() { turns.saw(awake) } else { None };
        (0..count).filter_map(&mut send).collect()
    }

    #[test]
    fn ranks_that_sleep_take_no_turns() {
        let mut turns = Turns::new(16, 2);
        assert!(turns.are_taken());
        assert_eq!(packets(&mut turns, PACKETS_PER_LOOK * FITTING_LOOKS - 1, 2), []);
        assert_eq!(packets(&mut turns, 1, 2), [false]);
        assert!(!turns.are_taken());
        // A third one wakes, and sleeps again.
        assert_eq!(packets(&mut turns, PACKETS_PER_LOOK, 3), [true]);
        assert_eq!(packets(&mut turns, PACKETS_PER_LOOK * (FITTING_LOOKS - 1), 2), []);
        assert!(turns.are_taken());
        assert_eq!(packets(&mut turns, PACKETS_PER_LOOK, 1), [false]);
    }

    #[test]
    fn ranks_that_sleep_for_moments_do() {
        let mut turns = Turns::new(4, 2);
        for _ in 0..1000 {
            assert_eq!(packets(&mut turns, PACKETS_PER_LOOK * (FITTING_LOOKS - 1), 2), []);
            assert_eq!(packets(&mut turns, PACKETS_PER_LOOK, 4), []);
        }
        assert!(turns.are_taken());
    }

    #[test]
    fn bound_ranks_and_very_many_take_turns_whoever_sleeps() {
        for (ranks, processors) in [(MAX_RANKS + 1, 2), (4, 0)] {
            let mut turns = Turns::new(ranks, processors);
            assert_eq!(packets(&mut turns, 10_000, 1), []);
            assert!(turns.are_taken());
        }
    }
}
