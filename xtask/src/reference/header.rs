//! References of models whose functions a header written by hand declares: spec/MODEL/reference.toml.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::signature::{Signature, functions};
use super::{Manner, Model, Page, Reference, joined};
use crate::emit::wrap;

/// Folders of spec/.
pub const MODELS: [&str; 2] = ["armci", "bsp"];

/// A reference.toml with the functions of the header.
pub struct Data {
    path: String,
    file: File,
    functions: Vec<Signature>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: Model,
    /// A second name: what it begins with, and what that stands for.
    #[serde(default)]
    also: Vec<[String; 2]>,
    sections: BTreeMap<String, String>,
    arguments: BTreeMap<String, String>,
    manner: BTreeMap<String, Manner>,
    page: Vec<PageData>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageData {
    name: String,
    title: String,
    section: String,
    of: Vec<String>,
    does: String,
    manner: String,
    returns: Option<String>,
    errors: Option<String>,
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

impl Data {
    pub fn load(root: &Path, folder: &str) -> Result<Data, String> {
        let path = format!("spec/{folder}/reference.toml");
        let read = |path: &str| {
            std::fs::read_to_string(root.join(path)).map_err(|e| format!("cannot read {path}: {e}"))
        };
        let file: File = toml::from_str(&read(&path)?).map_err(|e| format!("{path}: {e}"))?;
        let header = format!("include/{}", file.model.header);
        let functions = functions(&read(&header)?).map_err(|e| format!("{header}: {e}"))?;
        Ok(Data { path, file, functions })
    }

    /// Every function of the header is on one page, under all of its names, and every argument has a meaning.
    pub fn reference(&self) -> Result<Reference<'_>, String> {
        let mut left: Vec<&Signature> = self.functions.iter().collect();
        let mut pages = Vec::new();
        for data in &self.file.page {
            let mut of = Vec::new();
            for name in &data.of {
                let at = left.iter().position(|known| known.name == *name);
                let at = at.ok_or_else(|| {
                    let text = format!("names `{name}`, which is no function, or on another page");
                    self.wrong(data, &text)
                })?;
                of.push(left.remove(at));
            }
            pages.push(self.page(data, &of)?);
        }
        for page in &mut pages {
            let second: Vec<String> =
                page.names.iter().flat_map(|name| self.second(name)).collect();
            left.retain(|function| !second.contains(&function.name));
            page.names.extend(second);
        }
        if let Some(function) = left.first() {
            return Err(format!("{}: no page is of `{}`", self.path, function.name));
        }
        pages.sort_by_key(|page| page.section.parse::<u32>().unwrap_or(0));
        Ok(Reference { model: &self.file.model, sections: &self.file.sections, pages })
    }

    /// The other names of a function, as far as the header has them.
    fn second(&self, name: &str) -> Vec<String> {
        let names = self.file.also.iter().filter_map(|[other, own]| {
            Some(format!("{other}{}", name.strip_prefix(own.as_str())?))
        });
        names.filter(|name| self.functions.iter().any(|f| f.name == *name)).collect()
    }

    fn wrong(&self, data: &PageData, what: &str) -> String {
        format!("{}: the page {} {what}", self.path, data.name)
    }

    fn page<'a>(&'a self, data: &'a PageData, of: &[&Signature]) -> Result<Page<'a>, String> {
        let manner = self.file.manner.get(&data.manner);
        let manner = manner.ok_or_else(|| {
            self.wrong(data, &format!("has the unknown manner `{}`", data.manner))
        })?;
        if of.is_empty() {
            return Err(self.wrong(data, "is of no function"));
        }
        let returns = data.returns.as_deref().or(manner.returns.as_deref());
        let gives = of.iter().any(|function| function.gives());
        if gives && returns.is_none() {
            return Err(self.wrong(data, "does not say what its functions return"));
        }
        Ok(Page {
            name: &data.name,
            title: &data.title,
            section: &data.section,
            standard: self.file.model.standard.clone(),
            does: &data.does,
            signatures: vec![("C", of.iter().map(|function| line(function)).collect())],
            placeholders: Vec::new(),
            arguments: self.arguments(data, of)?,
            blocks: &manner.blocks,
            reuse: &manner.reuse,
            returns: returns.filter(|_| gives),
            errors: joined(manner.errors.as_deref(), data.errors.as_deref()),
            deprecated: Vec::new(),
            names: of.iter().map(|function| function.name.clone()).collect::<BTreeSet<_>>(),
        })
    }

    /// The arguments of all functions of a page, each once.
    fn arguments<'a>(
        &'a self,
        data: &'a PageData,
        of: &[&Signature],
    ) -> Result<Vec<(String, &'a str)>, String> {
        let mut all: Vec<(String, &str)> = Vec::new();
        for name in of.iter().flat_map(|function| function.names()) {
            let known = data.arguments.get(name).or(self.file.arguments.get(name));
            let meaning =
                known.ok_or_else(|| self.wrong(data, &format!("has no meaning for `{name}`")))?;
            if all.iter().all(|(known, _)| known != name) {
                all.push((name.to_owned(), meaning));
            }
        }
        match data.arguments.keys().find(|name| all.iter().all(|(n, _)| n != *name)) {
            Some(name) => {
                Err(self.wrong(data, &format!("has a meaning for `{name}`, which is no argument")))
            }
            None => Ok(all),
        }
    }
}

fn line(function: &Signature) -> String {
    let mut parameters = function.parameters.clone();
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    wrap(&format!("{}(", function.head), &parameters, ");", "    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(folder: &str) -> Data {
        Data::load(&crate::root(), folder).expect("data")
    }

    #[test]
    fn every_function_of_a_header_has_a_page() {
        for folder in MODELS {
            let data = load(folder);
            let reference = data.reference().expect("pages");
            for function in &data.functions {
                let on = reference.pages.iter().filter(|page| page.names.contains(&function.name));
                assert_eq!(on.count(), 1, "{}", function.name);
            }
        }
        let data = load("armci");
        let reference = data.reference().expect("pages");
        let put = reference.pages.iter().find(|page| page.name == "ARMCI_Put").expect("a page");
        assert!(put.names.contains("PARMCI_Put"), "{:?}", put.names);
    }

    #[test]
    fn what_is_missing_is_named() {
        let refused = |change: &dyn Fn(&mut Data), text: &str| {
            let mut data = load("bsp");
            change(&mut data);
            let why = data.reference().err().unwrap_or_default();
            assert!(why.contains(text), "{why}");
        };
        refused(
            &|data| data.file.page.retain(|p| p.name != "bsp_sync"),
            "no page is of `bsp_sync`",
        );
        refused(&|data| drop(data.file.arguments.remove("pid")), "has no meaning for `pid`");
        refused(
            &|data| data.file.page.iter_mut().for_each(|p| p.returns = None),
            "does not say what its functions return",
        );
    }
}
