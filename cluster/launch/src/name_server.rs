//! What ranks are told of the user's name server: where it is, and the key, which they need not read on their hosts.

use std::env::var_os;

use hpvm_job::name_server::{Addresses, KEY_VARIABLE, VARIABLE, key_file, read_key, told};

use crate::args::Options;
use crate::error::LaunchError;

/// The text under [`hpvm_job::name_server::TOLD_KEY`]. None where no server is named, or this machine has no key that can be
/// used: a rank that needs one then says what is wrong on its own host.
///
/// # Errors
/// The variable names no server.
pub fn for_ranks(options: &Options) -> Result<Option<String>, LaunchError> {
    let addresses = match (&options.name_server, var_os(VARIABLE).filter(|value| !value.is_empty()))
    {
        (Some(addresses), _) => addresses.clone(),
        (None, Some(value)) => Addresses::parse(&value.to_string_lossy())
            .map_err(|why| LaunchError::usage(format!("{VARIABLE}: {why}")))?,
        (None, None) => return Ok(None),
    };
    let file = key_file(var_os(KEY_VARIABLE), var_os("XDG_CONFIG_HOME"), var_os("HOME"));
    let key = file.and_then(|file| read_key(&file).ok().flatten());
    Ok(key.map(|key| told(&key, &addresses)))
}
