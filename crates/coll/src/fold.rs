//! Folding a group to the nearest power of two below it.
//!
//! The first `2 * extra` ranks form pairs of neighbours; one of each pair passes its operand to the
//! other and leaves. Pairs are contiguous, so the order of operands is kept.

use crate::tree::floor_power;

/// Who stays, and under which number.
#[derive(Clone, Copy)]
pub(crate) struct Fold {
    /// The power of two.
    pub(crate) power: u32,
    extra: u32,
    /// A rank that must stay; others of even rank in a pair leave.
    favoured: u32,
}

/// A rank's part in the fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Gives its operand to the partner and waits for the result.
    Leaves { partner: u32 },
    /// Goes on under `number`; takes a partner's operand first if it has one.
    Stays { number: u32, partner: Option<u32> },
}

impl Fold {
    pub(crate) fn new(size: u32, favoured: u32) -> Fold {
        let power = floor_power(size);
        Fold { power, extra: size - power, favoured }
    }

    pub(crate) fn part(&self, rank: u32) -> Part {
        if rank >= 2 * self.extra {
            return Part::Stays { number: rank - self.extra, partner: None };
        }
        let (number, partner) = (rank / 2, rank ^ 1);
        if self.real(number) == rank {
            Part::Stays { number, partner: Some(partner) }
        } else {
            Part::Leaves { partner }
        }
    }

    /// The rank that has the number.
    pub(crate) fn real(&self, number: u32) -> u32 {
        if number >= self.extra {
            number + self.extra
        } else if self.favoured == 2 * number {
            2 * number
        } else {
            2 * number + 1
        }
    }

    /// The first of the ranks that the number stands for; numbers stand for contiguous ranks.
    pub(crate) fn first(&self, number: u32) -> u32 {
        number + number.min(self.extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_rank() {
        for size in 1..40 {
            for favoured in 0..size {
                let fold = Fold::new(size, favoured);
                assert!(matches!(fold.part(favoured), Part::Stays { .. }) || favoured % 2 == 1);
                for rank in 0..size {
                    match fold.part(rank) {
                        Part::Stays { number, partner } => {
                            assert_eq!(fold.real(number), rank);
                            let leaves = Part::Leaves { partner: rank };
                            assert!(partner.is_none_or(|p| fold.part(p) == leaves));
                        }
                        Part::Leaves { partner } => {
                            assert!(matches!(fold.part(partner), Part::Stays { .. }));
                        }
                    }
                }
                assert_eq!(fold.first(fold.power), size);
            }
        }
    }
}
