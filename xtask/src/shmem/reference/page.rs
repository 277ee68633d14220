//! A page: functions with all that is said about them.

use std::collections::BTreeSet;

use super::super::prototype::Prototype;
use super::super::{Family, Function, Spec};
use super::PageData;
use crate::emit::wrap;
use crate::reference::{Page, joined};

/// An entry of families.toml or functions.toml.
#[derive(Clone, Copy)]
enum Entry<'a> {
    Family(&'a Family),
    Function(&'a Function),
}

impl<'a> Entry<'a> {
    fn prototype(self) -> Result<Prototype, String> {
        match self {
            Entry::Family(family) => Prototype::parse(&family.c),
            Entry::Function(function) => Prototype::parse(&function.c),
        }
    }

    fn section(self) -> &'a str {
        match self {
            Entry::Family(family) => &family.section,
            Entry::Function(function) => &function.section,
        }
    }

    fn deprecated(self) -> Option<&'a str> {
        match self {
            Entry::Family(family) => family.deprecated.as_deref(),
            Entry::Function(function) => function.deprecated.as_deref(),
        }
    }
}

/// All pages by section. Every function is on one of them, and every argument has a meaning.
pub fn all(spec: &Spec) -> Result<Vec<Page<'_>>, String> {
    let families = spec.families.iter().map(Entry::Family);
    let mut left = Vec::new();
    for entry in spec.functions.iter().map(Entry::Function).chain(families) {
        left.push((entry.prototype()?.name, entry));
    }
    let mut pages = Vec::new();
    for data in &spec.reference.page {
        let mut entries = Vec::new();
        for name in &data.of {
            let at = left.iter().position(|(known, _)| known == name);
            let at = at.ok_or_else(|| {
                wrong(data, &format!("names `{name}`, which is no function, or on another page"))
            })?;
            entries.push(left.remove(at).1);
        }
        pages.push(page(spec, data, &entries)?);
    }
    if let Some((name, _)) = left.first() {
        return Err(format!("spec/shmem/reference.toml: no page is of `{name}`"));
    }
    pages.sort_by_key(|page| number(page.section));
    Ok(pages)
}

/// Sections in the order of their numbers.
pub fn number(section: &str) -> Vec<u32> {
    section.split('.').map(|n| n.parse().unwrap_or(0)).collect()
}

fn wrong(data: &PageData, what: &str) -> String {
    format!("spec/shmem/reference.toml: the page {} {what}", data.name)
}

fn page<'a>(spec: &'a Spec, data: &'a PageData, entries: &[Entry<'a>]) -> Result<Page<'a>, String> {
    let reference = &spec.reference;
    let manner = reference.manner.get(&data.manner);
    let manner =
        manner.ok_or_else(|| wrong(data, &format!("has the unknown manner `{}`", data.manner)))?;
    let first = entries.first().ok_or_else(|| wrong(data, "is of no function"))?;
    if entries.iter().any(|entry| entry.section() != first.section()) {
        return Err(wrong(data, "is of functions of several sections"));
    }
    let returns = data.returns.as_deref().or(manner.returns.as_deref());
    let mut gives = false;
    let (mut deprecated, mut names) = (Vec::new(), BTreeSet::new());
    for entry in entries {
        let prototype = entry.prototype()?;
        gives |= prototype.returns != "void";
        if let Some(version) = entry.deprecated() {
            deprecated.push((shown(&prototype.name), version));
        }
        names.extend(names_of(spec, *entry)?);
    }
    let page = Page {
        name: &data.name,
        title: &data.title,
        section: first.section(),
        standard: format!("{}, section {}", reference.model.standard, first.section()),
        does: &data.does,
        signatures: signatures(entries)?,
        placeholders: placeholders(spec, entries)?,
        arguments: arguments(spec, data, entries)?,
        blocks: &manner.blocks,
        reuse: &manner.reuse,
        returns: returns.filter(|_| gives),
        errors: joined(manner.errors.as_deref(), data.errors.as_deref()),
        deprecated,
        names,
    };
    match gives && returns.is_none() {
        true => Err(wrong(data, "does not say what its functions return")),
        false => Ok(page),
    }
}

/// The C names of an entry, those of generic forms included.
fn names_of(spec: &Spec, entry: Entry<'_>) -> Result<Vec<String>, String> {
    let (all, generic) = match entry {
        Entry::Family(family) => (spec.members(family)?, family.generic.clone()),
        Entry::Function(function) => (spec.forms(function)?, None),
    };
    Ok(all.into_iter().map(|instance| instance.prototype.name).chain(generic).collect())
}

/// A name with the placeholder that readers see.
fn shown(name: &str) -> String {
    name.replace("NAME", "TYPENAME")
}

fn line(prototype: &Prototype, variadic: bool) -> String {
    let mut parameters: Vec<String> = prototype.parameters.iter().map(|p| p.c()).collect();
    if variadic {
        parameters.push("...".into());
    }
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    wrap(&format!("{}(", prototype.head(&prototype.name)), &parameters, ");", "    ")
}

fn signatures(entries: &[Entry<'_>]) -> Result<Vec<(&'static str, Vec<String>)>, String> {
    let (mut c, mut generic) = (Vec::new(), Vec::new());
    for entry in entries {
        let mut prototype = entry.prototype()?;
        prototype.name = shown(&prototype.name);
        let with_context = prototype.with_context();
        let named = |prototype: &Prototype, name: &str| Prototype {
            name: name.to_owned(),
            ..prototype.clone()
        };
        match entry {
            Entry::Function(function) => {
                c.push(line(&prototype, function.variadic));
                if function.context {
                    c.push(line(&with_context, function.variadic));
                }
                if function.generic_context {
                    generic.push(line(&named(&with_context, &prototype.name), false));
                }
                if function.team_form.is_some() {
                    generic.push(format!("int {}(shmem_team_t team);", prototype.name));
                }
            }
            Entry::Family(family) => {
                let raw = |name: &String| prototype.of_type("void", name);
                let forms = [Some(prototype.clone())].into_iter().flatten();
                for form in
                    forms.chain(family.sized_c.iter().map(raw)).chain(family.mem_c.iter().map(raw))
                {
                    c.push(line(&form, false));
                    if family.context {
                        c.push(line(&form.with_context(), false));
                    }
                }
                if let Some(name) = &family.generic {
                    generic.push(line(&named(&prototype, name), false));
                    if family.context {
                        generic.push(line(&named(&with_context, name), false));
                    }
                }
            }
        }
    }
    let mut all = vec![("C", c)];
    if !generic.is_empty() {
        all.push(("C11 and C++", generic));
    }
    Ok(all)
}

/// The types of the functions, those of each set once; the sizes; what is counted in bytes.
fn placeholders(spec: &Spec, entries: &[Entry<'_>]) -> Result<Vec<String>, String> {
    let families: Vec<&Family> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Family(family) => Some(*family),
            Entry::Function(_) => None,
        })
        .collect();
    let mut sets: Vec<&str> = Vec::new();
    for family in &families {
        if !sets.contains(&family.types.as_str()) {
            sets.push(&family.types);
        }
    }
    let mut all = Vec::new();
    for set in &sets {
        let types: Vec<String> =
            spec.of_set(set).map(|ty| format!("`{}` (`{}`)", ty.name, ty.c)).collect();
        let mut of = String::new();
        if sets.len() > 1 {
            let mut names = Vec::new();
            for family in families.iter().filter(|family| family.types == *set) {
                names.push(format!("`{}`", shown(&Prototype::parse(&family.c)?.name)));
            }
            of = format!(" of {}", names.join(", "));
        }
        all.push(format!("TYPENAME (TYPE){of}: {}.", types.join(", ")));
    }
    if let Some(family) = families.iter().find(|family| !family.sized.is_empty()) {
        let sizes: Vec<String> = family.sized.iter().map(u32::to_string).collect();
        all.push(format!("SIZE: {}, the bits of an element.", sizes.join(", ")));
    }
    let mem: Vec<String> =
        families.iter().filter_map(|f| Some(format!("`{}`", f.mem_c.as_ref()?))).collect();
    if !mem.is_empty() {
        all.push(format!("Elements of {} are bytes.", mem.join(" and ")));
    }
    Ok(all)
}

/// The arguments of all functions of a page, each once.
fn arguments<'a>(
    spec: &'a Spec,
    data: &'a PageData,
    entries: &[Entry<'_>],
) -> Result<Vec<(String, &'a str)>, String> {
    let mut all: Vec<(String, &str)> = Vec::new();
    let mut context = false;
    for entry in entries {
        context |= match entry {
            Entry::Family(family) => family.context,
            Entry::Function(function) => function.context,
        };
        for parameter in entry.prototype()?.parameters {
            let name = parameter.name;
            let known = data.arguments.get(&name).or(spec.reference.arguments.get(&name));
            let meaning =
                known.ok_or_else(|| wrong(data, &format!("has no meaning for `{name}`")))?;
            if all.iter().all(|(known, _)| *known != name) {
                all.push((name, meaning));
            }
        }
    }
    if let Some(name) = data.arguments.keys().find(|name| all.iter().all(|(n, _)| n != *name)) {
        return Err(wrong(data, &format!("has a meaning for `{name}`, which is no argument")));
    }
    if context {
        let ctx = spec.reference.arguments.get("ctx");
        all.insert(0, ("ctx".into(), ctx.ok_or_else(|| wrong(data, "has no meaning for `ctx`"))?));
    }
    Ok(all)
}
