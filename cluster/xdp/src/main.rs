//! `libexec/hpvm/hpvm-xdp`: the only program of an installation that may be given capabilities. A rank starts it with a
//! listening socket as its standard input, and it serves the ranks of that host and user (crates/xdp/src/serve.rs).

use std::io::Write;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::process::ExitCode;

const HELP: &str = "\
hpvm-xdp opens sockets that send and receive past the kernel (AF_XDP) for the ranks of jobs,
so that the ranks themselves need no privileges. Ranks start it; there is nothing to call by hand
but these:

  hpvm-xdp check      say whether it may do that, and exit 0 if so
  hpvm-xdp --help
  hpvm-xdp --version

Root can use it as it is. For others, as root:

  setcap cap_net_admin,cap_net_raw,cap_bpf,cap_perfmon,cap_ipc_lock=ep FILE

Whoever may run it then can receive at UDP ports that he has bound himself, and no others', and can
send any frame by this host's interfaces. To allow only a group to do so:

  chgrp GROUP FILE; chmod 750 FILE       (before setcap)
";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve"] => serve(),
        ["check"] => check(),
        ["--help" | "-h"] => say(HELP),
        ["--version"] => say(concat!("hpvm-xdp ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => {
            let _ = std::io::stderr().write_all(HELP.as_bytes());
            ExitCode::from(2)
        }
    }
}

fn say(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn check() -> ExitCode {
    match hpvm_xdp::probe() {
        Ok(()) => say("yes\n"),
        Err(refusal) => {
            say(&format!("no: {}\n", refusal.text));
            ExitCode::FAILURE
        }
    }
}

/// Goes on as a process of its own, which nobody has to wait for, and serves there.
fn serve() -> ExitCode {
    // What the rank has left open is not ours to keep.
    // SAFETY: integers only; none of those descriptors is used here.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    // SAFETY: no other thread runs.
    match unsafe { libc::fork() } {
        -1 => return ExitCode::FAILURE,
        0 => {}
        // The socket is listening already: whoever connects now is served.
        _ => return ExitCode::SUCCESS,
    }
    // What a terminal or a launcher tells the ranks is not meant for us: we go when they have gone.
    for number in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2] {
        // SAFETY: ignores a signal; no handler is set.
        unsafe { libc::signal(number, libc::SIG_IGN) };
    }
    // SAFETY: our standard input, which nothing else uses.
    let listener = UnixListener::from(unsafe { OwnedFd::from_raw_fd(0) });
    match hpvm_xdp::serve(&listener) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
