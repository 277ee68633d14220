//! Medians with confidence intervals by bootstrap, outliers, fits. Pure: the random numbers are the same in every run.

use crate::stats::{Line, fit, median};
use serde::{Deserialize, Serialize};

/// Resamplings of one interval: the ends of a 95 % interval then stand on 25 values each.
const RESAMPLINGS: usize = 1000;
/// The generator's seed: a report of the same data is the same report.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Quartile distances beyond the quartiles from which on a sample is an outlier (Tukey's "far out").
const FAR_OUT: f64 = 3.0;

/// An interval that holds the true value in 95 of 100 cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// What a point's samples say.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub interval: Interval,
    pub least: f64,
    pub most: f64,
    pub count: usize,
    pub launches: usize,
    /// Samples far outside of the others, ascending. They count in everything above.
    pub outliers: Vec<f64>,
}

/// A line `a + b x` with the intervals of both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub line: Line,
    pub at_zero: Interval,
    pub slope: Interval,
}

/// A small generator (splitmix64): what a bootstrap needs is repeatability.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(SEED);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0..n`.
    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// The median of a resampling: launches are drawn first, then batches inside each. Batches of one launch are alike, so
/// that an interval from batches alone would be too narrow.
fn resampled(launches: &[Vec<f64>], random: &mut Random) -> f64 {
    let mut drawn = Vec::new();
    for _ in 0..launches.len() {
        let batches = &launches[random.below(launches.len())];
        drawn.extend((0..batches.len()).map(|_| batches[random.below(batches.len())]));
    }
    median(&drawn).unwrap_or(f64::NAN)
}

/// The middle 95 % of values.
fn middle(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Interval { low: at(0.025), high: at(0.975) }
}

fn used(launches: &[Vec<f64>]) -> Vec<Vec<f64>> {
    launches.iter().filter(|batches| !batches.is_empty()).cloned().collect()
}

/// Everything about one point; `None` without samples.
pub fn summary(launches: &[Vec<f64>]) -> Option<Summary> {
    let launches = used(launches);
    let mut all: Vec<f64> = launches.concat();
    all.sort_by(f64::total_cmp);
    let (least, most) = (*all.first()?, *all.last()?);
    let mut random = Random(1);
    let medians = (0..RESAMPLINGS).map(|_| resampled(&launches, &mut random)).collect();
    Some(Summary {
        median: median(&all)?,
        interval: middle(medians),
        least,
        most,
        count: all.len(),
        launches: launches.len(),
        outliers: outliers(&all),
    })
}

/// Of ascending values those beyond the fences. Fewer than eight values have no quartiles worth the name.
fn outliers(all: &[f64]) -> Vec<f64> {
    if all.len() < 8 {
        return Vec::new();
    }
    let quartile = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
    let (low, high) = (quartile(0.25), quartile(0.75));
    let fence = FAR_OUT * (high - low);
    all.iter().copied().filter(|v| *v < low - fence || *v > high + fence).collect()
}

/// The interval of the ratio of two medians, new to old; `None` when one has no samples or the old is 0.
pub fn ratio(old: &[Vec<f64>], new: &[Vec<f64>]) -> Option<(f64, Interval)> {
    let (old, new) = (used(old), used(new));
    let (before, now) = (median(&old.concat())?, median(&new.concat())?);
    let mut random = Random(2);
    let ratios = (0..RESAMPLINGS)
        .map(|_| resampled(&new, &mut random) / resampled(&old, &mut random))
        .filter(|ratio| ratio.is_finite())
        .collect::<Vec<f64>>();
    (before > 0.0 && !ratios.is_empty()).then(|| (now / before, middle(ratios)))
}

/// The line through points (x, samples), and how much it varies when every point is resampled.
pub fn line(points: &[(f64, &[Vec<f64>])]) -> Option<Fit> {
    let points: Vec<(f64, Vec<Vec<f64>>)> = points
        .iter()
        .map(|(x, launches)| (*x, used(launches)))
        .filter(|(_, launches)| !launches.is_empty())
        .collect();
    let medians: Vec<(f64, f64)> =
        points.iter().filter_map(|(x, launches)| Some((*x, median(&launches.concat())?))).collect();
    let line = fit(&medians)?;
    let mut random = Random(3);
    let lines: Vec<Line> = (0..RESAMPLINGS)
        .filter_map(|_| {
            let drawn: Vec<(f64, f64)> =
                points.iter().map(|(x, l)| (*x, resampled(l, &mut random))).collect();
            fit(&drawn)
        })
        .collect();
    let at_zero = middle(lines.iter().map(|l| l.at_zero).collect());
    let slope = middle(lines.iter().map(|l| l.slope).collect());
    Some(Fit { line, at_zero, slope })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_narrows_with_samples_and_widens_with_launches_that_differ() {
        let spread = |n: usize| (0..n).map(|i| 10.0 + (i % 7) as f64).collect::<Vec<f64>>();
        let width = |launches: &[Vec<f64>]| {
            let s = summary(launches).unwrap();
            s.interval.high - s.interval.low
        };
        assert!(width(&[spread(200)]) <= width(&[spread(14)]));
        let alike = vec![vec![1.0; 20]; 3];
        let different = [vec![1.0; 20], vec![2.0; 20], vec![3.0; 20]];
        assert_eq!(width(&alike), 0.0);
        assert_eq!(width(&different), 2.0);
    }

    #[test]
    fn outliers_are_found_and_stay_in_the_summary() {
        let mut samples: Vec<f64> = (0..20).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        samples.push(50.0);
        let s = summary(&[samples]).unwrap();
        assert_eq!((s.outliers, s.most, s.count), (vec![50.0], 50.0, 21));
        assert!(summary(&[vec![], vec![]]).is_none());
        assert!(summary(&[vec![1.0, 100.0]]).unwrap().outliers.is_empty());
    }

    #[test]
    fn a_ratio_knows_when_it_is_one() {
        let noisy = |middle: f64| {
            vec![(0..30).map(|i| middle + 0.1 * f64::from(i % 5)).collect::<Vec<f64>>(); 2]
        };
        let (same, interval) = ratio(&noisy(1.0), &noisy(1.0)).unwrap();
        assert!(same == 1.0 && interval.low <= 1.0 && interval.high >= 1.0);
        let (slower, interval) = ratio(&noisy(1.0), &noisy(2.0)).unwrap();
        assert!(slower > 1.5 && interval.low > 1.2, "{interval:?}");
        assert!(ratio(&[vec![0.0]], &[vec![1.0]]).is_none());
    }

    #[test]
    fn a_known_line_lies_inside_its_intervals() {
        let samples: Vec<Vec<Vec<f64>>> = (1..5)
            .map(|x| {
                vec![
                    (0..21)
                        .map(|i| 3.0 + 2.0 * f64::from(x) + 0.1 * f64::from(i % 3 - 1))
                        .collect(),
                ]
            })
            .collect();
        let points: Vec<(f64, &[Vec<f64>])> =
            samples.iter().enumerate().map(|(i, s)| (i as f64 + 1.0, &s[..])).collect();
        let fit = line(&points).unwrap();
        assert!((fit.line.slope - 2.0).abs() < 1e-9 && (fit.line.at_zero - 3.0).abs() < 1e-9);
        assert!(fit.slope.low <= 2.0 && fit.slope.high >= 2.0 && fit.slope.high < 2.3);
        assert!(line(&points[..1]).is_none());
    }

    proptest! {
        #[test]
        fn the_median_lies_in_its_interval_and_that_between_the_ends(
            launches in prop::collection::vec(prop::collection::vec(0.1..1e6f64, 1..20), 1..4)
        ) {
            let s = summary(&launches).unwrap();
            prop_assert!(s.least <= s.interval.low && s.interval.high <= s.most);
            prop_assert!(s.interval.low <= s.interval.high);
        }
    }
}
