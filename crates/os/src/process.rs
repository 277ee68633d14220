//! What the kernel tells of a process.

/// The words of `/proc/PID/stat` behind the process's name: its state, its parent, and so on, as proc_pid_stat(5) has them
/// from the third field on. `None`: there is no such process, or no `/proc`.
///
/// The name in front of them may hold anything: parentheses, and bytes that are no text, because it is cut to 15 bytes.
pub fn stat(pid: u32) -> Option<String> {
    behind_name(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The parent of a process, if it is there.
pub fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn behind_name(line: &[u8]) -> Option<String> {
    let end = line.iter().rposition(|byte| *byte == b')')?;
    String::from_utf8(line[end + 1..].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn names_may_hold_anything() {
        assert_eq!(behind_name(b"7 (a) Z (b)) S 1 7\n").as_deref(), Some(" S 1 7\n"));
        assert_eq!(behind_name(b"7 (fourteen bytes\xc3) S 1\n").as_deref(), Some(" S 1\n"));
        assert_eq!(behind_name(b"7"), None);
    }

    #[test]
    fn a_process_whose_name_is_no_text_has_a_parent() {
        let script = r"printf '\303)' > /proc/$$/comm; echo named; read -r end";
        let mut child = Command::new("bash");
        child.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = child.spawn().expect("bash");
        let mut named = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut named).expect("a line");
        assert_eq!(parent(child.id()), Some(std::process::id()));
        drop(child.stdin.take());
        child.wait().expect("its end");
        assert_eq!(parent(child.id()), None);
    }
}
