//! Text of messages: names of signals, and words of others; and numbers that users write.

use std::str::FromStr;

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

/// Longest word that a message shows whole. Names of files and hosts have at most 255 characters.
const WORD_MAX: usize = 260;
/// Characters of a longer one that are shown, at its beginning and at its end.
const WORD_HEAD: usize = 60;
const WORD_TAIL: usize = 20;

/// Whether a character steers a terminal or reorders what it shows: C0 and C1 controls, marks of
/// the writing direction, and those without width.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || c == '\u{feff}'
}

fn escaped(c: char, out: &mut String) {
    match steers(c) {
        true => out.extend(c.escape_default()),
        false => out.push(c),
    }
}

/// A number in digits alone. The standard library takes a `+` as well, which is a slip of the user more often than not.
pub fn digits<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Text of others (programs, files, other hosts) in one line that steers no terminal: `\u{1b}`
/// for an escape.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| escaped(c, &mut out));
    out
}

/// A message that holds words of others: as [`printable`], but lines stay lines, and of words
/// without end the middle is left out.
pub fn message(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(1 << 16));
    for piece in text.split_inclusive([' ', '\n', '\t']) {
        let word = piece.trim_end_matches([' ', '\n', '\t']);
        let count = word.chars().count();
        match count > WORD_MAX {
            false => word.chars().for_each(|c| escaped(c, &mut out)),
            true => {
                word.chars().take(WORD_HEAD).for_each(|c| escaped(c, &mut out));
                out.push_str("...");
                word.chars().skip(count - WORD_TAIL).for_each(|c| escaped(c, &mut out));
            }
        }
        out.push_str(&piece[word.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_as_text() {
        assert_eq!(printable("a\u{1b}]0;x\u{7}b\r\n"), "a\\u{1b}]0;x\\u{7}b\\r\\n");
        assert_eq!(printable("\u{9b}31m\u{202e}x\u{200b}"), "\\u{9b}31m\\u{202e}x\\u{200b}");
        assert_eq!(printable("plain é 漢 text"), "plain é 漢 text");
        assert_eq!(message("a \u{1b}[2J\tb\nc"), "a \\u{1b}[2J\tb\nc");
    }

    #[test]
    fn words_without_end_are_cut_in_the_middle() {
        let word = "x".repeat(1 << 20);
        let text = message(&format!("unknown flag '{word}'; see --help"));
        assert!(text.len() < 200, "{}", text.len());
        assert!(
            text.starts_with("unknown flag 'xxx") && text.ends_with("x'; see --help"),
            "{text}"
        );
        let name = "y".repeat(255);
        assert_eq!(message(&name), name);
        // So are words of characters that are escaped.
        assert!(message(&"\u{1b}".repeat(1 << 20)).len() < 1000);
    }
}
