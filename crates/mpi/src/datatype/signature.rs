//! The basic elements of a datatype in stream order, without their displacements
//! (the type signature of MPI 5.0, section 5.1), compressed.
use std::sync::Arc;

use super::bounds::overflow;
use super::predefined::{Kind, Predefined};
use crate::error::Result;

/// A signature and its totals.
#[derive(Debug)]
pub(super) struct Signature {
    /// Bytes in the native representation.
    pub bytes: u64,
    /// Basic elements; a pair is two.
    pub elements: u64,
    /// Bytes in the `external32` representation.
    pub external: u64,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// `elements` times the same scalar.
    Uniform(&'static Predefined),
    Repeat(Arc<Signature>),
    Seq(Box<[Arc<Signature>]>),
}

impl Signature {
    pub fn empty() -> Arc<Signature> {
        Arc::new(Signature { bytes: 0, elements: 0, external: 0, shape: Shape::Seq(Box::new([])) })
    }

    pub fn of(entry: &'static Predefined) -> Arc<Signature> {
        match entry.kind {
            Kind::Scalar(_) => Arc::new(Signature {
                bytes: entry.size as u64,
                elements: 1,
                external: entry.external as u64,
                shape: Shape::Uniform(entry),
            }),
            Kind::Pair { value, index, .. } => {
                let parts: Box<[_]> = Box::new([Signature::of(value), Signature::of(index)]);
                Arc::new(Signature {
                    bytes: entry.size as u64,
                    elements: 2,
                    external: entry.external as u64,
                    shape: Shape::Seq(parts),
                })
            }
        }
    }

    /// `count` times `body`. Fails when the bytes do not fit in 63 bits.
    pub fn repeat(body: &Arc<Signature>, count: i64) -> Result<Arc<Signature>> {
        if count <= 0 || body.bytes == 0 {
            return Ok(Signature::empty());
        }
        if count == 1 {
            return Ok(body.clone());
        }
        let times = |n: u64| n.checked_mul(count as u64).filter(|n| i64::try_from(*n).is_ok());
        let total = |n: u64| times(n).ok_or_else(overflow);
        Ok(Arc::new(Signature {
            bytes: total(body.bytes)?,
            elements: total(body.elements)?,
            external: total(body.external)?,
            shape: match body.shape {
                Shape::Uniform(entry) => Shape::Uniform(entry),
                _ => Shape::Repeat(body.clone()),
            },
        }))
    }

    /// One after the other.
    pub fn sequence(parts: Vec<Arc<Signature>>) -> Result<Arc<Signature>> {
        let mut kept: Vec<Arc<Signature>> = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|p| p.bytes > 0) {
            match kept.last_mut() {
                Some(last) if last.same_scalar(&part) => *last = last.joined(&part)?,
                _ => kept.push(part),
            }
        }
        if kept.len() == 1 {
            return Ok(kept.swap_remove(0));
        }
        let total = |of: fn(&Signature) -> u64| {
            let sum = kept.iter().try_fold(0u64, |sum, part| sum.checked_add(of(part)));
            sum.filter(|n| i64::try_from(*n).is_ok()).ok_or_else(overflow)
        };
        Ok(Arc::new(Signature {
            bytes: total(|s| s.bytes)?,
            elements: total(|s| s.elements)?,
            external: total(|s| s.external)?,
            shape: Shape::Seq(kept.into()),
        }))
    }

    fn same_scalar(&self, other: &Signature) -> bool {
        matches!((&self.shape, &other.shape),
            (Shape::Uniform(a), Shape::Uniform(b)) if std::ptr::eq(*a, *b))
    }

    fn joined(&self, other: &Signature) -> Result<Arc<Signature>> {
        let total = |a: u64, b: u64| {
            a.checked_add(b).filter(|n| i64::try_from(*n).is_ok()).ok_or_else(overflow)
        };
        Ok(Arc::new(Signature {
            bytes: total(self.bytes, other.bytes)?,
            elements: total(self.elements, other.elements)?,
            external: total(self.external, other.external)?,
            shape: match &self.shape {
                Shape::Uniform(entry) => Shape::Uniform(entry),
                _ => return Err(overflow()),
            },
        }))
    }

    /// How many basic elements the first `bytes` bytes hold; `None` when they end inside one.
    /// `bytes` is at most `self.bytes`.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 || bytes >= self.bytes {
            return Some(if bytes == 0 { 0 } else { self.elements });
        }
        match &self.shape {
            Shape::Uniform(entry) => {
                let size = entry.size as u64;
                bytes.is_multiple_of(size).then(|| bytes / size)
            }
            Shape::Repeat(body) => {
                let rest = body.elements_in(bytes % body.bytes)?;
                Some(bytes / body.bytes * body.elements + rest)
            }
            Shape::Seq(parts) => {
                let (mut left, mut elements) = (bytes, 0);
                for part in parts.iter() {
                    if left <= part.bytes {
                        return Some(elements + part.elements_in(left)?);
                    }
                    left -= part.bytes;
                    elements += part.elements;
                }
                Some(elements)
            }
        }
    }

    /// Calls `f(scalar, n)` for each group of equal elements in stream order.
    pub fn for_each(
        &self,
        f: &mut impl FnMut(&'static Predefined, u64) -> Result<()>,
    ) -> Result<()> {
        match &self.shape {
            Shape::Uniform(entry) => f(entry, self.elements),
            Shape::Seq(parts) => parts.iter().try_for_each(|part| part.for_each(f)),
            Shape::Repeat(body) => (0..self.bytes / body.bytes).try_for_each(|_| body.for_each(f)),
        }
    }
}
