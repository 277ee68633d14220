//! Operations against plain arithmetic, on buffers of every alignment.
use super::*;
use crate::datatype::predefined;

fn named(name: &str) -> &'static Arc<Datatype> {
    let entry = predefined::all().find(|entry| entry.name == name).unwrap();
    Datatype::predefined(entry.abi).unwrap()
}

/// Applies `op` to copies of the operands at an odd address and returns the result.
fn run<T: Copy>(op: Predef, ty: &Arc<Datatype>, input: &[T], inout: &[T], shift: usize) -> Vec<T> {
    let bytes = size_of_val(input);
    let mut a = vec![0u8; bytes + shift];
    let mut b = vec![0u8; bytes + shift];
    // SAFETY: both vectors have `bytes` bytes after `shift`; `T` is a plain number in these tests.
    unsafe {
        std::ptr::copy_nonoverlapping(input.as_ptr().cast(), a.as_mut_ptr().add(shift), bytes);
        std::ptr::copy_nonoverlapping(inout.as_ptr().cast(), b.as_mut_ptr().add(shift), bytes);
        Op::Predefined(op)
            .apply(a.as_ptr().add(shift), b.as_mut_ptr().add(shift), input.len() as i64, ty)
            .unwrap();
        (0..input.len())
            .map(|i| b.as_ptr().add(shift).cast::<T>().add(i).read_unaligned())
            .collect()
    }
}

macro_rules! check_integer {
    ($t:ty, $name:literal) => {{
        let a: Vec<$t> = (0..103u64).map(|i| (i * 37 % 101) as $t).collect();
        let b: Vec<$t> = (0..103u64).map(|i| (i * 61 % 97) as $t).collect();
        let expect = |op, f: fn($t, $t) -> $t| {
            let want: Vec<$t> = a.iter().zip(&b).map(|(x, y)| f(*x, *y)).collect();
            for shift in 0..3 {
                assert_eq!(run(op, named($name), &a, &b, shift), want, "{op:?} {}", $name);
            }
        };
        expect(Predef::Sum, |x, y| x.wrapping_add(y));
        expect(Predef::Prod, |x, y| x.wrapping_mul(y));
        expect(Predef::Max, |x, y| x.max(y));
        expect(Predef::Min, |x, y| x.min(y));
        expect(Predef::Band, |x, y| x & y);
        expect(Predef::Bor, |x, y| x | y);
        expect(Predef::Bxor, |x, y| x ^ y);
        if named($name).element().unwrap().group == Group::CInteger {
            expect(Predef::Land, |x, y| <$t>::from(x != 0 && y != 0));
            expect(Predef::Lor, |x, y| <$t>::from(x != 0 || y != 0));
            expect(Predef::Lxor, |x, y| <$t>::from((x != 0) != (y != 0)));
        }
    }};
}

#[test]
fn integers() {
    check_integer!(i8, "MPI_SIGNED_CHAR");
    check_integer!(u8, "MPI_UNSIGNED_CHAR");
    check_integer!(i16, "MPI_SHORT");
    check_integer!(u16, "MPI_UINT16_T");
    check_integer!(i32, "MPI_INT");
    check_integer!(u32, "MPI_UNSIGNED");
    check_integer!(i64, "MPI_LONG");
    check_integer!(u64, "MPI_UNSIGNED_LONG_LONG");
    check_integer!(i64, "MPI_AINT");
    check_integer!(i32, "MPI_INTEGER");
    check_integer!(i128, "MPI_INTEGER16");
}

#[test]
fn reals_and_complex() {
    let a: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.75 - 20.0).collect();
    let b: Vec<f64> = (0..100).map(|i| 11.0 - f64::from(i) * 0.5).collect();
    let zip = |f: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(x, y)| f(*x, *y)).collect::<Vec<_>>();
    let double = named("MPI_DOUBLE");
    assert_eq!(run(Predef::Sum, double, &a, &b, 1), zip(|x, y| x + y));
    assert_eq!(run(Predef::Prod, double, &a, &b, 0), zip(|x, y| x * y));
    assert_eq!(run(Predef::Max, double, &a, &b, 5), zip(f64::max));
    assert_eq!(run(Predef::Min, double, &a, &b, 3), zip(f64::min));
    let complex = named("MPI_C_FLOAT_COMPLEX");
    let product = run(Predef::Prod, complex, &[[1f32, 2.0]], &[[3f32, -1.0]], 0);
    assert_eq!(product, [[5.0, 5.0]]);
    assert_eq!(run(Predef::Sum, complex, &[[1f32, 2.0]], &[[3f32, -1.0]], 0), [[4.0, 1.0]]);
}

#[test]
fn half_precision_rounds_as_ieee() {
    for bits in 0..=u16::MAX {
        let half = F16(bits);
        let back = F16::from_f32(half.to_f32());
        assert!(back == half || half.to_f32().is_nan(), "{bits:#x}");
    }
    assert_eq!(F16::from_f32(65519.0).0, 0x7bff);
    assert_eq!(F16::from_f32(65520.0).0, 0x7c00);
    assert_eq!(F16::from_f32(1.0 + 1.0 / 2048.0).0, 0x3c00);
    assert_eq!(F16::from_f32(1.0 + 3.0 / 2048.0).0, 0x3c02);
    assert_eq!(F16::from_f32(-2f32.powi(-25)).0, 0x8000);
    assert_eq!(F16::from_f32(2f32.powi(-25) * 1.5).0, 0x0001);
    let sum = run(Predef::Sum, named("MPI_REAL2"), &[0x3c00u16], &[0x4000u16], 0);
    assert_eq!(sum, [0x4200]);
}

#[test]
fn logicals_store_one_for_true() {
    let lor = run(Predef::Lor, named("MPI_LOGICAL"), &[7u32, 0, 0], &[0u32, 0, 9], 1);
    assert_eq!(lor, [1, 0, 1]);
    let land = run(Predef::Land, named("MPI_C_BOOL"), &[1u8, 1, 0], &[1u8, 0, 0], 0);
    assert_eq!(land, [1, 0, 0]);
}

#[test]
fn locations() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(C)]
    struct DoubleInt(f64, i32);
    let a = [DoubleInt(1.0, 5), DoubleInt(2.0, 9), DoubleInt(3.0, 1)];
    let b = [DoubleInt(2.0, 1), DoubleInt(2.0, 4), DoubleInt(-3.0, 0)];
    let max = run(Predef::MaxLoc, named("MPI_DOUBLE_INT"), &a, &b, 1);
    assert_eq!(max, [DoubleInt(2.0, 1), DoubleInt(2.0, 4), DoubleInt(3.0, 1)]);
    let min = run(Predef::MinLoc, named("MPI_DOUBLE_INT"), &a, &b, 0);
    assert_eq!(min, [DoubleInt(1.0, 5), DoubleInt(2.0, 4), DoubleInt(-3.0, 0)]);
    let reals = run(Predef::MaxLoc, named("MPI_2REAL"), &[[1f32, 2.0]], &[[1f32, 1.0]], 0);
    assert_eq!(reals, [[1.0, 1.0]]);
    let ty = Datatype::value_index(named("MPI_INT64_T"), named("MPI_INT64_T")).unwrap();
    assert_eq!(run(Predef::MinLoc, ty, &[[4i64, 2]], &[[3i64, 8]], 0), [[3, 8]]);
}

#[test]
fn only_what_the_standard_defines() {
    for &op in Predef::ALL {
        assert_eq!(Predef::from_abi(op.abi()), Some(op));
        let op = Op::Predefined(op);
        let derived = Datatype::contiguous(2, named("MPI_INT")).unwrap();
        let dup = Datatype::dup(named("MPI_INT")).unwrap();
        let Op::Predefined(predef) = op else { unreachable!() };
        assert_eq!(op.check(&derived).is_ok(), predef.takes_any());
        assert_eq!(op.check(&dup).is_ok(), op.check(named("MPI_INT")).is_ok());
        let mut out = [1u8; 64];
        for entry in predefined::all() {
            let ty = Datatype::predefined(entry.abi).unwrap();
            // SAFETY: one element of at most 32 bytes in 64.
            let result = unsafe { op.apply([2u8; 64].as_ptr(), out.as_mut_ptr(), 1, ty) };
            assert_eq!(result.is_ok(), predef.allows(entry.group));
        }
    }
    let error = Op::Predefined(Predef::Sum).check(named("MPI_WCHAR")).unwrap_err();
    assert_eq!(error.class, Class::Op);
    assert!(error.text.contains("MPI_SUM") && error.text.contains("MPI_WCHAR"));
    assert_eq!(Predef::from_abi(0x20), None);
}

/// Not in the standard, but in other MPIs and programs.
#[test]
fn characters_are_added_and_compared() {
    for (op, wanted) in [(Predef::Sum, 7), (Predef::Max, 5), (Predef::Land, 1)] {
        let mut out = [2u8];
        // SAFETY: one element of one byte.
        unsafe {
            let ty = named("MPI_CHAR");
            Op::Predefined(op).apply([5u8].as_ptr(), out.as_mut_ptr(), 1, ty).unwrap();
        }
        assert_eq!(out, [wanted], "{op:?}");
    }
}

#[test]
fn user_functions_are_called() {
    let function = |_: *const u8, inout: *mut u8, count: i64, ty: &Arc<Datatype>| {
        // SAFETY: the test passes one byte.
        unsafe { *inout = (count * ty.size()) as u8 };
    };
    let op = Op::User(UserOp { commute: false, function: Arc::new(function) });
    let mut out = [0u8; 1];
    // SAFETY: the function writes one byte.
    unsafe { op.apply([1u8].as_ptr(), out.as_mut_ptr(), 3, named("MPI_INT")).unwrap() };
    assert_eq!(out, [12]);
    assert!(!op.is_commutative() && Op::Predefined(Predef::Max).is_commutative());
}
