//! The pages of OpenSHMEM: what spec/shmem/reference.toml says about the functions.

mod page;

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::reference::{Manner, Model};

pub use page::all;

/// reference.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    pub model: Model,
    /// Titles.
    pub sections: BTreeMap<String, String>,
    /// Meanings by name.
    pub arguments: BTreeMap<String, String>,
    pub manner: BTreeMap<String, Manner>,
    pub page: Vec<PageData>,
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
