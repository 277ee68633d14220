//! crates/mpi-abi/src/generated/predefined.rs: tables of what MPI predefines.

use crate::emit::NOTICE;
use crate::spec::Spec;

/// The module.
pub fn predefined(spec: &Spec) -> Result<String, String> {
    let mut text = format!(
        "//! Tables of the predefined datatypes, operations and error classes.\n//!\n//! {NOTICE}\n\n\
         use core::ffi::c_int;\n\nuse super::constants::*;\n\n\
         /// A predefined object; `name` is the constant's name and what MPI_Type_get_name returns.\n\
         #[derive(Clone, Copy, Debug)]\npub struct Predefined<H> {{\n    pub name: &'static str,\n    \
         pub handle: H,\n}}\n"
    );
    for (group, table, handle, doc) in [
        ("datatype", "DATATYPES", "MPI_Datatype", "Predefined datatypes by ascending handle"),
        ("op", "OPS", "MPI_Op", "Predefined operations by ascending handle"),
    ] {
        let mut rows: Vec<_> = spec.group(group)?.numbers().collect();
        rows.sort_by_key(|row| row.1);
        let rows: String = rows
            .iter()
            .map(|(name, _)| format!("    Predefined {{ name: \"{name}\", handle: {name} }},\n"))
            .collect();
        text.push_str(&format!(
            "\n/// {doc}; the null handle comes first.\npub const {table}: &[Predefined<{handle}>] = &[\n\
             {rows}];\n"
        ));
    }
    let classes = spec.group("error_class")?.numbers();
    let rows: String = classes.map(|(name, _)| format!("    (\"{name}\", {name}),\n")).collect();
    text.push_str(&format!(
        "\n/// Error classes, MPI_SUCCESS first and MPI_ERR_LASTCODE last.\n\
         pub const ERROR_CLASSES: &[(&str, c_int)] = &[\n{rows}];\n"
    ));
    Ok(text)
}
