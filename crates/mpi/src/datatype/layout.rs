//! A datatype's bytes as a small program: loops and lists over contiguous runs.
//!
//! The program keeps the order of the type map, which is the order of the packed stream. It is
//! built from the programs of the constituent types, so it is as compact as the constructor calls
//! and never expands a regular pattern. Building it normalises: neighbours merge into one run,
//! equal distances become a loop, nested loops that continue each other become one.
use std::sync::Arc;

/// A node of the program. Offsets are relative to where the parent places the node.
#[derive(Debug)]
pub(super) enum Node {
    /// No bytes.
    Empty,
    /// This many bytes, contiguous, at offset 0. Never zero.
    Run(u64),
    /// `count` (at least 2) copies of `body`, `stride` bytes apart.
    Loop { count: u64, stride: i64, each: u64, body: Arc<Node> },
    /// One copy of `body` at each displacement.
    Index { disps: Box<[i64]>, each: u64, body: Arc<Node> },
    /// Runs of different lengths. Run `i` holds stream bytes `starts[i]..starts[i + 1]`.
    Runs { disps: Box<[i64]>, starts: Box<[u64]> },
    /// Different bodies. Body `i` holds stream bytes `starts[i]..starts[i + 1]`.
    Seq { disps: Box<[i64]>, starts: Box<[u64]>, bodies: Box<[Arc<Node>]> },
}

impl Node {
    /// Bytes of data in the node.
    pub fn size(&self) -> u64 {
        match self {
            Node::Empty => 0,
            Node::Run(len) => *len,
            Node::Loop { count, each, .. } => count * each,
            Node::Index { disps, each, .. } => disps.len() as u64 * each,
            Node::Runs { starts, .. } | Node::Seq { starts, .. } => {
                starts.last().copied().unwrap_or(0)
            }
        }
    }
}

/// A node at a displacement from the buffer's address.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub disp: i64,
    pub node: Arc<Node>,
}

impl Placed {
    pub fn empty() -> Placed {
        Placed { disp: 0, node: Arc::new(Node::Empty) }
    }

    pub fn run(disp: i64, len: u64) -> Placed {
        let node = if len == 0 { Node::Empty } else { Node::Run(len) };
        Placed { disp, node: Arc::new(node) }
    }

    pub fn moved(&self, by: i64) -> Placed {
        Placed { disp: self.disp.wrapping_add(by), node: self.node.clone() }
    }

    fn is_empty(&self) -> bool {
        matches!(*self.node, Node::Empty)
    }

    /// The length of the run that the node is, if it is one.
    pub fn as_run(&self) -> Option<u64> {
        match *self.node {
            Node::Run(len) => Some(len),
            _ => None,
        }
    }

    /// `count` copies, `stride` bytes apart. The caller has checked that all sizes and offsets
    /// fit in 64 bits.
    pub fn repeat(&self, count: i64, stride: i64) -> Placed {
        if count <= 0 || self.is_empty() {
            return Placed::empty();
        }
        if count == 1 {
            return self.clone();
        }
        let count = count as u64;
        let node = match &*self.node {
            Node::Run(len) if i64::try_from(*len) == Ok(stride) => Node::Run(len * count),
            Node::Loop { count: inner, stride: step, each, body }
                if continues(*inner, *step, stride) =>
            {
                Node::Loop { count: inner * count, stride: *step, each: *each, body: body.clone() }
            }
            node => Node::Loop { count, stride, each: node.size(), body: self.node.clone() },
        };
        Placed { disp: self.disp, node: Arc::new(node) }
    }

    /// One copy at each displacement.
    pub fn at_each(&self, disps: &[i64]) -> Placed {
        if let Some(len) = self.as_run() {
            return from_runs(disps.iter().map(|d| (d.wrapping_add(self.disp), len)));
        }
        match (equal_steps(disps), disps) {
            (_, []) => Placed::empty(),
            (Some(stride), [first, ..]) => self.moved(*first).repeat(disps.len() as i64, stride),
            _ => self.listed(disps),
        }
    }

    fn listed(&self, disps: &[i64]) -> Placed {
        if self.is_empty() {
            return Placed::empty();
        }
        let node =
            Node::Index { disps: disps.into(), each: self.node.size(), body: self.node.clone() };
        Placed { disp: self.disp, node: Arc::new(node) }
    }
}

/// Whether a loop of `inner` steps of `step` bytes, repeated every `stride` bytes, goes on evenly.
pub(super) fn continues(inner: u64, step: i64, stride: i64) -> bool {
    i64::try_from(inner).ok().and_then(|n| n.checked_mul(step)) == Some(stride)
}

/// The common difference of neighbours, if there is one; of one displacement it is 0.
fn equal_steps(disps: &[i64]) -> Option<i64> {
    let step = match disps {
        [a, b, ..] => b.checked_sub(*a)?,
        _ => return Some(0),
    };
    disps.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(step)).then_some(step)
}

/// A program of runs given as (displacement, length), in stream order.
pub(super) fn from_runs(runs: impl IntoIterator<Item = (i64, u64)>) -> Placed {
    let mut disps: Vec<i64> = Vec::new();
    let mut starts: Vec<u64> = Vec::new();
    let mut end = 0;
    let mut next = None;
    for (disp, len) in runs.into_iter().filter(|run| run.1 > 0) {
        if next != Some(disp) {
            disps.push(disp);
            starts.push(end);
        }
        end += len;
        next = Some(disp.wrapping_add_unsigned(len));
    }
    let Some(&first) = disps.first() else { return Placed::empty() };
    starts.push(end);
    let len = starts[1];
    if starts.windows(2).all(|w| w[1] - w[0] == len) {
        let one = Placed::run(0, len);
        return match equal_steps(&disps) {
            Some(stride) => one.moved(first).repeat(disps.len() as i64, stride),
            None => one.listed(&disps),
        };
    }
    let node = Node::Runs { disps: disps.into(), starts: starts.into() };
    Placed { disp: 0, node: Arc::new(node) }
}

/// Lists of runs up to this length dissolve into the list of the type that contains them.
const MAX_FLATTENED: usize = 64;

/// A program that does one part after the other.
pub(super) fn from_parts(parts: Vec<Placed>) -> Placed {
    let mut flat: Vec<Placed> = Vec::with_capacity(parts.len());
    for part in parts.into_iter().filter(|p| !p.is_empty()) {
        match &*part.node {
            Node::Runs { disps, starts } if disps.len() <= MAX_FLATTENED => {
                flat.extend(disps.iter().zip(starts.windows(2)).map(|(disp, range)| {
                    Placed::run(part.disp.wrapping_add(*disp), range[1] - range[0])
                }));
            }
            Node::Seq { disps, bodies, .. } if disps.len() <= MAX_FLATTENED => {
                flat.extend(disps.iter().zip(bodies.iter()).map(|(disp, body)| Placed {
                    disp: part.disp.wrapping_add(*disp),
                    node: body.clone(),
                }));
            }
            _ => flat.push(part),
        }
    }
    merge_neighbours(&mut flat);
    if flat.iter().all(|p| p.as_run().is_some()) {
        return from_runs(flat.iter().map(|p| (p.disp, p.node.size())));
    }
    if flat.len() == 1 {
        return flat.swap_remove(0);
    }
    sequence(flat)
}

/// Joins each run with the one before it where it continues it.
fn merge_neighbours(parts: &mut Vec<Placed>) {
    parts.dedup_by(|next, kept| match (kept.as_run(), next.as_run()) {
        (Some(a), Some(b)) if kept.disp.wrapping_add_unsigned(a) == next.disp => {
            *kept = Placed::run(kept.disp, a + b);
            true
        }
        _ => false,
    });
}

fn sequence(parts: Vec<Placed>) -> Placed {
    let first = &parts[0];
    let disps: Vec<i64> = parts.iter().map(|p| p.disp).collect();
    if parts.iter().all(|p| Arc::ptr_eq(&p.node, &first.node)) {
        return Placed { disp: 0, node: first.node.clone() }.at_each(&disps);
    }
    let mut starts = Vec::with_capacity(parts.len() + 1);
    let mut end = 0;
    starts.push(end);
    for part in &parts {
        end += part.node.size();
        starts.push(end);
    }
    let node = Node::Seq {
        disps: disps.into(),
        starts: starts.into(),
        bodies: parts.into_iter().map(|p| p.node).collect(),
    };
    Placed { disp: 0, node: Arc::new(node) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_become_one_run() {
        assert_eq!(from_runs([(0, 4), (4, 4), (8, 8)]).as_run(), Some(16));
        assert_eq!(Placed::run(0, 8).repeat(5, 8).as_run(), Some(40));
        let parts = vec![Placed::run(4, 4), Placed::empty(), Placed::run(8, 2)];
        assert_eq!(from_parts(parts).as_run(), Some(6));
    }

    #[test]
    fn regular_lists_become_loops() {
        let node = from_runs((0..10).map(|i| (i * 16, 8))).node;
        assert!(matches!(*node, Node::Loop { count: 10, stride: 16, each: 8, .. }));
        let inner = Placed::run(0, 8).repeat(4, 16);
        let joined = inner.repeat(3, 64).node;
        assert!(matches!(*joined, Node::Loop { count: 12, stride: 16, each: 8, .. }));
    }

    #[test]
    fn order_of_the_stream_is_kept() {
        let node = from_runs([(8, 4), (0, 8)]).node;
        assert!(matches!(&*node, Node::Runs { disps, starts }
            if disps[..] == [8, 0] && starts[..] == [0, 4, 12]));
    }
}
