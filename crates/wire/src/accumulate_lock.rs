//! The accumulate lock of an exposed region, for the atomic operations of the ranks of a host on its elements.
//!
//! *Under the lock* one rank at a time updates elements by plain loads and stores: kinds that no processor
//! updates, memory that is reached through the kernel, and long arrays, for which the processor's atomics take
//! 5 ns an element. Next to it any number of ranks *share* it, and update elements by the processor's atomics; they take
//! no lock, but each says in a word of its own ([`Updating`]) that it is inside such an update.
//!
//! Elements that are updated in both ways need the lock in *exclusive mode*: then nobody shares it, and single
//! updates are made under the lock, too. A rank that begins that mode waits until no rank is inside a shared update
//! any more. (It is a reader-writer lock with a word for each reader, as the kernel's per-CPU ones; its heavy side is
//! [`hpvm_sync::barrier`].) The lock goes back into shared mode when [`MAX_SINGLES`] updates in a row have been short.
//!
//! The lock is held for a few microseconds, never across a call, and never by a rank that waits for anything else. So
//! spinning and yielding is enough.
//!
//! The word names the lock's holder. A rank may be killed while it holds the lock, or inside a shared update, so a rank
//! that has waited for long asks whether the other one is gone. The first rank to find a dead holder takes the lock over
//! into shared mode, whatever the dead rank was doing, gives it back, and gets an error ([`HolderGone`]). The others go
//! on.

use hpvm_sync::atomic::{AtomicU32, compiler_fence, fence};
use hpvm_sync::barrier;
use hpvm_sync::{order, spin_hint};

/// Spins before the processor is offered to others: the holder may need it.
const SPINS: u32 = 128;
/// Turns, most of which offer the processor to others, from one look at whether who is waited for is gone to the next.
const TURNS: u32 = if cfg!(hpvm_loom) { 2 } else { 512 };
/// Updates of at least as many elements count as long.
pub const LONG_UPDATE_ELEMENTS: usize = 8;
/// Elements of long updates, each 5 ns, that are made in shared mode before exclusive mode begins, which takes some
/// microseconds.
const MAX_SHARED: u32 = 1024;
/// Short updates in a row, each 10 ns longer than a shared one, before exclusive mode ends.
pub const MAX_SINGLES: u32 = if cfg!(hpvm_loom) { 1 } else { 1024 };

/// The modes; all zeros is an open lock in shared mode.
const SHARED: u32 = 0;
const EXCLUSIVE: u32 = 1;

/// Set in [`Updating`] while its rank is inside a shared update.
const INSIDE: u32 = 1;
/// Set in [`Updating`] if its rank relies on the barrier of whoever begins exclusive mode.
const LIGHT: u32 = 2;

/// What a rank shows to those of its host: whether it is inside a shared update, of whichever region.
///
/// Written by its rank alone; read by whoever begins exclusive mode.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Updating(AtomicU32);

/// See the module's text. All zeros is an open lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct AccumulateLock {
    /// One more than the rank that holds it; 0 when nobody does.
    holder: AtomicU32,
    /// `SHARED` or `EXCLUSIVE`; changes only under the lock.
    mode: AtomicU32,
    /// In exclusive mode: short updates since the last long one. Changes only under the lock.
    singles: AtomicU32,
    /// In shared mode: elements of long updates. An estimate: no rank relies on it.
    long: AtomicU32,
}

/// The lock was held by a rank that is no more, which may have left elements half updated. Nobody holds it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderGone(pub u32);

/// The lock is held while this lives.
#[derive(Debug)]
pub struct Held<'a>(&'a AccumulateLock);

/// The lock is shared while this lives.
pub struct Sharing<'a>(&'a Updating);

impl Updating {
    /// To be called by its rank before the first update: finds out whether a light barrier is enough for it.
    pub fn register(&self) {
        let light = if barrier::register() { LIGHT } else { 0 };
        // Relaxed: who reads another value than this rank's next store to it only waits for that.
        self.0.store(light, order!(Relaxed, ""));
    }
}

impl AccumulateLock {
    /// Waits until nobody else holds the lock. `me` is the caller's rank; `is_gone` tells whether a rank's process is no more,
    /// and is asked after a wait that no living holder needs.
    ///
    /// # Errors
    /// It was held by a rank that is gone. The next call gets it.
    pub fn hold(&self, me: u32, is_gone: impl Fn(u32) -> bool) -> Result<Held<'_>, HolderGone> {
        let mut gone = None;
        wait_until(|looks| {
            let Err(holder) = self.take(me) else {
                gone = None;
                return true;
            };
            gone = holder.checked_sub(1).filter(|rank| looks && is_gone(*rank));
            gone.is_some() && self.take_over(holder, me)
        });
        match gone {
            None => Ok(Held(self)),
            Some(rank) => Err(HolderGone(rank)),
        }
    }

    /// As `hold`, but waits no longer than a holder that runs takes for a few elements. `None`: somebody has it still.
    pub fn try_hold(&self, me: u32) -> Option<Held<'_>> {
        for _ in 0..SPINS {
            if self.take(me).is_ok() {
                return Some(Held(self));
            }
            spin_hint();
        }
        None
    }

    /// What the word of a lock says that `rank` holds.
    fn held_by(rank: u32) -> u32 {
        rank.wrapping_add(1).max(1)
    }

    /// Takes the lock if nobody holds it. Else what the word says.
    fn take(&self, me: u32) -> Result<(), u32> {
        // Acquire pairs with the release in `drop`: what was done under the lock comes first.
        // Relaxed on failure: nothing is read then.
        let taken = order!(Acquire, "accumulate_lock.hold");
        let me = AccumulateLock::held_by(me);
        self.holder.compare_exchange(0, me, taken, order!(Relaxed, "")).map(|_| ())
    }

    /// Takes the lock from a holder that is gone, and gives it back in shared mode: the holder may have been about to begin
    /// exclusive mode. False: somebody else was first.
    #[cold]
    fn take_over(&self, holder: u32, me: u32) -> bool {
        // Relaxed: the kernel knows of an end after all that the rank did and saw, and this one has asked it.
        let relaxed = order!(Relaxed, "");
        let me = AccumulateLock::held_by(me);
        if self.holder.compare_exchange(holder, me, relaxed, relaxed).is_err() {
            return false;
        }
        let held = Held(self);
        self.long.store(0, order!(Relaxed, ""));
        held.share_again();
        true
    }

    /// Begins a shared update, by the processor's atomics. `None`: the mode is exclusive. `updating` is the caller's
    /// own, who is not inside another one.
    #[inline(always)]
    pub fn share<'a>(&self, updating: &'a Updating) -> Option<Sharing<'a>> {
        let word = updating.0.load(order!(Relaxed, ""));
        // Relaxed: the barrier below puts it before the load of the mode.
        updating.0.store(word | INSIDE, order!(Relaxed, ""));
        match word & LIGHT {
            // The other side's barrier makes this one a barrier of the processor, too, when it matters.
            LIGHT => compiler_fence(order!(SeqCst, "")),
            _ => fence(order!(SeqCst, "accumulate_lock.share")),
        }
        let sharing = Sharing(updating);
        // Acquire pairs with the release in `count`: what was done under the lock comes first.
        let shared = self.mode.load(order!(Acquire, "accumulate_lock.mode")) == SHARED;
        shared.then_some(sharing)
    }

    /// Counts elements of a long update that is about to be made in shared mode. True: it is time for exclusive mode.
    pub fn asks_for_exclusion(&self, elements: usize) -> bool {
        if self.mode.load(order!(Relaxed, "")) == EXCLUSIVE {
            return false;
        }
        let elements = u32::try_from(elements).unwrap_or(u32::MAX).min(MAX_SHARED);
        self.long.fetch_add(elements, order!(Relaxed, "")).wrapping_add(elements) >= MAX_SHARED
    }
}

impl Held<'_> {
    /// Whether nobody shares the lock, and nobody will while it is held.
    pub fn is_exclusive(&self) -> bool {
        // Relaxed: it changes under the lock only.
        self.0.mode.load(order!(Relaxed, "")) == EXCLUSIVE
    }

    /// Begins exclusive mode: waits until none of `others`, all ranks that access the region, is inside a shared
    /// update; those that are gone, as `is_gone` tells, never leave it. False: the system does not help, and the mode stays as it is.
    pub fn exclude<'u>(
        &self,
        others: impl Iterator<Item = (u32, &'u Updating)> + Clone,
        is_gone: impl Fn(u32) -> bool,
    ) -> bool {
        let lock = self.0;
        lock.long.store(0, order!(Relaxed, ""));
        if self.is_exclusive() {
            return true;
        }
        // Relaxed: the barrier puts it before the loads below. A rank whose own barrier came earlier has its word
        // set before that, which is seen here; for one whose barrier comes later the mode is exclusive.
        lock.mode.store(EXCLUSIVE, order!(Relaxed, ""));
        fence(order!(SeqCst, "accumulate_lock.exclude"));
        let everywhere = barrier::everywhere();
        let relies = |word: &Updating| word.0.load(order!(Relaxed, "")) & LIGHT != 0;
        if !everywhere && others.clone().any(|(_, word)| relies(word)) {
            lock.mode.store(SHARED, order!(Relaxed, ""));
            return false;
        }
        for (rank, word) in others {
            // Acquire pairs with the release in `Sharing::drop`: the shared update comes first.
            let left = order!(Acquire, "accumulate_lock.left");
            wait_until(|looks| {
                if looks && is_gone(rank) {
                    // Nobody writes the word any more. Relaxed: nothing is read by it.
                    word.0.store(0, order!(Relaxed, ""));
                }
                word.0.load(left) & INSIDE == 0
            });
        }
        lock.singles.store(0, order!(Relaxed, ""));
        true
    }

    /// Counts an update of so many elements that has been made in exclusive mode.
    pub fn count(&self, elements: usize) {
        let singles = match elements < LONG_UPDATE_ELEMENTS {
            true => self.0.singles.load(order!(Relaxed, "")) + 1,
            false => 0,
        };
        // Relaxed: under the lock.
        self.0.singles.store(singles, order!(Relaxed, ""));
        if singles >= MAX_SINGLES {
            self.share_again();
        }
    }

    /// Ends exclusive mode.
    fn share_again(&self) {
        // Release pairs with the acquire in `share`: what was done under the lock comes first.
        self.0.mode.store(SHARED, order!(Release, "accumulate_lock.back"));
    }
}

/// Waits until `done` says so, which is told whether it is time to look whether who is waited for is gone.
fn wait_until(mut done: impl FnMut(bool) -> bool) {
    let mut turns = 0u32;
    while !done(turns % TURNS == TURNS - 1) {
        turns = turns.wrapping_add(1);
        match turns < SPINS {
            true => spin_hint(),
            false => rest(),
        }
    }
}

/// Lets the holder have our processor.
fn rest() {
    #[cfg(not(hpvm_loom))]
    std::thread::yield_now();
    #[cfg(hpvm_loom)]
    spin_hint();
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `take`.
        self.0.holder.store(0, order!(Release, "accumulate_lock.release"));
    }
}

impl Drop for Sharing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let word = self.0.0.load(order!(Relaxed, ""));
        // Release pairs with the acquire in `exclude`.
        self.0.0.store(word & !INSIDE, order!(Release, "accumulate_lock.leave"));
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;
    use hpvm_sync::atomic::Ordering;

    #[test]
    fn layout_is_pinned() {
        assert_eq!((size_of::<AccumulateLock>(), size_of::<Updating>()), (16, 4));
        let lock = AccumulateLock::default();
        drop(lock.hold(7, alive));
        let _held = lock.hold(u32::MAX, alive);
        assert!(lock.take(1).is_err());
    }

    fn alive(_: u32) -> bool {
        false
    }

    #[test]
    fn the_lock_of_a_dead_rank_is_broken_once() {
        let lock = AccumulateLock::default();
        core::mem::forget(lock.hold(3, alive));
        assert!(lock.try_hold(1).is_none());
        assert_eq!(lock.hold(1, |rank| rank == 3).err(), Some(HolderGone(3)));
        let held = lock.hold(2, |_| panic!("nobody is waited for")).unwrap();
        assert!(!lock.take_over(4, 1), "it is another one's by now");
        drop(held);
    }

    #[test]
    fn a_rank_that_dies_in_exclusive_mode_or_in_a_shared_update_holds_up_nobody() {
        let (lock, words) = (AccumulateLock::default(), [Updating::default(), Updating::default()]);
        words.iter().for_each(Updating::register);
        core::mem::forget(lock.share(&words[1]));
        let ranks = || (0..).zip(&words);
        let held = lock.hold(0, alive).unwrap();
        assert!(held.exclude(ranks(), |rank| rank == 1));
        assert_eq!(words[1].0.load(Ordering::Relaxed), 0);
        core::mem::forget(held);
        assert!(lock.share(&words[0]).is_none());
        assert_eq!(lock.hold(1, |rank| rank == 0).err(), Some(HolderGone(0)));
        assert!(lock.share(&words[1]).is_some(), "the mode that all locks begin with");
    }

    #[test]
    fn exclusive_mode_begins_after_many_elements_and_ends_after_many_short_updates() {
        let (lock, words) = (AccumulateLock::default(), [Updating::default(), Updating::default()]);
        words.iter().for_each(Updating::register);
        assert!(lock.share(&words[0]).is_some());
        assert!(!lock.asks_for_exclusion(LONG_UPDATE_ELEMENTS));
        assert!(lock.asks_for_exclusion(MAX_SHARED as usize));
        assert!(lock.hold(0, alive).unwrap().exclude((0..).zip(&words), alive));
        assert!(!lock.asks_for_exclusion(usize::MAX));
        for i in 0..MAX_SINGLES {
            assert!(lock.share(&words[1]).is_none(), "after {i} short updates");
            let held = lock.hold(1, alive).unwrap();
            assert!(held.is_exclusive());
            held.count(1);
        }
        assert!(lock.share(&words[1]).is_some());
        assert!(!lock.hold(1, alive).unwrap().is_exclusive());
        assert!(!lock.asks_for_exclusion(LONG_UPDATE_ELEMENTS), "counted from the beginning");
    }

    #[test]
    fn long_updates_keep_exclusive_mode() {
        let (lock, word) = (AccumulateLock::default(), Updating::default());
        let held = lock.hold(0, alive).unwrap();
        assert!(held.exclude([(0, &word)].into_iter(), alive));
        for _ in 0..4 {
            (1..MAX_SINGLES).for_each(|_| held.count(LONG_UPDATE_ELEMENTS - 1));
            held.count(LONG_UPDATE_ELEMENTS);
        }
        assert!(held.is_exclusive());
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::atomic::Ordering;
    use hpvm_sync::loom;
    use hpvm_sync::loom::cell::UnsafeCell;
    use hpvm_sync::weaken::is_noticed;
    use std::sync::Arc;

    fn alive(_: u32) -> bool {
        false
    }

    /// A region in whose rank 0 dies.
    struct Deadly {
        lock: AccumulateLock,
        element: UnsafeCell<u32>,
        dead: AtomicU32,
        told: AtomicU32,
    }

    impl Deadly {
        fn new() -> Arc<Deadly> {
            Arc::new(Deadly {
                lock: AccumulateLock::default(),
                element: UnsafeCell::new(0),
                dead: AtomicU32::new(0),
                told: AtomicU32::new(0),
            })
        }

        fn add(&self, me: u32) -> Held<'_> {
            loop {
                // Acquire, and the release below: the kernel knows of an end after all that came before it.
                let is_gone = |rank| rank == 0 && self.dead.load(Ordering::Acquire) != 0;
                if let Ok(held) = self.lock.hold(me, is_gone) {
                    // SAFETY: the lock is held; loom looks whether that is enough.
                    self.element.with_mut(|element| unsafe { *element += 1 });
                    return held;
                }
                self.told.fetch_add(1, Ordering::Relaxed);
            }
        }

        /// Rank 0 takes the lock, and is no more.
        fn die(&self) {
            core::mem::forget(self.add(0));
            self.dead.store(1, Ordering::Release);
        }

        /// All that `times` ranks have done is there, and one of them, or who comes last, is told.
        fn check(&self, times: u32) {
            let last = self.lock.hold(1, |rank| rank == 0);
            let told = self.told.load(Ordering::Relaxed) + u32::from(last.is_err());
            drop(last);
            let _held = self.lock.hold(1, alive).unwrap();
            // SAFETY: as above.
            let found = self.element.with(|element| unsafe { *element });
            assert_eq!((found, told), (times, 1));
        }
    }

    /// Who waits while the holder dies.
    fn one_dies() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let region = Deadly::new();
            let other = {
                let region = region.clone();
                loom::thread::spawn(move || region.die())
            };
            drop(region.add(1));
            other.join().unwrap();
            region.check(2);
        });
    }

    /// Two who find that the holder has died: one takes the lock over, and what was done before its death is seen by both.
    fn two_survive() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let region = Deadly::new();
            region.die();
            let other = {
                let region = region.clone();
                loom::thread::spawn(move || drop(region.add(2)))
            };
            drop(region.add(1));
            other.join().unwrap();
            region.check(3);
        });
    }

    #[test]
    fn who_dies_with_the_lock_holds_up_nobody() {
        one_dies();
        two_survive();
    }

    /// Two ranks update an element that no processor knows.
    fn nothing_is_lost() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let shared = Arc::new((AccumulateLock::default(), UnsafeCell::new(0u32)));
            let add = |shared: &(AccumulateLock, UnsafeCell<u32>), me| {
                let _held = shared.0.hold(me, alive);
                // SAFETY: the lock is held; loom looks whether that is enough.
                shared.1.with_mut(|element| unsafe { *element += 1 });
            };
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || add(&shared, 1))
            };
            add(&shared, 0);
            other.join().unwrap();
            let _held = shared.0.hold(0, alive);
            // SAFETY: as above.
            assert_eq!(shared.1.with(|element| unsafe { *element }), 2);
        });
    }

    /// Two ranks make short updates, and a third one, which then makes a long one, begins exclusive mode before it.
    /// A shared update is a read here: many may be made at a time, but none beside a plain one.
    fn shared_and_exclusive() {
        struct Region {
            lock: AccumulateLock,
            words: [Updating; 2],
            element: UnsafeCell<u32>,
        }
        let short = |region: &Region, me: u32| loop {
            if let Some(_sharing) = region.lock.share(&region.words[me as usize]) {
                // SAFETY: a read; loom looks whether somebody writes meanwhile.
                region.element.with(|element| unsafe { std::ptr::read_volatile(element) });
                return;
            }
            let held = region.lock.hold(me, alive).unwrap();
            if held.is_exclusive() {
                // SAFETY: exclusive mode, and the lock is held; loom looks whether that is enough.
                region.element.with_mut(|element| unsafe { *element += 1 });
                held.count(1);
                return;
            }
        };
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let region = Arc::new(Region {
                lock: AccumulateLock::default(),
                words: [Updating::default(), Updating::default()],
                element: UnsafeCell::new(0),
            });
            let other = {
                let region = region.clone();
                loom::thread::spawn(move || {
                    short(&region, 1);
                    short(&region, 1);
                })
            };
            {
                let held = region.lock.hold(0, alive).unwrap();
                assert!(held.exclude((0..).zip(&region.words), alive));
                // SAFETY: as above.
                region.element.with_mut(|element| unsafe { *element += 1 });
                held.count(LONG_UPDATE_ELEMENTS);
            }
            short(&region, 0);
            other.join().unwrap();
        });
    }

    #[test]
    fn nobody_shares_the_lock_in_exclusive_mode() {
        shared_and_exclusive();
    }

    #[test]
    fn every_ordering_of_the_modes_is_needed() {
        let names = ["share", "mode", "exclude", "left", "back", "leave"];
        for name in names {
            let name: &'static str = format!("accumulate_lock.{name}").leak();
            let noticed = is_noticed(name, shared_and_exclusive);
            assert!(noticed, "{name} may be weakened and nobody notices");
        }
    }

    #[test]
    fn updates_under_the_lock_lose_nothing() {
        nothing_is_lost();
    }

    #[test]
    fn every_ordering_of_the_lock_is_needed() {
        for name in ["accumulate_lock.hold", "accumulate_lock.release"] {
            assert!(is_noticed(name, nothing_is_lost), "{name} may be weakened and nobody notices");
        }
    }
}
