//! Binomial tree reduce.

use super::{bring, source, tree_reduce};
use crate::input::Reduction;
use crate::schedule::{Buffer, Schedule};

/// Binomial tree reduce; the tree is turned so that the root is its top.
///
/// Cost: ceil(log2 n) messages of m bytes on the longest path, and as many combinations at the root.
/// Wins: short messages. Operations that commute only: operands are taken from the root on, around.
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
/// MPICH", 2005.
pub fn schedule(input: &Reduction) -> Schedule {
    let mut s = Schedule::new();
    if input.count == 0 {
        return s;
    }
    if let Some(value) = tree_reduce(&mut s, input, input.root, source(input), Buffer::Recv) {
        bring(&mut s, value, input.whole(Buffer::Recv));
    }
    s
}
