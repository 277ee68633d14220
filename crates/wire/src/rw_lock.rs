//! A fair queue of readers and writers in words that several processes map: the lock of a window at one target (MPI 5.0,
//! section 12.5.3) among the ranks of the target's host.
//!
//! Who wants the lock takes a ticket. Tickets are served in order; readers that follow each other hold it together.
//! `READ` is the first ticket that may not read yet, `WRITE` the number of those that are done: a reader is served
//! when all before it have been let in, a writer when all before it are done.
//!
//! Nobody polls for long: who waits writes its process into the ticket's slot, and whoever lets the ticket pass tells
//! that process. For ranks of other hosts the owner itself waits (`PROXIES`), and is told after every change.

use hpvm_sync::atomic::{AtomicU64, Ordering};

const NEXT: usize = 0;
const READ: usize = 1;
const WRITE: usize = 2;
const PROXIES: usize = 3;
const SLOTS: usize = 4;
/// Waiting tickets that can name their process. Those beyond poll: that many ranks wait for one lock only on hosts
/// where each waits for long anyhow.
const WAITERS: usize = 24;
/// In a slot, beside the process: it waits for the lock alone.
const EXCLUSIVE: u64 = 1 << 31;
/// Words of a lock.
pub const WORDS: usize = SLOTS + WAITERS;

/// The words of one lock.
#[derive(Clone, Copy, Debug)]
pub struct LockWords<'a>(&'a [AtomicU64]);

/// A turn in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub number: u64,
    pub exclusive: bool,
}

/// Who must be told that something changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Processes whose tickets are served.
    pub processes: [Option<u32>; 2],
    /// The owner, which waits for others.
    pub owner: bool,
}

impl<'a> LockWords<'a> {
    /// `None`: there are too few words.
    pub fn new(words: &'a [AtomicU64]) -> Option<LockWords<'a>> {
        words.get(..WORDS).map(LockWords)
    }

    /// Queues.
    pub fn take(&self, exclusive: bool) -> Ticket {
        // Relaxed: the order of tickets is that of the word itself.
        let number = self.0[NEXT].fetch_add(1, Ordering::Relaxed);
        Ticket { number, exclusive }
    }

    /// Takes the lock if nobody has it or waits for it, and queues in no other case.
    pub fn try_lock(&self, exclusive: bool) -> Option<Ticket> {
        let word = if exclusive { WRITE } else { READ };
        // Acquire pairs with the release in `release` and `enter`.
        let number = self.0[word].load(Ordering::Acquire);
        // Acquire, Relaxed: as above; a failure takes nothing.
        let taken =
            self.0[NEXT].compare_exchange(number, number + 1, Ordering::Acquire, Ordering::Relaxed);
        let ticket = Ticket { number, exclusive };
        taken.ok().map(|_| ticket)
    }

    pub fn is_served(&self, ticket: Ticket) -> bool {
        let word = if ticket.exclusive { WRITE } else { READ };
        // SeqCst: comes after `wait_as` of this process; pairs as an acquire with `release` and `enter`.
        self.0[word].load(Ordering::SeqCst) == ticket.number
    }

    /// A ticket that is served has the lock from now on. A reader lets the next one in.
    pub fn enter(&self, ticket: Ticket) -> Wake {
        self.clear(ticket);
        if ticket.exclusive {
            return Wake::default();
        }
        // SeqCst: comes before the look at the slots.
        self.0[READ].fetch_add(1, Ordering::SeqCst);
        self.waiting()
    }

    /// Gives the lock back.
    pub fn release(&self, exclusive: bool) -> Wake {
        // SeqCst, both: release what was done under the lock, and come before the look at the slots.
        if exclusive {
            self.0[READ].fetch_add(1, Ordering::SeqCst);
        }
        self.0[WRITE].fetch_add(1, Ordering::SeqCst); // SeqCst: as above
        self.waiting()
    }

    fn slot(&self, number: u64) -> &AtomicU64 {
        &self.0[SLOTS + (number % WAITERS as u64) as usize]
    }

    /// What stands in a slot for a ticket of a process; never 0.
    fn mark(ticket: Ticket, process: u32) -> u64 {
        let kind = if ticket.exclusive { EXCLUSIVE } else { 0 };
        ticket.number << 32 | kind | (u64::from(process) + 1)
    }

    /// Names the process that waits with a ticket. False: the slot is taken, so that it must poll.
    pub fn wait_as(&self, ticket: Ticket, process: u32) -> bool {
        let mark = LockWords::mark(ticket, process);
        // SeqCst: comes before the next `is_served`, so that either this process sees the change or who makes it
        // sees the mark.
        let had =
            self.slot(ticket.number).compare_exchange(0, mark, Ordering::SeqCst, Ordering::Relaxed);
        had.is_ok() || had == Err(mark)
    }

    fn clear(&self, ticket: Ticket) {
        let slot = self.slot(ticket.number);
        let mark = slot.load(Ordering::Relaxed); // relaxed: only this ticket's process put the mark there
        if mark != 0 && mark >> 32 == ticket.number & 0xffff_ffff {
            slot.store(0, Ordering::Relaxed); // relaxed: as above
        }
    }

    /// The process that waits with a ticket.
    fn waiter(&self, ticket: Ticket) -> Option<u32> {
        // SeqCst: comes after the change that the caller made.
        let mark = self.slot(ticket.number).load(Ordering::SeqCst);
        let process = (mark & (EXCLUSIVE - 1)).checked_sub(1)? as u32;
        (mark == LockWords::mark(ticket, process)).then_some(process)
    }

    /// Who waits with the tickets that are served now.
    fn waiting(&self) -> Wake {
        // SeqCst: as in `waiter`.
        let (read, write) =
            (self.0[READ].load(Ordering::SeqCst), self.0[WRITE].load(Ordering::SeqCst));
        let reader = self.waiter(Ticket { number: read, exclusive: false });
        let writer = self.waiter(Ticket { number: write, exclusive: true });
        Wake {
            processes: [reader, writer],
            owner: self.0[PROXIES].load(Ordering::SeqCst) != 0, // SeqCst: as in `waiter`
        }
    }

    /// The owner waits with so many tickets more for ranks that cannot look themselves.
    pub fn add_proxy(&self) {
        // SeqCst: comes before the next `is_served`.
        self.0[PROXIES].fetch_add(1, Ordering::SeqCst);
    }

    pub fn remove_proxy(&self) {
        self.0[PROXIES].fetch_sub(1, Ordering::Relaxed); // relaxed: one call in vain does no harm
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    fn words() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn tickets_are_served_in_order() {
        let words = words();
        let lock = LockWords::new(&words).unwrap();
        let (r1, r2, w, r3) =
            (lock.take(false), lock.take(false), lock.take(true), lock.take(false));
        assert!(lock.wait_as(w, 7) && lock.wait_as(r3, 8));
        assert!(lock.is_served(r1) && !lock.is_served(r2));
        lock.enter(r1);
        assert!(lock.is_served(r2) && !lock.is_served(w));
        lock.enter(r2);
        assert!(!lock.is_served(w) && !lock.is_served(r3));
        assert_eq!(lock.release(false).processes, [None, None]);
        assert_eq!(lock.release(false).processes, [None, Some(7)]);
        assert!(lock.is_served(w) && !lock.is_served(r3));
        lock.enter(w);
        assert_eq!(lock.release(true).processes, [Some(8), None]);
        assert!(lock.is_served(r3));
        lock.enter(r3);
        lock.release(false);
        assert!(lock.try_lock(true).is_some());
        assert_eq!(lock.try_lock(false), None);
    }

    #[test]
    fn readers_are_let_in_one_after_the_other() {
        let words = words();
        let lock = LockWords::new(&words).unwrap();
        let w = lock.try_lock(true).unwrap();
        lock.enter(w);
        let (a, b) = (lock.take(false), lock.take(false));
        assert!(lock.wait_as(a, 1) && lock.wait_as(b, 2));
        assert_eq!(lock.release(true).processes, [Some(1), None]);
        assert_eq!(lock.enter(a).processes, [Some(2), None]);
        lock.enter(b);
    }

    #[test]
    fn the_owner_is_told_while_it_waits_for_others() {
        let words = words();
        let lock = LockWords::new(&words).unwrap();
        lock.enter(lock.try_lock(true).unwrap());
        lock.add_proxy();
        assert!(lock.release(true).owner);
        lock.remove_proxy();
        lock.enter(lock.try_lock(true).unwrap());
        assert!(!lock.release(true).owner);
    }

    #[test]
    fn writers_exclude_everybody() {
        let words = words();
        let inside = AtomicU32::new(0);
        let value = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u32 {
                let (words, inside, value) = (&words, &inside, &value);
                scope.spawn(move || {
                    let lock = LockWords::new(words).unwrap();
                    for turn in 0..500u32 {
                        let exclusive = (turn + thread) % 3 == 0;
                        let ticket = lock.take(exclusive);
                        while !lock.is_served(ticket) {
                            std::thread::yield_now();
                        }
                        lock.enter(ticket);
                        let add = if exclusive { 1000 } else { 1 };
                        let before = inside.fetch_add(add, Ordering::SeqCst);
                        assert!(before < if exclusive { 1 } else { 1000 });
                        if exclusive {
                            let seen = value.load(Ordering::Relaxed);
                            value.store(seen + 1, Ordering::Relaxed);
                        }
                        inside.fetch_sub(add, Ordering::SeqCst);
                        lock.release(exclusive);
                    }
                });
            }
        });
        assert_eq!(value.load(Ordering::Relaxed), 667);
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use hpvm_sync::loom::cell::UnsafeCell;
    use std::sync::Arc;

    struct Shared {
        words: Vec<AtomicU64>,
        value: UnsafeCell<u32>,
    }

    impl Shared {
        fn lock(&self) -> LockWords<'_> {
            LockWords::new(&self.words).unwrap()
        }

        /// Queues, and uses the lock if it is this ticket's turn. Returns the ticket if it is not: loom can't wait.
        fn visit(&self, exclusive: bool) -> Option<Ticket> {
            let ticket =
                self.lock().try_lock(exclusive).unwrap_or_else(|| self.lock().take(exclusive));
            if !self.lock().is_served(ticket) {
                return Some(ticket);
            }
            self.hold(ticket);
            None
        }

        /// Looks at the value or adds 1 to it, under the lock, and gives the lock back.
        fn hold(&self, ticket: Ticket) -> u32 {
            self.lock().enter(ticket);
            let seen = match ticket.exclusive {
                // SAFETY: nobody else has the lock; loom looks whether that is so.
                true => self.value.with_mut(|value| unsafe {
                    *value += 1;
                    *value
                }),
                // SAFETY: nobody has it for itself alone; loom looks.
                false => self.value.with(|value| unsafe { *value }),
            };
            self.lock().release(ticket.exclusive);
            seen
        }
    }

    fn among(visits: [bool; 3]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let words = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
            let shared = Arc::new(Shared { words, value: UnsafeCell::new(0) });
            let other = |exclusive| {
                let shared = shared.clone();
                loom::thread::spawn(move || shared.visit(exclusive))
            };
            let (second, third) = (other(visits[1]), other(visits[2]));
            let first = shared.visit(visits[0]);
            let left = [first, second.join().unwrap(), third.join().unwrap()];
            // Those whose turn had not come are served now, one after the other.
            let mut left: Vec<Ticket> = left.into_iter().flatten().collect();
            left.sort_by_key(|ticket| ticket.number);
            for ticket in left {
                assert!(shared.lock().is_served(ticket));
                shared.hold(ticket);
            }
            let writers = visits.iter().filter(|exclusive| **exclusive).count() as u32;
            let last = shared.lock().try_lock(false).expect("nobody has it");
            assert_eq!(shared.hold(last), writers);
        });
    }

    #[test]
    fn writers_exclude_each_other() {
        among([true, true, false]);
    }

    #[test]
    fn readers_see_what_was_written() {
        among([true, false, false]);
    }
}
