//! crates/mpi-abi/src/generated/constants.rs: types and constants.

use crate::cdecl::{Decl, Form, is_callback, rust_base};
use crate::emit::NOTICE;
use crate::spec::{Callback, Group, Spec, Value};

/// The module.
pub fn constants(spec: &Spec) -> Result<String, String> {
    let mut text = format!(
        "//! Types and constants of the MPI 5.0 standard ABI.\n//!\n//! {NOTICE}\n\
         #![allow(non_camel_case_types, non_snake_case)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\
         use core::ptr::without_provenance_mut as address;\n"
    );
    types(spec, &mut text);
    for callback in &spec.types.callback {
        text.push_str(&callback_type(callback)?);
    }
    for synonym in &spec.types.synonym {
        text.push_str(&format!(
            "\n/// The same as [`{0}`].\npub type {1} = {0};\n",
            synonym.of, synonym.name
        ));
    }
    let mut last = "";
    for (group, name, value) in spec.constants()? {
        if group.name != last {
            text.push_str(&format!("\n// {}.\n", group.doc));
            last = &group.name;
        }
        text.push_str(&constant(spec, group, name, &value)?);
    }
    text.push_str(VERSIONS);
    Ok(text)
}

const VERSIONS: &str = "\n// Versions.\n\
    pub const MPI_VERSION: c_int = 5;\npub const MPI_SUBVERSION: c_int = 0;\n\
    pub const MPI_ABI_VERSION: c_int = 1;\npub const MPI_ABI_SUBVERSION: c_int = 0;\n";

fn types(spec: &Spec, text: &mut String) {
    for integer in &spec.types.integer {
        text.push_str(&format!("\npub type {} = {};\n", integer.name, integer.rust));
    }
    for enumeration in &spec.types.enumeration {
        text.push_str(&format!("\npub type {} = c_int;\n", enumeration.name));
    }
    for handle in &spec.types.handle {
        text.push_str(&format!(
            "\n/// A handle: passed like C's pointer, but never dereferenced as one.\n\
             #[repr(transparent)]\n#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]\n\
             pub struct {}(pub usize);\n",
            handle.name
        ));
    }
    text.push_str(
        "\n/// What a receive, probe or wait tells (MPI 5.0, section 3.2.5).\n#[repr(C)]\n\
         #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]\npub struct MPI_Status {\n    \
         pub MPI_SOURCE: c_int,\n    pub MPI_TAG: c_int,\n    pub MPI_ERROR: c_int,\n    \
         pub MPI_internal: [c_int; 5],\n}\n",
    );
}

fn callback_type(callback: &Callback) -> Result<String, String> {
    let mut params = Vec::new();
    for param in &callback.params {
        params.push(match param.as_str() {
            "..." => "...".to_owned(),
            text => {
                let decl = Decl::parse(text).map_err(|e| format!("{}: {e}", callback.name))?;
                format!("{}: {}", decl.rust_name(), decl.rust_type(Form::Narrow))
            }
        });
    }
    let returns = match callback.returns.as_str() {
        "void" => String::new(),
        other => format!(" -> {}", rust_base(other)),
    };
    Ok(format!(
        "\npub type {} = Option<\n    unsafe extern \"C\" fn(\n        {},\n    ){returns},\n>;\n",
        callback.name,
        params.join(",\n        ")
    ))
}

fn constant(spec: &Spec, group: &Group, name: &str, value: &Value) -> Result<String, String> {
    let c_type = group.c_type.as_str();
    let stars = c_type.chars().filter(|&c| c == '*').count();
    let base = c_type.trim_end_matches('*');
    let rust_type = match stars {
        _ if is_callback(base) => "usize".to_owned(),
        0 => rust_base(base).to_owned(),
        _ => format!("{}{}", "*mut ".repeat(stars), rust_base(base)),
    };
    let number = match value {
        Value::SameAs(other) => return Ok(format!("pub const {name}: {rust_type} = {other};\n")),
        Value::Number(number) => *number,
    };
    let is_handle = spec.types.handle.iter().any(|handle| handle.name == base);
    let value = match stars {
        _ if is_callback(base) => format!("{number}"),
        0 if is_handle => format!("{base}({number:#x})"),
        0 => format!("{number}"),
        _ => format!("address({number})"),
    };
    Ok(format!("pub const {name}: {rust_type} = {value};\n"))
}
