//! When the processes of ranks are looked at for other MPIs' libraries: often at first, because
//! programs may be short, then ever less.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::loaded::{self, Found};

/// The distance of looks at first. A program that loads another MPI's library and computes
/// something with it lives longer: that library takes as long to start.
const FIRST_LOOK_INTERVAL: Duration = Duration::from_millis(30);
/// After that long, the distance of looks grows with the time.
const DENSE: Duration = Duration::from_secs(1);
/// A job that has run that long without anything strange is not looked at any more.
const LAST_LOOK: Duration = Duration::from_secs(300);
/// Ranks looked at in one look, in turn; a look at one costs some ten microseconds.
const AT_ONCE: usize = 4;

/// A rank that was started.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub rank: u32,
    pub pid: i32,
    /// Whether its process lives.
    pub running: bool,
    /// Whether it has called MPI_Init as a part of this job.
    pub joined: bool,
}

#[derive(Debug)]
struct Suspect {
    rank: u32,
    joined: bool,
    found: Found,
    text: String,
}

/// The looks at one host's ranks.
#[derive(Debug)]
pub struct Census {
    next: Option<Duration>,
    turn: usize,
    /// Ranks that have joined and were looked at: their libraries are loaded.
    known: BTreeSet<u32>,
    /// What was found once. It is told if it is found again, or if the process ends so: a program
    /// may look at several libraries before it takes ours.
    suspect: Option<Suspect>,
    ours: Option<PathBuf>,
}

impl Census {
    /// For a job of so many ranks. `ours` is the folder of our libraries, if ranks are led to it.
    pub fn new(ranks: u32, ours: Option<PathBuf>) -> Self {
        let ours = ours.map(|folder| std::fs::canonicalize(&folder).unwrap_or(folder));
        // A single rank is right to find itself alone.
        let next = (ranks > 1).then_some(FIRST_LOOK_INTERVAL);
        Self { next, turn: 0, known: BTreeSet::new(), suspect: None, ours }
    }

    /// When [`Census::tick`] is due.
    pub fn due(&self) -> Option<Duration> {
        self.next
    }

    /// Looks, if it is time to. Gives what is to be told, once; `who` names a rank.
    pub fn tick(
        &mut self,
        now: Duration,
        candidates: impl FnOnce() -> Vec<Candidate>,
        who: impl Fn(u32) -> String,
    ) -> Option<String> {
        if self.next.is_none_or(|next| now < next) {
            return None;
        }
        let mut left = candidates();
        if let Some(text) = self.judge(&left) {
            self.next = None;
            return Some(text);
        }
        left.retain(|candidate| candidate.running);
        let all_joined = left.iter().all(|candidate| candidate.joined);
        left.retain(|candidate| !self.known.contains(&candidate.rank));
        // With our libraries left out on purpose, any library that joins the job is right.
        left.retain(|candidate| !candidate.joined || self.ours.is_some());
        let count = left.len();
        for at in 0..count.min(AT_ONCE) {
            let candidate = left[(self.turn + at) % count];
            self.suspect = self.suspect.take().or_else(|| self.look(candidate, &who));
        }
        self.turn = self.turn.wrapping_add(AT_ONCE);
        let enough = all_joined && (count == 0 || self.known.len() >= AT_ONCE);
        let enough = enough && self.suspect.is_none();
        let wait =
            if now < DENSE || self.suspect.is_some() { FIRST_LOOK_INTERVAL } else { now / 2 };
        self.next = (!enough && now < LAST_LOOK).then_some(now + wait);
        None
    }

    /// A rank has ended: what is to be told of it.
    pub fn ended(&mut self, rank: u32, joined: bool) -> Option<String> {
        let suspect = self.suspect.take_if(|suspect| suspect.rank == rank)?;
        (suspect.joined == joined).then_some(suspect.text)
    }

    /// Whether what was found once is so.
    fn judge(&mut self, ranks: &[Candidate]) -> Option<String> {
        let suspect = self.suspect.take()?;
        let rank = ranks.iter().find(|candidate| candidate.rank == suspect.rank)?;
        // What a rank has started may end before the rank.
        let lives = Path::new(&format!("/proc/{}", suspect.found.pid())).exists();
        let still = match rank.running && lives {
            true => {
                let found = loaded::look(rank.pid, self.ours.as_deref(), rank.joined);
                found.is_some_and(|found| found == suspect.found)
            }
            false => true,
        };
        (still && rank.joined == suspect.joined).then_some(suspect.text)
    }

    fn look(&mut self, candidate: Candidate, who: impl Fn(u32) -> String) -> Option<Suspect> {
        let Candidate { rank, pid, joined, .. } = candidate;
        let found = loaded::look(pid, self.ours.as_deref(), joined);
        if joined {
            self.known.insert(rank);
        }
        let found = found?;
        let text = loaded::text(&found, &who(rank), joined, self.ours.as_deref());
        Some(Suspect { rank, joined, found, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(joined: bool) -> Vec<Candidate> {
        let pid = std::process::id() as i32;
        (0..6).map(|rank| Candidate { rank, pid, running: true, joined }).collect()
    }

    #[test]
    fn silent_ranks_are_looked_at_ever_less() {
        let mut census = Census::new(6, None);
        let (mut looks, mut last) = (0, Duration::ZERO);
        while let Some(due) = census.due() {
            assert!(due > last);
            last = due;
            looks += 1;
            assert_eq!(census.tick(due, || plain(false), |_| String::new()), None);
        }
        assert!(last >= LAST_LOOK && looks < 60, "{looks} {last:?}");
        assert_eq!(Census::new(1, None).due(), None);
    }

    #[test]
    fn what_was_found_once_is_told_when_it_stays_so() {
        let suspect = |pid| {
            let found = Found::Alone { pid };
            Some(Suspect { rank: 2, joined: false, found, text: "told".to_string() })
        };
        let rank = |running, joined| [Candidate { rank: 2, pid: i32::MAX, running, joined }];
        let mut census = Census::new(6, None);
        // Process 1 runs no MPI; process -1 is not there.
        for (pid, running, joined, told) in [
            (-1, false, false, true),
            (-1, false, true, false),
            (-1, true, false, true),
            (1, true, false, false),
        ] {
            census.suspect = suspect(pid);
            let judged = census.judge(&rank(running, joined));
            assert_eq!(judged.is_some(), told, "{pid} {running} {joined}");
        }
        census.suspect = suspect(-1);
        assert_eq!(census.ended(1, false), None);
        assert_eq!(census.ended(2, true), None);
        census.suspect = suspect(-1);
        assert_eq!(census.ended(2, false).as_deref(), Some("told"));
    }

    #[test]
    fn ranks_that_have_joined_are_looked_at_once() {
        let mut census = Census::new(6, Some("/nowhere".into()));
        let due = census.due().unwrap();
        assert_eq!(census.tick(due, || plain(true), |_| String::new()), None);
        assert_eq!((census.known.len(), census.due()), (AT_ONCE, None));
    }
}
