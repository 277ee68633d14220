//! How the owner of a region, or a rank that has mapped it, does an atomic operation; and the functions that models have
//! registered for elements that no processor knows.

use crate::Rank;
use crate::atomic;
use crate::atomicity::Atomicity;
use crate::control::Words;
use crate::kind::{AtomicOp, Kind, LOCKED_F32, LOCKED_F64};
use core::ops::Range;
use hpvm_fm::Life;
use hpvm_wire::accumulate_lock::{Held, HolderGone};
use std::sync::Arc;

/// Operations on elements of kinds that no processor updates atomically. A model registers one for its codes
/// ([`crate::OneSided::register_apply`]).
pub trait Apply: Send + Sync {
    /// Bytes of an element. `None`: there is no such code. At most [`MAX_ELEMENT`].
    fn size(&self, code: u16) -> Option<usize>;
    /// Whether `op`, which is neither `Replace` nor `NoOp`, is defined for such elements.
    fn supports(&self, code: u16, op: AtomicOp) -> bool;
    /// `element[i] = element[i] op operand[i]` for `count` elements.
    ///
    /// # Safety
    /// Both hold as many elements, with any alignment, and do not overlap; `supports(code, op)`.
    unsafe fn apply(
        &self,
        code: u16,
        op: AtomicOp,
        operand: *const u8,
        element: *mut u8,
        count: usize,
    );
}

/// Longest element of any kind, bytes: two `long double` that are a complex number.
pub const MAX_ELEMENT: usize = 32;

/// Bytes of elements for which the lock is held once: some microseconds, for which others may wait.
pub(crate) const MAX_HELD: usize = 64 * 1024;

/// [`crate::LOCKED_F32`] and [`crate::LOCKED_F64`].
pub(crate) struct Locked;

impl Locked {
    fn native(code: u16) -> Option<Kind> {
        match Kind::Other(code) {
            LOCKED_F32 => Some(Kind::F32),
            LOCKED_F64 => Some(Kind::F64),
            _ => None,
        }
    }
}

impl Apply for Locked {
    fn size(&self, code: u16) -> Option<usize> {
        Locked::native(code)?.native_size()
    }

    fn supports(&self, code: u16, op: AtomicOp) -> bool {
        Locked::native(code).is_some_and(|native| op.is_native(native))
    }

    unsafe fn apply(
        &self,
        code: u16,
        op: AtomicOp,
        operand: *const u8,
        element: *mut u8,
        count: usize,
    ) {
        let Some(native) = Locked::native(code) else { return };
        let none = core::ptr::null_mut();
        // SAFETY: the caller's promise; who calls holds the lock.
        unsafe { atomic::update_locked(element, native, op, operand, count, none) }
    }
}

/// How elements are updated: by what models have registered, and under locks whose holders may die.
#[derive(Default)]
pub(crate) struct Appliers {
    registered: Vec<(Range<u16>, Box<dyn Apply>)>,
    /// Who knows whether ranks of our host live.
    life: Option<Arc<dyn Life>>,
}

/// `count` elements in our address space, and how they are updated.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    pub at: *mut u8,
    pub count: usize,
    pub atomicity: Atomicity<'a>,
    pub control: &'a Words,
    pub me: Rank,
}

impl Appliers {
    pub fn register(&mut self, codes: Range<u16>, apply: Box<dyn Apply>) {
        self.registered.push((codes, apply));
    }

    /// From now on whoever waits for a lock asks `life` about its holder.
    pub fn ask(&mut self, life: Option<Arc<dyn Life>>) {
        self.life = life;
    }

    /// Whether the process of a rank of our host is no more. For those who have waited long.
    pub fn is_gone(&self, rank: Rank) -> bool {
        self.life.as_ref().is_some_and(|life| life.is_gone(rank))
    }

    /// The lock of a region, for rank `me`. Blocks while a living rank holds it.
    ///
    /// # Errors
    /// It was held by a rank that is gone, and is free again.
    pub fn hold<'a>(&self, control: &'a Words, me: Rank) -> Result<Held<'a>, HolderGone> {
        control.lock().hold(me, |rank| self.is_gone(rank))
    }

    fn of(&self, code: u16) -> Option<&dyn Apply> {
        self.registered.iter().find(|(codes, _)| codes.contains(&code)).map(|(_, apply)| &**apply)
    }

    /// Bytes of an element of `kind` if it has operation `op`.
    #[inline]
    pub fn size(&self, kind: Kind, op: AtomicOp) -> Option<usize> {
        match kind {
            Kind::Other(code) => {
                let apply = self.of(code)?;
                let known =
                    matches!(op, AtomicOp::Replace | AtomicOp::NoOp) || apply.supports(code, op);
                apply.size(code).filter(|size| known && (1..=MAX_ELEMENT).contains(size))
            }
            native => native.native_size().filter(|_| op.is_native(native)),
        }
    }

    /// Updates elements; their values before go to `fetch` unless it is null.
    ///
    /// # Errors
    /// As for `hold`: not all elements have been updated.
    ///
    /// # Safety
    /// `size(kind, op)` is known; the elements may be accessed; `operand` (which may be null for `NoOp`) is
    /// readable and `fetch`, if not null, writable for as many.
    #[inline]
    pub unsafe fn update(
        &self,
        elements: &Elements<'_>,
        kind: Kind,
        op: AtomicOp,
        operand: *const u8,
        fetch: *mut u8,
    ) -> Result<(), HolderGone> {
        let aligned = is_aligned(elements.at, kind);
        let atomicity = if aligned { elements.atomicity } else { Atomicity::Locked };
        // SAFETY: the caller's promise; aligned where that is asked for.
        unsafe {
            match atomicity {
                Atomicity::Processor => {
                    atomic::update(elements.at, kind, op, operand, elements.count, fetch);
                    Ok(())
                }
                Atomicity::Shared(updating) => {
                    self.update_shared(elements, updating, (kind, op), operand, fetch)
                }
                Atomicity::Locked => self.update_held(elements, kind, op, operand, fetch),
            }
        }
    }

    /// `update` under the lock, which is held for some elements at a time.
    ///
    /// # Errors
    /// As for `update`.
    ///
    /// # Safety
    /// As for `update`.
    #[inline(never)]
    unsafe fn update_held(
        &self,
        elements: &Elements<'_>,
        kind: Kind,
        op: AtomicOp,
        operand: *const u8,
        fetch: *mut u8,
    ) -> Result<(), HolderGone> {
        let size = self.size(kind, op).unwrap_or(1);
        let mut done = 0;
        while done < elements.count {
            let (count, skip) = ((elements.count - done).min(MAX_HELD / size), done * size);
            let _held = self.hold(elements.control, elements.me)?;
            let fetch = if fetch.is_null() { fetch } else { fetch.wrapping_add(skip) };
            let (at, operand) = (elements.at.wrapping_add(skip), operand.wrapping_add(skip));
            // SAFETY: the caller's promise; the lock is held.
            unsafe { self.update_plain(at, count, kind, op, operand, fetch) }
            done += count;
        }
        Ok(())
    }

    /// As `update`, for a caller who holds the lock, or whose memory it is alone.
    ///
    /// # Safety
    /// As for `update`; nobody else updates the elements meanwhile.
    pub unsafe fn update_plain(
        &self,
        at: *mut u8,
        count: usize,
        kind: Kind,
        op: AtomicOp,
        operand: *const u8,
        fetch: *mut u8,
    ) {
        let Kind::Other(code) = kind else {
            // SAFETY: the caller's promise.
            return unsafe { atomic::update_locked(at, kind, op, operand, count, fetch) };
        };
        let Some(apply) = self.of(code) else { return };
        let bytes = apply.size(code).unwrap_or(0) * count;
        // SAFETY: the caller's promise. Memory of the caller may be the element itself (`copy`).
        unsafe {
            if !fetch.is_null() {
                core::ptr::copy(at, fetch, bytes);
            }
            match op {
                AtomicOp::NoOp => {}
                AtomicOp::Replace => core::ptr::copy(operand, at, bytes),
                _ => apply.apply(code, op, operand, at, count),
            }
        }
    }

    /// Replaces one element by `swap` if it has the bytes of `compare`; its value before goes to `result`.
    ///
    /// # Errors
    /// As for `update`.
    ///
    /// # Safety
    /// As for `update`: `size(kind, AtomicOp::Replace)` bytes everywhere.
    #[inline]
    pub unsafe fn compare_and_swap(
        &self,
        element: &Elements<'_>,
        kind: Kind,
        compare: *const u8,
        swap: *const u8,
        result: *mut u8,
    ) -> Result<(), HolderGone> {
        let size = self.size(kind, AtomicOp::Replace).unwrap_or(0);
        let aligned = is_aligned(element.at, kind);
        let atomicity = if aligned { element.atomicity } else { Atomicity::Locked };
        let lock = element.control.lock();
        loop {
            let shared = match atomicity {
                Atomicity::Processor => Some(None),
                Atomicity::Shared(updating) => lock.share(updating).map(Some),
                Atomicity::Locked => None,
            };
            if let Some(_sharing) = shared {
                // SAFETY: the caller's promise; aligned.
                unsafe { swap_aligned(element.at, size, compare, swap, result) }
                return Ok(());
            }
            let held = self.hold(element.control, element.me)?;
            let exclusive = held.is_exclusive();
            if exclusive || matches!(atomicity, Atomicity::Locked) {
                // SAFETY: the caller's promise; the lock is held.
                unsafe { swap_plain(element.at, size, compare, swap, result) }
                if exclusive {
                    held.count(1);
                }
                return Ok(());
            }
        }
    }
}

/// Whether an element of `kind` at `at` can be updated by the processor.
#[inline(always)]
fn is_aligned(at: *mut u8, kind: Kind) -> bool {
    // Sizes of native kinds are powers of two, which the compiler does not know: no division.
    kind.native_size().is_some_and(|size| at.addr() & (size - 1) == 0)
}

/// Compares and swaps `size` bytes, at most 8, by the processor.
///
/// # Safety
/// All four are valid for `size` bytes; `at` is aligned to them.
#[inline(always)]
pub(crate) unsafe fn swap_aligned(
    at: *mut u8,
    size: usize,
    compare: *const u8,
    swap: *const u8,
    result: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let old = atomic::compare_and_swap(at, size, load(compare, size), load(swap, size));
        let old = old.to_ne_bytes();
        let low = if cfg!(target_endian = "little") { 0 } else { 8 - size };
        core::ptr::copy_nonoverlapping(old.as_ptr().add(low), result, size);
    }
}

/// A number of `size` bytes, at most 8.
///
/// # Safety
/// `at` is readable for as many.
#[inline(always)]
unsafe fn load(at: *const u8, size: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => u64::from(at.read()),
            2 => u64::from(at.cast::<u16>().read_unaligned()),
            4 => u64::from(at.cast::<u32>().read_unaligned()),
            _ => at.cast::<u64>().read_unaligned(),
        }
    }
}

/// Compares and swaps `size` bytes, at most [`MAX_ELEMENT`], without atomicity.
///
/// # Safety
/// All four are valid for `size` bytes; nobody else updates the element meanwhile.
pub(crate) unsafe fn swap_plain(
    at: *mut u8,
    size: usize,
    compare: *const u8,
    swap: *const u8,
    result: *mut u8,
) {
    let mut old = [0; MAX_ELEMENT];
    let size = size.min(MAX_ELEMENT);
    // SAFETY: the caller's promise.
    unsafe {
        core::ptr::copy_nonoverlapping(at, old.as_mut_ptr(), size);
        if core::slice::from_raw_parts(compare, size) == &old[..size] {
            core::ptr::copy(swap, at, size);
        }
        core::ptr::copy_nonoverlapping(old.as_ptr(), result, size);
    }
}
