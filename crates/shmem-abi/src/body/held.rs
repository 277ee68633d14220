//! Which locks the threads of this PE have. An end of one that it does not have would let in somebody else's ticket, and who
//! waits for its own waits for ever.
//!
//! A lock is uncontended most of the time, and then costs little more than two atomic operations; so what is known of it lies in a few
//! entries that are looked through without a lock. More locks at a time than there are entries are known under one.

use core::cell::Cell;
use hpvm_model::{Name, fail};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const ENTRIES: usize = 64;

/// A lock that a thread of this PE has.
#[derive(Default)]
struct Entry {
    /// Its address. 0: nobody uses the entry.
    lock: AtomicUsize,
    thread: AtomicUsize,
}

pub struct Held {
    entries: [Entry; ENTRIES],
    /// Entries that have been used.
    used: AtomicUsize,
    /// Locks of which `more` is known.
    beyond: AtomicUsize,
    more: Mutex<BTreeMap<usize, usize>>,
}

impl Default for Held {
    fn default() -> Held {
        Held {
            entries: core::array::from_fn(|_| Entry::default()),
            used: AtomicUsize::new(0),
            beyond: AtomicUsize::new(0),
            more: Mutex::default(),
        }
    }
}

/// A number of the calling thread, which no other gets.
fn thread() -> usize {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<usize> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            // Relaxed: a counter.
            number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}

impl Held {
    /// The thread that has a lock, if one of this PE has.
    fn holder(&self, lock: usize) -> Option<usize> {
        // Relaxed, all of them: what a thread asks about a lock that it has itself, or was told to give back by the thread that
        // has it, is ordered before; of others' locks it only learns that they are not its own.
        let used = self.used.load(Ordering::Relaxed).min(ENTRIES);
        let entry = self.entries[..used].iter().find(|p| p.lock.load(Ordering::Relaxed) == lock);
        match entry {
            // Relaxed, both: as above.
            Some(entry) => Some(entry.thread.load(Ordering::Relaxed)),
            None if self.beyond.load(Ordering::Relaxed) == 0 => None,
            None => self.more().get(&lock).copied(),
        }
    }

    /// The addresses of all locks that threads of this PE have.
    pub fn all(&self) -> Vec<usize> {
        // Relaxed: the caller has taken or given back those that it asks about, or was told of them.
        let entries = self.entries.iter().map(|entry| entry.lock.load(Ordering::Relaxed));
        // 1 is the address of no lock (`taken`).
        entries.filter(|lock| *lock > 1).chain(self.more().keys().copied()).collect()
    }

    fn more(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, usize>> {
        self.more.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if this thread has it. Another one's is waited for.
    pub fn not_mine(&self, name: Name, lock: usize) {
        if self.holder(lock) == Some(thread()) {
            fail(name, &format!("the calling PE has the lock at {lock:#x} already"));
        }
    }

    /// This thread has it.
    pub fn taken(&self, lock: usize) {
        let me = thread();
        for (index, entry) in self.entries.iter().enumerate() {
            // Relaxed: who claims the entry says so by the exchange below, and nothing is read by way of it.
            let free = entry.lock.load(Ordering::Relaxed) == 0;
            let claim = |from, to| {
                entry.lock.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            };
            // 1 is the address of no lock: nobody finds it before it has its thread.
            if free && claim(0, 1) {
                entry.thread.store(me, Ordering::Relaxed);
                // Release: with the address comes the thread.
                entry.lock.store(lock, Ordering::Release);
                if self.used.load(Ordering::Relaxed) <= index {
                    self.used.fetch_max(index + 1, Ordering::Relaxed);
                }
                return;
            }
        }
        self.more().insert(lock, me);
        // Relaxed: see `holder`; the map has a lock of its own.
        self.beyond.fetch_add(1, Ordering::Relaxed);
    }

    /// Nobody of this PE has it any more. Fails if nobody had.
    pub fn given_back(&self, name: Name, lock: usize) {
        let used = self.used.load(Ordering::Relaxed).min(ENTRIES);
        let entry = self.entries[..used].iter().find(|p| p.lock.load(Ordering::Relaxed) == lock);
        if let Some(entry) = entry {
            // Relaxed: nothing is handed on with the entry.
            entry.lock.store(0, Ordering::Relaxed);
            return;
        }
        // Relaxed, both: the thread that took the lock, or whom it told, comes after its `taken`.
        let known = self.beyond.load(Ordering::Relaxed) != 0 && self.more().remove(&lock).is_some();
        if !known {
            fail(name, &format!("the calling PE does not have the lock at {lock:#x}"));
        }
        // Relaxed: see `holder`.
        self.beyond.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Name = c"test".as_ptr();

    #[test]
    fn more_locks_than_entries_are_known() {
        let held = Held::default();
        let lock = |i: usize| 0x1000 + 8 * i;
        for i in 0..3 * ENTRIES {
            assert_eq!(held.holder(lock(i)), None);
            held.not_mine(NAME, lock(i));
            held.taken(lock(i));
        }
        for i in 0..3 * ENTRIES {
            assert_eq!(held.holder(lock(i)), Some(thread()));
        }
        let mut all = held.all();
        all.sort_unstable();
        assert!(all.iter().copied().eq((0..3 * ENTRIES).map(lock)));
        let other = std::thread::scope(|s| s.spawn(thread).join()).expect("a thread");
        assert_ne!(other, thread());
        for i in (0..3 * ENTRIES).rev() {
            held.given_back(NAME, lock(i));
            assert_eq!(held.holder(lock(i)), None);
        }
        assert_eq!(held.beyond.load(Ordering::Relaxed), 0);
        assert_eq!(held.all(), [0_usize; 0]);
    }

    #[test]
    fn locks_of_other_threads_are_known() {
        let held = Held::default();
        std::thread::scope(|s| {
            for t in 0..4 {
                let held = &held;
                s.spawn(move || {
                    for i in 0..1000 {
                        let lock = 0x1000 + 8 * (4 * (i % 40) + t);
                        held.not_mine(NAME, lock);
                        held.taken(lock);
                        assert_eq!(held.holder(lock), Some(thread()));
                        held.given_back(NAME, lock);
                    }
                });
            }
        });
        assert!(held.entries.iter().all(|entry| entry.lock.load(Ordering::Relaxed) == 0));
    }
}
