//! The tables that choose the algorithms of collectives: found at start, the same on all ranks.

use crate::say::say;
use hpvm_coll::select::origin::{self, Origin, Unfit};
use hpvm_coll::select::{DEFAULT, Tables};
use hpvm_job::machine::{Machine, TableSettings, TableSource};
use hpvm_mpi::pt2pt::select::Thresholds;
use hpvm_mpi::{Class, Error, Result};

/// Longest name of a file that is published; process managers bound the length of values.
const NAME_BYTES_MAX: usize = 200;

/// Tables, and how to speak of them.
pub struct Chosen {
    pub tables: Tables,
    /// Equal on ranks that chose the same.
    pub hash: u64,
    /// The file's name without white space, or `built-in`.
    pub name: String,
}

/// Obeys `HPVM_TABLES`, else looks for what `hpvm tune` left. A file that was asked for has to be
/// sound; one that was merely found is passed over when it is not, and `speaks` says who tells. One
/// that was measured on another machine is passed over silently; `hpvm info` tells.
/// Between several `hosts` nothing is looked for, because each has tables of its own.
pub fn find(speaks: bool, hosts: bool) -> Result<Chosen> {
    let settings = TableSettings::of(|name| std::env::var_os(name));
    let mut here = None;
    let source = match &settings.named {
        // The machine is looked at only where it decides: that costs reading all of its processors.
        Some(name) if name.is_empty() => TableSource::BuiltIn,
        Some(name) => TableSource::Named(name.into()),
        None if hosts => TableSource::BuiltIn,
        None => settings.source(here.insert(Machine::here())),
    };
    match (load(&source, here.as_ref()), &source) {
        (Ok(chosen), _) => Ok(chosen),
        (Err(cause), TableSource::Cache(_)) => {
            if speaks {
                say(&format!(
                    "warning: {cause}; the built-in tables are used: run 'hpvm tune' again"
                ));
            }
            Ok(chosen(DEFAULT.clone(), "built-in".into()))
        }
        (Err(cause), _) => Err(Error::new(Class::Arg, format!("HPVM_TABLES: {cause}"))),
    }
}

/// `here` is known for what was found in the cache, and asked for by nothing else.
fn load(source: &TableSource, here: Option<&Machine>) -> std::result::Result<Chosen, String> {
    let (TableSource::Named(path) | TableSource::Cache(path)) = source else {
        return Ok(chosen(DEFAULT.clone(), "built-in".into()));
    };
    let Some(text) = source.read()? else {
        return Ok(chosen(DEFAULT.clone(), "built-in".into()));
    };
    let shown = path.display().to_string();
    let read = match here {
        None => text.parse().map_err(Unfit::Broken),
        Some(m) => origin::fit(&text, &Origin::new(&m.cpu, m.processors, &m.kernel)),
    };
    match read {
        Ok(tables) => {
            Thresholds::with(&tables.thresholds).map_err(|wrong| format!("{shown}: {wrong}"))?;
            Ok(chosen(tables, shown))
        }
        Err(Unfit::Foreign(_)) => Ok(chosen(DEFAULT.clone(), "built-in".into())),
        Err(Unfit::Broken(wrong)) => Err(format!("{shown}: {wrong}")),
    }
}

fn chosen(tables: Tables, name: String) -> Chosen {
    let hash = fnv(tables.to_string().as_bytes());
    let clean = |c: char| if c.is_whitespace() || c.is_control() { '?' } else { c };
    Chosen { tables, hash, name: name.chars().map(clean).take(NAME_BYTES_MAX).collect() }
}

/// FNV-1a: it must be the same in all builds, which the standard library's does not promise.
pub fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Why this rank cannot take part: it would run other algorithms than rank 0.
pub fn differ(rank: u32, own: &Chosen, hash: u64, name: Option<&str>) -> Error {
    let text = format!(
        "rank {rank} has other tables of collectives than rank 0: {} ({:016x}), rank 0 has {} \
         ({hash:016x}). Give all ranks the same HPVM_TABLES; if none is set, 'hpvm tune' has \
         replaced the file while the job started: start it again",
        own.name,
        own.hash,
        name.unwrap_or("others"),
    );
    Error::new(Class::Other, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn hashes_are_those_of_the_published_function() {
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn comments_do_not_make_tables_differ_but_rules_do() {
        let of = |text: &str| chosen(text.parse().unwrap(), "a b\n".into());
        let plain = of("hpvm-tables 2\nbcast any any binomial");
        assert_eq!(plain.hash, of("# x\nhpvm-tables 2 # y\nbcast any  any binomial #").hash);
        assert_ne!(plain.hash, of("hpvm-tables 2\nbcast any 7 binomial").hash);
        assert_eq!(plain.name, "a?b?");
    }

    #[test]
    fn thresholds_are_known_ones() {
        let dir = std::env::temp_dir().join(format!("hpvm-tables-{}", std::process::id()));
        for (line, expected) in [
            ("threshold max-step 4096", Ok(1)),
            ("threshold max-stop 4096", Err("no threshold is called \"max-stop\"")),
            ("threshold max-unasked 99999999", Err("expected at most 65536")),
        ] {
            std::fs::write(&dir, format!("hpvm-tables 2\n{line}\n")).unwrap();
            let loaded = load(&TableSource::Named(dir.clone()), None);
            match (loaded, expected) {
                (Ok(chosen), Ok(n)) => assert_eq!(chosen.tables.thresholds.len(), n),
                (Err(error), Err(text)) => assert!(error.contains(text), "{error}"),
                (found, _) => panic!("{line}: {:?}", found.err()),
            }
        }
        std::fs::remove_file(dir).unwrap();
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = load(&TableSource::Named(PathBuf::from("/nowhere/t")), None).err().unwrap();
        assert!(error.starts_with("/nowhere/t: "), "{error}");
        assert!(load(&TableSource::Cache(PathBuf::from("/nowhere/t")), None).is_ok());
    }
}
