//! What `hpvm tune` or the user chose for the jobs that are started from here, for `hpvm info`.

use std::path::Path;

use hpvm_coll::select::origin::{self, Origin, Unfit};
use hpvm_coll::select::text::CARRIED;
use hpvm_coll::select::{ALL, ANY, Carrier, Copies, DEFAULT, Tables};
use hpvm_job::machine::{Machine, TableSettings, TableSource};

/// The tables in force.
pub struct Tuned {
    /// Where they come from, and why from nowhere else.
    pub source: String,
    tables: Tables,
}

impl Tuned {
    /// Asks the environment and the cache, as a job does.
    pub fn here() -> Tuned {
        let machine = Machine::here();
        let source = TableSettings::of(|name| std::env::var_os(name)).source(&machine);
        Tuned::of(&source, &Origin::new(&machine.cpu, machine.processors, &machine.kernel))
    }

    fn of(source: &TableSource, here: &Origin) -> Tuned {
        match source {
            TableSource::BuiltIn => Tuned::built_in(String::new()),
            TableSource::Named(path) => {
                let path = path.display();
                let parse = |text: Option<String>| text.unwrap_or_default().parse::<Tables>();
                match source.read().map(parse) {
                    Ok(Ok(tables)) => Tuned::by(format!("{path} (HPVM_TABLES)"), tables),
                    Ok(Err(wrong)) => Tuned::refused(&path, &wrong),
                    Err(wrong) => Tuned::refused(&path, &wrong),
                }
            }
            TableSource::Cache(path) => {
                let shown = path.display();
                match source.read() {
                    Ok(None) => Tuned::built_in(format!(" ({})", untuned(path))),
                    Ok(Some(text)) => match origin::fit(&text, here) {
                        Ok(tables) => Tuned::by(format!("{shown} (hpvm tune)"), tables),
                        Err(unfit) => {
                            Tuned::built_in(format!("; {shown} is ignored: {}", why(&unfit)))
                        }
                    },
                    Err(wrong) => Tuned::built_in(format!("; a file is ignored: {wrong}")),
                }
            }
        }
    }

    fn built_in(remark: String) -> Tuned {
        Tuned { source: format!("built-in{remark}"), tables: DEFAULT.clone() }
    }

    fn by(source: String, tables: Tables) -> Tuned {
        Tuned { source: source + &differences(&tables), tables }
    }

    fn refused(path: &dyn std::fmt::Display, wrong: &dyn std::fmt::Display) -> Tuned {
        let source = format!("{path} (HPVM_TABLES), which jobs refuse: {wrong}");
        Tuned { source, tables: DEFAULT.clone() }
    }

    /// What carries small collectives.
    pub fn small(&self) -> String {
        let by_messages = |at: &usize| {
            self.tables.carriers[*at].iter().any(|rule| rule.algorithm == Carrier::Messages)
        };
        let other: Vec<&str> = (0..CARRIED.len())
            .filter(by_messages)
            .map(|at| CARRIED[at].trim_end_matches("-by"))
            .collect();
        match other[..] {
            [] => "collective slots".to_string(),
            _ => format!("collective slots; messages for some lengths of {}", other.join(", ")),
        }
    }

    /// How often large messages are copied; `named` is `HPVM_SINGLE_COPY`.
    pub fn copies(&self, named: Option<&str>) -> String {
        match named {
            Some("yes") => return "one copy (HPVM_SINGLE_COPY)".to_string(),
            Some("no") => return "two copies (HPVM_SINGLE_COPY)".to_string(),
            _ => {}
        }
        let rules = self.tables.copies.iter().map(|rule| {
            let copies = match rule.algorithm {
                Copies::One => "one copy",
                Copies::Two => "two copies",
            };
            let ranks = if rule.ranks == ALL { "more".into() } else { rule.ranks.to_string() };
            match rule.bytes {
                ANY => format!("up to {ranks} ranks {copies}"),
                bytes => format!("up to {ranks} ranks and {bytes} bytes {copies}"),
            }
        });
        let rules: Vec<String> = rules.collect();
        match rules[..] {
            [] => "one or two copies, measured by each job".to_string(),
            _ => rules.join(", "),
        }
    }
}

/// Why nothing was found at `path`.
fn untuned(path: &Path) -> String {
    let folder = path.parent().unwrap_or(Path::new("."));
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name());
    let others = names.filter(|name| name.to_string_lossy().starts_with("tables-")).count();
    let advice = format!("hpvm tune would write {}", path.display());
    match others {
        0 => advice,
        _ => format!(
            "{advice}; what it found on other processors or kernels, {others} there, is ignored"
        ),
    }
}

fn why(unfit: &Unfit) -> String {
    match unfit {
        Unfit::Broken(wrong) => wrong.to_string(),
        Unfit::Foreign(None) => "it does not say on which machine it was measured".to_string(),
        Unfit::Foreign(Some(Origin { cpu, processors, kernel })) => {
            format!("it was measured on {cpu}, {processors} processors, kernel {kernel}")
        }
    }
}

/// Which collectives choose otherwise than by the built-in tables.
fn differences(tables: &Tables) -> String {
    let pairs = [
        ("bcast", tables.bcast == DEFAULT.bcast),
        ("reduce", tables.reduce == DEFAULT.reduce),
        ("allreduce", tables.allreduce == DEFAULT.allreduce),
        ("gather", tables.gather == DEFAULT.gather),
        ("scatter", tables.scatter == DEFAULT.scatter),
        ("allgather", tables.allgather == DEFAULT.allgather),
        ("allgatherv", tables.allgatherv == DEFAULT.allgatherv),
        ("alltoall", tables.alltoall == DEFAULT.alltoall),
        ("reduce_scatter", tables.reduce_scatter == DEFAULT.reduce_scatter),
    ];
    let other: Vec<&str> = pairs.iter().filter(|p| !p.1).map(|p| p.0).collect();
    match other[..] {
        [] => ", the same as the built-in ones".to_string(),
        _ => format!(", other than built-in: {}", other.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_coll::select::text::HEAD;

    fn of_cache(folder: &Path, text: &[u8]) -> Tuned {
        let path = folder.join("tables-here");
        std::fs::write(&path, text).unwrap();
        Tuned::of(&TableSource::Cache(path), &Origin::new("this cpu", 2, "6.1"))
    }

    #[test]
    fn what_is_in_force_is_told_and_so_is_what_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let here = "cpu this cpu\nprocessors 2\nkernel 6.1\n";
        let rules = "bcast any any binomial\nreduce-by 4 99 messages\nmessage 8 512 one-copy\n";
        let tuned = of_cache(dir.path(), format!("{HEAD}\n{here}{rules}").as_bytes());
        assert!(
            tuned.source.ends_with("(hpvm tune), other than built-in: bcast"),
            "{}",
            tuned.source
        );
        assert_eq!(tuned.small(), "collective slots; messages for some lengths of reduce");
        assert_eq!(tuned.copies(None), "up to 8 ranks and 512 bytes one copy");
        assert_eq!(tuned.copies(Some("no")), "two copies (HPVM_SINGLE_COPY)");

        let older = here.replace("6.1", "5.9");
        let tuned = of_cache(dir.path(), format!("{HEAD}\n{older}{rules}").as_bytes());
        let expected = "is ignored: it was measured on this cpu, 2 processors, kernel 5.9";
        assert!(tuned.source.contains(expected), "{}", tuned.source);
        assert_eq!(tuned.small(), "collective slots");

        for (text, expected) in [
            (&b"rubbish"[..], "line 1: 'rubbish'"),
            (&b"\xff\xfe\0"[..], "UTF-8"),
            (b"", "nothing but comments"),
            (b"hpvm-tables 1\nbcast any any binomial", "does not say on which machine"),
        ] {
            let tuned = of_cache(dir.path(), text);
            assert!(tuned.source.starts_with("built-in; "), "{}", tuned.source);
            assert!(
                tuned.source.contains("ignored") && tuned.source.contains(expected),
                "{}",
                tuned.source
            );
            assert_eq!(tuned.copies(None), "one or two copies, measured by each job");
        }
    }

    #[test]
    fn results_of_other_machines_are_mentioned() {
        let dir = tempfile::tempdir().unwrap();
        let of = || {
            let source = TableSource::Cache(dir.path().join("tables-here"));
            Tuned::of(&source, &Origin::new("c", 1, "k")).source
        };
        assert!(of().contains("hpvm tune would write") && !of().contains("other"));
        std::fs::write(dir.path().join("tables-elsewhere"), "").unwrap();
        assert!(of().contains("on other processors or kernels, 1 there"), "{}", of());
    }
}
