//! Fat trees in the notation of parallel-ports generalised fat trees (Zahavi, 2010): for each level l from the hosts
//! up, `m` children of a switch at l, `w` parents of a node at l-1, and `p` parallel links to each parent.
//!
//! A node at level l is known by one digit per level: digits above l say to which subtree it belongs (below m), those
//! up to l which of the parallel parents it is (below w). A node and its parent differ in the digit of the parent's
//! level only.

use super::{join, limit, numbers};
use crate::error::{Error, quoted};
use crate::fabric::{Builder, Fabric, MAX_PORTS, Node};

/// Gbit/s of a Myrinet link of the HPVM III cluster: 160 MB/s in each direction.
const MYRINET: f64 = 1.28;
/// Levels; 2 to the power of this is more hosts than there may be.
const MAX_LEVELS: usize = 16;

struct Shape {
    children: Vec<usize>,
    parents: Vec<usize>,
    parallel: Vec<usize>,
    bandwidth: f64,
}

pub fn generate(words: &[&str]) -> Result<Fabric, Error> {
    let shape = match words {
        // The paper (Computing Applications, 1999) says: 96 nodes, three levels of switches, 16 nodes on each of the
        // lowest, dual-link cables, and that the top half was doubled, which needed routes for more than one root.
        // The numbers of cables are in a figure only; these make the upper half of the tree half as wide as
        // the lower one before, and as wide after the doubling.
        ["hpvm3"] => hpvm3(1),
        ["hpvm3-doubled"] => hpvm3(2),
        [word] if word.starts_with("k=") => three_levels(words)?,
        _ => given(words)?,
    };
    build(&shape)
}

fn hpvm3(roots: usize) -> Shape {
    Shape {
        children: vec![16, 3, 2],
        parents: vec![1, 1, roots],
        parallel: vec![1, 4, 6],
        bandwidth: MYRINET,
    }
}

/// Three levels of switches with k ports: k*k*k/4 hosts and full bandwidth.
fn three_levels(words: &[&str]) -> Result<Shape, Error> {
    let [k] = numbers(words, [("k", None, 2, 72)])?;
    if !k.is_multiple_of(2) {
        return Err(Error::new(format!("'k={k}': k has to be even")));
    }
    let half = k / 2;
    Ok(Shape {
        children: vec![half, half, k],
        parents: vec![1, half, half],
        parallel: vec![1, 1, 1],
        bandwidth: 1.0,
    })
}

/// A k-ary n-tree: n levels of switches with k children and k parents.
pub fn k_ary(words: &[&str]) -> Result<Fabric, Error> {
    let [k, n] = numbers(words, [("k", None, 1, 64), ("n", None, 1, MAX_LEVELS)])?;
    let mut parents = vec![k; n];
    parents[0] = 1;
    build(&Shape { children: vec![k; n], parents, parallel: vec![1; n], bandwidth: 1.0 })
}

fn given(words: &[&str]) -> Result<Shape, Error> {
    let mut lists: [Option<Vec<usize>>; 3] = [None, None, None];
    for word in words {
        let (key, values) = word.split_once('=').unwrap_or((word, ""));
        let Some(at) = ["m", "w", "p"].iter().position(|name| *name == key) else {
            return Err(Error::new(format!(
                "{}: expected hpvm3, hpvm3-doubled, k=N, or m=..., w=... and p=...",
                quoted(word)
            )));
        };
        let number = |value: &str| match value.parse::<usize>() {
            Ok(number) if (1..=MAX_PORTS).contains(&number) => Ok(number),
            _ => {
                Err(Error::new(format!("{}: expected numbers from 1 to {MAX_PORTS}", quoted(word))))
            }
        };
        lists[at] = Some(values.split(',').map(number).collect::<Result<_, _>>()?);
    }
    let [Some(children), parents, parallel] = lists else {
        return Err(Error::new("'m=' with the children of each level is missing"));
    };
    let levels = children.len();
    let parents = parents.unwrap_or_else(|| vec![1; levels]);
    let parallel = parallel.unwrap_or_else(|| vec![1; levels]);
    if parents.len() != levels || parallel.len() != levels || levels > MAX_LEVELS {
        return Err(Error::new(format!(
            "m has {levels} levels, w {}, p {}; they have equally many, at most {MAX_LEVELS}",
            parents.len(),
            parallel.len()
        )));
    }
    if parents[0] != 1 {
        return Err(Error::new("the first number of w is 1: a host has one switch"));
    }
    Ok(Shape { children, parents, parallel, bandwidth: 1.0 })
}

/// How many nodes a level has; level 0 is the hosts.
fn nodes_at(shape: &Shape, level: usize) -> Option<usize> {
    let above = shape.children[level..].iter();
    let numbers = above.chain(&shape.parents[..level]);
    numbers.copied().try_fold(1usize, usize::checked_mul)
}

fn build(shape: &Shape) -> Result<Fabric, Error> {
    let levels = shape.children.len();
    let counts: Option<Vec<usize>> = (0..=levels).map(|level| nodes_at(shape, level)).collect();
    let counts = counts.ok_or_else(|| Error::new("more nodes than can be counted"))?;
    let switches = counts[1..].iter().try_fold(0usize, |sum, &count| sum.checked_add(count));
    limit(counts[0], switches.unwrap_or(usize::MAX))?;
    let mut builder = Builder::new();
    let mut first = vec![0u32; levels + 1];
    for level in 1..=levels {
        first[level] = first[level - 1] + if level > 1 { counts[level - 1] as u32 } else { 0 };
        for at in 0..counts[level] {
            builder.switch(&format!("s{level}-{at}"), None, 0)?;
        }
    }
    for at in 0..counts[0] {
        builder.host(&format!("h{at}"), None, 0)?;
    }
    for level in 1..=levels {
        for below in 0..counts[level - 1] {
            let child = match level {
                1 => Node::Host(below as u32),
                _ => Node::Switch(first[level - 1] + below as u32),
            };
            for parent in 0..shape.parents[level - 1] {
                let above = parent_of(shape, level, below, parent);
                for _ in 0..shape.parallel[level - 1] {
                    let above = Node::Switch(first[level] + above as u32);
                    join(&mut builder, child, above, shape.bandwidth)?;
                }
            }
        }
    }
    builder.finish()
}

/// The index of a parent at a level. An index is made of digits: first, fastest, the parallel ones of the levels up
/// to the node's own, then those of the subtrees.
fn parent_of(shape: &Shape, level: usize, below: usize, parent: usize) -> usize {
    let width: usize = shape.parents[..level - 1].iter().product();
    let (low, high) = (below % width, below / width);
    // The child's place among its siblings goes, the parent's among the parallel ones comes.
    let subtree = high / shape.children[level - 1];
    low + width * (parent + shape.parents[level - 1] * subtree)
}
