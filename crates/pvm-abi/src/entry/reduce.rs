//! `pvm_reduce` and its functions.

use super::group::{Members, checked};
use crate::library::finish;
use core::ffi::{c_char, c_int, c_void};
use hpvm_pvm::Code;
use hpvm_pvm::element::Element;

/// What combines two arrays: the first becomes the result.
pub type Function =
    unsafe extern "C" fn(*mut c_int, *mut c_void, *mut c_void, *mut c_int, *mut c_int);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_reduce(
    function: Option<Function>,
    data: *mut c_void,
    count: c_int,
    kind: c_int,
    tag: c_int,
    group: *const c_char,
    root: c_int,
) -> c_int {
    let reduce = || {
        let element = checked(data, count, kind, tag)?;
        let function = function.ok_or(Code::BadParam)?;
        // SAFETY: the caller's promises.
        unsafe {
            let members = Members::of(group, root)?;
            if !members.is_root() {
                return members.send(members.root, tag, element, data.cast(), count).map(|()| 0);
            }
            // Of 16 bytes each, so that elements of all types are aligned.
            let mut other = vec![0u128; (count as usize * element.size()).div_ceil(16)];
            for from in (0..members.count()).filter(|from| *from != members.mine) {
                members.receive(from, tag, element, other.as_mut_ptr().cast(), count)?;
                let (mut kind, mut count, mut info) = (kind, count, 0);
                let other = other.as_mut_ptr().cast();
                function(&raw mut kind, data, other, &raw mut count, &raw mut info);
                if info < 0 {
                    return Err(super::task::from_number(info));
                }
            }
            Ok(0)
        }
    };
    finish("pvm_reduce", reduce())
}

/// Combines numbers one by one.
unsafe fn each<T: Copy>(x: *mut c_void, y: *mut c_void, count: usize, f: impl Fn(T, T) -> T) {
    let (x, y) = (x.cast::<T>(), y.cast::<T>());
    for i in 0..count {
        // SAFETY: the caller's arrays of `count` elements.
        unsafe {
            x.add(i).write_unaligned(f(x.add(i).read_unaligned(), y.add(i).read_unaligned()))
        };
    }
}

/// Two arrays of any type: real ones by one function, complex ones by another.
macro_rules! combine {
    ($kind:expr, $x:expr, $y:expr, $count:expr, $bytes:expr, |$a:ident, $b:ident| $int:expr, $real:expr, $complex:expr) => {{
        match $kind {
            Element::Byte if $bytes => each::<i8>($x, $y, $count, |$a, $b| $int),
            Element::Short => each::<i16>($x, $y, $count, |$a, $b| $int),
            Element::Int => each::<i32>($x, $y, $count, |$a, $b| $int),
            Element::Long => each::<i64>($x, $y, $count, |$a, $b| $int),
            Element::Ushort => each::<u16>($x, $y, $count, |$a, $b| $int),
            Element::Uint => each::<u32>($x, $y, $count, |$a, $b| $int),
            Element::Ulong => each::<u64>($x, $y, $count, |$a, $b| $int),
            Element::Float => each::<f32>($x, $y, $count, |$a, $b| $real),
            Element::Double => each::<f64>($x, $y, $count, |$a, $b| $real),
            Element::Cplx => each::<[f32; 2]>($x, $y, $count, |$a, $b| $complex),
            Element::Dcplx => each::<[f64; 2]>($x, $y, $count, |$a, $b| $complex),
            _ => return Code::BadParam.number(),
        }
        0
    }};
}

/// The square of a complex number's modulus.
macro_rules! modulus {
    ($z:ident) => {
        ($z[0] * $z[0] + $z[1] * $z[1])
    };
}

/// Calls one of the functions below with the arguments of C.
unsafe fn call(
    kind: *mut c_int,
    count: *mut c_int,
    info: *mut c_int,
    f: impl FnOnce(Element, usize) -> c_int,
) {
    // SAFETY: the caller's variables.
    unsafe {
        let done = match (Element::from_number(*kind), usize::try_from(*count)) {
            (Some(kind), Ok(count)) => f(kind, count),
            _ => Code::BadParam.number(),
        };
        if !info.is_null() {
            *info = done;
        }
    }
}

macro_rules! function {
    ($name:ident, $bytes:expr, |$a:ident, $b:ident| $int:expr, $real:expr, $complex:expr) => {
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            kind: *mut c_int,
            x: *mut c_void,
            y: *mut c_void,
            count: *mut c_int,
            info: *mut c_int,
        ) {
            // SAFETY: the caller's promises.
            unsafe {
                call(kind, count, info, |kind, count| {
                    combine!(kind, x, y, count, $bytes, |$a, $b| $int, $real, $complex)
                });
            }
        }
    };
}

function!(PvmMax, true, |a, b| a.max(b), a.max(b), if modulus!(a) < modulus!(b) { b } else { a });
function!(PvmMin, true, |a, b| a.min(b), a.min(b), if modulus!(a) > modulus!(b) { b } else { a });
function!(PvmSum, false, |a, b| a.wrapping_add(b), a + b, [a[0] + b[0], a[1] + b[1]]);
function!(
    PvmProduct,
    false,
    |a, b| a.wrapping_mul(b),
    a * b,
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
);
