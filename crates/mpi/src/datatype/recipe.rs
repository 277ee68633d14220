//! How a datatype was made: `MPI_Type_get_envelope` and `MPI_Type_get_contents`
//! (MPI 5.0, section 5.1.13).
use std::sync::Arc;

use super::Datatype;
use super::array::{Distribution, Order};
use super::predefined::Predefined;

/// The constructor of a datatype; the discriminants are the ABI's `MPI_COMBINER_*` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the standard's")]
#[repr(i32)]
pub enum Combiner {
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
    ValueIndex = 117,
}

/// The arguments of the constructor call, sorted as `MPI_Type_get_contents_c` returns them.
/// The lengths of the lists are what `MPI_Type_get_envelope_c` returns.
#[derive(Debug, Clone)]
pub struct Contents {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type `int`.
    pub integers: Vec<i64>,
    /// Arguments of type `MPI_Aint`.
    pub addresses: Vec<i64>,
    /// Arguments of type `MPI_Count`: only of calls to the large-count (`_c`) constructors.
    pub large_counts: Vec<i64>,
    /// The datatype arguments.
    pub types: Vec<Arc<Datatype>>,
}

/// A constructor call with its arguments, owned.
#[derive(Debug)]
pub(super) enum Recipe {
    Named(&'static Predefined),
    Dup(Arc<Datatype>),
    Contiguous { count: i64, old: Arc<Datatype> },
    Vector { count: i64, blocklen: i64, stride: i64, old: Arc<Datatype> },
    Hvector { count: i64, blocklen: i64, stride: i64, old: Arc<Datatype> },
    Indexed { blocklens: Box<[i64]>, disps: Box<[i64]>, old: Arc<Datatype> },
    Hindexed { blocklens: Box<[i64]>, disps: Box<[i64]>, old: Arc<Datatype> },
    IndexedBlock { blocklen: i64, disps: Box<[i64]>, old: Arc<Datatype> },
    HindexedBlock { blocklen: i64, disps: Box<[i64]>, old: Arc<Datatype> },
    Struct { blocklens: Box<[i64]>, disps: Box<[i64]>, types: Box<[Arc<Datatype>]> },
    Subarray { grid: [Box<[i64]>; 3], order: Order, old: Arc<Datatype> },
    Darray(Box<DarrayRecipe>),
    F90 { combiner: Combiner, integers: Vec<i64> },
    Resized { lb: i64, extent: i64, old: Arc<Datatype> },
    ValueIndex { value: Arc<Datatype>, index: Arc<Datatype> },
}

#[derive(Debug)]
pub(super) struct DarrayRecipe {
    pub size: i64,
    pub rank: i64,
    pub gsizes: Box<[i64]>,
    pub distribs: Box<[Distribution]>,
    pub dargs: Box<[i64]>,
    pub psizes: Box<[i64]>,
    pub order: Order,
    pub old: Arc<Datatype>,
}

/// Sorts arguments into the lists of [`Contents`] by how the call that was made typed them.
struct Sorter {
    large: bool,
    contents: Contents,
}

impl Sorter {
    /// `int` in both forms of the call.
    fn int(mut self, values: impl IntoIterator<Item = i64>) -> Self {
        self.contents.integers.extend(values);
        self
    }

    /// `int`, or `MPI_Count` in the large-count form.
    fn count(mut self, values: impl IntoIterator<Item = i64>) -> Self {
        let Contents { integers, large_counts, .. } = &mut self.contents;
        (if self.large { large_counts } else { integers }).extend(values);
        self
    }

    /// `MPI_Aint`, or `MPI_Count` in the large-count form.
    fn address(mut self, values: impl IntoIterator<Item = i64>) -> Self {
        let Contents { addresses, large_counts, .. } = &mut self.contents;
        (if self.large { large_counts } else { addresses }).extend(values);
        self
    }

    fn types<'a>(mut self, values: impl IntoIterator<Item = &'a Arc<Datatype>>) -> Contents {
        self.contents.types.extend(values.into_iter().cloned());
        self.contents
    }
}

impl Recipe {
    pub fn combiner(&self) -> Combiner {
        match self {
            Recipe::Named(_) => Combiner::Named,
            Recipe::Dup(_) => Combiner::Dup,
            Recipe::Contiguous { .. } => Combiner::Contiguous,
            Recipe::Vector { .. } => Combiner::Vector,
            Recipe::Hvector { .. } => Combiner::Hvector,
            Recipe::Indexed { .. } => Combiner::Indexed,
            Recipe::Hindexed { .. } => Combiner::Hindexed,
            Recipe::IndexedBlock { .. } => Combiner::IndexedBlock,
            Recipe::HindexedBlock { .. } => Combiner::HindexedBlock,
            Recipe::Struct { .. } => Combiner::Struct,
            Recipe::Subarray { .. } => Combiner::Subarray,
            Recipe::Darray(_) => Combiner::Darray,
            Recipe::F90 { combiner, .. } => *combiner,
            Recipe::Resized { .. } => Combiner::Resized,
            Recipe::ValueIndex { .. } => Combiner::ValueIndex,
        }
    }

    /// The constituent type that holds elements of the predefined type `entry`.
    pub fn source_of(&self, entry: &Predefined) -> Option<&Datatype> {
        let holds = |ty: &&Arc<Datatype>| ty.element().is_some_and(|e| std::ptr::eq(e, entry));
        let found = match self {
            Recipe::Named(_) | Recipe::F90 { .. } | Recipe::ValueIndex { .. } => None,
            Recipe::Struct { types, .. } => types.iter().find(holds),
            Recipe::Darray(darray) => Some(&darray.old),
            Recipe::Dup(old)
            | Recipe::Contiguous { old, .. }
            | Recipe::Vector { old, .. }
            | Recipe::Hvector { old, .. }
            | Recipe::Indexed { old, .. }
            | Recipe::Hindexed { old, .. }
            | Recipe::IndexedBlock { old, .. }
            | Recipe::HindexedBlock { old, .. }
            | Recipe::Subarray { old, .. }
            | Recipe::Resized { old, .. } => Some(old),
        };
        found.map(|ty| &**ty)
    }

    /// The arguments as the caller of the small (`large == false`) or large-count form gave them.
    pub fn contents(&self, large: bool) -> Contents {
        let sorter = Sorter {
            large,
            contents: Contents {
                combiner: self.combiner(),
                integers: Vec::new(),
                addresses: Vec::new(),
                large_counts: Vec::new(),
                types: Vec::new(),
            },
        };
        let all = |list: &[i64]| list.to_vec();
        match self {
            Recipe::Named(_) => sorter.contents,
            Recipe::F90 { integers, .. } => sorter.int(integers.iter().copied()).contents,
            Recipe::Dup(old) => sorter.types([old]),
            Recipe::ValueIndex { value, index } => sorter.types([value, index]),
            Recipe::Contiguous { count, old } => sorter.count([*count]).types([old]),
            Recipe::Vector { count, blocklen, stride, old } => {
                sorter.count([*count, *blocklen, *stride]).types([old])
            }
            Recipe::Hvector { count, blocklen, stride, old } => {
                sorter.count([*count, *blocklen]).address([*stride]).types([old])
            }
            Recipe::Indexed { blocklens, disps, old } => {
                sorter.count([len(disps)]).count(all(blocklens)).count(all(disps)).types([old])
            }
            Recipe::Hindexed { blocklens, disps, old } => {
                sorter.count([len(disps)]).count(all(blocklens)).address(all(disps)).types([old])
            }
            Recipe::IndexedBlock { blocklen, disps, old } => {
                sorter.count([len(disps), *blocklen]).count(all(disps)).types([old])
            }
            Recipe::HindexedBlock { blocklen, disps, old } => {
                sorter.count([len(disps), *blocklen]).address(all(disps)).types([old])
            }
            Recipe::Struct { blocklens, disps, types } => {
                sorter.count([len(disps)]).count(all(blocklens)).address(all(disps)).types(types)
            }
            Recipe::Resized { lb, extent, old } => sorter.address([*lb, *extent]).types([old]),
            Recipe::Subarray { grid, order, old } => {
                let sorter = sorter.int([len(&grid[0])]);
                let sorter = grid.iter().fold(sorter, |s, list| s.count(all(list)));
                sorter.int([*order as i64]).types([old])
            }
            Recipe::Darray(d) => sorter
                .int([d.size, d.rank, len(&d.gsizes)])
                .count(all(&d.gsizes))
                .int(d.distribs.iter().map(|&kind| kind as i64))
                .int(all(&d.dargs))
                .int(all(&d.psizes))
                .int([d.order as i64])
                .types([&d.old]),
        }
    }
}

fn len(list: &[i64]) -> i64 {
    list.len() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lists<'a> = (Combiner, &'a [i64], &'a [i64], &'a [i64], usize);

    fn check(ty: &Arc<Datatype>, small: Lists<'_>, large: Lists<'_>) {
        let same = |expect: Lists<'_>| {
            let c = ty.contents();
            assert_eq!(
                (c.combiner, &c.integers[..], &c.addresses[..], &c.large_counts[..], c.types.len()),
                expect
            );
        };
        same(small);
        ty.note_large_count_call();
        same(large);
    }

    #[test]
    fn contents_are_sorted_as_the_standard_asks() {
        use Combiner::*;
        let int = Datatype::predefined(0x209).unwrap();
        let byte = Datatype::byte();
        check(int, (Named, &[], &[], &[], 0), (Named, &[], &[], &[], 0));
        let ty = Datatype::hvector(2, 3, 64, int).unwrap();
        check(&ty, (Hvector, &[2, 3], &[64], &[], 1), (Hvector, &[], &[], &[2, 3, 64], 1));
        let ty = Datatype::indexed(&[1, 2], &[0, 5], int).unwrap();
        let list: &[i64] = &[2, 1, 2, 0, 5];
        check(&ty, (Indexed, list, &[], &[], 1), (Indexed, &[], &[], list, 1));
        let ty = Datatype::hindexed_block(4, &[0, 99], int).unwrap();
        let large: Lists<'_> = (HindexedBlock, &[], &[], &[2, 4, 0, 99], 1);
        check(&ty, (HindexedBlock, &[2, 4], &[0, 99], &[], 1), large);
        let ty = Datatype::structure(&[1, 2], &[0, 8], &[int.clone(), byte.clone()]).unwrap();
        let large: Lists<'_> = (Struct, &[], &[], &[2, 1, 2, 0, 8], 2);
        check(&ty, (Struct, &[2, 1, 2], &[0, 8], &[], 2), large);
        let ty = Datatype::subarray(&[4, 5], &[1, 2], &[0, 3], Order::C, int).unwrap();
        let large: Lists<'_> = (Subarray, &[2, 12], &[], &[4, 5, 1, 2, 0, 3], 1);
        check(&ty, (Subarray, &[2, 4, 5, 1, 2, 0, 3, 12], &[], &[], 1), large);
        let deal = [Distribution::Block, Distribution::None];
        let ty = Datatype::darray(3, 1, &[9, 7], &deal, &[19, 19], &[3, 1], Order::Fortran, int);
        let small: &[i64] = &[3, 1, 2, 9, 7, 17, 16, 19, 19, 3, 1, 15];
        let large: Lists<'_> = (Darray, &[3, 1, 2, 17, 16, 19, 19, 3, 1, 15], &[], &[9, 7], 1);
        check(&ty.unwrap(), (Darray, small, &[], &[], 1), large);
        let ty = Datatype::resized(-4, 16, int).unwrap();
        check(&ty, (Resized, &[], &[-4, 16], &[], 1), (Resized, &[], &[], &[-4, 16], 1));
        let ty = Datatype::f90_real(15, 300).unwrap();
        check(&ty, (F90Real, &[15, 300], &[], &[], 0), (F90Real, &[15, 300], &[], &[], 0));
        let short = Datatype::predefined(0x208).unwrap();
        let ty = Datatype::value_index(int, short).unwrap();
        check(ty, (ValueIndex, &[], &[], &[], 2), (ValueIndex, &[], &[], &[], 2));
    }
}
