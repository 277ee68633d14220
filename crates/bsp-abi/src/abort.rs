//! `bsp_abort`, whose arguments are those of `printf`: exported here, written in C (abort.c).

use crate::program;
use core::arch::naked_asm;
use core::ffi::{CStr, c_char};

unsafe extern "C" {
    fn hpvm_bsp_abort();
    fn hpvm_bsp_abort_va();
}

/// Ends the program with the text that `format` and what follows make.
///
/// # Safety
/// As `printf`. All registers and the stack are handed on as they are, because only C knows the arguments.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_abort() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("jmp {}", sym hpvm_bsp_abort);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("b {}", sym hpvm_bsp_abort);
}

/// The same with a `va_list`.
///
/// # Safety
/// As `vprintf`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsp_abort_va() {
    #[cfg(target_arch = "x86_64")]
    naked_asm!("jmp {}", sym hpvm_bsp_abort_va);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("b {}", sym hpvm_bsp_abort_va);
}

/// What C has formatted.
///
/// # Safety
/// `text` is a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hpvm_bsp_end_with(text: *const c_char) -> ! {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    program::end_with("bsp_abort", text.trim_end())
}
