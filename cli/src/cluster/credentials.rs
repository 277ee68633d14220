//! What `hpvm login` keeps: a token and the certificate of each server, in a file that nobody else
//! can read.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use hpvm_serve::client::Address;
use hpvm_serve::tls::trust::Trust;
use serde_json::{Value, json};

/// What is kept of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub token: String,
    pub user: String,
    /// The certificate that was pinned, in hexadecimal; without one, the system's authorities count.
    pub pinned: Option<Vec<u8>>,
}

impl Stored {
    pub fn trust(&self) -> Trust {
        self.pinned.clone().map_or(Trust::System, Trust::Pinned)
    }
}

fn file() -> Result<PathBuf, String> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("XDG_CONFIG_HOME") {
        return Ok(PathBuf::from(folder).join("hpvm/servers.json"));
    }
    let home = variable("HOME").ok_or("HOME is not set, so there is no place for tokens")?;
    Ok(PathBuf::from(home).join(".config/hpvm/servers.json"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn read() -> Result<BTreeMap<String, Value>, String> {
    let path = file()?;
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let open = match std::fs::File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other.map_err(|error| told(&error))?,
    };
    let mode = open.metadata().map_err(|error| told(&error))?.mode();
    if mode & 0o077 != 0 {
        let text = format!("others can read the tokens in it (mode {:o}): chmod 600", mode & 0o777);
        return Err(told(&text));
    }
    serde_json::from_reader(open).map_err(|error| told(&error))
}

/// Replaces the file as a whole, so that nobody ever sees a half of it.
fn write(all: &BTreeMap<String, Value>) -> Result<(), String> {
    use std::io::Write;
    let path = file()?;
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(told)?;
    }
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let text = serde_json::to_string_pretty(all).map_err(|error| error.to_string())? + "\n";
    let file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&new);
    let written = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, &path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written.map_err(told)
}

/// Whether what is kept can be used.
pub fn check() -> Result<(), String> {
    read().map(|_| ())
}

/// What is kept of this server.
pub fn find(server: &Address) -> Result<Option<Stored>, String> {
    let all = read()?;
    let Some(entry) = all.get(&server.to_string()) else { return Ok(None) };
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    let bad = || format!("what is kept of {server} cannot be read: hpvm login {server}");
    let pinned = text("certificate").map(|text| unhex(&text).ok_or_else(bad)).transpose()?;
    let (token, user) = (text("token").ok_or_else(bad)?, text("user").unwrap_or_default());
    Ok(Some(Stored { token, user, pinned }))
}

/// Keeps it.
pub fn put(server: &Address, stored: &Stored) -> Result<(), String> {
    let mut all = read()?;
    let certificate = stored.pinned.as_deref().map(hex);
    let entry = json!({ "token": stored.token, "user": stored.user, "certificate": certificate });
    all.insert(server.to_string(), entry);
    write(&all)
}

/// Forgets it.
pub fn remove(server: &Address) -> Result<(), String> {
    let mut all = read()?;
    all.remove(&server.to_string());
    write(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_as_text() {
        assert_eq!(unhex(&hex(&[0, 255, 16])), Some(vec![0, 255, 16]));
        assert_eq!(unhex("xy"), None);
    }
}
