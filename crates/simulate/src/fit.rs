//! Times that grow with the logarithm of the number of ranks.

/// `a + b * log2 n`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub a: f64,
    /// What a doubling of the ranks adds.
    pub b: f64,
    /// The largest distance of a point from the line, as a part of the point's value.
    pub off: f64,
}

/// The line of least squares through (ranks, value); `None` for fewer than two numbers of ranks.
pub fn fit(points: &[(u32, f64)]) -> Option<Fit> {
    let points: Vec<(f64, f64)> = points.iter().map(|(n, y)| (f64::from(*n).log2(), *y)).collect();
    let count = points.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / count;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let spread = mean(&|p| (p.0 - x).powi(2));
    if points.len() < 2 || spread == 0.0 {
        return None;
    }
    let b = mean(&|p| (p.0 - x) * (p.1 - y)) / spread;
    let a = y - b * x;
    let part = |p: &(f64, f64)| ((a + b * p.0 - p.1) / p.1).abs();
    let off = points.iter().filter(|p| p.1 > 0.0).map(part).fold(0.0, f64::max);
    Some(Fit { a, b, off })
}

impl Fit {
    pub fn at(&self, ranks: u32) -> f64 {
        self.a + self.b * f64::from(ranks).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let points: Vec<(u32, f64)> =
            (1..10).map(|d| (1 << d, 3.0 + 22.0 * f64::from(d))).collect();
        let found = fit(&points).expect("a line");
        assert!((found.a - 3.0).abs() < 1e-9 && (found.b - 22.0).abs() < 1e-9, "{found:?}");
        assert!(found.off < 1e-9 && (found.at(1024) - 223.0).abs() < 1e-9);
        assert_eq!(fit(&points[..1]), None);
        assert_eq!(fit(&[(4, 1.0), (4, 2.0)]), None);
    }
}
