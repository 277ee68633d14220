//! The reference of OpenSHMEM: what spec/shmem/reference.toml says about the functions, as one document and as man pages.

mod man;
mod markdown;
mod page;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Spec;
use crate::codegen::MAN;

/// reference.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Titles.
    pub sections: BTreeMap<String, String>,
    /// Meanings by name.
    pub arguments: BTreeMap<String, String>,
    pub manner: BTreeMap<String, Manner>,
    pub page: Vec<PageData>,
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

/// A page as reference.toml has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageData {
    pub name: String,
    pub title: String,
    /// Names in families.toml and functions.toml.
    pub of: Vec<String>,
    pub does: String,
    pub manner: String,
    pub returns: Option<String>,
    pub errors: Option<String>,
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// Paths (from the root) and texts.
pub fn files(spec: &Spec) -> Result<Vec<(PathBuf, String)>, String> {
    let pages = page::all(spec)?;
    let man = Path::new(MAN);
    let mut files = vec![
        (PathBuf::from("docs/shmem-reference.md"), markdown::document(&spec.reference, &pages)?),
        (man.join("aliases"), man::aliases(&pages)?),
    ];
    files.extend(pages.iter().map(|page| (man.join(format!("{}.3", page.name)), man::page(page))));
    Ok(files)
}
