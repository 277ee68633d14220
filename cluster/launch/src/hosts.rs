//! Lists of hosts: what the user writes, and which of them is this machine.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

use crate::error::LaunchError;
use crate::hostlist;
use crate::text::digits;
use crate::text_file::{self, Unread};

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

/// Reads `HOST[:SLOTS],...`, where HOST may stand for several (`n[01-16]`).
pub fn parse_list(text: &str) -> Result<Vec<Host>, LaunchError> {
    let mut hosts = Vec::new();
    for item in hostlist::items(text) {
        hosts.extend(parse_host(item, None)?);
    }
    if hosts.is_empty() {
        return Err(LaunchError::usage("--host: the list of hosts is empty"));
    }
    Ok(hosts)
}

/// More bytes are no hostfile: a million hosts have shorter ones.
const FILE_MAX: u64 = 64 << 20;

/// Reads a hostfile; `-` is standard input.
pub fn read_file(path: &Path) -> Result<Vec<Host>, LaunchError> {
    let stdin = path == Path::new("-");
    let name = if stdin { "standard input".to_string() } else { path.display().to_string() };
    let fault = |what: &str| LaunchError::usage(format!("hostfile '{name}': {what}"));
    let text = text_file::read_or_stdin(path, FILE_MAX).map_err(|unread| match unread {
        Unread::TooLong(_) => fault(&format!("this is no list of hosts: {unread}")),
        Unread::NoText(_) => fault("this is no text"),
        Unread::Failed(_) => fault(&unread.to_string()),
    })?;
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let parsed = parse_line(line).map_err(|error| {
            LaunchError::usage(format!("{name}:{}: {}", number + 1, error.message))
        })?;
        hosts.extend(parsed);
    }
    if hosts.is_empty() {
        return Err(fault("it names no host"));
    }
    Ok(hosts)
}

fn parse_line(line: &str) -> Result<Vec<Host>, LaunchError> {
    let mut words = line.split('#').next().unwrap_or("").split_whitespace();
    let Some(host) = words.next() else { return Ok(Vec::new()) };
    let mut slots = None;
    for word in words {
        match word.split_once('=') {
            // All of these are Open MPI's.
            Some(("slots" | "slot" | "cpu" | "count", count)) => {
                slots = Some(parse_slots(word, count)?)
            }
            Some(("max_slots" | "max-slots" | "slots_max" | "slots-max", count)) => {
                // There is no limit: more ranks than slots are always allowed.
                parse_slots(word, count)?;
            }
            _ => {
                return Err(LaunchError::usage(format!(
                    "'{word}' is not understood; a line is HOST, HOST:SLOTS or HOST slots=SLOTS"
                )));
            }
        }
    }
    let mut hosts = Vec::new();
    for item in hostlist::items(host) {
        hosts.extend(parse_host(item, slots)?);
    }
    Ok(hosts)
}

fn parse_host(item: &str, slots: Option<u32>) -> Result<Vec<Host>, LaunchError> {
    // More than one colon is an IPv6 address, not a slot count.
    let (name, count) = match (bracketed(item), item.rsplit_once(':')) {
        (Some((name, "")), _) => (name, None),
        (Some((name, rest)), _) => {
            let count = rest.strip_prefix(':').unwrap_or(rest);
            (name, Some(parse_slots(item, count)?))
        }
        (None, Some((name, count))) if !name.contains(':') => {
            (name, Some(parse_slots(item, count)?))
        }
        (None, _) => (item, None),
    };
    let names = if name.contains(':') { vec![name.to_string()] } else { hostlist::expand(name)? };
    if !names.iter().all(|name| is_name(name)) {
        return Err(LaunchError::usage(format!("'{item}' is not the name of a host")));
    }
    Ok(names.into_iter().map(|name| Host { name, slots: slots.or(count) }).collect())
}

/// The address in `[ADDRESS]`, where it is one of IPv6, and what follows.
fn bracketed(item: &str) -> Option<(&str, &str)> {
    let (address, rest) = item.strip_prefix('[')?.split_once(']')?;
    address.contains(':').then_some((address, rest))
}

/// Whether something can be the name or the address of a host, as ssh takes it: `USER@` may be in
/// front, and an interface behind an address (`%eth0`). Not a flag for ssh.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "-._:@%".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(fits)
}

fn parse_slots(item: &str, count: &str) -> Result<u32, LaunchError> {
    digits(count).filter(|count| *count > 0).ok_or_else(|| {
        LaunchError::usage(format!("'{item}': '{count}' is not a number of slots from 1"))
    })
}

/// Whether a name is this machine's, without asking anybody.
pub fn is_own_name(name: &str) -> bool {
    let own = local_name();
    let short = own.split('.').next().unwrap_or(&own);
    matches!(name, "localhost" | "127.0.0.1" | "::1" | "localhost.localdomain")
        || name.eq_ignore_ascii_case(&own)
        || name.eq_ignore_ascii_case(short)
}

/// Whether a name is this machine's, or leads to one of its addresses. May block for the answer
/// of a name server.
pub fn is_local(name: &str) -> bool {
    is_own_name(name)
        || (name, 0_u16)
            .to_socket_addrs()
            .is_ok_and(|mut addresses| addresses.any(|address| is_own_address(address.ip())))
}

/// Only an address of this machine can be bound to.
fn is_own_address(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, slots: Option<u32>) -> Host {
        Host { name: name.to_string(), slots }
    }

    #[test]
    fn lists_with_slots() {
        let hosts = parse_list("a:2,b,::1,n[1-2]:3,fd77::2,[fd77::3],[fd77::4]:5").unwrap();
        let expected = [
            host("a", Some(2)),
            host("b", None),
            host("::1", None),
            host("n1", Some(3)),
            host("n2", Some(3)),
            host("fd77::2", None),
            host("fd77::3", None),
            host("fd77::4", Some(5)),
        ];
        assert_eq!(hosts, expected);
        for (text, part) in [
            ("localhost:0", "not a number of slots"),
            ("a:x", "not a number of slots"),
            (",", "list of hosts is empty"),
            ("-oProxyCommand=x", "not the name of a host"),
            ("a;b", "not the name of a host"),
            ("a\u{1}", "not the name of a host"),
            ("a[1", "'[' without ']'"),
            ("[::1", "not the name of a host"),
            ("::1]", "not the name of a host"),
            ("[::1]x", "not a number of slots"),
            ("a:+2", "not a number of slots"),
        ] {
            let error = parse_list(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn who_is_here() {
        for name in ["localhost", &local_name(), "127.0.0.1", "::1", "127.0.0.2"] {
            assert!(is_local(name), "{name}");
        }
        // An address for documentation is nobody's.
        assert!(!is_local("192.0.2.1"));
        assert!(!is_local("no-such-host.invalid"));
    }

    #[test]
    fn garbage_for_a_hostfile() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        for (bytes, part) in [
            (&b""[..], "it names no host"),
            (b"# only words\n\n", "it names no host"),
            (b"\xff\xfe\x00", "this is no text"),
            (b"\x7fELF\x01\x02", "f:1: '\\u{7f}ELF\\u{1}\\u{2}' is not the name of a host"),
            (b"a\nb c=1\n", "f:2: 'c=1' is not understood"),
            (&[b'['; 100_000], "'[' without ']'"),
        ] {
            std::fs::write(&file, bytes).unwrap();
            let message = read_file(&file).unwrap_err().message;
            assert!(message.contains(part) && message.len() < 400, "{message}");
        }
        let message = read_file(dir.path()).unwrap_err().message;
        assert!(message.contains("directory"), "{message}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,60}") {
            for hosts in [parse_list(&text), parse_line(&text)].into_iter().flatten() {
                assert!(hosts.iter().all(|host| is_name(&host.name)));
            }
        }

        #[test]
        fn what_looks_like_a_list_is_taken_or_refused(text in "[a-b0-3,:\\[\\]=# -]{0,24}") {
            for hosts in [parse_list(&text), parse_line(&text)].into_iter().flatten() {
                assert!(hosts.iter().all(|host| is_name(&host.name)));
            }
        }
    }

    #[test]
    fn hostfile_lines() {
        assert_eq!(parse_line("  # nothing").unwrap(), []);
        let hosts = parse_line("localhost slots=4 max_slots=8 # mine").unwrap();
        assert_eq!(hosts, [host("localhost", Some(4))]);
        assert_eq!(parse_line("localhost:3").unwrap(), [host("localhost", Some(3))]);
        assert_eq!(parse_line("localhost cpu=2").unwrap(), [host("localhost", Some(2))]);
        assert_eq!(parse_line("n[1-2] slots=2").unwrap().len(), 2);
        assert!(parse_line("localhost cores=3").unwrap_err().message.contains("'cores=3'"));
        assert!(parse_line("localhost slots=x").is_err());
    }
}
