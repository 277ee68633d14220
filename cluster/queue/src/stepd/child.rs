//! Starts the launcher as the supervisor's child.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::cgroup::{self, Group};
use super::order::Order;
use crate::processors;
use hpvm_launch::place::affinity;
use hpvm_launch::sys;
use hpvm_launch::{limits, loss};

/// Starts the launcher; it is killed when the supervisor dies. Gives also where it tells of a host
/// that was lost ([`lost`]).
pub fn start(
    order: &Order,
    group: Option<&Group>,
    stdout: OwnedFd,
    stderr: OwnedFd,
) -> Result<(i32, OwnedFd), String> {
    // With the user's rights; the child inherits it.
    let entered = order.with_rights(|| std::env::set_current_dir(&order.workdir));
    entered.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("the working folder {} does not exist", order.workdir.display())
        }
        _ => format!("working folder {}: {error}", order.workdir.display()),
    })?;
    let Some(program) = order.argv.first() else { return Err("no program".into()) };
    let mut command = Command::new(program);
    command.args(&order.argv[1..]).env_clear().envs(&order.env);
    let (told, tells) = loss::pipe().map_err(|error| format!("pipe: {error}"))?;
    command.env(loss::VARIABLE, tells.as_raw_fd().to_string());
    command.stdin(null()?).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
    let entrance = group.and_then(|group| group.entrance().ok());
    let parent = std::process::id() as i32;
    let (user, limits) = (order.user.clone(), limits::prepared(&order.limits));
    let bound = processors::kernel_set(&order.processors);
    // SAFETY: the closure makes async-signal-safe calls only.
    unsafe {
        command.pre_exec(move || {
            libc::setpgid(0, 0);
            if let Some(entrance) = &entrance {
                cgroup::enter(entrance);
            }
            libc::fcntl(tells.as_raw_fd(), libc::F_SETFD, 0);
            limits::set(&limits);
            if let Some(bound) = &bound {
                // Refused when none of them is there any more: the job runs then wherever it may.
                let _ = affinity::bind(bound);
            }
            if let Some(user) = &user {
                user.become_for_good()?;
            }
            // After that: the kernel forgets it when the user changes.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // The supervisor may have died before it was asked for.
            if libc::getppid() != parent {
                libc::_exit(127);
            }
            let mut none = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            for number in [libc::SIGPIPE, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                libc::signal(number, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let child = command.spawn();
    // Nothing of the supervisor's should hold the user's folder.
    let _ = std::env::set_current_dir("/");
    let child = child.map_err(|error| format!("cannot start {program}: {error}"))?;
    Ok((child.id() as i32, told))
}

/// The sentence about a host that was lost; empty when none was.
pub fn lost(told: &OwnedFd) -> String {
    let mut bytes = [0; loss::SENTENCE_BYTES_MAX];
    let count = hpvm_launch::sys::read(told.as_raw_fd(), &mut bytes).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

fn null() -> Result<File, String> {
    File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))
}

/// Blocks the signals that a supervisor hears of and opens a descriptor for them.
pub fn signals() -> io::Result<OwnedFd> {
    sys::signals(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD, libc::SIGPIPE])
}
