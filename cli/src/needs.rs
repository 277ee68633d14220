//! `hpvm info PROGRAM`: which MPI a program was built for, and what of it we do not have.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hpvm_linkage::elf::{self, File, Symbol};
use hpvm_linkage::names::{self, Family, Role};
use hpvm_linkage::{Closure, Search, defeats};
use serde_json::{Value, json};

use crate::missing::MISSING;

/// Performs it; gives the exit code.
pub fn run(program: &OsStr, as_json: bool) -> Result<i32, String> {
    let path = locate(program)?;
    let folder = hpvm_launch::environment::library_folder();
    let report = examine(&path, folder.as_deref())?;
    let text = if as_json { report.json().to_string() + "\n" } else { report.text() };
    crate::info::print(text.as_bytes())?;
    Ok(0)
}

/// A path as it is, so that libraries can be named; anything else as `mpirun` would find it.
fn locate(program: &OsStr) -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("the working folder: {error}"))?;
    let path = here.join(program);
    if path.is_file() {
        return Ok(path);
    }
    let list = std::env::var_os("PATH");
    hpvm_launch::program::find(program, &here, list.as_deref()).map_err(|error| error.message)
}

/// Everything that is said about a program.
struct Report {
    program: PathBuf,
    kind: &'static str,
    /// More about the kind: an interpreter, a machine.
    detail: Option<String>,
    libraries: Vec<Library>,
    absent: Vec<(String, PathBuf)>,
    defeats: Vec<String>,
    needed: usize,
    lacking: Vec<Lack>,
}

/// An MPI library that the program or one of its libraries names.
struct Library {
    name: String,
    family: Family,
    role: Role,
    needed_by: Vec<PathBuf>,
    found: Option<PathBuf>,
    ours: bool,
}

/// A symbol that is not available.
struct Lack {
    symbol: String,
    reason: Reason,
    needed_by: BTreeSet<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    NotExported,
    NotImplemented,
}

fn examine(path: &Path, folder: Option<&Path>) -> Result<Report, String> {
    let mut report = Report {
        program: path.to_path_buf(),
        kind: "unknown",
        detail: None,
        libraries: Vec::new(),
        absent: Vec::new(),
        defeats: Vec::new(),
        needed: 0,
        lacking: Vec::new(),
    };
    let elf = match elf::open(path)? {
        File::Unknown => return Ok(report),
        File::Script(line) => {
            (report.kind, report.detail) = ("script", Some(line));
            return Ok(report);
        }
        File::OtherMachine(which) => {
            (report.kind, report.detail) = ("other-machine", Some(which));
            return Ok(report);
        }
        File::Elf(elf) => *elf,
    };
    report.kind = match (elf.program, elf.dynamic) {
        (_, false) => "static-program",
        (true, true) => "program",
        (false, true) => "library",
    };
    let here = std::env::current_dir().unwrap_or_default();
    let closure = Closure::new(elf, &Search::new(&library_path(folder), &here), true);
    report.libraries = libraries(&closure, folder);
    let file = |object: usize| closure.objects[object].elf.path.clone();
    let absent = closure.absent.iter();
    report.absent =
        absent.map(|(name, by)| (name.to_string_lossy().into_owned(), file(*by))).collect();
    if let Some(folder) = folder {
        report.defeats = defeats(&closure, folder).iter().map(|d| d.text(folder)).collect();
    }
    if !report.libraries.is_empty() {
        // With a library not found this says what is needed; what is not available is then moot.
        symbols(&closure, folder, &mut report)?;
    }
    Ok(report)
}

/// The library path that `mpirun` would give the program.
fn library_path(folder: Option<&Path>) -> OsString {
    let user = std::env::var_os("LD_LIBRARY_PATH").filter(|list| !list.is_empty());
    let mut path = folder.map(|folder| folder.as_os_str().to_os_string()).unwrap_or_default();
    if let Some(user) = user {
        if folder.is_some() {
            path.push(":");
        }
        path.push(user);
    }
    path
}

fn libraries(closure: &Closure, folder: Option<&Path>) -> Vec<Library> {
    let mut found: Vec<Library> = Vec::new();
    for object in &closure.objects {
        // What MPI libraries need of each other is their own affair.
        if object.is_mpi() {
            continue;
        }
        for name in &object.elf.needed {
            let name = name.to_string_lossy().into_owned();
            let Some((family, role)) = names::classify(&name) else { continue };
            let by = object.elf.path.clone();
            if let Some(library) = found.iter_mut().find(|library| library.name == name) {
                library.needed_by.push(by);
                continue;
            }
            let loaded = closure.named(OsStr::new(&name));
            let file = loaded.map(|object| object.elf.path.clone());
            let ours = file.as_deref().is_some_and(|file| is_in(file, folder));
            found.push(Library { name, family, role, needed_by: vec![by], found: file, ours });
        }
    }
    found
}

fn is_in(file: &Path, folder: Option<&Path>) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let Some(folder) = folder.and_then(real) else { return false };
    file.parent().and_then(real) == Some(folder)
}

/// Compares what is needed with what the MPI libraries that would be loaded export.
fn symbols(closure: &Closure, folder: Option<&Path>, report: &mut Report) -> Result<(), String> {
    // Exported by an MPI library: by ours or by another.
    let mut exported: BTreeMap<String, bool> = BTreeMap::new();
    let mut others = BTreeSet::new();
    let mut needed: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for object in &closure.objects {
        let path = &object.elf.path;
        let symbols = elf::symbols(path)?;
        let defined = |s: Symbol| s.defined.then_some(s.name);
        if object.is_mpi() {
            let ours = is_in(path, folder);
            let names = symbols.into_iter().filter_map(defined);
            names.for_each(|name| *exported.entry(name).or_default() |= ours);
            continue;
        }
        for symbol in symbols.iter().filter(|s| !s.defined && !s.weak && is_mpi(&s.name)) {
            needed.entry(symbol.name.clone()).or_default().insert(path.clone());
        }
        others.extend(symbols.into_iter().filter_map(defined));
    }
    needed.retain(|name, _| exported.contains_key(name) || !others.contains(name));
    report.needed = needed.len();
    for (symbol, needed_by) in needed {
        let reason = match exported.get(&symbol) {
            None => Reason::NotExported,
            Some(true) if is_missing(&symbol) => Reason::NotImplemented,
            Some(_) => continue,
        };
        report.lacking.push(Lack { symbol, reason, needed_by });
    }
    Ok(())
}

/// Whether a name belongs to MPI: its C, Fortran and C++ functions, and data of its libraries.
fn is_mpi(name: &str) -> bool {
    const STARTS: &[&str] = &[
        "mpi_",
        "pmpi_",
        "mpix_",
        "pmpix_",
        "mpir_",
        "pmpir_",
        "ompi_",
        "opal_",
        "orte_",
        "mpipriv",
        "mpifcmb",
        "__mpi_",
        "_zn3mpi",
        "_znk3mpi",
        "_ztvn3mpi",
        "_ztin3mpi",
    ];
    let name = name.to_ascii_lowercase();
    STARTS.iter().any(|start| name.starts_with(start))
}

/// Whether the function behind a symbol, in C or Fortran, is exported without being implemented.
fn is_missing(symbol: &str) -> bool {
    let name = symbol.to_ascii_lowercase();
    let name = name.trim_end_matches('_');
    let name =
        ["_f08ts", "_f08", "_f"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let name = name.strip_prefix('p').unwrap_or(name);
    MISSING.iter().any(|missing| missing.eq_ignore_ascii_case(name))
}

impl Report {
    fn families(&self) -> Vec<Family> {
        let mut families: Vec<_> = self.libraries.iter().map(|library| library.family).collect();
        families.sort();
        families.dedup();
        families
    }

    fn json(&self) -> Value {
        let library = |library: &Library| {
            json!({
                "name": library.name,
                "family": library.family.word(),
                "holds": library.role.word(),
                "needed_by": paths(&library.needed_by),
                "direct": library.needed_by.contains(&self.program),
                "found": library.found.as_ref().map(|path| path.display().to_string()),
                "ours": library.ours,
            })
        };
        let lack = |lack: &Lack| {
            json!({
                "symbol": lack.symbol,
                "reason": lack.reason.word(),
                "needed_by": paths(&lack.needed_by),
            })
        };
        json!({
            "program": self.program.display().to_string(),
            "kind": self.kind,
            "detail": self.detail,
            "mpi": self.families().iter().map(|family| family.word()).collect::<Vec<_>>(),
            "libraries": self.libraries.iter().map(library).collect::<Vec<_>>(),
            "absent": self.absent.iter().map(|(name, by)| {
                json!({ "name": name, "needed_by": by.display().to_string() })
            }).collect::<Vec<_>>(),
            "defeated": self.defeats,
            "symbols": { "needed": self.needed,
                         "unavailable": self.lacking.iter().map(lack).collect::<Vec<_>>() },
        })
    }

    fn text(&self) -> String {
        let mut text = row("program", &self.program.display().to_string());
        let detail = self.detail.as_deref().unwrap_or_default();
        match self.kind {
            "script" => {
                text += &row("kind", &format!("script for '{detail}', not an ELF file"));
                return text + &row("MPI", "that of the programs and modules that it loads");
            }
            "other-machine" => return text + &row("kind", &format!("ELF file, but {detail}")),
            "unknown" => return text + &row("kind", "neither an ELF file nor a script"),
            "static-program" => {
                text += &row("kind", "static ELF program");
                return text + &row("MPI", "none that could be exchanged: no dynamic libraries");
            }
            "library" => text += &row("kind", "ELF shared library"),
            _ => text += &row("kind", "ELF program"),
        }
        let families = self.families();
        if families.is_empty() {
            text += &row("MPI", "none: it needs no MPI library");
        }
        for family in &families {
            text += &row("MPI", family.title());
        }
        if families.len() > 1 {
            text +=
                &row("note", "several ABIs in one program: only one of them may be initialised");
        }
        self.libraries.iter().for_each(|library| text += &library.text(&self.program));
        for (name, by) in &self.absent {
            if names::classify(name).is_none() {
                text += &row("not found", &format!("{name}, needed by {}", by.display()));
            }
        }
        self.defeats.iter().for_each(|defeat| text += &row("warning", defeat));
        if !families.is_empty() {
            text += &self.symbols_text();
        }
        text
    }

    fn symbols_text(&self) -> String {
        if let Some(library) = self.libraries.iter().find(|library| library.found.is_none()) {
            let (needed, name) = (self.needed, &library.name);
            return row(
                "symbols of MPI",
                &format!("{needed} needed, not looked up without {name}"),
            );
        }
        if self.lacking.is_empty() {
            return row("symbols of MPI", &format!("{} needed, all available", self.needed));
        }
        let count = self.lacking.len();
        let mut text =
            row("symbols of MPI", &format!("{} needed, {count} not available:", self.needed));
        for lack in &self.lacking {
            let by: Vec<_> = lack.needed_by.iter().map(|path| short(path)).collect();
            let reason = lack.reason.text();
            text += &format!("  {:<34} {reason} (needed by {})\n", lack.symbol, by.join(", "));
        }
        text
    }
}

impl Library {
    fn text(&self, program: &Path) -> String {
        let place = match &self.found {
            Some(path) if self.ours => format!("{} (hpvm)", path.display()),
            Some(path) => format!("{} (not hpvm's)", path.display()),
            None => "not found".to_string(),
        };
        let through: Vec<_> = self.needed_by.iter().map(|path| short(path)).collect();
        let how = match self.needed_by.iter().any(|path| path == program) {
            true => "directly".to_string(),
            false => format!("through {}", through.join(", ")),
        };
        row("library", &format!("{} ({}), {how}: {place}", self.name, self.role.word()))
    }
}

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Reason::NotExported => "not-exported",
            Reason::NotImplemented => "not-implemented",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Reason::NotExported => "not exported: the program may not start",
            Reason::NotImplemented => "not implemented: calling it is an error",
        }
    }
}

fn row(title: &str, value: &str) -> String {
    format!("{title:<15} {value}\n")
}

fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn paths<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<String> {
    paths.into_iter().map(|path| path.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mpi() {
        for name in [
            "MPI_Send",
            "PMPI_Wtime",
            "mpi_send_",
            "pmpi_send__",
            "ompi_mpi_comm_world",
            "mpipriv1_",
            "_ZN3MPI4CommC2Ev",
            "MPIR_F_MPI_BOTTOM",
        ] {
            assert!(is_mpi(name), "{name}");
        }
        for name in ["mpirun", "malloc", "mpiprint_", "mpinv"] {
            assert!(!is_mpi(name), "{name}");
        }
    }

    #[test]
    fn what_is_missing() {
        let Some(name) = MISSING.iter().find(|name| **name == "MPI_Open_port") else { return };
        assert!(is_missing(name) && is_missing("PMPI_Open_port"));
        for symbol in ["mpi_open_port_", "MPI_OPEN_PORT", "pmpi_open_port__", "mpi_open_port_f08_"]
        {
            assert!(is_missing(symbol), "{symbol}");
        }
        assert!(!is_missing("MPI_Send") && !is_missing("mpi_send_"));
    }

    #[test]
    fn this_program_has_no_mpi() {
        let report = examine(&std::env::current_exe().expect("path"), None).expect("report");
        assert_eq!(report.kind, "program");
        assert!(report.text().contains("needs no MPI library"), "{}", report.text());
        assert_eq!(report.json()["mpi"], json!([]));
    }
}
