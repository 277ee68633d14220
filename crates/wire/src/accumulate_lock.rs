//! The accumulate lock of an exposed region, for the atomic operations of the ranks of a host on its elements.
//!
//! *Under the lock* one rank at a time updates elements by plain loads and stores: kinds that no processor
//! updates, memory that is reached through the kernel, and long arrays, for which the processor's atomics take
//! 5 ns an element. Next to it any number of ranks *share* it, and update elements by the processor's atomics; they take
//! no lock, but each says in a word of its own ([`Updating`]) that it is inside such an update.
//!
//! Elements that are updated in both ways need the lock in *exclusive mode*: then nobody shares it, and single
//! updates are made under the lock, too. Who begins that mode waits until nobody is inside a shared update any more
//! (a reader-writer lock with a word for each reader, as the kernel's per-CPU ones; its heavy side is
//! [`hpvm_sync::barrier`]). The lock goes back into shared mode when [`MAX_SINGLES`] updates in a row have been short.
//!
//! Held for a few microseconds, never across a call, and by nobody who waits for anything else: so spinning and
//! yielding is enough. The word names its holder, for whoever looks at a process that hangs.

use hpvm_sync::atomic::{AtomicU32, compiler_fence, fence};
use hpvm_sync::barrier;
use hpvm_sync::{order, spin_hint};

/// Spins before the processor is offered to others: the holder may need it.
const SPINS: u32 = 128;
/// Updates of at least as many elements count as long.
pub const LONG: usize = 8;
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

/// The lock is held while this lives.
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
    /// Waits until nobody else holds the lock. `me` is the caller's rank.
    pub fn hold(&self, me: u32) -> Held<'_> {
        wait_until(|| self.take(me));
        Held(self)
    }

    /// As `hold`, but waits no longer than a holder that runs takes for a few elements. `None`: somebody has it still.
    pub fn try_hold(&self, me: u32) -> Option<Held<'_>> {
        for _ in 0..SPINS {
            if self.take(me) {
                return Some(Held(self));
            }
            spin_hint();
        }
        None
    }

    fn take(&self, me: u32) -> bool {
        let holder = me.wrapping_add(1).max(1);
        // Acquire pairs with the release in `drop`: what was done under the lock comes first.
        // Relaxed on failure: nothing is read then.
        let taken = order!(Acquire, "accumulate_lock.hold");
        self.holder.compare_exchange(0, holder, taken, order!(Relaxed, "")).is_ok()
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
    /// update. False: the system does not help, and the mode stays as it is.
    pub fn exclude<'u>(&self, others: impl Iterator<Item = &'u Updating> + Clone) -> bool {
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
        if !everywhere && others.clone().any(relies) {
            lock.mode.store(SHARED, order!(Relaxed, ""));
            return false;
        }
        for word in others {
            // Acquire pairs with the release in `Sharing::drop`: the shared update comes first.
            let left = order!(Acquire, "accumulate_lock.left");
            wait_until(|| word.0.load(left) & INSIDE == 0);
        }
        lock.singles.store(0, order!(Relaxed, ""));
        true
    }

    /// Counts an update of so many elements that has been made in exclusive mode.
    pub fn count(&self, elements: usize) {
        let singles = match elements < LONG {
            true => self.0.singles.load(order!(Relaxed, "")) + 1,
            false => 0,
        };
        // Relaxed: under the lock.
        self.0.singles.store(singles, order!(Relaxed, ""));
        if singles >= MAX_SINGLES {
            // Release pairs with the acquire in `share`: what was done under the lock comes first.
            self.0.mode.store(SHARED, order!(Release, "accumulate_lock.back"));
        }
    }
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let mut turns = 0u32;
    while !done() {
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

    #[test]
    fn layout_is_pinned() {
        assert_eq!((size_of::<AccumulateLock>(), size_of::<Updating>()), (16, 4));
        let lock = AccumulateLock::default();
        drop(lock.hold(7));
        let _held = lock.hold(u32::MAX);
        assert!(!lock.take(1));
    }

    #[test]
    fn exclusive_mode_begins_after_many_elements_and_ends_after_many_short_updates() {
        let (lock, words) = (AccumulateLock::default(), [Updating::default(), Updating::default()]);
        words.iter().for_each(Updating::register);
        assert!(lock.share(&words[0]).is_some());
        assert!(!lock.asks_for_exclusion(LONG));
        assert!(lock.asks_for_exclusion(MAX_SHARED as usize));
        assert!(lock.hold(0).exclude(words.iter()));
        assert!(!lock.asks_for_exclusion(usize::MAX));
        for i in 0..MAX_SINGLES {
            assert!(lock.share(&words[1]).is_none(), "after {i} short updates");
            let held = lock.hold(1);
            assert!(held.is_exclusive());
            held.count(1);
        }
        assert!(lock.share(&words[1]).is_some());
        assert!(!lock.hold(1).is_exclusive());
        assert!(!lock.asks_for_exclusion(LONG), "counted from the beginning");
    }

    #[test]
    fn long_updates_keep_exclusive_mode() {
        let (lock, word) = (AccumulateLock::default(), Updating::default());
        let held = lock.hold(0);
        assert!(held.exclude([&word].into_iter()));
        for _ in 0..4 {
            (1..MAX_SINGLES).for_each(|_| held.count(LONG - 1));
            held.count(LONG);
        }
        assert!(held.is_exclusive());
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use hpvm_sync::loom::cell::UnsafeCell;
    use hpvm_sync::weaken::is_noticed;
    use std::sync::Arc;

    /// Two ranks update an element that no processor knows.
    fn nothing_is_lost() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let shared = Arc::new((AccumulateLock::default(), UnsafeCell::new(0u32)));
            let add = |shared: &(AccumulateLock, UnsafeCell<u32>), me| {
                let _held = shared.0.hold(me);
                // SAFETY: the lock is held; loom looks whether that is enough.
                shared.1.with_mut(|element| unsafe { *element += 1 });
            };
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || add(&shared, 1))
            };
            add(&shared, 0);
            other.join().unwrap();
            let _held = shared.0.hold(0);
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
            let held = region.lock.hold(me);
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
                let held = region.lock.hold(0);
                assert!(held.exclude(region.words.iter()));
                // SAFETY: as above.
                region.element.with_mut(|element| unsafe { *element += 1 });
                held.count(LONG);
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
