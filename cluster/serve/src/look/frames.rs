//! Looks over the standard output of a step of Slurm: the tasks of all hosts write into one stream, which
//! keeps lines apart as long as they are short. So a look goes in several lines: `HOST + PART`, and `HOST . PART`
//! for the last.

use std::collections::BTreeMap;

/// Bytes of a part. Slurm passes on lines of up to 1,024 bytes as a whole.
const PART: usize = 600;
/// Bytes of a look.
const SEARCHED_BYTES_MAX: usize = 12 << 20;

/// The lines of a look.
pub fn lines(host: &str, look: &str) -> String {
    let mut out = String::with_capacity(look.len() + look.len() / PART * 32 + 64);
    let mut rest = look;
    while rest.len() > PART {
        let (part, more) = rest.split_at(super::boundary(rest, PART));
        out += &format!("{host} + {part}\n");
        rest = more;
    }
    out + &format!("{host} . {rest}\n")
}

/// Looks that are on their way.
#[derive(Debug, Default)]
pub struct Reader {
    begun: BTreeMap<String, String>,
}

impl Reader {
    /// Takes a line; gives a look that is whole, and whose it is. What is no line of ours is nothing.
    pub fn line(&mut self, line: &str, hosts: &[String]) -> Option<(String, String)> {
        let (host, rest) = line.trim_end_matches('\n').split_once(' ')?;
        let (mark, part) = rest.split_once(' ')?;
        if !hosts.iter().any(|known| known == host) {
            return None;
        }
        let begun = self.begun.entry(host.to_string()).or_default();
        // Of one that is too large only the end comes, which is none.
        if begun.len() + part.len() > SEARCHED_BYTES_MAX {
            begun.clear();
        }
        begun.push_str(part);
        match mark {
            "." => self.begun.remove_entry(host),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_of_hosts_do_not_mix() {
        let hosts = ["n1".to_string(), "n2".to_string()];
        let (one, two) = ("ä".repeat(PART) + "end", "short".to_string());
        let first = lines("n1", &one);
        assert!(first.lines().count() > 2 && first.lines().all(|line| line.len() < 1024));
        let mut mixed: Vec<&str> = first.lines().collect();
        let (second, foreign) = (lines("n2", &two), lines("n3", "x"));
        mixed.insert(1, second.trim_end());
        mixed.insert(0, foreign.trim_end());
        mixed.insert(0, "srun: a warning");
        let mut reader = Reader::default();
        let whole: Vec<_> = mixed.iter().filter_map(|line| reader.line(line, &hosts)).collect();
        assert_eq!(whole, [("n2".to_string(), two), ("n1".to_string(), one)]);
    }

    #[test]
    fn memory_is_bounded() {
        let hosts = ["n1".to_string()];
        let mut reader = Reader::default();
        let part = format!("n1 + {}", "x".repeat(1 << 20));
        (0..40).for_each(|_| assert_eq!(reader.line(&part, &hosts), None));
        assert!(reader.begun["n1"].len() <= SEARCHED_BYTES_MAX);
    }
}
