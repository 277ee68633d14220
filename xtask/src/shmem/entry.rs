//! The C symbols of `liboshmem.so`, each under its name and its profiling name.

use super::{Context, Instance, Spec};
use crate::emit::NOTICE;

/// One module for each section of the standard.
pub fn modules(spec: &Spec) -> Result<Vec<(String, String)>, String> {
    let all = spec.instances()?;
    let mut sections: Vec<&str> = all.iter().map(|i| i.section).collect();
    sections.sort_unstable();
    sections.dedup();
    let mut modules = Vec::new();
    for section in sections {
        let of_section = all.iter().filter(|i| i.section == section);
        let mut text = format!(
            "//! Functions of section {section} of OpenSHMEM 1.6.\n//!\n//! {NOTICE}\n\n\
             #![allow(clippy::missing_safety_doc, clippy::too_many_arguments, unused_imports)]\n\n\
             use crate::body::*;\nuse crate::mpi;\nuse crate::types::*;\n\
             use core::ffi::{{c_char, c_int, c_long, c_ulong, c_void}};\nuse hpvm_abi::constants::*;\n\n"
        );
        for instance in of_section.filter(|i| !passes_long_double(i)) {
            text.push_str(&entry(instance)?);
        }
        modules.push((format!("section_{}", section.replace('.', "_")), text));
    }
    Ok(modules)
}

/// Rust has no such type: these functions are written by hand.
fn passes_long_double(instance: &Instance<'_>) -> bool {
    let prototype = &instance.prototype;
    let mut types = prototype.parameters.iter().map(|p| &p.ty).chain([&prototype.returns]);
    types.any(|ty| ty == "long double")
}

fn entry(instance: &Instance<'_>) -> Result<String, String> {
    let prototype = &instance.prototype;
    let mut parameters = Vec::new();
    let mut arguments = vec![format!("c\"{}\".as_ptr()", prototype.name)];
    if let Some(with) = instance.with {
        let mpi = instance.ty.map_or("", |ty| ty.mpi.as_str());
        let words = with.split(", ").map(|w| if w == "MPI" { mpi } else { w }.to_owned());
        arguments.extend(words);
    }
    if instance.context == Context::Default {
        arguments.push("DEFAULT".into());
    }
    for parameter in &prototype.parameters {
        let (c, name) = (parameter.ty.as_str(), snake(&parameter.name));
        parameters.push(format!("{name}: {}", rust(instance, c)?));
        let cast = instance.element.filter(|_| c.ends_with("void *"));
        arguments.push(match cast {
            Some(element) => format!("{name}.cast::<{element}>()"),
            None => name,
        });
    }
    let returns = match prototype.returns.as_str() {
        "void" if instance.noreturn => " -> !".to_owned(),
        "void" => String::new(),
        c => format!(" -> {}", rust(instance, c)?),
    };
    let (parameters, arguments) = (parameters.join(", "), arguments.join(", "));
    let call = instance.call;

    let name = &prototype.name;
    Ok(format!("entry!({name} p{name} ({parameters}){returns} = {call}({arguments}));\n"))
}

fn rust(instance: &Instance<'_>, c: &str) -> Result<String, String> {
    if let Some(pointee) = c.strip_suffix('*') {
        let pointee = pointee.trim_end();
        return match pointee.strip_prefix("const ") {
            Some(constant) => Ok(format!("*const {}", value(instance, constant)?)),
            None => Ok(format!("*mut {}", value(instance, pointee)?)),
        };
    }
    Ok(value(instance, c)?.to_owned())
}

fn value<'a>(instance: &Instance<'a>, c: &str) -> Result<&'a str, String> {
    if let Some(ty) = instance.ty.filter(|ty| ty.c == c && c != "int" && c != "size_t") {
        return Ok(&ty.rust);
    }
    Ok(match c {
        "int" => "c_int",
        "long" => "c_long",
        "size_t" => "usize",
        "ptrdiff_t" => "isize",
        "uint64_t" => "u64",
        "void" => "c_void",
        "char" => "c_char",
        "shmem_team_t" => "Team",
        "shmem_ctx_t" => "Ctx",
        "shmem_team_config_t" => "TeamConfig",
        "shmem_ctx_session_config_t" => "SessionConfig",
        _ => {
            return Err(format!(
                "spec/shmem: {} has the unknown type `{c}`",
                instance.prototype.name
            ));
        }
    })
}

/// `logPE_stride` is `log_pe_stride`, `PE_size` is `pe_size`, `pSync` is `p_sync`.
fn snake(name: &str) -> String {
    let name = name.replace("PE", "Pe");
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() && !text.ends_with('_') {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::snake;

    #[test]
    fn names_of_parameters() {
        for (c, rust) in
            [("logPE_stride", "log_pe_stride"), ("PE_size", "pe_size"), ("pSync", "p_sync")]
        {
            assert_eq!(snake(c), rust);
        }
    }
}
