//! Rules about the text of one file.

use std::path::Path;

use super::Breach;
use super::source::{Line, lines};

/// Longest source file, in lines; generated files are exempt.
const LENGTH: usize = 700;

/// What may read the environment and exit in `crates`, besides those that give programs a library: what some of them share.
const EDGES: [&str; 1] = ["model"];

/// What those crates may not say, and what to do instead.
const FORBIDDEN: [(&str, &str); 2] = [
    (
        "std::env::",
        "a library takes settings as values; read the environment in cli, launch or *-abi",
    ),
    ("process::exit", "a library does not end the process; return an error"),
];

const PRINTING: &str = "it panics where nobody reads: return a value or an error; a library of programs says it by its `say`";
/// What nothing in `crates` may say.
const PRINTS: [(&str, &str); 4] =
    [("println!", PRINTING), ("eprintln!", PRINTING), ("print!", PRINTING), ("eprint!", PRINTING)];

/// Unfinished or left over, in any crate and in tests too.
const UNFINISHED: [(&str, &str); 3] = [
    ("todo!", "return an error that says what is not done"),
    ("unimplemented!", "return an error that says what is not done"),
    ("dbg!", "remove it"),
];

/// Names of constants that say neither what they bound nor in what unit: `FRAME_BYTES_MAX` does.
const VAGUE: [&str; 20] = [
    "EVERY",
    "FEW",
    "IN_VAIN",
    "KEPT",
    "LARGEST",
    "LEAST",
    "LIMIT",
    "LONGEST",
    "LOOK",
    "LOOK_EVERY",
    "MANY",
    "MOST",
    "OFTEN",
    "PATIENCE",
    "SELDOM",
    "SHORT",
    "SHORTEST",
    "SHOWN",
    "SOON",
    "WORD",
];

const ORDERINGS: [&str; 5] = [
    "Ordering::Relaxed",
    "Ordering::Acquire",
    "Ordering::Release",
    "Ordering::AcqRel",
    "Ordering::SeqCst",
];

/// Adds the breaches of one file; `path` is from the root.
pub fn check(path: &Path, text: &str, breaches: &mut Vec<Breach>) {
    let mut add = |line: usize, text: String| {
        breaches.push(Breach { path: path.to_path_buf(), line: line + 1, text });
    };
    for (i, line) in text.lines().enumerate() {
        if line.contains('\t') {
            add(i, "a tab; use spaces".to_owned());
        }
        if line.ends_with([' ', '\r']) {
            add(i, "white space at the end of the line".to_owned());
        }
    }
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let count = text.lines().count();
    if ["rs", "c", "h", "cpp", "py", "sh", "ts", "tsx", "css", "mjs"].contains(&extension)
        && count > LENGTH
        && !is_generated(path)
    {
        add(LENGTH, format!("{count} lines; split the file, the limit is {LENGTH}"));
    }
    if extension == "rs" {
        check_rust(path, &lines(text), &mut add);
    }
}

fn is_generated(path: &Path) -> bool {
    crate::codegen::RUST.iter().any(|folder| path.starts_with(folder))
        || ["mpi.h", "shmem.h", "pshmem.h"].iter().any(|h| path == Path::new("include").join(h))
        || path == Path::new("web/src/api/schema.d.ts")
        || path.starts_with("tests/abi")
}

fn check_rust(path: &Path, lines: &[Line], add: &mut impl FnMut(usize, String)) {
    let words = |list: &[(&'static str, &'static str)], line: &Line| {
        list.iter().find(|(word, _)| has_word(&line.code, word)).copied()
    };
    let (in_crates, library) = (in_crates(path), library(path));
    let needs_orderings = !path.starts_with("crates/sync") && !is_test_file(path);
    for (i, line) in lines.iter().enumerate() {
        if let Some((word, advice)) = words(&UNFINISHED, line) {
            add(i, format!("`{word}`: {advice}"));
        }
        if line.test {
            continue;
        }
        if let Some(name) =
            constant(&line.code).filter(|name| VAGUE.contains(name) && !is_test_file(path))
        {
            add(i, format!("a constant `{name}`: say what it bounds, as in `FRAME_BYTES_MAX`"));
        }
        if let Some((word, advice)) = words(&PRINTS, line).filter(|_| in_crates) {
            add(i, format!("`{word}` in a crate of a library: {advice}"));
        }
        if let Some((word, advice)) = words(&FORBIDDEN, line).filter(|_| library) {
            add(i, format!("`{word}` in a library crate: {advice}"));
        }
        let ordering = ORDERINGS.iter().find(|word| has_word(&line.code, word));
        if let Some(word) = ordering.filter(|_| needs_orderings && !explained(lines, i)) {
            add(
                i,
                format!(
                    "`{word}` without a comment on it or within 3 lines before; say what it pairs with"
                ),
            );
        }
    }
}

/// The name of a module's constant; those inside a function are read beside their use.
fn constant(code: &str) -> Option<&str> {
    let code = code.strip_prefix("pub").map_or(code, |rest| match rest.split_once(") ") {
        Some((scope, rest)) if scope.starts_with('(') => rest,
        _ => rest.trim_start(),
    });
    code.strip_prefix("const ")?.split(':').next()
}

/// The crate in `crates` of which a file is code, not a test.
fn crate_of(path: &Path) -> Option<&str> {
    let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    match parts[..] {
        ["crates", name, "src", ..] if !is_test_file(path) => Some(name),
        _ => None,
    }
}

fn in_crates(path: &Path) -> bool {
    crate_of(path).is_some()
}

/// Whether the file is code of a crate that may do little: an engine is a value.
fn library(path: &Path) -> bool {
    let edge =
        |name: &str| name.ends_with("-abi") || name.starts_with("abi") || EDGES.contains(&name);
    crate_of(path).is_some_and(|name| !edge(name))
}

/// Files that hold nothing but tests.
pub fn is_test_file(path: &Path) -> bool {
    let in_tests = path
        .components()
        .any(|part| ["tests", "benches", "examples"].iter().any(|name| part.as_os_str() == *name));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    in_tests || stem == "tests" || stem.ends_with("_tests")
}

/// A comment within the statement, up to the line itself, or within the three lines before it.
fn explained(lines: &[Line], at: usize) -> bool {
    let goes_on = |line: &Line| {
        let code = line.code.trim_end();
        !code.is_empty() && !code.ends_with([';', '{', '}'])
    };
    let start = (0..at).rev().find(|&i| !goes_on(&lines[i])).map_or(0, |i| i + 1);
    lines[start.saturating_sub(3)..=at].iter().any(|line| line.comment)
}

/// Whether `word` occurs in `code` and is not the end of a longer identifier.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let mut breaches = Vec::new();
        check(Path::new(path), text, &mut breaches);
        breaches.iter().map(Breach::to_string).collect()
    }

    fn one(path: &str, text: &str, expected: &str) {
        let found = found(path, text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected), "{found:?}");
    }

    #[test]
    fn libraries_do_not_print_read_the_environment_or_exit() {
        one("crates/fm/src/lib.rs", "\nprintln!(\"x\");\n", "crates/fm/src/lib.rs:2: `println!`");
        one("crates/mpi/src/a.rs", "std::env::var(X)", "crates/mpi/src/a.rs:1: `std::env::`");
        one(
            "crates/shm/src/a.rs",
            "std::process::exit(1)",
            "crates/shm/src/a.rs:1: `process::exit`",
        );
        one(
            "crates/mpi-abi/src/a.rs",
            "eprintln!(\"x\");",
            "crates/mpi-abi/src/a.rs:1: `eprintln!`",
        );
        assert_eq!(found("crates/mpi-abi/src/a.rs", "std::env::var(X)"), Vec::<String>::new());
        for path in ["cli/src/main.rs", "crates/fm/tests/a.rs"] {
            assert_eq!(found(path, "println!(\"x\");"), Vec::<String>::new());
        }
        let test = "#[cfg(test)]\nmod tests {\n    fn f() { println!(\"\") }\n}\n";
        assert_eq!(found("crates/fm/src/lib.rs", test), Vec::<String>::new());
        assert_eq!(found("crates/fm/src/lib.rs", "// println!\n"), Vec::<String>::new());
    }

    #[test]
    fn unfinished_work_is_found_everywhere() {
        one("cli/src/main.rs", "todo!()", "cli/src/main.rs:1: `todo!`");
        one("crates/fm/tests/a.rs", "dbg!(x)", "crates/fm/tests/a.rs:1: `dbg!`");
    }

    #[test]
    fn constants_say_what_they_bound() {
        let path = "crates/shm/src/ring.rs";
        for text in
            ["const FEW: u32 = 4;", "pub const FEW: u32 = 4;", "pub(super) const FEW: u32 = 4;"]
        {
            one(path, text, "crates/shm/src/ring.rs:1: a constant `FEW`");
        }
        for text in ["const FEW_PEERS: u32 = 4;", "    const FEW: u32 = 4;", "let few = FEW;"] {
            assert_eq!(found(path, text), Vec::<String>::new());
        }
        assert_eq!(found("crates/shm/tests/a.rs", "const FEW: u32 = 4;"), Vec::<String>::new());
    }

    #[test]
    fn atomic_orderings_are_explained() {
        let path = "crates/shm/src/ring.rs";
        one(path, "a.load(Ordering::Acquire)", "crates/shm/src/ring.rs:1: `Ordering::Acquire`");
        one(path, "// far away\n\n\n\na.load(Ordering::Relaxed)", "crates/shm/src/ring.rs:5:");
        let good =
            ["// pairs with push\na.load(Ordering::Acquire)", "Ordering::Less", "let x = 1;"];
        for text in good {
            assert_eq!(found(path, text), Vec::<String>::new());
        }
        assert_eq!(found("crates/sync/src/a.rs", "Ordering::SeqCst"), Vec::<String>::new());
    }

    #[test]
    fn text_rules() {
        one("a.md", "x \n", "a.md:1: white space");
        one("a.toml", "\tx", "a.toml:1: a tab");
        let long = "x\n".repeat(LENGTH + 1);
        one("cli/src/a.rs", &long, "cli/src/a.rs:701: 701 lines");
        assert_eq!(found("crates/mpi-abi/src/generated/a.rs", &long), Vec::<String>::new());
        assert_eq!(found("spec/a.toml", &long), Vec::<String>::new());
    }
}
