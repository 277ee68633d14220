//! The calls that start an operation, whatever the path.

use crate::apply::{Elements, swap_aligned};
use crate::atomicity::Atomicity;
use crate::delegation::{Delegate, What};
use crate::error::{Error, Result};
use crate::kind::{AtomicOp, Kind};
use crate::messages::batch::Of;
use crate::messages::packets::RegionName;
use crate::messages::request::{self, Swap};
use crate::messages::{Body, Completion, Leaves, MAX_SWAPPED, MIN_PACKET, Request};
use crate::region::{Path, Target};
use crate::runs::{Cursor, Parts, Run, Update};
use crate::under_way::OpId;
use crate::{OneSided, Rank, atomic, cross_memory, mapped};
use hpvm_fm::{Fm, Transport};
use hpvm_wire::accumulate_lock::{LONG_UPDATE_ELEMENTS, Sharing};
use hpvm_wire::counters::add;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Put,
    Get,
}

impl From<Direction> for What {
    fn from(direction: Direction) -> What {
        match direction {
            Direction::Put => What::Put,
            Direction::Get => What::Get,
        }
    }
}

impl Target {
    /// # Errors
    /// The bytes lie outside of the region.
    #[inline(always)]
    pub(crate) fn check(&self, offset: u64, len: usize) -> Result<()> {
        if self.has(offset, len) { Ok(()) } else { Err(self.range(offset, len as u64)) }
    }

    /// Whether the bytes lie inside of the region.
    #[inline(always)]
    fn has(&self, offset: u64, len: usize) -> bool {
        let (len, size) = (len as u64, self.key.len);
        len <= size && offset <= size - len
    }

    /// The owner has died.
    #[cold]
    fn died(&self) -> Box<Error> {
        Box::new(Error::Died { rank: self.key.rank })
    }

    #[cold]
    fn range(&self, offset: u64, len: u64) -> Box<Error> {
        let (rank, region, size) = (self.key.rank, self.key.id, self.key.len);
        Box::new(Error::Range { rank, region, offset, len, size })
    }
}

#[cold]
fn unsupported(kind: Kind, op: AtomicOp) -> Box<Error> {
    Box::new(Error::Unsupported { kind, op })
}

impl OneSided {
    /// Copies `len` bytes at `local` to `offset` of the region. `None`: `local` may be used again; the bytes
    /// are there once a later `flush` is done.
    ///
    /// # Errors
    /// `Range`; `Memory`, `Gone`: the system does not copy.
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
        // SAFETY: the caller's promise.
        if let Some(()) = unsafe { self.put_mapped(fm, target, offset, local, len) } {
            return Ok(None);
        }
        target.check(offset, len)?;
        count(fm, Direction::Put, len);
        let run = Run { local: local.cast_mut(), offset, len };
        self.transfer(fm, target, Direction::Put, Parts::One(Some(run)))
    }

    /// `put` where the memory is mapped. `None`: it is not, or the bytes lie outside of the region; nothing has been done.
    ///
    /// # Safety
    /// `local` is readable for `len` bytes.
    #[inline(always)]
    pub unsafe fn put_mapped<T: Transport>(
        &self,
        fm: &Fm<T>,
        target: &Target,
        offset: u64,
        local: *const u8,
        len: usize,
    ) -> Option<()> {
        let base = target.base().filter(|_| target.has(offset, len))?;
        count(fm, Direction::Put, len);
        // The offset into dynamic memory is an address, and its base is null, to which `add` must not add.
        // SAFETY: inside the region, which is mapped as a whole; the caller's promise.
        unsafe { mapped::copy(local, base.wrapping_add(offset as usize), len) };
        Some(())
    }

    /// Copies `len` bytes at `offset` of the region to `local`. `None`: they are there.
    ///
    /// # Errors
    /// As for `put`.
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
        // SAFETY: the caller's promise.
        if let Some(()) = unsafe { self.get_mapped(fm, target, offset, local, len) } {
            return Ok(None);
        }
        target.check(offset, len)?;
        count(fm, Direction::Get, len);
        let run = Run { local, offset, len };
        self.transfer(fm, target, Direction::Get, Parts::One(Some(run)))
    }

    /// `get` where the memory is mapped. `None`: as for `put_mapped`.
    ///
    /// # Safety
    /// `local` is writable for `len` bytes, and nobody else uses them.
    #[inline(always)]
    pub unsafe fn get_mapped<T: Transport>(
        &self,
        fm: &Fm<T>,
        target: &Target,
        offset: u64,
        local: *mut u8,
        len: usize,
    ) -> Option<()> {
        let base = target.base().filter(|_| target.has(offset, len))?;
        count(fm, Direction::Get, len);
        // SAFETY: inside the region, which is mapped as a whole; the caller's promise.
        unsafe { mapped::copy(base.wrapping_add(offset as usize), local, len) };
        Some(())
    }

    /// `put` of several runs as one operation. They may be drawn after this call has returned.
    ///
    /// # Errors
    /// As for `put`, of the first run with which something is wrong; what earlier ones put stays.
    ///
    /// # Safety
    /// As for `put`, for each run. Another thread of this process may draw the runs.
    pub unsafe fn put_runs<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        runs: Box<dyn Iterator<Item = Run>>,
    ) -> Result<Option<OpId>> {
        let Path::Mapped(_) = target.path else {
            return self.transfer(fm, target, Direction::Put, Parts::Many(runs));
        };
        for run in runs {
            // SAFETY: the caller's promise.
            unsafe { self.put(fm, target, run.offset, run.local, run.len)? };
        }
        Ok(None)
    }

    /// `get` of several runs as one operation. They may be drawn after this call has returned.
    ///
    /// # Errors
    /// As for `put_runs`.
    ///
    /// # Safety
    /// As for `get`, for each run. Another thread of this process may draw the runs.
    pub unsafe fn get_runs<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        runs: Box<dyn Iterator<Item = Run>>,
    ) -> Result<Option<OpId>> {
        let Path::Mapped(_) = target.path else {
            return self.transfer(fm, target, Direction::Get, Parts::Many(runs));
        };
        for run in runs {
            // SAFETY: the caller's promise.
            unsafe { self.get(fm, target, run.offset, run.local, run.len)? };
        }
        Ok(None)
    }

    /// Put or get where the memory is not mapped. Counts nothing of single runs, which have been counted.
    #[cold]
    fn transfer<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        direction: Direction,
        mut parts: Parts<Run>,
    ) -> Result<Option<OpId>> {
        let many = matches!(parts, Parts::Many(_));
        self.check_alive(target)?;
        if let (Direction::Put, Parts::One(Some(run))) = (direction, &parts) {
            let of = (Of::Put(RegionName::from(&target.key)), run.offset);
            // SAFETY: who started the operation has promised that its memory is valid.
            if unsafe { self.gather(fm, target, of, Completion::Flush, (run.local, run.len)) } {
                return Ok(None);
            }
        }
        let mut left = None;
        if target.path == Path::CrossMemory {
            left = loop {
                let Some(run) = parts.next() else { return Ok(None) };
                target.check(run.offset, run.len)?;
                // SAFETY: who started the operation has promised that its memory is valid.
                let done = unsafe { self.delegate(fm, target).copy(direction.into(), &run)? };
                if !done && !copy_through_kernel(fm, target, direction, &run)? {
                    break Some(run);
                }
                if many {
                    count(fm, direction, run.len);
                }
            };
        }
        let runs = Cursor::new(parts, left);
        let target = *target;
        match direction {
            Direction::Put => {
                let completion = Completion::Flush;
                self.request(fm, &target, Body::Put { target, runs, completion }, false)
            }
            Direction::Get => self.request(fm, &target, Body::Get { target, runs }, true),
        }
    }

    /// Updates `count` elements at `offset`, each atomically: `element = element op operand`. Their values
    /// before go to `fetch` if it is given. The operand of `NoOp` may be null.
    ///
    /// # Errors
    /// `Range`; `Unsupported`; `HolderGone`; as for `put`.
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
        let size = self.appliers.size(kind, op).ok_or_else(|| unsupported(kind, op))?;
        // Too many elements for any memory are too many for the region.
        target.check(offset, size.saturating_mul(count))?;
        if let Some(c) = fm.counters() {
            add(&c.atomics, count as u64);
        }
        let fetches = fetch.is_some();
        let fetch = fetch.unwrap_or(core::ptr::null_mut());
        let Some(elements) = self.elements(target, offset, count) else {
            let part = Parts::One(Some(Update { operand, fetch, offset, count }));
            let what = request::Elements { kind, op, size, fetches };
            return self.update_far(fm, target, what, part);
        };
        // SAFETY: inside the region; the caller's promise.
        let updated = self
            .appliers
            .exclude_if_long(fm, &elements)
            .and_then(|()| unsafe { self.appliers.update(&elements, kind, op, operand, fetch) });
        updated.map(|()| None).map_err(|gone| target.broken(gone))
    }

    /// `accumulate` of few elements where the memory is mapped and the processor updates them. `None`: it does not, or something is
    /// wrong; nothing has been done.
    ///
    /// # Safety
    /// As for `accumulate`; `kind` is native, has `op` and is `size` bytes long; `fetch` is null unless values are fetched.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "an accumulate has that many")]
    pub unsafe fn accumulate_mapped<T: Transport>(
        &self,
        fm: &Fm<T>,
        target: &Target,
        offset: u64,
        (kind, op, size): (Kind, AtomicOp, usize),
        operand: *const u8,
        count: usize,
        fetch: *mut u8,
    ) -> Option<()> {
        let (at, _sharing) = self.by_processor(fm, target, offset, (count, size))?;
        // SAFETY: `by_processor`; the caller's promise.
        unsafe { atomic::update(at, kind, op, operand, count, fetch) };
        Some(())
    }

    /// `compare_and_swap` where the memory is mapped and the processor swaps. `None`: it does not, or something is wrong; nothing has been
    /// done.
    ///
    /// # Safety
    /// As for `compare_and_swap`; there are native kinds of `size` bytes.
    #[inline(always)]
    pub unsafe fn swap_mapped<T: Transport>(
        &self,
        fm: &Fm<T>,
        target: &Target,
        (offset, size): (u64, usize),
        compare: *const u8,
        swap: *const u8,
        result: *mut u8,
    ) -> Option<()> {
        let (at, _sharing) = self.by_processor(fm, target, offset, (1, size))?;
        // SAFETY: `by_processor`; the caller's promise.
        unsafe { swap_aligned(at, size, compare, swap, result) };
        Some(())
    }

    /// Where few elements lie that the processor may update now: inside the region, mapped, aligned to their size. Also what keeps those
    /// out meanwhile who update them otherwise.
    #[inline(always)]
    fn by_processor<'a, T: Transport>(
        &'a self,
        fm: &Fm<T>,
        target: &'a Target,
        offset: u64,
        (count, size): (usize, usize),
    ) -> Option<(*mut u8, Option<Sharing<'a>>)> {
        let elements = self.elements(target, offset, count)?;
        let fits = count < LONG_UPDATE_ELEMENTS && target.has(offset, size * count);
        if !fits || elements.at.addr() & (size - 1) != 0 {
            return None;
        }
        let sharing = match elements.atomicity {
            Atomicity::Locked => return None,
            Atomicity::Processor => None,
            Atomicity::Shared(updating) => Some(elements.control.lock().share(updating)?),
        };
        if let Some(c) = fm.counters() {
            add(&c.atomics, count as u64);
        }
        Some((elements.at, sharing))
    }

    /// `accumulate` of several runs of elements as one operation. They may be drawn after this call has returned.
    ///
    /// # Errors
    /// As for `accumulate`, of the first run with which something is wrong; what earlier ones did stays.
    ///
    /// # Safety
    /// As for `accumulate`, for each run, which another thread of this process may draw; all have a place for the values before if `fetches`, else none has.
    pub unsafe fn accumulate_runs<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        (kind, op, fetches): (Kind, AtomicOp, bool),
        updates: Box<dyn Iterator<Item = Update>>,
    ) -> Result<Option<OpId>> {
        let Path::Mapped(_) = target.path else {
            let size = self.appliers.size(kind, op).ok_or_else(|| unsupported(kind, op))?;
            let what = request::Elements { kind, op, size, fetches };
            return self.update_far(fm, target, what, Parts::Many(updates));
        };
        for Update { operand, fetch, offset, count } in updates {
            let fetch = fetches.then_some(fetch);
            // SAFETY: the caller's promise.
            unsafe { self.accumulate(fm, target, offset, kind, op, operand, count, fetch)? };
        }
        Ok(None)
    }

    /// Updates where the memory is not mapped.
    #[cold]
    fn update_far<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        what: request::Elements,
        mut parts: Parts<Update>,
    ) -> Result<Option<OpId>> {
        self.check_alive(target)?;
        if let (false, Parts::One(Some(update))) = (what.fetches, &parts)
            && what.op != AtomicOp::NoOp
        {
            let of = (Of::Update(RegionName::from(&target.key), what.kind, what.op), update.offset);
            let data = (update.operand, update.count * what.size);
            // SAFETY: the caller's promise.
            if unsafe { self.gather(fm, target, of, Completion::Flush, data) } {
                return Ok(None);
            }
        }
        let mut left = None;
        if target.path == Path::CrossMemory {
            left = loop {
                let Some(mut update) = parts.next() else { return Ok(None) };
                target.check(update.offset, update.count.saturating_mul(what.size))?;
                let how = (what.kind, what.op, what.size);
                // SAFETY: inside the region; the caller's promise.
                unsafe {
                    self.delegate(fm, target).update(what, &mut update)?;
                    cross_memory::update(fm, self.me, &self.appliers, target, how, &mut update)?
                };
                if update.count != 0 {
                    break Some(update);
                }
            };
        }
        let updates = Cursor::new(parts, left);
        let body = Body::Update { target: *target, element: what, updates };
        self.request(fm, target, body, what.fetches)
    }

    /// Replaces the element at `offset` by `swap` if it has the bytes of `compare`; its value before goes to
    /// `result`. Elements of up to 16 bytes.
    ///
    /// # Errors
    /// As for `accumulate`.
    ///
    /// # Safety
    /// `compare` and `swap` are readable for an element, and `result` is writable until the operation is done.
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
        let size = self.appliers.size(kind, op).filter(|size| *size <= MAX_SWAPPED);
        let size = size.ok_or_else(|| unsupported(kind, op))?;
        target.check(offset, size)?;
        if let Some(c) = fm.counters() {
            add(&c.atomics, 1);
        }
        let Some(element) = self.elements(target, offset, 1) else {
            let operands = (compare, swap, result);
            // SAFETY: the caller's promise.
            return unsafe { self.swap_far(fm, target, (offset, kind, size), operands) };
        };
        // SAFETY: inside the region; the caller's promise.
        let swapped =
            unsafe { self.appliers.compare_and_swap(&element, kind, compare, swap, result) };
        swapped.map(|()| None).map_err(|gone| target.broken(gone))
    }

    /// # Safety
    /// As for `compare_and_swap`; `size` is that of the kind.
    #[cold]
    unsafe fn swap_far<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        (offset, kind, size): (u64, Kind, usize),
        operands: (*const u8, *const u8, *mut u8),
    ) -> Result<Option<OpId>> {
        self.check_alive(target)?;
        let (mut compare, mut swap) = ([0; MAX_SWAPPED], [0; MAX_SWAPPED]);
        // SAFETY: the caller's promise; `size` is at most `MAX_SWAPPED`.
        unsafe {
            core::ptr::copy_nonoverlapping(operands.0, compare.as_mut_ptr(), size);
            core::ptr::copy_nonoverlapping(operands.1, swap.as_mut_ptr(), size);
        }
        let swap = Swap { offset, kind, size, compare, swap, result: operands.2 };
        if target.path == Path::CrossMemory {
            // SAFETY: inside the region; the caller's promise.
            let done = unsafe {
                self.delegate(fm, target).compare_and_swap(&swap)?
                    || cross_memory::compare_and_swap(
                        fm,
                        self.me,
                        &self.appliers,
                        target,
                        (offset, size),
                        operands,
                    )?
            };
            if done {
                return Ok(None);
            }
        }
        self.request(fm, target, Body::Swap { target: *target, swap }, true)
    }

    /// # Errors
    /// `Died`: the launcher has said that the owner is no more.
    pub(crate) fn check_alive(&self, target: &Target) -> Result<()> {
        match self.queues.is_lost(target.key.rank) {
            true => Err(target.died()),
            false => Ok(()),
        }
    }

    /// Leaves operations for the owner of the target.
    fn delegate<'a, T: Transport>(
        &'a mut self,
        fm: &'a mut Fm<T>,
        target: &'a Target,
    ) -> Delegate<'a, T> {
        let behind = self.queues.owes(target.key.rank);
        Delegate { fm, me: self.me, patience: &mut self.patience, behind, target }
    }

    /// Elements of a mapped region, which always has control words.
    #[inline(always)]
    fn elements<'a>(&self, target: &'a Target, offset: u64, count: usize) -> Option<Elements<'a>> {
        let (Path::Mapped(base), Some(control)) = (target.path, &target.control) else {
            return None;
        };
        Some(Elements {
            at: base.wrapping_add(offset as usize),
            count,
            atomicity: target.atomicity(self.own),
            control,
            me: self.me,
        })
    }

    /// Sends a request, or lets it wait. `asks`: it has answers.
    pub(crate) fn request<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        body: Body,
        asks: bool,
    ) -> Result<Option<OpId>> {
        check_packets(fm, target)?;
        self.start(fm, target.key.rank, body, asks)
    }

    fn start<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: Rank,
        body: Body,
        asks: bool,
    ) -> Result<Option<OpId>> {
        let id = asks.then(|| self.under_way.insert(dst));
        let mut request = Request { id, body };
        match self.queues.start(fm, dst, &mut request, &mut self.under_way) {
            Ok(true) => {}
            Ok(false) => {
                let id = *request.id.get_or_insert_with(|| self.under_way.insert(dst));
                self.queues.wait(dst, request);
                return Ok(Some(id));
            }
            Err(error) => match id {
                Some(id) => self.under_way.fail(id, error),
                None => return Err(error),
            },
        }
        let Some(id) = id else { return Ok(None) };
        self.under_way.sent(id);
        if self.under_way.is_done(id) {
            return self.under_way.forget(id).map(|()| None);
        }
        Ok(Some(id))
    }

    /// Remote completion of all earlier operations on memory of that rank: they have taken effect there, once
    /// this is done. `None`: they have.
    ///
    /// # Errors
    /// What went wrong with one of them.
    #[inline]
    pub fn flush<T: Transport>(&mut self, fm: &mut Fm<T>, target: &Target) -> Result<Option<OpId>> {
        self.fence();
        let dst = target.key.rank;
        if target.path == Path::Messages && self.queues.is_lost(dst) {
            // What has been sent there may not have been done.
            return Err(target.died());
        }
        self.queues.send_batch(fm, dst, &mut self.under_way, Leaves::WithFlush);
        if let Some(id) = self.queues.flush_by_answers(dst, &mut self.under_way) {
            return Ok(Some(id));
        }
        match self.queues.owes(dst) {
            true => self.start(fm, dst, Body::Flush, true),
            false => self.under_way.take_lost(dst).map(|()| None),
        }
    }

    /// Orders the loads and stores by which operations on mapped memory are done: earlier ones before later
    /// ones, and before whatever this process then tells others. Operations in packets to one rank are in order
    /// by themselves, except that the bytes of a get may be later ones.
    #[inline(always)]
    pub fn fence(&self) {
        // SeqCst: also an earlier put before a later get, of whatever memory.
        hpvm_sync::atomic::fence(hpvm_sync::atomic::Ordering::SeqCst);
    }

    /// Sends a small message to the model at `dst` about its region `id`: in order with the operations in packets
    /// to that rank. It takes it by `take_messages`.
    pub fn post_message<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        dst: &crate::RegionKey,
        code: u64,
        word: u64,
    ) {
        if self.queues.is_lost(dst.rank) {
            return;
        }
        let region = crate::messages::packets::RegionName::from(dst);
        if dst.rank == self.me {
            let message = crate::Message { src: self.me, region: dst.id, code, word };
            return self.messages.push_back(message);
        }
        let started = self.start(fm, dst.rank, Body::Message { region, code, word }, false);
        if let Ok(Some(id)) = started {
            // Nobody asks whether it has left.
            let _ = self.under_way.forget(id);
        }
    }

    /// True when the operation is done, or has been forgotten.
    #[inline]
    pub fn is_done(&self, id: OpId) -> bool {
        self.under_way.is_done(id)
    }

    /// Nobody asks for the operation any more. If it is not done it goes on, and still uses its memory.
    ///
    /// # Errors
    /// What has gone wrong with it, if it is done.
    pub fn forget(&mut self, id: OpId) -> Result<()> {
        self.under_way.forget(id)
    }
}

/// # Errors
/// `Unreachable`: packets do not go there, or are too short.
pub(crate) fn check_packets<T: Transport>(fm: &Fm<T>, target: &Target) -> Result<()> {
    let (rank, region) = (target.key.rank, target.key.id);
    match fm.limits().packet < MIN_PACKET || rank >= fm.size() {
        true => Err(Box::new(Error::Unreachable { rank, region })),
        false => Ok(()),
    }
}

/// Counts a put or a get.
#[inline(always)]
pub(crate) fn count<T: Transport>(fm: &Fm<T>, direction: Direction, len: usize) {
    if let Some(c) = fm.counters() {
        add(if direction == Direction::Put { &c.puts } else { &c.gets }, 1);
        add(&c.onesided_bytes, len as u64);
    }
}

/// Copies one run. `Ok(false)`: the kernel does not permit it.
fn copy_through_kernel<T: Transport>(
    fm: &mut Fm<T>,
    target: &Target,
    direction: Direction,
    run: &Run,
) -> Result<bool> {
    let (rank, remote) = (target.key.rank, target.key.address.wrapping_add(run.offset));
    let transport = fm.transport_mut();
    // SAFETY: who started the operation has promised that its memory is valid; the other side lies inside the
    // region.
    let copied = unsafe {
        match direction {
            _ if run.len == 0 => Ok(()),
            Direction::Put => transport.write(rank, remote, run.local, run.len),
            Direction::Get => transport.read(rank, remote, run.local, run.len),
        }
    };
    cross_memory::permitted(target, copied)
}
