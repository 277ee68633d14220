//! The loader's list of the system's libraries, `/etc/ld.so.cache`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The bytes of the list; empty where there is none (other C libraries have none).
#[derive(Debug, Default)]
pub struct Cache {
    bytes: Vec<u8>,
}

impl Cache {
    /// The system's own.
    pub fn of_the_system() -> Self {
        Self { bytes: std::fs::read("/etc/ld.so.cache").unwrap_or_default() }
    }

    /// The first existing file by this name. What a damaged list says is checked by opening it.
    pub fn find(&self, name: &OsStr) -> Option<PathBuf> {
        // Old systems put a list of an older format in front.
        let start = self.bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?;
        let cache = &self.bytes[start..];
        let count = word(cache, 20)? as usize;
        (0..count.min(cache.len() / ENTRY)).find_map(|index| {
            let at = HEADER + index * ENTRY;
            let text = |at: usize| {
                let rest = cache.get(word(cache, at)? as usize..)?;
                Some(&rest[..rest.iter().position(|byte| *byte == 0)?])
            };
            // Libraries for other word sizes and processors are told apart by who opens them.
            if !text_starts(cache, at + 4, name.as_bytes())? {
                return None;
            }
            let path = Path::new(OsStr::from_bytes(text(at + 8)?));
            path.exists().then(|| path.to_path_buf())
        })
    }
}

/// Whether the string whose offset stands at `at` is `name`.
fn text_starts(cache: &[u8], at: usize, name: &[u8]) -> Option<bool> {
    let rest = cache.get(word(cache, at)? as usize..)?;
    Some(rest.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0)))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(&str, &str)]) -> Cache {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u32).to_ne_bytes());
        bytes.resize(HEADER, 0);
        let mut strings = Vec::new();
        let base = HEADER + entries.len() * ENTRY;
        for (name, path) in entries {
            let key = (base + strings.len()) as u32;
            strings.extend([name.as_bytes(), b"\0"].concat());
            let value = (base + strings.len()) as u32;
            strings.extend([path.as_bytes(), b"\0"].concat());
            bytes.extend([0x0303, key, value, 0, 0, 0].iter().flat_map(|word| word.to_ne_bytes()));
        }
        bytes.extend(strings);
        Cache { bytes }
    }

    #[test]
    fn finding() {
        let list = cache(&[("libx.so.1", "/no/such"), ("libx.so.1", "/dev/null"), ("libx", "/")]);
        assert_eq!(list.find(OsStr::new("libx.so.1")), Some("/dev/null".into()));
        assert_eq!(list.find(OsStr::new("libx.so")), None);
        assert_eq!(Cache::default().find(OsStr::new("libx.so")), None);
    }

    #[test]
    fn any_prefix_of_a_list_is_harmless() {
        let whole = cache(&[("libx.so.1", "/no/such"), ("liby.so.1", "/dev/null")]);
        for length in 0..whole.bytes.len() {
            let list = Cache { bytes: whole.bytes[..length].to_vec() };
            assert_eq!(list.find(OsStr::new("liby.so.1")).filter(|p| p != "/dev/null"), None);
        }
    }
}
