//! Fortran types by precision and range: `MPI_Type_create_f90_real`, `_complex` and `_integer`
//! (MPI 5.0, section 19.1.9), with gfortran's kinds.
use std::sync::Arc;

use super::Datatype;
use super::predefined::by_handle;
use super::recipe::{Combiner, Recipe};
use crate::error::{Class, Error, Result};

/// Decimal digits, decimal exponent range, and the handles of the real and the complex type.
/// Kind 10 is the C `long double`.
const REALS: [(i32, i32, usize, usize); 4] = [
    (6, 37, 0x2d2, 0x2db),
    (15, 307, 0x2da, 0x2e3),
    (18, 4931, 0x220, 0x224),
    (33, 4931, 0x2e2, 0x2eb),
];

/// Decimal digits and the handle of the integer type.
const INTEGERS: [(i32, usize); 5] = [(2, 0x2c1), (4, 0x2c9), (9, 0x2d1), (18, 0x2d9), (38, 0x2e1)];

/// `MPI_UNDEFINED` of the ABI: precision or range not given.
const UNDEFINED: i32 = -32766;

impl Datatype {
    /// `SELECTED_REAL_KIND(p, r)`; either may be `MPI_UNDEFINED`, not both.
    /// Each call builds a type: the caller keeps one per argument pair.
    pub fn f90_real(p: i32, r: i32) -> Result<Arc<Datatype>> {
        let (real, _) = select_real(p, r)?;
        build(real, Combiner::F90Real, vec![i64::from(p), i64::from(r)])
    }

    /// As [`Datatype::f90_real`], a complex number of two such reals.
    pub fn f90_complex(p: i32, r: i32) -> Result<Arc<Datatype>> {
        let (_, complex) = select_real(p, r)?;
        build(complex, Combiner::F90Complex, vec![i64::from(p), i64::from(r)])
    }

    /// `SELECTED_INT_KIND(r)`.
    pub fn f90_integer(r: i32) -> Result<Arc<Datatype>> {
        let found = INTEGERS.iter().find(|(digits, _)| r <= *digits);
        let (_, abi) = found.ok_or_else(|| none(format!("integers of {r} decimal digits")))?;
        build(*abi, Combiner::F90Integer, vec![i64::from(r)])
    }
}

fn select_real(p: i32, r: i32) -> Result<(usize, usize)> {
    if p == UNDEFINED && r == UNDEFINED {
        return Err(Error::new(Class::Arg, "precision and range are both MPI_UNDEFINED"));
    }
    let enough = |asked: i32, has: i32| asked == UNDEFINED || asked <= has;
    let found = REALS.iter().find(|kind| enough(p, kind.0) && enough(r, kind.1));
    let kind = found.ok_or_else(|| none(format!("reals of precision {p} and range {r}")))?;
    Ok((kind.2, kind.3))
}

fn build(abi: usize, combiner: Combiner, integers: Vec<i64>) -> Result<Arc<Datatype>> {
    let base = by_handle(abi).and_then(|ty| ty.as_predefined());
    let entry = base.ok_or_else(|| none(format!("the type with handle {abi:#x}")))?;
    Ok(Datatype::from_predefined(entry, Recipe::F90 { combiner, integers }))
}

fn none(what: String) -> Error {
    Error::new(Class::Arg, format!("gfortran has no kind for {what}"))
}
