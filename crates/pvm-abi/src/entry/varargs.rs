//! `pvm_packf` and `pvm_unpackf`, whose arguments are those of `printf`: exported here, written in C (varargs.c).

use core::arch::naked_asm;

macro_rules! forward {
    ($($name:ident => $in_c:ident;)*) => {
        unsafe extern "C" {
            $(fn $in_c();)*
        }
        $(
            /// All registers and the stack are handed on as they are, because only C knows the arguments.
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                naked_asm!("jmp {}", sym $in_c);
                #[cfg(target_arch = "aarch64")]
                naked_asm!("b {}", sym $in_c);
            }
        )*
    };
}

forward! {
    pvm_packf => hpvm_pvm_packf;
    pvm_unpackf => hpvm_pvm_unpackf;
    pvm_vpackf => hpvm_pvm_vpackf;
    pvm_vunpackf => hpvm_pvm_vunpackf;
}
