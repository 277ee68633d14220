//! The constructors of derived datatypes (MPI 5.0, section 5.1.2 to 5.1.3 and 5.1.7 to 5.1.10).
//!
//! They check their arguments as the standard asks: counts and block lengths are not negative,
//! and no bound leaves 64 bits.
use std::sync::Arc;

use super::Datatype;
use super::bounds::{Bounds, add, mul};
use super::layout::{Placed, from_parts, from_runs};
use super::predefined::value_index;
use super::recipe::Recipe;
use super::signature::Signature;
use crate::error::{Class, Error, Result};

impl Datatype {
    /// `MPI_Type_contiguous`: `count` copies of `old`, one after the other.
    pub fn contiguous(count: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        check_count("count", count)?;
        let recipe = Recipe::Contiguous { count, old: old.clone() };
        strided(recipe, old, count, 1, 0)
    }

    /// `MPI_Type_vector`: `count` blocks of `blocklen` copies, `stride` copies apart.
    pub fn vector(
        count: i64,
        blocklen: i64,
        stride: i64,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_count("count", count)?;
        check_count("blocklength", blocklen)?;
        let recipe = Recipe::Vector { count, blocklen, stride, old: old.clone() };
        strided(recipe, old, blocklen, count, mul(stride, old.extent())?)
    }

    /// `MPI_Type_create_hvector`: `count` blocks of `blocklen` copies, `stride` bytes apart.
    pub fn hvector(
        count: i64,
        blocklen: i64,
        stride: i64,
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_count("count", count)?;
        check_count("blocklength", blocklen)?;
        let recipe = Recipe::Hvector { count, blocklen, stride, old: old.clone() };
        strided(recipe, old, blocklen, count, stride)
    }

    /// `MPI_Type_indexed`: block `i` has `blocklens[i]` copies and starts at `disps[i]` copies.
    pub fn indexed(blocklens: &[i64], disps: &[i64], old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        check_same_length(blocklens.len(), disps.len())?;
        let bytes = scaled(disps, old)?;
        let recipe =
            Recipe::Indexed { blocklens: blocklens.into(), disps: disps.into(), old: old.clone() };
        blocks(recipe, old, blocklens, &bytes)
    }

    /// `MPI_Type_create_hindexed`: as [`Datatype::indexed`], displacements in bytes.
    pub fn hindexed(
        blocklens: &[i64],
        disps: &[i64],
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_same_length(blocklens.len(), disps.len())?;
        let recipe =
            Recipe::Hindexed { blocklens: blocklens.into(), disps: disps.into(), old: old.clone() };
        blocks(recipe, old, blocklens, disps)
    }

    /// `MPI_Type_create_indexed_block`: blocks of `blocklen` copies at `disps`, in copies.
    pub fn indexed_block(
        blocklen: i64,
        disps: &[i64],
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_count("blocklength", blocklen)?;
        let bytes = scaled(disps, old)?;
        let recipe = Recipe::IndexedBlock { blocklen, disps: disps.into(), old: old.clone() };
        equal_blocks(recipe, old, blocklen, &bytes)
    }

    /// `MPI_Type_create_hindexed_block`: blocks of `blocklen` copies at `disps`, in bytes.
    pub fn hindexed_block(
        blocklen: i64,
        disps: &[i64],
        old: &Arc<Datatype>,
    ) -> Result<Arc<Datatype>> {
        check_count("blocklength", blocklen)?;
        let recipe = Recipe::HindexedBlock { blocklen, disps: disps.into(), old: old.clone() };
        equal_blocks(recipe, old, blocklen, disps)
    }

    /// `MPI_Type_create_struct`: block `i` has `blocklens[i]` copies of `types[i]` and starts at
    /// `disps[i]` bytes.
    pub fn structure(
        blocklens: &[i64],
        disps: &[i64],
        types: &[Arc<Datatype>],
    ) -> Result<Arc<Datatype>> {
        check_same_length(blocklens.len(), disps.len())?;
        check_same_length(blocklens.len(), types.len())?;
        let mut bounds = Bounds::EMPTY;
        let mut signatures = Vec::with_capacity(types.len());
        let mut parts = Vec::with_capacity(types.len());
        for ((&blocklen, &disp), ty) in blocklens.iter().zip(disps).zip(types) {
            check_count("blocklength", blocklen)?;
            bounds = bounds.union(&ty.bounds.replicate(disp, blocklen, ty.extent())?);
            signatures.push(Signature::repeat(&ty.signature, blocklen)?);
            parts.push(ty.layout.root.repeat(blocklen, ty.extent()).moved(disp));
        }
        let signature = Signature::sequence(signatures)?;
        let mut used = types.iter().zip(blocklens).filter(|(ty, n)| **n > 0 && ty.size() > 0);
        let element = used.next().and_then(|(ty, _)| ty.element);
        let element = element.filter(|one| {
            used.all(|(ty, _)| ty.element.is_some_and(|other| std::ptr::eq(*one, other)))
        });
        let recipe = Recipe::Struct {
            blocklens: blocklens.into(),
            disps: disps.into(),
            types: types.into(),
        };
        Datatype::derived(recipe, bounds.check()?, from_parts(parts), signature, element)
    }

    /// `MPI_Type_create_resized`: `old` with another lower bound and extent, in bytes.
    pub fn resized(lb: i64, extent: i64, old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let recipe = Recipe::Resized { lb, extent, old: old.clone() };
        let bounds = old.bounds.resized(lb, extent)?;
        derive(recipe, bounds, old.layout.root.clone(), old, 1)
    }

    /// `MPI_Type_dup`: the same type with an identity of its own, committed if `old` is.
    pub fn dup(old: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        let root = old.layout.root.clone();
        let new = derive(Recipe::Dup(old.clone()), old.bounds, root, old, 1)?;
        if old.is_committed() {
            new.commit();
        }
        Ok(new)
    }

    /// `MPI_Type_get_value_index`: the predefined pair of a value and an index, laid out as a C
    /// struct; `None` (`MPI_DATATYPE_NULL`) when there is none. Values can be integers and real
    /// numbers, indices integers.
    pub fn value_index(
        value: &Arc<Datatype>,
        index: &Arc<Datatype>,
    ) -> Option<&'static Arc<Datatype>> {
        if !value.is_named() || !index.is_named() {
            return None;
        }
        value_index(value.as_predefined()?, index.as_predefined()?)
    }
}

/// Finishes a type that consists of `copies` copies of `old`.
pub(super) fn derive(
    recipe: Recipe,
    bounds: Bounds,
    root: Placed,
    old: &Arc<Datatype>,
    copies: i64,
) -> Result<Arc<Datatype>> {
    let signature = Signature::repeat(&old.signature, copies)?;
    Datatype::derived(recipe, bounds, root, signature, old.element)
}

/// `count` blocks of `blocklen` copies of `old`, `stride` bytes apart.
fn strided(
    recipe: Recipe,
    old: &Arc<Datatype>,
    blocklen: i64,
    count: i64,
    stride: i64,
) -> Result<Arc<Datatype>> {
    let copies = mul(blocklen, count)?;
    mul(copies, old.size())?;
    let block = old.bounds.replicate(0, blocklen, old.extent())?;
    let bounds = block.replicate(0, count, stride)?;
    let root = old.layout.root.repeat(blocklen, old.extent()).repeat(count, stride);
    derive(recipe, bounds, root, old, copies)
}

/// Blocks of `blocklen` copies of `old` at displacements in bytes.
fn equal_blocks(
    recipe: Recipe,
    old: &Arc<Datatype>,
    blocklen: i64,
    disps: &[i64],
) -> Result<Arc<Datatype>> {
    let copies = mul(blocklen, disps.len() as i64)?;
    mul(copies, old.size())?;
    let block = old.bounds.replicate(0, blocklen, old.extent())?;
    let mut bounds = Bounds::EMPTY;
    if let (Some(&low), Some(&high)) = (disps.iter().min(), disps.iter().max()) {
        bounds = block.replicate(low, 1, 0)?.union(&block.replicate(high, 1, 0)?);
    }
    let root = old.layout.root.repeat(blocklen, old.extent()).at_each(disps);
    derive(recipe, bounds.check()?, root, old, copies)
}

/// Blocks of different lengths at displacements in bytes.
fn blocks(
    recipe: Recipe,
    old: &Arc<Datatype>,
    blocklens: &[i64],
    disps: &[i64],
) -> Result<Arc<Datatype>> {
    let mut copies = 0;
    let mut bounds = Bounds::EMPTY;
    for (&blocklen, &disp) in blocklens.iter().zip(disps) {
        check_count("blocklength", blocklen)?;
        copies = add(copies, blocklen)?;
        bounds = bounds.union(&old.bounds.replicate(disp, blocklen, old.extent())?);
    }
    mul(copies, old.size())?;
    let root = place_blocks(old, blocklens, disps);
    derive(recipe, bounds.check()?, root, old, copies)
}

fn place_blocks(old: &Datatype, blocklens: &[i64], disps: &[i64]) -> Placed {
    let root = &old.layout.root;
    if let (Some(len), true) = (root.as_run(), old.is_dense()) {
        let run = |(n, d): (&i64, &i64)| (d.wrapping_add(root.disp), *n as u64 * len);
        return from_runs(blocklens.iter().zip(disps).map(run));
    }
    // Equal neighbours share one node, so that a list of equal blocks is recognised as one.
    let mut last: Option<(i64, Placed)> = None;
    let mut parts = Vec::with_capacity(disps.len());
    for (&blocklen, &disp) in blocklens.iter().zip(disps) {
        let block = match &last {
            Some((len, block)) if *len == blocklen => block.clone(),
            _ => root.repeat(blocklen, old.extent()),
        };
        parts.push(block.moved(disp));
        last = Some((blocklen, block));
    }
    from_parts(parts)
}

/// Displacements in bytes of displacements in copies of `old`.
fn scaled(disps: &[i64], old: &Datatype) -> Result<Vec<i64>> {
    disps.iter().map(|disp| mul(*disp, old.extent())).collect()
}

pub(super) fn check_count(what: &str, value: i64) -> Result<()> {
    if value >= 0 {
        return Ok(());
    }
    let class = if what == "count" { Class::Count } else { Class::Arg };
    Err(Error::new(class, format!("{what} is {value}; it must not be negative")))
}

fn check_same_length(expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    let text = format!("lists of {expected} and {got} entries where equal lengths are needed");
    Err(Error::new(Class::Arg, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> &'static Arc<Datatype> {
        Datatype::predefined(0x209).unwrap()
    }

    #[test]
    fn bad_arguments_are_refused() {
        let class = |result: Result<Arc<Datatype>>| result.unwrap_err().class;
        assert_eq!(class(Datatype::contiguous(-1, int())), Class::Count);
        assert_eq!(class(Datatype::vector(1, -2, 1, int())), Class::Arg);
        assert_eq!(class(Datatype::indexed(&[1, -1], &[0, 1], int())), Class::Arg);
        assert_eq!(class(Datatype::indexed(&[1], &[0, 1], int())), Class::Arg);
        assert_eq!(class(Datatype::f90_integer(39)), Class::Arg);
    }

    #[test]
    fn overflow_is_an_error_and_large_types_are_none() {
        let class = |result: Result<Arc<Datatype>>| result.unwrap_err().class;
        assert_eq!(class(Datatype::contiguous(i64::MAX / 2, int())), Class::ValueTooLarge);
        assert_eq!(class(Datatype::vector(4, 1, i64::MAX / 8, int())), Class::ValueTooLarge);
        assert_eq!(class(Datatype::resized(i64::MAX, 1, int())), Class::ValueTooLarge);
        let ends = [i64::MIN, i64::MAX - 4];
        assert_eq!(class(Datatype::hindexed(&[1, 1], &ends, int())), Class::ValueTooLarge);
        assert_eq!(class(Datatype::hindexed_block(1, &ends, int())), Class::ValueTooLarge);
        let huge = Datatype::contiguous(i64::MAX / 4, int()).unwrap();
        assert_eq!(huge.size(), i64::MAX / 4 * 4);
        assert_eq!((huge.packed_size(2), huge.packed_size(-1)), (None, None));
        assert_eq!(huge.get_elements(400), Some(100));
        assert!(huge.is_dense());
    }

    #[test]
    fn predefined_and_duplicated_types_know_what_they_are() {
        let dup = Datatype::dup(int()).unwrap();
        assert!(dup.is_committed() && !dup.is_named() && dup.id() != int().id());
        assert_eq!(dup.as_predefined().map(|entry| entry.name), Some("MPI_INT"));
        let vector = Datatype::vector(2, 1, 2, int()).unwrap();
        assert!(!vector.is_committed() && vector.as_predefined().is_none());
        assert_eq!(vector.element().map(|entry| entry.name), Some("MPI_INT"));
        let real = Datatype::f90_real(18, 100).unwrap();
        assert_eq!(real.as_predefined().map(|entry| entry.name), Some("MPI_LONG_DOUBLE"));
        assert!(real.is_predefined() && real.is_committed() && !real.is_named());
        let pair = Datatype::value_index(Datatype::predefined(0x210).unwrap(), int());
        assert!(pair.is_some_and(|pair| pair.is_named()));
        let char = Datatype::predefined(0x243).unwrap();
        assert!(Datatype::value_index(char, int()).is_none());
    }
}
