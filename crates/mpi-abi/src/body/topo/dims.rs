//! `MPI_Dims_create` (section 8.5.2): grids that are as even as possible.

use super::natural;
use crate::body::check::wrong;
use crate::raise::on_world;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::collections::HashSet;

pub unsafe fn dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) -> c_int {
    on_world("MPI_Dims_create", |_| {
        let n = natural("ndims", ndims, Class::Dims)?;
        if n == 0 {
            return Ok(());
        }
        crate::body::check::out("dims", dims)?;
        // SAFETY: not null; the caller vouches for `ndims` elements.
        let dims = unsafe { core::slice::from_raw_parts_mut(dims, n) };
        fill(nnodes, dims)
    })
}

/// Replaces the zeros such that the product is `nodes`.
fn fill(nodes: c_int, dims: &mut [c_int]) -> Result<()> {
    let mut fixed = dims.iter().filter(|d| **d != 0);
    let fixed = fixed.try_fold(1i64, |product, d| match *d {
        1.. => product.checked_mul(i64::from(*d)),
        _ => None,
    });
    let free = dims.iter().filter(|d| **d == 0).count();
    let rest = fixed.filter(|f| nodes > 0 && i64::from(nodes) % f == 0);
    let rest = rest.map(|fixed| i64::from(nodes) / fixed);
    // Without zeros the numbers have to be right already.
    let Some(rest) = rest.filter(|rest| free > 0 || *rest == 1) else {
        let text = format!("no grid of {nodes} processes has the dimensions {dims:?} (0 is free)");
        return Err(wrong(Class::Dims, text));
    };
    let factors = balanced(rest as u32, free);
    for (place, factor) in dims.iter_mut().filter(|d| **d == 0).zip(factors) {
        *place = factor as c_int;
    }
    Ok(())
}

/// `n` as a product of `parts` factors in non-increasing order, with the least difference between
/// the largest and the smallest. Among equals the smallest is as large as possible, then the
/// largest as small as possible, then the second, and so on.
fn balanced(n: u32, parts: usize) -> Vec<u32> {
    if parts == 0 {
        return Vec::new();
    }
    let mut divisors = Vec::new();
    let mut d = 1;
    while d <= n / d {
        if n.is_multiple_of(d) {
            divisors.extend([d, n / d]);
        }
        d += 1;
    }
    divisors.sort_unstable();
    divisors.dedup();
    let power = |d: u32| u64::from(d).saturating_pow(parts as u32);
    // The largest factor is at least the root of `n`, and the smallest at most.
    let ceiling = divisors.iter().copied().find(|d| power(*d) >= u64::from(n)).unwrap_or(n);
    let mut best: Option<(u32, Vec<u32>)> = None;
    for i in (0..divisors.len()).rev().filter(|i| power(divisors[*i]) <= u64::from(n)) {
        let least = divisors[i];
        if best.as_ref().is_some_and(|(spread, _)| ceiling - least >= *spread) {
            break;
        }
        let mut factors = Vec::with_capacity(parts);
        let mut search = Search { divisors: &divisors[i..], least, dead: HashSet::new() };
        if search.split(n, parts, n, &mut factors) {
            let spread = factors[0] - factors[parts - 1];
            if best.as_ref().is_none_or(|(least, _)| spread < *least) {
                best = Some((spread, factors));
            }
        }
    }
    best.map_or_else(Vec::new, |(_, factors)| factors)
}

/// The split with the smallest largest factor, then the smallest second, and so on, among those
/// without factors below `least`.
struct Search<'a> {
    /// From `least` on.
    divisors: &'a [u32],
    least: u32,
    /// What can't be split: the number, the parts left and the largest factor allowed.
    dead: HashSet<(u32, usize, u32)>,
}

impl Search<'_> {
    fn split(&mut self, n: u32, parts: usize, most: u32, factors: &mut Vec<u32>) -> bool {
        if n == 1 && (parts == 0 || self.least == 1) {
            factors.resize(factors.len() + parts, 1);
            return true;
        }
        let too_small = u64::from(self.least).saturating_pow(parts as u32) > u64::from(n);
        if parts == 0 || too_small || self.dead.contains(&(n, parts, most)) {
            return false;
        }
        let divisors = self.divisors;
        for &d in divisors.iter().take_while(|d| **d <= most && **d <= n) {
            // The other factors are no larger, so `d` to the power of `parts` must reach `n`.
            if !n.is_multiple_of(d) || u64::from(d).saturating_pow(parts as u32) < u64::from(n) {
                continue;
            }
            factors.push(d);
            if self.split(n / d, parts - 1, d, factors) {
                return true;
            }
            factors.pop();
        }
        self.dead.insert((n, parts, most));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_even() {
        assert_eq!(balanced(12, 2), [4, 3]);
        assert_eq!(balanced(60, 3), [5, 4, 3]);
        assert_eq!(balanced(36, 3), [4, 3, 3]);
        assert_eq!(balanced(16, 3), [4, 2, 2]);
        assert_eq!(balanced(7, 3), [7, 1, 1]);
        assert_eq!(balanced(1, 4), [1, 1, 1, 1]);
        assert_eq!(balanced(7488, 3), [26, 18, 16]); // not 24 x 24 x 13
        assert_eq!(balanced(2_147_483_647, 2), [2_147_483_647, 1]);
        assert_eq!(balanced(1 << 30, 30), [2; 30]);
        // The number below 2^31 with the most divisors, 1536.
        let many = balanced(2_095_133_040, 6);
        assert_eq!(many.iter().product::<u32>(), 2_095_133_040);
        assert!(many.is_sorted_by(|a, b| a >= b) && many[0] < 2 * many[5]);
    }

    /// All splits of small numbers: the answer is the least of them.
    #[test]
    fn no_split_is_more_even() {
        fn all(n: u32, parts: usize, most: u32) -> Vec<Vec<u32>> {
            if parts == 0 {
                return if n == 1 { vec![vec![]] } else { vec![] };
            }
            let mut list = Vec::new();
            for d in (1..=most.min(n)).filter(|d| n.is_multiple_of(*d)) {
                for rest in all(n / d, parts - 1, d) {
                    list.push([vec![d], rest].concat());
                }
            }
            list
        }
        for n in (1..200).chain([5040, 7488]) {
            for parts in 1..5 {
                let order =
                    |f: &Vec<u32>| (f[0] - f[parts - 1], u32::MAX - f[parts - 1], f.clone());
                let all = all(n, parts, n).into_iter();
                assert_eq!(Some(balanced(n, parts)), all.min_by_key(order));
            }
        }
    }

    #[test]
    fn fixed_dimensions_stay() {
        let grid = |nodes, mut dims: Vec<c_int>| fill(nodes, &mut dims).map(|()| dims);
        assert_eq!(grid(24, vec![0, 3, 0]).unwrap(), [4, 3, 2]);
        assert_eq!(grid(6, vec![2, 3]).unwrap(), [2, 3]);
        for (nodes, dims) in [(7, vec![2, 0]), (6, vec![-1, 0]), (6, vec![2, 2]), (0, vec![0])] {
            assert_eq!(grid(nodes, dims).unwrap_err().class, Class::Dims);
        }
    }
}
