//! Which large blocks may travel straight to or from the program's memory.
//!
//! A large block moves while other blocks do. So it goes straight only if no other access of the superstep that
//! could make a difference touches its bytes; else through memory of ours, read before anything is written, and
//! written in its turn.

/// One large access to our memory.
#[derive(Clone, Copy, Debug)]
struct Claim {
    start: usize,
    end: usize,
    writes: bool,
    id: usize,
}

/// The large accesses of a superstep to the memory of one process.
#[derive(Default)]
pub struct Claims {
    claims: Vec<Claim>,
    /// The largest `end` of the claims up to each, in the order of `start`.
    reach: Vec<usize>,
    conflicts: Vec<bool>,
}

impl Claims {
    /// Adds an access of `len` bytes at `start`; returns its number.
    pub fn add(&mut self, start: usize, len: usize, writes: bool) -> usize {
        let id = self.claims.len();
        self.claims.push(Claim { start, end: start + len, writes, id });
        id
    }

    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Finds the claims that meet each other. To be called after the last `add`.
    pub fn settle(&mut self) {
        self.conflicts = vec![false; self.claims.len()];
        self.claims.sort_unstable_by_key(|claim| claim.start);
        let (mut reach, mut written) = (0, 0);
        self.reach.clear();
        for claim in &self.claims {
            if written > claim.start || (claim.writes && reach > claim.start) {
                self.conflicts[claim.id] = true;
            }
            reach = reach.max(claim.end);
            if claim.writes {
                written = written.max(claim.end);
            }
            self.reach.push(reach);
        }
        // The other one of each pair: who begins later begins inside of it.
        let (mut next, mut next_write) = (usize::MAX, usize::MAX);
        for claim in self.claims.iter().rev() {
            if next_write < claim.end || (claim.writes && next < claim.end) {
                self.conflicts[claim.id] = true;
            }
            next = claim.start;
            if claim.writes {
                next_write = claim.start;
            }
        }
    }

    /// A small block of `len` bytes will be written at `start`.
    pub fn write(&mut self, start: usize, len: usize) {
        let end = start + len;
        let mut at = self.claims.partition_point(|claim| claim.start < end);
        while at > 0 && self.reach[at - 1] > start {
            at -= 1;
            let claim = self.claims[at];
            if claim.end > start {
                self.conflicts[claim.id] = true;
            }
        }
    }

    /// Whether the claim of this number meets another access.
    pub fn conflicts(&self, id: usize) -> bool {
        self.conflicts[id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_every_pair_compared(
            large in prop::collection::vec((0usize..200, 1usize..40, any::<bool>()), 0..12),
            small in prop::collection::vec((0usize..200, 1usize..9), 0..12),
        ) {
            let mut claims = Claims::default();
            for (start, len, writes) in &large {
                claims.add(*start, *len, *writes);
            }
            claims.settle();
            for (start, len) in &small {
                claims.write(*start, *len);
            }
            let meets = |a: (usize, usize), b: (usize, usize)| a.0 < b.0 + b.1 && b.0 < a.0 + a.1;
            for (i, a) in large.iter().enumerate() {
                let by_large = large.iter().enumerate().any(|(j, b)| {
                    i != j && (a.2 || b.2) && meets((a.0, a.1), (b.0, b.1))
                });
                let by_small = small.iter().any(|b| meets((a.0, a.1), *b));
                prop_assert_eq!(claims.conflicts(i), by_large || by_small, "{}", i);
            }
        }
    }
}
