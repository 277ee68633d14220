//! What spec/abi/ says, against the headers and libraries of the MPIs it is about, where packages
//! of theirs lie in `peers/` of the tree or beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::abi::Other;
use crate::spec::Spec;

/// A file of an installed peer.
fn peer(path: &str) -> Option<PathBuf> {
    let places = ["peers", "../peers"].map(|place| crate::root().join(place).join(path));
    let found = places.into_iter().find(|path| path.exists());
    if found.is_none() {
        hpvm_tests::skip::skipped(&format!(
            "there is no peers/{path} (scripts/setup tests fetches it)"
        ));
    }
    found
}

fn load(title: &str) -> (Spec, Other) {
    let spec = Spec::load(&crate::root().join("spec")).expect("spec/");
    let all = Other::load_all(&crate::root(), &spec).expect("spec/abi/");
    let other = all.into_iter().find(|other| other.title == title).expect("the ABI");
    (spec, other)
}

/// Runs a C program that prints `name value` lines.
fn print_values(include: &Path, body: &str) -> Option<BTreeMap<String, i64>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("probe.c"), folder.path().join("probe"));
    let text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <stdint.h>\n#include <mpi.h>\n\
         int main(void) {{\n{body}    return 0;\n}}\n"
    );
    std::fs::write(&source, text).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.arg("-w").arg("-I").arg(include).arg(&source).arg("-o").arg(&program);
    let output = compiler.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().expect("the probe");
    let text = String::from_utf8(output.stdout).expect("text");
    let pair = |line: &str| {
        let (name, value) = line.split_once(' ').expect("two words");
        (name.to_owned(), value.parse().expect("a number"))
    };
    Some(text.lines().map(pair).collect())
}

#[test]
fn numbers_and_layout_are_those_of_mpich() {
    let Some(include) = peer("mpich/include") else { return };
    let (spec, other) = load("MPICH's ABI");
    let mut body = String::new();
    let constants = other.constants.iter().map(|(name, value)| (name.as_str(), value.as_integer()));
    let further = other.further.iter().map(|f| (f.name.as_str(), Some(f.value)));
    let mut ours = BTreeMap::new();
    for (name, value) in constants.chain(further) {
        body.push_str(&format!(
            "    printf(\"%s %lld\\n\", \"{name}\", (long long)(intptr_t)({name}));\n"
        ));
        ours.insert(name.to_owned(), value.expect("a number"));
    }
    for (i, field) in other.status.iter().enumerate() {
        let name = field.strip_prefix("int ").expect("an int");
        body.push_str(&format!(
            "    printf(\"%s %zu\\n\", \"{name}\", offsetof(MPI_Status, {name}));\n"
        ));
        ours.insert(name.to_owned(), 4 * i as i64);
    }
    let sizes = [("MPI_Status", 20), ("MPI_Aint", 8), ("MPI_Count", 8), ("MPI_Offset", 8)];
    let handles = spec.types.handle.iter().filter(|h| !h.name.starts_with("MPI_T_"));
    let size = |name: &str| if name == "MPI_File" { 8 } else { 4 };
    let handles = handles.map(|h| (h.name.as_str(), size(&h.name)));
    for (name, size) in sizes.into_iter().chain(handles) {
        body.push_str(&format!("    printf(\"%s %zu\\n\", \"{name}\", sizeof({name}));\n"));
        ours.insert(name.to_owned(), size);
    }
    let Some(theirs) = print_values(&include, &body) else { return };
    let different: Vec<_> =
        ours.iter().filter(|(name, value)| theirs[*name] as i32 != **value as i32).collect();
    assert_eq!(different, [], "(name, our value)");
    assert_eq!(ours.len(), theirs.len());
}

/// Names that the compiled entry points of a crate define, as its sources say.
fn exported(folder: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![crate::root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let named = words.filter(|word| {
                ["MPI", "PMPI", "QMPI"].iter().any(|prefix| word.starts_with(prefix))
            });
            names.extend(named.map(str::to_owned));
        }
    }
    names
}

#[test]
fn every_public_function_of_mpich_and_intel_mpi_is_exported() {
    let ours = exported("crates/abi-mpich/src");
    for library in ["mpich/lib/libmpi.so.12", "impi/lib/libmpi.so.12"] {
        let Some(library) = peer(library) else { continue };
        let Ok(output) = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output()
        else {
            hpvm_tests::skip::skipped("there is no nm");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let functions = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (kind, name) = (words.next()?, words.next()?);
            "TWi".contains(kind).then(|| name.split('@').next().unwrap_or(name).to_owned())
        });
        let public = functions.filter(|name| {
            let short = name.strip_prefix('P').unwrap_or(name);
            short.starts_with("MPI_") || short.starts_with("MPIX_")
        });
        let missing: Vec<String> = public.filter(|name| !ours.contains(name)).collect();
        assert_eq!(missing, Vec::<String>::new(), "{}", library.display());
    }
}

#[test]
fn numbers_and_layout_are_those_of_open_mpi() {
    let Some(include) = peer("openmpi/include") else { return };
    let (_, other) = load("Open MPI");
    let mut ours = BTreeMap::new();
    let mut body = String::new();
    // Handles and functions of attributes are addresses; this one is a stand-in for what is missing.
    let numbers = other.constants.iter().filter_map(|(n, v)| Some((n.as_str(), v.as_integer()?)));
    for (name, value) in numbers.filter(|(name, _)| *name != "MPI_BUFFER_AUTOMATIC") {
        body.push_str(&format!(
            "    printf(\"%s %lld\\n\", \"{name}\", (long long)(intptr_t)({name}));\n"
        ));
        ours.insert(name.to_owned(), value);
    }
    for (i, field) in other.status.iter().enumerate() {
        let name = field.split(' ').next_back().expect("a name");
        body.push_str(&format!("    printf(\"{name} %zu\\n\", offsetof(MPI_Status, {name}));\n"));
        ours.insert(name.to_owned(), 4 * i as i64);
    }
    body.push_str("    printf(\"size %zu\\n\", sizeof(MPI_Status));\n");
    ours.insert("size".to_owned(), 24);
    let Some(theirs) = print_values(&include, &body) else { return };
    assert!(ours.len() > 200);
    assert_eq!(theirs, ours);
}

/// The data symbols that the header makes handles of, by the header's own text, which says for each
/// constant whose address it is.
#[test]
fn handles_are_the_symbols_of_open_mpi() {
    let Some(include) = peer("openmpi/include") else { return };
    let (_, other) = load("Open MPI");
    let header = std::fs::read_to_string(include.join("mpi.h")).expect("a header");
    let mut seen = 0;
    for line in header.lines() {
        let Some((head, rest)) = line.split_once("OMPI_PREDEFINED_GLOBAL(") else { continue };
        let name = head.trim_start_matches(['#', ' ']).split_whitespace().nth(1);
        let symbol = rest.split([',', ')']).nth(1).map(str::trim);
        let (Some(name), Some(symbol)) = (name, symbol) else { continue };
        if !name.starts_with("MPI_") {
            continue;
        }
        let ours = other.constants.get(name).and_then(|v| v.as_str());
        let further = other.symbols.iter().find(|s| s.name.as_deref() == Some(name));
        let alias = name == "MPI_CXX_COMPLEX";
        assert!(alias || ours.or(further.map(|s| s.symbol.as_str())) == Some(symbol), "{name}");
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}
