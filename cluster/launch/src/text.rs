//! Names of signals for messages.

/// `SIGSEGV` for 11; `signal 40` where there is no name.
pub fn signal_name(number: i32) -> String {
    let name = match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return format!("signal {number}"),
    };
    name.to_string()
}

/// A signal with number, name and meaning, as messages show it.
pub fn signal(number: i32) -> String {
    let meaning = match number {
        libc::SIGILL => ", illegal instruction",
        libc::SIGABRT => ", abort",
        libc::SIGBUS => ", bus error",
        libc::SIGFPE => ", arithmetic error",
        libc::SIGKILL => ", killed from outside or for want of memory",
        libc::SIGSEGV => ", invalid memory access",
        libc::SIGXCPU => ", limit of processor time",
        libc::SIGXFSZ => ", limit of file size",
        libc::SIGSYS => ", forbidden system call",
        _ => "",
    };
    let name = signal_name(number);
    if name.starts_with("SIG") {
        format!("signal {number} ({name}{meaning})")
    } else {
        format!("signal {number}")
    }
}
