//! A mutex that costs the thread that nearly always has it two plain stores.
//!
//! The first thread to come, the owner, enters without an atomic exchange while nobody else has come for a while. It says that it
//! is inside, then looks whether it may; another thread takes the mutex behind, says that the owner may not, then looks
//! whether it is inside. [`barrier::everywhere`], at the other thread's expense, makes sure that one of the two sees the other.
//! From then on the owner takes the mutex, too, until it has done so [`STREAK`] times without others in between.

use crate::barrier;
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// So often the owner takes the mutex before it enters without it again: a barrier, some microseconds, is paid at most once
/// for so many calls.
const STREAK: u32 = 128;
/// Added to the owner's number, which is even.
const INSIDE: usize = 1;
/// How long a store of the owner may stay unseen where the system offers no barrier. Paid once.
const SEEN_BY_THEN: Duration = Duration::from_millis(2);

/// A number that no two threads share at a time. It is even and not 0.
#[inline(always)]
pub fn this_thread() -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let pointer: usize;
        // SAFETY: the first word of a thread's control block holds its own address (x86-64 ABI).
        unsafe {
            core::arch::asm!("mov {}, fs:0", out(reg) pointer,
                options(nostack, preserves_flags, readonly, pure));
        }
        pointer
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        thread_local!(static PLACE: u16 = const { 0 });
        PLACE.with(|place| (&raw const *place).addr())
    }
}

/// What threads that take the mutex leave to each other.
struct Streak {
    /// Times that the owner had it since another thread had.
    owner: u32,
    /// The system offers no barrier: everybody takes the mutex.
    for_ever: bool,
    /// It was asked.
    asked: bool,
}

/// See the module. No thread may lock it twice.
pub struct Biased<T> {
    /// The owner, with [`INSIDE`] while it is inside without the mutex. 0: nobody has come.
    owner: AtomicUsize,
    /// The owner must take the mutex. Changed under the mutex only.
    revoked: AtomicBool,
    lock: Mutex<Streak>,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is reached through guards only, of which there is one at a time.
unsafe impl<T: Send> Sync for Biased<T> {}

/// The right to use the value. Ends with the scope.
pub struct Guard<'a, T> {
    of: &'a Biased<T>,
    lock: Option<MutexGuard<'a, Streak>>,
}

impl<T> Biased<T> {
    pub const fn new(value: T) -> Biased<T> {
        Biased {
            owner: AtomicUsize::new(0),
            revoked: AtomicBool::new(true),
            lock: Mutex::new(Streak { owner: 0, for_ever: false, asked: false }),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the thread that has it, if one has.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        match self.enter() {
            Some(guard) => guard,
            None => self.lock_slowly(),
        }
    }

    /// `None`: a thread has it, maybe this one. Waits for no call of another thread, but where that has just begun.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // Relaxed: only this thread writes its own number.
        if self.owner.load(Ordering::Relaxed) == this_thread() | INSIDE {
            return None;
        }
        if let Some(guard) = self.enter() {
            return Some(guard);
        }
        let lock = match self.lock.try_lock() {
            Ok(lock) => lock,
            Err(TryLockError::Poisoned(lock)) => lock.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Acquire: no order is needed; it only says whether waiting would be in vain for long.
        let inside = self.owner.load(Ordering::Acquire) & INSIDE != 0;
        if inside { None } else { Some(self.revoke(lock)) }
    }

    /// Enters as the owner.
    #[inline(always)]
    fn enter(&self) -> Option<Guard<'_, T>> {
        let me = this_thread();
        // Relaxed: a thread finds its own number only if it has put it there.
        if self.owner.load(Ordering::Relaxed) != me {
            return None;
        }
        // Relaxed: `revoke` reads it after a barrier in all threads.
        self.owner.store(me | INSIDE, Ordering::Relaxed);
        // The other thread's barrier stands for a fence; the compiler must not reorder.
        compiler_fence(Ordering::SeqCst);
        // Relaxed: of the store above and the other thread's store of `revoked`, one side sees the other's.
        if self.revoked.load(Ordering::Relaxed) {
            self.leave();
            return None;
        }
        Some(Guard { of: self, lock: None })
    }

    /// The owner is no longer inside.
    #[inline(always)]
    fn leave(&self) {
        // Release pairs with the acquire in `revoke`.
        self.owner.store(this_thread(), Ordering::Release);
    }

    #[inline(never)]
    fn lock_slowly(&self) -> Guard<'_, T> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.revoke(lock)
    }

    /// The mutex has been taken: the owner must do so, too. Waits until it is not inside.
    fn revoke<'a>(&'a self, mut lock: MutexGuard<'a, Streak>) -> Guard<'a, T> {
        let me = this_thread();
        // Relaxed: whoever comes first is the owner; nothing else depends on it.
        let first = self.owner.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
        // Relaxed: only this thread writes its own number.
        if first.is_ok() || self.owner.load(Ordering::Relaxed) == me {
            lock.owner += 1;
            return Guard { of: self, lock: Some(lock) };
        }
        lock.owner = 0;
        // Relaxed: written under the mutex.
        if !self.revoked.load(Ordering::Relaxed) {
            // SeqCst: comes before the barrier, and before the look at `owner`.
            self.revoked.store(true, Ordering::SeqCst);
            if !barrier::everywhere() {
                lock.for_ever = true;
                std::thread::sleep(SEEN_BY_THEN);
            }
        }
        // Acquire pairs with the release in `leave`: what the owner did comes first.
        while self.owner.load(Ordering::Acquire) & INSIDE != 0 {
            std::thread::yield_now();
        }
        Guard { of: self, lock: Some(lock) }
    }
}

impl Streak {
    /// Whether the owner may enter without the mutex once this guard of it is gone.
    #[inline(never)]
    fn ends(&mut self) -> bool {
        self.owner = 0;
        if !self.asked {
            self.asked = true;
            self.for_ever = !barrier::register();
        }
        !self.for_ever
    }
}

impl<'a, T> Guard<'a, T> {
    /// Lets others in until `changed` is notified, or `limit` is over, or for no reason.
    pub fn wait(mut self, changed: &Condvar, limit: Option<Duration>) -> Guard<'a, T> {
        let of = self.of;
        let Some(lock) = self.lock.take() else {
            // Only who has the mutex can let go of it and sleep at once. The caller looks whether there is still a reason.
            of.leave();
            std::mem::forget(self);
            return of.lock_slowly();
        };
        std::mem::forget(self);
        let lock = match limit {
            None => changed.wait(lock).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                changed.wait_timeout(lock, limit).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        of.revoke(lock)
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        match &mut self.lock {
            None => self.of.leave(),
            // Not before: this thread, asking for the lock that it has, would get it.
            Some(lock) => {
                if lock.owner >= STREAK && lock.ends() {
                    // Relaxed: the owner, this thread, reads it; others change it under the mutex.
                    self.of.revoked.store(false, Ordering::Relaxed);
                }
            }
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

#[cfg(test)]
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
