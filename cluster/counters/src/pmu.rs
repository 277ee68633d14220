//! The processor's own events, as the kernel describes them below `/sys/bus/event_source/devices`: `events/NAME` holds
//! terms like `event=0x3c,umask=0x01`, and `format/TERM` says which bits of which word a term fills, like `config:0-7,32-35`.

use crate::events::{Event, Kind};
use std::fs;
use std::path::Path;

const DEVICES: &str = "/sys/bus/event_source/devices";
/// Units that count for processes; those outside of the cores count for the whole machine only.
const CORES: [&str; 3] = ["cpu", "cpu_core", "cpu_atom"];

/// All events that have a name there; none where there is no such folder.
pub fn events() -> Vec<Event> {
    of(Path::new(DEVICES))
}

/// The kernel's name for an event of the processor, where it has one: `cpu-cycles` is `cycles`.
pub(crate) fn kernel_name(name: &str) -> Option<&str> {
    match name {
        "cpu-cycles" => Some("cycles"),
        "branch-instructions" => Some("branches"),
        "instructions" | "branch-misses" | "cache-references" | "cache-misses" => Some(name),
        _ => None,
    }
}

fn of(devices: &Path) -> Vec<Event> {
    let mut found = Vec::new();
    for unit in CORES {
        let folder = devices.join(unit);
        let Some(type_) = number_in(&folder.join("type")) else { continue };
        let Ok(entries) = fs::read_dir(folder.join("events")) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            // `NAME.scale` and `NAME.unit` say how a number is to be shown.
            if name.contains('.') {
                continue;
            }
            let Ok(terms) = fs::read_to_string(entry.path()) else { continue };
            let format = |term: &str| fs::read_to_string(folder.join("format").join(term)).ok();
            // Terms that nobody explains, as `ldlat=?`, belong to events that want a parameter.
            let Some(configs) = configs(terms.trim(), format) else { continue };
            let name = if unit == "cpu" { name } else { format!("{unit}/{name}/") };
            let kind = Kind::Hardware;
            found.push(Event { name, kind, time: false, group: 0, type_, configs });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn number_in(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The three words that terms make; `format` knows the text about a term.
fn configs(terms: &str, format: impl Fn(&str) -> Option<String>) -> Option<[u64; 3]> {
    let mut words = [0; 3];
    for term in terms.split(',').filter(|term| !term.is_empty()) {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        put(&mut words, format(name)?.trim(), value)?;
    }
    Some(words)
}

/// Puts the bits of `value`, lowest first, where a format says.
fn put(words: &mut [u64; 3], format: &str, mut value: u64) -> Option<()> {
    let (word, ranges) = format.split_once(':')?;
    let word = match word {
        "config" => &mut words[0],
        "config1" => &mut words[1],
        "config2" => &mut words[2],
        _ => return None,
    };
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > 63 {
            return None;
        }
        let width = last - first + 1;
        let mask = u64::MAX >> (64 - width);
        *word |= (value & mask) << first;
        value = value.checked_shr(width).unwrap_or(0);
    }
    (value == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_go_where_the_format_says() {
        let mut words = [0; 3];
        assert_eq!(put(&mut words, "config:0-7,32-35", 0x1ff), Some(()));
        assert_eq!(words, [0x1_0000_00ff, 0, 0]);
        assert_eq!(put(&mut words, "config1:0-63", u64::MAX), Some(()));
        assert_eq!(words[1], u64::MAX);
        assert_eq!(put(&mut words, "config:8-15", 0x100), None);
        for wrong in ["", "config", "config:a", "config:5-3", "config:0-64", "config9:0"] {
            assert_eq!(put(&mut [0; 3], wrong, 0), None, "{wrong}");
        }
    }

    #[test]
    fn a_folder_as_the_kernel_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let cpu = folder.path().join("cpu");
        for (file, text) in [
            ("type", "4\n"),
            ("format/event", "config:0-7\n"),
            ("format/umask", "config:8-15\n"),
            ("format/inv", "config:23\n"),
            ("events/slots", "event=0x00,umask=0x4\n"),
            ("events/slots.scale", "2\n"),
            ("events/odd", "event=0xcd,ldlat=?\n"),
            ("events/stall", "event=0x3c,inv\n"),
        ] {
            let file = cpu.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let found = of(folder.path());
        let found: Vec<_> = found.iter().map(|e| (&*e.name, e.type_, e.configs[0])).collect();
        assert_eq!(found, [("slots", 4, 0x400), ("stall", 4, 0x80_003c)]);
    }
}
