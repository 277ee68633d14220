//! The functions that pass a `long double` by value, a type that Rust does not have: on x86-64 it lies on the stack and
//! is returned on the stack of the floating-point unit, on arm64 it is in a vector register. A few instructions
//! turn it into a pointer.

use crate::body::rma;
use crate::types::{Ctx, DEFAULT, LongDouble};
use core::arch::naked_asm;
use core::ffi::c_int;

unsafe extern "C" fn put(dest: *mut LongDouble, pe: c_int, value: *const LongDouble) {
    // SAFETY: the program's promises; the value lies in our caller's frame.
    unsafe { rma::p(c"shmem_longdouble_p".as_ptr(), DEFAULT, dest, *value, pe) }
}

unsafe extern "C" fn put_ctx(ctx: Ctx, dest: *mut LongDouble, pe: c_int, value: *const LongDouble) {
    // SAFETY: as in `put`.
    unsafe { rma::p(c"shmem_ctx_longdouble_p".as_ptr(), ctx, dest, *value, pe) }
}

unsafe extern "C" fn get(source: *const LongDouble, pe: c_int, value: *mut LongDouble) {
    // SAFETY: as in `put`.
    unsafe { *value = rma::g(c"shmem_longdouble_g".as_ptr(), DEFAULT, source, pe) }
}

unsafe extern "C" fn get_ctx(
    ctx: Ctx,
    source: *const LongDouble,
    pe: c_int,
    value: *mut LongDouble,
) {
    // SAFETY: as in `put`.
    unsafe { *value = rma::g(c"shmem_ctx_longdouble_g".as_ptr(), ctx, source, pe) }
}

/// `$pointer` is the register that the last parameter of `$call` comes in.
macro_rules! passes {
    ($name:ident $profiling:ident $x86:literal $arm:literal $call:ident) => {
        passes!($name $x86 $arm $call);
        passes!($profiling $x86 $arm $call);
    };
    ($name:ident $x86:literal $arm:literal $call:ident) => {
        /// # Safety
        /// As the standard says of the function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(concat!("lea ", $x86, ", [rsp + 8]"), "jmp {}", sym $call);
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                "stp x29, x30, [sp, #-32]!", "str q0, [sp, #16]", concat!("add ", $arm, ", sp, #16"), "bl {}",
                "ldp x29, x30, [sp], #32", "ret", sym $call
            );
        }
    };
}

macro_rules! returns {
    ($name:ident $profiling:ident $x86:literal $arm:literal $call:ident) => {
        returns!($name $x86 $arm $call);
        returns!($profiling $x86 $arm $call);
    };
    ($name:ident $x86:literal $arm:literal $call:ident) => {
        /// # Safety
        /// As the standard says of the function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            naked_asm!(
                "sub rsp, 24", concat!("mov ", $x86, ", rsp"), "call {}", "fld tbyte ptr [rsp]", "add rsp, 24", "ret",
                sym $call
            );
            #[cfg(target_arch = "aarch64")]
            naked_asm!(
                "stp x29, x30, [sp, #-32]!", concat!("add ", $arm, ", sp, #16"), "bl {}", "ldr q0, [sp, #16]",
                "ldp x29, x30, [sp], #32", "ret", sym $call
            );
        }
    };
}

passes!(shmem_longdouble_p pshmem_longdouble_p "rdx" "x2" put);
passes!(shmem_ctx_longdouble_p pshmem_ctx_longdouble_p "rcx" "x3" put_ctx);
returns!(shmem_longdouble_g pshmem_longdouble_g "rdx" "x2" get);
returns!(shmem_ctx_longdouble_g pshmem_ctx_longdouble_g "rcx" "x3" get_ctx);
