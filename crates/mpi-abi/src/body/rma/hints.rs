//! Info keys of windows (section 12.2.1).

use crate::object::info::{ALLOC_KINDS, Info};

/// Keys that a window knows, with the values that they have when nobody says anything. `None`: any text.
const KEYS: [(&str, &str, Option<&[&str]>); 8] = [
    ("no_locks", "false", Some(&["true", "false"])),
    ("accumulate_ordering", "rar,raw,war,waw", None),
    ("accumulate_ops", "same_op_no_op", Some(&["same_op", "same_op_no_op"])),
    ("mpi_accumulate_granularity", "0", None),
    ("same_size", "false", Some(&["true", "false"])),
    ("same_disp_unit", "false", Some(&["true", "false"])),
    ("alloc_shared_noncontig", "false", Some(&["true", "false"])),
    ("alloc_shm", "true", Some(&["true", "false"])),
];

/// Bytes of the longest element that the processor updates atomically.
const LONGEST_NATIVE: u64 = 8;

/// The hints in force when a window is made with `info`.
pub fn initial(info: &Info) -> Info {
    let mut used = Info::default();
    for (key, value, _) in KEYS {
        used.set(key, value);
    }
    apply(&mut used, info);
    used.set(ALLOC_KINDS.0, ALLOC_KINDS.1);
    used
}

/// Takes over what a program says later. Keys that mean nothing are ignored, and so are values that no window may
/// have.
pub fn apply(used: &mut Info, info: &Info) {
    for (key, _, values) in KEYS {
        let Some(value) = info.get(key) else { continue };
        let allowed = match values {
            Some(values) => values.contains(&value),
            None if key == "mpi_accumulate_granularity" => value.parse::<u64>().is_ok(),
            None => is_ordering(value),
        };
        if allowed {
            used.set(key, value);
        }
    }
}

fn is_ordering(value: &str) -> bool {
    value == "none" || value.split(',').all(|o| ["rar", "raw", "war", "waw"].contains(&o.trim()))
}

/// Whether the program asks for accumulates of more than an element at a time: one lock is then taken for many.
pub fn accumulates_long(info: &Info) -> bool {
    let asked = info.get("mpi_accumulate_granularity").and_then(|bytes| bytes.parse().ok());
    asked.is_some_and(|bytes: u64| bytes > LONGEST_NATIVE)
}

pub fn is_true(info: &Info, key: &str) -> bool {
    info.get(key) == Some("true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_with_a_meaning_are_taken_over() {
        let mut asked = Info::default();
        asked.set("no_locks", "true");
        asked.set("same_size", "maybe");
        asked.set("accumulate_ordering", "rar, waw");
        asked.set("mpi_accumulate_granularity", "-1");
        asked.set("unknown", "1");
        let used = initial(&asked);
        assert!(is_true(&used, "no_locks") && !is_true(&used, "same_size"));
        assert_eq!(used.get("accumulate_ordering"), Some("rar, waw"));
        assert_eq!(used.get("mpi_accumulate_granularity"), Some("0"));
        assert_eq!(used.get("unknown"), None);
        assert!(!accumulates_long(&asked));
        asked.set("mpi_accumulate_granularity", "4096");
        assert!(accumulates_long(&asked));
    }
}
