//! Which transmissions have come: each counts once, and none from far behind.

/// Transmissions behind the latest that are told apart. What is overtaken by more than this is
/// lost, and sent again.
pub(crate) const BEHIND: u64 = 64 * (WORDS as u64 - 1);
const WORDS: usize = 16;

/// The numbers seen lately. A datagram that an attacker sends again is known by its number.
#[derive(Default)]
pub(crate) struct Seen {
    latest: u64,
    words: [u64; WORDS],
}

impl Seen {
    /// True once for each number that is not too far behind. `newest` tells whether it is the
    /// highest so far.
    #[inline]
    pub fn is_new(&mut self, number: u64) -> Newness {
        let word = (number >> 6) as usize % WORDS;
        let bit = 1 << (number & 63);
        if number > self.latest {
            self.forget(number);
            self.latest = number;
            self.words[word] |= bit;
            return Newness::Newest;
        }
        if self.latest - number > BEHIND || self.words[word] & bit != 0 {
            return Newness::Old;
        }
        self.words[word] |= bit;
        Newness::Late
    }

    /// Clears the words between the latest number and the next.
    #[inline]
    fn forget(&mut self, number: u64) {
        let from = self.latest >> 6;
        let passed = ((number >> 6) - from).min(WORDS as u64);
        for i in 1..=passed {
            self.words[(from + i) as usize % WORDS] = 0;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newness {
    /// Above all before.
    Newest,
    /// Overtaken, but the first of its number.
    Late,
    /// Seen before, or too far behind to know.
    Old,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn as_a_set_would() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200 {
            let mut seen = Seen::default();
            let mut model = HashSet::new();
            let (mut latest, mut base) = (0_u64, 1_u64);
            for _ in 0..2000 {
                base += if random.u8(0..50) == 0 { random.u64(0..3000) } else { random.u64(0..4) };
                let number = base.saturating_sub(random.u64(0..40).pow(2)).max(1);
                let fresh = !model.contains(&number) && number + BEHIND >= latest;
                let expected = match (fresh, number > latest) {
                    (true, true) => Newness::Newest,
                    (true, false) => Newness::Late,
                    (false, _) => Newness::Old,
                };
                assert_eq!(seen.is_new(number), expected, "{number} after {latest}");
                latest = latest.max(number);
                model.insert(number);
            }
        }
    }

    #[test]
    fn the_end_of_the_numbers_is_harmless() {
        let mut seen = Seen::default();
        assert_eq!(seen.is_new(u64::MAX), Newness::Newest);
        assert_eq!(seen.is_new(u64::MAX), Newness::Old);
        assert_eq!(seen.is_new(u64::MAX - 1), Newness::Late);
        assert_eq!(seen.is_new(1), Newness::Old);
    }
}
