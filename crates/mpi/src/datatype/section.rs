//! Datatypes for array sections of Fortran (section 19.1.12): to MPI a section is the contiguous array
//! that it would be copied to.
use std::sync::Arc;

use super::Datatype;
use super::bounds::{Bounds, add, mul, overflow};
use super::layout::{Placed, from_parts};
use super::recipe::Recipe;
use super::signature::Signature;
use crate::error::{Class, Error, Result};

/// A section, its dimensions from the fastest on.
struct Section {
    /// Bytes of an element, and of all elements of the first dimensions, in the contiguous array.
    blocks: Vec<i64>,
    /// Elements, and bytes between two of them.
    dimensions: Vec<(i64, i64)>,
    /// The layout of all elements of the first dimensions.
    full: Vec<Placed>,
}

impl Datatype {
    /// `count` copies of `old` in the contiguous array of a section, where the section has them: elements of
    /// `element` bytes, and for every dimension its extent and the bytes from one of its elements to the next, the
    /// fastest first.
    pub fn over_section(
        element: i64,
        dimensions: &[(i64, i64)],
        count: i64,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        let section = Section::new(element, dimensions)?;
        let mut parts = Vec::new();
        for (from, length) in old.segments(count) {
            let to = from.checked_add_unsigned(length).ok_or_else(overflow)?;
            if from < 0 || to > section.bytes() {
                return Err(section.too_small(from, to));
            }
            parts.push(section.range(section.dimensions.len(), from, to));
        }
        let (low, high) = section.bounds()?;
        let signature = Signature::repeat(&old.signature, count)?;
        let recipe = Recipe::Contiguous { count, old: old.clone() };
        Datatype::derived(
            recipe,
            Bounds::of_data(low, high),
            from_parts(parts),
            signature,
            old.element,
        )
    }
}

impl Section {
    fn new(element: i64, dimensions: &[(i64, i64)]) -> Result<Section> {
        let mut blocks = vec![element];
        let mut full = vec![Placed::run(0, element.max(0) as u64)];
        for (level, (extent, stride)) in dimensions.iter().enumerate() {
            blocks.push(mul(blocks[level], *extent)?);
            full.push(full[level].repeat(*extent, *stride));
        }
        Ok(Section { blocks, dimensions: dimensions.to_vec(), full })
    }

    fn bytes(&self) -> i64 {
        self.blocks.last().copied().unwrap_or(0)
    }

    /// The first byte and one past the last one, from the first element on.
    fn bounds(&self) -> Result<(i64, i64)> {
        let (mut low, mut high) = (0, self.blocks[0]);
        for (extent, stride) in &self.dimensions {
            let far = mul(*stride, extent - 1)?;
            low = add(low, far.min(0))?;
            high = add(high, far.max(0))?;
        }
        Ok((low, high))
    }

    /// Where the bytes from `from` to `to` of the first `level` dimensions lie. There is a byte.
    fn range(&self, level: usize, from: i64, to: i64) -> Placed {
        if (from, to) == (0, self.blocks[level]) {
            return self.full[level].clone();
        }
        let Some(below) = level.checked_sub(1) else {
            return Placed::run(from, (to - from) as u64);
        };
        let (block, stride) = (self.blocks[below], self.dimensions[below].1);
        let (first, last) = (from / block, (to - 1) / block);
        let part = |i: i64, from: i64, to: i64| self.range(below, from, to).moved(i * stride);
        if first == last {
            return part(first, from - first * block, to - first * block);
        }
        let head = part(first, from - first * block, block);
        let tail = part(last, 0, to - last * block);
        let middle = self.full[below].repeat(last - first - 1, stride).moved((first + 1) * stride);
        from_parts(vec![head, middle, tail])
    }

    fn too_small(&self, from: i64, to: i64) -> Error {
        let text = format!(
            "count and datatype reach from byte {from} to byte {to} of the array section, which has {} bytes",
            self.bytes()
        );
        Error::new(Class::Buffer, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Offsets of all bytes of a section, in order.
    fn offsets(element: i64, dimensions: &[(i64, i64)]) -> Vec<i64> {
        let mut all: Vec<i64> = (0..element).collect();
        for (extent, stride) in dimensions {
            all = (0..*extent).flat_map(|i| all.iter().map(move |at| at + i * stride)).collect();
        }
        all
    }

    fn bytes_of(ty: &Datatype, count: i64) -> Vec<i64> {
        ty.segments(count)
            .flat_map(|(at, length)| (0..length as i64).map(move |i| at + i))
            .collect()
    }

    proptest! {
        /// The datatype has the bytes that the old one has in the contiguous array, in the same order.
        #[test]
        fn same_bytes(
            element in 1..9_i64,
            dimensions in prop::collection::vec((1..5_i64, -60..60_i64), 1..4),
            length in 1..4_i64,
            step in 1..5_i64,
            blocks in 1..3_i64,
            count in 1..4_i64,
        ) {
            let old = Datatype::vector(blocks, length, step.max(length), Datatype::byte()).unwrap();
            let all = offsets(element, &dimensions);
            let wanted = bytes_of(&old, count);
            let made = Datatype::over_section(element, &dimensions, count, &old);
            if wanted.iter().any(|at| *at as usize >= all.len()) {
                prop_assert!(made.is_err());
                return Ok(());
            }
            let made = made.unwrap();
            let wanted: Vec<i64> = wanted.iter().map(|at| all[*at as usize]).collect();
            prop_assert_eq!(bytes_of(&made, 1), wanted);
            prop_assert_eq!(made.size(), old.size() * count);
        }
    }

    #[test]
    fn a_matrix_of_every_second_element() {
        let double = Datatype::vector(1, 8, 8, Datatype::byte()).unwrap();
        let made = Datatype::over_section(8, &[(3, 16), (2, 96)], 6, &double).unwrap();
        assert_eq!(
            made.segments(1).collect::<Vec<_>>(),
            [0, 16, 32, 96, 112, 128].map(|at| (at, 8))
        );
        assert_eq!((made.true_lb(), made.true_extent()), (0, 136));
        assert!(Datatype::over_section(8, &[(3, 16), (2, 96)], 7, &double).is_err());
    }
}
