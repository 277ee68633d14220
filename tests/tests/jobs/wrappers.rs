//! `mpicc` and its kin: what they compile, what they show, whose variables they heed.

use std::path::Path;
use std::process::Command;

use crate::common::{clean, folder, prefix, sources, succeed};

/// Whether a command is there; a note that the test is skipped when it is not.
pub fn there(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        hpvm_tests::skip::skipped(&format!("{name} is not installed"));
    }
    found
}

fn wrapper(name: &str, arguments: &[&str]) -> String {
    let mut command = clean(prefix().join("bin").join(name));
    command.args(arguments);
    succeed(command).trim_end().to_string()
}

/// Runs a program on 2 ranks.
pub fn on_two(prefix: &Path, program: &Path, arguments: &[&str]) -> String {
    let mut command = clean(prefix.join("bin/mpirun"));
    command.args(["-n", "2"]).arg(program).args(arguments);
    succeed(command)
}

#[test]
fn a_cpp_program() {
    let home = folder("cpp");
    let source = sources().join("plus.cpp");
    for name in ["mpicxx", "mpic++"] {
        let binary = home.join(name);
        let (from, to) = (source.display().to_string(), binary.display().to_string());
        wrapper(name, &["-Wall", "-Werror", "-O1", "-o", &to, &from]);
        assert_eq!(on_two(&prefix(), &binary, &[]), "sum 3000\n");
    }
}

/// The header's own functions ([mpi.h], after the prototypes) with programs of all languages and manners.
#[test]
fn what_the_standard_abi_lacks_compiles_strictly() {
    let home = folder("older");
    let conformance = sources().with_file_name("conformance");
    let manners = [
        ("mpicc", &["-std=c99"][..]),
        ("mpicc", &["-std=gnu17"][..]),
        ("mpicxx", &["-x", "c++", "-std=c++11"][..]),
        ("mpicxx", &["-x", "c++", "-std=c++20"][..]),
    ];
    for name in ["fint_handles", "fint_status", "removed_types", "removed_env"] {
        let source = conformance.join(name).with_extension("c").display().to_string();
        for (compiler, manner) in manners {
            let binary = home.join(name);
            let to = binary.display().to_string();
            let strict = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-o", &to, &source];
            wrapper(compiler, &[manner, &strict[..]].concat());
            assert_eq!(on_two(&prefix(), &binary, &[]), "No errors\n", "{name} {manner:?}");
        }
    }
}

#[test]
fn compiling_and_linking_apart() {
    let home = folder("apart");
    let (object, binary) = (home.join("many.o"), home.join("many"));
    let source = sources().join("many.c");
    wrapper("mpicc", &["-c", "-o", &object.to_string_lossy(), &source.to_string_lossy()]);
    wrapper("mpicc", &["-o", &binary.to_string_lossy(), &object.to_string_lossy()]);
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
}

#[test]
fn what_the_wrappers_show() {
    let prefix = prefix();
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let (include, lib) = (include.to_string_lossy(), lib.to_string_lossy());
    for name in ["mpicc", "mpicxx", "mpic++"] {
        let shown = wrapper(name, &["-show", "-O2", "x.c"]);
        for part in ["-O2", "x.c", &format!("-I{include}"), &format!("-L{lib}"), "-lmpi_abi"] {
            assert!(shown.split_whitespace().any(|word| word == part), "{part} in: {shown}");
        }
        let compiles = wrapper(name, &["-show", "-c", "x.c"]);
        assert!(compiles.contains(&*include) && !compiles.contains("-lmpi_abi"), "{compiles}");
        assert_eq!(wrapper(name, &["-showme:compile"]), format!("-I{include}"));
        assert!(wrapper(name, &["-showme:link"]).contains(&format!("-L{lib}")));
        assert_eq!(wrapper(name, &["-showme:incdirs"]), include);
        assert_eq!(wrapper(name, &["-showme:libdirs"]), lib);
        assert_eq!(wrapper(name, &["-showme:libs"]), "mpi_abi");
        let command = wrapper(name, &["-showme:command"]);
        assert!(shown.starts_with(&command), "{command}: {shown}");
        assert!(wrapper(name, &["-showme:version"]).contains("hpvm"));
    }
    assert_ne!(wrapper("mpicc", &["-showme:command"]), wrapper("mpicxx", &["-showme:command"]));
}

/// Every spelling, in front, behind and in the middle.
#[test]
fn questions_in_every_spelling_and_place() {
    let prefix = prefix();
    let include = format!("-I{}/include", prefix.display());
    let lib = format!("-L{}/lib", prefix.display());
    for words in [["X", "-O2", "a.c"], ["-O2", "X", "a.c"], ["-O2", "a.c", "X"]] {
        let ask = |question| {
            let place = |word: &str| if word == "X" { question } else { word }.to_owned();
            let words: Vec<String> = words.iter().map(|word| place(word)).collect();
            wrapper("mpicc", &words.iter().map(String::as_str).collect::<Vec<_>>())
        };
        for question in ["-show", "--show", "-showme", "--showme"] {
            let shown = ask(question);
            assert!(shown.starts_with("cc -O2 a.c ") && shown.contains(&lib), "{shown}");
        }
        for question in ["-showme:compile", "--showme:compile"] {
            assert_eq!(ask(question), include);
        }
        for question in ["-showme:link", "--showme:link"] {
            assert!(ask(question).starts_with(&lib) && ask(question).ends_with("-lmpi_abi"));
        }
        for question in ["-compile_info", "-compile-info", "--compile-info"] {
            assert_eq!(ask(question), format!("cc -O2 a.c {include}"));
        }
        for question in ["-link_info", "-link-info", "--link_info"] {
            let shown = ask(question);
            assert!(shown.starts_with("cc -O2 a.c ") && shown.ends_with("-lmpi_abi"), "{shown}");
        }
        assert_eq!(ask("--showme:command"), "cc");
    }
    let mut wrong = clean(prefix.join("bin/mpicc"));
    let output = wrong.args(["-showme:nothing", "a.c"]).output().expect("mpicc");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("incdirs"), "{said}");
}

/// The compiler: ours before Open MPI's, MPICH's and Intel's variables, -cc= before all, anywhere.
#[test]
fn whose_compiler_it_is() {
    let bin = prefix().join("bin");
    let ask = |name: &str, variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = clean(bin.join(name));
        command.envs(variables.iter().copied()).args(arguments).arg("-showme:command");
        succeed(command).trim_end().to_owned()
    };
    for (name, kind) in [("mpicc", "CC"), ("mpicxx", "CXX"), ("mpiCC", "CXX"), ("mpifort", "FC")] {
        for family in ["HPVM", "OMPI", "MPICH", "I_MPI"] {
            let variable = format!("{family}_{kind}");
            assert_eq!(ask(name, &[(&variable, "other")], &[]), "other", "{name} {variable}");
        }
        let (ours, theirs) = (format!("HPVM_{kind}"), format!("OMPI_{kind}"));
        assert_eq!(ask(name, &[(&theirs, "b"), (&ours, "a")], &[]), "a");
        let flag = format!("-{}=c", kind.to_lowercase());
        assert_eq!(ask(name, &[(&ours, "a")], &["-O2", &flag, "x.c"]), "c");
    }
    for variable in ["OMPI_F77", "MPICH_F77", "MPICH_F90", "I_MPI_F90"] {
        assert_eq!(ask("mpif90", &[(variable, "other")], &[]), "other", "{variable}");
    }
    // A command with arguments, and flags.
    let home = folder("variables");
    let (binary, source) = (home.join("many"), sources().join("many.c"));
    let mut command = clean(bin.join("mpicc"));
    command.env("OMPI_CC", "env LC_ALL=C cc").env("OMPI_CFLAGS", "-O1 -DSOMETHING=1");
    command.env("OMPI_LDFLAGS", "-L/nowhere").env("OMPI_LIBS", "-lm");
    command.arg("-echo").arg("-o").arg(&binary).arg(&source);
    let said = succeed(command);
    for part in ["env LC_ALL=C cc", "-O1", "-L/nowhere", "-lm"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
}

/// `-lmpi` would be the system's Open MPI, or ours for programs of another ABI.
#[test]
fn libraries_of_other_mpis_are_left_out() {
    let home = folder("left-out");
    let (binary, source) = (home.join("many"), sources().join("many.c"));
    let mut command = clean(prefix().join("bin/mpicc"));
    command.arg("-o").arg(&binary).arg(&source).args([
        "-lmpi",
        "-lmpi_cxx",
        "-lmpich",
        "-lopen-pal",
    ]);
    let output = command.output().expect("mpicc");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("'-lmpich' is left out"), "{said}");
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
}

/// Compiled with our header, which is for the standard ABI, a program must not get a library of another ABI in
/// silence; who opens that by its name gets it all the same.
#[test]
fn by_hand_only_the_library_of_the_header_links() {
    let home = folder("by-hand");
    let (binary, source) = (home.join("many"), sources().join("many.c"));
    let link = |library: &str| {
        let mut command = clean("cc");
        command.arg("-o").arg(&binary).arg(&source).arg("-I").arg(prefix().join("include"));
        command.arg("-L").arg(prefix().join("lib")).args([library, "-lm"]);
        command.output().expect("cc")
    };
    for library in ["-lmpi", "-lmpich"] {
        let output = link(library);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("MPI_Init"), "{library}: {said}");
    }
    assert!(link("-lmpi_abi").status.success());
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
    if there("python3") {
        let open = "import ctypes, sys; print(hasattr(ctypes.CDLL(sys.argv[1]), 'MPI_Init'))";
        for name in ["libmpi.so", "libmpich.so"] {
            let mut python = clean("python3");
            python.args(["-c", open]).arg(prefix().join("lib").join(name));
            assert_eq!(succeed(python), "True\n", "{name}");
        }
    }
}

#[test]
fn without_a_file_the_compiler_tells_about_itself() {
    for arguments in [&["--version"][..], &["-v"], &["-dumpversion"], &["-print-search-dirs"]] {
        wrapper("mpicc", arguments);
    }
    // PETSc's configure knows the GNU compilers by this text, and gives them the flags that they need.
    let mut cc = clean("cc");
    cc.arg("--help");
    assert_eq!(wrapper("mpicc", &["--help"]), succeed(cc).trim_end());
    assert!(wrapper("mpicc", &["-help"]).contains("-showme:link"));
    for name in ["mpicc", "mpicxx", "mpifort"] {
        let text = wrapper(name, &["-v"]);
        assert!(text.starts_with(&format!("{name}: hpvm ")), "{text}");
    }
}

#[test]
fn a_command_that_was_shown_works() {
    let home = folder("shown");
    let (binary, source) = (home.join("many"), sources().join("many.c"));
    let shown =
        wrapper("mpicc", &["-show", "-o", &binary.to_string_lossy(), &source.to_string_lossy()]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &shown]);
    succeed(shell);
    assert_eq!(on_two(&prefix(), &binary, &["ring"]), "done, 2 ranks\n");
}

#[test]
fn an_error_of_the_compiler_comes_through() {
    let home = folder("broken");
    let source = home.join("broken.c");
    std::fs::write(&source, "int main(void) { return this_is_nothing; }\n").expect("a file");
    let mut command = clean(prefix().join("bin/mpicc"));
    command.arg("-o").arg(home.join("broken")).arg(&source);
    let output = command.output().expect("mpicc starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("this_is_nothing"), "{message}");
}
