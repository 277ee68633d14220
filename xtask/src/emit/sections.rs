//! crates/fortran/src/generated/CHAPTER_ts.rs: for each procedure of `mpi_f08` with choice buffers one
//! generic function that takes descriptors, and crates/fortran/src/entry_ts.rs: the macro that defines
//! their symbols.

use crate::cdecl::Form;
use crate::emit::fortran::{
    Procedure, all_procedures, f08_names, in_macro, procedure, short_types, signature, spell,
};
use crate::emit::{NOTICE, wrap};
use crate::spec::{Chapter, Function, Param, Spec};

/// What becomes of a buffer that is an array section.
enum Role {
    /// A datatype describes it: names of count and datatype.
    Typed(String, String),
    /// It is copied.
    Copied,
    /// Its datatype is stretched, or it is copied: name of the datatype.
    Parts(String),
    /// Its datatype is stretched, or the request is told of another that describes all of it.
    Divided,
    /// It must be contiguous.
    Whole,
    /// Only its address counts.
    Address,
}

/// Whether a parameter is a choice buffer.
pub fn is_buffer(param: &Param) -> bool {
    param.kind == "buffer"
}

/// The procedures of a chapter that have choice buffers.
pub fn with_buffers(chapter: &Chapter) -> impl Iterator<Item = Procedure<'_>> {
    all_procedures(chapter).filter(|(function, ..)| function.params.iter().any(is_buffer))
}

/// Chapters with such procedures.
pub fn chapters(spec: &Spec) -> impl Iterator<Item = &Chapter> {
    spec.chapters.iter().filter(|chapter| with_buffers(chapter).next().is_some())
}

/// Whether an operation with buffers goes on after the call that starts it.
pub fn is_lasting(name: &str) -> bool {
    let short = name.trim_start_matches("MPI_").trim_start_matches("File_");
    let nonblocking = ["I", "iread", "iwrite"].iter().any(|start| short.starts_with(start));
    nonblocking || name.ends_with("_init") || name.ends_with("_begin")
}

fn role(chapter: &Chapter, function: &Function, at: usize) -> Role {
    let name = function.name.as_str();
    let params = &function.params;
    let buffer = params[at].decl.name.as_str();
    let after = |kind: fn(&Param) -> bool| params[at..].iter().find(|p| kind(p));
    let count = after(|p| p.decl.name.ends_with("count") && !p.decl.is_pointer());
    let datatype = after(|p| p.decl.base(Form::Narrow) == "MPI_Datatype" && !p.decl.is_pointer());
    let typed = || match (count, datatype) {
        (Some(count), Some(datatype)) => {
            Role::Typed(count.decl.name.clone(), datatype.decl.name.clone())
        }
        _ => Role::Address,
    };
    let reduces = params.iter().any(|p| p.decl.base(Form::Narrow) == "MPI_Op");
    match (chapter.name.as_str(), name) {
        ("pt2pt", _) if name.contains("ttach") => Role::Whole,
        ("pt2pt", "MPI_Psend_init" | "MPI_Precv_init") => Role::Divided,
        ("datatype", "MPI_Get_address") | (_, "MPI_Free_mem") => Role::Address,
        ("datatype", _) if buffer == "outbuf" && name.starts_with("MPI_Pack") => Role::Copied,
        ("datatype", _) if buffer == "inbuf" && name.starts_with("MPI_Unpack") => Role::Copied,
        ("rma", "MPI_Win_create" | "MPI_Win_attach") => Role::Whole,
        ("io", _) if name.ends_with("_end") => Role::Address,
        ("coll", _) | ("op", _) if reduces => Role::Copied,
        ("coll", _) if name.contains("lltoallw") => Role::Copied,
        ("coll", _) if in_parts(name, buffer) => match datatype {
            Some(datatype) => Role::Parts(datatype.decl.name.clone()),
            None => Role::Copied,
        },
        _ => typed(),
    }
}

/// Whether a collective operation finds a part for each rank in a buffer.
fn in_parts(name: &str, buffer: &str) -> bool {
    let name = name.to_lowercase();
    match buffer {
        "sendbuf" => name.contains("alltoall") || name.contains("scatter"),
        "recvbuf" => !name.contains("scatter"),
        _ => false,
    }
}

/// The module of a chapter.
pub fn chapter(chapter: &Chapter) -> Result<String, String> {
    let mut text = format!(
        "//! {}: Fortran, buffers by descriptors.\n//!\n//! {NOTICE}\n#![allow(unused_imports)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\n\
         use hpvm_abi::constants::{{MPI_Aint, MPI_Count, MPI_Offset}};\n\n\
         use super::{} as plain;\nuse crate::Fortran;\n\
         use crate::section::{{Copied, Descriptor, Divided, Parts, Typed, first, whole}};\n\
         use crate::text::external_length;\n",
        chapter.title, chapter.name
    );
    for this in with_buffers(chapter) {
        text.push_str(&generic(chapter, &this)?);
    }
    Ok(text)
}

/// The parameters: descriptors in place of buffers.
fn parameters(this: &Procedure<'_>) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut all, lengths) = signature(this)?;
    for (param, text) in this.0.params.iter().zip(all.iter_mut()) {
        if is_buffer(param) {
            *text = format!("{}: *const D", param.decl.rust_name());
        }
    }
    Ok((all, lengths))
}

/// What becomes of a copy when the call returns.
fn end_of_copy(function: &Function, own: &str, written: bool) -> String {
    match (is_lasting(&function.name), written) {
        (true, _) => format!("        {own}.keep::<F>({written}, request, ierror);\n"),
        (false, true) => format!("        {own}.give();\n"),
        (false, false) => String::new(),
    }
}

fn generic(chapter: &Chapter, this: &Procedure<'_>) -> Result<String, String> {
    let (function, symbol, _) = this;
    let (own, lengths) = parameters(this)?;
    let all = [own, lengths].concat();
    let mut arguments: Vec<String> =
        all.iter().filter_map(|text| Some(text.split_once(": ")?.0.to_owned())).collect();
    let (mut before, mut after) = (String::new(), String::new());
    for (at, param) in function.params.iter().enumerate().filter(|(_, p)| is_buffer(p)) {
        let name = param.decl.rust_name();
        let own = format!("own_{}", param.decl.name);
        let place = |wanted: &str| function.params.iter().position(|p| p.decl.name == wanted);
        let mut set = |wanted: &str, text: String| {
            if let Some(at) = place(wanted) {
                arguments[at] = text;
            }
        };
        let mut address = format!("{own}.address()");
        let written = !param.decl.constant;
        let made = match role(chapter, function, at) {
            Role::Typed(count, datatype) => {
                set(&count, format!("{own}.count()"));
                set(&datatype, format!("{own}.datatype()"));
                Err(format!("Typed::new::<F, D>({name}, *{count}, *{datatype})"))
            }
            Role::Parts(datatype) => {
                set(&datatype, format!("{own}.datatype()"));
                after.push_str(&end_of_copy(function, &own, written));
                Ok(format!("Parts::new::<F, D>({name}, *{datatype})"))
            }
            Role::Divided => {
                set("datatype", format!("{own}.datatype()"));
                after.push_str(&format!("        {own}.lay_out::<F>(request, ierror);\n"));
                Err(format!("Divided::new::<F, D>({name}, *partitions, *count, *datatype)"))
            }
            Role::Copied => {
                after.push_str(&end_of_copy(function, &own, written));
                Ok(format!("Copied::new({name})"))
            }
            Role::Whole => {
                address = own.clone();
                Err(format!("whole::<F, D>({name})"))
            }
            Role::Address => {
                address = own.clone();
                Ok(format!("first({name})"))
            }
        };
        arguments[at] = address;
        before.push_str(&match made {
            Ok(made) => format!("        let {own} = {made};\n"),
            Err(made) => format!(
                "        let {own} = match {made} {{\n            Ok(own) => own,\n            \
                 Err(code) => return *ierror = code,\n        }};\n"
            ),
        });
    }
    let name = procedure(symbol);
    let signature =
        wrap(&format!("pub unsafe fn {name}<F: Fortran, D: Descriptor>("), &all, ") {", "    ");
    let call = wrap(&format!("        plain::{name}::<F>("), &arguments, ");", "            ");
    let text = format!(
        "\n/// `{}`.\n{signature}\n    // SAFETY: the program's promises; what is ours lives through \
         the call.\n    unsafe {{\n{before}{call}\n{after}    }}\n}}\n",
        symbol.to_uppercase()
    );
    Ok(text + &without_length(this)?)
}

/// The form for procedures with `bind(C)`, to which a text comes without its length.
fn without_length(this: &Procedure<'_>) -> Result<String, String> {
    let (own, lengths) = parameters(this)?;
    if lengths.is_empty() {
        return Ok(String::new());
    }
    let name = procedure(&this.1);
    let named = own.iter().filter_map(|text| Some(text.split_once(": ")?.0.to_owned()));
    let mut arguments: Vec<String> = named.collect();
    let texts = lengths.iter().filter_map(|text| text.strip_suffix("_len: usize"));
    arguments.extend(texts.map(|text| format!("external_length({text})")));
    let signature = wrap(
        &format!("pub unsafe fn {name}_bare<F: Fortran, D: Descriptor>("),
        &own,
        ") {",
        "    ",
    );
    let call = wrap(&format!("    unsafe {{ {name}::<F, D>("), &arguments, ") }", "        ");
    Ok(format!(
        "\n/// `{}`, whose text has no length.\n{signature}\n    // SAFETY: the program's promises.\n\
         {call}\n}}\n",
        this.1.to_uppercase()
    ))
}

/// The macros that define the symbols for one ABI: with gfortran's descriptors under the names of section
/// 19.1.5, and with those of the standard.
pub fn entry(spec: &Spec) -> Result<String, String> {
    let gfortran = macro_of(
        spec,
        "descriptor_entry_points",
        "arrays by gfortran's descriptors",
        "Gfortran",
        |symbol| f08_names(symbol, "f08ts"),
    )?;
    let standard =
        macro_of(spec, "cdesc_entry_points", "arrays by `CFI_cdesc_t`", "Standard", |symbol| {
            let lower = symbol.to_lowercase();
            vec![format!("{lower}_cdesc"), format!("p{lower}_cdesc")]
        })?;
    Ok(format!(
        "//! The symbols of procedures of `mpi_f08` whose buffers are descriptors.\n//!\n//! {NOTICE}\n\
         {gfortran}{standard}"
    ))
}

fn macro_of(
    spec: &Spec,
    name: &str,
    what: &str,
    descriptor: &str,
    names: impl Fn(&str) -> Vec<String>,
) -> Result<String, String> {
    let mut text = format!(
        "\n/// Defines entry points of `mpi_f08` of an ABI (a type that implements `Fortran`): {what}.\n\
         #[macro_export]\nmacro_rules! {name} {{\n    ($flavour:ty) => {{\n"
    );
    let path = format!("$crate::section::{descriptor}");
    let sync = f_sync_reg(&path);
    text.push_str(&spell(&names("MPI_F_sync_reg"), "special::f_sync_reg", &sync, ""));
    for chapter in chapters(spec) {
        for this in with_buffers(chapter) {
            let (own, lengths) = parameters(&this)?;
            let bare = descriptor == "Standard" && !lengths.is_empty();
            let lengths = if bare { Vec::new() } else { lengths };
            let tail = if bare { "_bare" } else { "" };
            let all = short_types(&[own, lengths].concat().join(", "));
            let arguments = in_macro(&all).replace("*const D", &format!("*const {path}"));
            let generics = format!(
                "generated::{}_ts::{}{tail}::<$flavour, {path}>",
                chapter.name,
                procedure(&this.1)
            );
            text.push_str(&spell(&names(&this.1), &generics, &arguments, ""));
        }
    }
    Ok(text + "    };\n}\n")
}

fn f_sync_reg(path: &str) -> String {
    format!("buffer: *const {path}")
}
