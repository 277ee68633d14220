//! What the name of a striped file holds: text that says which hosts have its stripes, and where.

use super::{Layout, MAX_STRIPES, UNITS};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// The first line. Another form of the text will have another number.
const MAGIC: &str = "hpvm striped file 1\n";
/// Longer ones are not read: a path takes at most some 12 KiB with everything escaped, and most take 100 bytes.
const MAX_BYTES: u64 = 32 << 20;
/// Letters of a set's name.
const SET_LETTERS: usize = 32;

/// Where a stripe lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripeLocation {
    pub host: String,
    pub path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// A random name, the same in all stripes of the file: 32 hexadecimal digits.
    pub set: String,
    pub unit: u64,
    /// `None`: the file has not been closed since it was opened for writing.
    pub size: Option<u64>,
    /// In the order of the file.
    pub stripes: Vec<StripeLocation>,
}

impl Manifest {
    /// That of a new file: a stripe in `folder` of each host, in which `%h` stands for the host's name.
    /// `name`: the file's own, without folders. The random bytes name the set.
    ///
    /// # Errors
    /// What would not be read back, in words.
    pub fn new(
        name: &[u8],
        folder: &[u8],
        hosts: &[String],
        unit: u64,
        random: [u8; 16],
    ) -> Result<Manifest, String> {
        let set: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let location = |(number, host): (usize, &String)| {
            let mut path: Vec<u8> = Vec::new();
            let mut rest = folder;
            while let Some(at) = rest.windows(2).position(|two| two == b"%h") {
                path.extend_from_slice(&rest[..at]);
                path.extend_from_slice(host.as_bytes());
                rest = &rest[at + 2..];
            }
            path.extend_from_slice(rest);
            let path = PathBuf::from(OsString::from_vec(path));
            let mut own = name.to_vec();
            own.extend_from_slice(ending(&set, number).as_bytes());
            StripeLocation { host: host.clone(), path: path.join(OsString::from_vec(own)) }
        };
        let stripes = hosts.iter().enumerate().map(location).collect();
        let made = Manifest { set, unit, size: None, stripes };
        // One that nobody could read must not be made.
        Manifest::parse(made.text().as_bytes())
    }

    pub fn layout(&self) -> Layout {
        Layout { unit: self.unit, count: self.stripes.len() as u64 }
    }

    /// Whether a file that begins so wants to be a manifest.
    pub fn is_one(start: &[u8]) -> bool {
        start.starts_with(MAGIC.as_bytes())
    }

    pub fn text(&self) -> String {
        let size = self.size.map_or("unknown".to_owned(), |size| size.to_string());
        let mut text = format!(
            "{MAGIC}set {}\nunit {}\nsize {size}\nstripes {}\n",
            self.set,
            self.unit,
            self.stripes.len()
        );
        for StripeLocation { host, path } in &self.stripes {
            text += &format!("{host} {}\n", escaped(path.as_os_str().as_bytes()));
        }
        text + "end\n"
    }

    /// Reads a text that anybody may have written.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Manifest, String> {
        let wrong = |what: &str| format!("not a manifest of a striped file: {what}");
        let text = std::str::from_utf8(text).map_err(|_| wrong("it is not text"))?;
        let body = text.strip_prefix(MAGIC).ok_or_else(|| wrong("the first line is another"))?;
        let body = body.strip_suffix("end\n").ok_or_else(|| wrong("the end is missing"))?;
        let mut lines = body.lines();
        let mut value = |key: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(key)?.strip_prefix(' '));
            line.ok_or_else(|| wrong(&format!("the line '{key}' is missing")))
        };
        let set = value("set")?;
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if set.len() != SET_LETTERS || !set.bytes().all(is_digit) {
            return Err(wrong(&format!("the set is not {SET_LETTERS} hexadecimal digits")));
        }
        let unit = value("unit")?.parse().ok().filter(|unit| UNITS.contains(unit));
        let unit = unit.ok_or_else(|| {
            wrong(&format!("the unit is not {} to {} bytes", UNITS.start(), UNITS.end()))
        })?;
        let size = match value("size")? {
            "unknown" => None,
            other => Some(
                other
                    .parse::<u64>()
                    .ok()
                    .filter(|size| *size <= i64::MAX as u64)
                    .ok_or_else(|| wrong("the size is not a number of bytes"))?,
            ),
        };
        let count = value("stripes")?.parse::<usize>().ok();
        let count = count.filter(|n| (1..=MAX_STRIPES).contains(n));
        let count =
            count.ok_or_else(|| wrong(&format!("the stripes are not 1 to {MAX_STRIPES}")))?;
        let stripe = |(number, line)| location(line, set, number).map_err(|what| wrong(&what));
        let stripes: Vec<StripeLocation> =
            lines.enumerate().map(stripe).collect::<Result<_, _>>()?;
        if stripes.len() != count {
            return Err(wrong(&format!("{} stripes are listed of {count}", stripes.len())));
        }
        let hosts: BTreeSet<_> = stripes.iter().map(|location| &location.host).collect();
        if hosts.len() != count {
            return Err(wrong("a host has two stripes"));
        }
        Ok(Manifest { set: set.to_owned(), unit, size, stripes })
    }

    /// Reads the manifest at a file's name; `None` where the file is another one, or none can be read.
    ///
    /// # Errors
    /// It begins as a manifest, and is none.
    pub fn look(path: &Path) -> Result<Option<Manifest>, String> {
        // A pipe must not keep us waiting.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK);
        let Ok(file) = options.open(path) else { return Ok(None) };
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            return Ok(None);
        }
        let mut start = [0; MAGIC.len()];
        if (&file).read_exact(&mut start).is_err() || !Manifest::is_one(&start) {
            return Ok(None);
        }
        let mut text = start.to_vec();
        match file.take(MAX_BYTES).read_to_end(&mut text) {
            Ok(_) => Manifest::parse(&text).map(Some),
            Err(e) => Err(format!("cannot be read: {e}")),
        }
    }

    /// Puts the text at the file's name, all of it or nothing. `new`: fails where there is a file already.
    pub fn write(&self, path: &Path, new: bool) -> io::Result<()> {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.new", self.set));
        let beside = path.with_file_name(name);
        let written = self.write_beside(&beside).and_then(|()| match new {
            // Unlike renaming it replaces nothing.
            true => std::fs::hard_link(&beside, path),
            false => std::fs::rename(&beside, path),
        });
        if new || written.is_err() {
            // It has its name by now, or is of no use.
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    fn write_beside(&self, path: &Path) -> io::Result<()> {
        // What an earlier attempt for the same set has left, which only one rank makes.
        let _ = std::fs::remove_file(path);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o666).open(path)?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()
    }
}

/// How the name of a stripe ends.
fn ending(set: &str, number: usize) -> String {
    format!(".{set}-{number}.stripe")
}

/// One line about a stripe.
fn location(line: &str, set: &str, number: usize) -> Result<StripeLocation, String> {
    let (host, path) =
        line.split_once(' ').ok_or(format!("stripe {number} has no host and path"))?;
    // It becomes an argument of a command that reaches the host.
    let letter = |b: u8| b.is_ascii_alphanumeric() || b"._-:".contains(&b);
    if host.is_empty() || host.len() > 255 || host.starts_with('-') || !host.bytes().all(letter) {
        return Err(format!("the host of stripe {number} is no name of a host"));
    }
    let bytes = unescaped(path).ok_or(format!("the path of stripe {number} is not escaped"))?;
    let path = PathBuf::from(OsString::from_vec(bytes));
    let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !plain || path.as_os_str().as_bytes().contains(&0) {
        return Err(format!("the path of stripe {number} is not absolute, or has '..' in it"));
    }
    let name = path.file_name().unwrap_or_default().as_bytes();
    if !name.ends_with(ending(set, number).as_bytes()) {
        return Err(format!("the path of stripe {number} does not end as those of its set"));
    }
    Ok(StripeLocation { host: host.to_owned(), path })
}

/// Bytes as one word of text: all but printable ASCII, and `%`, as `%` and two hexadecimal digits.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'!'..=b'~' if *byte != b'%' => text.push(char::from(*byte)),
            _ => text += &format!("%{byte:02x}"),
        }
    }
    text
}

/// The bytes again; `None` for text that [`escaped`] does not make.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match first {
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                rest = behind;
                let digits = std::str::from_utf8(digits).ok()?;
                digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
                u8::from_str_radix(digits, 16).ok()?
            }
            b'!'..=b'~' => *first,
            _ => return None,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts() -> Vec<String> {
        ["aa1", "aa2.example.org"].map(String::from).to_vec()
    }

    fn sample() -> Manifest {
        Manifest::new(b"out put", b"/scratch/%h/x", &hosts(), 4096, [7; 16]).unwrap()
    }

    #[test]
    fn a_new_one_is_incomplete_and_comes_back() {
        let made = sample();
        assert_eq!(made.size, None);
        let name = format!("/scratch/aa1/x/out put.{}-0.stripe", "07".repeat(16));
        assert_eq!(made.stripes[0].path, PathBuf::from(name));
        let closed = Manifest { size: Some(12), ..made };
        assert_eq!(Manifest::parse(closed.text().as_bytes()), Ok(closed));
        assert!(Manifest::new(b"f", b"relative", &hosts(), 4096, [0; 16]).is_err());
        assert!(Manifest::new(b"f", b"/a/../b", &hosts(), 4096, [0; 16]).is_err());
        assert!(Manifest::new(b"f", b"/a", &["-oProxyCommand=x".into()], 4096, [0; 16]).is_err());
        assert!(Manifest::new(b"f", b"/a", &[], 4096, [0; 16]).is_err());
    }

    #[test]
    fn what_is_none() {
        let good = sample().text();
        for (from, to) in [
            ("file 1", "file 2"),
            ("end\n", ""),
            ("unit 4096", "unit 1"),
            ("unit 4096", "unit 99999999999"),
            ("size unknown", "size -1"),
            ("size unknown", "size 18446744073709551615"),
            ("stripes 2", "stripes 3"),
            ("stripes 2", "stripes 0"),
            ("stripes 2", "stripes 99999999999"),
            ("aa1 /", "-x /"),
            ("aa1 /", "a;b /"),
            ("aa1 /", "aa1 ../"),
            ("/x/out", "/../out"),
            ("-0.stripe", "-1.stripe"),
            ("-0.stripe", ""),
            ("aa1 /", "aa2.example.org /"),
            ("%20", "%2"),
            ("%20", "%00"),
            ("set 07", "set 08"),
        ] {
            assert!(good.contains(from), "{from}");
            let bad = good.replacen(from, to, 1);
            let error = Manifest::parse(bad.as_bytes()).unwrap_err();
            assert!(error.starts_with("not a manifest"), "{from} {to}: {error}");
        }
    }

    #[test]
    fn writing_replaces_or_refuses_and_leaves_nothing_beside() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("f");
        assert_eq!(Manifest::look(&path), Ok(None));
        sample().write(&path, true).unwrap();
        let again = sample().write(&path, true).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let closed = Manifest { size: Some(9), ..sample() };
        closed.write(&path, false).unwrap();
        assert_eq!(Manifest::look(&path), Ok(Some(closed)));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
        std::fs::write(&path, MAGIC).unwrap();
        assert!(Manifest::look(&path).is_err());
        std::fs::write(&path, "other").unwrap();
        assert_eq!(Manifest::look(&path), Ok(None));
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>) {
            let text = escaped(&bytes);
            prop_assert!(text.bytes().all(|b| b.is_ascii_graphic()));
            prop_assert_eq!(unescaped(&text), Some(bytes));
        }

        /// Whatever is changed or cut, nothing panics, and what is taken is what would be written.
        #[test]
        fn any_text(at in 0usize..400, byte: u8, cut in 0usize..400) {
            let mut text = sample().text().into_bytes();
            let len = text.len();
            text[at % len] = byte;
            for text in [&text[..], &text[..cut % len]] {
                if let Ok(read) = Manifest::parse(text) {
                    prop_assert_eq!(Manifest::parse(read.text().as_bytes()), Ok(read));
                }
            }
        }
    }
}
