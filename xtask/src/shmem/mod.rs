//! The C interface of OpenSHMEM as data (spec/shmem), and what is generated from it.

mod entry;
mod generic;
mod header;
mod prototype;
mod reference;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use prototype::Prototype;
use reference::Reference;

/// Everything in spec/shmem.
pub struct Spec {
    pub types: Vec<Type>,
    pub families: Vec<Family>,
    pub functions: Vec<Function>,
    pub reference: Reference,
}

/// A type of the standard.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Type {
    /// In names of functions.
    pub name: String,
    pub c: String,
    pub rust: String,
    /// The datatype of reductions.
    pub mpi: String,
    /// It differs from all other basic types of C.
    #[serde(default)]
    pub basic: bool,
    /// Sets of which no basic type is the same.
    #[serde(default)]
    pub basic_for: Vec<String>,
    pub sets: Vec<String>,
}

/// Functions that exist once for each type of a set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    pub section: String,
    pub c: String,
    pub types: String,
    #[serde(default)]
    pub sized: Vec<u32>,
    pub sized_c: Option<String>,
    pub mem_c: Option<String>,
    #[serde(default)]
    pub context: bool,
    /// The body takes a context, which these functions have not.
    #[serde(default)]
    pub without: bool,
    pub generic: Option<String>,
    pub call: String,
    pub with: Option<String>,
    pub deprecated: Option<String>,
}

/// A function that exists once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    pub section: String,
    pub c: String,
    #[serde(default)]
    pub context: bool,
    #[serde(default)]
    pub generic_context: bool,
    #[serde(default)]
    pub generic_only: bool,
    #[serde(default)]
    pub noreturn: bool,
    #[serde(default)]
    pub variadic: bool,
    pub team_form: Option<String>,
    pub call: String,
    pub with: Option<String>,
    pub deprecated: Option<String>,
}

/// One C function.
pub struct Instance<'a> {
    pub prototype: Prototype,
    pub section: &'a str,
    /// The type of a family's member; `None` for functions that exist once and for sized forms.
    pub ty: Option<&'a Type>,
    /// In Rust, what `void` stands for in a sized form.
    pub element: Option<&'static str>,
    pub context: Context,
    pub call: &'a str,
    pub with: Option<&'a str>,
    pub generic_only: bool,
    pub noreturn: bool,
    pub variadic: bool,
}

/// What a function has to do with contexts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Context {
    None,
    /// Its body takes one, and gets the default.
    Default,
    /// Its first parameter is one.
    First,
}

#[derive(Deserialize)]
struct TypeFile {
    #[serde(rename = "type")]
    types: Vec<Type>,
}

#[derive(Deserialize)]
struct FamilyFile {
    family: Vec<Family>,
}

#[derive(Deserialize)]
struct FunctionFile {
    function: Vec<Function>,
}

impl Spec {
    pub fn load(folder: &Path) -> Result<Spec, String> {
        fn read<T: for<'a> Deserialize<'a>>(path: PathBuf) -> Result<T, String> {
            let text = std::fs::read_to_string(&path)
                .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
        }
        let types: TypeFile = read(folder.join("types.toml"))?;
        let families: FamilyFile = read(folder.join("families.toml"))?;
        let functions: FunctionFile = read(folder.join("functions.toml"))?;
        let spec = Spec {
            types: types.types,
            families: families.family,
            functions: functions.function,
            reference: read(folder.join("reference.toml"))?,
        };
        for family in &spec.families {
            if spec.of_set(&family.types).next().is_none() {
                return Err(format!("spec/shmem: no type is in the set `{}`", family.types));
            }
        }
        Ok(spec)
    }

    /// The types of a set.
    pub fn of_set<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Type> {
        self.types.iter().filter(move |t| t.sets.iter().any(|s| s == set))
    }

    /// All C functions of a family, without contexts first.
    fn members<'a>(&'a self, family: &'a Family) -> Result<Vec<Instance<'a>>, String> {
        let pattern = Prototype::parse(&family.c)?;
        let mut all = Vec::new();
        let typed = self.of_set(&family.types).map(|ty| {
            (pattern.of_type(&ty.c, &pattern.name.replace("NAME", &ty.name)), Some(ty), None)
        });
        let sized = family.sized.iter().filter_map(|bits| {
            let name = family.sized_c.as_ref()?.replace("SIZE", &bits.to_string());
            Some((pattern.of_type("void", &name), None, Some(element(*bits))))
        });
        let mem = family.mem_c.iter().map(|name| {
            let prototype = pattern.of_type("void", name);
            (prototype, None, Some("u8"))
        });
        for (prototype, ty, element) in typed.chain(sized).chain(mem) {
            let plain = match family.context || family.without {
                true => Context::Default,
                false => Context::None,
            };
            let with_context = family.context.then(|| (prototype.with_context(), Context::First));
            for (prototype, context) in [(prototype, plain)].into_iter().chain(with_context) {
                all.push(Instance {
                    prototype,
                    section: &family.section,
                    ty,
                    element,
                    context,
                    call: &family.call,
                    with: family.with.as_deref(),
                    generic_only: false,
                    noreturn: false,
                    variadic: false,
                });
            }
        }
        Ok(all)
    }

    /// The C functions of an entry of functions.toml.
    fn forms<'a>(&'a self, function: &'a Function) -> Result<Vec<Instance<'a>>, String> {
        let prototype = Prototype::parse(&function.c)?;
        let with_context = function.context.then(|| (prototype.with_context(), Context::First));
        let plain = if function.context { Context::Default } else { Context::None };
        let forms = [(prototype, plain)].into_iter().chain(with_context);
        let made = forms.map(|(prototype, context)| Instance {
            prototype,
            section: &function.section,
            ty: None,
            element: None,
            context,
            call: &function.call,
            with: function.with.as_deref(),
            generic_only: function.generic_only,
            noreturn: function.noreturn,
            variadic: function.variadic,
        });
        Ok(made.collect())
    }

    /// All C functions.
    pub fn instances(&self) -> Result<Vec<Instance<'_>>, String> {
        let mut all = Vec::new();
        for function in &self.functions {
            all.extend(self.forms(function)?);
        }
        for family in &self.families {
            all.extend(self.members(family)?);
        }
        Ok(all)
    }
}

/// The Rust type of as many bits.
fn element(bits: u32) -> &'static str {
    match bits {
        8 => "u8",
        16 => "u16",
        32 => "u32",
        64 => "u64",
        _ => "u128",
    }
}

/// Paths (from the root) and texts of the generated headers.
pub fn headers(spec: &Spec) -> Result<Vec<(PathBuf, String)>, String> {
    Ok(vec![
        (PathBuf::from("include/shmem.h"), header::header(spec)?),
        (PathBuf::from("include/pshmem.h"), header::profiling(spec)?),
    ])
}

/// The pages of the reference.
pub fn reference(spec: &Spec) -> Result<crate::reference::Reference<'_>, String> {
    let Reference { model, sections, .. } = &spec.reference;
    Ok(crate::reference::Reference { model, sections, pages: reference::all(spec)? })
}

/// The generated modules of the library.
pub fn modules(spec: &Spec) -> Result<Vec<(String, String)>, String> {
    entry::modules(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn spec() -> Spec {
        Spec::load(&crate::root().join("spec/shmem")).expect("spec/shmem")
    }

    #[test]
    fn each_function_exists_once() {
        let spec = spec();
        let all = spec.instances().expect("prototypes");
        let names: BTreeSet<&str> = all.iter().map(|i| i.prototype.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        // As many as the standard's tables multiply to; who changes the data changes the number knowingly.
        for name in [
            "shmem_ctx_longdouble_ibget",
            "shmem_put128_signal_nbi",
            "shmem_ptrdiff_sum_exscan",
            "shmem_complexf_prod_to_all",
            "shmem_ushort_wait_until_some_vector",
            "shmem_int64_atomic_fetch_xor_nbi",
            "shmem_float_atomic_swap",
        ] {
            assert!(names.contains(name), "{name}");
        }
        for name in ["shmem_float_atomic_add", "shmem_char_wait_until", "shmem_double_and_reduce"] {
            assert!(!names.contains(name), "{name}");
        }
    }

    #[test]
    fn basic_types_of_a_set_differ() {
        let spec = spec();
        for family in spec.families.iter().filter(|f| f.generic.is_some()) {
            let chosen: Vec<&str> =
                generic::choices(&spec, family).map(|ty| ty.c.as_str()).collect();
            let different: BTreeSet<&str> = chosen.iter().copied().collect();
            assert_eq!(different.len(), chosen.len(), "{}", family.c);
        }
    }
}
