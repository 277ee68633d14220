//! Strided transfers: `count[0]` bytes that lie together, `count[1]` times at a first distance, all of that `count[2]` times at
//! a second one, and so on.

/// More levels than this no program has: ARMCI's limit.
pub const MAX_LEVELS: usize = 8;

/// A level: how often, and the distance of one time to the next in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Level {
    times: usize,
    source: isize,
    dest: isize,
}

/// What is transferred, without where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Bytes that lie together on both sides.
    run: usize,
    levels: [Level; MAX_LEVELS],
    used: usize,
}

impl Strided {
    /// `count` has an entry more than `source` and `dest`, which have the same number.
    ///
    /// Levels that lie together on both sides become one run, and levels of one time vanish.
    ///
    /// # Errors
    /// Names the count and what was expected.
    pub fn new(count: &[i32], source: &[i32], dest: &[i32]) -> Result<Strided, String> {
        let mut counts = [0_usize; MAX_LEVELS + 1];
        for (i, (place, count)) in counts.iter_mut().zip(count).enumerate() {
            *place = usize::try_from(*count)
                .map_err(|_| format!("count[{i}] is {count}; expected 0 or more"))?;
        }
        let mut strided = Strided::contiguous(counts[0]);
        for (i, (source, dest)) in source.iter().zip(dest).take(MAX_LEVELS).enumerate() {
            let (source, dest) = (*source as isize, *dest as isize);
            strided.push(Level { times: counts[i + 1], source, dest });
        }
        Ok(strided)
    }

    /// One run.
    pub fn contiguous(len: usize) -> Strided {
        Strided { run: len, levels: [Level::default(); MAX_LEVELS], used: 0 }
    }

    fn push(&mut self, level: Level) {
        let run = self.run as isize;
        match level.times {
            0 => (self.run, self.used) = (0, 0),
            1 => {}
            times if self.used == 0 && (level.source, level.dest) == (run, run) => {
                // Two numbers of 31 bits and more are too many bytes for any memory, and stay so.
                self.run = self.run.saturating_mul(times);
            }
            _ if self.run == 0 => {}
            _ => {
                self.levels[self.used] = level;
                self.used += 1;
            }
        }
    }

    /// The one run, if there are not several.
    #[inline]
    pub fn as_run(&self) -> Option<usize> {
        (self.used == 0).then_some(self.run)
    }

    /// Bytes of a run.
    pub fn run(&self) -> usize {
        self.run
    }

    /// The number of runs, or more than any memory has.
    pub fn runs(&self) -> usize {
        self.levels[..self.used].iter().fold(1, |all, level| all.saturating_mul(level.times))
    }

    /// Bytes of all runs, or more than any memory has.
    pub fn bytes(&self) -> usize {
        self.run.saturating_mul(self.runs())
    }

    /// The first byte at the source, before which none lies, and the number of bytes from there to the last.
    pub fn source_span(&self) -> (isize, usize) {
        self.span(|level| level.source)
    }

    /// The same at the destination.
    pub fn dest_span(&self) -> (isize, usize) {
        self.span(|level| level.dest)
    }

    fn span(&self, stride: impl Fn(&Level) -> isize) -> (isize, usize) {
        let (mut low, mut high) = (0_i128, self.run as i128);
        if self.run == 0 {
            return (0, 0);
        }
        for level in &self.levels[..self.used] {
            let way = (level.times as i128 - 1) * stride(level) as i128;
            low += way.min(0);
            high += way.max(0);
        }
        // Each way is below 2^62, so the sum of eight may be too long for any memory: then it is all memory.
        let len = usize::try_from(high - low).unwrap_or(usize::MAX);
        (isize::try_from(low).unwrap_or(isize::MIN), len)
    }

    /// Calls with the offsets of each run at source and destination, and its bytes.
    #[inline]
    pub fn for_each(&self, mut call: impl FnMut(isize, isize, usize)) {
        if self.run == 0 {
            return;
        }
        match &self.levels[..self.used] {
            [] => call(0, 0, self.run),
            [first] => self.row(*first, (0, 0), &mut call),
            [first, second] => {
                let mut at = (0, 0);
                for _ in 0..second.times {
                    self.row(*first, at, &mut call);
                    at = (at.0.wrapping_add(second.source), at.1.wrapping_add(second.dest));
                }
            }
            _ => self.for_each_of_many(&mut call),
        }
    }

    #[inline(always)]
    fn row(
        &self,
        level: Level,
        mut at: (isize, isize),
        call: &mut impl FnMut(isize, isize, usize),
    ) {
        for _ in 0..level.times {
            call(at.0, at.1, self.run);
            at = (at.0.wrapping_add(level.source), at.1.wrapping_add(level.dest));
        }
    }

    fn for_each_of_many(&self, call: &mut impl FnMut(isize, isize, usize)) {
        let mut at = [0_usize; MAX_LEVELS];
        let used = &self.levels[..self.used];
        loop {
            let (mut source, mut dest) = (0, 0);
            for (level, i) in used.iter().zip(at) {
                source += i as isize * level.source;
                dest += i as isize * level.dest;
            }
            self.row(used[0], (source, dest), call);
            // The next of the upper levels, like digits.
            let next = (1..used.len()).find(|&i| {
                at[i] += 1;
                let goes_on = at[i] < used[i].times;
                if !goes_on {
                    at[i] = 0;
                }
                goes_on
            });
            if next.is_none() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collected(strided: &Strided) -> Vec<(isize, isize, usize)> {
        let mut all = Vec::new();
        strided.for_each(|source, dest, len| all.push((source, dest, len)));
        all
    }

    #[test]
    fn what_lies_together_is_one_run() {
        let strided = Strided::new(&[8, 4, 3], &[8, 32], &[8, 32]).unwrap();
        assert_eq!(strided.as_run(), Some(96));
        let strided = Strided::new(&[8, 4, 3], &[8, 32], &[8, 40]).unwrap();
        assert_eq!(collected(&strided), [(0, 0, 32), (32, 40, 32), (64, 80, 32)]);
        let strided = Strided::new(&[8, 1, 2], &[999, 16], &[-5, 24]).unwrap();
        assert_eq!(collected(&strided), [(0, 0, 8), (16, 24, 8)]);
        assert_eq!((strided.source_span(), strided.dest_span()), ((0, 24), (0, 32)));
    }

    #[test]
    fn nothing_and_too_much() {
        for count in [[0, 4, 3], [8, 0, 3], [8, 4, 0]] {
            let strided = Strided::new(&count, &[100, 1000], &[100, 1000]).unwrap();
            assert_eq!((collected(&strided), strided.dest_span()), (vec![], (0, 0)));
        }
        let error = Strided::new(&[8, -4], &[8], &[8]).expect_err("negative");
        assert!(error.contains("count[1] is -4; expected 0 or more"), "{error}");
        let max = i32::MAX;
        let huge = Strided::new(&[max; 9], &[max; 8], &[max; 8]).unwrap();
        assert!(huge.dest_span().1 >= 1 << 63);
        let backwards = Strided::new(&[4, 3], &[-8], &[16]).unwrap();
        assert_eq!((backwards.source_span(), backwards.dest_span()), ((-16, 20), (0, 36)));
    }

    proptest! {
        #[test]
        fn runs_are_the_bytes_of_the_loops(
            count in prop::collection::vec(0..4_i32, 1..5),
            strides in prop::collection::vec((-40..40_i32, 0..40_i32), 4),
        ) {
            let levels = count.len() - 1;
            let (source, dest): (Vec<i32>, Vec<i32>) = strides[..levels].iter().copied().unzip();
            let strided = Strided::new(&count, &source, &dest).unwrap();
            let mut expected = Vec::new();
            let total: i32 = count[1..].iter().product();
            for number in 0..total {
                let (mut rest, mut s, mut d) = (number, 0, 0);
                for level in 0..levels {
                    let i = rest % count[level + 1];
                    rest /= count[level + 1];
                    s += i * source[level];
                    d += i * dest[level];
                }
                expected.extend((0..count[0]).map(|byte| (s + byte, d + byte)));
            }
            let mut found = Vec::new();
            strided.for_each(|s, d, len| {
                found.extend((0..len as i32).map(|byte| (s as i32 + byte, d as i32 + byte)));
            });
            prop_assert_eq!(&found, &expected);
            let (low, len) = strided.source_span();
            let inside = |at: i32| at as isize >= low && ((at as isize - low) as usize) < len;
            prop_assert!(expected.iter().all(|(at, _)| inside(*at)));
            prop_assert_eq!(strided.runs() * strided.run(), expected.len());
        }
    }
}
