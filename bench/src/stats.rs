//! Medians, spreads, ratios, and the message size of half bandwidth.

use serde::Serialize;

/// Median with the least and the largest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub count: usize,
}

/// The middle value, or the mean of the two middle ones; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some(0.5 * (sorted[n / 2 - 1] + sorted[n / 2])),
    }
}

/// Median and spread; `None` of nothing.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let median = median(values)?;
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Spread { median, min, max, count: values.len() })
}

/// The median of ours/theirs over pairs taken next to each other in time, so that what slows
/// the whole machine for a while falls on both. Pairs with a zero or missing side are left out.
pub fn paired_ratio(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<f64> {
    let ratios: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .filter_map(|(a, b)| Some((*a)? / (*b).filter(|b| *b > 0.0)?))
        .collect();
    median(&ratios)
}

/// The message size at which half of the peak bandwidth is reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HalfSize {
    pub bytes: f64,
    /// The smallest size measured was above half already.
    pub at_most: bool,
    /// The peak, in the curve's unit.
    pub peak: f64,
}

/// N1/2 of a bandwidth curve of (bytes, bandwidth), in any order: where it first reaches half
/// its peak, interpolated between the neighbouring sizes on logarithmic scales.
pub fn half_size(curve: &[(u64, f64)]) -> Option<HalfSize> {
    let mut points: Vec<(f64, f64)> = curve
        .iter()
        .filter(|(size, value)| *size > 0 && *value > 0.0 && value.is_finite())
        .map(|&(size, value)| (size as f64, value))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let peak = points.iter().map(|p| p.1).reduce(f64::max)?;
    let half = 0.5 * peak;
    let above = points.iter().position(|p| p.1 >= half)?;
    let (size, value) = points[above];
    if above == 0 {
        return Some(HalfSize { bytes: size, at_most: true, peak });
    }
    let (size_before, value_before) = points[above - 1];
    let part = (half / value_before).ln() / (value / value_before).ln();
    let bytes = size_before * (size / size_before).powf(part);
    Some(HalfSize { bytes, at_most: false, peak })
}

/// The line `at_zero + slope * x`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    pub at_zero: f64,
    pub slope: f64,
}

/// The line of least squares through points (x, y); `None` unless two of them differ in x.
pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    let (x, y) = (sum(&|p| p.0) / n, sum(&|p| p.1) / n);
    let spread = sum(&|p| (p.0 - x).powi(2));
    let slope = sum(&|p| (p.0 - x) * (p.1 - y)) / spread;
    (spread > 0.0).then_some(Line { at_zero: y - slope * x, slope })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn median_of_odd_even_and_nothing() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn ratio_pairs_neighbours_in_time() {
        // The machine became ten times slower in the second round: the ratio does not notice.
        let ours = [Some(1.0), Some(10.0), None, Some(3.0)];
        let theirs = [Some(2.0), Some(20.0), Some(5.0), Some(0.0)];
        assert_eq!(paired_ratio(&ours, &theirs), Some(0.5));
        assert_eq!(paired_ratio(&[None], &[Some(1.0)]), None);
    }

    #[test]
    fn half_size_of_a_known_curve() {
        // bandwidth = size / (t0 + size / B) has its N1/2 at t0 * B: here 1000 bytes.
        let curve: Vec<(u64, f64)> = (0..27)
            .map(|i| (1u64 << i, (1u64 << i) as f64 / (10.0 + (1u64 << i) as f64 / 100.0)))
            .collect();
        let half = half_size(&curve).unwrap();
        assert!((half.bytes - 1000.0).abs() < 30.0, "{half:?}");
        assert!(!half.at_most);
    }

    #[test]
    fn a_line_is_found() {
        let line = fit(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).unwrap();
        assert!((line.at_zero - 3.0).abs() < 1e-9 && (line.slope - 2.0).abs() < 1e-9);
        assert_eq!(fit(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn half_size_at_the_edges() {
        assert_eq!(half_size(&[]), None);
        assert_eq!(half_size(&[(0, 5.0)]), None);
        let flat = half_size(&[(64, 10.0), (128, 10.0)]).unwrap();
        assert!(flat.at_most && flat.bytes == 64.0);
    }

    proptest! {
        #[test]
        fn median_lies_within_and_splits_evenly(values in prop::collection::vec(-1e9..1e9f64, 1..50)) {
            let s = spread(&values).unwrap();
            prop_assert!(s.min <= s.median && s.median <= s.max);
            let below = values.iter().filter(|v| **v < s.median).count();
            let above = values.iter().filter(|v| **v > s.median).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        }

        #[test]
        fn half_size_lies_between_its_neighbours(values in prop::collection::vec(0.1..1e4f64, 2..30)) {
            let curve: Vec<(u64, f64)> = values.iter().enumerate().map(|(i, v)| (1 << i, *v)).collect();
            let half = half_size(&curve).unwrap();
            let first = curve.iter().find(|p| p.1 >= 0.5 * half.peak).unwrap().0 as f64;
            prop_assert!(half.bytes <= first * 1.000001);
            prop_assert!(half.at_most || half.bytes >= first / 2.000001);
        }
    }
}
