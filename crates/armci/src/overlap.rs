//! Parts of one transfer that write to the same bytes: which of them is written last is left open.

/// A part of a transfer where it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Its first byte.
    pub at: usize,
    /// Bytes.
    pub len: usize,
    /// Its number in the order of the transfer.
    pub number: usize,
}

/// Two parts that share bytes, the one that begins first before the other. `None`: no part shares any with another.
pub fn overlap(parts: &mut [Part]) -> Option<(Part, Part)> {
    parts.sort_unstable();
    // Of two neighbours that don't overlap the first ends before all that follow, so that neighbours tell of all.
    let shares = |pair: &&[Part]| pair[1].at - pair[0].at < pair[0].len && pair[1].len != 0;
    parts.windows(2).find(shares).map(|pair| (pair[0], pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn two_of_them_share_bytes_if_any_do(
            places in prop::collection::vec((0..60_usize, 1..9_usize), 0..8),
        ) {
            let part = |(number, (at, len))| Part { at, len, number };
            let mut parts: Vec<Part> = places.into_iter().enumerate().map(part).collect();
            let share = |a: &Part, b: &Part| a.at < b.at + b.len && b.at < a.at + a.len;
            let some = parts.iter().any(|a| parts.iter().any(|b| a.number != b.number && share(a, b)));
            let found = overlap(&mut parts);
            prop_assert_eq!(found.is_some(), some);
            prop_assert!(found.is_none_or(|(a, b)| a.at <= b.at && a != b && share(&a, &b)));
        }
    }
}
