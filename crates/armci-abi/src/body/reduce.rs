//! Reductions, the choice of one process's value, and the exchange of addresses.

use super::group::{Group, group};
use super::message::in_scope;
use super::transfer::length;
use crate::state::state;
use crate::types::{DOUBLE, FLOAT, INT, LONG, LONG_LONG, Name, SCOPE_ALL, SCOPE_NODE};
use core::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_void};
use hpvm_abi::constants::{
    MPI_BAND, MPI_BOR, MPI_BYTE, MPI_Comm, MPI_DOUBLE, MPI_Datatype, MPI_FLOAT, MPI_IN_PLACE,
    MPI_INT, MPI_INT64_T, MPI_LAND, MPI_LOR, MPI_MAX, MPI_MIN, MPI_Op, MPI_PROD, MPI_SUM,
};
use hpvm_armci::Reduction;
use hpvm_model::{done, fail, mpi};

fn datatype(name: Name, code: c_int) -> MPI_Datatype {
    match code {
        INT => MPI_INT,
        LONG | LONG_LONG => MPI_INT64_T,
        FLOAT => MPI_FLOAT,
        DOUBLE => MPI_DOUBLE,
        _ => fail(name, &format!("datatype {code}; expected ARMCI_INT (0) to ARMCI_DOUBLE (4)")),
    }
}

/// # Safety
/// `op` is a C string.
unsafe fn reduction(name: Name, op: *const c_char) -> Reduction {
    if op.is_null() {
        fail(name, "the operation is null");
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(op) }.to_string_lossy();
    match Reduction::from_name(&text) {
        Ok(reduction) => reduction,
        Err(why) => fail(name, &why),
    }
}

fn operation(reduction: Reduction) -> MPI_Op {
    match reduction {
        Reduction::Sum => MPI_SUM,
        Reduction::Product => MPI_PROD,
        Reduction::Min | Reduction::AbsMin => MPI_MIN,
        Reduction::Max | Reduction::AbsMax => MPI_MAX,
        Reduction::BitOr => MPI_BOR,
        Reduction::BitAnd => MPI_BAND,
        Reduction::LogicalOr => MPI_LOR,
        Reduction::LogicalAnd => MPI_LAND,
    }
}

/// Absolute values in place.
///
/// # Safety
/// `n` elements of the type.
unsafe fn absolute(elements: *mut c_void, n: usize, code: c_int) {
    /// The loop for one type.
    macro_rules! each {
        ($ty:ident, $abs:ident) => {
            for i in 0..n {
                // SAFETY: the caller's promise.
                unsafe {
                    let at = elements.cast::<$ty>().add(i);
                    at.write_unaligned(at.read_unaligned().$abs());
                }
            }
        };
    }
    match code {
        INT => each!(i32, wrapping_abs),
        FLOAT => each!(f32, abs),
        DOUBLE => each!(f64, abs),
        _ => each!(i64, wrapping_abs),
    }
}

/// # Safety
/// `n` elements of the type; `op` is a C string.
unsafe fn reduce(
    name: Name,
    scope: c_int,
    (elements, n): (*mut c_void, c_int),
    op: *const c_char,
    code: c_int,
    group: &Group,
) {
    let (count, kind) = (length(name, n), datatype(name, code));
    // SAFETY: the caller's promise.
    let reduction = unsafe { reduction(name, op) };
    if matches!(code, FLOAT | DOUBLE) && !reduction.is_for_fractions() {
        fail(name, "the operation is for whole numbers; expected one of + * min max absmin absmax");
    }
    in_scope(state(name), name, scope, group, |comm| {
        // SAFETY: the caller's promise.
        unsafe {
            if matches!(reduction, Reduction::AbsMin | Reduction::AbsMax) {
                absolute(elements, count, code);
            }
            let all = mpi().MPI_Allreduce;
            done(name, all(MPI_IN_PLACE, elements, n, kind, operation(reduction), comm));
        }
    });
}

pub unsafe fn scope(
    name: Name,
    scope: c_int,
    x: *mut c_void,
    n: c_int,
    op: *const c_char,
    kind: c_int,
) {
    // SAFETY: the program's promises.
    unsafe { reduce(name, scope, (x, n), op, kind, &state(name).default_group(name)) }
}

pub unsafe fn all(name: Name, x: *mut c_void, n: c_int, op: *const c_char, kind: c_int) {
    // SAFETY: the program's promises.
    unsafe { scope(name, SCOPE_ALL, x, n, op, kind) }
}

pub unsafe fn group_scope(
    name: Name,
    scope: c_int,
    x: *mut c_void,
    n: c_int,
    op: *const c_char,
    kind: c_int,
    of: *mut c_void,
) {
    // SAFETY: the program's promises.
    unsafe { reduce(name, scope, (x, n), op, kind, &group(state(name), name, of)) }
}

/// The forms for one type: of all, of a group, of a host.
macro_rules! forms {
    ($($all:ident $group:ident $host:ident $ty:ident $code:ident),*) => {$(
        pub unsafe fn $all(name: Name, x: *mut $ty, n: c_int, op: *const c_char) {
            // SAFETY: the program's promises.
            unsafe { all(name, x.cast(), n, op, $code) }
        }

        pub unsafe fn $group(name: Name, x: *mut $ty, n: c_int, op: *const c_char, of: *mut c_void) {
            // SAFETY: the program's promises.
            unsafe { group_scope(name, SCOPE_ALL, x.cast(), n, op, $code, of) }
        }

        pub unsafe fn $host(name: Name, x: *mut $ty, n: c_int, op: *const c_char) {
            // SAFETY: the program's promises.
            unsafe { reduce(name, SCOPE_NODE, (x.cast(), n), op, $code, &state(name).world) }
        }
    )*};
}

forms!(ints group_ints host_ints c_int INT, longs group_longs host_longs c_long LONG,
    long_longs group_long_longs host_long_longs c_longlong LONG_LONG,
    floats group_floats host_floats f32 FLOAT, doubles group_doubles host_doubles f64 DOUBLE);

/// What a process says of its value.
#[derive(Clone, Copy)]
#[repr(C)]
struct Said {
    value: [u8; 8],
    contributes: u64,
}

/// Whether `a` is to be chosen over `b`.
fn better(a: &Said, b: &Said, code: c_int, greatest: bool) -> bool {
    let four = |said: &Said| [said.value[0], said.value[1], said.value[2], said.value[3]];
    let less = match code {
        INT => i32::from_ne_bytes(four(a)) < i32::from_ne_bytes(four(b)),
        FLOAT => f32::from_ne_bytes(four(a)) < f32::from_ne_bytes(four(b)),
        DOUBLE => f64::from_ne_bytes(a.value) < f64::from_ne_bytes(b.value),
        _ => i64::from_ne_bytes(a.value) < i64::from_ne_bytes(b.value),
    };
    let greater = match code {
        INT => i32::from_ne_bytes(four(a)) > i32::from_ne_bytes(four(b)),
        FLOAT => f32::from_ne_bytes(four(a)) > f32::from_ne_bytes(four(b)),
        DOUBLE => f64::from_ne_bytes(a.value) > f64::from_ne_bytes(b.value),
        _ => i64::from_ne_bytes(a.value) > i64::from_ne_bytes(b.value),
    };
    if greatest { greater } else { less }
}

/// All get the `n` bytes of the process whose first number is the least or greatest, the first of several.
///
/// # Safety
/// `x` has `n` bytes, which begin with a number of the type.
unsafe fn choose(
    name: Name,
    (x, n): (*mut c_void, c_int),
    code: c_int,
    greatest: bool,
    contributes: bool,
    comm: MPI_Comm,
) {
    let len = length(name, n);
    let size = if matches!(code, INT | FLOAT) { 4 } else { 8 };
    if len < size {
        fail(name, &format!("{len} bytes; expected {size} or more, for a number"));
    }
    let mut mine = Said { value: [0; 8], contributes: contributes.into() };
    let mut ranks = 0;
    // SAFETY: the caller's promise; places of our own.
    unsafe {
        core::ptr::copy_nonoverlapping(x.cast::<u8>(), mine.value.as_mut_ptr(), size);
        done(name, (mpi().MPI_Comm_size)(comm, &mut ranks));
        let mut all = vec![mine; ranks as usize];
        let bytes = size_of::<Said>() as c_int;
        let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
        done(name, (mpi().MPI_Allgather)(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm));
        let mut best: Option<usize> = None;
        for (rank, said) in all.iter().enumerate().filter(|(_, said)| said.contributes != 0) {
            if best.is_none_or(|best| better(said, &all[best], code, greatest)) {
                best = Some(rank);
            }
        }
        if let Some(best) = best {
            done(name, (mpi().MPI_Bcast)(x, n, MPI_BYTE, best as c_int, comm));
        }
    }
}

pub unsafe fn select_scope(
    name: Name,
    scope: c_int,
    x: *mut c_void,
    n: c_int,
    op: *const c_char,
    kind: c_int,
    contributes: c_int,
) {
    let s = state(name);
    datatype(name, kind);
    // SAFETY: the program's promises.
    let greatest = match unsafe { reduction(name, op) } {
        Reduction::Min => false,
        Reduction::Max => true,
        _ => fail(name, "the operation chooses no process; expected min or max"),
    };
    in_scope(s, name, scope, &s.default_group(name), |comm| {
        // SAFETY: the program's promises.
        unsafe { choose(name, (x, n), kind, greatest, contributes != 0, comm) }
    });
}

pub unsafe fn select(
    name: Name,
    x: *mut c_void,
    n: c_int,
    op: *const c_char,
    kind: c_int,
    contributes: c_int,
) {
    // SAFETY: the program's promises.
    unsafe { select_scope(name, SCOPE_ALL, x, n, op, kind, contributes) }
}

/// Each process has one address in the array, the others are null; then all have all.
pub unsafe fn exchange(name: Name, pointers: *mut *mut c_void, n: c_int) {
    let op = c"+".as_ptr();
    // SAFETY: the program's array of as many addresses, which are of 8 bytes.
    unsafe {
        reduce(name, SCOPE_ALL, (pointers.cast(), n), op, LONG, &state(name).default_group(name))
    }
}

pub unsafe fn group_exchange(name: Name, pointers: *mut *mut c_void, n: c_int, of: *mut c_void) {
    let op = c"+".as_ptr();
    // SAFETY: as above.
    unsafe { group_scope(name, SCOPE_ALL, pointers.cast(), n, op, LONG, of) }
}
