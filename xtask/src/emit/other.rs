//! src/generated of a library for another ABI: its numbers, its predefined handles, and its entry
//! points, each of which calls the generic function of the crate hpvm-foreign.

use crate::abi::{Further, Other, Removed};
use crate::cdecl::Form;
use crate::emit::foreign::{SINGLE, foreign_returns, foreign_type, paired, parameters, path};
use crate::emit::{NOTICE, wrap};
use crate::spec::{Chapter, Group, Param, Spec, Value};

/// Names and texts of the modules.
pub fn modules(spec: &Spec, other: &Other) -> Result<Vec<(String, String)>, String> {
    let mut modules = vec![
        ("numbers".to_owned(), numbers(spec, other)?),
        ("entry_further".to_owned(), further(spec, other)?),
    ];
    for chapter in &spec.chapters {
        modules.push((format!("entry_{}", chapter.name), entries(other, chapter)));
    }
    match crate::emit::symbols::symbols(spec, other)? {
        Some(text) => modules.push(("symbols".to_owned(), text)),
        None => modules.push(("handles".to_owned(), handles(spec, other)?)),
    }
    Ok(modules)
}

/// All constants of a group that are numbers in both ABIs: name, theirs, the standard's.
fn pairs<'a>(
    spec: &'a Spec,
    other: &Other,
    group: &Group,
) -> Result<Vec<(&'a str, i64, i64)>, String> {
    let all = spec.constants()?;
    let own = all.iter().filter(|(g, _, _)| g.name == group.name);
    Ok(own
        .filter_map(|(_, name, value)| match value {
            Value::Number(standard) => Some((*name, other.number(name)?, *standard)),
            Value::SameAs(_) => None,
        })
        .collect())
}

fn numbers(spec: &Spec, other: &Other) -> Result<String, String> {
    let mut text = format!(
        "//! The numbers of {}.\n//!\n//! {NOTICE}\n\nuse core::ffi::c_int;\n\
         use hpvm_abi::constants as standard;\nuse hpvm_foreign::Numbers;\n\
         use hpvm_foreign::numbers::Pairs;\n\nimpl Numbers for crate::{} {{\n",
        other.title, other.implementor
    );
    for group in paired(spec) {
        text.push_str(&format!("    const {}: Pairs = &[\n", group.name.to_uppercase()));
        for (name, theirs, _) in pairs(spec, other, group)? {
            text.push_str(&format!("        ({theirs}, standard::{name}),\n"));
        }
        if group.name == "error_class" {
            // Classes that the ABI lacks come last, so that they are only found on the way out.
            let lacks = group.numbers().filter(|(name, _)| other.number(name).is_none());
            for (name, _) in lacks {
                // Before 4.0 the standard had no class for wrong error handlers.
                let errhandler = name == "MPI_ERR_ERRHANDLER";
                let stand_in = if errhandler { "MPI_ERR_ARG" } else { "MPI_ERR_OTHER" };
                let stand_in = other.number(stand_in).unwrap_or_default();
                text.push_str(&format!("        ({stand_in}, standard::{name}),\n"));
            }
        }
        text.push_str("    ];\n");
    }
    let need = |name: &str| {
        other.number(name).ok_or_else(|| format!("spec/abi: {} has no {name}", other.title))
    };
    let darg = need("MPI_DISTRIBUTE_DFLT_DARG")?;
    text.push_str(&format!("    const MPI_DISTRIBUTE_DFLT_DARG: c_int = {darg};\n"));
    for (name, rust_type) in SINGLE {
        for name in spec.group(name)?.values.keys() {
            let value = need(name)?;
            let rust_type = if rust_type == "MPI_Offset" { "i64" } else { rust_type };
            // Addresses below zero are written by their two's complement.
            let value = match rust_type {
                "usize" => format!("{:#x}", value as u64),
                _ => format!("{value}"),
            };
            text.push_str(&format!("    const {name}: {rust_type} = {value};\n"));
        }
    }
    Ok(text + "}\n")
}

/// Tables of predefined handles that are numbers.
fn handles(spec: &Spec, other: &Other) -> Result<String, String> {
    let mut text = format!(
        "//! The predefined handles of {}, beside the standard ones.\n//!\n//! {NOTICE}\n\
         #![allow(dead_code)]\n\nuse hpvm_abi::constants::*;\n",
        other.title
    );
    let is_handle = |group: &&Group| {
        spec.types.handle.iter().any(|h| h.name == group.c_type) && !group.name.starts_with("t_")
    };
    for group in spec.groups.iter().filter(is_handle) {
        let head = format!("pub const {}: &[(i64, {})]", group.name.to_uppercase(), group.c_type);
        text.push_str(&format!("\n/// {}.\n{head} = &[\n", group.doc));
        let own = pairs(spec, other, group)?;
        let own = own.iter().map(|(name, theirs, _)| format!("    ({theirs:#x}, {name}),\n"));
        // Of several rows with the same standard handle the first counts on the way out.
        let further = |preferred: bool| {
            let known = move |f: &&Further| f.preferred == preferred && !f.same_as.is_empty();
            let rows = other.further.iter().filter(|f| f.group == group.name).filter(known);
            rows.map(|f| format!("    ({:#x}, {}), // {}\n", f.value, f.same_as, f.name))
        };
        text.extend(further(true).chain(own).chain(further(false)));
        text.push_str("];\n");
    }
    Ok(text)
}

fn heading(other: &Other, title: &str) -> String {
    format!(
        "//! {title}: C entry points of {}.\n//!\n//! {NOTICE}\n//!\n\
         //! Safety of every function here: the caller keeps the promises of the MPI standard\n\
         //! about its arguments.\n\
         #![allow(non_snake_case, unused_imports)]\n\
         #![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]\n\n\
         use core::ffi::{{c_char, c_int, c_void}};\n\n\
         use crate::{{Comm, Datatype, Errhandler, File, Group, Info, Message, Op, Request, Session}};\n\
         use crate::{{Status, Win, {}}};\nuse hpvm_abi::constants::*;\n",
        other.title, other.implementor
    )
}

fn entries(other: &Other, chapter: &Chapter) -> String {
    let mut text = heading(other, &chapter.title);
    for function in chapter.functions.iter().filter(|f| !other.own.contains(&f.name)) {
        for (symbol, form) in function.symbols() {
            let generic = path(chapter, function, &symbol);
            let params = parameters(function, form, "");
            let names: Vec<String> = function.params.iter().map(|p| p.decl.rust_name()).collect();
            let returns = foreign_returns(&function.returns, "");
            text.push_str(&pair(other, &symbol, &generic, &params, &names, &returns));
        }
    }
    text
}

/// `PMPI_X`, and `MPI_X`, which calls it.
fn pair(
    other: &Other,
    symbol: &str,
    generic: &str,
    params: &[String],
    names: &[String],
    returns: &str,
) -> String {
    let signature = |name: &str| {
        let head = format!("pub unsafe extern \"C\" fn {name}(");
        wrap(&head, params, &format!(") -> {returns} {{"), "    ")
    };
    let implementor = &other.implementor;
    let call =
        wrap(&format!("    unsafe {{ {generic}::<{implementor}>("), names, ") }", "        ");
    let forward = wrap(&format!("    unsafe {{ P{symbol}("), names, ") }", "        ");
    let safety = "    // SAFETY: the caller's promises are handed on unchanged.";
    format!(
        "\n/// `P{symbol}`.\n#[unsafe(no_mangle)]\n{}\n{safety}\n{call}\n}}\n\
         \n/// Calls [`P{symbol}`].\n#[unsafe(no_mangle)]\n{}\n{safety}\n{forward}\n}}\n",
        signature(&format!("P{symbol}")),
        signature(symbol),
    )
}

/// Functions that the standard has removed, and those that only say that they are not available.
fn further(spec: &Spec, other: &Other) -> Result<String, String> {
    let mut text = heading(other, "Functions beyond the standard");
    for (alias, of) in &other.aliases {
        let found = of.as_str().and_then(|name| spec.find(name));
        let (chapter, function, form) = found.ok_or_else(|| format!("{alias}: of what?"))?;
        let generic = path(chapter, function, of.as_str().unwrap_or_default());
        let params = parameters(function, form, "");
        let names: Vec<String> = function.params.iter().map(|p| p.decl.rust_name()).collect();
        let returns = foreign_returns(&function.returns, "");
        text.push_str(&pair(other, alias, &generic, &params, &names, &returns));
    }
    for removed in &other.removed {
        text.push_str(&removed_pair(other, removed).map_err(|e| format!("{}: {e}", removed.name))?);
    }
    for symbol in &other.unavailable {
        text.push_str(&format!(
            "\n/// Not available.\n#[unsafe(no_mangle)]\npub extern \"C\" fn {symbol}() -> c_int {{\n    \
             hpvm_foreign::unavailable::<{}>(c\"{symbol}\")\n}}\n",
            other.implementor
        ));
    }
    Ok(text)
}

fn removed_pair(other: &Other, removed: &Removed) -> Result<String, String> {
    let params: Result<Vec<Param>, String> =
        removed.params.iter().map(|text| Param::parse(text)).collect();
    let params = params?;
    let one = |p: &Param| format!("{}: {}", p.decl.rust_name(), foreign_type(p, Form::Narrow, ""));
    let declared: Vec<String> = params.iter().map(one).collect();
    let names: Vec<String> = params.iter().map(|p| p.decl.rust_name()).collect();
    let short = removed.name.trim_start_matches("MPI_").to_lowercase();
    let generic = format!("hpvm_foreign::removed::{short}");
    Ok(pair(other, &removed.name, &generic, &declared, &names, "c_int"))
}
