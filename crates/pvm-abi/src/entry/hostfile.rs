//! `pvm_start_pvmd`: the virtual machine, and the hosts of a file.

use super::machine::strings;
use super::task::{ask, ask_code};
use crate::library::{enrolled, finish, lock};
use crate::say::say;
use core::ffi::{c_char, c_int};
use hpvm_pvm::hostfile::Hostfile;
use hpvm_pvm::protocol::{Answer, Request};
use hpvm_pvm::{Code, error};

/// The file is PVM's daemon's argument: the first one that is no option. Options are those of a daemon that is not there.
fn read(arguments: &[String]) -> Result<Option<Hostfile>, Code> {
    let Some(name) = arguments.iter().find(|word| !word.starts_with('-')) else { return Ok(None) };
    let text = std::fs::read(name).map_err(|cause| cause.to_string());
    let file = text.and_then(|text| Hostfile::parse(&String::from_utf8_lossy(&text)));
    file.map(Some).map_err(|cause| {
        say(None, &format!("pvm_start_pvmd(): hostfile {name}: {cause}"));
        Code::CantStart
    })
}

/// Adds the hosts that are not there. One that cannot be reached is told, and nothing else, as with PVM.
fn add(file: Hostfile) -> Result<(), Code> {
    let Answer::Hosts { hosts } = ask(&mut *enrolled()?, &Request::Config {})? else {
        return Err(Code::BadMsg);
    };
    let there: Vec<_> = hosts.into_iter().map(|host| host.name).collect();
    let (lines, names) = file.split(&there);
    ask_code(&Request::HostOptions { lines })?;
    if names.is_empty() {
        return Ok(());
    }
    let request = Request::AddHosts { names: names.clone() };
    let Answer::Tids { tids } = ask(&mut *enrolled()?, &request)? else { return Err(Code::BadMsg) };
    for (name, code) in names.iter().zip(tids).filter(|(_, code)| *code < 0) {
        say(None, &format!("pvm_start_pvmd(): host {name}: {}", error::text(code)));
    }
    Ok(())
}

/// The virtual machine is started by the first task; here by this call, which also adds the hosts of a hostfile and returns when they
/// have come or have failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvm_start_pvmd(
    count: c_int,
    arguments: *const *const c_char,
    _: c_int,
) -> c_int {
    let start = || {
        // SAFETY: the caller's promise.
        let words = if count == 0 { Vec::new() } else { unsafe { strings(arguments, count) }? };
        if lock().task.is_some() {
            return Err(Code::DupHost);
        }
        let file = read(&words)?;
        drop(enrolled().map_err(|_| Code::CantStart)?);
        file.map_or(Ok(()), add).map(|()| 0)
    };
    finish("pvm_start_pvmd", start())
}
