//! A job of a queue on its further hosts: whoever looks after the queue's jobs there holds the agent, and so all
//! that it starts, to what the job may have on that host, before a rank is started. The agent comes by ssh, so it
//! is in no group of the job's before.

use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use super::order::Order;
use crate::environment::NODELIST;
use crate::hosts::parse_list;

/// How long whoever looks after the job may take to hear of it: the queue tells the hosts of a job at the same time.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(20);
/// The answer is one system call or a few away.
const ANSWER: Duration = Duration::from_secs(5);

/// Where the one listens who looks after a job on its further hosts. A socket of the abstract name space, which ends
/// with the process, and of which each host has its own.
///
/// # Errors
/// The job's mark is too long for a name.
pub fn address(mark: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("hpvm-confine-{mark}"))
}

/// The process at the other end of a connection, and its user.
pub fn peer(stream: &UnixStream) -> Option<(i32, u32)> {
    let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut len = size_of_val(&credentials) as libc::socklen_t;
    let at = (&raw mut credentials).cast();
    // SAFETY: live memory of the given length.
    let told = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, at, &mut len)
    };
    (told == 0).then_some((credentials.pid, credentials.uid))
}

/// Asks to be confined, if this is a job of a queue that has this host. Blocks until that was done. When nobody answers
/// (`hpvm node` does not run now) the job goes on, and is confined when somebody looks after it again.
pub(super) fn be_confined(order: &Order) {
    let mark = order.job.split('/').next().unwrap_or_default();
    let Ok(address) = address(mark) else { return };
    let patience = if is_of_queue(order) { PATIENCE } else { Duration::ZERO };
    let until = Instant::now() + patience;
    loop {
        match UnixStream::connect_addr(&address) {
            Ok(stream) => return wait(stream),
            Err(_) if Instant::now() < until => std::thread::sleep(AGAIN),
            Err(_) => return,
        }
    }
}

/// Whether the queue has this host for the job.
fn is_of_queue(order: &Order) -> bool {
    let variables = order.programs.iter().flat_map(|program| &program.set);
    let list = variables.filter(|(name, _)| name == NODELIST).find_map(|(_, list)| list.to_str());
    let hosts = list.and_then(|list| parse_list(list).ok()).unwrap_or_default();
    hosts.iter().any(|host| host.name.eq_ignore_ascii_case(&order.nodes[0].host))
}

/// Waits for the answer of whoever may confine us: the administrator, or our own user.
fn wait(mut stream: UnixStream) {
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::geteuid() };
    let may = peer(&stream).is_some_and(|(_, user)| user == 0 || user == own);
    if may && stream.set_read_timeout(Some(ANSWER)).is_ok() {
        // The connection ends when it was done, or cannot be done.
        let _ = stream.read(&mut [0; 1]);
    }
}
