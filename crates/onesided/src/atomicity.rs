//! How elements of native kinds are updated atomically: by the processor, under the accumulate lock, or in both ways
//! by turns, whichever is faster for the updates that come ([`hpvm_wire::accumulate_lock`]).

use crate::Rank;
use crate::apply::{Appliers, Elements};
use crate::atomic;
use crate::control::Words;
use crate::kind::{AtomicOp, Kind};
use core::ptr::NonNull;
use hpvm_fm::{Fm, Transport};
use hpvm_wire::accumulate_lock::{HolderGone, LONG_UPDATE_ELEMENTS, Updating};

/// Elements that are updated in one shared update: some microseconds, for which whoever begins exclusive mode waits.
const MAX_SHARED: usize = 512;

/// How the elements of a region are updated. The same for all ranks that access it.
#[derive(Clone, Copy)]
pub(crate) enum Atomicity<'a> {
    /// By the processor alone: others do so by themselves, or nobody else can.
    Processor,
    /// Under the lock alone.
    Locked,
    /// By the processor while the lock is shared, else under the lock. With the word of this rank.
    Shared(&'a Updating),
}

/// The word of this rank in the segment.
#[derive(Clone, Copy)]
pub(crate) struct OwnWord(NonNull<Updating>);

// SAFETY: the word is atomic, and stays mapped as long as the transport, beside which the engine lives.
unsafe impl Send for OwnWord {}
// SAFETY: as above.
unsafe impl Sync for OwnWord {}

impl OwnWord {
    /// Registers `updating`, which is to outlive every use of the value.
    pub fn new(updating: &Updating) -> OwnWord {
        updating.register();
        OwnWord(NonNull::from(updating))
    }

    #[inline(always)]
    fn get<'a>(self) -> &'a Updating {
        // SAFETY: in the segment, which stays mapped (`new`).
        unsafe { self.0.as_ref() }
    }
}

/// How elements of a region with these facts are updated.
#[inline(always)]
pub(crate) fn select<'a>(locked: bool, direct: bool, own: Option<OwnWord>) -> Atomicity<'a> {
    match own {
        _ if locked => Atomicity::Locked,
        Some(own) if !direct => Atomicity::Shared(own.get()),
        _ => Atomicity::Processor,
    }
}

impl Appliers {
    /// Updates aligned elements of a native kind, sharing the lock or under it, as the mode wants it.
    ///
    /// # Errors
    /// As for [`Appliers::update`].
    ///
    /// # Safety
    /// As for [`Appliers::update`]; the elements are aligned to their size.
    #[inline]
    pub unsafe fn update_shared(
        &self,
        elements: &Elements<'_>,
        updating: &Updating,
        (kind, op): (Kind, AtomicOp),
        operand: *const u8,
        fetch: *mut u8,
    ) -> Result<(), HolderGone> {
        if elements.count < LONG_UPDATE_ELEMENTS
            && let Some(_sharing) = elements.control.lock().share(updating)
        {
            let Elements { at, count, .. } = *elements;
            // SAFETY: the caller's promise; the lock is shared.
            unsafe { atomic::update(at, kind, op, operand, count, fetch) };
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.update_by_turns(elements, updating, (kind, op), operand, fetch) }
    }

    /// # Errors
    /// As for `update_shared`.
    ///
    /// # Safety
    /// As for `update_shared`.
    #[inline(never)]
    unsafe fn update_by_turns(
        &self,
        elements: &Elements<'_>,
        updating: &Updating,
        (kind, op): (Kind, AtomicOp),
        operand: *const u8,
        fetch: *mut u8,
    ) -> Result<(), HolderGone> {
        let lock = elements.control.lock();
        let size = kind.native_size().unwrap_or(1);
        let mut done = 0;
        while done < elements.count {
            let (left, skip) = (elements.count - done, done * size);
            let at = elements.at.wrapping_add(skip);
            let operand = operand.wrapping_add(skip);
            let fetch = if fetch.is_null() { fetch } else { fetch.wrapping_add(skip) };
            if let Some(_sharing) = lock.share(updating) {
                let count = left.min(MAX_SHARED);
                // SAFETY: the caller's promise; the lock is shared.
                unsafe { atomic::update(at, kind, op, operand, count, fetch) };
                done += count;
                continue;
            }
            let held = self.hold(elements.control, elements.me)?;
            if held.is_exclusive() {
                let count = left.min(crate::apply::MAX_HELD / size);
                // SAFETY: the caller's promise; nobody shares the lock, which is held.
                unsafe { atomic::update_locked(at, kind, op, operand, count, fetch) };
                held.count(count);
                done += count;
            }
        }
        Ok(())
    }

    /// Before an update: begins exclusive mode where long ones make it worth its price.
    ///
    /// # Errors
    /// As for [`Appliers::hold`].
    #[inline]
    pub fn exclude_if_long<T: Transport>(
        &self,
        fm: &Fm<T>,
        elements: &Elements<'_>,
    ) -> Result<(), HolderGone> {
        if elements.count >= LONG_UPDATE_ELEMENTS
            && matches!(elements.atomicity, Atomicity::Shared(_))
            && elements.control.lock().asks_for_exclusion(elements.count)
        {
            return self.exclude(fm, elements.me, elements.control);
        }
        Ok(())
    }

    #[cold]
    fn exclude<T: Transport>(
        &self,
        fm: &Fm<T>,
        me: Rank,
        control: &Words,
    ) -> Result<(), HolderGone> {
        let word = |rank| Some((rank, fm.transport().updating(rank)?));
        let held = self.hold(control, me)?;
        // Where the system does not help, updates stay shared.
        held.exclude((0..fm.size()).filter_map(word), |rank| self.is_gone(rank));
        Ok(())
    }
}
