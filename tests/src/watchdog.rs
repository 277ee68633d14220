//! An end for tests that have none: a test that waits for ever would keep the whole run from telling anything.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any test takes on a loaded machine of two processors.
const LIMIT: Duration = Duration::from_secs(1200);
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The tests under way: their threads, which bear their names, and when each was first seen.
static UNDER_WAY: Mutex<BTreeMap<u64, (String, Instant)>> = Mutex::new(BTreeMap::new());

/// Takes its test from `UNDER_WAY` when the thread ends.
struct Entry(u64);

impl Drop for Entry {
    fn drop(&mut self) {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

thread_local! {
    static ENTRY: RefCell<Option<Entry>> = const { RefCell::new(None) };
}

/// Watches the test that runs in this thread: when it has not ended after twenty minutes, the whole program ends with its
/// name and a list of what runs on this machine. Tests that were asked for as long ones are not watched.
pub fn watch() {
    // The harness names a test's thread after the test; threads that a test starts have no name.
    let current = thread::current();
    let Some(name) = current.name().filter(|name| *name != "main") else { return };
    if std::env::args().any(|word| word == "--ignored" || word == "--include-ignored") {
        return;
    }
    // What is in its last moments has no place for the entry any more, and does not hang.
    let _ = ENTRY.try_with(|entry| {
        let mut entry = entry.borrow_mut();
        if entry.is_none() {
            *entry = Some(enter(name));
        }
    });
    static STARTED: Once = Once::new();
    STARTED.call_once(|| drop(thread::spawn(look)));
}

fn enter(name: &str) -> Entry {
    let mut all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    let key = all.last_key_value().map_or(0, |(key, _)| key + 1);
    all.insert(key, (name.to_string(), Instant::now()));
    Entry(key)
}

fn look() {
    loop {
        thread::sleep(LOOK_EVERY);
        let all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        let late: Vec<&str> = late(&all, Instant::now());
        if !late.is_empty() {
            end(&late);
        }
    }
}

fn late(all: &BTreeMap<u64, (String, Instant)>, now: Instant) -> Vec<&str> {
    let late = all.values().filter(|(_, since)| now.duration_since(*since) > LIMIT);
    late.map(|(name, _)| name.as_str()).collect()
}

fn end(late: &[&str]) -> ! {
    let mut err = std::io::stderr();
    for name in late {
        let _ = writeln!(err, "test {name} ... FAILED: no end after {} s", LIMIT.as_secs());
    }
    let _ =
        writeln!(err, "what runs on this machine (process, state, where in the kernel, command):");
    for line in processes() {
        let _ = writeln!(err, "{line}");
    }
    std::process::exit(101)
}

/// A line for each process that has a command line.
fn processes() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let line = |folder: std::path::PathBuf| {
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        let pid = folder.file_name()?.to_str()?.parse::<u32>().ok()?;
        let command = read("cmdline").replace('\0', " ");
        let stat = read("stat");
        // After the name, which may hold anything, in parentheses.
        let state = stat.rsplit_once(") ").map_or("?", |(_, rest)| rest.get(..1).unwrap_or("?"));
        (!command.is_empty()).then(|| format!("{pid:8} {state} {:24} {command}", read("wchan")))
    };
    entries.filter_map(|entry| line(entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_watched_while_its_thread_lives() {
        let names = || -> Vec<String> {
            let all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
            all.values().map(|(name, _)| name.clone()).collect()
        };
        let watched = thread::Builder::new().name("a test".to_string());
        let seen = watched.spawn(move || {
            watch();
            watch();
            names()
        });
        let seen = seen.expect("a thread starts").join().expect("it ends");
        assert_eq!(seen.iter().filter(|name| *name == "a test").count(), 1, "{seen:?}");
        thread::spawn(watch).join().expect("it ends");
        assert!(!names().iter().any(|name| name == "a test"));
    }

    #[test]
    fn only_what_takes_too_long_is_late() {
        let start = Instant::now();
        let all = BTreeMap::from([
            (0, ("old".to_string(), start)),
            (1, ("new".to_string(), start + Duration::from_secs(1))),
        ]);
        assert!(late(&all, start + LIMIT).is_empty());
        assert_eq!(late(&all, start + LIMIT + Duration::from_millis(1)), ["old"]);
    }

    #[test]
    fn processes_are_shown_with_their_commands() {
        let own = format!("{:8} ", std::process::id());
        let all = processes();
        let ours = all.iter().find(|line| line.starts_with(&own)).expect("our own line");
        assert!(ours.contains("hpvm_tests"), "{ours}");
    }
}
