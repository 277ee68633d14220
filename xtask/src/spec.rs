//! Reading spec/*.toml: functions, constants and types of the MPI standard ABI.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use crate::cdecl::{Decl, Form};

/// Everything in spec/.
pub struct Spec {
    pub chapters: Vec<Chapter>,
    pub groups: Vec<Group>,
    pub types: Types,
}

/// One spec/CHAPTER.toml: a module of generated entry points and of bodies.
pub struct Chapter {
    pub name: String,
    pub title: String,
    pub functions: Vec<Function>,
}

/// One C function, or two of them when it has a large-count form.
pub struct Function {
    pub name: String,
    pub section: String,
    pub returns: String,
    pub large: bool,
    pub deprecated: Option<String>,
    /// The C function whose body this one shares.
    pub same_as: Option<String>,
    /// Whether mpi.h declares it.
    pub header: bool,
    pub done: bool,
    pub params: Vec<Param>,
    /// A C function with `...` at its end.
    pub variadic: bool,
}

/// One parameter; `direction` and `kind` are those of the standard.
pub struct Param {
    pub direction: String,
    pub kind: String,
    pub decl: Decl,
}

/// Constants of one sort, in the order of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    pub doc: String,
    pub form: String,
    #[serde(rename = "type")]
    pub c_type: String,
    #[serde(default)]
    pub deprecated: toml::Table,
    pub values: toml::Table,
}

/// The value of a constant.
pub enum Value<'a> {
    Number(i64),
    SameAs(&'a str),
}

/// spec/types.toml.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    pub integer: Vec<Integer>,
    pub handle: Vec<Handle>,
    pub enumeration: Vec<Enumeration>,
    pub callback: Vec<Callback>,
    pub synonym: Vec<Synonym>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Integer {
    pub name: String,
    pub c: String,
    pub c89: String,
    pub rust: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handle {
    pub name: String,
    pub tag: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enumeration {
    pub name: String,
    pub group: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    pub name: String,
    pub returns: String,
    #[serde(default)]
    pub deprecated: Option<String>,
    pub params: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synonym {
    pub name: String,
    pub of: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChapterFile {
    chapter: String,
    title: String,
    function: Vec<FunctionEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionEntry {
    name: String,
    section: String,
    returns: Option<String>,
    #[serde(default)]
    large: bool,
    deprecated: Option<String>,
    same_as: Option<String>,
    header: Option<bool>,
    status: Option<Status>,
    params: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Done,
    Missing,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupFile {
    group: Vec<Group>,
}

impl Spec {
    /// Reads and checks the folder `spec`.
    pub fn load(folder: &Path) -> Result<Spec, String> {
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .map_err(|e| format!("cannot list {}: {e}", folder.display()))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "toml"))
            .collect();
        paths.sort();
        let mut spec = Spec { chapters: Vec::new(), groups: Vec::new(), types: Types::empty() };
        for path in paths {
            let text = std::fs::read_to_string(&path)
                .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            spec.add(stem, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        spec.validate()?;
        Ok(spec)
    }

    fn add(&mut self, stem: &str, text: &str) -> Result<(), String> {
        match stem {
            "constants" => self.groups = parse::<GroupFile>(text)?.group,
            "types" => self.types = parse(text)?,
            _ => {
                let file: ChapterFile = parse(text)?;
                if file.chapter != stem {
                    return Err(format!("chapter = \"{}\" in {stem}.toml", file.chapter));
                }
                let functions = file.function.into_iter().map(Function::new);
                self.chapters.push(Chapter {
                    name: file.chapter,
                    title: file.title,
                    functions: functions.collect::<Result<_, _>>()?,
                });
            }
        }
        Ok(())
    }

    /// Names are unique; shared bodies exist, are not shared themselves and take as many arguments.
    fn validate(&self) -> Result<(), String> {
        let mut names = HashSet::new();
        for function in self.functions() {
            for (name, _) in function.symbols() {
                if !names.insert(name.clone()) {
                    return Err(format!("spec: {name} is declared twice"));
                }
            }
        }
        for function in self.functions() {
            let Some(target) = &function.same_as else { continue };
            let (_, base, _) = self
                .find(target)
                .ok_or_else(|| format!("spec: {}: same_as {target} is unknown", function.name))?;
            if base.same_as.is_some() || base.params.len() != function.params.len() {
                return Err(format!("spec: {} cannot be the same as {target}", function.name));
            }
        }
        let mut names = HashSet::new();
        for (group, name, _) in self.constants()? {
            if !names.insert(name) {
                return Err(format!("spec: constant {name} of group {} is twice", group.name));
            }
        }
        Ok(())
    }

    /// All functions of all chapters.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.chapters.iter().flat_map(|chapter| &chapter.functions)
    }

    /// The function that provides a C symbol, with its chapter and the form the symbol is.
    pub fn find(&self, symbol: &str) -> Option<(&Chapter, &Function, Form)> {
        self.chapters.iter().find_map(|chapter| {
            chapter.functions.iter().find_map(|function| {
                let (_, form) = function.symbols().into_iter().find(|(n, _)| n == symbol)?;
                Some((chapter, function, form))
            })
        })
    }

    /// Whether the body of a function exists.
    pub fn is_done(&self, function: &Function) -> bool {
        match &function.same_as {
            Some(target) => self.find(target).is_some_and(|(_, base, _)| base.done),
            None => function.done,
        }
    }

    /// All constants with their groups.
    pub fn constants(&self) -> Result<Vec<(&Group, &str, Value<'_>)>, String> {
        let mut all = Vec::new();
        for group in &self.groups {
            for (name, value) in &group.values {
                let value = match value {
                    toml::Value::Integer(number) => Value::Number(*number),
                    toml::Value::String(other) if group.values.contains_key(other) => {
                        Value::SameAs(other)
                    }
                    other => return Err(format!("constant {name}: bad value {other}")),
                };
                all.push((group, name.as_str(), value));
            }
        }
        Ok(all)
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Result<&Group, String> {
        self.groups
            .iter()
            .find(|group| group.name == name)
            .ok_or_else(|| format!("spec/constants.toml has no group `{name}`"))
    }
}

impl Types {
    fn empty() -> Types {
        Types {
            integer: Vec::new(),
            handle: Vec::new(),
            enumeration: Vec::new(),
            callback: Vec::new(),
            synonym: Vec::new(),
        }
    }
}

impl Group {
    /// Constants with numbers, aliases left out.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, i64)> {
        self.values.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_integer()?)))
    }
}

impl Function {
    fn new(entry: FunctionEntry) -> Result<Function, String> {
        let name = entry.name;
        let at = |e: String| format!("{name}: {e}");
        if !name.starts_with("MPI_") {
            return Err(at("the name must begin with MPI_".to_owned()));
        }
        if entry.status.is_none() != entry.same_as.is_some() {
            return Err(at("give either `status` or `same_as`".to_owned()));
        }
        let variadic = entry.params.last().is_some_and(|p| p == "in varargs ...");
        let fixed = entry.params.len() - usize::from(variadic);
        let params = entry.params[..fixed].iter().map(|text| Param::parse(text));
        let params: Vec<Param> = params.collect::<Result<_, _>>().map_err(at)?;
        let widens = params.iter().any(|param| param.decl.wide.is_some());
        if widens != entry.large {
            return Err(at("`large` must say whether a parameter widens".to_owned()));
        }
        Ok(Function {
            section: entry.section,
            returns: entry.returns.unwrap_or_else(|| "int".to_owned()),
            large: entry.large,
            deprecated: entry.deprecated,
            same_as: entry.same_as,
            header: entry.header.unwrap_or(true),
            done: entry.status == Some(Status::Done),
            params,
            variadic,
            name,
        })
    }

    /// The C symbols (without the profiling ones) and their forms.
    pub fn symbols(&self) -> Vec<(String, Form)> {
        let mut symbols = vec![(self.name.clone(), Form::Narrow)];
        if self.large {
            symbols.push((format!("{}_c", self.name), Form::Wide));
        }
        symbols
    }

    /// The name of the body: lower case, without `MPI_` or `MPI_T_`.
    pub fn body_name(&self) -> String {
        let name = self.name.as_str();
        let short = name.strip_prefix("MPI_T_").or(name.strip_prefix("MPI_")).unwrap_or(name);
        short.to_lowercase()
    }
}

impl Param {
    /// Reads `in|out|inout KIND C-DECLARATION`.
    pub fn parse(text: &str) -> Result<Param, String> {
        let mut words = text.splitn(3, ' ');
        let (direction, kind, decl) = (words.next(), words.next(), words.next());
        let (Some(direction @ ("in" | "out" | "inout")), Some(kind), Some(decl)) =
            (direction, kind, decl)
        else {
            return Err(format!("parameter `{text}` is not `in|out|inout KIND C-DECLARATION`"));
        };
        Ok(Param {
            direction: direction.to_owned(),
            kind: kind.to_owned(),
            decl: Decl::parse(decl)?,
        })
    }
}

fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|e| e.to_string())
}
