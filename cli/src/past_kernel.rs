//! Whether datagrams can pass the kernel here (AF_XDP), and how: for `hpvm info` and `hpvm doctor`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use hpvm_net::interfaces::{self, Choice, Interface};
use hpvm_xdp::Mode;

/// The helper's file, as ranks find it.
fn helper() -> Result<PathBuf, String> {
    if let Some(file) = std::env::var_os("HPVM_XDP_HELPER").filter(|file| !file.is_empty()) {
        return Ok(file.into());
    }
    let prefix = hpvm_launch::environment::prefix().map_err(|error| error.to_string())?;
    Ok(prefix.join(hpvm_xdp::HELPER))
}

/// The interfaces in use (`HPVM_NET`).
fn interfaces() -> Result<Vec<Interface>, String> {
    let choice = std::env::var("HPVM_NET").map_or(Ok(Choice::All), |text| Choice::parse(&text));
    let all = interfaces::all().map_err(|error| error.to_string())?;
    interfaces::choose(&all, &choice?)
}

/// Tries the card that libfabric drives. Returns whether it reads long messages out of their senders' memory (RDMA); `None`:
/// this host has no card.
///
/// # Errors
/// It can't be used: why.
pub fn card() -> Result<Option<bool>, String> {
    // Without a card it is no matter which interfaces there are.
    if hpvm_ofi::cards().is_empty() { Ok(None) } else { hpvm_net::try_card(&interfaces()?) }
}

/// How each interface would be used.
///
/// # Errors
/// Why it can't be had, and what would help.
pub fn look() -> Result<String, String> {
    let helper = helper()?;
    hpvm_xdp::usable(&helper).map_err(|refusal| refusal.text)?;
    let checked = Command::new(&helper).arg("check").stdin(Stdio::null()).output();
    let checked = checked.map_err(|error| format!("{}: {error}", helper.display()))?;
    if !checked.status.success() {
        let said = String::from_utf8_lossy(&checked.stdout).trim().to_owned();
        return Err(said
            .strip_prefix("no: ")
            .map_or_else(|| checked.status.to_string(), Into::into));
    }
    let mut chosen = interfaces()?;
    chosen.retain(|interface| !interface.loopback);
    chosen.dedup_by_key(|interface| interface.index);
    let words: Vec<_> = chosen.iter().map(|one| words(&one.name, one.index)).collect();
    let text = |one: &Result<String, String>| one.clone().unwrap_or_else(|why| why);
    let texts: Vec<String> = words.iter().map(text).collect();
    match words.iter().any(Result::is_ok) {
        true => Ok(texts.join("; ")),
        false if texts.is_empty() => Err("there is no interface".to_owned()),
        false => Err(texts.join("; ")),
    }
}

/// How an interface would be used, or why it can't be.
fn words(name: &str, index: u32) -> Result<String, String> {
    let (mode, why) = hpvm_xdp::expected(name, index).map_err(|refusal| refusal.text)?;
    let why = if why.is_empty() { why } else { format!(" ({why})") };
    let asked = if mode == Mode::Generic { ", only with --lane xdp" } else { "" };
    Ok(format!("{name} in {}{why}{asked}", mode.text()))
}
