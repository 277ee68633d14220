//! A fair queue of readers and writers in words that several processes map: the lock of a window at one target (MPI 5.0,
//! section 12.5.3) among the ranks of the target's host.
//!
//! A rank that wants the lock takes a ticket. Tickets are served in order; readers that follow each other hold the lock
//! together. One word holds three numbers: that of the next ticket, that of the first ticket that may not read yet, and the
//! number of tickets that are done. A reader is served when all tickets before it have been let in, a writer when all
//! before it are done. If the first two numbers are the same, nobody waits. A rank that finds them so may be let in by the
//! same operation that takes the ticket. So a lock that nobody waits for is taken by one atomic operation and given back by
//! another one.
//!
//! Nobody polls for long: a rank that waits writes its number into the ticket's slot, and the rank that lets the ticket pass
//! tells it. For ranks of other hosts the owner itself waits (`PROXIES`), and is told after every change.

use hpvm_sync::atomic::{AtomicU64, Ordering};

/// The word of [`Queue`].
const QUEUE: usize = 0;
const PROXIES: usize = 1;
const SLOTS: usize = 2;
/// Bits of each number in it: more tickets are never waiting than a segment has ranks.
const BITS: u32 = 21;
const MASK: u32 = (1 << BITS) - 1;
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

/// A turn in the queue. Numbers begin again at 0 after the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub number: u32,
    pub exclusive: bool,
}

/// What the word holds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Queue {
    /// The next ticket.
    next: u32,
    /// The first ticket that may not read yet.
    read: u32,
    /// Tickets that are done.
    done: u32,
}

/// The number after `number`.
fn after(number: u32) -> u32 {
    number.wrapping_add(1) & MASK
}

impl Queue {
    fn of(word: u64) -> Queue {
        let number = |at: u32| (word >> at) as u32 & MASK;
        Queue { next: number(2 * BITS), read: number(BITS), done: number(0) }
    }

    fn word(self) -> u64 {
        u64::from(self.next) << (2 * BITS) | u64::from(self.read) << BITS | u64::from(self.done)
    }

    /// One ticket more.
    fn taken(self) -> Queue {
        Queue { next: after(self.next), ..self }
    }

    /// One ticket more may read.
    fn read_on(self) -> Queue {
        Queue { read: after(self.read), ..self }
    }

    /// One ticket more is done.
    fn done_on(self) -> Queue {
        Queue { done: after(self.done), ..self }
    }
}

/// Who must be told that something changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Processes whose tickets are served.
    pub processes: [Option<u32>; 2],
    /// The owner, which waits for others.
    pub owner: bool,
}

impl Wake {
    /// Nobody has to be told.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        *self == Wake::default()
    }
}

impl<'a> LockWords<'a> {
    /// `None`: there are too few words.
    #[inline(always)]
    pub fn new(words: &'a [AtomicU64]) -> Option<LockWords<'a>> {
        words.get(..WORDS).map(LockWords)
    }

    /// Queues.
    pub fn take(&self, exclusive: bool) -> Ticket {
        let before = self.change(Queue::taken);
        Ticket { number: before.next, exclusive }
    }

    /// Changes the word; what it was.
    #[inline(always)]
    fn change(&self, change: impl Fn(Queue) -> Queue) -> Queue {
        let word = &self.0[QUEUE];
        let mut old = word.load(Ordering::Relaxed); // relaxed: the exchange below looks again
        loop {
            let new = change(Queue::of(old)).word();
            // SeqCst: a ticket is taken before its holder looks whether it is served, and after it was let in, or was done, others
            // look at the slots. As acquire and release it pairs with itself and with `queue`: what was done under the lock
            // comes first. Relaxed on failure: it is tried again.
            let order = Ordering::SeqCst;
            match word.compare_exchange(old, new, order, Ordering::Relaxed) {
                Ok(_) => return Queue::of(old),
                Err(now) => old = now,
            }
        }
    }

    /// Takes the lock if nobody has it in a way that this excludes, and nobody waits for it; queues in no other
    /// case. It has been entered.
    #[inline(always)]
    pub fn try_lock(&self, exclusive: bool) -> bool {
        // Relaxed: the exchange below looks again.
        let old = self.0[QUEUE].load(Ordering::Relaxed);
        let queue = Queue::of(old);
        if queue.next != queue.read || (exclusive && queue.next != queue.done) {
            return false;
        }
        let queue = queue.taken();
        let queue = if exclusive { queue } else { queue.read_on() };
        // SeqCst: as in `change`. Relaxed on failure: nothing has been taken.
        let order = Ordering::SeqCst;
        self.0[QUEUE].compare_exchange(old, queue.word(), order, Ordering::Relaxed).is_ok()
    }

    /// The word, after what this process has done to the others.
    fn queue(&self) -> Queue {
        // SeqCst: comes after the change that the caller made; pairs as an acquire with `change`.
        Queue::of(self.0[QUEUE].load(Ordering::SeqCst))
    }

    /// Whether it is this ticket's turn. After `wait_as` of this process.
    pub fn is_served(&self, ticket: Ticket) -> bool {
        let Queue { read, done, .. } = self.queue();
        ticket.number == if ticket.exclusive { done } else { read }
    }

    /// A ticket that is served has the lock from now on. A reader lets the next one in.
    pub fn enter(&self, ticket: Ticket) -> Wake {
        self.clear(ticket);
        if ticket.exclusive {
            return Wake::default();
        }
        self.change(Queue::read_on);
        self.waiting()
    }

    /// Gives the lock back.
    #[inline(always)]
    pub fn release(&self, exclusive: bool) -> Wake {
        let over = |queue: Queue| match exclusive {
            true => queue.done_on().read_on(),
            false => queue.done_on(),
        };
        let queue = over(self.change(over));
        if queue.next == queue.read { Wake::default() } else { self.waiting() }
    }

    fn slot(&self, number: u32) -> &AtomicU64 {
        &self.0[SLOTS + number as usize % WAITERS]
    }

    /// What stands in a slot for a ticket of a process; never 0.
    fn mark(ticket: Ticket, process: u32) -> u64 {
        let kind = if ticket.exclusive { EXCLUSIVE } else { 0 };
        u64::from(ticket.number) << 32 | kind | (u64::from(process) + 1)
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
        if mark != 0 && mark >> 32 == u64::from(ticket.number) {
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
    #[cold]
    fn waiting(&self) -> Wake {
        let Queue { read, done, .. } = self.queue();
        let reader = self.waiter(Ticket { number: read, exclusive: false });
        let writer = self.waiter(Ticket { number: done, exclusive: true });
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
        assert!(lock.try_lock(true) && !lock.try_lock(false) && !lock.try_lock(true));
        assert!(lock.release(true).is_none());
        assert!(lock.try_lock(false) && lock.try_lock(false) && !lock.try_lock(true));
        assert!(lock.release(false).is_none() && lock.release(false).is_none());
        assert!(lock.try_lock(true));
    }

    #[test]
    fn readers_are_let_in_one_after_the_other() {
        let words = words();
        let lock = LockWords::new(&words).unwrap();
        assert!(lock.try_lock(true));
        let (a, b) = (lock.take(false), lock.take(false));
        assert!(lock.wait_as(a, 1) && lock.wait_as(b, 2));
        assert_eq!(lock.release(true).processes, [Some(1), None]);
        assert_eq!(lock.enter(a).processes, [Some(2), None]);
        lock.enter(b);
    }

    #[test]
    fn numbers_begin_again() {
        let words = words();
        let last = Queue { next: MASK, read: MASK, done: MASK };
        words[QUEUE].store(last.word(), Ordering::Relaxed);
        let lock = LockWords::new(&words).unwrap();
        for exclusive in [true, false, true, false] {
            assert!(lock.try_lock(exclusive), "{exclusive}");
            let next = lock.take(true);
            assert!(lock.wait_as(next, 3) && !lock.is_served(next));
            assert_eq!(lock.release(exclusive).processes[1], Some(3));
            assert!(lock.is_served(next));
            lock.enter(next);
            assert!(lock.release(true).is_none());
        }
    }

    #[test]
    fn the_owner_is_told_while_it_waits_for_others() {
        let words = words();
        let lock = LockWords::new(&words).unwrap();
        assert!(lock.try_lock(true));
        let theirs = lock.take(false);
        lock.add_proxy();
        assert!(lock.release(true).owner);
        lock.remove_proxy();
        lock.enter(theirs);
        assert!(!lock.release(false).owner);
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
                        if turn % 2 == 0 || !lock.try_lock(exclusive) {
                            let ticket = lock.take(exclusive);
                            while !lock.is_served(ticket) {
                                std::thread::yield_now();
                            }
                            lock.enter(ticket);
                        }
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
            if !self.lock().try_lock(exclusive) {
                let ticket = self.lock().take(exclusive);
                if !self.lock().is_served(ticket) {
                    return Some(ticket);
                }
                self.lock().enter(ticket);
            }
            self.hold(exclusive);
            None
        }

        /// Looks at the value or adds 1 to it, with the lock, and gives the lock back.
        fn hold(&self, exclusive: bool) -> u32 {
            let seen = match exclusive {
                // SAFETY: nobody else has the lock; loom looks whether that is so.
                true => self.value.with_mut(|value| unsafe {
                    *value += 1;
                    *value
                }),
                // SAFETY: nobody has it for itself alone; loom looks.
                false => self.value.with(|value| unsafe { *value }),
            };
            self.lock().release(exclusive);
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
                shared.lock().enter(ticket);
                shared.hold(ticket.exclusive);
            }
            let writers = visits.iter().filter(|exclusive| **exclusive).count() as u32;
            assert!(shared.lock().try_lock(false), "nobody has it");
            assert_eq!(shared.hold(false), writers);
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
