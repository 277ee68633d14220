//! include/mpi.h under compilers, and against the header of another MPI where one is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::emit::header::{header, prototype_list};
use crate::spec::Spec;

/// Runs a program; `None` when it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => panic!("{program}: {e}"),
    }
}

fn compile(compiler: &str, flags: &[&str], source: &Path, include: &Path, output: &Path) -> bool {
    let include = format!("-I{}", include.display());
    let (source, output) = (source.display().to_string(), output.display().to_string());
    let mut arguments = flags.to_vec();
    arguments.extend([include.as_str(), source.as_str(), "-o", output.as_str()]);
    let Some(result) = run(compiler, &arguments) else { return false };
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{compiler} {arguments:?}:\n{errors}");
    true
}

fn spec() -> Spec {
    Spec::load(&crate::root().join("spec")).expect("spec/")
}

/// The include folder of MPICH's ABI header, in `peers/` of the tree or beside it.
fn mpich() -> Option<PathBuf> {
    let places = ["peers/mpich/include", "../peers/mpich/include"];
    let folders = places.iter().map(|place| crate::root().join(place));
    folders.into_iter().find(|folder| folder.join("mpi_abi.h").exists())
}

#[test]
fn numbers_of_the_standard_abi() {
    let spec = spec();
    let symbols: Vec<String> =
        spec.functions().flat_map(|f| f.symbols()).map(|(name, _)| name).collect();
    assert_eq!(symbols.len(), 664);
    assert_eq!(symbols.iter().filter(|name| name.starts_with("MPI_T_")).count(), 51);
    let text = header(&spec).expect("header");
    for name in &symbols {
        let declared = text.contains(&format!(" {name}(")) && text.contains(&format!(" P{name}("));
        let hidden = ["MPI_Psend_init_c", "MPI_Precv_init_c"].contains(&name.as_str());
        assert!(declared != hidden, "{name}");
    }
}

#[test]
fn the_header_compiles_as_c_and_as_cpp() {
    let folder = tempfile::tempdir().expect("a folder");
    // Once as it is, and once with all warnings about the functions that it holds.
    let plain = header(&spec()).expect("header").replace("#pragma GCC system_header", "");
    std::fs::write(folder.path().join("mpi.h"), plain).expect("a header");
    strictly(&crate::root().join("include"), folder.path());
    strictly(folder.path(), folder.path());
}

/// Under several standards of C and C++.
fn strictly(include: &Path, folder: &Path) {
    let text = "#include <mpi.h>\n#include <mpi.h>\nMPI_Status status;\n\
        int use(MPI_Comm comm) { return MPI_Barrier(comm) + PMPI_Barrier(MPI_COMM_WORLD); }\n\
        MPI_Fint (*number)(MPI_Comm) = MPI_Comm_c2f;\n\
        char array[MPI_MAX_OBJECT_NAME + MPI_ERR_LASTCODE];\n";
    let object = folder.join("a.o");
    let strict = ["-c", "-Wall", "-Wextra", "-Werror", "-pedantic-errors"];
    let languages = [
        ("cc", "a.c", ["-std=c89", "-std=c99", "-std=c11"]),
        ("c++", "a.cpp", ["-std=c++98", "-std=c++11", "-std=c++17"]),
    ];
    for (compiler, name, standards) in languages {
        let source = folder.join(name);
        std::fs::write(&source, text).expect("a source file");
        for standard in standards {
            let flags = [&strict[..], &[standard]].concat();
            compile(compiler, &flags, &source, include, &object);
        }
    }
}

/// A program that prints every constant and the layout of the types.
fn probe(spec: &Spec, include: &str) -> String {
    let mut text = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <{include}>\n\
         #define CONSTANT(c) printf(\"%s %lld\\n\", #c, (long long)(intptr_t)(c))\n\
         #define SIZE(t) printf(\"sizeof(%s) %zu\\n\", #t, sizeof(t))\n\
         #define FIELD(f) printf(\"offsetof(%s) %zu\\n\", #f, offsetof(MPI_Status, f))\n\
         int main(void) {{\n"
    );
    for (_, name, _) in spec.constants().expect("constants") {
        text.push_str(&format!("    CONSTANT({name});\n"));
    }
    for name in ["MPI_VERSION", "MPI_SUBVERSION", "MPI_ABI_VERSION", "MPI_ABI_SUBVERSION"] {
        text.push_str(&format!("    CONSTANT({name});\n"));
    }
    let types = &spec.types;
    let names = types.handle.iter().map(|t| &t.name).chain(types.integer.iter().map(|t| &t.name));
    for name in names.chain(types.enumeration.iter().map(|t| &t.name)) {
        text.push_str(&format!("    SIZE({name});\n"));
    }
    text.push_str("    SIZE(MPI_Status);\n");
    for field in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"] {
        text.push_str(&format!("    FIELD({field});\n"));
    }
    text + "    return 0;\n}\n"
}

#[test]
fn constants_and_layout_are_those_of_mpich() {
    let Some(theirs) = mpich() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let spec = spec();
    let ours = crate::root().join("include");
    let mut printed = Vec::new();
    for (name, header, include) in [("ours", "mpi.h", ours), ("theirs", "mpi_abi.h", theirs)] {
        let source = folder.path().join(format!("{name}.c"));
        let program = folder.path().join(name);
        std::fs::write(&source, probe(&spec, header)).expect("a source file");
        if !compile("cc", &["-w"], &source, &include, &program) {
            return;
        }
        let output = Command::new(&program).output().expect("the probe");
        printed.push(String::from_utf8(output.stdout).expect("text"));
    }
    let lines = printed[0].lines().zip(printed[1].lines());
    let different: Vec<_> = lines.filter(|(ours, theirs)| ours != theirs).collect();
    assert_eq!(different, []);
    assert_eq!(spec.constants().expect("constants").len(), 360);
    assert_eq!(printed[0], printed[1]);
}

/// A second declaration of a function with another type is an error in C.
#[test]
fn prototypes_are_those_of_mpich() {
    let Some(theirs) = mpich() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("prototypes.c");
    let text = format!("#include <mpi_abi.h>\n{}", prototype_list(&spec()));
    std::fs::write(&source, text).expect("a source file");
    compile("cc", &["-c", "-Wall"], &source, &theirs, &folder.path().join("a.o"));
}
