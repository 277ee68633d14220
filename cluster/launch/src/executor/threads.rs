//! Whether the threads of a host's ranks have too few processors. A program that uses threads
//! (OpenMP, most BLAS libraries) starts as many in each rank as the host has processors unless it is
//! told otherwise: ranks that are bound to no part of the host then share its processors among
//! several times as many threads, and may take several times as long. `mpirun` says so once.

use std::fs;
use std::time::Duration;

use crate::loaded::with_descendants;
use crate::place::affinity;

/// The variable with which users choose; a launcher whose user has done so says nothing.
pub const CHOSEN_BY: &str = "OMP_NUM_THREADS";

/// When the first look is due: programs have read their input then.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// From a look that saw too many threads to the one that has to see the same.
const AGAIN: Duration = Duration::from_millis(300);
/// The time of a look, after which the next one is due.
const GROWTH: u32 = 3;
/// No look comes later.
const LAST_LOOK: Duration = Duration::from_secs(60);
/// Threads of a process that are looked at; each costs some ten microseconds.
const THREADS_MAX: usize = 256;
/// Beginnings of the names of libraries that heed the variable. Threads of others are the program's own affair.
const HEEDING: [&str; 6] =
    ["libgomp.", "libomp.", "libiomp5.", "libopenblas", "libmkl_", "libblis"];

/// What the ranks of a host, and what they have started, were doing at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Processes with a thread that runs or could run.
    pub processes: usize,
    /// Such threads of all of them; one for a process that does not heed [`CHOSEN_BY`].
    pub threads: usize,
    /// Processors that they share.
    pub processors: usize,
}

impl Load {
    /// Looks at ranks by the numbers of their processes.
    pub fn of(ranks: impl Iterator<Item = i32>) -> Self {
        let busy: Vec<usize> =
            ranks.flat_map(with_descendants).map(chosen_threads).filter(|busy| *busy > 0).collect();
        let processors = affinity::allowed().map_or(usize::MAX, |processors| processors.len());
        Load { processes: busy.len(), threads: busy.iter().sum(), processors }
    }

    /// Whether it is their threads that make processes share processors, and not their number.
    fn is_too_much(self) -> bool {
        let further = self.threads - self.processes;
        self.processes > 1 && self.threads >= 2 * self.processors && 2 * further >= self.threads
    }
}

/// The looks at one host's ranks.
#[derive(Debug)]
pub struct Watch {
    next: Option<Duration>,
    /// Whether the last look saw too many.
    seen: bool,
}

impl Watch {
    /// For so many ranks on this host; `chosen`: they are bound, or the user has set
    /// [`CHOSEN_BY`].
    pub fn new(ranks: usize, chosen: bool) -> Self {
        Self { next: (ranks > 1 && !chosen).then_some(FIRST_LOOK), seen: false }
    }

    /// When [`Watch::tick`] is due.
    pub fn due(&self) -> Option<Duration> {
        self.next
    }

    /// Looks, if it is time to, and gives what is to be told, once.
    pub fn tick(&mut self, now: Duration, look: impl FnOnce() -> Load) -> Option<String> {
        if self.next.is_none_or(|next| now < next) {
            return None;
        }
        let load = look();
        let too_much = load.is_too_much();
        if too_much && self.seen {
            self.next = None;
            return Some(text(load));
        }
        self.seen = too_much;
        let next = if too_much { now + AGAIN } else { now * GROWTH };
        self.next = (next <= LAST_LOOK).then_some(next);
        None
    }
}

fn text(load: Load) -> String {
    let Load { processes, threads, processors } = load;
    let share = (processors / processes).max(1);
    let host = crate::hosts::local_name();
    let processors = match processors {
        1 => "1 processor".to_string(),
        several => format!("{several} processors"),
    };
    format!(
        "{processes} ranks of {host} have {threads} threads at work on {processors}; \
         -x {CHOSEN_BY}={share} would give each rank as many as there are processors for it \
         (any number there is taken as meant)"
    )
}

/// As [`busy_threads`], but at most one where [`CHOSEN_BY`] would change nothing.
fn chosen_threads(pid: i32) -> usize {
    match busy_threads(pid) {
        2.. if !heeds(&fs::read(format!("/proc/{pid}/maps")).unwrap_or_default()) => 1,
        few => few,
    }
}

/// Whether a library that heeds [`CHOSEN_BY`] is among the files that a process has mapped.
fn heeds(maps: &[u8]) -> bool {
    let maps = String::from_utf8_lossy(maps);
    let mut names = maps.lines().filter_map(|line| line.rsplit_once('/').map(|(_, name)| name));
    names.any(|name| HEEDING.iter().any(|beginning| name.starts_with(beginning)))
}

/// Threads of a process that run or wait for a processor.
fn busy_threads(pid: i32) -> usize {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let states = tasks.take(THREADS_MAX).filter_map(|task| {
        let stat = fs::read(task.path().join("stat")).ok()?;
        // The name in front of the state may hold anything, parentheses as well.
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        stat.get(end + 2).copied()
    });
    states.filter(|state| *state == b'R').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn told_when_two_looks_in_a_row_see_it() {
        let mut watch = Watch::new(2, false);
        let load = |threads| Load { processes: 2, threads, processors: 2 };
        let (few, many) = (load(2), load(4));
        let mut looks = [many, few, many, many].into_iter();
        let mut told = None;
        let mut times = Vec::new();
        while let Some(due) = watch.due() {
            times.push(due.as_millis());
            told = watch.tick(due, || looks.next().unwrap());
        }
        assert_eq!(times, [1000, 1300, 3900, 4200]);
        let told = told.unwrap();
        assert!(told.contains("2 ranks"), "{told}");
        assert!(told.contains("4 threads at work on 2 processors; -x OMP_NUM_THREADS=1"), "{told}");
    }

    #[test]
    fn ranks_that_are_many_themselves_are_left_alone() {
        for (processes, threads, processors, too_much) in [
            (4, 4, 2, false), // more ranks than processors
            (4, 5, 2, false), // one of them with a thread of a library
            (2, 3, 2, false), // a thread of the library for a moment
            (2, 16, 16, false),
            (2, 32, 16, true),
            (8, 16, 8, true),
            (1, 4, 2, false),
        ] {
            let load = Load { processes, threads, processors };
            assert_eq!(load.is_too_much(), too_much, "{load:?}");
        }
    }

    #[test]
    fn ever_less_and_not_at_all_where_it_is_chosen() {
        let mut watch = Watch::new(2, false);
        let mut looks = 0;
        while let Some(due) = watch.due() {
            assert!(due <= LAST_LOOK);
            assert_eq!(watch.tick(due, Load::default), None);
            looks += 1;
        }
        assert_eq!(looks, 4);
        assert_eq!(Watch::new(2, true).due(), None);
        assert_eq!(Watch::new(1, false).due(), None);
    }

    #[test]
    fn threads_at_work_are_seen_and_those_that_sleep_are_not() {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let at_work = || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            let waiting = || std::thread::park_timeout(Duration::from_secs(60));
            let sleeper = scope.spawn(waiting);
            scope.spawn(at_work);
            scope.spawn(at_work);
            let own = std::process::id() as i32;
            // Other tests of this process may be at work as well, and this thread is.
            let seen = (0..1000).any(|_| busy_threads(own) >= 3);
            let tasks = fs::read_dir("/proc/self/task").unwrap().count();
            assert!(busy_threads(own) <= tasks);
            // They are nobody's who heeds the variable.
            assert_eq!(chosen_threads(own), 1);
            stop.store(true, Ordering::Relaxed);
            sleeper.thread().unpark();
            assert!(seen);
        });
        assert_eq!(Load::of([i32::MAX].into_iter()).threads, 0);
    }

    #[test]
    fn libraries_that_heed_the_variable() {
        let line = |file: &str| format!("7f0-7f1 r-xp 00000000 08:01 12   {file}\n").into_bytes();
        for (file, heed) in [
            ("/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", true),
            ("/opt/libopenblasp-r0.3.21.so", true),
            ("/opt/mkl/libmkl_core.so.2", true),
            ("/usr/lib/libmpi_abi.so.1", false),
            ("/home/libgomp.d/program", false),
            ("[heap]", false),
        ] {
            assert_eq!(heeds(&line(file)), heed, "{file}");
        }
    }
}
