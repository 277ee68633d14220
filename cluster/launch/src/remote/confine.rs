//! A job of a queue on its further hosts: whoever looks after the queue's jobs there holds the agent, and so all
//! that it starts, to what the job may have on that host, before a rank is started. The agent comes by ssh, so it
//! is in no group of the job's before.
//!
//! The two meet at a socket of the abstract name space, which ends with its process and of which each host has its own.
//! Anybody may take a name there, so nobody can know this one beforehand: it ends in a random number, and the agent finds
//! it among the names that the kernel lists. Anybody may add names that look like it as well, so the agent believes only
//! one behind which the kernel says that root or its own user is.

use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use super::order::Order;
use crate::environment::{NODELIST, QUEUE_LIMITS, QUEUE_UID, QUEUE_UMASK};
use crate::executor::spawn::Nursery;
use crate::hosts::parse_list;
use crate::limits;

/// How long whoever looks after the job may take to hear of it: the queue tells the hosts of a job at the same time.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_EVERY: Duration = Duration::from_millis(20);
/// The answer is one system call or a few away.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// So much of a host's name is in that of the socket: a name of a socket has 107 bytes at most.
const HOST_MAX: usize = 24;
/// Where the kernel lists the sockets of this host.
const SOCKETS: &str = "/proc/net/unix";
/// The flag of those that listen there.
const LISTENS: u32 = 0x1_0000;

/// What the names of all sockets begin with at which a job may be confined.
fn beginning(mark: &str) -> String {
    format!("hpvm-confine-{mark}/")
}

/// How a host is called in such a name. Several hosts may be on one machine.
fn short(host: &str) -> String {
    host.chars().filter(char::is_ascii_graphic).take(HOST_MAX).collect::<String>().to_lowercase()
}

/// Where the one listens who looks after a job on one of its further hosts. It does not block.
///
/// # Errors
/// The job's mark is too long for a name, or the system has no socket or no random number.
pub fn listen(mark: &str, host: &str) -> io::Result<UnixListener> {
    let random = u64::from_ne_bytes(hpvm_os::random()?);
    let name = format!("{}{}/{random:016x}", beginning(mark), short(host));
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Asks to be confined, if this is a job of a queue that has this host. Blocks until that was done. When nobody answers
/// (`hpvm node` does not run now) the job goes on, and is confined when somebody looks after it again.
pub(super) fn be_confined(order: &Order) {
    let mark = order.job.split('/').next().unwrap_or_default();
    let host = short(&order.nodes[0].host);
    let timeout = if is_of_queue(order) { QUEUE_TIMEOUT } else { Duration::ZERO };
    let until = Instant::now() + timeout;
    loop {
        let found = believed(mark, &host);
        if !found.is_empty() {
            return found.into_iter().for_each(wait);
        }
        if Instant::now() >= until {
            return;
        }
        std::thread::sleep(RETRY_EVERY);
    }
}

/// Becomes on this host what the queue says that the job is: takes its file mode creation mask, gives its soft limits to the
/// ranks, and gives a sentence when this process is another user's.
pub(super) fn be_its_users(order: &Order, nursery: &mut Nursery) -> Result<(), String> {
    if let Some(text) = variable(order, QUEUE_LIMITS) {
        nursery.limit(&limits::decode(text));
    }
    let umask = variable(order, QUEUE_UMASK).and_then(|text| u32::from_str_radix(text, 8).ok());
    if let Some(umask) = umask {
        // SAFETY: takes a number and cannot fail.
        unsafe { libc::umask(umask & 0o777) };
    }
    let own = hpvm_os::user();
    match variable(order, QUEUE_UID).and_then(|text| text.parse::<u32>().ok()) {
        Some(uid) if uid != own => Err(format!(
            "jobs run as the same user on all hosts, and this one is that of the uid {uid}, but it came here as that of \
             {own}: give the account one number everywhere"
        )),
        _ => Ok(()),
    }
}

/// A variable that the job is given.
fn variable<'a>(order: &'a Order, wanted: &str) -> Option<&'a str> {
    let mut variables = order.programs.iter().flat_map(|program| &program.set);
    variables.find(|(name, _)| name == wanted).and_then(|(_, value)| value.to_str())
}

/// Whether the queue has this host for the job.
fn is_of_queue(order: &Order) -> bool {
    let hosts = variable(order, NODELIST).and_then(|list| parse_list(list).ok());
    let hosts = hosts.unwrap_or_default();
    hosts.iter().any(|host| host.name.eq_ignore_ascii_case(&order.nodes[0].host))
}

/// Connections to those who may confine us: the administrator, or our own user. Of several hosts on this machine only
/// to ours, if it is known by the name that the launcher has for it.
fn believed(mark: &str, host: &str) -> Vec<UnixStream> {
    let beginning = beginning(mark);
    let listed = std::fs::read(SOCKETS).unwrap_or_default();
    let mut found: Vec<(bool, UnixStream)> = Vec::new();
    for name in names(&listed, &beginning) {
        let own = hpvm_os::user();
        let Ok(stream) = connect(&name) else { continue };
        if hpvm_os::peer(&stream).is_ok_and(|(_, user)| user == 0 || user == own) {
            let there = &name[beginning.len()..];
            found.push((there.rsplit_once('/').is_some_and(|(name, _)| name == host), stream));
        }
    }
    if found.iter().any(|(ours, _)| *ours) {
        found.retain(|(ours, _)| *ours);
    }
    found.into_iter().map(|(_, stream)| stream).collect()
}

/// The names of listening sockets of the abstract name space that begin so, of the kernel's list.
fn names(listed: &[u8], beginning: &str) -> Vec<String> {
    let of = |line: &[u8]| {
        // Number, users, protocol, flags, type, state, inode, and the name, which begins with `@`.
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_ascii_whitespace();
        let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
        let name = words.nth(3)?.strip_prefix('@')?;
        (flags & LISTENS != 0 && name.starts_with(beginning)).then(|| name.to_string())
    };
    listed.split(|byte| *byte == b'\n').filter_map(of).collect()
}

/// A connection, if it can be had at once: whoever else has such a name may let us wait for ever.
fn connect(name: &str) -> io::Result<UnixStream> {
    // SAFETY: all bytes zero are a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    // The first byte is zero, as it is for names of the abstract name space.
    if name.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, byte) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes numbers.
    let fd = hpvm_os::check(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: the kernel has just given us this descriptor; nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    let at = (&raw const address).cast();
    // SAFETY: the address lives through the call and has at least so many bytes.
    hpvm_os::check(unsafe { libc::connect(fd, at, len as libc::socklen_t) })?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Waits for the answer.
fn wait(mut stream: UnixStream) {
    if stream.set_read_timeout(Some(ANSWER_TIMEOUT)).is_ok() {
        // The connection ends when it was done, or cannot be done.
        let _ = stream.read(&mut [0; 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn it_is_found_by_its_beginning_and_by_nothing_else() {
        let mark = format!("queue-test-{}-7", std::process::id());
        let there = |mark: &str, host: &str| believed(mark, &short(host)).len();
        assert_eq!(there(&mark, "N1"), 0);
        let first = listen(&mark, "n1").unwrap();
        let _others = [listen(&mark, "n2"), listen(&format!("{mark}1"), "n1")];
        assert_eq!((there(&mark, "N1"), there(&mark, "n1.example.org")), (1, 2));
        first.accept().unwrap();
        drop(first);
        assert_eq!(there(&mark, "n1"), 1);
        // Whoever takes no connections keeps nobody waiting.
        let full = listen(&mark, "n3").unwrap();
        // SAFETY: the call takes numbers.
        hpvm_os::check(unsafe { libc::listen(full.as_raw_fd(), 0) }).unwrap();
        let found: Vec<_> = (0..3).map(|_| believed(&mark, "n3")).collect();
        assert!(found.iter().all(|found| found.len() == 1), "n3, then n2 in its place");
    }

    #[test]
    fn the_kernels_list() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 17 @hpvm-confine-a-1/n1/2a\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 18 @hpvm-confine-a-1/n1/2b\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 19 @hpvm-confine-a-12/n1/2c\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20 /hpvm-confine-a-1/n1/2d\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 21\n\
            \xff @hpvm-confine-a-1/n1/2e\n";
        assert_eq!(names(list, &beginning("a-1")), ["hpvm-confine-a-1/n1/2a"]);
    }

    #[test]
    fn names_are_not_too_long() {
        let mark = format!("queue-{:08x}-{}-{}", u32::MAX, i64::MAX, u32::MAX);
        listen(&mark, &"a".repeat(300)).unwrap();
    }
}
