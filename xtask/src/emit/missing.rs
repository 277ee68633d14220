//! cli/src/missing.rs: the functions that are exported without being implemented.

use crate::emit::NOTICE;
use crate::spec::Spec;

/// The module, for `hpvm info PROGRAM`.
pub fn missing(spec: &Spec) -> String {
    let functions = spec.functions().filter(|function| !spec.is_done(function));
    let mut names: Vec<String> =
        functions.flat_map(|f| f.symbols().into_iter().map(|(name, _)| name)).collect();
    names.sort();
    let mut text = format!(
        "//! Functions that are exported but not implemented: calling them is an error.\n//!\n\
         //! {NOTICE}\n\n/// Sorted.\npub const MISSING: &[&str] = &[\n"
    );
    names.iter().for_each(|name| text.push_str(&format!("    \"{name}\",\n")));
    text + "];\n"
}
