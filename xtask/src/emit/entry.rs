//! crates/mpi-abi/src/generated/entry_CHAPTER.rs: the C symbols of a chapter.

use crate::cdecl::{Decl, Form, rust_base};
use crate::emit::{NOTICE, wrap};
use crate::spec::{Chapter, Function, Spec};

/// The module of one chapter.
pub fn entry(spec: &Spec, chapter: &Chapter) -> Result<String, String> {
    let title = &chapter.title;
    let mut text = format!(
        "//! {title}: C entry points.\n//!\n//! {NOTICE}\n//!\n\
         //! Safety of every function here: the caller keeps the promises of the MPI standard\n\
         //! about its arguments.\n\
         #![allow(non_snake_case, unused_imports, unused_variables)]\n\
         #![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\n\
         use super::constants::*;\n\
         use crate::args::{{CountOut, Counts, Displs}};\n"
    );
    for function in &chapter.functions {
        for (symbol, form) in function.symbols() {
            text.push_str(&symbol_pair(spec, chapter, function, &symbol, form)?);
        }
    }
    Ok(text)
}

/// `PMPI_X` with the call of the body, and `MPI_X`, which calls `PMPI_X`.
fn symbol_pair(
    spec: &Spec,
    chapter: &Chapter,
    function: &Function,
    symbol: &str,
    form: Form,
) -> Result<String, String> {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|p| format!("{}: {}", p.decl.rust_name(), p.decl.rust_type(form)))
        .collect();
    let names: Vec<String> = function.params.iter().map(|p| p.decl.rust_name()).collect();
    let returns = rust_base(&function.returns);
    let signature = |name: &str| {
        let head = format!("pub unsafe extern \"C\" fn {name}(");
        wrap(&head, &params, &format!(") -> {returns} {{"), "    ")
    };
    let section = &function.section;
    let deprecated = match &function.deprecated {
        Some(version) => format!(" Deprecated since MPI {version}."),
        None => String::new(),
    };
    let variadic = if function.variadic {
        "/// C declares it with `...`; the further arguments are ignored, which every C calling\n\
         /// convention in use allows.\n"
    } else {
        ""
    };
    let body = if spec.is_done(function) {
        call(spec, chapter, function, form)?
    } else {
        missing(spec, symbol, &function.returns)?
    };
    let forward = wrap(&format!("    unsafe {{ P{symbol}("), &names, ") }", "        ");
    Ok(format!(
        "\n/// `{symbol}`, MPI 5.0 section {section}.{deprecated}\n{variadic}\
         #[unsafe(no_mangle)]\n{}\n{body}\n}}\n\n\
         /// Calls [`P{symbol}`].\n#[unsafe(no_mangle)]\n{}\n\
         {INDENT}// SAFETY: the caller's promises are handed on unchanged.\n{forward}\n}}\n",
        signature(&format!("P{symbol}")),
        signature(symbol),
    ))
}

const INDENT: &str = "    ";

/// The statement that calls the body.
fn call(spec: &Spec, chapter: &Chapter, function: &Function, form: Form) -> Result<String, String> {
    let (chapter, base, form) = match &function.same_as {
        None => (chapter, function, form),
        Some(target) => spec.find(target).ok_or_else(|| format!("{target} is unknown"))?,
    };
    let arguments: Vec<String> = base
        .params
        .iter()
        .zip(&function.params)
        .map(|(shape, own)| argument(base, &shape.decl, form).pass(&own.decl.rust_name()))
        .collect();
    let head = format!("    unsafe {{ crate::body::{}::{}(", chapter.name, base.body_name());
    let call = wrap(&head, &arguments, ") }", "        ");
    Ok(format!("    // SAFETY: the caller keeps the promises that MPI asks for.\n{call}"))
}

/// The statements of a function without a body: it reports so and returns a harmless value.
fn missing(spec: &Spec, symbol: &str, returns: &str) -> Result<String, String> {
    let report = format!("crate::unsupported(\"{symbol}\")");
    let neutral = match returns {
        "int" if symbol.ends_with("_toint") => "MPI_UNDEFINED".to_owned(),
        "int" => return Ok(format!("    {report}")),
        "double" => "f64::NAN".to_owned(),
        "MPI_Aint" => "0".to_owned(),
        handle => null_handle(spec, handle)?,
    };
    Ok(format!("    {report};\n    {neutral}"))
}

/// The first constant of a handle type, which is its null handle.
fn null_handle(spec: &Spec, handle: &str) -> Result<String, String> {
    let group = spec.groups.iter().find(|group| group.c_type == handle);
    let null = group.and_then(|group| group.numbers().next());
    null.map(|(name, _)| name.to_owned()).ok_or_else(|| format!("{handle} has no null handle"))
}

/// How a parameter reaches the body.
pub struct Argument {
    /// Rust type in the body's signature.
    pub rust_type: String,
    convert: Convert,
}

enum Convert {
    Unchanged,
    /// `TYPE::from(name)`
    From(&'static str),
    /// `name as TYPE`
    As(&'static str),
    /// `TYPE::constructor(name)`
    Make(&'static str),
}

impl Argument {
    fn pass(&self, name: &str) -> String {
        match self.convert {
            Convert::Unchanged => name.to_owned(),
            Convert::From(target) => format!("{target}::from({name})"),
            Convert::As(target) => format!("{name} as {target}"),
            Convert::Make(constructor) => format!("{constructor}({name})"),
        }
    }
}

/// The conversion of one parameter of `function` in one form (see spec/README.md).
pub fn argument(function: &Function, decl: &Decl, form: Form) -> Argument {
    let plain = || Argument { rust_type: decl.rust_type(form), convert: Convert::Unchanged };
    if !function.large {
        return plain();
    }
    let base = decl.base(form);
    let displacements = decl.name.contains("displ");
    let (rust_type, convert) = match (&decl.wide, decl.is_pointer(), decl.constant) {
        (None, true, true) if base == "MPI_Aint" && displacements => ("Displs", displs(base)),
        (None, ..) => return plain(),
        (Some(wide), false, _) => scalar(base, wide),
        (Some(_), true, true) if displacements => ("Displs", displs(base)),
        (Some(_), true, true) => ("Counts", counts(base)),
        (Some(_), true, false) => ("CountOut", count_out(base)),
    };
    Argument { rust_type: rust_type.to_owned(), convert }
}

fn scalar(base: &str, wide: &str) -> (&'static str, Convert) {
    match (base, wide) {
        ("int", "MPI_Aint") => ("MPI_Aint", Convert::As("MPI_Aint")),
        (_, "MPI_Aint") => ("MPI_Aint", Convert::Unchanged),
        ("int", _) => ("MPI_Count", Convert::From("MPI_Count")),
        ("MPI_Aint", _) => ("MPI_Count", Convert::As("MPI_Count")),
        _ => ("MPI_Count", Convert::Unchanged),
    }
}

fn displs(base: &str) -> Convert {
    Convert::Make(match base {
        "int" => "Displs::narrow",
        "MPI_Aint" => "Displs::wide",
        _ => "Displs::counts",
    })
}

fn counts(base: &str) -> Convert {
    Convert::Make(if base == "int" { "Counts::narrow" } else { "Counts::wide" })
}

fn count_out(base: &str) -> Convert {
    Convert::Make(match base {
        "int" => "CountOut::narrow",
        "MPI_Aint" => "CountOut::aint",
        _ => "CountOut::wide",
    })
}
