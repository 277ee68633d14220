//! Atomic operations (section 3.15) on bytes: which operation is defined on which type of data, and what it makes of the
//! target's elements. Elements are little-endian and may lie anywhere; that nobody else writes them meanwhile is the caller's
//! business.

mod complex;
mod extended;
mod number;

use complex::Complex;
use extended::Extended;
use std::cmp::Ordering;

/// Operations, `PTL_*`, with the numbers of `ptl_op_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    Min,
    Max,
    Sum,
    Prod,
    Lor,
    Land,
    Bor,
    Band,
    Lxor,
    Bxor,
    Swap,
    Cswap,
    CswapNe,
    CswapLe,
    CswapLt,
    CswapGe,
    CswapGt,
    Mswap,
}

/// Types of data, `PTL_*`, with the numbers of `ptl_datatype_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Datatype {
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Float,
    Int64,
    Uint64,
    Double,
    FloatComplex,
    DoubleComplex,
    LongDouble,
    LongDoubleComplex,
}

/// All operations, in the order of their numbers.
pub const OPS: [Op; 18] = [
    Op::Min,
    Op::Max,
    Op::Sum,
    Op::Prod,
    Op::Lor,
    Op::Land,
    Op::Bor,
    Op::Band,
    Op::Lxor,
    Op::Bxor,
    Op::Swap,
    Op::Cswap,
    Op::CswapNe,
    Op::CswapLe,
    Op::CswapLt,
    Op::CswapGe,
    Op::CswapGt,
    Op::Mswap,
];

/// All types, in the order of their numbers.
pub const DATATYPES: [Datatype; 14] = [
    Datatype::Int8,
    Datatype::Uint8,
    Datatype::Int16,
    Datatype::Uint16,
    Datatype::Int32,
    Datatype::Uint32,
    Datatype::Float,
    Datatype::Int64,
    Datatype::Uint64,
    Datatype::Double,
    Datatype::FloatComplex,
    Datatype::DoubleComplex,
    Datatype::LongDouble,
    Datatype::LongDoubleComplex,
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Whole,
    Real,
    Complex,
}

impl Datatype {
    /// Bytes of an element. A `long double` is that of x86-64: ten bytes of number, six of padding.
    pub fn size(self) -> usize {
        match self {
            Datatype::Int8 | Datatype::Uint8 => 1,
            Datatype::Int16 | Datatype::Uint16 => 2,
            Datatype::Int32 | Datatype::Uint32 | Datatype::Float => 4,
            Datatype::Int64 | Datatype::Uint64 | Datatype::Double | Datatype::FloatComplex => 8,
            Datatype::DoubleComplex | Datatype::LongDouble => 16,
            Datatype::LongDoubleComplex => 32,
        }
    }

    fn class(self) -> Class {
        match self {
            Datatype::Float | Datatype::Double | Datatype::LongDouble => Class::Real,
            Datatype::FloatComplex | Datatype::DoubleComplex | Datatype::LongDoubleComplex => {
                Class::Complex
            }
            _ => Class::Whole,
        }
    }
}

impl Op {
    /// Whether `PtlSwap` does it with an operand, on one element only.
    pub fn takes_operand(self) -> bool {
        self >= Op::Cswap
    }

    /// Whether it is defined on elements of the type.
    pub fn is_defined_on(self, datatype: Datatype) -> bool {
        match self {
            Op::Min | Op::Max | Op::CswapLe | Op::CswapLt | Op::CswapGe | Op::CswapGt => {
                datatype.class() != Class::Complex
            }
            Op::Sum | Op::Prod | Op::Swap | Op::Cswap | Op::CswapNe => true,
            Op::Lor | Op::Land | Op::Bor | Op::Band | Op::Lxor | Op::Bxor | Op::Mswap => {
                datatype.class() == Class::Whole
            }
        }
    }
}

/// Why an atomic operation did nothing: `PTL_ARG_INVALID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operation is not defined on the type.
    Undefined(Op, Datatype),
    /// The operation needs [`swap`] (true) or [`apply`] (false).
    Operand(bool),
    /// Bytes that are no whole number of elements, or not as many at both sides, or with an operand not one element.
    Length { initiator: usize, target: usize, element: usize },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Fault::Undefined(op, datatype) => {
                write!(f, "{op:?} is not defined on elements of type {datatype:?}")
            }
            Fault::Operand(true) => f.write_str("the operation needs an operand, as PtlSwap has"),
            Fault::Operand(false) => f.write_str("the operation takes no operand"),
            Fault::Length { initiator, target, element } => write!(
                f,
                "{initiator} bytes from the initiator and {target} at the target: expected the same \
                 number of elements of {element} bytes, and with an operand one"
            ),
        }
    }
}

impl std::error::Error for Fault {}

/// Makes `target[i]` of itself and `initiator[i]` for all elements: the operations that take no operand. A number that is not
/// less than the target's (not greater, for `Max`) leaves it, and so does one that is not a number.
pub fn apply(op: Op, datatype: Datatype, initiator: &[u8], target: &mut [u8]) -> Result<(), Fault> {
    let element = datatype.size();
    if op.takes_operand() {
        return Err(Fault::Operand(true));
    }
    if !op.is_defined_on(datatype) {
        return Err(Fault::Undefined(op, datatype));
    }
    if initiator.len() != target.len() || !target.len().is_multiple_of(element) {
        return Err(Fault::Length { initiator: initiator.len(), target: target.len(), element });
    }
    if op == Op::Swap {
        target.copy_from_slice(initiator);
        return Ok(());
    }
    match datatype {
        Datatype::Int8 => number::whole::<i8, 1>(op, initiator, target),
        Datatype::Uint8 => number::whole::<u8, 1>(op, initiator, target),
        Datatype::Int16 => number::whole::<i16, 2>(op, initiator, target),
        Datatype::Uint16 => number::whole::<u16, 2>(op, initiator, target),
        Datatype::Int32 => number::whole::<i32, 4>(op, initiator, target),
        Datatype::Uint32 => number::whole::<u32, 4>(op, initiator, target),
        Datatype::Int64 => number::whole::<i64, 8>(op, initiator, target),
        Datatype::Uint64 => number::whole::<u64, 8>(op, initiator, target),
        Datatype::Float => number::any::<f32, 4>(op, initiator, target),
        Datatype::Double => number::any::<f64, 8>(op, initiator, target),
        Datatype::LongDouble => number::any::<Extended, 16>(op, initiator, target),
        Datatype::FloatComplex => number::any::<Complex<f32, 4>, 8>(op, initiator, target),
        Datatype::DoubleComplex => number::any::<Complex<f64, 8>, 16>(op, initiator, target),
        Datatype::LongDoubleComplex => {
            number::any::<Complex<Extended, 16>, 32>(op, initiator, target)
        }
    }
    Ok(())
}

/// The operations of `PtlSwap` with an operand, on one element. A conditional swap puts the initiator's value in place if
/// "operand, relation, target" holds; `Mswap` replaces those of the target's bits that are set in the operand.
pub fn swap(
    op: Op,
    datatype: Datatype,
    operand: &[u8],
    initiator: &[u8],
    target: &mut [u8],
) -> Result<(), Fault> {
    let element = datatype.size();
    if !op.takes_operand() {
        return Err(Fault::Operand(false));
    }
    if !op.is_defined_on(datatype) {
        return Err(Fault::Undefined(op, datatype));
    }
    if [operand.len(), initiator.len(), target.len()] != [element; 3] {
        return Err(Fault::Length { initiator: initiator.len(), target: target.len(), element });
    }
    if op == Op::Mswap {
        for ((to, from), mask) in target.iter_mut().zip(initiator).zip(operand) {
            *to = *to & !mask | *from & mask;
        }
    } else if holds(op, compare(datatype, operand, target)) {
        target.copy_from_slice(initiator);
    }
    Ok(())
}

/// Whether a relation holds. Numbers that cannot be ordered are not equal.
fn holds(op: Op, order: Option<Ordering>) -> bool {
    match op {
        Op::Cswap => order == Some(Ordering::Equal),
        Op::CswapNe => order != Some(Ordering::Equal),
        Op::CswapLe => order.is_some_and(Ordering::is_le),
        Op::CswapLt => order.is_some_and(Ordering::is_lt),
        Op::CswapGe => order.is_some_and(Ordering::is_ge),
        Op::CswapGt => order.is_some_and(Ordering::is_gt),
        _ => false,
    }
}

fn compare(datatype: Datatype, a: &[u8], b: &[u8]) -> Option<Ordering> {
    match datatype {
        Datatype::Int8 => number::compare::<i8, 1>(a, b),
        Datatype::Uint8 => number::compare::<u8, 1>(a, b),
        Datatype::Int16 => number::compare::<i16, 2>(a, b),
        Datatype::Uint16 => number::compare::<u16, 2>(a, b),
        Datatype::Int32 => number::compare::<i32, 4>(a, b),
        Datatype::Uint32 => number::compare::<u32, 4>(a, b),
        Datatype::Int64 => number::compare::<i64, 8>(a, b),
        Datatype::Uint64 => number::compare::<u64, 8>(a, b),
        Datatype::Float => number::compare::<f32, 4>(a, b),
        Datatype::Double => number::compare::<f64, 8>(a, b),
        Datatype::LongDouble => number::compare::<Extended, 16>(a, b),
        Datatype::FloatComplex => number::compare::<Complex<f32, 4>, 8>(a, b),
        Datatype::DoubleComplex => number::compare::<Complex<f64, 8>, 16>(a, b),
        Datatype::LongDoubleComplex => number::compare::<Complex<Extended, 16>, 32>(a, b),
    }
}
