//! A mutex that costs the thread that nearly always has it two plain stores.
//!
//! The first thread to come, the owner, enters without an atomic exchange while nobody else has come for a while. It says that it
//! is inside, then looks whether it may; another thread takes the mutex behind, says that the owner may not, then looks
//! whether it is inside. [`barrier::everywhere`], at the other thread's expense, makes sure that one of the two sees the other.
//! From then on the owner takes the mutex, too, until it has done so [`STREAK`] times without others in between or waiting.
//!
//! [`Bias`] is all of it but the value, for who keeps that elsewhere.
//!
//! Loom has no such barrier: in its models both sides are fences, and the sleep where the system offers none is left out.

use crate::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::{barrier, order};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
#[cfg(hpvm_loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(hpvm_loom))]
use std::sync::{Condvar, Mutex, MutexGuard};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

/// So often the owner takes the mutex before it enters without it again: a barrier, some microseconds, is paid at most once
/// for so many calls.
const STREAK: u32 = if cfg!(hpvm_loom) { 1 } else { 128 };
/// Added to the owner's number, whose two lowest bits are 0: it is inside without the mutex.
const INSIDE: usize = 1;
/// The same: it has found out that it must take the mutex, and does so without asking again.
const AWAY: usize = 2;
/// How long a store of the owner may stay unseen where the system offers no barrier. Paid once.
const SEEN_BY_THEN: Duration = Duration::from_millis(2);

/// A number that no two threads share at a time. It is a multiple of 4 and not 0.
#[inline(always)]
fn this_thread() -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri), not(hpvm_loom)))]
    {
        let pointer: usize;
        // SAFETY: the first word of a thread's control block holds its own address (x86-64 ABI).
        unsafe {
            core::arch::asm!("mov {}, fs:0", out(reg) pointer,
                options(nostack, preserves_flags, readonly, pure));
        }
        pointer
    }
    #[cfg(all(not(all(target_arch = "x86_64", not(miri))), not(hpvm_loom)))]
    {
        thread_local!(static PLACE: u32 = const { 0 });
        PLACE.with(|place| (&raw const *place).addr())
    }
    #[cfg(hpvm_loom)]
    {
        // All threads of a model run on one thread of the system.
        loom::thread_local!(static PLACE: u32 = 0);
        PLACE.with(|place| (&raw const *place).addr())
    }
}

/// What threads that take the mutex leave to each other.
struct Streak {
    /// Times that the owner had it since another thread had.
    owner: u32,
    /// The system has failed to offer a barrier: everybody takes the mutex.
    for_ever: bool,
    /// The system was asked for barriers, and offers them.
    asked: bool,
    registered: bool,
}

/// What [`Biased`] is without a value: who may enter, and whether that needs the mutex. No thread may enter twice.
#[repr(align(128))]
pub struct Bias {
    /// The owner, with [`INSIDE`] or [`AWAY`]; written by itself only, but for the first to come. 0: nobody has come.
    owner: AtomicUsize,
    /// The owner must take the mutex. Changed under the mutex only.
    revoked: AtomicBool,
    /// Threads that wait for the lock: the owner takes the mutex as long as there are some.
    queued: AtomicU32,
    /// Times that one of them has had it.
    had: AtomicU32,
    lock: Mutex<Streak>,
}

/// The mutex of a [`Bias`]. It is given back when this is dropped, and the owner then has to take it as before; but see
/// [`Bias::unlock`].
pub struct Held<'a>(MutexGuard<'a, Streak>);

/// See the module.
pub struct Biased<T> {
    bias: Bias,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is reached through guards only, of which there is one at a time.
unsafe impl<T: Send> Sync for Biased<T> {}

/// The right to use the value. Ends with the scope.
pub struct Guard<'a, T> {
    of: &'a Biased<T>,
    /// None: the owner is inside without it.
    lock: Option<Held<'a>>,
}

/// The owner's half of the pair of barriers. The other thread's stands for a fence; the compiler must not reorder.
#[inline(always)]
fn owners_barrier() {
    #[cfg(not(hpvm_loom))]
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
    // SeqCst pairs with the one in `others_barrier`.
    #[cfg(hpvm_loom)]
    crate::atomic::fence(order!(SeqCst, "biased.owners_barrier"));
}

/// The half of other threads. False: there was none.
fn others_barrier() -> bool {
    // SeqCst pairs with the one in `owners_barrier`.
    #[cfg(hpvm_loom)]
    crate::atomic::fence(order!(SeqCst, "biased.others_barrier"));
    cfg!(hpvm_loom) || barrier::everywhere()
}

impl Bias {
    const NEW: Streak = Streak { owner: 0, for_ever: false, asked: false, registered: false };

    /// Whoever comes first is the owner, and takes the mutex until it has done so [`STREAK`] times; with `claimed` [`Bias::claim`]
    /// makes it the owner that need not.
    #[cfg(not(hpvm_loom))]
    pub const fn new(claimed: bool) -> Bias {
        Bias {
            owner: AtomicUsize::new(0),
            revoked: AtomicBool::new(!claimed),
            queued: AtomicU32::new(0),
            had: AtomicU32::new(0),
            lock: Mutex::new(Bias::NEW),
        }
    }

    /// Enters as the owner; [`Bias::leave`] follows. False: this thread has to [`lock`](Bias::lock).
    #[inline(always)]
    pub fn enter(&self) -> bool {
        let me = this_thread();
        // Relaxed: a thread finds its own number only if it has put it there.
        if self.owner.load(Ordering::Relaxed) != me {
            return false;
        }
        // Relaxed: `revoke` reads it after a barrier in all threads.
        self.owner.store(me | INSIDE, Ordering::Relaxed);
        owners_barrier();
        // Relaxed: of the store above and the other thread's store of `revoked`, one side sees the other's.
        if self.revoked.load(Ordering::Relaxed) {
            self.leave_as(me | AWAY);
            return false;
        }
        true
    }

    /// Makes this thread the owner where nobody has come yet, and nobody else may come at this moment. True: it may enter.
    pub fn claim(&self) -> bool {
        // Relaxed, both: only the first thread finds 0, and only it writes its own number from then on.
        !self.revoked.load(Ordering::Relaxed)
            && self
                .owner
                .compare_exchange(0, this_thread(), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Asks the system for barriers, without which the owner takes the mutex for ever from when another thread has come. False: it offers
    /// none.
    pub fn register(&self) -> bool {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).register()
    }

    /// From now on the owner takes the mutex, for ever. Nobody may be inside.
    pub fn revoke_for_ever(&self) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.for_ever = true;
        // Relaxed: nobody is inside, and whoever comes is told by what orders the calls.
        self.revoked.store(true, Ordering::Relaxed);
    }

    /// Nobody has come yet, as it were. Nobody may be inside.
    pub fn forget_owner(&self) {
        // Relaxed: whoever comes first is told by what orders the calls.
        self.owner.store(0, Ordering::Relaxed);
    }

    /// Another thread has come, so the owner should not stay inside for long.
    #[inline(always)]
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::Relaxed) // relaxed: `enter` makes sure
    }

    /// Threads that wait for the lock.
    #[inline(always)]
    pub fn queued(&self) -> u32 {
        self.queued.load(Ordering::Relaxed) // relaxed: a guess
    }

    /// Times that a thread that waited for the lock has had it.
    pub fn had(&self) -> u32 {
        self.had.load(Ordering::Relaxed) // relaxed: a guess
    }

    /// This thread has entered as the owner.
    pub fn is_inside(&self) -> bool {
        // Relaxed: only this thread writes its own number.
        self.owner.load(Ordering::Relaxed) == this_thread() | INSIDE
    }

    /// The owner, this thread, is no longer inside.
    #[inline(always)]
    pub fn leave(&self) {
        self.leave_as(this_thread());
    }

    #[inline(always)]
    fn leave_as(&self, number: usize) {
        // Release pairs with the acquire in `revoke`.
        self.owner.store(number, order!(Release, "biased.leave"));
    }

    /// Takes the mutex; waits for the thread that is inside, if one is.
    #[inline(never)]
    pub fn lock(&self) -> Held<'_> {
        if let Ok(lock) = self.lock.try_lock() {
            return self.alone(lock);
        }
        // A panic ends the process at the C boundary, so a poisoned mutex is none in earnest.
        let lock = self.queue(|| self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.alone(lock)
    }

    /// `None`: a thread is inside, maybe this one. Waits for none.
    fn try_lock(&self) -> Option<Held<'_>> {
        let mut lock = match self.lock.try_lock() {
            Ok(lock) => lock,
            Err(TryLockError::Poisoned(lock)) => lock.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Relaxed: it only says whether a barrier would be in vain.
        let inside = self.owner.load(Ordering::Relaxed) & INSIDE != 0;
        // The owner may have come meanwhile, and must not be waited for either: it may wait for this thread.
        let mine = !inside && (self.revoke(&mut lock) || !self.others_are_inside());
        mine.then_some(Held(lock))
    }

    /// Counts this thread among those that wait.
    fn queue<R>(&self, wait: impl FnOnce() -> R) -> R {
        // Relaxed, all: they order nothing; the owner guesses by them whether it should take the mutex again, or let others in.
        self.queued.fetch_add(1, Ordering::Relaxed);
        let result = wait();
        self.queued.fetch_sub(1, Ordering::Relaxed); // relaxed: as above
        self.had.fetch_add(1, Ordering::Relaxed); // relaxed: as above
        result
    }

    /// The mutex has been taken: the owner must do so, too. True: this thread is the owner.
    fn revoke(&self, lock: &mut MutexGuard<'_, Streak>) -> bool {
        let me = this_thread();
        // Relaxed, both: whoever comes first is the owner; only this thread writes its own number.
        let first = self.owner.compare_exchange(0, me | AWAY, Ordering::Relaxed, Ordering::Relaxed);
        let owner = first.unwrap_or_else(|owner| owner & !(INSIDE | AWAY));
        if owner == 0 || owner == me {
            lock.owner += 1;
            return true;
        }
        lock.owner = 0;
        // Relaxed: written under the mutex.
        if !self.revoked.load(Ordering::Relaxed) {
            // Relaxed: the barrier orders it before the look at `owner`.
            self.revoked.store(true, Ordering::Relaxed);
            if !lock.register() || !others_barrier() {
                lock.for_ever = true;
                std::thread::sleep(SEEN_BY_THEN);
            }
        }
        false
    }

    /// The owner, another thread, is inside without the mutex; it comes no more after `revoke`.
    fn others_are_inside(&self) -> bool {
        // Acquire pairs with the release in `leave_as`: what the owner did comes first.
        self.owner.load(order!(Acquire, "biased.revoke")) & INSIDE != 0
    }

    /// As `revoke`, and waits until the owner is not inside.
    fn alone<'a>(&'a self, mut lock: MutexGuard<'a, Streak>) -> Held<'a> {
        if !self.revoke(&mut lock) && self.others_are_inside() {
            self.queue(|| {
                while self.others_are_inside() {
                    give_way();
                }
            });
        }
        Held(lock)
    }

    /// Gives the mutex back, to the owner, if this thread is it, maybe for long: then it enters without it again.
    #[inline(never)]
    pub fn unlock(&self, held: Held<'_>) {
        let mut lock = held.0;
        if lock.owner >= STREAK && self.queued() == 0 && lock.ends() {
            // Not before: this thread, asking for the lock that it has, would get it. Relaxed, both: the owner, this thread,
            // reads them; others change `revoked` under the mutex.
            self.revoked.store(false, Ordering::Relaxed);
            self.owner.store(this_thread(), Ordering::Relaxed); // relaxed: as above
        }
    }
}

impl<T> Biased<T> {
    #[cfg(not(hpvm_loom))]
    pub const fn new(value: T) -> Biased<T> {
        Biased { bias: Bias::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits for the thread that has it, if one has.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        let lock = if self.bias.enter() { None } else { Some(self.bias.lock()) };
        Guard { of: self, lock }
    }

    /// `None`: a thread has it, maybe this one. Waits for none.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        if self.bias.is_inside() {
            return None;
        }
        if self.bias.enter() {
            return Some(Guard { of: self, lock: None });
        }
        let lock = Some(self.bias.try_lock()?);
        Some(Guard { of: self, lock })
    }
}

fn give_way() {
    #[cfg(not(hpvm_loom))]
    std::thread::yield_now();
    #[cfg(hpvm_loom)]
    loom::thread::yield_now();
}

impl Streak {
    /// Whether the owner may enter without the mutex once this guard of it is gone.
    #[inline(never)]
    fn ends(&mut self) -> bool {
        self.owner = 0;
        self.register();
        !self.for_ever
    }

    fn register(&mut self) -> bool {
        if !self.asked {
            self.asked = true;
            self.registered = cfg!(hpvm_loom) || barrier::register();
        }
        self.registered
    }
}

impl<'a, T> Guard<'a, T> {
    /// Lets others in until `changed` is notified, or `limit` is over, or for no reason.
    pub fn wait(mut self, changed: &Condvar, limit: Option<Duration>) -> Guard<'a, T> {
        let of = self.of;
        let bias = &of.bias;
        let Some(Held(lock)) = self.lock.take() else {
            // Only who has the mutex can let go of it and sleep at once. The caller looks whether there is still a reason.
            bias.leave();
            std::mem::forget(self);
            return Guard { of, lock: Some(bias.lock()) };
        };
        std::mem::forget(self);
        let lock = match limit {
            None => changed.wait(lock).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                changed.wait_timeout(lock, limit).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        Guard { of, lock: Some(bias.alone(lock)) }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        match self.lock.take() {
            None => self.of.bias.leave(),
            Some(lock) => self.of.bias.unlock(lock),
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: there is one guard at a time.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.of.value.get() }
    }
}

#[cfg(all(test, not(hpvm_loom)))]
#[cfg(not(miri))] // Miri knows no membarrier.
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn one_at_a_time_however_often_others_come() {
        const EACH: u64 = 200_000;
        let both = Arc::new(Biased::new([0u64; 2]));
        let add = |of: &Biased<[u64; 2]>| {
            let mut value = of.lock();
            value[0] += 1;
            let seen = value[0];
            value[1] += 1;
            assert_eq!([seen, seen], *value);
        };
        add(&both);
        let others: Vec<_> = [3, 700, 5000]
            .map(|every| {
                let both = both.clone();
                std::thread::spawn(move || {
                    for at in 0..EACH / every {
                        add(&both);
                        (0..every).for_each(|_| crate::spin_hint());
                        assert!(at <= EACH);
                    }
                })
            })
            .into();
        (0..EACH).for_each(|_| add(&both));
        others.into_iter().for_each(|other| other.join().expect("it counts"));
        let expected = 1 + EACH + EACH / 3 + EACH / 700 + EACH / 5000;
        assert_eq!(*both.lock(), [expected; 2]);
    }

    #[test]
    fn the_owner_enters_without_the_mutex_until_another_comes() {
        if !barrier::register() {
            return; // The system offers no barrier: then it is a mutex.
        }
        let biased = Biased::new(());
        for _ in 0..STREAK {
            let guard = biased.lock();
            assert!(guard.lock.is_some() && biased.try_lock().is_none());
        }
        let guard = biased.lock();
        assert!(guard.lock.is_none() && biased.try_lock().is_none());
        std::thread::scope(|s| {
            s.spawn(|| assert!(biased.try_lock().is_none()));
        });
        drop(guard);
        std::thread::scope(|s| {
            s.spawn(|| assert!(biased.try_lock().is_some()));
        });
        assert!(biased.lock().lock.is_some());
    }

    #[test]
    fn who_waits_hears_the_owner() {
        let (biased, changed) = (Biased::new(0), Condvar::new());
        (0..STREAK + 1).for_each(|_| drop(biased.lock()));
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut guard = biased.lock();
                while *guard < 1000 {
                    guard = guard.wait(&changed, None);
                }
            });
            for _ in 0..1000 {
                *biased.lock() += 1;
                changed.notify_all();
            }
        });
        // The owner's own wait: without the mutex it returns at once, then it sleeps.
        (0..STREAK + 1).for_each(|_| drop(biased.lock()));
        let mut guard = biased.lock();
        for _ in 0..2 {
            guard = guard.wait(&changed, Some(Duration::from_millis(1)));
        }
        assert!(guard.lock.is_some());
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use crate::cell;
    use crate::weaken;
    use loom::thread::spawn;
    use std::sync::Arc;

    /// What loom watches: two accesses that are not ordered fail.
    type Counted = Biased<cell::UnsafeCell<u32>>;

    /// The orderings by name, each with a model that does not hold without it.
    const WEAKENED: &weaken::Table = &[
        ("biased.owners_barrier", another_comes),
        ("biased.others_barrier", another_comes),
        ("biased.leave", another_comes),
        ("biased.revoke", another_comes),
    ];

    impl<T> Biased<T> {
        /// Loom's atomics are not made at compile time.
        fn new(value: T, claimed: bool) -> Biased<T> {
            let bias = Bias {
                owner: AtomicUsize::new(0),
                revoked: AtomicBool::new(!claimed),
                queued: AtomicU32::new(0),
                had: AtomicU32::new(0),
                lock: Mutex::new(Bias::NEW),
            };
            Biased { bias, value: UnsafeCell::new(value) }
        }
    }

    fn add(guard: &Guard<'_, cell::UnsafeCell<u32>>) -> u32 {
        // SAFETY: one guard at a time; loom looks whether that is so.
        guard.with_mut(|value| unsafe {
            *value += 1;
            *value
        })
    }

    fn model(threads: impl Fn(&Arc<Counted>) + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let counted = Arc::new(Counted::new(cell::UnsafeCell::new(0), false));
            // The first is the owner, and enters without the mutex from now on.
            add(&counted.lock());
            threads(&counted);
        });
    }

    /// The owner goes in and out while another does.
    fn another_comes() {
        model(|counted| {
            assert!(counted.bias.enter());
            counted.bias.leave();
            let other = {
                let counted = counted.clone();
                spawn(move || (0..2).for_each(|_| _ = add(&counted.lock())))
            };
            (0..3).for_each(|_| _ = add(&counted.lock()));
            other.join().unwrap();
            assert_eq!(add(&counted.lock()), 7);
        });
    }

    #[test]
    fn loom_another_comes() {
        another_comes();
    }

    /// As `another_comes`, to an owner that was so from the beginning.
    #[test]
    fn loom_another_comes_to_who_has_claimed_it() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let counted = Arc::new(Counted::new(cell::UnsafeCell::new(0), true));
            assert!(counted.bias.claim());
            let other = {
                let counted = counted.clone();
                spawn(move || {
                    assert!(!counted.bias.claim());
                    (0..2).for_each(|_| _ = add(&counted.lock()));
                })
            };
            (0..3).for_each(|_| _ = add(&counted.lock()));
            other.join().unwrap();
            assert_eq!(add(&counted.lock()), 6);
        });
    }

    #[test]
    fn loom_another_tries() {
        model(|counted| {
            let other = {
                let counted = counted.clone();
                spawn(move || counted.try_lock().map_or(0, |guard| add(&guard).min(1)))
            };
            for _ in 0..2 {
                let guard = counted.lock();
                assert!(counted.try_lock().is_none());
                add(&guard);
            }
            let expected = 4 + other.join().unwrap();
            assert_eq!(add(&counted.lock()), expected);
        });
    }

    #[test]
    fn loom_who_waits_hears_the_owner() {
        model(|counted| {
            let changed = Arc::new(Condvar::new());
            let other = {
                let (counted, changed) = (counted.clone(), changed.clone());
                spawn(move || {
                    let mut guard = counted.lock();
                    // SAFETY: as in `add`.
                    while guard.with(|value| unsafe { *value }) < 2 {
                        guard = guard.wait(&changed, None);
                    }
                })
            };
            add(&counted.lock());
            changed.notify_all();
            other.join().unwrap();
        });
    }

    #[test]
    fn loom_every_weakened_ordering_is_noticed() {
        weaken::check_noticed(WEAKENED);
    }

    #[test]
    fn loom_every_ordering_has_a_model() {
        weaken::check_complete(WEAKENED, &[include_str!("biased.rs")]);
    }
}
