//! Short nested loops become one list of displacements, which one copy loop walks.
//!
//! A vector of short vectors is a loop whose body is a loop of a few steps. Walked as such, every
//! step of the outer loop pays for starting the inner one, which costs more than its few copies.
use std::sync::Arc;

use super::layout::Node;

/// The longest list made here: it stays in the first-level cache beside the data.
const MAX_RUNS: u64 = 64;
/// Longer runs cost more to copy than a loop costs to start.
const MAX_LEN: u64 = 64;

/// The same runs in the same order.
pub(super) fn fused(node: &Arc<Node>) -> Arc<Node> {
    match &**node {
        Node::Empty | Node::Run(_) | Node::Runs { .. } => node.clone(),
        Node::Loop { count, stride, each, body } => {
            let inner = fused(body);
            if let Some(short) = Short::of(&inner).filter(|s| s.may_repeat(*count, *stride)) {
                let starts = (0..*count as i64).map(|i| i.wrapping_mul(*stride));
                return short.at_each(starts);
            }
            if Arc::ptr_eq(&inner, body) {
                return node.clone();
            }
            Arc::new(Node::Loop { count: *count, stride: *stride, each: *each, body: inner })
        }
        Node::Index { disps, each, body } => {
            let inner = fused(body);
            if let Some(short) = Short::of(&inner).filter(|s| s.fits(disps.len() as u64)) {
                return short.at_each(disps.iter().copied());
            }
            if Arc::ptr_eq(&inner, body) {
                return node.clone();
            }
            Arc::new(Node::Index { disps: disps.clone(), each: *each, body: inner })
        }
        Node::Seq { disps, starts, bodies } => {
            let inner: Box<[Arc<Node>]> = bodies.iter().map(fused).collect();
            if inner.iter().zip(bodies).all(|(a, b)| Arc::ptr_eq(a, b)) {
                return node.clone();
            }
            Arc::new(Node::Seq { disps: disps.clone(), starts: starts.clone(), bodies: inner })
        }
    }
}

/// A few runs of the same short length.
struct Short {
    disps: Vec<i64>,
    /// The step from each to the next, when it is the same everywhere.
    step: Option<i64>,
    run: Arc<Node>,
    len: u64,
}

impl Short {
    fn of(node: &Node) -> Option<Short> {
        let (disps, step, run) = match node {
            Node::Loop { count, stride, body, .. } if *count <= MAX_RUNS => {
                let disps = (0..*count as i64).map(|i| i.wrapping_mul(*stride)).collect();
                (disps, Some(*stride), body)
            }
            Node::Index { disps, body, .. } if disps.len() as u64 <= MAX_RUNS => {
                (disps.to_vec(), None, body)
            }
            _ => return None,
        };
        match **run {
            Node::Run(len) if len <= MAX_LEN => Some(Short { disps, step, run: run.clone(), len }),
            _ => None,
        }
    }

    fn fits(&self, count: u64) -> bool {
        count.saturating_mul(self.disps.len() as u64) <= MAX_RUNS
    }

    /// Not where the outer loop takes the smaller steps: copying such a grid in tiles is better.
    fn may_repeat(&self, count: u64, stride: i64) -> bool {
        let transposed = self.step.is_some_and(|s| stride.unsigned_abs() < s.unsigned_abs());
        self.fits(count) && !transposed
    }

    fn at_each(&self, starts: impl Iterator<Item = i64>) -> Arc<Node> {
        let disps: Box<[i64]> =
            starts.flat_map(|s| self.disps.iter().map(move |d| d.wrapping_add(s))).collect();
        let each = self.len;
        Arc::new(Node::Index { disps, each, body: self.run.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Placed;
    use super::*;

    #[test]
    fn short_nests_become_a_list_inside_a_loop() {
        let nested = Placed::run(0, 16).repeat(4, 32).repeat(2, 112).repeat(1000, 336);
        let node = fused(&nested.node);
        let Node::Loop { count: 1000, stride: 336, each: 128, body } = &*node else {
            panic!("{node:?}")
        };
        let Node::Index { disps, each: 16, .. } = &**body else { panic!("{body:?}") };
        assert_eq!(disps[..], [0, 32, 64, 96, 112, 144, 176, 208]);
    }

    #[test]
    fn what_is_long_or_transposed_stays_as_it_is() {
        for nested in [
            Placed::run(0, 128).repeat(4, 256).repeat(3, 4096),
            Placed::run(0, 8).repeat(100, 16).repeat(3, 4096),
            Placed::run(0, 8).repeat(8, 4096).repeat(8, 8),
        ] {
            assert!(Arc::ptr_eq(&fused(&nested.node), &nested.node), "{nested:?}");
        }
    }
}
