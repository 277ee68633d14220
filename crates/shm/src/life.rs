//! Which ranks of the segment have died: the kernel can be asked, and the launcher says so.

use crate::segment::Mapping;
use hpvm_transport::{Life, Rank};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module's text.
pub(crate) struct Lives {
    mapping: Arc<Mapping>,
    /// Whom the launcher has said to be dead: their process ids may be others' by now.
    dead: Box<[AtomicBool]>,
}

impl Lives {
    pub fn new(mapping: Arc<Mapping>) -> Lives {
        let dead = (0..mapping.ranks()).map(|_| AtomicBool::new(false)).collect();
        Lives { mapping, dead }
    }

    /// That rank has died.
    pub fn mark_dead(&self, rank: Rank) {
        if let Some(dead) = self.dead.get(rank as usize) {
            dead.store(true, Ordering::Relaxed); // relaxed: it says nothing of anything else
        }
    }

    /// Whether the launcher has said that this rank is dead.
    pub fn is_marked(&self, rank: Rank) -> bool {
        // Relaxed: as above.
        self.dead.get(rank as usize).is_some_and(|dead| dead.load(Ordering::Relaxed))
    }

    /// The ranks of which the launcher has said so.
    pub fn marked(&self) -> Vec<Rank> {
        (0..self.dead.len() as Rank).filter(|rank| self.is_marked(*rank)).collect()
    }
}

impl Life for Lives {
    fn is_gone(&self, rank: Rank) -> bool {
        if self.is_marked(rank) {
            return true;
        }
        if rank as usize >= self.dead.len() {
            return false;
        }
        // Acquire pairs with the release in `Shm::attach`.
        let pid = self.mapping.control(rank).identity.pid.load(Ordering::Acquire);
        pid != 0 && is_gone(pid)
    }
}

/// Whether process `pid` has ended, waited for by its parent or not.
fn is_gone(pid: u32) -> bool {
    // SAFETY: signal 0 sends nothing.
    let there = unsafe { libc::kill(pid as libc::pid_t, 0) } == 0
        || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH);
    // Without /proc it is gone when its parent has waited for it.
    !there || hpvm_os::process::stat(pid).is_some_and(|stat| has_ended(&stat))
}

/// Whether a process has ended of which the kernel tells this ([`hpvm_os::process::stat`]). The first thread may have left
/// the others behind, which is no end: it is then shown as a zombie, too.
fn has_ended(stat: &str) -> bool {
    let mut fields = stat.split_ascii_whitespace();
    let state = fields.next();
    let threads = fields.nth(16).and_then(|threads| threads.parse().ok());
    matches!(state, Some("Z" | "X")) && threads.is_some_and(|threads: u32| threads <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn a_process_is_gone_when_it_has_ended() {
        assert!(!is_gone(std::process::id()));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("a process");
        assert!(!is_gone(child.id()));
        child.kill().expect("a child");
        let start = Instant::now();
        while !is_gone(child.id()) {
            assert!(start.elapsed() < Duration::from_secs(30), "a zombie counts as alive");
            std::thread::yield_now();
        }
        child.wait().expect("its end");
        assert!(is_gone(child.id()));
    }

    #[test]
    fn a_first_thread_that_has_left_is_no_end() {
        let line =
            |state, threads| format!(" {state} 1 77 77 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 99");
        assert!(has_ended(&line("Z", 1)) && has_ended(&line("X", 0)));
        assert!(!has_ended(&line("Z", 2)) && !has_ended(&line("S", 1)));
        assert!(!has_ended("") && !has_ended(" Z"));
    }
}
