//! Reading spec/abi/*.toml: what another MPI's ABI has in place of the standard one's constants.

use std::path::Path;

use serde::Deserialize;

use crate::spec::Spec;

/// One spec/abi/NAME.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// How people call it.
    pub title: String,
    /// Folder of the crate.
    pub folder: String,
    /// The type that implements `Abi`, in the root of the crate.
    pub implementor: String,
    /// Where the header for tests goes; none without it.
    pub header: Option<String>,
    /// C type of handles, for the header for tests, and of those that differ.
    #[serde(default)]
    pub handle: String,
    #[serde(default)]
    pub handles: toml::Table,
    /// Fields of `MPI_Status`.
    #[serde(default)]
    pub status: Vec<String>,
    /// Further lines of the header: data symbols, and what is made of them.
    #[serde(default)]
    pub declarations: Vec<String>,
    /// Values of the constants of spec/constants.toml; those that are absent do not exist there.
    /// Numbers, or for handles the name of a data symbol.
    pub constants: toml::Table,
    /// Constants of the ABI that the standard one does not have, with the standard one they are
    /// treated as (an empty text: none).
    #[serde(default)]
    pub further: Vec<Further>,
    /// Functions that the standard no longer has: name and body in `hpvm_foreign::removed`.
    pub removed: Vec<Removed>,
    /// Functions that are exported and only say that they are not available.
    pub unavailable: Vec<String>,
    /// Functions of spec/ that the crate writes by hand.
    #[serde(default)]
    pub own: Vec<String>,
    /// Names of functions before they became part of the standard, with today's.
    #[serde(default)]
    pub aliases: toml::Table,
    /// Sizes of data symbols whose addresses are handles, by groups of constants.
    #[serde(default)]
    pub sizes: toml::Table,
    /// Data symbols for which no constant of the standard ABI stands.
    #[serde(default)]
    pub symbols: Vec<Symbol>,
    /// Fortran's integers of predefined handles, where they are not the handles themselves.
    #[serde(default)]
    pub fortran: toml::Table,
}

/// A data symbol whose address is a handle.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symbol {
    pub symbol: String,
    pub group: String,
    /// The constant of the standard that it is treated as; empty: none.
    pub same_as: String,
    /// Handles that stand for `same_as` go back to this symbol, not to that of the constant.
    #[serde(default)]
    pub back: bool,
    /// What C calls it, if it has a name there.
    pub name: Option<String>,
    pub fortran: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Further {
    pub name: String,
    pub value: i64,
    pub group: String,
    pub same_as: String,
    /// On the way out it stands for `same_as`, in place of the constant of that name.
    #[serde(default)]
    pub preferred: bool,
}

/// A function that the MPI standard has removed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removed {
    pub name: String,
    /// As in spec/CHAPTER.toml.
    pub params: Vec<String>,
}

impl Other {
    /// All of spec/abi/, by name.
    pub fn load_all(root: &Path, spec: &Spec) -> Result<Vec<Other>, String> {
        let folder = root.join("spec/abi");
        let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut paths: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
        paths.sort();
        paths.iter().map(|path| Other::load(path, spec)).collect()
    }

    fn load(path: &Path, spec: &Spec) -> Result<Other, String> {
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
        let other: Other = toml::from_str(&text).map_err(|e| format!("{shown}: {e}"))?;
        let known: Vec<&str> = spec.constants()?.iter().map(|(_, name, _)| *name).collect();
        for name in other.constants.keys() {
            if !known.contains(&name.as_str()) {
                return Err(format!("{shown}: {name} is not in spec/constants.toml"));
            }
        }
        for further in &other.further {
            let target = further.same_as.as_str();
            if !target.is_empty() && !known.contains(&target) {
                return Err(format!("{shown}: {}: {target} is unknown", further.name));
            }
        }
        Ok(other)
    }

    /// The macro that tells programs of the tests which ABI they are compiled for.
    pub fn macro_name(&self) -> String {
        self.implementor.to_uppercase()
    }

    /// The number of a constant in this ABI.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.constants.get(name)?.as_integer()
    }
}
