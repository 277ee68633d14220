//! The references of programming models: pages as one document for each model, and as man pages.
//!
//! What a page says is data in spec/MODEL/reference.toml. Signatures come from the data of the interface
//! (OpenSHMEM, [`crate::shmem`]) or are read out of the header that programmers include ([`header`]).

mod header;
mod man;
mod markdown;
mod signature;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::codegen::MAN;

/// What is the same on all pages of a model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The interface as its users call it.
    pub name: String,
    /// The header to include.
    pub header: String,
    /// What defines the interface.
    pub standard: String,
    /// The document: its path, and what it says before the sections.
    pub document: String,
    pub about: String,
    /// The guide, from the root.
    pub guide: String,
    /// Man pages to see.
    pub see: Vec<String>,
    /// What is said of errors before those of a page.
    pub mistakes: String,
}

/// A page, in whatever form it is shown.
pub struct Page<'a> {
    pub name: &'a str,
    pub title: &'a str,
    /// A key of the titles of sections.
    pub section: &'a str,
    /// Where the standard has it.
    pub standard: String,
    pub does: &'a str,
    /// Signatures by the language that has them.
    pub signatures: Vec<(&'static str, Vec<String>)>,
    /// What a placeholder of the signatures stands for.
    pub placeholders: Vec<String>,
    /// Name and meaning.
    pub arguments: Vec<(String, &'a str)>,
    pub blocks: &'a str,
    pub reuse: &'a str,
    pub returns: Option<&'a str>,
    pub errors: String,
    /// Names, and the version of the standard that deprecates them.
    pub deprecated: Vec<(String, &'a str)>,
    /// The functions, and names of generic forms.
    pub names: BTreeSet<String>,
}

/// What functions have in common.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manner {
    pub blocks: String,
    pub reuse: String,
    pub returns: Option<String>,
    pub errors: Option<String>,
}

/// A model with its pages.
pub struct Reference<'a> {
    pub model: &'a Model,
    pub sections: &'a BTreeMap<String, String>,
    pub pages: Vec<Page<'a>>,
}

/// Paths (from the root) and texts of the references of all models.
pub fn files(root: &Path, shmem: &crate::shmem::Spec) -> Result<Vec<(PathBuf, String)>, String> {
    let read = header::MODELS.map(|folder| header::Data::load(root, folder));
    let mut all = vec![crate::shmem::reference(shmem)?];
    for data in &read {
        all.push(data.as_ref().map_err(Clone::clone)?.reference()?);
    }
    let man = Path::new(MAN);
    let mut files = vec![(man.join("aliases"), man::aliases(&all)?)];
    for reference in &all {
        files.push((PathBuf::from(&reference.model.document), markdown::document(reference)?));
        let page = |page: &Page<'_>| {
            (man.join(format!("{}.3", page.name)), man::page(reference.model, page))
        };
        files.extend(reference.pages.iter().map(page));
    }
    Ok(files)
}

/// Joins what a manner and a page say of errors.
pub fn joined(one: Option<&str>, other: Option<&str>) -> String {
    one.into_iter().chain(other).collect::<Vec<_>>().join(" ")
}
