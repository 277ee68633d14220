//! What kind of machine this is, and where the tables that were measured on it lie.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;

/// What measured thresholds depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cpu: String,
    /// Processors that are switched on, whether this process may use them or not: a launcher that
    /// binds ranks must not change the answer.
    pub processors: usize,
    pub kernel: String,
}

impl Machine {
    /// Asks the running system; what it does not tell is "unknown".
    pub fn here() -> Machine {
        let kernel = beginning("/proc/sys/kernel/osrelease").trim().to_owned();
        // SAFETY: sysconf takes a number and touches no memory of ours.
        let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        Machine {
            cpu: cpu_model(&beginning("/proc/cpuinfo")).unwrap_or_else(|| "unknown".into()),
            processors: usize::try_from(processors).unwrap_or(1).max(1),
            kernel: if kernel.is_empty() { "unknown".into() } else { kernel },
        }
    }

    /// A file name's part that tells this kind of machine from others.
    pub fn key(&self) -> String {
        let text = format!("{}-{}-{}", self.cpu, self.processors, self.kernel);
        let mut key = String::new();
        for c in text.chars() {
            match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => key.push(c),
                _ if key.ends_with('-') => {}
                _ => key.push('-'),
            }
        }
        // File names have at most 255 bytes; the rest is for the prefix and temporary names.
        key.truncate(200);
        key
    }
}

/// The first kilobytes of a file; nothing where it cannot be read. `/proc/cpuinfo` is made for all
/// processors, which takes long on large machines, while the first one is all that is asked for.
fn beginning(path: &str) -> String {
    let mut text = [0; 4096];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut text));
    String::from_utf8_lossy(&text[..read.unwrap_or(0)]).into_owned()
}

/// x86 calls it `model name`; ARM kernels give an implementer and a part number only.
pub fn cpu_model(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let by_part = || {
        let part = field("CPU part")?;
        Some(format!("CPU implementer {} part {part}", field("CPU implementer")?))
    };
    field("model name").or_else(by_part)
}

/// What the environment says about tables.
#[derive(Clone, Debug, Default)]
pub struct TableSettings {
    /// `HPVM_TABLES`
    pub named: Option<OsString>,
    /// `XDG_CACHE_HOME`
    pub cache: Option<OsString>,
    /// `HOME`
    pub home: Option<OsString>,
}

/// Where a job's tables come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableSource {
    /// Asked for with an empty `HPVM_TABLES`, or there is nowhere to look.
    BuiltIn,
    /// The user's choice: it has to be there and sound.
    Named(PathBuf),
    /// What a tuning run left for this machine, if one did.
    Cache(PathBuf),
}

impl TableSettings {
    /// Asks `variable` for each of them.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> TableSettings {
        TableSettings {
            named: variable("HPVM_TABLES"),
            cache: variable("XDG_CACHE_HOME"),
            home: variable("HOME"),
        }
    }

    /// Where to look.
    pub fn source(&self, machine: &Machine) -> TableSource {
        match &self.named {
            Some(name) if name.is_empty() => TableSource::BuiltIn,
            Some(name) => TableSource::Named(name.into()),
            None => self.cache_file(machine).map_or(TableSource::BuiltIn, TableSource::Cache),
        }
    }

    /// The cache file of this machine's tables; none without a home. As the XDG base directory
    /// specification has it, a cache folder that is not absolute counts as not given.
    pub fn cache_file(&self, machine: &Machine) -> Option<PathBuf> {
        let absolute = |name: &Option<OsString>| {
            name.as_ref().map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let folder =
            absolute(&self.cache).or_else(|| Some(absolute(&self.home)?.join(".cache")))?;
        Some(folder.join("hpvm").join(format!("tables-{}", machine.key())))
    }
}

impl TableSource {
    /// The file's text; none where the built-in tables hold. The error tells people which file
    /// cannot be read and why.
    pub fn read(&self) -> Result<Option<String>, String> {
        let (path, needed) = match self {
            TableSource::BuiltIn => return Ok(None),
            TableSource::Named(path) => (path, true),
            TableSource::Cache(path) => (path, false),
        };
        match read_regular(path) {
            Ok(text) => Ok(Some(text)),
            Err(e) if !needed && e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("{}: {e}", path.display())),
        }
    }
}

/// Most bytes of a file of tables. Those that `hpvm tune` writes have a few thousand.
const FILE_MAX: u64 = 1 << 20;

/// The text of a regular file. A pipe is refused: every rank reads the file, and one that waits
/// for somebody to write would wait in silence.
fn read_regular(path: &std::path::Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "expected a regular file"));
    }
    let mut text = String::new();
    file.take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_MAX {
        return Err(Error::new(ErrorKind::InvalidData, "expected tables, found more than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_folders_and_heaps_of_bytes_are_no_tables() {
        let dir = std::env::temp_dir().join(format!("hpvm-tables-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let fifo = dir.join("fifo");
        let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
        // SAFETY: a path that ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let large = dir.join("large");
        std::fs::write(&large, vec![b' '; FILE_MAX as usize + 1]).unwrap();
        for (path, says) in [(&fifo, "regular"), (&dir, "regular"), (&large, "1 MiB")] {
            let error = TableSource::Named(path.clone()).read().unwrap_err();
            assert!(error.contains(says) && error.contains(path.to_str().unwrap()), "{error}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    fn machine() -> Machine {
        Machine { cpu: "Some(R) CPU @ 3/4 GHz".into(), processors: 4, kernel: "6.1".into() }
    }

    #[test]
    fn finds_the_model() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nmodel name\t: other\n";
        assert_eq!(cpu_model(text).as_deref(), Some("Some CPU @ 3 GHz"));
        let arm = "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm).as_deref(), Some("CPU implementer 0x41 part 0xd0c"));
        assert_eq!(cpu_model(""), None);
    }

    #[test]
    fn the_key_is_a_file_name() {
        assert_eq!(machine().key(), "Some-R-CPU-3-4-GHz-4-6.1");
        let long = Machine { cpu: "\u{fc}x".repeat(400), ..machine() };
        assert!(long.key().len() <= 200 && long.key().is_ascii());
        assert_eq!(Machine::here(), Machine::here());
    }

    #[test]
    fn the_variable_decides_then_the_cache_then_nothing() {
        let settings = |named: Option<&str>, cache: Option<&str>, home: Option<&str>| {
            let own = |text: Option<&str>| text.map(OsString::from);
            TableSettings { named: own(named), cache: own(cache), home: own(home) }
                .source(&machine())
        };
        assert_eq!(settings(Some(""), Some("/c"), Some("/h")), TableSource::BuiltIn);
        assert_eq!(settings(Some("f"), Some("/c"), None), TableSource::Named("f".into()));
        let cache = |folder: &str| {
            TableSource::Cache(format!("{folder}/hpvm/tables-{}", machine().key()).into())
        };
        assert_eq!(settings(None, Some("/c"), Some("/h")), cache("/c"));
        assert_eq!(settings(None, Some("relative"), Some("/h")), cache("/h/.cache"));
        assert_eq!(settings(None, None, None), TableSource::BuiltIn);
    }

    #[test]
    fn only_a_named_file_has_to_exist() {
        let path = PathBuf::from("/nowhere/tables");
        assert_eq!(TableSource::Cache(path.clone()).read(), Ok(None));
        let error = TableSource::Named(path).read().unwrap_err();
        assert!(error.starts_with("/nowhere/tables: "), "{error}");
    }
}
