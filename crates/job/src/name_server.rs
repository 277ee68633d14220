//! Where the user's name server is, and the key by which it knows him: `hpvm nameserver` serves published names
//! (MPI 5.0, section 11.9.4) to jobs that share no host.
//!
//! The launcher reads the key and tells it to its ranks as it tells the job's own ([`TOLD_KEY`]); a process without such a
//! launcher reads it itself.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The variable that names the server.
pub const VARIABLE: &str = "HPVM_NAMESERVER";
/// The variable that names the file of the key.
pub const KEY_VARIABLE: &str = "HPVM_NAMESERVER_KEY";
/// The key under which ranks find server and key with the process manager.
pub const TOLD_KEY: &str = "hpvm-nameserver";
/// The port where it listens if nothing else is said.
pub const PORT: u16 = 6392;
/// Longest file that is read.
const FILE_MAX: u64 = 4096;
/// Addresses that are tried.
const ADDRESSES_MAX: usize = 16;

/// Where a server may be: names or addresses of hosts, with ports, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses(pub Vec<(String, u16)>);

impl Addresses {
    /// `HOST[:PORT],...` or `file:FILE`, which holds that.
    ///
    /// # Errors
    /// It is neither; for people.
    pub fn parse(text: &str) -> Result<Addresses, String> {
        let Some(file) = text.strip_prefix("file:") else { return Addresses::list(text) };
        let told = |why: &dyn std::fmt::Display| {
            format!("{file:?}: {why}; 'hpvm nameserver --report-uri {file}' writes it")
        };
        let mut held = String::new();
        let read = File::open(file).and_then(|f| f.take(FILE_MAX).read_to_string(&mut held));
        read.map_err(|cause| told(&cause))?;
        Addresses::list(held.trim()).map_err(|why| told(&why))
    }

    fn list(text: &str) -> Result<Addresses, String> {
        let addresses: Option<Vec<_>> = text.split(',').map(address).collect();
        match addresses {
            Some(addresses) if addresses.len() <= ADDRESSES_MAX => Ok(Addresses(addresses)),
            _ => Err(format!("{:?} is no HOST[:PORT]", text.chars().take(60).collect::<String>())),
        }
    }

    /// As [`Addresses::parse`] reads them.
    pub fn text(&self) -> String {
        let one = |(host, port): &(String, u16)| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(",")
    }
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]`, `[ADDRESS]:PORT`, or an address of IPv6 alone.
fn address(text: &str) -> Option<(String, u16)> {
    let number = |port: &str| {
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        port.parse().ok().filter(|port| digits && *port != 0)
    };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
        }
        None if text.parse::<std::net::Ipv6Addr>().is_ok() => (text, ""),
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
    let port = match (port, text.ends_with(':')) {
        ("", false) => PORT,
        (port, _) => number(port)?,
    };
    let sound = !host.is_empty() && host.bytes().all(word) && !host.starts_with('-');
    sound.then(|| (host.to_owned(), port))
}

/// What the launcher tells its ranks.
pub fn told(key: &str, addresses: &Addresses) -> String {
    format!("{key}@{}", addresses.text())
}

/// Key and addresses of [`told`].
pub fn heard(text: &str) -> Option<(String, Addresses)> {
    let (key, addresses) = text.split_once('@')?;
    Some((key.to_owned(), Addresses::list(addresses).ok()?))
}

/// The file of the key, by the values of [`KEY_VARIABLE`], `XDG_CONFIG_HOME` and `HOME`.
pub fn key_file(
    named: Option<OsString>,
    config: Option<OsString>,
    home: Option<OsString>,
) -> Option<PathBuf> {
    let full = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    full(named).or_else(|| {
        let folder = full(config).or_else(|| Some(full(home)?.join(".config")))?;
        Some(folder.join("hpvm/names.key"))
    })
}

/// The key in a file, 32 hexadecimal digits; none: there is no such file.
///
/// # Errors
/// It can't be used; for people.
pub fn read_key(file: &Path) -> Result<Option<String>, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let open = match File::open(file) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        open => open.map_err(|cause| told(&cause))?,
    };
    let data = open.metadata().map_err(|cause| told(&cause))?;
    if data.mode() & 0o077 != 0 {
        let why =
            format!("others can read the key in it (mode {:o}): chmod 600", data.mode() & 0o777);
        return Err(told(&why));
    }
    let mut text = String::new();
    open.take(FILE_MAX).read_to_string(&mut text).map_err(|cause| told(&cause))?;
    let key = text.trim();
    if key.len() != 32 || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(told(
            &"expected 32 hexadecimal digits; remove it and let 'hpvm nameserver' make another",
        ));
    }
    Ok(Some(key.to_owned()))
}

/// Puts `key` into a file that is not there yet, which only its owner can read. False: somebody else was first.
///
/// # Errors
/// It can't be written; for people.
pub fn write_key(file: &Path, key: &str) -> Result<bool, String> {
    let told = |cause: io::Error| format!("{}: {cause}", file.display());
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(told)?;
    }
    // Under another name first: nobody ever sees a half of it.
    let new = file.with_extension(format!("new-{}", std::process::id()));
    let opened = File::options().write(true).create_new(true).mode(0o600).open(&new);
    let linked = opened.and_then(|mut out| {
        out.write_all(format!("{key}\n").as_bytes())?;
        out.sync_all()?;
        match std::fs::hard_link(&new, file) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        }
    });
    let _ = std::fs::remove_file(&new);
    linked.map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for (text, host, port) in [
            ("login", "login", PORT),
            ("login:7000", "login", 7000),
            ("10.0.0.1:1", "10.0.0.1", 1),
            ("fe80::1", "fe80::1", PORT),
            ("[fd77::1]", "fd77::1", PORT),
            ("[fd77::1]:65535", "fd77::1", 65535),
        ] {
            let addresses = Addresses::parse(text).expect(text);
            assert_eq!(addresses.0, [(host.to_owned(), port)], "{text}");
            assert_eq!(Addresses::parse(&addresses.text()), Ok(addresses.clone()));
            let key = "0".repeat(32);
            assert_eq!(heard(&told(&key, &addresses)), Some((key, addresses)));
        }
        assert_eq!(
            Addresses::parse("a,b:7,[::1]").unwrap().text(),
            format!("a:{PORT},b:7,[::1]:{PORT}")
        );
        let many = vec!["a"; ADDRESSES_MAX + 1].join(",");
        for bad in [
            "",
            ",",
            "a,",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a b",
            "[::1",
            "[::1]x",
            "-a",
            "a;b",
            "1234.0;tcp://h:1",
            &many,
        ] {
            assert!(Addresses::parse(bad).is_err(), "{bad}");
        }
        let error = Addresses::parse("file:/nowhere/at all").unwrap_err();
        assert!(error.contains("/nowhere/at all") && error.contains("--report-uri"), "{error}");
    }

    #[test]
    fn the_key_is_made_once_and_for_its_owner_alone() {
        let folder = std::env::temp_dir().join(format!("hpvm-key-{}", std::process::id()));
        let file = key_file(None, Some(folder.clone().into()), Some("/nowhere".into())).unwrap();
        assert_eq!(file, folder.join("hpvm/names.key"));
        assert_eq!(read_key(&file), Ok(None));
        let (first, second) = ("0".repeat(32), "1".repeat(32));
        assert_eq!(write_key(&file, &first), Ok(true));
        assert_eq!(write_key(&file, &second), Ok(false));
        assert_eq!(read_key(&file), Ok(Some(first)));
        assert_eq!(std::fs::read_dir(folder.join("hpvm")).unwrap().count(), 1);
        let mode = |mode| {
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode))
        };
        mode(0o640).unwrap();
        assert!(read_key(&file).unwrap_err().contains("chmod 600"));
        mode(0o600).unwrap();
        std::fs::write(&file, "key").unwrap();
        assert!(read_key(&file).unwrap_err().contains("32 hexadecimal digits"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(key_file(None, Some("".into()), None), None);
    }
}
