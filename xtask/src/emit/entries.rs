//! The table of all functions: its type in crates/abi, the table itself in crates/mpi-abi.

use crate::cdecl::{Form, rust_base};
use crate::emit::{NOTICE, wrap};
use crate::spec::{Function, Spec};

/// crates/abi/src/generated/entries.rs: a structure with a field for each C symbol.
pub fn structure(spec: &Spec) -> String {
    let mut text = format!(
        "//! The functions of the standard ABI as a structure.\n//!\n//! {NOTICE}\n\
         #![allow(non_snake_case)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\nuse super::constants::*;\n\n\
         /// Every function under its C name. `MPI_Pcontrol` is without its further arguments.\n\
         #[repr(C)]\npub struct Standard {{\n"
    );
    for function in spec.functions() {
        for (symbol, form) in function.symbols() {
            text.push_str(&format!("    pub {symbol}: {},\n", pointer(function, form)));
        }
    }
    text.push_str("}\n");
    text
}

fn pointer(function: &Function, form: Form) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|p| format!("{}: {}", p.decl.rust_name(), p.decl.rust_type(form)))
        .collect();
    let tail = format!(") -> {}", rust_base(&function.returns));
    wrap("unsafe extern \"C\" fn(", &params, &tail, "        ")
}

/// crates/mpi-abi/src/generated/entries.rs: the table that `libmpi_abi.so.1` exports.
pub fn table(spec: &Spec) -> String {
    let mut text = format!(
        "//! The table of functions that libraries for other ABIs call.\n//!\n//! {NOTICE}\n\n\
         use hpvm_abi::{{Entries, Standard}};\n\n\
         /// See the crate hpvm-abi.\n#[unsafe(no_mangle)]\n#[allow(non_upper_case_globals)]\n\
         pub static hpvm_entries_1: Entries = Entries {{\n    size: size_of::<Entries>(),\n    \
         extra: crate::extra::EXTRA,\n    standard: Standard {{\n"
    );
    for chapter in &spec.chapters {
        for (symbol, _) in chapter.functions.iter().flat_map(Function::symbols) {
            let module = format!("super::entry_{}", chapter.name);
            text.push_str(&format!("        {symbol}: {module}::P{symbol},\n"));
        }
    }
    text.push_str("    },\n};\n");
    text
}
