//! Atomic operations against the same ones of Rust's numbers.

use hpvm_portals::atomic::{self, DATATYPES, Datatype, Fault, OPS, Op};
use proptest::prelude::*;

fn apply(op: Op, datatype: Datatype, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut to = to.to_vec();
    atomic::apply(op, datatype, from, &mut to).expect("defined");
    to
}

fn swap(op: Op, datatype: Datatype, operand: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut to = to.to_vec();
    atomic::swap(op, datatype, operand, from, &mut to).expect("defined");
    to
}

/// Every operation that has no operand, with `x` the initiator's and `y` the target's.
macro_rules! whole_numbers {
    ($($name:ident $ty:ident $datatype:ident;)*) => {$(
        proptest! {
            #[test]
            fn $name(x in any::<$ty>(), y in any::<$ty>(), z in prop_oneof![any::<$ty>(), Just(0)]) {
                let to = |value: $ty| value.to_le_bytes().to_vec();
                let bool = |value: bool| value as $ty;
                for y in [x, y, z] {
                    let results = [
                        (Op::Min, x.min(y)), (Op::Max, x.max(y)), (Op::Sum, x.wrapping_add(y)),
                        (Op::Prod, x.wrapping_mul(y)), (Op::Lor, bool(x != 0 || y != 0)),
                        (Op::Land, bool(x != 0 && y != 0)), (Op::Bor, x | y), (Op::Band, x & y),
                        (Op::Lxor, bool((x != 0) ^ (y != 0))), (Op::Bxor, x ^ y), (Op::Swap, x),
                    ];
                    for (op, expected) in results {
                        prop_assert_eq!(apply(op, Datatype::$datatype, &to(x), &to(y)), to(expected), "{:?}", op);
                    }
                    let swaps = [
                        (Op::Cswap, z == y), (Op::CswapNe, z != y), (Op::CswapLe, z <= y),
                        (Op::CswapLt, z < y), (Op::CswapGe, z >= y), (Op::CswapGt, z > y),
                    ];
                    for (op, swapped) in swaps {
                        let expected = if swapped { x } else { y };
                        let found = swap(op, Datatype::$datatype, &to(z), &to(x), &to(y));
                        prop_assert_eq!(found, to(expected), "{:?}", op);
                    }
                    let found = swap(Op::Mswap, Datatype::$datatype, &to(z), &to(x), &to(y));
                    prop_assert_eq!(found, to((z & x) | (!z & y)));
                }
            }
        }
    )*};
}

whole_numbers! {
    int8 i8 Int8;
    uint8 u8 Uint8;
    int16 i16 Int16;
    uint16 u16 Uint16;
    int32 i32 Int32;
    uint32 u32 Uint32;
    int64 i64 Int64;
    uint64 u64 Uint64;
}

macro_rules! real_numbers {
    ($($name:ident $ty:ident $datatype:ident $complex:ident;)*) => {$(
        proptest! {
            #[test]
            fn $name(
                x in prop_oneof![any::<$ty>(), Just($ty::NAN), Just(0.0)],
                y in prop_oneof![any::<$ty>(), Just(-0.0)],
                z in prop_oneof![any::<$ty>(), Just($ty::NAN)],
            ) {
                let to = |value: $ty| value.to_le_bytes().to_vec();
                for (z, y) in [(z, y), (y, y), (z, z), (0.0, y)] {
                    let results = [
                        (Op::Min, if x < y { x } else { y }), (Op::Max, if x > y { x } else { y }),
                        (Op::Sum, x + y), (Op::Prod, x * y), (Op::Swap, x),
                    ];
                    for (op, expected) in results {
                        let found = apply(op, Datatype::$datatype, &to(x), &to(y));
                        let found = $ty::from_le_bytes(found.try_into().expect("one element"));
                        let same = found == expected || found.is_nan() && expected.is_nan();
                        prop_assert!(same, "{:?}: {} {}", op, found, expected);
                    }
                    let swaps = [
                        (Op::Cswap, z == y), (Op::CswapNe, z != y), (Op::CswapLe, z <= y),
                        (Op::CswapLt, z < y), (Op::CswapGe, z >= y), (Op::CswapGt, z > y),
                    ];
                    for (op, swapped) in swaps {
                        let expected = if swapped { x } else { y };
                        let found = swap(op, Datatype::$datatype, &to(z), &to(x), &to(y));
                        prop_assert_eq!(found, to(expected), "{:?}", op);
                    }
                    let pair = |a: $ty, b: $ty| [to(a), to(b)].concat();
                    for (op, swapped) in [(Op::Cswap, z == y), (Op::CswapNe, z != y)] {
                        let (operand, target) = (pair(1.0, z), pair(1.0, y));
                        let found = swap(op, Datatype::$complex, &operand, &pair(x, 2.0), &target);
                        prop_assert_eq!(found, if swapped { pair(x, 2.0) } else { target });
                    }
                }
            }
        }
    )*};
}

real_numbers! {
    float f32 Float FloatComplex;
    double f64 Double DoubleComplex;
}

#[test]
fn complex_numbers() {
    // (2 + 3i) (1 - 4i) = 14 - 5i; (2 + 3i) + (1 - 4i) = 3 - i
    fn check<const N: usize>(datatype: Datatype, to: impl Fn(f64) -> [u8; N]) {
        let pair = |a, b| [to(a), to(b)].concat();
        let (x, y) = (pair(2.0, 3.0), pair(1.0, -4.0));
        assert_eq!(apply(Op::Prod, datatype, &x, &y), pair(14.0, -5.0), "{datatype:?}");
        assert_eq!(apply(Op::Sum, datatype, &x, &y), pair(3.0, -1.0), "{datatype:?}");
    }
    check(Datatype::FloatComplex, |x| (x as f32).to_le_bytes());
    check(Datatype::DoubleComplex, f64::to_le_bytes);
    check(Datatype::LongDoubleComplex, long_double);
}

/// A normal number or zero as x86-64's `long double`.
fn long_double(value: f64) -> [u8; 16] {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as u128;
    let significand = u128::from((bits & ((1 << 52) - 1)) << 11) | 1 << 63;
    let sign = u128::from(bits >> 63) << 79;
    let number = if value == 0.0 { 0 } else { (exponent + 16383 - 1023) << 64 | significand };
    (sign | number).to_le_bytes()
}

#[test]
fn long_doubles() {
    let of = long_double;
    for (x, y) in [(1.5, 2.25), (-3.0, 0.5), (1e300, -1e300), (0.0, 7.0)] {
        let made = |op| apply(op, Datatype::LongDouble, &of(x), &of(y));
        assert_eq!(made(Op::Sum), of(x + y));
        assert_eq!(made(Op::Min), of(f64::min(x, y)));
        assert_eq!(made(Op::Max), of(f64::max(x, y)));
        let found = swap(Op::CswapLt, Datatype::LongDouble, &of(x), &of(9.0), &of(y));
        assert_eq!(found, of(if x < y { 9.0 } else { y }));
    }
    assert_eq!(apply(Op::Prod, Datatype::LongDouble, &of(-3.0), &of(0.5)), of(-1.5));
}

#[test]
fn many_elements() {
    let from: Vec<u8> = [1i32, -5, 7].iter().flat_map(|x| x.to_le_bytes()).collect();
    let to: Vec<u8> = [10i32, 20, i32::MAX].iter().flat_map(|x| x.to_le_bytes()).collect();
    let expected: Vec<u8> =
        [11i32, 15, i32::MIN + 6].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(apply(Op::Sum, Datatype::Int32, &from, &to), expected);
}

/// Each pair is done by exactly one of the two functions or refused, and what is refused changes nothing.
#[test]
fn every_pair_is_done_or_refused() {
    let mut defined = 0;
    for op in OPS {
        for datatype in DATATYPES {
            let element = vec![1u8; datatype.size()];
            let mut target = vec![2u8; datatype.size()];
            let applied = atomic::apply(op, datatype, &element, &mut target.clone());
            let swapped = atomic::swap(op, datatype, &element, &element, &mut target.clone());
            let is_defined = op.is_defined_on(datatype);
            assert_eq!(applied.is_ok(), is_defined && !op.takes_operand());
            assert_eq!(swapped.is_ok(), is_defined && op.takes_operand());
            defined += usize::from(is_defined);
            let wrong = if op.takes_operand() {
                atomic::swap(op, datatype, &element, &[], &mut target)
            } else {
                atomic::apply(op, datatype, &[], &mut target)
            };
            assert!(wrong.is_err());
            assert_eq!(target, vec![2u8; datatype.size()]);
        }
    }
    // 8 whole types with all 18, 3 real ones with 11, 3 complex ones with 5.
    assert_eq!(defined, 8 * 18 + 3 * 11 + 3 * 5);
    let odd = atomic::apply(Op::Sum, Datatype::Int32, &[0; 6], &mut [0; 6]);
    assert_eq!(odd, Err(Fault::Length { initiator: 6, target: 6, element: 4 }));
}
