//! The machine's processes by what stands in their environments: how those of one test are told from all others.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

/// How long a program's replacement is waited for, which ends unless the machine stands still.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the environment of a process that seems to have an empty one is looked at: the kernel notes where it
/// begins and ends one after the other, with little in between.
const LOOKS: u32 = 20;
/// What is read of an environment at once, in bytes.
const PIECE: usize = 128 * 1024;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// The live processes whose environment holds `variable`, written `NAME=value`.
pub fn with(variable: &str) -> Vec<i32> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    // A process may hand on to a child, and end, between the list and the look at it: until a list has nothing new.
    loop {
        let new: Vec<i32> = all().into_iter().filter(|pid| seen.insert(*pid)).collect();
        if new.is_empty() {
            return found;
        }
        found.extend(new.into_iter().filter(|pid| has(*pid, variable)));
    }
}

/// Whether a live process's environment holds `variable`, written `NAME=value`.
pub fn has(pid: i32, variable: &str) -> bool {
    variables(pid).iter().any(|entry| entry == variable.as_bytes())
}

/// A process's environment, an entry for each variable; empty for one that has ended.
pub fn variables(pid: i32) -> Vec<Vec<u8>> {
    let bytes = environment(pid);
    bytes.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(<[u8]>::to_vec).collect()
}

fn all() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// While `execve` replaces a program, the old environment is gone and the new one not yet there: `environ` reads as
/// empty although the process lives. So an empty environment is believed when the kernel knows its place, and it has
/// stayed empty.
fn environment(pid: i32) -> Vec<u8> {
    let (start, mut empty) = (Instant::now(), 0);
    while empty < LOOKS && start.elapsed() < PATIENCE {
        // Those of others can't be read, and are none of a test's.
        let Ok(bytes) = read_whole(pid) else { break };
        let read = |file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        // The dead and the kernel's threads have no memory.
        if !bytes.is_empty() || !has_memory(&read("statm")) {
            return bytes;
        }
        empty += u32::from(has_place(&read("stat")));
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Vec::new()
}

/// In pieces as large as most environments: what is replaced between two pieces reads as its end.
fn read_whole(pid: i32) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/environ"))?;
    let mut bytes = Vec::new();
    loop {
        let old = bytes.len();
        bytes.resize(old + PIECE, 0);
        let read = file.read(&mut bytes[old..])?;
        bytes.truncate(old + read);
        if read < PIECE {
            return Ok(bytes);
        }
    }
}

/// Whether a size of its memory stands first in a process's `statm`.
fn has_memory(statm: &[u8]) -> bool {
    statm.first().is_some_and(|digit| *digit != b'0')
}

/// Whether the place of the environment's end stands in a process's `stat`, as the 51st word.
fn has_place(stat: &[u8]) -> bool {
    // The second word is a name in parentheses, which may hold anything.
    let behind_name = stat.iter().rposition(|byte| *byte == b')').map_or(0, |at| at + 1);
    let mut words = stat[behind_name..].split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    words.nth(48).is_some_and(|word| word != b"0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn who_replaces_its_program_is_seen_all_the_time() {
        let variable = "PROCESSES_TEST=replaced";
        let mut child = Command::new("sh");
        let again = r#"[ "$1" -gt 0 ] && exec sh -c "$0" "$0" $(($1 - 1)); read -r _"#;
        child.args(["-c", again, again, "1000"]);
        let (name, value) = variable.split_once('=').expect("a pair");
        let mut child = child.env(name, value).stdin(Stdio::piped()).spawn().expect("a shell");
        let own = child.id() as i32;
        let mut unseen = 0;
        for _ in 0..20_000 {
            unseen += u32::from(!has(own, variable));
        }
        assert!(with(variable).contains(&own));
        drop(child.stdin.take());
        child.wait().expect("its end");
        assert_eq!(unseen, 0);
        assert!(!has(own, variable));
    }

    #[test]
    fn an_empty_environment_is_none() {
        let mut child = Command::new("sleep").arg("100").env_clear().spawn().expect("sleep");
        let pid = child.id() as i32;
        assert!(variables(pid).is_empty());
        let file = |name| std::fs::read(format!("/proc/{pid}/{name}")).expect("a process's file");
        assert!(has_memory(&file("statm")) && has_place(&file("stat")));
        child.kill().expect("a signal");
        child.wait().expect("its end");
    }
}
