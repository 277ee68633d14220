//! `shmem.h` and `pshmem.h`.

use super::{Instance, Spec, generic};
use crate::emit::{NOTICE, wrap};

/// What is not functions: handles, constants, types.
const HEAD: &str = include_str!("head.h");

/// A type as the header writes it: in C++ complex types need a word before.
fn shown(text: &str) -> String {
    text.replace("double _Complex", "shmem_complexd_t")
        .replace("float _Complex", "shmem_complexf_t")
}

fn declare(instance: &Instance<'_>, name: &str) -> String {
    let prototype = &instance.prototype;
    let mut parameters: Vec<String> = prototype.parameters.iter().map(|p| shown(&p.c())).collect();
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    if instance.variadic {
        parameters.push("...".into());
    }
    let noreturn = if instance.noreturn { "SHMEM_NORETURN " } else { "" };
    let head = format!("{noreturn}{}(", shown(&prototype.head(name)));
    wrap(&head, &parameters, ");", "    ") + "\n"
}

/// All functions by section, with what `name` makes of their names.
fn functions(spec: &Spec, name: impl Fn(&str) -> String) -> Result<String, String> {
    let all = spec.instances()?;
    let mut sections: Vec<&str> = all.iter().map(|i| i.section).collect();
    sections.sort_by_key(|s| s.split('.').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u32>>());
    sections.dedup();
    let mut text = String::new();
    for section in sections {
        text.push_str(&format!("\n/* Section {section} of OpenSHMEM 1.6 */\n"));
        for instance in all.iter().filter(|i| i.section == section) {
            let line = declare(instance, &name(&instance.prototype.name));
            match instance.generic_only {
                true => text.push_str(&format!("#ifndef SHMEM_HAS_GENERIC\n{line}#endif\n")),
                false => text.push_str(&line),
            }
        }
    }
    Ok(text)
}

pub fn header(spec: &Spec) -> Result<String, String> {
    let mut text = HEAD.replace("NOTICE", NOTICE);
    text.push_str(&functions(spec, str::to_owned)?);
    text.push_str("\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n");
    text.push_str(&generic::cxx(spec)?);
    text.push_str(&generic::c11(spec)?);
    text.push_str("\n#endif /* SHMEM_H */\n");
    Ok(text)
}

pub fn profiling(spec: &Spec) -> Result<String, String> {
    let text = functions(spec, |name| format!("p{name}"))?;
    Ok(format!(
        "/* pshmem.h: the names of OpenSHMEM under which a profiling library calls what it stands for.\n * \
         {NOTICE} */\n#ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n\n#ifdef __cplusplus\n\
         extern \"C\" {{\n#endif\n{text}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* PSHMEM_H */\n"
    ))
}
