//! Sets of PEs with a constant distance.

/// `start`, `start + stride` ... of `size` PEs. The distance may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strided {
    pub start: i32,
    pub stride: i32,
    pub size: i32,
}

impl Strided {
    /// The set of an older collective.
    ///
    /// # Errors
    /// A stride that no number holds.
    pub fn active_set(start: i32, log_stride: i32, size: i32) -> Result<Strided, String> {
        match u32::try_from(log_stride).ok().filter(|log| *log < 31) {
            Some(log) => Ok(Strided { start, stride: 1 << log, size }),
            None => Err(format!("logPE_stride is {log_stride}; expected 0 to 30")),
        }
    }

    /// The members, by their number in the set.
    ///
    /// # Errors
    /// The set is empty, one of its members is not among `all` PEs, or two are the same.
    pub fn members(&self, all: u32) -> Result<Vec<u32>, String> {
        let Strided { start, stride, size } = *self;
        let shown = format!("start {start}, stride {stride}, size {size}");
        if size < 1 {
            return Err(format!("a set of PEs with {shown}; expected a size of 1 or more"));
        }
        if stride == 0 && size > 1 {
            return Err(format!("a set of PEs with {shown}; expected a stride other than 0"));
        }
        let at = |i: i64| i64::from(start) + i * i64::from(stride);
        let (first, last) = (at(0), at(i64::from(size) - 1));
        let inside = 0..i64::from(all);
        if !inside.contains(&first) || !inside.contains(&last) {
            let ends = format!(
                "leads from PE {first} to PE {last}; there are 0 to {}",
                i64::from(all) - 1
            );
            return Err(format!("a set of PEs with {shown} {ends}"));
        }
        Ok((0..i64::from(size)).map(|i| at(i) as u32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Strided;

    #[test]
    fn members_in_order() {
        let set = |start, stride, size| Strided { start, stride, size }.members(8);
        assert_eq!(set(1, 3, 3), Ok(vec![1, 4, 7]));
        assert_eq!(set(7, -2, 4), Ok(vec![7, 5, 3, 1]));
        assert_eq!(set(3, 0, 1), Ok(vec![3]));
        assert_eq!(Strided::active_set(0, 2, 2).and_then(|s| s.members(8)), Ok(vec![0, 4]));
    }

    #[test]
    fn what_is_no_set() {
        let cases =
            [(0, 1, 0), (0, 0, 2), (-1, 1, 2), (0, 2, 5), (2, -1, 4), (0, i32::MAX, i32::MAX)];
        for (start, stride, size) in cases {
            let text = Strided { start, stride, size }.members(8).expect_err("no set");
            assert!(
                text.contains(&format!("start {start}, stride {stride}, size {size}")),
                "{text}"
            );
        }
        assert!(Strided::active_set(0, 31, 1).is_err() && Strided::active_set(0, -1, 1).is_err());
    }
}
