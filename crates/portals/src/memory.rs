//! Memory of the program, as addresses: what is there is the carrier's business.

use std::sync::Arc;

/// A part of a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub address: u64,
    pub length: u64,
}

/// The memory of a descriptor or an entry: one run, or a vector of them (`PTL_IOVEC`).
#[derive(Clone, Debug)]
pub struct Region {
    start: u64,
    length: u64,
    vector: Option<Arc<[Run]>>,
}

impl Region {
    /// `None`: it reaches beyond the end of the address space.
    pub fn new(start: u64, length: u64) -> Option<Region> {
        start.checked_add(length)?;
        Some(Region { start, length, vector: None })
    }

    /// No memory.
    pub fn empty() -> Region {
        Region { start: 0, length: 0, vector: None }
    }

    /// `None`: together they are longer than the address space, or one of them reaches beyond its end.
    pub fn vector(runs: Vec<Run>) -> Option<Region> {
        let mut length = 0u64;
        for run in &runs {
            run.address.checked_add(run.length)?;
            length = length.checked_add(run.length)?;
        }
        let start = runs.first().map_or(0, |run| run.address);
        Some(Region { start, length, vector: Some(runs.into()) })
    }

    #[inline(always)]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether `length` bytes from `offset` belong to it.
    #[inline(always)]
    pub fn holds(&self, offset: u64, length: u64) -> bool {
        offset.checked_add(length).is_some_and(|end| end <= self.length)
    }

    /// Where the byte at `offset` lies: `start` of events.
    #[inline]
    pub fn address(&self, offset: u64) -> u64 {
        if let Some(run) = self.run(offset, 1) {
            return run.address;
        }
        let first = self.runs(offset, 1).next();
        first.map_or(self.start.wrapping_add(offset), |run| run.address)
    }

    /// The memory of `length` bytes from `offset` where the region is one run that has them.
    #[inline(always)]
    pub fn run(&self, offset: u64, length: u64) -> Option<Run> {
        let one = self.vector.is_none() && self.holds(offset, length);
        one.then(|| Run { address: self.start + offset, length })
    }

    /// The memory of `length` bytes from `offset`, as far as there is any.
    pub fn runs(&self, offset: u64, length: u64) -> impl Iterator<Item = Run> {
        let whole = Run { address: self.start, length: self.length };
        let runs = self.vector.as_deref().unwrap_or(&[]);
        let one = self.vector.is_none().then_some(whole);
        let mut skip = offset;
        let mut left = length;
        one.into_iter().chain(runs.iter().copied()).filter_map(move |run| {
            let skipped = skip.min(run.length);
            skip -= skipped;
            let taken = (run.length - skipped).min(left);
            left -= taken;
            (taken > 0).then_some(Run { address: run.address + skipped, length: taken })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_vector() {
        let run = |address, length| Run { address, length };
        let region = Region::vector(vec![run(100, 4), run(50, 0), run(200, 3)]).expect("short");
        assert_eq!(region.length(), 7);
        assert_eq!(region.runs(2, 4).collect::<Vec<_>>(), [run(102, 2), run(200, 2)]);
        assert_eq!((region.run(0, 1), Region::new(7, 5).and_then(|r| r.run(2, 4))), (None, None));
        assert_eq!(Region::new(7, 5).and_then(|r| r.run(2, 3)), Some(run(9, 3)));
        assert_eq!(region.runs(5, 9).collect::<Vec<_>>(), [run(201, 2)]);
        assert_eq!((region.address(4), region.address(0)), (200, 100));
        assert!(region.holds(3, 4) && !region.holds(4, 4) && !region.holds(u64::MAX, 2));
        assert!(Region::vector(vec![run(u64::MAX, 1)]).is_none());
        assert!(Region::new(1, u64::MAX).is_none() && Region::new(0, u64::MAX).is_some());
    }
}
