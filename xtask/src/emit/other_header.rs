//! A header for tests: the C interface of another ABI as spec/ has it, so that programs can be compiled
//! for that ABI where no such MPI is installed. Handles are numbers or addresses of data symbols.

use crate::abi::Other;
use crate::cdecl::is_callback;
use crate::emit::NOTICE;
use crate::emit::header::{callback_type, prototype_list};
use crate::spec::{Group, Spec, Value};

/// The header.
pub fn header(spec: &Spec, other: &Other) -> Result<String, String> {
    let mut text = format!(
        "/*\n * {}, for tests. Constants that are missing here do not exist there.\n *\n * {NOTICE}\n */\n\
         #ifndef MPI_H_FOREIGN\n#define MPI_H_FOREIGN\n\n#include <stddef.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         #define MPI_VERSION    5\n#define MPI_SUBVERSION 0\n#define {} 1\n\n",
        other.title,
        other.macro_name()
    );
    types(spec, other, &mut text);
    for group in &spec.groups {
        text.push_str(&format!("\n/* {}. */\n\n", group.doc));
        constants(spec, other, group, &mut text)?;
    }
    for symbol in &other.symbols {
        let group = spec.group(&symbol.group)?;
        let size = other.sizes.get(&symbol.group).and_then(|size| size.as_integer()).unwrap_or(1);
        if let Some(name) = &symbol.name {
            text.push_str(&object(name, &symbol.symbol, size, &group.c_type));
        }
    }
    for line in &other.declarations {
        text.push_str(&format!("{line}\n"));
    }
    text.push('\n');
    text.push_str(&prototype_list(spec));
    if !other.sizes.is_empty() {
        conversions(&mut text);
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    Ok(text)
}

/// Types, the status and callbacks.
fn types(spec: &Spec, other: &Other, text: &mut String) {
    for integer in &spec.types.integer {
        text.push_str(&format!("typedef {} {};\n", integer.c, integer.name));
    }
    text.push_str("\ntypedef int MPI_Fint;\ntypedef struct {\n");
    for field in &other.status {
        text.push_str(&format!("    {field};\n"));
    }
    text.push_str("} MPI_Status;\n\n");
    for handle in &spec.types.handle {
        let plain = !other.handle.is_empty() && !handle.name.starts_with("MPI_T_");
        let of = match other.handles.get(&handle.name).and_then(|of| of.as_str()) {
            Some(of) => of.to_owned(),
            None if plain => other.handle.clone(),
            None => format!("struct {} *", handle.tag),
        };
        text.push_str(&format!("typedef {of} {};\n", handle.name));
    }
    for enumeration in &spec.types.enumeration {
        text.push_str(&format!("typedef int {};\n", enumeration.name));
    }
    text.push('\n');
    for callback in &spec.types.callback {
        text.push_str(&callback_type(callback));
    }
    text.push('\n');
    for synonym in &spec.types.synonym {
        text.push_str(&format!("typedef {} {};\n", synonym.of, synonym.name));
    }
}

/// Conversions to and from Fortran, where they are functions.
fn conversions(text: &mut String) {
    for (handle, c) in CONVERTED {
        text.push_str(&format!(
            "MPI_Fint MPI_{handle}_c2f({c} handle);\n{c} MPI_{handle}_f2c(MPI_Fint number);\n"
        ));
    }
    text.push_str(
        "int MPI_Status_c2f(const MPI_Status *status, MPI_Fint *integers);\n\
         int MPI_Status_f2c(const MPI_Fint *integers, MPI_Status *status);\n",
    );
}

/// Handles with functions to and from Fortran's integers.
const CONVERTED: [(&str, &str); 10] = [
    ("Comm", "MPI_Comm"),
    ("Group", "MPI_Group"),
    ("Type", "MPI_Datatype"),
    ("Op", "MPI_Op"),
    ("Request", "MPI_Request"),
    ("Message", "MPI_Message"),
    ("Errhandler", "MPI_Errhandler"),
    ("Info", "MPI_Info"),
    ("Win", "MPI_Win"),
    ("File", "MPI_File"),
];

fn constants(spec: &Spec, other: &Other, group: &Group, text: &mut String) -> Result<(), String> {
    let of_callback = is_callback(group.c_type.trim_end_matches('*'));
    let size = other.sizes.get(&group.name).and_then(|size| size.as_integer());
    for (of, name, value) in spec.constants()? {
        if of.name != group.name {
            continue;
        }
        let c_type = &group.c_type;
        // An alias needs no entry of its own.
        let own = match value {
            Value::SameAs(first) => other.constants.get(first),
            Value::Number(_) => other.constants.get(name),
        };
        let Some(theirs) = own else { continue };
        match (theirs.as_str(), value) {
            (_, Value::SameAs(first)) => text.push_str(&format!("#define {name} {first}\n")),
            (Some(symbol), _) if of_callback => {
                let function = c_type.trim_end_matches('*');
                text.push_str(&format!("extern {function} {symbol};\n#define {name} {symbol}\n"));
            }
            (Some(symbol), _) => text.push_str(&object(name, symbol, size.unwrap_or(1), c_type)),
            (None, _) => {
                let number = other.number(name).ok_or_else(|| format!("{name}: no number"))?;
                let plain = group.form != "cast";
                let value =
                    if plain { format!("({number})") } else { format!("(({c_type}){number})") };
                text.push_str(&format!("#define {name} {value}\n"));
            }
        }
    }
    Ok(())
}

/// A constant that is the address of a data symbol.
fn object(name: &str, symbol: &str, size: i64, c_type: &str) -> String {
    format!("extern char {symbol}[{size}];\n#define {name} (({c_type})(void *){symbol})\n")
}
