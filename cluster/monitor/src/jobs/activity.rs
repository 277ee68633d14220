//! What processes do that are not in MPI, as the kernel sees it: whether they compute or sleep.

use std::fs;
use std::time::Duration;

/// Processes are looked at over this time. Longer than the kernel lets one wait for a processor that
/// others want, on a machine that is not overloaded.
const SPAN: Duration = Duration::from_millis(60);
const LOOKS: u32 = 4;

/// What a process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It runs on a processor, or wants to: it computes, or polls.
    Computes,
    /// All its threads sleep; with the kernel's name for where, if it says so.
    Sleeps(Option<String>),
    /// It waits for a disk or a file server.
    WaitsForDisk,
    /// It was stopped, by Ctrl-Z or a debugger.
    Stopped,
}

impl Activity {
    /// For people.
    pub fn text(&self) -> String {
        match self {
            Activity::Computes => "computes or polls".into(),
            Activity::Sleeps(None) => "sleeps outside of MPI".into(),
            Activity::Sleeps(Some(place)) => format!("sleeps outside of MPI, in {place}"),
            Activity::WaitsForDisk => "waits for a disk or a file server".into(),
            Activity::Stopped => "is stopped (Ctrl-Z, a debugger)".into(),
        }
    }

    /// For programs.
    pub fn word(&self) -> &'static str {
        match self {
            Activity::Computes => "computes",
            Activity::Sleeps(_) => "sleeps",
            Activity::WaitsForDisk => "disk",
            Activity::Stopped => "stopped",
        }
    }
}

/// One look at a process: the states of its threads, and how long they have run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sample {
    states: Vec<char>,
    run: u64,
}

/// Looks at several processes for some time; none for those that are gone or another user's.
pub fn of(pids: &[i32]) -> Vec<Option<Activity>> {
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); pids.len()];
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(SPAN / (LOOKS - 1));
        }
        for (pid, seen) in pids.iter().zip(&mut samples) {
            seen.extend(sample(*pid));
        }
    }
    let place = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/wchan")).ok();
    let known = |text: &String| text != "0" && !text.is_empty();
    pids.iter().zip(samples).map(|(pid, seen)| judge(&seen, || place(pid).filter(known))).collect()
}

/// A process that has run between two looks computes, whatever it did at the looks.
fn judge(samples: &[Sample], place: impl FnOnce() -> Option<String>) -> Option<Activity> {
    let (first, last) = (samples.first()?, samples.last()?);
    let any = |state: char| samples.iter().any(|sample| sample.states.contains(&state));
    // A thread that only looks at the clock now and then runs for some microseconds.
    const IDLE: u64 = 1_000_000;
    Some(if last.states.iter().all(|state| matches!(state, 'T' | 't')) {
        Activity::Stopped
    } else if any('R') || last.run.saturating_sub(first.run) > IDLE {
        Activity::Computes
    } else if any('D') {
        Activity::WaitsForDisk
    } else {
        Activity::Sleeps(place())
    })
}

fn sample(pid: i32) -> Option<Sample> {
    let mut found = Sample::default();
    for task in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let Ok(stat) = fs::read_to_string(task.path().join("stat")) else { continue };
        // The name in parentheses may hold anything, so count from its end.
        let state = stat.rfind(')').and_then(|end| stat[end + 1..].trim_start().chars().next());
        found.states.extend(state);
        // Nanoseconds on a processor.
        let run = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        found.run += run.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    }
    (!found.states.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(states: &[&str], runs: &[u64]) -> Vec<Sample> {
        let sample =
            |(states, run): (&&str, &u64)| Sample { states: states.chars().collect(), run: *run };
        states.iter().zip(runs).map(sample).collect()
    }

    #[test]
    fn what_samples_say() {
        let judged = |states: &[&str], runs: &[u64]| {
            judge(&samples(states, runs), || Some("futex_wait".into()))
        };
        assert_eq!(judged(&[], &[]), None);
        assert_eq!(judged(&["S", "S"], &[5, 5]), Some(Activity::Sleeps(Some("futex_wait".into()))));
        assert_eq!(judged(&["SS", "SR"], &[5, 5]), Some(Activity::Computes));
        assert_eq!(judged(&["S", "S"], &[0, 9_000_000]), Some(Activity::Computes));
        assert_eq!(judged(&["S", "D"], &[5, 5]), Some(Activity::WaitsForDisk));
        assert_eq!(judged(&["R", "T"], &[5, 5]), Some(Activity::Stopped));
    }

    #[test]
    fn processes_of_this_machine() {
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().expect("sleep");
        let mut busy = std::process::Command::new("sh");
        let mut busy = busy.args(["-c", "while :; do :; done"]).spawn().expect("sh");
        let (sleeps, computes) = (sleeper.id() as i32, busy.id() as i32);
        // Until the shell that becomes them has done so.
        let asleep = || matches!(&of(&[sleeps])[..], [Some(Activity::Sleeps(_))]);
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while !asleep() {
            assert!(std::time::Instant::now() < end, "{:?}", of(&[sleeps]));
        }
        // It waits for the disk while its program is read, and for its turn in a stopped group.
        let all = || of(&[computes, i32::MAX]);
        while all() != [Some(Activity::Computes), None] {
            assert!(std::time::Instant::now() < end, "{:?}", all());
        }
        for child in [&mut sleeper, &mut busy] {
            child.kill().expect("kill");
            child.wait().expect("wait");
        }
    }
}
