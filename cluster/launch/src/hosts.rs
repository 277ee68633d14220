//! Lists of hosts. Today every host must be this machine.

use std::path::Path;

use crate::error::{LaunchError, plain};

/// A host with the number of slots the user gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub slots: Option<u32>,
}

/// This machine's name, or `localhost` when it has none.
pub fn local_name() -> String {
    let mut buffer = [0_u8; 256];
    // SAFETY: the buffer is writable for the length given, less one byte that stays zero.
    let failed = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) } != 0;
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(0);
    if failed || end == 0 {
        return "localhost".to_string();
    }
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

/// Sum of the slots, when any host has some; a host without counts as one.
pub fn total_slots(hosts: &[Host]) -> Option<u32> {
    hosts
        .iter()
        .any(|host| host.slots.is_some())
        .then(|| hosts.iter().fold(0_u32, |sum, host| sum.saturating_add(host.slots.unwrap_or(1))))
}

/// Reads `HOST[:SLOTS],...`.
pub fn parse_list(text: &str) -> Result<Vec<Host>, LaunchError> {
    let mut hosts = Vec::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        hosts.push(parse_host(item, None)?);
    }
    if hosts.is_empty() {
        return Err(LaunchError::usage("--host: the list of hosts is empty"));
    }
    Ok(hosts)
}

/// Reads a hostfile.
pub fn read_file(path: &Path) -> Result<Vec<Host>, LaunchError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        LaunchError::usage(format!("hostfile '{}': {}", path.display(), plain(&error)))
    })?;
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let host = parse_line(line).map_err(|error| {
            LaunchError::usage(format!("{}:{}: {}", path.display(), number + 1, error.message))
        })?;
        hosts.extend(host);
    }
    if hosts.is_empty() {
        return Err(LaunchError::usage(format!("hostfile '{}' names no host", path.display())));
    }
    Ok(hosts)
}

fn parse_line(line: &str) -> Result<Option<Host>, LaunchError> {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    let Some(host) = words.next() else { return Ok(None) };
    let mut slots = None;
    for word in words {
        match word.split_once('=') {
            Some(("slots", count)) => slots = Some(parse_slots(word, count)?),
            Some(("max_slots" | "max-slots", _)) => {}
            _ => return Err(LaunchError::usage(format!("'{word}' is not understood"))),
        }
    }
    parse_host(host, slots).map(Some)
}

fn parse_host(item: &str, slots: Option<u32>) -> Result<Host, LaunchError> {
    // More than one colon is an IPv6 address, not a slot count.
    let (name, count) = match item.split_once(':') {
        Some((name, count)) if !count.contains(':') => (name, Some(parse_slots(item, count)?)),
        _ => (item, None),
    };
    if !is_local(name) {
        return Err(LaunchError::usage(format!(
            "host '{name}' is not this machine ({}); remote hosts are not supported yet",
            local_name()
        )));
    }
    Ok(Host { name: name.to_string(), slots: slots.or(count) })
}

fn parse_slots(item: &str, count: &str) -> Result<u32, LaunchError> {
    count.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
        LaunchError::usage(format!("'{item}': '{count}' is not a number of slots from 1"))
    })
}

fn is_local(name: &str) -> bool {
    let own = local_name();
    let short = own.split('.').next().unwrap_or(&own);
    matches!(name, "localhost" | "127.0.0.1" | "::1" | "localhost.localdomain")
        || name.eq_ignore_ascii_case(&own)
        || name.eq_ignore_ascii_case(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_with_slots() {
        let hosts = parse_list(&format!("localhost:2,{},::1,127.0.0.1:3", local_name())).unwrap();
        assert_eq!(hosts.len(), 4);
        assert_eq!(total_slots(&hosts), Some(7));
        assert_eq!(total_slots(&hosts[1..3]), None);
    }

    #[test]
    fn other_machines_are_refused() {
        let error = parse_list("localhost,node17").unwrap_err();
        assert!(error.message.contains("host 'node17' is not this machine"), "{error}");
        assert!(parse_list("localhost:0").is_err());
        assert!(parse_list(",").is_err());
    }

    #[test]
    fn hostfile_lines() {
        assert_eq!(parse_line("  # nothing").unwrap(), None);
        let host = parse_line("localhost slots=4 max_slots=8 # mine").unwrap().unwrap();
        assert_eq!(host.slots, Some(4));
        assert_eq!(parse_line("localhost:3").unwrap().unwrap().slots, Some(3));
        assert!(parse_line("localhost cores=3").unwrap_err().message.contains("'cores=3'"));
        assert!(parse_line("localhost slots=x").is_err());
    }
}
