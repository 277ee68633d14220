//! Asking the process manager to end the job, from anywhere: a signal handler, an `atexit` handler, a
//! thread while another one is in the middle of a call. So nothing here allocates, locks or waits.

use core::fmt::{self, Write};
use std::os::fd::RawFd;

/// Longest request, bytes.
const REQUEST_MAX: usize = 128;

/// As the reason of a request: the program ends its job on purpose, and an exit code of 0 stays 0 (`shmem_global_exit`).
/// Our launcher knows this word.
pub const GLOBAL_EXIT: &str = "global-exit";

/// In front of the reason of a request: a peer cannot be reached any more. Our launcher may then start the job again.
pub const PEER_LOST: &str = "peer-lost: ";

/// A text on the stack. What does not fit is cut off, at the end of a character.
#[derive(Clone, Copy, Debug)]
pub struct FixedText<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> FixedText<N> {
    pub const fn new() -> FixedText<N> {
        FixedText { bytes: [0; N], len: 0 }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> FixedText<N> {
        FixedText::new()
    }
}

impl<const N: usize> Write for FixedText<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut fits = text.len().min(N - self.len);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[self.len..self.len + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits;
        Ok(())
    }
}

/// How a request to end the job reaches the process manager.
#[derive(Clone, Copy, Debug)]
pub struct AbortRequest {
    fd: RawFd,
    version: Version,
}

/// The protocol that the manager speaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Version {
    One,
    Two,
}

impl AbortRequest {
    pub(crate) fn new(fd: RawFd, version: Version) -> AbortRequest {
        AbortRequest { fd, version }
    }

    /// Asks the manager to end the job with `code`. It answers with a signal, if at all.
    /// False: it is gone. Async-signal-safe.
    pub fn send(&self, code: i32) -> bool {
        let line = self.line(code);
        // MSG_NOSIGNAL: a manager that is gone is no reason to end by SIGPIPE instead of `code`.
        // SAFETY: the bytes live through the call. The descriptor may have been closed meanwhile, by a
        // program that closes what it does not know: then the call fails, or tells a stranger one line.
        let sent = unsafe {
            libc::send(self.fd, line.as_bytes().as_ptr().cast(), line.len, libc::MSG_NOSIGNAL)
        };
        sent == line.len as isize
    }

    /// Asks the same, with the reason for people. False: the protocol has no place for it, or the
    /// manager is gone; nothing was sent.
    pub fn send_because(&self, code: i32, why: &str) -> bool {
        let Version::One = self.version else { return false };
        let line = crate::pmi1::abort_line(code, why) + "\n";
        // SAFETY: as in `send`.
        let sent =
            unsafe { libc::send(self.fd, line.as_ptr().cast(), line.len(), libc::MSG_NOSIGNAL) };
        sent == line.len() as isize
    }

    fn line(&self, code: i32) -> FixedText<REQUEST_MAX> {
        let mut line = FixedText::new();
        // Writing to a `FixedText` does not fail.
        let _ = match self.version {
            Version::One => writeln!(line, "cmd=abort exitcode={code}"),
            Version::Two => {
                let mut body = FixedText::<REQUEST_MAX>::new();
                let _ = write!(body, "cmd=abort;isworld=TRUE;msg=MPI_Abort with code {code};");
                let text = core::str::from_utf8(body.as_bytes()).unwrap_or_default();
                write!(line, "{:6}{text}", text.len())
            }
        };
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(version: Version, code: i32) -> String {
        let line = AbortRequest::new(-1, version).line(code);
        String::from_utf8(line.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn both_protocols() {
        assert_eq!(line(Version::One, -7), "cmd=abort exitcode=-7\n");
        let two = line(Version::Two, i32::MIN);
        let (length, body) = two.split_at(6);
        assert_eq!(length.trim().parse::<usize>().unwrap(), body.len());
        assert_eq!(body, "cmd=abort;isworld=TRUE;msg=MPI_Abort with code -2147483648;");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let mut text = FixedText::<5>::new();
        write!(text, "ab\u{20ac}\u{20ac}").unwrap();
        assert_eq!(text.as_bytes(), "ab\u{20ac}".as_bytes());
        write!(text, "z").unwrap();
        assert_eq!(text.as_bytes(), "ab\u{20ac}".as_bytes());
    }
}
