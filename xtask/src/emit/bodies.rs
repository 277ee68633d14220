//! Skeletons of bodies, for the engineer who begins a chapter.

use crate::cdecl::{Form, rust_base};
use crate::emit::entry::argument;
use crate::emit::wrap;
use crate::spec::{Chapter, Function};

/// The signature of every body of a chapter, each reporting that it is missing.
pub fn bodies(chapter: &Chapter, only_missing: bool) -> String {
    let own = chapter.functions.iter().filter(|function| function.same_as.is_none());
    let wanted = own.filter(|function| !(only_missing && function.done));
    wanted.map(body).collect()
}

fn body(function: &Function) -> String {
    let params: Vec<String> = function
        .params
        .iter()
        .map(|p| {
            let rust_type = argument(function, &p.decl, Form::Narrow).rust_type;
            format!("{}: {rust_type}", p.decl.rust_name())
        })
        .collect();
    let returns = rust_base(&function.returns);
    let head = format!("pub unsafe fn {}(", function.body_name());
    let signature = wrap(&head, &params, &format!(") -> {returns} {{"), "    ");
    let also = if function.large { format!(", `{}_c`", function.name) } else { String::new() };
    let name = &function.name;
    let docs = function.params.iter().map(|p| {
        format!("/// - `{}`: {}, {}\n", p.decl.name, p.direction, p.kind.replace('_', " "))
    });
    let docs: String = docs.collect();
    format!(
        "/// `{name}`{also}, MPI 5.0 section {}.\n///\n{docs}{signature}\n    \
         crate::unsupported(\"{name}\")\n}}\n\n",
        function.section
    )
}
