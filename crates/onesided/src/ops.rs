//! Operations: the calls that start one, whatever the path, and those that are under way.

use crate::OneSided;
use crate::apply::Elements;
use crate::error::{Error, Result};
use crate::kind::{AtomicOp, Kind};
use crate::mapped;
use crate::region::{Path, Target};
use hpvm_fm::{Fm, Transport};
use hpvm_wire::counters::add;

/// An operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpId(core::num::NonZeroU64);

/// A part of a transfer: contiguous on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub local: *mut u8,
    /// In the region.
    pub offset: u64,
    pub len: usize,
}

impl Target {
    /// # Errors
    /// The bytes lie outside of the region.
    #[inline(always)]
    fn check(&self, offset: u64, len: usize) -> Result<()> {
        let (len, size) = (len as u64, self.key.len);
        if len <= size && offset <= size - len {
            return Ok(());
        }
        Err(self.range(offset, len))
    }

    #[cold]
    fn range(&self, offset: u64, len: u64) -> Box<Error> {
        let (rank, region, size) = (self.key.rank, self.key.id, self.key.len);
        Box::new(Error::Range { rank, region, offset, len, size })
    }

    #[cold]
    fn unreachable(&self) -> Box<Error> {
        Box::new(Error::Unreachable { rank: self.key.rank, region: self.key.id })
    }
}

impl OneSided {
    /// Copies `len` bytes at `local` to `offset` of the region. `None`: `local` may be used again; the bytes
    /// are there once a later `flush` is done.
    ///
    /// # Errors
    /// `Range`.
    ///
    /// # Safety
    /// `local` is readable for `len` bytes until the operation is done.
    #[inline]
    pub unsafe fn put<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        offset: u64,
        local: *const u8,
        len: usize,
    ) -> Result<Option<OpId>> {
        target.check(offset, len)?;
        if let Some(c) = fm.counters() {
            add(&c.puts, 1);
            add(&c.onesided_bytes, len as u64);
        }
        match target.path {
            // SAFETY: inside the region, which is mapped as a whole; the caller's promise.
            Path::Mapped(base) => unsafe { mapped::copy(local, base.add(offset as usize), len) },
            _ => return Err(target.unreachable()),
        }
        Ok(None)
    }

    /// Copies `len` bytes at `offset` of the region to `local`. `None`: they are there.
    ///
    /// # Errors
    /// `Range`.
    ///
    /// # Safety
    /// `local` is writable for `len` bytes, and nobody else uses them, until the operation is done.
    #[inline]
    pub unsafe fn get<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        offset: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<Option<OpId>> {
        target.check(offset, len)?;
        if let Some(c) = fm.counters() {
            add(&c.gets, 1);
            add(&c.onesided_bytes, len as u64);
        }
        match target.path {
            // SAFETY: inside the region, which is mapped as a whole; the caller's promise.
            Path::Mapped(base) => unsafe { mapped::copy(base.add(offset as usize), local, len) },
            _ => return Err(target.unreachable()),
        }
        Ok(None)
    }

    /// `put` of several runs as one operation.
    ///
    /// # Errors
    /// `Range`, of the first run that is out of it; what the earlier ones put stays.
    ///
    /// # Safety
    /// As for `put`, for each run.
    pub unsafe fn put_runs<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        runs: Box<dyn Iterator<Item = Run>>,
    ) -> Result<Option<OpId>> {
        for run in runs {
            // SAFETY: the caller's promise.
            unsafe { self.put(fm, target, run.offset, run.local, run.len)? };
        }
        Ok(None)
    }

    /// `get` of several runs as one operation.
    ///
    /// # Errors
    /// As for `put_runs`.
    ///
    /// # Safety
    /// As for `get`, for each run.
    pub unsafe fn get_runs<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        runs: Box<dyn Iterator<Item = Run>>,
    ) -> Result<Option<OpId>> {
        for run in runs {
            // SAFETY: the caller's promise.
            unsafe { self.get(fm, target, run.offset, run.local, run.len)? };
        }
        Ok(None)
    }

    /// Updates `count` elements at `offset`, each atomically: `element = element op operand`. Their values
    /// before go to `fetch` if it is given. The operand of `NoOp` may be null.
    ///
    /// # Errors
    /// `Range`; `Unsupported`.
    ///
    /// # Safety
    /// `operand` is readable, and `fetch` writable, for as many elements until the operation is done.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "an accumulate has that many")]
    pub unsafe fn accumulate<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        offset: u64,
        kind: Kind,
        op: AtomicOp,
        operand: *const u8,
        count: usize,
        fetch: Option<*mut u8>,
    ) -> Result<Option<OpId>> {
        let Some(size) = self.appliers.size(kind, op) else {
            return Err(Box::new(Error::Unsupported { kind, op }));
        };
        // Too many elements for any memory are too many for the region.
        target.check(offset, size.saturating_mul(count))?;
        if let Some(c) = fm.counters() {
            add(&c.atomics, count as u64);
        }
        let Some(elements) = self.elements(target, offset, count) else {
            return Err(target.unreachable());
        };
        let fetch = fetch.unwrap_or(core::ptr::null_mut());
        // SAFETY: inside the region; the caller's promise.
        unsafe { self.appliers.update(&elements, kind, op, operand, fetch) };
        Ok(None)
    }

    /// Replaces the element at `offset` by `swap` if it has the bytes of `compare`; its value before goes to
    /// `result`.
    ///
    /// # Errors
    /// As for `accumulate`.
    ///
    /// # Safety
    /// `compare` and `swap` are readable, and `result` writable, for an element until the operation is done.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a compare-and-swap has that many")]
    pub unsafe fn compare_and_swap<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        offset: u64,
        kind: Kind,
        compare: *const u8,
        swap: *const u8,
        result: *mut u8,
    ) -> Result<Option<OpId>> {
        let op = AtomicOp::Replace;
        let Some(size) = self.appliers.size(kind, op) else {
            return Err(Box::new(Error::Unsupported { kind, op }));
        };
        target.check(offset, size)?;
        if let Some(c) = fm.counters() {
            add(&c.atomics, 1);
        }
        let Some(element) = self.elements(target, offset, 1) else {
            return Err(target.unreachable());
        };
        // SAFETY: inside the region; the caller's promise.
        unsafe { self.appliers.compare_and_swap(&element, kind, compare, swap, result) };
        Ok(None)
    }

    /// Elements of a mapped region, which always has a control block.
    #[inline(always)]
    fn elements<'a>(&self, target: &'a Target, offset: u64, count: usize) -> Option<Elements<'a>> {
        let (Path::Mapped(base), Some(control)) = (target.path, &target.control) else {
            return None;
        };
        Some(Elements {
            at: base.wrapping_add(offset as usize),
            count,
            locked: target.key.is_locked(),
            control,
            me: self.me,
        })
    }

    /// Remote completion of all earlier operations on memory of that rank: they have taken effect there, once
    /// this is done. `None`: they have.
    ///
    /// # Errors
    /// What went wrong with one of them.
    #[inline]
    pub fn flush<T: Transport>(&mut self, fm: &mut Fm<T>, target: &Target) -> Result<Option<OpId>> {
        let _ = fm;
        match target.path {
            Path::Mapped(_) => self.fence(),
            _ => return Err(target.unreachable()),
        }
        Ok(None)
    }

    /// Orders the loads and stores by which operations on mapped memory are done: earlier ones before later
    /// ones, and before whatever this process then tells others.
    #[inline(always)]
    pub fn fence(&self) {
        // SeqCst: also an earlier put before a later get, of whatever memory.
        hpvm_sync::atomic::fence(hpvm_sync::atomic::Ordering::SeqCst);
    }

    /// True when the operation is done, or has been forgotten.
    pub fn is_done(&self, id: OpId) -> bool {
        let _ = id;
        true
    }

    /// Nobody asks for the operation any more.
    ///
    /// # Errors
    /// What has gone wrong with it, if it is done.
    pub fn forget(&mut self, id: OpId) -> Result<()> {
        let _ = id;
        Ok(())
    }
}
