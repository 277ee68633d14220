//! Which byte of a striped file lies where.

/// Units of `unit` bytes go to `count` stripes by turns. Pure numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub unit: u64,
    pub count: u64,
}

impl Layout {
    /// The stripe of a byte of the file, and the byte of the stripe's data.
    pub fn place(&self, at: u64) -> (u64, u64) {
        let unit = at / self.unit;
        (unit % self.count, unit / self.count * self.unit + at % self.unit)
    }

    /// The byte of the file that is byte `local` of a stripe's data.
    pub fn logical(&self, stripe: u64, local: u64) -> u64 {
        let unit = (local / self.unit).saturating_mul(self.count).saturating_add(stripe);
        unit.saturating_mul(self.unit).saturating_add(local % self.unit)
    }

    /// Bytes that a stripe has of a file of `size` bytes.
    pub fn share(&self, stripe: u64, size: u64) -> u64 {
        let row = self.unit.saturating_mul(self.count);
        let rest = (size % row).saturating_sub(stripe.saturating_mul(self.unit));
        size / row * self.unit + rest.min(self.unit)
    }

    /// The size that a file has at least of which a stripe has `len` bytes.
    pub fn size_of(&self, stripe: u64, len: u64) -> u64 {
        match len.checked_sub(1) {
            None => 0,
            Some(last) => self.logical(stripe, last).saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every byte has one place, which leads back to it.
        #[test]
        fn places_lead_back(at in 0u64..1 << 50, unit in 1u64..100_000, count in 1u64..1000) {
            let layout = Layout { unit, count };
            let (stripe, local) = layout.place(at);
            prop_assert!(stripe < count);
            prop_assert_eq!(layout.logical(stripe, local), at);
            prop_assert_eq!(layout.size_of(stripe, local + 1), at + 1);
        }

        /// The shares make up the file, each is as long as the bytes that lie there, and the size follows from them.
        #[test]
        fn shares_make_up_the_file(size in 0u64..3000, unit in 1u64..50, count in 1u64..12) {
            let layout = Layout { unit, count };
            let mut there = vec![0; count as usize];
            for at in 0..size {
                let (stripe, local) = layout.place(at);
                prop_assert_eq!(there[stripe as usize], local, "in order, without holes");
                there[stripe as usize] += 1;
            }
            let shares: Vec<u64> = (0..count).map(|s| layout.share(s, size)).collect();
            prop_assert_eq!(&shares, &there);
            let sizes = (0..count).zip(&shares).map(|(s, len)| layout.size_of(s, *len));
            prop_assert_eq!(sizes.max(), Some(size));
        }

        /// Nothing that a file says overflows.
        #[test]
        fn any_numbers(at: u64, unit in 1u64.., count in 1u64.., stripe: u64) {
            let layout = Layout { unit, count };
            layout.place(at);
            layout.logical(stripe, at);
            layout.size_of(stripe, at);
            prop_assert!(layout.share(stripe, at) <= at);
        }
    }
}
