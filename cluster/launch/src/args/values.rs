//! Single values of the command line.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use hpvm_job::name_server::Addresses;

use super::{Input, Launcher, MAX_RANKS, Options};
use crate::error::LaunchError;
use crate::place::affinity;
use crate::place::universe::Universe;
use crate::restart::RestartOn;
use crate::text::digits;

pub fn split_words(shown: &str, value: &OsStr) -> Result<Vec<OsString>, LaunchError> {
    let words: Vec<OsString> = value
        .as_bytes()
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    if words.is_empty() {
        return Err(LaunchError::usage(format!("'{shown}': no command given")));
    }
    Ok(words)
}

pub fn parse_launcher(shown: &str, value: &OsStr) -> Result<Launcher, LaunchError> {
    match value.to_string_lossy().as_ref() {
        "ssh" => Ok(Launcher::Ssh),
        "rsh" => Ok(Launcher::Rsh),
        "fork" => Ok(Launcher::Fork),
        "slurm" | "srun" => Ok(Launcher::Slurm),
        other => Err(LaunchError::usage(format!(
            "'{shown} {other}': hpvm reaches hosts by 'ssh', 'rsh' or 'slurm'; --launch-agent takes \
             any other command"
        ))),
    }
}

/// The digits of `-n4` or `-np4`.
pub fn attached_count(name: &str) -> Option<&str> {
    let digits = name.strip_prefix("np").or_else(|| name.strip_prefix('n'))?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// A number of ranks: at least 1, and few enough for MPI's `int`.
pub fn parse_count(shown: &str, value: &OsStr) -> Result<u32, LaunchError> {
    let text = value.to_string_lossy();
    match digits::<u32>(&text) {
        Some(0) => Err(LaunchError::usage(format!("'{shown} 0': there must be at least one rank"))),
        Some(count) if count <= MAX_RANKS => Ok(count),
        Some(_) => Err(LaunchError::usage(format!("'{shown} {text}': at most {MAX_RANKS} ranks"))),
        None => Err(LaunchError::usage(format!(
            "'{shown} {text}': '{text}' is not a number of ranks; give a whole number from 1"
        ))),
    }
}

/// `-usize`, as MPICH's launcher takes it.
pub fn parse_universe(shown: &str, value: &OsStr) -> Result<Universe, LaunchError> {
    match &*value.to_string_lossy() {
        "SYSTEM" => Ok(Universe::Slots),
        "INFINITE" => Ok(Universe::Infinite),
        text if text.starts_with(|first: char| first.is_ascii_digit()) => {
            parse_count(shown, value).map(Universe::Processes)
        }
        text => Err(LaunchError::usage(format!(
            "'{shown} {text}': expected a number of processes, SYSTEM or INFINITE"
        ))),
    }
}

/// How often a job is started again at most.
pub fn parse_restarts(shown: &str, value: &OsStr) -> Result<u32, LaunchError> {
    let text = value.to_string_lossy();
    digits(&text).ok_or_else(|| {
        LaunchError::usage(format!(
            "'{shown} {text}': '{text}' is not a number of restarts; give a whole number from 0"
        ))
    })
}

/// After which ends a job is started again.
pub fn parse_restart_on(shown: &str, value: &OsStr) -> Result<RestartOn, LaunchError> {
    match &*value.to_string_lossy() {
        "abnormal" => Ok(RestartOn::Abnormal),
        "failure" => Ok(RestartOn::Failure),
        text => Err(LaunchError::usage(format!(
            "'{shown} {text}': expected abnormal (killed ranks, lost hosts) or failure (any failure)"
        ))),
    }
}

/// Seconds, 0 too.
pub fn parse_duration(shown: &str, value: &OsStr) -> Result<Duration, LaunchError> {
    let zero = ["0", "0s", "0.0"].iter().any(|zero| value == OsStr::new(zero));
    if zero { Ok(Duration::ZERO) } else { parse_seconds(shown, value) }
}

/// Seconds, with a fraction if need be.
pub fn parse_seconds(shown: &str, value: &OsStr) -> Result<Duration, LaunchError> {
    let text = value.to_string_lossy();
    let seconds = text.strip_suffix('s').unwrap_or(&text).parse::<f64>().ok();
    seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| {
            LaunchError::usage(format!("'{shown} {text}': give a number of seconds above 0"))
        })
}

/// Bounds of the time after which a silent host is given up. Ranks have the same: see
/// `net_timeout` in crates/mpi-abi/src/runtime/meet.rs.
const NET_TIMEOUT_RANGE: RangeInclusive<f64> = 0.5..=1e6;

/// The value of `--net-timeout` and of its variable.
pub fn parse_net_timeout(shown: &str, value: &OsStr) -> Result<Duration, LaunchError> {
    let limit = parse_seconds(shown, value)?;
    if NET_TIMEOUT_RANGE.contains(&limit.as_secs_f64()) {
        return Ok(limit);
    }
    let text = value.to_string_lossy();
    Err(LaunchError::usage(format!("'{shown} {text}': give 0.5 to 1000000 seconds")))
}

/// The value of `--nameserver`.
pub fn parse_name_server(shown: &str, value: &OsStr) -> Result<Addresses, LaunchError> {
    Addresses::parse(&value.to_string_lossy())
        .map_err(|why| LaunchError::usage(format!("'{shown}': {why}")))
}

/// The value of `--lane`, for all ranks.
pub fn parse_lane(shown: &str, value: &OsStr) -> Result<(), LaunchError> {
    match value.to_str() {
        Some("auto" | "udp" | "xdp" | "ofi") => Ok(()),
        _ => {
            let text = value.to_string_lossy();
            Err(LaunchError::usage(format!("'{shown} {text}': give auto, udp, xdp or ofi")))
        }
    }
}

/// The value of `--initial-errhandler`, as MPI 4 has it.
pub fn parse_errhandler(shown: &str, value: &OsStr) -> Result<(), LaunchError> {
    match value.to_str() {
        Some("mpi_errors_are_fatal" | "mpi_errors_abort" | "mpi_errors_return") => Ok(()),
        _ => {
            let text = value.to_string_lossy();
            Err(LaunchError::usage(format!(
                "'{shown} {text}': give mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return"
            )))
        }
    }
}

pub fn split_list(value: &OsStr) -> Vec<OsString> {
    value
        .as_bytes()
        .split(|byte| *byte == b',')
        .filter(|name| !name.is_empty())
        .map(|name| OsString::from_vec(name.to_vec()))
        .collect()
}

/// A name that the environment can hold.
pub fn variable(shown: &str, name: OsString) -> Result<OsString, LaunchError> {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return Err(LaunchError::usage(format!(
            "'{shown} {}': this is not the name of a variable",
            name.to_string_lossy()
        )));
    }
    Ok(name)
}

pub fn export(options: &mut Options, value: OsString) -> Result<(), LaunchError> {
    let bytes = value.as_bytes();
    if let Some(at) = bytes.iter().position(|byte| *byte == b'=') {
        let name = variable("-x", OsString::from_vec(bytes[..at].to_vec()))?;
        options.genv.push((name, OsString::from_vec(bytes[at + 1..].to_vec())));
        return Ok(());
    }
    let name = variable("-x", value)?;
    match std::env::var_os(&name) {
        Some(value) => options.genv.push((name, value)),
        None => options.warnings.push(format!(
            "-x {}: the variable is not set, so there is nothing to pass on",
            name.to_string_lossy()
        )),
    }
    Ok(())
}

/// Who gets standard input: `all`, `none`, a rank, or several (`1,3-4`).
pub fn parse_input(shown: &str, text: &str) -> Result<Input, LaunchError> {
    match text.to_ascii_lowercase().as_str() {
        "all" => return Ok(Input::Several(None)),
        "none" => return Ok(Input::Nobody),
        _ => {}
    }
    let ranks = affinity::parse_user_list(text).ok_or_else(|| {
        LaunchError::usage(format!(
            "'{shown} {text}': expected a rank, several (1,3-4), 'all' or 'none'"
        ))
    })?;
    Ok(match ranks[..] {
        [rank] => Input::Rank(rank as u32),
        _ => Input::Several(Some(ranks.into_iter().map(|rank| rank as u32).collect())),
    })
}
