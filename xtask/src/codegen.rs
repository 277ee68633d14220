//! `cargo xtask codegen` and `cargo xtask bodies`: from spec/ to committed files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::abi::Other;
use crate::emit;
use crate::spec::Spec;

/// Where the generated Rust modules lie; nothing else may lie there. Those of the libraries for other
/// ABIs follow from spec/abi/.
pub const RUST: [&str; 8] = [
    "crates/mpi-abi/src/generated",
    "crates/abi/src/generated",
    "crates/foreign/src/generated",
    "crates/fortran/src/generated",
    "crates/abi-fortran/src/generated",
    "crates/abi-mpich/src/generated",
    "crates/abi-ompi/src/generated",
    "crates/shmem-abi/src/generated",
];

/// Where the generated man pages lie, and nothing else.
pub const MAN: &str = "docs/man3";

/// Writes every generated file; says what changed.
pub fn write(root: &Path) -> Result<String, String> {
    let files = generate(root)?;
    let mut report = String::new();
    for (path, text) in &files {
        let full = root.join(path);
        if std::fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        }
        std::fs::write(&full, text).map_err(|e| format!("cannot write {}: {e}", full.display()))?;
        report.push_str(&format!("wrote {}\n", path.display()));
    }
    for stray in strays(root, &files) {
        std::fs::remove_file(root.join(&stray))
            .map_err(|e| format!("cannot remove {}: {e}", stray.display()))?;
        report.push_str(&format!("removed {}\n", stray.display()));
    }
    Ok(report)
}

/// Fails when a generated file is missing, stale or left over.
pub fn check(root: &Path) -> Result<String, String> {
    let stale = stale(root)?;
    if stale.is_empty() {
        return Ok(String::new());
    }
    Err(stale.join("\n"))
}

/// One line per generated file that is not as spec/ says.
pub fn stale(root: &Path) -> Result<Vec<String>, String> {
    let files = generate(root)?;
    let mut lines = Vec::new();
    for (path, text) in &files {
        let shown = path.display();
        match std::fs::read_to_string(root.join(path)) {
            Err(e) => lines.push(format!("{shown}:1: {e}; run `cargo xtask codegen`")),
            Ok(old) if old != *text => {
                let same = old.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
                let line = same + 1;
                lines.push(format!("{shown}:{line}: not as spec/ says; run `cargo xtask codegen`"));
            }
            Ok(_) => {}
        }
    }
    for stray in strays(root, &files) {
        lines.push(format!("{}:1: not generated from spec/; remove it", stray.display()));
    }
    Ok(lines)
}

/// The skeleton of a chapter's bodies.
pub fn bodies(root: &Path, chapter: &str, only_missing: bool) -> Result<String, String> {
    let spec = Spec::load(&root.join("spec"))?;
    let found = spec.chapters.iter().find(|c| c.name == chapter).ok_or_else(|| {
        let names: Vec<&str> = spec.chapters.iter().map(|c| c.name.as_str()).collect();
        format!("no chapter `{chapter}` in spec/; there are: {}", names.join(", "))
    })?;
    Ok(emit::bodies::bodies(found, only_missing))
}

/// Writes the pages of the functions into a folder; they are not committed.
pub fn reference(root: &Path, folder: &Path) -> Result<String, String> {
    let spec = Spec::load(&root.join("spec"))?;
    let wrong = |what: &Path, e: std::io::Error| format!("cannot write {}: {e}", what.display());
    std::fs::create_dir_all(folder).map_err(|e| wrong(folder, e))?;
    let mut pages = emit::reference::pages(&spec)?;
    let header = std::fs::read_to_string(root.join("include/fm.h"))
        .map_err(|e| format!("cannot read include/fm.h: {e}"))?;
    pages.push(("fm.md".to_owned(), emit::fm::page(&header)?));
    for (name, text) in &pages {
        let file = folder.join(name);
        std::fs::write(&file, text).map_err(|e| wrong(&file, e))?;
    }
    Ok(format!("{} pages\n", pages.len()))
}

/// Paths (from the root) and texts of all generated files.
pub fn generate(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let spec = Spec::load(&root.join("spec"))?;
    let mut files = vec![
        (PathBuf::from("include/mpi.h"), emit::header::header(&spec)?),
        (PathBuf::from("include/mpif.h"), emit::mpif::mpif(&spec)?),
        (PathBuf::from("docs/coverage.md"), emit::coverage::coverage(&spec)),
        (PathBuf::from("cli/src/missing.rs"), emit::missing::missing(&spec)),
        (PathBuf::from("crates/fortran/src/entry.rs"), emit::fortran::entry(&spec)?),
        (PathBuf::from("crates/fortran/src/entry_ts.rs"), emit::sections::entry(&spec)?),
        (PathBuf::from("include/mpi_types.f90"), emit::f08::types(&spec)),
        (PathBuf::from("include/mpi_f08.F90"), emit::f08::module(&spec)?),
        (PathBuf::from("include/mpi_interfaces.f90"), emit::mpi_module::interfaces(&spec)?),
    ];
    let mut library = vec![
        ("entries".to_owned(), emit::entries::table(&spec)),
        ("predefined".to_owned(), emit::predefined::predefined(&spec)?),
    ];
    for chapter in &spec.chapters {
        library.push((format!("entry_{}", chapter.name), emit::entry::entry(&spec, chapter)?));
    }
    let heading = "//! Entry points, constants and tables made from spec/.";
    let own = module(heading, &library) + "pub use hpvm_abi::constants;\n";
    add(&mut files, RUST[0], own, library);

    let types = vec![
        ("constants".to_owned(), emit::constants::constants(&spec)?),
        ("entries".to_owned(), emit::entries::structure(&spec)),
    ];
    add(&mut files, RUST[1], module("//! Types made from spec/.", &types), types);

    let mut generic = vec![("numbers".to_owned(), emit::foreign::numbers(&spec))];
    for chapter in &spec.chapters {
        generic.push((chapter.name.clone(), emit::foreign::chapter(chapter)?));
    }
    let heading = "//! One translation for each function, made from spec/.";
    add(&mut files, RUST[2], module(heading, &generic), generic);

    let fortran: Result<Vec<_>, String> = emit::fortran::chapters(&spec)
        .map(|chapter| Ok((chapter.name.clone(), emit::fortran::chapter(chapter)?)))
        .collect();
    let heading = "//! One translation for each Fortran procedure, made from spec/.";
    let mut fortran = fortran?;
    for chapter in emit::sections::chapters(&spec) {
        fortran.push((format!("{}_ts", chapter.name), emit::sections::chapter(chapter)?));
    }
    add(&mut files, RUST[3], module(heading, &fortran), fortran);

    let own = vec![("numbers".to_owned(), emit::mpif::numbers(&spec)?)];
    add(&mut files, RUST[4], module("//! Numbers made from spec/.", &own), own);

    let shmem = crate::shmem::Spec::load(&root.join("spec/shmem"))?;
    files.extend(crate::shmem::headers(&shmem)?);
    files.extend(crate::reference::files(root, &shmem)?);
    let own = crate::shmem::modules(&shmem)?;
    let heading = "//! Entry points of OpenSHMEM made from spec/.";
    add(&mut files, RUST[7], module(heading, &own), own);

    for other in Other::load_all(root, &spec)? {
        let modules = emit::other::modules(&spec, &other)?;
        let heading = format!("//! Entry points and numbers of {}, made from spec/.", other.title);
        let folder = format!("{}/src/generated", other.folder);
        add(&mut files, &folder, module(&heading, &modules), modules);
        if let Some(path) = &other.header {
            files.push((PathBuf::from(path), emit::other_header::header(&spec, &other)?));
        }
    }
    Ok(files)
}

/// The file that names the modules of a folder.
fn module(heading: &str, modules: &[(String, String)]) -> String {
    let mut names: Vec<&str> = modules.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let names: String =
        names.iter().map(|name| format!("#[rustfmt::skip]\npub mod {name};\n")).collect();
    format!("{heading}\n//!\n//! {}\n\n{names}", emit::NOTICE)
}

fn add(
    files: &mut Vec<(PathBuf, String)>,
    folder: &str,
    module: String,
    modules: Vec<(String, String)>,
) {
    let folder = Path::new(folder);
    files.push((folder.join("mod.rs"), module));
    files.extend(modules.into_iter().map(|(name, text)| (folder.join(format!("{name}.rs")), text)));
}

/// Files among the generated modules and man pages that are not generated.
fn strays(root: &Path, files: &[(PathBuf, String)]) -> Vec<PathBuf> {
    let known: BTreeSet<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    let entries = RUST.iter().chain([&MAN]).filter_map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).ok()?;
        Some(entries.filter_map(|e| Some(Path::new(folder).join(e.ok()?.file_name()))))
    });
    entries.flatten().filter(|path| !known.contains(path.as_path())).collect()
}
