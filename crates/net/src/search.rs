//! Finding out which of a peer's addresses reaches it: by asking at all of them. Only the peer can
//! answer, because the answer carries a MAC and repeats a number that was never sent before; so it does
//! not matter that another host may have the same address on an interface of its own.

use crate::address::Address;
use hpvm_wire::envelope::PROBE;

/// First pause between two rounds of probes; it doubles.
const FIRST_PAUSE: u64 = 5_000_000;
/// Longest pause.
const LONGEST_PAUSE: u64 = 500_000_000;
/// Rounds after which the addresses of the peer's card are tried besides the one it wrote from.
const ROUNDS_WITHOUT_CARD: u32 = 2;

/// Time between two looks whether a peer's card has come.
const CARD_POLL: u64 = 500_000;

/// A search for the way to one peer.
pub struct Search {
    candidates: Vec<Address>,
    /// The number of the first candidate's probe; the others' follow.
    nonce: u64,
    /// When to ask again.
    next: u64,
    pause: u64,
    rounds: u32,
    /// The peer's card has been read.
    complete: bool,
}

impl Search {
    /// `complete`: the candidates are all that the peer has told.
    pub fn new(candidates: Vec<Address>, complete: bool, nonce: u64, now: u64) -> Search {
        Search { candidates, nonce, next: now, pause: FIRST_PAUSE, rounds: 0, complete }
    }

    /// The peer does not answer where it was heard: its card is needed.
    pub fn wants_card(&self) -> bool {
        !self.complete && (self.rounds >= ROUNDS_WITHOUT_CARD || self.candidates.is_empty())
    }

    /// The card has been asked for and has not come. Without another address to ask at, there is
    /// nothing to do but to look for it again soon.
    pub fn wait_for_card(&mut self, now: u64) {
        if self.candidates.is_empty() {
            self.next = now + CARD_POLL;
        }
    }

    /// The addresses of the peer's card.
    pub fn add(&mut self, candidates: Vec<Address>) {
        self.complete = true;
        for candidate in candidates {
            if !self.candidates.contains(&candidate) {
                self.candidates.push(candidate);
            }
        }
        self.pause = FIRST_PAUSE;
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    /// The probes that are due: where to and what they carry.
    pub fn due(&mut self, now: u64) -> Vec<(Address, [u8; PROBE])> {
        if now < self.next {
            return Vec::new();
        }
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.rounds += 1;
        let numbered = self.candidates.iter().zip(0..);
        numbered.map(|(to, i)| (*to, self.nonce.wrapping_add(i).to_le_bytes())).collect()
    }

    /// The address whose probe the peer has answered, if the answer is one of ours.
    pub fn answered(&self, body: &[u8]) -> Option<Address> {
        let number = u64::from_le_bytes(body.try_into().ok()?);
        let index = usize::try_from(number.wrapping_sub(self.nonce)).ok()?;
        self.candidates.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Address {
        Address::new([10, 0, 0, last].into(), 99, false, 0).unwrap()
    }

    #[test]
    fn asks_all_with_growing_pauses_and_believes_its_own_numbers_only() {
        let mut search = Search::new(vec![address(1), address(2)], true, u64::MAX, 1000);
        let probes = search.due(1000);
        assert_eq!(probes.len(), 2);
        assert_eq!(probes[1], (address(2), 0u64.to_le_bytes()));
        assert!(search.due(1001).is_empty());
        assert_eq!(search.answered(&probes[1].1), Some(address(2)));
        assert_eq!(search.answered(&1u64.to_le_bytes()), None);
        assert_eq!(search.answered(b"short"), None);
        let mut now = 1000;
        for _ in 0..20 {
            let pause = search.next() - now;
            assert!((FIRST_PAUSE..=LONGEST_PAUSE).contains(&pause));
            now = search.next();
            assert_eq!(search.due(now).len(), 2);
        }
        assert_eq!(search.next() - now, LONGEST_PAUSE);
    }

    #[test]
    fn without_any_address_only_the_card_is_waited_for() {
        let mut search = Search::new(vec![], false, 7, 0);
        assert!(search.wants_card());
        search.wait_for_card(1000);
        assert_eq!(search.next(), 1000 + CARD_POLL);
        assert!(search.due(1001).is_empty() && search.wants_card());
        search.add(vec![address(3)]);
        assert!(!search.wants_card());
        assert_eq!(search.due(1000 + CARD_POLL).len(), 1);
    }

    #[test]
    fn the_card_is_read_when_the_sender_does_not_answer() {
        let mut search = Search::new(vec![address(1)], false, 7, 0);
        assert!(!search.wants_card());
        search.due(0);
        search.due(FIRST_PAUSE);
        assert!(search.wants_card());
        search.add(vec![address(1), address(3)]);
        assert!(!search.wants_card());
        assert_eq!(search.due(LONGEST_PAUSE).len(), 2);
    }
}
