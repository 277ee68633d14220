//! Inside `crates/mpi` modules depend one way: `engine` below `pt2pt` below `coll` (ARCHITECTURE.md). The engine
//! holds data for the modules above it, so it names some of their types, and one file hands packets to them.

use std::path::Path;

use super::Breach;

/// A folder, the module above it, and what may be named of that module there.
const ABOVE: [(&str, &str, &[&str]); 3] = [
    (
        "crates/mpi/src/engine",
        "crate::pt2pt",
        // What is sent and how it is chosen; what the ways remember of arrivals; arguments of sends and receives.
        &[
            "protocol",
            "select",
            "cancel::Cancelling",
            "Arrivals",
            "Incoming",
            "Mode",
            "Outgoing",
            "Started",
        ],
    ),
    // A request's operation may be a collective; reductions by functions of the program wait to be run.
    (
        "crates/mpi/src/engine",
        "crate::coll",
        &["Collective", "Compute", "shm::History", "shm::KnownLimits"],
    ),
    ("crates/mpi/src/pt2pt", "crate::coll", &[]),
];

/// The file of the engine that hands packets and steps to the ways.
const DISPATCH: &str = "crates/mpi/src/engine/dispatch.rs";

/// Adds the breaches of one file; `path` is from the root.
pub fn check(path: &Path, text: &str, breaches: &mut Vec<Breach>) {
    if path == Path::new(DISPATCH) {
        return;
    }
    for (folder, module, allowed) in ABOVE {
        if !path.starts_with(folder) {
            continue;
        }
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for (at, _) in code.match_indices(module) {
                let rest = code[at + module.len()..].trim_start_matches("::");
                let listed = rest.strip_prefix('{').and_then(|list| list.split('}').next());
                // A list over several lines is left to its author: what it names is used elsewhere in the file.
                let names =
                    listed.map_or(vec![rest], |list| list.split(',').map(str::trim).collect());
                let above = |name: &&str| !allowed.iter().any(|ok| begins(name, ok));
                if let Some(name) = names.into_iter().find(above) {
                    let name = name.trim_end_matches(';');
                    let text = format!(
                        "{module}::{name} lies above this module: call it from {DISPATCH} or pass it in"
                    );
                    breaches.push(Breach { path: path.to_path_buf(), line: i + 1, text });
                }
            }
        }
    }
}

/// Whether `name` is `module`, or something in it.
fn begins(name: &str, module: &str) -> bool {
    name.strip_prefix(module)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut breaches = Vec::new();
        check(Path::new(path), text, &mut breaches);
        breaches.iter().map(|breach| breach.line).collect()
    }

    #[test]
    fn what_lies_above_is_not_named() {
        let engine = "crates/mpi/src/engine/a.rs";
        let text = "use crate::pt2pt::{Arrivals, protocol};\n\
                    use crate::pt2pt::{Arrivals, eager};\n\
                    crate::pt2pt::split_copy::check(self);\n\
                    // crate::pt2pt::stream has the rest\n\
                    use crate::pt2pt::selection;\n\
                    use crate::pt2pt::select::DEFAULT;\n\
                    use crate::coll::{Collective, Plan};\n\
                    all: Vec<crate::coll::shm::History>,\n";
        assert_eq!(lines(engine, text), [2, 3, 5, 7]);
        assert_eq!(lines(DISPATCH, text), []);
        assert_eq!(lines("crates/mpi/src/pt2pt/a.rs", text), [7, 8]);
        assert_eq!(lines("crates/mpi/src/coll/a.rs", text), []);
    }
}
