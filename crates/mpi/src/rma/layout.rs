//! Which bytes of one rank go to which of another: the common refinement of the layouts of several buffers whose
//! packed forms correspond byte by byte.

use crate::datatype::{Datatype, Kind, Predefined};
use crate::error::{Class, Error, Result};
use std::sync::Arc;

/// One of the buffers: `count` copies of `ty`.
#[derive(Clone, Debug)]
pub struct Side {
    pub ty: Arc<Datatype>,
    pub count: i64,
}

/// Bytes that are contiguous in all of `N` buffers: offset from each buffer's address, and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<const N: usize> {
    pub offsets: [i64; N],
    pub len: u64,
}

/// The parts of `N` buffers in the order of their packed form.
#[derive(Clone, Debug)]
pub struct Parts<const N: usize> {
    sides: [Side; N],
    /// Packed bytes that are done.
    position: u64,
    /// The run of each side that the next part begins in.
    runs: [(i64, u64); N],
}

impl<const N: usize> Parts<N> {
    pub fn new(sides: [Side; N]) -> Parts<N> {
        Parts { sides, position: 0, runs: [(0, 0); N] }
    }
}

impl<const N: usize> Iterator for Parts<N> {
    type Item = Part<N>;

    fn next(&mut self) -> Option<Part<N>> {
        for (side, run) in self.sides.iter().zip(&mut self.runs) {
            if run.1 == 0 {
                *run = side.ty.segments_of(side.count, self.position, u64::MAX).next()?;
            }
        }
        let len = self.runs.iter().map(|run| run.1).min()?;
        let offsets = self.runs.map(|run| run.0);
        for run in &mut self.runs {
            *run = (run.0.wrapping_add_unsigned(len), run.1 - len);
        }
        self.position += len;
        Some(Part { offsets, len })
    }
}

/// The elements of `N` buffers whose types consist of one kind of pair, a value and an index: the address of each
/// pair, in the order of the packed form.
pub fn pairs<const N: usize>(
    sides: [Side; N],
    entry: &Predefined,
) -> impl Iterator<Item = [i64; N]> + use<N> {
    let size = entry.size as u64;
    let elements =
        sides.first().map_or(0, |s| s.ty.packed_size(s.count).unwrap_or(0) as u64) / size;
    (0..elements).map_while(move |k| {
        let mut offsets = [0; N];
        for (side, offset) in sides.iter().zip(&mut offsets) {
            *offset = side.ty.segments_of(side.count, k * size, size).next()?.0;
        }
        Some(offsets)
    })
}

/// Whether the elements are pairs of a value and an index.
pub fn is_pair(entry: &Predefined) -> bool {
    matches!(entry.kind, Kind::Pair { .. })
}

/// Bytes of the target's memory that `side` touches: first byte and length, relative to the displacement.
/// `None`: none.
pub fn span(side: &Side) -> Option<(i64, u64)> {
    if side.count <= 0 || side.ty.size() == 0 {
        return None;
    }
    let reach = (side.count - 1).checked_mul(side.ty.extent())?;
    let first = side.ty.true_lb().checked_add(reach.min(0))?;
    let len = side.ty.true_extent().checked_add(reach.checked_abs()?)?;
    Some((first, len as u64))
}

/// Both sides of an operation must hold as many bytes.
pub fn check_sizes(origin: &Side, target: &Side) -> Result<()> {
    let of = |side: &Side| side.ty.packed_size(side.count).unwrap_or(-1);
    let (mine, theirs) = (of(origin), of(target));
    if mine == theirs {
        return Ok(());
    }
    let text = format!(
        "the origin's datatype and count are {mine} bytes, the target's {theirs}; expected as many"
    );
    Err(Error::new(if mine > theirs { Class::Truncate } else { Class::Type }, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> &'static Arc<Datatype> {
        Datatype::predefined(0x209).unwrap()
    }

    #[test]
    fn parts_are_contiguous_in_all_buffers() {
        let vector = Datatype::vector(3, 2, 3, int()).unwrap();
        let one = Side { ty: vector, count: 1 };
        let other = Side { ty: Datatype::vector(2, 3, 4, int()).unwrap(), count: 1 };
        let flat = Side { ty: int().clone(), count: 6 };
        let parts: Vec<_> = Parts::new([one, other, flat]).collect();
        let part = |a, b, c, len| Part { offsets: [a, b, c], len };
        let expected =
            [part(0, 0, 0, 8), part(12, 8, 8, 4), part(16, 16, 12, 4), part(24, 20, 16, 8)];
        assert_eq!(parts, expected);
    }

    #[test]
    fn spans_include_every_copy() {
        let column = Datatype::vector(3, 1, 2, int()).unwrap();
        assert_eq!(span(&Side { ty: column.clone(), count: 1 }), Some((0, 20)));
        assert_eq!(span(&Side { ty: column.clone(), count: 2 }), Some((0, 40)));
        assert_eq!(span(&Side { ty: column.clone(), count: 0 }), None);
        let back = Datatype::resized(0, -8, int()).unwrap();
        assert_eq!(span(&Side { ty: back, count: 3 }), Some((-16, 20)));
    }

    #[test]
    fn pairs_are_found_behind_their_padding() {
        let pair = Datatype::predefined(0x22c).unwrap();
        let entry = pair.element().unwrap();
        let side = Side { ty: pair.clone(), count: 2 };
        let two = Side { ty: Datatype::vector(2, 1, 3, pair).unwrap(), count: 1 };
        assert_eq!(pairs([side, two], entry).collect::<Vec<_>>(), [[0, 0], [8, 24]]);
    }
}
