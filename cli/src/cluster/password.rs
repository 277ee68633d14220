//! Reading a password: from the terminal without showing it, or from standard input.

use std::io::{BufRead, IsTerminal, Write};
use std::os::fd::AsRawFd;

/// The terminal's settings, put back when this value goes.
struct NoEcho {
    fd: i32,
    before: libc::termios,
}

impl NoEcho {
    fn on(fd: i32) -> Option<NoEcho> {
        let mut settings = std::mem::MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the pointer is to writable memory of the right type.
        if unsafe { libc::tcgetattr(fd, settings.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the call has succeeded and so has filled it.
        let before = unsafe { settings.assume_init() };
        let mut quiet = before;
        quiet.c_lflag &= !libc::ECHO;
        // SAFETY: the pointer is to settings that the call above has given.
        (unsafe { libc::tcsetattr(fd, libc::TCSAFLUSH, &quiet) } == 0)
            .then_some(NoEcho { fd, before })
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        // SAFETY: as above; there is nothing to be done about a failure.
        unsafe { libc::tcsetattr(self.fd, libc::TCSAFLUSH, &self.before) };
    }
}

/// Asks for one line.
pub fn line(prompt: &str, hidden: bool) -> Result<String, String> {
    let input = std::io::stdin();
    let terminal = input.is_terminal();
    let told = |error: std::io::Error| format!("standard input: {error}");
    if terminal {
        let mut out = std::io::stderr();
        write!(out, "{prompt}: ").and_then(|()| out.flush()).map_err(told)?;
    }
    let quiet = if hidden && terminal { NoEcho::on(input.as_raw_fd()) } else { None };
    let mut text = String::new();
    let count = input.lock().read_line(&mut text).map_err(told)?;
    if quiet.is_some() {
        // The line's end was not shown either. If standard error is closed, nobody looks.
        let _ = writeln!(std::io::stderr());
    }
    drop(quiet);
    if count == 0 {
        return Err(format!("{}: expected a line on standard input", prompt.to_lowercase()));
    }
    Ok(text.trim_end_matches(['\n', '\r']).to_string())
}

/// A new password; from a terminal, twice.
pub fn new(user: &str) -> Result<String, String> {
    let first = line(&format!("New password of {user}"), true)?;
    if std::io::stdin().is_terminal() && line("The same again", true)? != first {
        return Err("the two passwords differ".into());
    }
    Ok(first)
}
